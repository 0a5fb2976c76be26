"""Objects of the user's classes: attributes, methods, properties, operators, callable objects.

What an attribute is follows from the object's class, which is known exactly: a field is a load, a property a call of
its getter, a method a call with the object as first argument.  What was taken from a class becomes a guard.  Objects
whose class is not known are left to the run time.
"""

from __future__ import annotations

import enum
import functools
import types
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import gast

from adcompiler import ir
from adcompiler.callees import Dynamic, Field, InertCall, Load, Make, RuleCall
from adcompiler.errors import UnsupportedSyntaxError
from adcompiler.functions import FunctionResolver
from adcompiler.lattice import (
    Heap,
    Instance,
    Kind,
    Known,
    Observed,
    TupleOf,
    Unknown,
    class_of,
    is_transform,
)
from adcompiler.operations import OperationResolver
from adcompiler.parse import parse
from adcompiler.places import is_mutable
from adcompiler.resolve import Resolved
from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.runtime import places
from adcompiler.runtime.bars import Cell
from adcompiler.runtime.members import (
    ABSENT,
    has_plain_fields,
    is_cached,
    is_constant_of_class,
    is_data_descriptor,
    is_field,
    is_generated,
    member,
    member_count,
    owner_of,
)
from adcompiler.spec import of_object


