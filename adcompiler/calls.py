"""Calls → a rule, no derivative, a function compiled with its caller, the run time, or a refusal, in this order."""

from __future__ import annotations

import types
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.arraystores import before_out
from adcompiler.callees import Dynamic, InertCall, Make, Missing, RuleCall, Spread
from adcompiler.decide import constructed, full_name, root_module
from adcompiler.errors import MutationError, NoRuleError, UnsupportedSyntaxError, refuse
from adcompiler.lattice import (
    Closure,
    DictOfKinds,
    Foreign,
    Inert,
    Instance,
    Int,
    IntArray,
    Kind,
    Known,
    ListOf,
    Namespace,
    Number,
    Stream,
    TupleOf,
    Unknown,
    can_be_active,
    class_of,
    is_object,
    numeric,
)
from adcompiler.marks import MarkResolver
from adcompiler.places import container_class
from adcompiler.resolve import Resolved
from adcompiler.rules.registry import is_non_differentiable, lookup, refusal
from adcompiler.runtime.changes import WRITERS
from adcompiler.runtime.domain import array_member, foreign_module, unwrapped
from adcompiler.runtime.missing import without_rule
from adcompiler.runtime.transformed import Transform
from adcompiler.runtime.writes import WRITES
from adcompiler.sharing import overwrites
from adcompiler.transfer import result_kind

_TRANSFORMS = ("adcompiler.api", "adcompiler.jacobians", "adcompiler.hessians")
NESTED = ("gradient", "value_and_grad", "jacobian", "value_and_jacobian", "hessian")
_EFFECTS_ONLY = ("logging", "warnings", "time", "sys", "os", "io", "tqdm", "datetime", "json", "builtins")
_FRAME_READERS = ("locals", "eval", "exec", "vars", "dir")


