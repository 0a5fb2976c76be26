"""What `match` asks of a subject beyond tests and loads: sequence or mapping, the rest of it, attributes of classes."""

from __future__ import annotations

import dis
import functools
import types
from typing import Any

from adcompiler.runtime.changes import WRITERS
from adcompiler.runtime.errors import UnsupportedSyntaxError
from adcompiler.runtime.members import ABSENT, member

# Classes whose one positional sub-pattern is the subject itself.
ITSELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


class ByFlag(type):
    """The class of `Sequence` and `Mapping`: what `match` takes for one is a flag of the type, set by CPython.

    The flag is what counts (`typeobject.c`), and not the abstract classes: text is no sequence for a pattern, and an
    array is one since NumPy 2.5.
    """

    flag: int

    def __subclasscheck__(cls, other: type) -> bool:
        return bool(other.__flags__ & cls.flag)

    def __instancecheck__(cls, value: Any) -> bool:
        return cls.__subclasscheck__(type(value))


class Sequence(metaclass=ByFlag):
    """What a sequence pattern may match."""

    flag = 1 << 5


class Mapping(metaclass=ByFlag):
    """What a mapping pattern may match."""

    flag = 1 << 6


def rest_of(mapping: Any, *keys: Any) -> dict[Any, Any]:
    """What `**rest` captures: a new dict without `keys`."""
    return {key: value for key, value in dict(mapping).items() if key not in keys}


def pattern_name(cls: type, i: int, count: int = 0) -> str | None:
    """The attribute that the `i`-th of `count` positional sub-patterns of a class stands for; None: the subject."""
    names = getattr(cls, "__match_args__", None)
    if names is None:
        accepted = 1 if issubclass(cls, ITSELF) else 0
    elif isinstance(names, tuple):
        accepted = len(names)
    else:
        raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(names).__name__})")
    if count > accepted:
        plural = "" if accepted == 1 else "s"
        raise TypeError(f"{cls.__name__}() accepts {accepted} positional sub-pattern{plural} ({count} given)")
    return None if names is None else names[i]


def pattern_has(subject: Any, cls: type, i: int, count: int) -> bool:
    """Whether the subject has the attribute of a positional sub-pattern; too many of them are a TypeError."""
    name = pattern_name(cls, i, count)
    return name is None or has_attribute(subject, name)


def pattern_attribute(subject: Any, cls: type, i: int) -> Any:
    """The value that a positional sub-pattern is matched with."""
    name = pattern_name(cls, i)
    return subject if name is None else getattr(subject, name)


def has_attribute(obj: Any, name: str) -> bool:
    """`hasattr(obj, name)`, where the class is only known now: what this runs is not followed, and must not write."""
    found = member(type(obj), name)
    if found is ABSENT and isinstance(name, str) and name not in getattr(obj, "__dict__", ()):
        found = member(type(obj), "__getattr__")
    if isinstance(found, functools.cached_property) or _writes(_code_of(found)):
        raise UnsupportedSyntaxError(
            f"a test for the attribute .{name} of a {type(obj).__qualname__}, which is computed by code that writes\n"
            "What it writes is not followed where the class is only known at run time.\n"
            "Read the attribute itself, or test the class with isinstance()."
        )
    return hasattr(obj, name)


def _code_of(found: Any) -> types.CodeType | None:
    """The code that runs when an attribute is read; `found` is what the class has for it."""
    if isinstance(found, property):
        found = found.fget
    elif found is not ABSENT and not isinstance(found, types.FunctionType):
        found = member(type(found), "__get__")
    elif isinstance(found, types.FunctionType) and found.__name__ != "__getattr__":
        return None  # a method
    return getattr(found, "__code__", None)


@functools.lru_cache
def _writes(code: types.CodeType | None) -> bool:
    """Whether a function surely contains code that writes."""
    if code is None:
        return False
    stores = any(
        op.opname.startswith(("STORE_ATTR", "STORE_SUBSCR", "STORE_GLOBAL")) for op in dis.get_instructions(code)
    )
    return stores or not WRITERS.isdisjoint(code.co_names) or "setattr" in code.co_names
