"""Reads of and writes into lists, dicts and objects, with their reverses.

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

from adcompiler.runtime.bars import Bars, Cell, hold, is_object
from adcompiler.runtime.containers import from_items
from adcompiler.runtime.errors import MutationError, UnsupportedSyntaxError
from adcompiler.runtime.tangents import accumulate


@dataclass(frozen=True, eq=False)
class Operation:
    """`forward(obj, *operands) → (value, saved)`, `reverse(saved, value_bar, bars) → the operands' cotangents`."""

    name: str
    forward: Callable[..., Any]
    reverse: Callable[[Any, Any, Bars], tuple[Any, ...]]
    stores: bool = True


# Containers whose items and methods are Python's own; those of a subclass may do anything.
CONTAINERS = frozenset({list, dict, deque, defaultdict, OrderedDict})

_NUMBERS = (int, float, complex, np.number)


def _refuse_array(obj: Any) -> None:
    if isinstance(obj, np.ndarray) or type(obj).__module__.split(".")[0] == "cupy":
        raise MutationError(
            "an array is written into\nWriting into arrays is not differentiated yet.\n"
            "Make a new value: np.where, np.stack or np.concatenate."
        )
    if type(obj) not in CONTAINERS:
        raise UnsupportedSyntaxError(
            f"an item of a {type(obj).__qualname__} is written\nOnly items of lists and dicts are followed.\n"
            "Keep the values in a list or a dict."
        )


def position(obj: Any, index: Any) -> Any:
    """An index of a sequence counted from its start; anything else as it is."""
    if isinstance(obj, list | deque) and not isinstance(index, slice):
        index = index.__index__()
        return index + len(obj) if index < 0 else index
    return index


# --- items ------------------------------------------------------------------------------------------------


def store_item(obj: Any, key: Any, value: Any) -> tuple[None, Any]:
    """`obj[key] = value`."""
    _refuse_array(obj)
    if isinstance(key, slice):
        new = list(value)
        sources = _spliced(obj, key, new)
        obj[key] = new
        return None, (Moved(obj, sources, len(new)), value, hold(value))
    obj[key] = value
    return None, (obj, position(obj, key))


def store_item_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The value was all that was in the place."""
    if isinstance(saved[0], Moved):
        moved, values, held = saved
        return None, _given_back(values, held, moved.reverse(bars), bars)
    return None, bars.take(*saved)


def _given_back(values: Any, held: Any, cts: Any, bars: Bars) -> Any:
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
    raise _unreadable(values)


def delete_item(obj: Any, key: Any) -> tuple[None, Any]:
    """`del obj[key]`."""
    _refuse_array(obj)
    if isinstance(obj, dict):
        del obj[key]
        return None, None
    kept = list(range(len(obj)))
    del kept[key]
    return _moved(obj, lambda: obj.__delitem__(key), kept, ())


def delete_item_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """Nothing is read from what is deleted."""
    if saved is not None:
        saved.reverse(bars)
    return (None,)


def load_item(obj: Any, key: Any) -> tuple[Any, Any]:
    """`obj[key]`."""
    if type(obj) not in CONTAINERS:
        raise UnsupportedSyntaxError(
            f"an item of a {type(obj).__qualname__} is read\nOnly items of lists and dicts are followed here.\n"
            "Keep the values in a list or a dict."
        )
    born = isinstance(obj, defaultdict) and key not in obj
    value = obj[key]
    if isinstance(key, slice):
        return value, (obj, range(*key.indices(len(obj))), value)
    return value, (obj, position(obj, key), born)


def load_item_bar(saved: Any, value_bar: Any, bars: Bars) -> tuple[Any, ...]:
    """The entry of the place grows; a slice is a new list, whose entries go where they were read."""
    obj, key, extra = saved
    if isinstance(key, range):
        if isinstance(value_bar, list | tuple):
            for i, ct in zip(key, value_bar, strict=True):
                bars.add(obj, i, ct)
        for j, ct in bars.release_items(extra).items():
            bars.add(obj, key[j], ct)
        return (None,)
    bars.add(obj, key, value_bar)
    if extra:
        bars.take(obj, key)
    return (None,)


