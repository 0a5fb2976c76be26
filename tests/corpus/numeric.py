"""Numerical programs."""

import numpy as np

from adcompiler.testing import integers, normal, positive, positive_definite, uniform
from tests.corpus.sample import sample


def softplus(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


@sample({"W1": normal(3, 4), "b1": normal(4), "W2": normal(4, 2), "b2": normal(2)}, normal(5, 3), normal(5, 2))
def mlp(params, x, y):
    h = np.tanh(x @ params["W1"] + params["b1"])
    p = h @ params["W2"] + params["b2"]
    return np.mean((p - y) ** 2)


@sample(normal(3, 3), normal(3, 2), normal(3), normal(4, 2))
def rnn(w, u, b, xs):
    h = np.zeros(3)
    for x in xs:
        h = np.tanh(w @ h + u @ x + b)
    return h @ h


@sample(7.0)
def newton_square_root(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = x - (x * x - a) / (2 * x)
    return x


@sample(normal(3), 0.3, normal(6, 3), np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0]))
def logistic_regression(w, b, x, y):
    z = x @ w + b
    return np.mean(softplus(z) - y * z) + 0.01 * w @ w


@sample(normal(3, 4))
def log_sum_exp(x):
    m = np.max(x, axis=1, keepdims=True)
    return (m + np.log(np.sum(np.exp(x - m), axis=1, keepdims=True)))[:, 0]


@sample(normal(4, 3), np.array([0, 2, 1, 2]))
def softmax_cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    p = np.exp(shifted)
    p = p / p.sum(axis=1, keepdims=True)
    return -np.mean(np.log(p[np.arange(len(labels)), labels]))


@sample(normal(9), normal(3))
def convolution_by_slices(x, k):
    y = k[0] * x[:-2]
    for i in range(1, len(k)):
        y = y + k[i] * x[i : len(x) - 2 + i]
    return y


@sample(normal(5, 5), normal(3, 3))
def convolution_2d(image, kernel):
    out = 0.0
    for i in range(3):
        for j in range(3):
            out = out + kernel[i, j] * image[i : i + 3, j : j + 3]
    return np.maximum(out, 0.0).sum() + out.mean()


@sample(normal(2), positive_definite(2), normal(4, 2), 0.3, 0.2)
def kalman_filter(x, p, zs, q, r):
    f = np.array([[1.0, 0.1], [0.0, 1.0]])
    loss = 0.0
    for z in zs:
        x = f @ x
        p = f @ p @ f.T + q * np.eye(2)
        s = p + r * np.eye(2)
        k = p @ np.linalg.inv(s)
        v = z - x
        loss = loss + v @ np.linalg.solve(s, v)
        x = x + k @ v
        p = (np.eye(2) - k) @ p
    return loss


@sample(2.3, np.arange(6.0), normal(6))
def linear_interpolation(t, xs, ys):
    i = np.searchsorted(xs, t) - 1
    w = (t - xs[i]) / (xs[i + 1] - xs[i])
    return (1 - w) * ys[i] + w * ys[i + 1]


@sample(0.37, normal(5))
def polynomial_by_horner(x, coefficients):
    y = 0.0
    for c in reversed(coefficients):
        y = y * x + c
    return y


@sample(normal(2), 0.05, 10)
def runge_kutta(y, h, steps):
    def slope(s):
        return np.array([s[1], (1 - s[0] ** 2) * s[1] - s[0]])

    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@sample(normal(4, 2), 0.1)
def gravity(positions, eps):
    energy = 0.0
    n = len(positions)
    for i in range(n):
        for j in range(i + 1, n):
            d = positions[i] - positions[j]
            energy = energy - 1.0 / np.sqrt(np.sum(d**2) + eps)
    return energy


@sample(normal(6))
def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@sample(normal(2, 4, 3), normal(2, 4, 3), normal(2, 4, 3))
def attention(q, k, v):
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ v


@sample(normal(3, 5), normal(5), normal(5))
def layer_norm(x, gain, bias):
    mean = x.mean(axis=-1, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(var + 1e-5) + bias


@sample(normal(5), 0.9)
def exponential_average(x, decay):
    avg = x[0]
    for v in x[1:]:
        avg = decay * avg + (1 - decay) * v
    return avg


@sample(uniform(0.1, 0.9, 4), 0.5)
def binary_entropy(p, w):
    return -np.sum(w * p * np.log(p) + (1 - w) * (1 - p) * np.log(1 - p))


@sample(normal(4), positive(4))
def gaussian_log_density(x, sigma):
    return np.sum(-0.5 * (x / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi))


@sample(positive_definite(3), normal(3))
def quadratic_form(a, x):
    return x @ np.linalg.solve(a, x) + np.log(np.linalg.det(a))


@sample(normal(8), 4)
def fourier_series(c, n):
    t = np.linspace(0.0, 1.0, 5)
    y = c[0] * np.ones(5)
    for k in range(1, n):
        y = y + c[2 * k - 1] * np.cos(2 * np.pi * k * t) + c[2 * k] * np.sin(2 * np.pi * k * t)
    return y


@sample(0.3, 0.5)
def complex_step_map(re, im):
    z = 0.0j
    c = re + 1j * im
    for _ in range(3):
        z = z * z + c
    return abs(z)


@sample(3.0, 1.5)
def bisection_then_newton(a, b):
    lo, hi = 0.0, 10.0
    for _ in range(5):
        mid = (lo + hi) / 2
        if mid**3 + b * mid > a:
            hi = mid
        else:
            lo = mid
    x = lo
    for _ in range(6):
        x = x - (x**3 + b * x - a) / (3 * x**2 + b)
    return x


@sample(normal(5, 2), normal(3, 2))
def soft_k_means(points, centres):
    d = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    w = np.exp(-d)
    w = w / np.sum(w, axis=1, keepdims=True)
    return np.sum(w * d)


@sample(normal(6, 2), integers(0, 4, 3))
def embedding(table, tokens):
    h = table[tokens]
    return np.sum(np.tanh(h).mean(axis=0) ** 2)


@sample(normal(6))
def finite_volume_step(u):
    flux = 0.5 * u**2
    for _ in range(3):
        u = u - 0.1 * (np.roll(flux, -1) - flux)
        flux = 0.5 * u**2
    return u


@sample(normal(4, 4))
def gram_schmidt_step(a):
    q = a[:, 0] / np.linalg.norm(a[:, 0])
    r = a[:, 1] - (q @ a[:, 1]) * q
    return r / np.linalg.norm(r)


@sample(positive(4), 0.7)
def black_scholes_like(s, sigma):
    d1 = (np.log(s) + 0.5 * sigma**2) / sigma
    d2 = d1 - sigma
    cdf1 = 1 / (1 + np.exp(-1.702 * d1))
    cdf2 = 1 / (1 + np.exp(-1.702 * d2))
    return s * cdf1 - cdf2
