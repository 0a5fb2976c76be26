"""What differentiating one specialisation gives: its forward and its backward."""

from __future__ import annotations

from dataclasses import dataclass

from adcompiler import ir
from adcompiler.spec import Spec


@dataclass(eq=False)
class Pair:
    """`forward(*params) → (value, saved)`, `backward(saved, value_bar) → cotangents of the active parameters`.

    `bars` holds for each parameter in order the name of its cotangent, None if it is inactive or zero.
    """

    spec: Spec
    mask: tuple[bool, ...]
    forward_name: str
    backward_name: str
    params: tuple[str, ...]
    forward: ir.Block = ()
    backward: ir.Block = ()
    saved: tuple[str, ...] = ()
    cotangent: str = ""
    active: tuple[str, ...] = ()
    results: tuple[ir.Expr, ...] = ()
    sure: dict[str, bool] | None = None
    run: str = ""  # the first parameter of the forward of a generator: see `runtime.streams`
    table: str = ""  # the parameter of the backward for the cotangents that are kept by identity
    caught: bool = False  # its exceptions are caught by a caller, in a program with a table
    record: str | None = None  # the list that is filled with what is saved when the forward ends, if it is open
