"""Operators and elementwise functions of two or three arguments."""

import operator
import warnings

import numpy as np
import pytest

from adcompiler.rules.registry import lookup
from adcompiler.testing import case, check_rule, complex_normal, nonzero, normal, positive, uniform

ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv)
ARITHMETIC_UFUNCS = (np.add, np.subtract, np.multiply, np.divide)
REMAINDERS = (operator.mod, np.remainder, np.fmod)
CHOICES = (np.maximum, np.minimum, np.fmax, np.fmin)
SMOOTH = (np.hypot, np.arctan2, np.logaddexp, np.logaddexp2, np.copysign)
POWERS = (operator.pow, pow, np.power, np.float_power)
UNARY = (operator.neg, np.negative, operator.pos, np.positive, operator.abs, abs, np.absolute)


def broadcasts(key, a=nonzero, b=nonzero):
    """Calls whose shapes broadcast in every direction; `check_rule` adds size 0, 0-d arrays, scalars and float32."""
    yield case(key, a(2, 3), b(2, 3))
    yield case(key, a(3, 1), b(4), id="broadcast both ways")
    yield case(key, a(4), b(3, 4), id="first is repeated")
    yield case(key, a(3, 4), b(1, 4), id="second is repeated")
    yield case(key, a(3), b(), id="with a 0-d array")


def with_scalars(key):
    """Calls with Python and NumPy scalars."""
    yield case(key, nonzero(2, 3), 1.5, id="array and float")
    yield case(key, 1.5, nonzero(2, 3), id="float and array")
    yield case(key, np.float64(1.5), nonzero(3), id="np.float64 and array")
    yield case(key, 2.75, 1.25, id="two floats")


def complexes(key):
    """Calls with complex arrays; a real argument has a real cotangent."""
    yield case(key, complex_normal(2, 3), complex_normal(3), id="complex")
    yield case(key, complex_normal(2, 3), nonzero(3), id="complex and real")
    yield case(key, nonzero(3), complex_normal(2, 3), id="real and complex")


def powers(key):
    """Bases of both signs with whole exponents, positive bases with any."""
    for exponent in (0, 1, 2, 3, 4, 5, -1, -2, -3, 2.0, -1.0):
        yield case(key, nonzero(2, 3), exponent, id=f"array ** {exponent}", wrt=0)
        yield case(key, -1.5, exponent, id=f"negative float ** {exponent}", wrt=0)
    for exponent in (0.5, -0.5, 1.5, 2.3, 20):
        yield case(key, positive(2, 3), exponent, id=f"positive array ** {exponent}")
    yield case(key, nonzero(3), np.array([2.0, 3.0, -1.0]), id="whole exponents in an array", wrt=0)
    yield case(key, 2, normal(3), id="int ** array")
    yield case(key, 2.5, normal(3), id="float ** array")
    yield case(key, 2.5, 1.25, id="two floats")
    yield case(key, complex_normal(2, 3), 2, id="complex ** 2")
    yield case(key, complex_normal(2, 3), 1.5, id="complex ** float")
    yield case(key, complex_normal(2, 3), complex_normal(3), id="complex ** complex")
    yield case(key, positive(3), complex_normal(3), id="real ** complex")


MASK = np.array([True, False, True])
OTHERS = [
    case(np.where, MASK, normal(2, 3), normal(2, 3)),
    case(np.where, MASK, normal(3), 0.0, id="float"),
    case(np.where, MASK, 0.0, normal(2, 3), id="broadcast"),
    case(np.where, np.array([[1], [0]]), normal(2, 3), normal(3), id="condition of ints"),
    case(np.where, True, normal(3), normal(3), id="bool"),
    case(np.where, True, 1.5, 2.5, id="scalars"),
    case(np.where, MASK, complex_normal(3), normal(3), id="complex"),
    case(np.heaviside, np.array([-1.0, 0.0, 2.0]), normal(2, 3), wrt=1),
    case(np.ldexp, normal(2, 3), np.array([1, 2, -3])),
    case(np.nextafter, normal(2, 3), normal(3), wrt=()),
    case(divmod, uniform(3, 5, 2, 3), uniform(1, 1.4, 3), wrt=()),
    case(np.divmod, uniform(3, 5, 2, 3), uniform(1, 1.4, 3), wrt=()),
]

