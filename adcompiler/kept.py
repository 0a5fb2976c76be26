"""What the record of a pair holds, entry by entry: which line it belongs to, and how users know it.

    loss_forward → value, (h, h_shape, trace1)        h        the value that line 7 makes
                                                      h_shape  the shape of it
                                                      trace1   of the loop in line 9: for each iteration (z, saved1)

A layout is made when a pullback is compiled, and refers to no value: what a pullback was compiled for must not stay in
memory for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from adcompiler import ir
from adcompiler.callees import PairCall
from adcompiler.errors import Origin, definition_of
from adcompiler.instantiate import FACTS
from adcompiler.pair import Pair
from adcompiler.runtime.containers import form, snapshot
from adcompiler.runtime.held import all_as_it_was, as_it_was
from adcompiler.runtime.shadows import refer
from adcompiler.spec import Root

if TYPE_CHECKING:
    from adcompiler.pipeline import Compiled

_ATTRIBUTE = "__adcompiler_kept__"
_COPIES = (snapshot, as_it_was, all_as_it_was)
_FACTS = (*FACTS, form, len)

# How close to where its memory came from a name is: that line counts for it.
MADE, RETURNED, TAKEN, GIVEN = range(4)


@dataclass(frozen=True, eq=False)
class Source:
    """Where a value came from: the line, how users know it, and how close to the line its memory came from there."""

    origin: Origin | None
    text: str
    role: str = "value"  # "copy" of what is written into, "fact" about a value, "argument", "rule": kept by one
    rank: int = MADE
    callee: Pair | None = None  # the record of a compiled function


@dataclass(frozen=True, eq=False)
class Slot:
    """An entry of a record; `layout` if it is the record of a callee, `entries` for each iteration of a loop."""

    name: str
    source: Source
    layout: Layout | None = None
    entries: tuple[Slot, ...] | None = None
    kind: Any = None  # where values are described that are not there


@dataclass(eq=False)
class Layout:
    """The entries of the record of a pair."""

    name: str
    origin: Origin | None
    slots: tuple[Slot, ...] = ()


@dataclass(frozen=True, eq=False)
class Plan:
    """What is known when a pullback is compiled: what its record holds, and what its program reads from outside."""

    layout: Layout
    outside: tuple[Root, ...] = ()


class Kept(NamedTuple):
    """What one pullback keeps: its record, as long as it is there, and what its user knows of anyway."""

    plan: Plan
    records: list[Any]
    arguments: tuple[Any, ...] = ()
    value: Any = None


def remembered(function: Any, kept: Kept | None) -> Any:
    """The function, which now tells what it keeps."""
    setattr(function, _ATTRIBUTE, kept)
    return function


def kept_by(function: Any) -> Kept | None:
    """What a pullback keeps; None of other functions."""
    found = function.__dict__.get(_ATTRIBUTE) if isinstance(function, FunctionType) else None
    return found if isinstance(found, Kept) else None


def plan_of(compiled: Compiled, kinds: bool = False) -> Plan:
    """The plan of a compilation; with `kinds` also what kind of value each entry is."""
    outside = {g.path[0]: None for g in compiled.program.guards.values() if isinstance(g.path[0], Root)}
    roots = tuple(root for root in outside if root.form != "arg")
    return Plan(layouts(compiled.pair, kinds)[compiled.pair], roots)


def plan_of_rule(f: Any) -> Plan:
    """The plan of a function with a rule, whose pullback is all there is."""
    name = getattr(f, "__qualname__", getattr(f, "__name__", type(f).__name__))
    origin = definition_of(f) if hasattr(f, "__code__") else Origin("", 0, name, 0, len(name))
    return Plan(Layout(name, origin, (Slot("saved", Source(origin, name, "rule")),)))


def layouts(root: Pair, kinds: bool = False) -> dict[Pair, Layout]:
    """The layouts of a pair and of all pairs that it calls."""
    found: dict[Pair, Layout] = {}
    todo = [root]

    def layout_of(pair: Pair) -> Layout:
        if pair not in found:
            source = pair.spec.function.source
            line = source.lines[source.first_line - 1].strip()
            origin = Origin(source.file, source.first_line, line, 0, len(line))
            found[pair] = Layout(pair.spec.name.strip("_") or "a lambda", origin)
            todo.append(pair)
        return found[pair]

    layout_of(root)
    done: set[Pair] = set()
    while todo:
        pair = todo.pop()
        if pair not in done:
            done.add(pair)
            found[pair].slots = tuple(_Reader(pair, found[pair].origin, layout_of, kinds).slots())
    return found


Env = dict[str, tuple[Source, ...]]  # a name → where its value may have come from


@dataclass(eq=False)
class _Trace:
    """The record of a loop: the names of an entry, and what they may be there."""

    loop: Any
    names: tuple[str, ...] = ()
    env: Env = field(default_factory=dict)


class _Reader:
    """Follows the forward of a pair from top to bottom: which statements give a name the value that is recorded."""

    def __init__(self, pair: Pair, origin: Origin | None, layout_of: Any, kinds: bool) -> None:
        function = pair.spec.function
        self.pair = pair
        self.origin = origin
        self.layout_of = layout_of
        self.kinds: dict[str, Any] | None = dict(pair.spec.name_kinds) if kinds else None
        self.users = function.locals | function.cells | frozenset(pair.params)
        self.made: dict[tuple[int, str], Source] = {}
        self.traces: dict[str, _Trace] = {}
        self.loops: list[Any] = []

    def slots(self) -> list[Slot]:
        """The entries of the pair's record."""
        params: Env = {p: (Source(self.origin, p, "argument", GIVEN),) for p in self.pair.params}
        env = self.block(self.pair.forward, params)
        return [self.slot(name, env) for name in self.pair.saved]

    def slot(self, name: str, env: Env) -> Slot:
        """The entry under a name, which has the value that it has in `env`."""
        if name in self.traces:
            trace = self.traces[name]
            source = Source(trace.loop.origin if trace.loop else self.origin, "iterations", "loop")
            return Slot(name, source, entries=tuple(self.slot(n, trace.env) for n in trace.names))
        sources = env.get(name, ())
        last = sources[-1] if sources else Source(self.origin, name, "fact")
        others = sorted({s.origin.line for s in sources if s.origin} - {last.origin.line if last.origin else 0})
        if others and last.callee is None and last.role != "fact":
            text = f"{last.text} (or of line {' or '.join(map(str, others))})"
            last = Source(last.origin, text, last.role, last.rank)
        layout = None if last.callee is None else self.layout_of(last.callee)
        kind = None if self.kinds is None else self.kinds.get(name)
        # The plan lives as long as the pullbacks, the pair with all that was compiled need not.
        return Slot(name, replace(last, callee=None), layout, kind=kind)

    # --- statements -------------------------------------------------------------------------------------

    def block(self, block: ir.Block, env: Env) -> Env:
        """The sources at the end of a block, which starts with those in `env`."""
        for stmt in block:
            env = self.statement(stmt, env)
        return env

    def statement(self, stmt: Any, env: Env) -> Env:
        """The sources after a statement."""
        match stmt:
            case ir.Do(ir.Call(ir.Attr(ir.Name(trace), "append"), (entry,)), None) if trace not in self.users:
                self.recorded(trace, entry, env)
                return env
            case ir.If(_, body, orelse):
                return _joined(self.block(body, env), self.block(orelse, env))
            case ir.For() | ir.While() | ir.Gather():
                return self.loop(stmt, env)
            case ir.Try() | ir.With():
                out = env
                for part in ir.blocks(stmt):
                    out = _joined(out, self.block(part, out))
                return out | {name: (self.source(stmt, name, env),) for name in _own(stmt)}
            case ir.Clear() | ir.Delete():
                return {name: sources for name, sources in env.items() if name not in stmt.names}
            case ir.Assign(target, ir.Name(name)) if name in env:
                self.seen(stmt)
                return env | {target: env[name]}
        self.seen(stmt)
        return env | {name: (self.source(stmt, name, env),) for name in _own(stmt)}

    def loop(self, stmt: Any, env: Env) -> Env:
        """A loop: what its body binds may be from the iteration before."""
        self.loops.append(stmt)
        targets = {name: (self.source(stmt, name, env),) for name in _own(stmt)}
        *body, orelse = (stmt.body, ()) if isinstance(stmt, ir.Gather) else ir.blocks(stmt)
        out = env
        for _ in range(2):
            start = out | (targets if isinstance(stmt, ir.For) else {})
            for part in body:
                start = self.block(part, start)
            out = _joined(out, start)
        self.loops.pop()
        out = out | targets if isinstance(stmt, ir.Gather) else out
        return _joined(out, self.block(orelse, out)) if orelse else out

    def recorded(self, trace: str, entry: ir.Expr, env: Env) -> None:
        """An iteration's values are put at the end of its loop's record."""
        found = self.traces.setdefault(trace, _Trace(self.loops[-1] if self.loops else None))
        found.names = tuple(e.id for e in (entry.items if isinstance(entry, ir.Seq) else (entry,)))  # type: ignore[attr-defined]
        found.env = _joined(found.env, env)

    def seen(self, stmt: Any) -> None:
        """Note the kinds of what a statement of the compiler's binds."""
        if self.kinds is not None and isinstance(stmt, ir.Assign):
            if stmt.kind is not None:
                self.kinds.setdefault(stmt.target, stmt.kind)
            elif isinstance(stmt.value, ir.Name):
                self.kinds.setdefault(stmt.target, self.kinds.get(stmt.value.id))

    # --- sources ----------------------------------------------------------------------------------------

    def source(self, stmt: Any, name: str, env: Env) -> Source:
        """Where the value comes from that a statement gives to a name."""
        key = id(stmt), name
        if key not in self.made:
            self.made[key] = self._source(stmt, name, env)
        return self.made[key]

    def _source(self, stmt: Any, name: str, env: Env) -> Source:
        origin = stmt.origin
        value = getattr(stmt, "value", None)
        if origin is None and isinstance(stmt, ir.Assign):
            kept = self.of_compiler(stmt, env)
            if kept is not None:
                return kept
        if isinstance(stmt, ir.Unpack) and isinstance(value, ir.Call) and name not in self.users:
            return self.of_call(stmt, name, value)
        text = name if name in self.users else _written(origin) or name
        if isinstance(stmt, ir.For) and name not in self.users:
            text = "an item"
        called = isinstance(value, ir.Call) or (isinstance(value, ir.Apply) and isinstance(value.callee, PairCall))
        rank = TAKEN if isinstance(stmt, ir.For) else RETURNED if called else MADE
        return Source(origin, text, "value", rank)

    def of_compiler(self, stmt: ir.Assign, env: Env) -> Source | None:
        """What the forward keeps beside what the user computes."""
        match stmt.value:
            case ir.Attr(ir.Name(of), fact):
                return self.fact(fact, of, env)
            case ir.Call(ir.Static(function), (ir.Name(of),)) if function in _FACTS:
                return self.fact(function.__name__, of, env)
            case ir.Call(ir.Static(function), (ir.Name(of),)) if function is refer:
                return self.fact("place", of, env)
            case ir.Call(ir.Static(function), (of,)) if function in _COPIES:
                text = self.known(of, env)
                return Source(stmt.cause, text or _written(stmt.cause), "copy" if text else "rule")
            case ir.Global(text):
                return Source(self.origin, text, "value", GIVEN)
        return None if stmt.cause is None else Source(stmt.cause, _written(stmt.cause), "rule")

    def of_call(self, stmt: ir.Unpack, name: str, call: ir.Call) -> Source:
        """The value and the record of a function, whose pair is known or found at run time."""
        first, *_ = stmt.target.names()
        if name == first:
            return Source(stmt.origin, _written(stmt.origin) or name, "value", RETURNED)
        pair = _pair_in(call)
        if pair is None:
            return Source(stmt.origin, _written(stmt.origin), "rule", TAKEN)
        return Source(stmt.origin, f"the record of {pair.spec.name.strip('_')}()", "fact", TAKEN, pair)

    def known(self, expr: Any, env: Env) -> str:
        """How users know an operand; nothing if it is none of their values."""
        if isinstance(expr, ir.Global):
            return expr.id
        if not isinstance(expr, ir.Name):
            return ""
        return expr.id if expr.id in self.users else next((s.text for s in env.get(expr.id, ())), "")

    def fact(self, what: str, of: str, env: Env) -> Source:
        """A shape or the like."""
        sources = env.get(of, ())
        origin = sources[-1].origin if sources else self.origin
        return Source(origin, f"{what} of {self.known(ir.Name(of), env) or of}", "fact")


