"""Every rule of rules/reductions_general.py against differences, and at its special points."""

import numpy as np
import pytest

from adcompiler import DifferentiationError, check_gradient, gradient
from adcompiler.runtime.dynamic import resolve_value
from adcompiler.testing import case, check_rule, complex_normal, distinct, nonzero, normal, positive

MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])
ROW = np.array([True, False, True, True])
WAYS = [
    {"where": MASK},
    {"axis": 0, "where": MASK},
    {"axis": -1, "where": ROW, "keepdims": True},
    {"axis": (0, 1), "where": MASK},
    {"axis": (), "where": MASK},
    {"where": True, "axis": 1},
    {"dtype": np.float64, "axis": 1},
]
WITH_INITIAL = [{"initial": 0.3}, {"axis": 0, "initial": 0.3}, {"axis": 1, "initial": 0.3, "where": MASK}]
SUMS = (np.sum, np.ndarray.sum, np.mean, np.ndarray.mean)
EXTREMA = (np.max, np.amax, np.ndarray.max, np.min, np.amin, np.ndarray.min)
MOMENTS = (np.var, np.ndarray.var, np.std, np.ndarray.std)
OWN_MEAN = [{"mean": normal(3, 1), "axis": 1}, {"mean": normal(3, 1), "axis": 1, "where": MASK, "keepdims": True}]


def ways(keys, make, options):
    """A case for each function and each of `options`; an empty slice is left to the tests by hand."""
    cases = [case(key, make(3, 4), **way) for key in keys for way in options]
    return [c for c in cases if c.kwargs.get("axis") != () or c.key in (np.sum, np.prod)]


