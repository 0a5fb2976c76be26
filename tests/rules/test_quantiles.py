"""Every rule of rules/quantiles.py against differences, and at its special points."""

import numpy as np
import pytest

from adcompiler import DifferentiationError, MutationError, check_gradient, gradient
from adcompiler.runtime.dynamic import resolve_value
from adcompiler.testing import Input, case, check_rule, complex_normal, distinct, positive

METHODS = [
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
]
WAYS = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 2)}, {"axis": (2, 0), "keepdims": True}]
LEVELS = np.array([[0.13, 0.77], [0.998, 0.003]])


def with_nan(*shape):
    """Clearly different numbers, and nan in every third place of every second row."""

    def make(rng):
        array = distinct(*shape).make(rng) + 2
        array[..., ::2, ::3] = np.nan
        return array

    return Input(make, f"with_nan{shape}")


CASES = [
    *(case(f, distinct(7), q, method=m) for m in METHODS for f, q in ((np.quantile, 0.31), (np.percentile, 31.0))),
    *(case(np.quantile, distinct(3, 5), LEVELS, axis=1, method=m) for m in METHODS),
    *(case(np.nanquantile, with_nan(3, 5), LEVELS, axis=1, method=m) for m in METHODS),
    *(case(np.nanpercentile, with_nan(3, 5), 63.0, axis=1, method=m, keepdims=True) for m in METHODS),
    *(case(np.quantile, distinct(2, 3, 4), q, **way) for q in (0.4, LEVELS) for way in WAYS),
    *(
        case(np.nanquantile, with_nan(2, 3, 4), q, **way)
        for q in (0.4, LEVELS[0])
        for way in WAYS
        if way.get("axis") != 0
    ),
    *(case(np.nanmedian, with_nan(2, 3, 4), **way) for way in WAYS if way.get("axis") != 0),
    *(case(f, distinct(2, 3), 0.5) for f in (np.percentile, np.nanpercentile)),
    *(
        case(f, distinct(3, 4), 0.45, axis=1, weights=positive(4), method="inverted_cdf")
        for f in (np.quantile, np.percentile)
    ),
    case(np.nanpercentile, with_nan(3, 4), 45.0, weights=positive(3, 4), method="inverted_cdf"),
    case(np.quantile, distinct(3, 4), LEVELS, weights=positive(3, 4), method="inverted_cdf"),
    case(np.nanquantile, with_nan(3, 4), LEVELS, axis=1, weights=positive(3, 4), method="inverted_cdf"),
    case(np.quantile, [3.0, 1.0, 2.0], 0.3, id="a list"),
    case(np.quantile, 2.5, 0.3, id="a number", wrt=0),
    case(np.quantile, distinct(4), [0.2, 0.6], id="a list of levels"),
    case(np.quantile, distinct(4), 1, id="the last"),
    case(np.nanmedian, complex_normal(5)),
    case(np.nanmedian, distinct(4)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def bars(key, *args, y_bar, **kwargs):
    """The cotangents of all arguments, from the rule that takes the call."""
    wanted = (not isinstance(value, str) for value in (*args, *kwargs.values()))
    found = resolve_value((False, *wanted), key, *args, **kwargs)
    return found.backward(found.forward(*args, **kwargs)[1], y_bar)[1:]


def test_equal_elements_share():
    """Those that are equal to a neighbour of the quantile get equal parts of what that gets."""
    x = np.array([1.0, 3.0, 1.0, 3.0, 3.0])
    assert bars(np.quantile, x, 0.375, y_bar=1.0)[0].tolist() == pytest.approx([0.25, 1 / 6, 0.25, 1 / 6, 1 / 6])
    assert bars(np.quantile, x, 0.25, y_bar=1.0)[0].tolist() == [0.5, 0.0, 0.5, 0.0, 0.0]
    assert bars(np.nanmedian, np.array([1.0, np.nan, 1.0, 1.0]), y_bar=3.0)[0].tolist() == [1.0, 0.0, 1.0, 1.0]


def test_a_quantile_that_is_nan():
    """The nan are what it was taken from; the other rows are as usual."""
    x = np.array([[1.0, np.nan, np.nan], [3.0, 1.0, 2.0]])
    bar = bars(np.quantile, x, 0.5, axis=1, y_bar=np.array([1.0, 10.0]))[0]
    assert bar.tolist() == [[0.0, 0.5, 0.5], [0.0, 0.0, 10.0]]


@pytest.mark.parametrize(("key", "args"), [(np.nanquantile, (0.5,)), (np.nanmedian, ())])
def test_rows_without_numbers(key, args):
    """Nothing has an influence on them; no row has fewer cotangents for it."""
    x = np.array([[np.nan, np.nan], [3.0, 1.0]])
    with pytest.warns(RuntimeWarning):
        bar = bars(key, x, *args, axis=1, y_bar=np.array([1.0, 10.0]))[0]
    assert bar.tolist() == [[0.0, 0.0], [5.0, 5.0]]


def test_levels_at_a_bend_and_at_the_ends():
    """At an element the slope is the mean of both sides, at the ends the one inside, beyond the first element 0."""
    x = np.array([0.0, 1.0, 5.0])
    q_bar = bars(np.quantile, x, np.array([0.0, 0.25, 0.5, 1.0]), y_bar=np.ones(4))[1]
    assert q_bar.tolist() == [2.0, 2.0, 5.0, 8.0]
    q_bar = bars(np.percentile, x, np.array([10.0, 50.0]), method="hazen", y_bar=np.ones(2))[1]
    assert q_bar.tolist() == pytest.approx([0.0, 3 * 2.5 / 100])


def test_infinite_elements():
    """What takes no part has the cotangent 0."""
    x = np.array([-np.inf, 1.0, 2.0, np.inf])
    assert bars(np.quantile, x, 0.5, y_bar=2.0)[0].tolist() == [0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3)])
