"""The pass `alias`: which names may refer to one memory block, and which blocks are written in place.

Union-find over *definitions* (a name at the statement that binds it): where paths meet, the definitions that meet are
unified.  A rule says whether its result is fresh, a view or the same object; everything else unifies.  The result of a
call of the user's functions is unified with the arguments that the callee's own classes say it may be.  Scalars are
immutable and belong to no class.

Arrays that carry derivatives may be written in one way only: `x += v` on a block that no other name refers to, which
means the same as rebinding.  All else raises `MutationError` (see `activity`).
"""

from __future__ import annotations

import itertools
from typing import Any

import gast

from adcompiler import ir
from adcompiler.aliases import HELD, OUTSIDE, RESULT, Aliases, Env
from adcompiler.callees import (
    Build,
    Copied,
    Drain,
    Dynamic,
    InertCall,
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
    in_place,
    parts,
)
from adcompiler.lattice import Inert, Kind, Known, Stream, is_scalar
from adcompiler.runtime.changes import WRITERS
from adcompiler.spec import Spec

_ARRAY_WRITERS = ("sort", "fill", "put", "partition", "itemset", "resize", "setfield", "setflags", "byteswap")


def alias(spec: Spec) -> Aliases:
    """The alias classes of a specialisation, computed once; functions that call each other together."""
    if spec.aliases is None:
        spec.aliases = assumed = Aliases()
        built = _Builder(spec, Aliases()).run()
        spec.aliases = built
        if assumed.asked:
            _repeated([spec, *(other for other in _calls(spec, set()) - {spec} if spec in _calls(other, set()))])
    spec.aliases.asked = True
    return spec.aliases  # type: ignore[no-any-return]


def _repeated(specs: list[Spec]) -> None:
    """The classes of functions that call each other: that nothing is shared or written is assumed, until confirmed."""
    for spec in specs:
        spec.aliases = Aliases()
    changed = True
    while changed:
        changed = False
        for spec in specs:
            built = _Builder(spec, Aliases()).run()
            changed |= built.summary != spec.aliases.summary
            spec.aliases = built


def _calls(spec: Spec, seen: set[Spec]) -> set[Spec]:
    """The specialisations that a function calls, and those that these call."""
    for stmt in ir.statements(spec.body):
        for expr in ir.expressions(stmt):
            for inner in ir.walk(expr):
                if isinstance(inner, ir.Apply) and isinstance(inner.callee, PairCall) and inner.callee.spec not in seen:
                    seen.add(inner.callee.spec)
                    _calls(inner.callee.spec, seen)
    return seen


