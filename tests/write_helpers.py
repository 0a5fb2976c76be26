"""What random programs with writes call: helpers that fill, alias, store and return their arguments, and a class."""

import itertools

import numpy as np

from adcompiler import rrule

TABLE = np.array([0.5, -0.7, 0.9, 0.3])
BUFFERS = (np.zeros(4),)
HISTORY = [np.zeros(4), np.zeros(4)]


class Box:
    """An object that holds two vectors of length four and a number."""

    def __init__(self, v, w, c):
        self.v = v
        self.w = w
        self.c = c

    def add(self, a):
        self.v += a * 0.5
        return self

    def swap(self):
        self.v, self.w = self.w, self.v

    def take(self, a, k):
        self.w = a
        a[1:] *= k
        self.c = self.c * 0.5 + a[0]

    @property
    def back(self):
        return self.v[::-1]

    def __call__(self, a):
        np.multiply(self.w, a, out=self.w)
        return self.w


def reset():
    """Give the global arrays their first values."""
    TABLE[:] = 0.5, -0.7, 0.9, 0.3
    HISTORY[:] = [np.zeros(4), np.full(4, 0.4)]


def tabled(a, k):
    """Write into a global array and return it."""
    TABLE[1:] += a[:-1] * k
    return TABLE


def remember(a):
    """Store the argument in a global list and write into what was there."""
    HISTORY[0][:] = HISTORY[1] * 0.5 + a
    HISTORY[1] = a
    return HISTORY[0]


def fill(out, a, k):
    """Fill an argument and return it."""
    out[:] = a * k
    out[0] += a[1]
    return out


def reverse_fill(out, a):
    """Fill an argument backwards and return nothing."""
    out[::-1] = np.sin(a)


def tail(out, k):
    """Return a view of the argument written."""
    out[1:] *= k
    return out[::-1]


def halves(v, k):
    """Recurse on the halves of the argument."""
    if v.size == 1:
        v *= k
        return
    h = v.size // 2
    halves(v[:h], k * 0.9)
    halves(v[h:], np.cos(k))
    v += v[::-1] * 0.1


def mix(a, b, k):
    """Write into two arguments that may overlap."""
    a[:] = b * k + a * 0.5
    b[0] += a[-1] * 0.3
    b *= 0.9


def store(items, a, k):
    """Keep the argument in a list, and write into it."""
    items.append(a)
    a[0] = k
    return items


def keep(table, key, a):
    """Keep the argument in a dict."""
    table[key] = a
    return a


def same(a):
    """Return the argument."""
    return a


def maybe(a, condition):
    """Return the argument or a copy."""
    return a if condition else a.copy()


def either(a, b, condition):
    """Write into one of two arguments and return the other."""
    if condition:
        a, b = b, a
    a += b * 0.5
    return b


def rows(m, a):
    """Write into the rows of a matrix."""
    for i, row in enumerate(m):
        row += a * 0.2
        if i == 1:
            row[0] = a[2]
    return m


def normalise(v):
    """Divide in place by a norm."""
    v /= np.sqrt(v @ v + 1.0)
    return v


def relax(u, k, n):
    """Diffuse in place."""
    for _ in range(n):
        u[1:-1] += k * 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def accumulate(v):
    """A recurrence along an array, element by element."""
    for i in range(1, len(v)):
        v[i] = v[i] * 0.5 + np.sin(v[i - 1])
    return v[-1]


def first(a, k, out=None):
    """An optional output."""
    if out is None:
        out = np.empty_like(a)
    np.multiply(a, k, out=out)
    return out


def march(a, n):
    """Two buffers that change roles at each step."""
    old, new = a.copy(), np.empty_like(a)
    for _ in range(n):
        new[1:] = old[:-1] * 0.5 + old[1:] * old[1:] * 0.2
        new[0] = np.sin(old[-1])
        old, new = new, old
    return old


def history(a, n):
    """All steps of a recurrence in a matrix made beforehand."""
    y = np.empty((n + 1, a.size))
    y[0] = a
    for i in range(n):
        y[i + 1] = np.tanh(y[i] * y[0])
    return y[-1]


def picked(a, k):
    """Read an element, overwrite it, use it."""
    e = a[1]
    a[1] = k
    return e * k


def spread(arrays, k):
    """Write into the arrays of a list, and from each into the next."""
    for a, b in itertools.pairwise(arrays):
        b[1:] += a[:-1] * k
        a *= k
    return arrays[0]


def nested(tree, k):
    """Write into the arrays of nested containers."""
    if isinstance(tree, np.ndarray):
        tree *= k
        return tree
    out = None
    for part in tree:
        out = nested(part, k * 0.9)
    return out


def buffered(a, buffers=BUFFERS):
    """Write into a default argument."""
    buffers[0][...] = a
    buffers[0][0] *= a[1]
    return buffers[0]


def countdown(a, n, k):
    """Recursion that writes before and after."""
    a[n % 4] *= k
    if n <= 0:
        return a[::-1]
    b = countdown(a[::-1], n - 1, k * 0.8)
    b[0] += a[1] * a[2] * 0.3
    return a


def closure(a, k):
    """A function that writes into what it captured."""
    b = a[1:]

    def step(n):
        for _ in range(n):
            b[:] = b * k + a[:-1] * 0.5
        return a

    return step


def gauss_seidel(x, b):
    """Each new element is used at once."""
    for i in range(x.size):
        x[i] = (b[i] - x[i - 1] * 0.5) * 0.4


def bubble(v, k):
    """Exchange neighbours that are in the wrong order."""
    for i in range(v.size - 1):
        if v[i] > v[i + 1]:
            v[i], v[i + 1] = v[i + 1] * k, v[i].copy()


def slow(a):
    """A function with a rule that keeps its result."""
    return np.tanh(a)


@rrule(slow, result="fresh", kind="array1")
def slow_rule(a):
    y = np.tanh(a)
    kept = [y]
    return y, lambda y_bar: (y_bar * (1 - kept[0] ** 2),)


def kept(a, b):
    """A function with a rule that keeps its arguments."""
    return a * b


@rrule(kept, result="fresh", kind="array1")
def kept_rule(a, b):
    arguments = [a, b]
    return a * b, lambda y_bar: (y_bar * arguments[1], y_bar * arguments[0])


FUNCTIONS = (
    *(
        reset,
        tabled,
        remember,
        fill,
        reverse_fill,
        tail,
        halves,
        mix,
        store,
        keep,
        same,
        maybe,
        either,
        rows,
        normalise,
    ),
    *(relax, accumulate, first, march, history, picked, spread, nested, buffered, countdown, closure, gauss_seidel),
    *(bubble, slow, kept),
)
HELPERS = {f.__name__: f for f in (Box, *FUNCTIONS)}
