"""What a generator must not see: it runs later than it is called, when its arguments may have changed.

The pair of a generator function keeps values as they are when they are read, and positions of items; where that would
not be what Python does, or a generator gets out of sight, it is refused here.
"""

from __future__ import annotations

from typing import Any

from adcompiler import ir
from adcompiler.alias import alias
from adcompiler.aliases import Aliases
from adcompiler.callees import Drain, PairCall, Pull, Relay
from adcompiler.errors import MutationError, UnsupportedSyntaxError, refuse
from adcompiler.escape import rebound_after, rebound_late
from adcompiler.lattice import Closure, Stream, is_scalar
from adcompiler.quiet import is_quiet
from adcompiler.scope import nonlocals
from adcompiler.spec import Spec


def stream_lost(stmt: Any) -> Exception:
    """The refusal of a generator that is stored, returned or passed to something that is not compiled with it."""
    return refuse(
        UnsupportedSyntaxError,
        "a generator that carries a derivative is stored, returned or passed on here",
        stmt.origin,
        "Who takes its items could not be followed.",
        "Use it in a loop, or collect its items with list() first.",
    )


def refuse_lost(value: ir.Apply, on: tuple[bool, ...], stmt: Any) -> None:
    """Refuse generators among the operands of whatever does not take their items in sight."""
    for active, kind in zip(on, value.kinds, strict=False):
        if active and isinstance(kind, Stream):
            if kind.item is None or not isinstance(value.callee, PairCall | Pull | Drain | Relay):
                raise stream_lost(stmt)


def refuse_late(spec: Spec, aliases: Aliases, value: ir.Apply, stmt: Any) -> None:
    """Refuse a call that gives a generator which might see other values than it does in Python."""
    callee: Spec = value.callee.spec
    if spec.program.writes_places and not is_quiet(callee):
        raise refuse(
            MutationError,
            f"the generator {callee.name} reads or writes containers or objects, in a program that writes into some",
            stmt.origin,
            "It runs in turns with the function that takes its items, and what each saw could be mixed up.",
            "Pass numbers, arrays or tuples to it, or return a list instead of yielding.",
        )
    written = alias(callee)
    names = [a.id for a, k in zip(value.args, value.kinds, strict=True) if isinstance(a, ir.Name) and not is_scalar(k)]
    changed = any(aliases.is_written(stmt, name) for name in names) or aliases.is_written(stmt, stmt.target, after=True)
    if changed or written.writes or written.writes_result:
        raise refuse(
            MutationError,
            f"memory that the generator {callee.name} uses or yields is written in place",
            stmt.origin,
            "It runs in turns with the function that takes its items.",
            "Make a new value instead: `y = y + v`.",
        )
    late = _captured_late(spec, value, stmt)
    if late:
        raise rebound_late(stmt, late)


def _captured_late(spec: Spec, value: ir.Apply, stmt: Any) -> set[str]:
    """Captured variables that are bound again while the generator may still run."""
    late: set[str] = set()
    for kind in value.kinds:
        if isinstance(kind, Closure) and kind.owner is spec:
            late |= rebound_after(spec.body, kind.node) & set(kind.captures)
    count = value.callee.captured
    own = spec.function.locals | frozenset(spec.params)
    captured = {a.id for a in value.args[:count] if isinstance(a, ir.Name) and a.id in own}
    if captured:
        late |= captured & (_bound_while(spec, stmt) | nonlocals(spec.function.source.node))
    return late


def _bound_while(spec: Spec, stmt: Any) -> set[str]:
    """The names that are bound while the generator made by a statement may run."""
    order = list(ir.statements(spec.body))
    at = next(i for i, s in enumerate(order) if s is stmt)
    uses = [s for s in order if any(stmt.target in ir.reads(e) for e in _all_expressions(s))]
    if stmt.target not in spec.function.locals and len(uses) == 1 and _takes_all(uses[0]):
        end = next(i for i, s in enumerate(order) if s is uses[0])
        if end > at:
            return set().union(*(ir.bound(s) for s in order[at + 1 : end + 1]))
    names: set[str] = set().union(*(ir.bound(s) for s in order[at + 1 :]))
    for other in order:
        if isinstance(other, ir.For | ir.While) and any(s is stmt for s in ir.statements((other,))):
            names |= ir.bound(other)
    return names


def _takes_all(stmt: ir.Stmt) -> bool:
    """Whether a statement is done with a generator when it is over."""
    return isinstance(stmt, ir.For) or (
        isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Apply) and isinstance(stmt.value.callee, Drain)
    )


def _all_expressions(stmt: ir.Stmt) -> list[ir.Expr]:
    return [e.spelled if isinstance(e, ir.Apply) else e for e in ir.expressions(stmt)]


__all__ = ["refuse_late", "refuse_lost", "stream_lost"]
