"""The pass `release`, for single use: records are consumed as the reverse runs, and values go at their last use.

for h_1, x in reversed(trace1):        while trace1:
    ...                                    h_1, x = trace1.pop()
                                           ...

How much more is done is said by `runtime.release`: `lastuse` lets go, `free` returns memory, `recycle` reuses it.
"""

from __future__ import annotations

from adcompiler import ir
from adcompiler.lastuse import let_go
from adcompiler.recycle import Words, apart, recycle
from adcompiler.runtime.release import Release


def released(block: ir.Block, release: Release, words: Words, given: frozenset[str]) -> ir.Block:
    """The backward of a pair as it is run once; `given` are names of what its caller may still have."""
    block = consumed(block)
    block = apart(block, words)
    if release.reuses:
        block = recycle(block, words, given)
    return let_go(block, words.kinds)


def consumed(block: ir.Block) -> ir.Block:
    """The block with its reverse loops consuming their records."""
    out: list[ir.Stmt] = []
    for stmt in block:
        inner = ir.blocks(stmt)
        if inner:
            stmt = ir.with_blocks(stmt, tuple(map(consumed, inner)))
        match stmt:
            case ir.For(target, ir.Call(ir.Static(_, "reversed"), (ir.Name() as trace,)), body, ()):
                pop = ir.Call(ir.Attr(trace, "pop"))
                first: ir.Stmt = ir.Assign(target, pop) if isinstance(target, str) else ir.Unpack(target, pop)
                out.append(ir.While((), trace, (first, *body), (), stmt.origin))
            case _:
                out.append(stmt)
    return tuple(out)


__all__ = ["consumed", "released"]
