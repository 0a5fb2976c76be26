"""A cotangent of zero beats a partial that is infinite or nan: `np.where(good, f(x), 0.0)` has gradient 0 elsewhere."""

import operator
import warnings

import numpy as np
import pytest

from adcompiler import gradient
from adcompiler.rules.registry import lookup
from adcompiler.runtime.elementary import can_divide, is_finite

INF, NAN = np.inf, np.nan

# Each function with points where its derivative is not finite, and one where it is.
OF_ONE = [
    *((f, (800.0, INF, NAN), 0.5) for f in (np.exp, np.expm1, np.sinh, np.cosh)),
    (np.exp2, (1100.0, INF, NAN), 0.5),
    *((f, (INF, -INF, NAN), 0.5) for f in (np.sin, np.cos, np.tan)),
    *((f, (0.0, -1.0, NAN), 0.5) for f in (np.log, np.log2, np.log10, np.sqrt)),
    (np.log1p, (-1.0, -2.0, NAN), 0.5),
    (np.reciprocal, (0.0, 1e-300, NAN), 0.5),
    (np.cbrt, (0.0, NAN), 0.5),
    *((f, (1.0, -1.0, 2.0, NAN), 0.5) for f in (np.arcsin, np.arccos, np.arctanh)),
    (np.arccosh, (1.0, 0.5, NAN), 1.5),
    (np.linalg.norm, (0.0, INF, NAN), 0.5),
]
OF_TWO = [
    *((f, 1.0, x) for f in (operator.truediv, np.divide) for x in (0.0, NAN)),
    *((f, x, 2.0) for f in (operator.truediv, np.divide) for x in (INF, NAN)),
    *((f, INF, INF) for f in (operator.truediv, np.divide)),
    *((f, 0.0, x) for f in (operator.pow, np.power, np.float_power) for x in (-1.0, -0.5, 0.5)),
    *((f, x, 2.5) for f in (operator.pow, np.power, np.float_power) for x in (1e200, INF, -1.0, NAN)),
    *((f, 2.0, 1e4) for f in (np.power, np.float_power)),
    *((f, a, b) for f in (np.logaddexp, np.logaddexp2) for a, b in ((INF, 1.0), (-INF, -INF), (INF, INF), (1.0, NAN))),
    *((f, a, b) for f in (np.hypot, np.arctan2) for a, b in ((0.0, 0.0), (INF, 1.0), (1.0, INF))),
]
FORMS = {
    "np.float64": np.float64,
    "0-d array": np.array,
    "array": lambda x: np.full(3, x),
    "large array": lambda x: np.full((2, 3000), x),
}


def cotangents(function, *args, y_bar):
    """The cotangents of `args`, computed with warnings as errors as soon as the value is there."""
    with np.errstate(all="ignore"):
        _, pullback = lookup(function)[0].function(*args)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return pullback(y_bar)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("function", "points", "_"), OF_ONE, ids=lambda x: getattr(x, "__name__", None))
def test_functions_of_one_argument(function, points, _, form):
    """Every singular point gets 0 for a cotangent of 0."""
    for x in points:
        x = FORMS[form](x)
        y_bar = np.zeros_like(x)[()] if function is not np.linalg.norm else 0.0
        np.testing.assert_array_equal(cotangents(function, x, y_bar=y_bar)[0], np.zeros_like(x))


@pytest.mark.parametrize(("function", "points", "regular"), OF_ONE[:-1], ids=lambda x: getattr(x, "__name__", None))
@pytest.mark.parametrize("size", [1, 4000])
def test_regular_points_beside_singular_ones(function, points, regular, size):
    """They have the derivative that they have alone, also for a cotangent of 0 at other regular points."""
    alone = cotangents(function, np.full(1, regular), y_bar=np.full(1, 2.0))[0]
    x = np.repeat(np.array([*points, regular, regular]), size)
    y_bar = np.repeat(np.array([*(0.0 for _ in points), 2.0, 0.0]), size)
    expected = np.repeat(np.array([*(0.0 for _ in points), alone[0], 0.0]), size)
    np.testing.assert_allclose(cotangents(function, x, y_bar=y_bar)[0], expected, rtol=1e-14)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("function", "a", "b"), OF_TWO, ids=lambda x: getattr(x, "__name__", None))
