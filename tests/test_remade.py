"""Functions that are made anew in each step of a loop: compiled once, each with the values that it has captured."""

import gc
import weakref

import numpy as np
import pytest

from adcompiler import checkpoint, gradient, hvp, jacobian, jvp, pullback, value_and_grad
from adcompiler.variants import Variants

W = np.array([0.4, -0.7, 1.1])


def differences(f, x):
    """The gradient by central differences of fourth order."""
    steps = 1e-3 * np.eye(x.size)
    near, far = (np.array([f(x + k * d) - f(x - k * d) for d in steps]) / (2e-3 * k) for k in (1, 2))
    return (4 * near - far) / 3


def loss(w, x, y):
    return np.sum((np.tanh(x @ w) - y) ** 2)


def over_arrays(x, y, n):
    return lambda w: loss(w, x, y)


def with_helper(x, y, n):
    def helper(v):
        return v * y[0] + n

    def f(w):
        return np.sum(helper(w) ** 3)

    return f


def with_helper_and_its_variables(x, y, n):
    scale = y[1]

    def f(w):
        inner = lambda v: v * scale + x[0]
        return np.sum(inner(w) ** 2)

    return f


def with_count(x, y, n):
    def f(w):
        s = w[0]
        for i in range(n):
            s = s * w[i % 3] + y[0]
        return s

    return f


def with_flag(x, y, n):
    positive = n % 2 == 0

    def f(w):
        return np.sum(w**2 * y[0]) if positive else np.sum(w**3)

    return f


def with_written_array(x, y, n):
    out = np.zeros(3)

    def f(w):
        for i in range(3):
            out[i] = w[i] * x[0, i]
        return np.sum(out**2)

    return f


def with_containers(x, y, n):
    data = {"x": x, "rows": [y, n]}

    def f(w):
        return np.sum(data["x"] @ w) ** 2 * data["rows"][1] + data["rows"][0][0] * w[0]

    return f


def with_function(x, y, n):
    function = np.sin if n % 2 else np.cosh

    def f(w):
        return np.sum(function(w) * y[0])

    return f


def with_rebound(x, y, n):
    start = y[0]

    def f(w):
        total = start

        def add(v):
            nonlocal total
            total = total + v * y[1]

        add(w[0] ** 2)
        add(w[1] * w[0])
        return total * w[2]

    return f


def with_another_derivative(x, y, n):
    def f(w):
        inner = lambda v: np.sum(v**3 * y[0])
        return np.sum(gradient(inner)(w) * w)

    return f


def with_checkpoint(x, y, n):
    return lambda w: checkpoint(lambda v: np.sum(v**2 * y[0]))(w) * n


MAKERS = [
    over_arrays, with_helper, with_helper_and_its_variables, with_count, with_flag, with_written_array,
    with_containers, with_function, with_rebound, with_another_derivative, with_checkpoint,
]  # fmt: skip


def data(step):
    rng = np.random.default_rng(step)
    return rng.normal(size=(5, 3)), rng.normal(size=5), step


@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
def test_each_has_its_own_values(make):
    """Every derivative of each of several functions with one body is that of central differences."""
    functions = [make(*data(step)) for step in (2, 3, 4)]
    for f in [*functions, functions[0], *(make(*data(step)) for step in (5, 6))]:
        expected = differences(f, W)
        np.testing.assert_allclose(gradient(f)(W), expected, rtol=1e-6, atol=1e-8)
        value, grad = value_and_grad(f)(W)
        assert value == f(W)
        np.testing.assert_array_equal(grad, gradient(f)(W))
        np.testing.assert_allclose(pullback(f, W)[1](1.0)[0], expected, rtol=1e-6, atol=1e-8)
        if make is with_written_array:  # such writes are refused in forward mode
            continue
        np.testing.assert_allclose(jvp(f, (W,), (W,))[1], expected @ W, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(jacobian(f)(W), expected, rtol=1e-6, atol=1e-8)
        along = (gradient(f)(W * (1 + 1e-5)) - gradient(f)(W * (1 - 1e-5))) / 2e-5
        np.testing.assert_allclose(hvp(f, W, W), along, rtol=1e-4, atol=1e-6)


def test_pullbacks_of_several_live_at_a_time():
    """A pullback reads the variables of its own function."""
    steps = (2, 3, 4)
    backs = [pullback(with_rebound(*data(step)), W)[1] for step in steps]
    for step, back in reversed(list(zip(steps, backs, strict=True))):
        np.testing.assert_allclose(back(1.0)[0], differences(with_rebound(*data(step)), W), rtol=1e-6)


@pytest.mark.parametrize("make", [over_arrays, with_helper, with_count, with_containers], ids=lambda f: f.__name__)
def test_one_body_is_compiled_once(make, monkeypatch):
    """The second function costs no compilation, whatever derivative is asked for."""
    bodies = []
    compiled = Variants.compiled

    def counted(self, args, kwargs):
        bodies.append(self.function.__qualname__)
        return compiled(self, args, kwargs)

    def use(f):
        value_and_grad(f)(W), pullback(f, W), jvp(f, (W,), (W,)), hvp(f, W, W)

    use(make(*data(2)))
    monkeypatch.setattr(Variants, "compiled", counted)
    use(make(*data(3)))
    assert bodies == []


def scaled(values):
    return lambda w: np.sum(np.real(w * np.asarray(values)) ** 2)


def test_a_changed_kind_is_compiled_for_itself():
    """What another function has captured is of another kind: it does not fit."""
    for values in (2.0, np.array([1.0, 2.0, 3.0]), 1.0 + 0.5j, 3, [2.0, 3.0, 4.0], 2.5):
        expected = 2 * W * np.real(np.asarray(values)) ** 2
        np.testing.assert_allclose(gradient(scaled(values))(W), expected, rtol=1e-12)


def test_nothing_of_a_function_outlives_it():
    """What a function has captured is let go with it."""
    for step in (2, 3):
        x, y, _ = data(step)
        f = over_arrays(x, y, step)
        gradient(f)(W), hvp(f, W, W), pullback(f, W)
        gone = weakref.ref(x)
        del f, x
        gc.collect()
        assert gone() is None
