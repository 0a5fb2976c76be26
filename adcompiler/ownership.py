"""Which names of a backward hold memory that is its own: new results that nobody else gets hold of.

A class holds the names that may have memory in common.  It is owned if all that is put into it is made by arithmetic
here; what is kept by the forward, given by the caller, returned, stored, or passed to a function that may keep it, is
not.  Of such a class the memory may be given back when the last of its names is read for the last time.

    w1 = h * h            owned
    t_bar = fit(w1, s)    the same class: `fit` may give its argument
    return t_bar          returned: the class is not owned
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.holdings import Holdings, may_be_large
from adcompiler.pair import Pair

_OUTSIDE = ""
_HELPERS = "adcompiler.runtime."


class Ownership:
    """The classes of a block's names: `group(name)` are the names of a class, `owned(name)` says whether it is."""

    def __init__(self) -> None:
        self.parent: dict[str, str] = {}

    def find(self, name: str) -> str:
        """The representative of a class."""
        while self.parent.setdefault(name, name) != name:
            name = self.parent[name]
        return name

    def unify(self, a: str, b: str) -> None:
        """Put two names into one class; what is outside represents its class."""
        x, y = self.find(a), self.find(b)
        if x == _OUTSIDE:
            x, y = y, x
        self.parent[x] = y

    def owned(self, name: str) -> bool:
        """Whether the memory that a name holds is the block's own."""
        return name in self.parent and self.find(name) != self.find(_OUTSIDE)

    def group(self, name: str) -> frozenset[str]:
        """All names of a class."""
        root = self.find(name)
        return frozenset(n for n in list(self.parent) if self.find(n) == root)


def ownership(block: ir.Block, kinds: Holdings, given: frozenset[str]) -> Ownership:
    """The classes of the names in a block; `given` are those that it does not make itself."""
    found = Ownership()

    def outside(names: Iterable[str]) -> None:
        for name in names:
            if may_be_large(kinds.get(name)):
                found.unify(name, _OUTSIDE)

    outside(given)
    for stmt in ir.statements(block):
        outside(_given_away(stmt))
        if isinstance(stmt, ir.Assign | ir.Unpack | ir.For):
            sources = {n for n in _sources(ir.expressions(stmt)[0]) if n == _OUTSIDE or may_be_large(kinds.get(n))}
            for target in ir.target_names(stmt.target):
                found.find(target)
                for source in sources:
                    found.unify(target, source)
    return found


def _sources(value: ir.Expr) -> Iterator[str]:
    """The names whose memory a value may have; what is outside, for a value that is not made here."""
    match value:
        case ir.Name(name):
            yield name
        case ir.Op() | ir.Const() | ir.Static() | ir.Global():
            return
        case ir.Call():
            yield from _given_by(value)
        case ir.Taken() | ir.IfExp() | ir.Attr() | ir.Item() | ir.Seq():
            for part in ir.children(value):
                yield from _sources(part)
        case _:
            yield _OUTSIDE
            yield from ir.reads(value)


def _given_by(call: ir.Call) -> Iterator[str]:
    """The names whose memory the result of a call may have."""
    known = _known(call.func)
    if isinstance(known, np.ufunc):
        yield from (n for key, v in call.kwargs if key == "out" for n in ir.reads(v))
        return
    if known is None:
        yield _OUTSIDE
    for part in ir.children(call):
        yield from _sources(part)


def _known(func: ir.Expr) -> Any:
    """A function that keeps nothing: of NumPy, or a helper of the compiler's; None for all others."""
    match func:
        case ir.Attr(ir.Static(module), name) if module is np:
            return getattr(np, name, None)
        case ir.Static(value) if not isinstance(value, Pair):
            module = getattr(value, "__module__", None) or ""
            return value if isinstance(value, np.ufunc) or module.startswith(_HELPERS) else None
        case ir.Attr(ir.Name() | ir.Call() | ir.Op() | ir.Attr(), "reshape" | "swapaxes" | "transpose" | "sum"):
            return func
    return None


def _given_away(stmt: Any) -> Iterator[str]:
    """The names whose memory somebody else may have after a statement."""
    match stmt:
        case ir.Return(value):
            yield from _sources(value)
        case ir.Store() | ir.Do():
            for expr in ir.expressions(stmt):
                yield from ir.reads(expr)
        case ir.Assign() | ir.Unpack():
            for part in ir.walk(stmt.value):
                if isinstance(part, ir.Call) and _known(part.func) is None:
                    yield from (n for n in ir.reads(part))
                elif isinstance(part, ir.Verbatim | ir.Lambda):
                    yield from ir.reads(part)


__all__ = ["Ownership", "ownership"]
