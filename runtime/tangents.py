"""Cotangents of values that are not arrays: zero, sums entry by entry, objects, and delayed ones.

A zero cotangent is None everywhere. Structures mirror the value: a tuple for a tuple, a list for a list, a dict for a
dict, a `Tangent` for an object. Everything here is pure: no cotangent is ever changed in place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, ItemsView
from typing import Any, NoReturn

import numpy as np

from adcompiler.runtime.errors import DifferentiationError, TangentError

ZERO = None
NO_TANGENT = None


class NotImplementedTangent:
    """The cotangent of an argument for which a rule has no derivative; harmless until somebody asks for it.

    It absorbs what is added to it, and raises a DifferentiationError with `why` when something else is computed with
    it, or when it reaches a result.
    """

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why

    def __repr__(self) -> str:
        return f"NotImplementedTangent({self.why!r})"

    def fail(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise the error that this cotangent stands for, whatever it is asked for."""
        raise DifferentiationError(f"this derivative is not implemented: {self.why}")

    def __add__(self, other: Any) -> NotImplementedTangent:
        return self

    __radd__ = __add__

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> NotImplementedTangent:
        return self if ufunc is np.add and method == "__call__" else self.fail()

    __neg__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = fail
    __matmul__ = __rmatmul__ = __getitem__ = __iter__ = __len__ = __float__ = __complex__ = __abs__ = fail
    __array__ = __array_function__ = fail
    dtype = shape = ndim = size = T = real = imag = property(fail)


class Tangent:
    """The gradient of an object: one entry for each field, None where the field had no influence.

    Fields are read as attributes or items (`t.W`, `t["W"]`) and listed by `.items()`. Tangents of one class can be
    added, and multiplied by a number; `tree_map(fn, value, tangent)` combines one with its object.
    """

    __slots__ = ("_cls", "_fields")

    def __init__(self, cls: type, /, **fields: Any) -> None:
        self._cls = cls
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        # Slots that are not set yet (while unpickling) must not come back here for ever.
        if name in Tangent.__slots__ or name not in self._fields:
            raise AttributeError(f"the {self!r} has no field {name!r}" if name not in Tangent.__slots__ else name)
        return self._fields[name]

    # What is computed with a tangent has a cotangent, and a tangent, with an entry for the attribute `_fields`.
    def __getitem__(self, name: str) -> Any:
        return self._fields if name == "_fields" else self._fields[name]

    def __contains__(self, name: object) -> bool:
        return name in self._fields

    def __iter__(self) -> Any:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def get(self, name: str, default: Any = None) -> Any:
        """The entry of a field, or `default` if there is none."""
        return self._fields if name == "_fields" else self._fields.get(name, default)

    def keys(self) -> Any:
        """The names of the fields."""
        return self._fields.keys()

    def items(self) -> ItemsView[str, Any]:
        """The pairs of field name and entry, as of a dict."""
        return self._fields.items()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._fields.items())
        return f"Tangent({self._cls.__qualname__}: {fields})"

    def __add__(self, other: Any) -> Any:
        return accumulate(self, other) if other is None or isinstance(other, Tangent) else NotImplemented

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Any:
        return scale(self, factor) if isinstance(factor, (int, float, complex, np.number)) else NotImplemented

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tangent) and self._cls is other._cls and equal(self._fields, other._fields)

    __hash__ = None  # type: ignore[assignment]


def accumulate(a: Any, b: Any) -> Any:
    """The sum of two cotangents of one value; None is zero.

    Numbers and arrays are added; tuples, lists, dicts and Tangents entry by entry, a list or tuple also with an array
    along its first axis. Neither operand is changed. Raises TangentError if the structures differ.
    """
    if a is None:
        return b
    if b is None:
        return a
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return a + b
    if isinstance(a, _STRUCTURES) or isinstance(b, _STRUCTURES):
        return _accumulate_structures(a, b)
    return a + b


