"""Partials of functions and methods: as the function itself, with its name, line and parameters."""

import pickle
from functools import partial

import numpy as np
import pytest

from adcompiler import NotScalarError, TangentError, gradient, hessian, hvp, jacobian, jvp, pullback, value_and_grad

X = np.array([1.0, 2.0])


def scaled(a, x, b=1.0, *rest, k=2.0, **options):
    return np.sum(x**3) * a * b * k + sum(rest)


class Model:
    factor = 3.0

    def energy(self, a, x):
        return np.sum(x**2) * a * self.factor


def squares(x, y):
    return x * y


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (partial(scaled, 2.0), 12 * X**2),
        (partial(scaled, 2.0, k=1.0), 6 * X**2),
        (partial(partial(scaled, 2.0), k=1.0, other=None), 6 * X**2),
        (partial(Model().energy, 2.0), 12 * X),
        (partial(lambda *a: np.sum(a[0] * a[1] ** 2), X), 2 * X * X),
        (partial(np.dot, X), X),
    ],
)
def test_derivatives_of_partials(f, expected):
    """Every transform gives the derivative with respect to what is left."""
    np.testing.assert_allclose(gradient(f)(X), expected)
    np.testing.assert_allclose(value_and_grad(f)(X)[1], expected)
    np.testing.assert_allclose(pullback(f, X)[1](1.0)[0], expected)
    np.testing.assert_allclose(jacobian(f)(X), expected)
    np.testing.assert_allclose(jvp(f, (X,), (X,))[1], expected @ X)
    along = (gradient(f)(X * 1.001) - gradient(f)(X * 0.999)) / 0.002
    np.testing.assert_allclose(hvp(f, X, X), along, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(hessian(f)(X) @ X, along, rtol=1e-5, atol=1e-8)


def test_names_and_positions():
    """Positions count what is left, as Python does; what was given by name may be given anew, and differentiated."""
    np.testing.assert_allclose(gradient(partial(scaled, 2.0, k=1.0))(X, k=3.0), 18 * X**2)
    np.testing.assert_allclose(gradient(partial(scaled, k=1.0), 1)(2.0, X), 6 * X**2)
    assert gradient(partial(scaled, b=3.0))(2.0, X) == 54.0
    assert gradient(partial(scaled, 2.0, k=1.0), "k")(X) == 18.0
    np.testing.assert_allclose(gradient(partial(scaled, a=2.0), "x")(x=X), 12 * X**2)
    with pytest.raises(TypeError, match="out of range"):
        gradient(partial(scaled, a=2.0))
    with pytest.raises(TypeError, match="positional argument"):
        gradient(partial(squares, 1.0))(X, X)


@pytest.mark.parametrize("f", [partial(squares, 2.0), partial(squares, y=2.0)])
def test_messages_name_the_function(f):
    """Errors show the user's function, its line and its parameters."""
    with pytest.raises(NotScalarError, match=r"^squares returned an array(.|\n)*test_partials.py(.|\n)*def squares"):
        gradient(f)(X)
    with pytest.raises(TangentError, match=r"the argument '[xy]' is of type str(.|\n)*def squares"):
        gradient(f)("text")


def test_the_result_can_be_pickled():
    """The gradient of a partial goes to another process."""
    g = pickle.loads(pickle.dumps(gradient(partial(scaled, 2.0))))
    np.testing.assert_allclose(g(X), 12 * X**2)


def test_partials_inside():
    """A partial of what is differentiated may be made inside."""

    def outer(x):
        return np.sum(gradient(partial(scaled, x[0]))(x))

    # sum of 6 a x², with a the first entry
    np.testing.assert_allclose(gradient(outer)(X), 12 * X[0] * X + [np.sum(6 * X**2), 0.0])
