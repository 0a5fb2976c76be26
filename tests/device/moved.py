"""Values of NumPy turned into values of the double, or of CuPy, and back, and how the two are compared."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adcompiler.runtime import walk
from adcompiler.runtime.arrays import is_device_class
from adcompiler.runtime.tangents import Tangent
from tests.device import DeviceArray, asarray
from tests.differences import children, is_leaf


def on_device(value: Any, asarray: Callable[[Any], Any] = asarray) -> Any:
    """A copy of `value` whose arrays of NumPy are arrays of the double, or made by `asarray`, with their layout."""
    return _mapped(copy.deepcopy(value), lambda x: asarray(x) if type(x) is np.ndarray else x)


def on_host(value: Any) -> Any:
    """`value` with its arrays as arrays of NumPy; a `Tangent` as a dict."""
    return _mapped(value, lambda x: x.get() if is_device_class(type(x)) else x)


def _mapped(value: Any, convert: Callable[[Any], Any]) -> Any:
    if isinstance(value, Tangent):
        return {name: _mapped(entry, convert) for name, entry in value.items()}
    found = {} if is_device_class(type(value)) else children(value)
    if not found:
        return convert(value)
    return walk.replaced(value, {key: _mapped(entry, convert) for key, entry in found.items()})


def device_arrays(value: Any) -> Iterator[Any]:
    """The arrays of a device in a structure."""
    if is_device_class(type(value)):
        yield value
        return
    entries = dict(value.items()) if isinstance(value, Tangent) else children(value)
    for entry in entries.values():
        yield from device_arrays(entry)


def check_types(grad: Any, value: Any) -> None:
    """A gradient is an array of the double where the value is one, of its shape and dtype."""
    if isinstance(value, DeviceArray):
        if value.dtype.kind in "fc" and grad is not None:
            assert type(grad) is DeviceArray
            assert (grad.shape, grad.dtype) == (value.shape, value.dtype)
        return
    for key, entry in children(value).items():
        if grad is not None:
            check_types(grad[key], entry)


def assert_equal(actual: Any, expected: Any, tolerance: float) -> None:
    """Two values on the host are equal, leaf by leaf; None is zero, and an array of shape () a number."""
    if isinstance(expected, Tangent):
        expected = dict(expected.items())
    if is_leaf(expected):
        np.testing.assert_allclose(0.0 if actual is None else actual, expected, tolerance, tolerance)
    elif isinstance(expected, (tuple, list, dict)):
        for key, entry in children(expected).items():
            assert_equal(None if actual is None else actual[key], entry, tolerance)
