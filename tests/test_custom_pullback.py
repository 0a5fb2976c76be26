"""`custom_pullback`: a function that returns its value and its pullback."""

import numpy as np
import pytest

from adcompiler import (
    DifferentiationError,
    NoRuleError,
    checkpoint,
    custom_pullback,
    gradient,
    jacobian,
    pullback,
)

X = np.array([0.5, 2.0])


@custom_pullback
def clipped(x):
    return np.clip(x, 0.0, 1.0), lambda g: g  # straight through


@custom_pullback
def scaled(x, w, *more, k=1.0):
    """x * w * k, three times in the derivative."""

    def back(g):
        return 3 * g * w * k, 3 * np.sum(g * x) * k, None, None

    return x * w * k, back


class Model:
    def __init__(self, w):
        self.w = w

    @custom_pullback
    def apply(self, x):
        return x * self.w, lambda g: ({"w": np.sum(g * x)}, g * self.w)


def test_a_plain_call_gives_the_value():
    """Calls look as if there were no pullback."""
    np.testing.assert_array_equal(clipped(X), [0.5, 1.0])
    assert scaled(2.0, 3.0, k=2.0) == 12.0
    assert (clipped.__name__, scaled.__doc__) == ("clipped", "x * w * k, three times in the derivative.")
    assert Model(3.0).apply(2.0) == 6.0


def test_derivatives_come_from_the_pullback():
    """Of the only parameter, of several, at the top and inside, by position and by name."""
    np.testing.assert_array_equal(gradient(lambda x: np.sum(clipped(x) ** 2))(X), [1.0, 2.0])
    assert gradient(clipped)(5.0) == 1.0
    np.testing.assert_array_equal(jacobian(clipped)(X), np.eye(2))
    x_bar, w_bar = gradient(lambda x, w: np.sum(scaled(x, k=2.0, w=w)), (0, 1))(X, 4.0)
    np.testing.assert_array_equal(x_bar, [24.0, 24.0])
    assert w_bar == 15.0
    assert pullback(scaled, 2.0, 3.0, 1.0)[1](1.0) == (9.0, 6.0, None)


def test_methods():
    """The first cotangent of a method is that of the object."""

    def f(m, x):
        return np.sum(m.apply(x))

    model_bar, x_bar = gradient(f, (0, 1))(Model(3.0), X)
    assert model_bar.w == 2.5
    np.testing.assert_array_equal(x_bar, [3.0, 3.0])
    bound = Model(3.0).apply
    np.testing.assert_array_equal(gradient(lambda x: np.sum(bound(x)))(X), [3.0, 3.0])


def test_together_with_checkpoint_and_made_inside():
    """Under a checkpoint, in a list, made in the differentiated function of what carries no derivative."""
    np.testing.assert_array_equal(gradient(lambda x: np.sum(checkpoint(clipped)(x)))(X), [1.0, 1.0])
    np.testing.assert_array_equal(gradient(lambda x: np.sum(next(f(x) for f in [clipped, np.sin])))(X), [1.0, 1.0])

    def f(x, k):
        return np.sum(custom_pullback(lambda t: (t * k, lambda g: g * 10))(x))

    np.testing.assert_array_equal(gradient(f)(X, 3), [10.0, 10.0])


def test_a_cotangent_that_the_function_keeps():
    """What a pullback returns and keeps is not written into by anybody."""
    kept = np.ones(2)
    keeps = custom_pullback(lambda x: (x * 1.0, lambda g: kept))
    found = gradient(lambda x: np.sum(keeps(x) * 2 + x))(X)
    np.testing.assert_array_equal(found, [2.0, 2.0])
    np.testing.assert_array_equal(kept, [1.0, 1.0])


def test_what_is_refused():
    """A captured value with a derivative, a wrong number of cotangents, no pair."""

    def captures(x, w):
        return np.sum(custom_pullback(lambda t: (t * w, lambda g: g * w))(x))

    with pytest.raises(NoRuleError, match="has captured a value that carries a derivative"):
        gradient(captures, 1)(X, 2.0)
    two = custom_pullback(lambda a, b: (a * b, lambda g: (g,)))
    with pytest.raises(DifferentiationError, match=r"returned 1 cotangents, not a tuple of 2\n") as caught:
        gradient(lambda x: np.sum(two(x, x)))(X)
    assert "test_custom_pullback.py" in str(caught.value)
    with pytest.raises(DifferentiationError, match="returned no pair of a value and a pullback"):
        custom_pullback(np.sin)(1.0)
    with pytest.raises(TypeError, match="custom_pullback is for a function"):
        custom_pullback(3.0)
