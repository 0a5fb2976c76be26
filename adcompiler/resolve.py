"""Operations → how each is differentiated: rule before source, source before run time, and a clear refusal last.

`Resolver.value` takes an expression in A-normal form and returns it with every operation an `ir.Apply`, and its kind.
"""

from __future__ import annotations

import inspect
import operator
import sys
import types
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from adcompiler import ir
from adcompiler.binding import BindError, bind_call, node_signature
from adcompiler.callees import Build, Dynamic, InertCall, Load, Missing, PairCall, PathLoad, RuleCall
from adcompiler.errors import (
    DifferentiationError,
    MutationError,
    NoRuleError,
    UnsupportedSyntaxError,
    refuse,
)
from adcompiler.lattice import (
    COMPLEX_TYPES,
    INTEGER_TYPES,
    REAL_TYPES,
    Array,
    Closure,
    DictOfKinds,
    Inert,
    Int,
    IntArray,
    Kind,
    Known,
    ListOf,
    Number,
    Observed,
    Scalar,
    SliceOf,
    TupleOf,
    Unknown,
    can_be_active,
    is_scalar,
    join,
    ndim_of,
    numeric,
)
from adcompiler.program import Spec, shape_numbers, signature_of
from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.runtime.containers import cell_of
from adcompiler.runtime.marks import stop_gradient
from adcompiler.scope import loads
from adcompiler.transfer import as_dict, broadcast_kind, result_kind

BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in")

# Modules whose Python functions are never read: their derivative is a rule or nothing.
_LIBRARIES = ("numpy", "scipy", "cupy", "cupyx", "adcompiler")
_EFFECTS_ONLY = ("logging", "warnings", "time", "sys", "os", "io", "tqdm", "datetime", "json", "builtins")
_FRAME_READERS = ("locals", "eval", "exec", "vars", "dir")
_ON_ARRAYS = ("elementwise", "elementwise_real", "where", "bool", "reduction", "reduction_real", "matmul", "like")
_INTEGER_KEYS = (abs, max, min, pow, round, sum, divmod)


