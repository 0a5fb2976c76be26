"""Forms of calls of transforms inside what is differentiated: keywords, values beside the loss, writes around them."""

import numpy as np
import pytest

from adcompiler import NoRuleError, gradient, hvp, pullback, value_and_grad
from tests.orders import V, X, check_second, close, difference


def loss(a, scale=1.0, *, bias=None):
    return np.sum((a * scale + bias["b"]) ** 3)


class Model:
    def __init__(self, w):
        self.w = w

    def loss(self, y, k=1.0):
        return np.sum(self.w * y**3 * k)


def keyword(x):
    return np.sum(gradient(lambda a, b=2.0: np.sum(a**3 * np.sin(b)))(x, b=x[0]) ** 2)


def with_respect_to_keywords(x):
    of_a, of_scale = gradient(loss, ("a", "scale"))(scale=x[2], a=x, bias={"b": x[1]})
    return of_a @ x * of_scale


def value_of_a_call_with_keywords(x):
    value, g = value_and_grad(loss)(x, scale=x[2], bias={"b": x[1]})
    return value * g @ x


def keyword_of_a_method(x):
    return gradient(Model(x).loss)(x, k=x[0]) @ x


def auxiliary_values(x):
    def f(a):
        s = np.sum(a**3)
        return s * s, {"s": s, "twice": a * 2}

    (value, aux), g = value_and_grad(f, has_aux=True)(x)
    return value + np.sum(g * aux["twice"]) * aux["s"]


def auxiliary_values_and_keywords(x):
    (value, text), (g, of_k) = value_and_grad(lambda a, k=1.0: (np.sum(a**3 * k), "text"), (0, "k"), has_aux=True)(
        x, k=x[0]
    )
    return value * of_k * len(text) + g @ g


def added_to_a_view(x):
    y = x * 1.0
    part = y[1:]
    part += gradient(lambda a: np.sum(a**3))(part)
    return np.sum(y**2)


def pullback_for_single_use(x):
    value, back = pullback(lambda a: a**3, x, single_use=True)
    return back(value)[0] @ x


PROGRAMS = [
    keyword, with_respect_to_keywords, value_of_a_call_with_keywords, keyword_of_a_method, auxiliary_values,
    auxiliary_values_and_keywords, added_to_a_view, pullback_for_single_use,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives(program):
    """First and second derivatives are those of differences."""
    check_second(program)


def test_keyword_that_a_pullback_holds():
    """The cotangents that `back` gives move with what was passed by keyword."""

    def f(x):
        value, back = pullback(Model(x).loss, x, k=x[0])
        return back(value)[0] @ x

    close(gradient(f)(X) @ V, difference(f, X, V))


def test_assignment_in_place_of_unknown_operands():
    """What is not followed is refused in the words of the program."""

    def f(x):
        q = x.copy()
        for _ in range(2):
            q -= 0.1 * gradient(lambda a: np.sum(a**4))(q)
        return q @ q

    close(gradient(f)(X) @ V, difference(f, X, V))
    with pytest.raises(NoRuleError, match="Make a new array"):
        hvp(f, X, V)
