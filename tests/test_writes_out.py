"""`out=`: ufuncs, products, reductions and others that write their result into an array that they are given."""

import numpy as np

from adcompiler import MutationError
from tests.promises import check_refused
from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2])
P = np.array([1.4, 0.6, 2.1])
A = np.array([[1.3, 0.2, -0.4], [0.1, 0.9, 0.5], [-0.6, 0.8, 1.1]])


# ufuncs


def one_operand(x, p):
    y = np.empty(3)
    np.exp(x, out=y)
    z = np.sqrt(p, out=np.empty_like(p))
    np.sin(y, out=y)
    np.negative(z[1:], out=z[:2])
    np.tanh(x, out=x)
    return y * z * x


def two_operands(x, p):
    y = np.empty(3)
    np.multiply(x, p, out=y)
    np.add(y, x, out=y)
    np.subtract(1.0, y, out=p)
    np.divide(y, p + 4.0, out=x)
    np.power(x, 2, out=x)
    np.maximum(x, y, out=y)
    return y * p * x


def by_position(x, p):
    y = np.empty(3)
    np.exp(x, y)
    np.add(y, p, y)
    np.multiply(y, y, p)
    np.subtract(p, 0.5, p)
    return p * x + y


def as_a_tuple(x, p):
    y = np.zeros(3)
    np.cos(x, out=(y,))
    np.multiply(y, p, out=(x,))
    return x * y


def the_result_is_the_buffer(x, p):
    y = np.empty(3)
    z = np.exp(x, out=y)
    z[0] = p[1]
    y *= p
    w = np.add(z, 1.0, out=y)
    w -= x
    return z * w


def parts_of_arrays(x, p):
    m = np.zeros((2, 3))
    np.exp(x[:2], out=m[0, 1:])
    np.multiply(x, p, out=m[1])
    np.add(m[0, :2], m[1, 1:], out=m[0, :2])
    np.add(m[0, 1:], m[0, :-1], out=m[0, 1:])
    np.multiply(m, p, out=m)
    return m


def broadcast_into(x, p):
    m = np.empty((2, 3))
    np.add(x, p[:2, None], out=m)
    np.multiply(m, x[0], out=m)
    n = np.empty((2, 3))
    np.exp(x, out=n)
    return m * n


def no_buffer(x, p):
    return np.exp(x, out=None) + np.add(x, p, out=None) * np.multiply(x, p, None)


def masks_by_out(x, p):
    m = np.empty(3, dtype=bool)
    np.greater(x, 0.0, out=m)
    y = np.where(m, x, p)
    np.logical_not(m, out=m)
    y[m] *= p[m]
    np.less(y, p, out=m)
    return y * m


def several_results(x, p):
    whole, part = np.empty(3), np.empty(3)
    np.modf(x * 4.0, out=(part, whole))  # refused
    return part * p + whole


def ufunc_methods(x, p):
    s = np.empty(())
    c = np.empty(3)
    m = np.empty((3, 3))
    np.add.reduce(x * p, out=s)
    np.add.accumulate(x, out=c)
    np.multiply.outer(x, p, out=m)
    return m * c + s


@programs(one_operand, two_operands, by_position, as_a_tuple, the_result_is_the_buffer, parts_of_arrays,
          broadcast_into, no_buffer, masks_by_out, ufunc_methods)  # fmt: skip
def test_ufuncs(program):
    """The result is the buffer; what the buffer held has no derivative any more, also where it was an operand."""
    check_writes(program, X, P)


def only_where(x, p):
    y = x * 2.0
    y = np.log(p, out=y, where=x > 0)
    m = x > 0
    np.multiply(y, x, out=y, where=m)
    m[:] = False
    return y * x


def quotient_where(x, p):
    y = np.zeros(3)
    np.divide(x, p - p[0], out=y, where=p != p[0])
    return y + np.divide(p, x, out=np.zeros_like(x), where=x > 0)


def inert_where(x, p):
    y = x * p
    np.sign(x, out=y, where=p > 0)
    np.power(x, 2.0, y, where=[True, False, False])
    return y


