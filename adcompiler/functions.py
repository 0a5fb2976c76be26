"""Calls of the user's own functions, at module level or local: bound, specialised, and paired with their callee."""

from __future__ import annotations

import types
from abc import abstractmethod
from typing import Any

from adcompiler import ir
from adcompiler.binding import BindError, bind_call, node_signature
from adcompiler.callees import InertCall, Load, Missing, PairCall
from adcompiler.decide import reads_itself
from adcompiler.errors import DifferentiationError, UnsupportedSyntaxError, locate, refuse
from adcompiler.lattice import Closure, Kind, Known, Observed, Unknown
from adcompiler.program import signature_of
from adcompiler.resolve import Resolved, Resolver
from adcompiler.runtime.containers import cell_of
from adcompiler.runtime.wrapped import is_wrapped
from adcompiler.shapeclasses import canonical, foreign, renamed, shape_numbers
from adcompiler.sharing import is_outside
from adcompiler.spec import Root, Spec

_FEW_KINDS, _MOST_KINDS = 4, 8  # versions of one function


class FunctionResolver(Resolver):
    """Adds functions that are compiled with their caller to what can be resolved."""

    @abstractmethod
    def known_call(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved:
        """A call of a function that is known."""

    def _source(self, expr: ir.Expr, function: types.FunctionType, args: tuple[ir.Expr, ...] | None = None) -> Resolved:
        """A call of a function whose source is at hand, by a call or by what stands for one (an attribute)."""
        given, kwargs = (expr.args, expr.kwargs) if isinstance(expr, ir.Call) else ((), ())
        args = given if args is None else args
        if is_wrapped(function):
            target, inner = cell_of(function, "target"), cell_of(function, "f")
            return self._relayed(target, ir.Static(inner, getattr(inner, "__name__", "f")), args, kwargs)
        try:
            bound = bind_call(signature_of(function), args, kwargs, self._expand, self._expand_dict)
        except BindError as error:
            return self._unbound(expr, function.__name__, str(error), args)
        args, kinds = self._packed(bound)
        try:
            if any(k is None for k in kinds):
                return self.apply(expr, InertCall("not reached yet"), (), kinds, None)
            fitting = self._fitting(function.__code__, tuple(k for k in kinds if k))
            spec = self.program.specialise(function, fitting)
        except DifferentiationError as error:
            locate(error, self.stmt.origin)  # a helper without source has no line of its own
            return self.apply(expr, Missing(error), args, kinds, Unknown())
        except RecursionError:
            return self._unbound(expr, function.__name__, "calls itself with ever new kinds", args)
        return self._paired(expr, spec, args, kinds, 0, function)

    def _closure(self, expr: ir.Call, closure: Closure) -> Resolved:
        """A call of a function with captured variables, which are passed as its first arguments."""
        if is_wrapped(closure.owner):
            function = self._captured(expr.func, closure)[0][closure.captures.index("f")]
            return self._relayed(cell_of(closure.owner, "target"), function, expr.args, expr.kwargs)
        called = closure.name
        if called == "lambda_":
            name = expr.func.id if isinstance(expr.func, ir.Name) else ""
            called = name if name in self.spec.function.locals else "lambda"
        try:
            outside = isinstance(closure.owner, types.FunctionType)
            signature = signature_of(closure.owner) if outside else node_signature(closure.node)
            bound = bind_call(signature, expr.args, expr.kwargs, self._expand, self._expand_dict)
        except BindError as error:
            return self._unbound(expr, called, str(error), (expr.func, *expr.args))
        args, kinds = self._packed(bound)
        captured, captured_kinds = self._captured(expr.func, closure)
        if closure in captured_kinds or reads_itself(closure):
            callee = self.missing(
                UnsupportedSyntaxError,
                f"the recursion of the local function {called}",
                "It is not differentiated yet.",
                "Define it at module level.",
            )
            operands = (expr.func, *captured, *args)
            return self.apply(expr, callee, operands, (closure, *captured_kinds, *kinds), Unknown())
        try:
            fitting = self._fitting(closure.node, (*captured_kinds, *(k or Unknown() for k in kinds)))
            spec = self.program.specialise_local(closure, fitting)
        except DifferentiationError as error:
            return self.apply(expr, Missing(error), (*captured, *args), (*captured_kinds, *kinds), Unknown())
        return self._paired(expr, spec, (*captured, *args), (*captured_kinds, *kinds), len(captured))

    def _relayed(self, target: Any, function: ir.Expr, args: tuple[ir.Expr, ...], kwargs: Any) -> Resolved:
        """A call of a function with a rule that calls what it gets first."""
        call = ir.Call(ir.Static(target, target.__name__), (function, *args), kwargs)
        return self.known_call(call, target, self.kinds(self._operands(call, call.args)))

    def _captured(self, func: ir.Expr, closure: Closure) -> tuple[tuple[ir.Expr, ...], tuple[Kind, ...]]:
        """The captured variables of a local function: its owner's own names, or loads from its cells elsewhere."""
        if closure.owner is self.spec:
            names = [ir.Name(n) for n in closure.captures]
            found = tuple(self.env.get(n.id) or Unknown() for n in names)
            return tuple(names), found
        out, kinds = [], []
        if not ir.is_atom(func):
            held = self.spec.names.fresh("t")
            self.extra.append(ir.Assign(held, self.value(func)[0], self.stmt.origin, kind=closure))
            func = ir.Name(held)
        for name in closure.captures:
            kind = self._cell_kind(closure, name)
            temp = self.spec.names.fresh("t")
            cell = ir.Call(ir.Static(cell_of, "cell_of"), (func, ir.Const(name)))
            load = ir.Apply(cell, Load(name), (func,), (closure,), kind)
            self.extra.append(ir.Assign(temp, load, self.stmt.origin, kind=kind))
            out.append(ir.Name(temp))
            kinds.append(kind)
        return tuple(out), tuple(kinds)

    def _cell_kind(self, closure: Closure, name: str) -> Kind:
        """The kind of a captured variable of a function that was made elsewhere."""
        if isinstance(closure.owner, types.FunctionType):
            return self.program.source_kind(cell_of(closure.owner, name), (*closure.path, ("cell", name)))
        self.program.assume()
        return foreign(closure.owner.name_kinds.get(name) or Unknown())

    def captured_variable(self, expr: ir.Call, function: Any, kinds: Any) -> Resolved | None:
        """`cell_of(f, name)`, which text in forward mode has; None for all other calls."""
        if function is not cell_of or not isinstance(kinds[0], Closure) or not isinstance(kinds[1], Known):
            return None
        closure, name = kinds[0], kinds[1].value
        if closure.owner is self.spec:
            return self.value(ir.Name(name))
        kind = self._cell_kind(closure, name)
        return self.apply(expr, Load(name), expr.args[:1], kinds[:1], kind)

    def _paired(
        self, expr: ir.Expr, spec: Spec, args: Any, kinds: Any, captured: int, function: Any = None
    ) -> Resolved:
        """A call of a specialisation."""
        known = tuple(k or Unknown() for k in kinds)
        kind = spec.result and renamed(spec.result, shape_numbers(known), self.fresh)
        return self.apply(expr, PairCall(spec, captured, function), args, kinds, kind)

    def _fitting(self, code: Any, kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
        """The kinds to compile a function for, so that there are few versions of it; refused if there are too many.

        Of containers and objects found in ever new places only the kinds of what they hold are known, then nothing.
        """
        versions = {known for key, known in self.program.specs if getattr(key, "__code__", key) is code}
        if len(versions) < _FEW_KINDS or canonical(kinds) in versions:
            return kinds
        deep = tuple(self.program.deep_kind(k) for k in kinds)
        if canonical(deep) in versions or len(versions) < _MOST_KINDS:
            return deep
        loose = tuple(Unknown() if isinstance(k, Observed) else k for k in kinds)
        if len(versions) > _MOST_KINDS and canonical(loose) not in versions:
            raise refuse(
                UnsupportedSyntaxError,
                "a function called with more than eight kinds of arguments",
                self.stmt.origin,
                "Each kind needs a version of its own.",
                "Call it with arguments of one kind.",
            )
        return loose

    def _unbound(self, expr: ir.Expr, name: str, why: str, args: tuple[ir.Expr, ...]) -> Resolved:
        """A call whose arguments cannot be bound before it runs."""
        callee = self.missing(UnsupportedSyntaxError, f"this call of {name}() {why}", "", "Write the arguments out.")
        operands = self._operands(expr, args)
        return self.apply(expr, callee, operands, self.kinds(operands), Unknown())

    def _packed(self, bound: dict[str, Any]) -> tuple[tuple[ir.Expr, ...], tuple[Kind | None, ...]]:
        """Bound arguments as atoms: `*args` and `**kwargs` become a tuple and a dict made before the call."""
        args, kinds = [], []
        for value in bound.values():
            if isinstance(value, tuple):
                value = self._made(ir.Seq("tuple", value))
            elif isinstance(value, dict):
                value = self._made(ir.DictOf(tuple((ir.Const(k), v) for k, v in value.items())))
            kind = self._default_kind(value) if isinstance(value, ir.Static) else self.value(value)[1]
            args.append(self._named_default(value, kind) if isinstance(value, ir.Static) else value)
            kinds.append(kind)
        return tuple(args), tuple(kinds)

    def _named_default(self, default: ir.Static, kind: Kind | None) -> ir.Expr:
        """A default with a name, where arrays from outside may carry derivatives."""
        if not self.program.names_globals or not is_outside(default.value):
            return default
        name = self.spec.names.fresh("t")
        self.extra.append(ir.Assign(name, default, self.stmt.origin, kind=kind))
        self.env = {**self.env, name: kind}
        return ir.Name(name)

    def _default_kind(self, default: ir.Static) -> Kind:
        """The kind of a default that is no literal; it becomes a guard."""
        return self.program.source_kind(default.value, (Root("default", default.spelling, default),))
