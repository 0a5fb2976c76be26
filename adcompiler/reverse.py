"""The reverse of single operations: a cotangent is taken where a name is bound and added to the operands'."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.alias import Aliases, alias
from adcompiler.bars import Bar, State, adapt, meet_states
from adcompiler.callees import (
    Backwards,
    Build,
    Dynamic,
    Enumerated,
    InertCall,
    Iteration,
    Load,
    Over,
    PairCall,
    PathLoad,
    RuleCall,
    Zipped,
)
from adcompiler.errors import NoRuleError, refuse
from adcompiler.instantiate import Filler, Instance, _is_basic
from adcompiler.lattice import (
    Array,
    Closure,
    DictOfKinds,
    Kind,
    ListOf,
    Observed,
    TupleOf,
    is_real,
    is_scalar,
    ndim_of,
    numeric,
    shape_of,
)
from adcompiler.names import Names
from adcompiler.program import Spec
from adcompiler.rules.registry import key_name
from adcompiler.ruletext import rule_text
from adcompiler.runtime import accumulate, add_at, broadcast, scatter
from adcompiler.runtime.containers import from_items, one_item, owned, owned_list, real_part, snapshot
from adcompiler.runtime.dynamic import resolve
from adcompiler.runtime.shapes import real
from adcompiler.saving import Region, Saver
from adcompiler.transfer import as_dict

Code = list[ir.Stmt]
# The builtins as they are, whatever the user's module calls by their names.
LEN = ir.Static(len, "len")
RANGE = ir.Static(range, "range")
REVERSED = ir.Static(reversed, "reversed")
_ELEMENTWISE = ("elementwise", "elementwise_real", "where")
_ACCUMULATE = ir.Static(accumulate, "accumulate")


class Reverser:
    """The reverse of assignments; `adjoint.Adjoint` adds control flow."""

    def __init__(self, spec: Spec, names: Names, saver: Saver, aliases: Aliases) -> None:
        self.spec = spec
        self.names = names
        self.saver = saver
        self.aliases = aliases
        self.stmt: Any = None
        self.active: frozenset[str] = frozenset()
        self.bar_names: dict[str, str] = {}
        self.counters: dict[int, str] = {}
        self.owned_requests: list[set[str]] = []
        self.paths: dict[tuple[str, Any], str] = {}
        self.sizes: dict[str, Kind] = {}
        self.zeros: frozenset[str] = frozenset()
        self.junk = names.unique("_")
        self.outside_written = any(alias(s).writes_outside for s in spec.program.specs.values())
        self.taken_unsure: set[str] = set()

    def met(self, a: State, b: State) -> State:
        """The cotangents where two paths meet."""
        return meet_states(a, b, self.zeros)

    def adapted(self, state: State, wanted: State) -> Code:
        """The statements that bring the cotangents of a path to what is wanted where it meets another."""
        return adapt(state, wanted, self.bar, self.zeros)

    def take(self, name: str, state: State) -> Bar | None:
        """Take a cotangent: it is zero from here on."""
        bar = state.pop(name, None)
        if bar is not None and bar.maybe:
            self.taken_unsure.add(name)
        return bar

    # --- cotangents -------------------------------------------------------------------------------------

    def bar(self, name: str) -> str:
        """The name of a variable's cotangent."""
        if name not in self.bar_names:
            self.bar_names[name] = self.names.unique(f"{name}_bar")
        return self.bar_names[name]

    def add(
        self,
        name: str,
        value: ir.Expr,
        state: State,
        code: Code,
        lazy: bool = False,
        maybe: bool = False,
        dense: bool = False,
        kind: Kind | None = None,
        complex_: bool = False,
    ) -> None:
        """Add a contribution to a cotangent."""
        if kind is not None:
            self.sizes[name] = kind
        bar, have = self.bar(name), state.get(name)
        if have is None:
            fresh = isinstance(value, ir.Op) and not lazy
            state[name] = Bar(maybe, lazy, fresh and not maybe, dense, complex_)
            if value != ir.Name(bar):
                code.append(ir.Assign(bar, value))
            return
        if not maybe and not have.maybe and numeric(kind) is not None:
            total: ir.Expr = ir.Op("+", (ir.Name(bar), value))
        else:
            total = ir.Call(_ACCUMULATE, (ir.Name(bar), value))
        code.append(ir.Assign(bar, total))
        # What may be None leaves the other one as it is.
        unsure = maybe or have.maybe
        both_lazy = (lazy or have.lazy) if unsure else (lazy and have.lazy)
        owned_ = isinstance(total, ir.Op) and not both_lazy
        state[name] = Bar(maybe and have.maybe, both_lazy, owned_, False, complex_ or have.complex)

    def materialise(self, name: str, after: bool, maybe: bool = False) -> ir.Stmt:
        """Bring a lazy cotangent to its value's shape."""
        shape = self.shape_fact(name, after)
        full = ir.Call(ir.Static(broadcast, "broadcast"), (ir.Name(self.bar(name)), shape))
        if maybe:
            test = ir.Op("is not", (ir.Name(self.bar(name)), ir.Const(None)))
            return ir.If(test, (ir.Assign(self.bar(name), full),), ())
        return ir.Assign(self.bar(name), full)

    def materialise_all(self, state: State, after: bool) -> Code:
        """Bring all lazy cotangents to their values' shapes."""
        out: Code = []
        for name, bar in state.items():
            if bar.lazy:
                state[name] = replace(bar, lazy=False)
                out.append(self.materialise(name, after, bar.maybe))
        return out

    def shape_fact(self, name: str, after: bool) -> ir.Expr:
        """The shape of a value, kept by the forward."""
        kind = self.kind_of(name)
        expr = ir.Attr(ir.Name(name), "shape") if kind == "array" else _shape_call(ir.Name(name))
        return ir.Name(self.saver.fact(name, "shape", expr, after))

    def kind_of(self, name: str) -> str | None:
        """"array" if the last kind seen of a name has a `.shape` for sure."""
        k = numeric(self.sizes.get(name))
        return "array" if k is not None and type(k).__name__ in ("Array", "IntArray") else None

    # --- assignments ------------------------------------------------------------------------------------

    def stmt_Assign(self, stmt: ir.Assign, state: State, region: Region) -> tuple[Code, Code, State]:
        bar = self.take(stmt.target, state)
        if bar is None or not self.is_active(stmt.value):
            return [stmt], [], state
        if stmt.kind is not None:
            self.sizes[stmt.target] = stmt.kind
        before = self.materialise_all(state, after=True) if bar.maybe else []
        inner, code = dict(state), []  # type: ignore[var-annotated]
        if numeric(stmt.kind) is not None and is_real(stmt.kind) and self.may_be_complex(stmt.target):
            name = self.bar(stmt.target)
            code.append(ir.Assign(name, ir.Call(ir.Static(real, "real"), (ir.Name(name),))))
        forward = self.reverse_value(stmt, bar, inner, code)
        if not bar.maybe:
            return forward, code, inner
        code += self.materialise_all(inner, after=False)
        guarded, state = self.if_present(self.bar(stmt.target), code, inner, state)
        return forward, before + guarded, state

    def if_present(self, bar: str, code: Code, inner: State, outer: State) -> tuple[Code, State]:
        """Reverse code that runs only if a cotangent is there."""
        joined = self.met(inner, outer)
        code = code + self.adapted(inner, joined)
        test = ir.Op("is not", (ir.Name(bar), ir.Const(None)))
        return [ir.If(test, tuple(code), tuple(self.adapted(outer, joined)))], joined

    def may_be_complex(self, name: str) -> bool:
        """Whether a name may hold a complex number somewhere, so that its cotangent may be complex where it is real."""
        kind = numeric(self.spec.name_kinds.get(name))
        return kind is not None and not is_real(kind)

    def is_active(self, value: Any) -> bool:
        """Whether an expression reads something active and is differentiated."""
        if isinstance(value, ir.Apply):
            if isinstance(value.callee, InertCall | Iteration):
                return False
            return any(self.is_active(a) for a in value.args)
        if isinstance(value, tuple):
            return any(self.is_active(v) for v in value)
        if isinstance(value, ir.Verbatim):
            return False
        return isinstance(value, ir.Expr) and any(n in self.active for n in ir.reads(value))

    def reverse_value(self, stmt: ir.Assign, bar: Bar, state: State, code: Code) -> Code:
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
            case ir.Apply(callee=Dynamic()):
                return self.dynamic(stmt, value, state, code)
            case ir.Apply(callee=Build()):
                self.built(value, y_bar, bar, state, code)
            case ir.Apply(callee=Load(key), args=(ir.Name(container), *_)):
                self.loaded(container, value.kinds[0], key, y_bar, state, code)
            case ir.Apply(callee=PathLoad(param, steps)):
                self.add(self.path(param, steps), y_bar, state, code, kind=stmt.kind)
        return [stmt]

    def captured(self, captures: frozenset[str], f_bar: ir.Expr, state: State, code: Code) -> None:
        """A function's cotangent goes to the variables it captured."""
        for name in sorted(captures & self.active):
            part = ir.Call(ir.Attr(f_bar, "get"), (ir.Const(name),))
            self.add(name, part, state, code, maybe=True)

    def stmt_Define(self, stmt: ir.Define, state: State, region: Region) -> tuple[Code, Code, State]:
        bar = self.take(stmt.name, state)
        if bar is None:
            return [stmt], [], state
        before = self.materialise_all(state, after=True)
        inner, code = dict(state), []  # type: ignore[var-annotated]
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
        lazy = bar.lazy and text is not None and rule.kind in _ELEMENTWISE
        lazy = lazy and all(shape_of(operands[p]) == shape_of(value.kind) is not None for p in wanted)
        if bar.lazy and not lazy:
            code.append(self.materialise(target, after=True))
        if text is None:
            return self.opaque_rule(stmt, value, state, code)
        if value.callee.key is operator.getitem and isinstance(value.args[0], ir.Name):
            index = self.primal(value.args[1], target)
            self.add_element(value.args[0].id, value.kinds[0], value.args[1], index, value.kinds[1], target, state, code)
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
        link = _Linker(self, instance, args, operands, target)
        parts: dict[str, list[tuple[ir.Expr, bool, Any]]] = {}
        for param, cotangent in instance.cotangents.items():
            expr = link.linked(cotangent, code)
            arg = args[param]
            if isinstance(arg, tuple):
                self._spread(arg, expr, target, state, code)
            elif isinstance(arg, ir.Name):
                parts.setdefault(arg.id, []).append((expr, cotangent.lazy, operands[param]))
        y_bar = ir.Name(self.bar(target))
        # The cotangent of a tuple may have nothing for an argument: the rule then gives None.
        unsure = isinstance(self.sizes.get(target), ListOf)
        for name in sorted(parts, key=lambda n: n == target):  # the target's own cotangent is overwritten last
            expr, lazy, kind = _sum(parts[name], y_bar)
            container = numeric(kind) is None
            mixed = container and not is_real(self.sizes.get(target))
            self.add(name, expr, state, code, lazy, unsure, container, kind, mixed)

    def _spread(self, args: tuple[Any, ...], expr: ir.Expr, target: str, state: State, code: Code) -> None:
        """The cotangents of a `*args` parameter, one by one."""
        temp = self.names.fresh("c")
        code.append(ir.Assign(temp, expr))
        for i, arg in enumerate(args):
            if isinstance(arg, ir.Name) and arg.id in self.active:
                self.add(arg.id, ir.Item(ir.Name(temp), ir.Const(i)), state, code, maybe=True)

    def primal(self, expr: Any, target: str, kind: Kind | None = None) -> ir.Expr:
        """An operand as the reverse reads it: names under the name that still holds their value."""
        match expr:
            case ir.Name(name):
                return ir.Name(self.saver.value(name, False, self.snapshot_for(name, kind)))
            case ir.Global(name):
                return ir.Name(self.global_value(name))
            case tuple():
                return ir.Seq("tuple", tuple(self.primal(e, target) for e in expr))
        return ir.rebuild(expr, lambda e: self.primal(e, target))

    def global_value(self, name: str) -> str:
        """A global as it was when the forward started, or was read if the program writes to globals."""
        if self.outside_written:
            value = ir.Call(ir.Static(snapshot, "snapshot"), (ir.Global(name),))
            return self.saver.before(self.names.fresh(name + "_"), value)
        frame = self.saver.frames[0]
        key = ("global", name)
        if key not in frame.copies:
            kept = self.names.fresh(name + "_")
            frame.copies[key] = (kept, 0, ir.Global(name))
            frame.region.saved[kept] = None
        return frame.copies[key][0]

    def snapshot_for(self, name: str, kind: Kind | None, after: bool = False) -> Any:
        """The copying function for a value whose memory may be written later, else None."""
        written = self.aliases.is_written(self.stmt, name, after, self.outside_written) and not is_scalar(kind)
        return snapshot if written else None

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

    def dynamic(self, stmt: ir.Assign, value: ir.Apply, state: State, code: Code) -> Code:
        """An operation whose operands' types are known only at run time."""
        callee = value.callee
        args, keywords = list(value.args), []
        if callee.keywords:
            n = len(args) - len(callee.keywords)
            keywords = list(zip(callee.keywords, args[n:], strict=True))
            args = args[:n]
        owner = None
        if callee.key is None:
            func, args = args[0], args[1:]
            owner = func
        elif isinstance(callee.key, str):
            owner, args = args[0], args[1:]
            func = ir.Attr(owner, callee.key)
        else:
            func = ir.Static(callee.key, callee.key.__name__)
        return self.resolved(stmt, func, args, keywords, owner, state, code)

    def resolved(
        self, stmt: ir.Assign, func: ir.Expr, args: list[Any], keywords: list[Any], owner: Any, state: State, code: Code
    ) -> Code:
        """`call = resolve(f, ...)`, `y, saved = call.forward(...)`, and in the reverse `call.backward(saved, y_bar)`."""
        call, saved = self.names.fresh("call"), self.names.fresh("saved")
        self.saver.mark(call)
        self.saver.mark(saved)
        wanted = [owner, *args, *(v for _, v in keywords)]
        on = tuple(w is not None and self.is_active(w) for w in wanted)
        find = ir.Call(ir.Static(resolve, "resolve"), (_constant(on), func, *args), tuple(keywords))
        forward: Code = [ir.Assign(call, find, stmt.origin)]
        run = ir.Call(ir.Attr(ir.Name(call), "forward"), tuple(args), tuple(keywords))
        forward.append(ir.Unpack(ir.Targets((stmt.target, saved)), run, stmt.origin))
        back = ir.Call(ir.Attr(ir.Name(call), "backward"), (ir.Name(saved), ir.Name(self.bar(stmt.target))))
        names = [w.id if o and isinstance(w, ir.Name) else None for w, o in zip(wanted, on, strict=True)]
        self.distribute(names, [True] * len(names), back, state, code)
        return forward

    def distribute(
        self,
        names: list[str | None],
        maybe: list[bool],
        call: ir.Expr,
        state: State,
        code: Code,
        real_items: list[bool] | None = None,
    ) -> None:
        """Unpack the cotangents that a call returns and add each to its name's (the real part where `real_items` says so)."""
        targets: list[str] = []
        later: list[tuple[str, str, bool]] = []
        made_real: set[str] = set()
        for i, (name, unsure) in enumerate(zip(names, maybe, strict=True)):
            if name is None:
                targets.append(self.junk)
            elif real_items is not None and real_items[i]:
                temp = self.names.fresh("c")
                targets.append(temp)
                made_real.add(temp)
                later.append((name, temp, unsure))
            elif name not in state and self.bar(name) not in targets:
                targets.append(self.bar(name))
                later.append((name, self.bar(name), unsure))
            else:
                temp = self.names.fresh("c")
                targets.append(temp)
                later.append((name, temp, unsure))
        code.append(ir.Unpack(ir.Targets(tuple(targets)), call))
        for name, held, unsure in later:
            item: ir.Expr = ir.Name(held)
            if held in made_real:
                item = ir.Call(ir.Static(real_part, "real_part"), (item,))
            self.add(name, item, state, code, maybe=unsure)

    # --- calls of the user's functions ------------------------------------------------------------------

    def pair_call(self, stmt: ir.Assign, value: ir.Apply, state: State, code: Code) -> Code:
        """A call of a compiled function: the callee's pair."""
        from adcompiler.adjoint import pair_of

        mask = tuple(self.is_active(a) for a in value.args)
        pair = pair_of(value.callee.spec, mask)
        saved = self.names.fresh("saved")
        self.saver.mark(saved)
        run = ir.Call(ir.Static(pair, pair.forward_name), self.passed(value))
        forward: Code = self.looked_up(value)
        forward += [ir.Unpack(ir.Targets((stmt.target, saved)), run, stmt.origin)]
        back = ir.Call(ir.Static(pair, pair.backward_name), (ir.Name(saved), ir.Name(self.bar(stmt.target))))
        names = [a.id if on and isinstance(a, ir.Name) else None for a, on in zip(value.args, mask, strict=True)]
        wanted = [n for n, on in zip(names, mask, strict=True) if on]
        sure = pair.sure or {}
        maybe = [not sure.get(p, False) for p in pair.active]
        if len(wanted) > 1:
            self.distribute(wanted, maybe, back, state, code)
        elif wanted[0] is not None:
            self.add(wanted[0], back, state, code, maybe=maybe[0])
        return forward

    def looked_up(self, value: ir.Apply) -> Code:
        """A read of a local function that may be unbound: Python complains about it before the call."""
        func = value.spelled.func if isinstance(value.spelled, ir.Call) else None
        bound = self.saver.definite.before.get(id(self.stmt))
        if isinstance(func, ir.Name) and bound is not None and func.id not in bound and func.id in self.saver.user_names:
            return [ir.Do(func, self.stmt.origin)]
        return []

    def passed(self, value: ir.Apply) -> tuple[ir.Expr, ...]:
        """The arguments of a compiled callee, which may keep them: what somebody else writes later is passed as a copy."""
        out: list[ir.Expr] = []
        callee = alias(value.callee.spec)
        for i, (arg, kind) in enumerate(zip(value.args, value.kinds, strict=True)):
            if i not in callee.writes and isinstance(arg, ir.Name) and self.snapshot_for(arg.id, kind) is not None:
                arg = ir.Call(ir.Static(snapshot, "snapshot"), (arg,))
            out.append(arg)
        return tuple(out)

    # --- containers -------------------------------------------------------------------------------------

    def built(self, value: ir.Apply, y_bar: ir.Expr, bar: Bar, state: State, code: Code) -> None:
        """A display: each entry of its cotangent goes to its item."""
        if isinstance(value.spelled, ir.DictOf):
            if any(isinstance(item, ir.Name) and ir.Name(self.bar(item.id)) == y_bar for _, item in value.spelled.items):
                held = ir.Name(self.names.fresh("c"))  # the display takes the name of one of its items
                code.append(ir.Assign(held.id, y_bar))
                y_bar = held
            for (key, item), _ in zip(value.spelled.items, value.kinds, strict=True):
                if isinstance(item, ir.Name) and item.id in self.active and key is not None:
                    self.add(item.id, ir.Call(ir.Attr(y_bar, "get"), (key,)), state, code, maybe=True)
            return
        names = [a.id if isinstance(a, ir.Name) and a.id in self.active else None for a in value.args]
        real_items = [bar.complex and numeric(k) is not None and is_real(k) for k in value.kinds]
        self.distribute(names, [not bar.dense] * len(names), y_bar, state, code, real_items)

    def loaded(self, container: str, kind: Kind, key: Any, y_bar: ir.Expr, state: State, code: Code) -> None:
        """An item read from a container: its cotangent is the container's with that one entry."""
        if isinstance(key, ir.Expr):
            index = self.primal(key, container)
            self.add_element(container, kind, key, index, None, self.stmt.target, state, code)
            return
        length = _length(kind)
        if length is None or isinstance(kind, Closure):
            entry: ir.Expr = ir.DictOf(((ir.Const(key), y_bar),))
        else:
            items = [ir.Const(None)] * length
            items[key] = y_bar  # type: ignore[call-overload]
            entry = ir.Seq("list" if isinstance(kind, ListOf) else "tuple", tuple(items))
        self.add(container, entry, state, code, kind=kind)

    def path(self, param: str, steps: Any) -> str:
        """The variable that stands for an item of a parameter."""
        key = (param, steps)
        if key not in self.paths:
            spelled = "_".join([param, *(str(k) for _, k in steps)])
            safe = "".join(c if c.isalnum() or c == "_" else "_" for c in spelled)
            self.paths[key] = self.names.unique(safe)
        return self.paths[key]

    def finish_paths(self, state: State) -> Code:
        """Put the cotangents of a parameter's items together as the parameter's own."""
        code: Code = []
        kinds = dict(zip(self.spec.params, self.spec.kinds, strict=True))
        for param, kind in kinds.items():
            entries = {steps: name for (p, steps), name in self.paths.items() if p == param and name in state}
            if entries and isinstance(kind, Observed):
                tree = {steps: ir.Name(self.bar(name)) for steps, name in entries.items()}
                for name in entries.values():
                    del state[name]
                self.add(param, _assemble(tree, kind.value), state, code, kind=kind)
        return code

    def stmt_Unpack(self, stmt: ir.Unpack, state: State, region: Region) -> tuple[Code, Code, State]:
        bars = {n: b for n in stmt.target.names() if (b := self.take(n, state)) is not None}
        if not bars or not self.is_active(stmt.value):
            return [stmt], [], state
        code: Code = []
        if isinstance(stmt.value, ir.Apply):
            self.parallel(stmt, stmt.value, bars, state, code)
        else:
            assert isinstance(stmt.value, ir.Name)
            code += [self.materialise(n, after=True, maybe=bar.maybe) for n, bar in bars.items() if bar.lazy]
            self.add(stmt.value.id, self.packed(stmt.target, stmt.kind, bars, stmt.value.id), state, code, kind=stmt.kind)
        return [stmt], code, state

    def parallel(self, stmt: ir.Unpack, value: ir.Apply, bars: State, state: State, code: Code) -> None:
        """`a, b = b, a`: all cotangents are taken before any is added."""
        moves = [
            (arg.id, target, bars[target], kind)
            for target, arg, kind in zip(stmt.target.items, value.args, value.kinds, strict=True)
            if isinstance(target, str) and target in bars and isinstance(arg, ir.Name) and arg.id in self.active
        ]
        crossing = [m for m in moves if m[0] in bars]
        for name, target, bar, kind in moves:
            if name not in bars:
                self.add(name, ir.Name(self.bar(target)), state, code, bar.lazy, bar.maybe, bar.dense, kind)
        if len(crossing) == 1:
            name, target, bar, kind = crossing[0]
            self.add(name, ir.Name(self.bar(target)), state, code, bar.lazy, bar.maybe, bar.dense, kind)
        elif crossing:
            held = [self.names.fresh("c") for _ in crossing]
            sources = tuple(ir.Name(self.bar(t)) for _, t, _, _ in crossing)
            if len({m[0] for m in crossing}) == len(crossing):
                targets = tuple(self.bar(m[0]) for m in crossing)
                code.append(ir.Unpack(ir.Targets(targets), ir.Seq("tuple", sources)))
                for name, _, bar, _ in crossing:
                    state[name] = replace(bar, owned=False)
                return
            code.append(ir.Unpack(ir.Targets(tuple(held)), ir.Seq("tuple", sources)))
            for (name, _, bar, kind), temp in zip(crossing, held, strict=True):
                self.add(name, ir.Name(temp), state, code, bar.lazy, bar.maybe, bar.dense, kind)

    def packed(self, target: ir.Targets, kind: Any, bars: State, source: str) -> ir.Expr:
        """The cotangent of a value from those of the names it was unpacked into."""
        items: list[ir.Expr] = []
        length = _length(kind)
        for i, item in enumerate(target.items):
            if isinstance(item, ir.Targets):
                inner = [n for n in item.names() if n in bars]
                part = self.packed(item, None, bars, "") if inner else ir.Const(None)
                if inner and numeric(kind) is not None:
                    part = ir.Call(ir.Static(from_items, "from_items"), (part, ir.Const(None)))
                items.append(part)
            elif i == target.star:
                if item in bars and not bars[item].maybe:
                    items.append(ir.Star(ir.Name(self.bar(item))))
                elif item in bars:
                    count = ir.Call(LEN, (ir.Name(self.saver.value(item, True)),))
                    spread = ir.Call(ir.Static(owned_list, "owned_list"), (ir.Name(self.bar(item)), count))
                    items.append(ir.Star(spread))
                elif length is not None:
                    items += [ir.Const(None)] * (length - len(target.items) + 1)
                else:
                    items.append(ir.Star(ir.Call(ir.Static(one_item, "one_item"), (ir.Call(LEN, (ir.Name(self.saver.value(item, True)),)),))))
            else:
                items.append(ir.Name(self.bar(item)) if item in bars else ir.Const(None))
        display = ir.Seq("tuple", tuple(items))
        if numeric(kind) is None:
            return display
        return ir.Call(ir.Static(from_items, "from_items"), (display, self.shape_fact(source, after=False)))

    # --- elements and loops -----------------------------------------------------------------------------

    def add_element(
        self, name: str, kind: Any, index: Any, saved: ir.Expr, index_kind: Any, target: str, state: State, code: Code
    ) -> None:
        """Add `target`'s cotangent at an index of `name`'s: in place where the buffer is owned, so that it is O(1)."""
        y_bar = ir.Name(self.bar(target))
        if _only_new_axes(index) and numeric(kind) is not None:
            self.sizes[name] = kind
            shaped = ir.Call(ir.Attr(y_bar, "reshape"), (self.shape_fact(name, after=False),))
            self.add(name, shaped, state, code, kind=kind)
            return
        self.request_owned(name, kind)
        have = state.get(name)
        if have is not None and have.owned:
            code.append(self.in_place(name, kind, saved, index_kind, y_bar))
            return
        if numeric(kind) is None:
            length = self.length_fact(name)
            value: ir.Expr = ir.Call(ir.Static(one_item, "one_item"), (length, saved, y_bar))
        else:
            value = ir.Call(ir.Static(scatter, "scatter"), (y_bar, saved, self.shape_fact(name, after=False)))
        self.sizes[name] = kind
        before = state.get(name)
        self.add(name, value, state, code, kind=kind)
        if before is None or not before.maybe:
            state[name] = Bar(owned=isinstance(numeric(kind), Array) and ndim_of(kind) != 0)

    def in_place(self, name: str, kind: Any, index: ir.Expr, index_kind: Any, value: ir.Expr) -> ir.Stmt:
        """`x_bar[i] += t_bar`, or its form for lists and for indices that may repeat."""
        place = ir.Item(ir.Name(self.bar(name)), index)
        if numeric(kind) is None:
            return ir.Store(place, ir.Call(_ACCUMULATE, (place, value)))
        surely_array = isinstance(numeric(kind), Array) and bool(ndim_of(kind))
        if surely_array and (_is_basic(index_kind) is True or index_kind is None):
            return ir.Store(place, value, "+")
        added = ir.Call(ir.Static(add_at, "add_at"), (ir.Name(self.bar(name)), index, value))
        return ir.Do(added) if surely_array else ir.Assign(self.bar(name), added)

    def request_owned(self, name: str, kind: Any) -> None:
        """Ask the loops around, as far out as they leave `name` alone, for an owned buffer."""
        self.sizes[name] = kind
        depth = len(self.owned_requests)
        for level in range(depth - 1, -1, -1):
            region = self.regions[level + 1]  # type: ignore[attr-defined]
            if name in region.bound:
                break
            self.owned_requests[level].add(name)

    def make_owned(self, name: str, bar: Bar | None) -> ir.Stmt:
        """Before a loop that adds to single elements: a buffer of the right shape that nobody else refers to."""
        kind = self.sizes.get(name)
        have: ir.Expr = ir.Const(None) if bar is None else ir.Name(self.bar(name))
        if numeric(kind) is None:
            value: ir.Expr = ir.Call(ir.Static(owned_list, "owned_list"), (have, self.length_fact(name)))
        else:
            shape = self.shape_fact(name, after=False)
            dtype = () if is_real(kind) else (ir.Static(complex, "complex"),)
            if bar is None:
                value = ir.Call(ir.Attr(ir.Static(np, "np"), "zeros"), (shape, *dtype))
            else:
                value = ir.Call(ir.Static(owned, "owned"), (have, shape, *dtype))
        return ir.Assign(self.bar(name), value)

    def length_fact(self, name: str) -> ir.Expr:
        """The length of a list, kept by the forward."""
        return ir.Name(self.saver.fact(name, "len", ir.Call(LEN, (ir.Name(name),)), False))

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

    def _take_item(
        self, stmt: ir.For, target: ir.Target, source: str, kind: Any, backwards: bool, state: State, code: Code
    ) -> None:
        bars = {n: b for n in ir.target_names(target) if (b := self.take(n, state)) is not None}
        if not bars:
            return
        counter = self.counters.setdefault(id(stmt), self.names.fresh("i"))
        index: ir.Expr = ir.Name(counter)
        if backwards:
            index = ir.Op("-", (ir.Const(-1), index))
        self.request_owned(source, kind)
        value: ir.Expr = ir.Name(self.bar(target)) if isinstance(target, str) else self.packed(target, None, bars, "")
        if isinstance(target, ir.Targets) and numeric(kind) is not None:
            value = ir.Call(ir.Static(from_items, "from_items"), (value, ir.Const(None)))
        step = self.in_place(source, kind, index, None, value)
        if isinstance(target, str) and bars[target].maybe:
            test = ir.Op("is not", (ir.Name(self.bar(target)), ir.Const(None)))
            step = ir.If(test, (step,), ())
        code.append(step)
        state[source] = Bar(owned=True)


