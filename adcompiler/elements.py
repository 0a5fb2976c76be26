"""The reverse of single elements: what a loop runs over, and items at an index.

Adding to single elements inside a loop is done in place, in a buffer that the loop around owns (`request_owned`,
`make_owned`), so that it costs the same however long the array is.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.bars import Bar, Code, State
from adcompiler.callees import Backwards, Enumerated, Over, Zipped, parts
from adcompiler.cotangents import ACCUMULATE, is_there
from adcompiler.decide import is_basic_index
from adcompiler.lattice import (
    Array,
    DictOfKinds,
    MapOf,
    Observed,
    Stream,
    Unknown,
    is_real,
    ndim_of,
    numeric,
)
from adcompiler.liveviews import may_change
from adcompiler.places import is_mutable
from adcompiler.runtime import add_at, scatter
from adcompiler.runtime.containers import add_item, one_item, owned, owned_array, owned_dict, owned_items, owned_list
from adcompiler.runtime.iterated import check_iterated
from adcompiler.runtime.moves import unchanged
from adcompiler.runtime.scatter import add_wide
from adcompiler.tracking import Tracking

CHECK_ITERATED = ir.Static(check_iterated, "check_iterated")
_UNCHANGED = ir.Static(unchanged, "unchanged")


class Elements(Tracking):
    """Adds what concerns single elements."""

    def has_places(self, kind: Any) -> bool:
        """Whether a value's cotangent is in the table and nowhere else."""
        return self.tracks and is_mutable(kind)

    def add_element(
        self, name: str, kind: Any, index: Any, saved: ir.Expr, index_kind: Any, target: str, state: State, code: Code
    ) -> None:
        """Add `target`'s cotangent at an index of `name`'s: in place where the buffer is owned, so that it is O(1)."""
        y_bar = ir.Name(self.bar(target))
        if self.is_hot(name) and self.is_shadowed(kind, name):
            self.add_in_window(name, saved, kind, index_kind, target, code)
            return
        if _only_new_axes(index) and numeric(kind) is not None:
            self.sizes[name] = kind
            shaped = ir.Call(ir.Attr(y_bar, "reshape"), (self.shape_fact(name, after=False),))
            self.add(name, shaped, state, code, kind=kind)
            return
        hot = self.is_hot(name)
        if not hot:
            self.request_owned(name, kind)
        have = state.get(name)
        if have is not None and have.owned and not hot:
            code.append(self.in_place(name, kind, saved, index_kind, y_bar))
            return
        if is_dict(kind):
            value: ir.Expr = ir.DictOf(((saved, y_bar),))
        elif numeric(kind) is None:
            length = self.length_fact(name)
            value = ir.Call(ir.Static(one_item, "one_item"), (length, saved, y_bar))
        else:
            value = ir.Call(ir.Static(scatter, "scatter"), (y_bar, saved, self.shape_fact(name, after=False)))
        self.sizes[name] = kind
        before = state.get(name)
        self.add(name, value, state, code, kind=kind)
        if (before is None or not before.maybe) and not hot:
            state[name] = Bar(owned=isinstance(numeric(kind), Array) and ndim_of(kind) != 0)

    def add_in_window(self, name: str, index: ir.Expr, kind: Any, index_kind: Any, target: str, code: Code) -> None:
        """`y_shadow[i] += t_bar`; a part of an array is added to as a view, which is not stored back into itself."""
        window = self.window(name)
        y_bar = self.as_real(ir.Name(self.bar(target)), window, kind)
        if index_kind is not None and not is_basic_index(index_kind):
            code.append(ir.Do(ir.Call(ir.Static(add_at, "add_at"), (window, index, y_bar))))
        elif not isinstance(numeric(self.sizes.get(target)), Array):
            code.append(ir.Store(ir.Item(window, index), y_bar, "+"))
        else:
            part = self.names.fresh("c")
            code.append(ir.Assign(part, ir.Item(window, index)))
            code.append(ir.Assign(part, ir.Op("+", (ir.Name(part), y_bar)), augmented=True))

    def in_place(self, name: str, kind: Any, index: ir.Expr, index_kind: Any, value: ir.Expr) -> ir.Stmt:
        """`x_bar[i] += t_bar`, or its form for lists and for indices that may repeat."""
        place = ir.Item(ir.Name(self.bar(name)), index)
        if isinstance(kind, Unknown) and self.tracks:
            rest = ir.Name(self.bar(name))
            where = (self.reference(name),) if self.is_hot(name) else ()
            return ir.Assign(rest.id, self.at_table("item_into", self.itself(name), index, value, rest, *where))
        if isinstance(kind, Unknown):
            added = ir.Call(ir.Static(add_item, "add_item"), (ir.Name(self.bar(name)), index, value))
            return ir.Assign(self.bar(name), added)
        if is_dict(kind):
            have = ir.Call(ir.Attr(ir.Name(self.bar(name)), "get"), (index,))
            return ir.Store(place, ir.Call(ACCUMULATE, (have, value)))
        if numeric(kind) is None:
            return ir.Store(place, ir.Call(ACCUMULATE, (place, value)))
        surely_array = isinstance(numeric(kind), Array) and bool(ndim_of(kind))
        if not is_real(kind):  # what was added first may have been real
            added = ir.Call(ir.Static(add_wide, "add_wide"), (ir.Name(self.bar(name)), index, value))
            return ir.Assign(self.bar(name), added)
        if surely_array and (index_kind is None or is_basic_index(index_kind)):
            return ir.Store(place, value, "+")
        added = ir.Call(ir.Static(add_at, "add_at"), (ir.Name(self.bar(name)), index, value))
        return ir.Do(added) if surely_array else ir.Assign(self.bar(name), added)

    def request_owned(self, name: str, kind: Any) -> None:
        """Ask the loops around, as far out as they leave `name` alone, for an owned buffer."""
        self.sizes[name] = kind
        for level in reversed(range(len(self.owned_requests))):
            if name in self.regions[level + 1].bound:
                break
            self.owned_requests[level].add(name)

    def make_owned(self, name: str, bar: Bar | None) -> ir.Stmt:
        """Before a loop that adds to single elements: a buffer of the right shape that nobody else refers to."""
        kind = self.sizes.get(name)
        have: ir.Expr = ir.Const(None) if bar is None else ir.Name(self.bar(name))
        if isinstance(kind, Unknown):
            make = ir.Static(owned_array, "owned_array") if self.tracks else ir.Static(owned_items, "owned_items")
            value: ir.Expr = ir.Call(make, (have, self.form_fact(name)))
        elif is_dict(kind):
            value = ir.Call(ir.Static(owned_dict, "owned_dict"), (have,))
        elif numeric(kind) is None:
            value = ir.Call(ir.Static(owned_list, "owned_list"), (have, self.length_fact(name)))
        else:
            shape = self.shape_fact(name, after=False)
            library = self.spec.program.library
            module = ir.Static(library, "np" if library is np else library.__name__)
            dtype: tuple[ir.Expr, ...] = () if is_real(kind) else (ir.Static(complex, "complex"),)
            if bar is None:
                value = ir.Call(ir.Attr(module, "zeros"), (shape, *dtype))
            elif library is np:
                value = ir.Call(ir.Static(owned, "owned"), (have, shape, *dtype))
            else:
                value = ir.Call(
                    ir.Static(owned, "owned"), (have, shape, *(dtype or (ir.Static(float, "float"),)), module)
                )
        return ir.Assign(self.bar(name), value)

    def checks(self, stmt: Any) -> Code:
        """Before a loop: what is taken apart must be no object whose items are computed."""
        if not isinstance(stmt, ir.For) or not isinstance(stmt.iterable, ir.Apply):
            return []
        unknown = [over.source for over in parts(stmt.iterable.callee.plan) if isinstance(over.kind, Unknown)]
        return [ir.Do(ir.Call(CHECK_ITERATED, (name,)), stmt.origin) for name in unknown if self.is_active(name)]

    def walked(self, stmt: Any) -> Any:
        """A loop over lists of items as one over what Python takes these from, which must not change meanwhile."""
        looped = isinstance(stmt, ir.For) and isinstance(stmt.iterable, ir.Apply)
        if not looped or not self.tracks or not may_change(stmt.body):
            return stmt
        spelled = _walk(stmt.iterable.spelled, stmt.iterable.callee.plan, self.active)
        return replace(stmt, iterable=replace(stmt.iterable, spelled=spelled))

    def take_targets(self, stmt: ir.For, state: State) -> Code:
        """At the end of a reverse iteration the cotangents of the loop's targets go to the items they were."""
        code: Code = []
        plan = stmt.iterable.callee.plan if isinstance(stmt.iterable, ir.Apply) else None
        self._take(stmt, stmt.target, plan, False, state, code)
        for name in ir.target_names(stmt.target):
            state.pop(name, None)
        return code

    def _take(self, stmt: ir.For, target: ir.Target, plan: Any, backwards: bool, state: State, code: Code) -> None:
        match plan, target:
            case Over(ir.Name(source), kind, _), _ if source in self.active:
                self._take_item(stmt, target, source, kind, backwards, state, code)
            case Backwards(part), _:
                self._take(stmt, target, part, not backwards, state, code)
            case Enumerated(part), ir.Targets((_, item)):
                self._take(stmt, item, part, backwards, state, code)
            case Zipped(parts), ir.Targets(items):
                for item, part in zip(items, parts, strict=True):
                    self._take(stmt, item, part, backwards, state, code)

    def number(self, stmt: ir.For, target: str) -> ir.Expr:
        """The position of a generator's item; `yields` knows it."""
        raise NotImplementedError

    def _take_item(
        self, stmt: ir.For, target: ir.Target, source: str, kind: Any, backwards: bool, state: State, code: Code
    ) -> None:
        assert isinstance(target, str)
        bar = self.take(target, state)
        if bar is None:
            return
        index: ir.Expr
        if isinstance(kind, Stream):
            index = self.number(stmt, target)
        else:
            index = ir.Name(self.counters.setdefault(id(stmt), self.names.fresh("i")))
        if backwards and self.tracks and (self.has_places(kind) or isinstance(kind, Unknown)):
            # From the end that it had then: a list may be longer when the reverse runs.
            count = ir.Name(self.counters.setdefault((id(stmt), source), self.names.fresh(source + "_count")))
            index = ir.Op("-", (ir.Op("-", (count, ir.Const(1))), index))
        elif backwards:
            index = ir.Op("-", (ir.Const(-1), index))
        if self.has_places(kind):
            place: Code = []
            self.add_place(source, index, ir.Name(self.bar(target)), kind, place)
            code += place
            return
        if self.is_hot(source) and numeric(kind) is not None and source not in self.repeating:
            window = self.window(source)
            step: ir.Stmt = ir.Store(ir.Item(window, index), self.as_real(ir.Name(self.bar(target)), window, kind), "+")
            code.append(ir.If(is_there(self.bar(target)), (step,), ()) if bar.maybe else step)
            return
        self.request_owned(source, kind)
        step = self.in_place(source, kind, index, None, ir.Name(self.bar(target)))
        if bar.maybe:
            step = ir.If(is_there(self.bar(target)), (step,), ())
        code.append(step)
        state[source] = Bar(owned=True)