def update_item(obj: Any, key: Any, value: Any, op: str) -> tuple[None, Any]:
    """`obj[key] op= value`, where numbers are replaced and lists grow."""
    _refuse_array(obj)
    born = isinstance(obj, defaultdict) and key not in obj
    old = obj[key]
    place = position(obj, key)
    if isinstance(old, list) and op == "+":
        new = list(value)
        _, saved = extend(old, new)
        obj[key] = old
        return None, (None, saved, value, hold(value))
    _number_only(old, value)
    obj[key] = _OPERATORS[op](old, value)
    return None, (obj, place, op, old, value, born)


def update_item_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The chain rule of the operator, at the place."""
    if saved[0] is None:
        return _extended(saved[1:], bars)
    obj, place, op, old, value, born = saved
    ct = bars.take(obj, place)
    if ct is None:
        return None, None
    old_bar, value_bar = _partials(op, old, value, ct)
    if not born:
        bars.add(obj, place, old_bar)
    return None, value_bar


def _number_only(old: Any, value: Any) -> None:
    if isinstance(old, np.ndarray):
        raise MutationError(
            "an array in a container is changed in place\nWriting into arrays is not differentiated yet.\n"
            "Assign a new value: `c[k] = c[k] + v`."
        )
    if not isinstance(old, _NUMBERS) or not isinstance(value, (*_NUMBERS, np.ndarray)):
        raise UnsupportedSyntaxError(
            f"an augmented assignment of a {type(old).__qualname__} in a container\n"
            "Only numbers and lists are followed there.\nAssign a new value: `c[k] = c[k] + v`."
        )


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b,
}  # fmt: skip


def _partials(op: str, old: Any, value: Any, ct: Any) -> tuple[Any, Any]:
    """The cotangents of both operands of an arithmetic operator."""
    from adcompiler.runtime.shapes import fit, real, shape

    if op in "+-":
        parts = ct, ct if op == "+" else -ct
    elif op == "*":
        parts = ct * np.conj(value), ct * np.conj(old)
    else:
        quotient = ct / np.conj(value)
        parts = quotient, -quotient * np.conj(old / value)
    pairs = [(fit(c, shape(x)), x) for c, x in zip(parts, (old, value), strict=True)]
    first, second = (c if np.iscomplexobj(x) else real(c) for c, x in pairs)
    return first, second


# --- attributes -------------------------------------------------------------------------------------------


def _refuse_foreign(obj: Any, name: str) -> None:
    """Raise if an assignment to an attribute runs code of the user's, or reaches what is no plain object."""
    cls = type(obj)
    if not is_object(obj):
        raise UnsupportedSyntaxError(
            f"the attribute .{name} of a {cls.__qualname__} is written\n"
            "Only attributes of objects of classes written in Python are followed.\nKeep the value in a dict."
        )
    found = next((c.__dict__[name] for c in cls.__mro__ if name in c.__dict__), None)
    if hasattr(type(found), "__set__") and not hasattr(found, "__objclass__"):
        raise UnsupportedSyntaxError(
            f"the property .{name} of {cls.__qualname__} is assigned\n"
            "Properties that are assigned are not differentiated yet.\nAssign the attribute behind it."
        )


def store_attribute(obj: Any, name: str, value: Any) -> tuple[None, Any]:
    """`obj.name = value`."""
    _refuse_foreign(obj, name)
    setattr(obj, name, value)
    return None, (obj, name)


def store_attribute_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The value was all that was in the place."""
    return None, bars.take(*saved)


def init_attribute(obj: Any, name: str, value: Any) -> tuple[None, Any]:
    """A field of an object that is being made: also of one that is frozen."""
    object.__setattr__(obj, name, value)
    return None, (obj, name)


def new_object(cls: type) -> Any:
    """An object of a class, before its `__init__`."""
    return object.__new__(cls)


def cell(name: str, *value: Any) -> tuple[Cell, Any]:
    """A variable that nested functions rebind, as an object; of a parameter it holds the argument."""
    made = Cell(name)
    if value:
        (made.value,) = value
    return made, made


def plain_cell(name: str, *value: Any) -> Cell:
    """The same, where no derivative is involved."""
    return cell(name, *value)[0]


def cell_bar(made: Cell, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The argument was all that was in it."""
    return (bars.take(made, "value"),)


def load_attribute(obj: Any, name: str) -> tuple[Any, Any]:
    """`obj.name`."""
    return getattr(obj, name), (obj, name)


def load_attribute_bar(saved: Any, value_bar: Any, bars: Bars) -> tuple[Any, ...]:
    """The entry of the place grows."""
    obj, name = saved
    bars.add(obj, name, value_bar)
    return (None,)


