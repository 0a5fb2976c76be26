"""Kinds: what the compiler knows of a value before it has seen it.

A kind is a checked fact or `Unknown`; nothing is assumed.  Order: Int ⊑ Scalar ⊑ Number, Array(n) ⊑ Array(?) ⊑ Number
⊑ Unknown, real ⊑ maybe complex.  `shape` of an array is a *shape class*: two values of one class have the same shape;
None means nothing is known.  `Known` is a value that stands in the text or is part of the variant's key.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adcompiler.fromcupy import is_cupy_function
from adcompiler.runtime.arrays import is_library_array
from adcompiler.runtime.members import has_plain_fields, is_named_tuple
from adcompiler.runtime.transformed import Holder, Transform
from adcompiler.runtime.walk import holds_only


class Kind:
    """Base of all kinds."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Int(Kind):
    """A Python or NumPy integer or bool: never active, shape ()."""


@dataclass(frozen=True, slots=True)
class IntArray(Kind):
    """An exact array of integers or bools."""

    ndim: int | None = None
    shape: Hashable = None


@dataclass(frozen=True, slots=True)
class Scalar(Kind):
    """A Python or NumPy float or complex number: immutable, shape ()."""

    real: bool = True


@dataclass(frozen=True, slots=True)
class Array(Kind):
    """An exact array of floats (or complex numbers)."""

    ndim: int | None = None
    real: bool = True
    shape: Hashable = None


@dataclass(frozen=True, slots=True)
class Number(Kind):
    """Some number or array."""

    real: bool = True
    shape: Hashable = None


@dataclass(frozen=True, slots=True, eq=False)
class Known(Kind):
    """A value known at compile time: a literal, or an object whose identity is part of the key."""

    value: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Known):
            return NotImplemented
        a, b = self.value, other.value
        return a is b or (type(a) is type(b) and type(a) in _LITERALS and repr(a) == repr(b))

    def __hash__(self) -> int:
        return hash(type(self.value))


@dataclass(frozen=True, slots=True)
class TupleOf(Kind):
    """A tuple of known length; a named tuple's class is `cls`."""

    items: tuple[Kind, ...]
    cls: type = tuple


@dataclass(frozen=True, slots=True)
class ListOf(Kind):
    """A list: its items one by one when its display is in the text, else one kind for all."""

    items: tuple[Kind, ...] | None
    item: Kind


@dataclass(frozen=True, slots=True)
class DictOfKinds(Kind):
    """A dict made by a display with constant keys."""

    keys: tuple[Any, ...]
    items: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Instance(Kind):
    """An object of exactly the class `cls` whose fields `names` are known by kind."""

    cls: type
    names: tuple[str, ...]
    items: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Kind):
    """A dict whose keys are not known: one kind for all its values."""

    item: Kind


class Seen(list[Any]):
    """Holds a value seen at the first call, until the compilation is done: what a user passed is not kept for ever."""


@dataclass(frozen=True, slots=True, eq=False, match_args=False)
class Observed(Kind):
    """A container or object seen at the first call; what is loaded from it is observed and guarded when it is read."""

    path: tuple[Any, ...]
    seen: Seen
    holder: str | None = None  # the parameter that it was read from, if no name in between could be another's
    inert: bool = False  # nothing in it carries a derivative; guarded
    __match_args__ = ("path", "value")

    @property
    def value(self) -> Any:
        """What was seen."""
        return self.seen[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Observed) and (self.path, self.holder) == (other.path, other.holder)

    def __hash__(self) -> int:
        return hash(self.path)


@dataclass(frozen=True, slots=True, eq=False)
class Closure(Kind):
    """A function with captured variables, which are passed to its pair.

    It is defined inside a compiled function (`node` its gast, `owner` the specialisation), or came from outside (`node`
    its code, `owner` the function seen at the first call, `path` where it was found).
    """

    node: Any
    captures: tuple[str, ...]
    owner: Any
    name: str
    path: tuple[Any, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Closure) and self.node is other.node and self.owner is other.owner

    def __hash__(self) -> int:
        return id(self.node)


@dataclass(frozen=True, slots=True)
class Heap(Kind):
    """A list, dict or object, exactly of class `cls`, that the program makes at `site` (None: somewhere) and may write.

    What it holds is known of the site, not of the value: see `Program.content`.
    """

    cls: type
    site: Hashable = None


@dataclass(frozen=True, slots=True)
class Inert(Kind):
    """Anything that never carries a derivative: strings, iterators of integers, loggers, files."""


@dataclass(frozen=True, slots=True)
class Namespace(Inert):
    """The variables of a module, or the attributes of a class, as a dict: what it holds may be written into."""


