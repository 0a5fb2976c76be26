"""Where a local function that is passed on or kept might see other values of its variables than it was made with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adcompiler import ir
from adcompiler.errors import UnsupportedSyntaxError, refuse


def rebound_between(body: ir.Block, node: Any, use: ir.Stmt) -> set[str]:
    """Names bound after a function (`node`) is defined and before `use`, or in a loop that holds only the use."""
    order = list(ir.statements(body))
    at = _made_at(order, node)
    use_at = next(i for i, s in enumerate(order) if s is use)
    if at is None or at > use_at:
        return set(ir.bound_in(body))
    names: set[str] = set().union(*(_own(s) for s in order[at + 1 : use_at]))
    for stmt in order:
        inside = set(map(id, ir.statements((stmt,))))
        if isinstance(stmt, ir.For | ir.While) and id(use) in inside and id(order[at]) not in inside:
            names |= ir.bound(stmt)
    return names


def rebound_after(body: ir.Block, node: Any) -> set[str]:
    """Names bound after a function is defined, or in a loop around its definition."""
    order = list(ir.statements(body))
    at = _made_at(order, node)
    if at is None:
        return set(ir.bound_in(body))
    names: set[str] = set().union(*(_own(s) for s in order[at + 1 :]))
    for stmt in order:
        if isinstance(stmt, ir.For | ir.While) and any(s is order[at] for s in ir.statements((stmt,))):
            names |= ir.bound(stmt)
    return names


def local_functions(body: ir.Block) -> Iterator[tuple[str, Any, frozenset[str]]]:
    """The functions that a block makes: their names, their definitions and what they capture."""
    for stmt in ir.statements(body):
        match stmt:
            case ir.Define(name, node, captures) | ir.Assign(name, ir.Lambda(node, captures)):
                yield name, node, captures


class ReboundLate(Exception):
    """Raised when a function is passed on whose captured variables `names` are rebound after it was made."""

    def __init__(self, names: set[str], refusal: Exception) -> None:
        super().__init__(names)
        self.names = frozenset(names)
        self.refusal = refusal


def rebound_late(stmt: ir.Stmt, names: set[str]) -> Exception:
    """What to raise for a function that would see other values than it was made with."""
    refusal = refuse(
        UnsupportedSyntaxError,
        f"{', '.join(sorted(names))} changes after a function that uses it was made",
        stmt.origin,
        "The function would see the new value.",
        "Pass the value as an argument.",
    )
    return ReboundLate(names, refusal)


def _made_at(order: list[ir.Stmt], node: Any) -> int | None:
    return next((i for i, s in enumerate(order) if _makes(s, node)), None)


def _makes(stmt: ir.Stmt, node: Any) -> bool:
    """Whether a statement makes the function with this definition."""
    match stmt:
        case ir.Define():
            return stmt.node is node
        case ir.Assign(_, ir.Lambda() as function):
            return function.node is node
    return False


def _own(stmt: ir.Stmt) -> set[str]:
    """The names that a statement binds itself."""
    match stmt:
        case ir.Assign(target):
            return {target}
        case ir.Unpack(target) | ir.For(target):
            return set(ir.target_names(target))
        case ir.Define(name):
            return {name}
        case ir.Opaque():
            return set(stmt.writes)
        case ir.With(_, str() as target):
            return {target}
        case ir.Try(_, handlers):
            return {h.name for h in handlers if h.name is not None}
    return set()
