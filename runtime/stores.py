"""Writes into what turns out to be an array at run time: `c[k] = v`, and `c[k] op= v` of an array in the place."""

from __future__ import annotations

import itertools
import operator
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import like_of
from adcompiler.runtime.bars import Bars
from adcompiler.runtime.containers import snapshot
from adcompiler.runtime.dynamic import AUGMENTED, resolve
from adcompiler.runtime.errors import MutationError, UnsupportedSyntaxError
from adcompiler.runtime.held import hold_arrays
from adcompiler.runtime.scatter import add_at
from adcompiler.runtime.shadows import refer
from adcompiler.runtime.shapes import fit, real, shape
from adcompiler.runtime.tangents import accumulate
from adcompiler.runtime.writes import Write
from adcompiler.runtime.writes_indexed import frozen, keep_store, reverse_store
from adcompiler.runtime.writes_values import check_float, likeness

IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "**": operator.ipow,
    "@": operator.imatmul, "//": operator.ifloordiv, "%": operator.imod,
}  # fmt: skip


# How many functions that are only known at run time are at work: what these write into arrays, nobody follows.
_found = threading.local()


def found_at_run_time(forward: Callable[[], Any]) -> Any:
    """Run the forward of a function that is only known at run time."""
    _found.depth = getattr(_found, "depth", 0) + 1
    try:
        return forward()
    finally:
        _found.depth -= 1


def _check_followed() -> None:
    if getattr(_found, "depth", 0):
        raise MutationError(
            "a function that is only known at run time writes into an array\n"
            "The function that calls it was compiled without knowing that.\n"
            "Let it return a new array, or call it by its own name."
        )


def interrupted(error: BaseException) -> MutationError:
    """The refusal to go on behind the exception of a call that writes."""
    refusal = MutationError(
        "a call that writes into arrays, containers or objects raised an exception, which is caught\n"
        "What it wrote before could not be followed.\n"
        "Let it look for errors before it is called, or do the writing in the function itself."
    )
    refusal.__cause__ = error
    at = error.__traceback__
    if at is None:
        return refusal
    # The line that is shown is that of the call, wherever the exception is caught.
    return refusal.with_traceback(types.TracebackType(None, at.tb_frame, at.tb_lasti, at.tb_lineno))


class Stored:
    """A store into an array: where that lies, and what the store keeps."""

    __slots__ = ("at", "held", "saved")

    def __init__(self, at: Any, saved: Any, value: Any) -> None:
        self.at = at
        self.saved = saved
        self.held = _held(value)

    def reverse(self, bars: Bars) -> tuple[Any, ...]:
        """The cotangents of index and value."""
        _, value_bar = reverse_store(bars.window(self.at), self.saved)
        return None, bars.give(self.held, value_bar)


class Updated:
    """An array that was changed in place, with the operands as they were; `entry` is the place that it is in."""

    __slots__ = ("at", "entry", "held", "old", "op", "value")

    def __init__(self, at: Any, entry: Any, op: str, operands: tuple[Any, Any], held: Any) -> None:
        self.at = at
        self.entry = entry
        self.op = op
        self.old, self.value = operands
        self.held = held

    def reverse(self, bars: Bars) -> tuple[Any, ...]:
        """The cotangents of key and value; that of the array is in its shadow."""
        ct = accumulate(bars.take_array(self.at), bars.take(*self.entry))
        if ct is None:
            return None, None
        old_bar, value_bar = partials(self.op, self.old, self.value, ct)
        bars.add_array(self.at, old_bar)
        return None, bars.give(self.held, value_bar)


class UpdatedItem:
    """Items of an array that were replaced by what an operator made of them."""

    __slots__ = ("held", "index", "old", "op", "store", "value")

    def __init__(self, store: Stored, index: Any, op: str, operands: tuple[Any, Any], held: Any) -> None:
        self.store = store
        self.index = index
        self.op = op
        self.old, self.value = operands
        self.held = held

    def reverse(self, bars: Bars) -> tuple[Any, ...]:
        """The cotangents of key and value; that of the old items is in the array's shadow."""
        _, ct = self.store.reverse(bars)
        if ct is None:
            return None, None
        old_bar, value_bar = partials(self.op, self.old, self.value, ct)
        if old_bar is not None:
            add_at(bars.window(self.store.at), self.index, old_bar)
        return None, bars.give(self.held, value_bar)


