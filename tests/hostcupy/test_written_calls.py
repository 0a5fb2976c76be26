"""Programs that write into CuPy's arrays by functions of CuPy alone, and by NumPy's, and how often they wait."""

import functools

import cupy
import cupyx
import numpy as np
import pytest

from adcompiler import MutationError, gradient, pullback, value_and_grad
from tests.differences import numerical_gradient
from tests.hostcupy.install import install

X = np.array([0.3, -0.7, 1.2])
P = np.array([[1.3, 0.2, -0.4], [0.1, 0.9, 0.5], [-0.6, 0.8, 1.1]])


def programs(*fs):
    """The test is run with each function as `program`."""
    return pytest.mark.parametrize("program", fs, ids=lambda f: f.__name__)


def check(f, *args):
    """The gradient of a program that gives a number is that of central differences, as arrays on the device."""

    def plain(moved):
        return f(*map(cupy.asarray, moved)).get()

    wanted = [cupy.asarray(a) for a in args]
    value = f(*wanted)
    given = [cupy.asarray(a) for a in args]
    found, grads = value_and_grad(f, tuple(range(len(args))))(*given)
    np.testing.assert_array_equal(found.get(), value.get())
    for a, b in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(a.get(), b.get())
    for grad, wanted_grad, a in zip(grads, numerical_gradient(plain, args), given, strict=True):
        assert type(grad) is cupy.ndarray
        assert (grad.shape, grad.dtype, grad.device) == (a.shape, a.dtype, a.device)
        np.testing.assert_allclose(grad.get(), wanted_grad, 1e-6, 1e-7)


# Sums at positions


def scattered(x, p):
    y = cupy.zeros(4)
    cupyx.scatter_add(y, cupy.asarray([0, 0, 3]), x * x)
    y.scatter_add(cupy.asarray([1, 3, 1]), p[0] * x)
    cupyx.scatter_add(p, (slice(None), cupy.asarray([0, 2])), x[1:])
    return cupy.sum(y * y) * p.prod()


def scattered_by_name(x, p):
    cupyx.scatter_add(p, slices=cupy.asarray([0, 0]), value=x)
    cupyx.scatter_add(p, p > 0.6, x[0])
    cupyx.scatter_add(p, 1, p[2] * x)
    return cupy.sum(p * p)


def added_at(x, p):
    y = cupy.zeros_like(p)
    cupy.add.at(y, (cupy.asarray([0, 1, 0]), cupy.asarray([2, 2, 2])), x)
    cupy.add.at(x, cupy.asarray([0, 0]), y[:2, 2])
    return cupy.sum(y @ x * p)


@pytest.mark.filterwarnings("ignore:.*scatter_add")
@programs(scattered, scattered_by_name, added_at)
def test_sums(program):
    """An element that is named several times gets all the values."""
    check(program, X, P)


@pytest.mark.parametrize("function", [cupyx.scatter_max, cupyx.scatter_min], ids=lambda f: f.__name__)
def test_extremes(function):
    """Which of several values is kept is not followed."""

    def f(x, y):
        function(y, cupy.asarray([0, 0, 1]), x)
        return cupy.sum(y)

    with pytest.raises(Exception, match="writes into its first argument"):
        gradient(f)(cupy.asarray(X), cupy.zeros(3))


# Arrays of CuPy made and laid out in other ways


def shared_or_copied(x, p):
    a, b, c = cupy.array(x, copy=False), cupy.array(x), cupy.asarray(x)
    a[0] = p[0, 0]
    b[1] = p[1, 1] * a[0]
    c *= b
    d = cupy.asfortranarray(p)
    d[0] *= a
    e = cupy.ascontiguousarray(p)
    e[1] += c
    return cupy.sum(x * b) * cupy.sum(d * e * p)


def transposed_and_strided(x, p):
    q = p.T[::-1]
    q[1:, ::2] *= x[:2]
    q.ravel()[0] = 5.0
    r = q.reshape(-1)
    r[2] = x[1]
    f = cupy.zeros((3, 3), order="F")
    f[...] = p
    f.T[0] += x
    f.reshape(9, order="F")[4] = x[0] * x[1]
    return cupy.sum(p * q * f) + r.sum()


def swapped(x, p):
    x[0], x[1] = x[1] * 1.0, x[0] * 1.0
    p[0], p[2] = p[2].copy(), p[0].copy()
    x[::-1] *= p[0]
    x[1:] = x[:-1]
    return cupy.sum(p @ x * x)


