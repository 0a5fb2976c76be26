"""Augmented assignments to arrays, and the dtypes of what is written and of what it is written into."""

import collections
import re
import warnings

import numpy as np
import pytest

from adcompiler import MutationError, gradient, pullback
from tests.promises import check, check_refused
from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2])
P = np.array([1.4, 0.6, 2.1])
A = np.array([[1.3, 0.2, -0.4], [0.1, 0.9, 0.5], [-0.6, 0.8, 1.1]])
Z = np.array([0.3 + 1.1j, -0.7 + 0.2j, 1.2 - 0.5j])


# Every operator


def names(x, p):
    z = x
    x += p
    x -= p[0]
    x *= p
    x /= p + x**2
    x **= 2
    return z * x


def powers(x, p):
    q = p
    p **= x
    p **= 1.5
    p **= p
    return q


def whole_quotients_and_remainders(x, p):
    y, z = x * 4.0, p * 3.0
    kept = y, z
    y //= p
    z %= x[2] * 0.6
    return kept[0] * x, kept[1]


def subscripts(x, p):
    x[0] += p[1] ** 2
    x[1:] -= p[:2]
    x[::2] *= p[1:]
    x[-1] /= p[0]
    p[1:] **= 1.7
    p[0] **= x[2]
    x[:2] //= 0.4
    p[:1] %= 0.3
    return x * p


def masks_and_indices(x, p):
    x[x > 0] += p[1:]
    x[x < 0] *= p[0]
    x[[2, 0]] /= p[:2]
    x[[1, 1]] -= p[:2]
    p[p > 1.0] **= 2.0
    return x * p


class State:
    def __init__(self, value):
        self.value = value
        self.parts = {"a": value[:2]}


def attributes(x, p):
    s = State(x)
    s.value += p
    s.value[1] *= p[0]
    s.value[:2] -= s.value[1:] * p[:2]
    s.parts["a"] /= p[1:]
    s.value **= 2
    return s.value * x


def entries_of_lists(x, p):
    xs = [x, p[:2]]
    xs[0] *= p
    xs[1] += x[1:]
    xs[0][1] -= xs[1][0]
    return x * p


def elements_in_a_loop(x, p):
    s = np.zeros(2)
    for i in range(3):
        s[i % 2] += x[i] * p[i]
        s[0] *= p[i]
    return s


def broadcast(x, p):
    m = np.ones((2, 3))
    m *= x
    m += p[:2, None]
    m[:, 1:] /= p[0]
    m[0] -= m[1, 1] * x
    m -= 2
    return m


def products_of_matrices(x, p):
    m = np.outer(x, p) + np.eye(3)
    n = m
    m @= np.diag(p) + 0.1
    m[1:] @= np.outer(p, x)
    return n


def from_the_left_side(x, p):
    x *= np.sum(x)
    p += x * p[0]
    p[0] += p.sum()
    return p


@programs(names, powers, whole_quotients_and_remainders, subscripts, masks_and_indices, attributes, entries_of_lists,
          elements_in_a_loop, broadcast, products_of_matrices, from_the_left_side)  # fmt: skip
def test_operators(program):
    """An augmented assignment to an array changes it for all who hold it, whatever the target is."""
    check_writes(program, X, P)


def rebound_or_in_place(x, p):
    total = 0.0
    first = total
    total += x
    second = total
    total += p
    total *= total
    return first + second * total


def number_or_array(x, p, whole):
    y = x if whole else x[0]
    z = y
    y += p if whole else p[0]
    return np.sum(z * y)


def test_a_name_that_is_a_number_or_an_array():
    """`y += v` changes an array in place, and gives a number a new name only."""
    check_writes(rebound_or_in_place, X, P)
    check_writes(number_or_array, X, P, True)
    check_writes(number_or_array, X, P, False)


class Totals:
    total = 0.0
    factor = 2

    def add(self, v):
        self.total += v
        return self.total


def totals_of_a_class(x, p, d, xs, o):
    first, second = Totals(), Totals()
    first.add(p[0])
    second.add(x)
    second.add(x * p)
    first.factor *= p
    second.factor /= x
    return first.total, second.total, first.factor, second.factor


def totals_in_arguments(x, p, d, xs, o):
    d["k"] += x
    d["k"] -= p[0]
    d["new"] = 1
    d["new"] *= d["k"]
    xs[0] -= x
    xs[-1] *= p
    o.total += xs[0] * xs[1]
    o.total += p
    return d, xs, o.total


def totals_that_begin_by_themselves(x, p, d, xs, o):
    sums = collections.defaultdict(float)
    products = collections.defaultdict(lambda: 1.0)
    for k in range(3):
        sums[k % 2] += x * p[k]
        products["all"] *= x + p[k]
    return sums, products


def operands_that_are_written_later(x, p, d, xs, o):
    d["k"] *= x
    xs[0] /= p
    x[0] = p[1]
    p *= 2
    return d["k"] * 1, xs[0] * 1


def written_into_when_they_are_arrays(x, p, d, xs, o):
    xs[0] += x
    kept = xs[0]
    xs[0] *= p
    xs[0][1] = p[0]
    return kept, xs[0][1:] * x[1:]


def numbers_with_derivatives(x, p, d, xs, o):
    d["k"] = p[0]
    d["k"] *= x
    o.total = p[1] * x[0]
    o.total -= p
    return d["k"], o.total


