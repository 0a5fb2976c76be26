"""Writes into arrays of CuPy: what the reverse of the same write into an array of NumPy leaves and returns."""

import operator

import cupy
import numpy as np
import pytest

from adcompiler import MutationError
from adcompiler.runtime.shadows import Shadows, refer
from adcompiler.runtime.writes import WRITES
from adcompiler.runtime.writes_flat import store_flat
from adcompiler.runtime.writes_whole import store_imag, store_real
from tests.hostcupy.arrays import on_device, on_host

RNG = np.random.default_rng(5)
MASK = np.array([[True, False, True], [False, True, True]])


def fill(y, value):
    y.fill(value)


def sort(y, axis):
    y.sort(axis)


def put(y, indices, values):
    y.put(indices, values)


def numbers(*shape):
    """An array of random numbers, without dimensions too."""
    return np.asarray(RNG.standard_normal(shape))


STORE = (operator.setitem, operator.setitem, operator.setitem)
FLAT = (("flatiter", "__setitem__"), store_flat, store_flat)
CALLS = [
    (*STORE, (1, 0), 2.5),
    (*STORE, (1, 0), numbers()),
    (*STORE, 0, numbers(3)),
    (*STORE, slice(None, None, -1), numbers(3)),
    (*STORE, np.array([1, 0]), numbers(2, 3)),
    (*STORE, [1, 0], numbers(2, 3)),
    (*STORE, (slice(None), np.array([0, 2])), numbers(2, 1)),
    (*STORE, MASK, numbers()),
    (*STORE, np.array([0, 0]), 1.5),
    (np.copyto, np.copyto, cupy.copyto, numbers(3)),
    (("ndarray", "fill"), fill, fill, numbers()),
    (np.put, np.put, cupy.put, np.array([0, 4, 9]), numbers(2), "wrap"),
    (np.put, np.put, cupy.put, np.array([0, 4]), numbers(3), "clip"),
    (("ndarray", "put"), put, put, np.array([0, 4]), numbers(2)),
    (np.putmask, np.putmask, cupy.putmask, MASK, numbers(4)),
    (np.place, np.place, cupy.place, MASK, numbers(2)),
    (np.fill_diagonal, np.fill_diagonal, cupy.fill_diagonal, numbers(3)),
    (np.put_along_axis, np.put_along_axis, cupy.put_along_axis, np.array([[0, 2], [1, 0]]), numbers(2, 2), 1),
    (np.add.at, np.add.at, cupy.add.at, np.array([0, 0, 1]), numbers(3, 3)),
    (("ndarray", "sort"), sort, sort, -1),
    (*FLAT, 2, 1.5),
    (*FLAT, slice(1, 5), numbers(2)),
    (("set", "real"), store_real, store_real, numbers(3)),
    (("set", "imag"), store_imag, store_imag, numbers(3)),
]


def reverse(key, function, y, c, operands):
    """The window and the cotangents after the reverse of a write into `y`, and `y` itself."""
    write = WRITES[key]
    at = refer(y)
    saved = write.keep(y, *operands)
    function(y, *operands)
    window = Shadows().window(at)
    window[...] = c
    return y, window, write.reverse(window, saved)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("call", CALLS, ids=[f"{WRITES[call[0]].name}-{i}" for i, call in enumerate(CALLS)])
def test_write(call, dtype, order):
    """Both libraries write the same and leave the same cotangents."""
    key, function, twin, *operands = call
    if (key == np.add.at and dtype is complex) or (key == ("set", "imag") and dtype is float):
        pytest.skip("CuPy does not take it")
    if key == ("ndarray", "sort") and order == "F":
        pytest.skip("CuPy sorts contiguous arrays only")
    y, c = (np.asarray(numbers(2, 3) + 1j * numbers(2, 3), order=order) for _ in range(2))
    y, c = (x if dtype is complex else x.real.copy(order="K") for x in (y, c))
    expected = reverse(key, function, y.copy(order="K"), c, operands)
    actual = reverse(key, twin, cupy.array(y, order=order), cupy.asarray(c), on_device(operands))
    for a, e in zip((*actual[:2], *actual[2]), (*expected[:2], *expected[2]), strict=True):
        if e is None:
            assert a is None
            continue
        assert type(a) is cupy.ndarray
        assert a.dtype == e.dtype
        np.testing.assert_allclose(on_host(a), e)


def test_last_value_is_open():
    """Which of several values is written last is open on a device, so that they are refused before the write."""
    y = cupy.zeros((2, 3))
    for key, operands in [
        (operator.setitem, (cupy.array([0, 0]), cupy.ones((2, 3)))),
        (np.put, (cupy.array([0, 6]), cupy.ones(2))),
        (np.put_along_axis, (cupy.array([[1, 1]]), cupy.ones((1, 2)), 1)),
    ]:
        with pytest.raises(MutationError, match="On a device"):
            WRITES[key].keep(y, *operands)


def test_overlap_is_as_if_copied():
    """CuPy copies what overlaps its target, with any strides."""
    x = numbers(8)
    for into, source in [
        (slice(None, None, 2), slice(4)),
        (slice(1, None), slice(-1)),
        (slice(4), slice(None, None, 2)),
    ]:
        y = cupy.asarray(x)
        WRITES[operator.setitem].keep(y, into, y[source])
        y[into] = y[source]
        expected = x.copy()
        expected[into] = x[source]
        np.testing.assert_array_equal(on_host(y), expected)
