"""Transforms in forward mode: what finds a call of `jvp`, of what `gradient` has returned, and so on."""

from __future__ import annotations

import types
from typing import Any

from adcompiler.runtime.transformed import Holder

# By function, and by class of what they return: `(f, args, dots, named, own) → Found`.
_OF_FUNCTION: dict[Any, Any] = {}
_OF_OBJECT: dict[type, Any] = {}


def connect(of_function: dict[Any, Any], of_object: dict[type, Any]) -> None:
    """Tell what is found for the transforms, and for what they return."""
    _OF_FUNCTION.update(of_function)
    _OF_OBJECT.update(of_object)


def special_of(f: Any) -> Any:
    """What finds the call of a transform, or of what it has returned; None for all other functions."""
    if isinstance(f, Holder):
        return next((found for cls, found in _OF_OBJECT.items() if isinstance(f, cls)), None)
    return _OF_FUNCTION.get(f) if isinstance(f, types.FunctionType) else None


__all__ = ["connect", "special_of"]
