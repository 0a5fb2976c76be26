"""Helpers, methods and closures that write what they are given."""

import numpy as np

from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2, 0.5])
P = np.array([1.4, 0.6, 2.1, 0.8])


# Helpers that fill


def fill(out, x, c):
    out[:] = x * c
    out[0] += x[1]
    return out


def fill_deeper(out, x, c):
    fill(out[1:], x[1:], c)
    out[0] = out[1] * c


def fill_nothing_returned(x, p):
    y = np.empty(4)
    fill_deeper(y, x, p[0])
    fill(y[:2], p[1:3], y[3])
    return y * x


def fill_and_returned(x, p):
    buf = np.zeros(4)
    r = fill(buf, x, p[1])
    buf[1] *= p[2]
    q = fill(buf[::-1], x, p[0] * r[2])
    return r + q * buf


def fill_the_arguments(x, p):
    fill(x, p, x[1])
    fill_deeper(p, x, p[3])
    return x, p


def fill_rows(x, p):
    m = np.zeros((3, 4))
    for i in range(3):
        fill(m[i], x, p[i])
    for i, row in enumerate(m):
        fill(row[i:], p[i:] * row[i:], x[i])
    fill(m[:, 1], x[:3], p[0])
    return m


def fill_by_keyword(x, p):
    y = np.zeros(4)
    fill(c=p[0], x=x, out=y)
    fill(x=x[:3], out=y[1:], c=y[0])
    fill(*[y[:2], x[2:]], p[3])
    return y


def written_twice(a, b, c):
    a[0] = b[1] * c
    b[0] += a[0] * a[1]
    a *= b


def overlapping_arguments(x, p):
    written_twice(x[:2], x[1:3], p[0])
    written_twice(x, x, p[1])
    written_twice(x[::-1], x[:], p[2])
    written_twice(p[:2], x[2:], x[0])
    return x * p


def head_of(a, n):
    return a[:n]


def chain_of_views(a):
    return head_of(a[::-1], 3)[1:]


def results_that_are_views(x, p):
    v = chain_of_views(x)
    v[0] = p[0] * x[0]
    head_of(v, 1)[0] *= p[1]
    w = fill(head_of(p, 2), x[2:], v[1])
    w[1] *= x[1]
    chain_of_views(p)[:] += w
    return x * p, v * 1.0


def view_or_copy(a, copied):
    return a.copy() if copied else a[:2]


def results_that_may_be_views(x, p):
    y = view_or_copy(x, p[0] > 1.0)
    y[0] = p[1] * x[1]
    z = view_or_copy(x, p[0] < 1.0)
    z[1] *= p[2]
    y[1] += z[0]
    return x * y


def two_results(a, b):
    a += b
    return a, a * b


def several_results(x, p):
    y, z = two_results(x, p)
    y[1:] *= z[:3]
    z, y = two_results(z, y)
    return z * x + y


def nothing_is_written(a, b):
    a = a * b
    a += b
    return a


def rebound_parameters(x, p):
    y = nothing_is_written(x, p)
    y[0] = nothing_is_written(p, y)[1]
    return x * y


@programs(fill_nothing_returned, fill_and_returned, fill_the_arguments, fill_rows, fill_by_keyword,
          overlapping_arguments, results_that_are_views, results_that_may_be_views, several_results,
          rebound_parameters)  # fmt: skip
def test_helpers(program):
    """A helper that fills its argument, returns it or a view of it, is as if its lines stood in the caller."""
    check_writes(program, X, P)


# Recursion


def scan(v):
    if len(v) == 1:
        return
    h = len(v) // 2
    scan(v[:h])
    scan(v[h:])
    v[h:] += v[h - 1] * v[:h]


def prefix_products(x, p):
    y = x * p
    scan(y)
    scan(x)
    return y * x


def fill_by_recursion(out, i, x):
    if i < len(out):
        out[i] = np.sin(x[i] * (out[i - 1] if i else 1.0))
        return fill_by_recursion(out, i + 1, x)
    return out


def recursive_fill(x, p):
    y = fill_by_recursion(np.zeros(4), 0, x)
    fill_by_recursion(p, 2, y)
    return y, p


