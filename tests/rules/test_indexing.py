"""Every rule of rules/indexing.py against differences, and where elements are repeated or equal."""

import operator

import numpy as np
import pytest

from adcompiler.rules.registry import lookup
from adcompiler.testing import booleans, case, check_rule, complex_normal, distinct, integers, normal

INDICES = [
    0,
    -1,
    (1, 2),
    (1, 2, 3),
    slice(None, None, -1),
    (slice(0, 2), 1),
    (Ellipsis, 0),
    (None, slice(1, 3)),
    (0, None, Ellipsis, slice(None, None, 2)),
    (),
    Ellipsis,
    [2, 0, 2],
    (slice(None), [1, 1, 0]),
    ([0, 2, 0], [1, 1, 1]),
    ([0, 1], slice(None), [3, 3]),
    ([[0, 1], [2, 0]], None, 2),
    np.int64(1),
    True,
    ([True, False, True], 0),
]

CASES = [
    *(case(operator.getitem, normal(3, 4, 5), index) for index in INDICES),
    case(operator.getitem, normal(3, 4), booleans(3, 4)),
    case(operator.getitem, normal(3, 4), booleans(3)),
    case(operator.getitem, normal(3, 4), (slice(None), booleans(4))),
    case(operator.getitem, normal(5), integers(0, 5, 8)),
    case(operator.getitem, normal(5), integers(-5, 5, 2, 3)),
    case(operator.getitem, normal(5), np.zeros(0, int)),
    case(operator.getitem, normal(5), slice(3, 3)),
    case(operator.getitem, normal(), ()),
    case(operator.getitem, complex_normal(3, 4), ([0, 0], [1, 1])),
    case(operator.getitem, normal(3), 1),
    case(np.ndarray.__getitem__, normal(3, 4), (1, slice(2))),
    case(np.take, normal(3, 4), integers(0, 12, 5)),
    case(np.take, normal(3, 4), 5),
    case(np.take, normal(3, 4), integers(-3, 3, 2, 2), axis=0),
    case(np.take, normal(3, 4), [1, 1, 3], axis=-1),
    case(np.take, normal(3, 4), 2, axis=1),
    case(np.take, normal(), [0, 0]),
    case(np.take, normal(), [0, 0], axis=0),
    case(np.take, 2.5, 0, axis=-1),
    case(np.ndarray.take, normal(3, 4), [1, 1, 0], axis=1),
    case(np.take_along_axis, normal(3, 4), integers(0, 4, 3, 2), axis=1),
    case(np.take_along_axis, normal(3, 4), integers(0, 3, 6, 4), axis=0),
    case(np.take_along_axis, normal(3, 4), integers(0, 4, 1, 2)),
    case(np.take_along_axis, normal(3, 1), integers(0, 3, 2, 4), 0),
    case(np.take_along_axis, normal(3, 4), integers(0, 12, 5), axis=None),
    case(np.compress, [True, False, True], normal(3, 4), axis=0),
    case(np.compress, booleans(4), normal(3, 4), axis=-1),
    case(np.compress, booleans(12), normal(3, 4)),
    case(np.ndarray.compress, normal(3, 4), booleans(4), axis=1),
    case(np.extract, booleans(3, 4), normal(3, 4)),
    case(np.ndarray.item, normal(3, 4), 5),
    case(np.ndarray.item, normal(3, 4), 1, -1),
    case(np.ndarray.item, normal(3, 4), (1, 2)),
    case(np.ndarray.item, normal(1, 1)),
    case(np.diagonal, normal(3, 4)),
    case(np.diagonal, normal(3, 4), offset=1),
    case(np.diagonal, normal(4, 3), offset=-2),
    case(np.diagonal, normal(2, 3), offset=7),
    case(np.diagonal, normal(2, 3, 4), axis1=2, axis2=0),
    case(np.diagonal, normal(2, 3, 4), 1, -1, 1),
    case(np.ndarray.diagonal, normal(3, 3)),
    case(np.sort, distinct(5)),
    case(np.sort, distinct(3, 4)),
    case(np.sort, distinct(3, 4), axis=0, kind="stable"),
    case(np.sort, distinct(3, 4), axis=None),
    case(np.partition, distinct(7), 3),
    case(np.partition, distinct(3, 40), (3, 20)),
    case(np.partition, distinct(40, 3), 20, axis=0),
    case(np.partition, distinct(3, 4), 5, axis=None),
    case(np.choose, integers(0, 3, 4), [normal(4), normal(4), normal(4)]),
    case(np.choose, integers(0, 2, 3, 4), (normal(4), normal(3, 1))),
    case(np.choose, integers(0, 2, 4), normal(2, 4)),
    case(np.select, [booleans(4), booleans(4)], [normal(4), normal(4)]),
    case(np.select, [booleans(3, 4), booleans(4)], [normal(4), normal(3, 1)], default=1.5),
    case(np.select, [booleans(4)], [normal(4)], normal(4)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_repeated_index_accumulates():
    """x[[0, 2, 2]] sends both cotangents of row 2 back to row 2."""
    _, pullback = lookup(operator.getitem)[0].function(np.zeros(3), [0, 2, 2])
    assert pullback(np.array([1.0, 10.0, 100.0]))[0].tolist() == [1.0, 0.0, 110.0]


def test_sorting_equal_elements():
    """Every cotangent goes to one element, and none to two."""
    _, pullback = lookup(np.sort)[0].function(np.array([2.0, 1.0, 2.0]))
    assert sorted(pullback(np.array([1.0, 10.0, 100.0]))[0]) == [1.0, 10.0, 100.0]
