"""Aliases that the run chooses: conditional ones, buffers that change places, selection by Python."""

import functools
import operator

import numpy as np

from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2])


# Which array it is is known at run time


def conditional_alias(x, c):
    y = x if c else x.copy()
    y[0] = 3.0 * x[1]
    x[1] = y[0] * x[2]
    y *= 2.0
    return x * y


def conditional_copy(x, c):
    y = x
    if c:
        y = y * 1.0
    y[1:] *= x[:2]
    x += y
    return x * y


def conditional_view(x, c):
    y = np.zeros(3)
    v = y[1:] if c else x[:2]
    v[0] = x[2] ** 2
    y[1] += x[0]
    v *= v[0]
    return x, y, v * 1.0


def one_of_two(x, c):
    a, b = x * 2.0, x * x
    a, b = (a, b) if c else (b, a)
    a[0] = b[1] * x[2]
    b += a
    return a * b


def aliased_in_a_loop(x, c):
    y = x * 2.0
    for i in range(3):
        z = y if (i % 2 == 0) == c else y.copy()
        z[i] = z[i] * x[0]
        y[0] += z[i] * z[2]
        y = z
    return y * x


def early_exit_with_an_alias(x, c):
    y = x[1:]
    if c:
        y[0] = x[0] ** 2
        return x * x
    y = y * 2.0
    y[0] = x[0] * y[1]
    x[0] = y[0]
    return x * x + np.sum(y)


def test_conditional_aliases():
    """One text serves both cases of what may be an alias."""
    for program in (conditional_alias, conditional_copy, conditional_view, one_of_two, aliased_in_a_loop,
                    early_exit_with_an_alias):  # fmt: skip
        for c in (True, False):
            check_writes(program, X, c)


def ping_pong(x, n):
    a, b = x * 1.0, np.zeros(3)
    for _ in range(n):
        b[1:] = a[:-1] * a[1:]
        b[0] = a[0] * x[2]
        a, b = b, a
    return a + 2.0 * b


def swapped_by_a_third_name(x, n):
    old, new = x.copy(), np.ones(3)
    for i in range(n):
        np.multiply(old, x, out=new)
        new[i % 3] += old[0]
        tmp = old
        old = new
        new = tmp
    return old * new


def three_in_turn(x, n):
    a, b, c = x * 1.0, x * x, np.zeros(3)
    for _ in range(n):
        c[:] = 2.0 * b - a * x
        a, b, c = b, c, a
    return a * b


def pair_of_buffers(x, n):
    u = [x * 1.0, np.zeros(3)]
    for i in range(n):
        u[(i + 1) % 2][:] = np.sin(u[i % 2]) * x
        u[i % 2][0] += u[(i + 1) % 2][1]
    return u[n % 2] * u[0]


def buffers_by_axis(x, n):
    u = np.zeros((2, 3))
    u[0] = x
    now, then = 0, 1
    for _ in range(n):
        u[then] = u[now] * x + u[then]
        now, then = then, now
    return u


def test_buffers_that_change_places():
    """After an odd or even number of steps each name stands for another array."""
    for program in (ping_pong, swapped_by_a_third_name, three_in_turn, pair_of_buffers, buffers_by_axis):
        for n in (0, 3, 4):
            check_writes(program, X, n)


# Selection by Python


def chained_assignment(x):
    a = b = np.zeros(3)
    a[0] = x[0] * x[1]
    b[1:] = a[0] * x[:2]
    c = a[2] = b[1] * x[2]
    return a * b + c


def walrus(x):
    if (y := x)[0] > 0:
        y[0] = x[1] ** 2
    (z := y[1:])[0] *= y[0]
    return x * x + np.sum(z)


def by_or(x):
    y = x[:1] or x[1:2]
    y[0] = x[2] * y[0]
    z = None or x
    z *= y[0]
    w = x[2] > 0 and x
    w[2] += w[0]
    return x * x


def by_builtins(x):
    y = max([x], key=len)
    y[0] *= x[1]
    z = next(iter([x[1:]]))
    z[0] += y[0]
    w = functools.reduce(np.add, [x])
    w[1] *= z[1]
    u = {}.get("k", x)
    u[2] = w[1] * u[0]
    return x * x


def by_itemgetter(x):
    first = operator.itemgetter(0)
    first((x, 1.0))[0] = x[1] * x[2]
    operator.itemgetter(1, 0)([x, x[1:]])[0][0] *= x[0]
    return x * x


def subscript_of_a_display(x):
    (x, 1.0)[0][0] = x[1] ** 2
    [1.0, x[1:]][-1][0] *= x[0]
    {"a": x}["a"][2] += x[1]
    return x * x


@programs(chained_assignment, walrus, by_or, by_builtins, by_itemgetter, subscript_of_a_display)
def test_selection_by_python(program):
    """What Python hands on is the array itself."""
    check_writes(program, X)
