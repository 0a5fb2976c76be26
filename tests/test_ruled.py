"""Functions that have a rule, differentiated directly: `gradient(np.sum)`."""

import math
import operator

import numpy as np
import pytest

from adcompiler import (
    NoRuleError,
    NotScalarError,
    TangentError,
    check_gradient,
    differentiable,
    gradient,
    non_differentiable,
    opt_out,
    pullback,
    rrule,
    value_and_grad,
)
from tests.differences import assert_close, numerical_gradient

X = np.array([0.5, -1.5, 2.0])
M = np.array([[2.0, 1.0], [0.5, 3.0]])


@pytest.mark.parametrize(
    ("f", "x"),
    [
        *[(f, X) for f in (np.sum, np.mean, np.max, np.min, np.prod, np.linalg.norm, np.var, np.std, np.median)],
        *[(f, M) for f in (np.linalg.det, np.linalg.norm, np.trace, np.sum)],
        *[(f, 0.7) for f in (np.sin, np.tanh, math.exp, abs, operator.neg)],
        (sum, [1.0, 2.0]),
        (max, [1.0, 2.0]),
        (np.add.reduce, X),
        (np.sum, X.astype(np.float32)),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_gradient_of_a_function_of_numpy(f, x):
    """As of a function that calls it."""
    value, grad = value_and_grad(f)(x)
    assert f(x) == value
    expected = gradient(lambda x: f(x))(x)
    assert_close((grad,), (expected,), 1e-12, 1e-12)
    assert_close((gradient(f)(x),), (expected,), 1e-12, 1e-12)
    if getattr(x, "dtype", None) != np.float32:
        assert_close((grad,), numerical_gradient(lambda moved: float(f(*moved)), (x,)), 1e-6, 1e-7)


def test_arguments():
    """Positions, names, several, keywords, and arguments of which there may be any number."""
    a, b = X, X + 1.0
    first, second = gradient(np.dot, (0, 1))(a, b)
    np.testing.assert_array_equal(b, first)
    np.testing.assert_array_equal(a, second)
    np.testing.assert_array_equal(b, gradient(np.dot, "a")(a, b=b))
    np.testing.assert_array_equal(a, gradient(np.dot, "b")(a, b=b))
    np.testing.assert_array_equal(np.ones(3), gradient(np.sum)(a, axis=0))
    assert (0.0, 1.0) == gradient(max, (0, 1))(1.0, 2.0)
    (only,) = gradient(np.sum, (0,))(a)
    np.testing.assert_array_equal(np.ones(3), only)


def test_aux():
    """A pair whose first part is the value."""
    (value, _), grad = value_and_grad(divmod_like, has_aux=True)(3.0)
    assert (9.0, 6.0) == (value, grad)


def divmod_like(x):
    return x * x, "aux"


@rrule(divmod_like)
def divmod_rule(x):
    y = divmod_like(x)

    def pullback(y_bar):
        return (y_bar[0] * 2.0 * x,)

    return y, pullback


def test_memory_is_the_callers():
    """The gradient shares memory with nothing, although the rule's pullback gives what it was given."""
    y, back = pullback(np.add, X, X)
    seed = np.ones(3)
    a, b = back(seed)
    a += 1.0
    np.testing.assert_array_equal(np.ones(3), b)
    np.testing.assert_array_equal(np.ones(3), seed)
    np.testing.assert_array_equal(2 * X, y)


def test_complaints():
    """Python's own where the call is wrong, else ours."""
    with pytest.raises(TypeError, match="missing"):
        gradient(np.dot)(X)
    with pytest.raises(TypeError, match="argnums"):
        gradient(np.dot, "c")
    with pytest.raises(NoRuleError, match=r"(?s)rule of sin does not take this call: .*'signature'.*another way"):
        gradient(np.sin)(0.5, signature="d->d")
    with pytest.raises(TangentError, match="'a' is an array of int64"):
        gradient(np.sum)(np.arange(3))
    with pytest.raises(NotScalarError, match="shape"):
        gradient(np.sin)(X)
    with pytest.raises(TangentError, match="declared without derivative"):
        gradient(differentiable(np.dot, nondiff=("b",)), "b")
    assert (None,) == pullback(differentiable(np.dot, nondiff=("b",)), X, X)[1](1.0)[1:]


class TestFunctionsInPython:
    """Rules come before source, also for the function that is differentiated itself."""

    def test_rule_before_source(self):
        """From the next call on, also where the function was compiled before."""

        def rounded(x):
            return np.round(x * 8.0) / 8.0

        df = gradient(rounded)
        assert 0.0 == df(0.3)

        @rrule(rounded)
        def straight_through(x):
            return rounded(x), lambda y_bar: (y_bar,)

        assert 1.0 == df(0.3) == gradient(rounded)(0.3) == gradient(lambda x: rounded(x))(0.3)
        assert (1.0,) == pullback(rounded, 0.3)[1](1.0)
        assert (1.0,) == pullback(rounded, 0.3, single_use=True)[1](1.0)
        assert (0.25, 1.0) == value_and_grad(rounded)(0.3)

    def test_declared_without_derivative(self):
        """The same for `non_differentiable`."""

        def bucket(x):
            return x * 2.0

        df = gradient(bucket)
        assert 2.0 == df(0.3)
        non_differentiable(bucket)
        assert 0.0 == df(0.3)

    def test_opt_out_and_decline(self):
        """Where no rule holds for the arguments, the source is read."""

        class Mine(np.ndarray):
            pass

        def f(x, n=1):
            return np.sum(np.asarray(x) * 2.0)

        @rrule(f)
        def rule(x, n=1):
            if n == 2:
                return NotImplemented
            return f(x), lambda y_bar: (y_bar * np.full(3, 5.0), None)

        np.testing.assert_array_equal(np.full(3, 5.0), gradient(f)(X))
        np.testing.assert_array_equal(np.full(3, 2.0), gradient(f)(X, 2))
        opt_out(f, np.ndarray)
        np.testing.assert_array_equal(np.full(3, 2.0), gradient(f)(X))
        check_gradient(f, X)
