"""Sorts, scans, tables, transforms and updates of parameters that work in place."""

import numpy as np

from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2, 0.5, -0.2])
P = np.array([1.4, 0.6, 2.1, 0.8, 1.1])


# Scans and sorts


def running_maximum(x, p):
    y = x * p
    for i in range(1, len(y)):
        y[i] = max(y[i], y[i - 1])
    return y


def running_maximum_by_accumulate(x, p):
    np.maximum(x[1:], x[:-1], out=x[1:])
    p[:] = np.cumsum(p)[::-1] * p
    best = x[:1] * 1.0
    where = np.zeros(1, dtype=int)
    for i in range(len(x)):
        if p[i] > best[0]:
            best[0] = p[i]
            where[0] = i
    return x * best * x[where[0]]


def prefix_sums(x, p):
    for i in range(1, len(x)):
        x[i] += x[i - 1] * p[i]
    return x


def blelloch_scan(x, p):
    y = np.zeros(8)
    y[:5] = x * p
    step = 1
    while step < 8:
        y[2 * step - 1 :: 2 * step] += y[step - 1 :: 2 * step]
        step *= 2
    y[-1] = 0.0
    while step > 1:
        step //= 2
        left = y[step - 1 :: 2 * step].copy()
        y[step - 1 :: 2 * step] = y[2 * step - 1 :: 2 * step]
        y[2 * step - 1 :: 2 * step] += left
    return y


def bubble_sort(x, p):
    for n in range(len(x) - 1, 0, -1):
        for i in range(n):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
                p[[i, i + 1]] = p[[i + 1, i]]
    return x * np.arange(1.0, 6.0), p * p


def insertion_sort(x, p):
    y = x * p
    for i in range(1, len(y)):
        v = y[i]
        j = i
        while j > 0 and y[j - 1] > v:
            y[j] = y[j - 1]
            j -= 1
        y[j] = v
    return y * np.arange(5.0)


def quicksort(a):
    if len(a) > 1:
        pivot, small = a[-1], 0
        for i in range(len(a) - 1):
            if a[i] < pivot:
                a[[i, small]] = a[[small, i]]
                small += 1
        a[[small, -1]] = a[[-1, small]]
        quicksort(a[:small])
        quicksort(a[small + 1 :])


def sorted_by_halves(x, p):
    quicksort(x)
    y = x * p
    quicksort(y)
    return x * y


def compare_and_swap(x, p):
    for i, j in [(0, 1), (3, 4), (2, 4), (2, 3), (1, 4), (0, 3), (0, 2), (1, 3), (1, 2)]:
        low, high = np.minimum(x[i], x[j]), np.maximum(x[i], x[j])
        x[i], x[j] = low, high
    return x * p


def reversed_in_place(x, p):
    i, j = 0, len(x) - 1
    while i < j:
        x[i], x[j] = x[j], x[i]
        p[i] *= x[j]
        i += 1
        j -= 1
    return x * p


@programs(running_maximum, running_maximum_by_accumulate, prefix_sums, blelloch_scan, bubble_sort, insertion_sort,
          sorted_by_halves, compare_and_swap, reversed_in_place)  # fmt: skip
def test_scans_and_sorts(program):
    """The order in which elements move is a fact of the run."""
    check_writes(program, X, P)


# Tables of dynamic programming


def soft_minimum(a, b, c):
    return -np.log(np.exp(-a) + np.exp(-b) + np.exp(-c))


def soft_time_warping(x, p):
    n, m = len(x), len(p)
    r = np.full((n + 1, m + 1), 30.0)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = (x[i - 1] - p[j - 1]) ** 2
            r[i, j] = d + soft_minimum(r[i - 1, j], r[i, j - 1], r[i - 1, j - 1])
    return r[n, m]


def shortest_path(x, p):
    cost = np.outer(x + 1.0, p)
    best = cost.copy()
    for i in range(1, 5):
        best[i, 0] += best[i - 1, 0]
        best[0, i] += best[0, i - 1]
    for i in range(1, 5):
        for j in range(1, 5):
            best[i, j] += min(best[i - 1, j], best[i, j - 1])
    return best[-1, -1]


def floyd_warshall(x, p):
    d = np.exp(np.outer(x, p)) + 0.1
    for k in range(5):
        np.minimum(d, d[:, k, None] + d[None, k, :], out=d)
    return d


def forward_algorithm(x, p):
    t = np.exp(np.outer(x, p))
    t /= t.sum(axis=1, keepdims=True)
    alpha = np.zeros((4, 5))
    alpha[0] = p / p.sum()
    scale = np.empty(4)
    scale[0] = 1.0
    for k in range(1, 4):
        alpha[k] = alpha[k - 1] @ t * p
        scale[k] = alpha[k].sum()
        alpha[k] /= scale[k]
    return np.sum(np.log(scale)) * alpha[-1]


def binomials(x, p):
    c = np.zeros(5)
    c[0] = 1.0
    for k in range(1, 5):
        for i in range(k, 0, -1):
            c[i] = c[i] * x[k] + c[i - 1] * p[k]
        c[0] *= x[k]
    return c


