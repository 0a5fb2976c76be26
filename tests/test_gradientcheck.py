"""`check_gradient` in forward mode and of second order, on what the compiler makes."""

from dataclasses import dataclass

import numpy as np
import pytest

from adcompiler import check_gradient, frule, gradient, jvp, pullback, rrule

X = np.array([0.5, 1.2, -0.7])
BOTH = ("reverse", "forward")


@dataclass
class Model:
    """An object with an array."""

    w: object
    name: str = "model"


def tripled(x):
    """Three times x, with a pullback that is right and a forward rule that is not."""
    return x * 3


@rrule(tripled)
def tripled_(x):
    return x * 3, lambda y_bar: (3 * y_bar,)


@frule(tripled)
def tripled_forward(tangents, x):
    return x * 3, tangents[0] * (3 + 0.3 * x)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x: np.sum(np.sin(x) * x[0]), (X,)),
        (lambda x, y: x * y[:2, None], (X, np.ones(4))),
        (lambda p, s: np.sum(p["w"] @ p["b"][0]) * s, ({"w": np.ones((2, 2)), "b": [np.ones(2), 3]}, 2.0)),
        (lambda z: np.sum(abs(z) ** 2 * z.real), (X + 1j,)),
        (lambda x: {"a": x * x, "b": (x.sum(), 3)}, (X,)),
        (lambda x: np.sum(np.tanh(x)), (X.astype(np.float32),)),
        (lambda m, x: np.sum(m.w**3 * x), (Model(X), X)),
        (lambda x: x**3 * 2.0, (np.array(1.5),)),
    ],
    ids=["array", "two", "containers", "complex", "result", "single", "object", "0-d"],
)
def test_right_derivatives_pass(f, args):
    """Of first and second order, in both modes, for every structure of arguments and results."""
    check_gradient(f, *args, order=2, modes=BOTH)


def test_keywords_are_held():
    """They are passed on in every evaluation."""
    check_gradient(lambda x, k=2.0: np.sum(x**3) * k, X, k=3.0, order=2, modes=BOTH)


def test_a_wrong_tangent_is_found():
    """In mode forward only: the pullback is right."""
    check_gradient(lambda x: np.sum(tripled(x)), X)
    with pytest.raises(AssertionError, match=r"^wrong tangent of <lambda> at args\[0\]\[1\]: expected 3 .*3\.36\n3 of"):
        check_gradient(lambda x: np.sum(tripled(x)), X, modes="forward")


def test_a_wrong_second_derivative_is_found():
    """The table names both coordinates."""
    with pytest.raises(AssertionError) as caught:
        check_gradient(lambda x: np.sum(tripled(x) ** 2), X, order=2)
    head, _, columns, worst = str(caught.value).splitlines()[:4]
    assert head.startswith("wrong second derivative of <lambda> at args[0][1] and args[0][1]: expected 18 by central")
    assert columns.split() == ["argument", "entry"] * 2 + ["expected", "got", "relative", "difference"]
    assert worst.split()[:5] == ["args[0]", "[1]", "args[0]", "[1]", "18"]


@pytest.mark.parametrize(("order", "modes"), [(3, ("reverse",)), (1, ()), (1, ("backward",))])
def test_what_it_does_not_know(order, modes):
    """Other orders and modes are refused."""
    with pytest.raises(ValueError, match="order 1 and 2 and the modes"):
        check_gradient(lambda x: x, 1.0, order=order, modes=modes)


def test_gradients_of_objects_as_results():
    """A gradient that is returned is a value as others: its cotangent and its tangent have the object's fields."""

    def slope(m):
        return gradient(lambda m: np.sum(m.w**3))(m)

    y, back = pullback(slope, Model(X))
    np.testing.assert_allclose(y.w, 3 * X**2)
    np.testing.assert_allclose(back({"w": np.ones(3)})[0].w, 6 * X)
    np.testing.assert_allclose(back(y)[0].w, 18 * X**3)
    y, y_dot = jvp(slope, (Model(X),), ({"w": np.ones(3)},))
    np.testing.assert_allclose(y_dot.w, 6 * X)
    assert type(y) is type(y_dot)
