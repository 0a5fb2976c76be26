"""Cotangents of lists, dicts and objects that a program writes into: a table by identity.

What can be written into has one cotangent, whatever names refer to it. While a pullback runs it lies in a `Bars`: for
each object a mapping from places (the index in a list, the key of a dict, the name of an attribute) to cotangents,
which at any time belongs to the contents that the object had at that point of the forward. A write takes the entry of
its place; a read adds to it. Tuples and arrays are no places: their cotangents are values, and what a tuple holds that
can be written into has none there.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from adcompiler.runtime.containers import add_item
from adcompiler.runtime.tangents import Tangent, accumulate, rebuild

_LEAVES = frozenset({np.ndarray, float, complex, int, bool, str, bytes, type(None), np.float64, np.float32})
_CALLABLES = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type, np.ufunc)
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that was made by Python code


class Cell:
    """A variable that a nested function rebinds: the place `value` of an object of its own."""

    __slots__ = ("name", "value")
    name: str
    value: Any

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute != "value":
            raise AttributeError(attribute)
        raise UnboundLocalError(f"cannot access local variable {self.name!r} where it is not associated with a value")


class Held:
    """An object as it was at some point of the forward: itself, and what of its contents can be written into."""

    __slots__ = ("count", "obj", "parts")

    def __init__(self, obj: Any, parts: Any, count: int) -> None:
        self.obj = obj
        self.parts = parts
        self.count = count


class Captured:
    """A function, by what of its captured variables can be written into; the others have cotangents by name."""

    __slots__ = ("parts",)

    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts


def is_place(value: Any) -> bool:
    """Whether a value can be written into, so that its cotangent is kept by identity."""
    cls = type(value)
    if cls in _LEAVES or cls is tuple:
        return False
    return isinstance(value, list | dict | deque) or is_object(value)


def is_object(value: Any) -> bool:
    """Whether a value is an object of a class written in Python, with attributes."""
    return is_place_class(type(value))


def is_place_class(cls: type) -> bool:
    """Whether objects of a class have attributes that can be written into."""
    if issubclass(cls, (tuple, np.ndarray, np.generic, str, int, float, Tangent, *_CALLABLES)):
        return False
    return cls is types.SimpleNamespace or bool(cls.__flags__ & _HEAP_TYPE)


def attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes that an object itself has, those in slots included."""
    if isinstance(value, functools.partial):
        yield from (("func", value.func), ("args", value.args), ("keywords", value.keywords))
    yield from getattr(value, "__dict__", {}).items()
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            mangled = f"_{cls.__name__.lstrip('_')}{name}" if name[:2] == "__" and name[-2:] != "__" else name
            slot = cls.__dict__.get(mangled)
            if isinstance(slot, types.MemberDescriptorType):
                try:
                    yield mangled, slot.__get__(value)
                except AttributeError:
                    continue  # not set; the class's own __getattr__ is not to be asked


