"""The kinds of all names at one point (an `Env`), and what becomes of them where paths meet and loops begin."""

from __future__ import annotations

from typing import Any

from adcompiler.joins import join
from adcompiler.lattice import (
    Array,
    Inert,
    IntArray,
    Kind,
    ListOf,
    Number,
    Scalar,
    Stream,
    TupleOf,
    Unknown,
    numeric,
)
from adcompiler.shapeclasses import reclassed
from adcompiler.transfer import item_kind

Env = dict[str, Kind | None]


def merge(envs: list[Env | None], where: Any) -> Env | None:
    """The kinds where several paths meet; None if no path gets there."""
    reached = [env for env in envs if env is not None]
    if not reached:
        return None
    out: Env = {}
    for name in dict.fromkeys(n for env in reached for n in env):
        kind: Kind | None = None
        for env in reached:
            if name in env:
                kind = join(kind, env[name], ("join", where, name))
        out[name] = kind
    return out


def at_head(envs: list[Env | None], changed: frozenset[str], where: Any, last: bool) -> Env:
    """The kinds at a loop head: what the loop may change gets a shape class of the head's own."""
    out = merge(envs, (where, "head")) or {}
    entry = envs[0] or {}
    for name in changed:
        kind = out.get(name)
        if entry.get(name) is None and kind is not None:
            out[name] = reclassed(kind, ("head", where, name))
        if last and name in out:
            out[name] = _widest(out[name])
    return out


def _widest(kind: Kind | None) -> Kind:
    """The kind above all that a name may still get, for a loop whose kinds do not settle."""
    if isinstance(kind, Stream):
        return Stream(None)
    return Number(False) if isinstance(numeric(kind), Scalar | Array | Number) else Unknown()


def part_of(kind: Kind | None, i: int, count: int, star: int | None, starred: bool) -> Kind | None:
    """The kind of target `i` of `count` when a value of `kind` is unpacked."""
    match kind:
        case None:
            return None
        case TupleOf(items) | ListOf(tuple() as items):
            extra = len(items) - count
            if extra < -1 or (star is None and extra != 0):
                return Unknown()  # Python raises ValueError there
            if star is None:
                return items[i]
            if starred:
                inner = items[i : i + extra + 1]
                merged: Kind | None = None
                for k in inner:
                    merged = join(merged, k, ("star", i))
                return ListOf(tuple(inner), merged or Unknown())
            return items[i] if i < star else items[i + extra]
        case ListOf(_, item):
            return ListOf(None, item) if starred else item
        case Array() | Number() | IntArray():
            item = item_kind(kind)
            return ListOf(None, item) if starred else item
        case Inert():
            return Inert()
    return Unknown()
