"""Functions inside functions whose captured variables are bound anew after they were made, at every order and mode."""

import numpy as np
import pytest

from adcompiler import gradient, jvp, pullback
from tests.orders import check_second


def kept(f):
    def call(y):
        return f(y) * y

    return call


def kept_in_list(f, functions):
    functions.append(f)
    return 0.0


def captured_by_another(x):
    a = x[0]

    def inner(y):
        return a * y * y

    def outer(y):
        return inner(y) * y

    r = outer(x[1])
    a = x[2]
    return r + outer(x[1])


def captured_under_another_name(x):
    a = x[0]

    def inner(y):
        return a * y * y

    g = inner

    def outer(y):
        return g(y) * y

    r = outer(x[1])
    a = x[2] * x[0]
    return r + outer(x[1])


def captured_twice_over(x):
    a = x[0]

    def inner(y):
        return a * y

    def middle(y):
        def deep(z):
            return inner(z) * z

        return deep(y) + deep(2 * y)

    r = middle(x[1])
    a = a * x[2]
    return r + middle(x[1])


def captured_by_a_lambda_in_a_loop(x):
    a, r = x[0], 0.0

    def inner(y):
        return a * y

    for i in range(3):
        f = lambda y: inner(y) * y
        r = r + f(x[i])
        a = a * x[2]
    return r


def captured_by_one_of_two(x):
    a = x[0]

    def inner(y):
        return a * y

    if x[0] > 0:
        f = lambda y: inner(y)
    else:
        f = lambda y: inner(y) * 2
    r = f(x[1])
    a = a * x[2]
    return r + f(x[1])


def kept_by_what_a_call_returns(x):
    a = x[0]
    call = kept(lambda y: a * y)
    r = call(x[1])
    a = x[2]
    return r + call(x[1])


def kept_by_a_container(x):
    a, functions = x[0], []
    kept_in_list(lambda y: a * y, functions)
    r = functions[0](x[1])
    a = x[2] * a
    return r + functions[0](x[1])


def bound_by_a_third(x):
    a = x[0]

    def inner(y):
        return a * y

    def outer(y):
        nonlocal a
        a = a * y
        return inner(y)

    r = outer(x[1])
    return r + inner(x[1]) * outer(x[2])


def gradient_of_what_another_captured(x):
    a = x[0]

    def inner(y):
        return a * y**3

    def outer(y):
        return gradient(inner)(y) * y

    r = outer(x[1])
    a = x[2]
    return r + outer(x[1])


def gradient_kept(x):
    a = x[0]

    def inner(y):
        return a * y**3

    g = gradient(inner)
    r = g(x[1])
    a = x[2] * a
    return r + g(x[1])


def pulled_before(x):
    a = x * 2

    def f(y):
        return np.sum(a * y**3)

    value, back = pullback(f, x)
    a = x * 3
    (g,) = back(1.0)
    return np.sum(g * x) + value + f(x)


def pulled_with_another_name(x):
    a = x[0] * 2

    def inner(y):
        return a * y**3

    def f(y):
        return inner(y) * y

    value, back = pullback(f, x[1])
    a = x[2]
    return back(x[2])[0] + value * f(x[1])


PROGRAMS = [
    captured_by_another, captured_under_another_name, captured_twice_over, captured_by_a_lambda_in_a_loop,
    captured_by_one_of_two, kept_by_what_a_call_returns, kept_by_a_container, bound_by_a_third,
    gradient_of_what_another_captured, gradient_kept, pulled_before, pulled_with_another_name,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_variable_bound_after_the_function_was_made(program):
    """Each call sees the value of its time, and so do the first and second derivatives."""
    check_second(program)


def slope_of(f, x):
    return jvp(lambda y: jvp(f, (y,), (1.0,))[1], (x,), (1.0,))[1]


def derivative_of_slope(f, x):
    return gradient(lambda y: jvp(f, (y,), (1.0,))[1])(x)


@pytest.mark.parametrize("derivative", [slope_of, derivative_of_slope])
def test_what_a_function_has_captured_when_it_is_moved_twice(derivative):
    """A function whose captured variable does not move has a cotangent for it nevertheless."""

    def program(x):
        a = x[1] * x[2]
        return derivative(lambda t: t**4 * a + np.sin(t), x[0])

    check_second(program)
