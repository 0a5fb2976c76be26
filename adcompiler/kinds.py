"""The pass `kinds`: the kind of every name at every point, and how each operation is differentiated.

Abstract interpretation over the IR, forward, with joins at the ends of `if`s and fixed points at loop heads.  In goes a
specialisation's function, out comes its body with every operation an `ir.Apply`.  Tests that kinds decide
(`x is None`, a flag given as a literal) are folded, so that only the branch that runs is compiled.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import gast

from adcompiler import ir
from adcompiler.callees import (
    Build,
    Dynamic,
    Into,
    Iteration,
    PairCall,
    PlaceCall,
)
from adcompiler.environment import Env, at_head, merge, part_of
from adcompiler.errors import UnsupportedSyntaxError
from adcompiler.joins import join
from adcompiler.lattice import (
    Closure,
    DictOfKinds,
    Heap,
    Inert,
    Kind,
    Known,
    ListOf,
    MapOf,
    Observed,
    Stream,
    TupleOf,
    Unknown,
    can_be_active,
    is_object,
    is_scalar,
    numeric,
)
from adcompiler.loopplans import LoopPlans
from adcompiler.places import as_assignment
from adcompiler.scope import nonlocals
from adcompiler.shapeclasses import shapeless
from adcompiler.sharing import changes
from adcompiler.spec import ANY, Spec
from adcompiler.unroll import is_straight, mixed_items, turns

_ROUNDS = 8


def infer(spec: Spec) -> None:
    """Fill in `spec.body` and `spec.result`."""
    Inference(spec).run()


class Inference(LoopPlans):
    """One traversal of a specialisation.

    `CallResolver` knows the operations, `Handling` knows `try` and `with`, `LoopPlans` what loops run over.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.result: Kind | None = None
        self.yielded: Kind | None = None
        self.heads: dict[int, Env] = {}
        # Variables that a nested function rebinds: nothing is known of them.
        self.shared = nonlocals(spec.function.source.node)

    def run(self) -> None:
        held = map(self.held, self.spec.params, self.spec.kinds)
        env: Env = self.noted(dict(zip(self.spec.params, held, strict=True)))
        for name in self.spec.function.cells:
            cell = self.spec.cells.get(name)
            kind = Unknown() if name in self.outer or cell is None else self.program.cell_kind(cell, name)
            env.update(self.noted({name: kind}))
        body, end = self.block(self.spec.function.body, env)
        if end is not None:
            self.result = join(self.result, Known(None))
            body = (*body, ir.Return(ir.Const(None), self.spec.function.origin, Known(None)))
        self.spec.body = body
        if self.spec.function.generator:
            self.result = None if self.yielded is None else Stream(self.yielded)
        self.spec.result = join(self.spec.result, self.result, ("result", id(self.spec)))

    def held(self, param: str, kind: Kind) -> Kind:
        """A parameter's kind; a container's remembers which parameter it is, if that is never rebound."""
        if isinstance(kind, Observed) and param not in self._rebound:
            return replace(kind, holder=param)
        return kind

    # --- blocks -----------------------------------------------------------------------------------------

    def block(self, block: ir.Block, env: Env | None) -> tuple[ir.Block, Env | None]:
        """The resolved block and the kinds at its end (None if control never gets there)."""
        out: list[ir.Stmt] = []
        outer = self.extra
        for stmt in block:
            if env is None:
                break
            self.may_raise(env)
            self.extra = []
            new, env = self.statement(stmt, env)
            out.extend(self.extra)
            out.extend(new)
        self.extra = outer
        if env is not None:
            self.may_raise(env)
        return tuple(out), env

    def statement(self, stmt: ir.Stmt, env: Env) -> tuple[ir.Block, Env | None]:
        self.env, self.stmt = env, stmt
        if self.program.writes_places or self.program.names_globals:
            stmt = self.stmt = self.with_named_globals(stmt)
            env = self.env
        method = getattr(self, "stmt_" + type(stmt).__name__)
        return method(stmt, env)  # type: ignore[no-any-return]

    def stmt_Assign(self, stmt: ir.Assign, env: Env) -> tuple[ir.Block, Env | None]:
        if stmt.augmented:
            grown = self.grown(stmt)
            if grown is not None:
                return grown, env
            stmt = self.stmt = self.rebound_by_array(stmt)
        looked_up = self.looked_up(stmt)
        if looked_up is not None:
            return self.block(looked_up, env)
        value, kind = self.value(stmt.value)
        env = self.changed(env) if changes(value) else env
        if stmt.augmented and kind is not None:
            held = env.get(stmt.target)
            if is_scalar(kind) and held is not None and not is_scalar(held):
                kind = held  # an array of shape () stays one where it is written, though `x * v` would be a number
        return (replace(stmt, value=value, kind=kind),), {**env, **self.noted({stmt.target: kind})}

    def noted(self, bound: Env) -> Env:
        """The kinds of newly bound names; all kinds that a name ever has are noted for functions that capture it."""
        for name, kind in bound.items():
            if name in self.shared and kind is not None:
                bound[name] = Unknown()
            known = self.spec.name_kinds.get(name)
            merged = join(known, _as_variable(kind), ("any", id(self.spec), name))
            if merged != known:
                self.spec.name_kinds[name] = merged
                self.program.note_change()
        return bound

    def stmt_Unpack(self, stmt: ir.Unpack, env: Env) -> tuple[ir.Block, Env]:
        if isinstance(stmt.value, ir.Seq) and not any(isinstance(i, ir.Star) for i in stmt.value.items):
            kinds = [self.value(i)[1] for i in stmt.value.items]
            kind: Kind | None = None if None in kinds else TupleOf(tuple(k for k in kinds if k))
            value: ir.Expr = ir.Apply(stmt.value, Build(), stmt.value.items, tuple(kinds), kind)
        else:
            value, kind = self.value(stmt.value)
            if is_object(kind):
                what = "unpacking an object"
                callee = self.missing(UnsupportedSyntaxError, what, "Its items are not followed.", "Read its fields.")
                value, kind = self.apply(value, callee, (stmt.value,), (kind,), Unknown())
            if isinstance(kind, Stream) and can_be_active(kind):
                value, kind = self.drained(value, None if stmt.target.star is not None else len(stmt.target.items) + 1)
                if isinstance(kind, ListOf):  # nobody else has it: it is as it was made
                    found = self.noted(self.parts(stmt.target, kind))
                    return (replace(stmt, value=value, kind=kind),), {**env, **found}
            kind = self.opened(kind)
        return (replace(stmt, value=value, kind=kind),), {**env, **self.noted(self.unpacked(stmt.target, kind))}

    def unpacked(self, target: ir.Target, kind: Kind | None) -> Env:
        """The kinds of the targets of an unpacking."""
        return {target: kind} if isinstance(target, str) else self.parts(target, self.opened(kind))

    def parts(self, target: ir.Targets, kind: Kind | None) -> Env:
        """The kinds of the targets, where the value is known as it is now."""
        count, found = len(target.items), Env()
        for i, item in enumerate(target.items):
            starred = i == target.star
            part = part_of(kind, i, count, target.star, starred)
            if part is not None and numeric(kind) is not None:
                part = self.program.element(part)
            found.update(self.unpacked(item, part))
        return found

    def opened(self, kind: Kind | None) -> Kind | None:
        """The kind of a container that is taken apart, with those of its items."""
        kind = self.program.deep_kind(kind) if kind is not None else None
        if isinstance(kind, Heap):
            return ListOf(None, self.program.content(kind, ANY) or Unknown()) if kind.cls is list else Unknown()
        return Unknown() if self.program.escaped and isinstance(kind, ListOf) else kind

    def stmt_Do(self, stmt: ir.Do, env: Env) -> tuple[ir.Block, Env]:
        value = self.value(stmt.value)[0]
        env = self.changed(env) if changes(value) else env
        effects = isinstance(value, ir.Apply) and isinstance(value.callee, PlaceCall | PairCall | Dynamic)
        into = isinstance(value, ir.Apply) and isinstance(value.callee, Into)  # its result is what is differentiated
        unknown = isinstance(value, ir.Apply) and isinstance(value.callee, Dynamic) and not value.callee.pure
        if into or unknown or (effects and self.program.writes_places):
            return (as_assignment(stmt, value, self.spec.names.fresh("t")),), env
        return (replace(stmt, value=value),), env

    def stmt_Store(self, stmt: ir.Store, env: Env) -> tuple[ir.Block, Env]:
        operation = self.flat_store(stmt) or self.set_property(stmt)
        if operation is not None:
            return operation, env
        kind = self.value(stmt.place.value)[1]
        if self.has_setter(stmt) and stmt.op is None:
            return self.set_item(stmt), env
        array = kind is not None and numeric(kind) is not None
        if array or self.has_setter(stmt) or self.setter_of(stmt) is not None or self.holds_number(stmt):
            spelled_out = self.spelled_out(stmt, kind or Unknown())
            if spelled_out is not None:
                block, end = self.block(spelled_out, env)
                return block, end or {}
        if array:
            return self.array_store(stmt, kind or Unknown()), env
        operation = self.stored(stmt)
        if operation is not None:
            return operation, env
        self.program.volatile |= isinstance(stmt.place, ir.Attr) or isinstance(kind, Unknown | Inert)
        self.program.stores_attributes |= isinstance(stmt.place, ir.Attr)
        if kind is not None:
            self.program.escaped = True  # a container changes: what was seen in containers no longer holds
        return (stmt,), self.changed(env)

    def changed(self, env: Env) -> Env:
        """The kinds after some list of constants has changed, whatever names it has."""
        lists: Env = {n: Inert() for n, kind in env.items() if isinstance(kind, ListOf) and not can_be_active(kind)}
        return {**env, **self.noted(lists)} if lists else env

    def stmt_Collect(self, stmt: ir.Collect, env: Env) -> tuple[ir.Block, Env]:
        if self.program.writes_places:
            into = ir.Name(stmt.into)
            if stmt.key is not None:
                return self.stmt_Store(ir.Store(ir.Item(into, stmt.key), stmt.value, None, stmt.origin), env)
            return self.stmt_Do(ir.Do(ir.Call(ir.Attr(into, "append"), (stmt.value,)), stmt.origin), env)
        kind, held = self.value(stmt.value)[1], env.get(stmt.into)
        if kind is None:
            return (stmt,), env
        empty = held in (ListOf((), Unknown()), DictOfKinds((), ()))
        before = held.item if isinstance(held, ListOf | MapOf) and not empty else None
        item = join(before, shapeless(kind), ("collected", id(stmt))) or Unknown()
        whole = ListOf(None, item) if stmt.key is None else MapOf(item)
        return (replace(stmt, kind=kind),), {**env, **self.noted({stmt.into: whole})}

    def stmt_Gather(self, stmt: ir.Gather, env: Env) -> tuple[ir.Block, Env | None]:
        body, end = self.block(stmt.body, env)
        if end is None:
            return body, None
        kind = end.get(stmt.into or stmt.target)
        if stmt.unordered:
            kind = Unknown() if can_be_active(kind) else Inert()
        return (replace(stmt, body=body, kind=kind),), {**end, **self.noted({stmt.target: kind})}

    def stmt_Delete(self, stmt: ir.Delete, env: Env) -> tuple[ir.Block, Env]:
        return (stmt,), {name: kind for name, kind in env.items() if name not in stmt.names}

    def stmt_Define(self, stmt: ir.Define, env: Env) -> tuple[ir.Block, Env]:
        closure = Closure(stmt.node, tuple(sorted(stmt.captures)), self.spec, stmt.name)
        return (stmt,), {**env, stmt.name: closure}

    def stmt_Opaque(self, stmt: ir.Opaque, env: Env) -> tuple[ir.Block, Env | None]:
        written: Env = {name: Unknown() for name in stmt.writes}
        if isinstance(stmt.node, gast.ClassDef):
            self.program.need_places()  # its objects are made at run time, and filled there
        if not isinstance(stmt.node, gast.Raise | gast.Assert | gast.Import | gast.ImportFrom):
            self.program.escaped |= any(isinstance(env.get(n), Observed | ListOf | DictOfKinds) for n in stmt.reads)
        if isinstance(stmt.node, gast.ImportFrom):
            self.program.meet_module(stmt.node.module or "")
        if isinstance(stmt.node, gast.Import):
            for alias in stmt.node.names:
                self.program.meet_module(alias.name)
                if alias.asname and alias.name in sys.modules:
                    written[alias.asname] = Known(sys.modules[alias.name])
                elif alias.name in sys.modules and "." not in alias.name:
                    written[alias.name] = Known(sys.modules[alias.name])
        return (stmt,), None if stmt.leaves else {**env, **written}

    def stmt_Return(self, stmt: ir.Return, env: Env) -> tuple[ir.Block, None]:
        value, kind = self.value(stmt.value)
        self.result = join(self.result, kind, ("return", id(stmt)))
        return (replace(stmt, value=value, kind=kind),), None

    def stmt_Yield(self, stmt: ir.Yield, env: Env) -> tuple[ir.Block, Env]:
        value, kind = self.value(stmt.value)
        item = None if kind is None else shapeless(numeric(kind) or kind)
        self.yielded = join(self.yielded, item, ("yield", id(self.spec)))
        return (replace(stmt, value=value, kind=kind),), env

    def stmt_Break(self, stmt: ir.Break, env: Env) -> tuple[ir.Block, None]:
        self.breaks[-1].append(env)
        return (stmt,), None

    def stmt_Continue(self, stmt: ir.Continue, env: Env) -> tuple[ir.Block, None]:
        self.continues[-1].append(env)
        return (stmt,), None

    # --- control flow -----------------------------------------------------------------------------------

    def stmt_If(self, stmt: ir.If, env: Env) -> tuple[ir.Block, Env | None]:
        test, kind = self.value(stmt.test)
        if isinstance(kind, Known) and _is_decided(kind):
            return self.block(stmt.body if kind.value else stmt.orelse, env)
        body, after_body = self.block(stmt.body, env)
        orelse, after_orelse = self.block(stmt.orelse, env)
        return (replace(stmt, test=test, body=body, orelse=orelse),), merge([after_body, after_orelse], id(stmt))

    def stmt_While(self, stmt: ir.While, env: Env) -> tuple[ir.Block, Env | None]:
        def once(head_env: Env) -> tuple[ir.Stmt, Env | None, Env | None]:
            head, after = self.block(stmt.head, head_env)
            if after is None:
                return replace(stmt, head=head, body=(), orelse=()), None, None
            self.env = after
            test, kind = self.value(stmt.test)
            forever = isinstance(kind, Known) and _is_decided(kind) and bool(kind.value)
            body, back = self.block(stmt.body, after)
            exhausted: Env | None = None if forever else after
            orelse, end = self.outside(stmt.orelse, exhausted) if exhausted is not None else ((), None)
            return replace(stmt, head=head, test=test, body=body, orelse=orelse), back, end

        return self.loop(stmt, env, once)

    def stmt_For(self, stmt: ir.For, env: Env) -> tuple[ir.Block, Env | None]:
        written_out = self.written_out(stmt)
        if written_out is not None:
            return self.block(written_out, env)
        source = self.relay(stmt.iterable)
        plan, item = self.iteration(source)
        iterable = ir.Apply(source, Iteration(plan), (), (), Inert())

        def once(head_env: Env) -> tuple[ir.Stmt, Env | None, Env | None]:
            body, back = self.block(stmt.body, {**head_env, **self.noted(self.unpacked(stmt.target, item))})
            orelse, end = self.outside(stmt.orelse, head_env)
            return replace(stmt, iterable=iterable, body=body, orelse=orelse, kind=item), back, end

        return self.loop(stmt, env, once)

    def outside(self, orelse: ir.Block, env: Env) -> tuple[ir.Block, Env | None]:
        """The `else` of a loop, which is no part of it: `break` and `continue` there are those of the loop around."""
        own = self.breaks.pop(), self.continues.pop()
        try:
            return self.block(orelse, env)
        finally:
            self.breaks.append(own[0])
            self.continues.append(own[1])

    def written_out(self, stmt: ir.For) -> ir.Block | None:
        """The turns of a loop over a few functions and objects of different classes; None for all other loops."""
        source: Any = stmt.iterable
        numbered = isinstance(source, ir.Call) and self.value(source.func)[1] == Known(enumerate)
        if numbered and len(source.args) == 1 and not source.kwargs:
            source = source.args[0]
        if not isinstance(source, ir.Name) or numbered != isinstance(stmt.target, ir.Targets) or not is_straight(stmt):
            return None
        kind = self.env.get(source.id)
        kind = None if kind is None or is_object(kind) else self.program.deep_kind(kind)
        count = mixed_items(kind)
        if count is None or self.program.escaped or (self.program.writes_places and isinstance(kind, ListOf)):
            return None
        key = id(stmt), count
        if key not in self.spec.written_out:
            self.spec.written_out[key] = turns(stmt, source, count, self.spec)
        return self.spec.written_out[key]

    def loop(self, stmt: ir.Stmt, env: Env, once: Any) -> tuple[ir.Block, Env | None]:
        """Repeat a loop's body until the kinds at its head no longer change."""
        changed = ir.bound(stmt)
        # Nested loops start from what was found before: kinds only grow while the loops around them are repeated.
        known = self.heads.get(id(stmt))
        head = dict(env) if known is None else at_head([env, known], changed, id(stmt), False)
        for round_ in range(_ROUNDS + 1):
            self.breaks.append([])
            self.continues.append([])
            extra = self.extra
            new, back, end = once(head)
            self.extra = extra
            broken, continued = self.breaks.pop(), self.continues.pop()
            merged = at_head([head, back, *continued], changed, id(stmt), round_ == _ROUNDS - 1)
            if merged == head:
                break
            head = merged
        self.heads[id(stmt)] = head
        return (new,), merge([end, *broken], (id(stmt), "end"))


def _as_variable(kind: Kind | None) -> Kind | None:
    """The kind of a variable that may hold other values too: a literal number is any number."""
    return numeric(kind) or kind


def _is_decided(kind: Known) -> bool:
    """Whether the truth of a known value is safe to decide now."""
    return kind.value is None or isinstance(kind.value, bool | int | float | str | bytes)


__all__ = ["infer"]
