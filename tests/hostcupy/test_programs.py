"""Whole programs on arrays of CuPy: the gradients of the same program on NumPy's, as arrays of CuPy."""

import cupy
import numpy as np
import pytest

from adcompiler import NotScalarError, gradient, hook, pullback, tree_map, value_and_grad
from adcompiler.runtime.project import materialize
from adcompiler.runtime.walk import entries
from tests.hostcupy.arrays import on_device, on_host

RNG = np.random.default_rng(3)
X = RNG.standard_normal((5, 3))
T = RNG.standard_normal((5, 2))
PARAMS = {
    "layers": [
        {"W": RNG.standard_normal((3, 4)), "b": RNG.standard_normal(4)},
        {"W": RNG.standard_normal((4, 2)), "b": RNG.standard_normal(2)},
    ],
    "scale": 0.7,
}


class Model:
    """An object whose attributes are parameters."""

    def __init__(self, W, b, xp):
        self.W = W
        self.b = b
        self.xp = xp
        self.calls = 0

    def __call__(self, x):
        return self.xp.tanh(x @ self.W + self.b)

    def loss(self, x):
        return (self(x) ** 2).mean()


def network(params, x, t, xp):
    h = x
    for layer in params["layers"]:
        h = xp.tanh(h @ layer["W"] + layer["b"])
    return xp.mean((h * params["scale"] - t) ** 2)


def softmax(params, x, t, xp):
    z = x @ params["layers"][0]["W"] + params["layers"][0]["b"]
    z = z - xp.max(z, axis=1, keepdims=True)
    p = xp.exp(z) / xp.sum(xp.exp(z), axis=1, keepdims=True)
    return -xp.sum(xp.log(p[:, 0])) + xp.linalg.norm(params["layers"][1]["W"])


def loop(params, x, t, xp):
    W = params["layers"][0]["W"]
    state = xp.zeros(4)
    for i in range(x.shape[0]):
        state = xp.maximum(0.3 * state + x[i] @ W, -1.0)
        if i % 2 == 0:
            state = state * params["scale"]
    return state.sum()


def branches(params, x, t, xp):
    """A condition on the elements waits for the device, as it does in the program itself."""
    y = x.T @ t
    if y.sum() > 0:
        y = xp.sin(y)
    else:
        y = xp.cos(y) * params["scale"]
    n = 0
    while xp.sum(y * y) > 1e-2 and n < 4:
        y = y / 2
        n += 1
    return xp.sum(y * params["layers"][0]["W"][:, :2])


def pieces(params, x, t, xp):
    W, b = params["layers"][0]["W"], params["layers"][0]["b"]
    rows = [x[i, :2] * b[i] for i in range(4)]
    joined = xp.concatenate([xp.stack(rows), W[1:, 1:3]], axis=0)
    picked = W[xp.asarray([0, 0, 2])][:, ::-1].reshape(2, 6).T
    masked = xp.where(W > 0, W, 0.1 * W)
    return joined.sum() + (picked @ picked.T).trace() + masked.max() + abs(b).sum() + xp.einsum("ij,ij->", W, W)


def methods(params, x, t, xp):
    W = params["layers"][0]["W"]
    return (
        W.T.dot(x.T).ravel().cumsum().std() + W.mean(axis=0).prod() + W.astype(np.float32).sum() + W.clip(-1, 1).var()
    )


PROGRAMS = [network, softmax, loop, branches, pieces, methods]
LIBRARIES = {"its own functions": cupy, "functions of NumPy": np}


def check(actual, expected, x):
    """The numbers of NumPy, and where there is an array in `x` an array of CuPy of its shape and dtype."""
    children = entries(x)
    if children is not None:
        for key, child in children.items():
            check(actual[key], expected[key], child)
    elif isinstance(x, cupy.ndarray):
        assert type(actual) is cupy.ndarray
        assert (actual.shape, actual.dtype, actual.device) == (x.shape, x.dtype, x.device)
        np.testing.assert_allclose(actual.get(), expected, rtol=1e-9, atol=1e-12)
    elif isinstance(x, float):
        assert type(actual) is float
        assert actual == pytest.approx(expected)