class Written:
    """A call that wrote into an array; `names` are its operands, of which `held` says where cotangents belong."""

    __slots__ = ("at", "held", "names", "saved", "write")

    def __init__(self, at: Any, write: Write, saved: Any, operands: dict[str, Any]) -> None:
        self.at = at
        self.write = write
        self.saved = saved
        self.names = tuple(operands)
        self.held = tuple(map(_held, operands.values()))

    def reverse(self, bars: Bars) -> tuple[Any, ...]:
        """The cotangents of the operands."""
        cts = dict(zip(self.write.operands, self.write.reverse(bars.window(self.at), self.saved), strict=True))
        return tuple(bars.give(held, cts[name]) for name, held in zip(self.names, self.held, strict=True))


class Writing:
    """A method of an array that writes into it, where the compiler has seen that it may."""

    __slots__ = ("method",)

    def __init__(self, method: Any) -> None:
        self.method = method


def writing(method: Any) -> Any:
    """A method that writes if it is one of an array."""
    return Writing(method) if is_written(getattr(method, "__self__", None)) else method


def write_array(write: Write, method: str, obj: Any, *args: Any, **kwargs: Any) -> Any:
    """`obj.fill(value)` and other methods that write: their value, and what the reverse needs."""
    _check_followed()
    names = write.operands
    if len(args) > len(names) or not kwargs.keys() <= set(names[len(args) :]):
        return getattr(obj, method)(*args, **kwargs), None  # an error of Python's own
    operands = dict(zip(names, args, strict=False)) | kwargs
    first = [*itertools.takewhile(operands.__contains__, names)]
    named = {name: value for name, value in kwargs.items() if name not in first}
    saved = write.keep(obj, *(operands[name] for name in first), **named)
    done = Written(refer(obj), write, saved, operands)
    return getattr(obj, method)(*args, **kwargs), done


def written_bar(done: Written, _: Any, bars: Bars) -> tuple[Any, ...]:
    """A write is linear in what is written."""
    return done.reverse(bars)


def _held(value: Any) -> Any:
    """What of a list of numbers or arrays has its cotangent in the table; None of an array, which is one operand."""
    return hold_arrays(value) if isinstance(value, list | tuple) else None


def is_written(obj: Any) -> bool:
    """Whether a store into an object is one into an array."""
    return isinstance(obj, np.ndarray) or like_of(obj) is not None


def store_array(obj: Any, key: Any, value: Any) -> Any:
    """`obj[key] = value`."""
    _check_followed()
    saved, at = keep_store(obj, key, value), refer(obj)
    obj[key] = value
    return Stored(at, saved, value)


def update_items(obj: Any, key: Any, value: Any, op: str) -> Any:
    """`obj[key] op= value` of an array."""
    _check_operator(op)
    _check_followed()
    old, kept = snapshot(obj[key]), snapshot(value)
    new = IN_PLACE[op](obj[key], value)
    store = Stored(refer(obj), keep_store(obj, key, new), new)
    obj[key] = new
    return UpdatedItem(store, frozen(key, obj), op, (old, kept), _held(value))


def _check_operator(op: str) -> None:
    if op not in IN_PLACE:
        raise UnsupportedSyntaxError(
            f"an augmented assignment ({op}=) of an array in a container\n"
            "It is no operation of numbers.\nBind the array to a name, and write into that."
        )


def update_array(old: Any, entry: Any, value: Any, op: str) -> Any:
    """`old op= value`."""
    _check_operator(op)
    _check_followed()
    if likeness(value) is not None:
        check_float(old)
    kept = Updated(refer(old), entry, op, (snapshot(old), snapshot(value)), _held(value))
    IN_PLACE[op](old, value)
    return kept


def _by_rule(op: str, old: Any, value: Any, ct: Any) -> tuple[Any, Any]:
    """The same of an operator that is written out as a rule."""
    call = resolve((False, True, likeness(value) is not None), AUGMENTED[IN_PLACE[op]], old, value)
    with np.errstate(all="ignore"):  # the cotangent of a constant exponent may be no number, and is not used
        _, saved = call.forward(old, value)
        cts = call.backward(saved, ct)
    return cts[1], cts[2]


def partials(op: str, old: Any, value: Any, ct: Any) -> tuple[Any, Any]:
    """The cotangents of both operands of an arithmetic operator."""
    if op in "+-":
        parts = ct, ct if op == "+" else -ct
    elif op not in "*/":
        return _by_rule(op, old, value, ct)
    elif op == "*":
        parts = ct * np.conj(value), ct * np.conj(old)
    else:
        quotient = ct / np.conj(value)
        parts = quotient, -quotient * np.conj(old / value)
    pairs = [(fit(c, shape(x)), x) for c, x in zip(parts, (old, value), strict=True)]
    first, second = (c if np.iscomplexobj(x) else real(c) for c, x in pairs)
    return first, second
