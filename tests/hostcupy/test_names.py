"""What CuPy has and NumPy has not: copies, kernels, fused functions, writes, random numbers, special functions."""

import os
import subprocess
import sys
from pathlib import Path

import cupy
import cupyx
import cupyx.scipy.special
import numpy as np
import pytest
import scipy.special

from adcompiler import NoRuleError, gradient, pullback, rrule, value_and_grad
from adcompiler.rules.registry import is_non_differentiable, lookup

ROOT = Path(__file__).parents[2]
X = np.array([0.3, -0.7, 1.1])
W = np.array([1.0, 2.0, -0.5])


def same(actual, expected):
    """An array of CuPy with the numbers of one of NumPy."""
    assert type(actual) is cupy.ndarray
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual.get(), expected, rtol=1e-12)


# Copies between host and device


def test_from_the_device():
    """The cotangent of a copy on the host goes back to the device."""

    def get(x):
        return np.sum(np.tanh(x.get()) * W)

    def asnumpy(x):
        return np.sum(np.tanh(cupy.asnumpy(x)) * W)

    for f in (get, asnumpy):
        same(gradient(f)(cupy.asarray(X)), (1 - np.tanh(X) ** 2) * W)


def test_asnumpy_of_an_array_on_the_host():
    actual = gradient(lambda x: np.sum(cupy.asnumpy(x) * W))(X)
    assert type(actual) is np.ndarray
    np.testing.assert_array_equal(actual, W)


@pytest.mark.parametrize("copy", [cupy.asarray, cupy.array, cupy.asanyarray], ids=lambda f: f.__name__)
def test_to_the_device(copy):
    """The gradient of an argument on the host is on the host."""
    actual = gradient(lambda x: cupy.sum(cupy.tanh(copy(x)) * cupy.asarray(W)))(X)
    assert type(actual) is np.ndarray
    np.testing.assert_allclose(actual, (1 - np.tanh(X) ** 2) * W, rtol=1e-12)


@pytest.mark.parametrize("copy", [cupy.asarray, cupy.array, cupy.ascontiguousarray], ids=lambda f: f.__name__)
def test_copies_on_the_device(copy):
    same(gradient(lambda x: cupy.sum(cupy.tanh(copy(x)) * cupy.asarray(W)))(cupy.asarray(X)), (1 - np.tanh(X) ** 2) * W)


def test_a_conversion_on_the_way():
    x = X.astype(np.float32)
    same(gradient(lambda x: cupy.sum(cupy.asarray(x, dtype=float) * 2))(cupy.asarray(x)), np.full(3, 2, np.float32))


def test_there_and_back():
    """A computation half on the host."""

    def f(x):
        y = cupy.asarray(np.sin(cupy.exp(x).get()))
        return (y * x).sum()

    def g(x):
        return np.sum(np.sin(np.exp(x)) * x)

    same(gradient(f)(cupy.asarray(X)), gradient(g)(X))


def test_an_array_of_numbers():
    """Of numbers on the device the cotangents are on the device, of floats they are floats."""
    same(gradient(lambda x: cupy.sum(cupy.array([x[0], x[1] * 2]) ** 2))(cupy.asarray(X)), np.array([0.6, -5.6, 0.0]))
    assert gradient(lambda a: cupy.sum(cupy.array([a, 3 * a]) * 2.0))(1.5) == 8.0


def test_arrays_made_on_the_device():
    """Their text is that of NumPy's rules, which make arrays on the host."""
    assert gradient(lambda a: cupy.sum(cupy.full(3, a) * cupy.asarray(W)))(1.5) == 2.5
    assert gradient(lambda a: cupy.sum(cupy.arange(0.0, 3.0, a) * cupy.asarray(W)))(1.0) == 1.0
    by_name = {"full": cupy.full}
    made, back = pullback(lambda name, a: by_name[name]((2,), a), "full", 1.5)
    assert type(made) is cupy.ndarray
    assert back(cupy.asarray(W[:2]))[1] == 3.0


def test_the_item_of_an_array():
    same(gradient(lambda x: x.sum().item() * 2)(cupy.asarray(X)), np.full(3, 2.0))
    same(gradient(lambda x: float(x[1]) * 2)(cupy.asarray(X)), np.array([0, 2.0, 0]))


def test_a_number_of_the_host_meets_an_array_of_the_device():
    """The gradient of an array of NumPy is one of NumPy, also through a number that scales an array on the device."""
    actual = gradient(lambda w, x: cupy.sum(x * np.float64(3.0) * w))(2.0, cupy.asarray(X))
    assert type(actual) is float
    assert actual == pytest.approx(3 * X.sum())


