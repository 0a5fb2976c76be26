"""Which functions have nothing to do with the table of cotangents: their pairs are as in a program without one."""

from __future__ import annotations

from adcompiler import ir
from adcompiler.callees import Dynamic, PairCall, PlaceCall, parts
from adcompiler.lattice import is_plain
from adcompiler.spec import Spec


def is_quiet(spec: Spec, above: frozenset[int] = frozenset()) -> bool:
    """Whether a function, and what it calls, reads and writes nothing whose cotangent is kept by identity."""
    if spec.quiet is None:
        if id(spec) in above:
            return True
        above = above | {id(spec)}
        kinds = [*spec.kinds, spec.result, *spec.name_kinds.values()]
        quiet = all(map(is_plain, kinds)) and all(_is_quiet(s, above) for s in ir.statements(spec.body))
        if len(above) > 1 and quiet:
            return True  # it rests on functions that are not known yet
        spec.quiet = quiet
    return spec.quiet


def _is_quiet(stmt: ir.Stmt, above: frozenset[int]) -> bool:
    for expr in ir.expressions(stmt):
        for inner in ir.walk(expr):
            if isinstance(inner, ir.Apply):
                callee = inner.callee
                if isinstance(callee, PlaceCall) or (isinstance(callee, Dynamic) and not callee.pure):
                    return False
                if not all(k is None or is_plain(k) for k in (inner.kind, *inner.kinds)):
                    return False
                if isinstance(callee, PairCall) and not is_quiet(callee.spec, above):
                    return False
                for over in parts(callee):
                    if not is_plain(over.kind):
                        return False
    return True


__all__ = ["is_quiet"]
