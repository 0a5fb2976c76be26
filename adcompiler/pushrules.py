"""The tangents of calls that have a rule, from what is declared of the function, the first of these that there is.

linear=("x",)              y = np.sum(x, axis=0)     y_dot = np.sum(x_dot, axis=0)
multilinear=("a", "b")     y = a @ b                 y_dot = a_dot @ b + a @ b_dot
scalar_rule, frule         y = np.tanh(x)            y_dot = (1 - y * y) * x_dot
                           y = np.linalg.inv(a)      y, y_dot = inv((a_dot,), a)
any other rule             y = f(x)                  y, y_dot = push(f, (x,), (x_dot,))
"""

from __future__ import annotations

import inspect
import operator
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.callees import RuleCall
from adcompiler.forwardtext import ForwardText, filled, forward_text, partials_text
from adcompiler.lattice import is_scalar, shape_of
from adcompiler.pushstate import Code, PushState
from adcompiler.rules.forward import forward_rule
from adcompiler.ruletext import NotInlinable
from adcompiler.runtime.pushed_calls import push
from adcompiler.runtime.pushing import own, spread
from adcompiler.transfer import as_dict

_SPREAD = ir.Static(spread, "spread")
_OWN = ir.Static(own, "own")
_PUSH = ir.Static(push, "push")

# Sums, of which one operand alone may have a tangent.
_MINUS = (operator.sub, np.subtract)
_OF_EITHER = (operator.add, np.add, *_MINUS)

Bound = dict[str, Any]


