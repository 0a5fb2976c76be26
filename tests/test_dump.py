"""A dump is a module: it imports, its functions give the right values and gradients, and it reads well."""

import copy
import importlib
import inspect
import itertools
import sys
import textwrap

import numpy as np
import pytest

from adcompiler import TangentError, UnsupportedSyntaxError, differentiable, gradient
from adcompiler.dump import STAGES, dump
from adcompiler.runtime.project import materialize, project

SAMPLE = """\
import math

import numpy as np

SCALE = 2.0
OFFSET = np.array([0.1, 0.2])


def loss(params, x, y):
    h = np.tanh(x @ params["W1"] + params["b1"])
    p = h @ params["W2"] + params["b2"]
    return np.mean((p - y) ** 2)


def relax(x, w, steps=2):
    for _ in range(steps):
        if np.sum(x) > 0:
            x = np.tanh(x @ w)
    return np.sum(x * x)


def squash(a, b=1.0):
    return np.tanh(a) * b


def early(x, n=3):
    for i in range(n):
        if np.sum(x) > 10.0:
            return np.sum(x) * SCALE
        x = x * x
    return np.sum(squash(x) * OFFSET)


def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


def closures(x):
    s = np.sin(x)

    def times(v):
        return v * s

    return np.sum(times(x) + (lambda v: v / s)(x))


def halve(x):
    while x > 1:
        x = x / 2
        if x < 1.5:
            break
    else:
        x = x * 3
    return x * math.sin(x)
"""

PARAMS = {
    "W1": np.array([[0.1, -0.2], [0.3, 0.5]]),
    "b1": np.array([0.1, -0.1]),
    "W2": np.array([[0.7], [-0.4]]),
    "b2": np.array([0.2]),
}
X = np.array([[0.5, 1.5], [1.0, -0.5]])
V = np.array([0.9, 1.3])

