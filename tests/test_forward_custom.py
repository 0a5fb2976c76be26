"""Functions under `custom_pullback` in forward mode: tangents and second derivatives come from the pullback."""

import numpy as np
import pytest

from adcompiler import NoRuleError, custom_pullback, gradient, hessian, hvp, jvp
from tests.orders import X, check_second


@custom_pullback
def cube(x):
    return x**3, lambda y_bar: y_bar * 3 * x**2


@custom_pullback
def product(x, y, power=1.0):
    s = np.sin(x)

    def back(bar):
        return bar * np.cos(x) * y * power, bar * s * power, None

    return s * y * power, back


@custom_pullback
def two(x):
    def back(bar):
        first, second = bar
        of_first = 0.0 if first is None else first * 2 * x
        return of_first if second is None else of_first + second * np.cos(x)

    return (x**2, np.sin(x)), back


@custom_pullback
def total(*xs):
    def back(bar):
        return (tuple(bar * 2 * x for x in xs),)

    return sum(x * x for x in xs), back


@custom_pullback
def clipped(x):
    return np.clip(x, -1.0, 1.0), lambda y_bar: y_bar


class Scaled:
    def __init__(self, k):
        self.k = k

    @custom_pullback
    def square(self, x):
        return self.k * x**2, lambda y_bar: ({"k": np.sum(y_bar * x**2)}, y_bar * 2 * self.k * x)


def halves_of_two(x):
    first, second = two(x)
    return np.sum(first * second * x)


def in_a_loop(x):
    for i in range(2):
        x = cube(x * x[i])
    return np.sum(x)


PROGRAMS = {
    "one parameter": lambda x: np.sum(cube(x) * x),
    "two and a default": lambda x: np.sum(product(x, x * x[0]) ** 2),
    "by keyword": lambda x: np.sum(product(y=x * x[1], x=x) ** 2),
    "two results": halves_of_two,
    "one of two results": lambda x: np.sum(two(x)[1] ** 3),
    "starred": lambda x: total(x[0], x[1] ** 2, x[2]) ** 2,
    "method": lambda x: np.sum(Scaled(x[0]).square(x) ** 2),
    "in a loop": in_a_loop,
    "in a gradient": lambda x: gradient(lambda a: np.sum(cube(a) * x))(x) @ x,
    "in a tangent": lambda x: jvp(lambda a: np.sum(cube(a) * x), (x,), (x**2,))[1],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives(name):
    """Tangents, and second derivatives in every order of modes, are those of differences."""
    check_second(PROGRAMS[name])


def test_value_moves_as_the_pullback_says():
    """Straight through: with c' = 1 the first derivative of sum(c(x)^3) is 3 c(x)^2, the second 6 c(x), the third 6."""

    def f(x):
        return np.sum(clipped(x) ** 3)

    x, v = np.array([0.5, 3.0, -2.0]), np.array([1.0, 2.0, 3.0])
    c = np.array([0.5, 1.0, -1.0])
    np.testing.assert_allclose(jvp(f, (x,), (v,))[1], 3 * c**2 @ v)
    np.testing.assert_allclose(hvp(f, x, v), 6 * c * v)
    np.testing.assert_allclose(jvp(gradient(f), (x,), (v,))[1], 6 * c * v)
    np.testing.assert_allclose(hessian(f, mode="forward")(x), np.diag(6 * c))
    np.testing.assert_allclose(gradient(lambda a: np.sum(hvp_of(f, a, v)))(x), 6 * v)


def hvp_of(f, x, v):
    return gradient(lambda a: jvp(f, (a,), (v,))[1])(x)


def test_captured_values_have_no_tangent():
    """What the function has captured is refused, as in the pullback."""

    def f(x):
        k = x[0]
        return np.sum(custom_pullback(lambda a: (a * k, lambda bar: bar * k))(x[1:]))

    with pytest.raises(NoRuleError, match="has captured a value"):
        jvp(f, (X,), (X,))


def test_random_numbers_are_drawn_once():
    """The stream goes on as in a plain call."""
    rng = np.random.default_rng(3)

    @custom_pullback
    def noisy(x):
        noise = rng.normal(size=3)
        return x**2 * noise, lambda bar: bar * 2 * x * noise

    plain = [noisy(X), rng.random()]
    rng = np.random.default_rng(3)
    value, tangent = jvp(noisy, (X,), (np.ones(3),))
    np.testing.assert_array_equal(value, plain[0])
    np.testing.assert_allclose(tangent, 2 * value / X)
    assert rng.random() == plain[1]
