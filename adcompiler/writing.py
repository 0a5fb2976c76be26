"""Which calls may write into what has its cotangent in the table, and what becomes of that where exceptions are caught.

A call that writes and then raises leaves no record; so the exception is refused where it is caught. What
is only known at run time, an operator or an attribute, is looked at there (`runtime.tracked.resolve_caught`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adcompiler import ir
from adcompiler.alias import alias
from adcompiler.callees import Dynamic, PairCall, PlaceCall
from adcompiler.quiet import is_quiet
from adcompiler.runtime.dynamic import AUGMENTED
from adcompiler.spec import Spec


def may_store(callee: Any, seen: frozenset[int] = frozenset()) -> bool:
    """Whether a callee may write into a container or an object whose cotangent is kept by identity."""
    match callee:
        case PlaceCall(operation):
            return bool(operation.stores)
        case Dynamic(pure=pure):
            return not pure and not is_operation(callee)
        case PairCall(spec) if id(spec) not in seen and not is_quiet(spec):
            return any(may_store(value.callee, seen | {id(spec)}) for value in applied(spec.body))
    return False


def writes(callee: Any) -> bool:
    """Whether a compiled function writes into arrays of its caller's, or of everybody's."""
    if not isinstance(callee, PairCall):
        return False
    found = alias(callee.spec)
    return bool(found.writes or found.writes_outside)


def fills(value: ir.Apply) -> bool:
    """Whether a call is of an `__init__` that writes into the new object only, which an exception leaves to nobody."""
    if not isinstance(value.callee, PairCall) or value.callee.spec.name != "__init__":
        return False
    new = ir.Name(value.callee.spec.params[0])
    inside = [v for v in applied(value.callee.spec.body) if may_store(v.callee)]
    return all(isinstance(v.callee, PlaceCall) and v.args[0] == new for v in inside)


def applied(body: ir.Block) -> Iterator[ir.Apply]:
    """The operations in a body."""
    for stmt in ir.statements(body):
        for expr in ir.expressions(stmt):
            if isinstance(expr, ir.Apply):
                yield expr


def is_operation(callee: Any) -> bool:
    """Whether a callee is an operator, an item or an attribute of something that is known at run time only."""
    return isinstance(callee, Dynamic) and callable(callee.key) and callee.key not in AUGMENTED


def is_open(spec: Spec, seen: frozenset[int] = frozenset()) -> bool:
    """Whether a function, or what it calls, has such operations."""
    seen = seen | {id(spec)}
    callees = [value.callee for value in applied(spec.body)]
    return any(is_operation(callee) and not callee.pure for callee in callees) or any(
        is_open(callee.spec, seen) for callee in callees if isinstance(callee, PairCall) and id(callee.spec) not in seen
    )


__all__ = ["applied", "fills", "is_open", "is_operation", "may_store", "writes"]
