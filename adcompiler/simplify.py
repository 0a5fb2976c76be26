"""The pass `simplify`: copies in the backward are left out, so that a cotangent that only passes through has one name.

    t2_bar = value_bar
    x_bar = t2_bar * w       →       x_bar = value_bar * w

Only names that are assigned once are replaced, and only by names that are assigned once (or are parameters).
"""

from __future__ import annotations

from collections import Counter

from adcompiler import ir


def simplify(block: ir.Block, parameters: frozenset[str]) -> ir.Block:
    """The block without copies of one single-assigned name to another."""
    writes = assignments(block)
    copies: dict[str, ir.Expr] = {}
    for stmt in ir.statements(block):
        match stmt:
            case ir.Assign(target, ir.Name(source)) if not stmt.augmented:
                once = writes[source] == 1 or (source in parameters and writes[source] == 0)
                if writes[target] == 1 and once and target != source:
                    copies[target] = copies.get(source, ir.Name(source))
    return _replace(block, copies) if copies else block


def assignments(block: ir.Block) -> Counter[str]:
    """How often each name is assigned in a block, loops and deletions counted as many times."""
    writes: Counter[str] = Counter()
    for stmt in ir.statements(block):
        match stmt:
            case ir.Assign(target):
                writes[target] += 2 if stmt.augmented else 1
            case ir.Unpack(target) | ir.For(target):
                writes.update(ir.target_names(target))
            case ir.Clear(names) | ir.Delete(names):
                writes.update({n: 2 for n in names})
            case ir.Store(ir.Item(ir.Name(name)) | ir.Attr(ir.Name(name))):
                writes[name] += 2
            case ir.Do(ir.Call(_, (ir.Name(name), *_))):
                writes[name] += 2  # add_at writes into its first argument
    return writes


def _replace(block: ir.Block, copies: dict[str, ir.Expr]) -> ir.Block:
    out = []
    for stmt in block:
        if isinstance(stmt, ir.Assign) and stmt.target in copies:
            continue
        inner = ir.blocks(stmt)
        if inner:
            stmt = ir.with_blocks(stmt, tuple(_replace(b, copies) for b in inner))
        out.append(ir.map_expressions(stmt, lambda e: ir.substitute(e, copies)))
    return tuple(out)
