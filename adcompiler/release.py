"""The pass `release`, for single use: records are consumed as the reverse runs, and values go at their last use.

for h_1, x in reversed(trace1):        while trace1:
    ...                                    h_1, x = trace1.pop()
                                           ...

How much more is done is said by `runtime.release`: `lastuse` lets go, `free` returns memory, `recycle` reuses it.
"""

from __future__ import annotations

from adcompiler import ir
from adcompiler.holdings import may_be_array
from adcompiler.lastuse import LastRead, let_go
from adcompiler.ownership import ownership
from adcompiler.recycle import Words, apart, recycle
from adcompiler.runtime.release import Release
from adcompiler.runtime.reuse import free, poison

FREE = ir.Static(free, "free")
POISON = ir.Static(poison, "poison")


def released(block: ir.Block, release: Release, words: Words, borrowed: frozenset[str]) -> ir.Block:
    """The backward of a pair as it is run once.

    `words.outside` are the names of what it is given, `borrowed` those of what its caller may have without a trace.
    """
    block = consumed(block)
    if not release.small:
        block = apart(block, words)
    if release.mode == "reuse":
        block = recycle(block, words, borrowed)
    return let_go(block, words.kinds, _given_back(block, release, words))


def _given_back(block: ir.Block, release: Release, words: Words) -> LastRead:
    """What is done with a value that is read for the last time, given the names that are read later."""
    if not release.frees:
        return lambda name, later: ()
    owners = ownership(block, words.kinds, words.outside)
    back = POISON if release.mode == "poison" else FREE

    def last(name: str, later: frozenset[str]) -> tuple[ir.Stmt, ...]:
        if not may_be_array(words.kinds.get(name)) or not owners.owned(name) or (owners.group(name) - {name}) & later:
            return ()
        return (ir.Do(ir.Call(back, (ir.Name(name),))),)

    return last


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
