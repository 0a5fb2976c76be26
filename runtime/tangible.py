"""What may carry a derivative where it would be lost: checked before a call that is found at run time.

A function of the user's is compiled with what it captures, and an object with what it holds; of other things that can
be called nobody knows what they hold.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.domain import NUMBERS, is_domain
from adcompiler.runtime.errors import UnsupportedSyntaxError
from adcompiler.runtime.members import has_plain_fields, member
from adcompiler.runtime.missing import no_rule

# Set by the compiler when it is imported, as those of `dynamic`.
_lookup: Callable[[Any, tuple[type, ...]], tuple[Any, ...]]
_is_inert: Callable[[Any], Any]
_refusal: Callable[[Any], str | None]

_OPAQUE = (
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    np.ufunc,
)  # callables that hold no values


def connect(lookup: Any, is_inert: Any, refusal: Any) -> None:
    """Tell how rules and declarations are looked up."""
    global _lookup, _is_inert, _refusal
    _lookup, _is_inert, _refusal = lookup, is_inert, refusal


def check_tangible(value: Any, seen: frozenset[int] = frozenset()) -> None:
    """Raise if an active value may carry derivatives in a place where they would be lost."""
    if isinstance(value, types.MethodType | types.BuiltinMethodType):
        value = getattr(value, "__self__", None)
    if isinstance(value, types.FunctionType) or has_plain_fields(type(value)):
        return  # compiled with what it captures or holds; defaults are constants
    elif isinstance(value, list | tuple | dict):
        if id(value) not in seen:
            for item in value.values() if isinstance(value, dict) else value:
                check_tangible(item, seen | {id(value)})
    elif not isinstance(value, NUMBERS) and not is_domain(value) and callable(value) and not is_declared(value):
        if not isinstance(value, _OPAQUE):
            raise _intangible(value)


def is_declared(function: Any) -> bool:
    """Whether it is said of a function, or of all that are called as it is, what its derivative is."""
    called = member(type(function), "__call__")
    return bool(_lookup(function, ()) or _is_inert(function) or _refusal(function) or _lookup(called, ()))


def _intangible(value: Any) -> Exception:
    """The error for an object that can be called, and may hold values."""
    if isinstance(value, np.vectorize) or hasattr(value, "__wrapped__"):
        return no_rule(value, [])
    return UnsupportedSyntaxError(
        f"a callable of type {type(value).__qualname__} may carry derivatives, and is only known at run time\n"
        "Call a plain function instead."
    )


def is_constant_cell(cell: Any, seen: tuple[Any, ...] = ()) -> bool:
    try:
        return _is_inert_default(cell.cell_contents, seen)
    except ValueError:
        return True


def _is_inert_default(value: Any, seen: tuple[Any, ...] = ()) -> bool:
    if isinstance(value, types.FunctionType):
        # Functions may capture each other.
        return value in seen or all(is_constant_cell(cell, (*seen, value)) for cell in value.__closure__ or ())
    return value is None or isinstance(value, (int, str, bytes, np.integer, *_OPAQUE))


__all__ = ["check_tangible", "connect", "is_constant_cell", "is_declared"]