def _own(stmt: Any) -> Iterable[str]:
    """The names that a statement itself binds, without its blocks."""
    inner: frozenset[str] = frozenset().union(*(ir.bound_in(b) for b in ir.blocks(stmt)))
    match stmt:
        case ir.For(target):
            return ir.target_names(target)
        case ir.Gather(target):
            return (target,)
    return ir.bound(stmt) - inner


def _pair_in(call: ir.Call) -> Pair | None:
    """The pair that a call is of, or that a generator is started with."""
    found = (e.value for e in (call.func, *call.args[:1]) if isinstance(e, ir.Static) and isinstance(e.value, Pair))
    return next(found, None)


def _written(origin: Origin | None) -> str:
    """What the user wrote at a place: of an assignment or `return` the value."""
    text = "" if origin is None else origin.text[origin.column : origin.end_column]
    if "=" not in text and not text.startswith("return "):
        return text
    try:
        (stmt,) = ast.parse(text).body
    except (SyntaxError, ValueError):  # a part of a statement on several lines
        return text
    value: Any = getattr(stmt, "value", None)
    return (value and ast.get_source_segment(text, value)) or text


def _joined(a: Env, b: Env) -> Env:
    """The sources after one of two paths."""
    if a is b:
        return a
    out = dict(a)
    for name, sources in b.items():
        mine = out.get(name, ())
        out[name] = mine + tuple(s for s in sources if all(s is not m for m in mine)) if mine != sources else mine
    return out


__all__ = ["Kept", "Layout", "Plan", "Slot", "Source", "kept_by", "plan_of", "plan_of_rule", "remembered"]