def _accumulate_structures(a: Any, b: Any) -> Any:
    if isinstance(a, Thunk) or isinstance(b, Thunk):
        return accumulate(unthunk(a), unthunk(b))
    for operand in (a, b):
        if isinstance(operand, NotImplementedTangent):
            return operand
    if isinstance(a, Tangent) or isinstance(b, Tangent):
        cls = a._cls if isinstance(a, Tangent) else b._cls
        a, b = (x.get("_fields", x) if isinstance(x, dict) else x for x in (a, b))
        return Tangent(cls, **_accumulate_fields(a, b))
    if isinstance(a, dict):
        return _accumulate_fields(a, b)
    return _accumulate_entries(a, b)


def _accumulate_fields(a: Any, b: Any) -> dict[Any, Any]:
    if not (hasattr(a, "items") and hasattr(b, "items")):
        raise _mismatch(a, b)
    total = dict(a.items())
    for name, value in b.items():
        total[name] = accumulate(total.get(name), value)
    return total


def _accumulate_entries(a: Any, b: Any) -> Any:
    sequence = a if isinstance(a, (tuple, list)) else b
    try:
        entries = [accumulate(x, y) for x, y in zip(a, b, strict=True)]
    except (TypeError, ValueError):
        raise _mismatch(a, b) from None
    return rebuild(sequence, entries)


def _mismatch(a: Any, b: Any) -> TangentError:
    return TangentError(f"cotangents of different structure cannot be added: {a!r} and {b!r}")


def rebuild(sequence: Any, entries: list[Any]) -> Any:
    """`entries` in a container of the type of `sequence`: a list, a tuple or a named tuple."""
    if isinstance(sequence, list):
        return entries
    return type(sequence)(*entries) if hasattr(sequence, "_fields") else tuple(entries)


def scale(ct: Any, factor: Any) -> Any:
    """The cotangent `ct` times a number, entry by entry; None stays None."""
    if ct is None:
        return None
    if isinstance(ct, Tangent):
        return Tangent(ct._cls, **{name: scale(value, factor) for name, value in ct.items()})
    if isinstance(ct, dict):
        return {key: scale(value, factor) for key, value in ct.items()}
    if isinstance(ct, (tuple, list)):
        return rebuild(ct, [scale(value, factor) for value in ct])
    return ct * factor


def equal(a: Any, b: Any) -> bool:
    """Whether two cotangents are equal, entry by entry; arrays when shape and all elements are."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    if hasattr(a, "shape") or hasattr(b, "shape"):
        return a is not None and b is not None and np.array_equal(a, b)
    return bool(a == b)


class Thunk:
    """A cotangent that is computed when it is first needed, and at most once: ``Thunk(lambda: costly(y_bar))``.

    The pullback of a rule may return one for any argument, and at any depth of a structure. That of an argument whose
    derivative nobody asked for is never computed; no other code ever sees one: not a rule's pullback, not the caller.
    """

    __slots__ = ("_fn", "_value")

    def __init__(self, fn: Callable[[], Any]) -> None:
        self._fn: Callable[[], Any] | None = fn
        self._value: Any = None

    def value(self) -> Any:
        """The cotangent, never itself a thunk. What the function had captured is given up after the first call."""
        if self._fn is not None:
            value = self._fn()
            self._value = value.value() if isinstance(value, Thunk) else value
            self._fn = None
        return self._value


def unthunk(x: Any) -> Any:
    """`x` with every Thunk in it computed, through tuples, lists, dicts and Tangents; other things are as they are.

    A dataclass that stands for the cotangent of one becomes a Tangent.
    """
    if type(x) in _PLAIN or x is None:
        return x
    if isinstance(x, Thunk):
        return unthunk(x.value())
    if isinstance(x, (tuple, list)):
        return rebuild(x, [unthunk(value) for value in x])
    if isinstance(x, dict):
        return {key: unthunk(value) for key, value in x.items()}
    if isinstance(x, Tangent):
        return Tangent(x._cls, **{name: unthunk(value) for name, value in x.items()})
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return Tangent(type(x), **{field.name: unthunk(getattr(x, field.name)) for field in dataclasses.fields(x)})
    return x


_PLAIN = frozenset({float, complex, np.ndarray, np.float64, np.float32, np.complex128, np.complex64})
_STRUCTURES = (tuple, list, dict, Tangent, Thunk, NotImplementedTangent)