def test_functions_of_two_arguments(function, a, b, form):
    """Both cotangents are 0, whichever argument is the singular one."""
    a, b = FORMS[form](a), FORMS[form](b)
    for bar in cotangents(function, a, b, y_bar=np.zeros_like(a)[()]):
        np.testing.assert_array_equal(bar, np.zeros_like(a))


@pytest.mark.parametrize(("function", "a", "b"), OF_TWO, ids=lambda x: getattr(x, "__name__", None))
def test_one_argument_is_a_scalar(function, a, b):
    """A broadcast argument collects zeros."""
    for args in ((np.full(3, a), b), (a, np.full(3, b)), (np.full((3, 1), a), np.full(2, b))):
        with np.errstate(all="ignore"):
            try:
                y = function(*args)
            except ArithmeticError:
                continue
        for bar, arg in zip(cotangents(function, *args, y_bar=np.zeros_like(y)), args, strict=True):
            np.testing.assert_array_equal(bar, np.zeros(np.shape(arg)))


def test_python_numbers():
    """No exception, such as that of Python's own division by zero, comes out of a pullback."""
    assert cotangents(np.log, 0.0, y_bar=0.0) == (0.0,)
    assert cotangents(np.log, 0.0, y_bar=2.0) == (INF,)
    assert cotangents(np.exp, 1000.0, y_bar=0.0) == (0.0,)
    assert cotangents(np.exp, 1000.0, y_bar=2.0) == (INF,)
    assert cotangents(operator.truediv, np.float64(1.0), 0.0, y_bar=0.0) == (0.0, 0.0)
    assert cotangents(operator.truediv, np.float64(1.0), 0.0, y_bar=2.0) == (INF, -INF)


def test_complex_numbers():
    """The same off the real axis."""
    for function, x in ((np.exp, complex(1000, 1)), (np.log, 0j), (np.sqrt, 0j), (np.reciprocal, 0j)):
        assert cotangents(function, np.complex128(x), y_bar=0j) == (0j,)
        np.testing.assert_array_equal(cotangents(function, np.array([x, 1j]), y_bar=np.zeros(2, complex))[0], [0j, 0j])


@pytest.mark.parametrize(
    ("x", "finite", "divisor"),
    [
        (1.5, True, True),
        (0.0, True, False),
        (NAN, False, False),
        (np.float32(2), True, True),
        (1 - 2j, True, True),
        (complex(NAN, 1), False, False),
        (np.array(2.0), True, True),
        (np.array(0.0), True, False),
        (np.zeros((0, 3)), True, True),
        (np.array([1.0, -2.0]), True, True),
        (np.array([1.0, 0.0]), True, False),
        (np.array([1.0, NAN]), False, False),
        (np.array([1j, -1.0]), True, True),
        (np.array([1j, 0.0]), True, False),
        (np.linspace(1, 2, 5000), True, True),
        (np.linspace(-1, 2, 5000), True, True),
        (np.arange(5000.0), True, False),
        (np.where(np.arange(5000) == 4999, NAN, 1.0), False, False),
        (np.where(np.arange(5000) == 4999, INF, -1.0), False, False),
        (np.asfortranarray(np.ones((50, 60))), True, True),
        (np.ones(6000, np.float32)[::2], True, True),
        (np.full((100, 200), 1e200), True, True),
        (np.where(np.arange(20_000) == 7, NAN, -1.0).reshape(100, 200).T, False, False),
        (np.where(np.arange(20_000) == 7, complex(1, -INF), -1.0), False, False),
    ],
)
def test_questions(x, finite, divisor):
    """Numbers and arrays of the sizes that are treated apart; nothing raises a floating-point flag."""
    with np.errstate(all="raise"):
        assert (finite, divisor) == (is_finite(x), can_divide(x))


def test_questions_raise_no_flag():
    """A sum of squares that overflows makes the answer no, silently; infinite divisors are no harm."""
    with np.errstate(all="raise"):
        for size in (2, 5000, 20_000):
            assert is_finite(np.full(size, 1e200)) == (size == 20_000)
            assert is_finite(np.full(size, 1e-200))
            assert not is_finite(np.full(size, complex(INF, -INF)))
            assert not is_finite(np.full(size, INF))
        assert can_divide(INF)


