"""The pass `fold`: temporaries used once go back into nested expressions, so that the text reads like the user's.

    t1 = x * x
    t2 = np.sum(t1)       →       y = np.sum(x * x) + 1
    y = t2 + 1

A temporary is folded only if the statements between are folded into the same expression, and before it in evaluation
order: exceptions and effects stay where they were.  Targets are nested again in the same way.  `if`s that only choose a
value become conditional expressions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.pair import Pair
from adcompiler.runtime.bars import Bars
from adcompiler.runtime.shadows import Shadows


def fold(block: ir.Block, keep: frozenset[str], also_read: tuple[str, ...] = ()) -> ir.Block:
    """The block with temporaries folded; `keep` are names that stay, `also_read` names read after the block."""
    block = _strip(block)
    folder = _Folder(block, keep)
    folder.reads.update(also_read)
    return folder.block(block)


def _strip(block: ir.Block) -> ir.Block:
    """The block with every `Apply` replaced by what it evaluates."""
    out = []
    for stmt in block:
        inner = ir.blocks(stmt)
        if inner:
            stmt = ir.with_blocks(stmt, tuple(map(_strip, inner)))
        out.append(ir.map_expressions(stmt, _spelled))
    return tuple(out)


def _within(outer: Any, part: Any) -> Any:
    """An unpacking or loop with the targets of `part` in the place of the temporary that `part` unpacks."""
    target = _placed(outer.target, part.value.id, part.target)
    return outer if target == outer.target else replace(outer, target=target)


def _placed(target: ir.Target, name: str, inner: ir.Targets) -> ir.Target:
    if isinstance(target, ir.Targets):
        return replace(target, items=tuple(_placed(t, name, inner) for t in target.items))
    return inner if target == name else target


def _spelled(expr: ir.Expr) -> ir.Expr:
    return _spelled(expr.spelled) if isinstance(expr, ir.Apply) else ir.rebuild(expr, _spelled)


_TAKING = frozenset({"take", "take_where", "first_of"})
_TABLE = frozenset(name for name in vars(Bars) if not name.startswith("_")) | vars(Shadows).keys() | {"backward"}


def changes_cotangents(expr: ir.Expr) -> bool:
    """Whether an expression of the reverse changes what windows or the table hold."""
    for part in ir.walk(expr):
        if not isinstance(part, ir.Call):
            continue
        if isinstance(part.func, ir.Attr) and part.func.name in _TABLE:
            return True
        if isinstance(part.func, ir.Static):
            name = part.func.spelling
            if isinstance(part.func.value, Pair) or name in _TAKING or name.startswith("reverse_"):
                return True
    return False


class _Folder:
    def __init__(self, block: ir.Block, keep: frozenset[str]) -> None:
        self.keep = keep
        self.reads: Counter[str] = Counter()
        self.writes: Counter[str] = Counter()
        for stmt in ir.statements(block):
            for expr in ir.expressions(stmt):
                self.reads.update(ir.reads(expr))
            match stmt:
                case ir.Assign(target):
                    self.writes[target] += 1
                    if stmt.augmented:
                        self.reads[target] += 2
                case ir.Unpack(target) | ir.For(target):
                    self.writes.update(ir.target_names(target))
                case ir.Try() | ir.With():
                    self.writes.update(ir.bound(ir.with_blocks(stmt, ((),) * len(ir.blocks(stmt)))))
                case ir.Clear(names) | ir.Delete(names):
                    self.writes.update({n: 2 for n in names})
                case ir.Opaque():
                    self.reads.update({n: 2 for n in stmt.reads})
                    self.writes.update(stmt.writes)
                case ir.Define():
                    self.reads.update({n: 2 for n in stmt.captures})

    def foldable(self, stmt: ir.Stmt) -> bool:
        """Whether a statement assigns a temporary that is read once."""
        return (
            isinstance(stmt, ir.Assign)
            and not stmt.augmented
            and stmt.target not in self.keep
            and self.writes[stmt.target] == 1
            and self.reads[stmt.target] == 1
        )

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        pending = 0  # how many statements at the end of `out` may still be folded
        for stmt in block:
            stmt = self.inside(stmt)
            stmt, taken = self.nest(stmt, out, pending)
            pending -= taken
            stmt = self.chosen(stmt, out)
            if isinstance(stmt, ir.Unpack) and out and isinstance(out[-1], ir.Unpack) and self.is_part(stmt):
                whole = _within(out[-1], stmt)
                if whole is not out[-1]:
                    stmt = whole
                    out.pop()
            out.append(stmt)
            pending = pending + 1 if self.foldable(stmt) else 0
        return tuple(out)

    def inside(self, stmt: ir.Stmt) -> ir.Stmt:
        """Fold the blocks of a statement; the statements before a `while`'s test go into the test."""
        inner = ir.blocks(stmt)
        if not inner:
            return stmt
        stmt = ir.with_blocks(stmt, tuple(map(self.block, inner)))
        while isinstance(stmt, ir.For) and stmt.body and self.is_part(stmt.body[0]):
            whole = _within(stmt, stmt.body[0])
            if whole is stmt:
                break
            stmt = replace(whole, body=stmt.body[1:])
        match stmt:
            case ir.With(_, str() as held, (ir.Assign(target, ir.Name(value)), *body)) if (
                held == value and self.is_once(held)
            ):
                stmt = replace(stmt, target=target, body=tuple(body))
        if isinstance(stmt, ir.While) and stmt.head:
            head = list(stmt.head)
            pending = 0
            while pending < len(head) and self.foldable(head[-1 - pending]):
                pending += 1
            test, _ = self.nested(stmt.test, head, pending)
            stmt = replace(stmt, head=tuple(head), test=test)
        return stmt

    def is_part(self, stmt: ir.Stmt) -> bool:
        """Whether a statement unpacks a temporary that nothing else reads."""
        return isinstance(stmt, ir.Unpack) and isinstance(stmt.value, ir.Name) and self.is_once(stmt.value.id)

    def is_once(self, name: str) -> bool:
        """Whether a name is a temporary that is written once and read once."""
        return name not in self.keep and self.writes[name] == 1 and self.reads[name] == 1

    def nest(self, stmt: ir.Stmt, out: list[ir.Stmt], pending: int) -> tuple[ir.Stmt, int]:
        """A statement with the temporaries before it folded in; they are taken from the end of `out`."""
        if isinstance(stmt, ir.While | ir.Try | ir.Opaque | ir.Define) or not pending:
            return stmt, 0
        exprs = ir.expressions(stmt)
        # `w[i] += take(w, j)` would read `w[i]` before the other part is taken.
        quiet = (isinstance(stmt, ir.Store) and stmt.op is not None) or (isinstance(stmt, ir.Assign) and stmt.augmented)
        if len(exprs) != 1:
            if isinstance(stmt, ir.Store):
                value, taken = self.nested(stmt.value, out, pending, quiet)
                return replace(stmt, value=value), taken
            return stmt, 0
        expr, taken = self.nested(exprs[0], out, pending, quiet)
        return ir.map_expressions(stmt, lambda _: expr), taken

    def nested(self, expr: ir.Expr, out: list[ir.Stmt], pending: int, quiet: bool = False) -> tuple[ir.Expr, int]:
        """An expression with the temporaries before it folded in; `quiet`: only those that change no cotangent."""
        taken = 0
        mapping: dict[str, ir.Expr] = {}
        in_text = {n for e in ir.walk(expr) if isinstance(e, ir.Verbatim | ir.Lambda) for n in ir.reads(e)}
        for name in reversed(list(ir.reads(expr))):
            last: Any = out[-1] if taken < pending and out else None
            if quiet and last is not None and changes_cotangents(last.value):
                break
            if last is not None and last.target == name and name not in mapping and name not in in_text:
                out.pop()
                taken += 1
                mapping[name] = last.value
        return (ir.substitute(expr, mapping) if mapping else expr), taken

    def chosen(self, stmt: ir.Stmt, out: list[ir.Stmt]) -> ir.Stmt:
        """An `if` that only chooses the value of one temporary, as an expression."""
        if not isinstance(stmt, ir.If):
            return stmt
        match stmt.body, stmt.orelse:
            case (ir.Assign(a) as x,), (ir.Assign(b) as y,) if a == b and self.choice(x, y):
                self.writes[a] -= 1
                return replace(x, value=ir.IfExp(stmt.test, x.value, y.value))
            case (ir.Assign(a) as x,), () if self.continues(stmt.test, x, out):
                return self.joined("and", x, out)
            case (), (ir.Assign(a) as x,) if self.continues(stmt.test, x, out):
                return self.joined("or", x, out)
        return stmt

    def choice(self, x: ir.Assign, y: ir.Assign) -> bool:
        return x.target not in self.keep and not x.augmented and not y.augmented and self.writes[x.target] == 2

    def continues(self, test: ir.Expr, x: ir.Assign, out: list[ir.Stmt]) -> bool:
        """Whether `t = a` stands just before `if t: t = b`."""
        before = out[-1] if out else None
        return (
            isinstance(before, ir.Assign)
            and before.target == x.target
            and test == ir.Name(x.target)
            and x.target not in self.keep
            and not before.augmented
        )

    def joined(self, op: str, x: ir.Assign, out: list[ir.Stmt]) -> ir.Stmt:
        before = out.pop()
        assert isinstance(before, ir.Assign)
        self.writes[x.target] -= 1
        self.reads[x.target] -= 1
        return replace(x, value=ir.BoolOp(op, (before.value, x.value)))
