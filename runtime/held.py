"""What of a value can be written into, and copies that later writes do not reach.

Values may share parts, refer back to themselves, and be nested deeper than Python's own recursion goes: each part is
visited once, by identity, and the walks are `yield`s that `walked` runs on a stack of its own.
"""

from __future__ import annotations

import copy
import functools
import types
from collections import deque
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import is_device_class
from adcompiler.runtime.containers import snapshot
from adcompiler.runtime.shadows import in_memory, refer_if_told
from adcompiler.runtime.tangents import Tangent, rebuild
from adcompiler.runtime.transformed import Holder, Transform
from adcompiler.runtime.walk import captured, fields

LEAVES = frozenset({np.ndarray, float, complex, int, bool, str, bytes, type(None), np.float64, np.float32})
_CALLABLES = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type, np.ufunc, Holder)
BOUND = types.FunctionType | types.MethodType | Transform  # what is no place, and holds such
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that was made by Python code
_MUTABLE = (list, dict, deque)

Walk = Generator[Any, Any, Any]


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
    if cls in LEAVES or cls is tuple:
        return False
    return isinstance(value, _MUTABLE) or is_place_class(cls)  # type: ignore[arg-type]  # classes are hashable


def is_object(value: Any) -> bool:
    """Whether a value is an object of a class written in Python, with attributes."""
    return is_place_class(type(value))  # type: ignore[arg-type]  # classes are hashable


@functools.lru_cache(maxsize=1024)
def is_place_class(cls: type) -> bool:
    """Whether objects of a class have attributes that can be written into."""
    if issubclass(cls, (tuple, np.ndarray, np.generic, str, int, float, Tangent, *_CALLABLES)):
        return False
    return cls is types.SimpleNamespace or (bool(cls.__flags__ & _HEAP_TYPE) and not is_device_class(cls))