class _Linker:
    """Expressions of an inlined rule → expressions over the names that the reverse reads."""

    def __init__(
        self, reverser: Reverser, instance: Instance, args: dict[str, Any], operands: dict[str, Any], target: str
    ) -> None:
        self.r = reverser
        self.instance = instance
        self.args = args
        self.operands = operands
        self.target = target
        self.kept: dict[str, ir.Expr] = {}

    def linked(self, cotangent: Any, code: Code) -> ir.Expr:
        """One cotangent; locals that it uses more than once are assigned in `code`."""
        mapping: dict[str, ir.Expr] = {}
        for let in cotangent.lets:
            if let.name in self.kept:
                mapping[let.name] = self.kept[let.name]
                continue
            name = self.r.names.unique(f"{self.target}_{let.name}")
            code.append(ir.Assign(name, self.backward(let.value, mapping)))
            mapping[let.name] = self.kept[let.name] = ir.Name(name)
        return self.backward(cotangent.value, mapping)

    def backward(self, expr: ir.Expr, mapping: dict[str, ir.Expr]) -> ir.Expr:
        """An expression as the reverse evaluates it."""
        if isinstance(expr, ir.Name):
            if expr.id in mapping:
                return mapping[expr.id]
            return self.name(expr.id)
        return ir.rebuild(expr, lambda e: self.backward(e, mapping))

    def name(self, name: str) -> ir.Expr:
        text = self.instance.text
        if name == text.cotangent:
            return ir.Name(self.r.bar(self.target))
        if name == text.result:
            kind = self.r.sizes.get(self.target)
            return ir.Name(self.r.saver.value(self.target, True, self.r.snapshot_for(self.target, kind, after=True)))
        if name in self.instance.forward:
            return self.local(name)
        arg = self.args[name]
        return self.r.primal(arg, self.target, self.operands[name])

    def local(self, name: str) -> ir.Expr:
        """A local of the rule's forward part: a fact about one value, or something kept."""
        if name not in self.kept:
            self.kept[name] = self._local(name, self.instance.forward[name])
        return self.kept[name]

    def _local(self, name: str, expr: ir.Expr) -> ir.Expr:
        if not any(True for _ in ir.reads(expr)):
            return expr
        about = self._about(expr)
        if about is not None:
            variable, suffix, fact, after = about
            return ir.Name(self.r.saver.fact(variable, suffix, fact, after))
        return ir.Name(self.r.saver.kept(f"{self.target}_{name}", self.forward(expr)))

    def _about(self, expr: ir.Expr) -> tuple[str, str, ir.Expr, bool] | None:
        """`x.shape` and the like of one name: the name, a suffix, the expression, and whether the name is the result."""
        match expr:
            case ir.Attr(ir.Name(of), "shape" | "size" | "ndim" as suffix):
                spell = lambda v: ir.Attr(ir.Name(v), suffix)  # noqa: E731
            case ir.Call(ir.Static(_, "shape" | "size" | "ndim" as suffix) as f, (ir.Name(of),)):
                spell = lambda v: ir.Call(f, (ir.Name(v),))  # noqa: E731
            case _:
                return None
        if of == self.instance.text.result:
            return self.target, suffix, spell(self.target), True
        arg = self.args.get(of)
        return (arg.id, suffix, spell(arg.id), False) if isinstance(arg, ir.Name) else None

    def forward(self, expr: ir.Expr) -> ir.Expr:
        """An expression as the forward evaluates it right after the statement."""
        if not isinstance(expr, ir.Name):
            return ir.rebuild(expr, self.forward)
        name = expr.id
        if name == self.instance.text.result:
            return ir.Name(self.target)
        if name in self.instance.forward:
            return self.local(name)
        arg = self.args[name]
        parts = arg if isinstance(arg, tuple) else (arg,)
        if any(n == self.target for part in parts for n in ir.reads(part)):
            return self.r.primal(arg, self.target)
        return ir.Seq("tuple", arg) if isinstance(arg, tuple) else arg  # type: ignore[no-any-return]


