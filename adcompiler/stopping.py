"""`with stop_gradient():` what is computed in the block is constant, also for the code behind it.

    with stop_gradient():               with stop_gradient():
        m = np.mean(x)                      m = np.mean(x)
                                            m = stop_gradient(m)
        self.mean = m * 0.1                 t1 = m * 0.1
                                            self.mean = stop_gradient(t1)
        total += x                          total += stop_gradient(x)

An augmented assignment so changes its variable by a constant.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.names import Names
from adcompiler.runtime.marks import stop_gradient

_STOP = ir.Static(stop_gradient, "stop_gradient")


def stopped(body: ir.Block, variables: frozenset[str], names: Names) -> ir.Block:
    """The statements of the block, with what makes constants of the `variables` that they bind, and of what they store.

    Temporaries are left alone: what is computed of them ends in a variable or in a place.
    """
    out: list[ir.Stmt] = []
    for stmt in body:
        out += _statement(stmt, variables, names)
    return tuple(out)


def _statement(stmt: Any, variables: frozenset[str], names: Names) -> list[ir.Stmt]:
    def constant(value: ir.Expr) -> tuple[list[ir.Stmt], ir.Expr]:
        held = names.fresh("t")
        return [ir.Assign(held, _stop(value), stmt.origin)], ir.Name(held)

    match stmt:
        case ir.Assign(_, ir.Op(op, (place, by)), augmented=True):
            before, by = constant(by)
            return [*before, replace(stmt, value=ir.Op(op, (place, by)))]
        case ir.Store() | ir.Return() | ir.Yield():
            before, value = constant(stmt.value)
            return [*before, replace(stmt, value=value)]
        case ir.Do(ir.Call(ir.Attr(), args) as call):  # `log.append(x)`
            made = [constant(a) if isinstance(a, ir.Name) else ([], a) for a in args]
            call = replace(call, args=tuple(a for _, a in made))
            return [*(s for before, _ in made for s in before), replace(stmt, value=call)]
        case ir.If() | ir.While() | ir.Try():
            return [ir.with_blocks(stmt, tuple(stopped(b, variables, names) for b in ir.blocks(stmt)))]
        case ir.For() | ir.With():
            body, *others = (stopped(b, variables, names) for b in ir.blocks(stmt))
            targets = ir.target_names(stmt.target) if stmt.target else ()
            return [ir.with_blocks(stmt, ((*_constants(targets, variables, stmt), *body), *others))]
    return [stmt, *_constants(sorted(ir.bound(stmt)), variables, stmt)]


def _constants(bound: Any, variables: frozenset[str], stmt: Any) -> list[ir.Stmt]:
    return [ir.Assign(name, _stop(ir.Name(name)), stmt.origin) for name in bound if name in variables]


def _stop(value: ir.Expr) -> ir.Expr:
    return ir.Call(_STOP, (value,))


__all__ = ["stopped"]