class CallResolver(MarkResolver):
    """Resolves all operations."""

    def call(self, expr: ir.Call) -> Resolved:  # noqa: C901  one case per form
        """A call."""
        values = [v for _, v in expr.kwargs]
        if any(isinstance(a, ir.Call) for a in expr.args):
            expr = self.with_relays(expr)
        if any(isinstance(a, ir.Call) for a in expr.args):
            return self.consumed(expr)
        kinds = self.kinds([*expr.args, *values])
        if any(k is None for k in kinds):
            return self.apply(expr, InertCall("not reached yet"), (), kinds, None)
        if isinstance(expr.func, ir.Attr):
            obj = self.value(expr.func.value)[1]
            if obj is None:
                return self.apply(expr, InertCall("not reached yet"), (), (None,), None)
            cls = class_of(obj)
            if cls is not None:
                return self._method_of(expr, expr.func, obj, cls)
            if not (isinstance(obj, Known) and numeric(obj) is None):
                return self._method(expr, expr.func, obj, kinds)
        func = self.value(expr.func)[1]
        if func is None:
            return self.apply(expr, InertCall("not reached yet"), (), (None,), None)
        if any(isinstance(k, Stream) and can_be_active(k) for k in kinds):
            consumed = self.taken_from(expr, func, kinds)
            if consumed is not None:
                return consumed
        return self._called(expr, func, kinds)

    def _called(self, expr: ir.Call, func: Kind, kinds: list[Any]) -> Resolved:
        """A call of a value of the kind `func`."""
        if isinstance(func, Closure):
            if isinstance(func.owner, types.FunctionType) and _is_declared(func.owner):
                return self.known_call(expr, func.owner, kinds)
            return self._closure(expr, func)
        if isinstance(func, Known):
            return self._spread_call(expr, kinds) or self.known_call(expr, func.value, kinds)
        cls = class_of(func)
        if cls is not None and is_object(func):
            return self._call_object(expr, cls)
        return self._dynamic(expr, kinds)

    def _spread_call(self, expr: ir.Call, kinds: list[Any]) -> Resolved | None:
        """`f(*xs)` with ever so many items; None if their number is known, or nothing active is among them."""
        stars = [k for a, k in zip(expr.args, kinds, strict=False) if isinstance(a, ir.Star)]
        if all(self.contents(k)[0] is not None for k in stars) or not any(map(can_be_active, kinds)):
            return None
        if expr.kwargs or self.program.writes_places:
            return None
        whole = self._made(ir.Seq("tuple", expr.args))
        spelled = ir.Call(expr.func, (ir.Star(whole),))  # an iterator gives its items once
        return self.apply(spelled, Spread(), (whole,), (self.value(whole)[1],), Unknown())

    def _dynamic(self, expr: ir.Call, kinds: list[Any], pure: bool = False) -> Resolved:
        """A call of something that is known at run time only."""
        if _is_open(expr):
            what = "* or ** in a call that is only known at run time"
            transform = self._transform(expr.func)
            if transform is None and not isinstance(expr.func, ir.Attr):
                return self.open_call(expr, expr.func, expr.args, expr.kwargs)
            callee: Any = self.missing(UnsupportedSyntaxError, what, "", "Write the arguments out.")
            if transform is not None:
                callee = self._derivative(transform)
        else:
            callee = Dynamic(None, tuple(k for k, _ in expr.kwargs if k), pure)
        func_kind = self.value(expr.func)[1] if not isinstance(expr.func, ir.Attr) else Unknown()
        args = (expr.func, *expr.args, *(v for _, v in expr.kwargs))
        return self.apply(expr, callee, args, (func_kind, *kinds), Unknown())

    def _transform(self, func: ir.Expr) -> str | None:
        """The transform that made the function which a call is of, if it stands in this function: `gradient(f)`."""
        for stmt in ir.statements(self.spec.function.body):
            if isinstance(stmt, ir.Assign) and ir.Name(stmt.target) == func and isinstance(stmt.value, ir.Call):
                kind = self.value(stmt.value.func)[1]
                if isinstance(kind, Known) and root_module(kind.value) == "adcompiler":
                    return getattr(kind.value, "__name__", None)
        return None

    def _transformed(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """`gradient(f)`: a function that holds `f`, or the call of one from outside; None for all other calls."""
        if isinstance(function, Transform):
            return self._dynamic(expr, kinds, pure=True)
        if getattr(function, "__module__", None) not in _TRANSFORMS or function.__name__ not in NESTED or not expr.args:
            return None
        kind = Instance(Transform, ("function",), (kinds[0],))
        return self.apply(expr, Make(("function",)), expr.args[:1], kinds[:1], kind)

    def _derivative(self, name: str) -> Missing:
        """The refusal of a derivative inside what is differentiated."""
        return self.missing(
            UnsupportedSyntaxError,
            f"{name} inside a differentiated function",
            "Derivatives of derivatives are not supported yet.",
            "Compute it outside and pass the result.",
        )

    def _method(self, expr: ir.Call, func: ir.Attr, obj: Kind, kinds: list[Any]) -> Resolved:
        """`value.name(...)`, where `obj` is the value's kind and `kinds` those of the arguments."""
        if numeric(obj) is not None:
            key = array_member(func.name)
            if key is None:
                key = getattr(float, func.name, None)
            return self._keyed(expr, key, (func.value, *expr.args), [obj, *kinds], f"the method .{func.name}()")
        if isinstance(obj, Foreign):
            key = getattr(obj.cls, func.name, None)
            return self._keyed(expr, key, (func.value, *expr.args), [obj, *kinds], f"the method .{func.name}()")
        if isinstance(obj, Stream) and can_be_active(obj):
            return self.stream_method(expr, func, obj, kinds)
        if isinstance(obj, Inert) and not isinstance(obj, Namespace):
            operands = self._operands(expr, expr.args)
            writer = func.name in WRITERS or ("ndarray", func.name) in WRITES
            if writer and any(map(can_be_active, kinds)):
                return self._kept(expr, operands, kinds, func.name)
            effect = InertCall("of an object without derivative", keeps=True)
            return self.text_method(expr, func, kinds) or self._effect(expr, effect, operands, kinds, func.name)
        written = (
            self._with_keywords(expr, func, obj, kinds)
            or self.written_method(expr, func, obj, kinds)
            or self.container_method(expr, func, obj, kinds)
        )
        if written is not None:
            return written
        if isinstance(obj, Unknown | Namespace):
            return self._method_of_unknown(expr, func, obj, kinds)
        callee = self.missing(
            MutationError if func.name in WRITERS else UnsupportedSyntaxError,
            f".{func.name}() of a container",
            "Methods of containers are not differentiated yet.",
            "Build a new list or tuple instead." if func.name in WRITERS else "Read the items by index or in a loop.",
        )
        return self.apply(expr, callee, (func.value, *self._operands(expr, expr.args)), (obj, *kinds), Unknown())

    def _method_of_unknown(self, expr: ir.Call, func: ir.Attr, obj: Kind, kinds: list[Any]) -> Resolved:
        """A method of an object that is known at run time only."""
        if _is_open(expr):
            return self._dynamic(expr, kinds)
        if ("ndarray", func.name) in WRITES or (func.name in WRITERS and any(map(can_be_active, kinds))):
            self.program.need_places()
            self.program.loosen()
        operands = (func.value, *self._operands(expr, expr.args))
        keywords = tuple(k for k, _ in expr.kwargs if k)
        return self.apply(expr, Dynamic(func.name, keywords), operands, [obj, *kinds], Unknown())

    def _with_keywords(self, expr: ir.Call, func: ir.Attr, obj: Kind, kinds: list[Any]) -> Resolved | None:
        """A method that is called with `**more`: with the keywords by name, or, of an update, with a dict of them."""
        if all(name is not None for name, _ in expr.kwargs) or not any(map(can_be_active, (obj, *kinds))):
            return None
        given = [([(name, v)] if name is not None else self._expand_dict(v)) for name, v in expr.kwargs]
        named = [pair for pairs in given if pairs is not None for pair in pairs]
        if None not in given and len({name for name, _ in named}) == len(named):
            return self.call(replace(expr, kwargs=tuple(named)))
        if func.name == "update" and container_class(obj) is dict:
            items = tuple((None if name is None else ir.Const(name), v) for name, v in expr.kwargs)
            last = self._made(ir.DictOf(items))
            if expr.args:
                self._made(ir.Call(func, expr.args))
            return self.call(ir.Call(func, (last,)))
        callee = self.missing(
            UnsupportedSyntaxError,
            f"** in a call of .{func.name}(), where the keywords are only known at run time",
            "",
            "Write the arguments out.",
        )
        return self.apply(expr, callee, (func.value, *self._operands(expr, expr.args)), (obj, *kinds), Unknown())

    def _kept(self, expr: ir.Call, operands: Any, kinds: list[Any], name: str) -> Resolved:
        """A call by which an object that is followed no further may keep a value that carries a derivative."""
        callee = self.missing(
            UnsupportedSyntaxError,
            f".{name}() of an object that is not followed",
            "What it keeps would lose its derivative.",
            "Put the value into a list or dict that is made here.",
        )
        return self.apply(expr, callee, operands, kinds, Inert())

    def _effect(self, expr: ir.Call, effect: InertCall, args: Any, kinds: Any, name: str) -> Resolved:
        """A call for its effects (logging, printing): nothing active comes out, unless its value is used."""
        if isinstance(self.stmt, ir.Do):
            return self.apply(expr, effect, args, kinds, Inert())
        callee = self.missing(
            NoRuleError,
            f"{name}() has no derivative rule",
            "Its result is used here, and it was given a value that carries a derivative.",
            "Compute it without, or register a rule with @rrule.",
        )
        return self.apply(expr, callee, args, kinds, Inert())

    def known_call(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved:
        """A call of an object known at compile time."""
        name = getattr(function, "__name__", repr(function))
        if getattr(function, "__module__", None) == "builtins" and name in _FRAME_READERS and not expr.args:
            raise refuse(
                UnsupportedSyntaxError,
                f"{name}() inside a differentiated function",
                self.stmt.origin,
                "It would see names of the generated code.",
                "Name the variables that you need.",
            )
        if function in (eval, exec):
            raise refuse(
                UnsupportedSyntaxError, f"{name}()", self.stmt.origin, "Its text is not known.", "Write the code out."
            )
        if function is vars and any(map(can_be_active, kinds)):
            callee = self.missing(
                UnsupportedSyntaxError, "vars() of an object", "It gives the fields away.", "Name the attributes."
            )
            return self.apply(expr, callee, expr.args, kinds, Unknown())
        declared = is_non_differentiable(function) or refusal(function)
        if isinstance(function, type) and function is not type and declared is not None:
            return self._keyed(expr, function, expr.args, kinds, name)
        found = (
            self.marked(expr, function, kinds)
            or self._transformed(expr, function, kinds)
            or self.captured_variable(expr, function, kinds)
            or self._asked(expr, function, kinds)
            or self.text_function(expr, function, kinds)
            or self.on_places(expr, function, kinds)
            or self.on_containers(expr, function, kinds)
            or self._on_objects(expr, function, kinds)
            or self._constructed(expr, function, kinds)
        )
        if found is not None:
            return found
        return self._keyed(expr, function, expr.args, kinds, name)

    def _keyed(self, expr: ir.Call, key: Any, args: tuple[ir.Expr, ...], kinds: list[Any], name: str) -> Resolved:
        """A call whose function (or method descriptor) is `key`: rule, no derivative, source, or refusal."""
        inner = unwrapped(key)
        if inner is not key:
            return self.known_call(expr, inner, kinds)
        operands = self._operands(expr, args)
        declared = is_non_differentiable(key)
        rules = lookup(key)
        written = self._writing(expr, key, args, kinds, name)
        if written is not None:
            return written
        if declared is not None:
            kind = self._inert_kind(declared, expr, kinds)
            passes = key is np.ix_ or not declared.builtin  # what a function of the user's gives is not known
            inert = InertCall("declared without derivative", declared.kind or "number", passes=passes)
            return self.apply(expr, inert, operands, kinds, kind)
        if rules:
            return self.ruled(expr, RuleCall(rules, key), args, kinds)
        reason = refusal(key)
        if reason is not None:
            why, advice = reason.split("\n")
            callee = self.missing(NoRuleError, f"{full_name(key, name)} is not differentiated", why, advice)
            return self.apply(expr, callee, operands, kinds, Unknown())
        module = root_module(key)
        if isinstance(key, types.FunctionType) and not foreign_module(key):
            if module in _EFFECTS_ONLY:
                return self._effect(expr, InertCall("used for its effects"), operands, kinds, name)
            return self._source(expr, key, args)
        if module in _EFFECTS_ONLY and module != "builtins" and not isinstance(key, type):
            return self._effect(expr, InertCall("used for its effects"), operands, kinds, name)
        if module == "adcompiler":
            return self.apply(expr, self._derivative(name), operands, kinds, Unknown())
        callee = self.missing(NoRuleError, *without_rule(key, full_name(key, name)))
        return self.apply(expr, callee, operands, kinds, constructed(key, kinds))

    def _writing(
        self, expr: ir.Call, key: Any, args: tuple[ir.Expr, ...], kinds: list[Any], name: str
    ) -> Resolved | None:
        """A call that writes into one of its arguments; None for all others."""
        declared, rules = is_non_differentiable(key), lookup(key)
        written = self.writer(expr, key, args, kinds)
        if written is not None or (declared is None and not rules):
            return written
        callee = None
        if self._writes_out(key, rules, expr, kinds):
            written = self.into(expr, key, args, declared, rules)
            what = f"{name} with out="
            callee = self.missing(MutationError, what, "It writes into an array.", "Let it return a new array.")
        elif rules and overwrites(expr) and any(map(can_be_active, kinds)):
            written = self.into(expr, key, args, declared, rules) if key is np.nan_to_num else None
            what, why = f"{name}() that may write into its argument", "What it leaves there is not known."
            callee = self.missing(MutationError, what, why, "Leave overwrite_...= or copy= away.")
        if written is not None or callee is None:
            return written
        return self.apply(expr, callee, self._operands(expr, args), kinds, Number(False))

    def ruled(self, expr: ir.Call, callee: RuleCall, args: tuple[ir.Expr, ...], kinds: list[Any]) -> Resolved:
        """A call with a rule, or, if an operand's kind is not known, one that asks for the rule at run time.

        A rule that takes any keywords is asked at run time too: it returns a dict for them.
        """
        any_keywords = any(p.kind is p.VAR_KEYWORD for p in callee.rule.signature.parameters.values())
        if not any_keywords and not any(isinstance(k, Unknown) or is_object(k) for k in kinds):
            return self.rule(expr, callee, args, expr.kwargs)
        if isinstance(expr.func, ir.Attr) and len(args) > len(expr.args):  # a method: its object is the first operand
            keywords = tuple(k for k, _ in expr.kwargs if k)
            dynamic = Dynamic(expr.func.name, keywords, pure=True)
            return self.apply(expr, dynamic, self._operands(expr, args), kinds, Unknown())
        if _is_open(expr):
            return self.open_call(expr, ir.Static(callee.key, "f"), args, expr.kwargs)
        own = len(args) - len(expr.args)  # an object that is called is its own first operand
        return self._dynamic(*self._written_out(expr, kinds[own:]), pure=True)

    def _written_out(self, expr: ir.Call, kinds: list[Any]) -> tuple[ir.Call, list[Any]]:
        """A call with the items of `*items` and `**items` one by one, where they are known."""
        if not any(isinstance(a, ir.Star) for a in expr.args) and all(name is not None for name, _ in expr.kwargs):
            return expr, kinds
        args = [self._expand(a) if isinstance(a, ir.Star) else [a] for a in expr.args]
        named = [self._expand_dict(v) if name is None else [(name, v)] for name, v in expr.kwargs]
        if None in args or None in named:
            return expr, kinds
        flat = tuple(a for items in args for a in items or ())
        pairs = tuple(pair for items in named for pair in items or ())
        return replace(expr, args=flat, kwargs=pairs), self.kinds([*flat, *(v for _, v in pairs)])

    def _writes_out(self, key: Any, rules: Any, expr: ir.Call, kinds: list[Any]) -> bool:
        """Whether a call writes into one of its arguments."""
        names = [name for name, _ in expr.kwargs]
        given = list(zip(names, kinds[len(kinds) - len(names) :], strict=True))
        places = [kind for name, kind in given if name == "out"]
        spread = [kind for name, kind in given if name is None and isinstance(kind, DictOfKinds)]
        places += [item for kind in spread for k, item in zip(kind.keys, kind.items, strict=True) if k == "out"]
        own = len(kinds) - len(expr.args) - len(names)  # a method's object
        count, before = own, before_out(key, rules)
        for arg, kind in zip(expr.args, kinds[own:], strict=False):
            count += self._count(arg)
            if before is not None and count > before:
                places.append(kind)
        return not all(map(_is_nowhere, places))

    def _count(self, arg: ir.Expr) -> int:
        """How many arguments an argument stands for: a starred one for several, at least one if it is not known."""
        if not isinstance(arg, ir.Star):
            return 1
        items = self.contents(self.value(arg.value)[1] or Unknown())[0]
        return 1 if items is None else len(items)

    def _inert_kind(self, declared: Any, expr: ir.Call, kinds: list[Any]) -> Kind:
        """The kind of the result of a function declared without derivative."""
        operands = {str(i): k for i, k in enumerate(kinds)}
        if declared.key in (vars, globals):
            return Namespace()
        if declared.kind == "tuple":
            return ListOf(
                None, Int() if declared.key in (np.shape, np.broadcast_shapes) else IntArray(None, self.fresh)
            )
        kind = result_kind(declared.kind, operands, self.fresh) if declared.kind else Number(False)
        kind = self.by_library(declared.key, kinds, kind)
        last = kinds[len(kinds) - len(expr.kwargs) :]
        typed = [k for (name, _), k in zip(expr.kwargs, last, strict=True) if name == "dtype"]
        if declared.kind == "filled_like" and any(name == "shape" for name, _ in expr.kwargs):
            return Number(False)
        if declared.kind in ("filled", "filled_like") and (typed or len(expr.args) > 1):
            plain = all(isinstance(k, Known) and k.value in (float, np.float64, np.float32) for k in typed)
            return kind if plain and len(expr.args) == 1 else Number(False)
        return kind


def _is_open(expr: ir.Call) -> bool:
    """Whether a call has `*args` or `**options`."""
    return any(isinstance(a, ir.Star) for a in expr.args) or any(name is None for name, _ in expr.kwargs)


def _is_declared(function: types.FunctionType) -> bool:
    """Whether a function's derivative is a rule or nothing, so that its source is not read."""
    return bool(lookup(function) or is_non_differentiable(function)) or foreign_module(function)


def _is_nowhere(kind: Any) -> bool:
    """Whether what is given as `out` is no place to write: None, or `...` of a new ufunc, or a tuple of these."""
    if isinstance(kind, TupleOf):
        return all(map(_is_nowhere, kind.items))
    return isinstance(kind, Known) and (kind.value is None or kind.value is ...)
