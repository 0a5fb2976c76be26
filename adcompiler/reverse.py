"""The reverse of single operations: the cotangent is taken where a name is bound and added to the operands'."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from typing import Any

from adcompiler import ir
from adcompiler.aliases import PLAIN, Memory
from adcompiler.arraywrites import ELEMENTWISE
from adcompiler.bars import Bar, Code, State
from adcompiler.callees import (
    Build,
    Copied,
    Drain,
    Dynamic,
    Gathered,
    InertCall,
    Load,
    Make,
    Move,
    PairCall,
    PathLoad,
    Pull,
    Relay,
    RuleCall,
    Spread,
    WriteCall,
    in_place,
)
from adcompiler.dynamics import names_in
from adcompiler.errors import NoRuleError, refuse
from adcompiler.hot import memory_of
from adcompiler.instantiate import Filler, Instance
from adcompiler.lattice import ListOf, is_real, is_scalar, numeric, shape_of
from adcompiler.link import Linker, sum_of
from adcompiler.marks import Marks
from adcompiler.pair import Pair
from adcompiler.rules.registry import key_name
from adcompiler.ruletext import rule_text
from adcompiler.runtime.shadows import check_unshared
from adcompiler.runtime.shapes import real
from adcompiler.saving import Region
from adcompiler.spec import Spec
from adcompiler.transfer import as_dict
from adcompiler.yields import starts

CHECK_APART = ir.Static(check_unshared, "check_unshared")


class Reverser(Marks, ABC):
    """The reverse of assignments; `adjoint.Adjoint` adds control flow."""

    caught: int  # how many `try` and `with` around the statement at hand may catch its exceptions

    @abstractmethod
    def pair_of(self, spec: Spec, mask: tuple[bool, ...], memory: Memory = PLAIN, over: bool = False) -> Pair:
        """The pair of a callee for its active parameters."""

    def callee_pair(self, value: ir.Apply) -> Pair:
        mask = tuple(self.is_active(a) for a in value.args)
        memory = memory_of(self.aliases, self.hot, self.stmt, value)
        return self.pair_of(value.callee.spec, mask, memory, self.is_overwritten(value))

    def gives_hot(self, value: Any) -> bool:
        return isinstance(value, ir.Apply) and isinstance(value.callee, PairCall) and self.callee_pair(value).hot

    def is_overwritten(self, value: ir.Apply) -> bool:
        """Whether what a function is given or gives may be written into before its pullback runs."""
        names = [(n, k, False) for a, k in zip(value.args, value.kinds, strict=True) for n in names_in(a)]
        if isinstance(self.stmt, ir.Assign):
            names.append((self.stmt.target, self.stmt.kind, True))
        return self.outside_written or any(
            not is_scalar(kind) and self.may_be_written(name, after) for name, kind, after in names
        )

    # --- assignments ------------------------------------------------------------------------------------

    def stmt_Assign(self, stmt: ir.Assign, state: State, region: Region) -> tuple[Code, Code, State]:
        written = self.updated(stmt, state) or self.written_out(stmt, state) or self.hooked(stmt, state)
        if written is not None:
            return written
        if isinstance(stmt.value, ir.Apply) and isinstance(stmt.value.callee, WriteCall):
            callee = stmt.value.callee
            return self.by_runtime(stmt, callee.write, stmt.value.args, state, callee.operands)
        if self.passes_hot(stmt):
            assert isinstance(stmt.value, ir.Apply)
            checked = ir.Call(
                CHECK_APART, (ir.Name(stmt.target), *(a for a in stmt.value.args if isinstance(a, ir.Name)))
            )
            return [stmt, ir.Do(checked, stmt.origin)], self.defined(stmt, state), state
        defined = self.defined(stmt, state)
        tracked = self.tracked(stmt, state)
        if tracked is not None:
            return tracked[0], defined + tracked[1], tracked[2]
        released = self.released(stmt, state)
        forward, code, state = self.assigned(stmt, state)
        if in_place(stmt) and forward:  # what a called rule gives is another array
            forward = self.put_back(forward, ir.Name(stmt.target), stmt)
        return forward, defined + released + code, state

    def passes_hot(self, stmt: ir.Assign) -> bool:
        """Whether a function without derivative may give an array back that is written into."""
        if not isinstance(stmt.value, ir.Apply) or not isinstance(stmt.value.spelled, ir.Call):
            return False
        passes = isinstance(stmt.value.callee, InertCall) and stmt.value.callee.passes
        return passes and stmt.value.callee.declared is not None and self.is_hot(stmt.target, after=True)

    def reverse_call(self, stmt: ir.Assign, state: State, code: Code) -> Code:
        assert isinstance(stmt.value, ir.Apply)
        if isinstance(stmt.value.callee, PairCall):
            return self.pair_call(stmt, stmt.value, state, code)
        return self.dynamic(stmt, stmt.value, state, code)

    def assigned(self, stmt: ir.Assign, state: State) -> tuple[Code, Code, State]:
        """The reverse of an assignment whose target has a cotangent of its own."""
        bar = self.take(stmt.target, state)
        if bar is None and self.may_write(stmt.value) and self.is_active(stmt.value):
            return self.watched(stmt, stmt.value), [], state
        if bar is None or not self.is_active(stmt.value):
            return [stmt], [], state
        if isinstance(stmt.value, ir.Apply) and isinstance(stmt.value.callee, Gathered):
            return [stmt], self.gathered(stmt, stmt.value, bar, state), state
        if stmt.kind is not None:
            self.sizes[stmt.target] = stmt.kind
        if starts(stmt.value):
            return self.started(stmt, state)
        before = self.materialise_all(state, after=True) if bar.maybe else []
        inner: State = dict(state)
        code: Code = []
        if numeric(stmt.kind) is not None and is_real(stmt.kind) and self.may_be_complex(stmt.target):
            name = self.bar(stmt.target)
            code.append(ir.Assign(name, ir.Call(ir.Static(real, "real"), (ir.Name(name),))))
        forward = self.reverse_value(stmt, bar, inner, code)
        if not bar.maybe:
            return forward, code, inner
        code += self.materialise_all(inner, after=False)
        guarded, state = self.if_present(self.bar(stmt.target), code, inner, state)
        return forward, before + guarded, state

    def reverse_value(self, stmt: ir.Assign, bar: Bar, state: State, code: Code) -> Code:  # noqa: C901
        """Write the reverse of an assignment into `code`; returns its forward."""
        value = stmt.value
        y_bar = ir.Name(self.bar(stmt.target))
        match value:
            case ir.Name(name):
                self.add(name, y_bar, state, code, lazy=bar.lazy, dense=bar.dense, kind=stmt.kind)
                return [stmt]
            case ir.Lambda(_, captures):
                self.captured(captures, y_bar, state, code)
                return [stmt]
            case ir.Apply(callee=RuleCall()):
                return self.rule(stmt, value, bar, state, code)
        if bar.lazy:
            code.append(self.materialise(stmt.target, after=True))
        match value:
            case ir.Apply(callee=PairCall()):
                return self.pair_call(stmt, value, state, code)
            case ir.Apply(callee=Pull()):
                return self.pulled(stmt, value, state, code)
            case ir.Apply(callee=Drain()):
                return self.drained(stmt, value, state, code)
            case ir.Apply(callee=Relay()):
                return self.relayed(stmt, value, state, code)
            case ir.Apply(callee=Dynamic()):
                return self.dynamic(stmt, value, state, code)
            case ir.Apply(callee=Spread()):
                return self.spread(stmt, value, state, code)
            case ir.Apply(callee=Move()):
                return self.moved(stmt, value, y_bar, state, code)
            case ir.Apply(callee=Build()):
                self.built(value, y_bar, bar, state, code)
            case ir.Apply(callee=Copied(), args=(ir.Name(name),)):
                rest = self.given(name, y_bar, value.kinds[0], code)
                if rest is not None:
                    self.add(name, rest, state, code, maybe=rest is not y_bar, kind=stmt.kind)
            case ir.Apply(callee=Make(names)):
                self.made(names, value, y_bar, state, code)
            case ir.Apply(callee=Load(key), args=(ir.Name(container), *_)):
                self.loaded(container, value.kinds[0], key, y_bar, state, code)
            case ir.Apply(callee=PathLoad(param, steps)):
                self.add(self.path(param, steps), y_bar, state, code, kind=stmt.kind)
        return [stmt]

    def made(self, names: tuple[str, ...], value: ir.Apply, y_bar: ir.Expr, state: State, code: Code) -> None:
        """A new object: each entry of its cotangent goes to what the field was made of."""
        for name, arg, kind in zip(names, value.args, value.kinds, strict=True):
            entry = ir.Call(ir.Attr(y_bar, "get"), (ir.Const(name),))
            if self.is_active(arg) and self.has_places(kind):
                code.append(ir.Do(self.at_table("give", self.itself(arg.id), entry)))
            elif self.is_active(arg):
                self.add(arg.id, entry, state, code, maybe=True)

    def captured(self, captures: frozenset[str], f_bar: ir.Expr, state: State, code: Code) -> None:
        """A function's cotangent goes to the variables it captured."""
        for name in sorted(captures & self.active):
            part = ir.Call(ir.Attr(f_bar, "get"), (ir.Const(name),))
            rest = self.given(name, part, self.spec.name_kinds.get(name), code)
            if rest is not None:
                self.add(name, rest, state, code, maybe=True)

    def stmt_Define(self, stmt: ir.Define, state: State, region: Region) -> tuple[Code, Code, State]:
        bar = self.take(stmt.name, state)
        if bar is None:
            return [stmt], [], state
        before = self.materialise_all(state, after=True)
        inner: State = dict(state)
        code: Code = []
        self.captured(stmt.captures, ir.Name(self.bar(stmt.name)), inner, code)
        if not bar.maybe:
            return [stmt], before + code, inner
        guarded, state = self.if_present(self.bar(stmt.name), code, inner, state)
        return [stmt], before + guarded, state

    # --- rules ------------------------------------------------------------------------------------------

    def rule(self, stmt: ir.Assign, value: ir.Apply, bar: Bar, state: State, code: Code) -> Code:
        """A call with a rule: its text inlined, or the rule called where it has no template."""
        rule = value.callee.rule
        text = rule_text(rule) if self.spec.program.inline else None
        target = stmt.target
        params = tuple(rule.signature.parameters)
        wanted = tuple(p for p, a in zip(params, value.args, strict=True) if self.is_active(a))
        operands = as_dict(params, value.kinds)
        lazy = bar.lazy and text is not None and rule.kind in ELEMENTWISE
        lazy = lazy and all(shape_of(operands[p]) == shape_of(value.kind) is not None for p in wanted)
        if bar.lazy and not lazy:
            code.append(self.materialise(target, after=True))
        if text is None:
            return self.opaque_rule(stmt, value, state, code)
        if value.callee.key is operator.getitem and isinstance(value.args[0], ir.Name):
            index = self.primal(value.args[1])
            self.add_element(
                value.args[0].id, value.kinds[0], value.args[1], index, value.kinds[1], target, state, code
            )
            return [stmt]
        entries = dict(zip(text.params, text.entries, strict=True))
        for p in wanted:
            if entries[p] is None and p not in rule.flat:
                raise self.no_partial(value, p)
        instance = Filler(text, operands, value.kind).fill(wanted, lazy)
        args = dict(zip(params, value.args, strict=True))
        self.contribute(instance, args, operands, target, state, code)
        return [stmt]

    def no_partial(self, value: ir.Apply, param: str) -> Exception:
        """The error for an active argument in a place where the rule has no derivative."""
        rule = value.callee.rule
        return refuse(
            NoRuleError,
            f"the rule of {key_name(value.callee.key)} has no derivative with respect to {param}",
            self.stmt.origin,
            f"The argument {param} carries a derivative here, and {rule.name} treats it as a constant.",
            "If it is meant as a constant, wrap it in stop_gradient().",
        )

    def contribute(
        self, instance: Instance, args: dict[str, Any], operands: dict[str, Any], target: str, state: State, code: Code
    ) -> None:
        """Add the cotangents of an inlined rule to its operands'."""
        link = Linker(self, instance, args, operands, target)
        parts: dict[str, list[tuple[ir.Expr, bool, Any]]] = {}
        for param, cotangent in instance.cotangents.items():
            expr = link.linked(cotangent, code)
            arg = args[param]
            if isinstance(arg, tuple):
                self._spread(arg, expr, state, code)
            elif isinstance(arg, ir.Name):
                parts.setdefault(arg.id, []).append((expr, cotangent.lazy, operands[param]))
        y_bar = ir.Name(self.bar(target))
        # The cotangent of a tuple may have nothing for an argument: the rule then gives None.
        unsure = isinstance(self.sizes.get(target), ListOf)
        for name in sorted(parts, key=lambda n: n == target):  # the target's own cotangent is overwritten last
            expr, lazy, kind = sum_of(parts[name], y_bar)
            container = numeric(kind) is None
            mixed = container and not is_real(self.sizes.get(target))
            rest = self.given(name, expr, kind, code)
            if rest is not None:
                maybe = unsure or rest is not expr
                self.add(name, rest, state, code, lazy, maybe, container and rest is expr, kind, mixed)

    def _spread(self, args: tuple[Any, ...], expr: ir.Expr, state: State, code: Code) -> None:
        """The cotangents of a `*args` parameter, one by one."""
        temp = self.names.fresh("c")
        code.append(ir.Assign(temp, expr))
        for i, arg in enumerate(args):
            if isinstance(arg, ir.Name) and arg.id in self.active:
                item = ir.Item(ir.Name(temp), ir.Const(i))
                rest = self.given(arg.id, item, self.spec.name_kinds.get(arg.id), code)
                if rest is not None:
                    self.add(arg.id, rest, state, code, maybe=True)

    def opaque_rule(self, stmt: ir.Assign, value: ir.Apply, state: State, code: Code) -> Code:
        """A rule without template: called with its arguments, resolved at run time (it may decline)."""
        callee = value.callee
        positional: list[ir.Expr] = []
        keywords: list[tuple[str, ir.Expr]] = []
        for p, arg in zip(callee.rule.signature.parameters.values(), value.args, strict=True):
            if p.kind is p.VAR_POSITIONAL:
                positional.extend(arg)
            elif p.kind is p.KEYWORD_ONLY:
                keywords.append((p.name, arg))
            else:
                positional.append(arg)
        spelling = getattr(callee.key, "__name__", "function")
        func = ir.Static(callee.key, spelling)
        return self.resolved(stmt, func, positional, keywords, None, state, code)

    # --- calls of the user's functions ------------------------------------------------------------------

    def pair_call(self, stmt: ir.Assign, value: ir.Apply, state: State, code: Code) -> Code:
        """A call of a compiled function: the callee's pair."""
        pair = self.callee_pair(value)
        saved = self.names.fresh("saved")
        self.saver.mark(saved)
        run = ir.Call(ir.Static(pair, pair.forward_name), value.args)
        forward: Code = self.looked_up(value)
        forward += [ir.Unpack(ir.Targets((stmt.target, saved)), run, stmt.origin)]
        table = (ir.Name(self.table),) if pair.table else ()
        back = ir.Call(ir.Static(pair, pair.backward_name), (ir.Name(saved), ir.Name(self.bar(stmt.target)), *table))
        self.returned(value, pair, back, state, code)
        return forward

    def returned(self, value: ir.Apply, pair: Pair, back: ir.Expr, state: State, code: Code) -> None:
        """The cotangents that the backward of a pair returns go to its arguments."""
        mask = pair.mask
        names = [
            a.id if on and isinstance(a, ir.Name) and not self.has_places(k) else None
            for a, on, k in zip(value.args, mask, value.kinds, strict=True)
        ]
        wanted = [n for n, on in zip(names, mask, strict=True) if on]
        sure = pair.sure or {}
        maybe = [not sure.get(p, False) for p in pair.active]
        if len(wanted) > 1:
            self.distribute(wanted, maybe, back, state, code)
        elif wanted and wanted[0] is not None:
            self.add(wanted[0], back, state, code, maybe=maybe[0])
        else:
            code.append(ir.Do(back))

    def looked_up(self, value: ir.Apply) -> Code:
        """A read of a local function that may be unbound: Python complains about it before the call."""
        func = value.spelled.func if isinstance(value.spelled, ir.Call) else None
        bound = self.saver.definite.before.get(id(self.stmt))
        if not isinstance(func, ir.Name) or bound is None:
            return []
        unsure = func.id not in bound and func.id in self.saver.user_names
        return [ir.Do(func, self.stmt.origin)] if unsure else []
