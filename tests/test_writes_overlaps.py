"""Writes whose value shares memory with their target: subscripts of subscripts, overlaps, swaps."""

import numpy as np

from adcompiler import MutationError, NoRuleError
from tests.promises import check_refused
from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2])
A = np.array([[1.3, 0.2, -0.4], [0.1, 0.9, 0.5], [-0.6, 0.8, 1.1]])


# Subscripts of subscripts, and overlaps


def nested_subscripts(a, x):
    a[1][2:] = x[0] ** 2
    a[0][1] = x[1] * a[1][2]
    a[1:][0][::2] *= x[2]
    a.T[0] += x
    a[:, 1][-1] /= x[2]
    return a * a


def shifted(a, x):
    a[1:] = a[:-1] * a[1:]
    x[:-1] = x[1:]
    x[1:] += x[:-1]
    return a @ x


def reversed_onto_itself(a, x):
    x[:] = x[::-1]
    a[:] = a.T
    a[::-1] = a * x
    return a


def squared_in_place(a, x):
    x *= x
    a += a.T
    a[0] *= a[0]
    a[1] -= a[0]
    a /= a + 3.0
    return a, x


def multiplied_by_itself(a, x):
    a @= a
    x[:2] **= x[::2] + 2.0
    return a @ x


@programs(nested_subscripts, shifted, reversed_onto_itself, squared_in_place, multiplied_by_itself)
def test_overlaps(program):
    """A store reads its value whole before it writes, whatever both share."""
    check_writes(program, A, np.abs(X))


# Swaps


def rows_by_indices(a):
    a[[0, 1]] = a[[1, 0]]
    a[[0, 2], :] = a[[2, 1], :] * a[0]
    return a


def rows_by_copies(a):
    a[0], a[1] = a[1].copy(), a[0].copy()
    a[:, 0], a[:, 2] = a[:, 2] * 2.0, a[:, 0] * a[:, 1]
    return a


def rows_by_views(a):
    a[0], a[1] = a[1], a[0]
    return a * a


def columns_of_one_array(a):
    a[:, [0, 2]] = a[:, [2, 0]]
    a[:, ::-1] = a.copy()
    return a * a


def elements(a):
    a[0, 1], a[1, 0] = a[1, 0], a[0, 1] * 3.0
    a[2, 0], a[2, 1], a[2, 2] = a[2]
    return a * a


def unpacked_into_elements(a):
    y = np.zeros(4)
    first, *rest = a[0]
    y[0] = first
    y[1:3], y[3] = rest, a[1, 1] ** 2
    y[1] = y[2] = a[2, 0] * y[0]
    (y[0], y[3]), s = (y[3], y[0]), y[2]
    return y * s


def numbers_of_loops(a):
    y = np.zeros(3)
    s = 0.0
    for v in a[0]:
        y[1] = v
        s = s + y[1] ** 2
    for i, v in enumerate(a[1]):
        y[2] = v
        s = s * y[2] + i
    return y * s


@programs(rows_by_indices, rows_by_copies, rows_by_views, columns_of_one_array, elements, unpacked_into_elements,
          numbers_of_loops)  # fmt: skip
def test_swaps_and_unpacking(program):
    """The right side is evaluated, views as views, before the targets are stored from left to right."""
    check_writes(program, A)


# Overlaps that NumPy itself does not treat as if the value were copied


def different_strides(x):
    y = x * 1.0
    y[::2] = y[:2]  # refused
    return y


def copied_by_name(x):
    y = x * 1.0
    np.copyto(y[:2], y[::2])  # refused
    return y


def through_another_name(x):
    y = x * 1.0
    v = y[::2]
    y[:2] = v  # refused
    return y


@programs(different_strides, copied_by_name, through_another_name)
def test_stores_of_different_strides(program):
    """The value of a one-dimensional store onto itself with other strides is an accident of NumPy's, and refused."""
    check_refused(MutationError, program, X)


def strides_of_a_copy(x):
    y = x * 1.0
    y[::2] = y[:2].copy()
    y[:2] = y[::2] * 2.0
    y[::2] += y[:2]
    return y


def disjoint_parts(x):
    y = np.concatenate([x, x * x])
    y[::2] = y[1::2]
    y[3:] = y[:3]
    y[:2] = y[-1:-3:-1]
    return y


@programs(strides_of_a_copy, disjoint_parts)
def test_stores_that_are_as_if_copied(program):
    """Copies, values of operations and parts that do not overlap may have any strides."""
    check_writes(program, X)


def windows_that_overlap(x):
    y = x * 1.0
    w = np.lib.stride_tricks.sliding_window_view(y, 2)
    y[1] = x[0]
    return w * w


def strided_by_hand(x):
    y = x * 1.0
    w = np.lib.stride_tricks.as_strided(y, (2, 2), (8, 8))  # refused
    w[0] = x[:2]
    return y


def test_windows_that_touch_a_place_twice():
    """They are read as what the memory is at each moment; those whose strides are free are refused."""
    check_writes(windows_that_overlap, X)
    check_refused(NoRuleError, strided_by_hand, X)


def broadcast_then_written(x):
    y = x * 1.0
    b = np.broadcast_to(y, (2, 3))
    y[0] = x[1] * x[2]
    c, _ = np.broadcast_arrays(y, np.ones((2, 1)))
    y[1] *= 2.0
    return b * c


def test_a_broadcast_view_of_what_is_written():
    """It shows what the array is at each moment, and its cotangent is summed over the repetitions."""
    check_writes(broadcast_then_written, X)
