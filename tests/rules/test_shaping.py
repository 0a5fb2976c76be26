"""Every rule of rules/shaping.py and rules/joining.py against differences, and what they do at the edges."""

import numpy as np
import pytest

from adcompiler.rules.registry import lookup
from adcompiler.runtime.errors import DifferentiationError
from adcompiler.testing import booleans, case, check_rule, complex_normal, normal

PAIRS = [[normal(2, 3), normal(2, 3)], (normal(2, 3), normal(2, 3), normal(2, 3))]
VECTORS = [normal(3), normal(3)]

SHAPING = [
    case(np.transpose, normal(2, 3)),
    case(np.transpose, normal(2, 3, 4)),
    case(np.transpose, normal(2, 3, 4), (1, 2, 0)),
    case(np.transpose, normal(2, 3, 4), axes=(-1, 0, 1)),
    case(np.ndarray.transpose, normal(2, 3, 4)),
    case(np.ndarray.transpose, normal(2, 3, 4), 2, 0, 1),
    case(np.ndarray.transpose, normal(2, 3, 4), (2, 0, -2)),
    case(np.ndarray.transpose, normal(2, 3, 4), None),
    case(np.ndarray.T, normal(2, 3)),
    case(np.ndarray.T, normal(2, 3, 4)),
    case(np.ndarray.T, normal(3)),
    case(np.ndarray.mT, normal(2, 3, 4)),
    case(np.matrix_transpose, normal(2, 3)),
    case(np.linalg.matrix_transpose, normal(2, 3)),
    case(np.swapaxes, normal(2, 3, 4), 0, -1),
    case(np.ndarray.swapaxes, normal(2, 3, 4), 1, 0),
    case(np.moveaxis, normal(2, 3, 4), 0, -1),
    case(np.moveaxis, normal(2, 3, 4), (0, 1), (2, 0)),
    *(case(np.rollaxis, normal(2, 3, 4), axis, start) for axis in (0, 2, -2) for start in (0, 1, 3, -1)),
    case(np.reshape, normal(2, 6), (3, 4)),
    case(np.reshape, normal(2, 6), -1),
    case(np.reshape, normal(1), ()),
    case(np.reshape, 2.5, (1, 1)),
    case(np.reshape, normal(2, 6), (3, 4), order="F"),
    case(np.reshape, normal(0, 3), (3, 0, 2)),
    case(np.ndarray.reshape, normal(2, 6), 3, 4),
    case(np.ndarray.reshape, normal(2, 6), (3, -1)),
    case(np.ndarray.reshape, normal(2, 6), 3, 4, order="F"),
    case(np.ndarray.reshape, normal(1, 1), ()),
    case(np.ndarray.reshape, complex_normal(2, 3), -1),
    case(np.ravel, normal(2, 3)),
    case(np.ravel, 2.5),
    case(np.ravel, [[1.0, 2.0], [3.0, 4.0]]),
    case(np.ravel, normal(2, 3), "F"),
    case(np.ndarray.ravel, normal(2, 3), order="F"),
    case(np.ndarray.flatten, normal(2, 3)),
    case(np.ndarray.flatten, normal(2, 3), "F"),
    case(np.expand_dims, normal(2, 3), 1),
    case(np.expand_dims, normal(2, 3), (0, -1)),
    case(np.expand_dims, 2.5, 0),
    case(np.squeeze, normal(1, 3, 1)),
    case(np.squeeze, normal(1, 3, 1), axis=0),
    case(np.squeeze, normal(1, 1)),
    case(np.squeeze, normal(2, 3)),
    case(np.ndarray.squeeze, normal(1, 3, 1), -1),
    *(
        case(key, normal(*shape))
        for key in (np.atleast_1d, np.atleast_2d, np.atleast_3d)
        for shape in [(), (3,), (2, 3)]
    ),
    *(case(key, normal(3), 2.5) for key in (np.atleast_1d, np.atleast_2d, np.atleast_3d)),
    case(np.broadcast_to, normal(3), (2, 3)),
    case(np.broadcast_to, normal(2, 1), (4, 2, 3)),
    case(np.broadcast_to, 2.5, (2, 3)),
    case(np.broadcast_to, normal(1), 4),
    case(np.flip, normal(2, 3)),
    case(np.flip, normal(2, 3), axis=1),
    case(np.flip, normal(2, 3, 4), axis=(0, -1)),
    case(np.flipud, normal(2, 3)),
    case(np.fliplr, normal(2, 3)),
    case(np.roll, normal(5), 2),
    case(np.roll, normal(3, 4), -3),
    case(np.roll, normal(3, 4), 1, axis=1),
    case(np.roll, normal(3, 4), (1, -2), axis=(0, 1)),
    case(np.rot90, normal(2, 3)),
    case(np.rot90, normal(2, 3), k=2),
    case(np.rot90, normal(2, 3, 4), 3, (2, 0)),
    *(case(key, normal(3, 4), k=k) for key in (np.tril, np.triu) for k in (0, 1, -2)),
    *(case(key, normal(3)) for key in (np.tril, np.triu)),
    case(np.tril, normal(2, 3, 3)),
    *(case(np.diag, normal(*shape), k=k) for shape in [(3,), (3, 3), (2, 4)] for k in (0, 1, -1)),
    case(np.diagflat, normal(2, 2)),
    case(np.diagflat, normal(3), -1),
    case(np.diagflat, 2.5),
]

