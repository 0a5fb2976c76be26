"""The stages between the passes as readable text: one line per statement, the user's line number before it.

    relax(*x: array[2], w: array[2], steps: int) → float

      2    for _ in range(steps):
      3        t1 = np.sum(x)           : float, by the rule sum
      3        t2 = t1 > 0              : int array[0], a test
      3        if t2:
      4  *         t3 = x @ w           : array[2], by the rule matmul

After `:` stand the kind of the value and how the operation is differentiated; `*` marks what carries a derivative.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gast

from adcompiler import ir
from adcompiler.activity import activity
from adcompiler.callees import (
    Build,
    Dynamic,
    InertCall,
    Iteration,
    Load,
    Missing,
    Move,
    PairCall,
    PathLoad,
    RuleCall,
    Spread,
)
from adcompiler.emit import Emitter, to_source
from adcompiler.lattice import (
    Array,
    Closure,
    DictOfKinds,
    Inert,
    Instance,
    Int,
    IntArray,
    Known,
    ListOf,
    MapOf,
    Number,
    Observed,
    Scalar,
    TupleOf,
    can_be_active,
    is_real,
)
from adcompiler.pair import Pair
from adcompiler.spec import Spec

_WIDTH = 44  # where the kinds stand

Active = frozenset[str]
Mark = Callable[[ir.Stmt], bool]


# --- stages -----------------------------------------------------------------------------------------------


def parse(spec: Spec) -> str:
    """The syntax tree of a function, without what says nothing."""
    tree = gast.dump(spec.function.source.node, indent=2)
    tree = re.sub(r",\s*(annotation|type_comment|kind|returns|vararg|kwarg)=None", "", tree)
    tree = re.sub(r"\(\s+(id='\w+'),\s+(ctx=\w+\(\))\)", r"(\1, \2)", tree)
    return re.sub(r"\[\s+(\w+\(\))\]", r"[\1]", tree)


def lower(spec: Spec) -> str:
    """The IR of a function as `lower` made it."""
    return _text(f"{spec.name}({', '.join(spec.params)})", spec.function.body)


def kinds(spec: Spec) -> str:
    """The IR of a function with kinds and callees."""
    return _text(_head(spec), spec.body)


def activity_of(spec: Spec, mask: tuple[bool, ...]) -> str:
    """The IR of a function with the statements marked that pass a derivative on."""
    before = activity(spec, mask).before
    return _text(_head(spec, mask), spec.body, lambda stmt: passes_on(stmt, before.get(id(stmt), frozenset())))


def pair(found: Pair, forward: ir.Block, backward: ir.Block, done: bool = False) -> str:
    """The IR of a pair; `done` if its blocks end in `return` as the text does."""
    results = "" if done else f" → {', '.join(map(expression, found.results))}"
    saved = "" if done else f" → value, ({', '.join(found.saved)})"
    first = _text(f"{found.forward_name}({', '.join(found.params)}){saved}", forward)
    second = _text(f"{found.backward_name}(({', '.join(found.saved)}), {found.cotangent}){results}", backward)
    return f"{first}\n\n{second}"


def _head(spec: Spec, mask: tuple[bool, ...] = ()) -> str:
    marks = [*mask, *(False for _ in spec.params)]
    params = [f"{'*' if on else ''}{p}: {kind(k)}" for p, k, on in zip(spec.params, spec.kinds, marks, strict=False)]
    return f"{spec.name}({', '.join(params)}) → {kind(spec.result)}"


# --- blocks -----------------------------------------------------------------------------------------------


def _text(head: str, block: ir.Block, mark: Mark = lambda _: False) -> str:
    return "\n".join([head, "", *(line.text() for line in _lines(block, mark, 0))])


@dataclass(frozen=True)
class _Line:
    stmt: ir.Stmt
    depth: int
    code: str
    note: str = ""
    marked: bool = False

    def text(self) -> str:
        number = self.stmt.origin.line if self.stmt.origin else ""
        code = f"{number:>4}  {'*' if self.marked else ' '} {'    ' * self.depth}{self.code}"
        return f"{code:<{_WIDTH}}  : {self.note}" if self.note else code


def _lines(block: ir.Block, mark: Mark, depth: int) -> Iterator[_Line]:
    for stmt in block:
        yield from _statement(stmt, mark, depth)


def _statement(stmt: Any, mark: Mark, depth: int) -> Iterator[_Line]:
    """The lines of a statement and of its blocks."""

    def line(code: str, note: str = "") -> _Line:
        return _Line(stmt, depth, code, note, marked=bool(note) and mark(stmt))

    match stmt:
        case ir.If(test, body, orelse):
            parts = [(f"if {expression(test)}:", body), ("else:", orelse)]
        case ir.For(target, iterable, body, orelse):
            parts = [(f"for {_target(target)} in {expression(iterable)}:", body), ("else:", orelse)]
        case ir.While(head, test, body, orelse):
            loop = [("while:", head), (f"test {expression(test)}:", body)]
            parts = [*(loop if head else [(f"while {expression(test)}:", body)]), ("else:", orelse)]
        case ir.Gather(target, spelled, _, body):
            parts = [(f"{target} = {expression(spelled)}:", body)]
        case ir.With(item, target, body):
            parts = [(f"with {expression(item)}{f' as {target}' if target else ''}:", body)]
        case ir.Try(body, handlers, orelse, final):
            caught = [(_except(h), h.body) for h in handlers]
            parts = [("try:", body), *caught, ("else:", orelse), ("finally:", final)]
        case _:
            first, *rest = _code(stmt)
            yield line(first, _note(stmt))
            yield from (line(text) for text in rest)
            return
    for i, (code, inner) in enumerate(parts):
        if i == 0 or inner or code.startswith("except"):
            yield line(code, _note(stmt) if i == 0 else "")
            yield from _lines(inner, mark, depth + 1)


def _except(handler: ir.Handler) -> str:
    """The head of a handler."""
    test = "" if handler.test is None else f" {expression(handler.test)}"
    return f"except{test}{f' as {handler.name}' if handler.name else ''}:"


def _note(stmt: Any) -> str:
    """The kind of a statement's value, and how the operation is differentiated."""
    known = "" if getattr(stmt, "kind", None) is None else kind(stmt.kind)
    value = stmt.iterable if isinstance(stmt, ir.For) else getattr(stmt, "value", None)
    how = callee(value.callee) if isinstance(value, ir.Apply) else ""
    return ", ".join(part for part in (known, how) if part)


