"""Programs whose pullbacks must take care what they free and write into, on arrays of any library."""

import numpy as np

from adcompiler import hook, non_differentiable, rrule

# --- arrays that are views of others, or the same ones ----------------------------------------------------


def views(x):
    y = x * 2.0
    v = y.T
    w = np.sin(v @ y)
    return np.sum(w * v) + np.sum(y[1:] * w[:-1])


def same_dtype(x):
    y = x.astype(x.dtype, copy=False)
    z = np.tanh(y * 3.0)
    u = z.astype(z.dtype, copy=False)
    return np.sum(u * z * y)


def nothing_to_do(x):
    z = np.exp(x)
    u = np.squeeze(z) * np.atleast_1d(z) + z.real
    w = np.ravel(u).reshape(u.shape)
    return np.sum(w * u.conj() * x.reshape(x.shape))


def broadcast(x):
    s = np.sum(x * x, axis=0)
    b = np.broadcast_to(s, x.shape)
    return np.sum(np.exp(-b) * x + b)


def to_both_operands(x):
    y = x * 2.0
    a = y + x
    b = y - a
    return np.sum(np.sin(a) * b)


def parts(x):
    y = np.cos(x)
    top, bottom = np.split(y, 2)
    joined = np.concatenate([bottom, top, y])
    return np.sum(joined * joined) + np.sum(top * bottom)


def carried(x):
    h = x
    for _ in range(4):
        h = np.tanh(h @ x) + 0.5 * h
    return np.sum(h * h)


def written(x):
    y = x * 2.0
    row = y[1]
    y *= x
    row += y[0]
    y[2] = np.sin(row)
    return np.sum(y * y * x)


def one_array_twice(x):
    rows = [x * k for k in (1.0, 2.0)]
    rows.append(rows[0])
    total = 0.0
    for r in rows:
        total = total + np.sum(np.tanh(r) * rows[-1])
    return total


# Results that are arguments, or have memory in common


def itself(x):
    return x


def among_others(x):
    return x, x * 2.0, [x, np.tanh(x)]


def twice(x):
    h = np.tanh(x)
    return h, h.T, [h, h * h]


def part_of_a_value(x):
    h = np.exp(x)
    return h[0], np.sum(h * h)


def read_by_others(x):
    h = np.tanh(x)
    g = h * h
    return g, g * h, g[1:] + 1.0


PROGRAMS = (
    *(views, same_dtype, nothing_to_do, broadcast, to_both_operands, parts, carried, written, one_array_twice),
    *(itself, among_others, twice, part_of_a_value, read_by_others),
)

# --- what the user keeps ----------------------------------------------------------------------------------

KEPT = []


def record(value):
    """Keep a value, as a logger does."""
    KEPT.append(value)


non_differentiable(record)


def as_aux(x):
    h = np.tanh(x)
    g = h * 2.0
    return np.sum(g * g * h), [h, g]


def in_a_list(x, kept):
    h = np.tanh(x)
    kept.append(h)
    g = h * 2.0
    kept.append(g)
    return np.sum(g * g * h)


def by_a_logger(x):
    h = np.tanh(x)
    record(h)
    g = h * 2.0
    record(g)
    return np.sum(g * g * h)


class Layer:
    """An object that keeps what it computed last."""

    def __init__(self):
        self.last = None

    def __call__(self, x):
        self.last = np.tanh(x)
        return self.last


def in_an_object(x, layers):
    h = layers[0](x)
    g = h * 2.0
    layers[1].last = g
    return np.sum(g * g * h)


def cotangents(x):
    h = np.tanh(x)
    g = hook(record, h) * 2.0
    g = hook(record, g)
    return np.sum(g * g * hook(record, h))


MEMO = {}


def memoized(x):
    """A function whose rule gives arrays that it keeps."""
    return 3.0 * x


@rrule(memoized)
def _memoized(x):
    MEMO["value"] = 3.0 * x

    def back(y_bar):
        MEMO["cotangent"] = 3.0 * y_bar
        return (MEMO["cotangent"],)

    return MEMO["value"], back


def of_a_rule(x):
    y = memoized(x)
    z = y * y
    return np.sum(z * np.tanh(z)) + np.sum(x * x)
