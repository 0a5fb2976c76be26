"""Short loops over functions and objects of different classes, written out turn by turn.

In a loop such an item is of no kind in particular, and every use of it would be left to the run time; written out,
each turn has a layer whose class is known.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from adcompiler import ir
from adcompiler.definite import definite
from adcompiler.joins import join
from adcompiler.lattice import Closure, Kind, Known, ListOf, TupleOf, Unknown, is_object
from adcompiler.renaming import renamed
from adcompiler.spec import Spec

_MOST_TURNS = 12


def turns(stmt: ir.For, source: ir.Expr, count: int, spec: Spec) -> ir.Block:
    """The turns of a loop over `source`, one after the other; statements and temporaries of each are new."""
    temporaries = ir.bound_in(stmt.body) - spec.function.locals - _carried(stmt, spec)
    item, number = stmt.target, None
    if isinstance(item, ir.Targets):
        number, item = item.items
    out: list[ir.Stmt] = []
    for i in range(count):
        if isinstance(number, str):
            out.append(ir.Assign(number, ir.Const(i), stmt.origin))
        assert isinstance(item, str)
        out.append(ir.Assign(item, ir.Item(source, ir.Const(i)), stmt.origin))
        names = {name: spec.names.fresh("t") for name in sorted(temporaries)}
        out += ir.copied(renamed(stmt.body, names))
    return (*out, *ir.copied(stmt.orelse))


def _carried(stmt: ir.For, spec: Spec) -> frozenset[str]:
    """The names that have the value of one turn in the next one, or after the loop."""
    inside, anywhere = _uses(stmt.body), sum(map(_uses, [spec.function.body, *spec.written_out.values()]), Counter())
    before = definite(stmt.body, frozenset()).before
    early = {n for s in ir.statements(stmt.body) for n in _read(s) if n not in before.get(id(s), ())}
    return frozenset(n for n in inside if n in early or anywhere[n] > inside[n])


def _uses(block: ir.Block) -> Counter[str]:
    """How often the statements of a block bind or read each name."""
    uses: Counter[str] = Counter()
    for stmt in ir.statements(block):
        uses.update(ir.bound(ir.with_blocks(stmt, ((),) * len(ir.blocks(stmt)))))
        uses.update(_read(stmt))
    return uses


def _read(stmt: ir.Stmt) -> list[str]:
    """The names that a statement itself reads."""
    return [name for expr in ir.expressions(stmt) for name in ir.reads(expr)]


def mixed_items(kind: Kind | None) -> int | None:
    """How many functions or objects a short container holds that have no common kind; None if it is none of these."""
    items = kind.items if isinstance(kind, TupleOf | ListOf) else None
    if not items or len(items) > _MOST_TURNS:
        return None
    merged: Kind | None = None
    for k in items:
        if not (is_object(k) or isinstance(k, Closure) or (isinstance(k, Known) and callable(k.value))):
            return None
        merged = join(merged, k)
    return len(items) if isinstance(merged, Unknown) else None


def is_straight(stmt: ir.For) -> bool:
    """Whether no turn of a loop ends before its time, and its targets are a name, or a number and a name."""
    target: Any = stmt.target
    plain = isinstance(target, str) or (len(target.items) == 2 and all(isinstance(t, str) for t in target.items))
    return plain and not any(map(ir.is_exit, stmt.body))