CALLS = [
    ("loss", (PARAMS, X, np.array([[1.0], [0.0]])), "params"),
    ("relax", (X, X.T), ("x", "w")),
    ("early", (V,), "x"),
    ("early", (V * 4,), "x"),
    ("power", (1.5, 3), "x"),
    ("closures", (V,), "x"),
    ("halve", (2.7,), "x"),
    ("halve", (8.0,), "x"),
]
CALL_IDS = [f"{name} {i}" for i, (name, _, _) in enumerate(CALLS)]
MODES = [pytest.param(True, id="single use"), pytest.param(False, id="reusable")]


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Make a module of a text and import it as any other: `make("train", text)`."""
    monkeypatch.syspath_prepend(tmp_path)
    made = []

    def make(name, text):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        importlib.invalidate_caches()
        made.append(name)
        return importlib.import_module(name)

    yield make
    for name in made:
        sys.modules.pop(name, None)


@pytest.fixture
def sample(make):
    return make("sample", SAMPLE)


@pytest.fixture
def run(make):
    """Dump a function, import the dump, and compare its value and gradient with those of the function itself."""
    numbers = itertools.count(1)

    def run(f, *args, wrt=None, single_use=True, **kwargs):
        text = dump(f, args, kwargs, wrt=wrt, single_use=single_use)
        module = make(f"dumped_{next(numbers)}", text)
        value, pullback = getattr(module, f"{f.__name__}_forward")(*args, **kwargs)
        np.testing.assert_allclose(value, f(*args, **kwargs))
        names = wrt if isinstance(wrt, tuple) else (wrt or next(iter(inspect.signature(f).parameters)),)
        bound = inspect.signature(f).bind(*args, **kwargs)
        bound.apply_defaults()
        for _ in range(1 if single_use else 2):
            cotangents = pullback(1.0) if len(names) > 1 else (pullback(1.0),)
            for n, actual, expected in zip(names, cotangents, gradient(f, names)(*args, **kwargs), strict=True):
                primal = bound.arguments[n]
                same(expected, materialize(project(actual, primal), primal))
        return text

    return run


def same(expected, actual):
    if isinstance(expected, dict):
        assert expected.keys() == actual.keys()
        for key in expected:
            same(expected[key], actual[key])
    else:
        np.testing.assert_allclose(actual, expected)


# --- right ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("single_use", MODES)
@pytest.mark.parametrize(("name", "args", "wrt"), CALLS, ids=CALL_IDS)
def test_dump_is_importable_and_right(name, args, wrt, single_use, sample, run):
    """What is written to a file is imported, and gives the value and gradient of the function."""
    run(getattr(sample, name), *copy.deepcopy(args), wrt=wrt, single_use=single_use)


@pytest.mark.parametrize("single_use", MODES)
@pytest.mark.parametrize("name", ["loss", "relax", "early", "power", "closures"])
def test_text(name, single_use, sample, golden):
    """The text reads as it is meant to."""
    args, wrt = next((args, wrt) for called, args, wrt in CALLS if called == name)
    golden(dump(getattr(sample, name), args, wrt=wrt, single_use=single_use).rstrip("\n"))


def test_signature_is_the_users(make, run):
    """Defaults, keyword-only, *args and **kwargs are as in the function, without annotations."""
    train = make(
        "train",
        """
        from __future__ import annotations
        import numpy as np
        BIG = np.arange(100.0)

        def loss(x: Missing, /, y=-1.5, *rest, scale: float = 2.0, act=np.tanh, table=BIG, **options) -> float:
            t = x * y
            for r in rest:
                t = t + r
            return np.sum(act(t) * scale * options["k"] * table[3])
        """,
    )
    text = run(train.loss, V, 2.0, 0.5, k=3.0, wrt="x")
    assert "def loss_forward(x, /, y=-1.5, *rest, scale=2.0, act=np.tanh, table=BIG, **options):" in text
    assert "from train import BIG" in text


def test_pullback_may_be_asked_for_any_output(run, make):
    """The cotangent has the structure of the value."""
    text = dump(lambda x: (x * x, [np.sin(x)]), (V,))
    module = make("structured", text)
    (a, _), back = module.lambda_forward(V)
    np.testing.assert_allclose(a, V * V)
    np.testing.assert_allclose(back((np.ones(2), [np.ones(2)])), 2 * V + np.cos(V))


@pytest.mark.parametrize(("name", "args", "wrt"), CALLS, ids=CALL_IDS)
def test_wrapper_form(name, args, wrt, sample, run, monkeypatch):
    """Where the closure form is not possible the root calls its pair, with the same result."""
    monkeypatch.setattr("adcompiler.closed._closed", lambda *_: None)
    text = run(getattr(sample, name), *copy.deepcopy(args), wrt=wrt)
    assert f"return _{name}_backward(saved" in text


# --- names ------------------------------------------------------------------------------------------------


def test_globals(sample):
    """Modules are imported, numbers assigned, everything else imported from where it is."""
    head = dump(sample.early, (V,)).split("\n\n\n")[0].splitlines()
    assert "import numpy as np" in head
    assert "from sample import OFFSET" in head
    assert "SCALE = 2.0" in head


def test_one_name_for_two_things_in_two_modules(make, run):
    """A helper's module has its own globals."""
    make("helper", "import numpy as np\nSCALE = 3.0\nMAX = max\ndef g(x):\n    return np.sum(x * SCALE)\n")
    train = make(
        "train", "import helper\nfrom helper import g\nSCALE = 5.0\ndef f(x):\n    return g(x * SCALE) + helper.g(x)\n"
    )
    text = run(train.f, V)
    assert "SCALE = 5.0" in text
    assert "SCALE_2 = 3.0" in text


def test_shadowed_builtin(make, run):
    """A module that has its own `abs` does not change that of another."""
    make("helper", "import numpy as np\ndef abs(x):\n    return x * x\ndef g(x):\n    return abs(x)\n")
    train = make("train", "import numpy as np\nfrom helper import g\ndef f(x):\n    return np.sum(g(x) * abs(x))\n")
    run(train.f, -V)


def test_a_helper_called_with_two_kinds(make, run):
    """Each kind has its own pair, under its own name."""
    train = make(
        "train",
        "import numpy as np\n"
        "def g(a):\n    return np.sum(np.exp(a) * np.sum(a))\n"
        "def f(x, s):\n    return g(x) + g(s)\n",
    )
    text = run(train.f, V, 0.5, wrt=("x", "s"))
    assert "def g_forward(" in text
    assert "def g_forward_2(" in text


