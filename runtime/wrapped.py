"""Functions that users get back from `checkpoint` and its like: they call another one, the target.

checkpoint(f)(x)          is          recomputed(f, x)
custom_pullback(f)(x)     is          with_pullback(f, x)
stop_gradient(f)(x)       is          stopped(f, x)
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any


def wrapping(target: Callable[..., Any], f: Callable[..., Any]) -> Any:
    """A function that calls `target(f, ...)`, and looks like `f`."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return target(f, *args, **kwargs)

    functools.update_wrapper(wrapped, f)
    wrapped.__dict__.pop("__adcompiler_variants__", None)
    if wrapped.__module__ == __name__ or not isinstance(f, types.FunctionType):
        wrapped.__module__ = "__main__"  # of what is compiled with its caller
    return wrapped


_CODE = wrapping(len, len).__code__


def is_wrapped(f: Any) -> bool:
    """Whether a function was made by `wrapping`."""
    return isinstance(f, types.FunctionType) and f.__code__ is _CODE


def bound(target: Callable[..., Any], f: Callable[..., Any]) -> Any:
    """What `wrapping(target, f)` is in generated code: a method of `f`, whose cotangent is that of `f`."""
    return types.MethodType(target, f)


__all__ = ["bound", "is_wrapped", "wrapping"]
