"""Definite assignment: the names that are surely bound before each statement and wherever a record is built.

A record (the tuple of values saved for the reverse) is built at the end of a loop body and at every exit from it, and
at every return of the function.  A user's name may be put into it only if it is bound there on all paths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adcompiler import ir

Bound = frozenset[str]


@dataclass
class Definite:
    """`before[id(stmt)]`, and `at_record[id(loop)]` (None for the function itself)."""

    before: dict[int, Bound] = field(default_factory=dict)
    at_record: dict[int | None, Bound] = field(default_factory=dict)

    def record(self, loop: int | None, bound: Bound) -> None:
        """Note one more place where the record of a loop is built."""
        self.at_record[loop] = self.at_record.get(loop, bound) & bound


def definite(body: ir.Block, params: Bound) -> Definite:
    """Definite assignment in a function's body."""
    found = Definite()
    _block(body, params, found, ())
    return found


def _block(block: ir.Block, bound: Bound | None, found: Definite, loops: tuple[int, ...]) -> Bound | None:
    for stmt in block:
        if bound is None:
            break
        found.before[id(stmt)] = bound
        bound = _statement(stmt, bound, found, loops)
    return bound


def _statement(stmt: Any, bound: Bound, found: Definite, loops: tuple[int, ...]) -> Bound | None:
    match stmt:
        case ir.Return():
            for loop in (*loops, None):
                found.record(loop, bound)
            return None
        case ir.Break() | ir.Continue():
            found.record(loops[-1], bound)
            return None
        case ir.If():
            a = _block(stmt.body, bound, found, loops)
            b = _block(stmt.orelse, bound, found, loops)
            return b if a is None else a if b is None else a & b
        case ir.With():
            return _block(stmt.body, bound, found, loops)
        case ir.For() | ir.While():
            return _loop(stmt, bound, found, loops)
        case ir.Delete(names):
            return bound - set(names)
        case ir.Opaque():
            return None if stmt.leaves else bound
    return bound | ir.bound(stmt)


def _loop(stmt: Any, bound: Bound, found: Definite, loops: tuple[int, ...]) -> Bound | None:
    deleted = {n for s in ir.statements((stmt,)) if isinstance(s, ir.Delete) for n in s.names}
    inner = (*loops, id(stmt))
    entry = bound - deleted
    if isinstance(stmt, ir.While):
        entry = _block(stmt.head, entry, found, loops) or entry
        start = entry
    else:
        start = entry | set(ir.target_names(stmt.target))
    end = _block(stmt.body, start, found, inner)
    if end is not None:
        found.record(id(stmt), end)
    after = _block(stmt.orelse, entry, found, loops) if stmt.orelse else entry
    return entry if after is None else after & entry