CASES = [
    *(each for key in (*ARITHMETIC, *ARITHMETIC_UFUNCS) for each in (*broadcasts(key), *with_scalars(key))),
    *(each for key in (*ARITHMETIC, *ARITHMETIC_UFUNCS) for each in complexes(key)),
    *(each for key in REMAINDERS for each in (*broadcasts(key), *with_scalars(key))),
    *(each for key in (*CHOICES, *SMOOTH) for each in (*broadcasts(key), *with_scalars(key))),
    *(each for key in POWERS for each in (*broadcasts(key, positive, normal), *powers(key))),
    *(case(key, x) for key in UNARY for x in (nonzero(2, 3), -1.5, complex_normal(3))),
    *OTHERS,
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def bars(function, *args, y_bar=1.0):
    """The cotangents of `args`, computed with warnings as errors as soon as the value is there."""
    with np.errstate(all="ignore"):
        _, pullback = lookup(function)[0].function(*args)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return pullback(y_bar)


@pytest.mark.parametrize("power", [operator.pow, np.power])
@pytest.mark.parametrize(
    ("exponent", "slope"), [(0, 0.0), (0.0, 0.0), (0.5, 0.0), (1, 1.0), (1.0, 1.0), (2, 0.0), (3, 0.0)]
)
def test_power_at_zero(power, exponent, slope):
    """0 ** n is flat, but for n = 1; nothing visits log(0), and 0 ** 0.5 is treated as sqrt(0) is."""
    for zero in (0.0, np.float64(0.0), np.zeros(2)):
        y_bar = 1.0 if np.ndim(zero) == 0 else np.ones(2)
        base_bar, exponent_bar = bars(power, zero, exponent, y_bar=y_bar)
        np.testing.assert_array_equal(base_bar, np.full(np.shape(zero), slope))
        assert not exponent_bar


def test_power_of_an_array_with_zeros_and_an_array_of_exponents():
    """Each entry is treated as it would be alone."""
    base = np.array([0.0, 0.0, 0.0, 0.0, -2.0, 3.0])
    exponent = np.array([0.0, 0.5, 1.0, 2.0, 3.0, -1.0])
    base_bar, exponent_bar = bars(operator.pow, base, exponent, y_bar=np.ones(6))
    np.testing.assert_allclose(base_bar, [0.0, 0.0, 1.0, 0.0, 12.0, -1 / 9])
    np.testing.assert_allclose(exponent_bar, [0.0, 0.0, 0.0, 0.0, 0.0, np.log(3) / 3])


def test_power_with_an_integer_array_of_exponents():
    """Each entry has its own power."""
    base_bar, _ = bars(np.power, np.array([2.0, -2.0, 0.0]), np.array([3, 2, 1]), y_bar=np.ones(3))
    np.testing.assert_array_equal(base_bar, [12.0, -4.0, 1.0])


def test_power_at_a_pole():
    """0 ** -1 has an infinite derivative, which a zero cotangent beats."""
    np.testing.assert_array_equal(bars(np.power, np.zeros(2), -1.0, y_bar=np.array([0.0, 1.0]))[0], [0.0, -np.inf])
    np.testing.assert_array_equal(bars(np.power, np.zeros(2), -2, y_bar=np.array([0.0, 1.0]))[0], [0.0, -np.inf])


def test_power_overflow_in_the_pullback():
    """x ** -1 of a tiny number is finite, and its derivative is not; no exception comes out of the pullback."""
    assert bars(operator.pow, 1e-200, -1)[0] == -np.inf
    assert bars(operator.pow, -1e-200, -1)[0] == -np.inf


def test_power_of_a_negative_base_behind_a_where():
    """nan ** is masked away together with its derivative."""
    base_bar, exponent_bar = bars(np.power, np.array([-1.0, 4.0]), 0.5, y_bar=np.array([0.0, 1.0]))
    np.testing.assert_array_equal(base_bar, [0.0, 0.25])
    assert np.isfinite(exponent_bar)


def test_division_by_zero_behind_a_where():
    """A cotangent of zero stays zero at a pole; any other is as infinite as the derivative."""
    a_bar, b_bar = bars(np.divide, np.ones(3), np.array([0.0, 0.0, 2.0]), y_bar=np.array([0.0, 1.0, 1.0]))
    np.testing.assert_array_equal(a_bar, [0.0, np.inf, 0.5])
    np.testing.assert_array_equal(b_bar, [0.0, -np.inf, -0.25])
    assert bars(operator.truediv, np.float64(1.0), np.float64(0.0), y_bar=0.0) == (0.0, 0.0)


def test_ties_are_shared():
    """Both arguments of a maximum get half where they are equal."""
    for choice in CHOICES:
        for a, b in ((1.0, 1.0), (np.ones(2), 1.0), (np.ones((2, 2)), np.ones((2, 2)))):
            y_bar = np.full(np.shape(choice(a, b)), 3.0) if np.ndim(a) else 3.0
            a_bar, b_bar = bars(choice, a, b, y_bar=y_bar)
            np.testing.assert_array_equal(a_bar, np.full(np.shape(a), 1.5))
            assert np.sum(b_bar) == np.sum(y_bar) / 2


def test_complex_scalars_are_in_the_order_of_numpy():
    """The larger of two complex numbers is that of the larger real part, and the whole cotangent is its own."""
    assert bars(np.maximum, 1 + 2j, 1j, y_bar=2 - 1j) == (2 - 1j, 0)
    assert bars(np.minimum, 1 + 2j, np.complex128(1j), y_bar=2 - 1j) == (0, 2 - 1j)
    assert bars(np.clip, 1 + 2j, 0j, 5j, y_bar=1.0)[:3] == (0, 0, 1.0)


def test_a_choice_ignores_infinite_cotangents_of_what_it_did_not_choose():
    """Where the other argument was chosen the cotangent is 0, not 0 * inf."""
    for size in (2, 5000):
        a = np.where(np.arange(size) % 2, 1.0, -1.0)
        y_bar = np.full(size, np.inf)
        expected = np.where(a > 0, np.inf, 0.0)
        np.testing.assert_array_equal(bars(np.maximum, a, 0.0, y_bar=y_bar)[0], expected)
        np.testing.assert_array_equal(bars(np.where, a > 0, a, 0.0, y_bar=y_bar)[1], expected)


def test_missing_values():
    """fmax passes over nan, and so does the cotangent."""
    a_bar, b_bar = bars(np.fmax, np.array([np.nan, 1.0, 2.0]), np.array([1.0, np.nan, 1.0]), y_bar=np.ones(3))
    np.testing.assert_array_equal(a_bar, [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(b_bar, [1.0, 0.0, 0.0])


def test_abs_at_zero():
    """0 at the minimum."""
    for absolute in (abs, np.absolute):
        assert bars(absolute, 0.0) == (0.0,)
        assert bars(absolute, 0j) == (0.0,)
        np.testing.assert_array_equal(bars(absolute, np.array([-2.0, 0.0, 2.0]), y_bar=np.ones(3))[0], [-1.0, 0.0, 1.0])


@pytest.mark.parametrize("logaddexp", [np.logaddexp, np.logaddexp2])
def test_logaddexp_at_infinity(logaddexp):
    """The shares add up to 1, also where both terms are zero or infinite."""
    a = np.array([-np.inf, -np.inf, 1.0, np.inf, np.inf, 1e4])
    b = np.array([-np.inf, 1.0, -np.inf, np.inf, 1.0, -1e4])
    a_bar, b_bar = bars(logaddexp, a, b, y_bar=np.ones(6))
    np.testing.assert_array_equal(a_bar, [0.5, 0.0, 1.0, 0.5, 1.0, 1.0])
    np.testing.assert_array_equal(b_bar, [0.5, 1.0, 0.0, 0.5, 0.0, 0.0])


def test_hypot_and_arctan2_at_the_origin():
    """No nan where the point has no direction."""
    assert bars(np.hypot, 0.0, 0.0) == (0.0, 0.0)
    assert bars(np.arctan2, 0.0, 0.0) == (0.0, 0.0)


def test_remainder_by_zero_behind_a_where():
    """The value is nan there, and the cotangent 0."""
    for remainder in (np.remainder, np.fmod):
        _, b_bar = bars(remainder, np.array([1.0, 7.0]), np.array([0.0, 3.0]), y_bar=np.array([0.0, 1.0]))
        np.testing.assert_array_equal(b_bar, [0.0, -2.0])


def test_divmod_takes_the_cotangent_of_the_remainder():
    """The quotient is a step function."""
    assert bars(divmod, 7.5, 2.0, y_bar=(None, 1.0)) == (1.0, -3.0)
    assert bars(divmod, 7.5, 2.0, y_bar=(1.0, None)) == (None, None)