def entries(value: Any) -> Any:
    """The places of an object and what they hold, as pairs."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, list | tuple | deque):
        return enumerate(value)
    return fields(value).items()


def walked(walk: Walk) -> Any:
    """The value of a recursive walk, in which `yield` stands for a call of another walk."""
    stack, sent = [walk], None
    while stack:
        try:
            stack.append(stack[-1].send(sent))
            sent = None
        except StopIteration as done:
            stack.pop()
            sent = done.value
    return sent


def hold(value: Any) -> Any:
    """What of a value can be written into, as it is now; None for a leaf."""
    return walked(_hold(value, {})) if _has_parts(value) else None


def hold_arrays(value: Any) -> Any:
    """As `hold`, with the arrays too: where they lie."""
    return walked(_hold(value, {}, True))


def objects(held: Any) -> Iterator[Any]:
    """The containers and objects in a value, by what `hold` says of it."""
    todo, seen = [held], set()
    while todo:
        part = todo.pop()
        if isinstance(part, Held | Captured | tuple) and id(part) not in seen:
            seen.add(id(part))
            if isinstance(part, Held):
                yield part.obj
            parts = part if isinstance(part, tuple) else part.parts
            todo.extend(parts.values() if hasattr(parts, "values") else parts)


def memory_in(held: Any) -> set[int]:
    """The objects and the blocks of memory that a value refers to, by what `hold_arrays` says of it."""
    found, todo = set(), [held]
    while todo:
        part = todo.pop()
        if part is None or id(part) in found:
            continue
        found.add(id(part))
        if type(part) is Held:
            found.add(id(part.obj))
        if isinstance(part, Held | Captured | tuple):
            parts = part if isinstance(part, tuple) else part.parts
            todo.extend(parts.values() if hasattr(parts, "values") else parts)
        else:
            found.add(id(part.block))
    return found


def has_arrays(held: Any) -> bool:
    """Whether containers or objects hold arrays, by what `hold_arrays` says of a value."""
    todo, seen = [(held, False)], set()
    while todo:
        part, inside = todo.pop()
        if part is None or (id(part), inside) in seen:
            continue
        seen.add((id(part), inside))
        if not isinstance(part, Held | Captured | tuple):
            if inside:
                return True
            continue
        parts = part if isinstance(part, tuple) else part.parts
        inside = inside or type(part) is Held
        todo.extend((p, inside) for p in (parts.values() if hasattr(parts, "values") else parts))
    return False


def hold_made(value: Any) -> Any:
    """`hold` of what a rule has made: of a tuple too, whose items have entries where it is taken for a list."""
    if not isinstance(value, tuple):
        return hold(value)
    return Held(value, {i: part for i, item in enumerate(value) if (part := hold(item)) is not None}, len(value))


def _has_parts(value: Any) -> bool:
    """Whether there may be something in a value that can be written into, or it itself."""
    cls = type(value)
    if cls in LEAVES:
        return False
    return cls is list or cls is tuple or isinstance(value, tuple | BOUND) or is_place(value)


def _hold(value: Any, known: dict[int, Any], arrays: bool = False) -> Walk:
    if not _has_parts(value):
        if arrays and isinstance(value, types.BuiltinMethodType):
            return refer_if_told(value.__self__)  # a method of an array has the array's cotangent
        return refer_if_told(value) if arrays else None
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, tuple):
        parts = []
        for item in value:
            parts.append((yield _hold(item, known, arrays)) if arrays or _has_parts(item) else None)
        found = rebuild(value, parts) if any(part is not None for part in parts) else None
    elif isinstance(value, BOUND):
        named: dict[str, Any] = {}
        found = known[id(value)] = Captured(named)
        yield _hold_parts(_bound_by(value).items(), named, known, arrays)
        found = found if named else None
    else:
        found = known[id(value)] = Held(value, {}, len(value) if isinstance(value, _MUTABLE) else 0)
        yield _hold_parts(entries(value), found.parts, known, arrays)
    known[id(value)] = found
    return found


def _bound_by(value: Any) -> dict[str, Any]:
    """What a function, a method or a transform has from elsewhere, by the names of its cotangent."""
    if isinstance(value, Transform):
        return value.held()
    return fields(value) if isinstance(value, types.MethodType) else captured(value)


def _hold_parts(pairs: Any, parts: dict[Any, Any], known: dict[int, Any], arrays: bool) -> Walk:
    for key, item in pairs:
        if (arrays or _has_parts(item)) and (part := (yield _hold(item, known, arrays))) is not None:
            parts[key] = part


def as_it_was(value: Any) -> Any:
    """A container or object of the same class and contents, which later writes do not reach; leaves are the same."""
    return walked(_copied(value, {})) if _has_parts(value) else value


def all_as_it_was(value: Any) -> Any:
    """The same with copies of the arrays, which may be written into too."""
    return walked(_copied(value, {}, True)) if _has_parts(value) else snapshot(value)


def _copied(value: Any, known: dict[int, Any], arrays: bool = False) -> Walk:
    if id(value) in known:
        return known[id(value)]
    if arrays and in_memory(value):
        result = known[id(value)] = snapshot(value)
        return result
    if isinstance(value, tuple):
        items = []
        for item in value:
            items.append((yield _copied(item, known, arrays)) if arrays or _has_parts(item) else item)
        result = known[id(value)] = rebuild(value, items)
        return result
    if not is_place(value) or isinstance(value, functools.partial):
        return value
    result = known[id(value)] = _without_contents(value)
    for key, item in list(entries(value)):
        new = (yield _copied(item, known, arrays)) if arrays or _has_parts(item) else item
        if isinstance(value, list):
            list.append(result, new)
        elif isinstance(value, deque):
            deque.append(result, new)
        elif isinstance(value, dict):
            dict.__setitem__(result, key, new)
        else:
            object.__setattr__(result, key, new)  # past the guard of a frozen dataclass
    return result


def _without_contents(value: Any) -> Any:
    """A new object of the class of a value, to be filled; a container keeps what it has besides its items."""
    cls = type(value)
    if cls is list or cls is dict or cls is types.SimpleNamespace:
        return cls()
    if not isinstance(value, _MUTABLE):
        return object.__new__(cls)
    result = copy.copy(value)
    base: Any = next(c for c in _MUTABLE if isinstance(value, c))
    base.clear(result)
    return result
