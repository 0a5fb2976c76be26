"""What kinds have in common: the least kind above two, and the kind of one of many values."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from adcompiler.lattice import (
    MAX_DEPTH,
    Array,
    DictOfKinds,
    Heap,
    Inert,
    Instance,
    Int,
    IntArray,
    Kind,
    Known,
    ListOf,
    MapOf,
    Namespace,
    Number,
    Scalar,
    SliceOf,
    Stream,
    TupleOf,
    Unknown,
    is_real,
    numeric,
    shape_of,
)


def join(a: Kind | None, b: Kind | None, where: Hashable = None) -> Kind | None:
    """The least kind above both; None is "no value yet".  `where` names the shape class of a join of classes."""
    if a is None or b is None or a == b:
        return b if a is None else a
    if isinstance(a, TupleOf | Instance) and isinstance(b, TupleOf | Instance) and _alike(a, b):
        return replace(a, items=_join_all(a.items, b.items, where))
    if isinstance(a, ListOf) and isinstance(b, ListOf) and _depth(a) < MAX_DEPTH and _depth(b) < MAX_DEPTH:
        known = [k.item for k in (a, b) if k.items != ()]  # an empty list says nothing of what it may hold
        return ListOf(None, join(known[0], known[-1], where) or Unknown())
    if isinstance(a, DictOfKinds) and isinstance(b, DictOfKinds) and a.keys == b.keys and _depth(a) < MAX_DEPTH:
        merged = (join(x, y, (where, k)) for k, x, y in zip(a.keys, a.items, b.items, strict=True))
        return DictOfKinds(a.keys, tuple(m or Unknown() for m in merged))
    if isinstance(a, Heap) and isinstance(b, Heap) and a.cls is b.cls:
        return Heap(a.cls)
    if isinstance(a, Stream) or isinstance(b, Stream):
        items = [k.item if isinstance(k, Stream) else None for k in (a, b)]
        return Stream(None if None in items else join(items[0], items[1], where))
    if (
        isinstance(a, DictOfKinds | MapOf)
        and isinstance(b, DictOfKinds | MapOf)
        and max(_depth(a), _depth(b)) < MAX_DEPTH
    ):
        return MapOf(join(value_kind(a, where), value_kind(b, where), where) or Unknown())
    x, y = numeric(a), numeric(b)
    if x is None or y is None:
        return Inert() if _is_plain(a) and _is_plain(b) else Unknown()
    return _join_numbers(x, y, where)


def _alike(a: TupleOf | Instance, b: TupleOf | Instance) -> bool:
    """Whether two tuples or objects of known classes have the same entries, and are not too deep to be joined."""
    if a.cls is not b.cls or len(a.items) != len(b.items) or _depth(a) >= MAX_DEPTH or _depth(b) >= MAX_DEPTH:
        return False
    return getattr(a, "names", ()) == getattr(b, "names", ())


def _join_all(a: tuple[Kind, ...], b: tuple[Kind, ...], where: Hashable) -> tuple[Kind, ...]:
    return tuple(join(x, y, (where, i)) or Unknown() for i, (x, y) in enumerate(zip(a, b, strict=True)))


def value_kind(kind: DictOfKinds | MapOf, where: Hashable = None) -> Kind | None:
    """What the values of a dict have in common; None if it has none."""
    if isinstance(kind, MapOf):
        return kind.item
    merged: Kind | None = None
    for i, item in enumerate(kind.items):
        merged = join(merged, item, (where, "value", i))
    return merged


def _is_plain(kind: Kind) -> bool:
    """Whether a value is text, None, an integer or the like: nothing that could be called or hold a derivative."""
    match kind:
        case ListOf(items, item):
            return all(map(_is_plain, items if items is not None else (item,)))
        case Known(value):
            return value is None or value is Ellipsis or isinstance(value, str | bytes | bool | int | np.integer)
    return isinstance(kind, Int | IntArray | Inert | SliceOf) and not isinstance(kind, Namespace)


def _join_numbers(x: Kind, y: Kind, where: Hashable) -> Kind:
    shape = shape_of(x) if shape_of(x) == shape_of(y) else where
    real = is_real(x) and is_real(y)
    match x, y:
        case (Int(), Int()):
            return Int()
        case (Int() | Scalar(), Int() | Scalar()):
            return Scalar(real)
        case (IntArray(n), IntArray(m)):
            return IntArray(n if n == m else None, shape)
        case (Array(n), Array(m)):
            return Array(n if n == m else None, real, shape)
    return Number(real, shape)


def _depth(kind: Kind) -> int:
    match kind:
        case TupleOf(items) | DictOfKinds(_, items) | Instance(_, _, items):
            return 1 + max(map(_depth, items), default=0)
        case ListOf(_, item) | MapOf(item):
            return 1 + _depth(item)
    return 0
