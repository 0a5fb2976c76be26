"""What the names in a pair's generated text hold: the user's and the compiler's variables, copies, cotangents."""

from __future__ import annotations

from typing import Any

from adcompiler import ir
from adcompiler.lattice import Array, Inert, Int, IntArray, Kind, Known, Number, Scalar, numeric
from adcompiler.pair import Pair

_FACTS = ("len", "shape", "shape_of", "form", "is_finite", "can_divide")  # what tells something small of a value

Holdings = dict[str, Kind | None]  # None: nothing is known


def holdings(pair: Pair) -> Holdings:
    """The kind of each name, as far as it is known; a cotangent has the kind of its value."""
    found: Holdings = dict(pair.spec.name_kinds)
    found.update(zip(pair.params, pair.spec.kinds, strict=True))
    for stmt in ir.statements(pair.forward):
        if isinstance(stmt, ir.Assign):
            found[stmt.target] = stmt.kind if stmt.kind is not None else _of_copy(stmt.value, found, stmt.target)
    for stmt in ir.statements(pair.backward):
        if isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.Op) and _is_count(stmt.value):
            found[stmt.target] = Inert()
    for name, bar in pair.bars.items():
        found[bar] = found.get(name)
    found[pair.cotangent] = pair.spec.result
    found[pair.junk] = Inert()
    return found


def _of_copy(value: ir.Expr, found: Holdings, target: str) -> Kind | None:
    """The kind of what the forward keeps beside the user's variables: copies, and facts such as shapes."""
    match value:
        case ir.Name(name):
            return found.get(name)
        case ir.Seq("list", ()) | ir.Attr(_, "shape") | ir.Const():
            return Inert()
        case ir.BoolOp("or", (ir.Attr(_, "size"), _)):
            return Int()
        case ir.Call(ir.Static(_, name)) if name in _FACTS:
            return Inert()
        case ir.Call(ir.Static(_, "snapshot"), (ir.Name(name),)):
            return found.get(name)
    return found.get(target)


def _is_count(value: ir.Op) -> bool:
    """Whether a number of iterations is counted down."""
    return value.op == "-" and len(value.args) == 2 and isinstance(value.args[1], ir.Const)


def may_be_large(kind: Kind | None) -> bool:
    """Whether a value may hold arrays: it is no number, text or shape."""
    return not isinstance(kind, Inert | Known) and not isinstance(numeric(kind), Int | Scalar)


def may_be_array(kind: Kind | None) -> bool:
    """Whether a value is an array of floats or a number that may be one; a cotangent may be smaller than its value."""
    return isinstance(numeric(kind), Array | Number)


def is_number(kind: Kind | None) -> bool:
    """Whether a value is a number or an array."""
    return isinstance(numeric(kind), Int | IntArray | Scalar | Array | Number) or (
        isinstance(kind, Known) and isinstance(kind.value, int | float) and not isinstance(kind.value, bool)
    )


def holds_arrays(names: Any, found: Holdings) -> bool:
    """Whether some of the names may hold arrays."""
    return any(may_be_large(found.get(name)) for name in names)


__all__ = ["Holdings", "holdings", "holds_arrays", "is_number", "may_be_array", "may_be_large"]
