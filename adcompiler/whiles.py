"""`while` loops whose test binds active names → loops whose body begins with the test.

Activity and the adjoint know statements in blocks; what a test binds by a walrus is differentiated as part of the body.
"""

from __future__ import annotations

from adcompiler import ir
from adcompiler.callees import Dynamic, InertCall, PairCall, PlaceCall
from adcompiler.names import Names
from adcompiler.quiet import is_quiet


def with_tests_inside(
    body: ir.Block, before: dict[int, frozenset[str]], variables: frozenset[str], names: Names
) -> ir.Block:
    """The block with such loops rewritten; `before` gets the active names before each new statement."""
    out: list[ir.Stmt] = []
    for stmt in body:
        inner = tuple(with_tests_inside(b, before, variables, names) for b in ir.blocks(stmt))
        same = all(a is b for a, b in zip(inner, ir.blocks(stmt), strict=True))
        new = stmt if same or not inner else ir.with_blocks(stmt, inner)
        if new is not stmt:
            before[id(new)] = before.get(id(stmt), frozenset())
        if isinstance(new, ir.While) and ((new.head and new.orelse) or _head_is_active(new, before, variables)):
            ended = names.fresh("ended")
            note = (ir.Assign(ended, ir.Const(1), new.origin),) if new.orelse else ()
            leave = ir.If(new.test, (), (*note, ir.Break(new.origin)), new.origin)
            old, new = new, ir.While((), ir.Const(True), (*new.head, leave, *new.body), (), new.origin)
            before[id(new)] = before.get(id(old), frozenset())
            if old.orelse:
                # The `else` of the loop runs if the test, not a `break`, ended it.
                out.append(ir.Assign(ended, ir.Const(0), new.origin))
                out.append(new)
                new = ir.If(ir.Name(ended), old.orelse, (), new.origin)
        out.append(new)
    if len(out) == len(body) and all(a is b for a, b in zip(out, body, strict=True)):
        return body
    return tuple(out)


def _may_write(callee: object) -> bool:
    """Whether a call in a test may read or write what has its cotangent in the table."""
    match callee:
        case PlaceCall():
            return True
        case Dynamic(key, _, pure):
            return not pure and not callable(key)
        case PairCall(spec):
            return bool(spec.program.writes_places) and not is_quiet(spec)
    return False


def _head_is_active(stmt: ir.While, before: dict[int, frozenset[str]], variables: frozenset[str]) -> bool:
    """Whether the test of a `while` binds a variable (by a walrus) that may carry a derivative."""
    for s in ir.statements(stmt.head):
        if isinstance(s, ir.Yield):
            return True
        if isinstance(s, ir.Assign) and isinstance(s.value, ir.Apply) and _may_write(s.value.callee):
            return True
        if isinstance(s, ir.Assign) and s.target in variables:
            inert = isinstance(s.value, ir.Apply) and isinstance(s.value.callee, InertCall)
            if not inert and any(n in before.get(id(s), frozenset()) for n in ir.reads(s.value)):
                return True
    return False
