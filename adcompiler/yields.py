"""The reverse of generators: of `yield` in them, and of what takes their items in the function that runs them.

    for v in powers(x):             t1, run1 = started(powers_forward, x)
        s = s + v * w               for i1, v in numbered(t1):
                                        s = s + v * w

The forward of a generator function is a generator too.  It leaves its records in its `Run` when it ends or is dropped:
a `yield` is an exit for the records, as a `return` is, through which control may also pass.  The cotangents of the
items are collected by position, and the backward of the generator runs where the generator was made: each `yield`
takes one, the last first.
"""

from __future__ import annotations

import builtins
from abc import abstractmethod
from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.aliases import PLAIN, Memory
from adcompiler.arraywrites import ArrayWrites
from adcompiler.bars import Code, State
from adcompiler.callees import PairCall
from adcompiler.cotangents import is_there
from adcompiler.lattice import Stream, is_real, numeric
from adcompiler.pair import Pair
from adcompiler.runtime import streams
from adcompiler.runtime.containers import real_part
from adcompiler.spec import Spec

STARTED = ir.Static(streams.started, "started")
NUMBERED = ir.Static(streams.numbered, "numbered")


def starts(value: ir.Expr) -> bool:
    """Whether an expression is the call of a compiled generator function."""
    return isinstance(value, ir.Apply) and isinstance(value.callee, PairCall) and value.callee.spec.function.generator


