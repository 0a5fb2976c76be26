"""Operations that only move what containers hold: slices, joins, copies, `zip`, `itertools`, `sorted` by keys.

Such an operation is run once, on containers whose entries are wrapped in `Slot`s: where they come out says where the
cotangent of each entry of the result goes. Nothing is kept of the values themselves.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adcompiler.runtime.containers import from_items
from adcompiler.runtime.errors import MutationError, NoRuleError
from adcompiler.runtime.shadows import address, in_memory
from adcompiler.runtime.tangents import accumulate, rebuild

_DEPTH = 6  # how deep the results of operations on containers are looked into
_VIEWS: Any = (type({}.values()), type({}.items()))
_COUNTED = (list, tuple, collections.deque)


class Slot:
    """An entry of an operand on its way through an operation; `path` is the operand's number, then keys."""

    __slots__ = ("path", "value")

    def __init__(self, value: Any, path: tuple[Any, ...]) -> None:
        self.value = value
        self.path = path


def moved(function: Callable[..., Any], roles: str, *operands: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`function(*operands)`, and how its cotangent becomes those of the operands.

    `roles` has a letter for each operand: `s` if its entries are moved, `d` if the entries of its entries are, `p` if
    these are pairs of key and value, `v` if it is moved itself, `-` if it carries no derivative.
    """
    slotted = [_slotted(x, (i,), role) for i, (x, role) in enumerate(zip(operands, roles, strict=True))]
    y, sources = _opened(function(*slotted), _DEPTH)
    forms = [_form(x, role) for x, role in zip(operands, roles, strict=True)]

    def back(y_bar: Any) -> tuple[Any, ...]:
        bars: dict[tuple[Any, ...], Any] = {}
        _spread(sources, y_bar, bars)
        return tuple(_assembled(form, (i,), bars) for i, form in enumerate(forms))

    return y, back


# --- there ------------------------------------------------------------------------------------------------


def _slotted(x: Any, path: tuple[Any, ...], role: str) -> Any:
    """An operand with its entries in slots."""
    if role == "-":
        return x
    if role == "v":
        return Slot(x, path)
    role = "s" if role == "p" and isinstance(x, dict) else role
    inner = "s" if role == "d" else "q" if role == "p" else "v"
    if role == "q":
        key, value = x
        return key, Slot(value, (*path, 1))
    match x:
        case np.ndarray() if x.ndim:
            return [_slotted(item, (*path, i), inner) for i, item in enumerate(x)]
        case list() | tuple() | collections.deque():
            return _of_class(x, [_slotted(item, (*path, i), inner) for i, item in enumerate(x)])
        case dict():
            copy = x.copy()
            for key, value in x.items():
                copy[key] = _slotted(value, (*path, key), inner)
            return copy
        case _ if isinstance(x, _VIEWS):
            pairs = isinstance(x, _VIEWS[1])
            return [
                (item[0], Slot(item[1], (*path, i, 1))) if pairs else _slotted(item, (*path, i), inner)
                for i, item in enumerate(x)
            ]
    if _is_inert(x):
        return x
    raise NoRuleError(
        f"no derivative through an iteration over a {type(x).__name__}\nMake it a list where it is made: list(...)."
    )


def _of_class(x: Any, items: list[Any]) -> Any:
    if type(x) is list:
        return items
    if isinstance(x, collections.deque):
        return type(x)(items, x.maxlen)
    return rebuild(x, items) if isinstance(x, tuple) else type(x)(items)


def _is_inert(x: Any) -> bool:
    """Whether iterating over a value gives nothing with a derivative."""
    return isinstance(x, (str, bytes, range, set, frozenset, type(None), int, type({}.keys())))


def _opened(x: Any, depth: int) -> tuple[Any, Any]:
    """A result without slots, and where each of its entries came from: a path, a list or dict of these, or None."""
    if type(x) is Slot:
        return x.value, x.path
    if not depth or not isinstance(x, (*_COUNTED, dict)):
        return x, None
    items = [_opened(item, depth - 1) for item in (x.values() if isinstance(x, dict) else x)]
    if all(source is None for _, source in items):
        return x, None  # what holds no slots is the user's own
    if isinstance(x, dict):
        sources = {key: source for key, (_, source) in zip(x, items, strict=True)}
        for key, (value, _) in zip(list(x), items, strict=True):
            x[key] = value
        return x, sources
    return _of_class(x, [value for value, _ in items]), [source for _, source in items]


# --- and back ---------------------------------------------------------------------------------------------


def _spread(sources: Any, y_bar: Any, bars: dict[tuple[Any, ...], Any]) -> None:
    """Add the entries of a cotangent at the places where the entries of the result came from."""
    if sources is None or y_bar is None:
        return
    if isinstance(sources, tuple):
        bars[sources] = accumulate(bars.get(sources), y_bar)
    elif isinstance(sources, dict):
        for key, source in sources.items():
            _spread(source, y_bar.get(key), bars)
    else:
        for source, ct in zip(sources, y_bar, strict=True):
            _spread(source, ct, bars)


def _form(x: Any, role: str) -> Any:
    """What the cotangent of an operand is made like: None for what is moved itself."""
    if role in "-v":
        return None
    if role == "q":
        return (tuple, [None, None])
    role = "s" if role == "p" and isinstance(x, dict) else role
    inner = "s" if role == "d" else "q" if role == "p" else "v"
    if isinstance(x, np.ndarray):
        return (x.shape, [_form(item, inner) for item in x] if role != "s" else [None] * len(x))
    if isinstance(x, dict):
        return (dict, {key: _form(value, inner) for key, value in x.items()})
    if isinstance(x, _VIEWS[1]):
        return (list, [(tuple, [None, None])] * len(x))
    if isinstance(x, (*_COUNTED, _VIEWS[0])):
        form = tuple if isinstance(x, tuple) else list
        return (form, [_form(item, inner) for item in x] if role != "s" else [None] * len(x))
    return None


def _assembled(form: Any, path: tuple[Any, ...], bars: dict[tuple[Any, ...], Any]) -> Any:
    """The cotangent of an operand from those of its entries; None if nothing arrived."""
    if form is None:
        return bars.get(path)
    cls, parts = form
    if cls is dict:
        entries = {key: _assembled(part, (*path, key), bars) for key, part in parts.items()}
        return {key: ct for key, ct in entries.items() if ct is not None} or None
    items = [_assembled(part, (*path, i), bars) for i, part in enumerate(parts)]
    if all(ct is None for ct in items):
        return None
    return items if cls is list else tuple(items) if cls is tuple else from_items(items, cls)


# --- loops ------------------------------------------------------------------------------------------------


def unchanged(listed: list[Any], live: Any, backwards: bool = False) -> Iterator[Any]:
    """The items of an iterator or a dict's view as a loop takes them, which are those that were `listed` before it."""
    count = 0
    for item in reversed(live) if backwards else live:
        if count == len(listed) or not _is_same(item, listed[-1 - count if backwards else count]):
            raise _changed()
        count += 1
        yield item
    if count < len(listed):
        raise _changed()


def _is_same(a: Any, b: Any) -> bool:
    """Whether two reads of an entry gave the same value: an array gives a new view, or a new number, each time."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if isinstance(a, np.generic):
        return bool(a == b) or bool(a != a and b != b)
    return in_memory(a) and (address(a), a.shape, a.strides) == (address(b), b.shape, b.strides)


def _changed() -> MutationError:
    return MutationError(
        "a loop changes what it runs over, through an iterator or the view of a dict\n"
        "Which items it takes is not followed then.\nMake a list of them first: list(...)."
    )


# --- operations that are no builtins ----------------------------------------------------------------------


def ordered(values: Sequence[Any], keys: Sequence[Any], reverse: Any = False) -> list[Any]:
    """`sorted(values, key=..., reverse=reverse)`, where `keys` are what the key function gives."""
    return [values[i] for i in sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)]


def best(choose: Callable[..., int], values: Sequence[Any], keys: Sequence[Any]) -> Any:
    """`max(values, key=...)` or `min(...)`, whichever `choose` is."""
    return values[choose(range(len(keys)), key=keys.__getitem__)]
