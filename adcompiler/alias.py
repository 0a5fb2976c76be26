"""The pass `alias`: which names may refer to one memory block, and which blocks are written in place.

Union-find over *definitions* (a name at the statement that binds it): where paths meet, the definitions that meet are
unified.  A rule says whether its result is fresh, a view or the same object; everything else unifies.  The result of a
call of the user's functions is unified with the arguments that the callee's own classes say it may be.  Scalars are
immutable and belong to no class.

A class that is written into while it carries derivatives is *hot*: its cotangents are in a shadow of the memory (see
`hot`, `shadowing`).  Where a class is merely written into, what the pullback has read of it is kept as a copy if the
write may come later (see `overwritten`).  Only `x += v` on a block that no other name refers to is neither: it means
the same as rebinding.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import gast

from adcompiler import ir
from adcompiler.aliases import HELD, OUTSIDE, RESULT, UNSEEN, Aliases, Env
from adcompiler.callees import Build, Hooked, PairCall, in_place, parts
from adcompiler.lattice import Inert, is_scalar
from adcompiler.sharing import Sharing
from adcompiler.spec import Spec


def alias(spec: Spec, merged: bool = False) -> Aliases:
    """The alias classes of a specialisation, computed once; functions that call each other together.

    `merged`: as it is called where its arguments may share memory with each other, or with memory from outside.
    """
    if merged:
        alias(spec)
        if spec.merged is None:
            spec.merged = _Builder(spec, Aliases()).run(merged=True)
        return spec.merged  # type: ignore[no-any-return]
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


class _Builder(Sharing):
    """One traversal of a specialisation."""

    def __init__(self, spec: Spec, aliases: Aliases) -> None:
        super().__init__(spec, aliases)
        self.leaving: list[list[Env]] = []
        self.raising: list[list[Env]] = []
        self.passed = _passed(spec.body)

    def classes_of(self, spec: Spec) -> Aliases:
        return alias(spec)

    def run(self, merged: bool = False) -> Aliases:
        a = self.a
        for name, kind in zip(self.spec.params, self.spec.kinds, strict=True):
            if not is_scalar(kind):
                self.env[name] = f"<argument>{name}"
                a.parent[self.env[name]] = self.env[name]
        self.env.update(dict.fromkeys(self.spec.function.cells, OUTSIDE))
        arguments = dict(self.env)
        for node in self.env.values() if merged else ():
            a.unify(node, OUTSIDE)
        self.block(self.spec.body)
        result = a.find(RESULT)
        at = [arguments.get(p) for p in self.spec.params]
        written = {a.find(w) for w in a.written}
        a.results = frozenset(i for i, n in enumerate(at) if n is not None and a.find(n) == result)
        a.writes = frozenset(i for i, n in enumerate(at) if n is not None and a.find(n) in written)
        sure = {a.find(w) for w, by in a.written.items() if by - {UNSEEN}}
        a.sure_writes = frozenset(i for i, n in enumerate(at) if n is not None and a.find(n) in sure)
        a.writes_result = result in written
        a.result_outside, a.writes_outside = a.find(OUTSIDE) == result, a.find(OUTSIDE) in written
        a.surely_writes_outside = a.find(OUTSIDE) in sure
        classes = [None if n is None else a.find(n) for n in at]
        outside = a.find(OUTSIDE)
        a.groups = tuple(i if c is None else -1 if c == outside else classes.index(c) for i, c in enumerate(classes))
        a.reads_outside = any(a.find(n) == outside for n in a.parent if n not in (OUTSIDE, HELD))
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
                if isinstance(value, ir.Lambda):
                    self.capture(target, value.captures)
                self.overwritten(target, value)
                self.handed_on(value)
            case ir.Unpack(target, ir.Apply(callee=Build()) as display) if _is_pairwise(target, display):
                links = [self.links(arg, None) for arg in display.args]  # all are read before any is bound
                for name, link in zip(target.names(), links, strict=True):
                    self.bind_all((name,), link)
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
                if stmt.kinds is None:  # an array keeps the numbers, all else the object itself
                    self.link_all([place.value, value])
                self.written(place.value)
            case ir.Do(value):
                self.links(value, Inert())
            case ir.Delete(names):
                for name in names:
                    self.env.pop(name, None)
            case ir.Define(name):
                self.bind(name)
                self.capture(name, stmt.captures)
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

    def capture(self, name: str, captures: Collection[str]) -> None:
        """A local function that goes elsewhere takes along what it captures."""
        if name in self.passed:
            for captured in sorted(captures):
                self.link(self.env[name], ir.Name(captured))

    def handed_on(self, value: ir.Expr) -> None:
        """Of a temporary that a hook gives another name, nothing else is read later."""
        if not isinstance(value, ir.Apply) or not isinstance(value.callee, Hooked):
            return
        x, function = value.args[1], self.spec.function
        if isinstance(x, ir.Name) and x.id not in function.locals | function.cells | frozenset(self.spec.params):
            reads = [n for s in ir.statements(self.spec.body) for e in ir.expressions(s) for n in _operands(e)]
            if reads.count(x.id) == 1:
                self.env.pop(x.id, None)

    def overwritten(self, target: str, value: ir.Expr) -> None:
        """What a generator yields may be written by it later."""
        if isinstance(value, ir.Apply) and isinstance(value.callee, PairCall):
            callee = value.callee.spec
            if callee.function.generator and alias(callee).writes_result:
                self.note_write(self.env[target], surely=False)

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


def _is_pairwise(target: ir.Targets, display: ir.Apply) -> bool:
    """Whether `a, b = x, y` binds names to the items of a display."""
    return (
        target.star is None and len(target.items) == len(display.args) and all(isinstance(t, str) for t in target.items)
    )


def _operands(expr: ir.Expr) -> list[str]:
    """The names that an expression reads, as often as it does."""
    if isinstance(expr, ir.Apply):
        return [n for a in expr.args for part in (a if isinstance(a, tuple) else (a,)) for n in _operands(part)]
    return [e.id for e in ir.walk(expr) if isinstance(e, ir.Name)] if isinstance(expr, ir.Expr) else []


def _passed(body: ir.Block) -> frozenset[str]:
    """The names that are operands somewhere, and not just called."""
    out: set[str] = set()
    for stmt in ir.statements(body):
        if isinstance(stmt, ir.Define):
            out |= stmt.captures
        for expr in ir.expressions(stmt):
            for inner in ir.walk(expr):
                if isinstance(inner, ir.Lambda):
                    out |= inner.captures
            if isinstance(expr, ir.Apply):
                parts_ = [p for a in expr.args for p in (a if isinstance(a, tuple) else (a,))]
                out.update(n for p in parts_ for n in ir.reads(p))
            else:
                out.update(ir.reads(expr))
    return frozenset(out)


__all__ = ["alias"]