class PushRules(PushState):
    """Adds calls with rules."""

    def pushed_rule(self, value: ir.Apply, result: str, origin: Any) -> tuple[Code, Code, ir.Expr]:
        """What computes a call's value into `result`, what its tangent needs before it, and the tangent."""
        callee: RuleCall = value.callee
        rule = callee.rule
        bound: Bound = dict(zip(rule.signature.parameters, value.args, strict=True))
        active = [n for n, arg in bound.items() if self.is_active(arg) and n not in rule.flat]
        plain: Code = [ir.Assign(result, value, origin, kind=value.kind)]
        if not active:
            return plain, [], self.zero(ir.Name(result), value.kind, rule.result == "fresh")
        explicit = forward_rule(callee.key, rule)
        if explicit is None:
            tangent = self.declared(value, bound, active)
            if tangent is not None:
                return plain, [], self.fitted(tangent, value, bound, active, result)
        text = forward_text(explicit) if explicit is not None else partials_text(rule) if rule.partials else None
        written = None if text is None else self.inlined(text, value, bound, active, result)
        if written is not None:
            before, tangent = written
            return plain, before, self.fitted(tangent, value, bound, active, result)
        if explicit is not None and "NotImplemented" not in explicit.__code__.co_names:
            dots = ir.Seq("tuple", tuple(self.tangents(arg) for arg in bound.values()))
            args, kwargs = _given(rule, bound)
            return self.two(ir.Call(ir.Static(explicit, explicit.__name__), (dots, *args), kwargs), result, origin)
        return self.pushed_by_runtime(callee.key, bound, rule, result, origin)

    def declared(self, value: ir.Apply, bound: Bound, active: list[str]) -> ir.Expr | None:
        """The tangent of a function that is declared linear; None if it is not."""
        rule = value.callee.rule
        if set(active) <= set(rule.linear):
            kinds = as_dict(tuple(bound), value.kinds)
            parts = active if value.callee.key in _OF_EITHER else [n for n in bound if n in rule.linear]
            new = {n: self.tangent_of(bound[n], kinds[n]) for n in parts}
            if len(parts) == 1 and value.callee.key in _OF_EITHER:
                tangent = new[parts[0]]
                return ir.Op("-", (tangent,)) if value.callee.key in _MINUS and parts[0] == list(bound)[1] else tangent
            return self.respelled(value, new)
        if set(active) <= set(rule.multilinear):
            terms = [term for p in active for term in self.terms(value, p, bound[p])]
            return None if None in terms else _summed([t for t in terms if t is not None])
        return None

    def terms(self, value: ir.Apply, param: str, operand: Any) -> list[ir.Expr | None]:
        """The terms for one parameter of a function that is linear in it, or in each of several that it takes."""
        if not isinstance(operand, tuple):
            return [self.respelled(value, {param: self.tangents(operand)})]
        spelled, out = value.spelled, list[ir.Expr | None]()
        for entry in operand:
            if not self.is_active(entry):
                continue
            places = [i for i, a in enumerate(spelled.args) if a is entry] if isinstance(spelled, ir.Call) else []
            if len(places) != 1 or not isinstance(spelled, ir.Call):
                return [None]
            (at,) = places
            args = (*spelled.args[:at], self.tangents(entry), *spelled.args[at + 1 :])
            out.append(ir.Call(spelled.func, args, spelled.kwargs))
        return out

    def two(self, call: ir.Expr, result: str, origin: Any) -> tuple[Code, Code, ir.Expr]:
        """A call that gives a value and its tangent."""
        dot, self.wanted_dot = self.wanted_dot or self.names.fresh("d"), None
        return [ir.Unpack(ir.Targets((result, dot)), call, origin)], [], ir.Name(dot)

    def pushed_by_runtime(
        self, key: Any, bound: Bound, rule: Any, result: str, origin: Any
    ) -> tuple[Code, Code, ir.Expr]:
        """A call whose tangent the run time finds."""
        given = _without_defaults(rule, bound)
        args, kwargs = _given(rule, given)
        dots = [self.tangents(a) for a in given.values()]
        flat: list[ir.Expr] = []
        for arg, dot in zip(given.values(), dots, strict=True):
            flat.extend(dot.items if isinstance(arg, tuple) and isinstance(dot, ir.Seq) else (dot,))
        spelled = ir.Static(key, getattr(key, "__name__", "function"))
        call = ir.Call(_PUSH, (spelled, ir.Seq("tuple", tuple(args)), ir.Seq("tuple", tuple(flat))))
        if kwargs:
            call = ir.Call(_PUSH, (*call.args, ir.DictOf(tuple((ir.Const(k), v) for k, v in kwargs))))
        return self.two(call, result, origin)

    def fitted(self, tangent: ir.Expr, value: ir.Apply, bound: Bound, active: list[str], result: str) -> ir.Expr:
        """A tangent in the shape of its value: of an elementwise function it may still have that of one operand."""
        kinds = as_dict(tuple(bound), value.kinds)
        elementwise = value.callee.rule.kind in ("elementwise", "elementwise_real", "elementwise_complex", "where")
        full = shape_of(value.kind)
        whole = result in ir.reads(tangent) or _reads_all(tangent, bound, active)
        if (
            elementwise
            and not whole
            and not is_scalar(value.kind)
            and not any(shape_of(kinds[p]) == full is not None for p in active)
        ):
            tangent = ir.Call(_SPREAD, (tangent, ir.Name(result)))
        if (
            self.careful
            and not isinstance(tangent, ir.Op)
            and not is_scalar(value.kind)
            and value.callee.rule.result == "fresh"
        ):
            tangent = ir.Call(_OWN, (tangent,))
        return tangent

    def respelled(self, value: ir.Apply, new: dict[str, ir.Expr]) -> ir.Expr | None:
        """The user's own expression with some operands replaced; None if it cannot be told which these are."""
        rule, spelled = value.callee.rule, value.spelled
        names = list(rule.signature.parameters)
        match spelled:
            case ir.Op(op, args) if len(args) == len(names) == len(value.args):
                return ir.Op(op, tuple(new.get(n, a) for n, a in zip(names, args, strict=True)))
            case ir.Item(obj, index) if len(names) == 2:
                return ir.Item(new.get(names[0], obj), index) if names[1] not in new else None
            case ir.Attr(_, name) if len(names) == 1:
                return ir.Attr(new[names[0]], name)
            case ir.Call():
                return _respelled_call(spelled, value, names, new)
        return None

    def inlined(
        self, text: ForwardText, value: ir.Apply, bound: Bound, active: list[str], result: str
    ) -> tuple[Code, ir.Expr] | None:
        """The tangent by the text of a forward rule; None if that depends on what is not known here."""
        if any(isinstance(arg, tuple) for arg in bound.values()):
            return None
        try:
            found = filled(text, as_dict(tuple(bound), value.kinds), active, value.kind)
        except NotInlinable:
            return None
        names = dict(zip(text.params, bound, strict=True))
        mapping: dict[str, ir.Expr] = {p: ir.as_argument(bound[names[p]]) for p in text.params}
        mapping |= {t: self.tangents(bound[names[p]]) for p, t in text.tangents.items()}
        mapping[text.result] = ir.Name(result)
        out: Code = []
        for let in found.lets:
            name = self.names.fresh("c")
            out.append(ir.Assign(name, ir.substitute(let.value, mapping)))
            mapping[let.name] = ir.Name(name)
        return out, ir.substitute(found.tangent, mapping)


