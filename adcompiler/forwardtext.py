"""The text of a forward rule as a template, as `ruletext` has those of reverse rules.

    def divide(tangents, a, b):               params    a, b
        a_dot, b_dot = tangents               tangents  a → a_dot, b → b_dot
        y = a / b                             steps     y := a / b
        return y, (a_dot - y * b_dot) / b     result y, entry (a_dot - y * b_dot) / b

A rule whose text has another form has no template and is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import gast

from adcompiler import ir
from adcompiler.errors import SourceNotFoundError
from adcompiler.instantiate import Filler
from adcompiler.lattice import Kind
from adcompiler.parse import parse
from adcompiler.rules.registry import Rule
from adcompiler.ruletext import Choose, Let, NotInlinable, RuleText, Steps, TextReader, is_docstring
from adcompiler.scope import parameters


@dataclass(frozen=True)
class ForwardText:
    """A forward rule: `tangents` are the names of its operands' tangents, `entry` the tangent of its `result`."""

    params: tuple[str, ...]
    tangents: dict[str, str]
    steps: Steps
    result: str
    entry: ir.Expr | None  # None: the sum of `partials` times tangents
    partials: dict[str, ir.Expr]


@dataclass(frozen=True)
class Filled:
    """A template filled in: assignments, then the tangent, over the operands, their tangents and the result."""

    lets: tuple[Let, ...]
    tangent: ir.Expr


@cache
def partials_text(rule: Rule) -> ForwardText | None:
    """The template of a `scalar_rule`."""
    names = tuple(rule.signature.parameters)
    partials = {}
    try:
        for name, partial in zip(names, rule.partials, strict=True):
            node = parse(partial).node
            partials[name] = TextReader(partial, set(parameters(node))).expr(node.body)
    except (NotInlinable, SourceNotFoundError):
        return None
    return ForwardText(names, {n: f"{n}_dot" for n in names}, (), "out", None, partials)


@cache
def forward_text(function: Any) -> ForwardText | None:
    """The template of an `frule`; None if it is called as it stands."""
    try:
        return _from_function(function)
    except (NotInlinable, SourceNotFoundError):
        return None


def _from_function(function: Any) -> ForwardText:
    node = parse(function).node
    if not isinstance(node, gast.FunctionDef):
        raise NotInlinable
    first, *params = parameters(node)
    reader = _TangentReader(function, set(params), first, tuple(params))
    body = [s for s in node.body if not is_docstring(s)]
    steps = reader.steps(body[:-1])
    match body[-1]:
        case gast.Return(value=gast.Tuple(elts=[gast.Name(id=result), entry])) if result not in params:
            return ForwardText(tuple(params), reader.names, _once(steps), result, reader.expr(entry), {})
    raise NotInlinable


def _once(steps: Steps) -> Steps:
    """The steps, if no name is bound twice on one path."""

    def bound(steps: Steps) -> set[str]:
        names: set[str] = set()
        for step in steps:
            new = {step.name} if isinstance(step, Let) else bound(step.body) | bound(step.orelse)
            if names & new:
                raise NotInlinable
            names |= new
        return names

    bound(steps)
    return steps


class _TangentReader(TextReader):
    """Reads the text of a forward rule: the entries of its first parameter get the names of tangents."""

    def __init__(self, function: Any, known: set[str], tangents: str, params: tuple[str, ...]) -> None:
        super().__init__(function, known)
        self.tangents = tangents
        self.params = params
        self.names = {p: f"{p}_dot" for p in params}

    def steps(self, nodes: list[gast.AST]) -> Steps:
        out: list[Let | Choose] = []
        for node in nodes:
            match node:
                case gast.Assign(targets=[gast.Tuple(elts=targets)], value=gast.Name(id=name)) if name == self.tangents:
                    if len(targets) != len(self.params) or not all(isinstance(t, gast.Name) for t in targets):
                        raise NotInlinable
                    self.names = {p: t.id for p, t in zip(self.params, targets, strict=True)}
                    self.known |= set(self.names.values())
                case _:
                    out.extend(super().steps([node]))
        return tuple(out)

    def expr(self, node: Any) -> ir.Expr:
        match node:
            case gast.Subscript(value=gast.Name(id=name), slice=gast.Constant(value=int(i))) if name == self.tangents:
                return ir.Name(self.names[self.params[i]])
            case gast.Name(id=name) if name == self.tangents:
                raise NotInlinable
        return super().expr(node)


def filled(text: ForwardText, operands: dict[str, Kind], active: list[str], result: Kind) -> Filled:
    """The template for the kinds of the operands, of which some are active; NotInlinable if an arm is not known."""
    as_rule = RuleText(text.params, text.steps, text.result, "", (), ())
    tangents = {text.tangents[p]: operands[p] for p in active}
    filler = Filler(as_rule, {**operands, **tangents}, result, strict=True, present=frozenset(tangents))
    filler.constants |= {t: None for p, t in text.tangents.items() if p not in active}
    lets = filler.assignments()
    if text.entry is not None:
        return Filled(tuple(let for let in lets if let.name != text.result), filler.simplify(text.entry))
    terms = [ir.Op("*", (filler.simplify(text.partials[p]), ir.Name(text.tangents[p]))) for p in active]
    total: ir.Expr = terms[0]
    for term in terms[1:]:
        total = ir.Op("+", (total, term))
    return Filled((), total)


__all__ = ["Filled", "ForwardText", "filled", "forward_text", "partials_text"]
