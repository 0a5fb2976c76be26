"""What `jvp` promises: value and tangent, their forms, and what is refused."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from adcompiler import (
    DifferentiationError,
    MutationError,
    Tangent,
    TangentError,
    UnsupportedSyntaxError,
    differentiable,
    frule,
    jvp,
    scalar_rule,
)

X = np.array([0.3, -0.7, 1.2])
V = np.array([1.0, 0.5, -2.0])


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Layer:
    w: Any
    b: Any

    def __call__(self, x):
        return np.tanh(x @ self.w + self.b)


def cubes(x):
    return x * x * x


def test_value_and_tangent():
    """The pair of the function's value and its derivative in the given direction."""
    y, y_dot = jvp(cubes, (X,), (V,))
    np.testing.assert_allclose(y, X**3)
    np.testing.assert_allclose(y_dot, 3 * X**2 * V)


def test_a_number_has_a_number_as_tangent():
    """A Python float gives a Python float."""
    y, y_dot = jvp(cubes, (2.0,), (1.0,))
    assert (y, y_dot) == (8.0, 12.0)
    assert type(y_dot) is float


def test_an_argument_without_tangent_is_a_constant():
    """None stands for a direction of zero."""
    assert jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, None)) == (6.0, 3.0)
    assert jvp(lambda x, y: x * y, (2.0, 3.0), (None, 1.0)) == (6.0, 2.0)
    assert jvp(lambda x: x, (2.0,), (None,)) == (2.0, 0.0)


def test_single_precision_stays_single():
    """The tangent has the dtype of the value."""
    y, y_dot = jvp(cubes, (X.astype(np.float32),), (V.astype(np.float32),))
    assert y_dot.dtype == y.dtype == np.float32


def test_complex_numbers():
    """A direction of complex numbers moves both parts."""
    z, v = np.array([1.0 + 2.0j]), np.array([0.5 - 1.0j])
    np.testing.assert_allclose(jvp(lambda z: z * z, (z,), (v,))[1], 2 * z * v)
    np.testing.assert_allclose(jvp(lambda z: np.sum(np.abs(z) ** 2), (z,), (v,))[1], 2 * np.real(np.conj(z[0]) * v[0]))


def test_structures():
    """Tangents have the structure of what they belong to, in arguments and in results."""
    p = {"w": X, "b": (2.0, [V])}
    _, y_dot = jvp(lambda p: {"s": p["w"] * p["b"][0], "t": (p["b"][1][0],)}, (p,), ({"w": V, "b": None},))
    np.testing.assert_allclose(y_dot["s"], V * 2.0)
    np.testing.assert_allclose(y_dot["t"][0], 0.0)
    q, q_dot = jvp(lambda p: Pair(p.b * p.b, p.a), (Pair(1.0, 3.0),), (Pair(None, 2.0),))
    assert q == Pair(9.0, 1.0)
    assert q_dot == Pair(12.0, 0.0)


def test_objects():
    """The tangent of an object is a Tangent of its fields; it may be given as a dict or an object of the class, too."""
    layer, x = Layer(np.eye(3), np.zeros(3)), X
    expected = (1 - np.tanh(X) ** 2) * V
    for tangent in (Tangent(Layer, w=None, b=V), {"b": V}, Layer(np.zeros((3, 3)), V)):
        np.testing.assert_allclose(jvp(lambda m: m(x), (layer,), (tangent,))[1], expected)
    _, made_dot = jvp(lambda b: Layer(x, b * b), (X,), (V,))
    assert isinstance(made_dot, Tangent)
    np.testing.assert_allclose(made_dot.b, 2 * X * V)
    np.testing.assert_allclose(made_dot.w, 0.0)


def test_a_captured_variable_is_a_constant():
    """The direction is one of the arguments alone."""
    a = 3.0
    assert jvp(lambda x: a * x, (2.0,), (1.0,)) == (6.0, 3.0)


def test_methods_and_marked_functions():
    """What `gradient` takes, `jvp` takes."""
    np.testing.assert_allclose(jvp(Layer(np.eye(3), 0.0).__call__, (X,), (V,))[1], (1 - np.tanh(X) ** 2) * V)
    assert jvp(differentiable(cubes), (2.0,), (1.0,)) == (8.0, 12.0)
    np.testing.assert_allclose(jvp(np.sin, (X,), (V,))[1], np.cos(X) * V)


def filled(x, y):
    y[1:] = x[1:] * 2.0
    y[0] *= x[0]
    return np.sum(y * y)


def test_writes_into_arguments():
    """The caller's array changes as in a plain call, the given tangent does not."""
    y, v = np.array([3.0, 4.0, 5.0]), np.ones(3)
    value, tangent = jvp(filled, (X, y), (V, v))
    np.testing.assert_allclose(y, [3 * X[0], *(2 * X[1:])])
    np.testing.assert_allclose(value, np.sum(y * y))
    np.testing.assert_allclose(tangent, 2 * y[0] * (X[0] + 3 * V[0]) + np.sum(8 * X[1:] * V[1:]))
    np.testing.assert_array_equal(v, np.ones(3))


def test_results_share_no_memory_with_tangents():
    """A tangent that comes back may be written into."""
    v = V.copy()
    _, y_dot = jvp(lambda x: x, (X,), (v,))
    y_dot[:] = 0.0
    np.testing.assert_array_equal(v, V)


@pytest.mark.parametrize(
    ("primal", "tangent"),
    [(X, np.ones(2)), (X, 1.0), (2.0, X), (X, 1j * X), ({"a": 1.0}, {"b": 1.0}), ([1.0], [1.0, 2.0]), (3, 1.0)],
)
def test_a_tangent_that_does_not_fit(primal, tangent):
    """Another shape, structure or kind of numbers is an error that names both."""
    with pytest.raises(TangentError, match="tangent"):
        jvp(lambda x: x, (primal,), (tangent,))


def test_one_tangent_for_each_argument():
    """Their number must agree."""
    with pytest.raises(TangentError, match="2 primals and 1 tangents"):
        jvp(lambda x, y: x, (1.0, 2.0), (1.0,))


CACHE: dict[str, Any] = {}


def through_a_global(x):
    CACHE["x"] = x * 2.0
    return CACHE["x"] * x


def test_a_global_container_is_refused():
    """What is put where others would find it without its tangent is refused with the user's line."""
    with pytest.raises((MutationError, UnsupportedSyntaxError), match=r"outside|global") as caught:
        jvp(through_a_global, (2.0,), (1.0,))
    assert "test_jvp.py" in str(caught.value)


def generated(x):
    yield x


def test_generators_are_refused():
    """A generator is refused, with advice."""
    with pytest.raises(DifferentiationError, match="list"):
        jvp(lambda x: sum(generated(x)), (2.0,), (1.0,))


def plus_one(x):
    raise AssertionError("the rule comes first")


def test_rules_of_users():
    """A forward rule and partial derivatives come before the source."""

    def shifted(x):
        return x

    @frule(shifted)
    def shifted_rule(tangents, x):
        return x + 1.0, 10.0 * tangents[0]

    assert jvp(lambda x: shifted(x) * x, (2.0,), (1.0,)) == (6.0, 23.0)

    def halved(x):
        return 0.5 * x

    scalar_rule(halved, lambda x: 7.0)
    assert jvp(halved, (2.0,), (1.0,)) == (1.0, 7.0)


def test_exceptions_are_those_of_the_function():
    """What the function raises comes out as it is."""

    def f(x):
        if x > 1.0:
            raise ValueError("too large")
        return x

    with pytest.raises(ValueError, match="too large"):
        jvp(f, (2.0,), (1.0,))