def _sum(parts: list[tuple[ir.Expr, bool, Any]], y_bar: ir.Name) -> tuple[ir.Expr, bool, Any]:
    """The sum of an operation's contributions to one name; two equal ones become one of twice the cotangent."""
    (expr, lazy, kind), rest = parts[0], parts[1:]
    if len(rest) == 1 and repr(rest[0][0]) == repr(expr) and numeric(kind) is not None:
        doubled = ir.Op("*", (ir.Const(2), y_bar))
        return ir.substitute(expr, {y_bar.id: doubled}), lazy, kind
    for other, other_lazy, _ in rest:
        both = ir.Op("+", (expr, other)) if numeric(kind) is not None else ir.Call(_ACCUMULATE, (expr, other))
        expr, lazy = both, lazy and other_lazy
    return expr, lazy, kind


def _only_new_axes(index: Any) -> bool:
    """Whether an index takes everything and only adds axes (`x[:, None]`)."""
    parts = index.items if isinstance(index, ir.Seq) else (index,)
    whole = [p for p in parts if p == ir.Slice(None, None, None)]
    new = [p for p in parts if isinstance(p, ir.Const) and p.value is None]
    return bool(new) and len(whole) + len(new) == len(parts)


def _shape_call(expr: ir.Expr) -> ir.Expr:
    from adcompiler.runtime.shapes import shape

    return ir.Call(ir.Static(shape, "shape"), (expr,))


