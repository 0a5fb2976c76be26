"""Writes by subscript: every kind of index as a target, in NumPy's order and with its overlaps."""

import numpy as np

from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2])


# Integers and slices


def single_elements(x):
    y = np.zeros(4)
    y[0] = x[1] * x[2]
    y[-1] = x[0]
    y[2] = y[0] * y[-1]
    y[0] = y[0] * y[2]
    return y


def elements_of_a_matrix(x):
    y = np.ones((2, 3))
    y[1, 2] = x[0] * x[1]
    y[0] = x
    y[-1, -2] = y[0, 2] * x[2]
    return y


def elements_in_a_loop(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = np.sin(x[i]) * (i + 1)
    return y


def numpy_integers(x):
    y = np.zeros_like(x)
    y[np.argmax(x)] = x[0] * x[1]
    y[np.int64(0)] = x[2] ** 2
    return y


def overwritten_at_once(x):
    y = x * 2.0
    y[0] = x[1] ** 2
    y[0] = x[2] ** 3
    y[1] = 5.0
    return y


def slices(x):
    y = np.zeros(6)
    y[1:4] = x * x
    y[4:] = y[1:3] * x[0]
    y[:1] = x[2]
    y[-3:-1] = x[:2]
    return y


def steps(x):
    y = np.ones(7)
    y[::3] = x
    y[1::3] = x[1:] * y[:2]
    y[-1:-4:-2] = x[::2]
    return y


def negative_strides(x):
    y = np.zeros(3)
    y[::-1] = x * x
    z = np.zeros(5)
    z[-2::-1] = np.concatenate([y, x[:1]])
    z[::-2] *= x[2]
    return y * z[1:4]


def slice_objects(x):
    inner = slice(1, None)
    rows = (slice(None), inner)
    y = np.zeros((2, 3))
    y[rows] = x[inner] ** 2
    y[(0, 0)] = x[0]
    return y


def empty_slices(x):
    y = x * 1.0
    y[3:] = x[:0]
    y[2:1] = 7.0
    return y * y


@programs(
    single_elements, elements_of_a_matrix, elements_in_a_loop, numpy_integers, overwritten_at_once,
    slices, steps, negative_strides, slice_objects, empty_slices,
)  # fmt: skip
def test_integers_and_slices(program):
    """What was stored last at a place is what it holds, and what was there before has no derivative any more."""
    check_writes(program, X)


# Ellipsis, new axes, broadcasting


def ellipsis(x):
    y = np.zeros((2, 2, 3))
    y[..., 0] = x[1]
    y[0, ...] = x
    y[..., 1, :] = x**2
    y[1, ..., 2] *= 3.0
    return y


def whole_array(x):
    y = x * 3.0
    y[...] = x * x
    z = np.empty(3)
    z[:] = y
    z[:] = z * y
    return z


def zero_dimensions(x):
    t = np.zeros(())
    t[()] = x[0] * x[1]
    t[...] = t * x[2]
    t += x[0]
    return t * t


def new_axes(x):
    y = np.zeros((3, 2))
    y[:, None, 1] = x[:, None] ** 2
    y[None, :, 0] = x
    y[..., np.newaxis] *= 2.0
    return y


def rows_broadcast(x):
    y = np.zeros((2, 3))
    y[:] = x
    y[1] = x[1] ** 2
    y[:, 1:] = x[:2, None]
    return y * y


def leading_ones(x):
    y = np.zeros(3)
    y[:] = (x * x)[None, :]
    y[:2] = np.ones((1, 1)) * x[2]
    return y


def lists_of_values(x):
    y = np.zeros(3)
    y[:] = [x[2], 1.0, x[0] * x[1]]
    y[1:] = (y[0], x[1] ** 2)
    z = np.zeros((2, 2))
    z[:] = [[x[0], x[1]], [x[1] * x[0], 2.0]]
    return y, z


def number_everywhere(x):
    y = x + 1.0
    y[1:] = 2.0
    y[:1] = x[0] * x[2]
    return y * x


@programs(ellipsis, whole_array, zero_dimensions, new_axes, rows_broadcast, leading_ones, lists_of_values,
          number_everywhere)  # fmt: skip
def test_broadcast_stores(program):
    """A value that was repeated into its target gets the sum over the places that it filled."""
    check_writes(program, X)


# Masks


def masked_values(x):
    y = np.ones(3)
    m = x > 0
    y[m] = x[m] ** 2
    return y


def masked_number(x):
    y = x * x
    y[x < 0] = x[0]
    y[y > 1.2] = 0.0
    return y


def leaky(x):
    y = x * 1.0
    y[y < 0] *= 0.1
    y[~(x < 1.0)] += x[0]
    return y


def masked_matrix(x):
    y = np.outer(x, x)
    y[y < 0] = 0.5 * x[0]
    y[np.eye(3, dtype=bool)] = x
    return y


def masked_rows(x):
    y = np.zeros((3, 2))
    m = x > 0
    y[m] = x[:2]
    y[~m, 1] = x[2]
    y[m, 0] += x[m] * 2
    return y


def list_as_mask(x):
    y = x * 2.0
    y[[True, False, True]] = x[1:] ** 2
    return y


def mask_of_nothing(x):
    y = x * 2.0
    y[x > 100.0] = x[0]
    y[x > 100.0] *= x[1]
    return y


@programs(masked_values, masked_number, leaky, masked_matrix, masked_rows, list_as_mask, mask_of_nothing)
def test_masks(program):
    """A boolean index writes where it is true and nowhere else."""
    check_writes(program, X)


# Arrays of indices


def picked(x):
    y = np.zeros(4)
    y[[3, 0]] = x[:2] * x[1:]
    y[np.array([1, 2])] = x[2]
    return y


def repeated_last_wins(x):
    y = np.zeros(3)
    y[[1, 1, 0]] = x
    y[np.array([2, 2])] = x[:2] ** 2
    return y


def repeated_number(x):
    y = x * 2.0
    y[[0, 0, 1]] = x[2] ** 2
    return y


def repeated_increment(x):
    y = x * 1.0
    i = np.array([0, 0, 2])
    y[i] += x * x
    y[i] *= x
    y[[1, 1]] /= x[:2]
    return y


def pairs_of_indices(x):
    y = np.zeros((3, 3))
    y[[0, 1, 0], [1, 2, 1]] = x
    y[np.arange(3), [2, 0, 1]] += x * x
    return y


def matrix_of_indices(x):
    y = np.zeros(4)
    y[np.array([[0, 1], [1, 3]])] = np.outer(x[:2], x[1:])
    return y


def mixed_with_slices(x):
    y = np.zeros((3, 4))
    y[:, [0, 2]] = x[:, None]
    y[1:, [3, 3]] = x[:2]
    y[[2, 0], 1:3] *= 3.0
    y[[0, 2], ..., 1] = x[1:]
    return y


def open_mesh(x):
    y = np.ones((3, 3))
    y[np.ix_([0, 2], [1, 2])] = np.outer(x[:2], x[1:])
    y[np.triu_indices(3, 1)] *= x
    y[np.diag_indices(3)] = x**2
    return y


def where_indices(x):
    y = np.ones(3)
    y[np.nonzero(x > 0)] = x[np.where(x > 0)] ** 2
    (i,) = np.where(x < 0)
    y[i] = x[2]
    return y


def negative_and_sorted_indices(x):
    order = np.argsort(x)
    y = np.empty(3)
    y[order] = np.cumsum(x[order])
    y[[-1, 2]] += x[:2]
    return y


@programs(picked, repeated_last_wins, repeated_number, repeated_increment, pairs_of_indices, matrix_of_indices,
          mixed_with_slices, open_mesh, where_indices, negative_and_sorted_indices)  # fmt: skip
def test_arrays_of_indices(program):
    """Of a place that is named twice the last value stays, also in `y[i] += v`."""
    check_writes(program, X)


# Arrays that only the run time knows


def of_split(x, a):
    first, second = np.split(x, 2)
    parts = [first, second]
    parts[0], parts[1] = parts[1], parts[0]
    y = parts[0][[1, 0, 1]]
    parts[0][[0, 1]] = parts[0][[1, 0]] * 2.0
    parts[1][[True, False]] *= y[:1]
    return x, y


def index_changed_later(x, a):
    items = [x, a[0]]
    items[0], items[1] = items[1], items[0]
    i = [0, 2, 2]
    y = items[1][i]
    i[0] = 1
    i.append(3)
    return y * items[0][i][:3]


def places_in_tuple(x, a):
    items = [x, a]
    items[0], items[1] = items[1], items[0]
    y = items[0][[0, 1, 1], [2, 0, 0]]
    items[0][:, [0, 2]] *= y[:2]
    return items[0][[1, 0], 1:3] @ items[0][0, :2]


class Squares:
    def __getitem__(self, t):
        return t * t


def key_with_derivative(x, a):
    items = [Squares(), x]
    items[0], items[1] = items[1], items[0]
    return items[1][x[2]] * items[0][[0, 1]]


@programs(of_split, index_changed_later, places_in_tuple, key_with_derivative)
def test_index_of_unknown(program):
    """What has an index that is a list may be known at run time only."""
    check_writes(program, np.array([0.3, -0.7, 1.2, 0.8]), np.array([[1.3, 0.2, -0.4, 0.5], [0.1, 0.9, 0.5, 0.7]]))