def test_names_of_the_compiler_give_way(make, run):
    """The user's `f_forward`, `fit`, `value` are theirs."""
    train = make(
        "train",
        """
        import numpy as np

        def f_forward(x):
            return x + 1

        def f(value, fit=1.0):
            f_pullback = f_forward(value) * fit
            broadcast = f_pullback + np.ones((2, 2))
            return np.sum(broadcast * broadcast)
        """,
    )
    text = dump(train.f, (V,))
    module = make("dumped", text)
    value, back = module.f_forward_2(V)
    np.testing.assert_allclose(value, train.f(V))
    np.testing.assert_allclose(back(1.0), 4 * (V + 2))


def test_captured_variables(make, run):
    """What a function captured is written out, or imported if it has a name of its own."""
    train = make(
        "train",
        """
        import numpy as np

        def outer(k, w, g):
            def inner(x):
                return np.sum(w * x * k) + g(x)
            return inner

        inner = outer(5.0, np.array([[1.0], [2.0]]), np.sum)
        """,
    )
    text = run(train.inner, V)
    assert "from numpy import sum as g" in text
    assert "k = 5.0" in text
    assert "w = np.array([[1.0], [2.0]], dtype='float64')" in text


def test_captured_variable_that_is_too_large(make):
    """What cannot be written is announced where it is to be assigned."""
    w = np.ones(1000)
    text = dump(lambda x: np.sum(w * x), (np.ones(1000),))
    assert "# w is to be assigned here: it is an array of shape (1000,)" in text
    module = make("captured", text)
    module.w = w
    assert 1000.0 == module.lambda_forward(np.ones(1000))[0]


def test_submodules_are_imported(make, run):
    """`import a.b` where the text says `a.b`, since `import a` may not load it."""
    train = make(
        "train",
        "import logging.handlers\nimport numpy as np\n"
        "def f(x):\n    level = logging.handlers.DEFAULT_TCP_LOGGING_PORT\n    return np.sum(x * x) * level\n",
    )
    assert "import logging.handlers\n" in run(train.f, V)


def test_user_syntax_keeps_its_meaning(make, run):
    """Kept statements (asserts, raises, f-strings, comprehensions of constants) read the right names."""
    train = make(
        "train",
        """
        import numpy as np
        LIMIT = 3
        class Odd(Exception):
            pass

        def f(x):
            sizes = [n + LIMIT for n in (1, 2) if n < LIMIT]
            assert len(sizes) == 2, f"{LIMIT} and {sizes!r}"
            if x[0] > 100.0:
                raise Odd(f"{x[0]:.2f}")
            return np.sum(x * sizes[0])
        """,
    )
    text = run(train.f, V)
    assert "from train import Odd" in text
    module = make("again", text)
    with pytest.raises(train.Odd, match=r"100\.90"):
        module.f_forward(V + 100)


# --- form -------------------------------------------------------------------------------------------------


def test_one_return_has_the_pullback_before_it(sample):
    """The pullback is defined where all that it reads is there."""
    body = dump(sample.loss, CALLS[0][1], single_use=False).splitlines()
    assert body[-1].startswith("    return ")
    assert body[-1].endswith(", loss_pullback")
    assert body.index("    def loss_pullback(value_bar):") > body.index("def loss_forward(params, x, y):") + 3


def test_several_returns_have_it_first(sample):
    """With early returns the pullback is defined first, and reads what is assigned later."""
    lines = dump(sample.early, (V,)).splitlines()
    first = lines.index("def early_forward(x, n=3):")
    assert lines[first + 1].startswith("    # ")
    assert lines[first + 2] == "    def early_pullback(value_bar):"
    assert 2 == sum(line.endswith(", early_pullback") for line in lines)


def test_recursion_goes_through_a_pair(sample):
    """A function that calls itself has a pair besides the closure form."""
    text = dump(sample.power, (1.5, 3))
    for name in ("_power_forward", "_power_backward", "power_forward"):
        assert f"def {name}(" in text


def test_header(sample):
    """The first line says of what, with respect to what, in which mode, and by which version."""
    first = dump(sample.relax, (X, X), wrt=("x", "w")).splitlines()[0]
    assert "# relax (sample.py:15), derivative with respect to x and w, single use.  adcompiler 0.1.0" == first
    first = dump(sample.relax, (X, X), single_use=False).splitlines()[0]
    assert "# relax (sample.py:15), derivative with respect to x.  adcompiler 0.1.0" == first


