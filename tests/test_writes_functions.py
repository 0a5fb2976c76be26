"""Writes by functions and methods: `np.add.at`, `np.copyto`, `fill`, `sort`, and through attributes such as `.flat`."""

import numpy as np

from adcompiler import DifferentiationError, MutationError, pullback
from tests.promises import check_refused
from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2])
A = np.array([[1.3, 0.2, -0.4], [0.1, 0.9, 0.5], [-0.6, 0.8, 1.1]])


# ufunc.at


def added_at(x, a):
    i = np.array([0, 2, 0])
    np.add.at(x, i, a[0])
    np.add.at(a, (i, [1, 1, 1]), x * x)
    np.add.at(a, (slice(1, None), 0), x[0])
    np.add.at(x, x > 0.5, 2.0)
    np.add.at(x, [1, 1], x[0])
    return x, a


def subtracted_at(x, a):
    y = np.zeros(4)
    np.subtract.at(y, [3, 3, 1], x * a[0])
    np.subtract.at(y, 0, x[1])
    np.subtract.at(a, [0, 0], x)
    return y, a


def histogram(x, a):
    bins = np.zeros(3)
    for row in a:
        np.add.at(bins, np.digitize(row, [0.0, 0.6]), row * x)
    return bins


def segments(x, a):
    out = np.zeros((2, 3))
    np.add.at(out, np.array([1, 0, 1]), a * x)
    out[0] *= out[1]
    return out


@programs(added_at, subtracted_at, histogram, segments)
def test_unbuffered_sums(program):
    """`np.add.at` adds once for each time that an index occurs."""
    check_writes(program, X, A)


def multiplied_at(x):
    y = x * 1.0
    np.multiply.at(y, [0, 0], x[:2])  # refused
    return y


def greatest_at(x):
    y = np.zeros(3)
    np.maximum.at(y, [0, 0, 1], x)  # refused
    return y


@programs(multiplied_at, greatest_at)
def test_other_unbuffered_operations(program):
    """Others than sums and differences are refused."""
    check_refused(MutationError, program, X)


# Functions of NumPy that write into their first argument


def copied_to(x, a):
    y = np.zeros((2, 3))
    np.copyto(y, x)
    np.copyto(y[1, 1:], a[0, :2] * x[:2])
    np.copyto(y[:, 0], x[2])
    np.copyto(dst=a[1], src=y[0] * y[1])
    np.copyto(a[2], a[1])
    return y, a


def copied_where(x, a):
    np.copyto(a, x, where=a > 0.4)
    np.copyto(x, 2.0, where=[True, False, False])
    return a * x


def put(x, a):
    np.put(a, [0, 4, 8], x)
    np.put(a, [2, 2], x[:2] ** 2)
    np.put(a, [-2, 1], x[2])
    a[0].put([1], x[0] * x[1])
    return a


def put_with_cycles(x, a):
    np.put(a, [0, 1, 2, 3, 5], x[:2])
    np.put(a, [9, 13], x[1:], mode="wrap")
    np.put(a, [99, 3], x[1:] ** 2, mode="clip")
    return a


def masked_by_functions(x, a):
    np.putmask(a, a > 0.85, a * a * 3.0)
    np.putmask(x, x < 0, [5.0, x[2] * 2.0, 1.0])
    np.place(a, a < 0, x)
    return a, x


def masked_with_cycles(x, a):
    np.putmask(a, a > 0, x[:2] * 1.0)
    np.place(x, [True, False, True], a[2, :1])
    return a, x


def diagonals(x, a):
    np.fill_diagonal(a, x[0] * x[1])
    b = a @ a
    np.fill_diagonal(b, x)
    c = np.zeros((4, 2))
    np.fill_diagonal(c, x[2], wrap=True)
    return a, b, c


def along_axis(x, a):
    order = np.argsort(a, axis=1)
    y = np.empty((3, 3))
    np.put_along_axis(y, order, a * x, axis=1)
    np.put_along_axis(a, order[:, :1], x[:, None] ** 2, 1)
    np.put_along_axis(y, np.array([[0, 1, 1]]), 2.0 * x[1], axis=0)
    return y * a


def filled(x, a):
    a.fill(x[0] * x[1])
    a[1].fill(x[2])
    a[:, 1:].fill(0.5)
    a.T[2].fill(np.sum(x))
    return a * x


def sorted_in_place(x, a):
    y = x * a[0]
    x.sort()
    a.sort(axis=0)
    a[1].sort()
    y[::-1].sort()
    return a * x * y, a[1] * x


def numbers_made_finite(x, a):
    y = np.array([1.0, -np.inf, 2.0])
    z = np.zeros(3)
    z[:] = x
    np.nan_to_num(y, copy=False, neginf=0.0)
    z *= y
    return z * a


