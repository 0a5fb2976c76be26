"""What a program asks about a value before it uses it: `isinstance`, `hasattr`, `getattr` with a default, patterns.

    y = getattr(obj, "name", v)     t = hasattr(obj, "name")            try:
                                    if t:                                   y = obj.name
                                        y = obj.name                    except AttributeError:
                                    else:                                   y = v
                                        y = v

Where the answer is certain while compiling, it is decided there.  Else it is found at run time: by a test, if the
attribute is a field, and by trying it, if code of the user's computes it.
"""

from __future__ import annotations

import abc
import types
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.callees import InertCall
from adcompiler.decide import isinstance_kind, trusted
from adcompiler.errors import UnsupportedSyntaxError
from adcompiler.lattice import (
    INTEGER_TYPES,
    REAL_TYPES,
    Array,
    DictOfKinds,
    Heap,
    Inert,
    Instance,
    Int,
    IntArray,
    Kind,
    Known,
    ListOf,
    Observed,
    Scalar,
    TupleOf,
    Unknown,
    can_be_active,
    class_of,
    numeric,
)
from adcompiler.overloads import OverloadResolver
from adcompiler.resolve import Resolved
from adcompiler.runtime.members import ABSENT, is_constant_of_class, member, owner_of
from adcompiler.runtime.patterns import ByFlag, has_attribute, pattern_attribute, pattern_has, pattern_name, rest_of

TESTED, TRIED = "tested", "tried"  # how it is found at run time whether there is an attribute

_HASATTR = ir.Static(hasattr, "hasattr")
_LITERALS = (type(None), bool, int, float, complex, str, bytes)
_FOUND = (  # what a class may hold that is given to its objects without running code of the user's
    types.FunctionType, types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, staticmethod, classmethod,
)  # fmt: skip