CASES = [
    *ways(SUMS + MOMENTS, normal, WAYS),
    *ways((np.prod, np.ndarray.prod), nonzero, WAYS),
    *ways((np.sum, np.prod, np.ndarray.sum, np.ndarray.prod), nonzero, WITH_INITIAL),
    *ways(EXTREMA, distinct, WITH_INITIAL),
    *ways(MOMENTS, normal, OWN_MEAN),
    *ways(MOMENTS, normal, [{"ddof": 1, "axis": 1, "where": MASK}, {"ddof": 0.5, "where": MASK}]),
    *ways((np.var, np.std), normal, [{"correction": 1, "axis": 0}, {"correction": 0.5, "where": ROW}]),
    *ways((np.sum, np.mean, np.prod, np.var, np.std), complex_normal, [{"axis": 0, "where": MASK}]),
    case(np.var, complex_normal(3, 4), axis=1, mean=complex_normal(3, 1)),
    case(np.std, complex_normal(3, 4), axis=1, mean=complex_normal(3, 1)),
    case(np.prod, complex_normal(3, 4), axis=1, initial=0.5 + 1j),
    case(np.sum, complex_normal(3, 4), initial=0.5),
    case(np.sum, normal(3, 4), dtype=complex),
    case(np.sum, normal(3, 4), 0, float, id="positional dtype"),
    case(np.sum, [1.0, 2.0, 3.0], where=np.array([True, False, True]), id="a list"),
    case(np.prod, np.array([[2.0, 0.0, 3.0], [0.0, 4.0, 0.0]]), axis=1, initial=2.0),
    case(np.average, normal(3, 4), axis=1, weights=positive(4), returned=True),
    case(np.average, normal(3, 4), axis=0, weights=positive(3, 4), returned=True, keepdims=True),
    case(np.average, normal(3, 4), returned=True),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def bars(key, *args, y_bar, **kwargs):
    """The cotangents of all arguments, from the rule that takes the call."""
    found = resolve_value((False, *(True for _ in (*args, *kwargs))), key, *args, **kwargs)
    return found.backward(found.forward(*args, **kwargs)[1], y_bar)[1:]


def test_what_is_left_out_has_no_influence():
    """Its cotangent is 0 even where its value is not finite."""
    x, mask = np.array([1.0, np.nan, 3.0, np.inf]), np.array([True, False, True, False])
    assert gradient(lambda x: np.sum(x, where=mask))(x).tolist() == [1.0, 0.0, 1.0, 0.0]
    assert gradient(lambda x: x.mean(where=mask))(x).tolist() == [0.5, 0.0, 0.5, 0.0]
    assert gradient(lambda x: x.prod(where=mask))(x).tolist() == [3.0, 0.0, 1.0, 0.0]
    assert gradient(lambda x: np.var(x, where=mask))(x).tolist() == [-1.0, 0.0, 1.0, 0.0]
    assert gradient(lambda x: x.max(initial=0.0, where=mask))(x).tolist() == [0.0, 0.0, 1.0, 0.0]


def test_an_initial_value_takes_part_in_ties():
    """It shares with the elements that attain the extremum, once for every slice, and takes all if it wins."""
    x = np.array([[2.0, 1.0], [2.0, 5.0], [1.0, 0.0]])
    x_bar, initial_bar = bars(np.max, x, axis=1, initial=2.0, y_bar=np.array([1.0, 10.0, 100.0]))[::2]
    assert x_bar.tolist() == [[0.5, 0.0], [0.0, 10.0], [0.0, 0.0]]
    assert initial_bar == 100.5
    x_bar, initial_bar = bars(np.min, x, initial=np.nan, y_bar=1.0)
    assert (x_bar.tolist(), initial_bar) == ([[0.0, 0.0]] * 3, 1.0)


def test_products_with_zeros():
    """The cotangent of a single zero is the product of the others; of two zeros it is 0, with an initial value too."""
    x = np.array([[2.0, 0.0, 3.0], [0.0, 4.0, 0.0]])
    bar = bars(np.prod, x, axis=1, initial=2.0, y_bar=np.ones(2))[0]
    assert bar.tolist() == [[0.0, 12.0, 0.0], [0.0, 0.0, 0.0]]
    assert bars(np.prod, np.array([2.0, 3.0]), initial=0.0, y_bar=1.0)[1] == 6.0


def test_spread_of_equal_elements():
    """A deviation of 0 has the cotangent 0."""
    assert (
        gradient(lambda x: x.std(where=np.array([True, True, False])))(np.array([2.0, 2.0, 7.0])).tolist() == [0.0] * 3
    )


def test_slices_without_elements():
    """Nothing is selected, so nothing has an influence."""
    mask = np.array([[True, True], [False, False]])
    with pytest.warns(RuntimeWarning):
        bar = bars(np.mean, np.ones((2, 2)), axis=1, where=mask, y_bar=np.array([2.0, 1.0]))[0]
    assert bar.tolist() == [[1.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("key", [np.sum, np.mean, np.prod, np.var, np.std])
def test_a_result_of_integers_carries_no_derivative(key):
    """It is piecewise constant."""
    x = np.array([1.5, 2.5, 4.5])
    assert gradient(lambda x: np.sum(key(x, dtype=int) * 2.0))(x).tolist() == [0.0] * 3


def test_a_wider_dtype():
    """The cotangent of float32 stays float32; a complex result of a real array has a real cotangent."""
    x = np.arange(1, 5, dtype=np.float32)
    assert gradient(lambda x: np.sum(x * x, dtype=np.float64))(x).dtype == np.float32
    assert gradient(lambda x: np.sum(np.real(np.sum(x, dtype=complex) * 1j)))(x).tolist() == [0.0] * 4


def test_integers_reduced_as_floats_are_constants():
    """Only the other argument has a derivative."""
    n = np.array([1, 2, 3])
    assert gradient(lambda x: x * np.mean(n, dtype=float))(2.0) == 2.0
    assert gradient(lambda x: np.max(n, initial=x))(5.0) == 1.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sum(axis=0, keepdims=True, where=MASK) ** 2,
        lambda x: np.mean(x, 1, where=ROW, keepdims=True) * x,
        lambda x: x.max(axis=0, initial=-0.1) * x,
        lambda x: x.var(1, ddof=1, keepdims=True, where=MASK) * x,
        lambda x: np.var(x, axis=0, mean=np.mean(x, axis=0, keepdims=True) ** 2) * x,
        lambda x: x.prod(1, where=MASK, keepdims=True) * x,
        lambda x: np.average(x, axis=0, weights=x * x, returned=True)[1] * x,
        lambda x: sum(np.average(x, axis=0, weights=np.exp(x), returned=True)) * x,
        lambda x: np.average(x, axis=0, weights=np.exp(x), returned=False) * x,
    ],
)
def test_inside_a_program(f):
    """Calls with keywords, as functions and as methods, between other operations."""
    check_gradient(lambda x: np.sum(f(x)), np.random.default_rng(4).standard_normal((3, 4)))


def test_a_result_that_is_written_out():
    """`out=` is a write, not a mask or a dtype."""
    x = np.array([[1.0, 4.0, 2.0], [3.0, -1.0, -2.0]])
    x_bar = gradient(lambda x: np.sum(np.max(x, axis=0, out=np.zeros(3), initial=0.0) * [1.0, 2.0, 3.0]))(x)
    np.testing.assert_array_equal(x_bar, [[0.0, 2.0, 3.0], [1.0, 0.0, 0.0]])


def test_half_precision_can_count():
    """More elements than half precision can count."""
    x, mask = np.ones(5000, np.float16), np.ones(5000, bool)
    assert gradient(lambda x: np.mean(x, where=mask))(x)[0] == np.float16(1 / 5000)
    assert gradient(lambda x: np.max(x, initial=0.0))(x)[0] == np.float16(1 / 5000)


def test_a_mask_that_is_computed():
    """A mask is a constant, whatever it was made of."""
    x = np.array([1.0, -2.0, 3.0])
    assert gradient(lambda x: np.sum(x * x, where=x > 0))(x).tolist() == [2.0, 0.0, 6.0]


def test_real_numbers_around_a_complex_mean():
    """NumPy's value is then no sum of squared distances."""
    with pytest.raises(DifferentiationError, match="conjugation"):
        gradient(lambda x: np.real(np.var(x, mean=1j)))(np.ones(3))
