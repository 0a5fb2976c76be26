"""Arrays of NumPy, and those of another library with NumPy's dispatch protocol, such as CuPy, which live on a device.

A function of `np` finds the library by an argument. Where it has none to find it by, the array is made here, `like`
another. Nothing here reads an element, for which a device would have to be waited for.
"""

import functools
import sys
from typing import Any

import numpy as np

# Functions that find the library of a new array by ``like=``, and not by an argument.
_MAKERS = frozenset(
    "arange array asanyarray asarray ascontiguousarray asfortranarray empty eye full identity ones tri zeros".split()
)


def is_device_class(cls: type) -> bool:
    """Whether objects of a class are arrays of another library with NumPy's dispatch protocol."""
    if hasattr(cls, "__adcompiler_rows__"):
        return False
    return hasattr(cls, "__array_ufunc__") and hasattr(cls, "dtype") and not issubclass(cls, (np.ndarray, np.generic))


@functools.lru_cache(maxsize=1024)
def is_library_class(cls: type) -> bool:
    """Whether arrays of a class are those of NumPy in all but where they live, so that one derivative holds for both.

    The library answers all of NumPy's functions. A subclass made elsewhere, and a series, whose labels say which
    element meets which, may mean something else by an operator.
    """
    if not is_device_class(cls) or not hasattr(cls, "__array_function__") or hasattr(cls, "iloc"):
        return False
    root = _root_module(cls)
    if any(is_device_class(base) and _root_module(base) != root for base in cls.__mro__[1:]):
        return False
    _met.add(root)
    return True


def is_library_array(x: Any) -> bool:
    """Whether `x` is exactly an array of another library that stands for NumPy's."""
    return type(x) is not np.ndarray and is_library_class(type(x))  # type: ignore[arg-type]  # classes are hashable


_met: set[str] = set()


def may_meet_library() -> bool:
    """Whether arrays of another library may come from where nothing is known: CuPy's, or those of one seen before."""
    return "cupy" in sys.modules or bool(_met)


def _root_module(cls: type) -> str:
    return cls.__module__.split(".")[0]


def like_of(*values: Any) -> Any:
    """The first array of another library among `values`, for ``like=``; None, which stands for NumPy, if none is."""
    for value in values:
        if type(value) is not np.ndarray and is_device_class(type(value)):
            return value
    return None


def is_flat(x: Any) -> bool:
    """Whether a value is the `.flat` of an array: its elements are those of the array itself."""
    return type(x).__name__ == "flatiter"


def library(x: Any) -> Any:
    """The module that the array `x` is from, if it has the names of NumPy; else what makes arrays of its class."""
    module = sys.modules.get(_root_module(type(x)))
    return module if hasattr(module, "zeros") and hasattr(module, "ndarray") else _dispatching(type(x), x)


class Dispatching:
    """The functions of NumPy as those of a library whose module has none: what they make is of its class."""

    def __init__(self, like: Any) -> None:
        self.__name__ = "numpy"
        self.ndarray = type(like)
        self._like = like  # without elements: what refers to the library keeps no memory

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        return functools.partial(function, like=self._like) if name in _MAKERS else function


_libraries: dict[type, Dispatching] = {}


def _dispatching(cls: type, x: Any) -> Dispatching:
    if cls not in _libraries:
        _libraries[cls] = Dispatching(np.empty((0,), like=x))
    return _libraries[cls]


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
