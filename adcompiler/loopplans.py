"""What a loop runs over, and the kind of its items: arrays, containers, `range`, `zip`, `enumerate`, iterators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.callees import Backwards, Blind, Counting, Enumerated, InertCall, Keys, Over, Zipped
from adcompiler.errors import UnsupportedSyntaxError
from adcompiler.handling import Handling
from adcompiler.joins import join
from adcompiler.lattice import (
    Array,
    DictOfKinds,
    Heap,
    Inert,
    Int,
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
    can_be_active,
    is_object,
)
from adcompiler.spec import ANY
from adcompiler.transfer import item_kind


class LoopPlans(Handling):
    """Adds the plans of loops."""

    def iteration(self, iterable: ir.Expr) -> tuple[Any, Kind | None]:
        """What a loop runs over, and the kind of its items."""
        if isinstance(iterable, ir.Call) and isinstance(iterable.func, ir.Static):
            function = iterable.func.value
            if function is range:
                return Counting(), Int()
            if function in (zip, enumerate, reversed) and iterable.args:
                parts = [self.iteration(a) for a in iterable.args]
                plans, items = [p for p, _ in parts], [k or Unknown() for _, k in parts]
                if function is zip:
                    return Zipped(tuple(plans)), TupleOf(tuple(items))
                if function is enumerate:
                    return Enumerated(plans[0]), TupleOf((Int(), items[0]))
                return Backwards(plans[0]), items[0]
        if not ir.is_atom(iterable):
            return self.over_moved(iterable)
        iterable = self.iterated(iterable, self.value(iterable)[1])
        kind = self.value(iterable)[1]
        deep = self.program.deep_kind(kind) if kind is not None else None
        plan, item = self.over(iterable, deep)
        live = self.views.get(iterable.id) if isinstance(iterable, ir.Name) else None
        return (replace(plan, live=live) if live is not None and isinstance(plan, Over) else plan), item

    def over_moved(self, iterable: ir.Expr) -> tuple[Any, Kind | None]:
        """A loop over an iterator of `itertools`: over a list of its items, unless it is endless or inert."""
        leaves = [e for e in ir.walk(iterable) if isinstance(e, ir.Name)]
        active = any(can_be_active(k) or k is None for k in self.kinds(leaves))
        if not active or self.is_endless(iterable):
            held = self.spec.names.fresh("t")
            item = self.item_of(iterable) if isinstance(iterable, ir.Call) else Unknown()
            callee: Any = InertCall("an iterator")
            if active:
                callee = self.missing(
                    UnsupportedSyntaxError,
                    "a loop over an endless iterator of values that carry derivatives",
                    "",
                    "Loop over range or a list, or take a part of it with islice().",
                )
            value = ir.Apply(
                iterable, callee, tuple(leaves), tuple(k or Unknown() for k in self.kinds(leaves)), Unknown()
            )
            self.extra.append(ir.Assign(held, value, self.stmt.origin, kind=Unknown()))
            return Over(ir.Name(held), Unknown(), item or Unknown()), item
        made = self._made(ir.Call(ir.Static(list, "list"), (iterable,)))
        plan, item = self.over(made, self.program.deep_kind(self.value(made)[1] or Unknown()))
        return (replace(plan, live=iterable) if isinstance(plan, Over) else plan), item

    def over(self, source: ir.Expr, kind: Kind | None) -> tuple[Any, Kind | None]:  # noqa: C901  one case per kind
        """The plan and item kind of a loop over one value."""
        item: Kind | None = Unknown()
        match kind:
            case None:
                return Over(source, Unknown(), Unknown()), None
            case _ if is_object(kind):
                return Blind(), Unknown()
            case Known(str() | bytes()) | DictOfKinds() | MapOf() | Inert() | Observed(_, dict()):
                return Keys(), Inert()
            case Array() | Number() | IntArray():
                item = self.program.element(item_kind(kind))
                if isinstance(item, Array | Number | IntArray):
                    item = replace(item, shape=("row", id(self.stmt)))
            case TupleOf(items):
                item = None
                for i, k in enumerate(items):
                    item = join(item, k, ("item", id(self.stmt), i))
                if item is None:  # an empty tuple: the body never runs
                    return Over(source, kind, Unknown()), None
            case ListOf(_, common) if not self.program.escaped:
                item = common
            case Stream(common):
                item = common
            case Heap(cls):
                if issubclass(cls, dict):
                    return Keys(), Inert()
                item = self.program.content(kind, ANY)
                if item is None:
                    return Over(source, kind, Unknown()), None
        return Over(source, kind, item or Unknown()), item


__all__ = ["LoopPlans"]