class LookupResolver(OverloadResolver):
    """Adds questions about values to what can be resolved."""

    def _asked(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """`isinstance`, `hasattr`, and what else `match` asks for; None for all other functions."""
        if function is isinstance and len(kinds) == 2:
            found = Int() if _tests_itself(kinds[1]) else isinstance_kind(*kinds)
            if self.program.on_device and isinstance(kinds[0], Array | IntArray):
                found = Int()  # an array of NumPy, or of CuPy
            return self.apply(expr, InertCall("a test", "bool"), expr.args, kinds, found)
        if function in (hasattr, getattr, pattern_has):
            return self._about_attribute(expr, function, kinds)
        if function is pattern_attribute and isinstance(kinds[1], Known):
            # A positional sub-pattern is matched with an attribute, or with the subject itself.
            subject, _, index = expr.args
            name = pattern_name(kinds[1].value, index.value)  # type: ignore[attr-defined]
            return self.value(subject if name is None else ir.Attr(subject, name))
        if function is rest_of and isinstance(expr.args[0], ir.Name):
            return self._rest(expr, kinds)
        if function is pattern_attribute:
            callee = self.missing(
                UnsupportedSyntaxError,
                "a pattern with a class that is not known",
                "Which attributes it stands for is found while compiling.",
                "Name the attributes: `case C(x=...)`.",
            )
            return self.apply(expr, callee, expr.args, kinds, Unknown())
        return None

    def _rest(self, expr: ir.Call, kinds: list[Any]) -> Resolved:
        """What `**rest` of a pattern captures: a display, where the keys are known."""
        whole = self.program.deep_kind(kinds[0])
        if not can_be_active(whole):
            return self.apply(expr, InertCall("no derivative"), expr.args, kinds, Inert())
        given = [k.value for k in kinds[1:] if isinstance(k, Known)]
        if isinstance(whole, DictOfKinds) and not self.program.escaped and len(given) == len(kinds) - 1:
            left = [key for key in whole.keys if key not in given]
            items = tuple((ir.Const(k), self._made(ir.Item(expr.args[0], ir.Const(k)))) for k in left)
            return self.display(ir.DictOf(items))
        callee = self.missing(
            UnsupportedSyntaxError,
            "the rest of a mapping whose keys are not known",
            "It has no derivative yet.",
            "Load the items by their keys.",
        )
        return self.apply(expr, callee, expr.args, kinds, Unknown())

    # --- attributes that may be absent ------------------------------------------------------------------

    def looked_up(self, stmt: ir.Assign) -> ir.Block | None:
        """`y = getattr(obj, name, default)` or `y = hasattr(obj, name)` as statements; None where one call will do."""
        call = stmt.value
        if not isinstance(call, ir.Call) or not isinstance(call.func, ir.Name | ir.Global | ir.Static) or call.kwargs:
            return None
        if len(call.args) < 2 or any(isinstance(a, ir.Star | ir.Call) for a in call.args):
            return None
        found, kinds = self.value(call.func)[1], self.kinds(call.args)
        function = found.value if isinstance(found, Known) else None
        obj = kinds[0]
        if function not in (hasattr, getattr, pattern_has) or obj is None or None in kinds:
            return None
        if len(call.args) != {hasattr: 2, getattr: 3, pattern_has: 4}[function]:
            return None
        name = _name_asked(function, kinds)
        how = TESTED if name is None else self._presence(obj, name)
        if how is TRIED or (how is TESTED and function is getattr):
            key = id(stmt), function, how, name
            if key not in self.spec.written_out:
                self.spec.written_out[key] = self._spelled_out(stmt, function, how, name)
            return self.spec.written_out[key]
        return None

    def _spelled_out(self, stmt: ir.Assign, function: Any, how: str, name: str | None) -> ir.Block:
        """The statements behind `y = getattr(obj, name, default)` or `y = hasattr(obj, name)`."""
        origin, args = stmt.origin, stmt.value.args  # type: ignore[attr-defined]
        load: ir.Expr = ir.Call(ir.Static(getattr, "getattr"), args[:2]) if name is None else ir.Attr(args[0], name)

        def result(value: ir.Expr) -> ir.Block:
            return (ir.Assign(stmt.target, value, origin),)

        there, absent = (result(load), result(args[2])) if function is getattr else ((), result(ir.Const(False)))
        held = self.spec.names.fresh("t")
        if how is TESTED:
            test = ir.Call(_HASATTR, (args[0], args[1] if name is None else ir.Const(name)))
            return ir.Assign(held, test, origin), ir.If(ir.Name(held), there, absent, origin)
        handlers = (ir.Handler(ir.Static(AttributeError, "AttributeError"), None, absent, origin),)
        if function is getattr:
            return (ir.Try(there, handlers, (), (), origin),)
        return (ir.Try((ir.Assign(held, load, origin),), handlers, result(ir.Const(True)), (), origin),)

    def _about_attribute(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """`hasattr(obj, name)`, or `getattr` with a default, where it is decided; None for all other calls."""
        name = _name_asked(function, kinds) if len(kinds) > 1 else None
        if function is getattr and len(kinds) == 2 and name is not None and class_of(kinds[0]) is None:
            return self.value(ir.Attr(expr.args[0], name))
        if expr.kwargs or len(kinds) != {hasattr: 2, getattr: 3, pattern_has: 4}[function]:
            return None
        answer: Any = TESTED if name is None else self._presence(kinds[0], name)
        if function is pattern_has and _is_subject_itself(kinds):
            answer = True
        if isinstance(answer, bool) and name is not None:
            self._guard_presence(expr.args[0], kinds[0], name, answer)
        if function is not getattr:
            kind = Known(answer) if isinstance(answer, bool) else Int()
            test = expr
            if function is hasattr and (name is None or isinstance(kinds[0], Unknown)):
                test = ir.Call(ir.Static(has_attribute, "has_attribute"), expr.args)
            return self.apply(test, InertCall("a test", "bool"), expr.args, kinds, kind)
        if name is not None and isinstance(answer, bool):
            return self.value(ir.Attr(expr.args[0], name) if answer else expr.args[2])
        return None

    def _guard_presence(self, value: ir.Expr, obj: Kind, name: str, there: bool) -> None:
        """Guard what the answer rests on."""
        cls = class_of(obj)
        if cls is None or cls is super:
            return
        if there and self._has_field(obj, name):
            self._attribute(ir.Attr(value, name), obj, cls)  # guarded as if it were loaded
        elif not there:
            self._guard_own(obj, name)

    def _presence(self, obj: Kind, name: str) -> bool | str:
        """Whether a value has an attribute, or how that is found at run time."""
        cls = class_of(obj)
        if cls is None:
            return _of_no_object(obj, name, self.program.on_device)
        if cls is super:
            return self._inherited_presence(obj, name)
        if issubclass(cls, tuple) and name in cls._fields:  # type: ignore[attr-defined]
            return True
        found = member(cls, name)
        settled = isinstance(obj, Observed | Instance | TupleOf) and not self.program.escaped
        own = settled and self._has_field(obj, name)
        if found is ABSENT or isinstance(found, types.MemberDescriptorType):
            computed = found is ABSENT and member(cls, "__getattr__") is not ABSENT
            if own or not (settled or computed):
                return own or TESTED
            return TRIED if computed else TESTED if cls is types.MethodType else False
        if own or is_constant_of_class(found) or isinstance(found, _FOUND):
            return True
        return TRIED

    def _inherited_presence(self, obj: Kind, name: str) -> bool | str:
        """The same of `super()`, which sees what classes define and no fields."""
        assert isinstance(obj, Instance)
        start, owner = obj.items
        cls = owner.value if isinstance(owner, Known) else class_of(owner)
        if not isinstance(start, Known) or not isinstance(cls, type) or start.value not in cls.__mro__:
            return TESTED
        base = owner_of(cls, name, start.value)
        if base is None:
            return hasattr(super, name)
        found = vars(base)[name]
        return True if is_constant_of_class(found) or isinstance(found, _FOUND) else TRIED


def _name_asked(function: Any, kinds: list[Any]) -> str | None:
    """The name of the attribute that a call asks for; None if it is not known, or no name."""
    known: list[Any] = [k.value if isinstance(k, Known) else None for k in kinds[1:]]
    found = known[0]
    if function is pattern_has:
        cls, i, count = known
        found = pattern_name(cls, i) if isinstance(cls, type) and _takes(cls, count) else None
    return found if isinstance(found, str) and found.isidentifier() else None


def _is_subject_itself(kinds: list[Any]) -> bool:
    """Whether a positional sub-pattern is matched with the subject itself."""
    known: list[Any] = [k.value if isinstance(k, Known) else None for k in kinds[1:]]
    cls, i, count = known
    return isinstance(cls, type) and _takes(cls, count) and pattern_name(cls, i) is None


def _takes(cls: type, count: int) -> bool:
    """Whether a class takes so many positional sub-patterns: else Python's own error comes when it is matched."""
    try:
        pattern_name(cls, 0, count)
    except TypeError:
        return False
    return True


def _of_no_object(kind: Kind, name: str, on_device: bool) -> bool | str:
    """Whether a value that is no object with fields has an attribute; `TESTED` if not all values of the kind agree."""
    classes: set[type] = set()
    match kind:
        case Known(value) if trusted(value) or isinstance(value, _LITERALS):
            return hasattr(value, name)
        case TupleOf() | DictOfKinds() | ListOf(tuple()):
            classes = {tuple if isinstance(kind, TupleOf) else dict if isinstance(kind, DictOfKinds) else list}
        case Observed(_, value):
            classes = {type(value)}
        case Heap(cls) if cls in (list, dict):
            classes = {cls}
    match numeric(kind):
        case Array() | IntArray() if not on_device:
            classes = {np.ndarray}
        case Scalar(real=True) if not on_device:
            classes = set(REAL_TYPES)
        case Int() if not on_device:
            classes = {*INTEGER_TYPES, bool}
    found = {hasattr(cls, name) for cls in classes}
    return found.pop() if len(found) == 1 else TESTED


def _tests_itself(classes: Kind) -> bool:
    """Whether a class decides by code of its own what its instances are."""
    if not isinstance(classes, Known):
        return False
    todo, own = [classes.value], (type.__instancecheck__, abc.ABCMeta.__instancecheck__, ByFlag.__instancecheck__)
    while todo:
        cls = todo.pop()
        if isinstance(cls, tuple | types.UnionType):
            todo += cls if isinstance(cls, tuple) else cls.__args__
        elif member(type(cls), "__instancecheck__") not in own:
            return True
    return False


__all__ = ["LookupResolver"]
