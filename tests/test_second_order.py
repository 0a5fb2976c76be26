"""Derivatives of derivatives: `gradient`, `pullback` and `jvp` inside what is differentiated, to any order."""

import numpy as np
import pytest

from adcompiler import (
    MutationError,
    gradient,
    hvp,
    jvp,
    pullback,
    value_and_grad,
)
from tests.differences import numerical_gradient

X = np.array([0.3, -0.7, 1.2])


def cubes(x):
    return np.sum(x * x * x)


def check(function, *args, rtol=1e-6):
    """The gradient is that of finite differences."""
    result = gradient(function, tuple(range(len(args))))(*args)
    expected = numerical_gradient(lambda moved: function(*moved), args)
    for got, want in zip(result, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol, 1e-7)


def test_second_and_third_derivatives_of_a_number():
    """Derivatives of x⁵: 20 x³, 60 x², 120 x."""

    def power(x):
        return x * x * x * x * x

    def d(f):
        return lambda x: gradient(f)(x)

    np.testing.assert_allclose(d(d(power))(2.0), 160.0)
    np.testing.assert_allclose(d(d(d(power)))(2.0), 240.0)
    np.testing.assert_allclose(d(d(d(d(power))))(2.0), 240.0)


def test_derivatives_of_powers_and_functions():
    """Derivatives of sin(x)·x⁴, which NumPy's rules and the operator's know."""

    def f(x):
        return np.sin(x) * x**4

    x = 1.3
    third = 24 * x * np.sin(x) + 36 * x**2 * np.cos(x) - 12 * x**3 * np.sin(x) - x**4 * np.cos(x)
    second = 12 * x**2 * np.sin(x) + 8 * x**3 * np.cos(x) - x**4 * np.sin(x)
    np.testing.assert_allclose(gradient(lambda x: gradient(f)(x))(x), second)
    np.testing.assert_allclose(gradient(lambda x: gradient(lambda x: gradient(f)(x))(x))(x), third)


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (lambda x: x * gradient(lambda y: x + y)(2.0), 3.0, 1.0),
        (lambda x: x * gradient(lambda y: x * y)(1.0), 4.0, 8.0),
        (lambda x: x * gradient(lambda y: x * y * y)(x), 3.0, 54.0),
        (lambda x: gradient(lambda y: y * gradient(lambda z: x * y * z * z)(y))(x), 2.0, 72.0),
    ],
)
def test_nested_differentiations_do_not_mix(function, at, expected):
    """A derivative with respect to an inner variable is not one with respect to an outer one (x, 2x², 2x³, 6x³)."""
    np.testing.assert_allclose(gradient(function)(at), expected)


def penalty(x):
    return cubes(x) + 0.1 * np.sum(gradient(cubes)(x) ** 2)


def with_value(x):
    value, grads = value_and_grad(cubes)(x)
    return value * np.sum(grads)


def by_pullback(x):
    y, back = pullback(cubes, x)
    (first,) = back(1.0)
    (second,) = back(y)
    return np.sum(first * second)


def by_jvp(x):
    y, y_dot = jvp(lambda x: x * x * np.sum(x), (x,), (np.sin(x),))
    return np.sum(y * y_dot)


cubes_gradient = gradient(cubes)


def of_a_global(x):
    return np.sum(cubes_gradient(x) * x)


def in_a_branch(x):
    if x[0] > 0:
        return np.sum(gradient(cubes)(x))
    return np.sum(x)


def in_a_try(x):
    try:
        return np.sum(gradient(lambda x: np.sum(x) * x[7])(x))
    except IndexError:
        return np.sum(gradient(cubes)(x))


def of_tuples(x):
    a, b = gradient(lambda p, q: np.sum(p * q * q), (0, 1))(x, x * 2.0)
    return np.sum(a * b)


def of_structures(x):
    grads = gradient(lambda p: np.sum(p["a"] * p["a"] * p["b"][0]))({"a": x, "b": (x * 3.0,)})
    return np.sum(grads["a"] * grads["b"][0])


def with_aux(x):
    (value, aux), grads = value_and_grad(lambda x: (np.sum(x**3), x * 2.0), has_aux=True)(x)
    return value + np.sum(aux * grads)


def by_keyword(x):
    return np.sum(gradient(lambda a, b: np.sum(a * a * b))(x, b=x * 2.0))