class ObjectResolver(OperationResolver, FunctionResolver):
    """Adds objects to what can be resolved."""

    @abstractmethod
    def _keyed(self, expr: ir.Call, key: Any, args: tuple[ir.Expr, ...], kinds: list[Any], name: str) -> Resolved:
        """A call of a function that is known."""

    @abstractmethod
    def _dynamic(self, expr: ir.Call, kinds: list[Any], pure: bool = False) -> Resolved:
        """A call of something that is known at run time only."""

    # --- attributes -------------------------------------------------------------------------------------

    def attr(self, expr: ir.Attr) -> Resolved:
        """`value.name`, not called."""
        obj = self.value(expr.value)[1]
        cls = class_of(obj)
        if obj is not None and cls is not None:
            return self._attribute(expr, obj, cls)
        if isinstance(obj, Known) and has_plain_fields(type(obj.value)) and is_field(obj.value, expr.name):
            path = (*of_object(obj.value), ("attr", expr.name))
            return expr, self.program.source_kind(getattr(obj.value, expr.name), path)
        getter = getattr(member(type(obj.value), expr.name), "fget", None) if isinstance(obj, Known) else None
        if isinstance(obj, Known) and isinstance(obj.value, enum.Enum) and plain_function(getter) is not None:
            return self._on(expr, plain_function(getter), (expr.value,))
        if isinstance(obj, Unknown):
            return self.apply(
                expr, Dynamic(getattr), (expr.value, ir.Const(expr.name)), (obj, Known(expr.name)), Unknown()
            )
        return super().attr(expr)

    def _attribute(self, expr: ir.Attr, obj: Kind, cls: type) -> Resolved:
        """An attribute of an object whose class is known."""
        name = expr.name
        if cls is super and name != "__self__":
            return self._inherited(expr, expr, obj)
        if issubclass(cls, tuple) and name in cls._fields:  # type: ignore[attr-defined]
            return self._named_item(expr, obj, cls._fields.index(name))  # type: ignore[attr-defined]
        if self._has_field(obj, name):
            return self._field(expr, obj)
        found = member(cls, name)
        if found is ABSENT:
            return self._computed(expr, obj, cls)
        if name == "__class__":
            return self.apply(expr, InertCall("a class"), (expr.value,), (obj,), Known(cls))
        return self._of_the_class(expr, obj, cls, found)

    def _of_the_class(self, expr: ir.Attr, obj: Kind, cls: type, found: Any) -> Resolved:
        """An attribute that the class gives to its objects: `found` is what stands in the class."""
        name = expr.name
        getter = (
            None if isinstance(found, property) or is_cached(found) else plain_function(member(type(found), "__get__"))
        )
        if getter is not None:
            held = (*of_object(owner_of(cls, name)), ("attr", "__dict__"), ("item", name))
            self.program.note(held, Known(found), type(found))
            return self._on(expr, getter, (ir.Static(found, name), expr.value, ir.Static(cls, cls.__name__)))
        if is_cached(found) or (is_data_descriptor(found) and not isinstance(found, property)):
            return self._refused_attribute(expr, obj, cls)
        self._guard_member(obj, cls, name, found)
        if isinstance(found, property) and plain_function(found.fget) is not None:
            return self._on(expr, plain_function(found.fget), (expr.value,))
        function = plain_function(found)
        if function is not None:
            bound = Instance(types.MethodType, ("__func__", "__self__"), (Known(function), obj))
            return self.apply(expr, Make(("__self__",)), (expr.value,), (obj,), bound)
        if isinstance(found, staticmethod):
            return self.apply(expr, InertCall("a function"), (expr.value,), (obj,), Known(found.__func__))
        if is_constant_of_class(found) and self.program.stores_attributes:
            return self._written_field(expr, obj, Unknown())
        if is_constant_of_class(found):
            kind = self.program.source_kind(found, (*of_object(cls), ("attr", name)))
            return self.apply(expr, InertCall("an attribute of the class"), (expr.value,), (obj,), kind)
        return self._refused_attribute(expr, obj, cls)

    def setter_of(self, stmt: ir.Store) -> Any:
        """The setter that an assignment to a property calls; None if it is to none."""
        cls = class_of(self.value(stmt.place.value)[1]) if isinstance(stmt.place, ir.Attr) else None
        found = member(cls, stmt.place.name) if cls is not None and isinstance(stmt.place, ir.Attr) else ABSENT
        return plain_function(found.fset) if isinstance(found, property) else None

    def set_property(self, stmt: ir.Store) -> ir.Block | None:
        """An assignment to a property, which calls its setter; None if it is none."""
        setter = self.setter_of(stmt)
        if setter is None or stmt.op is not None:
            return None
        assert isinstance(stmt.place, ir.Attr)
        cls: Any = class_of(self.value(stmt.place.value)[1])
        found = member(cls, stmt.place.name)
        self._guard_class(cls, stmt.place.name, found)
        call = ir.Call(ir.Static(setter, f"set_{stmt.place.name}"), (stmt.place.value, stmt.value))
        value, kind = self._on(call, setter, call.args)
        return (ir.Assign(self.spec.names.fresh("t"), value, stmt.origin, kind=kind),)

    def _has_field(self, obj: Kind, name: str) -> bool:
        match obj:
            case Observed(_, value):
                return is_field(value, name)
            case Instance(_, names):
                return name in names
            case Heap(cls):
                found = member(cls, name)
                if may_be_computed(cls, found):
                    return self.program.content(obj, name) is not None
                return isinstance(found, types.MemberDescriptorType) or found is ABSENT or is_constant_of_class(found)
        return False

    def _field(self, expr: ir.Attr, obj: Kind) -> Resolved:
        """A field of an object."""
        name, key = expr.name, Field(expr.name)
        if isinstance(obj, Heap) and may_be_computed(obj.cls, member(obj.cls, name)):
            args, kinds = (expr.value, ir.Const(name)), (obj, Known(name))
            if sets_attribute(obj.cls, name):
                return self.place_call(expr, places.LOAD_OWN_ATTRIBUTE, args, kinds, self.program.content(obj, name))
            return self.apply(expr, Dynamic(getattr), args, kinds, Unknown())
        if isinstance(obj, Heap):
            known = member(obj.cls, name) is ABSENT or not is_constant_of_class(member(obj.cls, name))
            return self._written_field(expr, obj, self.program.content(obj, name) if known else Unknown())
        if self.program.escaped and class_of(obj) is not types.MethodType:  # whose fields nobody can replace
            return self._written_field(expr, obj, Unknown())
        if isinstance(obj, Observed):
            # What a class gets later (a property of the same name) would come before the field.
            cls = type(obj.value)
            self.program.note((*of_object(cls), ("members",)), Known(member_count(cls)), int)
            if member(cls, name) is not ABSENT and name in getattr(obj.value, "__dict__", ()):
                # In another object the class's own may stand for it, which is a constant.
                self.program.note((*obj.path, ("own", name)), Known(True), bool)
            return self._observed_part(expr, obj, ("attr", name), key, getattr(obj.value, name))
        assert isinstance(obj, Instance)
        return self.apply(expr, Load(key), (expr.value,), (obj,), obj.items[obj.names.index(name)])

    def _written_field(self, expr: ir.Attr, obj: Kind, kind: Kind | None) -> Resolved:
        """A field that the program may write, or that its object has got meanwhile."""
        if self.program.writes_places and is_mutable(obj):
            name = ir.Const(expr.name)
            return self.place_call(expr, places.LOAD_ATTRIBUTE, (expr.value, name), (obj, Known(expr.name)), kind)
        return self.apply(expr, Load(Field(expr.name)), (expr.value,), (obj,), kind)

    def _named_item(self, expr: ir.Attr, obj: Kind, index: int) -> Resolved:
        """A field of a named tuple."""
        if isinstance(obj, Observed):
            return self._observed_item(expr, obj, index)
        assert isinstance(obj, TupleOf)
        return self.apply(expr, Load(index), (expr.value,), (obj,), obj.items[index])

    def _computed(self, expr: ir.Attr, obj: Kind, cls: type) -> Resolved:
        """An attribute that neither the object nor its class has: `__getattr__` finds it, or Python raises."""
        found = member(cls, "__getattr__")
        if plain_function(found) is None:
            return self._written_field(expr, obj, Unknown())
        if self.program.stores_attributes and not isinstance(obj, Heap):  # it may have been set meanwhile
            args = (expr.value, ir.Const(expr.name))
            return self.apply(expr, Dynamic(getattr), args, (obj, Known(expr.name)), Unknown())
        self._guard_member(obj, cls, "__getattr__", found)
        self._guard_own(obj, expr.name)
        return self._on(expr, found, (expr.value, ir.Const(expr.name)))

    def _refused_attribute(self, expr: ir.Attr, obj: Kind, cls: type) -> Resolved:
        advice = "Use an attribute that is set in __init__, or a property."
        callee = self.missing(
            UnsupportedSyntaxError, f"the attribute .{expr.name} of {cls.__qualname__}", "It is no plain field.", advice
        )
        return self.apply(expr, callee, (expr.value,), (obj,), Unknown())

    # --- guards -----------------------------------------------------------------------------------------

    def _guard_member(self, obj: Kind, cls: type, name: str, found: Any) -> None:
        """What a class defines must stay the same, and no field of the object may hide it."""
        self._guard_class(cls, name, found)
        if not is_data_descriptor(found):
            self._guard_own(obj, name)

    def _guard_class(self, cls: type, name: str, found: Any) -> None:
        """What a class defines must stay the same."""
        value = found.__func__ if isinstance(found, staticmethod | classmethod) else found
        path = (*of_object(cls), ("attr", name))
        if isinstance(found, classmethod):
            path = (*path, ("attr", "__func__"))
        if not is_constant_of_class(found):
            self.program.note(path, Known(value), type(value))

    def _guard_own(self, obj: Kind, name: str) -> None:
        if isinstance(obj, Observed) and hasattr(obj.value, "__dict__"):
            self.program.note((*obj.path, ("own", name)), Known(False), bool)

    # --- calls ------------------------------------------------------------------------------------------

    def _method_of(self, expr: ir.Call, func: ir.Attr, obj: Kind, cls: type) -> Resolved:
        """`value.name(...)` of an object whose class is known."""
        name = func.name
        if cls is super:
            return self._inherited(expr, func, obj)
        is_item = issubclass(cls, tuple) and name in cls._fields  # type: ignore[attr-defined]
        found = ABSENT if is_item or self._has_field(obj, name) else member(cls, name)
        function = plain_function(found.__func__ if isinstance(found, classmethod) else found)
        if function is not None:
            self._guard_member(obj, cls, name, found)
            first = ir.Static(cls, cls.__name__) if isinstance(found, classmethod) else func.value
            return self._on(expr, function, (first, *expr.args))
        return self.call(replace(expr, func=self._made(func)))

    def _on(self, expr: ir.Expr, function: Any, args: tuple[ir.Expr, ...]) -> Resolved:
        """A call of a function with an object (or class) as its first argument."""
        if isinstance(expr, ir.Call):
            return self._keyed(expr, function, args, self.kinds(self._operands(expr, args)), function.__name__)
        kinds, rules = self.kinds(args), lookup(function)
        declared = is_non_differentiable(function)
        if declared is not None:
            passes = not declared.builtin
            callee = InertCall("declared without derivative", declared.kind or "number", passes=passes)
            return self.apply(expr, callee, args, kinds, Unknown())
        return self.rule(expr, RuleCall(rules, function), args, ()) if rules else self._source(expr, function, args)

    def _call_object(self, expr: ir.Call, cls: type) -> Resolved:
        """A call of an object: a bound method, a partial, or one whose class defines `__call__`."""
        func = expr.func if isinstance(expr.func, ir.Name) else self._made(expr.func)
        if cls is types.MethodType:
            kind = self.value(func)[1]
            known = kind.items[0] if isinstance(kind, Instance) else None  # nobody can replace it
            if isinstance(known, Known) and isinstance(known.value, types.FunctionType):
                function: ir.Expr = ir.Static(known.value, known.value.__name__)
            else:
                function = self._made(ir.Attr(func, "__func__"))
            return self.call(ir.Call(function, (self._made(ir.Attr(func, "__self__")), *expr.args), expr.kwargs))
        if cls is functools.partial:
            return self._call_partial(expr, func)
        found = member(cls, "__call__")
        if plain_function(found) is None:
            return self._dynamic(expr, self.kinds(self._operands(expr, expr.args)))
        self._guard_class(cls, "__call__", found)
        return self._on(expr, plain_function(found), (func, *expr.args))

    def _call_partial(self, expr: ir.Call, func: ir.Expr) -> Resolved:
        """A call of a partial: its arguments come first, and keywords of the call replace its own."""
        function, given, keywords = (self._made(ir.Attr(func, name)) for name in ("func", "args", "keywords"))
        own = self._expand_dict(keywords, written=False)
        here = {name for name, _ in expr.kwargs}
        kwargs: tuple[Any, ...] = ((None, keywords), *expr.kwargs)
        if own is not None and None not in here:
            kwargs = (*((name, value) for name, value in own if name not in here), *expr.kwargs)
        return self.call(ir.Call(function, (ir.Star(given), *expr.args), kwargs))

    # --- super ------------------------------------------------------------------------------------------

    def _super(self, expr: ir.Call, kinds: list[Any]) -> Resolved | None:
        """`super(C, self)`."""
        if not (len(expr.args) == len(kinds) == 2 and isinstance(kinds[0], Known)):
            return None
        kind = Instance(super, ("__thisclass__", "__self__"), (kinds[0], kinds[1]))
        return self.apply(expr, Make(("__self__",)), expr.args[1:], kinds[1:], kind)

    def _inherited(self, expr: ir.Call | ir.Attr, func: ir.Attr, obj: Kind) -> Resolved:
        """`super().name`, called or not."""
        assert isinstance(obj, Instance)
        start, owner = obj.items
        cls = owner.value if isinstance(owner, Known) else class_of(owner)
        if not isinstance(start, Known) or not isinstance(cls, type) or start.value not in cls.__mro__:
            callee = self.missing(
                UnsupportedSyntaxError,
                "super() of an object whose class is only known at run time",
                "What it finds depends on the class.",
                "Call the method of the base class by its name.",
            )
            return self.apply(expr, callee, (func.value,), (obj,), Unknown())
        base = owner_of(cls, func.name, start.value)
        found = ABSENT if base is None else vars(base)[func.name]
        if base is object and isinstance(expr, ir.Call):
            return self.apply(expr, InertCall("a method of object"), (), (), Unknown())
        function = plain_function(found.fget if isinstance(found, property) else getattr(found, "__func__", found))
        if base is None or function is None:
            return self._refused_attribute(func, obj, cls)
        self._guard_class(base, func.name, found)
        args: tuple[ir.Expr, ...] = expr.args if isinstance(expr, ir.Call) else ()
        if not isinstance(found, staticmethod):
            args = (self._made(ir.Attr(func.value, "__self__")), *args)
        if isinstance(expr, ir.Attr) and isinstance(found, types.FunctionType):  # a method that is called later
            bound = Instance(types.MethodType, ("__func__", "__self__"), (Known(function), owner))
            return self.apply(expr, Make(("__self__",)), args, (owner,), bound)
        if isinstance(expr, ir.Call) == isinstance(found, property):
            return self._refused_attribute(func, obj, cls)
        return self._on(expr, function, args)