def even(v, n):
    if n == 0:
        return v
    v[n % 2] *= v[2]
    return odd(v, n - 1)


def odd(v, n):
    v[1:] += v[0]
    return even(v[::-1], n - 1) if n > 1 else v


def mutual_recursion(x, p):
    y = even(x, 4)
    z = odd(p, 3)
    y[0] *= z[1]
    return x * p


@programs(prefix_products, recursive_fill, mutual_recursion)
def test_recursion(program):
    """A function that calls itself on halves, views or the rest writes into one array."""
    check_writes(program, X, P)


# What a helper keeps


def remember(store, key, a):
    store[key] = a
    a[0] *= 2.0
    return len(store)


def stored_by_a_helper(x, p):
    store = {}
    remember(store, "x", x)
    remember(store, "tail", x[1:])
    store["tail"][1] = p[0] * store["x"][0]
    x[3] *= p[3]
    return store["x"] * p + np.sum(store["tail"])


def append_rows(rows, m):
    for row in m:
        rows.append(row)
    rows.append(m[0] * 2.0)


def rows_stored_by_a_helper(x, p):
    m = np.stack([x, p])
    rows = []
    append_rows(rows, m)
    rows[1][0] = rows[0][1] ** 2
    m[0] *= rows[2]
    return rows[0] * rows[1] + rows[2]


class Solver:
    def __init__(self, n):
        self.buffer = np.zeros(n)
        self.calls = 0

    def residual(self, u, f):
        self.buffer[1:-1] = u[2:] - 2.0 * u[1:-1] + u[:-2]
        self.buffer += f
        self.calls += 1
        return self.buffer

    def relax(self, u, f, steps):
        for _ in range(steps):
            r = self.residual(u, f)
            u += 0.3 * r * u
        return u

    def __call__(self, u):
        self.buffer *= u
        return self.buffer[1:]

    def __setitem__(self, key, value):
        self.buffer[key] = value * 2.0


def methods(x, p):
    s = Solver(4)
    y = s.relax(x, p, 2)
    s.residual(p, x)
    tail = s(p)
    tail[0] = y[1]
    s[0] = x[2]
    s[2:] = tail[:2] * p[0]
    return s.buffer * y * s.calls


class Accumulator:
    """A sum that objects make of arrays: `acc += v` calls `__iadd__`."""

    def __init__(self, n):
        self.total = np.zeros(n)

    def __iadd__(self, v):
        self.total += v * v
        return self

    def __getitem__(self, i):
        return self.total[i]

    def __setitem__(self, i, v):
        self.total[i] = v


def operators_of_a_class(x, p):
    acc = Accumulator(4)
    acc += x
    acc += p
    acc[1:][0] = x[0] * p[0]
    acc[1:3] *= p[:2]
    acc[3] = acc[0] * x[1]
    return acc.total


@programs(stored_by_a_helper, rows_stored_by_a_helper, methods, operators_of_a_class)
def test_what_helpers_and_objects_keep(program):
    """An array that was stored is written through the store and by its own name."""
    check_writes(program, X, P)


# Closures


def closures_that_write(x, p):
    y = np.zeros(4)
    count = 0

    def push(v):
        nonlocal count
        y[count] = v * p[count]
        count += 1
        return y[:count]

    for v in x[:3]:
        head = push(v)
        head[0] += v
    push(y[0])[1] *= 3.0
    return y


def closure_of_a_closure(x, p):
    def outer(a):
        def inner(i):
            a[i] *= x[i]
            p[i] += a[i - 1]
            return a

        inner(0)
        return inner

    run = outer(p[1:])
    run(2)[1] = x[3] ** 2
    return p * x


def made_by_a_helper(a):
    def at(i, v):
        a[i] += v
        return a[i] * v

    return at


def returned_closures(x, p):
    at = made_by_a_helper(x)
    s = at(0, p[1]) + at(1, p[0] * x[0])
    made_by_a_helper(p)(2, s)
    return x * p


@programs(closures_that_write, closure_of_a_closure, returned_closures)
def test_closures(program):
    """A closure writes into what it captured."""
    check_writes(program, X, P)
