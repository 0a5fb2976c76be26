"""The pass `alias`: which names may refer to one memory block, and which blocks are written in place.

Union-find over the names of a specialisation.  A rule says whether its result is fresh, a view or the same object;
everything else unifies.  The result of a call of the user's functions is unified with the arguments that the callee's own
classes say it may be.  Scalars are immutable and belong to no class.

Arrays that carry derivatives may be written in one way only: `x += v` on a block that no other name refers to, which
means the same as rebinding.  All else raises `MutationError` (see `activity`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import gast

from adcompiler import ir
from adcompiler.callees import (
    Backwards,
    Build,
    Dynamic,
    Enumerated,
    InertCall,
    Iteration,
    Load,
    Missing,
    Over,
    PairCall,
    PathLoad,
    RuleCall,
    Zipped,
)
from adcompiler.lattice import Inert, Kind, Known, is_scalar
from adcompiler.program import Spec

OUTSIDE = "<outside>"  # memory of globals, captured variables and whatever else holds
ARGUMENT = "<argument>"
RESULT = "<result>"


@dataclass
class Aliases:
    """Classes by representative; `written` are the representatives of blocks written in place."""

    parent: dict[str, str] = field(default_factory=dict)
    written_names: set[str] = field(default_factory=set)
    results: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    result_outside: bool = False
    writes_outside: bool = False

    def find(self, name: str) -> str:
        """The representative of a name's class."""
        root = name
        while self.parent.get(root, root) != root:
            root = self.parent[root]
        return root

    def unify(self, a: str, b: str) -> None:
        """Put two names into one class."""
        self.parent.setdefault(a, a)
        self.parent.setdefault(b, b)
        x, y = self.find(a), self.find(b)
        if x != y:
            self.parent[x] = y

    def members(self, name: str) -> frozenset[str]:
        """The names of a class."""
        root = self.find(name)
        return frozenset(n for n in self.parent if self.find(n) == root) | {name}

    def is_written(self, name: str) -> bool:
        """Whether a name's block may be written in place somewhere in the function."""
        root = self.find(name)
        return any(self.find(w) == root for w in self.written_names)

    def is_alone(self, name: str) -> bool:
        """Whether no other name refers to a name's block."""
        return self.members(name) == {name}


def alias(spec: Spec) -> Aliases:
    """The alias classes of a specialisation, computed once; in a recursion its own calls are taken at their worst."""
    if spec.aliases is None:
        every = frozenset(range(len(spec.params)))
        spec.aliases = Aliases(results=every, writes=every, result_outside=True, writes_outside=True)
        spec.aliases = _Builder(spec, Aliases()).run()
    return spec.aliases  # type: ignore[no-any-return]


class _Builder:
    def __init__(self, spec: Spec, aliases: Aliases) -> None:
        self.spec = spec
        self.aliases = aliases

    def run(self) -> Aliases:
        a = self.aliases
        outside = [
            p for p, k in zip(self.spec.params, self.spec.kinds, strict=True) if not is_scalar(k)
        ]
        for name in outside:
            a.unify(name, f"{ARGUMENT}{name}")
        for name in self.spec.function.cells:
            a.unify(name, OUTSIDE)
        for stmt in ir.statements(self.spec.body):
            self.statement(stmt)
        result = a.find(RESULT)
        a.results = frozenset(i for i, p in enumerate(self.spec.params) if a.find(p) == result)
        a.result_outside = a.find(OUTSIDE) == result
        a.writes_outside = a.is_written(OUTSIDE)
        a.writes = frozenset(i for i, p in enumerate(self.spec.params) if a.is_written(p))
        return a

    def statement(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Assign(target, value):
                self.value(target, value, stmt.kind)
                if stmt.augmented and not is_scalar(stmt.kind):
                    self.aliases.written_names.add(target)
            case ir.Unpack(target, value):
                for name in target.names():
                    self.value(name, value, None)
            case ir.For(target, ir.Apply(_, Iteration(plan))):
                for name in ir.target_names(target):
                    for source in _sources(plan):
                        self.link(name, source)
            case ir.Return(value):
                if not is_scalar(stmt.kind):
                    self.link(RESULT, value)
            case ir.Store(place, value):
                self.link_all([place.value, value])
                self.written(place.value)
            case ir.Opaque() if not isinstance(stmt.node, gast.Assert | gast.Raise | gast.Import | gast.ImportFrom):
                self.aliases.written_names.update(stmt.reads)
            case ir.Do(value):
                self.value("<dropped>", value, Inert())

    def value(self, target: str, value: ir.Expr, kind: Kind | None) -> None:
        if not isinstance(value, ir.Apply):
            if not is_scalar(kind) and not isinstance(value, ir.Lambda | ir.Verbatim):
                self.link(target, value)
            return
        match value.callee:
            case RuleCall() as call:
                linked = value.args if call.rule.result != "fresh" else ()
            case PairCall(spec):
                callee = alias(spec)
                linked = tuple(value.args[i] for i in callee.results)
                for i in callee.writes:
                    self.written(value.args[i])
                if callee.writes_outside:
                    self.aliases.written_names.add(OUTSIDE)
                if callee.result_outside and not is_scalar(kind):
                    self.aliases.unify(target, OUTSIDE)
            case InertCall(why):
                linked = value.args if why in ("stop_gradient", "integers") else ()
            case Build() | Load() | PathLoad():
                linked = value.args
            case Dynamic(key) if key is not None and not isinstance(key, str):
                linked = value.args
            case Missing() | Dynamic():
                linked = value.args
                for arg in value.args:
                    self.written(arg)
            case _:
                linked = ()
        if not is_scalar(kind) and not (isinstance(kind, Known | Inert)):
            for arg in linked:
                self.link(target, arg)

    def link(self, target: str, source: object) -> None:
        match source:
            case ir.Name(name):
                self.aliases.unify(target, name)
            case ir.Global(name):
                self.aliases.unify(target, OUTSIDE)
            case tuple():
                for item in source:
                    self.link(target, item)
            case ir.Expr():
                for child in ir.children(source):
                    self.link(target, child)

    def link_all(self, sources: list[object]) -> None:
        names = [s.id if isinstance(s, ir.Name) else OUTSIDE for s in sources if isinstance(s, ir.Name | ir.Global)]
        for a, b in zip(names, names[1:], strict=False):
            self.aliases.unify(a, b)

    def written(self, place: object) -> None:
        match place:
            case ir.Name(name):
                self.aliases.written_names.add(name)
            case ir.Global():
                self.aliases.written_names.add(OUTSIDE)
            case ir.Expr():
                for child in ir.children(place):
                    self.written(child)


def _sources(plan: object) -> list[ir.Expr]:
    match plan:
        case Over(source, _, item):
            return [] if is_scalar(item) else [source]
        case Zipped(parts):
            return [s for p in parts for s in _sources(p)]
        case Enumerated(part) | Backwards(part):
            return _sources(part)
    return []


__all__ = ["Aliases", "alias"]
