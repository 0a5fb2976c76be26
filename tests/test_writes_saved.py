"""Values that the pullback needs and the program overwrites: results, operands, masks, indices, in loops and calls."""

import math

import numpy as np

from adcompiler import pullback
from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2])
P = np.array([1.4, 0.6, 2.1])


# Results and operands


def results_overwritten(x, p):
    e, t, s, q = np.exp(x), np.tanh(x), np.sqrt(p), 1.0 / p
    y = e * t + s * q
    e *= 2.0
    t[0] = 5.0
    s[:] = 0.0
    q -= y
    return y * q


def result_overwritten_by_itself(x, p):
    y = np.exp(x)
    y *= y
    y = np.tanh(y)
    y[1:] *= y[:-1]
    y /= 1.0 + y**2
    return y * p


def softmax_in_place(x, p):
    y = x * p
    y -= np.max(y)
    np.exp(y, out=y)
    y /= np.sum(y)
    z = y @ p
    y *= 0.0
    return z + y


def operands_overwritten(x, p):
    y = x * p
    m = np.outer(x, p)
    x *= 2.0
    v = m @ p
    p[0] = x[1]
    m[1] = 0.0
    w = y**3
    y[:] = v
    return w * y + m @ x


def operand_of_a_quotient(x, p):
    y = x * 1.0
    y /= p
    z = p / (y + 3.0)
    p *= y
    y[0] = z[2]
    y /= p
    return y * z


def read_element(x, p):
    a = x[0]
    b = x[1:]
    c = a * p
    x[0] = 9.0
    d = b * p[1:]
    x[1:] = 2.0
    p *= 0.5
    return c * a, d * b


def scalars_of_arrays(x, p):
    s = x.sum()
    t = s * p[0]
    s += p[1]
    z = np.asarray(s * t)
    u = z * x[2]
    z[...] = 4.0
    return s * t * u + z


def condition_overwritten(x, p):
    m = x > 0
    y = np.where(m, x, p)
    m[:] = ~m
    z = np.where(m, y * 2.0, p)
    np.logical_or(m, True, out=m)
    y[m] *= z
    m[0] = False
    return y, z[m] * x[m]


def indices_overwritten(x, p):
    i = np.array([0, 2, 2])
    y = x[i] * p
    i += 1
    i %= 3
    z = np.zeros(3)
    z[i] = y
    i[:] = 0
    np.add.at(z, i, x)
    i[1:] = [1, 2]
    z[i] *= p[i]
    i.sort()
    return z * y


def list_of_indices_changed(x, p):
    i = [0, 2]
    y = x[i] * p[:2]
    i[0] = 1
    z = np.zeros(3)
    z[i] = y
    i.append(0)
    z[i] += p
    i.clear()
    return z * x


def number_of_an_array(x, p):
    k = np.array([0, 1, 2])
    n = k[1]
    y = x * 1.0
    y[n] = p[k[2]] ** 2
    k[:] = 0
    y[n] *= p[k[2]]
    sizes = np.array([2])
    z = y.reshape(1, 3)[:, : sizes[0]]
    sizes[0] = 0
    return z * y[n]


def exponents_overwritten(x, p):
    k = np.array([1.0, 2.0, 3.0])
    y = p**k
    k[:] = x
    z = p**k
    p[1] = 3.0
    k *= 0.0
    return y * z + k


@programs(results_overwritten, result_overwritten_by_itself, softmax_in_place, operands_overwritten,
          operand_of_a_quotient, read_element, scalars_of_arrays, condition_overwritten, indices_overwritten,
          list_of_indices_changed, number_of_an_array, exponents_overwritten)  # fmt: skip
def test_values_overwritten_later(program):
    """The derivative of an operation is at the numbers that it saw."""
    check_writes(program, X, P)


# In loops


def overwritten_in_the_next_iteration(x, p):
    buf = np.zeros(3)
    s = 0.0
    for i in range(3):
        buf[:] = np.sin(x * (i + 1))
        s = s + np.sum(buf * p)
        p[i] = buf[i - 1] * s
    return s * p


def mask_in_a_loop(x, p):
    m = np.empty(3, dtype=bool)
    y = x * 1.0
    for i in range(4):
        np.greater(y, 0.2 * i, out=m)
        y[m] *= p[m]
        y[~m] -= 0.3 * p[~m]
    return y


def operand_before_a_loop(x, p):
    w = x * p
    s = w * w
    for i in range(3):
        s = s + w * x
        if i == 1:
            w[0] = s[1]
        x[i] *= 0.5
    return s


def index_in_a_loop(x, p):
    i = np.zeros(2, dtype=int)
    y = np.zeros((2, 3))
    while i[0] < 2:
        y[i[0], i[1]] += x[i[1]] * p[i[0]]
        i[1] += 1
        if i[1] == 3:
            i[:] = [i[0] + 1, 0]
    return y


def wrapping_read(x, p):
    y = np.zeros(4)
    y[3] = p[0]
    for i in range(3):
        y[i] = np.tanh(y[i - 1] * x[i] + p[i])
        y[3] += y[i]
    return y


