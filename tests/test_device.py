"""Programs on the double of CuPy's arrays: the derivatives of NumPy, and no array that stays behind."""

import functools
import gc

import numpy as np
import pytest

import tests.device as device
from adcompiler import MutationError, gradient, pullback, value_and_grad
from adcompiler.runtime import arrays
from adcompiler.vectors import random_like
from tests.corpus import SAMPLES
from tests.device.moved import assert_equal, check_types, device_arrays, on_device, on_host

A = 4096  # bytes of the arrays below


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """No reference cycle is broken up here; what compiles later in this process has not met the double."""
    monkeypatch.setattr(arrays, "_met", {"tests"})
    gc.collect()
    gc.freeze()  # what other tests have left is not looked at again
    gc.disable()
    yield
    gc.enable()


def made(value=1.5):
    """An array of `A` bytes."""
    return device.asarray(np.full(A // 8, value))


# Programs


def runs_on(function, args, kwargs):
    """The value of the plain program on the double; None if it does not take arrays of a device."""
    try:
        return function(*args, **kwargs), True
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        return error, False


ON_ARRAYS = [s for s in SAMPLES if any(True for _ in device_arrays(on_device(s.arguments())))]


def left_by(call):
    """How many bytes remain in the pool after a call, of which nothing is kept."""
    before = device.pool.used
    call()
    return device.pool.used - before


@pytest.mark.parametrize("sample", ON_ARRAYS, ids=lambda s: s.id)
def test_corpus(sample):
    """Values and gradients are those of NumPy, of the double's class; a call leaves no array behind."""
    plain_args, plain_kwargs = sample.arguments()
    value, taken = runs_on(sample.function, *on_device(sample.arguments()))
    if not taken:
        pytest.skip(f"{type(value).__name__}: {value}")
    wanted, back = pullback(sample.function, *plain_args, **plain_kwargs)
    seed = random_like(wanted, np.random.default_rng(5))
    grads = back(seed)

    def call(single_use):
        args, kwargs = on_device(sample.arguments())
        y, back = pullback(sample.function, *args, single_use=single_use, **kwargs)
        assert_equal(on_host(y), wanted, 1e-9)
        for _ in range(1 if single_use else 2):
            found = back(on_device(seed))
            for grad, arg, expected_grad in zip(found, args, grads, strict=True):
                check_types(grad, arg)
                assert_equal(on_host(grad), expected_grad, tolerance(args))

    for single_use in (False, True):
        call(single_use)
        own = left_by(lambda: sample.function(*(given := on_device(sample.arguments()))[0], **given[1]))
        assert left_by(functools.partial(call, single_use)) <= own, "arrays are left behind"


def tolerance(args):
    """What the dtypes of arguments allow."""
    return 1e-4 if any(x.dtype.name in ("float32", "complex64") for x in device_arrays(args)) else 1e-9


def test_most_of_the_corpus_runs():
    """The double takes most programs that have arrays for arguments."""
    taken = [runs_on(s.function, *on_device(s.arguments()))[1] for s in ON_ARRAYS]
    assert sum(taken) >= 0.7 * len(taken) > 50


# Programs of more than one operation


def in_place(x, t):
    y = x * 2.0
    y[0] = t[0]
    y[1:] *= x[1:]
    y += y
    np.multiply(y, x, out=y)
    row = y[1]
    row += t[1]
    return np.sum(y * y)


class Layer:
    """An object that is called, with a parameter, and that keeps what it computed."""

    def __init__(self, w):
        self.w = w
        self.last = None

    def __call__(self, h):
        self.last = np.tanh(h * self.w)
        return self.last


def of_objects(x, t):
    layers = [Layer(x), Layer(t)]
    h = x
    for layer in layers:
        h = layer(h)
    return layers[0].last.sum() * np.sum(h) * len(layers) * layers[1].w.T.dot(x).sum()


def last_of_a_list(x, t):
    rows = [x, t]
    return np.sum(rows[len(rows) - 1] ** 2) * rows[ord("b") - ord("a")].max()


X = np.array([[0.3, -0.7, 1.2], [1.3, 0.2, -0.4], [0.1, 0.9, 0.5]])
T = np.array([[0.5, 1.5, -0.5], [0.7, 0.6, 1.1], [-0.6, 0.8, 1.1]])


@pytest.mark.parametrize("program", [in_place, of_objects, last_of_a_list], ids=lambda f: f.__name__)
def test_program(program):
    """The derivatives of NumPy."""
    value, grads = value_and_grad(program, (0, 1))(X.copy(), T.copy())
    for mode in (False, True):
        y, back = pullback(program, *on_device((X, T)), single_use=mode)
        assert_equal(on_host(y), value, 1e-12)
        assert_equal(on_host(back(np.ones_like(y))), grads, 1e-9)


def test_an_element_is_a_place():
    """An element is a view: what is written into it is in the array, where NumPy makes a number."""

    def f(x, t):
        s = x[0, 1]
        s *= t[0, 0]
        return s * np.sum(x * x)

    def without(x, t):
        a, b = X[0, 1], T[0, 0]
        others = np.sum(X * X) - a * a
        return 3 * a**2 * b**3 + b * others, 3 * a**3 * b**2 + a * others  # of a b ((a b)^2 + others)

    x_bar, t_bar = gradient(f, (0, 1))(*on_device((X, T)))
    by_hand = without(X, T)
    assert float(x_bar[0, 1]) == pytest.approx(by_hand[0])
    assert float(t_bar[0, 0]) == pytest.approx(by_hand[1])
    assert float(x_bar[2, 2]) == pytest.approx(2 * X[0, 1] * T[0, 0] * X[2, 2])


# Arrays of other libraries


class Bare(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that has NumPy's protocols, and says nothing of where it lies; its module has no functions."""

    dtype = property(lambda self: self.plain.dtype)
    shape = property(lambda self: self.plain.shape)
    ndim = property(lambda self: self.plain.ndim)
    size = property(lambda self: self.plain.size)

    def __init__(self, plain):
        self.plain = plain

    def __len__(self):
        return len(self.plain)

    def __getitem__(self, index):
        return Bare(np.asarray(self.plain[index]))

    def __setitem__(self, index, value):
        self.plain[index] = getattr(value, "plain", value)

    def sum(self, *args, **kwargs):
        return np.sum(self, *args, **kwargs)

    def copy(self, order="C"):
        return Bare(self.plain.copy(order))

    def reshape(self, *shape):
        return Bare(self.plain.reshape(*shape))

    def astype(self, dtype):
        return Bare(self.plain.astype(dtype))

    def conjugate(self):
        return self

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        out = kwargs.get("out")
        kwargs = {k: tuple(map(_plain, v)) if k == "out" else _plain(v) for k, v in kwargs.items()}
        found = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        return _bare(found) if out is None else out[0]

    def __array_function__(self, func, types, args, kwargs):
        return _bare(func(*map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()}))


def _plain(x):
    return [_plain(y) for y in x] if isinstance(x, (list, tuple)) else getattr(x, "plain", x)


def _bare(x):
    return Bare(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x


def rows_of(x, t):
    total = 0.0
    for i in range(len(x)):
        total = total + np.sum(x[i] * np.tanh(t[i])) * x[i].sum()
    return total * np.mean(np.where(x > t, x, t)) + np.sum(np.concatenate([x, t]) ** 2) + np.sum(x[[0, 1, 1]])


def test_a_library_of_which_nothing_is_known():
    """Arrays are made by NumPy's functions like those that are there; nothing of CuPy's is needed."""
    value, grads = value_and_grad(rows_of, (0, 1))(X, T)
    y, found = value_and_grad(rows_of, (0, 1))(Bare(X), Bare(T))
    assert y.plain == pytest.approx(value)
    for actual, wanted in zip(found, grads, strict=True):
        assert type(actual) is Bare
        np.testing.assert_allclose(actual.plain, wanted, 1e-9)


def test_writes_into_what_does_not_say_where_it_lies():
    """Whether `y` is a view of another array cannot be known."""

    def f(x):
        y = x * 2.0
        y[0] = x[1]
        return np.sum(y * y)

    with pytest.raises(MutationError, match="does not say where its elements lie"):
        gradient(f)(Bare(X))


class Labelled(Bare):
    """A class that another package makes of an array of this library."""

    __module__ = "elsewhere"


def test_a_subclass_of_another_library():
    """Its operators may mean something else: as with subclasses of NumPy's arrays, no rule holds."""
    assert not arrays.is_library_class(Labelled)
    assert arrays.is_library_class(Bare)


# What is kept


class Model:
    """An object with a method."""

    def __init__(self, w):
        self.w = w

    def loss(self, x):
        return np.sum(np.tanh(x @ self.w))


def apply(f, x):
    return f(x)


def in_dict(p, x):
    return np.sum(x @ p["w"])


def in_list(ws, x):
    return sum([np.sum(x @ w) for w in ws])


CALLS = {
    "a dict": lambda w, x: value_and_grad(in_dict, (0, 1))({"w": w}, x),
    "a list": lambda w, x: value_and_grad(in_list, (0, 1))([w, w * 2.0], x),
    "an object": lambda w, x: value_and_grad(Model.loss, (0, 1))(Model(w), x),
    "a bound method": lambda w, x: value_and_grad(Model(w).loss)(x),
    "a pullback": lambda w, x: pullback(Model.loss, Model(w), x),
    "a function with captured arrays": lambda w, x: pullback(apply, lambda y: np.sum(y @ w), x)[1](None),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_first_call_keeps_nothing(call):
    """What is compiled for the first call of a function keeps none of its arguments."""
    before = device.pool.used
    call(made().reshape(-1, 2), made(0.5).reshape(2, -1))
    assert device.pool.used == before
