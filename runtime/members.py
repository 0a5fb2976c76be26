"""What Python finds for an attribute of an object, from its class and its own fields, without running any of it."""

from __future__ import annotations

import functools
import types
from typing import Any

_HEAP_TYPE = 1 << 9  # the class was made by a class statement, not in C

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "ABSENT"})()


def member(cls: type, name: str) -> Any:
    """What a class or its bases define under a name, or ABSENT."""
    base = owner_of(cls, name)
    return ABSENT if base is None else vars(base)[name]


def owner_of(cls: type, name: str, after: type | None = None) -> type | None:
    """The first of a class and its bases that defines a name; with `after`, of the bases behind that one."""
    mro = cls.__mro__
    found = (base for base in (mro if after is None else mro[mro.index(after) + 1 :]) if name in vars(base))
    return next(found, None)


def member_count(cls: type) -> int:
    """How much a class and its bases define: more, when something has been added."""
    return sum(len(vars(base)) for base in cls.__mro__)


def is_field(value: Any, name: str) -> bool:
    """Whether an object keeps an attribute itself: loading it has no effect."""
    found = member(type(value), name)
    if isinstance(found, types.MemberDescriptorType):
        return hasattr(value, name)
    if found is not ABSENT and is_data_descriptor(found):
        return False
    return name in getattr(value, "__dict__", ())


def is_generated(function: Any) -> bool:
    """Whether a method was written by `dataclass` or `namedtuple`."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is not None and code.co_filename.startswith("<string")


def is_item_as_attribute(value: Any, name: str, found: Any) -> bool:
    """Whether an attribute is an item of a dict, as in results of SciPy; `found` is what the class has of that name."""
    plain = found is ABSENT and isinstance(value, dict) and type(value).__getitem__ is dict.__getitem__
    return plain and name in value and getattr(value, name) is value[name]


def is_data_descriptor(found: Any) -> bool:
    """Whether what a class defines comes before the fields of its objects."""
    return hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")


def is_cached(found: Any) -> bool:
    """Whether a class keeps what this attribute computes, so that it may be out of date."""
    return isinstance(found, functools.cached_property)


def is_constant_of_class(found: Any) -> bool:
    """Whether an attribute of a class is given to its objects as it is."""
    return not hasattr(type(found), "__get__")


def is_named_tuple(cls: type) -> bool:
    """Whether a class is a named tuple, whose fields are its items."""
    fields = getattr(cls, "_fields", None)
    return issubclass(cls, tuple) and isinstance(fields, tuple) and cls.__getitem__ is tuple.__getitem__


def has_plain_fields(cls: type) -> bool:
    """Whether objects of a class keep their fields where Python does by default: loads of them have no effects.

    So it is for what is written in Python and is no subclass of a number, an array, a container or another type in C.
    """
    if cls in (functools.partial, types.MethodType, types.SimpleNamespace):
        return True
    if member(cls, "__getattribute__") is not object.__getattribute__ or hasattr(cls, "__array__"):
        return False
    written = all(c is object or (c.__flags__ & _HEAP_TYPE and not _is_made_in_c(c)) for c in cls.__mro__)
    return written and any("__dict__" in vars(c) or "__slots__" in vars(c) for c in cls.__mro__)


def _is_made_in_c(cls: type) -> bool:
    """Whether objects of a class get their contents from C, as those of `functools.lru_cache` do."""
    return isinstance(vars(cls).get("__new__"), types.BuiltinFunctionType)