@dataclass(frozen=True, slots=True)
class Foreign(Kind):
    """An object of a library's class without derivative, whose methods are those of the class: a random generator."""

    cls: type


@dataclass(frozen=True, slots=True)
class Stream(Kind):
    """A generator that was compiled with its caller, and what it yields; None: or it is something else."""

    item: Kind | None


@dataclass(frozen=True, slots=True)
class SliceOf(Kind):
    """A slice written inside an index."""


@dataclass(frozen=True, slots=True)
class Unknown(Kind):
    """Anything."""


# The types that the guards of `Scalar` and `Int` admit.
REAL_TYPES = frozenset({float, np.float64, np.float32, np.float16, np.longdouble})
COMPLEX_TYPES = frozenset({complex, np.complex128, np.complex64, np.clongdouble})
INTEGER_TYPES = frozenset({int, *(np.dtype(c).type for c in "bhilqBHILQ")})

_CONSTANTS = (bool, str, bytes, type, types.ModuleType, types.EllipsisType, types.NotImplementedType, enum.Enum)
_GENERATORS = (np.random.Generator, np.random.RandomState)
_DISPATCHED = type(np.sum)  # NumPy's functions that other array libraries may answer

_LITERALS = (int, float, complex, str, bytes, bool)
_INERT_TYPES: frozenset[type] = INTEGER_TYPES | {bool, str, bytes, type(None)}
MAX_DEPTH = 4


# --- numeric view -----------------------------------------------------------------------------------------


def numeric(kind: Kind | None) -> Kind | None:
    """The numeric kind behind a kind (a literal 2.0 is a `Scalar`), or None."""
    match kind:
        case Int() | IntArray() | Scalar() | Array() | Number():
            return kind
        case Known(value):
            if isinstance(value, bool | int | np.integer | np.bool_):
                return Int()
            if isinstance(value, float | np.floating):
                return Scalar()
            if isinstance(value, complex | np.complexfloating):
                return Scalar(real=False)
            if type(value) is np.ndarray:
                return kind_of_array(value)
    return None


def is_scalar(kind: Kind | None) -> bool:
    """Whether the value is surely a number of shape ()."""
    return isinstance(numeric(kind), Int | Scalar)


def is_real(kind: Kind | None) -> bool:
    """Whether the value is surely not complex."""
    k = numeric(kind)
    return isinstance(k, Int | IntArray) or (k is not None and k.real)  # type: ignore[attr-defined]


def ndim_of(kind: Kind | None) -> int | None:
    """The number of dimensions, if known."""
    match numeric(kind):
        case Int() | Scalar():
            return 0
        case Array(ndim) | IntArray(ndim):
            return ndim
    return None


def shape_of(kind: Kind | None) -> Hashable:
    """The shape class, `()` for scalars, None if nothing is known."""
    match numeric(kind):
        case Int() | Scalar():
            return ()
        case Array(ndim, _, shape) | IntArray(ndim, shape):
            return () if ndim == 0 else shape
        case Number(_, shape):
            return shape
    return None


def is_plain(kind: Kind | None) -> bool:
    """Whether nothing in a value can be written into, arrays apart."""
    match kind:
        case TupleOf(items):
            return all(map(is_plain, items))
        case Known() | Inert() | Foreign() | Closure():
            return True
        case Stream(item):
            return item is not None and is_plain(item)
    return numeric(kind) is not None


def can_be_active(kind: Kind | None) -> bool:
    """Whether a value of this kind can carry a derivative."""
    match kind:
        case None | Int() | IntArray() | Inert() | Foreign() | SliceOf():
            return False
        case Known(value):
            return isinstance(value, float | complex | np.inexact)
        case TupleOf(items) | DictOfKinds(_, items) | Instance(_, _, items):
            return any(map(can_be_active, items))
        case ListOf(items, item):
            return any(map(can_be_active, items)) if items is not None else can_be_active(item)
        case MapOf(item):
            return can_be_active(item)
        case Stream(item):
            return item is None or can_be_active(item)
        case Observed(inert=inert):
            return not inert
    return True


