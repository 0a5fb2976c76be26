"""Where the forward builds its records: placeholders at first, statements once it is known what is saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from adcompiler import ir
from adcompiler.bars import Code
from adcompiler.saving import Region


@dataclass(frozen=True, slots=True, eq=False)
class Record(ir.Stmt):
    """Where a region's record is built; replaced once it is known what is saved."""

    region: Region
    origin: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Mark(ir.Stmt):
    """Where a region's exit marker is set."""

    region: Region
    number: int
    origin: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Top(ir.Stmt):
    """The top of a region, where names that a path may leave unset become None."""

    region: Region
    origin: Any = None


def with_records(code: Iterable[ir.Stmt]) -> ir.Block:
    """Put the records and the unset names in their places."""
    out: list[ir.Stmt] = []
    for stmt in code:
        match stmt:
            case Top(region):
                out.extend(_cleared(region))
            case Mark(region, number):
                if region.marker is not None and (region.loop is None or region.trace):
                    out.append(ir.Assign(region.marker, ir.Const(number)))
            case Record(region):
                out.extend(_record(region))
            case _:
                inner = ir.blocks(stmt)
                out.append(ir.with_blocks(stmt, tuple(with_records(b) for b in inner)) if inner else stmt)
    return tuple(out)


def _cleared(region: Region) -> Code:
    """The statements that give names a value at the top of a region."""
    out: Code = []
    for value in (None, 0, ()):
        names = tuple(n for n, v in region.unset.items() if v == value and type(v) is type(value))
        if names:
            out.append(ir.Clear(names, None, value))
    return out


def _record(region: Region) -> Code:
    """The statements that put what an iteration saves at the end of its loop's trace."""
    if region.loop is None or not region.trace:
        return []
    if not region.saved:
        step = ir.Op("+", (ir.Name(region.trace), ir.Const(1)))
        return [ir.Assign(region.trace, step, augmented=True)]
    names = tuple(ir.Name(n) for n in region.saved)
    entry: ir.Expr = names[0] if len(names) == 1 else ir.Seq("tuple", names)
    return [ir.Do(ir.Call(ir.Attr(ir.Name(region.trace), "append"), (entry,)))]
