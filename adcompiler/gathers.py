"""Comprehensions, once it is known what is active: the user's own expression, or the loop that means the same.

ys = [f(x) for x in xs]        t1 = []
                               for x in xs:
                                   t1.append(f(x))
                               ys = t1
"""

from __future__ import annotations

import sys
from collections import Counter

import gast

from adcompiler import ir
from adcompiler.activity import Activity
from adcompiler.callees import Build, Gathered, InertCall, Iteration, Load, Move, PairCall, PathLoad, RuleCall
from adcompiler.comprehend import COMPREHENSIONS
from adcompiler.definite import Definite
from adcompiler.errors import UnsupportedSyntaxError, refuse
from adcompiler.lattice import Heap
from adcompiler.scope import loads

_HARMLESS = (Build, Gathered, InertCall, Iteration, Load, Move, PathLoad, RuleCall)


def gathered(
    body: ir.Block, found: Activity, variables: frozenset[str], bound: Definite, called: Counter[str] | None = None
) -> ir.Block:
    """The block with a decision on each `Gather`; `found` gets the active names before each new statement.

    `called` counts the variables that calls in the whole function pass for functions which captured them.
    """
    before = found.before
    called = _passed(body) if called is None else called
    out: list[ir.Stmt] = []
    for stmt in body:
        inner = tuple(gathered(b, found, variables, bound, called) for b in ir.blocks(stmt))
        active = before.get(id(stmt), frozenset())
        if isinstance(stmt, ir.Gather):
            outlived = called - _passed(stmt.body)  # functions that it made are called elsewhere
            decided = _decided(stmt, inner[0], found, variables | outlived.keys())
            unsure = _unsure(stmt, variables, bound)
            out += _checked(tuple(decided), unsure, before) if unsure and len(decided) > 1 else decided
        elif any(a is not b for a, b in zip(inner, ir.blocks(stmt), strict=True)):
            new = ir.with_blocks(stmt, inner)
            before[id(new)] = active
            out.append(new)
        else:
            out.append(stmt)
    same = len(out) == len(body) and all(a is b for a, b in zip(out, body, strict=True))
    return body if same else tuple(out)


def _passed(body: ir.Block) -> Counter[str]:
    """How often each variable is passed for a function that captured it."""
    values = [e for stmt in ir.statements(body) for e in ir.expressions(stmt) if isinstance(e, ir.Apply)]
    return Counter(
        a.id
        for value in values
        if isinstance(value.callee, PairCall)
        for a in value.args[: value.callee.captured]
        if isinstance(a, ir.Name)
    )


def _unsure(stmt: ir.Gather, variables: frozenset[str], bound: Definite) -> frozenset[str]:
    """The variables that may be unbound where a comprehension reads them from a frame of its own."""
    names: set[str] = set()
    for node in gast.walk(stmt.spelled.node):
        framed = isinstance(node, gast.GeneratorExp) or sys.version_info < (3, 12)
        if isinstance(node, COMPREHENSIONS) and framed:
            names |= loads(node) - loads(node.generators[0].iter)
    return frozenset(names & variables) - bound.before.get(id(stmt), variables) - ir.bound_in(stmt.body)


def _checked(block: ir.Block, names: frozenset[str], before: dict[int, frozenset[str]]) -> ir.Block:
    """The block with reads as Python does them there: of an unbound variable they raise another error."""
    out: list[ir.Stmt] = []
    for stmt in block:
        for name in sorted({n for e in ir.expressions(stmt) for n in ir.reads(e)} & names):
            read = ir.Lambda(gast.parse(f"lambda: {name}", mode="eval").body, frozenset({name}))
            out.append(ir.Do(ir.Call(read), stmt.origin))
        inner = ir.blocks(stmt)
        if inner:
            new = ir.with_blocks(stmt, tuple(_checked(b, names, before) for b in inner))
            before[id(new)] = before.get(id(stmt), frozenset())
            stmt = new
        out.append(stmt)
    return tuple(out)


def _matters(stmt: ir.Stmt, active: frozenset[str]) -> bool:
    """Whether a statement may change something that is active."""
    on = any(n in active for e in ir.expressions(stmt) for n in ir.reads(e))
    calls = any(isinstance(e, ir.Apply) and not isinstance(e.callee, _HARMLESS) for e in ir.expressions(stmt))
    return on and (calls or isinstance(stmt, ir.Store | ir.Do | ir.Return))


def _decided(stmt: ir.Gather, body: ir.Block, found: Activity, variables: frozenset[str]) -> list[ir.Stmt]:
    """The statements for one `Gather`, whose own block is `body` by now."""
    before = found.before
    active = before.get(id(stmt), frozenset())
    needed = id(stmt) in found.gathered or any(
        _matters(s, before.get(id(s), frozenset())) for s in ir.statements(stmt.body)
    )
    # What is bound in the function, by a walrus, or for functions that are called later: only the loop shows that.
    if not needed and not ir.bound_in(body) & variables:
        kept = ir.Assign(stmt.target, stmt.spelled, stmt.origin, kind=stmt.kind)
        before[id(kept)] = active
        return [kept]
    if stmt.own_cells:
        raise refuse(
            UnsupportedSyntaxError,
            f"{stmt.spelled.what} that makes functions of its variables, inside a loop",
            stmt.origin,
            "Each run of it has variables of its own, which the functions would keep.",
            "Pass the variable as a default, or make the functions in a function of its own.",
        )
    if stmt.into is None:
        return list(body)
    into = ir.Name(stmt.into)
    whole: ir.Expr = into
    if not isinstance(stmt.kind, Heap):
        whole = ir.Apply(into, Gathered(), (into,), (stmt.kind,), stmt.kind)
    last = ir.Assign(stmt.target, whole, stmt.origin, kind=stmt.kind)
    before[id(last)] = active | {stmt.into}
    return [*body, last]
