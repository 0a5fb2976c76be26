"""Arrays of NumPy, and those of another library with NumPy's dispatch protocol, such as CuPy, which live on a device.

A function of `np` finds the library by an argument. Where it has none to find it by, the array is made here, `like`
another. Nothing here reads an element, for which a device would have to be waited for.
"""

import sys
from typing import Any

import numpy as np


def is_device_class(cls: type) -> bool:
    """Whether objects of a class are arrays of another library with NumPy's dispatch protocol."""
    return hasattr(cls, "__array_ufunc__") and hasattr(cls, "dtype") and not issubclass(cls, (np.ndarray, np.generic))


def like_of(*values: Any) -> Any:
    """The first array of another library among `values`, for ``like=``; None, which stands for NumPy, if none is."""
    for value in values:
        if type(value) is not np.ndarray and is_device_class(type(value)):
            return value
    return None


def library(x: Any) -> Any:
    """The module that the array `x` is from: it has the names of NumPy."""
    return sys.modules[type(x).__module__.split(".")[0]]


def home_of(x: Any) -> Any:
    """The module that the elements of `x` are from, which may be a list of them."""
    while isinstance(x, (list, tuple)) and x:
        x = x[0]
    return np if like_of(x) is None else library(x)


def moved_home(c: Any, home: Any) -> Any:
    """The cotangent `c` in the library `home`: where it has to be copied from a device, that is waited for."""
    if home is np:
        return c if like_of(c) is None else c.get()
    return c if like_of(c) is not None else home.asarray(c)


def as_array(x: Any) -> Any:
    """`x` as an array of its own library; a number or a list as one of NumPy."""
    return x if like_of(x) is not None else np.asarray(x)


def moved_to(like: Any, x: Any) -> Any:
    """The array `x` of NumPy (positions, constants) in the library of `like`."""
    return x if like_of(like) is None else library(like).asarray(x)


def ones(shape: tuple[int, ...], dtype: Any, like: Any) -> Any:
    """Ones in the library of `like`."""
    return np.ones(shape, dtype) if like_of(like) is None else library(like).ones(shape, dtype)


def eye(n: int, dtype: Any, like: Any) -> Any:
    """The unit matrix in the library of `like`."""
    return np.eye(n, dtype=dtype) if like_of(like) is None else library(like).eye(n, dtype=dtype)
