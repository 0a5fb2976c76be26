"""Forward rules by transposition: of rules of users, written out or called as they stand, and what is refused."""

import numpy as np
import pytest

from adcompiler import NoRuleError, check_gradient, gradient, rrule
from adcompiler.rules.registry import lookup
from adcompiler.transpose import forward_by_transposition, forward_function, transposed

X = np.array([0.5, -1.5, 2.0])
V = np.array([1.0, 0.25, -2.0])


def cubed(x, w):
    return w * x**3


@rrule(cubed)
def cubed_rule(x, w):
    y = w * x**3

    def back(y_bar):
        return 3 * w * x**2 * y_bar, np.sum(x**3 * y_bar)

    return y, back


def looped(x, n):
    return x**n


@rrule(looped)
def looped_rule(x, n, *, needs):
    """A rule that is called as it stands: it has a loop, and writes into what it makes."""
    powers = np.ones((n + 1, *x.shape))
    for i in range(n):
        powers[i + 1] = powers[i] * x

    def back(y_bar):
        return (n * powers[n - 1] * y_bar if needs[0] else None), None

    return powers[n], back


def hidden(x):
    return x


@rrule(hidden)
def hidden_rule(x):
    return 1.0 * x, eval("lambda y_bar: (y_bar,)")  # which leaves no source


def test_rule_of_a_user():
    """Value and tangent, with a tangent for each parameter or for some."""
    (rule,) = lookup(cubed)
    y, y_dot = forward_by_transposition(rule, (X, 2.0), {}, (V, 0.5))
    np.testing.assert_allclose(y, 2.0 * X**3)
    np.testing.assert_allclose(y_dot, 6.0 * X**2 * V + 0.5 * X**3)
    _, y_dot = forward_by_transposition(rule, (X,), {"w": 2.0}, (None, 1.0))
    np.testing.assert_allclose(y_dot, X**3)


def test_rule_that_is_called_as_it_stands():
    """What it asks for by `needs` are the parameters that have tangents."""
    (rule,) = lookup(looped)
    _, y_dot = forward_by_transposition(rule, (X, 3), {}, (V, None))
    np.testing.assert_allclose(y_dot, 3 * X**2 * V)


@pytest.mark.parametrize(("f", "args", "kwargs"), [(np.sum, (X,), {"axis": 0}), (np.hypot, (X, V), {})])
def test_partials_and_keywords(f, args, kwargs):
    """The tangent is that of central differences."""
    rule = lookup(f)[0]
    tangents = tuple(V if i < len(args) else None for i in range(len(rule.signature.parameters)))
    _, y_dot = forward_by_transposition(rule, args, kwargs, tangents)
    moved = [f(*(a + s * V for a in args), **kwargs) for s in (1e-6, -1e-6)]
    np.testing.assert_allclose(y_dot, (moved[0] - moved[1]) / 2e-6, rtol=1e-6)


def test_tangent_of_a_pair():
    """Of a value of several parts a tangent of several, zeros where nothing moves."""
    y, back = lookup(np.linalg.slogdet)[0].function(np.eye(2))
    sign_dot, log_dot = transposed(back, y, (np.array([[1.0, 2.0], [3.0, 4.0]]),))
    assert sign_dot == 0.0
    assert log_dot == 5.0


def test_whole_numbers():
    """A value that has no derivative has no tangent."""
    assert transposed(lambda y_bar: (None,), 3, (V,)) is None


def derivative(x, v):
    """What forward mode writes for a call with a rule."""
    y, back = cubed_rule(x, 2.0)
    return np.sum(transposed(back, y, (v, None)) ** 2)


def test_differentiated_again():
    """With respect to the point and to the tangent."""
    check_gradient(derivative, X, V)
    np.testing.assert_allclose(gradient(derivative, "v")(X, V), 2 * (6.0 * X**2) ** 2 * V)


@pytest.mark.parametrize("f", [np.multiply, np.arctan2, np.maximum])
def test_forward_function(f):
    """A rule's forward function is code as any other, whose derivative is taken in all its arguments."""
    forward = forward_function(lookup(f)[0])

    def total(a, b, a_dot, b_dot):
        y, y_dot = forward((a_dot, b_dot), a, b)
        return np.sum(y * y_dot**2)

    check_gradient(total, X, V, np.array([0.3, 1.0, -1.0]), np.array([2.0, 0.5, 1.5]))


def test_zero_beats_infinity():
    """A tangent that is zero where the derivative is infinite leaves a zero."""
    y, back = lookup(np.sqrt)[0].function(np.array([0.0, 4.0]))
    np.testing.assert_allclose(transposed(back, y, (np.array([0.0, 1.0]),)), [0.0, 0.25])
    y, back = lookup(np.log)[0].function(np.array([1.0, 2.0]))
    np.testing.assert_allclose(transposed(back, y, (np.array([0.0, 1.0]),)), [0.0, 0.5])


def test_refused_by_name():
    """A pullback that is not followed is refused with the function's name, and with what to do."""
    (rule,) = lookup(hidden)
    with pytest.raises(NoRuleError, match="hidden") as raised:
        forward_by_transposition(rule, (X,), {}, (V,))
    assert "@frule" in str(raised.value)


def test_compiled_once():
    """Each call of a rule makes a new pullback; they are all of one text, which is compiled once."""
    from adcompiler import transpose

    first = [back for _, back in (cubed_rule(X, 2.0), cubed_rule(V, 3.0))]
    for back in first:
        transposed(back, X, (V, None))
    assert transpose._compiled[first[0].__code__]["y_bar",].count == 1