class Resolver:
    """Kinds and callees of expressions at one point of a specialisation (`env` and `stmt` say where)."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.program = spec.program
        self.env: dict[str, Kind | None] = {}
        self.stmt: Any = None
        self.extra: list[ir.Stmt] = []
        self._rebound = ir.bound_in(spec.function.body)

    # --- errors -----------------------------------------------------------------------------------------

    def missing(self, kind: type[DifferentiationError], what: str, why: str, advice: str) -> Missing:
        """A callee that is an error as soon as something active is involved."""
        return Missing(refuse(kind, what, self.stmt.origin, why, advice))

    def apply(self, spelled: ir.Expr, callee: Any, args: Any, kinds: Any, kind: Kind | None) -> tuple[ir.Expr, Kind | None]:
        """An `Apply` and its kind; the kind is bottom as long as an operand's is."""
        if isinstance(callee, Missing) or (isinstance(callee, Dynamic) and (callee.key is None or isinstance(callee.key, str))):
            self.program.volatile = True
        if isinstance(callee, Missing | Dynamic):
            self.program.escaped |= any(isinstance(k, Observed | ListOf | DictOfKinds) for k in kinds)
        if any(k is None for k in kinds):
            kind = None
        return ir.Apply(spelled, callee, tuple(args), tuple(k or Unknown() for k in kinds), kind), kind

    @property
    def fresh(self) -> Any:
        """A shape class for the result of this statement."""
        return ("s", id(self.spec), id(self.stmt))

    # --- expressions ------------------------------------------------------------------------------------

    def value(self, expr: ir.Expr) -> tuple[ir.Expr, Kind | None]:
        """The resolved expression and its kind."""
        match expr:
            case ir.Name(name):
                return expr, self.env.get(name, Unknown())
            case ir.Const(value):
                return expr, Known(value)
            case ir.Static(value):
                return expr, Known(value)
            case ir.Global(name):
                outer = getattr(self, "outer", frozenset())
                return expr, Unknown() if name in outer else self.program.global_kind(self.spec.globals, name)
            case ir.Op():
                return self.op(expr)
            case ir.Call():
                return self.call(expr)
            case ir.Attr():
                return self.attr(expr)
            case ir.Item():
                return self.item(expr)
            case ir.Seq() | ir.DictOf():
                return self.display(expr)
            case ir.Verbatim():
                return expr, Inert() if expr.inert else Unknown()
            case ir.Lambda():
                return expr, Closure(expr.node, tuple(sorted(expr.captures)), self.spec, "lambda_")
        return expr, Unknown()

    def kinds(self, exprs: Any) -> list[Kind | None]:
        """The kinds of atoms (a star has the kind of what it unpacks)."""
        return [self.value(e.value if isinstance(e, ir.Star) else e)[1] for e in exprs]

    def display(self, expr: ir.Seq | ir.DictOf) -> tuple[ir.Expr, Kind | None]:
        """A tuple, list, set or dict display."""
        if isinstance(expr, ir.DictOf):
            keys = [self.value(k)[1] if k is not None else None for k, _ in expr.items]
            values = [v for _, v in expr.items]
            kinds = self.kinds(values)
            if all(isinstance(k, Known) for k in keys):
                kind: Kind = DictOfKinds(tuple(k.value for k in keys), tuple(k or Unknown() for k in kinds))  # type: ignore[union-attr]
                return self.apply(expr, Build(), values, kinds, kind)
            callee = self.missing(UnsupportedSyntaxError, "a dict whose keys are not constants", "", "Use constant keys.")
            return self.apply(expr, callee, values, kinds, Unknown())
        kinds = self.kinds(expr.items)
        if any(isinstance(i, ir.Star) for i in expr.items) or expr.form == "set":
            callee = self.missing(UnsupportedSyntaxError, "a display with * or a set", "", "List the items one by one.")
            return self.apply(expr, callee, expr.items, kinds, Unknown())
        items = tuple(k or Unknown() for k in kinds)
        if expr.form == "tuple":
            return self.apply(expr, Build(), expr.items, kinds, TupleOf(items))
        return self.apply(expr, Build(), expr.items, kinds, ListOf(items, self._merged(items)))

    def _merged(self, items: tuple[Kind, ...]) -> Kind:
        merged: Kind | None = None
        for i, k in enumerate(items):
            merged = join(merged, k, (*self.fresh, i))
        return merged or Unknown()

    # --- operators --------------------------------------------------------------------------------------

    def op(self, expr: ir.Op) -> tuple[ir.Expr, Kind | None]:
        """An operator."""
        kinds = self.kinds(expr.args)
        if any(k is None for k in kinds):
            return self.apply(expr, InertCall("not reached yet"), expr.args, kinds, None)
        if expr.op in COMPARISONS or expr.op == "not":
            return self.apply(expr, InertCall("a test"), expr.args, kinds, self._test(expr.op, kinds))
        key = (UNARY if len(expr.args) == 1 else BINARY)[expr.op]
        numbers = [numeric(k) for k in kinds]
        if None not in numbers:
            if all(isinstance(k, Int | IntArray) for k in numbers):
                return self.apply(expr, InertCall("integers"), expr.args, kinds, self._integers(expr.op, kinds))
            rules = lookup(key)
            if rules:
                return self.rule(expr, RuleCall(rules, key), expr.args, ())
            if is_non_differentiable(key):
                kind = result_kind("elementwise", as_dict(("a", "b")[: len(kinds)], tuple(kinds)), self.fresh)
                return self.apply(expr, InertCall("declared without derivative"), expr.args, kinds, kind)
        if any(isinstance(k, Unknown) for k in kinds):
            return self.apply(expr, Dynamic(key), expr.args, kinds, Unknown())
        return self._containers(expr, kinds)

    def _containers(self, expr: ir.Op, kinds: list[Any]) -> tuple[ir.Expr, Kind | None]:
        kind: Kind = Unknown()
        match kinds:
            case [TupleOf(a), TupleOf(b)] if expr.op == "+":
                kind = TupleOf(a + b)
            case [ListOf(), ListOf()] if expr.op == "+":
                kind = ListOf(None, self._merged((kinds[0].item, kinds[1].item)))
            case _ if not any(map(can_be_active, kinds)):
                kind = Inert()
        what = f"the operator {expr.op} on containers"
        callee = self.missing(UnsupportedSyntaxError, what, "It has no derivative yet.", "Combine the items one by one.")
        return self.apply(expr, callee, expr.args, kinds, kind)

    def _test(self, op: str, kinds: list[Any]) -> Kind:
        if op == "not":
            known = isinstance(kinds[0], Known) and (kinds[0].value is None or isinstance(kinds[0].value, bool))
            return Known(not kinds[0].value) if known else IntArray(0, ())
        if op in ("is", "is not"):
            same = _identical(*kinds)
            return IntArray(0, ()) if same is None else Known(same if op == "is" else not same)
        if op in ("in", "not in") or numeric(kinds[0]) is None or numeric(kinds[1]) is None:
            return Inert() if any(isinstance(k, Unknown) for k in kinds) else IntArray(0, ())
        return broadcast_kind(kinds, self.fresh, True, float_result=False)

    def _integers(self, op: str, kinds: list[Any]) -> Kind:
        if op == "/":
            return broadcast_kind(kinds, self.fresh, True)
        if op == "**":
            natural = isinstance(kinds[1], Known) and isinstance(kinds[1].value, int) and kinds[1].value >= 0
            if natural and all(isinstance(numeric(k), Int) for k in kinds):
                return Int()
            return broadcast_kind(kinds, self.fresh, True, float_result=False) if natural else Number()
        if op == "@":
            return IntArray(None, self.fresh)
        if all(isinstance(numeric(k), Int) for k in kinds):
            return Int()
        return broadcast_kind(kinds, self.fresh, True, float_result=False)

    # --- loads ------------------------------------------------------------------------------------------

    def item(self, expr: ir.Item) -> tuple[ir.Expr, Kind | None]:
        """`value[index]`."""
        obj = self.value(expr.value)[1]
        index = self.index_kind(expr.index)
        if obj is None or index is None:
            return self.apply(expr, InertCall("not reached yet"), (expr.value,), (None,), None)
        match numeric(obj):
            case Array() | Number() | Scalar():
                return self.rule(expr, RuleCall(lookup(operator.getitem), operator.getitem), (expr.value, expr.index), ())
            case IntArray() | Int():
                kind = result_kind("getitem", {"x": obj, "index": index}, self.fresh)
                return self.apply(expr, InertCall("integers"), (expr.value,), (obj,), kind)
        if isinstance(index, TupleOf) and isinstance(obj, Observed | DictOfKinds) and all(isinstance(i, Known) for i in index.items):
            index = Known(tuple(i.value for i in index.items))  # type: ignore[attr-defined]
        if self.program.escaped and isinstance(obj, ListOf | DictOfKinds):
            key = index.value if isinstance(index, Known) else expr.index
            return self.apply(expr, Load(key), (expr.value,), (obj,), Unknown())
        match obj, index:
            case Observed(), Known(key):
                return self._observed_item(expr, obj, key)
            case Observed(), Int():
                return self._any_item(expr, obj)
            case TupleOf(items) | ListOf(tuple() as items), Known(int() as i) if -len(items) <= i < len(items):
                return self.apply(expr, Load(i), (expr.value,), (obj,), items[i])
            case ListOf(_, item), Int() | Known(int()):
                return self.apply(expr, Load(expr.index), (expr.value,), (obj,), item)
            case TupleOf(items), Int():
                return self.apply(expr, Load(expr.index), (expr.value,), (obj,), self._merged(items))
            case DictOfKinds(keys, items), Known(key) if key in keys:
                return self.apply(expr, Load(key), (expr.value,), (obj,), items[keys.index(key)])
        index_active = any(can_be_active(self.value(e)[1]) for e in ir.walk(expr.index) if ir.is_atom(e))
        if not can_be_active(obj) and not index_active:
            return self.apply(expr, InertCall("no derivative"), (expr.value,), (obj,), Inert())
        if isinstance(obj, Unknown) and not index_active:
            return self.apply(expr, Dynamic(operator.getitem), (expr.value, expr.index), (obj, index), Unknown())
        callee = self.missing(
            UnsupportedSyntaxError, "this index of a container", "Only constant keys and integers are followed.", "Use one."
        )
        return self.apply(expr, callee, (expr.value, expr.index), (obj, index), Unknown())

    def _observed_item(self, expr: ir.Item, obj: Observed, key: Any) -> tuple[ir.Expr, Kind | None]:
        path = (*obj.path, ("item", key))
        if self.program.escaped:
            return self.apply(expr, Load(key), (expr.value,), (obj,), Unknown())
        try:
            kind = self.program.source_kind(obj.value[key], path)
        except (KeyError, IndexError, TypeError):
            return self.apply(expr, Load(key), (expr.value,), (obj,), Unknown())
        if obj.holder is None:
            return self.apply(expr, Load(key), (expr.value,), (obj,), kind)
        root = self.spec.kinds[self.spec.params.index(obj.holder)]
        if isinstance(kind, Observed):
            kind = replace(kind, holder=obj.holder)
        return self.apply(expr, PathLoad(obj.holder, path[len(root.path) :]), (expr.value,), (obj,), kind)  # type: ignore[attr-defined]

    def _any_item(self, expr: ir.Item, obj: Observed) -> tuple[ir.Expr, Kind | None]:
        deep = self.program.deep_kind(obj)
        item = deep.item if isinstance(deep, ListOf) else self._merged(deep.items) if isinstance(deep, TupleOf) else Unknown()
        return self.apply(expr, Load(expr.index), (expr.value,), (obj,), item)

    def index_kind(self, index: ir.Expr) -> Kind | None:
        """The kind of an index; slices are `Inert`, a tuple of indices has a kind for each."""
        match index:
            case ir.Slice():
                return SliceOf()
            case ir.Seq(_, items):
                kinds = [self.index_kind(i) for i in items]
                return None if None in kinds else TupleOf(tuple(k for k in kinds if k))
        return self.value(index)[1]

    def attr(self, expr: ir.Attr) -> tuple[ir.Expr, Kind | None]:
        """`value.name`, not called."""
        _, obj = self.value(expr.value)
        name = expr.name
        if obj is None:
            return self.apply(expr, InertCall("not reached yet"), (), (None,), None)
        if isinstance(obj, Known) and numeric(obj) is None:
            return expr, self._member(obj, expr)
        number = numeric(obj)
        if number is not None:
            return self._array_attribute(expr, obj, name)
        if not can_be_active(obj):
            return self.apply(expr, InertCall("no derivative"), (), (), Unknown())
        callee = self.missing(
            UnsupportedSyntaxError,
            f"the attribute .{name} of an object",
            "Attributes of objects are not differentiated yet.",
            "Pass the arrays in a tuple, list or dict.",
        )
        return self.apply(expr, callee, (expr.value,), (obj,), Unknown())

    def _member(self, obj: Known, expr: ir.Attr) -> Kind:
        """A member of a module or class."""
        if not hasattr(obj.value, expr.name):
            return Unknown()
        member = getattr(obj.value, expr.name)
        path = self._static_path(expr)
        if path is None or _trusted(obj.value) or isinstance(obj.value, np.ufunc):
            if isinstance(member, float | complex | np.inexact):
                return Scalar(not isinstance(member, complex))
            return Known(member)
        return self.program.source_kind(member, path)

    def _static_path(self, expr: ir.Expr) -> Any:
        from adcompiler.program import Root

        match expr:
            case ir.Global(name):
                return (Root("global", name, self.spec.globals),)
            case ir.Attr(value, name):
                base = self._static_path(value)
                return None if base is None else (*base, ("attr", name))
        return None

    def _array_attribute(self, expr: ir.Attr, obj: Kind, name: str) -> tuple[ir.Expr, Kind | None]:
        if name == "shape":
            n = ndim_of(obj)
            kind: Kind = ListOf(None, Int()) if n is None else TupleOf((Int(),) * n)
            return self.apply(expr, InertCall("a shape"), (expr.value,), (obj,), kind)
        if name in ("size", "ndim", "itemsize", "nbytes"):
            return self.apply(expr, InertCall("an integer"), (expr.value,), (obj,), Int())
        key = getattr(np.ndarray, name, None)
        if key is not None and lookup(key):
            return self.rule(expr, RuleCall(lookup(key), key), (expr.value,), ())
        if is_non_differentiable(key):
            return self.apply(expr, InertCall("no derivative"), (expr.value,), (obj,), Inert())
        callee = self.missing(
            NoRuleError, f".{name} of an array has no derivative rule", "", "Register one with @rrule, or use a function."
        )
        return self.apply(expr, callee, (expr.value,), (obj,), Unknown())

    # --- calls ------------------------------------------------------------------------------------------

    def call(self, expr: ir.Call) -> tuple[ir.Expr, Kind | None]:
        """A call."""
        values = [v for _, v in expr.kwargs]
        kinds = self.kinds([*expr.args, *values])
        if any(k is None for k in kinds):
            return self.apply(expr, InertCall("not reached yet"), (), kinds, None)
        if isinstance(expr.func, ir.Attr):
            obj = self.value(expr.func.value)[1]
            if obj is None:
                return self.apply(expr, InertCall("not reached yet"), (), (None,), None)
            if not (isinstance(obj, Known) and numeric(obj) is None):
                return self._method(expr, expr.func, obj, kinds)
        func = self.value(expr.func)[1]
        if func is None:
            return self.apply(expr, InertCall("not reached yet"), (), (None,), None)
        if isinstance(func, Closure):
            outside = isinstance(func.owner, types.FunctionType)
            if outside and (lookup(func.owner) or is_non_differentiable(func.owner) or _root_module(func.owner) in _LIBRARIES):
                return self.known_call(expr, func.owner, kinds)
            return self._closure(expr, func)
        if isinstance(func, Known):
            return self.known_call(expr, func.value, kinds)
        return self._dynamic(expr, kinds)

    def _dynamic(self, expr: ir.Call, kinds: list[Any]) -> tuple[ir.Expr, Kind | None]:
        if any(isinstance(a, ir.Star) for a in expr.args) or any(k is None for k, _ in expr.kwargs):
            callee: Any = self.missing(
                UnsupportedSyntaxError, "* or ** in a call that is only known at run time", "", "Write the arguments out."
            )
        else:
            callee = Dynamic(None, tuple(k for k, _ in expr.kwargs if k))
        func_kind = self.value(expr.func)[1] if not isinstance(expr.func, ir.Attr) else Unknown()
        args = (expr.func, *expr.args, *(v for _, v in expr.kwargs))
        return self.apply(expr, callee, args, (func_kind, *kinds), Unknown())

    def _method(self, expr: ir.Call, func: ir.Attr, obj: Kind, kinds: list[Any]) -> tuple[ir.Expr, Kind | None]:
        if numeric(obj) is not None:
            key = getattr(np.ndarray, func.name, None)
            if key is None:
                key = getattr(float, func.name, None)
            return self._keyed(expr, key, (func.value, *expr.args), [obj, *kinds], f"the method .{func.name}()")
        if isinstance(obj, Inert):
            return self._effect(expr, self._operands(expr, expr.args), kinds, "of an object without derivative", func.name)
        if isinstance(obj, Unknown):
            kinds = [obj, *kinds]
            args = (func.value, *expr.args, *(v for _, v in expr.kwargs))
            keywords = tuple(k for k, _ in expr.kwargs if k)
            return self.apply(expr, Dynamic(func.name, keywords), args, kinds, Unknown())
        callee = self.missing(
            MutationError if func.name in _WRITERS else UnsupportedSyntaxError,
            f".{func.name}() of a container",
            "Methods of containers are not differentiated yet.",
            "Build a new list or tuple instead." if func.name in _WRITERS else "Read the items by index or in a loop.",
        )
        return self.apply(expr, callee, (func.value, *self._operands(expr, expr.args)), (obj, *kinds), Unknown())

    def _effect(self, expr: ir.Call, args: Any, kinds: Any, why: str, name: str) -> tuple[ir.Expr, Kind | None]:
        """A call for its effects (logging, printing): nothing active comes out, unless its value is used."""
        if isinstance(self.stmt, ir.Do):
            return self.apply(expr, InertCall(why), args, kinds, Inert())
        callee = self.missing(
            NoRuleError,
            f"{name}() has no derivative rule",
            "Its result is used here, and it was given a value that carries a derivative.",
            "Compute it without, or register a rule with @rrule.",
        )
        return self.apply(expr, callee, args, kinds, Inert())

    def known_call(self, expr: ir.Call, function: Any, kinds: list[Any]) -> tuple[ir.Expr, Kind | None]:
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
            raise refuse(UnsupportedSyntaxError, f"{name}()", self.stmt.origin, "Its text is not known.", "Write the code out.")
        if function is stop_gradient:
            return self.apply(expr, InertCall("stop_gradient"), self._operands(expr, expr.args), kinds, kinds[0] if kinds else Unknown())
        if function is isinstance and len(kinds) == 2:
            return self.apply(expr, InertCall("a test"), expr.args, kinds, _isinstance(*kinds))
        return self._keyed(expr, function, expr.args, kinds, name)

    def _keyed(
        self, expr: ir.Call, key: Any, args: tuple[ir.Expr, ...], kinds: list[Any], name: str
    ) -> tuple[ir.Expr, Kind | None]:
        """A call whose function (or method descriptor) is `key`: rule, no derivative, source, or refusal."""
        wrapped = getattr(type(key), "__adcompiler_function__", None)
        if wrapped is not None:
            return self.known_call(expr, wrapped.__get__(key), kinds)
        declared = is_non_differentiable(key)
        if declared is not None and self._writes_out(key, expr):
            what = f"{name} with out="
            callee = self.missing(MutationError, what, "It writes into an array.", "Let it return a new array.")
            return self.apply(expr, callee, self._operands(expr, args), kinds, Number(False))
        if declared is not None:
            kind = self._inert_kind(declared, expr, kinds)
            return self.apply(expr, InertCall("declared without derivative"), self._operands(expr, args), kinds, kind)
        rules = lookup(key)
        if rules:
            if any(isinstance(k, Unknown) for k in kinds):
                return self._dynamic(expr, kinds)
            return self.rule(expr, RuleCall(rules, key), args, expr.kwargs)
        if isinstance(key, types.FunctionType) and _root_module(key) not in _LIBRARIES:
            if _root_module(key) in _EFFECTS_ONLY:
                return self._effect(expr, self._operands(expr, args), kinds, "used for its effects", name)
            return self._source(expr, key)
        if _root_module(key) in _EFFECTS_ONLY and not isinstance(key, type) and _root_module(key) != "builtins":
            return self._effect(expr, self._operands(expr, args), kinds, "used for its effects", name)
        if _root_module(key) == "adcompiler":
            callee = self.missing(
                UnsupportedSyntaxError,
                f"{name} inside a differentiated function",
                "Derivatives of derivatives are not supported yet.",
                "Compute it outside and pass the result.",
            )
            return self.apply(expr, callee, self._operands(expr, args), kinds, Unknown())
        callee = self.missing(
            NoRuleError,
            f"{_full_name(key, name)} has no derivative rule",
            "It is not written in Python, and no rule is registered for it.",
            "Register one with @rrule, or declare it with non_differentiable().",
        )
        return self.apply(expr, callee, self._operands(expr, args), kinds, _constructed(key, kinds))

    @staticmethod
    def _operands(expr: ir.Expr, args: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
        """All operands of a call: `args` and the keywords."""
        return (*args, *(v for _, v in expr.kwargs)) if isinstance(expr, ir.Call) else args

    @staticmethod
    def _writes_out(key: Any, expr: ir.Call) -> bool:
        """Whether a call writes into one of its arguments."""
        positional = isinstance(key, np.ufunc) and len(expr.args) > key.nin
        return positional or any(name == "out" for name, _ in expr.kwargs)

    def _inert_kind(self, declared: Any, expr: ir.Call, kinds: list[Any]) -> Kind:
        operands = {str(i): k for i, k in enumerate(kinds)}
        if declared.kind == "tuple":
            return ListOf(None, Int()) if declared.key is np.shape else Inert()
        kind = result_kind(declared.kind, operands, self.fresh) if declared.kind else Number(False)
        last = kinds[len(kinds) - len(expr.kwargs) :]
        typed = [k for (name, _), k in zip(expr.kwargs, last, strict=True) if name == "dtype"]
        if declared.kind in ("filled", "filled_like") and (typed or len(expr.args) > 1):
            plain = all(isinstance(k, Known) and k.value in (float, np.float64, np.float32) for k in typed)
            return kind if plain and len(expr.args) == 1 else Number(False)
        return kind

    def rule(
        self, expr: ir.Expr, callee: RuleCall, args: tuple[ir.Expr, ...], kwargs: Any
    ) -> tuple[ir.Expr, Kind | None]:
        """A call of a function with a rule: bound to the rule's signature."""
        rule = callee.rule
        try:
            bound = bind_call(rule.signature, args, kwargs, self._expand, self._expand_dict)
        except BindError as error:
            missing = self.missing(NoRuleError, f"the rule of {_full_name(callee.key, rule.name)} {error}", "", "Write it another way.")
            operands = self._operands(expr, args)
            return self.apply(expr, missing, operands, self.kinds_of_args(operands), Unknown())
        if callee.key in (sum, max, min) and any(self._holds_containers(b) for b in bound.values()):
            missing = self.missing(
                UnsupportedSyntaxError, f"{callee.key.__name__}() of lists or tuples", "", "Combine the items in a loop."
            )
            operands = self._operands(expr, args)
            return self.apply(expr, missing, operands, self.kinds_of_args(operands), Unknown())
        expr, bound = self._as_arrays(expr, rule, bound)
        kinds = tuple(self._bound_kind(b) for b in bound.values())
        kind = self._rule_kind(callee, as_dict(tuple(bound), kinds))
        return self.apply(expr, callee, bound.values(), kinds, kind)

    def _holds_containers(self, value: Any) -> bool:
        """Whether an argument of `sum`, `max` or `min` has items that are containers, or is one of several that are."""
        kinds = [self.value(v)[1] for v in value] if isinstance(value, tuple) else [self.value(value)[1]]
        if isinstance(value, tuple) and len(value) == 1 or not isinstance(value, tuple):
            kinds = [self.program.deep_kind(k) for k in kinds if k is not None]
            items = [i for k in kinds if isinstance(k, TupleOf | ListOf) for i in (k.items or (k.item,))]  # type: ignore[union-attr]
        else:
            items = kinds
        return any(isinstance(k, TupleOf | ListOf | DictOfKinds | Observed) for k in items)

    def _as_arrays(self, expr: ir.Expr, rule: Any, bound: dict[str, Any]) -> tuple[ir.Expr, dict[str, Any]]:
        """Lists given where a rule computes with arrays are made arrays first, as NumPy itself would."""
        if rule.kind not in _ON_ARRAYS or not isinstance(expr, ir.Call):
            return expr, bound
        made: dict[str, ir.Expr] = {}
        for value in bound.values():
            if isinstance(value, ir.Name) and value.id not in made:
                kind = self.value(value)[1]
                sequence = isinstance(kind, ListOf | TupleOf) or (isinstance(kind, Observed) and type(kind.value) is not dict)
                if sequence and can_be_active(kind):
                    made[value.id] = self._made(ir.Call(ir.Static(np.asarray, "asarray"), (value,)))
        if not made:
            return expr, bound
        args = tuple(ir.substitute(a, made) for a in expr.args)
        kwargs = tuple((k, ir.substitute(v, made)) for k, v in expr.kwargs)
        new = {k: made.get(v.id, v) if isinstance(v, ir.Name) else v for k, v in bound.items()}
        return ir.Call(expr.func, args, kwargs), new

    def _rule_kind(self, callee: RuleCall, operands: dict[str, Any]) -> Kind:
        rule = callee.rule
        numbers = [numeric(k) for k in operands.values() if numeric(k) is not None]
        if callee.key is np.arange and all(isinstance(k, Int) for k in numbers):
            return IntArray(1, self.fresh)
        if callee.key in _INTEGER_KEYS and numbers and all(isinstance(k, Int) for k in numbers):
            return Int() if rule.kind in ("scalar", "elementwise", "elementwise_real") else Number()
        if callee.key in (np.array, np.asarray):
            kind = _array_kind(next(iter(operands.values())), operands.get("dtype"), self.fresh)
            if kind is not None:
                return kind
        if callee.key in (operator.pow, pow) and _may_turn_complex(list(operands.values())):
            return Scalar(False)
        if rule.kind is None and not rule.builtin:
            return Unknown()
        return result_kind(rule.kind, operands, self.fresh)

    def _bound_kind(self, value: Any) -> Kind | None:
        if isinstance(value, tuple):
            kinds = [self._bound_kind(v) for v in value]
            return None if None in kinds else TupleOf(tuple(k for k in kinds if k))
        return self.index_kind(value)

    def kinds_of_args(self, args: Any) -> list[Kind | None]:
        """The kinds of call arguments, indices included."""
        return [self.index_kind(a.value if isinstance(a, ir.Star) else a) for a in args]

    def _expand(self, star: ir.Star) -> list[ir.Expr] | None:
        """The items of a starred argument, as temporaries, if their number is known."""
        kind = self.value(star.value)[1]
        kind = self.program.deep_kind(kind) if kind is not None else None
        items = kind.items if isinstance(kind, TupleOf | ListOf) else None
        if items is None:
            return None
        out: list[ir.Expr] = []
        for i, k in enumerate(items):
            name = self.spec.names.fresh("t")
            load = ir.Apply(ir.Item(star.value, ir.Const(i)), Load(i), (star.value,), (kind,), k)
            self.extra.append(ir.Assign(name, load, self.stmt.origin, kind=k))
            self.env = {**self.env, name: k}
            out.append(ir.Name(name))
        return out

    def _expand_dict(self, value: ir.Expr) -> list[tuple[str, ir.Expr]] | None:
        """The items of a dict given as `**value`, as temporaries, if its keys are known."""
        kind = self.value(value)[1]
        kind = self.program.deep_kind(kind) if kind is not None else None
        if not isinstance(kind, DictOfKinds) or self.program.escaped:
            return None
        out: list[tuple[str, ir.Expr]] = []
        for key, k in zip(kind.keys, kind.items, strict=True):
            name = self.spec.names.fresh("t")
            load = ir.Apply(ir.Item(value, ir.Const(key)), Load(key), (value,), (kind,), k)
            self.extra.append(ir.Assign(name, load, self.stmt.origin, kind=k))
            self.env = {**self.env, name: k}
            out.append((key, ir.Name(name)))
        return out

    # --- functions of the user --------------------------------------------------------------------------

    def _source(self, expr: ir.Call, function: Any) -> tuple[ir.Expr, Kind | None]:
        try:
            bound = bind_call(signature_of(function), expr.args, expr.kwargs, self._expand, self._expand_dict)
        except BindError as error:
            return self._unbound(expr, function.__name__, str(error))
        args, kinds = self._packed(bound)
        try:
            if any(k is None for k in kinds):
                return self.apply(expr, InertCall("not reached yet"), (), kinds, None)
            self._limit(function.__code__)
            spec = self.program.specialise(function, tuple(k for k in kinds if k))
        except DifferentiationError as error:
            return self.apply(expr, Missing(error), args, kinds, Unknown())
        except RecursionError:
            return self._unbound(expr, function.__name__, "calls itself with ever new kinds")
        return self._paired(expr, spec, args, kinds, 0)

    def _closure(self, expr: ir.Call, closure: Closure) -> tuple[ir.Expr, Kind | None]:
        try:
            outside = isinstance(closure.owner, types.FunctionType)
            signature = signature_of(closure.owner) if outside else node_signature(closure.node)
            bound = bind_call(signature, expr.args, expr.kwargs, self._expand, self._expand_dict)
        except BindError as error:
            return self._unbound(expr, closure.name, str(error), expr.func)
        args, kinds = self._packed(bound)
        captured, captured_kinds = self._captured(expr.func, closure)
        if closure in captured_kinds or _reads_itself(closure):
            callee = self.missing(
                UnsupportedSyntaxError,
                f"the recursion of the local function {closure.name}",
                "It is not differentiated yet.",
                "Define it at module level.",
            )
            return self.apply(expr, callee, (expr.func, *captured, *args), (closure, *captured_kinds, *kinds), Unknown())
        try:
            self._limit(closure.node)
            spec = self.program.specialise_local(closure, (*captured_kinds, *(k or Unknown() for k in kinds)))
        except DifferentiationError as error:
            return self.apply(expr, Missing(error), (*captured, *args), (*captured_kinds, *kinds), Unknown())
        return self._paired(expr, spec, (*captured, *args), (*captured_kinds, *kinds), len(captured))

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
            if isinstance(closure.owner, types.FunctionType):
                kind = self.program.source_kind(cell_of(closure.owner, name), (*closure.path, ("cell", name)))
            else:
                self.program.assume()
                kind = closure.owner.name_kinds.get(name) or Unknown()
            temp = self.spec.names.fresh("t")
            cell = ir.Call(ir.Static(cell_of, "cell_of"), (func, ir.Const(name)))
            self.extra.append(ir.Assign(temp, ir.Apply(cell, Load(name), (func,), (closure,), kind), self.stmt.origin, kind=kind))
            out.append(ir.Name(temp))
            kinds.append(kind)
        return tuple(out), tuple(kinds)

    def _paired(self, expr: ir.Call, spec: Spec, args: Any, kinds: Any, captured: int) -> tuple[ir.Expr, Kind | None]:
        known = tuple(k or Unknown() for k in kinds)
        kind = _renamed(spec.result, shape_numbers(known), self.fresh)
        return self.apply(expr, PairCall(spec, captured), args, kinds, kind)

    def _limit(self, code: Any) -> None:
        of_code = sum(1 for k, _ in self.program.specs if (getattr(k, "__code__", k)) is code)
        if of_code > 8:
            raise refuse(
                UnsupportedSyntaxError,
                "a function called with more than eight kinds of arguments",
                self.stmt.origin,
                "Each kind needs a version of its own.",
                "Call it with arguments of one kind.",
            )

    def _unbound(self, expr: ir.Call, name: str, why: str, *more: ir.Expr) -> tuple[ir.Expr, Kind | None]:
        callee = self.missing(UnsupportedSyntaxError, f"this call of {name}() {why}", "", "Write the arguments out.")
        operands = (*more, *expr.args, *(v for _, v in expr.kwargs))
        return self.apply(expr, callee, operands, self.kinds(operands), Unknown())

    def _packed(self, bound: dict[str, Any]) -> tuple[tuple[ir.Expr, ...], tuple[Kind | None, ...]]:
        """Bound arguments as atoms: `*args` and `**kwargs` become a tuple and a dict made before the call."""
        args, kinds = [], []
        for value in bound.values():
            if isinstance(value, tuple):
                value = self._made(ir.Seq("tuple", value))
            elif isinstance(value, dict):
                value = self._made(ir.DictOf(tuple((ir.Const(k), v) for k, v in value.items())))
            args.append(value)
            kinds.append(self._default_kind(value) if isinstance(value, ir.Static) else self.value(value)[1])
        return tuple(args), tuple(kinds)

    def _default_kind(self, default: ir.Static) -> Kind:
        from adcompiler.program import Root

        return self.program.source_kind(default.value, (Root("default", default.spelling, default),))

    def _made(self, display: ir.Expr) -> ir.Expr:
        value, kind = self.value(display)
        name = self.spec.names.fresh("t")
        self.extra.append(ir.Assign(name, value, self.stmt.origin, kind=kind))
        self.env = {**self.env, name: kind}
        return ir.Name(name)


_WRITERS = ("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "popitem", "sort", "reverse", "add")


def _array_kind(value: Kind, dtype: Any, fresh: Any) -> Kind | None:
    """The kind of `np.array(value)` where the nesting of a display says it, else None."""
    if not (dtype is None or (isinstance(dtype, Known) and dtype.value in (None, float, np.float64))):
        return None
    depth, leaves = 0, [value]
    while leaves and all(isinstance(k, TupleOf) or (isinstance(k, ListOf) and k.items is not None) for k in leaves):
        depth, leaves = depth + 1, [i for k in leaves for i in k.items]  # type: ignore[attr-defined]
    numbers = [numeric(k) for k in leaves]
    if not leaves or not depth or not all(isinstance(k, Scalar | Int) for k in numbers):
        return None
    if all(isinstance(k, Int) for k in numbers) and dtype is None:
        return IntArray(depth, fresh)
    return Array(depth, all(not isinstance(k, Scalar) or k.real for k in numbers), fresh)


def _reads_itself(closure: Closure) -> bool:
    """Whether a nested `def` calls itself by its own name."""
    return isinstance(closure.node, gast.FunctionDef) and closure.node.name in loads(closure.node)


def _may_turn_complex(kinds: list[Any]) -> bool:
    """Whether `base ** exponent` of two Python floats may be complex: a negative base and a fractional exponent."""
    base, exponent = kinds[0], kinds[1]
    literal = exponent.value if isinstance(exponent, Known) else None
    whole = isinstance(numeric(exponent), Int) or (isinstance(literal, float) and literal.is_integer())
    positive = isinstance(base, Known) and not isinstance(base.value, complex) and base.value > 0
    return is_scalar(base) and is_scalar(exponent) and not whole and not positive


def _identical(a: Kind, b: Kind) -> bool | None:
    """Whether two values are surely the same object, surely not, or unknown."""
    if isinstance(a, Known) and isinstance(b, Known) and (a.value is None or b.value is None):
        return a.value is b.value
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Known) and x.value is None and not isinstance(y, Unknown | Inert | Known):
            return False
    return None


def _isinstance(value: Kind, classes: Kind) -> Kind:
    if not isinstance(classes, Known):
        return Int()
    cls = classes.value
    match value:
        case Observed(_, v) | Known(v):
            return Known(isinstance(v, cls))
        case Array() | IntArray():
            return Known(issubclass(np.ndarray, cls))
        case TupleOf():
            return Known(issubclass(tuple, cls))
        case ListOf(tuple(), _):
            return Known(issubclass(list, cls))
        case Scalar():
            found = {issubclass(c, cls) for c in REAL_TYPES | COMPLEX_TYPES}
            return Known(found.pop()) if len(found) == 1 else Int()
        case Int():
            found = {issubclass(c, cls) for c in INTEGER_TYPES}
            return Known(found.pop()) if len(found) == 1 else Int()
    return Int()


def _trusted(module: Any) -> bool:
    """Whether a module's members are taken as they are when compiling, without a guard."""
    name = getattr(module, "__name__", "")
    root = name.split(".")[0]
    return isinstance(module, types.ModuleType) and (root in _LIBRARIES or root in sys.stdlib_module_names)


def _root_module(function: Any) -> str:
    return (getattr(function, "__module__", None) or "").split(".")[0]


def _full_name(key: Any, name: str) -> str:
    module = getattr(key, "__module__", None)
    owner = getattr(key, "__objclass__", None)
    if owner is not None:
        return f"{owner.__name__}.{key.__name__}"
    return f"{module}.{getattr(key, '__qualname__', name)}" if module and module != "builtins" else name


def _constructed(key: Any, kinds: list[Any]) -> Kind:
    """What a call of a class without rule gives, for the few that matter while nothing is active."""
    if key in (list, tuple) and len(kinds) == 1:
        match kinds[0]:
            case ListOf() | TupleOf():
                return kinds[0]  # type: ignore[no-any-return]
    return Unknown()


def _renamed(kind: Kind | None, keep: dict[Any, Any], fresh: Any) -> Kind | None:
    """A callee's result kind seen by the caller: shape classes of the callee's own become this call's."""
    match kind:
        case Array() | Number() | IntArray() if kind.shape is not None and kind.shape != ():
            return replace(kind, shape=keep.get(kind.shape, (fresh, kind.shape)))
        case TupleOf(items):
            return TupleOf(tuple(_renamed(k, keep, fresh) or Unknown() for k in items))
        case ListOf(items, item):
            inner = None if items is None else tuple(_renamed(k, keep, fresh) or Unknown() for k in items)
            return ListOf(inner, _renamed(item, keep, fresh) or Unknown())
        case DictOfKinds(keys, items):
            return DictOfKinds(keys, tuple(_renamed(k, keep, fresh) or Unknown() for k in items))
        case Observed():
            return replace(kind, holder=None)
    return kind


__all__ = ["Resolver"]
