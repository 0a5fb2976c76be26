"""Operators, builtins, items and loops on objects of the user's classes: the methods that Python would call."""

from __future__ import annotations

import types
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from adcompiler import ir
from adcompiler.callees import Dynamic, InertCall, RuleCall
from adcompiler.lattice import (
    Array,
    IntArray,
    Kind,
    Known,
    Unknown,
    can_be_active,
    class_of,
    is_object,
    is_scalar,
    numeric,
)
from adcompiler.objects import ObjectResolver, plain_function
from adcompiler.parse import parse
from adcompiler.resolve import Resolved
from adcompiler.rules.registry import lookup
from adcompiler.runtime.members import ABSENT, has_plain_fields, is_generated, member
from adcompiler.sharing import is_outside
from adcompiler.spec import of_object


class OverloadResolver(ObjectResolver):
    """Adds what a class defines for Python's own operations."""

    # --- builtins ---------------------------------------------------------------------------------------

    def _on_objects(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """A call of a method of an object that is known, or of a builtin that asks about an object; else None."""
        bound = self._by_bound_method(expr, function)
        if bound is not None:
            return bound
        if expr.kwargs or any(isinstance(a, ir.Star) for a in expr.args):
            return None
        if function is super:
            return self._super(expr, kinds)
        cls = class_of(kinds[0]) if kinds else None
        if function is type and len(kinds) == 1 and isinstance(kinds[0], Unknown):
            return self.apply(expr, InertCall("a class"), expr.args, kinds, Unknown())
        if cls is None:
            return None
        name = kinds[1].value if len(kinds) > 1 and isinstance(kinds[1], Known) else None
        if function is type and len(kinds) == 1:
            return self.apply(expr, InertCall("a class"), expr.args, kinds, Known(cls))
        if function is getattr and len(kinds) == 2 and isinstance(name, str) and name.isidentifier():
            return self._attribute(ir.Attr(expr.args[0], name), kinds[0], cls)
        if function is getattr and len(kinds) == 2:
            return self.apply(expr, Dynamic(getattr), expr.args, kinds, Unknown())
        if function is abs:
            return self._unary(expr, "__abs__", kinds[0], cls)
        return None

    def _by_bound_method(self, expr: ir.Call, function: Any) -> Resolved | None:
        """A call of a method of an object, array or container from outside, which is known; None if it is none."""
        if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType):
            return self._on(expr, function.__func__, (ir.Static(function.__self__, "owner"), *expr.args))
        if isinstance(function, types.BuiltinMethodType) and is_outside(function.__self__):
            return self.call(replace(expr, func=ir.Attr(self._owner(function.__self__), function.__name__)))
        return None

    def _owner(self, value: Any) -> ir.Name:
        """An array or container from outside, whose method is known, with a name."""
        name, kind = self.spec.names.fresh("t"), self.program.source_kind(value, of_object(value))
        self.extra.append(ir.Assign(name, ir.Static(value, "owner"), self.stmt.origin, kind=kind))
        self.env = {**self.env, name: kind}
        return ir.Name(name)

    # --- operators --------------------------------------------------------------------------------------

    def op(self, expr: ir.Op) -> Resolved:
        """An operator; on objects the method that Python would call."""
        kinds = self.kinds(expr.args)
        classes = [class_of(k) for k in kinds]
        if any(k is None for k in kinds) or all(c is None or issubclass(c, tuple) for c in classes):
            return super().op(expr)
        if len(expr.args) == 1:
            cls = classes[0]
            assert cls is not None
            if expr.op == "not":
                return super().op(expr)
            return self._unary(expr, _UNARY[expr.op], kinds[0], cls) or super().op(expr)
        if expr.op not in _BINARY:
            return super().op(expr)
        return self._binary(expr, kinds) or super().op(expr)

    def _unary(self, expr: ir.Expr, name: str, obj: Kind | None, cls: type) -> Resolved | None:
        found = member(cls, name)
        if obj is None or plain_function(found) is None:
            return None
        self._guard_class(cls, name, found)
        args = expr.args if isinstance(expr, ir.Op | ir.Call) else ()
        return self._on(expr, plain_function(found), args)

    def _binary(self, expr: ir.Op, kinds: list[Any]) -> Resolved | None:
        """The method behind `a op b`: that of `a`, or the reflected one of `b`, which comes first in a subclass."""
        straight, reflected = _BINARY[expr.op]
        a, b = (_type_of(k) for k in kinds)
        if a is None or b is None or _is_sequence_of_numpy(a, b):
            return None
        left, right = expr.args
        tries = [(a, straight, (left, right))]
        if self.augments(expr):
            tries.insert(0, (a, f"__i{straight[2:]}", (left, right)))
        if b is not a and member(b, reflected) is not ABSENT:
            other = (b, reflected, (right, left))
            first = issubclass(b, a) and member(b, reflected) is not member(a, reflected)
            tries = [other, *tries] if first else [*tries, other]
        for cls, name, args in tries:
            found = member(cls, name)
            function = plain_function(found)
            if function is None or not has_plain_fields(cls) or _is_generated_test(function):
                continue  # a number or array does not know the other operand's class
            self._guard_class(cls, name, found)
            extra = self.extra[:]
            resolved = self._on(expr, function, args)
            if isinstance(resolved[1], Known) and resolved[1].value is NotImplemented:
                self.extra = extra
                continue
            unsure = isinstance(resolved[1], Unknown) and "NotImplemented" in function.__code__.co_names
            return None if unsure else resolved
        return None

    # --- items and loops --------------------------------------------------------------------------------

    def item(self, expr: ir.Item) -> Resolved:
        """`value[index]`; of an object, by its `__getitem__`."""
        obj = self.value(expr.value)[1]
        ruled = self._ruled_item(expr, obj)
        if ruled is not None:
            return ruled
        cls = class_of(obj)
        found = member(cls, "__getitem__") if cls is not None and is_object(obj) else ABSENT
        if cls is None or plain_function(found) is None:
            return super().item(expr)
        self._guard_class(cls, "__getitem__", found)
        return self._on(expr, plain_function(found), (expr.value, self._made_index(expr.index)))

    def has_setter(self, stmt: ir.Store) -> bool:
        """Whether an item is assigned by the `__setitem__` of a class of the user's."""
        kind = self.value(stmt.place.value)[1] if isinstance(stmt.place, ir.Item) else None
        cls = class_of(kind)
        return cls is not None and is_object(kind) and plain_function(member(cls, "__setitem__")) is not None

    def set_item(self, stmt: ir.Store) -> ir.Block:
        """`obj[index] = value`, which calls `__setitem__`."""
        assert isinstance(stmt.place, ir.Item)
        cls = class_of(self.value(stmt.place.value)[1])
        assert cls is not None
        found = member(cls, "__setitem__")
        self._guard_class(cls, "__setitem__", found)
        args = (stmt.place.value, self._made_index(stmt.place.index), stmt.value)
        call = ir.Call(ir.Static(plain_function(found), "__setitem__"), args)
        value, kind = self._on(call, plain_function(found), args)
        return (ir.Assign(self.spec.names.fresh("t"), value, stmt.origin, kind=kind),)

    def _ruled_item(self, expr: ir.Item, obj: Kind | None) -> Resolved | None:
        """`np.r_[...]`: an index into a known object whose class has a rule for it, if the index may be active."""
        key = getattr(type(obj.value), "__getitem__", None) if isinstance(obj, Known) else None
        rules = lookup(key) if key is not None else ()
        if not rules or not self._may_be_active(expr.index):
            return None
        parts = expr.index.items if isinstance(expr.index, ir.Seq) else (expr.index,)
        if any(isinstance(part, ir.Slice) and self._may_be_active(part) for part in parts):
            return None
        index = self._made_index(expr.index)
        return self.rule(expr, RuleCall(rules, key), (expr.value, index), ())

    def _made_index(self, index: ir.Expr) -> ir.Expr:
        """An index as a value of its own, with the tuples and slices in it."""
        if isinstance(index, ir.Slice):
            ends = (index.lower, index.upper, index.step)
            given = tuple(ir.Const(None) if end is None else end for end in ends)
            return self._made(ir.Call(ir.Static(slice, "slice"), given))
        if isinstance(index, ir.Seq):
            return self._made(ir.Seq(index.form, tuple(map(self._made_index, index.items))))
        return index

    def _may_be_active(self, expr: ir.Expr) -> bool:
        parts = [e for e in ir.walk(expr) if ir.is_atom(e) and not isinstance(e, ir.Const)]
        return any(can_be_active(self.value(e)[1]) for e in parts)

    def iterated(self, source: ir.Expr, kind: Kind | None) -> ir.Expr:
        """What a loop over an object runs over, if its `__iter__` is no more than `return iter(self.items)`."""
        cls = class_of(kind)
        found = member(cls, "__iter__") if cls is not None and is_object(kind) else ABSENT
        function = plain_function(found)
        names = None if function is None else iterated_field(function)
        if cls is None or names is None or not isinstance(source, ir.Name):
            return source
        self._guard_class(cls, "__iter__", found)
        for name in names:
            source = self._made(ir.Attr(source, name))
        return source