def made_finite_in_place(x, a):
    v = x[1:]
    y = np.nan_to_num(v, copy=False)
    y *= 2.0
    a[0, 1], a[1, 2], a[2, 0] = np.inf, np.nan, -np.inf
    np.nan_to_num(a, copy=False, nan=x[0], posinf=x[1] * x[2], neginf=x[0] - x[2])
    z = x + 1j * a[1]
    z[0] = complex(np.nan, x[2])
    np.nan_to_num(z, False)
    return x, a, np.nan_to_num(z.real * x, copy=True), z.imag


@programs(copied_to, copied_where, put, put_with_cycles, masked_by_functions, masked_with_cycles, diagonals,
          along_axis, filled, sorted_in_place, numbers_made_finite, made_finite_in_place)  # fmt: skip
def test_functions_that_write(program):
    """Each is the assignment that it stands for."""
    check_writes(program, X, A)


# Attributes and methods that give a part of the array


def flat(x, a):
    a.flat[1] = x[0] * x[1]
    a.flat[4:6] = x[1:]
    a.flat[::4] *= x
    a.flat[[2, 3]] = x[0]
    b = a * 1.0
    b.flat = x**2
    return a, b


def transposed(x, a):
    a.T[0] = x
    a.T[1:, 2] *= x[:2]
    a.transpose(1, 0)[2] += a[2]
    np.transpose(a)[...] = a * x
    np.swapaxes(a, 0, 1)[1] -= x
    np.moveaxis(a, 0, -1)[0, 0] = x[2]
    return a


def reshaped(x, a):
    a.reshape(-1)[::4] = x
    a.ravel()[1] *= x[0]
    np.reshape(a, 9)[3:5] = x[1:]
    np.ravel(a)[-2:] += x[:2]
    x.reshape(1, 3)[0, 1:] **= 2
    x[:, None][0] = a[2, 2]
    np.expand_dims(x, 0)[0, 1] += 1.0
    return a @ x


def flipped(x, a):
    np.flip(x)[0] = x[0] * x[1]
    np.fliplr(a)[:, 0] += x
    np.flipud(a)[0, :2] = x[:2]
    np.rot90(a)[0] *= x
    return a @ x


def split(x, a):
    top, rest = np.vsplit(a, [1])
    top[0] *= x
    for row in np.split(rest, 2):
        row += top * x[0]
    left, right = np.array_split(a, 2, axis=1)
    right[...] = left[:, 1:]
    return a


def diagonal_by_einsum(x, a):
    np.einsum("ii->i", a)[:] = x
    np.einsum("ij->ji", a)[0, 1] *= x[2]
    np.einsum("ii->i", a)[1:] += a[0, 1:]
    return a @ a


def squeezed(x, a):
    y = np.zeros((1, 3, 1))
    np.squeeze(y)[:2] = x[1:]
    y.squeeze(0)[2, 0] = x[0] * x[1]
    np.atleast_2d(x)[0, 1] = a[0, 0]
    return y * x


def flattened_is_a_copy(x, a):
    f = a.flatten()
    f[::2] = x[0]
    g = a[[0, 1]]
    g[0] *= x
    h = +a
    h[1] += x
    return np.sum(f) * a + np.sum(g) * h


@programs(flat, transposed, reshaped, flipped, split, diagonal_by_einsum, squeezed, flattened_is_a_copy)
def test_parts_that_are_written(program):
    """A write into what NumPy gives as a view is one into the array, and one into a copy is not."""
    check_writes(program, X, A)


# What is refused


def partitioned(x):
    y = x * 1.0
    y.partition(1)  # refused
    return y


def resized(x):
    y = x * 1.0
    y.resize(5, refcheck=False)  # refused
    return y


def given_a_shape(x):
    y = x * 1.0
    y.shape = (3, 1)  # refused
    return y


def seen_as_integers(x):
    y = x * 1.0
    y.view(np.int64)[0] = 0  # refused
    return y


def shuffled(x):
    y = x * 1.0
    np.random.default_rng(0).shuffle(y)  # refused
    return y


def objects(x):
    y = np.empty(2, dtype=object)
    y[0] = x[0]  # refused
    return y[0] * 2


def by_a_memoryview(x):
    y = x * 1.0
    memoryview(y)[0] = 3.0  # refused
    return y


@programs(partitioned, resized, given_a_shape, seen_as_integers, shuffled, objects, by_a_memoryview)
def test_writes_that_are_not_followed(program):
    """Each is refused at its line, by whatever names the reason best."""
    check_refused(DifferentiationError, program, X)


def read_only(x):
    b = np.broadcast_to(x, (2, 3))
    b[0] = 1.0
    return b


def test_what_numpy_itself_refuses():
    """A store into a read-only view raises as in a plain run, or is refused."""
    try:
        pullback(read_only, X)
    except (ValueError, DifferentiationError):
        return
    raise AssertionError("it was written")