def other_operators(x, p, d, xs, o):
    d["k"] **= x
    xs[0] **= p[0]
    xs[1] %= p
    o.total = x[0] * 9
    o.total //= p
    o.total += p
    return d, xs, o.total


@programs(totals_of_a_class, totals_in_arguments, totals_that_begin_by_themselves, operands_that_are_written_later,
          written_into_when_they_are_arrays, numbers_with_derivatives, other_operators)  # fmt: skip
@pytest.mark.parametrize("kind", [float, int, np.float64])
def test_a_number_in_a_place_that_an_array_is_added_to(program, kind):
    """`d[k] += x` of a number leaves a new array in the place, with the derivative of this step."""
    o = Totals()
    o.total = kind(1)
    check_writes(program, X, P, {"k": kind(2)}, [kind(3), kind(5)], o)


def counted(x):
    counts = np.zeros(3, dtype=int)
    y = np.zeros(3)
    for v in x:
        counts[int(v > 0)] += 1
        y[counts[1]] += v * v * counts[0]
    return y * counts


def test_counters():
    """Integer arrays that are written carry no derivative, and are used as the numbers that they were."""
    check_writes(counted, X)


# Integers and booleans


def into_zeros_of_integers(x):
    y = np.zeros(3, dtype=int)
    y[0] = x[0]  # refused
    return np.sum(y)


def into_a_range(x):
    y = np.arange(3)
    y[1:] = x[1:]  # refused
    return np.sum(y)


def into_literals(x):
    y = np.array([1, 2, 3])
    y[:] = x  # refused
    return np.sum(y)


def into_booleans(x):
    y = np.zeros(3, dtype=bool)
    y[x > 0] = x[2]  # refused
    return np.sum(y)


def into_a_filled_array(x):
    y = np.full(3, 1)
    y.fill(x[0])  # refused
    return np.sum(y)


@programs(into_zeros_of_integers, into_a_range, into_literals, into_booleans, into_a_filled_array)
def test_active_values_into_integers(program):
    """A value with a derivative would lose it in an array of integers, which is refused with the dtype to take."""
    check_refused(MutationError, program, X)
    with pytest.raises(MutationError, match=re.escape("dtype=float")):
        pullback(program, X)


def into_the_caller_s_integers(x, out):
    out[0] = x[0]  # refused
    return out


def test_active_values_into_an_argument_of_integers():
    """Whose dtype is only known at run time."""
    check_refused(MutationError, into_the_caller_s_integers, X, np.arange(3))


def inactive_into_integers(x):
    y = np.zeros(3, dtype=int)
    y[:] = np.floor(x)
    y[0] = np.argmax(x)
    m = np.zeros(3, dtype=bool)
    m[:] = x > 0
    m[1] = True
    return x * y + m * x


def test_values_without_a_derivative_into_integers():
    """Whole parts, positions and comparisons may be stored in integers."""
    check_writes(inactive_into_integers, X)


# Precision


def rounded_on_the_way(x):
    y = np.zeros(3, dtype=np.float32)
    y[:] = x * x
    y[0] += x[1]
    z = np.zeros(3)
    z[1:] = y[:2]
    return np.sum(z * x)


def filled_in_single(x):
    y = np.zeros(4, dtype=x.dtype)
    y[1:] = x * 2
    y[0] = y[1] * y[2]
    y *= 3
    y[1:] /= x
    np.add.at(y, [0, 0], x[:2])
    return np.sum(y * y)


def test_single_precision():
    """The gradient has the dtype of its argument, whatever it was stored in on the way."""
    # z = [0, x0² + x1, x1²], and the sum is x1 (x0² + x1) + x2 x1²
    expected = np.array([2 * X[0] * X[1], X[0] ** 2 + 2 * X[1] + 2 * X[1] * X[2], X[1] ** 2])
    grad = gradient(rounded_on_the_way)(X)
    assert grad.dtype == np.float64
    np.testing.assert_allclose(grad, expected, 1e-6)
    single = gradient(filled_in_single)(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, gradient(filled_in_single)(X), 1e-5, 1e-5)
    check(filled_in_single, X)


# Complex numbers


def complex_elements(z):
    y = np.zeros(3, dtype=complex)
    y[0] = z[1] * z[2]
    y[1:] = z[:2].conj()
    y *= z
    y[1] /= z[0]
    y[[2, 2]] += z[:2] ** 2
    return y


def real_and_imaginary_parts(z):
    y = z * 1j
    y.real[1:] = np.abs(z[:2]) ** 2
    y.imag *= z.real
    y.imag[0] = 3.0
    y.real += y.imag
    z.real = y.imag
    return y * z


def real_into_complex(z):
    y = np.ones(3, dtype=complex)
    y[:2] = np.abs(z[1:])
    y[2] = z[0].imag
    y += z.real
    return y * y


def complex_powers_in_place(z):
    z **= 2
    z[0] **= 0.5
    w = z
    w -= z.conj()
    w *= w
    return z


@programs(complex_elements, real_and_imaginary_parts, real_into_complex, complex_powers_in_place)
def test_complex_arrays(program):
    """Complex arrays are written as real ones are, and their parts are views of them."""
    check_writes(program, Z)


def real_part_kept(z):
    y = np.zeros(3)
    y[:] = z * z
    y[0] += np.sum(y)
    return y


def test_complex_values_into_a_real_array():
    """NumPy keeps the real part, and warns; only it has a derivative."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        check_writes(real_part_kept, Z)