def _walk(expr: ir.Expr, plan: Any, active: Collection[str]) -> ir.Expr:
    match plan, expr:
        case Over(ir.Name(source), live=ir.Expr() as live), _ if source in active:
            return ir.Call(_UNCHANGED, (ir.Name(source), live))
        case Backwards(Over(ir.Name(source), live=ir.Expr() as live)), _ if source in active:
            return ir.Call(_UNCHANGED, (ir.Name(source), live, ir.Const(True)))
        case Zipped(parts), ir.Call(_, args):
            return replace(expr, args=tuple(_walk(a, p, active) for a, p in zip(args, parts, strict=True)))
        case Enumerated(part), ir.Call(_, (first, *rest)):
            return replace(expr, args=(_walk(first, part, active), *rest))
    return expr


def _only_new_axes(index: Any) -> bool:
    """Whether an index takes everything and only adds axes (`x[:, None]`)."""
    parts = index.items if isinstance(index, ir.Seq) else (index,)
    whole = [p for p in parts if p == ir.Slice(None, None, None)]
    new = [p for p in parts if isinstance(p, ir.Const) and p.value is None]
    return bool(new) and len(whole) + len(new) == len(parts)


def is_dict(kind: Any) -> bool:
    """Whether the cotangent of a value of this kind is a dict; that of a generator is one by position."""
    return isinstance(kind, DictOfKinds | MapOf | Stream) or (
        isinstance(kind, Observed) and isinstance(kind.value, dict)
    )
