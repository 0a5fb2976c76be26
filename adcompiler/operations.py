"""Operators, comparisons, displays, items and attributes → the rule that differentiates them, or why none does."""

from __future__ import annotations

import enum
import itertools
import operator
import types
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.arraystores import ArrayStores
from adcompiler.callees import Build, Dynamic, InertCall, Load, PathLoad, RuleCall
from adcompiler.decide import equal, identical, trusted
from adcompiler.errors import NoRuleError, UnsupportedSyntaxError
from adcompiler.fromcupy import is_cupy_function
from adcompiler.joins import value_kind
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
    Namespace,
    Number,
    Observed,
    Scalar,
    SliceOf,
    TupleOf,
    Unknown,
    can_be_active,
    is_object,
    ndim_of,
    numeric,
)
from adcompiler.moves import MoveResolver
from adcompiler.places import container_class
from adcompiler.resolve import Resolved
from adcompiler.rulecalls import RuleResolver
from adcompiler.rules.registry import is_non_differentiable, lookup, refusal
from adcompiler.runtime import changes, places
from adcompiler.runtime.domain import array_member
from adcompiler.shapeclasses import shapeless
from adcompiler.spec import ANY, Path, Root, of_object
from adcompiler.textcalls import TextResolver
from adcompiler.transfer import as_dict, broadcast_kind, result_kind

BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in")


