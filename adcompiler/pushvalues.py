"""The tangents of the values of operations: one case per callee."""

from __future__ import annotations

import copy
import types
from typing import Any

from adcompiler import ir
from adcompiler.alias import alias
from adcompiler.callees import (
    Build,
    Copied,
    Drain,
    Dynamic,
    Field,
    Gathered,
    Hooked,
    InertCall,
    Iteration,
    Load,
    Make,
    Missing,
    Move,
    PairCall,
    PathLoad,
    Pull,
    Relay,
    RuleCall,
    Spread,
)
from adcompiler.elements import is_dict
from adcompiler.hot import memory_of
from adcompiler.lattice import Inert, Instance, TupleOf, Unknown, can_be_active, class_of, numeric
from adcompiler.pushed import Pushed
from adcompiler.pushrules import PushRules
from adcompiler.pushstate import Code
from adcompiler.rules.forward import forward_rules
from adcompiler.runtime.members import ABSENT, is_constant_of_class, member
from adcompiler.runtime.pushed_calls import items_dot, keyed, push, push_method, push_spread
from adcompiler.runtime.pushed_rules import field_dot
from adcompiler.runtime.pushing import zeros_of

_PUSH = ir.Static(push, "push")
_PUSH_METHOD = ir.Static(push_method, "push_method")
_KEYED = ir.Static(keyed, "keyed")
_PUSH_SPREAD = ir.Static(push_spread, "push_spread")
_ZEROS_OF = ir.Static(zeros_of, "zeros_of")
_ITEMS_DOT = ir.Static(items_dot, "items_dot")
_COPY = ir.Static(copy.copy, "copy")
_DEEPCOPY = ir.Static(copy.deepcopy, "deepcopy")

FIELD_DOT = ir.Static(field_dot, "field_dot")

Value = tuple[Code, Code, ir.Expr]  # what computes the value, what its tangent needs before it, and the tangent


