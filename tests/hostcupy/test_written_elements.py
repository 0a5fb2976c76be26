"""Elements, sums and positions of CuPy's arrays, which are arrays: `x[0]` is a view, and `x.sum()` is changed by `+=`.

In the programs `np` is CuPy; what they mean in NumPy is often something else.
"""

import sys

import numpy as np
import pytest

from tests.hostcupy.programs import check

X = np.array([0.3, -0.7, 1.2])
P = np.array([[1.3, 0.2, -0.4], [0.1, 0.9, 0.5], [-0.6, 0.8, 1.1]])
Z = np.array([0.3 + 1.1j, -0.7 + 0.2j, 1.2 - 0.5j])
SCALE = 2.0


def check_elements(f, *args):
    """The value, the changed arguments and the gradient of a program in CuPy."""
    check(sys.modules[__name__], f, *args)


def programs(*fs):
    """The test is run with each function as `program`."""
    return pytest.mark.parametrize("program", fs, ids=lambda f: f.__name__)


# Elements that are written later


def read_then_written(x, p):
    t = x[0]
    x[0] = p[0, 0] ** 2
    return t * x


def used_then_written(x, p):
    t = x[0]
    u = t * t * p[1, 1]
    x[0] = 2.0
    return u + t * p[0, 1]


def written_by_a_slice(x, p):
    t, s = x[1], p[2, 2]
    u = np.sin(t) * s
    x[:2] = p[0, :2] * t
    p[1:] *= x
    return u * t * s


def written_in_a_loop(x, p):
    y = np.zeros(3)
    last = y[0]
    for i in range(3):
        y[i] = x[i] * last + p[i, i]
        last = y[i]
        y[i] *= last
    return y * last


def element_by_two_indices(x, p):
    row = p[1]
    t = row[2]
    u = p[1][2] * t
    p[1, 2] = x[0] * x[1]
    return u * t + row


def element_returned(x, p):
    t = x[1]
    x[1] = p[0, 0] * t
    return t


def elements_in_containers(x, p):
    ts = [x[0], x[1]]
    d = {"a": x[2], "b": p[0, 0]}
    u = ts[0] * d["a"] * d["b"]
    x *= p[0]
    p[0, 0] = 3.0
    ts[1] += u
    return u * ts[0] + d["a"] * ts[1] + d["b"]


def elements_by_iteration(x, p):
    u = 0.0
    for v in x:
        u = u + v * v
        v *= 2.0
    for i, (v, w) in enumerate(zip(x, p[0], strict=True)):
        w += v * i
    return u * x * p[0]


def elements_in_comprehensions(x, p):
    ts = [v for v in x]
    us = [v * v for v in p[0]]
    x[0] = us[0] * us[1]
    p[0, 2] = ts[1]
    ts[2] *= us[2]
    return sum(ts) * sum(us) * x


def elements_unpacked(x, p):
    a, b, c = x
    first, *rest = p[0]
    d = a * b * first
    x[0] = c * rest[0]
    p[0] = 1.5
    rest[1] += a
    return d * a * x * rest[1]


def elements_from_a_helper(x, p):
    t = head(x)
    u = t**2
    doubled(x[1])
    x[0] = p[0, 0]
    v = doubled(1.5 * p[1, 1])
    return u * t * v * x


def head(y):
    return y[0]


def doubled(t):
    t *= SCALE
    return t


def element_captured(x, p):
    t = x[0]

    def power(n):
        return t**n * p[0, 0]

    a = power(3)
    x[0] = p[1, 0]
    return a + power(2)


def element_chosen(x, p):
    t = x[0] if float(p[0, 0]) > 0 else x[1]
    s = t * 1.0
    x[0] *= p[1, 1]
    if float(t) < 10:
        t += s
    return t * s * x


def copied_elements(x, p):
    a, b, c, d = x[0].copy(), +x[1], abs(x[2]), 1.0 * x[0]
    f, g = float(x[0]), x[1].item()
    x[:] = p[0]
    a += b
    c *= d
    f += g
    return a * b * c * d * f * x


@programs(read_then_written, used_then_written, written_by_a_slice, written_in_a_loop, element_by_two_indices,
          element_returned, elements_in_containers, elements_by_iteration, elements_in_comprehensions,
          elements_unpacked, elements_from_a_helper, element_captured, element_chosen, copied_elements)  # fmt: skip
def test_elements(program):
    """An element that was read is the array's: it changes with it, and what was computed from it does not."""
    check_elements(program, X, P)


# In place


def running_product(x, p):
    t = x[0]
    for i in range(1, 3):
        t *= x[i]
    return t * p


def sum_times_itself(x, p):
    s = x.sum()
    s *= s
    s *= x[0]
    s -= np.sum(p)
    return s


def sum_with_two_names(x, p):
    s = x.sum()
    t = s
    s += x[1]
    t *= p[0, 0]
    return s * t