JOINING = [
    case(np.array, 2.5),
    case(np.array, normal(2, 3)),
    case(np.array, [1.5, 2.5]),
    case(np.array, [[1.5, 2.5], [3.0, 4.5]]),
    case(np.array, [normal(3), normal(3)]),
    case(np.array, ([1.5, normal()], (2.5, 3.5))),
    case(np.array, [1.5, 2.5], dtype=float),
    case(np.array, [1.5, 2.5j + 1]),
    case(np.array, normal(3), complex),
    case(np.array, normal(3), ndmin=3),
    case(np.array, [1.5, 2.5], dtype=float, ndmin=2),
    case(np.array, [[1.5, 2.5], [3.0, 4.5]], order="F"),
    *(case(key, normal(2, 3)) for key in (np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray)),
    *(case(key, [[1.5, 2.5]]) for key in (np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray)),
    case(np.asarray, 2.5),
    case(np.asarray, 2.5, dtype=float),
    case(np.ascontiguousarray, 2.5),
    case(np.copy, normal(2, 3)),
    case(np.ndarray.copy, normal(2, 3)),
    case(np.ndarray.copy, normal(2, 3), "F"),
    case(np.ndarray.astype, normal(2, 3), float),
    case(np.ndarray.astype, normal(2, 3), complex),
    case(np.ndarray.astype, normal(2, 3), float, copy=False),
    case(np.astype, normal(2, 3), np.complex128),
    case(np.full, (2, 3), 2.5),
    case(np.full, 3, normal(3)),
    case(np.full, (2, 3), normal(3)),
    case(np.full, (2, 3), 2.5, dtype=complex),
    case(np.full_like, normal(2, 3), 2.5, wrt=1),
    *(case(np.concatenate, arrays, axis) for arrays in PAIRS for axis in (0, 1, -1)),
    case(np.concatenate, [normal(2, 3), normal(4, 3)]),
    case(np.concatenate, [normal(2, 3), normal(5)], axis=None),
    case(np.concatenate, [normal(3), [1.5, 2.5]]),
    case(np.concatenate, normal(2, 3, 4), axis=1),
    case(np.concatenate, [normal(0, 3), normal(2, 3)]),
    case(np.concatenate, [normal(2, 0), normal(3, 0)]),
    case(np.concatenate, [normal(3), complex_normal(2)]),
    *(case(np.stack, arrays, axis) for arrays in PAIRS for axis in (0, 1, -1)),
    case(np.stack, normal(2, 3, 4), axis=-1),
    case(np.stack, [1.5, 2.5]),
    *(case(key, arrays) for key in (np.vstack, np.hstack, np.dstack, np.column_stack) for arrays in [*PAIRS, VECTORS]),
    *(case(key, [1.5, 2.5]) for key in (np.vstack, np.hstack, np.dstack, np.column_stack)),
    case(np.vstack, [normal(3), normal(2, 3)]),
    case(np.column_stack, [normal(3), normal(3, 2)]),
    case(np.hstack, normal(2, 3, 4)),
    case(np.append, normal(3), 2.5),
    case(np.append, normal(2, 3), normal(4)),
    case(np.append, normal(2, 3), normal(1, 3), axis=0),
    case(np.split, normal(6), 3),
    case(np.split, normal(4, 5), [1, 3], axis=-1),
    case(np.array_split, normal(7, 2), 3),
    case(np.array_split, normal(2, 7), 3, axis=1),
    case(np.vsplit, normal(4, 3), 2),
    case(np.hsplit, normal(4, 6), [2, 3]),
    case(np.hsplit, normal(6), 2),
    case(np.dsplit, normal(2, 3, 4), 2),
    case(np.tile, normal(3), 2),
    case(np.tile, normal(2, 3), (2, 3)),
    case(np.tile, normal(2, 3), 2),
    case(np.tile, normal(3), (2, 2)),
    case(np.tile, 2.5, 3),
    case(np.tile, normal(2, 3), 1),
    case(np.tile, normal(3), 0),
    case(np.repeat, normal(2, 3), 2),
    case(np.repeat, normal(2, 3), 3, axis=0),
    case(np.repeat, normal(2, 3), [0, 2, 1], axis=-1),
    case(np.repeat, normal(3), np.array([1, 0, 2])),
    case(np.repeat, normal(3), [2]),
    case(np.repeat, 2.5, 3),
    case(np.repeat, normal(), 3, axis=0),
    case(np.repeat, 2.5, 3, axis=-1),
    case(np.repeat, complex_normal(2, 3), [1, 2], axis=0),
    case(np.ndarray.repeat, normal(2, 3), 2, axis=1),
    case(np.pad, normal(3), 2),
    case(np.pad, normal(2, 3), ((1, 0), (0, 2))),
    case(np.pad, normal(2, 3), (1, 2)),
    case(np.pad, normal(2, 3), {-1: (1, 2)}),
    case(np.pad, normal(2, 3), {0: 2}),
    case(np.pad, normal(2, 3), 1, constant_values=2.5),
    case(np.pad, normal(2, 3), 1, "constant", constant_values=(1, 2)),
    *(case(np.pad, normal(3, 4), ((1, 2), (2, 1)), mode) for mode in ("edge", "reflect", "symmetric", "wrap")),
    case(np.pad, complex_normal(3), 2, mode="wrap"),
    case(np.delete, normal(5), 2),
    case(np.delete, normal(3, 4), [0, -1], axis=1),
    case(np.delete, normal(3, 4), slice(None, None, 2), axis=0),
    case(np.delete, normal(5), booleans(5)),
    case(np.meshgrid, normal(3), normal(4)),
    case(np.meshgrid, normal(3), normal(4), indexing="ij"),
    case(np.meshgrid, normal(3), normal(4), normal(2)),
    case(np.meshgrid, normal(3)),
    case(np.meshgrid, normal(3), 2.5),
]