def update_attribute(obj: Any, name: str, value: Any, op: str) -> tuple[None, Any]:
    """`obj.name op= value`, where numbers are replaced and lists grow."""
    _refuse_foreign(obj, name)
    old = getattr(obj, name)
    if isinstance(old, list) and op == "+":
        _, saved = extend(old, list(value))
        setattr(obj, name, old)
        return None, (None, saved, value, hold(value))
    _number_only(old, value)
    setattr(obj, name, _OPERATORS[op](old, value))
    return None, (obj, name, op, old, value, False)


# --- sequences --------------------------------------------------------------------------------------------


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


def _moved(obj: Any, run: Callable[[], Any], sources: list[int], new: Any) -> tuple[Any, Any]:
    value = run()
    return value, Moved(obj, sources, len(new))


def make(cls: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """`deque(values, maxlen)`, `defaultdict(factory, pairs)`, `OrderedDict(pairs)`: a container of given contents."""
    at = 1 if cls is defaultdict else 0
    source = args[at] if len(args) > at else ()
    count = len(source) if hasattr(source, "__len__") else 0
    held = hold(source)
    value = cls(*args, **kwargs)
    last = {}
    if isinstance(value, dict) and isinstance(source, list | tuple):
        last = {key: i for i, (key, _) in enumerate(source)}  # of equal keys the last one's value stays
    return value, (value, args, at, held, count, count - len(value), last, list(kwargs))


def make_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The entries of the container go to what it was made of."""
    value, args, at, held, count, shift, last, names = saved
    own = bars.release_items(value)
    by_name = [own.pop(name, None) if isinstance(value, dict) else None for name in names]
    cts: list[Any] = [None] * len(args)
    if own and isinstance(value, dict):
        if isinstance(args[at], dict):
            bars.give(held, own)
        else:
            pairs: list[Any] = [None] * count
            for key, i in last.items():
                pairs[i] = (None, own.get(key))
            cts[at] = _given_back(args[at], held, pairs, bars)
    elif own:
        cts[at] = _given_back(args[at], held, [own.get(i - shift) for i in range(count)], bars)
    return (*cts, *by_name)


def _unreadable(source: Any) -> Exception:
    return UnsupportedSyntaxError(
        f"the items of a {type(source).__qualname__} carry derivatives and are stored\n"
        "Only items of lists, tuples and arrays are followed there.\nMake a list of it first."
    )


def extend_in_place(obj: Any, values: Any) -> None:
    """`obj += values` of a list, where no derivative is involved."""
    obj.extend(values)


def _spliced(obj: Any, key: Any, new: list[Any]) -> list[int]:
    """The sources of the items after `obj[key] = new`."""
    sources = list(range(len(obj)))
    sources[key] = range(-1, -1 - len(new), -1)
    return sources


def append(obj: Any, value: Any) -> tuple[None, Any]:
    """`obj.append(value)`."""
    if getattr(obj, "maxlen", None) is not None and len(obj) == obj.maxlen:
        sources = [*range(1, len(obj)), -1] if obj.maxlen else []
        return _moved(obj, lambda: obj.append(value), sources, (value,))
    obj.append(value)
    return None, (obj, len(obj) - 1)


def append_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The value was the last item."""
    if isinstance(saved, Moved):
        return ((saved.reverse(bars) or [None])[0],)
    return (bars.take(*saved),)


def append_left(obj: Any, value: Any) -> tuple[None, Any]:
    """`obj.appendleft(value)`."""
    full = obj.maxlen is not None and len(obj) == obj.maxlen
    sources = [-1, *range(len(obj) - full)] if obj.maxlen != 0 else []
    return _moved(obj, lambda: obj.appendleft(value), sources, (value,))


def insert(obj: Any, index: Any, value: Any) -> tuple[None, Any]:
    """`obj.insert(index, value)`."""
    sources = list(range(len(obj)))
    sources.insert(index, -1)
    return _moved(obj, lambda: obj.insert(index, value), sources, (value,))


def insert_bar(saved: Moved, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The value was the item at the index."""
    return None, (saved.reverse(bars) or [None])[0]


def extend(obj: Any, values: Any) -> tuple[None, Any]:
    """`obj.extend(values)`; the values are read one by one, as far as they go."""
    first = len(obj)
    new = list(values)
    if getattr(obj, "maxlen", None) is not None:
        sources = [*range(first), *range(-1, -1 - len(new), -1)]
        return _moved(obj, lambda: obj.extend(new), sources[-obj.maxlen :] if obj.maxlen else [], new)
    obj.extend(new)
    return None, (obj, first, len(new))


def extend_items(obj: Any, values: Any) -> tuple[None, Any]:
    """`obj.extend(values)`, and what `values` was."""
    held = hold(values)
    _, saved = extend(obj, values)
    return None, (saved, values, held)


def _extended(saved: Any, bars: Bars) -> tuple[Any, ...]:
    inner, values, held = saved
    if isinstance(inner, Moved):
        cts = inner.reverse(bars)
    else:
        obj, first, count = inner
        taken = [bars.take(obj, first + i) for i in range(count)]
        cts = taken if any(ct is not None for ct in taken) else None
    return None, _given_back(values, held, cts, bars)


def extend_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The values were the last items."""
    return (_extended(saved, bars)[1],)


def pop(obj: Any, *key: Any) -> tuple[Any, Any]:
    """`obj.pop(...)` of a list, deque or dict."""
    if isinstance(obj, dict):
        there = key[0] in obj
        return obj.pop(*key), (obj, key[0], there, len(key))
    i = position(obj, key[0]) if key else len(obj) - 1
    last = i == len(obj) - 1
    return obj.pop(*key), (obj, i, last, len(key))


def pop_bar(saved: Any, value_bar: Any, bars: Bars) -> tuple[Any, ...]:
    """The value goes back to its place."""
    obj, key, flag, count = saved
    if isinstance(obj, dict):
        if flag:
            bars.take(obj, key)
            bars.add(obj, key, value_bar)
        cts: tuple[Any, ...] = (None, None if flag else value_bar)
        return cts[:count]
    if not flag:
        bars.replace(obj, {j + (j >= key): ct for j, ct in bars.of(obj).items()})
    bars.add(obj, key, value_bar)
    return (None,) * int(count)


def pop_left(obj: Any) -> tuple[Any, Any]:
    """`obj.popleft()`."""
    return obj.popleft(), obj


def pop_left_bar(obj: Any, value_bar: Any, bars: Bars) -> tuple[Any, ...]:
    """The value goes back to the front."""
    bars.replace(obj, {j + 1: ct for j, ct in bars.of(obj).items()})
    bars.add(obj, 0, value_bar)
    return ()


def _rearranged(name: str) -> Callable[..., tuple[Any, Any]]:
    def forward(obj: Any, *args: Any) -> tuple[Any, Any]:
        marks = type(obj)(range(len(obj)))
        if name == "remove":
            i = obj.index(*args)
            del marks[i]
        else:
            getattr(marks, name)(*args)
        return _moved(obj, lambda: getattr(obj, name)(*args), list(marks), ())

    return forward


def _nothing(count: int) -> Callable[..., tuple[Any, ...]]:
    def reverse(saved: Moved, _: Any, bars: Bars) -> tuple[Any, ...]:
        saved.reverse(bars)
        return (None,) * count

    return reverse


def sort(obj: Any, key: Any = None, reverse: Any = False) -> tuple[None, Any]:
    """`obj.sort(...)`."""
    marks = list(obj) if key is None else list(map(key, obj))
    order = sorted(range(len(obj)), key=marks.__getitem__, reverse=reverse)
    items = list(obj)
    obj[:] = [items[i] for i in order]
    return None, Moved(obj, order, 0)


def clear(obj: Any) -> tuple[None, Any]:
    """`obj.clear()`."""
    obj.clear()
    return None, None


def concatenate(a: Any, b: Any) -> tuple[Any, Any]:
    """`a + b` of lists."""
    value = a + b
    return value, (value, a, b, len(a))


def concatenate_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The entries of the new list go to the two."""
    value, a, b, count = saved
    for i, ct in (bars.release_items(value)).items():
        if i < count:
            bars.add(a, i, ct)
        else:
            bars.add(b, i - count, ct)
    return (None,)


# --- dicts ------------------------------------------------------------------------------------------------


def get(obj: Any, key: Any, default: Any = None) -> tuple[Any, Any]:
    """`obj.get(key, default)`."""
    return obj.get(key, default), (obj, key, key in obj)


def get_bar(saved: Any, value_bar: Any, bars: Bars) -> tuple[Any, ...]:
    """To the place, or to the default."""
    obj, key, there = saved
    if there:
        bars.add(obj, key, value_bar)
        return None, None
    return None, value_bar


def set_default(obj: Any, key: Any, default: Any = None) -> tuple[Any, Any]:
    """`obj.setdefault(key, default)`."""
    there = key in obj
    return obj.setdefault(key, default), (obj, key, there)


def set_default_bar(saved: Any, value_bar: Any, bars: Bars) -> tuple[Any, ...]:
    """To the place, which had the default if it was new."""
    obj, key, there = saved
    bars.add(obj, key, value_bar)
    return None, None if there else bars.take(obj, key)


def update(obj: Any, *others: Any, **named: Any) -> tuple[None, Any]:
    """`obj.update(other, **named)`."""
    (other,) = others or ((),)
    pairs = dict(other) if not isinstance(other, dict) else other
    held = hold(other)
    obj.update(pairs, **named)
    return None, (obj, list(pairs), list(named), others, held)


def update_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """Each value was all that was in its place; a keyword comes after the other dict."""
    obj, keys, names, others, held = saved
    by_name = [bars.take(obj, name) for name in names]
    cts = {key: ct for key in keys if (ct := bars.take(obj, key)) is not None}
    if others and isinstance(others[0], dict):
        bars.give(held, cts)
    elif cts:
        raise UnsupportedSyntaxError(
            "the pairs given to update() carry derivatives\nOnly dicts and keywords are followed there.\n"
            "Pass a dict: `d.update({k: v})`."
        )
    return (None,) * len(others) + tuple(by_name)


def move_to_end(obj: Any, key: Any, last: bool = True) -> tuple[None, None]:
    """`obj.move_to_end(key, last)`: the places stay what they are."""
    obj.move_to_end(key, last)
    return None, None


def pop_item(obj: Any) -> tuple[Any, Any]:
    """`obj.popitem()`."""
    key, value = obj.popitem()
    return (key, value), (obj, key)


def pop_item_bar(saved: Any, value_bar: Any, bars: Bars) -> tuple[Any, ...]:
    """The value goes back to its place."""
    obj, key = saved
    bars.add(obj, key, None if value_bar is None else value_bar[1])
    return ()


# --- the table --------------------------------------------------------------------------------------------

STORE_ITEM = Operation("store_item", store_item, store_item_bar)
DELETE_ITEM = Operation("delete_item", delete_item, delete_item_bar)
LOAD_ITEM = Operation("load_item", load_item, load_item_bar, stores=False)
UPDATE_ITEM = Operation("update_item", update_item, lambda s, y, b: (*update_item_bar(s, y, b), None))
STORE_ATTRIBUTE = Operation("store_attribute", store_attribute, store_attribute_bar)
INIT_ATTRIBUTE = Operation("init_attribute", init_attribute, store_attribute_bar)
MAKE = Operation("make", make, make_bar)
CELL = Operation("cell", cell, cell_bar)
LOAD_ATTRIBUTE = Operation("load_attribute", load_attribute, load_attribute_bar, stores=False)
UPDATE_ATTRIBUTE = Operation("update_attribute", update_attribute, lambda s, y, b: (*update_item_bar(s, y, b), None))
CONCATENATE = Operation("concatenate", concatenate, concatenate_bar, stores=False)

_SEQUENCE = {
    "append": Operation("append", append, append_bar),
    "extend": Operation("extend", extend_items, extend_bar),
    "insert": Operation("insert", insert, insert_bar),
    "pop": Operation("pop", pop, pop_bar),
    "remove": Operation("remove", _rearranged("remove"), _nothing(1)),
    "reverse": Operation("reverse", _rearranged("reverse"), _nothing(0)),
    "clear": Operation("clear", clear, lambda saved, y, bars: ()),
}
METHODS: dict[type, dict[str, Operation]] = {
    list: {**_SEQUENCE, "sort": Operation("sort", sort, _nothing(2))},
    deque: {
        **_SEQUENCE,
        "appendleft": Operation("append_left", append_left, append_bar),
        "popleft": Operation("pop_left", pop_left, pop_left_bar),
        "rotate": Operation("rotate", _rearranged("rotate"), _nothing(1)),
    },
    dict: {
        "get": Operation("get", get, get_bar, stores=False),
        "pop": Operation("pop", pop, pop_bar),
        "popitem": Operation("pop_item", pop_item, pop_item_bar),
        "setdefault": Operation("set_default", set_default, set_default_bar),
        "update": Operation("update", update, update_bar),
        "clear": Operation("clear", clear, lambda saved, y, bars: ()),
        "move_to_end": Operation("move_to_end", move_to_end, lambda saved, y, bars: (None, None)),
    },
}
