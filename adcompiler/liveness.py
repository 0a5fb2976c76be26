"""The pass `liveness`: the compiler's temporaries are dropped after their last use.

    t1 = x @ w                  t1 = x @ w
    h = np.tanh(t1 + b)    →    h = np.tanh(t1 + b)
    t1_shape = t1.shape         t1_shape = t1.shape
    ...                         del t1

Folded into one expression the array would die at once; a temporary that got a name lives as long as the function, and
NumPy finds no free block for the next result.  The user's own names are left alone, and so is what is saved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adcompiler import ir
from adcompiler.lattice import is_scalar


def drop(block: ir.Block, keep: frozenset[str]) -> ir.Block:
    """The block with `del` after the last use of each array that a temporary holds; `keep` are names that stay."""
    return _block(block, lambda name: name not in keep, _reads_elsewhere(block))


def _reads_elsewhere(block: ir.Block) -> dict[str, int]:
    """How many statements read each name."""
    counts: dict[str, int] = {}
    for stmt in ir.statements(block):
        for name in _reads(stmt):
            counts[name] = counts.get(name, 0) + 1
    return counts


def _reads(stmt: Any) -> set[str]:
    """The names that a statement itself reads, those of nested functions included."""
    names = {n for e in ir.expressions(stmt) for n in ir.reads(e)}
    match stmt:
        case ir.Opaque(_, reads):
            names |= reads
        case ir.Define(_, _, captures):
            names |= captures
        case ir.Assign(target) if stmt.augmented:
            names.add(target)
    return names


def _block(block: ir.Block, droppable: Callable[[str], bool], counts: dict[str, int]) -> ir.Block:
    last: dict[str, int] = {}
    inside: dict[str, int] = {}
    for i, stmt in enumerate(block):
        for s in ir.statements((stmt,)):
            for name in _reads(s):
                last[name] = i
                inside[name] = inside.get(name, 0) + 1
    dead: dict[int, list[str]] = {}
    for i, stmt in enumerate(block):
        if (
            isinstance(stmt, ir.Assign)
            and droppable(stmt.target)
            and not is_scalar(stmt.kind)
            and stmt.kind is not None
        ):
            name = stmt.target
            at = last.get(name, i)
            # Only what is read in this block alone, and not at its very end, where it dies anyway.
            if i < at < len(block) - 2 and inside.get(name) == counts.get(name):
                names = dead.setdefault(at, [])
                if name not in names:
                    names.append(name)
    out: list[ir.Stmt] = []
    for i, stmt in enumerate(block):
        inner = ir.blocks(stmt)
        out.append(ir.with_blocks(stmt, tuple(_block(b, droppable, counts) for b in inner)) if inner else stmt)
        if i in dead:
            out.append(ir.Delete(tuple(dead[i])))
    return tuple(out)
