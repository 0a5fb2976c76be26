"""Exceptions that may hold a value with a derivative, which would be lost when it is read back from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import gast

from adcompiler import ir
from adcompiler.callees import Dynamic, Missing, PairCall
from adcompiler.errors import UnsupportedSyntaxError, refuse
from adcompiler.spec import Spec


def carries(body: ir.Block, before: Mapping[int, frozenset[str]], carried: Collection[str]) -> bool:
    """Whether an exception that leaves a body may hold an active value; `before` has the active names by statement."""
    for stmt in ir.statements(body):
        active = before.get(id(stmt), frozenset()).union(carried)
        if isinstance(stmt, ir.Opaque):
            if stmt.reads & active and isinstance(stmt.node, gast.Raise | gast.Assert):
                return True
            continue
        for expr in ir.expressions(stmt):
            if isinstance(expr, ir.Apply) and _raises(expr.callee, set()) and active.intersection(ir.reads(expr)):
                return True
    return False


def _raises(callee: object, seen: set[int]) -> bool:
    """Whether a callee may raise an exception that was made of its arguments."""
    if isinstance(callee, PairCall):
        spec: Spec = callee.spec
        if id(spec) in seen:
            return False
        seen.add(id(spec))
        return any(_may_hold(s, seen) for s in ir.statements(spec.body))
    return isinstance(callee, Dynamic | Missing)


def _may_hold(stmt: ir.Stmt, seen: set[int]) -> bool:
    if isinstance(stmt, ir.Opaque):
        return bool(stmt.reads) and isinstance(stmt.node, gast.Raise | gast.Assert)
    return any(isinstance(e, ir.Apply) and _raises(e.callee, seen) for e in ir.expressions(stmt))


def lost(stmt: ir.Stmt) -> Exception:
    """The refusal of computing with what an exception holds."""
    return refuse(
        UnsupportedSyntaxError,
        "a value that may carry a derivative is read from an exception",
        stmt.origin,
        "The derivative is lost in the exception.",
        "Assign the value to a name before the exception is raised, and use that name.",
    )
