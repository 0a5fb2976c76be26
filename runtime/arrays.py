"""Arrays of NumPy, and arrays of another library with NumPy's dispatch protocol, such as CuPy, which live on a device.

Functions of `np` find the library by an argument. Where there is none (`np.arange`) it is told by ``like=like_of(c)``,
and a list or number becomes an array by `as_array`, which leaves an array where it is.
"""

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


def as_array(x: Any) -> Any:
    """`x` as an array of its own library; a number or a list as one of NumPy."""
    return x if like_of(x) is not None else np.asarray(x)
