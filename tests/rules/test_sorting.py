"""Every rule of rules/sorting.py against differences, and equal elements."""

import numpy as np
import pytest

from adcompiler import gradient
from adcompiler.rules.registry import lookup
from adcompiler.testing import case, check_gradient, check_rule, complex_normal, distinct, normal

CASES = [
    case(np.sort, distinct(5)),
    case(np.sort, distinct(3, 4)),
    case(np.sort, distinct(3, 4), axis=0, kind="stable"),
    case(np.sort, distinct(3, 4), axis=None),
    case(np.partition, distinct(7), 3),
    case(np.partition, distinct(3, 40), (3, 20)),
    case(np.partition, distinct(40, 3), 20, axis=0),
    case(np.partition, distinct(3, 4), 5, axis=None),
    case(np.sort, distinct(3, 4), stable=True),
    case(np.sort, complex_normal(5)),
    case(np.sort, normal(0, 3)),
    case(np.sort_complex, distinct(3, 4)),
    case(np.sort_complex, complex_normal(5)),
    case(np.partition, distinct(7), (2, -1), kind="introselect"),
    case(np.partition, distinct(7), [3, 1]),
    case(np.unique, distinct(5)),
    case(np.unique, distinct(3, 4)),
    case(np.unique, distinct(3, 4), axis=0),
    case(np.unique, distinct(3, 4), axis=-1, equal_nan=False),
    case(np.unique, distinct(3, 4), return_index=True),
    case(np.unique, distinct(3, 4), False, True, True),
    case(np.unique, distinct(3, 4), True, True, True, 1),
    case(np.unique, distinct(3, 4), return_counts=False),
    case(np.unique, complex_normal(4)),
    case(np.unique, [2.5, 1.5]),
    case(np.unique_values, distinct(3, 4), real_only=True),  # complex numbers come in no order
    case(np.unique_all, distinct(3, 4)),
    case(np.unique_counts, distinct(3, 4)),
    case(np.unique_inverse, distinct(3, 4)),
    case(np.union1d, distinct(3), normal(2, 2)),
    case(np.setdiff1d, distinct(5), normal(2), wrt=0),
    case(np.setdiff1d, distinct(5), normal(2), True, wrt=0),
    case(np.setxor1d, distinct(3), normal(2, 2)),
    case(np.setxor1d, distinct(3), normal(2), assume_unique=True),
    case(np.trim_zeros, np.array([0.0, 0.0, 1.5, 0.0, 2.5, 0.0]), id="both ends", wrt=()),
    case(np.trim_zeros, np.array([0.0, 0.0, 1.5, 0.0, 2.5, 0.0]), "f", id="front", wrt=()),
    case(np.trim_zeros, np.array([0.0, 0.0, 1.5, 0.0, 2.5, 0.0]), "B", id="back", wrt=()),
    case(np.trim_zeros, np.zeros(3), id="nothing left", wrt=()),
    case(np.trim_zeros, normal(3)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_sorting_equal_elements():
    """Every cotangent goes to one element, and none to two."""
    _, pullback = lookup(np.sort)[0].function(np.array([2.0, 1.0, 2.0]))
    assert sorted(pullback(np.array([1.0, 10.0, 100.0]))[0]) == [1.0, 10.0, 100.0]


def test_equal_elements_become_one():
    """The first of them has the cotangent."""
    for key in (np.unique, np.unique_values):
        y, pullback = lookup(key)[0].function(np.array([2.0, 1.0, 2.0]))
        bar = pullback(np.where(y == 2.0, 10.0, 1.0))[0]
        assert [10.0, 1.0, 0.0] == bar.tolist()
    assert [0.0, 2.0, 0.0] == gradient(lambda x: np.sum(np.setdiff1d(x, [1.0])) * 2)(np.array([1.0, 3.0, 1.0])).tolist()


@pytest.mark.parametrize(
    ("filt", "trim", "expected"),
    [
        ([0.0, 1.0, 0.0, 2.0, 0.0], "fb", [0.0, 1.0, 2.0, 3.0, 0.0]),
        ([0.0, 1.0, 0.0, 2.0, 0.0], "F", [0.0, 1.0, 2.0, 3.0, 4.0]),
        ([0.0, 1.0, 0.0, 2.0, 0.0], "b", [1.0, 2.0, 3.0, 4.0, 0.0]),
        ([0.0, 0.0], "fb", [0.0, 0.0]),
    ],
)
def test_trimmed_zeros(filt, trim, expected):
    """What is left keeps its place; zeros at the ends have none, though a small change would keep them."""
    y, pullback = lookup(np.trim_zeros)[0].function(np.array(filt), trim)
    assert expected == pullback(np.arange(len(y)) + 1.0)[0].tolist()


def unique_parts(x):
    values, index, counts = np.unique(x, return_index=True, return_counts=True)
    return values * counts * (index + 1)


@pytest.mark.parametrize(
    "f",
    [
        unique_parts,
        lambda x: np.unique_all(x).values ** 2,
        lambda x: np.unique_counts(np.outer(x, x)).values,
        lambda x: np.unique_inverse(x)[0] ** 2,
        lambda x: np.sort(np.outer(x, 1 - x), axis=None, stable=True),
        lambda x: np.sort_complex(x).real * x,
        lambda x: np.partition(x, kth=1),
        lambda x: np.union1d(x, x * x) ** 2,
        lambda x: np.trim_zeros(x) ** 2,
    ],
)
def test_ordered_in_a_compiled_function(f):
    """Tuples of results, and calls of other forms than the table above has."""
    check_gradient(lambda x: f(x * 1.5), np.array([0.9, -1.7, 2.9]))


def test_extreme_values_of_sorting():
    """Infinities and nan are sorted too, and keep their cotangents."""
    x = np.array([np.inf, 1.0, np.nan, -np.inf])
    for key, args in [(np.sort, ()), (np.partition, (1,)), (np.unique, ())]:
        _, pullback = lookup(key)[0].function(x, *args)
        assert [3.0, 2.0, 4.0, 1.0] == pullback(np.arange(4) + 1.0)[0].tolist()
