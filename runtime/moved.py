"""Operations on places: what a read or write of a list, dict or object is, and sequences whose items move.

Each operation is a pair: the forward does what the user's statement does and returns its value with a record; the
reverse (`..._bar`) takes that record, the cotangent of the value and the table of cotangents (`Bars`), and returns one
cotangent for each operand after the object. The entries of the object in the table go back to what they were before.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adcompiler.runtime.bars import Bars
from adcompiler.runtime.containers import from_items
from adcompiler.runtime.errors import UnsupportedSyntaxError
from adcompiler.runtime.held import hold
from adcompiler.runtime.pushing import FrozenDict, FrozenList
from adcompiler.runtime.tangents import accumulate
from adcompiler.runtime.walk import is_array


@dataclass(frozen=True, eq=False)
class Operation:
    """`forward(obj, *operands) → (value, saved)`, `reverse(saved, value_bar, bars) → the operands' cotangents`."""

    name: str
    forward: Callable[..., Any]
    reverse: Callable[[Any, Any, Bars], tuple[Any, ...]]
    stores: bool = True
    keyed: bool = False  # the operand after the object is a key or a name


# Containers whose items and methods are Python's own; those of a subclass may do anything.
CONTAINERS = frozenset({list, dict, deque, defaultdict, OrderedDict, FrozenList, FrozenDict})


def position(obj: Any, index: Any) -> Any:
    """An index of a sequence counted from its start; anything else as it is."""
    if isinstance(obj, list | deque) and not isinstance(index, slice):
        index = index.__index__()
        return index + len(obj) if index < 0 else index
    return index


class Moved:
    """Where each item of a sequence came from: a place that it had before, or (negative) one of the new values."""

    __slots__ = ("count", "obj", "sources")

    def __init__(self, obj: Any, sources: list[int], count: int) -> None:
        self.obj = obj
        self.sources = sources
        self.count = count

    def reverse(self, bars: Bars) -> list[Any] | None:
        """Put the entries of the object back; returns those of the new values, if there are any."""
        before: dict[int, Any] = {}
        new: list[Any] = [None] * self.count
        for j, ct in bars.of(self.obj).items():
            i = self.sources[j]
            if i < 0:
                new[-1 - i] = accumulate(new[-1 - i], ct)
            else:
                before[i] = accumulate(before.get(i), ct)
        bars.replace(self.obj, before)
        return new if any(ct is not None for ct in new) else None


def rearrange(obj: Any, run: Callable[[], Any], sources: list[int], new: Any) -> tuple[Any, Any]:
    """Run what moves the items of a sequence, and note where they came from."""
    value = run()
    return value, Moved(obj, sources, len(new))


def spliced(obj: Any, key: Any, new: list[Any]) -> list[int]:
    """The sources of the items after `obj[key] = new`."""
    sources = list(range(len(obj)))
    sources[key] = range(-1, -1 - len(new), -1)
    return sources


def given_back(values: Any, held: Any, cts: Any, bars: Bars) -> Any:
    """The cotangents of values that were read one by one, as that of what they were read from."""
    if cts is None:
        return None
    if isinstance(values, list | deque):
        bars.give(held, cts)
        return None
    if isinstance(values, tuple):
        return tuple(cts) if held is None else bars.give(held, tuple(cts))
    if isinstance(values, np.ndarray):
        return from_items(cts, values.shape)
    raise unreadable(values)


def unreadable(source: Any) -> Exception:
    return UnsupportedSyntaxError(
        f"the items of a {type(source).__qualname__} carry derivatives and are stored\n"
        "Only items of lists, tuples and arrays are followed there.\nMake a list of it first."
    )


def extend(obj: Any, values: Any) -> tuple[None, Any]:
    """`obj.extend(values)`; the values are read one by one, as far as they go."""
    first = len(obj)
    new = list(values)
    if getattr(obj, "maxlen", None) is not None:
        sources = [*range(first), *range(-1, -1 - len(new), -1)]
        return rearrange(obj, lambda: obj.extend(new), sources[-obj.maxlen :] if obj.maxlen else [], new)
    obj.extend(new)
    return None, (obj, first, len(new))


def check_no_array(values: Any) -> None:
    """Refuse `obj += values` of a list where it is no `extend`."""
    if is_array(values):
        raise UnsupportedSyntaxError(
            "a list grows by an array (+=)\nWhat Python makes of both is an array, their sum.\n"
            "Use `xs.extend(a)`, or an array from the start."
        )


def extend_items(obj: Any, values: Any) -> tuple[None, Any]:
    """`obj.extend(values)`, and what `values` was."""
    held = hold(values)
    _, saved = extend(obj, values)
    return None, (saved, values, held)


def extended(saved: Any, bars: Bars) -> tuple[Any, ...]:
    inner, values, held = saved
    if isinstance(inner, Moved):
        cts = inner.reverse(bars)
    else:
        obj, first, count = inner
        taken = [bars.take(obj, first + i) for i in range(count)]
        cts = taken if any(ct is not None for ct in taken) else None
    return None, given_back(values, held, cts, bars)


def first_of(cts: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """The first cotangents of an operation that may have more operands than were given."""
    return (*cts, *(None for _ in range(count - len(cts))))[:count]
