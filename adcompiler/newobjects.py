"""New objects of the user's classes: made empty, then filled by their own `__init__`, compiled with the caller.

A dataclass whose `__init__` was generated is filled field by field, defaults and factories included, and its
`__post_init__` is called.  Such objects are places: what is stored in them has its cotangent in the table.
"""

from __future__ import annotations

import abc
import dataclasses
import inspect
import types
from typing import Any

from adcompiler import ir
from adcompiler.binding import BindError, bind_call
from adcompiler.callees import InertCall
from adcompiler.construct import ConstructResolver
from adcompiler.lattice import Heap, Kind, Known
from adcompiler.objects import plain_function
from adcompiler.resolve import Resolved
from adcompiler.rules.registry import lookup
from adcompiler.runtime import places
from adcompiler.runtime.members import has_plain_fields, is_generated, member


class NewObjectResolver(ConstructResolver):
    """Adds objects that are filled by code."""

    def _constructed(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """A call that makes an object, or None."""
        if function is types.SimpleNamespace and not expr.args and all(k for k, _ in expr.kwargs):
            return self._namespace(expr)
        if function is places.new_object and len(kinds) == 1 and isinstance(kinds[0], Known):
            self.program.need_places()
            return self._empty(kinds[0].value)
        found = super()._constructed(expr, function, kinds)
        if found is not None or not isinstance(function, type) or not _is_made_plainly(function) or lookup(function):
            return found
        init = member(function, "__init__")
        if dataclasses.is_dataclass(function) and is_generated(init):
            return self._filled(expr, function)
        filling = plain_function(init)
        if filling is None and init is not object.__init__:
            return None
        self.program.need_places()
        obj, kind = self._empty(function)
        if init is object.__init__:
            return None if expr.args or expr.kwargs else (obj, kind)
        self._guard_class(function, "__init__", init)
        call = ir.Call(ir.Attr(obj, "__init__"), expr.args, expr.kwargs)  # not the user's: that makes another object
        self._run(self._keyed(call, filling, (obj, *expr.args), [kind, *kinds], f"{function.__name__}.__init__"))
        return obj, kind

    def _empty(self, cls: type) -> tuple[ir.Expr, Heap]:
        """A new object without fields."""
        kind = Heap(cls, (*self.fresh, cls.__qualname__))
        spelled = ir.Call(ir.Static(places.new_object, "new_object"), (ir.Static(cls, cls.__name__),))
        made, _ = self.apply(spelled, InertCall("a new object"), (), (), kind)
        return self._named(made, kind), kind

    def _named(self, value: ir.Expr, kind: Kind | None) -> ir.Name:
        """A temporary that holds a value before the statement at hand."""
        name = self.spec.names.fresh("t")
        self.extra.append(ir.Assign(name, value, self.stmt.origin, kind=kind))
        self.env = {**self.env, name: kind}
        return ir.Name(name)

    def _run(self, resolved: Resolved) -> ir.Name:
        """Something evaluated for its effect, before the statement at hand."""
        value, kind = resolved
        return self._named(value, kind)

    def _filled(self, expr: ir.Call, cls: Any) -> Resolved | None:
        """An instance of a dataclass, field by field."""
        try:
            bound = bind_call(inspect.signature(cls), expr.args, expr.kwargs, self._expand, self._expand_dict)
        except BindError:
            return None
        fields = dataclasses.fields(cls)
        if set(bound) - {f.name for f in fields}:
            return None  # an InitVar
        self.program.need_places()
        obj, kind = self._empty(cls)
        for field in fields:
            value = self._field_value(field, bound)
            if value is not None:
                self._fill(obj, kind, field.name, value)
        after = member(cls, "__post_init__")
        function = plain_function(after)
        if function is not None:
            self._guard_class(cls, "__post_init__", after)
            call = ir.Call(ir.Attr(obj, "__post_init__"), ())
            self._run(self._keyed(call, function, (obj,), [kind], "__post_init__"))
        return obj, kind

    def _fill(self, obj: ir.Expr, kind: Heap, name: str, value: ir.Expr) -> None:
        """Set a field of a new object."""
        held = self.value(value)[1]
        self.program.note_content(kind, name, held)
        args = (obj, ir.Const(name), value)
        spelled = ir.Call(ir.Static(places.init_attribute, "init_attribute"), args)
        kinds = (kind, Known(name), held)
        self._run(self.place_call(spelled, places.INIT_ATTRIBUTE, args, kinds, Known(None)))

    def _namespace(self, expr: ir.Call) -> Resolved:
        """`SimpleNamespace(a=..., b=...)`."""
        self.program.need_places()
        obj, kind = self._empty(types.SimpleNamespace)
        for name, value in expr.kwargs:
            self._fill(obj, kind, str(name), value)
        return obj, kind

    def _field_value(self, field: Any, bound: dict[str, Any]) -> ir.Expr | None:
        """What a field is filled with: the argument, the default, or what its factory makes now."""
        given = bound.get(field.name)
        if given is not None and not isinstance(given, ir.Static):
            return given  # type: ignore[no-any-return]
        if field.default_factory is not dataclasses.MISSING:
            factory = ir.Static(field.default_factory, getattr(field.default_factory, "__name__", "factory"))
            value, kind = self.call(ir.Call(factory, ()))
            return self._named(value, kind)
        if field.default is dataclasses.MISSING:
            return None
        literal = field.default is None or type(field.default) in (bool, int, float, str)
        return ir.Const(field.default) if literal else ir.Static(field.default, field.name)


def _is_made_plainly(cls: type) -> bool:
    """Whether calling a class makes a bare object and calls `__init__`, no more."""
    return (
        type(cls) in (type, abc.ABCMeta)
        and not inspect.isabstract(cls)
        and member(cls, "__new__") is object.__new__
        and has_plain_fields(cls)
        and member(cls, "__setattr__") in (object.__setattr__, *_frozen(cls))
        and member(cls, "__delattr__") in (object.__delattr__, *_frozen(cls, "__delattr__"))
    )


def _frozen(cls: type, name: str = "__setattr__") -> tuple[Any, ...]:
    """What a frozen dataclass puts in the place of attribute assignment."""
    found = member(cls, name)
    return (found,) if dataclasses.is_dataclass(cls) and is_generated(found) else ()


__all__ = ["NewObjectResolver"]
