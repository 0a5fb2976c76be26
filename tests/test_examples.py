"""The examples run, reach what they promise, and their hand-written gradient is right."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


def run(name, *options):
    """Run an example as its user does."""
    command = [sys.executable, ROOT / "examples" / name, *options]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def digits():
    spec = importlib.util.spec_from_file_location("digits", ROOT / "examples" / "digits.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def problem(digits):
    """Parameters and a batch of the digits example."""
    rng = np.random.default_rng(1)
    images, labels, *_ = digits.load_data(rng)
    return digits.initial_params(rng), images[:32], np.eye(10)[labels[:32]]


def test_digits_reach_their_accuracy():
    """Two thousand steps are enough for 96 of 100 held-out digits."""
    output = run("digits.py")
    assert float(re.search(r"accuracy on 360 .*: (.*)", output)[1]) >= 0.96
    generated, by_hand = (float(time) for time in re.findall(r"time per step, .*: +(\d+) µs", output))
    assert generated < 5 * by_hand


def test_digits_show_the_derivative():
    """`--show` prints both functions."""
    output = run("digits.py", "--show", "--steps", "20")
    assert "def loss_forward(params, x, y):" in output
    assert "pullback" in output


def test_hand_written_gradient(digits, problem):
    """The gradient that the generated one is compared with is that of the loss."""
    params, x, y = problem
    value, gradient = digits.loss_and_gradient_by_hand(params, x, y)
    assert value == pytest.approx(digits.loss(params, x, y), rel=1e-14)
    rng = np.random.default_rng(2)
    for name, derivative in gradient.items():
        direction = rng.normal(size=derivative.shape)
        values = [digits.loss({**params, name: params[name] + h * direction}, x, y) for h in (1e-5, -1e-5)]
        assert np.sum(derivative * direction) == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-6)


def test_generated_gradient(digits, problem):
    """Both gradients agree to rounding."""
    value, gradient = digits.value_and_grad(digits.loss)(*problem)
    expected_value, expected = digits.loss_and_gradient_by_hand(*problem)
    assert value == pytest.approx(expected_value, rel=1e-14)
    assert [*expected] == [*gradient]
    for name in expected:
        np.testing.assert_allclose(gradient[name], expected[name], rtol=1e-9, atol=1e-14)


def test_curve_is_fitted():
    """The optimiser ends where the gradient vanishes, with a law that fits."""
    output = run("fit_curve.py")
    a, b = map(float, re.search(r"= (.*) cm \* .* \*\* (.*)", output).groups())
    assert (a, b) == (pytest.approx(3.593, abs=2e-3), pytest.approx(0.598, abs=2e-3))
    assert float(re.search(r"at the end: (.*)", output)[1]) < 1e-4


@pytest.fixture(scope="module")
def timeline():
    spec = importlib.util.spec_from_file_location("memory_timeline", ROOT / "examples" / "memory_timeline.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["memory_timeline"] = module
    spec.loader.exec_module(module)
    return module


def test_memory_timeline(timeline):
    """What is alive between forward and pullback is what is reported; for single use next to nothing is left."""
    for ways in timeline.measure(size=20).values():
        left = {}
        for way, (events, kept) in ways.items():
            reverse = [event.live for event in events if event.phase == "pullback"]
            assert kept == pytest.approx(reverse[0], rel=0.1)
            assert kept <= max(event.peak for event in events)
            left[way] = reverse[-1]
            assert (min(reverse[:-2]) < 0.9 * kept) == (way == "single use")
        assert left["reusable"] - left["single use"] == pytest.approx(kept, rel=0.1)


def test_memory_timeline_without_matplotlib(timeline, monkeypatch, tmp_path):
    """Without matplotlib there is no picture, and a message that says what to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit, match=r"needs matplotlib: pip install -e '\.\[plots\]'"):
        timeline.draw({"none": {}}, tmp_path / "picture.png")
    assert not (tmp_path / "picture.png").exists()


def test_memory_timeline_is_drawn(tmp_path):
    """The picture is written where it is wanted."""
    pytest.importorskip("matplotlib")
    output = run("memory_timeline.py", str(tmp_path / "picture.png"))
    assert f"drawn in {tmp_path / 'picture.png'}" in output
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
