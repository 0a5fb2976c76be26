"""Whether memory may be written into after it was read at a statement: what is then kept for the pullback is a copy.

A write reaches what was read before it in the text, or in the same loop: the next iteration writes what this one has
read, unless the memory is made anew in each.
"""

from __future__ import annotations

from typing import Any

from adcompiler import ir
from adcompiler.aliases import OUTSIDE, RESULT, UNSEEN, Aliases


class Order:
    """Where each statement of a body stands: its number in the text, and the loops around it."""

    def __init__(self, body: ir.Block) -> None:
        self.at: dict[int, tuple[int, tuple[Any, ...]]] = {}
        self.inside: dict[int, set[int]] = {}
        self._number(body, ())

    def _number(self, block: ir.Block, loops: tuple[Any, ...]) -> None:
        for stmt in block:
            inner = (*loops, stmt) if isinstance(stmt, ir.For | ir.While) else loops
            self.at[id(stmt)] = (len(self.at), inner)
            for loop in inner:
                self.inside.setdefault(id(loop), set()).add(id(stmt))
            for part in ir.blocks(stmt):
                self._number(part, inner)


def is_reached(order: Order, aliases: Aliases, stmt: ir.Stmt, root: str, after: bool) -> bool:
    """Whether a statement may write into the memory of a class after what another has read before (or after) it."""
    writes = [by for node, by in aliases.written.items() if aliases.find(node) == root]
    if not writes:
        return False
    here = order.at.get(id(stmt))
    if here is None or any(UNSEEN in by for by in writes):
        return True
    number, loops = here
    for write in set().union(*writes):
        there = order.at.get(write)
        if there is None or there[0] > number or (there[0] == number and not after):
            return True
        shared = [loop for loop in loops if loop in there[1]]
        if any(not _is_made_in(order, aliases, root, loop) for loop in shared):
            return True
    return False


def _is_made_in(order: Order, aliases: Aliases, root: str, loop: Any) -> bool:
    """Whether each iteration of a loop makes the memory of a class anew, and no name carries it to the next one."""
    inside = order.inside.get(id(loop), set())
    names = set()
    for node in aliases.parent:
        if node == RESULT or aliases.find(node) != root:
            continue
        name, _, made = node.partition("@")
        if node == OUTSIDE or not made.isdigit() or int(made) not in inside or int(made) == id(loop):
            return False
        names.add(name)
    body = (*loop.head, *loop.body) if isinstance(loop, ir.While) else loop.body
    return not any(_is_carried(name, body) for name in names)


def _is_carried(name: str, body: ir.Block) -> bool:
    """Whether a name may be read in the body of a loop before it is bound there."""
    for stmt in body:
        if any(name in ir.reads(e) for s in ir.statements((stmt,)) for e in ir.expressions(s)):
            return True
        if any(isinstance(s, ir.Opaque | ir.Define) for s in ir.statements((stmt,))):
            return True
        if isinstance(stmt, ir.Assign | ir.Unpack) and name in ir.bound(stmt):
            return False
    return True


__all__ = ["Order", "is_reached"]