@pytest.mark.parametrize("single_use", [False, True], ids=["reusable", "single use"])
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program, library, single_use):
    """Both modes, with CuPy's functions and with NumPy's on arrays of CuPy."""
    xp = LIBRARIES[library]
    if xp is np and program in (loop, pieces):
        pytest.skip("np.zeros and np.asarray make arrays on the host")
    _, back = pullback(lambda p, x: program(p, x, T, np), PARAMS, X)
    expected = materialize(back(1.0), (PARAMS, X))
    params, x, t = on_device((PARAMS, X, T))
    value, back = pullback(lambda p, x: program(p, x, t, xp), params, x, single_use=single_use)
    assert type(value) is cupy.ndarray
    for _ in range(1 if single_use else 2):
        for actual, wanted, argument in zip(back(cupy.ones(())), expected, (params, x), strict=True):
            check(materialize(actual, argument), wanted, argument)


def test_an_object():
    W, b = PARAMS["layers"][0]["W"], PARAMS["layers"][0]["b"]
    expected = gradient(Model.loss)(Model(W, b, np), X)
    actual = gradient(Model.loss)(Model(cupy.asarray(W), cupy.asarray(b), cupy), cupy.asarray(X))
    for name in ("W", "b"):
        check(actual[name], expected[name], cupy.asarray(getattr(Model(W, b, np), name)))


def test_training():
    """Some steps of gradient descent go the same way on both."""

    def trained(params, x, t, xp):
        step = value_and_grad(lambda p: network(p, x, t, xp))
        losses = []
        for _ in range(5):
            loss, grads = step(params)
            params = tree_map(lambda p, g: p - 0.1 * g, params, grads)
            losses.append(float(loss))
        return losses, params

    expected, there = trained(PARAMS, X, T, np)
    actual, here = trained(on_device(PARAMS), *on_device((X, T)), cupy)
    np.testing.assert_allclose(actual, expected, rtol=1e-9)
    np.testing.assert_allclose(here["layers"][0]["W"].get(), there["layers"][0]["W"], rtol=1e-9)
    assert expected[-1] < expected[0]


def test_the_value_of_a_gradient_is_a_number_on_the_device():
    value, grad = value_and_grad(lambda x: cupy.sum(x * x))(cupy.asarray(X))
    assert type(value) is type(grad) is cupy.ndarray
    assert value.shape == ()


def test_more_than_a_number_is_refused():
    with pytest.raises(NotScalarError, match="array of shape"):
        gradient(lambda x: x * x)(cupy.asarray(X))


def test_integers_have_no_derivative():
    with pytest.raises(TypeError, match="no derivative"):
        gradient(lambda x: cupy.sum(x))(cupy.asarray([1, 2]))


def test_an_argument_without_influence():
    grad = gradient(lambda x, y: cupy.sum(y))(cupy.asarray(X), cupy.asarray(T))
    assert type(grad) is cupy.ndarray
    assert not grad.get().any()


def test_gradients_share_no_memory():
    x = cupy.asarray(X)
    a, b = gradient(lambda x, y: cupy.sum(x + y), (0, 1))(x, x)
    a += 1
    np.testing.assert_array_equal(b.get(), np.ones_like(X))


def test_a_list_of_arrays_and_none():
    def f(xs):
        first, *rest = xs
        return cupy.sum(first * 2) + sum(cupy.sum(r * r) for r in rest[:1])

    xs = [cupy.asarray(X), cupy.asarray(T), cupy.asarray(T)]
    grads = gradient(f)(xs)
    np.testing.assert_allclose(on_host(grads[1]), 2 * T)
    assert grads[2] is None or not on_host(grads[2]).any()


def test_hooks_see_arrays_of_the_device():
    """What a hook sees and returns lives where the value lives, with its shape and dtype."""
    seen = []

    def doubled(g):
        seen.append(g)
        return 2 * g

    def f(x, xp):
        h = hook(doubled, xp.tanh(x))
        return xp.sum(h) + hook(seen.append, {"h": h})["h"][0, 0]

    x = X.astype(np.float32)
    g = gradient(f)(on_device(x), cupy)
    inside, outside = seen
    for c in (g, inside["h"], outside):
        assert isinstance(c, cupy.ndarray)
        assert (x.shape, x.dtype) == (c.shape, c.dtype)
    np.testing.assert_allclose(on_host(g), gradient(f)(x, np), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(on_host(outside), 1 + on_host(inside["h"]))