@programs(only_where, quotient_where, inert_where)
def test_out_and_where(program):
    """`where=` beside `out=` keeps a part of the buffer, and its cotangent."""
    check_writes(program, X, P)


def test_several_results():
    """Functions with two buffers are refused."""
    check_refused(MutationError, several_results, X, P)


def stacked_on_an_operand(x, p):
    m = np.outer(x, p)
    np.stack([x, p, m[1]], out=m)  # refused
    return m


def test_an_operand_as_the_buffer():
    """What is no ufunc reads what it has just overwritten."""
    check_refused(MutationError, stacked_on_an_operand, X, P)


# Products


def matrix_products(x, a):
    c = np.empty((3, 3))
    np.matmul(a, a, out=c)
    np.dot(c, a, out=a)
    v = np.empty(3)
    np.matmul(a, x, out=v)
    np.dot(c, v, x)
    np.matmul(x, c, v)
    return c, v * x


def methods_of_products(x, a):
    c = np.empty((3, 3))
    a.dot(a, out=c)
    a.dot(c, a)
    y = a.dot(x, out=np.empty(3))
    y *= x
    return y * c


def einsum(x, a):
    c = np.empty((3, 3))
    np.einsum("ij,kj->ik", a, a, out=c)
    s = np.zeros(3)
    np.einsum("ii->i", c, out=s)
    np.einsum("ij,j->i", c, s, out=x)
    return c * x + s


def outer(x, a):
    c = np.empty((3, 3))
    np.outer(x, a[0], out=c)
    np.outer(x, x, c)
    c[0] += a[0]
    np.linalg.multi_dot([a, c, a], out=a)
    return c @ x * a


@programs(matrix_products, methods_of_products, einsum, outer)
def test_products(program):
    """Products of matrices into a buffer that later products read and overwrite."""
    check_writes(program, X, A)


# Reductions and others


def sums(x, a):
    s = np.empty(3)
    np.sum(a, axis=0, out=s)
    np.mean(a * x, axis=1, out=x)
    a.sum(axis=1, out=a[0])
    np.prod(a, axis=0, out=s[:])
    np.sum(a, 1, None, x)
    t = np.zeros(())
    np.sum(a, out=t)
    return s * x * t


def extremes(x, a):
    s = np.empty(3)
    np.max(a, axis=0, out=s)
    np.amin(a, axis=1, out=x)
    a.max(axis=1, out=a[1])
    np.std(a, axis=0, out=a[0])
    return s * x * a


def cumulated(x, a):
    c = np.empty((3, 3))
    np.cumsum(a, axis=0, out=c)
    np.cumsum(x, out=x)
    np.cumprod(x, out=x)
    x.cumsum(out=x)
    np.cumsum(a, axis=1, out=a)
    return c * a * x


def clipped(x, a):
    np.clip(x, -0.5, 1.0, out=x)
    x.clip(a[0], 1.1, out=x)
    y = np.clip(a, x, None, out=np.empty((3, 3)))
    np.clip(a, 0.0, 1.0, a)
    a[1:].clip(0.15, 0.85, out=a[1:])
    return a * y * x


def taken_and_joined(x, a):
    y = np.empty(4)
    np.take(x, [2, 0, 0, 1], out=y)
    z = np.empty(6)
    np.concatenate([x, x * x], out=z)
    m = np.empty((2, 3))
    np.stack([x, a[0]], out=m)
    np.compress([True, False, True], a, axis=0, out=m)
    t = np.zeros(())
    np.trace(a @ a, out=t)
    return y * t, z, m


def rounded(x, a):
    y = x * 2.0
    z = y
    np.round(a[0] * 4.0, out=y)
    np.floor(x, out=x)
    return z * a[1] + x


@programs(sums, extremes, cumulated, clipped, taken_and_joined, rounded)
def test_reductions_and_others(program):
    """A function of NumPy with `out` by name or position writes as the assignment of its result does."""
    check_writes(program, X, A)