def entries(value: Any) -> Any:
    """The places of an object and what they hold, as pairs."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, list | tuple | deque):
        return enumerate(value)
    return attributes(value)


def hold(value: Any, above: frozenset[int] = frozenset()) -> Any:
    """What of a value can be written into, as it is now; None for a leaf."""
    if type(value) is tuple or isinstance(value, tuple):
        parts = [hold(item, above) for item in value]
        return rebuild(value, parts) if any(part is not None for part in parts) else None
    if isinstance(value, types.FunctionType):
        return _hold_function(value, above)
    if not is_place(value):
        return None
    if id(value) in above:
        return Held(value, {}, 0)
    above = above | {id(value)}
    inside = {key: part for key, item in entries(value) if (part := hold(item, above)) is not None}
    return Held(value, inside, len(value) if isinstance(value, list | dict | deque) else 0)


def hold_made(value: Any) -> Any:
    """`hold` of what a rule has made: of a tuple too, whose items have entries where it is taken for a list."""
    if not isinstance(value, tuple):
        return hold(value)
    return Held(value, {i: part for i, item in enumerate(value) if (part := hold(item)) is not None}, len(value))


def _hold_function(function: types.FunctionType, above: frozenset[int]) -> Captured | None:
    if not function.__closure__ or id(function) in above:
        return None
    above = above | {id(function)}
    parts = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True):
        try:
            part = hold(cell.cell_contents, above)
        except ValueError:
            continue  # a variable without a value
        if part is not None:
            parts[name] = part
    return Captured(parts) if parts else None


class Bars:
    """The table of one run of a pullback."""

    __slots__ = ("_table",)

    def __init__(self) -> None:
        # The objects themselves are kept beside their entries: an address belongs to one object only while it lives.
        self._table: dict[int, tuple[Any, dict[Any, Any]]] = {}

    def of(self, obj: Any) -> dict[Any, Any]:
        """The entries of an object."""
        found = self._table.get(id(obj))
        if found is None:
            found = self._table[id(obj)] = (obj, {})
        return found[1]

    def replace(self, obj: Any, entries: dict[Any, Any]) -> None:
        """Set the entries of an object."""
        self._table[id(obj)] = (obj, entries)

    def add(self, obj: Any, key: Any, ct: Any) -> None:
        """Add to the entry of a place."""
        if ct is not None:
            own = self.of(obj)
            own[key] = accumulate(own.get(key), ct)

    def add_item(self, obj: Any, index: Any, ct: Any) -> None:
        """Add to the entry of an item; an index of a list may be counted from its end."""
        if isinstance(obj, list) and index < 0:
            index += len(obj)
        self.add(obj, index, ct)

    def give_items(self, obj: Any, cts: Any) -> Any:
        """Add the cotangents of the items that a list was taken apart into; those of anything else remain."""
        if not isinstance(obj, list | deque):
            return cts
        for i, ct in enumerate(cts):
            self.add(obj, i, ct)
        return None

    def item_into(self, obj: Any, index: int, ct: Any, rest: Any) -> Any:
        """Add the cotangent of an item that a loop read: into the table for a list, into `rest` for an array."""
        if isinstance(obj, list | deque):
            self.add(obj, index, ct)
            return rest
        if rest is None:
            rest = [None] * len(obj)
        return add_item(rest, index, ct)

    def take(self, obj: Any, key: Any) -> Any:
        """The entry of a place, which is zero (None) from here on."""
        found = self._table.get(id(obj))
        return None if found is None else found[1].pop(key, None)

    def release_items(self, obj: Any) -> dict[Any, Any]:
        """The entries of an object that has just been made; they are gone from the table."""
        return self._table.pop(id(obj), (None, {}))[1]

    def release_partial(self, partial: Any) -> dict[str, Any] | None:
        """The entries of a `functools.partial` that has just been made, with those of its own dict of keywords."""
        own = self.release_items(partial)
        keywords = self.release_items(partial.keywords)
        if keywords:
            own["keywords"] = accumulate(own.get("keywords"), keywords)
        return own or None

    def give(self, value: Any, ct: Any) -> Any:
        """Put the cotangent of a value where it belongs: what remains is for what cannot be written into.

        `value` is the value, or what `hold` says of it.
        """
        cls = type(value)
        if ct is None or cls in _LEAVES:
            return ct
        if isinstance(value, tuple):
            rest = [self.give(item, c) for item, c in zip(value, ct, strict=True)]
            return rebuild(value, rest) if any(c is not None for c in rest) else None
        if cls is Captured:
            named = {name: self.give(value.parts.get(name), c) for name, c in ct.items()}
            return {name: c for name, c in named.items() if c is not None} or None
        if isinstance(value, types.FunctionType):
            return self.give(hold(value), ct)
        if cls is Held:
            obj, find = value.obj, value.parts.get
        elif is_place(value):
            obj, find = value, dict(entries(value)).get
        else:
            return ct
        for key, c in ct.items() if hasattr(ct, "items") else enumerate(ct):
            self.add(obj, key, self.give(find(key), c))
        return None

    def release_own(self, held: Any) -> Any:
        """The same for what holds objects that were there before: these keep their entries."""
        if type(held) is not Held:
            return None
        return self.release(Held(held.obj, {}, held.count))

    def release(self, held: Any, count: int | None = None) -> Any:
        """The entries of what has just been made, as a cotangent by value; they are gone from the table."""
        if held is None or type(held) is Captured:
            return None
        if isinstance(held, tuple):
            parts = [self.release(part) for part in held]
            return rebuild(held, parts) if any(p is not None for p in parts) else None
        obj = held.obj if type(held) is Held else held
        own = self._table.pop(id(obj), (None, {}))[1]
        if type(held) is Held:
            for key, part in held.parts.items():
                inner = self.release(part)
                if inner is not None:
                    own[key] = accumulate(own.get(key), inner)
        if not own:
            return None
        if isinstance(obj, list | tuple | deque):
            length = held.count if type(held) is Held else count or 0
            return [own.get(i) for i in range(length)]
        return own

    def collect(self, held: Any, above: frozenset[int] = frozenset()) -> Any:
        """The cotangent of an argument as a value: that of its own places, and of what these held at the start."""
        if held is None:
            return None
        if isinstance(held, tuple):
            parts = [self.collect(part, above) for part in held]
            return rebuild(held, parts) if any(p is not None for p in parts) else None
        if type(held) is Captured:
            named = {name: self.collect(part, above) for name, part in held.parts.items()}
            return {name: c for name, c in named.items() if c is not None} or None
        if id(held.obj) in above:
            return None
        above = above | {id(held.obj)}
        own = dict(self._table.pop(id(held.obj), (None, {}))[1])
        for key, part in held.parts.items():
            inner = self.collect(part, above)
            if inner is not None:
                own[key] = accumulate(own.get(key), inner)
        if not own:
            return None
        if isinstance(held.obj, list | deque):
            return [own.get(i) for i in range(held.count)]
        return own if isinstance(held.obj, dict) else Tangent(type(held.obj), **own)


class Tracked:
    """What the entry of a program keeps beside the record: what its arguments and its value were."""

    __slots__ = ("arguments", "held", "record", "value")

    def __init__(self, arguments: tuple[Any, ...], held: Any, value: Any, record: Any) -> None:
        self.arguments = arguments
        self.held = held
        self.value = value
        self.record = record


def with_table(forward: Any, backward: Any, active: list[int], keep: bool) -> tuple[Any, Any]:
    """A pair that needs a table as one that makes its own; `active` are the positions of its active parameters.

    With `keep`, the arguments may be written into, and are kept as they were.
    """

    def alone(*arguments: Any) -> Any:
        held = [hold(arguments[i]) for i in active]
        kept = tuple(map(as_it_was, arguments)) if keep else arguments
        value, record = forward(*arguments)
        return value, Tracked(kept, held, hold(value), record)

    def alone_bar(tracked: Tracked, value_bar: Any) -> Any:
        bars = Bars()
        cts = backward(tracked.record, bars.give(tracked.value, value_bar), bars)
        each = (cts,) if len(active) == 1 else cts
        out = tuple(accumulate(ct, bars.collect(held)) for ct, held in zip(each, tracked.held, strict=True))
        return out[0] if len(active) == 1 else out

    return alone, alone_bar


def as_it_was(value: Any, above: frozenset[int] = frozenset()) -> Any:
    """A container or object of the same contents, which later writes do not reach; leaves are the same."""
    if id(value) in above:
        return value
    if isinstance(value, tuple):
        return rebuild(value, [as_it_was(item, above) for item in value])
    if not is_place(value):
        return value
    above = above | {id(value)}
    if isinstance(value, list | deque):
        return [as_it_was(item, above) for item in value]
    if isinstance(value, dict):
        return {key: as_it_was(item, above) for key, item in value.items()}
    if isinstance(value, functools.partial):
        return value
    copy = types.SimpleNamespace() if type(value) is types.SimpleNamespace else object.__new__(type(value))
    for name, item in attributes(value):
        object.__setattr__(copy, name, as_it_was(item, above))
    return copy
