"""A rule's own source as a template: what the forward keeps, and one expression per cotangent.

    def multiply(a, b):                         params    a, b
        y = a * b                               result    y
        a_shape, b_shape = shape(a), shape(b)   forward   a_shape := shape(a), b_shape := shape(b)

        def pullback(y_bar):                    entries   fit(y_bar * conj(b), a_shape),
            return fit(...), fit(...)                     fit(y_bar * conj(a), b_shape)

        return y, pullback

A rule whose text has another form (a loop, `try`, an early return, ...) has no template and is called as it stands.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import gast
import numpy as np

from adcompiler import ir
from adcompiler.decide import LIBRARIES, root_module
from adcompiler.errors import SourceNotFoundError
from adcompiler.normalise import BINARY, COMPARE, UNARY
from adcompiler.parse import parse
from adcompiler.rules.registry import Rule
from adcompiler.runtime.project import own
from adcompiler.runtime.shapes import conj, fit, shape
from adcompiler.runtime.tangents import Thunk, unthunk
from adcompiler.scope import parameters

_SHAPES = shape.__module__


class NotInlinable(Exception):
    """The rule's text is not straight-line."""


@dataclass(frozen=True)
class Let:
    """`name := value`."""

    name: str
    value: ir.Expr


@dataclass(frozen=True)
class Choose:
    """`if test` on facts; the last `orelse` is right in every case."""

    test: ir.Expr
    body: tuple[Any, ...]
    orelse: tuple[Any, ...]


Steps = tuple[Let | Choose, ...]


@dataclass(frozen=True)
class RuleText:
    """The template of a rule."""

    params: tuple[str, ...]
    forward: Steps
    result: str
    cotangent: str
    backward: Steps
    entries: tuple[ir.Expr | None, ...]


@cache
def rule_text(rule: Rule) -> RuleText | None:
    """The template of a rule, or None if the rule is opaque."""
    if rule.options:
        return None
    try:
        if rule.partials:
            return _from_partials(rule)
        text = _from_function(rule.function)
        if not rule.builtin and any(isinstance(step, Choose) for step in (*text.forward, *text.backward)):
            return None  # the last arm of a choice need not be right in every case, as it is in a rule of adcompiler's
        return text if rule.builtin else _unthunked(text)
    except (NotInlinable, SourceNotFoundError):
        return None


def _from_partials(rule: Rule) -> RuleText:
    names = tuple(rule.signature.parameters)
    lets, entries = [], []
    for name, partial in zip(names, rule.partials, strict=True):
        node = parse(partial).node
        reader = TextReader(partial, set(parameters(node)))
        slope = ir.Call(ir.Static(conj, "conj"), (reader.expr(node.body),))
        lets.append(Let(f"{name}_shape", ir.Call(ir.Static(shape, "shape"), (ir.Name(name),))))
        product = ir.Op("*", (ir.Name("out_bar"), slope))
        entries.append(ir.Call(ir.Static(fit, "fit"), (product, ir.Name(f"{name}_shape"))))
    return RuleText(names, tuple(lets), "out", "out_bar", (), tuple(entries))


def _from_function(function: Any) -> RuleText:
    node = parse(function).node
    if not isinstance(node, gast.FunctionDef):
        raise NotInlinable
    body = [s for s in node.body if not is_docstring(s)]
    if len(body) < 2 or not isinstance(body[-1], gast.Return) or not isinstance(body[-2], gast.FunctionDef):
        raise NotInlinable
    result, pullback = _returned(body[-1]), body[-2]
    reader = TextReader(function, set(parameters(node)))
    forward = reader.steps(body[:-2])
    (cotangent,) = parameters(pullback)
    reader.known |= {cotangent}
    inner = [s for s in pullback.body if not is_docstring(s)]
    if not isinstance(inner[-1], gast.Return) or not isinstance(inner[-1].value, gast.Tuple):
        raise NotInlinable
    backward = reader.steps(inner[:-1])
    entries = tuple(None if _is_none(e) else reader.expr(e) for e in inner[-1].value.elts)
    if len(entries) != len(parameters(node)):
        raise NotInlinable
    return RuleText(parameters(node), forward, result, cotangent, backward, entries)


def _unthunked(text: RuleText) -> RuleText:
    """The template of a user's rule, with `unthunk` around each cotangent that a function of the user's has made.

    Around one that is not surely new stands `own`: the rule may give what it keeps, or what the module has.
    """
    lets = _lets((*text.forward, *text.backward))
    made = {let.name for let in lets if any(map(_may_give_thunks, ir.walk(let.value)))}

    new = {text.cotangent: True}
    for let in lets:
        new[let.name] = new.get(let.name, True) and _is_new(let.value, new)

    def resolved(entry: ir.Expr | None) -> ir.Expr | None:
        if entry is None or isinstance(entry, ir.Op):  # a thunk cannot be computed with
            return entry
        if any(map(_may_give_thunks, ir.walk(entry))) or made & set(ir.reads(entry)):
            entry = ir.Call(ir.Static(unthunk, "unthunk"), (entry,))
        return entry if _is_new(entry, new) else ir.Call(ir.Static(own, "own"), (entry,))

    return replace(text, entries=tuple(map(resolved, text.entries)))


def _is_new(expr: ir.Expr, new: dict[str, bool]) -> bool:
    """Whether a value is made by arithmetic, or of a value that is: nobody else has its memory."""
    match expr:
        case ir.Name(name):
            return new.get(name, False)
        case ir.Op() | ir.Const():
            return True
        case ir.IfExp(_, body, orelse):
            return _is_new(body, new) and _is_new(orelse, new)
        case ir.Call(func, args):
            function = _value(func)
            if isinstance(function, np.ufunc) and not expr.kwargs:
                return len(args) <= function.nin
            return getattr(function, "__module__", "") == _SHAPES and bool(args) and _is_new(args[0], new)
    return False


