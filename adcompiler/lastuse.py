"""The pass `lastuse`, for single use: every value is let go of at its last use.

    h_bar = fit(w1, h_shape)                      h_bar = fit(w1, h_shape)
    x_bar = dense_backward(saved1, h_bar)    →    del w1
                                                  x_bar = dense_backward(saved1, (h_bar, h_bar := None)[0])

A call of a function in Python is given the only reference; other statements are followed by a `del`.  What one branch
or the end of a loop does not read any more becomes None, since it may not be bound there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adcompiler import ir
from adcompiler.holdings import Holdings, may_be_large
from adcompiler.lattice import Inert
from adcompiler.lifetimes import Lifetimes, Live, lifetimes, reads_of
from adcompiler.pair import Pair

LastRead = Callable[[str, Live], tuple[ir.Stmt, ...]]


def let_go(block: ir.Block, kinds: Holdings, last: LastRead) -> ir.Block:
    """The backward with names let go of at their last use, and calls given the only reference.

    `last` gives what is to be done with a value that a name holds just before, and that `later` names may hold.
    """
    return _Pass(lifetimes(block), kinds, frozenset(), last, True).block(block, None)


def let_go_in_forward(block: ir.Block, kinds: Holdings, keep: Live) -> ir.Block:
    """The forward with the names in `kinds` let go of at their last use, but for those to keep."""
    return _Pass(lifetimes(block), kinds, keep, lambda name, later: (), False).block(block, None)


class _Pass:
    def __init__(self, lives: Lifetimes, kinds: Holdings, keep: Live, last: LastRead, moves: bool) -> None:
        self.lives = lives
        self.kinds = kinds
        self.keep = keep
        self.last = last
        self.moves = moves

    def goes(self, name: str) -> bool:
        """Whether a name is to be let go of: one of which nothing is known is, where the text is all the compiler's."""
        unknown = None if self.moves else Inert()
        return name not in self.keep and may_be_large(self.kinds.get(name, unknown))

    def block(self, block: ir.Block, ended: frozenset[str] | None) -> ir.Block:
        """The block; `ended` are names that nothing in it or behind it reads (None: it is the whole body)."""
        out: list[ir.Stmt] = []
        if ended:
            out.append(ir.Clear(tuple(sorted(ended))))
        for i, stmt in enumerate(block):
            if ir.blocks(stmt):
                out.append(self.nested(stmt))
                over = self.ended(stmt)
                if over and i + 2 < len(block):
                    out.append(ir.Clear(tuple(sorted(over))))
                continue
            last = ended is None and i + 2 >= len(block) and isinstance(block[-1], ir.Return)
            out += [stmt] if last and not self.calls(stmt) else self.simple(stmt)
        return tuple(out)

    def nested(self, stmt: Any) -> ir.Stmt:
        """A statement with blocks: what only one of two branches reads ends at the start of the other."""
        inner = ir.blocks(stmt)
        ends: list[frozenset[str]] = [frozenset()] * len(inner)
        if isinstance(stmt, ir.If):
            live = [self.lives.enters.get((id(stmt), i), frozenset()) for i in range(2)]
            known = (reads_of(stmt) | live[0] | live[1]) - _tested(stmt.test)
            unread = [known - live[i] - ir.bound_in(inner[i]) for i in range(2)]
            ends = [frozenset(filter(self.goes, unread[i])) if inner[i] else frozenset() for i in range(2)]
        new = ir.with_blocks(stmt, tuple(self.block(b, e) for b, e in zip(inner, ends, strict=True)))
        return new

    def ended(self, stmt: Any) -> frozenset[str]:
        """What a loop, or a branch that has no text, was the last to read."""
        after = self.lives.after[id(stmt)]
        if isinstance(stmt, ir.If):
            empty = [i for i, b in enumerate(ir.blocks(stmt)) if not b]
            if not empty:
                return frozenset()
            lives = [self.lives.enters.get((id(stmt), i), frozenset()) for i in range(2)]
            used = (lives[0] | lives[1]) - after - _tested(stmt.test)
            return frozenset(filter(self.goes, used))
        if not isinstance(stmt, ir.For | ir.While):
            return frozenset()
        used = frozenset().union(*(reads_of(s) for s in ir.statements((stmt,))))
        known = frozenset().union(*(self.lives.enters.get((id(stmt), i), frozenset()) for i in range(3)))
        return frozenset(filter(self.goes, (used & known) - after - _bound_inside(stmt)))

    def simple(self, stmt: Any) -> list[ir.Stmt]:
        if isinstance(stmt, ir.Return | ir.Delete | ir.Clear | ir.Opaque | ir.Define | ir.Break | ir.Continue):
            return [stmt]
        after = self.lives.after[id(stmt)]
        bound = ir.bound(stmt)
        dead = sorted(n for n in reads_of(stmt) - after if n not in bound and self.goes(n))
        unread = sorted(n for n in bound - after if self.goes(n))
        reused = [n for n in reads_of(stmt) & bound if self.goes(n)]
        taken: set[str] = set()
        if self.calls(stmt):
            stmt, taken = _moved(stmt, {*dead, *reused})
        gone = tuple(n for n in (*dead, *unread) if n not in taken)
        before = [s for i, n in enumerate(gone) for s in self.last(n, after | frozenset(gone[i + 1 :]))]
        return [stmt, *before, ir.Delete(gone)] if gone else [stmt]

    def calls(self, stmt: Any) -> bool:
        """Whether a statement calls a function in Python that may hold what it is given for long."""
        return self.moves and isinstance(stmt, ir.Assign | ir.Unpack) and is_long(stmt.value)


def is_long(value: ir.Expr) -> bool:
    """Whether an expression is the call of a backward, or of the pullback of a rule."""
    match value:
        case ir.Call(ir.Static(function)):
            return isinstance(function, Pair)
        case ir.Call(ir.Name()) | ir.Call(ir.Attr(ir.Name(), "backward")):
            return True
    return False


def _tested(test: ir.Expr) -> frozenset[str]:
    """The name that is None in the other branch of `if x is not None`."""
    match test:
        case ir.Op("is not", (ir.Name(name), ir.Const(None))):
            return frozenset((name,))
    return frozenset()


def _moved(stmt: Any, dead: set[str]) -> tuple[Any, set[str]]:
    """The call with arguments that are not read later handed over."""
    call = stmt.value
    counts = [a.id for a in call.args if isinstance(a, ir.Name)]
    once = {n for n in dead if list(ir.reads(call)).count(n) == 1 and n in counts}
    args = tuple(ir.Taken(a) if isinstance(a, ir.Name) and a.id in once else a for a in call.args)
    new: dict[str, Any] = {"value": ir.Call(call.func, args, call.kwargs)}
    return type(stmt)(**{f: new.get(f, getattr(stmt, f)) for f in stmt.__dataclass_fields__}), once


def taken_in(block: ir.Block) -> frozenset[str]:
    """The names whose values are handed over in a block."""
    found = (e for s in ir.statements(block) for top in ir.expressions(s) for e in ir.walk(top))
    return frozenset(e.value.id for e in found if isinstance(e, ir.Taken) and isinstance(e.value, ir.Name))


def _bound_inside(stmt: Any) -> frozenset[str]:
    return ir.bound_in(ir.blocks(stmt)[0] if isinstance(stmt, ir.For) else ir.blocks(stmt)[1])


__all__ = ["LastRead", "is_long", "let_go", "let_go_in_forward", "taken_in"]
