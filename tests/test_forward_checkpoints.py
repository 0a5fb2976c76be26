"""Recomputed calls of functions that capture variables, differentiated twice."""

import numpy as np
import pytest

from adcompiler import checkpoint, checkpoint_loop, gradient, jvp
from tests.orders import W, X, check_first, check_second

C = np.array([1.0, -2.0, 3.0])


def step(i, s):
    return s + 0.1 * np.sin(s) * (i + 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(checkpoint(lambda q: np.sin(q) * x)(x * x)),
        lambda x: gradient(lambda w: np.sum(checkpoint(lambda q: np.sin(q) * x)(w)))(x) @ C,
        lambda x: gradient(lambda w: np.sum(checkpoint_loop(step, w * x, 3)))(x) @ C,
        lambda x: gradient(lambda w: np.sum(checkpoint_loop(lambda i, s: np.sin(s) * x, w, 2)))(x) @ C,
    ],
)
def test_captured_variables(function):
    """What is captured has its share of the derivative, also where only the argument moves first."""
    check_second(function)


def test_captured_variables_in_forward_mode():
    """The gradient of a tangent has the share of what was captured, which did not move in forward mode."""
    check_first(lambda x: jvp(lambda w: np.sum(checkpoint(lambda q: np.sin(q) * x)(w)), (x,), (C,))[1], X + W)


def test_new_functions_in_a_loop():
    """Each recomputed function has the variables of its own turn."""

    def f(x):
        s = x.copy()
        for i in range(3):
            s = checkpoint(lambda s, i=i: s * x[i] + 1)(s)
        return np.sum(s)

    check_second(f)
