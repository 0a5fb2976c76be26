"""What a value keeps alive: the arrays, numbers and containers that can be reached from it, through closures too."""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from adcompiler.kept import kept_by
from adcompiler.runtime.arrays import like_of
from adcompiler.runtime.shadows import address, root_of
from adcompiler.runtime.walk import captured, fields, is_array

_SHARED = (
    *(type(None), bool, str, type, types.ModuleType, types.BuiltinFunctionType, types.CodeType, np.ufunc, np.dtype),
)
_SMALL = range(-5, 257)  # the ints that Python has once
_FACTS = frozenset({"shape", "dtype", "ndim", "size", "nbytes", "itemsize"})


class Part(NamedTuple):
    """An array, another object, or what an inner pullback keeps; `label` is the captured variable it was found in."""

    value: Any
    label: str
    facts_only: bool = False  # of the variable only the shape or dtype is read


def parts(value: Any, seen: set[int]) -> Iterator[Part]:
    """What is kept alive by a value, each object once; `seen` are the ids of what was met before."""
    todo = [Part(value, "")]
    while todo:
        part = todo.pop()
        value = part.value
        if isinstance(value, _SHARED) or _is_shared(value):
            continue
        if is_array(value) and not isinstance(value, np.generic):
            yield part  # a name of its own for the same memory may say more
            if id(value) in seen:
                continue
            seen.add(id(value))
            todo += _inside_array(value, part.label)
            continue
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.FunctionType) and value.__code__.co_filename.startswith("<adcompiler"):
            continue
        if _is_ours(value):
            continue
        yield part
        if not isinstance(value, types.FunctionType) or kept_by(value) is None:
            todo += reversed(list(_inside(value, part.label)))


def _is_shared(value: Any) -> bool:
    """Whether Python has an object once, whoever uses it."""
    return (type(value) is int and value in _SMALL) or (type(value) is tuple and not value)


def _is_ours(value: Any) -> bool:
    """Whether an object belongs to the compiler or to its table of rules, and to no call."""
    module = f"{type(value).__module__}."
    return module.startswith("adcompiler.") and not module.startswith("adcompiler.runtime.")


def _inside_array(value: Any, label: str) -> Iterator[Part]:
    """What an array keeps beside its memory."""
    if getattr(value.dtype, "hasobject", False):
        yield from (Part(item, label) for item in np.ravel(value))
    if type(value) is not np.ndarray and like_of(value) is None:
        yield from (Part(item, label) for item in getattr(value, "__dict__", {}).values())


def _inside(value: Any, label: str) -> Iterator[Part]:
    """The parts of a container, function or object."""
    if isinstance(value, types.FunctionType):
        facts = facts_read(value)
        own = str(value.__module__).startswith("adcompiler.runtime.")
        for name, item in captured(value).items():
            yield Part(item, label if own else name, not own and name in facts)
        for item in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()):
            yield Part(item, label)
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from (Part(item, label) for item in value)
    elif isinstance(value, Mapping):
        yield from (Part(item, label) for pair in value.items() for item in pair)
    elif isinstance(value, slice):
        yield from (Part(item, label) for item in (value.start, value.stop, value.step))
    elif not isinstance(value, int | float | complex | bytes):
        yield from (Part(item, label) for item in fields(value).values())


@functools.lru_cache(maxsize=1024)
def _facts_read(code: types.CodeType) -> frozenset[str]:
    steps = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
    whole: set[str] = set()
    facts: set[str] = set()
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        if step.argval not in code.co_freevars or step.opname == "COPY_FREE_VARS":
            continue
        fact = after is not None and after.opname == "LOAD_ATTR" and after.argval in _FACTS
        (facts if fact and step.opname == "LOAD_DEREF" else whole).add(step.argval)
    return frozenset(facts - whole)


def facts_read(function: types.FunctionType) -> frozenset[str]:
    """The captured variables of which a function reads only the shape, the dtype or the like."""
    return _facts_read(function.__code__)


# --- sizes ------------------------------------------------------------------------------------------------


def block_of(array: Any) -> tuple[Hashable, int]:
    """The block of memory that an array lies in: what tells it from others, and its bytes."""
    root = root_of(array)
    if like_of(root) is not None and hasattr(root, "data") and hasattr(root.data, "mem"):
        return (type(root).__module__, root.data.mem.ptr), int(root.data.mem.size)
    return ("host", address(root)), int(root.nbytes)


def window_of(array: Any) -> tuple[Hashable, int]:
    """The part of its block that an array shows: what tells it from others, and its bytes."""
    distinct = 1
    for count, stride in zip(array.shape, array.strides, strict=True):
        distinct *= count if stride else min(count, 1)
    return (address(array), array.shape, array.strides), distinct * int(array.itemsize)


def size_of(value: Any) -> int:
    """The bytes of an object itself, without its parts."""
    if isinstance(value, types.FunctionType):
        cells = value.__closure__ or ()
        return sys.getsizeof(value) + sys.getsizeof(cells) + sum(map(sys.getsizeof, cells))
    if isinstance(value, np.generic):
        return type(value).__basicsize__  # which `sys.getsizeof` takes for a header only
    own = inspect.getattr_static(value, "__dict__", None)
    if isinstance(own, types.GetSetDescriptorType):  # not what a class of the user's takes it for
        own = own.__get__(value)
    return sys.getsizeof(value) + (sys.getsizeof(own) if type(own) is dict else 0)


__all__ = ["Part", "block_of", "parts", "size_of", "window_of"]