def value_can_be_active(value: Any, depth: int = 0) -> bool:
    """Whether an observed value can carry a derivative."""
    if isinstance(value, bool | int | str | bytes | np.integer | np.bool_ | type | types.ModuleType | None):
        return False
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "biuSUMmV"
    if isinstance(value, enum.Enum | np.random.Generator | np.random.RandomState):
        return False
    if isinstance(value, types.BuiltinFunctionType | np.ufunc | np.dtype):
        return False
    if isinstance(value, Holder):
        return depth < MAX_DEPTH and any(value_can_be_active(v, depth + 1) for v in value.held().values())
    if isinstance(value, types.FunctionType):
        cells = [c.cell_contents for c in value.__closure__ or () if not _is_empty(c)]
        return depth < MAX_DEPTH and any(value_can_be_active(v, depth + 1) for v in cells)
    if (type(value) in (tuple, list, dict) or is_named_tuple(type(value))) and depth < MAX_DEPTH:
        items = value.values() if type(value) is dict else value
        return not holds_only(items, _INERT_TYPES) and any(value_can_be_active(v, depth + 1) for v in items)
    return True


def _captures_numbers(function: types.FunctionType) -> bool:
    """Whether a function has captured an int: there may be another for each, as there is in a loop."""
    cells = [c.cell_contents for c in function.__closure__ or () if not _is_empty(c)]
    return any(type(v) is int or isinstance(v, np.integer) for v in cells)


def is_inert(value: Any) -> bool:
    """Whether nothing in an observed value carries a derivative."""
    return not value_can_be_active(value)


def _is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  raises if the cell is empty
    except ValueError:
        return True
    return False


# --- observation ------------------------------------------------------------------------------------------


def kind_of_array(value: np.ndarray) -> Kind:
    """The kind of an exact array."""
    match value.dtype.kind:
        case "f" | "c":
            return Array(value.ndim, value.dtype.kind == "f")
        case "b" | "i" | "u":
            return IntArray(value.ndim)
    return Unknown()


def observe(value: Any, path: tuple[Any, ...]) -> Kind:  # noqa: C901  one case per kind of value
    """The kind of a value seen at the first call, found at `path`."""
    if value is None or isinstance(value, (*_CONSTANTS, *_GENERATORS)):
        return Foreign(type(value)) if type(value) in _GENERATORS else Known(value)
    if type(value) is np.ndarray or is_library_array(value):
        kind = kind_of_array(value)
        return replace(kind, shape=path) if isinstance(kind, Array | IntArray) else kind
    if type(value) is int or isinstance(value, np.integer):
        return Int()
    if type(value) in (float, complex) or isinstance(value, np.floating | np.complexfloating):
        return Scalar(not isinstance(value, complex | np.complexfloating))
    if isinstance(value, types.FunctionType) and (value_can_be_active(value) or _captures_numbers(value)):
        if value.__kwdefaults__ or not all(type(d) in (*_LITERALS, type(None)) for d in value.__defaults__ or ()):
            return Unknown()
        return Closure(value.__code__, value.__code__.co_freevars, value, value.__name__, path)
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | np.ufunc | np.dtype | _DISPATCHED):
        return Known(value)
    if isinstance(value, Transform):  # made anew wherever `gradient(f)` stands: what matters is that it is one
        return Instance(Transform, ("function",), (Unknown() if value_can_be_active(value) else Inert(),))
    if is_transform(value) or is_cupy_function(value):
        return Known(value)
    if type(value) in (tuple, list, dict) or is_named_tuple(type(value)):
        return Observed(path, Seen((value,)), inert=is_inert(value))
    return Observed(path, Seen((value,))) if has_plain_fields(type(value)) else Unknown()


def is_transform(value: Any) -> bool:
    """Whether a value is what `differentiable` or a transform made of a function."""
    cls = type(value)
    return hasattr(cls, "__adcompiler_function__") or hasattr(cls, "__adcompiler_transform__")


def live(kind: Kind) -> Kind:
    """The kind on a device of what NumPy gives as a number: an array of shape (), an element a view of its array."""
    match kind:
        case Scalar(real):
            return Number(real, ())
        case Int():
            return IntArray(0, ())
        case TupleOf(items, cls):
            return TupleOf(tuple(map(live, items)), cls)
        case ListOf(items, item):
            return ListOf(None if items is None else tuple(map(live, items)), live(item))
    return kind


# --- objects ----------------------------------------------------------------------------------------------


def class_of(kind: Kind | None) -> type | None:
    """The class of a value that is an object with fields (a named tuple included), if it is known."""
    match kind:
        case Instance(cls):
            return cls
        case Heap(cls) if has_plain_fields(cls):
            return cls
        case TupleOf(_, cls) if cls is not tuple:
            return cls
        case Observed(_, value) if type(value) not in (tuple, list, dict):
            return type(value)
    return None


def is_object(kind: Kind | None) -> bool:
    """Whether a value is surely an object with fields and no container."""
    cls = class_of(kind)
    return cls is not None and not issubclass(cls, tuple)
