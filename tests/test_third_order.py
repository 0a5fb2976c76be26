"""Third derivatives by every order of modes, of functions whose rules have each kind of forward form."""

import itertools
import os

import numpy as np
import pytest

from adcompiler import gradient, jvp

X = np.array([0.7, 0.4, 1.3])
V = np.array([0.3, -0.2, 0.5])

FUNCTIONS = {
    "partials": lambda x: np.sum(np.sin(x) * np.tanh(x)),
    "forward rule": lambda x: np.sum(x ** (1.5 + x[1])),
    "forward rule that may decline": lambda x: np.linalg.norm(x) ** 3,
    "linear": lambda x: np.sum(np.cumsum(x) ** 4),
    "multilinear": lambda x: np.dot(x * x, x**2),
    "transposed pullback": lambda x: np.prod(x + x[0]),
    "matrix": lambda x: np.linalg.det(np.outer(x, x) + np.diag(x**2)),
    "keywords": lambda x: np.sum(np.sum(np.outer(x, x**2), axis=1, keepdims=True) ** 2),
    "clipped": lambda x: np.sum(np.clip(x, a_min=0.5, a_max=x[2]) ** 4),
    "solved": lambda x: np.sum(np.linalg.solve(np.diag(x) + 0.1, x * x)),
    "logarithms of sums": lambda x: np.logaddexp(x[0] * x[1], x[2] ** 2) ** 2,
    "index": lambda x: np.sum(x[[0, 2, 2]] ** 3 * x[::-1]),
    "written": lambda x: np.sum(_filled(x)),
    "branches": lambda x: np.sum(np.where(x > 0.5, x**3, x**4)) * np.maximum(x[0], x[1]) ** 2,
}

EVERY = list(itertools.product(("reverse", "forward"), repeat=3))
MODES = EVERY if os.environ.get("ADCOMPILER_RANDOM_PROGRAMS") else EVERY[:1] + EVERY[6:7]


def _filled(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] ** 3 * y[i - 1] + np.exp(x[i])
    return y


def third_difference(f, at, step=0.01):
    """The third derivative of a function of one number, by central differences extrapolated to fourth order."""
    near, far = ((f(at + 2 * h) - 2 * f(at + h) + 2 * f(at - h) - f(at - 2 * h)) / (2 * h**3) for h in (step, 2 * step))
    return (4 * near - far) / 3


def derivative(mode, f):
    """The derivative of a function of one number."""
    if mode == "reverse":
        return lambda t: gradient(f)(t)
    return lambda t: jvp(f, (t,), (1.0,))[1]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("modes", MODES, ids="-".join)
def test_third_derivative_along_a_line(name, modes):
    """Three derivatives, each of the one before, are the third central difference."""
    f = FUNCTIONS[name]

    def line(t):
        return f(X + t * V)

    third = line
    for mode in modes:
        third = derivative(mode, third)
    assert third(0.1) == pytest.approx(third_difference(line, 0.1), rel=1e-5, abs=1e-6)