def passes_on(stmt: Any, active: Active) -> bool:
    """Whether a statement makes something that carries a derivative."""
    value = stmt.iterable if isinstance(stmt, ir.For) else getattr(stmt, "value", None)
    if not isinstance(value, ir.Expr) or not can_be_active(getattr(stmt, "kind", None)):
        return False
    return is_active(value, active)


def is_active(value: Any, active: Active) -> bool:
    """Whether an operation is differentiated: it is not inert, and reads something that carries a derivative."""
    if isinstance(value, ir.Apply):
        inert = isinstance(value.callee, InertCall | Missing)
        return not inert and any(is_active(a, active) for a in (*value.args, value.spelled))
    if isinstance(value, tuple):
        return any(is_active(v, active) for v in value)
    return isinstance(value, ir.Expr) and any(n in active for n in ir.reads(value))


# --- words ------------------------------------------------------------------------------------------------


def kind(found: Any) -> str:  # noqa: C901  one case per kind
    """A kind in a few words.

    >>> kind(TupleOf((Array(2), Int(), Known(None))))
    '(array[2], int, None)'
    """
    match found:
        case None:
            return "not reached"
        case Int() | IntArray() | Scalar() | Array() | Number():
            return _number(found)
        case Inert():
            return "inert"
        case Known(value):
            return getattr(value, "__name__", None) or repr(value)
        case TupleOf(items) | ListOf(tuple() as items):
            left, right = "()" if isinstance(found, TupleOf) else "[]"
            return f"{left}{', '.join(map(kind, items))}{right}"
        case ListOf(_, item):
            return f"list of {kind(item)}"
        case DictOfKinds(keys, items):
            return "{" + ", ".join(f"{k!r}: {kind(v)}" for k, v in zip(keys, items, strict=True)) + "}"
        case MapOf(item):
            return f"dict of {kind(item)}"
        case Instance(cls):
            return cls.__name__
        case Observed(_, value):
            return type(value).__name__
        case Closure():
            return f"the function {found.name.strip('_')}"
    return "unknown"


def _number(found: Any) -> str:
    match found:
        case Int():
            return "int"
        case IntArray(ndim):
            return f"int array{_rank(ndim)}"
        case Scalar(real):
            return "float" if real else "complex"
        case Array(ndim, real):
            return f"{'' if real else 'complex '}array{_rank(ndim)}"
    return f"{'' if is_real(found) else 'complex '}number or array"


def _rank(ndim: int | None) -> str:
    return "" if ndim is None else f"[{ndim}]"


def callee(found: Any) -> str:
    """How an operation is differentiated, in a few words."""
    match found:
        case RuleCall():
            return f"by the rule {found.rule.name}"
        case PairCall(spec):
            return f"by the pair of {spec.name.strip('_')}"
        case InertCall(why):
            return f"inert: {why}"
        case Build():
            return "a display"
        case Move():
            return "moved"
        case Load() | PathLoad():
            return "an item"
        case Dynamic() | Spread():
            return "at run time"
        case Missing():
            return "no derivative"
        case Iteration(plan):
            return type(plan).__name__.lower()
    return ""


# --- code -------------------------------------------------------------------------------------------------


def expression(expr: Any) -> str:
    """The text of an expression, objects of the compiler's under their suggested names."""
    return _source(gast.Expr(value=_emitter().expr(expr)))


def _target(target: ir.Target) -> str:
    if isinstance(target, str):
        return target
    items = [f"({_target(t)})" if isinstance(t, ir.Targets) else t for t in target.items]
    return ", ".join(f"{'*' if i == target.star else ''}{t}" for i, t in enumerate(items))


def _code(stmt: ir.Stmt) -> list[str]:
    """The lines of a statement without blocks."""
    return [line for node in _emitter().stmt(stmt) for line in _source(node).split("\n")]


def _source(node: gast.AST) -> str:
    return to_source(gast.Module(body=[node], type_ignores=[])).strip("\n")


def _emitter() -> Emitter:
    return Emitter(lambda static: static.spelling)
