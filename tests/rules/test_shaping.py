"""Every rule of rules/axes.py and rules/shaping.py against differences, and what they do at the edges."""

import numpy as np
import pytest

from adcompiler.rules.registry import lookup
from adcompiler.runtime.errors import DifferentiationError
from adcompiler.testing import case, check_rule, complex_normal, normal

CASES = [
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
    case(np.reshape, normal(2, 6), (3, 4), copy=True),
    case(np.ndarray.reshape, normal(2, 6), 3, 4, copy=None),
    case(np.broadcast_to, normal(3), (2, 3), subok=True),
    case(np.broadcast_arrays, normal(3), normal(2, 1)),
    case(np.broadcast_arrays, normal(2, 3), 2.5, complex_normal(3)),
    case(np.broadcast_arrays, normal(3), subok=True),
    case(np.roll, normal(3, 4), (1, -2)),
    case(np.roll, normal(3, 4), 1, axis=(0, 1)),
    case(np.roll, normal(0), 1),
    case(np.flip, normal(2, 3), axis=()),
    case(np.rot90, normal(2, 3), k=-5),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


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