def _lets(steps: Steps) -> Iterator[Let]:
    for step in steps:
        if isinstance(step, Let):
            yield step
        else:
            yield from _lets((*step.body, *step.orelse))


def _may_give_thunks(expr: ir.Expr) -> bool:
    """Whether an expression calls something else than a method or a function of a library."""
    function = _value(expr.func) if isinstance(expr, ir.Call) else None
    module = root_module(function)
    library = isinstance(function, np.ufunc) or module in LIBRARIES or module in sys.stdlib_module_names
    return function is Thunk or not (function is None or library)


def _value(func: ir.Expr) -> Any:
    """What a dotted name stands for; None if that is not known."""
    if isinstance(func, ir.Static):
        return func.value
    return getattr(_value(func.value), func.name, None) if isinstance(func, ir.Attr) else None


def _returned(node: gast.Return) -> str:
    match node.value:
        case gast.Tuple(elts=[gast.Name(id=result), gast.Name()]):
            return result  # type: ignore[no-any-return]
    raise NotInlinable


def is_docstring(node: gast.AST) -> bool:
    return isinstance(node, gast.Expr) and isinstance(node.value, gast.Constant)


def _is_none(node: gast.AST) -> bool:
    no_tangent = isinstance(node, gast.Name) and node.id in ("NO_TANGENT", "ZERO")
    return no_tangent or (isinstance(node, gast.Constant) and node.value is None)


class TextReader:
    """Reads the pure expressions of a rule's text; free names are resolved in the rule's own module."""

    def __init__(self, function: Any, known: set[str]) -> None:
        self.globals = function.__globals__
        self.closure = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
        self.known = known

    def steps(self, nodes: list[gast.AST]) -> Steps:
        out: list[Let | Choose] = []
        for node in nodes:
            match node:
                case gast.Assign(targets=[gast.Name(id=name)]):
                    out.append(Let(name, self.expr(node.value)))
                    self.known.add(name)
                case gast.Assign(targets=[gast.Tuple(elts=names)]) if isinstance(node.value, gast.Tuple):
                    values = [self.expr(v) for v in node.value.elts]
                    out.extend(Let(n.id, v) for n, v in zip(names, values, strict=True))
                    self.known |= {n.id for n in names}
                case gast.If():
                    out.append(Choose(self.expr(node.test), self.steps(node.body), self.steps(node.orelse)))
                case gast.Pass():
                    pass
                case _:
                    raise NotInlinable
        return tuple(out)

    def expr(self, node: Any) -> ir.Expr:  # noqa: C901  one case per form
        """An expression of a rule; NotInlinable if the IR has no form for it."""
        match node:
            case gast.Constant():
                return ir.Const(node.value)
            case gast.Name():
                return ir.Name(node.id) if node.id in self.known else self.free(node.id)
            case gast.BinOp():
                return ir.Op(BINARY[type(node.op)], (self.expr(node.left), self.expr(node.right)))
            case gast.UnaryOp():
                op, operand = UNARY[type(node.op)], self.expr(node.operand)
                negative = op == "-" and isinstance(operand, ir.Const)
                return ir.Const(-operand.value) if negative else ir.Op(op, (operand,))  # type: ignore[attr-defined]
            case gast.Compare(ops=[op], comparators=[right]):
                return ir.Op(COMPARE[type(op)], (self.expr(node.left), self.expr(right)))
            case gast.Compare():  # a chain of pure expressions
                values = [self.expr(v) for v in (node.left, *node.comparators)]
                pairs = zip(node.ops, values, values[1:], strict=False)
                return ir.BoolOp("and", tuple(ir.Op(COMPARE[type(op)], (a, b)) for op, a, b in pairs))
            case gast.BoolOp():
                return ir.BoolOp("and" if isinstance(node.op, gast.And) else "or", tuple(map(self.expr, node.values)))
            case gast.IfExp():
                return ir.IfExp(self.expr(node.test), self.expr(node.body), self.expr(node.orelse))
            case gast.Attribute():
                return ir.Attr(self.expr(node.value), node.attr)
            case gast.Subscript():
                return ir.Item(self.expr(node.value), self.index(node.slice))
            case gast.Tuple() | gast.List():
                form = "tuple" if isinstance(node, gast.Tuple) else "list"
                return ir.Seq(form, tuple(self.star(e) for e in node.elts))
            case gast.Call():
                kwargs = tuple((k.arg, self.expr(k.value)) for k in node.keywords)
                return ir.Call(self.expr(node.func), tuple(self.star(a) for a in node.args), kwargs)
        raise NotInlinable

    def star(self, node: Any) -> ir.Expr:
        return ir.Star(self.expr(node.value)) if isinstance(node, gast.Starred) else self.expr(node)

    def index(self, node: Any) -> ir.Expr:
        match node:
            case gast.Slice():
                return ir.Slice(*(p if p is None else self.expr(p) for p in (node.lower, node.upper, node.step)))
            case gast.Tuple():
                return ir.Seq("tuple", tuple(map(self.index, node.elts)))
        return self.expr(node)

    def free(self, name: str) -> ir.Expr:
        for space in (self.closure, self.globals, vars(builtins)):
            if name in space:
                return ir.Static(space[name], name)
        raise NotInlinable
