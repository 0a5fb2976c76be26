"""What functions have captured, in calls in forward mode: a tangent of zeros, so that it gets a cotangent.

    push(f, (x,), (x_dot,))          f moves with nothing, and what it has captured may have a cotangent all the same

A function that is called has the text of others of its kind: what it has captured is no argument, unless it has a
tangent.  Transforms (`jvp`, `gradient(f)`) find their own calls, and say so here.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from adcompiler.found import padded
from adcompiler.pushedagain import PUSH
from adcompiler.rules.registry import lookup
from adcompiler.runtime.calling import applied
from adcompiler.runtime.checkpoints import recomputed
from adcompiler.runtime.domain import unwrapped
from adcompiler.runtime.pushed_calls import push
from adcompiler.runtime.pushing import zeros_of
from adcompiler.runtime.transformed import Holder

# What is found for transforms, by function, and for what they return, by class: `(f, args, dots, named, own) → Found`.
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


# The arguments of a call, their tangents, its keywords, and the tangent of what the function has captured.
Call = tuple[Any, Any, dict[str, Any], Any]


def with_functions(f: Any, args: Any, dots: Any, named: Any, own: Any) -> Call:
    """Zeros for what a function has captured that moves with nothing in forward mode, but has a cotangent."""
    named = named or {}
    if isinstance(f, str):
        return args, dots, named, own
    inner = unwrapped(f)
    if inner is push:
        return *_with_functions_inside(args, dots, named), own
    if _calls_what_it_is_given(inner):
        return args, _moved(args, dots), named, own
    return args, dots, named, zeros_of(f) if own is None and _has_captured(f) else own


def _calls_what_it_is_given(f: Any) -> bool:
    return f in (recomputed, applied) or (isinstance(f, types.FunctionType) and f in _OF_FUNCTION)


def _has_captured(f: Any) -> bool:
    """Whether a function has something that is no argument of the code that is compiled for it."""
    if isinstance(f, functools.partial):
        return _has_captured(f.func)
    if isinstance(f, types.MethodType):
        return _calls_what_it_is_given(f.__func__) and _has_captured(f.__self__)
    return isinstance(f, types.FunctionType) and bool(f.__closure__) and not special_of(f) and not lookup(f, ())


def _moved(value: Any, dot: Any) -> Any:
    """A tangent with zeros for the functions that have none."""
    if isinstance(value, tuple):
        each = tuple(map(_moved, value, padded(dot, len(value))))
        return dot if dot is None and all(d is None for d in each) else each
    return zeros_of(value) if dot is None and _has_captured(value) else dot


def _with_functions_inside(args: Any, dots: Any, named: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """The same of the call in forward mode that `push(*args, **named)` is."""
    given = {**dict(zip(PUSH.names, args, strict=False)), **named}
    inner = with_functions(*map(given.get, PUSH.names))
    found = dict(zip(PUSH.names[1:], inner, strict=True))
    first = PUSH.names[: len(args)]
    more = {n: v for n, v in found.items() if n not in first and (n in named or v)}
    return tuple(found.get(n, a) for n, a in zip(first, args, strict=True)), dots, {**named, **more}


__all__ = ["connect", "special_of", "with_functions"]
