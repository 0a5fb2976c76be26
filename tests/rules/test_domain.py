"""Elementwise functions over their domain: every precision, large and small numbers, both sides of complex cuts."""

import linecache
import warnings

import numpy as np
import pytest

from adcompiler import check_gradient, pullback
from adcompiler.rules.registry import lookup

UFUNCS = dict.fromkeys(f for f in vars(np).values() if isinstance(f, np.ufunc))
ELEMENTWISE = [f for f in UFUNCS if f.signature is None and f.nout == 1 and lookup(f)]
# Their slopes are step functions, or their second argument is whole.
STEPS = (np.sign, np.heaviside, np.nextafter, np.ldexp, np.remainder, np.fmod)
SMOOTH = [f for f in ELEMENTWISE if f not in STEPS]
LARGE = {np.float16: (300.0, -30000.0), np.float32: (1e4, -1e25, 1e-25), np.float64: (1e4, 1e200, -1e-200)}
NEAR = (1e-4, 0.03, 0.4, -0.4, 0.99, 1.0, -1.0, 1.5, 3.0, 20.0, -100.0)


def compiled(ufunc):
    """A function that calls a ufunc by its name, so that its rule is inlined."""
    x = "x" if ufunc.nin == 1 else "x, y"
    text, file = f"def f({x}):\n    return np.{ufunc.__name__}({x})\n", f"<np.{ufunc.__name__}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"np": np}
    exec(compile(text, file, "exec"), names)
    return names["f"]


def bars(f, args, y_bar):
    """The value and the cotangents, with warnings of the pullback as errors."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y, back = pullback(f, *args)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return y, back(np.full_like(y, y_bar))


def points(ufunc, dtype):
    numbers = np.array((*NEAR, *LARGE[dtype]), dtype)
    grid = np.meshgrid(*[numbers] * ufunc.nin)
    return tuple(x.ravel() for x in grid)


@pytest.mark.parametrize("dtype", LARGE)
@pytest.mark.parametrize("ufunc", SMOOTH, ids=lambda f: f.__name__)
def test_slopes_in_every_precision(ufunc, dtype):
    """Those of a wider computation, wherever the value is finite; no nan, no warning."""
    args = points(ufunc, dtype)
    f = compiled(ufunc)
    with np.errstate(all="ignore"):
        good = np.isfinite(ufunc(*args)) & np.isfinite(ufunc(*(x.astype(np.longdouble) for x in args)))
    args = tuple(x[good] for x in args)
    with np.errstate(under="ignore", over="ignore"):  # of slopes that are too large or too small for the dtype
        _, narrow = bars(f, args, 1.0)
        _, wide = bars(f, tuple(x.astype(np.longdouble) for x in args), 1.0)
        expected = [w.astype(dtype) for w in wide]
    eps = float(np.finfo(dtype).eps)
    for x_bar, x_expected in zip(narrow, expected, strict=True):
        assert x_bar.dtype == dtype
        # Saturated slopes (tanh, expm1, logaddexp) are differences of numbers near 1, and of logarithms.
        loss = 3e4 if ufunc in (np.logaddexp, np.logaddexp2) else 100
        np.testing.assert_allclose(
            x_bar.astype(float), x_expected.astype(float), rtol=loss * eps, atol=eps if loss == 100 else 1e4 * eps
        )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("ufunc", ELEMENTWISE, ids=lambda f: f.__name__)
def test_zero_cotangents(ufunc, dtype):
    """They stay zero at every finite point, and raise no warning."""
    numbers = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 1000.0, -1000.0], dtype)
    args = tuple(x.ravel() for x in np.meshgrid(*[numbers] * ufunc.nin))
    if ufunc is np.ldexp:
        args = (args[0], args[1].astype(int) % 5)
    f = compiled(ufunc)
    for x_bar in bars(f, args, 0.0)[1]:
        assert x_bar is None or not np.any(x_bar)
    for i in range(0, len(args[0]), 3):
        for x_bar in bars(f, tuple(x[i] for x in args), 0.0)[1]:
            assert x_bar is None or not np.any(x_bar)


CUT = (np.sqrt, np.log, np.log2, np.log10, np.log1p, np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh)
ENTIRE = (np.exp, np.expm1, np.exp2, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.square, np.reciprocal)


@pytest.mark.parametrize("ufunc", [*CUT, np.arctanh, *ENTIRE, np.sign, np.absolute], ids=lambda f: f.__name__)
def test_both_sides_of_the_cuts(ufunc):
    """Complex central differences at points beside each cut, and in every quadrant."""
    eps = 1e-3
    beside = [s * r + 1j * t * eps for r in (0.5, 2.0) for s in (1, -1) for t in (1, -1)]
    beside += [t * eps + 1j * s * r for r in (0.5, 2.0) for s in (1, -1) for t in (1, -1)]
    check_gradient(compiled(ufunc), np.array([*beside, 1 + 2j, -1 + 2j, 1 - 2j, -1 - 2j]))


@pytest.mark.parametrize("ufunc", [np.power, np.divide, np.multiply, np.float_power], ids=lambda f: f.__name__)
def test_complex_functions_of_two_arguments(ufunc):
    """On both sides of the cut of the power, too."""
    z = np.array([-2 + 0.01j, -2 - 0.01j, 1 + 2j, -0.5 - 1j])
    check_gradient(compiled(ufunc), z, z[::-1].copy())


def test_large_even_exponents_in_half_precision():
    """(-1) ** 3000 is 1, and its slope -3000 though 2999 is no number of half precision."""
    x = np.array([-1.0], np.float16)
    _, (x_bar, _) = bars(compiled(np.power), (x, np.array([3000.0], np.float16)), 1.0)
    assert x_bar[0] == -3000


def test_small_and_large_points_of_an_angle():
    """The square of the radius would be infinite, or 0."""
    for radius in (3e4, 1e-4):
        x = np.array([radius], np.float16)
        _, (a_bar, b_bar) = bars(compiled(np.arctan2), (x, x), 1.0)
        np.testing.assert_allclose([a_bar[0] * radius, b_bar[0] * radius], [0.5, -0.5], rtol=2e-2)
