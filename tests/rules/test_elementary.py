"""Elementwise functions of one argument."""

import warnings

import numpy as np
import pytest

from adcompiler import MutationError, gradient
from adcompiler.rules.registry import lookup
from adcompiler.testing import case, check_rule, complex_normal, distinct, nonzero, normal, positive, uniform, unit

EVERYWHERE = (
    *(np.exp, np.exp2, np.expm1, np.sin, np.cos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.square),
    *(np.deg2rad, np.radians, np.rad2deg, np.degrees, np.sinc),
)
OF_POSITIVE = (np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.reciprocal, np.fabs, np.sign)
OF_UNIT = (np.tan, np.arcsin, np.arccos, np.arctanh)
PARTS = (np.real, np.imag, np.conjugate, np.angle, np.nan_to_num)
COMPLEX = (
    *(np.exp, np.exp2, np.expm1, np.sin, np.cos, np.tan, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.square),
    *(np.sinc, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.reciprocal, np.arcsin, np.arccos, np.arccosh),
    *(np.arctanh, np.sign, *PARTS),
)
ARRAY_PARTS = (np.ndarray.real, np.ndarray.imag, np.ndarray.conj, np.ndarray.conjugate)
CONVERSIONS = (np.float64, np.longdouble)
NUMBERS = (
    *((key, 1.5) for key in (float.real, float.imag, float.conjugate)),
    *((key, 1.5 - 0.5j) for key in (complex.real, complex.imag, complex.conjugate)),
    *((key, np.float64(1.5)) for key in (np.generic.real, np.generic.imag, np.generic.conj, np.generic.conjugate)),
)


def shapes(key, make, scalar):
    """Calls on an array and on scalars; `check_rule` adds size 0, 0-d arrays, float32 and memory layouts."""
    yield case(key, make(2, 3))
    yield case(key, scalar, id="float")
    yield case(key, np.float64(scalar), id="np.float64")


LIMITS = [
    case(np.clip, distinct(2, 3), -0.5, 0.5),
    case(np.clip, distinct(2, 3), -0.5, None, id="lower end"),
    case(np.clip, distinct(2, 3), None, 0.5, id="upper end"),
    case(np.clip, distinct(2, 3), min=-0.5, max=0.5, id="ends by their new names"),
    case(np.clip, normal(2, 3), normal(3), np.array([[1.0], [2.0]]), id="ends that broadcast"),
    case(np.clip, 0.3, -0.5, 0.5, id="float"),
    case(np.ndarray.clip, distinct(2, 3), -0.5, 0.5),
    case(np.ndarray.clip, distinct(2, 3), min=-0.5, id="lower end"),
    case(np.ndarray.clip, distinct(2, 3), max=0.5, id="upper end"),
    case(np.ndarray.clip, normal(2, 3), normal(3), np.array([[1.0], [2.0]]), id="ends that broadcast"),
    case(
        np.nan_to_num,
        np.array([1.0, np.nan, np.inf]),
        nan=2.0,
        posinf=3.0,
        neginf=4.0,
        id="fillers",
        wrt=("nan", "posinf"),
    ),
]