CASES = SHAPING + JOINING


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_parts_come_in_the_container_of_the_argument():
    """The cotangent of a tuple of arrays is a tuple, of a list a list, of an array an array."""
    arrays = [np.ones(2), np.ones(3)]
    for container, argument in [(list, arrays), (tuple, tuple(arrays)), (np.ndarray, np.ones((2, 3)))]:
        y, pullback = lookup(np.concatenate)[0].function(argument)
        assert type(pullback(y)[0]) is container


def test_unused_parts_of_a_split():
    """A part without cotangent contributes zeros."""
    _, pullback = lookup(np.split)[0].function(np.zeros(4), 2)
    assert pullback([None, np.ones(2)])[0].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert pullback([None, None])[0].tolist() == [0.0] * 4


def test_cast_to_integers_stops_the_derivative():
    """An array of integers does not vary with the floats that it was made of."""
    for key, args in [
        (np.array, ([1.5, 2.5], int)),
        (np.asarray, (np.ones(2), int)),
        (np.ndarray.astype, (np.ones(2), int)),
    ]:
        y, pullback = lookup(key)[0].function(*args)
        assert y.dtype == int
        assert pullback(np.ones(2))[0].tolist() == [0.0, 0.0]


def test_declined_padding():
    """Modes that compute what they pad with have no rule."""
    assert lookup(np.pad)[0].function(np.ones(3), 1, "mean") is NotImplemented


def test_transpose_of_no_dimensions():
    """The cotangent of an array without dimensions may be a Python number."""
    _, pullback = lookup(np.ndarray.T)[0].function(np.array(2.0))
    assert pullback(1.5) == (1.5,)


@pytest.mark.parametrize("order", ["A", "K"])
def test_ravel_in_memory_order(order):
    """The order of memory is that of a contiguous array."""
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    y, pullback = lookup(np.ravel)[0].function(array, order)
    assert pullback(y)[0].tolist() == array.tolist()


@pytest.mark.parametrize("axes", [(1, 0, 2), (0, 2, 1), (2, 0, 1)])
def test_ravel_in_the_order_of_permuted_axes(axes):
    """order="K" follows the axes as they lie in memory, steps and reversed axes included."""
    array = np.arange(48.0).reshape(2, 3, 8).transpose(axes)[..., ::-1]
    y, pullback = lookup(np.ravel)[0].function(array, "K")
    np.testing.assert_array_equal(pullback(y)[0], array)


def test_ravel_of_shared_memory_in_no_simple_order():
    """order="K" is refused where elements share memory, which then has no order."""
    with pytest.raises(DifferentiationError, match="order='C'"):
        lookup(np.ravel)[0].function(np.broadcast_to(np.ones((3, 1)), (2, 3, 4)), "K")


def test_flat_iterates_in_the_order_of_the_rows():
    """The cotangent of the iterator is that of the elements, in the shape of the array, whatever its layout."""
    y, pullback = lookup(np.ndarray.flat)[0].function(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    assert [0.0, 1.0, 2.0, 3.0, 4.0, 5.0] == list(y)
    np.testing.assert_array_equal(pullback(np.arange(6.0))[0], [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
