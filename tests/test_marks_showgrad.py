"""`showgrad(x)` and `is_differentiating()`."""

import numpy as np
import pytest

import adcompiler
from adcompiler import MutationError, checkpoint, gradient, is_differentiating, pullback, showgrad, value_and_grad

X = np.array([1.0, 2.0])


def lines(capsys):
    return capsys.readouterr().out.splitlines()


def test_it_prints_expression_place_and_cotangent(capsys):
    """In the order of the pullback, one line for each use."""

    def f(a, b):
        y = showgrad(a * b) * 3.0
        return np.sum(y + adcompiler.showgrad(np.sqrt(a)))

    value, found = value_and_grad(f)(X, X)
    first = f.__code__.co_firstlineno + 1
    assert value == np.sum(3 * X * X + np.sqrt(X))
    np.testing.assert_allclose(found, 3 * X + 0.5 / np.sqrt(X))
    assert lines(capsys) == [
        f"showgrad(np.sqrt(a)) at test_marks_showgrad.py:{first + 1}: [1. 1.]",
        f"showgrad(a * b) at test_marks_showgrad.py:{first}: [3. 3.]",
    ]


def test_a_plain_call_prints_nothing(capsys):
    """The value is the argument itself."""
    assert showgrad(X) is X
    assert lines(capsys) == []


def test_numbers_structures_and_what_has_no_influence(capsys):
    """A float, a dict with None for what is not used; nothing for a use that no cotangent reaches."""

    def f(x, p):
        showgrad(x)
        return showgrad(x) * showgrad(p)["a"]

    back = pullback(f, 2.0, {"a": 3.0, "b": 1.0})[1]
    assert lines(capsys) == []
    assert back(1.0) == (3.0, {"a": 2.0, "b": None})
    printed = [line.split(": ", 1)[1] for line in lines(capsys)]
    assert sorted(printed) == ["3.0", "{'a': 2.0, 'b': None}"]


def test_found_at_run_time_and_at_the_top(capsys):
    """As a function that is passed on there is no expression to show."""
    gradient(lambda f, x: f(x) * 2, 1)(showgrad, 1.0)
    assert gradient(showgrad)(3.0) == 1.0
    assert all(line.startswith("showgrad(") for line in lines(capsys))


def test_an_array_that_is_written_into_is_refused():
    """There is no cotangent of this use alone, as with `hook`."""

    def f(x):
        y = x * 2
        z = showgrad(y)
        y[0] = 0.0
        return np.sum(z)

    with pytest.raises(MutationError, match=r"showgrad\(\) of an array that is written into"):
        gradient(f)(X)


def helper(x):
    return x * 2 if is_differentiating() else x


def test_whether_a_derivative_is_taken():
    """False in a plain call, True in the forward, in what that calls, and under a checkpoint."""
    assert not is_differentiating()
    assert helper(1.0) == 1.0
    assert value_and_grad(helper)(1.0) == (2.0, 2.0)
    assert value_and_grad(lambda x: helper(x) * 3)(1.0) == (6.0, 6.0)
    assert value_and_grad(lambda x: checkpoint(helper)(x))(1.0) == (2.0, 2.0)
    assert not is_differentiating()


def test_it_is_a_constant_where_it_is_compiled():
    """The branch that is not taken needs no derivative."""

    def f(x):
        if is_differentiating():
            return x * x
        return float(str(x))

    assert gradient(f)(3.0) == 6.0
    assert f(3.0) == 3.0
