"""Derivatives go to other processes as functions do: by name, or by what they were made from."""

import concurrent.futures
import copy
import functools
import multiprocessing
import pickle

import numpy as np
import pytest

from adcompiler import Tangent, differentiable, gradient, pullback, value_and_grad
from tests.differences import assert_same

X = np.array([0.5, -1.5, 2.0])


def square(x, scale=2.0):
    return np.sum(scale * x * x)


def with_aux(x):
    return np.sum(x**3), {"size": 3.0}


@differentiable
def decorated(x):
    return np.sum(np.sin(x))


@differentiable(nondiff=("scale",), single_use=False)
def with_options(x, scale):
    return np.sum(scale * x)


@gradient
def slope(x):
    return np.sum(np.exp(x))


@functools.partial(value_and_grad, argnums=(0, "y"))
def both(x, y):
    return np.sum(x * y)


class Model:
    """A namespace, as of a library that keeps its losses in classes."""

    @staticmethod
    def loss(x):
        return np.sum(np.cosh(x))

    @differentiable
    def marked(x):
        return np.sum(np.cos(x))


class Dense:
    """Its methods and itself are what is differentiated."""

    def __init__(self, w):
        self.w = w

    def loss(self, x):
        return np.sum(self.w * x * x)

    def __call__(self, x):
        return self.loss(x) * 2.0


dense = Dense(3.0)
wrapped = differentiable(square, nondiff=("scale",))
second = differentiable(differentiable(square), single_use=False)

TRANSFORMS = {
    "gradient": (gradient(square), (X,)),
    "argnums by name": (gradient(square, "scale"), (X, 3.0)),
    "several": (gradient(square, (0, 1)), (X, 3.0)),
    "value_and_grad": (value_and_grad(square), (X,)),
    "aux": (value_and_grad(with_aux, has_aux=True), (X,)),
    "of a decorated function": (gradient(decorated), (X,)),
    "of one with options": (gradient(with_options), (X, 2.0)),
    "of one that is wrapped under another name": (gradient(wrapped), (X,)),
    "decorator": (slope, (X,)),
    "decorator with arguments": (both, (X, X + 1.0)),
    "of a static method": (gradient(Model.loss), (X,)),
    "of a decorated static method": (gradient(Model.marked), (X,)),
    "of a function with a rule": (gradient(np.linalg.norm), (X,)),
    "of a ufunc": (value_and_grad(np.tanh), (0.5,)),
    "of a bound method": (gradient(dense.loss), (X,)),
    "of a callable object": (value_and_grad(dense), (X,)),
    "of a partial": (gradient(functools.partial(square, scale=5.0)), (X,)),
    "differentiable": (decorated, (X,)),
    "differentiable with options": (with_options, (X, 2.0)),
    "differentiable in a class": (Model.marked, (X,)),
    "differentiable under another name": (wrapped, (X,)),
    "differentiable of differentiable": (second, (X,)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_transforms_pickle(name, protocol):
    """Before and after they were compiled; the copy computes the same."""
    transform, args = TRANSFORMS[name]
    before = pickle.dumps(transform, protocol)
    expected = transform(*args)
    for data in (before, pickle.dumps(transform, protocol)):
        other = pickle.loads(data)
        assert type(other) is type(transform)
        assert transform.__name__ == other.__name__
        assert_same(other(*args), expected, name)


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_a_copy_is_the_function_itself(name, make):
    """As Python copies functions."""
    transform, _ = TRANSFORMS[name]
    assert transform is make(transform)


def test_options_survive():
    """What was declared holds in the copy too."""
    for function in (with_options, wrapped):
        other = pickle.loads(pickle.dumps(function))
        with pytest.raises(TypeError, match="declared without derivative"):
            gradient(other, "scale")
    assert "_pullback" in pickle.loads(pickle.dumps(wrapped)).source(X)
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_parts_of_larger_objects():
    """In containers and partials, which programs send to their workers."""
    task = {"step": functools.partial(gradient(square), scale=4.0), "start": X}
    other = pickle.loads(pickle.dumps(task))
    np.testing.assert_array_equal(8.0 * X, other["step"](other["start"]))
    assert task["step"].func is copy.deepcopy(task)["step"].func


def test_gradients_pickle():
    """A Tangent is data: its class by name, its fields by value."""
    tangent = Tangent(Model, w=X, nested=[{"b": None}, Tangent(Model, c=1.0)])
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert tangent == pickle.loads(pickle.dumps(tangent, protocol))
    clone = copy.deepcopy(tangent)
    assert tangent == clone
    assert clone.w is not tangent.w
    assert copy.copy(tangent).w is tangent.w


@pytest.mark.parametrize(
    "make",
    [lambda f: f, gradient, value_and_grad, differentiable],
    ids=["plain", "gradient", "value_and_grad", "marked"],
)
def test_what_has_no_name_is_refused_by_pickle(make):
    """With the message that pickle has for the function alone."""

    def local(x):
        return x * x

    for function in (local, lambda x: x * x):
        with pytest.raises((pickle.PicklingError, AttributeError), match=r"(?i)can't (get|pickle).*(local|lambda)"):
            pickle.dumps(make(function))


def work(transform, args):
    """What a worker does with a transform that it was sent."""
    return transform(*args)


def pulled(x):
    """A worker that differentiates by itself."""
    value, back = pullback(square, x)
    return value, back(1.0)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_process_pool(method):
    """A pool of processes computes the same, for every transform, by `submit` and by `map`."""
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        tasks = {name: pool.submit(work, *TRANSFORMS[name]) for name in TRANSFORMS}
        direct = pool.submit(gradient(square), X, scale=3.0)
        mapped = list(pool.map(gradient(square), [X, 2 * X, 3 * X]))
        back = pool.submit(pulled, X)
        for name, task in tasks.items():
            transform, args = TRANSFORMS[name]
            assert_same(task.result(120), transform(*args), name)
        np.testing.assert_array_equal(6.0 * X, direct.result(120))
        np.testing.assert_array_equal([4.0 * X, 8.0 * X, 12.0 * X], mapped)
        np.testing.assert_array_equal(4.0 * X, back.result(120)[1][0])


def test_errors_come_back_from_a_pool():
    """A refusal in a worker is the same refusal here."""
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        task = pool.submit(gradient(with_aux), X)
        with pytest.raises(Exception, match="one real number") as caught:
            task.result(120)
    assert "NotScalarError" == type(caught.value).__name__
    assert caught.value.origin.file == __file__
