"""Methods of lists, deques and dicts that write into them, with their reverses: see `moved.Operation`."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from adcompiler.runtime.bars import Bars
from adcompiler.runtime.errors import UnsupportedSyntaxError
from adcompiler.runtime.held import hold
from adcompiler.runtime.moved import (
    Moved,
    Operation,
    check_no_array,
    extend_items,
    extended,
    given_back,
    position,
    rearrange,
)

# --- sequences --------------------------------------------------------------------------------------------


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
    if at and args:
        cts[0] = bars.release_items(args[0]) or None  # of what it captures, from the values that it has made
    if own and isinstance(value, dict):
        if isinstance(args[at], dict):
            bars.give(held, own)
        else:
            pairs: list[Any] = [None] * count
            for key, i in last.items():
                pairs[i] = (None, own.get(key))
            cts[at] = given_back(args[at], held, pairs, bars)
    elif own:
        cts[at] = given_back(args[at], held, [own.get(i - shift) for i in range(count)], bars)
    return (*cts, *by_name)


def grow(obj: Any, values: Any) -> tuple[Any, Any]:
    """`obj += values` of a list, whose name then has the list still: an array would make an array of both."""
    check_no_array(values)
    return extend_items(obj, values)


def plain_grow(obj: Any, values: Any) -> None:
    """The same, where no derivative is involved."""
    check_no_array(values)
    obj.extend(values)


def append(obj: Any, value: Any) -> tuple[None, Any]:
    """`obj.append(value)`."""
    if getattr(obj, "maxlen", None) is not None and len(obj) == obj.maxlen:
        sources = [*range(1, len(obj)), -1] if obj.maxlen else []
        return rearrange(obj, lambda: obj.append(value), sources, (value,))
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
    return rearrange(obj, lambda: obj.appendleft(value), sources, (value,))


def insert(obj: Any, index: Any, value: Any) -> tuple[None, Any]:
    """`obj.insert(index, value)`."""
    sources = list(range(len(obj)))
    sources.insert(index, -1)
    return rearrange(obj, lambda: obj.insert(index, value), sources, (value,))


def insert_bar(saved: Moved, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The value was the item at the index."""
    return None, (saved.reverse(bars) or [None])[0]


def extend_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The values were the last items."""
    return (extended(saved, bars)[1],)


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


def _rearranged(obj: Any, name: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """A method that only moves or drops items; where they went is seen from marks in their places."""
    marks = type(obj)(range(len(obj)))
    if name == "remove":
        del marks[obj.index(*args)]
    else:
        getattr(marks, name)(*args)
    return rearrange(obj, lambda: getattr(obj, name)(*args), list(marks), ())


def remove(obj: Any, value: Any) -> tuple[Any, Any]:
    """`obj.remove(value)`."""
    return _rearranged(obj, "remove", (value,))


def reverse(obj: Any) -> tuple[Any, Any]:
    """`obj.reverse()`."""
    return _rearranged(obj, "reverse", ())


def rotate(obj: Any, *count: Any) -> tuple[Any, Any]:
    """`obj.rotate(count)`."""
    return _rearranged(obj, "rotate", count)


def moved_bar(saved: Moved, _: Any, bars: Bars) -> tuple[Any, ...]:
    """The items go back to their places."""
    saved.reverse(bars)
    return ()


def nothing_bar(saved: Any, _: Any, bars: Bars) -> tuple[Any, ...]:
    """What is gone was read by nobody."""
    return ()


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


def pop_item(obj: Any, *last: Any, **named: Any) -> tuple[Any, Any]:
    """`obj.popitem()`; of an ordered dict also `obj.popitem(last)`."""
    key, value = obj.popitem(*last, **named)
    return (key, value), (obj, key)


def pop_item_bar(saved: Any, value_bar: Any, bars: Bars) -> tuple[Any, ...]:
    """The value goes back to its place."""
    obj, key = saved
    bars.add(obj, key, None if value_bar is None else value_bar[1])
    return ()


# --- the table --------------------------------------------------------------------------------------------

MAKE = Operation("make", make, make_bar)
GROW = Operation("grow", grow, extend_bar)
CONCATENATE = Operation("concatenate", concatenate, concatenate_bar, stores=False)

_SEQUENCE = {
    "append": Operation("append", append, append_bar),
    "extend": Operation("extend", extend_items, extend_bar),
    "insert": Operation("insert", insert, insert_bar),
    "pop": Operation("pop", pop, pop_bar),
    "remove": Operation("remove", remove, moved_bar),
    "reverse": Operation("reverse", reverse, moved_bar),
    "clear": Operation("clear", clear, nothing_bar),
}
METHODS: dict[type, dict[str, Operation]] = {
    list: {**_SEQUENCE, "sort": Operation("sort", sort, moved_bar)},
    deque: {
        **_SEQUENCE,
        "appendleft": Operation("append_left", append_left, append_bar),
        "popleft": Operation("pop_left", pop_left, pop_left_bar),
        "rotate": Operation("rotate", rotate, moved_bar),
    },
    dict: {
        "get": Operation("get", get, get_bar, stores=False),
        "pop": Operation("pop", pop, pop_bar),
        "popitem": Operation("pop_item", pop_item, pop_item_bar),
        "setdefault": Operation("set_default", set_default, set_default_bar),
        "update": Operation("update", update, update_bar),
        "clear": Operation("clear", clear, nothing_bar),
        "move_to_end": Operation("move_to_end", move_to_end, nothing_bar),
    },
}

CONTAINER_METHODS = frozenset(name for methods in METHODS.values() for name in methods)
# Those that write into their container; sets have one of their own.
WRITERS = frozenset(n for methods in METHODS.values() for n, change in methods.items() if change.stores) | {"add"}
