"""Shape classes of kinds: numbered by first occurrence for a specialisation, or left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adcompiler.lattice import (
    Array,
    Closure,
    DictOfKinds,
    Instance,
    IntArray,
    Kind,
    Known,
    ListOf,
    MapOf,
    Number,
    Observed,
    Stream,
    TupleOf,
    Unknown,
    numeric,
)


def unshaped(kind: Kind | None) -> Kind | None:
    """A kind without shape classes, and of any value where it was a literal number."""
    match kind:
        case Array() | IntArray() | Number():
            return replace(kind, shape=None)
        case Known() if numeric(kind) is not None:
            return unshaped(numeric(kind))
        case TupleOf(items) | Instance(_, _, items):
            return replace(kind, items=tuple(unshaped(k) or Unknown() for k in items))
        case ListOf() | DictOfKinds() | Closure():
            return Unknown()
    return kind


def canonical(kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """Kinds with shape classes numbered by first occurrence: what a function is compiled for, whoever calls it."""
    numbers: dict[Any, Any] = {(): (), None: None}

    def renamed(kind: Any) -> Any:
        match kind:
            case Array() | IntArray() | Number():
                return replace(kind, shape=numbers.setdefault(kind.shape, ("p", len(numbers))))
            case TupleOf(items) | Instance(_, _, items):
                return replace(kind, items=tuple(map(renamed, items)))
            case ListOf(items, item):
                return ListOf(None if items is None else tuple(map(renamed, items)), renamed(item))
            case DictOfKinds(keys, items):
                return DictOfKinds(keys, tuple(map(renamed, items)))
            case MapOf(item):
                return MapOf(renamed(item))
            case Stream(item):
                return Stream(renamed(item))
            case Observed():
                return replace(kind, holder=None)
        return kind

    return tuple(map(renamed, kinds))


def shape_numbers(kinds: tuple[Kind, ...]) -> dict[Any, Any]:
    """The shape classes behind the numbers of `canonical`."""
    back: dict[Any, Any] = {}

    def visit(kind: Any, canon: Any) -> None:
        match canon:
            case Array() | IntArray() | Number():
                back[canon.shape] = kind.shape
            case TupleOf(items) | DictOfKinds(_, items) | Instance(_, _, items):
                for a, b in zip(kind.items, items, strict=True):
                    visit(a, b)
            case ListOf(items, item):
                for a, b in zip(kind.items or (), items or (), strict=True):
                    visit(a, b)
                visit(kind.item, item)
            case MapOf(item) | Stream(item):
                visit(kind.item, item)

    for kind, canon in zip(kinds, canonical(kinds), strict=True):
        visit(kind, canon)
    return back