class OperationResolver(RuleResolver, MoveResolver, TextResolver, ArrayStores):
    """Adds everything but calls to what can be resolved."""

    # --- displays ---------------------------------------------------------------------------------------

    def display(self, expr: ir.Seq | ir.DictOf) -> Resolved:
        """A tuple, list, set or dict display."""
        if isinstance(expr, ir.DictOf):
            return self._dict_display(expr)
        kinds = self.kinds(expr.items)
        if expr.form != "set" and any(isinstance(i, ir.Star) for i in expr.items):
            return self.starred(expr)
        if expr.form == "set":
            callee = self.missing(UnsupportedSyntaxError, "a set of values that carry derivatives", "", "Use a list.")
            return self.apply(expr, callee, expr.items, kinds, Unknown())
        items = tuple(k or Unknown() for k in kinds)
        kind: Kind = TupleOf(items) if expr.form == "tuple" else ListOf(items, self._merged(items))
        if self.program.writes_places and expr.form == "list":
            kind = self.made(list, [(ANY, k) for k in kinds])
        return self.apply(expr, Build(), expr.items, kinds, kind)

    def _dict_display(self, expr: ir.DictOf) -> Resolved:
        keys = [self.value(k)[1] if k is not None else None for k, _ in expr.items]
        values = [v for _, v in expr.items]
        kinds = self.kinds(values)
        constant = tuple(k.value for k in keys if isinstance(k, Known))
        if any(k is not None and can_be_active(k) for k in keys):
            what = "a dict with keys that carry a derivative"
            callee = self.missing(UnsupportedSyntaxError, what, "", "Use text or integers as keys.")
            operands = [e for pair in expr.items for e in pair if e is not None]
            return self.apply(expr, callee, operands, self.kinds(operands), Unknown())
        if any(k is None for k, _ in expr.items) or (len(constant) < len(keys) and not self.program.writes_places):
            return self.keyed(expr)
        if self.program.writes_places and len(keys) == len([k for k, _ in expr.items if k is not None]):
            held = [(k.value if isinstance(k, Known) else ANY, v) for k, v in zip(keys, kinds, strict=True)]
            found = constant if len(constant) == len(keys) else None
            return self.apply(expr, Build(found), values, kinds, self.made(dict, held))
        last = dict(zip(constant, (k or Unknown() for k in kinds), strict=True))
        kind = DictOfKinds(tuple(last), tuple(last.values()))
        return self.apply(expr, Build(constant), values, kinds, kind)

    # --- operators --------------------------------------------------------------------------------------

    def op(self, expr: ir.Op) -> Resolved:
        """An operator."""
        kinds = self.kinds(expr.args)
        if any(k is None for k in kinds):
            return self.apply(expr, InertCall("not reached yet"), expr.args, kinds, None)
        if expr.op in COMPARISONS or expr.op == "not":
            return self.apply(expr, InertCall("a test", "bool"), expr.args, kinds, self._test(expr.op, kinds))
        key = (UNARY if len(expr.args) == 1 else BINARY)[expr.op]
        if None not in (numbers := [numeric(k) for k in kinds]):
            if all(isinstance(k, Int | IntArray) for k in numbers):
                kind = self._integers(expr.op, kinds)
                return self.apply(expr, InertCall("integers", passes=True), expr.args, kinds, kind)
            rules = lookup(key)
            if rules:
                return self.rule(expr, RuleCall(rules, key), expr.args, ())
            if is_non_differentiable(key):
                kind = result_kind("elementwise", as_dict(("a", "b")[: len(kinds)], tuple(kinds)), self.fresh)
                kind = self.by_library(key, kinds, kind)
                return self.apply(expr, InertCall("declared without derivative"), expr.args, kinds, kind)
        if self.program.writes_places and expr.op == "+" and all(k and container_class(k) is list for k in kinds):
            whole = kinds[0] if kinds[0] == kinds[1] else Heap(list)
            return self.place_call(expr, changes.CONCATENATE, expr.args, kinds, whole)
        if len(kinds) == 2 and any(isinstance(k, Array | IntArray) for k in numbers):
            with_arrays = self._sequences_as_arrays(expr, kinds)
            if with_arrays is not None:
                return self.op(with_arrays)
        return self.formatted(expr, kinds) or self._mixed(expr, key, kinds, numbers)

    def _sequences_as_arrays(self, expr: ir.Op, kinds: list[Any]) -> ir.Op | None:
        """An operation on an array and a list or tuple, of which NumPy makes an array first; None if there is none."""
        sequences = [self.form(k) in (list, tuple) for k in kinds]
        if not any(sequences):
            return None
        asarray = ir.Static(np.asarray, "asarray")
        args = [self._made(ir.Call(asarray, (a,))) if on else a for a, on in zip(expr.args, sequences, strict=True)]
        return ir.Op(expr.op, tuple(args))

    def _mixed(self, expr: ir.Op, key: Any, kinds: list[Any], numbers: list[Any]) -> Resolved:
        """An operator on what is not only numbers."""
        mixed = any(isinstance(k, Inert) for k in kinds) and any(map(can_be_active, numbers))
        if mixed or any(isinstance(k, Unknown) or is_object(k) for k in kinds):
            if self.augments(expr):
                key = getattr(operator, f"i{key.__name__.strip('_')}", key)
            return self.apply(expr, Dynamic(key), expr.args, kinds, Unknown())
        return self._containers(expr, kinds)

    def augments(self, expr: ir.Expr) -> bool:
        """Whether an operation is that of `a op= b`."""
        return isinstance(self.stmt, ir.Assign) and self.stmt.augmented and self.stmt.value is expr

    def _containers(self, expr: ir.Op, kinds: list[Any]) -> Resolved:
        """An operator on containers: what joins or repeats them moves their items; all else is refused if active."""
        found = None if self.augments(expr) and self.form(kinds[0]) is not tuple else self.joined(expr, kinds)
        if found is not None:
            return found
        kind: Kind = Unknown() if any(map(can_be_active, kinds)) else Inert()
        what = f"the operator {expr.op} on containers"
        callee = self.missing(
            UnsupportedSyntaxError, what, "It has no derivative yet.", "Combine the items one by one."
        )
        return self.apply(expr, callee, expr.args, kinds, kind)

    def _test(self, op: str, kinds: list[Any]) -> Kind:
        """The kind of a comparison or `not`: known where the operands decide it."""
        if op == "not":
            known = isinstance(kinds[0], Known) and (kinds[0].value is None or isinstance(kinds[0].value, bool))
            return Known(not kinds[0].value) if known else IntArray(0, ())
        if op in ("is", "is not"):
            same = identical(*kinds)
            return IntArray(0, ()) if same is None else Known(same if op == "is" else not same)
        same = equal(*kinds) if op in ("==", "!=") else None
        if same is not None:
            return Known(same if op == "==" else not same)
        if op in ("in", "not in") or numeric(kinds[0]) is None or numeric(kinds[1]) is None:
            return Inert() if any(isinstance(k, Unknown) for k in kinds) else IntArray(0, ())
        return broadcast_kind(kinds, self.fresh, True, float_result=False)

    def _integers(self, op: str, kinds: list[Any]) -> Kind:
        """The kind of an operation on integers."""
        if op == "/":
            return self.by_library(operator.truediv, kinds, broadcast_kind(kinds, self.fresh, True))
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

    # --- items ------------------------------------------------------------------------------------------

    def item(self, expr: ir.Item) -> Resolved:
        """`value[index]`."""
        obj = self.value(expr.value)[1]
        index = self.index_kind(expr.index)
        if obj is None or index is None:
            return self.apply(expr, InertCall("not reached yet"), (expr.value,), (None,), None)
        match numeric(obj):
            case Array() | Number() | Scalar():
                callee = RuleCall(lookup(operator.getitem), operator.getitem)
                return self.rule(expr, callee, (expr.value, expr.index), ())
            case IntArray() | Int():
                kind = self.program.element(result_kind("getitem", {"x": obj, "index": index}, self.fresh))
                return self.apply(expr, InertCall("integers", passes=True), (expr.value,), (obj,), kind)
        return self._container_item(expr, obj, self._tuple_key(obj, index))

    @staticmethod
    def _tuple_key(obj: Kind, index: Kind) -> Kind:
        """The index of a dict: a tuple of constants is one key."""
        if isinstance(index, TupleOf) and isinstance(obj, Observed | DictOfKinds):
            constants = tuple(i.value for i in index.items if isinstance(i, Known))
            if len(constants) == len(index.items):
                return Known(constants)
        return index

    def _container_item(self, expr: ir.Item, obj: Kind, index: Kind) -> Resolved:  # noqa: C901  one case per kind
        """An item of something that is no number."""
        if isinstance(obj, Heap) and container_class(obj) is not None:
            return self.heap_item(expr, obj, index)
        if self.program.writes_places and self.program.escaped and container_class(obj) is not None:
            return self.place_call(expr, places.LOAD_ITEM, (expr.value, expr.index), (obj, index), Unknown())
        if self.program.escaped and isinstance(obj, ListOf | DictOfKinds | MapOf):
            key = index.value if isinstance(index, Known) else expr.index
            return self.apply(expr, Load(key), (expr.value,), (obj,), Unknown())
        match obj, index:
            case _ if is_object(obj):
                pass
            case _, SliceOf() if not self._is_active_index(expr.index) and self._is_sequence(obj):
                return self._slice(expr, obj)
            case MapOf(item), _ if not self._is_active_index(expr.index):
                return self.apply(expr, Load(expr.index), (expr.value,), (obj,), item)
            case DictOfKinds() | Observed(_, dict()), _ if not (
                isinstance(index, Known) or self._is_active_index(expr.index)
            ):
                return self._any_value(expr, obj)
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
        return self._other_item(expr, obj, index)

    @staticmethod
    def _is_sequence(obj: Kind) -> bool:
        return isinstance(obj, ListOf | TupleOf) or (isinstance(obj, Observed) and isinstance(obj.value, list | tuple))

    def _slice(self, expr: ir.Item, obj: Kind) -> Resolved:
        """A part of a list or tuple: it is cut out at run time, and its items are known if its ends are literals."""
        kind: Kind = Unknown()
        deep = self.program.deep_kind(obj)
        items = deep.items if isinstance(deep, TupleOf | ListOf) else None
        ends = _literal_slice(expr.index)
        part = items[ends] if items is not None and ends is not None and ends.step != 0 else None
        if isinstance(deep, ListOf):
            kind = ListOf(part, deep.item if part is None else self._merged(part))
        elif part is not None:
            kind = TupleOf(part)
        args = (expr.value, expr.index)
        if self.program.writes_places and container_class(obj) is list:
            return self.place_call(expr, places.LOAD_ITEM, args, (obj, SliceOf()), kind)
        return self.apply(expr, Dynamic(operator.getitem, pure=True), args, (obj, SliceOf()), kind)

    def _other_item(self, expr: ir.Item, obj: Kind, index: Kind) -> Resolved:
        """An item that is not followed: no derivative, known at run time, or a refusal."""
        moved = self.sliced(expr, obj)
        if moved is not None:
            return moved
        index_active = self._is_active_index(expr.index)
        if not can_be_active(obj) and not index_active:
            held = Unknown() if isinstance(obj, Namespace) else Inert()
            return self.apply(expr, InertCall("no derivative"), (expr.value,), (obj,), held)
        if isinstance(obj, Unknown) or is_object(obj):
            return self.apply(expr, Dynamic(operator.getitem), (expr.value, expr.index), (obj, index), Unknown())
        callee = self.missing(
            UnsupportedSyntaxError,
            "this index of a container",
            "Only constant keys and integers are followed.",
            "Use one.",
        )
        return self.apply(expr, callee, (expr.value, expr.index), (obj, index), Unknown())

    def _is_active_index(self, index: ir.Expr) -> bool:
        """Whether a number that may carry a derivative is part of an index."""
        kinds = [self.value(e)[1] for e in ir.walk(index) if ir.is_atom(e)]
        return any(can_be_active(k) and not isinstance(k, Unknown) for k in kinds)

    def _any_value(self, expr: ir.Item, obj: Kind) -> Resolved:
        """The value of a dict at a key known at run time."""
        deep: Any = self.program.deep_kind(obj)
        item = value_kind(deep, self.fresh) if isinstance(deep, DictOfKinds) and not self.program.escaped else None
        return self.apply(expr, Load(expr.index), (expr.value,), (obj,), shapeless(item) if item else Unknown())

    def _observed_item(self, expr: ir.Item | ir.Attr, obj: Observed, key: Any) -> Resolved:
        """The item of an observed container at a constant key; of a parameter's own container it is a `PathLoad`."""
        if self.program.escaped:
            return self.apply(expr, Load(key), (expr.value,), (obj,), Unknown())
        if not isinstance(obj.value, dict):
            # Cotangents of the items are put into a container of this length: one path for each of them.
            key = self.program.position(obj, key)
        try:
            value = obj.value[key]
        except (KeyError, IndexError, TypeError):
            return self.apply(expr, Load(key), (expr.value,), (obj,), Unknown())
        return self._observed_part(expr, obj, ("item", key), key, value)

    def _observed_part(
        self, expr: ir.Item | ir.Attr, obj: Observed, step: tuple[str, Any], key: Any, value: Any
    ) -> Resolved:
        """An item or field, found one `step` from an observed container or object."""
        path = (*obj.path, step)
        kind = self.program.source_kind(value, path)
        if obj.holder is None:
            return self.apply(expr, Load(key), (expr.value,), (obj,), kind)
        root = self.spec.kinds[self.spec.params.index(obj.holder)]
        if isinstance(kind, Observed):
            kind = replace(kind, holder=obj.holder)
        return self.apply(expr, PathLoad(obj.holder, path[len(root.path) :]), (expr.value,), (obj,), kind)  # type: ignore[attr-defined]

    def _any_item(self, expr: ir.Item, obj: Observed) -> Resolved:
        """The item of an observed container at a position known at run time."""
        deep = self.program.deep_kind(obj)
        item: Kind = Unknown()
        if isinstance(deep, ListOf):
            item = deep.item
        elif isinstance(deep, TupleOf):
            item = self._merged(deep.items)
        return self.apply(expr, Load(expr.index), (expr.value,), (obj,), item)

    # --- attributes -------------------------------------------------------------------------------------

    def attr(self, expr: ir.Attr) -> Resolved:
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
        if path is None and isinstance(obj.value, type | types.ModuleType | types.FunctionType | enum.Enum):
            path = (*of_object(obj.value), ("attr", expr.name))
        ufunc = isinstance(obj.value, np.ufunc) or is_cupy_function(obj.value)  # whose methods are made when read
        if path is None or trusted(obj.value) or obj.value is itertools.chain or ufunc:
            if isinstance(member, float | complex | np.inexact):
                return Scalar(not isinstance(member, complex))
            return Known(member)
        return self.program.source_kind(member, path)

    def _static_path(self, expr: ir.Expr) -> Path | None:
        """Where a member of a module or class is found, from a global on."""
        match expr:
            case ir.Global(name):
                return (Root("global", name, self.spec.globals),)
            case ir.Attr(value, name):
                base = self._static_path(value)
                return None if base is None else (*base, ("attr", name))
        return None

    def _array_attribute(self, expr: ir.Attr, obj: Kind, name: str) -> Resolved:
        """An attribute of a number or array."""
        if name == "shape":
            n = ndim_of(obj)
            kind: Kind = ListOf(None, Int()) if n is None else TupleOf((Int(),) * n)
            return self.apply(expr, InertCall("a shape"), (expr.value,), (obj,), kind)
        if name in ("size", "ndim", "itemsize", "nbytes"):
            return self.apply(expr, InertCall("an integer"), (expr.value,), (obj,), Int())
        key = array_member(name)
        if callable(key) and not is_non_differentiable(key):  # a method that is read here, and called elsewhere
            return self.apply(expr, Dynamic(getattr), (expr.value, ir.Const(name)), (obj, Known(name)), Unknown())
        if key is not None and lookup(key):
            return self.rule(expr, RuleCall(lookup(key), key), (expr.value,), ())
        if is_non_differentiable(key):
            return self.apply(expr, InertCall("no derivative"), (expr.value,), (obj,), Inert())
        what, reason = f".{name} of an array", refusal(key)
        if reason is not None:
            why, advice = reason.split("\n")
            callee = self.missing(NoRuleError, f"{what} is not differentiated", why, advice)
        else:
            advice = "Register one with @rrule, or use a function."
            callee = self.missing(NoRuleError, f"{what} has no derivative rule", "", advice)
        return self.apply(expr, callee, (expr.value,), (obj,), Unknown())


def _literal_slice(index: ir.Expr) -> slice | None:
    """A slice whose ends are literals."""
    if not isinstance(index, ir.Slice):
        return None
    ends = [ir.Const(None) if end is None else end for end in (index.lower, index.upper, index.step)]
    constants = [e.value for e in ends if isinstance(e, ir.Const)]
    return slice(*constants) if len(constants) == 3 else None
