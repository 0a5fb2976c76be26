"""Delayed cotangents of users' rules: computed at most once, only if needed, and seen by nobody."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

from adcompiler import (
    NO_TANGENT,
    DifferentiationError,
    NotImplementedTangent,
    Tangent,
    Thunk,
    gradient,
    pullback,
    rrule,
    value_and_grad,
)
from tests.promises import MODES

X = np.array([0.5, -1.5, 2.0])
COUNTS = {}


@pytest.fixture(autouse=True)
def counts():
    """Every test counts anew."""
    COUNTS.clear()
    return COUNTS


def counted(name, value):
    """A thunk that counts how often it is computed."""

    def compute():
        COUNTS[name] = COUNTS.get(name, 0) + 1
        return value() if callable(value) else value

    return Thunk(compute)


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Point:
    x: Any
    y: Any


def assert_no_thunk(value):
    """Nothing in a structure is a thunk."""
    assert not isinstance(value, Thunk)
    if isinstance(value, dict | Tangent):
        for _, entry in value.items():
            assert_no_thunk(entry)
    elif isinstance(value, tuple | list):
        for entry in value:
            assert_no_thunk(entry)


# --- for any argument -------------------------------------------------------------------------------------


def product(a, b):
    return a * b


@rrule(product)
def product_rule(a, b):
    def pullback(y_bar):
        assert_no_thunk(y_bar)
        return counted("a", lambda: y_bar * b), counted("b", lambda: y_bar * a)

    return product(a, b), pullback


@pytest.mark.parametrize("mode", MODES)
def test_arguments(mode):
    """Sums of thunks, thunks that go on into other rules, and into the same one."""

    def f(x, z):
        y = product(x, z)
        return np.sum(product(y, y) + product(np.sin(x), 2.0) + x)

    y, back = MODES[mode](f, X, X + 1.0)
    z = X + 1.0
    np.testing.assert_allclose(np.sum(X**2 * z**2 + 2 * np.sin(X) + X), y)
    x_bar, z_bar = back(1.0)
    np.testing.assert_allclose(2 * X * z**2 + 2 * np.cos(X) + 1.0, x_bar)
    np.testing.assert_allclose(2 * X**2 * z, z_bar)
    assert {"a": 3, "b": 2} == COUNTS


@pytest.mark.parametrize("mode", MODES)
def test_what_is_not_needed_is_not_computed(mode):
    """An argument that is constant, or whose derivative nobody asked for."""
    _, back = MODES[mode](lambda x: np.sum(product(x, X)), X)
    np.testing.assert_array_equal(X, back(1.0)[0])
    assert {"a": 1} == COUNTS
    gradient(lambda x, z: np.sum(product(x, z)), "z")(X, X)
    assert {"a": 1, "b": 1} == COUNTS


def test_of_the_function_itself():
    """`gradient` of a function with a rule computes what is asked for only."""
    np.testing.assert_array_equal(2.0, gradient(product)(3.0, 2.0))
    assert {"a": 1} == COUNTS
    assert (6.0, (2.0, 3.0)) == value_and_grad(product, (0, 1))(3.0, 2.0)
    assert {"a": 2, "b": 1} == COUNTS
    _, back = pullback(product, 3.0, 2.0)
    assert (2.0, 3.0) == back(1.0) == back(1.0)
    assert {"a": 4, "b": 3} == COUNTS


def shared(a, b):
    return a + b


@rrule(shared)
def shared_rule(a, b):
    def pullback(y_bar):
        both = counted("both", lambda: y_bar * np.ones(3))
        return both, both

    return shared(a, b), pullback


@pytest.mark.parametrize("mode", MODES)
def test_computed_at_most_once(mode):
    """One thunk for two arguments is computed once, and the results do not share memory."""
    _, back = MODES[mode](lambda x, z: np.sum(shared(x, z)), X, X)
    x_bar, z_bar = back(1.0)
    assert {"both": 1} == COUNTS
    assert not np.shares_memory(x_bar, z_bar)


# --- at any depth -----------------------------------------------------------------------------------------


def weigh(p):
    return np.sum(p["w"][0] * p["w"][1]) + p["b"][0]


@rrule(weigh)
def weigh_rule(p):
    def pullback(y_bar):
        w = [counted("w0", lambda: y_bar * p["w"][1]), counted("w1", lambda: counted("inner", y_bar * p["w"][0]))]
        return (counted("all", lambda: {"w": w, "b": (counted("b", y_bar), counted("n", None))}),)

    return weigh(p), pullback


@pytest.mark.parametrize("mode", MODES)
def test_structures(mode):
    """Thunks in lists in a dict, one in another, and around it all."""
    p = {"w": [X, X + 1.0], "b": (2.0, 3)}
    _, back = MODES[mode](lambda p: weigh(p) * 2.0, p)
    (grad,) = back(1.0)
    assert_no_thunk(grad)
    np.testing.assert_array_equal(2 * X + 2.0, grad["w"][0])
    np.testing.assert_array_equal(2 * X, grad["w"][1])
    assert (2.0, None) == grad["b"]
    assert {"all": 1, "w0": 1, "w1": 1, "inner": 1, "b": 1} == {k: v for k, v in COUNTS.items() if k != "n"}


@pytest.mark.parametrize("mode", MODES)
def test_structure_of_which_one_entry_is_used(mode):
    """The other entries go nowhere, and no thunk comes out (Zygote's bug 1551)."""

    def f(x):
        return weigh({"w": [x, X], "b": (2.0, 3)})

    _, back = MODES[mode](f, X)
    (x_bar,) = back(1.0)
    np.testing.assert_array_equal(X, x_bar)


def first(pair):
    return pair.a * 1.0


@rrule(first)
def first_rule(pair):
    def pullback(y_bar):
        return (Pair(counted("a", y_bar), None),)

    return first(pair), pullback


def test_named_tuples():
    """A struct of which only one field was used."""
    _, back = pullback(first, Pair(2.0, 3.0))
    assert (Pair(1.0, None),) == back(1.0)
    assert {"a": 1} == COUNTS


def norm2(point):
    return point.x**2 + point.y**2


@rrule(norm2)
def norm2_rule(point):
    def pullback(y_bar):
        x = counted("x", 2 * y_bar * point.x)
        return (Point(x, counted("y", 2 * y_bar * point.y)) if point.y else Tangent(Point, x=x),)

    return norm2(point), pullback


@pytest.mark.parametrize("y", [4.0, 0.0])
def test_objects(y):
    """A dataclass or a Tangent of thunks; the result is a Tangent."""
    _, back = pullback(norm2, Point(3.0, y))
    (grad,) = back(1.0)
    assert isinstance(grad, Tangent)
    assert_no_thunk(grad)
    assert (6.0, 2 * y if y else None) == (grad.x, grad["y"])


# --- rules that are inlined -------------------------------------------------------------------------------


def helped(a, b):
    return a * b


def late(name, value):
    return counted(name, value)


def late_dict(value):
    return {"v": counted("v", value)}


@rrule(helped)
def helped_rule(a, b):
    y = helped(a, b)

    def pullback(y_bar):
        return late("a", y_bar * b), late("b", y_bar * a)

    return y, pullback


def unpacked(d, b):
    return d["v"] * b


@rrule(unpacked)
def unpacked_rule(d, b):
    y = unpacked(d, b)

    def pullback(y_bar):
        d_bar = late_dict(y_bar * b)
        return d_bar, y_bar * d["v"]

    return y, pullback


@pytest.mark.parametrize("mode", MODES)
def test_inlined_rules(mode):
    """A rule without a lambda in it is part of the generated text; its helpers may return thunks."""

    def f(x, z):
        return np.sum(helped(x, z) * np.cos(helped(x, 2.0)) + unpacked({"v": x}, 3.0))

    z = X + 1.0
    _, back = MODES[mode](f, X, z)
    x_bar, z_bar = back(1.0)
    np.testing.assert_allclose(z * np.cos(2 * X) - 2 * X * z * np.sin(2 * X) + 3.0, x_bar)
    np.testing.assert_allclose(X * np.cos(2 * X), z_bar)
    assert {"a": 2, "b": 1, "v": 1} == COUNTS


# --- other arguments --------------------------------------------------------------------------------------


def variadic(scale, *xs, **more):
    return scale * sum(xs) + sum(more.values())


@rrule(variadic)
def variadic_rule(scale, *xs, **more):
    def pullback(y_bar):
        return (
            counted("scale", lambda: y_bar * sum(xs)),
            counted("xs", lambda: tuple(counted(f"x{i}", y_bar * scale) for i in range(len(xs)))),
            {name: counted(name, y_bar) for name in more},
        )

    return variadic(scale, *xs, **more), pullback


def test_any_number_of_arguments():
    """Thunks for `*args` as a whole and one by one, and for keywords; of a pullback called twice they are new."""
    _, back = pullback(variadic, 2.0, 3.0, 4)
    assert (7.0, 2.0, None) == back(1.0) == back(1.0)
    assert {"scale": 2, "xs": 2, "x0": 2} == COUNTS
    assert 5.0 == gradient(lambda x: variadic(2.0, x, x, k=x))(1.0)


def test_seeds_may_hold_thunks():
    """What a caller passes on from elsewhere; an entry for a constant is not computed."""
    _, back = pullback(lambda x: (x * 2.0, [x * 3.0, 4]), 1.0)
    assert (8.0,) == back((Thunk(lambda: 1.0), [Thunk(lambda: Thunk(lambda: 2.0)), counted("int", 1.0)]))
    assert {} == COUNTS


def test_errors_come_when_the_thunk_is_computed():
    """An exception inside passes unchanged; what is not implemented is refused only if it is asked for."""

    def f(a, b):
        return a * b

    @rrule(f)
    def rule(a, b):
        def pullback(y_bar):
            return Thunk(lambda: 1 / 0), Thunk(lambda: NotImplementedTangent("not yet"))

        return f(a, b), pullback

    with pytest.raises(ZeroDivisionError):
        gradient(f)(2.0, 3.0)
    with pytest.raises(DifferentiationError, match="not implemented: not yet"):
        gradient(f, 1)(2.0, 3.0)
    with pytest.raises(DifferentiationError, match="not implemented: not yet"):
        gradient(lambda x: f(2.0, x))(3.0)


def test_no_tangent_beside_a_thunk():
    """The two go together."""

    def f(x, n):
        return x**n

    @rrule(f)
    def rule(x, n):
        def pullback(y_bar):
            return counted("x", n * y_bar * x ** (n - 1)), NO_TANGENT

        return f(x, n), pullback

    assert 12.0 == gradient(lambda x: f(x, 3))(2.0)
    assert (12.0, None) == pullback(f, 2.0, 3)[1](1.0)
    assert {"x": 2} == COUNTS
