"""Calls in forward mode inside a program that keeps the cotangents of containers and objects by identity.

A method of a container, or an item of one, is the operation on its places and the same on those of the tangents. Any
other call is what it is as plain code, compiled to work on the same table.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from typing import Any

from adcompiler.runtime import dynamic
from adcompiler.runtime.bars import Bars
from adcompiler.runtime.changes import METHODS
from adcompiler.runtime.held import hold, hold_arrays, is_place
from adcompiler.runtime.members import is_field
from adcompiler.runtime.moved import CONTAINERS
from adcompiler.runtime.places import LOAD_ATTRIBUTE, LOAD_ITEM
from adcompiler.runtime.pushed_calls import push, push_method
from adcompiler.runtime.pushing import zeros_of
from adcompiler.runtime.resolved import Resolved
from adcompiler.runtime.stores import found_at_run_time
from adcompiler.runtime.transformed import Holder
from adcompiler.runtime.walk import is_constant

# Of the arguments of a method: which are put into the container, and have a tangent.
_STORED: dict[str, tuple[bool, ...]] = {
    "append": (True,), "appendleft": (True,), "extend": (True,), "insert": (False, True), "pop": (False, True),
    "popleft": (), "reverse": (), "rotate": (False,), "clear": (), "get": (False, True), "setdefault": (False, True),
    "update": (True,),
}  # fmt: skip


def is_shared(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call in forward mode is given containers, which it may write into or hand back."""
    if not args or isinstance(args[0], Holder) or (callable(args[0]) and dynamic.is_transform(args[0])):
        return False
    return any(hold(value) is not None for value in (*args, *kwargs.values()))


def of_place(hot: bool, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Resolved | None:
    """A method or an item of a container, or a field of an object, with its tangent; None for all other calls."""
    if f is push_method and not kwargs and len(args) == 5:
        return _of_method(hot, *args)
    if f is not push or kwargs or len(args) != 3 or args[0] not in (operator.getitem, getattr) or args[2][0] is None:
        return None
    function, (obj, key), (dot, _) = args
    if function is getattr and is_place(obj) and is_field(obj, key) and isinstance(dot, dict) and key in dot:
        return _of_both(hot, (LOAD_ATTRIBUTE, obj, (key,)), (LOAD_ITEM, dot, (key,)), _of_load)
    if function is operator.getitem and type(obj) in CONTAINERS and is_place(dot):
        return _of_both(hot, (LOAD_ITEM, obj, (key,)), (LOAD_ITEM, dot, (key,)), _of_load)
    return None


def _of_method(hot: bool, obj: Any, name: str, dot: Any, args: Any, dots: Any) -> Resolved | None:
    cls = next((c for c in (list, dict, deque) if type(obj) in CONTAINERS and isinstance(obj, c)), None)
    stored = _STORED.get(name)
    operation = METHODS[cls].get(name) if cls is not None else None
    if operation is None or stored is None or not is_place(dot) or len(args) > len(stored):
        return None
    marks = stored[: len(args)]
    moved = tuple(a if not on else zeros_of(a) if d is None else d for a, d, on in zip(args, dots, marks, strict=True))

    def to_call(cts: Any, dot_cts: Any) -> tuple[Any, ...]:
        count = len(args)
        own = tuple((*cts, *(None,) * count)[:count])
        of_dots = tuple(ct if on else None for ct, on in zip((*dot_cts, *(None,) * count)[:count], marks, strict=True))
        return None, None, None, None, own, of_dots

    return _of_both(hot, (operation, obj, tuple(args)), (operation, dot, moved), to_call)


def _of_load(cts: Any, dot_cts: Any) -> tuple[Any, ...]:
    return (None,) * 4


def _of_both(hot: bool, own: Any, of_dots: Any, to_call: Callable[[Any, Any], tuple[Any, ...]]) -> Resolved:
    """An operation on a container, then one on that of the tangents; `to_call` gives the cotangents of the call."""

    def forward(*_: Any) -> Any:
        values, saved = [], []
        for operation, obj, args in (own, of_dots):
            value, record = operation.forward(obj, *args)
            values.append(value)
            saved.append((operation, record, hold_arrays(value) if hot else None))
        return tuple(values), saved

    def backward(saved: Any, y_bar: Any, bars: Bars) -> tuple[Any, ...]:
        found = []
        bars_of_both = (None, None) if y_bar is None else y_bar
        for (operation, record, held), ct in zip(reversed(saved), reversed(bars_of_both), strict=True):
            found.append(operation.reverse(record, bars.give(held, ct) if hot else ct, bars))
        return to_call(found[1], found[0])

    return Resolved(forward, backward)


def of_pushed(compile_: Any, f: Any, pair: Any, inputs: Any, to_call: Callable[..., Any], count: int) -> Resolved:
    """A call in forward mode: that of what computes the value and its tangent."""
    wanted = tuple(not is_constant(value) for value in inputs)

    def forward(**how: bool) -> Any:
        return found_at_run_time(lambda: compile_(pair, wanted, inputs, {}, **how))

    def run(*args: Any, **kwargs: Any) -> Any:
        return forward()

    def apart(*args: Any, **kwargs: Any) -> Any:
        return forward(over=True)

    def strict(*args: Any, **kwargs: Any) -> Any:
        return forward(over=True, strict=True)

    def backward(back: Any, y_bar: Any, bars: Bars) -> tuple[Any, ...]:
        return (None, *to_call(back(y_bar, bars)))[:count]

    return Resolved(run, backward, f, apart=apart, strict=strict)


__all__ = ["is_shared", "of_place", "of_pushed"]