def horner_and_differences(x, p):
    c = p * 1.0
    for k in range(1, 5):
        c[k:] = (c[k:] - c[k - 1 : -1]) / (x[k:] - x[: 5 - k])
    y = np.zeros(3)
    for v in c[::-1]:
        y *= np.array([0.1, 0.2, 0.4]) - x[0]
        y += v
    return y, c


@programs(soft_time_warping, shortest_path, floyd_warshall, forward_algorithm, binomials, horner_and_differences)
def test_tables(program):
    """Each entry of a table is computed from entries that were written before."""
    check_writes(program, X, P)


# Transforms and filters


def butterflies(z):
    n = len(z)
    order = np.array([0, 4, 2, 6, 1, 5, 3, 7])
    z[:] = z[order]
    size = 2
    while size <= n:
        half = size // 2
        w = np.exp(-2j * np.pi * np.arange(half) / size)
        for start in range(0, n, size):
            top, bottom = z[start : start + half], z[start + half : start + size]
            t = w * bottom
            bottom[:] = top - t
            top += t
        size *= 2
    return z


def test_a_fast_fourier_transform():
    """Butterflies on views of a complex array."""
    z = np.arange(1.0, 9.0) + 1j * np.array([0.3, -0.2, 0.5, 1.0, -1.0, 0.0, 0.7, 0.1])
    np.testing.assert_allclose(butterflies(z.copy()), np.fft.fft(z))
    check_writes(butterflies, z)
    check_writes(lambda x: np.abs(butterflies(x + 0j)) ** 2, z.real.copy())


def convolution(x, p):
    y = np.zeros(len(x) + len(p) - 1)
    for i in range(len(x)):
        for j in range(len(p)):
            y[i + j] += x[i] * p[j]
    return y


def convolution_by_rows(x, p):
    image = np.outer(x, p)
    kernel = image[:2, :2] * 0.5
    out = np.zeros((4, 4))
    for i in range(2):
        for j in range(2):
            out += kernel[i, j] * image[i : i + 4, j : j + 4]
    image[:4, :4] = out
    return image


def padded_and_pooled(x, p):
    padded = np.zeros((7, 7))
    padded[1:-1, 1:-1] = np.outer(x, p)
    pooled = np.full((3, 3), -10.0)
    for i in range(2):
        for j in range(2):
            np.maximum(pooled, padded[i : i + 6 : 2, j : j + 6 : 2] + 0.01 * (i + 2 * j), out=pooled)
    return pooled


def haar(x, p):
    y = np.zeros(4)
    y[:] = x[:4] * p[1:]
    n = 4
    while n > 1:
        h = n // 2
        even, odd = y[:n:2].copy(), y[1:n:2].copy()
        y[:h] = (even + odd) * 0.5
        y[h:n] = (even - odd) * 0.5
        n = h
    return y


def recursive_filter(x, p):
    y = np.zeros(5)
    state = np.zeros(2)
    for i, v in enumerate(x):
        y[i] = v * p[0] + state[0]
        state[0] = v * p[1] - y[i] * p[2] + state[1]
        state[1] = v * p[3] - y[i] * p[4]
    return y


@programs(convolution, convolution_by_rows, padded_and_pooled, haar, recursive_filter)
def test_filters(program):
    """Sums into overlapping parts of an output."""
    check_writes(program, X, P)


# Updates of parameters


def loss(w, x):
    return np.sum(np.tanh(w * x) ** 2)


def slope(w, x):
    t = np.tanh(w * x)
    return 2.0 * t * (1.0 - t * t) * x


def descent_with_momentum(x, p):
    w, velocity = p.copy(), np.zeros(5)
    for _ in range(3):
        velocity *= 0.9
        velocity -= 0.1 * slope(w, x)
        w += velocity
    return loss(w, x)


def adam(x, p):
    w = p.copy()
    m, v = np.zeros_like(w), np.zeros_like(w)
    for k in range(1, 4):
        g = slope(w, x)
        m *= 0.9
        m += 0.1 * g
        v *= 0.99
        v += 0.01 * g * g
        w -= 0.05 * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.99**k)) + 1e-3)
    return w, loss(w, x)


class Descent:
    def __init__(self, params, rate):
        self.params = params
        self.rate = rate
        self.velocity = [np.zeros_like(v) for v in params]

    def step(self, grads):
        for param, velocity, grad in zip(self.params, self.velocity, grads, strict=True):
            velocity *= 0.5
            velocity += grad
            param -= self.rate * velocity


def optimiser(x, p):
    params = [p, x[:3]]
    descent = Descent(params, 0.1)
    for _ in range(2):
        descent.step([slope(p, x), np.sin(params[1])])
    return p * x


def running_statistics(x, p):
    mean, var = np.zeros(1), np.ones(1)
    out = np.empty((3, 5))
    for k in range(3):
        batch = x * p[k]
        mean[0] = 0.9 * mean[0] + 0.1 * batch.mean()
        var *= 0.9
        var += 0.1 * batch.var()
        np.subtract(batch, mean, out=out[k])
        out[k] /= np.sqrt(var + 1e-3)
    return out


@programs(descent_with_momentum, adam, optimiser, running_statistics)
def test_updates_of_parameters(program):
    """Unrolled steps of an optimiser that changes parameters and moments in place."""
    check_writes(program, X, P)