def by_positions_on_the_host(x, p):
    y = p * 1.0
    y[[0, 2]] *= x
    y[np.array([1])] = x[1] * y[0]
    y[:, np.array([2, 0])] += x[:2]
    y[-1, [0, 1]] = 3.0 * x[2]
    return cupy.sum(y * y)


@programs(shared_or_copied, transposed_and_strided, swapped, by_positions_on_the_host)
def test_arrays(program):
    """What shares memory in CuPy shares cotangents."""
    check(program, X, P)


class Grid:
    """A class with its library."""

    xp = cupy

    def changed(self, x):
        y = self.xp.zeros(2)
        y[0] = x[1]
        t = y[0]
        s = self.xp.sum(y)
        y[0] = x[0]
        r = s
        s *= t
        return (t * y).sum() * s * r


def by_a_class(x, p):
    return Grid().changed(x) * Grid().changed(p[1])


def test_library_of_a_class():
    """The library may be an attribute."""
    check(by_a_class, X, P)


# Functions of NumPy


def by_functions_of_numpy(x, p):
    np.copyto(p[0], x)
    np.multiply(p[1], x, out=p[1])
    np.put(p, cupy.asarray([6, 8]), x[:2])
    np.fill_diagonal(p, x[2])
    np.exp(x, out=x)
    return np.sum(p @ x)


def test_functions_of_numpy():
    """NumPy gives its calls to CuPy."""
    try:
        by_functions_of_numpy(cupy.asarray(X), cupy.asarray(P))
    except TypeError as error:
        pytest.skip(str(error))
    check(by_functions_of_numpy, X, P)


# Waiting for the device


def written_without_waiting(x, p):
    y = cupy.zeros((3, 3))
    for i in range(3):
        y[i] = x * p[i]
        y[i, 0] *= x[i]
    y[1:, ::2] += p[:2, :2]
    y[[0, 2]] *= x
    y[np.array([1])] = x[1] * y[0]
    t = y[0, 0]
    t += p[1, 1]
    y[1, 1] = t
    y.T[2] = x
    cupy.multiply(y, p, out=y)
    cupy.copyto(p, y, where=p > 0)
    p.fill(2.0)
    s = x.sum()
    s *= t
    cupy.add.at(y, cupy.asarray([0, 0]), x)
    return cupy.sum(y * y) * s


def waits(host, function):
    """How often the host waits in a call, and where."""
    host.waits.clear()
    function()
    return len(host.waits), [[f"{f.filename}:{f.lineno}" for f in s if "/runtime/" in f.filename] for s in host.waits]


def test_waiting(pytestconfig):
    """Stores, also at positions that are known on the host, wait no more often than the program does."""
    if pytestconfig.option.markexpr == "gpu":
        pytest.skip("copies to the host are counted in host memory")
    host = install()
    given = [cupy.asarray(X), cupy.asarray(P)]
    own, _ = waits(host, lambda: written_without_waiting(*(a.copy() for a in given)))

    def back():
        pullback(written_without_waiting, *(a.copy() for a in given))[1](cupy.ones(()))

    back()  # to compile it
    times, where = waits(host, back)
    assert times <= own, where


# What is refused


def repeated(y, x, index):
    y[index] = x
    return y.sum()


def test_order_of_writes_is_open():
    """One number may be written to an element several times; of several the last one is not known."""
    y, x = cupy.zeros(3), cupy.asarray(X)
    for index in ([0, 0, 1], np.array([2, -1, 0]), cupy.asarray([1, 1, 1])):
        with pytest.raises(MutationError, match="On a device it is left open"):
            gradient(functools.partial(repeated, index=index), 1)(y, x)
        grad = gradient(lambda y, x, index=index: repeated(y, x[0], index), 1)(cupy.zeros(3), x)
        assert grad.get()[0] == len({i % 3 for i in cupy.asarray(index).tolist()})


# Memory of others


class Tensor:
    """An array of another library."""

    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def test_memory_of_others():
    """What else lies in the memory of another library is not known; of CuPy's own memory it is."""

    def f(x, y):
        x[0] = 2.0 * y[1]
        return cupy.sum(x * y)

    x = cupy.asarray(X)
    for lent in (cupy.asarray(Tensor(x)), cupy.from_dlpack(x)):
        with pytest.raises(MutationError, match="memory that is not its own"):
            gradient(f, (0, 1))(lent, cupy.ones(3))
    windows = cupy.lib.stride_tricks.as_strided(x, (2,), (8,))
    with pytest.raises(MutationError, match="share memory"):
        gradient(f, (0, 1))(x[:2], windows)
