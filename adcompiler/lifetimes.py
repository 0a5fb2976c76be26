"""Which names are read later: liveness of the names of a block, backward over its control flow.

A value: for each statement the names that may be read after it.  Passes that let go of values ask it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adcompiler import ir

Live = frozenset[str]
NONE: Live = frozenset()


@dataclass
class Lifetimes:
    """`after`: the names that may be read after a statement; `enters`: before each of its blocks (by place)."""

    after: dict[int, Live] = field(default_factory=dict)
    enters: dict[tuple[int, int], Live] = field(default_factory=dict)


def lifetimes(block: ir.Block, at_end: Live = NONE) -> Lifetimes:
    """The lifetimes of the names of a function's body; `at_end` are read after it."""
    analysis = _Analysis()
    analysis.block(block, at_end)
    return analysis.found


def reads_of(stmt: Any) -> Live:
    """The names that a statement itself reads, those that nested functions capture included."""
    names = {n for e in ir.expressions(stmt) for n in ir.reads(e)}
    match stmt:
        case ir.Opaque(_, reads):
            names |= reads
        case ir.Define(_, _, captures):
            names |= captures
        case ir.Assign(target) if stmt.augmented:
            names.add(target)
        case ir.Gather():
            names |= stmt.spelled.reads
        case ir.Collect(into):
            names.add(into)
    return frozenset(names)


def _binds(stmt: Any) -> Live:
    """The names that a statement surely binds, or deletes, itself."""
    match stmt:
        case ir.Assign(target) | ir.Gather(target):
            return frozenset((target,))
        case ir.Unpack(target):
            return frozenset(ir.target_names(target))
        case ir.Clear(names) | ir.Delete(names):
            return frozenset(names)
        case ir.Define(name):
            return frozenset((name,))
    return NONE


class _Analysis:
    def __init__(self) -> None:
        self.found = Lifetimes()
        self.reads: dict[int, Live] = {}  # of statements; those in loops are looked at several times
        self.loops: list[tuple[Live, Live]] = []  # what is read after `break` and after `continue`
        self.caught: list[Live] = [NONE]  # what is read where an exception, or a `return`, may go from here

    def block(self, block: ir.Block, after: Live) -> Live:
        """The names that may be read from the start of a block on."""
        for stmt in reversed(block):
            after |= self.caught[-1]
            known = self.found.after.get(id(stmt), NONE)
            self.found.after[id(stmt)] = after | known
            after = self.statement(stmt, after)
        return after | self.caught[-1]

    def inner(self, stmt: Any, number: int, block: ir.Block, after: Live) -> Live:
        """As `block`, of one in a statement."""
        live = self.block(block, after)
        key = id(stmt), number
        self.found.enters[key] = live | self.found.enters.get(key, NONE)
        return live

    def read(self, stmt: Any) -> Live:
        """What a statement reads, found once."""
        reads = self.reads.get(id(stmt))
        if reads is None:
            reads = self.reads[id(stmt)] = reads_of(stmt)
        return reads

    def statement(self, stmt: Any, after: Live) -> Live:
        reads = self.read(stmt)
        match stmt:
            case ir.Return():
                return reads | self.caught[-1]
            case ir.Break():
                return self.loops[-1][0]
            case ir.Continue():
                return self.loops[-1][1]
            case ir.Opaque():
                return reads | (self.caught[-1] if stmt.leaves else after)
            case ir.If(_, body, orelse):
                return reads | self.inner(stmt, 0, body, after) | self.inner(stmt, 1, orelse, after)
            case ir.For() | ir.While():
                return self.loop(stmt, after, reads)
            case ir.With(_, target, body):
                live = self.inner(stmt, 0, body, after) | after
                return reads | (live - {target} if target else live)
            case ir.Try():
                return self.protected(stmt, after, reads)
            case ir.Gather() | ir.Yield():
                live = self.inner(stmt, 0, stmt.body, after | self.caught[-1])
                return reads | (live - _binds(stmt)) | (after - _binds(stmt))
        return reads | (after - _binds(stmt))

    def loop(self, stmt: Any, after: Live, reads: Live) -> Live:
        targets = frozenset(ir.target_names(stmt.target)) if isinstance(stmt, ir.For) else NONE
        last = 2 if isinstance(stmt, ir.While) else 1
        ended = self.inner(stmt, last, stmt.orelse, after)
        head: Live = ended if isinstance(stmt, ir.For) else reads | ended
        while True:
            self.loops.append((after, head))
            if isinstance(stmt, ir.While):
                body = self.inner(stmt, 1, stmt.body, head)
                again = self.inner(stmt, 0, stmt.head, body | reads | ended)
            else:
                again = (self.inner(stmt, 0, stmt.body, head) - targets) | ended
            self.loops.pop()
            if again <= head:
                return reads | head
            head |= again

    def protected(self, stmt: ir.Try, after: Live, reads: Live) -> Live:
        count = 1 + len(stmt.handlers)
        final = self.inner(stmt, count + 1, stmt.final, after | self.caught[-1])
        self.caught.append(self.caught[-1] | final)
        orelse = self.inner(stmt, count, stmt.orelse, final)
        handled = reads
        for i, handler in enumerate(stmt.handlers, start=1):
            live = self.inner(stmt, i, handler.body, final)
            handled |= live - {handler.name} if handler.name else live
        self.caught.append(self.caught[-1] | handled)
        body = self.inner(stmt, 0, stmt.body, orelse)
        self.caught.pop()
        self.caught.pop()
        return body | handled | final


__all__ = ["Lifetimes", "lifetimes", "reads_of"]