class _Builder:
    """One traversal of a specialisation, in which `env` is what each name refers to."""

    def __init__(self, spec: Spec, aliases: Aliases) -> None:
        self.spec = spec
        self.a = aliases
        self.env: Env = {}
        self.stmt: Any = None
        self.leaving: list[list[Env]] = []
        self.raising: list[list[Env]] = []

    def run(self) -> Aliases:
        a = self.a
        for name, kind in zip(self.spec.params, self.spec.kinds, strict=True):
            if not is_scalar(kind):
                self.env[name] = f"<argument>{name}"
                a.parent[self.env[name]] = self.env[name]
        self.env.update(dict.fromkeys(self.spec.function.cells, OUTSIDE))
        arguments = dict(self.env)
        self.block(self.spec.body)
        result = a.find(RESULT)
        at = [arguments.get(p) for p in self.spec.params]
        written = {a.find(w) for w in a.written}
        a.results = frozenset(i for i, n in enumerate(at) if n is not None and a.find(n) == result)
        a.writes = frozenset(i for i, n in enumerate(at) if n is not None and a.find(n) in written)
        sure = {a.find(w) for w, by in a.written.items() if by}
        a.sure_writes = frozenset(i for i, n in enumerate(at) if n is not None and a.find(n) in sure)
        a.writes_result = result in written
        a.result_outside, a.writes_outside = a.find(OUTSIDE) == result, a.find(OUTSIDE) in written
        a.surely_writes_outside = a.find(OUTSIDE) in sure
        return a

    # --- control flow -----------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> None:
        for stmt in block:
            self.a.before[id(stmt)] = dict(self.env)
            self.stmt = stmt
            self.statement(stmt)
            for envs in self.raising:
                envs.append(dict(self.env))

    def protected(self, block: ir.Block) -> list[Env]:
        """Go through a block; what names refer to wherever an exception may leave it."""
        self.raising.append([dict(self.env)])
        self.block(block)
        return self.raising.pop()

    def handled(self, stmt: ir.Try) -> None:
        """Go on behind a `try`: its handlers start anywhere in its body, its `finally` anywhere in all of it."""
        self.raising.append([dict(self.env)])
        if self.leaving:
            self.leaving.append([])
        caught = self.protected(stmt.body)
        self.block(stmt.orelse)
        ends = [self.env]
        for handler in stmt.handlers:
            self.meet(*caught)
            self.stmt = stmt
            if handler.name is not None:
                self.bind(handler.name)
            self.block(handler.body)
            ends.append(self.env)
        self.meet(*self.raising.pop(), *ends)
        self.block(stmt.final)
        if self.leaving and self.leaving.pop():
            self.leaving[-1].append(dict(self.env))

    def meet(self, *envs: Env) -> None:
        """Go on with what several paths agree on; definitions of one name that differ are unified."""
        out: Env = {}
        for env in envs:
            for name, node in env.items():
                if name in out and out[name] != node:
                    self.a.unify(out[name], node)
                else:
                    out[name] = node
        self.env = out

    def branch(self, stmt: ir.If) -> None:
        start = dict(self.env)
        self.block(stmt.body)
        then, self.env = self.env, start
        self.block(stmt.orelse)
        self.meet(*([] if ir.leaves(stmt.body) else [then]), *([] if ir.leaves(stmt.orelse) else [self.env]))

    def loop(self, stmt: Any) -> None:
        start = dict(self.env)
        self.leaving.append([])
        for _ in range(2):  # what is carried around meets what came in; the second time it is all there
            if isinstance(stmt, ir.While):
                self.block(stmt.head)
            else:
                self.a.before[id(stmt)] = dict(self.env)
                self.stmt = stmt
                self.targets(stmt)
            self.block(stmt.body)
            self.meet(start, self.env, *self.leaving[-1])
        left = self.leaving.pop()
        self.block(stmt.orelse)
        self.meet(self.env, *left)

    def targets(self, stmt: ir.For) -> None:
        plan = stmt.iterable.callee.plan if isinstance(stmt.iterable, ir.Apply) else None
        sources = [over.source for over in parts(plan) if not is_scalar(over.item)]
        for name in ir.target_names(stmt.target):
            self.bind(name)
            for source in sources:
                self.link(self.env[name], source)

    # --- statements -------------------------------------------------------------------------------------

    def bind(self, name: str) -> None:
        """A new definition of a name at the statement at hand."""
        node = f"{name}@{id(self.stmt)}"
        self.a.parent.setdefault(node, node)
        self.env[name] = self.a.made[id(self.stmt), name] = node

    def bind_all(self, names: tuple[str, ...], links: list[Any]) -> None:
        """New definitions of names, each of which may refer to what `links` do."""
        for name in names:
            self.bind(name)
            for link in links:
                self.link(self.env[name], link)

    def statement(self, stmt: ir.Stmt) -> None:  # noqa: C901  one case per form
        """Go on behind a statement."""
        match stmt:
            case ir.Assign(target) if in_place(stmt):
                self.written(ir.Name(target))
                self.a.made[id(stmt), target] = self.env.get(target, target)
            case ir.Assign(target, value):
                self.bind_all((target,), self.links(value, stmt.kind))
                self.overwritten(target, value)
            case ir.Unpack(target, value):
                self.bind_all(tuple(target.names()), self.links(value, None))
            case ir.Return(value) if not is_scalar(stmt.kind):
                for link in self.links(value, None):
                    self.link(RESULT, link)
            case ir.Yield(value) if not is_scalar(stmt.kind):
                for link in self.links(value, None):
                    self.link(RESULT, link)
                    self.link(HELD, link)
            case ir.Store(place, value):
                self.link_all([place.value, value])
                self.written(place.value)
            case ir.Do(value):
                self.links(value, Inert())
            case ir.Delete(names):
                for name in names:
                    self.env.pop(name, None)
            case ir.Define(name):
                self.bind(name)
            case ir.Opaque():
                self.opaque(stmt)
            case ir.If():
                self.branch(stmt)
            case ir.With(item, target):
                self.links(item, Inert())
                if target is not None:
                    self.bind_all((target,), [OUTSIDE])
                left = self.protected(stmt.body)
                if stmt.swallows:
                    self.meet(*left, self.env)
            case ir.Try():
                self.handled(stmt)
            case ir.Collect(into, value):
                self.link(self.env[into], value)
            case ir.Gather(target, _, into, body):
                self.block(body)
                self.stmt = stmt
                if into is not None:
                    self.bind_all((target,), [self.resolve(ir.Name(into))])
            case ir.For() | ir.While():
                self.loop(stmt)
            case ir.Break() | ir.Continue():
                self.leaving[-1].append(dict(self.env))

    def overwritten(self, target: str, value: ir.Expr) -> None:
        """What a generator yields may be written by it later."""
        if isinstance(value, ir.Apply) and isinstance(value.callee, PairCall):
            callee = value.callee.spec
            if callee.function.generator and alias(callee).writes_result:
                self.note_write(self.env[target])

    def opaque(self, stmt: ir.Opaque) -> None:
        if not isinstance(stmt.node, gast.Assert | gast.Raise | gast.Import | gast.ImportFrom):
            for name in stmt.reads:
                self.written(ir.Name(name))
        for name in stmt.writes:
            old = self.env.get(name)
            self.bind(name)
            if old is not None:
                self.a.unify(self.env[name], old)
            for other in stmt.reads:
                self.link(self.env[name], self.resolve(ir.Name(other)))

    # --- values -----------------------------------------------------------------------------------------

    def links(self, value: ir.Expr, kind: Kind | None) -> list[Any]:
        """What a value may share memory with (as definitions); writes that its evaluation does are noted."""
        if not isinstance(value, ir.Apply):
            plain = is_scalar(kind) or isinstance(value, ir.Lambda | ir.Verbatim)
            return [] if plain else [self.resolve(value)]
        linked, outside = self.applied(value)
        if is_scalar(kind) or isinstance(kind, Known | Inert):
            return []
        kinds = {id(arg): k for arg, k in zip(value.args, value.kinds, strict=False)}
        shared = [self.resolve(arg) for arg in linked if not is_scalar(kinds.get(id(arg)))]
        return shared + ([OUTSIDE] if outside else [])

    def applied(self, value: ir.Apply) -> tuple[tuple[Any, ...], bool]:  # noqa: C901  one case per callee
        """The operands that a result may share memory with, and whether it may with memory from outside."""
        match value.callee:
            case RuleCall() as call:
                linked = value.args if call.rule.result != "fresh" else ()
                return linked[:1] if getattr(call.key, "__name__", "") == "getitem" else linked, False
            case PairCall(spec):
                return self.called(value, alias(spec))
            case InertCall(keeps=True):
                self.kept_outside(value)
            case PlaceCall():
                # A container and what it holds are one class; that the container changes is no write of an array.
                self.link_all(list(value.args))
                return value.args, False
            case Pull() | Drain() if isinstance(value.kinds[0], Stream) and is_scalar(value.kinds[0].item):
                return value.args[1:], False
            case (
                InertCall(passes=True)
                | Build()
                | Make()
                | Copied()
                | Load()
                | Move()
                | PathLoad()
                | Pull()
                | Drain()
                | Relay()
            ):
                return value.args, False
            case Dynamic(key, _, pure) if pure or (key is not None and not isinstance(key, str)):
                return value.args, False
            case Missing() if isinstance(value.spelled, ir.Op) and not getattr(self.stmt, "augmented", False):
                return value.args, False  # an operator on constants, containers or types
            case Missing() | Dynamic() | Spread():
                surely = _is_writer(value.spelled, self.spec.program.writes_places)
                # With a table of cotangents containers are passed as they are, and what a function found at run time
                # writes into arrays is refused there.
                if surely or isinstance(value.callee, Missing) or not self.spec.program.writes_places:
                    for arg in value.args:
                        self.written(arg, surely)
                self.kept_outside(value)
                return value.args, True
        return (), False

    def called(self, value: ir.Apply, callee: Aliases) -> tuple[tuple[Any, ...], bool]:
        """The same for a call of a compiled function, whose writes are noted."""
        for i in callee.writes:
            self.written(value.args[i], i in callee.sure_writes)
        if callee.writes_outside:
            self.note_write(OUTSIDE, callee.surely_writes_outside)
        return tuple(value.args[i] for i in callee.results), callee.result_outside

    def kept_outside(self, value: ir.Apply) -> None:
        """Operands that something unknown may keep, there or in another operand."""
        for arg, kind in zip(value.args, value.kinds, strict=False):
            if not is_scalar(kind):
                self.link(OUTSIDE, self.resolve(arg))

    def resolve(self, value: Any) -> Any:
        """The definitions behind the names of a value."""
        match value:
            case str():
                return value
            case ir.Name(name):
                return self.env.get(name, name)
            case ir.Global():
                return OUTSIDE
            case tuple():
                return tuple(map(self.resolve, value))
            case ir.Expr():
                return tuple(map(self.resolve, ir.children(value)))
        return ()

    def link(self, node: str, source: Any) -> None:
        """Unify a definition with those of a value."""
        if isinstance(source, str):
            self.a.unify(node, source)
        elif isinstance(source, tuple):
            for item in source:
                self.link(node, item)
        else:
            self.link(node, self.resolve(source))

    def link_all(self, sources: list[Any]) -> None:
        """Unify the definitions of several values."""
        nodes = [self.resolve(s) for s in sources]
        names = [n for n in nodes if isinstance(n, str)]
        for a, b in itertools.pairwise(names):
            self.a.unify(a, b)

    def note_write(self, node: str, surely: bool = True) -> None:
        self.a.written.setdefault(node, set()).update({id(self.stmt)} if surely else ())

    def written(self, place: Any, surely: bool = True) -> None:
        """Note that a place is written in place."""
        match place:
            case ir.Name(name):
                self.note_write(self.env.get(name, name), surely)
            case ir.Global():
                self.note_write(OUTSIDE, surely)
            case tuple():
                for item in place:
                    self.written(item, surely)
            case ir.Expr():
                for child in ir.children(place):
                    self.written(child, surely)


def _is_writer(spelled: ir.Expr, table: bool) -> bool:
    """Whether a call is of a method that writes into its object (`xs.append(v)`, `a.sort()`).

    With a table of cotangents only writes into arrays matter.
    """
    if not isinstance(spelled, ir.Call) or not isinstance(spelled.func, ir.Attr):
        return False
    name = spelled.func.name
    return name in _ARRAY_WRITERS or (name in WRITERS and not table)


__all__ = ["alias"]
