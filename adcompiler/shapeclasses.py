"""Shape classes of kinds: numbered by first occurrence for a specialisation, given other names, or left out."""

from __future__ import annotations

from collections.abc import Callable
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

_SHAPED = Array | IntArray | Number


def mapped(kind: Kind, part: Callable[[Kind, Any], Kind]) -> Kind:
    """A kind with `part` of each kind that it is made of and the step to it; of one without parts, itself."""
    match kind:
        case TupleOf(items) | Instance(_, _, items) | DictOfKinds(_, items):
            return replace(kind, items=tuple(part(k, i) for i, k in enumerate(items)))
        case ListOf(items, item):
            return ListOf(items and tuple(part(k, i) for i, k in enumerate(items)), part(item, "*"))
        case MapOf(item):
            return MapOf(part(item, "*"))
        case Stream(item):
            return Stream(item and part(item, "*"))
    return kind


def parts_of(kind: Kind) -> list[Kind]:
    """The kinds that a kind is made of, in the order of `mapped`."""
    found: list[Kind] = []

    def part(k: Kind, _: Any) -> Kind:
        found.append(k)
        return k

    mapped(kind, part)
    return found


def shapeless(kind: Kind, _: Any = None) -> Kind:
    """The kind of one of many values: two of them need not have the same shape."""
    match kind:
        case Array(0) | IntArray(0):
            return replace(kind, shape=())
        case Array() | IntArray() | Number():
            return replace(kind, shape=None)
    return mapped(kind, shapeless)


def unshaped(kind: Kind, _: Any = None) -> Kind:
    """A kind without shape classes and parameters, and of any value where it was a literal number."""
    match kind:
        case Array() | IntArray() | Number():
            return replace(kind, shape=None)
        case Known() if (number := numeric(kind)) is not None:
            return unshaped(number)
        case Observed():
            return replace(kind, holder=None)
        case ListOf() | DictOfKinds() | Closure():
            return Unknown()
    return mapped(kind, unshaped)


def foreign(kind: Kind, _: Any = None) -> Kind:
    """The kind of a variable as another function sees it: it has neither the shape classes nor the parameters."""
    return replace(kind, holder=None) if isinstance(kind, Observed) else mapped(shapeless(kind), foreign)


def reclassed(kind: Kind, shape: Any) -> Kind:
    """The kind with other shape classes, derived from `shape`."""
    if isinstance(kind, _SHAPED):
        return replace(kind, shape=shape)
    return mapped(kind, lambda k, step: reclassed(k, (shape, step)))


def renamed(kind: Kind, keep: dict[Any, Any], fresh: Any) -> Kind:
    """A callee's result kind seen by the caller: shape classes of the callee's own become this call's."""
    match kind:
        case Array() | Number() | IntArray() if kind.shape is not None and kind.shape != ():
            return replace(kind, shape=keep.get(kind.shape, (fresh, kind.shape)))
        case Observed():
            return replace(kind, holder=None)
    return mapped(kind, lambda k, _: renamed(k, keep, fresh))


def canonical(kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """Kinds with shape classes numbered by first occurrence: what a function is compiled for, whoever calls it."""
    numbers: dict[Any, Any] = {(): (), None: None}

    def numbered(kind: Kind, _: Any = None) -> Kind:
        match kind:
            case Array() | IntArray() | Number():
                return replace(kind, shape=numbers.setdefault(kind.shape, ("p", len(numbers))))
            case Observed():
                return replace(kind, holder=None)
        return mapped(kind, numbered)

    return tuple(map(numbered, kinds))


def shape_numbers(kinds: tuple[Kind, ...]) -> dict[Any, Any]:
    """The shape classes behind the numbers of `canonical`."""
    back: dict[Any, Any] = {}

    def visit(kind: Any, canon: Kind) -> None:
        if isinstance(canon, _SHAPED):
            back[canon.shape] = kind.shape
        for a, b in zip(parts_of(kind), parts_of(canon), strict=True):
            visit(a, b)

    for kind, canon in zip(kinds, canonical(kinds), strict=True):
        visit(kind, canon)
    return back