class Yields(ArrayWrites):
    """Adds generators to the reverse."""

    pair: Pair

    @abstractmethod
    def pair_of(self, spec: Spec, mask: tuple[bool, ...], memory: Memory = PLAIN, over: bool = False) -> Pair:
        """The pair of a callee for its active parameters."""

    @abstractmethod
    def returned(self, value: ir.Apply, pair: Pair, back: ir.Expr, state: State, code: Code) -> None:
        """The cotangents that the backward of a pair returns go to its arguments."""

    @abstractmethod
    def looked_up(self, value: ir.Apply) -> Code:
        """A read of a local function that may be unbound."""

    # --- in the generator -------------------------------------------------------------------------------

    def unyielded(self, stmt: ir.Yield, state: State, code: Code) -> None:
        """The cotangent of an item: the last one that is left, whether or not the item carries a derivative."""
        taken: ir.Expr = ir.Call(ir.Attr(ir.Name(self.pair.cotangent), "pop"))
        if not isinstance(stmt.value, ir.Name) or stmt.value.id not in self.active:
            code.append(ir.Do(taken))
            return
        whole = self.spec.result
        if numeric(stmt.kind) is not None and is_real(stmt.kind):
            if not (isinstance(whole, Stream) and is_real(whole.item)):
                taken = ir.Call(ir.Static(real_part, "real_part"), (taken,))
        self.add(stmt.value.id, taken, state, code, maybe=True, kind=stmt.kind)

    # --- where it is made -------------------------------------------------------------------------------

    def started(self, stmt: ir.Assign, state: State) -> tuple[Code, Code, State]:
        """The call of a generator function."""
        value: Any = stmt.value
        pair = self.callee_pair(value)
        run = self.names.fresh("run")
        self.saver.mark(run)
        call = ir.Call(STARTED, (ir.Static(pair, pair.forward_name), *value.args))
        forward: Code = [*self.looked_up(value), ir.Unpack(ir.Targets((stmt.target, run)), call, stmt.origin)]
        bar = ir.Name(self.bar(stmt.target))
        code = self.materialise_all(state, after=True)
        code.append(ir.Assign(bar.id, ir.Call(ir.Attr(ir.Name(run), "bars"), (bar,))))
        inner: State = dict(state)
        body: Code = []
        back = ir.Call(ir.Static(pair, pair.backward_name), (ir.Attr(ir.Name(run), "saved"), bar))
        self.returned(value, pair, back, inner, body)
        body += self.materialise_all(inner, after=False)
        guarded, state = self.if_present(bar.id, body, inner, state)
        return forward, code + guarded, state

    # --- where its items are taken ----------------------------------------------------------------------

    def number(self, stmt: ir.For, target: str) -> ir.Expr:
        """The position of the item that a loop's target holds, which the forward records."""
        numbers = self.numbers.setdefault(id(stmt), {})
        if target not in numbers:
            numbers[target] = self.names.fresh("i")
        self.regions[-1].saved[numbers[target]] = None
        return ir.Name(numbers[target])

    def with_numbers(self, stmt: Any, walked: Any) -> Any:
        """A loop, as it walks, that binds the positions too."""
        numbers = self.numbers.get(id(stmt))
        if not numbers:
            return walked
        target, iterable = _numbered(stmt.target, walked.iterable.spelled, numbers)
        return replace(stmt, target=target, iterable=iterable)

    def pulled(self, stmt: ir.Assign, value: ir.Apply, state: State, code: Code) -> Code:
        """`next(g)`, with a default or not."""
        source, *default = value.args
        position = self.names.fresh("i")
        self.saver.mark(position)
        y_bar = ir.Name(self.bar(stmt.target))
        call = ir.Call(ir.Static(streams.pulled, "pulled"), value.args)
        forward: Code = [ir.Unpack(ir.Targets((stmt.target, position)), call, stmt.origin)]
        if not default or not self.is_active(default[0]):
            self._given_to(source, value.kinds[0], position, y_bar, state, code)
            return forward
        code += self.materialise_all(state, after=False)
        taken, other = dict(state), dict(state)
        from_stream: Code = []
        from_default: Code = []
        if self.is_active(source):
            self._given_to(source, value.kinds[0], position, y_bar, taken, from_stream)
        self.add(default[0].id, y_bar, other, from_default, kind=value.kinds[1])
        joined = self.met(taken, other)
        from_stream += self.adapted(taken, joined)
        from_default += self.adapted(other, joined)
        code.append(ir.If(is_there(position), tuple(from_stream), tuple(from_default)))
        state.clear()
        state.update(joined)
        return forward

    def _given_to(self, source: Any, kind: Any, position: str, y_bar: ir.Expr, state: State, code: Code) -> None:
        """Add the cotangent of one item to a generator's."""
        self.request_owned(source.id, kind)
        have = state.get(source.id)
        if have is not None and have.owned:
            code.append(self.in_place(source.id, kind, ir.Name(position), None, y_bar))
        else:
            self.add(source.id, ir.DictOf(((ir.Name(position), y_bar),)), state, code, kind=kind)

    def relayed(self, stmt: ir.Assign, value: Any, state: State, code: Code) -> Code:
        """An iterator over items of a generator: both have the same positions."""
        position = value.callee.position
        source = value.args[position]
        if self.is_active(source):
            self.add(source.id, ir.Name(self.bar(stmt.target)), state, code, kind=value.kinds[position])
        call = ir.Call(ir.Static(streams.relayed, "relayed"), (value.spelled.func, ir.Const(position), *value.args))
        return [ir.Assign(stmt.target, call, stmt.origin)]

    def drained(self, stmt: ir.Assign, value: ir.Apply, state: State, code: Code) -> Code:
        """A list of the items that were left."""
        source = value.args[0]
        positions = self.names.fresh("i")
        self.saver.mark(positions)
        options: tuple[ir.Expr, ...] = ()
        if value.callee.limit is not None or value.callee.form is not list:
            form = value.callee.form
            options = (ir.Const(value.callee.limit), ir.Static(form, form.__name__))
        call = ir.Call(ir.Static(streams.drained, "drained"), (source, *options))
        found = (ir.Name(self.bar(stmt.target)), ir.Name(positions))
        entries = ir.Call(ir.Static(streams.by_position, "by_position"), found)
        self.add(source.id, entries, state, code, kind=value.kinds[0])
        return [ir.Unpack(ir.Targets((stmt.target, positions)), call, stmt.origin)]


def _numbered(target: ir.Target, iterable: Any, numbers: dict[str, str]) -> tuple[ir.Target, ir.Expr]:
    """The target and iterable of a loop with the positions of the named targets' items in front of these."""
    match target, iterable:
        case str(), ir.Name() if target in numbers:
            return ir.Targets((numbers[target], target)), ir.Call(NUMBERED, (iterable,))
        case ir.Targets((_, *_) as items), ir.Call(ir.Static(builtins.zip), args):
            parts = [_numbered(t, a, numbers) for t, a in zip(items, args, strict=True)]
            return ir.Targets(tuple(t for t, _ in parts)), replace(iterable, args=tuple(a for _, a in parts))
        case ir.Targets((count, item)), ir.Call(ir.Static(builtins.enumerate), (first, *rest)):
            item, first = _numbered(item, first, numbers)
            return ir.Targets((count, item)), replace(iterable, args=(first, *rest))
    return target, iterable


__all__ = ["Yields", "starts"]
