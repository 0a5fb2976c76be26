"""What the parts of the pass `pushforward` share: names of tangents, and the tangents of operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.activity import Activity
from adcompiler.aliases import Aliases
from adcompiler.errors import UnsupportedSyntaxError, refuse
from adcompiler.lattice import Array, Int, IntArray, Kind, Known, Scalar, can_be_active, numeric
from adcompiler.names import Names
from adcompiler.runtime.pushing import new_zeros, zero_array, zeros_of
from adcompiler.spec import Spec

Code = list[ir.Stmt]

ZEROS = ir.Static(zeros_of, "zeros_of")
NEW_ZEROS = ir.Static(new_zeros, "new_zeros")


class PushState:
    """The state of one traversal of a specialisation."""

    spec: Spec
    names: Names
    found: Activity
    aliases: Aliases
    stmt: Any
    active: frozenset[str]
    wanted_dot: str | None = None  # what the tangent of the value at hand is called in the end
    careful: bool  # arrays are written into: a tangent shares memory with another one exactly where the values do

    def __init__(self) -> None:
        self.dots: dict[str, str] = {}  # the names of tangents, by name of the value

    def is_active(self, expr: Any) -> bool:
        """Whether an operand carries a tangent (operands may be nested tuples and indices)."""
        if isinstance(expr, tuple):
            return any(map(self.is_active, expr))
        return isinstance(expr, ir.Expr) and any(n in self.active for n in ir.reads(expr))

    def tangents(self, expr: Any) -> ir.Expr:
        """The tangent of an operand, None if it has none."""
        if isinstance(expr, tuple):
            return ir.Seq("tuple", tuple(map(self.tangents, expr)))
        if isinstance(expr, ir.Name) and expr.id in self.active:
            return ir.Name(self.dots[expr.id])
        if isinstance(expr, ir.Seq) and self.is_active(expr):
            return ir.Seq(expr.form, tuple(map(self.tangents, expr.items)))
        if isinstance(expr, ir.Star):
            return ir.Star(self.tangent_of(expr.value, None))
        return ir.Const(None)

    def tangent_of(self, expr: Any, kind: Kind | None, new: bool = False) -> ir.Expr:
        """The tangent of an operand, zeros if it has none."""
        if isinstance(expr, tuple):
            return ir.Seq("tuple", tuple(self.tangent_of(e, None) for e in expr))
        if self.is_active(expr):
            return self.tangents(expr)
        return self.zero(expr, kind, new)

    @staticmethod
    def zero(expr: Any, kind: Kind | None, new: bool = False) -> ir.Expr:
        """The tangent of something that moves with nothing; `new`: nobody else has it."""
        if isinstance(numeric(kind), Int | Scalar) or (isinstance(expr, ir.Const) and type(expr.value) in (int, float)):
            return ir.Const(0.0)
        if isinstance(kind, Known) and not can_be_active(kind):
            return ir.Const(None)
        if new and isinstance(numeric(kind), Array | IntArray):
            typed = (("dtype", ir.Static(float, "float")),) if isinstance(numeric(kind), IntArray) else ()
            return ir.Call(ir.Attr(ir.Static(np, "np"), "zeros_like"), (expr,), typed)
        if isinstance(numeric(kind), Array):
            return ir.Call(ir.Static(zero_array, "zero_array"), (expr,))
        return ir.Call(NEW_ZEROS if new else ZEROS, (ir.as_argument(expr),))

    def still(self, stmt: ir.Assign) -> Code:
        """An assignment of what moves with nothing; `pushforward` knows."""
        raise NotImplementedError

    def computed(self, stmt: ir.Assign) -> Code:
        """An assignment of a new value with its tangent; `pushforward` knows."""
        raise NotImplementedError

    def unsupported(self, what: str, advice: str) -> Exception:
        """The refusal of something that forward mode does not follow."""
        return refuse(
            UnsupportedSyntaxError,
            f"{what} in forward mode",
            getattr(self.stmt, "origin", None),
            "Its tangent is not followed there yet; jvp, hvp and second derivatives need it.",
            advice,
        )