def _constant(value: tuple[bool, ...]) -> ir.Expr:
    return ir.Seq("tuple", tuple(map(ir.Const, value)))


def _length(kind: Any) -> int | None:
    match kind:
        case TupleOf(items) | ListOf(tuple() as items):
            return len(items)
        case Observed(_, tuple() | list() as value):
            return len(value)
        case DictOfKinds():
            return None
    return None


def _assemble(tree: dict[Any, ir.Expr], value: Any) -> ir.Expr:
    """A display of the cotangents of a container's items; `tree` maps steps from the container to expressions."""
    if () in tree:
        whole = tree[()]
        rest = {steps: e for steps, e in tree.items() if steps}
        return whole if not rest else ir.Call(_ACCUMULATE, (whole, _assemble(rest, value)))
    keys = list(dict.fromkeys(steps[0][1] for steps in tree))
    parts = {
        key: _assemble({s[1:]: e for s, e in tree.items() if s[0][1] == key}, value[key]) for key in keys
    }
    if isinstance(value, dict):
        return ir.DictOf(tuple((ir.Const(k), e) for k, e in parts.items()))
    n = len(value)
    at = {k % n: e for k, e in parts.items()}
    display = tuple(at.get(i, ir.Const(None)) for i in range(n))
    return ir.Seq("list" if isinstance(value, list) else "tuple", display)


__all__ = ["Code", "Reverser", "Zipped"]
