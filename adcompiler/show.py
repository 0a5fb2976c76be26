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

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gast

from adcompiler import ir
from adcompiler.activity import activity
from adcompiler.callees import (
    Build,
    Copied,
    Drain,
    Dynamic,
    Gathered,
    Hooked,
    InertCall,
    Into,
    Iteration,
    Load,
    Make,
    Missing,
    Move,
    PairCall,
    PathLoad,
    PlaceCall,
    Pull,
    Relay,
    RuleCall,
    Spread,
    WriteCall,
)
from adcompiler.emit import Emitter, to_source
from adcompiler.lattice import (
    Array,
    Closure,
    DictOfKinds,
    Foreign,
    Heap,
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
    SliceOf,
    Stream,
    TupleOf,
    can_be_active,
    is_real,
)
from adcompiler.pair import Pair
from adcompiler.rules.registry import Rule, key_name
from adcompiler.ruletext import rule_text
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
    if isinstance(stmt, ir.Store) and stmt.kinds is not None:
        return "a write"
    known = "" if getattr(stmt, "kind", None) is None else kind(stmt.kind)
    value = stmt.iterable if isinstance(stmt, ir.For) else getattr(stmt, "value", None)
    how = callee(value.callee) if isinstance(value, ir.Apply) else ""
    return ", ".join(part for part in (known, how) if part)


def passes_on(stmt: Any, active: Active) -> bool:
    """Whether a statement makes something that carries a derivative, or writes into it."""
    value = stmt.iterable if isinstance(stmt, ir.For) else getattr(stmt, "value", None)
    if isinstance(stmt, ir.Store) and stmt.kinds is not None:
        return is_active(stmt.place.value, active) or is_active(value, active)
    if isinstance(value, ir.Apply) and isinstance(value.callee, WriteCall):
        return is_active(value, active)
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
        case Foreign(cls):
            return f"a {cls.__name__}"
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
        case Heap(cls):
            return f"{cls.__name__} of the program"
        case Stream(item):
            return "a generator" if item is None else f"a generator of {kind(item)}"
        case SliceOf():
            return "slice"
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
    return WORDS[type(found)].short(found)


@dataclass(frozen=True)
class Words:
    """What is said of a callee: in a few words, by its category, and why where it is differentiated."""

    short: Callable[[Any], str]
    category: str
    reason: Callable[[Any], str]


def _words(short: str, category: str, reason: str) -> Words:
    return Words(lambda _: short, category, lambda _: reason)


def _by_rule(found: RuleCall) -> str:
    form = "its text inlined" if rule_text(found.rule) is not None else "called as it stands"
    others = f", then {len(found.rules) - 1} more if it declines" if len(found.rules) > 1 else ""
    return f"{found.rule.name} for {key_name(found.key)} ({place(found.rule)}), {form}{others}"


def _by_source(found: PairCall) -> str:
    source, name = found.spec.function.source, found.spec.name.strip("_")
    return f"{name} is compiled from its source ({located(source.file, source.first_line)})"


def _operand(found: Dynamic) -> str:
    return "the function" if found.key is None else "the types of the operands"


WRITTEN = "its cotangent is taken from the shadow of the array's memory"

WORDS: dict[type, Words] = {
    RuleCall: Words(lambda found: f"by the rule {found.rule.name}", "rule", _by_rule),
    PairCall: Words(lambda found: f"by the pair of {found.spec.name.strip('_')}", "recursion", _by_source),
    InertCall: Words(lambda found: f"inert: {found.why}", "inert", lambda found: str(found.why)),
    Missing: Words(lambda _: "no derivative", "refused", lambda found: str(found.error).splitlines()[0]),
    Dynamic: Words(
        lambda _: "at run time", "dynamic", lambda found: f"{_operand(found)} will be known at run time only"
    ),
    Spread: _words("at run time", "dynamic", "the number of its arguments will be known at run time only"),
    PlaceCall: Words(
        lambda found: f"a place: {found.operation.name}", "place",
        lambda found: f"cotangents of what is {'written' if found.operation.stores else 'read'} are kept by identity",
    ),
    WriteCall: Words(lambda found: f"a write: {found.write.name}", "write", lambda _: WRITTEN),
    Into: Words(lambda found: f"a write: {callee(found.inner.callee)}", "write", lambda _: WRITTEN),
    Build: _words("a display", "display", "each item gets its part of the cotangent"),
    Make: _words("a new object", "display", "each field gets its part of the cotangent"),
    Gathered: _words("collected", "display", "each item that was collected gets its part of the cotangent"),
    Copied: _words("a copy", "moved", "its cotangent is that of the value"),
    Hooked: _words("a hook", "moved", "its function sees the cotangent of this use, and may replace it"),
    Move: _words("moved", "moved", "each entry's cotangent goes to where it came from"),
    Load: _words("an item", "item", "its cotangent goes into the container's"),
    PathLoad: Words(lambda _: "an item", "item", lambda found: f"its cotangent goes into that of {found.param}"),
    Pull: _words("the next item of a generator", "generator", "its cotangent goes to what was yielded"),
    Drain: _words("the items of a generator", "generator", "each item's cotangent goes to what was yielded"),
    Relay: _words("items of a generator", "generator", "each item's cotangent goes to what was yielded"),
    Iteration: Words(
        lambda found: type(found.plan).__name__.lower(), "loop",
        lambda _: "each item's cotangent goes into what the loop runs over",
    ),
}  # fmt: skip


# --- places in files --------------------------------------------------------------------------------------


def place(rule: Rule) -> str:
    """The file and line of a rule."""
    written = getattr(rule.function, "written", rule.function)  # where the table is that a rule was made of
    code = getattr(rule.partials[0] if rule.partials else written, "__code__", None)
    return located(code.co_filename, code.co_firstlineno) if code else rule.name


def located(file: str, line: int) -> str:
    """`file:line`, relative to the current folder for what lies in it."""
    if not file.startswith("<"):
        near = os.path.relpath(file)
        file = file if near.startswith("..") else near
    return f"{file}:{line}"


# --- code -------------------------------------------------------------------------------------------------


def expression(expr: Any) -> str:
    """The text of an expression, objects of the compiler's under their suggested names."""
    return source(gast.Expr(value=_emitter().expr(expr)))


def _target(target: ir.Target) -> str:
    if isinstance(target, str):
        return target
    items = [f"({_target(t)})" if isinstance(t, ir.Targets) else t for t in target.items]
    return ", ".join(f"{'*' if i == target.star else ''}{t}" for i, t in enumerate(items))


def _code(stmt: ir.Stmt) -> list[str]:
    """The lines of a statement without blocks."""
    return [line for node in _emitter().stmt(stmt) for line in source(node).split("\n")]


def source(node: gast.AST) -> str:
    """The text of a statement of the syntax tree."""
    return to_source(gast.Module(body=[node], type_ignores=[])).strip("\n")


def _emitter() -> Emitter:
    return Emitter(lambda static: static.spelling)