def test_size_0(shape):
    """The cotangent of nothing is nothing."""
    x = np.ones(shape)
    y = np.quantile(x, 0.3, axis=-1)
    assert bars(np.quantile, x, 0.3, axis=-1, y_bar=np.ones_like(y))[0].shape == shape


@pytest.mark.parametrize("axis", [(0, 2), ()])
def test_levels_of_two_dimensions_over_several_axes(axis):
    """NumPy itself mixes up the axes of such a result."""
    with pytest.raises(DifferentiationError, match="flat array"):
        gradient(lambda x: np.sum(np.nanquantile(x, LEVELS, axis=axis)))(np.ones((2, 3, 4)))


def test_weights_are_constants():
    """A weighted quantile is one of the elements, whatever the weights: their gradient is zero."""
    x, w = np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    x_bar, w_bar = gradient(lambda x, w: np.quantile(x, 0.9, weights=w, method="inverted_cdf"), (0, 1))(x, w)
    assert (x_bar.tolist(), w_bar.tolist()) == ([1.0, 0.0, 0.0], [0.0] * 3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.quantile(x, [0.2, 0.45], axis=1, keepdims=True) * x,
        lambda x: np.percentile(x, 33.0) * x,
        lambda x: np.percentile(x, 33, axis=0) * x,
        lambda x: np.nanquantile(x, 0.37, 1, method="hazen", keepdims=True) * x,
        lambda x: np.nanmedian(x, axis=0) * x,
        lambda x: np.quantile(x, np.tanh(x[0, :2] ** 2) / 2, axis=0) * x[:2],
        lambda x: np.subtract(*np.percentile(x, [75, 25])) * x,
    ],
)
def test_inside_a_program(f):
    """Calls with keywords and arrays of levels between other operations."""
    check_gradient(lambda x: np.sum(f(x)), np.random.default_rng(4).standard_normal((3, 4)))


@pytest.mark.parametrize(("f", "args"), [(np.median, ()), (np.nanmedian, ()), (np.quantile, (0.5,))])
def test_what_overwrites_its_input_is_refused(f, args):
    """A write into an argument is not a keyword to ignore."""
    with pytest.raises(MutationError, match="overwrite_"):
        gradient(lambda x: f(x * 2.0, *args, overwrite_input=True))(np.arange(4.0))


def test_axes_in_a_list():
    """NumPy takes them for order statistics."""
    x = np.random.default_rng(1).standard_normal((2, 3, 2))
    for f in (np.median, np.nanmedian, lambda x, **kw: np.quantile(x, 0.3, **kw)):
        check_gradient(lambda x, f=f: np.sum(f(x, axis=[0, -1]) ** 2), x)


def test_weights_of_several_axes():
    """Old versions of NumPy take them in the wrong order: then there is no derivative, instead of a wrong one."""
    weighted = case(np.quantile, distinct(2, 3, 4), 0.6, axis=(2, 0), weights=positive(4, 2), method="inverted_cdf")
    (x, q), options = weighted.inputs()
    flat = np.moveaxis(x, (2, 0), (1, 2)).reshape(3, 8)
    weights = np.broadcast_to(options["weights"].reshape(8), (3, 8))
    if np.array_equal(np.quantile(x, q, **options), np.quantile(flat, q, 1, weights=weights, method="inverted_cdf")):
        check_rule(weighted)
    else:
        with pytest.raises(DifferentiationError, match="Bring the axes together"):
            bars(np.quantile, x, q, **options, y_bar=np.ones(3))