BEHIND_A_WHERE = {
    "exp": lambda x: np.where(x < 1, np.exp(x), 0.0),
    "exp2": lambda x: np.where(x < 1, np.exp2(x), 0.0),
    "expm1": lambda x: np.where(x < 1, np.expm1(x), 0.0),
    "sin": lambda x: np.where(x < 1, np.sin(x), 0.0),
    "cos": lambda x: np.where(x < 1, np.cos(x), 0.0),
    "tan": lambda x: np.where(x < 1, np.tan(x), 0.0),
    "sinh": lambda x: np.where(x < 1, np.sinh(x), 0.0),
    "cosh": lambda x: np.where(x < 1, np.cosh(x), 0.0),
    "log": lambda x: np.where(x > 1, 0.0, np.log(x - INF * (x > 1))),
    "log of 0": lambda x: np.where(x > 1, 0.0, np.log(x * (x < 1))),
    "log1p": lambda x: np.where(x > 1, 0.0, np.log1p(x - 1e300 * (x > 1))),
    "sqrt": lambda x: np.where(x > 1, 0.0, np.sqrt(x * (x < 1))),
    "sqrt of a negative": lambda x: np.where(x > 1, 0.0, np.sqrt(0.6 - x)),
    "** 0.5": lambda x: np.where(x > 1, 0.0, (0.6 - x) ** 0.5),
    "** -1.5": lambda x: np.where(x > 1, 0.0, (0.6 - x) ** -1.5),
    "** 2.5": lambda x: np.where(x > 1, 0.0, x**2.5),
    "** -1": lambda x: np.where(x > 1, 0.0, (x * (x < 1)) ** -1),
    "division": lambda x: np.where(x > 1, 0.0, 2.0 / (x * (x < 1))),
    "division of infinity": lambda x: np.where(x > 1, 0.0, x / (3.0 + x)),
    "reciprocal": lambda x: np.where(x > 1, 0.0, np.reciprocal(x * (x < 1))),
    "arcsin": lambda x: np.where(x > 1, 0.0, np.arcsin(x)),
    "arccos": lambda x: np.where(x > 1, 0.0, np.arccos(x)),
    "arctanh": lambda x: np.where(x > 1, 0.0, np.arctanh(x)),
    "arccosh": lambda x: np.where(x > 1, 0.0, np.arccosh(2.5 - x)),
    "logaddexp": lambda x: np.where(x > 1, 0.0, np.logaddexp(x, 2.0)),
    "hypot": lambda x: np.where(x > 1, 0.0, np.hypot(x, 2.0)),
    "arctan2": lambda x: np.where(x > 1, 0.0, np.arctan2(x, 2.0)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BEHIND_A_WHERE)
@pytest.mark.parametrize("size", [1, 3000])
def test_compiled(name, size):
    """The same where the compiler has put the rule's text into the function: 0 beside the regular derivative."""
    f = BEHIND_A_WHERE[name]
    x = np.repeat([0.5, 1e300, INF], size)
    x_bar = gradient(lambda x: np.sum(f(x)))(x)
    slope = (f(0.5 + 1e-6) - f(0.5 - 1e-6)) / 2e-6
    np.testing.assert_allclose(x_bar, np.repeat([slope, 0.0, 0.0], size), rtol=1e-7)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BEHIND_A_WHERE)
@pytest.mark.parametrize("kind", [float, np.float64, np.array])
def test_compiled_scalars(name, kind):
    """The same for numbers."""
    f = BEHIND_A_WHERE[name]
    for x in (1e300, INF):
        try:
            y = f(kind(x))
        except ArithmeticError:  # Python's own numbers do not divide by zero
            continue
        if np.iscomplexobj(y):  # nor is there a nan instead of the root of a negative one
            continue
        assert gradient(lambda x: np.sum(f(x)))(kind(x)) == 0.0
    slope = (f(0.5 + 1e-6) - f(0.5 - 1e-6)) / 2e-6
    np.testing.assert_allclose(gradient(lambda x: np.sum(f(x)))(kind(0.5)), slope, rtol=1e-7)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_compiled_norm():
    """Rows that are zero or infinite, masked."""
    x = np.array([[3.0, 4.0], [0.0, 0.0], [INF, 1.0], [NAN, 1.0]])
    good = np.array([True, False, False, False])
    x_bar = gradient(lambda x: np.sum(np.where(good, np.linalg.norm(x, axis=1), 0.0)))(x)
    np.testing.assert_allclose(x_bar, [[0.6, 0.8], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], rtol=1e-15)
