"""Iterators and views of dicts, which show what is written into a container after they were made.

What is followed is a list of what they show when they are made.  A loop over one checks at run time that it takes just
that (`runtime.moves.unchanged`); everything else that may be taken later is refused here.

    k = d.values()
    d["u"] = x * x
    return sum(k)       # Python sees the new value
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adcompiler import ir
from adcompiler.aliases import UNSEEN, Aliases
from adcompiler.callees import Build, Dynamic, Make, Move, Over, PairCall, PlaceCall, Spread
from adcompiler.errors import MutationError, refuse
from adcompiler.lattice import Array, Heap, Inert, Kind, TupleOf, ndim_of, numeric
from adcompiler.spec import Spec
from adcompiler.writing import applied, may_store


def may_change(body: ir.Block) -> bool:
    """Whether the body of a loop may write into what the loop runs over."""
    return any(isinstance(s, ir.Yield) for s in ir.statements(body)) or any(may_store(v.callee) for v in applied(body))


def refuse_late_view(spec: Spec, aliases: Aliases, stmt: ir.Assign) -> None:
    """Refuse the view of a dict that may be written into before the view is last used."""
    made = stmt.value
    sources = [a for a in getattr(made, "args", ()) if isinstance(a, ir.Name)]
    shown = {aliases.find(aliases.node(stmt, a.id) or a.id) for a in sources}
    for later in _meanwhile(spec.body, stmt, stmt.target in spec.function.locals):
        for value in applied((later,)) if not ir.blocks(later) else ():
            if not may_store(value.callee) or _is_other(value, made):
                continue
            operands = [n for a in value.args for n in ir.reads(a)] if shown else []
            if not shown or any(aliases.find(aliases.node(later, n) or n) in shown for n in operands):
                raise refuse(
                    MutationError,
                    "the view of a dict is kept while the dict is written into",
                    stmt.origin,
                    "It shows what is written after it was made, which is not followed.",
                    "Make a list of it: list(...).",
                )


def refuse_changing(aliases: Aliases, stmt: ir.For, over: Over) -> None:
    """Refuse a loop over an iterator of numbers of an array, which the loop itself writes into."""
    if over.live is None or not _may_be_numbers(over.item):
        return
    inside = {id(s) for s in ir.statements(stmt.body)}
    if any(isinstance(v.callee, PairCall | Dynamic | Spread) for v in applied(stmt.body)):
        inside.add(UNSEEN)
    written = {aliases.find(node) for node, by in aliases.written.items() if by & inside}
    for name in ir.reads(over.live):
        if aliases.find(aliases.node(stmt, name) or name) in written:
            raise refuse(
                MutationError,
                "a loop writes into the array whose items an iterator gives",
                stmt.origin,
                "Which of them have changed is not followed.",
                "Loop over a list of the items: list(...).",
            )


def _is_other(value: ir.Apply, made: Any) -> bool:
    """Whether an operation writes into a container that was made elsewhere than the dict of a view."""
    places = [v.kinds[0] for v in (value, made) if isinstance(v.callee, PlaceCall | Move) and v.kinds]
    sites = [k.site if isinstance(k, Heap) else None for k in places]
    return len(sites) == 2 and None not in sites and sites[0] != sites[1]


def _may_be_numbers(item: Kind | None) -> bool:
    """Whether an item may be a number: an item that is an array is a view, which sees what is written."""
    if isinstance(item, TupleOf):
        return any(map(_may_be_numbers, item.items))
    known = numeric(item)
    return not isinstance(item, Inert) and not (isinstance(known, Array) and ndim_of(known) != 0)


def _meanwhile(body: ir.Block, stmt: ir.Assign, named: bool) -> Iterator[ir.Stmt]:
    """The statements that may run after a value was made and before its last use, but for a loop that checks it.

    A loop checks what has no name of the user's.
    """
    order = list(ir.statements(body))
    at = _index(order, stmt)
    uses = [i for i, s in enumerate(order) if i > at and _reads(s, stmt.target)]
    end = max(uses, default=at)
    if any(_keeps(order[i], stmt.target) for i in uses):
        end = len(order) - 1
    for i, loop in enumerate(order):
        if isinstance(loop, ir.For | ir.While) and (named or i not in uses):
            last = i + len(list(ir.statements((loop,)))) - 1
            if any(i <= use <= last for use in uses) and not i <= at <= last:
                end = max(end, last)
    return iter(order[at + 1 : end + 1])


def _index(order: list[ir.Stmt], stmt: ir.Stmt) -> int:
    return next(i for i, s in enumerate(order) if s is stmt)


def _reads(stmt: ir.Stmt, name: str) -> bool:
    return any(name in ir.reads(e.spelled if isinstance(e, ir.Apply) else e) for e in ir.expressions(stmt))


def _keeps(stmt: Any, name: str) -> bool:
    """Whether a statement gives a view to somebody who may use it later."""
    if isinstance(stmt, ir.For | ir.If | ir.While | ir.Return):
        return False
    if isinstance(stmt, ir.Unpack) and isinstance(stmt.value, ir.Name):
        return False  # all items are taken there
    value = getattr(stmt, "value", None)
    return not isinstance(value, ir.Apply) or isinstance(value.callee, Build | Make | PlaceCall | Dynamic | Spread)


__all__ = ["may_change", "refuse_changing", "refuse_late_view"]