@pytest.mark.parametrize(
    "function",
    [
        penalty, with_value, by_pullback, by_jvp, of_a_global, in_a_branch, in_a_try, of_tuples, of_structures,
        with_aux, by_keyword,
    ],
)  # fmt: skip
def test_inside_a_differentiated_function(function):
    """Its gradient is that of finite differences."""
    check(function, X)


def trained(w, xs):
    for x in xs:

        def loss(w):
            return np.sum((w * x - 1.0) ** 2)  # noqa: B023  it is called in the same turn

        w = w - 0.1 * gradient(loss)(w)
    return np.sum(w * w)


def test_gradients_in_a_loop():
    """A training loop with respect to its start and its data; each step's function sees its own step's variables."""
    check(trained, np.array([1.0, 2.0]), np.array([[0.3, 0.2], [0.5, 0.6], [0.1, -0.4]]))


def tuned(rate, w):
    for _ in range(4):
        w = w - rate * gradient(lambda w: np.sum(w**4))(w)
    return np.sum(w)


def test_hyper_gradients():
    """The gradient of a training run with respect to its step."""
    check(tuned, 0.05, np.array([0.5, -0.3]))


def newton(x):
    for _ in range(5):
        x = x - gradient(lambda x: x**3 / 3 - 2 * x)(x) / gradient(lambda x: gradient(lambda x: x**3 / 3 - 2 * x)(x))(x)
    return x


def test_second_derivatives_inside():
    """Newton's iteration to √2 does not depend on where it starts."""
    np.testing.assert_allclose(newton(1.5), np.sqrt(2.0))
    np.testing.assert_allclose(gradient(newton)(1.5), 0.0, atol=1e-10)


def written(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] * x[i - 1]
    y[1:] *= x[:2]
    return np.sum(y * y)


def test_functions_that_write():
    """In-place writes are followed to the second order."""
    check(lambda x: np.sum(gradient(written)(x) ** 2), X)
    check(lambda x: np.sum(gradient(written)(x)) * np.sum(x), X)


def overwritten(x):
    y = x * 2.0
    g = gradient(cubes)(y)
    y[:] = 0.0
    return np.sum(g * g) + np.sum(y)


def test_arguments_that_are_written_afterwards():
    """A derivative is that at the values at the time of the call."""
    check(overwritten, X)


def rebound(x):
    a = x[0]
    f = gradient(lambda y: a * np.sum(y * y))
    total = np.sum(f(x))
    a = x[1]
    return total + np.sum(f(x))


def test_a_captured_variable_that_is_rebound():
    """Functions see the variables as they are when they are called."""
    check(rebound, X)


RNG = np.random.default_rng(3)


def noisy(x):
    return np.sum(gradient(lambda x: np.sum(x**2 * RNG.normal(size=3)))(x) * x)


def test_random_numbers_are_those_of_the_first_time():
    """The derivative of an inner gradient uses the numbers that it has drawn, and draws no others."""
    global RNG
    RNG = np.random.default_rng(3)
    drawn = np.random.default_rng(3).normal(size=3)
    np.testing.assert_allclose(gradient(noisy)(X), 4 * X * drawn)
    np.testing.assert_allclose(RNG.normal(), np.random.default_rng(3).normal(size=4)[3])


SCALE = [2.0]


def scaled(x):
    g = gradient(lambda x: SCALE[0] * np.sum(x**3))(x)
    SCALE[0] = 5.0
    return np.sum(g)


def test_what_changes_outside_is_noticed():
    """A function that reads something else when it is computed again is refused: no number of another function."""
    SCALE[0] = 2.0
    with pytest.raises(MutationError, match="another value"):
        gradient(scaled)(X)


def test_pullbacks_can_be_kept():
    """A pullback may be called later, more than once, and out of order."""

    def f(x):
        backs = [pullback(cubes, x * k)[1] for k in (1.0, 2.0)]
        return np.sum(backs[1](1.0)[0] * backs[0](x[0])[0])

    check(f, X)


def test_the_product_of_the_hessian_of_a_gradient():
    """`hvp` of a function with a gradient inside is a third derivative."""
    v = np.array([1.0, -1.0, 0.5])
    step = 1e-5
    expected = (gradient(penalty)(X + step * v) - gradient(penalty)(X - step * v)) / (2 * step)
    np.testing.assert_allclose(hvp(penalty, X, v), expected, rtol=1e-7)