def written_once(x, p):
    y = np.zeros((4, 3))
    y[0] = x
    for i in range(3):
        y[i + 1] = np.tanh(y[i] * p) + y[i, ::-1]
    return y


def loops_in_loops(x, p):
    m = np.zeros((3, 3))
    row = np.empty(3)
    for i in range(3):
        row[:] = x[i] * p
        for j in range(i + 1):
            row[j] *= row[j - 1] if j else x[2]
            m[i, j] = row[j] ** 2
            row[2] += m[i, 0]
        m[:, i] += row
    return m


def overwritten_in_one_branch(x, p):
    y = x * 1.0
    s = 0.0
    for i in range(4):
        s = s + np.sum(np.exp(y) * p)
        if y[i % 3] > 0.5:
            y[i % 3] *= 0.3
        elif i == 1:
            continue
        else:
            y += p * 0.1
        p[0] = s * 0.1
    return s * y


@programs(overwritten_in_the_next_iteration, mask_in_a_loop, operand_before_a_loop, index_in_a_loop, wrapping_read,
          written_once, loops_in_loops, overwritten_in_one_branch)  # fmt: skip
def test_values_overwritten_by_later_iterations(program):
    """What an iteration saw is kept although the next one writes over it."""
    check_writes(program, X, P)


# By callees


def clear(a):
    a[:] = 0.0


def squares(a):
    return a * a


def scaled(a, v):
    y = a * v
    a += y
    return y


def written_by_callees(x, p):
    y = x * p
    z = squares(y)
    clear(y)
    w = squares(z)
    z *= p
    v = scaled(w, z)
    clear(w)
    s = scaled(v, p)
    v[0] = 1.0
    clear(p)
    return s * x + y + v


def saved_by_a_callee_in_a_loop(x, p):
    acc = np.zeros(3)
    for i in range(3):
        y = squares(x)
        acc += scaled(y, p)
        x[i] = acc[i - 1] * 0.5
        clear(y)
        p[i:] *= x[i]
    return acc * x


def identity(a):
    return a


def through_an_identity(x, p):
    y = identity(x)
    z = y * p
    identity(x)[0] = 3.0
    w = y * z
    identity(identity(y))[1:] *= w[1:]
    return w * x


def lengths_and_norms(x, p):
    n = math.sqrt(x[0] ** 2 + x[1] ** 2)
    x /= n
    m = np.linalg.norm(p)
    p *= m
    k = np.linalg.norm(p - x)
    x[0] += k
    return x * p * n


@programs(written_by_callees, saved_by_a_callee_in_a_loop, through_an_identity, lengths_and_norms)
def test_values_overwritten_by_callees(program):
    """A function that writes its argument writes over what its caller and other callees need."""
    check_writes(program, X, P)


# What the pullback leaves alone


def several_outputs(x, p):
    y = x * p
    v = y[1:]
    y[0] = x[2]
    x *= 2.0
    return y, v, x, {"p": p, "again": y}


def test_results_that_share_memory():
    """Cotangents of outputs that are one memory add up, and the gradients are memory of their own."""
    y, back = pullback(several_outputs, x := X.copy(), p := P.copy())
    assert y[2] is x
    assert y[3]["p"] is p
    assert y[3]["again"] is y[0]
    assert y[1].base is y[0]
    ones = np.ones(3)
    seed = (ones, np.array([10.0, 20.0]), 100.0 * ones, {"p": 1000.0 * ones, "again": 3.0 * ones})
    x_bar, p_bar = back(seed)
    np.testing.assert_allclose(x_bar, [200.0, 200.0 + 14.0 * P[1], 200.0 + 24.0 * P[2] + 4.0])
    np.testing.assert_allclose(p_bar, [1000.0, 1000.0 + 14.0 * X[1], 1000.0 + 24.0 * X[2]])
    held = [x, p, *y[:2], ones, seed[1], seed[2], seed[3]["p"]]
    assert not any(np.shares_memory(grad, other) for grad in (x_bar, p_bar) for other in held)
    assert not np.shares_memory(x_bar, p_bar)


def untouched(x, p):
    y = np.zeros(3)
    y[:] = x
    return y


def unread(x, p):
    x[:] = 1.0
    return x * 1.0


@programs(untouched, unread)
def test_arguments_without_influence(program):
    """Their gradients are zero, None, or memory of their own."""
    check_writes(lambda x, p: program(x, p) * np.sum(p), X, P)
    check_writes(lambda x, p: program(x, p)[0] + x[0] * p[2], X, P)


def test_two_pullbacks_of_one_function():
    """Each knows the numbers of its own run, in whatever order they are called."""
    f = wrapping_read
    first, second = pullback(f, X, P), pullback(f, 2.0 * X, P - 0.3)
    seed = np.arange(4.0)
    expected = pullback(f, X, P)[1](seed), pullback(f, 2.0 * X, P - 0.3)[1](seed)
    for got, back in ((expected[1], second[1]), (expected[0], first[1]), (expected[1], second[1])):
        np.testing.assert_array_equal(got, back(seed))