def iterated_field(function: Any) -> list[str] | None:
    """The path from `self` to what an `__iter__` runs over; None if it does anything else."""
    node: Any = parse(function).node
    match node.body, node.args.args:
        case [gast.Return(value=gast.Call(func=gast.Name(id="iter"), args=[value], keywords=[]))], [first]:
            pass
        case [gast.Expr(value=gast.YieldFrom(value=value))], [first]:
            pass
        case _:
            return None
    names: list[str] = []
    while isinstance(value, gast.Attribute):
        names.insert(0, value.attr)
        value = value.value
    return names if isinstance(value, gast.Name) and value.id == first.id and names else None


_BINARY = {
    "+": ("__add__", "__radd__"), "-": ("__sub__", "__rsub__"), "*": ("__mul__", "__rmul__"),
    "/": ("__truediv__", "__rtruediv__"), "//": ("__floordiv__", "__rfloordiv__"), "%": ("__mod__", "__rmod__"),
    "**": ("__pow__", "__rpow__"), "@": ("__matmul__", "__rmatmul__"), "&": ("__and__", "__rand__"),
    "|": ("__or__", "__ror__"), "^": ("__xor__", "__rxor__"), "<<": ("__lshift__", "__rlshift__"),
    ">>": ("__rshift__", "__rrshift__"), "==": ("__eq__", "__eq__"), "!=": ("__ne__", "__ne__"),
    "<": ("__lt__", "__gt__"), "<=": ("__le__", "__ge__"), ">": ("__gt__", "__lt__"), ">=": ("__ge__", "__le__"),
}  # fmt: skip
_UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}


def _type_of(kind: Kind | None) -> type | None:
    """The class of an operand of an operator; all numbers count as floats."""
    cls = class_of(kind)
    if cls is not None:
        return cls
    if isinstance(kind, Known) and numeric(kind) is None:
        return type(kind.value)
    if is_scalar(kind):
        return float
    return np.ndarray if isinstance(numeric(kind), Array | IntArray) else None


def _is_generated_test(function: types.FunctionType) -> bool:
    """Whether a comparison was written by `dataclass`: what comes out has no derivative."""
    return is_generated(function) and function.__name__ in ("__eq__", "__lt__", "__le__", "__gt__", "__ge__")


def _is_sequence_of_numpy(a: type, b: type) -> bool:
    """Whether NumPy would take the object on the right for an array."""
    if a is float:
        return hasattr(b, "__len__") and hasattr(b, "__getitem__")
    return a is np.ndarray and getattr(b, "__array_ufunc__", a) is not None
