"""Values of NumPy turned into values of CuPy and back, and the CuPy function that stands for a NumPy one."""

import sys
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np


def on_device(value: Any) -> Any:
    """`value` with every array of NumPy in it as one of CuPy, also inside lists, tuples and dicts."""
    return _mapped(value, lambda x: cupy.asarray(x) if type(x) is np.ndarray else x)


def on_host(value: Any) -> Any:
    """`value` with every array of CuPy in it as one of NumPy."""
    return _mapped(value, lambda x: x.get() if isinstance(x, cupy.ndarray) else x)


def _mapped(value: Any, convert: Callable[[Any], Any]) -> Any:
    if isinstance(value, (tuple, list)):
        entries = [_mapped(entry, convert) for entry in value]
        return type(value)(*entries) if hasattr(value, "_fields") else type(value)(entries)
    if type(value) is dict:
        return {key: _mapped(entry, convert) for key, entry in value.items()}
    return convert(value)


def has_device_array(value: Any) -> bool:
    """Whether there is an array of CuPy in `value`."""
    if isinstance(value, (tuple, list)):
        return any(map(has_device_array, value))
    return any(map(has_device_array, value.values())) if type(value) is dict else isinstance(value, cupy.ndarray)


def cupy_twin(key: Any) -> Any:
    """CuPy's function, method or attribute of the same name; None for functions of `operator`, which serve both."""
    owner = getattr(key, "__objclass__", None)
    if key is np.ndarray.__getitem__:  # written as x[i], it is operator.getitem
        return None
    if owner is not None:
        return getattr(cupy.ndarray, key.__name__, None) if owner is np.ndarray else None
    bound_to = getattr(key, "__self__", None)
    if isinstance(bound_to, np.ufunc):
        return getattr(cupy_twin(bound_to), key.__name__, None)
    module = _module(key)
    other = sys.modules.get(_other_name(module)) if module else None
    twin = getattr(other, key.__name__, None) if other is not None else None
    return twin if callable(twin) and twin is not key else None


def _module(key: Any) -> str | None:
    """The public module that has the function `key`."""
    for name in ("numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg"):
        if getattr(sys.modules.get(name), getattr(key, "__name__", "?"), None) is key:
            return name
    return None


def _other_name(module: str) -> str:
    return module.replace("numpy", "cupy") if module.startswith("numpy") else f"cupyx.{module}"