def total_of_rows(x, p):
    total = 0.0
    for row in p:
        total += row @ x
        total *= x[0]
    return total


def first_row_as_total(x, p):
    total = p[0, 0]
    best = p.max()
    for i in range(3):
        total += p[i] @ x
        best /= x[0] + i
    return total * p * best


def norm_changed(x, p):
    n = np.linalg.norm(x)
    m = np.mean(p)
    y = x / n
    n += m
    m -= n
    return y * n * m


def loss_and_penalty(x, p):
    loss = np.mean((p @ x) ** 2)
    penalty = loss
    for w in (x, p):
        loss += 0.1 * np.sum(w * w)
    return loss * penalty


def powers_in_place(x, p):
    t = np.exp(x[0])
    u = t
    t **= 2
    t /= p[0, 0]
    return t * u


def into_shapeless_buffers(x, p):
    s = np.zeros(())
    t = s
    np.multiply(x[0], x[1], out=s)
    s += p[0, 0]
    np.exp(t, out=t)
    return s * x


def one_of_no_dimensions(x, p):
    s = x.sum().reshape(())
    v = s[()]
    v *= p[0, 0]
    s[...] = s * v
    return s * v


@programs(running_product, sum_times_itself, sum_with_two_names, total_of_rows, first_row_as_total, norm_changed,
          loss_and_penalty, powers_in_place, into_shapeless_buffers, one_of_no_dimensions)  # fmt: skip
def test_augmented(program):
    """What NumPy rebinds CuPy writes into: a sum under all its names, an element in its array."""
    check_elements(program, X, P)


def complex_elements(z):
    t = z[0]
    u = t * np.conj(t)
    z[0] = z[1] * z[2]
    t *= 1j
    r = z.real[1]
    r *= 3.0
    return u * t * z


def test_complex():
    """The same with complex numbers."""
    check_elements(complex_elements, Z)


# Positions


def position_changed(x):
    i = np.argmax(x)
    a = x[i] ** 2
    i -= 1
    b = x[i] * a
    x[i] = a * b
    i[...] = 0
    return x * x[i] * b


def positions_overwritten(x):
    k = np.array([0, 2, 1])
    j, n = k[1], k[0]
    y = x * 1.0
    y[j] = x[n] ** 2
    k[:] = 1
    y[j] *= x[n]
    z = y[: k[0]] * x[k]
    k *= 0
    return z * y[k]


def count_changed(x):
    n = np.count_nonzero(x > 0)
    m = x[0] > 0
    y = x * n
    s = np.where(m, y[0], y[1])
    n += 1
    m &= False
    return s * y * n


def mask_overwritten(x):
    m = x > 0
    y = x * 1.0
    y[m] = x[m] ** 2
    m[:] = False
    y[m] = 5.0
    m ^= True
    y[m] *= x
    return y


@programs(position_changed, positions_overwritten, count_changed, mask_overwritten)
def test_positions(program):
    """A position is an array as well: what was read by it is remembered by its value then."""
    check_elements(program, X)


# Programs of numbers


def from_numbers(a, b):
    y = np.zeros(3)
    y[0] = a * b
    t = y[0]
    y[1:] = t * a
    u = t * y[1]
    y[0] = b
    t += a
    return np.sum(y) * u * t


def numbers_in_arrays(a, b):
    y = np.array([a, b, a * b])
    s = y[0]
    s *= b
    y[2] = s * a
    return y * s


@programs(from_numbers, numbers_in_arrays)
def test_numbers(program):
    """Only the arrays that the program makes are on the device."""
    check_elements(program, 0.7, 1.3)


# Where CuPy comes from


def imported_inside(a, b):
    import cupy as xp
    from cupy import sum as total

    y = xp.zeros(3)
    y[0] = a * b
    t = y[0]
    u = t * t
    y[0] = 2.0 * b
    s = total(y)
    t *= s
    s *= t
    return s * u


class Grid:
    def __init__(self, xp=np):
        self.xp = xp

    def changed(self, a, b):
        y = self.xp.zeros(2)
        y[0] = a
        t = y[0]
        y[0] = b
        return t * a * y


def from_an_object(a, b):
    return Grid(np).changed(a, b)


def from_a_list(a, b):
    make, total = [np.zeros, np.sum]
    y = make(3)
    y[:2] = a
    s = total(y)
    t = y[0]
    y[0] = b
    r = s
    s *= t
    return s * r * a


def by_default(a, b, xp=np):
    y = xp.zeros(2)
    y[0] = a
    return y


def from_elsewhere(a, b):
    y = by_default(a, b, np)
    t = y[0]
    y[0] = b
    t *= a
    return y * t


@programs(imported_inside, from_an_object, from_a_list, from_elsewhere)
def test_where_it_comes_from(program):
    """Imported, held by an object or a list, or a default."""
    check_elements(program, 0.7, 1.3)
