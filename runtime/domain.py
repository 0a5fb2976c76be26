"""What built-in rules hold for, and which functions have no source that is read."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import is_library_class

NUMBERS = (bool, int, float, complex, np.generic)
# Modules whose Python functions are not read: their derivative is a rule or nothing.
LIBRARIES = ("numpy", "scipy", "cupy", "cupyx", "adcompiler", "functools")
_PLAIN = (list, tuple, type(None), str, bytes, slice, type(Ellipsis), type, np.dtype, type(np._NoValue))


# What rules are written in may be read as users' code is; what stands for itself in a program may not.
_NOT_READ = ("rules.registry", *(f"runtime.{name}" for name in "dynamic hooks marks project release walk".split()))


def foreign_module(function: Any) -> bool:
    """Whether a function belongs to a library whose source is never read."""
    root = (getattr(function, "__module__", None) or "").split(".")[0]
    return root in LIBRARIES and not is_rule_code(function)


def is_rule_code(function: Any) -> bool:
    """Whether a function is a rule of adcompiler's own, or one that such rules call: plain code, which is compiled."""
    root, _, module = (getattr(function, "__module__", None) or "").partition(".")
    return (
        root == "adcompiler"
        and module.startswith(("rules.", "runtime.", "transpose", "plainly"))
        and module not in _NOT_READ
    )


def writes_nothing(function: Any) -> bool:
    """Whether a function is known not to write into its arguments: it is such code, or was made of what does not."""
    made: bool | None = getattr(function, "__adcompiler_pure__", None)
    return is_rule_code(function) if made is None else made


def unwrapped(f: Any) -> Any:
    """The function that is differentiated in the place of `f`, which `differentiable` or `cupy.fuse` may have made."""
    cls = type(f)
    if cls.__module__ == "cupy._core.fusion":
        return f.func
    return f.__adcompiler_function__ if hasattr(cls, "__adcompiler_function__") else f


def array_member(name: str) -> Any:
    """The method or attribute `name` of arrays: NumPy's, or else CuPy's; None if there is none."""
    cupy = sys.modules.get("cupy")
    found = getattr(np.ndarray, name, None)
    return found if found is not None or cupy is None else getattr(cupy.ndarray, name, None)


def is_domain(value: Any) -> bool:
    """Whether built-in rules hold for a value: exact arrays of numbers, numbers, and plain Python data."""
    cls = type(value)
    if cls is np.ndarray:
        return value.dtype.kind in "biufc"
    if cls is np.flatiter:
        return is_domain(value.base)
    if issubclass(cls, NUMBERS):
        return cls.__module__ in ("builtins", "numpy")
    if cls in (list, tuple):
        return all(map(is_domain, value))
    if cls is dict:
        return all(map(is_domain, value.values()))
    return issubclass(cls, _PLAIN) or is_library_class(cls)  # type: ignore[arg-type]  # classes are hashable


def is_plain_container(value: Any) -> bool:
    """Whether a value is a list, tuple, dict or deque whose items are found as in any other."""
    bases = (list, tuple, dict, deque)
    return any(isinstance(value, b) and type(value).__getitem__ is b.__getitem__ for b in bases)


def gives_way(value: Any, cls: type) -> bool:
    """Whether a number or array leaves an operator to an object of `cls` on its right."""
    if isinstance(value, np.ndarray):
        return getattr(cls, "__array_ufunc__", value) is None
    return not isinstance(value, np.generic) or not (hasattr(cls, "__len__") and hasattr(cls, "__getitem__"))
