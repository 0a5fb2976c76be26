"""The pass `pushforward`: a resolved function → the same function with the tangents of its values beside them.

    def f(x, w):                      def f_jvp(x, w, x_dot):
        h = np.tanh(x @ w)                h = np.tanh(x @ w)
                                          h_dot = (1 - h * h) * (x_dot @ w)
        if h[0] > 0:                      if h[0] > 0:
            h = h * h                         h, h_dot = ...
        return np.sum(h)                  return np.sum(h), np.sum(h_dot)

Forward mode (Wengert 1964).  A tangent is a variable of its own; control flow, writes and containers are the user's.
What comes out is text that can be differentiated as any other.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.activity import activity
from adcompiler.alias import alias
from adcompiler.aliases import PLAIN, Memory
from adcompiler.callees import (
    Backwards,
    Build,
    Counting,
    Enumerated,
    InertCall,
    Into,
    Keys,
    Over,
    PairCall,
    PlaceCall,
    RuleCall,
    WriteCall,
    Zipped,
    in_place,
    parts,
)
from adcompiler.definite import definite
from adcompiler.gathers import gathered
from adcompiler.lattice import Array, Foreign, IntArray, Unknown, can_be_active, numeric
from adcompiler.pushed import Pushed
from adcompiler.pushstate import ZEROS, Code
from adcompiler.pushwrites import PushWrites
from adcompiler.runtime.iterated import check_iterated
from adcompiler.runtime.places import new_object
from adcompiler.runtime.pushing import into, nothing, zeros_over
from adcompiler.spec import Spec
from adcompiler.whiles import with_tests_inside


def pushforward_of(spec: Spec, mask: tuple[bool, ...], memory: Memory = PLAIN) -> Pushed:
    """What forward mode makes of a specialisation; of one in progress (recursion) the name is known."""
    key = "pushed", mask, memory
    if key not in spec.pairs:
        pushed = spec.pairs[key] = Pushed(spec, mask, memory, spec.program.pushed_name(spec))
        Pushforward(pushed).run()
    return spec.pairs[key]  # type: ignore[no-any-return]


class Pushforward(PushWrites):
    """Writes one function."""

    def __init__(self, pushed: Pushed) -> None:
        super().__init__()
        spec = self.spec = pushed.spec
        self.pushed_function = pushed
        self.found = activity(spec, pushed.mask, pushed.memory)
        self.aliases = alias(spec, pushed.memory.merged)
        self.names = copy.deepcopy(spec.names)
        self.names.reserve(["np", "math"])
        bound = definite(spec.body, frozenset(spec.params))
        body = gathered(spec.body, self.found, spec.function.locals, bound)
        self.body = with_tests_inside(body, self.found.before, spec.function.locals, self.names)
        self.careful = bool(self.found.hot or self.found.hot_params or self.found.shadows)
        self.stmt: Any = None
        self.active = frozenset()
        if spec.function.generator:
            self.stmt = spec.function
            raise self.unsupported("a generator", "Return a list of the items.")
        if spec.program.on_device and (spec.program.outside_active or spec.program.outside_hot):
            self.stmt = spec.function
            raise self.unsupported(
                "a global or captured container or array that is written into", "Pass it as an argument."
            )

    def run(self) -> None:
        """Fill in the function."""
        pushed, spec = self.pushed_function, self.spec
        pushed.active = tuple(p for p, on in zip(spec.params, pushed.mask, strict=True) if on)
        ever = frozenset().union(*(self.found.before.get(id(s), frozenset()) for s in ir.statements(self.body)))
        for name in sorted(ever | set(pushed.active)):
            self.dots[name] = self.names.unique(f"{name}_dot")
        pushed.tangents = tuple(self.dots[p] for p in pushed.active)
        kinds = {**spec.name_kinds, **dict(zip(spec.params, spec.kinds, strict=True))}
        captured = sorted(n for n in self.dots if n not in ir.bound_in(self.body) and n not in spec.params)
        late = [p for p in (*spec.params, *captured) if p in self.dots and p not in pushed.active]
        head: Code = [ir.Assign(self.dots[p], self.zero(ir.Name(p), kinds.get(p))) for p in late]
        pushed.dots = self.dots
        pushed.careful = self.careful
        pushed.body = (*head, *self.block(self.body))

    def pushed_of(self, spec: Any, mask: tuple[bool, ...], memory: Any) -> Pushed:
        return pushforward_of(spec, mask, memory)

    # --- statements -------------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> ir.Block:
        """A block with the tangents of what it computes."""
        out: Code = []
        for stmt in block:
            self.stmt, self.active = stmt, self.found.before.get(id(stmt), frozenset())
            method = getattr(self, "stmt_" + type(stmt).__name__, None)
            new = [stmt] if method is None else method(stmt)
            out += [s if s.origin is not None else replace(s, origin=stmt.origin) for s in new]  # type: ignore[type-var]
        return tuple(out)

    def stmt_Assign(self, stmt: ir.Assign) -> Code:
        value = stmt.value
        if isinstance(value, ir.Apply):
            match value.callee:
                case Into():
                    return self.written_out(stmt, value)
                case WriteCall():
                    return self.written(stmt, value)
                case PlaceCall():
                    return self.placed(stmt, value)
        if not self.is_active_value(value):
            return self.still(stmt)
        return self.updated(stmt) if in_place(stmt) and stmt.target in self.dots else self.computed(stmt)

    def computed(self, stmt: ir.Assign) -> Code:
        """An assignment of a new value."""
        value = stmt.value
        named = any(n == stmt.target for n in ir.reads(value))
        result = self.names.fresh("t") if named and not isinstance(value, ir.Name) else stmt.target
        self.wanted_dot = self.dots.get(stmt.target)
        plain, before, tangent = self.pushed(value, result, stmt.origin, stmt.kind)
        self.wanted_dot = None
        last: Code = [ir.Assign(stmt.target, ir.Name(result), stmt.origin)] if result != stmt.target else []
        name = self.dots.get(stmt.target)
        dot = [ir.Assign(name, tangent, stmt.origin)] if name is not None and tangent != ir.Name(name) else []
        return [*plain, *before, *dot, *last]

    def still(self, stmt: ir.Assign) -> Code:
        """An assignment of what moves with nothing."""
        if stmt.target not in self.dots:
            return [stmt]
        value, dot = stmt.value, ir.Name(self.dots[stmt.target])
        if in_place(stmt) and stmt.target in self.active:  # the memory stays what it is
            return [stmt, ir.Assign(dot.id, ir.Call(ir.Static(into, "into"), (dot, ir.Const(0.0))), stmt.origin)]
        if isinstance(value, ir.Apply) and isinstance(value.callee, Build):
            # before the statement, which may bind a name anew that it reads
            return [ir.Assign(self.dots[stmt.target], self.display(value), stmt.origin), stmt]
        if isinstance(value, ir.Apply) and _makes_object(value):
            zero: ir.Expr = ir.DictOf(())
        else:
            zero = self.zero(ir.Name(stmt.target), stmt.kind, new=self.is_new(value))
        return [stmt, ir.Assign(self.dots[stmt.target], zero, stmt.origin)]

    @staticmethod
    def is_new(value: ir.Expr) -> bool:
        """Whether nobody else has the value of an expression that carries no derivative."""
        if not isinstance(value, ir.Apply):
            return isinstance(value, ir.Const)
        callee = value.callee
        if isinstance(callee, RuleCall):
            return callee.rule.result == "fresh"
        if isinstance(callee, InertCall) and isinstance(value.spelled, ir.Op):
            return isinstance(numeric(value.kind), Array | IntArray)
        if value.kinds and isinstance(value.kinds[0], Foreign):
            return True  # what a generator of random numbers gives
        declared = getattr(callee, "declared", None) is not None and not getattr(callee, "passes", True)
        return declared or getattr(callee, "why", "") == "a container of no derivatives"

    def stmt_Unpack(self, stmt: ir.Unpack) -> Code:
        value = stmt.value
        dotted = [n for n in stmt.target.names() if n in self.dots]
        if not dotted:
            return [stmt]
        if isinstance(value, ir.Apply) and isinstance(value.callee, Build):
            whole: ir.Expr = self.display(value)
        elif self.is_active(value):
            whole = self.tangents(value)
        else:
            return [
                stmt,
                *(ir.Assign(self.dots[n], self.zero(ir.Name(n), self.spec.name_kinds.get(n))) for n in dotted),
            ]
        target = self.dotted_target(stmt.target)
        held = self.names.fresh("d")
        check = ir.Do(ir.Call(_CHECK_ITERATED, (value,)), stmt.origin)
        checks = [check] if isinstance(stmt.kind, Unknown) and isinstance(value, ir.Name) else []
        return [*checks, ir.Assign(held, whole, stmt.origin), stmt, ir.Unpack(target, ir.Name(held), stmt.origin)]

    def dotted_target(self, target: Any) -> Any:
        """A target with the names of tangents."""
        if isinstance(target, ir.Targets) and any(n in self.dots for n in target.names()):
            return replace(target, items=tuple(map(self.dotted_target, target.items)))
        return (isinstance(target, str) and self.dots.get(target)) or self.names.fresh("d")

    def stmt_Do(self, stmt: ir.Do) -> Code:
        value = stmt.value
        if isinstance(value, ir.Apply) and isinstance(value.callee, WriteCall):
            return self.written(stmt, value)
        if isinstance(value, ir.Apply) and isinstance(value.callee, PairCall) and any(map(self.is_active, value.args)):
            return [ir.Do(self.paired(value), stmt.origin)]
        return [stmt]

    def stmt_Return(self, stmt: ir.Return) -> Code:
        tangent = self.tangents(stmt.value) if self.found.result else ir.Const(None)
        if isinstance(tangent, ir.Const) and (self.found.result or numeric(stmt.kind) is not None):
            tangent = self.zero(stmt.value, stmt.kind)
        return [ir.Return(ir.Seq("tuple", (stmt.value, tangent)), stmt.origin)]

    def stmt_Opaque(self, stmt: ir.Opaque) -> Code:
        bound = sorted(n for n in stmt.writes if n in self.dots)
        return [stmt, *(self.still_name(n, stmt.origin) for n in bound)]

    def still_name(self, name: str, origin: Any) -> ir.Stmt:
        """The tangent of what a statement binds that moves with nothing."""
        return ir.Assign(self.dots[name], self.zero(ir.Name(name), self.spec.name_kinds.get(name)), origin)

    def stmt_Define(self, stmt: ir.Define) -> Code:
        if stmt.name not in self.dots:
            return [stmt]
        return [stmt, ir.Assign(self.dots[stmt.name], self.captured(stmt.captures), stmt.origin)]

    def stmt_Collect(self, stmt: ir.Collect) -> Code:
        into = ir.Name(stmt.into)
        if stmt.key is None:
            own: ir.Stmt = ir.Do(ir.Call(ir.Attr(into, "append"), (stmt.value,)), stmt.origin)
        else:
            own = ir.Store(ir.Item(into, stmt.key), stmt.value, None, stmt.origin)
        if stmt.into not in self.dots:
            return [own]
        dot, entry = ir.Name(self.dots[stmt.into]), self.entry(stmt.value, stmt.kind)
        if stmt.key is None:
            return [own, ir.Do(ir.Call(ir.Attr(dot, "append"), (entry,)), stmt.origin)]
        return [own, ir.Store(ir.Item(dot, stmt.key), entry, None, stmt.origin)]

    # --- control flow -----------------------------------------------------------------------------------

    def inside(self, stmt: Any) -> Code:
        """A statement with other statements in it."""
        return [ir.with_blocks(stmt, tuple(map(self.block, ir.blocks(stmt))))]

    stmt_If = stmt_While = stmt_Try = stmt_With = inside

    def stmt_For(self, stmt: ir.For) -> Code:
        names = [n for n in ir.target_names(stmt.target) if n in self.dots]
        plan = stmt.iterable.callee.plan if isinstance(stmt.iterable, ir.Apply) else None
        active = any(self.is_active(over.source) for over in parts(plan))
        if not names:
            return self.inside(stmt)
        if not active:
            (new,) = self.inside(stmt)
            assert isinstance(new, ir.For)
            zeros = [ir.Assign(self.dots[n], self.zero(ir.Name(n), self.spec.name_kinds.get(n))) for n in names]
            return [replace(new, body=(*zeros, *new.body))]
        spelled = stmt.iterable.spelled if isinstance(stmt.iterable, ir.Apply) else stmt.iterable
        both = ir.Call(ir.Static(zip, "zip"), (spelled, self.run_over(plan)))
        target = ir.Targets((stmt.target, self.dotted_target(stmt.target)))
        (new,) = self.inside(stmt)
        assert isinstance(new, ir.For)
        unknown = [over.source for over in parts(plan) if isinstance(over.kind, Unknown)]
        checks = [ir.Do(ir.Call(_CHECK_ITERATED, (s,)), stmt.origin) for s in unknown if self.is_active(s)]
        return [*checks, replace(new, target=target, iterable=both)]

    def run_over(self, plan: Any) -> ir.Expr:
        """What gives the tangents of the items of a loop, one after the other."""
        match plan:
            case Over(source, kind, _) if self.is_active(source) and not (kind is not None and not can_be_active(kind)):
                return self.tangents(source)
            case Zipped(inner):
                return ir.Call(ir.Static(zip, "zip"), tuple(map(self.run_over, inner)))
            case Enumerated(part):
                return ir.Call(ir.Static(zip, "zip"), (_NOTHING, self.run_over(part)))
            case Backwards(part):
                return ir.Call(ir.Static(reversed, "reversed"), (self.run_over(part),))
            case Over(source, kind, item):
                tangent = self.tangent_of(source, kind)
                still = tangent == ir.Const(None) or not (can_be_active(item) or numeric(item) is not None)
                if still or not isinstance(tangent, ir.Call) or tangent.func != ZEROS:
                    return _NOTHING if still else tangent
                return ir.Call(ir.Static(zeros_over, "zeros_over"), (source,))
            case Counting() | Keys():
                return _NOTHING
        raise self.unsupported("a loop over this value", "Loop over a list or an array.")


def _makes_object(value: ir.Apply) -> bool:
    """Whether an expression makes an object, before its `__init__`."""
    spelled = value.spelled
    return isinstance(spelled, ir.Call) and isinstance(spelled.func, ir.Static) and spelled.func.value is new_object


_CHECK_ITERATED = ir.Static(check_iterated, "check_iterated")
_NOTHING = ir.Call(ir.Static(nothing, "nothing"), ())

__all__ = ["pushforward_of"]