def test_single_use_says_so_where_it_matters(sample):
    """A pullback that lets go of what the forward has kept says that it may be called once."""
    assert "Call it once" in dump(sample.early, (V,))
    assert "Call it once" not in dump(sample.early, (V,), single_use=False)
    assert "Call it once" in dump(sample.loss, CALLS[0][1])
    assert "Call it once" not in dump(sample.loss, CALLS[0][1], single_use=False)


# --- arguments --------------------------------------------------------------------------------------------


def test_method_of_a_differentiable(sample):
    """`f.source(...)` is the dump."""
    f = differentiable(sample.relax)
    assert dump(sample.relax, (X, X), wrt="w") == f.source(X, X, wrt="w")
    assert dump(sample.relax, (X, X), {"steps": 3}) == f.source(X, X, steps=3)


def test_wrt_takes_names_and_positions(sample):
    """Names, positions, and tuples of these."""
    expected = dump(sample.relax, (X, X), wrt=("x", "w"))
    assert expected == dump(sample.relax, (X, X), wrt=(0, 1)) == dump(sample.relax, (X, X), wrt=["w", 0])


def test_default_is_the_first_with_a_derivative(make):
    """Integers before it are passed over."""
    train = make("train", "def f(n, x, y):\n    return x * y * n\n")
    assert "with respect to x." in dump(train.f, (2, 1.0, 1.0), single_use=False)


@pytest.mark.parametrize(
    ("wrt", "error", "message"),
    [
        ("q", TypeError, "wrt names 'q'; the parameters are x, w, steps"),
        (7, TypeError, "wrt names 7"),
        ("steps", TangentError, "the argument 'steps' of relax has no derivative"),
    ],
)
def test_wrong_wrt(wrt, error, message, sample):
    with pytest.raises(error, match=message):
        dump(sample.relax, (X, X), wrt=wrt)


def test_no_arguments_are_guessed(make):
    """From annotations and loops; else arrays, of as many dimensions as compile."""
    train = make(
        "train",
        """
        import numpy as np

        def f(x, w: np.ndarray, s: float, n, k: int = 2):
            for _ in range(n):
                x = x @ w
            return np.sum(x) * s * k
        """,
    )
    text = dump(train.f)
    assert (
        "# Assumed, because no arguments were given: x is an array of 2 dimensions, w is an array of 2 dimensions, "
        "s is a float, n is an int."
    ) in text


def test_guess_goes_on_until_something_compiles(make):
    """`math.sin` takes no array."""
    train = make(
        "train", "import numpy as np\ndef f(x):\n    a, b = x.shape[0], 1.0\n    return np.sum(x[a - 1] * b)\n"
    )
    assert "x is an array of" in dump(train.f)


def test_a_refusal_names_the_line(make):
    """What cannot be compiled is the user's error, not a dump."""
    train = make("train", "def f(x):\n    return sum({v * 2 for v in x})\n")
    with pytest.raises(UnsupportedSyntaxError, match=r'train.py", line 2'):
        dump(train.f)


def test_what_has_no_source():
    with pytest.raises(Exception, match="sin is not written in Python"):
        dump(np.sin, (1.0,))


# --- stages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_a_text(stage, sample):
    """Each names the function, ends in one newline, and shows its helper too."""
    text = dump(sample.early, (V,), stage=stage)
    assert text.startswith("# early (sample.py:")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "squash" in text


@pytest.mark.parametrize("stage", ["lower", "kinds", "activity", "adjoint", "fold"])
def test_stage(stage, sample, golden):
    """Each stage reads as it is meant to."""
    golden(dump(sample.relax, (X, X), stage=stage).rstrip("\n"))


def test_unknown_stage(sample):
    with pytest.raises(ValueError, match="stage='nonsense' is not one of parse"):
        dump(sample.relax, (X, X), stage="nonsense")


def test_a_program_that_writes_into_containers(make, run):
    """Its text makes the table of cotangents by itself."""
    module = make(
        "grow",
        """
        def grow(x, n):
            xs = [x]
            for i in range(n):
                xs.append(xs[-1] * x)
            return sum(xs)
        """,
    )
    text = run(module.grow, 1.5, 3)
    assert "from adcompiler.runtime.bars import with_table" in text