def _reads_all(tangent: ir.Expr, bound: Bound, active: list[str]) -> bool:
    """Whether each term of a tangent has all operands, which give it its whole shape."""
    others = [arg.id for name, arg in bound.items() if name not in active and isinstance(arg, ir.Name)]
    terms = tangent.args if isinstance(tangent, ir.Op) and tangent.op == "+" else (tangent,)
    return (
        len(bound) == 2
        and len(terms) == len(active)
        and all(
            isinstance(t, ir.Op) and t.op == "*" and (len(active) == 2 or set(others) <= set(ir.reads(t)))
            for t in terms
        )
    )


def _summed(terms: list[ir.Expr]) -> ir.Expr:
    total = terms[0]
    for term in terms[1:]:
        total = ir.Op("+", (total, term))
    return total


def _respelled_call(spelled: ir.Call, value: ir.Apply, names: list[str], new: dict[str, ir.Expr]) -> ir.Expr | None:
    """A call with some arguments replaced, found by their positions and names."""
    rule = value.callee.rule
    parameters = rule.signature.parameters
    if list(new) == names[:1]:
        return _with_first(spelled, value, new[names[0]])
    if any(p.kind is p.VAR_POSITIONAL or p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    if any(isinstance(a, ir.Star) for a in spelled.args) or any(k is None for k, _ in spelled.kwargs):
        return None
    func, places = spelled.func, names
    if isinstance(func, ir.Attr) and len(spelled.args) + len(spelled.kwargs) < len(value.args) and _is_method(value):
        func = ir.Attr(new.get(names[0], func.value), func.name)
        places = names[1:]
        left = {n: e for n, e in new.items() if n != names[0]}
    else:
        left = dict(new)
    args = tuple(left.pop(n, a) for n, a in zip(places, spelled.args, strict=False))
    kwargs = tuple((k, left.pop(k, v) if k is not None else v) for k, v in spelled.kwargs)
    return None if left else ir.Call(func, args, kwargs)


def _with_first(spelled: ir.Call, value: ir.Apply, first: ir.Expr) -> ir.Expr | None:
    """A call with another first operand: the object of a method, or the first argument."""
    if _is_method(value):
        assert isinstance(spelled.func, ir.Attr)
        return ir.Call(ir.Attr(first, spelled.func.name), spelled.args, spelled.kwargs)
    if spelled.args and spelled.args[0] is value.args[0]:
        return ir.Call(spelled.func, (first, *spelled.args[1:]), spelled.kwargs)
    return None


def _is_method(value: ir.Apply) -> bool:
    """Whether the first operand of a call is what its method is taken from."""
    func = value.spelled.func  # type: ignore[attr-defined]
    return isinstance(func, ir.Attr) and func.value == value.args[0] and isinstance(value.args[0], ir.Name)


def _without_defaults(rule: Any, bound: Bound) -> Bound:
    """The operands of a rule without those at the end, and keywords, that are the defaults."""
    parameters = list(rule.signature.parameters.values())

    def is_default(p: inspect.Parameter) -> bool:
        value = bound[p.name]
        if p.kind is p.VAR_POSITIONAL or p.default is p.empty or not isinstance(value, ir.Const):
            return False
        return type(value.value) is type(p.default) and value.value == p.default

    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    left = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY and is_default(p)}
    while positional and is_default(positional[-1]):
        left.add(positional.pop().name)
    return {n: v for n, v in bound.items() if n not in left}


def _given(rule: Any, bound: Bound) -> tuple[tuple[ir.Expr, ...], tuple[tuple[str, ir.Expr], ...]]:
    """The operands of a rule as the arguments and keywords of a call."""
    args: list[ir.Expr] = []
    kwargs: list[tuple[str, ir.Expr]] = []
    for p in rule.signature.parameters.values():
        if p.name not in bound:
            continue
        value = bound[p.name]
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            args.extend(map(ir.as_argument, value))
        elif p.kind is inspect.Parameter.KEYWORD_ONLY:
            kwargs.append((p.name, ir.as_argument(value)))
        else:
            args.append(ir.as_argument(value))
    return tuple(args), tuple(kwargs)


__all__ = ["PushRules"]