# Fused functions and kernels


@cupy.fuse()
def fused(x, y):
    return cupy.tanh(x * y) + x


def test_fused_functions_are_read():
    """A fused function is differentiated as the Python function that it is made of."""

    def plain(x, y):
        return np.tanh(x * y) + x

    expected = gradient(lambda x, y: np.sum(plain(x, y) * W), (0, 1))(X, W)
    f = value_and_grad(lambda x, y: cupy.sum(fused(x, y) * cupy.asarray(W)), (0, 1))
    value, actual = f(cupy.asarray(X), cupy.asarray(W))
    assert float(value) == pytest.approx(np.sum(plain(X, W) * W))
    for a, e in zip(actual, expected, strict=True):
        same(a, e)


def test_a_fused_function_itself():
    _, back = pullback(fused, cupy.asarray(X), cupy.asarray(W))
    same(back(cupy.asarray(W))[0], (1 - np.tanh(X * W) ** 2) * W * W + W)


KERNELS = [
    cupy.ElementwiseKernel("T x", "T y", "y = x * x", "squares"),
    cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = a", "0", "sum_of_squares"),
    cupy.RawKernel('extern "C" __global__ void raw(double* x) {}', "raw"),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_kernels_are_refused(kernel):
    """CUDA C++ is not read; the message says how to write a rule."""
    with pytest.raises(NoRuleError, match=r"(?s)kernel.*@rrule"):
        gradient(lambda x: cupy.sum(kernel(x)))(cupy.asarray(X))


def test_a_kernel_with_a_rule():
    kernel = cupy.ElementwiseKernel("T x", "T y", "y = x * x * x", "cubes")

    @rrule(kernel, result="fresh", kind="elementwise")
    def cubes(x):
        def pullback(y_bar):
            return (3 * x * x * y_bar,)

        return kernel(x), pullback

    same(gradient(lambda x: cupy.sum(kernel(x) * cupy.asarray(W)))(cupy.asarray(X)), 3 * X * X * W)


# Writes


@pytest.mark.parametrize("function", [cupyx.scatter_max, cupyx.scatter_min], ids=lambda f: f.__name__)
def test_writes_are_refused(function):
    def f(x, y):
        function(y, cupy.asarray([0, 0, 1]), x)
        return cupy.sum(y)

    with pytest.raises(NoRuleError, match="writes into its first argument"):
        gradient(f)(cupy.asarray(X), cupy.zeros(3))


# Random numbers


def test_random_numbers_have_no_derivative():
    def f(x):
        return cupy.sum(x * cupy.random.rand(3))

    actual = gradient(f)(cupy.asarray(X)).get()
    assert np.all((0 <= actual) & (actual <= 1))
    for name in ("rand", "randn", "random", "seed", "randint"):
        assert is_non_differentiable(getattr(cupy.random, name)), name


# Twins


def test_twins_are_found_by_identity():
    assert lookup(cupy.tanh) == lookup(np.tanh) != ()
    assert lookup(cupy.ndarray.sum) == lookup(np.ndarray.sum) != ()
    assert lookup(cupy.add.reduce) == lookup(np.add.reduce) != ()
    assert lookup(cupy.divide) == lookup(np.divide) != ()
    assert lookup(cupy.max) == lookup(np.max) != ()


# Special functions


@pytest.mark.parametrize("name", ["gammaln", "erf", "expit", "i0e", "ndtr", "j0"])
def test_special_functions(name):
    """A program of CuPy's special functions has the gradient of SciPy's."""
    ours, theirs = getattr(cupyx.scipy.special, name), getattr(scipy.special, name)
    expected = gradient(lambda x: np.sum(theirs(x) * W))(np.abs(X))
    actual = gradient(lambda x: cupy.sum(ours(x) * cupy.asarray(W)))(cupy.asarray(np.abs(X)))
    np.testing.assert_allclose(actual.get(), expected, rtol=1e-9)


ALONE = """
from tests.hostcupy.install import install

install()
import sys
import cupy
import cupyx.scipy.special
from adcompiler import gradient

assert "adcompiler.rules.special" not in sys.modules
print(gradient(lambda x: cupy.sum(cupyx.scipy.special.erf(x)))(cupy.zeros(2)))
"""


def test_special_functions_without_an_import_of_scipy(pytestconfig, tmp_path):
    if pytestconfig.option.markexpr == "gpu":
        pytest.skip("it puts host memory in the place of the device")
    Path(tmp_path, "alone.py").write_text(ALONE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run([sys.executable, tmp_path / "alone.py"], env=environment, capture_output=True, text=True)
    assert found.stdout.strip() == "[1.12837917 1.12837917]", found.stderr
