"""What is CuPy's, which is never imported for the question, or an array of another library like it."""

from __future__ import annotations

import types
from typing import Any

from adcompiler.runtime.arrays import is_library_array

CUPY = ("cupy", "cupyx")


def is_cupy_function(value: Any) -> bool:
    """Whether a value is one of the objects that CuPy's functions, kernels and fused functions are."""
    return callable(value) and type(value).__module__.split(".")[0] == "cupy"


def is_from_cupy(value: Any) -> bool:
    """Whether a value is CuPy's: an array (of any such library), a function, a class or a module."""
    if is_library_array(value) or is_cupy_function(value):
        return True
    if isinstance(value, types.ModuleType):
        return value.__name__.split(".")[0] in CUPY
    made = isinstance(value, type | types.FunctionType | types.BuiltinFunctionType)
    return made and (value.__module__ or "").split(".")[0] in CUPY
