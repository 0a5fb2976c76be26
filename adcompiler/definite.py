"""Definite assignment: the names that are surely bound before each statement and wherever a record is built.

A record (the tuple of values saved for the reverse) is built at the end of a loop body and at every exit from it, and
at every return of the function.  A user's name may be put into it only if it is bound there on all paths.  An *open*
record (see `protected`) may be built after any statement: for it only what is bound at the start counts.
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
    opened: frozenset[int | None] = frozenset()

    def record(self, loop: int | None, bound: Bound) -> None:
        """Note one more place where the record of a loop is built."""
        if loop in self.opened:
            return
        self.at_record[loop] = self.at_record.get(loop, bound) & bound


def definite(body: ir.Block, params: Bound, opened: frozenset[int | None] = frozenset()) -> Definite:
    """Definite assignment in a function's body; `opened` are the loops (None: the function) whose records are open."""
    found = Definite(opened=opened)
    if None in opened:
        found.at_record[None] = params - _unbound(body)
    _block(body, params, found, ())
    return found


def _block(block: ir.Block, bound: Bound | None, found: Definite, loops: tuple[int, ...]) -> Bound | None:
    for stmt in block:
        if bound is None:
            break
        found.before[id(stmt)] = bound
        bound = _statement(stmt, bound, found, loops)
    return bound


def _statement(stmt: Any, bound: Bound, found: Definite, loops: tuple[int, ...]) -> Bound | None:  # noqa: C901
    match stmt:
        case ir.Return():
            for loop in (*loops, None):
                found.record(loop, bound)
            return None
        case ir.Yield():
            for loop in (*loops, None):
                found.record(loop, bound)
        case ir.Break() | ir.Continue():
            found.record(loops[-1], bound)
            return None
        case ir.If():
            a = _block(stmt.body, bound, found, loops)
            b = _block(stmt.orelse, bound, found, loops)
            return b if a is None else a if b is None else a & b
        case ir.With():
            inside = bound | ({stmt.target} if stmt.target else set())
            end = _block(stmt.body, inside, found, loops)
            return inside - _unbound(stmt.body) if stmt.swallows else end
        case ir.Try():
            return _try(stmt, bound, found, loops)
        case ir.For() | ir.While():
            return _loop(stmt, bound, found, loops)
        case ir.Delete(names):
            return bound - set(names)
        case ir.Opaque():
            return None if stmt.leaves else bound
    return bound | ir.bound(stmt)


def _unbound(block: ir.Block) -> set[str]:
    """The names that a block may unbind: deleted ones, and those of exceptions."""
    names: set[str] = set()
    for stmt in ir.statements(block):
        match stmt:
            case ir.Delete(deleted):
                names |= set(deleted)
            case ir.Try(_, handlers):
                names |= {h.name for h in handlers if h.name is not None}
    return names


def _try(stmt: ir.Try, bound: Bound, found: Definite, loops: tuple[int, ...]) -> Bound | None:
    caught = bound - _unbound((stmt,))
    end = _block(stmt.body, bound, found, loops)
    ends = [None if end is None else _block(stmt.orelse, end, found, loops)]
    for handler in stmt.handlers:
        name = {handler.name} if handler.name else set()
        end = _block(handler.body, caught | name, found, loops)
        ends.append(None if end is None else end - name)
    reached = [e for e in ends if e is not None]
    final = _block(stmt.final, caught, found, loops)
    if final is None or not reached:
        return None
    return (frozenset.intersection(*reached) - _unbound(stmt.final)) | (final - caught)


def _loop(stmt: Any, bound: Bound, found: Definite, loops: tuple[int, ...]) -> Bound | None:
    deleted = _unbound((stmt,))
    inner = (*loops, id(stmt))
    entry = bound - deleted
    if isinstance(stmt, ir.While):
        entry = _block(stmt.head, entry, found, loops) or entry
        start = entry
    else:
        start = entry | set(ir.target_names(stmt.target))
    if id(stmt) in found.opened:
        found.at_record[id(stmt)] = start - deleted
    end = _block(stmt.body, start, found, inner)
    if end is not None:
        found.record(id(stmt), end)
    after = _block(stmt.orelse, entry, found, loops) if stmt.orelse else entry
    return entry if after is None else after & entry
