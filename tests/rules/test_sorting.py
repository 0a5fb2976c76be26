"""Every rule of rules/sorting.py against differences, and equal elements."""

import numpy as np
import pytest

from adcompiler.rules.registry import lookup
from adcompiler.testing import case, check_rule, complex_normal, distinct, normal

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
