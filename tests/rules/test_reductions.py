"""Every rule of rules/reductions.py and rules/nanreductions.py against differences, and at its special points."""

import numpy as np
import pytest

from adcompiler.rules.registry import lookup
from adcompiler.testing import Input, case, check_rule, complex_normal, distinct, nonzero, normal, positive

WAYS = [{}, {"axis": 0}, {"axis": -1}, {"axis": (0, 2)}, {"axis": 1, "keepdims": True}, {"keepdims": True}]


def with_nan(*shape):
    """Clearly different numbers, some of them nan, none of the rows without a number."""

    def make(rng):
        array = distinct(*shape).make(rng) + 2
        array[:, ::2, ::3] = np.nan
        return array

    return Input(make, f"with_nan{shape}")


def in_every_way(*keys, make=normal):
    """One case for each way to reduce a 3-d array, and some of the other shapes."""
    cases = [case(key, make(2, 3, 4), **way) for key in keys for way in WAYS]
    return cases + [case(key, make(4)) for key in keys] + [case(key, make(4), axis=0, keepdims=True) for key in keys]


CASES = [
    *in_every_way(np.sum, np.ndarray.sum, np.mean, np.ndarray.mean),
    *in_every_way(np.max, np.ndarray.max, np.min, np.ndarray.min, np.ptp, np.median, make=distinct),
    *in_every_way(np.prod, np.ndarray.prod, make=nonzero),
    *in_every_way(np.var, np.ndarray.var, np.std, np.ndarray.std, np.average),
    *(case(key, normal()) for key in (np.sum, np.mean, np.max, np.prod, np.var, np.cumsum)),
    *(case(key, normal(0, 3), axis=0) for key in (np.sum, np.prod)),
    *(case(key, [1.5, -0.5, 2.0]) for key in (np.sum, np.mean, np.max, np.min, np.prod, np.var, np.std)),
    *(case(key, complex_normal(3, 4), axis=1) for key in (np.sum, np.mean, np.prod, np.var, np.std)),
    *(case(key, complex_normal(5)) for key in (np.cumsum, np.cumprod, np.diff)),
    case(np.sum, normal(2, 3), ()),
    case(np.mean, normal(2, 3), axis=()),
    case(np.max, distinct(2, 3), axis=()),
    case(np.amax, distinct(3, 4), axis=1),
    case(np.amin, distinct(3, 4), axis=1),
    case(np.prod, np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]]), axis=1),
    case(np.prod, np.array([[2.0, 0.0, 3.0], [0.0, 4.0, 1.0]]), axis=0, keepdims=True),
    case(np.prod, np.array([2.0, 0.0, 3.0])),
    case(np.var, normal(3, 5), axis=1, ddof=1),
    case(np.std, normal(3, 5), axis=0, ddof=1, keepdims=True),
    case(np.var, normal(3, 5), axis=1, ddof=0.5),
    case(np.std, normal(3, 5), ddof=0.5),
    case(np.average, normal(3, 4), weights=positive(3, 4)),
    case(np.average, normal(3, 4), axis=1, weights=positive(4)),
    case(np.average, normal(3, 4), axis=-1, weights=positive(4), keepdims=True),
    case(np.average, normal(2, 3, 4), axis=(2, 0), weights=positive(4, 2)),
    case(np.median, distinct(5)),
    case(np.cumsum, normal(5)),
    *(case(key, 1.5, **way) for key in (np.cumsum, np.cumprod) for way in ({}, {"axis": 0}, {"axis": -1})),
    *(case(key, nonzero(), axis=0) for key in (np.cumsum, np.cumprod)),
    case(np.cumsum, normal(2, 3)),
    case(np.cumsum, normal(2, 3), axis=0),
    case(np.ndarray.cumsum, normal(2, 3), axis=-1),
    case(np.cumprod, nonzero(5)),
    case(np.cumprod, nonzero(2, 3)),
    case(np.cumprod, nonzero(3, 4), axis=0),
    case(np.ndarray.cumprod, nonzero(3, 4), axis=-1),
    case(np.cumprod, np.array([[2.0, 0.0, 3.0, 0.0, 5.0], [1.0, 2.0, 3.0, 0.0, -1.0]]), axis=1),
    case(np.diff, normal(5)),
    case(np.diff, normal(5), n=2),
    case(np.diff, normal(4, 3), axis=0),
    case(np.diff, normal(3, 2), n=2),
    case(np.diff, normal(3, 2), n=0),
    case(np.trapezoid, normal(5)),
    case(np.trapezoid, normal(5), distinct(5)),
    case(np.trapezoid, normal(3, 5), distinct(5)),
    case(np.trapezoid, normal(5, 3), distinct(5), axis=0),
    case(np.trapezoid, normal(3, 5), distinct(3, 5)),
    case(np.trapezoid, normal(5, 3), dx=0.3, axis=0),
    case(np.trapezoid, normal(5), distinct(3, 5)),
    case(np.trapezoid, normal(2, 3, 5), distinct(3, 5)),
    case(np.trapezoid, normal(3, 5), distinct(1, 5)),
    case(np.trapezoid, normal(1, 5), distinct(3, 5)),
    case(np.trapezoid, normal(3, 5), dx=positive(3, 4)),
    case(np.trapezoid, complex_normal(3, 5), distinct(5)),
    case(np.add.reduce, normal(2, 3, 4)),
    case(np.add.reduce, normal(2, 3, 4), axis=(0, 2), keepdims=True),
    case(np.add.reduce, normal(2, 3), axis=None),
    case(np.multiply.reduce, nonzero(2, 3)),
    case(np.maximum.reduce, distinct(2, 3), axis=1),
    case(np.minimum.reduce, distinct(2, 3), axis=None),
    *in_every_way(np.nansum, np.nanmean, np.nanmax, np.nanmin, np.nanmedian, np.nanprod),
    *in_every_way(np.nanvar, np.nanstd, np.nancumsum),
    *(
        case(key, with_nan(2, 3, 4), **way)
        for key in (np.nansum, np.nanmean, np.nanmax, np.nanmin, np.nanmedian, np.nanprod, np.nanvar, np.nanstd)
        for way in WAYS
        if way.get("axis") != 0
    ),
    case(np.nancumsum, with_nan(2, 3, 5), axis=1),
]
CASES = [
    c for c in CASES if c.key is not np.nancumsum or not ("keepdims" in c.kwargs or c.kwargs.get("axis") == (0, 2))
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def pulled_back(key, *args, y_bar=1.0, **kwargs):
    """The cotangent of the first argument."""
    _, pullback = lookup(key)[0].function(*args, **kwargs)
    return pullback(y_bar)[0]


@pytest.mark.parametrize("key", [np.max, np.min, np.nanmax])
def test_ties_share_equally(key):
    """Elements that attain the extremum together get equal parts of its cotangent."""
    assert pulled_back(key, np.array([2.0, 2.0, 2.0, 2.0])).tolist() == [0.25] * 4
    rows = pulled_back(key, np.array([[3.0, 3.0], [1.0, 1.0]]), axis=1, y_bar=np.array([1.0, 4.0]))
    assert rows.tolist() == [[0.5, 0.5], [2.0, 2.0]]


def test_infinite_cotangent_of_a_maximum_stays_where_it_belongs():
    """The elements that are not the maximum get 0, not nan."""
    assert pulled_back(np.max, np.array([1.0, 3.0, 2.0]), y_bar=np.inf).tolist() == [0.0, np.inf, 0.0]


def test_maximum_with_nan():
    """The nan is the maximum, so it gets the cotangent."""
    assert pulled_back(np.max, np.array([1.0, np.nan, 2.0])).tolist() == [0.0, 1.0, 0.0]


def test_ties_of_a_range_cancel():
    """A constant array is at a minimum of its range."""
    assert pulled_back(np.ptp, np.array([2.0, 2.0])).tolist() == [0.0, 0.0]


def test_median_of_equal_elements():
    """Equal elements share the cotangent of the middle."""
    assert pulled_back(np.median, np.array([1.0, 1.0, 1.0])) == pytest.approx([1 / 3] * 3)
    assert pulled_back(np.median, np.array([1.0, 1.0, 2.0, 5.0])) == pytest.approx([0.25, 0.25, 0.5, 0.0])


def test_product_with_zeros():
    """The cotangent of a zero is the product of the others; with two zeros it is zero."""
    assert pulled_back(np.prod, np.array([2.0, 0.0, 3.0])).tolist() == [0.0, 6.0, 0.0]
    assert pulled_back(np.prod, np.array([2.0, 0.0, 0.0])).tolist() == [0.0, 0.0, 0.0]


def test_product_that_overflows():
    """An infinite product does not make the cotangents nan."""
    with np.errstate(over="ignore"):
        bar = pulled_back(np.prod, np.array([1e200, 1e200, 2.0]))
    assert bar.tolist() == [2e200, 2e200, np.inf]
    assert pulled_back(np.prod, np.array([np.inf, 2.0])).tolist() == [2.0, np.inf]


def test_product_that_has_no_cotangent():
    """A zero cotangent stays zero where the product of the others is infinite."""
    assert pulled_back(np.prod, np.array([np.inf, 2.0]), y_bar=0.0).tolist() == [0.0, 0.0]


def test_product_that_underflows():
    """A product that vanishes by rounding still has its derivative."""
    assert pulled_back(np.prod, np.array([1e-200, 1e-200])).tolist() == [1e-200, 1e-200]


def test_spread_of_a_constant_array():
    """At zero variance the cotangent is 0."""
    assert pulled_back(np.std, np.ones(3)).tolist() == [0.0, 0.0, 0.0]
    assert pulled_back(np.var, np.ones(3)).tolist() == [0.0, 0.0, 0.0]
    assert pulled_back(np.std, np.ones((2, 3)), axis=1, y_bar=np.ones(2)).tolist() == [[0.0] * 3] * 2


def test_variance_of_too_few_elements():
    """A variance that is nan has nan derivatives, and raises nothing."""
    with pytest.warns(RuntimeWarning):
        bar = pulled_back(np.var, np.ones(1), ddof=1)
    assert np.isnan(bar).all()


@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("key", [np.var, np.std, np.nanvar, np.nanstd])
def test_variance_of_too_few_elements_that_is_not_used(key):
    """A zero cotangent stays zero."""
    assert pulled_back(key, np.ones((2, 1)), axis=1, ddof=1, y_bar=np.zeros(2)).tolist() == [[0.0], [0.0]]


def test_mean_of_nothing():
    """The mean of no elements is nan, and has no derivative to be wrong about."""
    with pytest.warns(RuntimeWarning):
        bar = pulled_back(np.mean, np.ones(0))
    assert bar.shape == (0,)


def test_nan_has_no_influence():
    """The cotangent of an element that was left out is 0."""
    array = np.array([1.0, np.nan, 3.0])
    assert pulled_back(np.nansum, array).tolist() == [1.0, 0.0, 1.0]
    assert pulled_back(np.nanmean, array).tolist() == [0.5, 0.0, 0.5]
    assert pulled_back(np.nanprod, array).tolist() == [3.0, 0.0, 1.0]
    assert pulled_back(np.nanmax, array).tolist() == [0.0, 0.0, 1.0]


def test_running_product_with_zeros():
    """The cotangent of the zero is what the products would have been without it."""
    bar = pulled_back(np.cumprod, np.array([2.0, 0.0, 3.0]), y_bar=np.ones(3))
    assert bar.tolist() == [1.0, 8.0, 0.0]


@pytest.mark.parametrize("key", [np.sum, np.mean, np.max, np.prod, np.var, np.std, np.median, np.nanmean, np.nanvar])
def test_float32_stays_float32(key):
    """No count or mask makes a cotangent wider than the array."""
    array = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    bar = pulled_back(key, array, axis=1, y_bar=np.ones(2, np.float32))
    assert bar.dtype == np.float32


@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(
    ("key", "shape", "kwargs"),
    [
        (np.median, (2, 0), {"axis": 0}),
        (np.median, (2, 0), {"axis": 1}),
        (np.median, (0,), {}),
        (np.mean, (2, 0), {"axis": 0}),
        (np.average, (2, 0), {"axis": 1}),
        (np.trapezoid, (2, 0), {}),
        (np.linalg.norm, (2, 0), {"axis": 1}),
        *((np.linalg.norm, (2, 0), {"ord": order}) for order in (None, "fro", 1, 2, "nuc")),
    ],
)
def test_size_0(key, shape, kwargs):
    """The cotangent of nothing is nothing."""
    y = key(np.ones(shape), **kwargs)
    assert pulled_back(key, np.ones(shape), y_bar=np.ones_like(y)[()], **kwargs).shape == shape


def test_median_of_complex_numbers():
    """NumPy orders them by their real parts first."""
    bar = pulled_back(np.median, np.array([3.0 + 1j, 1.0, 2.0, 2.0 + 1j]), y_bar=1.0 + 0j)
    assert bar.tolist() == [0.0, 0.0, 0.5, 0.5]


def test_median_with_nan():
    """A row with nan has the median nan, whose cotangent the nan gets; the others are as usual."""
    array = np.array([[1.0, np.nan, 3.0], [1.0, 2.0, 3.0]])
    bar = pulled_back(np.median, array, axis=1, y_bar=np.ones(2))
    assert bar.tolist() == [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
