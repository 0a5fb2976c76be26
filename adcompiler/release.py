"""The pass `release`, for single use: records are consumed as the reverse runs.

for h_1, x in reversed(trace1):        while trace1:
    ...                                    h_1, x = trace1.pop()
                                           ...
"""

from __future__ import annotations

from adcompiler import ir


def release(block: ir.Block) -> ir.Block:
    """The block with its reverse loops consuming their records."""
    out: list[ir.Stmt] = []
    for stmt in block:
        inner = ir.blocks(stmt)
        if inner:
            stmt = ir.with_blocks(stmt, tuple(map(release, inner)))
        match stmt:
            case ir.For(target, ir.Call(ir.Static(_, "reversed"), (ir.Name() as trace,)), body, ()):
                pop = ir.Call(ir.Attr(trace, "pop"))
                first: ir.Stmt = ir.Assign(target, pop) if isinstance(target, str) else ir.Unpack(target, pop)
                out.append(ir.While((), trace, (first, *body), (), stmt.origin))
            case _:
                out.append(stmt)
    return tuple(out)