class PushValues(PushRules):
    """Adds the values of all operations that write into nothing."""

    def is_active_value(self, value: ir.Expr) -> bool:
        """Whether the value of an expression carries a tangent."""
        if isinstance(value, ir.Lambda):
            return bool(value.captures & (self.active | self.dots.keys()))
        if isinstance(value, ir.Verbatim):
            return False
        if not isinstance(value, ir.Apply):
            return self.is_active(value)
        if isinstance(value.callee, InertCall | Iteration):
            return False
        return any(map(self.is_active, value.args)) or self.reads_places(value)

    def reads_places(self, value: ir.Apply) -> bool:
        """Whether a call may read what others have stored, though nothing active is passed to it."""
        return (
            isinstance(value.callee, PairCall)
            and self.spec.program.outside_hot
            and alias(value.callee.spec).reads_outside
        )

    def pushed(self, value: ir.Expr, result: str, origin: Any, kind: Any) -> Value:
        """How an active value is computed into `result`, and its tangent."""
        plain: Code = [ir.Assign(result, value, origin, kind=kind)]
        match value:
            case ir.Name():
                return plain, [], self.tangents(value)
            case ir.Lambda(_, captures):
                return plain, [], self.captured(captures)
            case ir.Apply(callee=RuleCall()):
                return self.pushed_rule(value, result, origin)
            case ir.Apply(callee=PairCall(function=function)):
                return self.two(self.by_users_rule(value, function) or self.paired(value), result, origin)
            case ir.Apply(callee=Missing(error)):
                raise error
            case ir.Apply(callee=Dynamic()):
                return self.two(self.dynamic(value), result, origin)
            case ir.Apply(callee=Spread(), spelled=ir.Call(func), args=(whole,)):
                dots = self.tangent_of(whole, value.kinds[0])
                return self.two(ir.Call(_PUSH_SPREAD, (func, whole, dots)), result, origin)
            case ir.Apply(callee=Pull() | Drain() | Relay()):
                raise self.unsupported("a generator", "Return a list of the items.")
            case ir.Apply():
                return plain, [], self.structure(value)
        raise self.unsupported("this expression", "Write it as array operations.")

    def structure(self, value: ir.Apply) -> ir.Expr:  # noqa: C901  one case per callee
        """The tangent of a container, or of what is read from one."""
        match value.callee:
            case Build():
                return self.display(value)
            case Make(names):
                return self.made(names, value)
            case Copied(deep):
                return ir.Call(_DEEPCOPY if deep else _COPY, (self.tangents(value.args[0]),))
            case Load(Field("__func__")) if class_of(value.kinds[0]) is types.MethodType:
                return ir.Call(_ZEROS_OF, (value.spelled,))  # a bound method moves with its object
            case Load(Field(name)) if may_be_of_class(value.kinds[0], name):
                return ir.Call(FIELD_DOT, (self.tangents(value.args[0]), value.args[0], ir.Const(name)))
            case Load(key):
                return self.loaded(self.tangents(value.args[0]), value.kinds[0], key)
            case PathLoad(param, steps):
                return self.path(param, steps)
            case Gathered():
                return self.tangents(value.args[0])
            case Hooked():
                return self.tangents(value.args[1])
            case Move():
                return self.moved(value)
        raise self.unsupported("this operation", "Write it in another way.")

    # --- containers -------------------------------------------------------------------------------------

    def display(self, value: ir.Apply) -> ir.Expr:
        """A tuple, list or dict display: the same of the tangents."""
        spelled = value.spelled
        if isinstance(spelled, ir.DictOf):
            kinds = iter(value.kinds)
            items = tuple((key, self.tangent_of(item, next(kinds, None))) for key, item in spelled.items)
            return ir.DictOf(items)
        parts = zip(value.args, value.kinds, strict=True)
        form = spelled.form if isinstance(spelled, ir.Seq) else "tuple"  # of a named tuple's method
        return ir.Seq(form, tuple(self.entry(a, k) for a, k in parts))

    def entry(self, arg: Any, kind: Any) -> ir.Expr:
        """An entry of a container: None for what never has a tangent."""
        if isinstance(arg, ir.Star) and self.is_active(arg):
            return ir.Star(self.items(arg.value, kind))
        moves = can_be_active(kind) or numeric(kind) is not None or self.is_active(arg)
        return self.tangent_of(arg, kind) if moves else ir.Const(None)

    def items(self, arg: Any, kind: Any) -> ir.Expr:
        """The tangent of a value that is taken apart."""
        tangent = self.tangent_of(arg, kind)
        return ir.Call(_ITEMS_DOT, (arg, tangent)) if isinstance(kind, Unknown) and self.is_active(arg) else tangent

    def made(self, names: tuple[str, ...], value: ir.Apply) -> ir.Expr:
        """A new object: of a named tuple the tangent is a tuple, else a dict of the fields' tangents."""
        entries = [self.entry(a, k) for a, k in zip(value.args, value.kinds, strict=True)]
        if isinstance(value.kind, TupleOf):
            return ir.Seq("tuple", tuple(entries))
        return ir.DictOf(tuple((ir.Const(n), e) for n, e in zip(names, entries, strict=True)))

    def loaded(self, whole: ir.Expr, kind: Any, key: Any) -> ir.Expr:
        """An item or a field."""
        if isinstance(key, ir.Expr):
            return ir.Item(whole, key)
        if isinstance(key, Field):
            cls = class_of(kind)
            if cls is not None and issubclass(cls, tuple):
                return ir.Item(whole, ir.Const(cls._fields.index(key.name)))  # type: ignore[attr-defined]
            return ir.Item(whole, ir.Const(key.name))
        plain = key is None or type(key) in (str, int, float, bool, bytes)
        return ir.Item(whole, ir.Const(key) if plain else ir.Static(key, "key"))

    def path(self, param: str, steps: Any) -> ir.Expr:
        """An item of a parameter's, found by several steps."""
        held: Any = dict(zip(self.spec.params, self.spec.kinds, strict=True))[param]
        value = held.value
        out = self.tangents(ir.Name(param))
        for form, key in steps:
            if form == "attr" and isinstance(value, tuple):
                key = type(value)._fields.index(key)  # type: ignore[attr-defined]
            value = value[key] if form == "item" or isinstance(value, tuple) else getattr(value, key)
            out = self.loaded(out, None, key)
        return out

    def moved(self, value: ir.Apply) -> ir.Expr:
        """An operation on whole containers: the same on the containers of tangents."""
        callee: Move = value.callee
        kinds = {id(a): k for a, k in zip(value.args, value.kinds, strict=True)}
        mapping = {}
        for name, operand, role in zip(callee.of_tangents.params, callee.operands, callee.intended, strict=True):
            kind = kinds.get(id(operand))
            if role == "p":
                mapping[name] = self.items_of(dict, operand, kind)
            elif role == "v":
                mapping[name] = self.tangent_of(operand, kind)
            else:
                mapping[name] = operand if role == "-" else self.items(operand, kind)
        return ir.substitute(callee.of_tangents.body, mapping)

    def items_of(self, cls: type, source: ir.Expr, kind: Any) -> ir.Expr:
        """The tangents of what a container of a class is made of: of the items, or of pairs with their keys."""
        tangent = self.tangent_of(source, kind)
        return ir.Call(_KEYED, (source, tangent)) if issubclass(cls, dict) and not is_dict(kind) else tangent

    def captured(self, names: frozenset[str]) -> ir.Expr:
        """The tangent of a function: those of the variables that it captures."""
        kinds = {**self.spec.name_kinds, **dict(zip(self.spec.params, self.spec.kinds, strict=True))}
        # What is declared to have no derivative may be a number nevertheless, and is taken for one where it is called.
        held = [n for n in sorted(names) if n in self.dots or can_be_active(k := kinds.get(n)) or isinstance(k, Inert)]
        return ir.DictOf(tuple((ir.Const(n), self.entry(ir.Name(n), kinds.get(n))) for n in held))

    # --- calls ------------------------------------------------------------------------------------------

    def callee_of(self, value: ir.Apply) -> Pushed:
        """What forward mode makes of the function that is called."""
        mask = tuple(self.is_active(a) for a in value.args)
        return self.pushed_of(value.callee.spec, mask, memory_of(self.aliases, self.found.hot, self.stmt, value))

    def paired(self, value: ir.Apply) -> ir.Expr:
        """A call of a function that is compiled with its caller."""
        callee = self.callee_of(value)
        dots = [self.tangents(a) for a in value.args if self.is_active(a)]
        return ir.Call(ir.Static(callee, callee.name), (*value.args, *dots))

    def by_users_rule(self, value: ir.Apply, function: Any) -> ir.Expr | None:
        """A call of a function that has a forward rule and no reverse one; None for all others."""
        rules = forward_rules(function) if function is not None else ()
        if not rules:
            return None
        dots = ir.Seq("tuple", tuple(map(self.tangents, value.args)))
        return ir.Call(ir.Static(rules[0], rules[0].__name__), (dots, *value.args))

    def dynamic(self, value: ir.Apply) -> ir.Expr:
        """A call that is found at run time."""
        key, keywords = value.callee.key, value.callee.keywords
        args = tuple(map(ir.as_argument, value.args))
        dots = tuple(map(self.tangents, value.args))
        if callable(key):
            call = (ir.Static(key, getattr(key, "__name__", "function")), _tuple(args), _tuple(dots))
            return ir.Call(_PUSH, call)
        split = len(args) - len(keywords)
        named = ir.DictOf(tuple((ir.Const(k), v) for k, v in zip(keywords, args[split:], strict=True)))
        if isinstance(key, str):
            rest: tuple[ir.Expr, ...] = (_tuple(args[1:split]), _tuple(dots[1:]), *((named,) if keywords else ()))
            return ir.Call(_PUSH_METHOD, (args[0], ir.Const(key), dots[0], *rest))
        extra: tuple[tuple[str | None, ir.Expr], ...] = (("named", named),) if keywords else ()
        if not (isinstance(dots[0], ir.Const) and dots[0].value is None):
            extra = (*extra, ("own", dots[0]))
        return ir.Call(_PUSH, (args[0], _tuple(args[1:split]), _tuple(dots[1:])), extra)

    def pushed_of(self, spec: Any, mask: tuple[bool, ...], memory: Any) -> Pushed:
        """What forward mode makes of a specialisation; `pushforward` knows."""
        raise NotImplementedError


def may_be_of_class(kind: Any, name: str) -> bool:
    """Whether an attribute may be one that the class gives to its objects, which has no place in their tangents."""
    cls = class_of(kind)
    if cls is None:
        return True
    if issubclass(cls, tuple) or (isinstance(kind, Instance) and name in kind.names):
        return False
    found = member(cls, name)
    return found is not ABSENT and is_constant_of_class(found)


def _tuple(items: tuple[ir.Expr, ...]) -> ir.Expr:
    return ir.Seq("tuple", items)


__all__ = ["FIELD_DOT", "PushValues", "Value", "may_be_of_class"]