CASES = [
    *(each for key in EVERYWHERE for each in shapes(key, normal, 0.7)),
    *(each for key in OF_POSITIVE for each in shapes(key, positive, 0.7)),
    *(each for key in OF_UNIT for each in shapes(key, unit, 0.7)),
    *(each for key in PARTS for each in shapes(key, positive, 0.7)),
    case(np.arccosh, uniform(1.5, 3, 2, 3)),
    case(np.i0, nonzero(2, 3)),
    case(np.i0, np.array([-20.0, -7.9, 8.1, 30.0]), id="large"),
    case(np.sinc, np.array([1e-9, 1e-3, 0.15, 0.16, 3.7]), id="near 0"),
    *(case(key, complex_normal(2, 3)) for key in COMPLEX),
    *(case(key, 0.3 - 0.4j, id="complex number") for key in COMPLEX),
    case(np.nan_to_num, np.array([1.0, np.nan, np.inf, -np.inf]), True, 0.5, 2.0, -2.0, id="all by position"),
    case(np.nan_to_num, np.array([1.0, np.nan, 2.0]), copy=True, nan=normal(3), id="a copy, and an array of fillers"),
    case(np.angle, complex_normal(2, 3), deg=True, id="degrees"),
    *(case(key, x) for key in ARRAY_PARTS for x in (normal(2, 3), complex_normal(2, 3), normal())),
    *(case(key, x) for key, x in NUMBERS),
    *(case(key, x) for key in CONVERSIONS for x in (normal(2, 3), 1.5)),
    *(case(key, x, wrt=()) for key in (np.float16, np.float32, np.complex64) for x in (normal(2, 3), 1.5)),
    *(case(f, x) for f in (np.complex128, np.clongdouble) for x in (normal(2, 3), complex_normal(3), 1.5)),
    case(np.real_if_close, normal(2, 3)),
    *LIMITS,
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def bar(function, x, y_bar=1.0):
    """The cotangent of `x`, computed with warnings as errors as soon as the value is there."""
    with np.errstate(all="ignore"):
        _, pullback = lookup(function)[0].function(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return pullback(y_bar)[0]


@pytest.mark.parametrize("function", [np.log, np.log2, np.log10, np.sqrt, np.cbrt, np.reciprocal])
def test_zero_cotangents_at_a_singular_point(function):
    """`where(x > 0, f(x), 0)` has no nan at 0, for arrays, scalars and 0-d arrays."""
    np.testing.assert_array_equal(bar(function, np.zeros(3), np.zeros(3)), np.zeros(3))
    assert bar(function, np.float64(0.0), 0.0) == 0.0
    assert bar(function, np.array(0.0), np.array(0.0)) == 0.0


@pytest.mark.parametrize("function", [np.log, np.log2, np.log10, np.log1p, np.sqrt, np.arcsin, np.arccos, np.arctanh])
def test_zero_cotangents_outside_the_domain(function):
    """`where(inside, f(x), 0)` has no nan where the value is nan or infinite."""
    x = np.array([-3.0, -1.0, 0.5])
    x_bar = bar(function, x, np.array([0.0, 0.0, 1.0]))
    np.testing.assert_array_equal(x_bar[:2], [0.0, 0.0])
    assert np.isfinite(x_bar[2])


def test_sqrt_at_zero_is_taken_as_flat():
    """As abs and norm: the square root of a square has the derivative 0 at 0."""
    np.testing.assert_array_equal(bar(np.sqrt, np.array([0.0, 4.0]), np.ones(2)), [0.0, 0.25])
    assert bar(np.sqrt, np.float64(0.0)) == 0.0


def test_poles_stay_infinite():
    """A cotangent that is not zero meets the infinite derivative."""
    np.testing.assert_array_equal(bar(np.log, np.array([0.0, 2.0]), np.ones(2)), [np.inf, 0.5])
    assert bar(np.log, np.float64(0.0), -1.0) == -np.inf
    assert bar(np.arcsin, 1.0) == np.inf


def test_sign_of_a_real_number_is_a_step():
    """The derivative of sign is 0 on the real axis, and not off it."""
    np.testing.assert_array_equal(bar(np.sign, np.array([-2.0, 0.0, 3.0]), np.ones(3)), np.zeros(3))
    assert bar(np.sign, 0j) == 0


def test_nan_to_num_drops_what_it_replaced():
    """What was not finite has no cotangent, in each part of a complex number."""
    x = np.array([1.0, np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(bar(np.nan_to_num, x, np.ones(4)), [1.0, 0.0, 0.0, 0.0])
    z = np.array([complex(np.nan, 1.0), complex(1.0, np.inf)])
    np.testing.assert_array_equal(bar(np.nan_to_num, z, np.full(2, 1 + 1j)), [1j, 1.0])


def test_clip_shares_with_its_ends():
    """At an end the array and the end get half each, as with a maximum."""
    _, pullback = lookup(np.clip)[0].function(np.array([-2.0, -1.0, 0.0, 1.0, 2.0]), -1.0, 1.0)
    a_bar, low_bar, high_bar, *_ = pullback(np.ones(5))
    np.testing.assert_array_equal(a_bar, [0.0, 0.5, 1.0, 0.5, 0.0])
    assert (1.5, 1.5) == (low_bar, high_bar)


def test_sinc_at_zero():
    """Flat at its maximum, and accurate beside it."""
    assert bar(np.sinc, 0.0) == 0.0
    np.testing.assert_allclose(bar(np.sinc, np.array([1e-6]), np.ones(1)), [-(np.pi**2) / 3 * 1e-6], rtol=1e-10)


def test_i0_against_its_integral():
    """I1(x) is the mean of exp(x cos t) cos t over a half turn (DLMF 10.32.3)."""
    t = (np.arange(400) + 0.5) * np.pi / 400
    for x in (-3.0, 0.0, 1e-3, 7.999, 8.001, 40.0):
        np.testing.assert_allclose(bar(np.i0, x), np.mean(np.exp(x * np.cos(t)) * np.cos(t)), rtol=1e-13, atol=1e-15)


def test_nan_to_num_that_may_write_is_refused():
    """Whether the argument itself is changed has to be seen in the text."""
    with pytest.raises(MutationError, match="copy="):
        gradient(lambda x, copy: np.sum(np.nan_to_num(x, copy=copy)))(np.ones(3), False)