def plain_function(found: Any) -> Any:
    """The Python function that a class defines, also one wrapped by `differentiable`; None if it is something else."""
    found = found.__adcompiler_function__ if is_transform(found) else found
    return found if isinstance(found, types.FunctionType) else None


def may_be_computed(cls: type, found: Any) -> bool:
    """Whether `__getattr__` is asked for an attribute that an object has not set; `found` is what its class has."""
    if cls is Cell:  # there it only raises
        return False
    return member(cls, "__getattr__") is not ABSENT and (
        found is ABSENT or isinstance(found, types.MemberDescriptorType)
    )


def sets_attribute(cls: type, name: str) -> bool:
    """Whether the `__init__` of a class, or of a base, sets an attribute whatever its arguments are."""
    for base in cls.__mro__:
        init = plain_function(vars(base).get("__init__"))
        if init is not None and is_generated(init):
            return name in getattr(cls, "__dataclass_fields__", ())
        node: Any = None if init is None else parse(init).node
        for stmt in [] if node is None else node.body:
            targets = stmt.targets if isinstance(stmt, gast.Assign) else [getattr(stmt, "target", None)]
            owner = node.args.args[0].id if node.args.args else None
            if any(isinstance(t, gast.Attribute) and _name_of(t) == (owner, name) for t in targets):
                return True
    return False


def _name_of(target: gast.Attribute) -> tuple[str | None, str]:
    """The variable and the attribute of a target `variable.attribute`."""
    return getattr(target.value, "id", None), target.attr


__all__ = ["ObjectResolver"]
