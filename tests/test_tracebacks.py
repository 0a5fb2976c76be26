"""What a traceback shows: the user's lines and the generated text, not the compiler's own."""

import traceback
from pathlib import Path

import numpy as np
import pytest

import adcompiler
from adcompiler import DifferentiationError, gradient, pullback, value_and_grad
from adcompiler.runtime import shapes

X = np.array([1.5, 0.5, 2.0])


def refused(x):
    return np.sum(eval("x"))


def refused_at_run_time(x):
    functions = [np.ma.median, np.sin]
    return np.sum(functions[len(x) - 3](x))


def fails(x):
    return np.sum(deep(x))


def deep(x):
    return x @ np.ones((7, 7))


def frames(error):
    """Files and functions of the frames, outermost first, and the text of what is printed."""
    shown = traceback.extract_tb(error.__traceback__)
    return [(frame.filename, frame.name) for frame in shown]


FOLDERS = [str(Path(module.__file__).resolve().parent) for module in (adcompiler, adcompiler.rules, shapes)]


def internal(error):
    """The frames in the package's own files, wherever the checkout is."""
    ours = [(name, file) for file, name in frames(error) if str(Path(file).resolve().parent) in FOLDERS]
    entries = [(name, file) for file, name in frames(error) if file.startswith("<") and "entry" in file]
    return [name for name, _ in ours + entries]


CALLS = {
    "gradient": lambda f: gradient(f)(X),
    "value_and_grad": lambda f: value_and_grad(f)(X),
    "pullback": lambda f: pullback(f, X),
}


@pytest.mark.parametrize("f", [refused, refused_at_run_time, fails])
@pytest.mark.parametrize("call", CALLS)
def test_one_frame_is_ours(f, call):
    """That of the transform, which Python adds; around it are the caller's, below it the generated text's."""
    with pytest.raises(Exception) as caught:
        CALLS[call](f)
    assert 1 == len(internal(caught.value))
    printed = "".join(traceback.format_exception(caught.value))
    assert "During handling" not in printed
    assert "direct cause" not in printed
    if f is fails:
        assert any(file.startswith("<adcompiler ") for file, _ in frames(caught.value))
        assert any(name.startswith("deep") for _, name in frames(caught.value))


def test_errors_in_pullbacks():
    """The same for what is raised by `back`."""
    _, back = pullback(lambda x: x * 2.0, X)
    with pytest.raises(DifferentiationError) as caught:
        back(np.ones((2, 2)))
    assert len(internal(caught.value)) < 8

    def faulty(x):
        return np.sum(broken(x) * 2.0)

    _, back = pullback(faulty, X)
    with pytest.raises(ZeroDivisionError) as caught:
        back(1.0)
    assert ["<lambda>", "back"] == internal(caught.value)


def broken(x):
    return x * 2.0


@adcompiler.rrule(broken)
def broken_rule(x):
    def pullback(y_bar):
        for _ in range(2):
            y_bar = y_bar * (1 / 0)
        return (y_bar,)

    return broken(x), pullback


def test_faults_of_the_compiler_keep_their_traceback(monkeypatch):
    """What neither the user's code nor a refusal has raised shows where it came from."""

    def fault(*args):
        raise AssertionError("a fault")

    monkeypatch.setattr(adcompiler.variants, "entry_maker", fault)
    monkeypatch.setitem(fault.__globals__, "__name__", "adcompiler.fault")
    with pytest.raises(AssertionError, match="a fault") as caught:
        gradient(lambda x: np.sum(x * 3.0))(X)
    assert {"miss", "fault"} <= {name for _, name in frames(caught.value)}
    assert shapes.__name__ == "adcompiler.runtime.shapes", "by which the frames of the run time are known"
