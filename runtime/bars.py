"""Cotangents of lists, dicts and objects that a program writes into: a table by identity.

What can be written into has one cotangent, whatever names refer to it. While a pullback runs it lies in a `Bars`: for
each object a mapping from places (the index in a list, the key of a dict, the name of an attribute) to cotangents,
which at any time belongs to the contents that the object had at that point of the forward. A write takes the entry of
its place; a read adds to it. Tuples and arrays are no places: their cotangents are values, and what a tuple holds that
can be written into has none there.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from adcompiler.runtime.containers import add_item
from adcompiler.runtime.held import (
    BOUND,
    LEAVES,
    Captured,
    Held,
    Walk,
    as_it_was,
    entries,
    hold,
    hold_arrays,
    is_place,
    memory_in,
    walked,
)
from adcompiler.runtime.shadows import Reference, Shadows, real_like
from adcompiler.runtime.tangents import Tangent, accumulate, rebuild


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


class Bars(Shadows):
    """The table of one run of a pullback, which has the shadows of arrays too."""

    __slots__ = ("_table",)

    def __init__(self) -> None:
        super().__init__()
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

    def item_into(self, obj: Any, index: int, ct: Any, rest: Any, at: Reference | None = None) -> Any:
        """Add the cotangent of an item that a loop read: into the table for a list, into `rest` for an array.

        An array that lies `at` a place in memory that is written into has its shadow.
        """
        if at is not None:
            window = self.window(at)
            window[index] += real_like(ct, window)
            return rest
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
        if ct is None or cls in LEAVES:
            return ct
        if cls is Reference:
            return self.add_array(value, ct)
        if isinstance(value, tuple):
            rest = [self.give(item, c) for item, c in zip(value, ct, strict=True)]
            return rebuild(value, rest) if any(c is not None for c in rest) else None
        if cls is Captured:
            named = {name: self.give(value.parts.get(name), c) for name, c in ct.items()}
            return {name: c for name, c in named.items() if c is not None} or None
        if isinstance(value, BOUND):
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
        if type(held) is Reference:
            return self.take_array(held)
        if type(held) in (Held, Captured) or isinstance(held, tuple):
            return walked(self._taken(held, set(), False))
        if held is None:
            return None
        return _by_value(held, self.release_items(held), count or 0, False)

    def release_new(self, held: Any, before: Any) -> Any:
        """The same for what a function gives that got other functions: what these capture keeps its entries."""
        return walked(self._taken(held, memory_in(before), False))

    def collect(self, held: Any) -> Any:
        """The cotangent of an argument as a value: that of its own places, and of what these held at the start."""
        return None if held is None else walked(self._taken(held, set(), True))

    def _taken(self, held: Any, seen: set[int], as_argument: bool) -> Walk:
        """The entries of what is held in the form of its cotangent; what is held twice has them where it is first."""
        if type(held) is Reference:
            return None if id(held.block) in seen else self.take_array(held)
        if held is None or id(held) in seen or (type(held) is Held and id(held.obj) in seen):
            return None
        seen.add(id(held))
        if isinstance(held, tuple):
            parts = []
            for part in held:
                parts.append(None if part is None else (yield self._taken(part, seen, as_argument)))
            return rebuild(held, parts) if any(p is not None for p in parts) else None
        own = dict(self.release_items(held.obj)) if type(held) is Held else {}
        for key, part in held.parts.items():
            inner = yield self._taken(part, seen, as_argument)
            if inner is not None:
                own[key] = accumulate(own.get(key), inner)
        return _by_value(held.obj, own, held.count, as_argument) if type(held) is Held else own or None


def _by_value(obj: Any, own: dict[Any, Any], count: int, as_argument: bool) -> Any:
    """The entries of an object as its cotangent; an argument that is an object has a `Tangent`."""
    if not own:
        return None
    if isinstance(obj, list | tuple | deque):
        return [own.get(i) for i in range(count)]
    return Tangent(type(obj), **own) if as_argument and not isinstance(obj, dict) else own


class Tracked:
    """What the entry of a program keeps beside the record: what its arguments and its value were."""

    __slots__ = ("arguments", "held", "record", "value")

    def __init__(self, arguments: tuple[Any, ...], held: Any, value: Any, record: Any) -> None:
        self.arguments = arguments
        self.held = held
        self.value = value
        self.record = record


def checked(forward: Any, check: Any) -> Any:
    """A forward that runs when its arguments have been looked at."""

    def alone(*arguments: Any) -> Any:
        check(arguments)
        return forward(*arguments)

    return alone


def with_table(
    forward: Any,
    backward: Any,
    collected: tuple[tuple[int, int], ...],
    count: int,
    keep: bool,
    result: str,
    check: Any = None,
) -> tuple[Any, Any]:
    """A pair that needs a table as one that makes its own, with `count` active parameters.

    `collected` are the positions of those whose cotangents are in the table, each with its number among the active
    ones. With `keep`, the arguments may be written
    into, and are kept as they were. `result` says where the cotangent of the result belongs: nowhere but in its
    variable (""), in the "places" of containers and objects, or that of its "arrays" in their shadows too. `check` is
    called with the arguments.
    """
    if not collected and not keep and not result and check is None:
        return forward, lambda record, value_bar: backward(record, value_bar, Bars())

    def alone(*arguments: Any) -> Any:
        if check is not None:
            check(arguments)
        held = [hold_arrays(arguments[i]) for i, _ in collected]
        kept = tuple(map(as_it_was, arguments)) if keep else arguments
        value, record = forward(*arguments)
        made = hold_arrays(value) if result == "arrays" else hold(value) if result else None
        return value, Tracked(kept, held, made, record)

    def alone_bar(tracked: Tracked, value_bar: Any) -> Any:
        bars = Bars()
        cts = backward(tracked.record, bars.give(tracked.value, value_bar) if result else value_bar, bars)
        out = [cts] if count == 1 else list(cts)
        for (_, slot), held in zip(collected, tracked.held, strict=True):
            out[slot] = accumulate(out[slot], bars.collect(held))
        return out[0] if count == 1 else tuple(out)

    return alone, alone_bar
