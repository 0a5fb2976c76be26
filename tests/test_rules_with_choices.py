"""Rules whose text depends on values: it is not inlined, and each arm is taken in its case."""

import cmath

import numpy as np
import pytest

from adcompiler import check_gradient, frule, gradient, jvp, pullback, rrule, scalar_rule


def kinked(x):
    return 3.0 * x if x > 0 else -2.0 * x


@rrule(kinked)
def kinked_rule(x):
    y = kinked(x)

    def kinked_pullback(y_bar):
        if x > 0:
            x_bar = 3.0 * y_bar
        else:
            x_bar = -2.0 * y_bar
        return (x_bar,)

    return y, kinked_pullback


@frule(kinked)
def kinked_forward(tangents, x):
    y = kinked(x)
    if x > 0:
        y_dot = 3.0 * tangents[0]
    else:
        y_dot = -2.0 * tangents[0]
    return y, y_dot


def scaled(x, mode):
    return x * x if mode == "square" else x


@rrule(scaled)
def scaled_rule(x, mode):
    slope = 1.0
    if mode == "square":
        slope = 2 * x

    def scaled_pullback(y_bar):
        return y_bar * slope, None

    return scaled(x, mode), scaled_pullback


def cubed(x):
    return x**3


scalar_rule(cubed, lambda x: 3 * x * x if x > 0 else 3 * x**2)


@pytest.mark.parametrize("x", [1.5, -0.5])
def test_arms_that_depend_on_the_argument(x):
    """A rule, a forward rule and a partial give the slope on the side where the argument is."""
    expected = 3.0 if x > 0 else -2.0
    assert gradient(lambda x: kinked(x) * 1.0)(x) == expected
    assert gradient(kinked)(x) == expected
    assert jvp(lambda x: kinked(x) * 1.0, (x,), (1.0,))[1] == expected
    assert gradient(lambda x: cubed(x) * 1.0)(x) == 3 * x * x


@pytest.mark.parametrize(("mode", "expected"), [("square", 3.0), ("other", 1.0)])
def test_arms_that_depend_on_an_option(mode, expected):
    """Options that are known only when the program runs."""
    assert gradient(lambda x, modes: scaled(x, modes[0]), 0)(1.5, [mode]) == expected
    assert pullback(lambda x, m: scaled(x, m) * 1.0, 1.5, mode)[1](1.0)[0] == expected


def test_built_in_forward_rules():
    """Options of NumPy's functions, and numbers at singular points, that are known only when the program runs."""
    z = np.array([1.0 + 0.5j, -0.3 + 2.0j])
    for flag in (True, False):
        check_gradient(lambda z, flag: np.sum(np.angle(z, flag) ** 2), z, flag, modes=("reverse", "forward"))
        check_gradient(
            lambda x, flag: np.sum(np.vander(x, increasing=flag) ** 2),
            z.real.copy(),
            flag,
            modes=("reverse", "forward"),
        )
    check_gradient(lambda z: cmath.polar(z)[0] * cmath.polar(z)[1], 0.3 - 1.2j, order=2, modes=("reverse", "forward"))
    assert jvp(lambda z: cmath.polar(z), (0j,), (1.0 + 1.0j,))[1] == (0.0, 0.0)
