"""Refusals at run time pass what the user's code catches: a handler of everything must not take them for its own.

    try:                                    try:
        y = y + x * g                           ... what finds the derivative of x * g may refuse
    except Exception:                       except DifferentiationError:
        y = y + 100.0                           raise
                                            except Exception:
                                                y = y + 100.0

What ends every exception, a `with` or a `finally` that leaves, is told apart by a name that holds the refusal.
"""

from __future__ import annotations

import builtins
from dataclasses import replace
from typing import Any

import gast

from adcompiler import ir
from adcompiler.bars import Code
from adcompiler.callees import (
    Drain,
    Dynamic,
    Hooked,
    Into,
    PairCall,
    PlaceCall,
    Pull,
    RuleCall,
    Spread,
    WriteCall,
    in_place,
)
from adcompiler.decide import trusted
from adcompiler.errors import DifferentiationError, TangentError
from adcompiler.names import Names
from adcompiler.ruletext import rule_text
from adcompiler.saving import exits_of
from adcompiler.spec import Spec
from adcompiler.writing import may_store, writes

_REFUSAL = ir.Static(DifferentiationError, "DifferentiationError")
_AT_RUN_TIME = (Dynamic, Hooked, Spread, PlaceCall, Pull, Drain, Into, WriteCall)


def try_that_passes(stmt: ir.Try, source: ir.Try, spec: Spec, names: Names) -> Code:
    """The forward of a `try` (in the function itself: `source`), which refusals leave."""
    caught = any(may_refuse(b) for b in ir.blocks(source)[:-1])
    if not caught:
        return [stmt]
    if any(_catches(h.test, spec) for h in stmt.handlers):
        again = ir.Handler(_REFUSAL, None, (raised(),))
        stmt = replace(stmt, handlers=(again, *stmt.handlers))
    if not exits_of(source.final):
        return [stmt]
    refused = names.fresh("refused")
    body: Any = replace(stmt, final=()) if stmt.handlers else stmt.body
    inner = _noted((body,) if stmt.handlers else (*stmt.body, *stmt.orelse), refused, names)
    final = (raised_again(refused), *stmt.final)
    return [ir.Assign(refused, ir.Const(None)), ir.Try((inner,), (), (), final, stmt.origin)]


def with_that_passes(stmt: ir.With, source: ir.With, names: Names) -> Code:
    """The forward of a `with` that may end exceptions, which refusals leave."""
    if not source.swallows or not may_refuse(source.body):
        return [stmt]
    refused = names.fresh("refused")
    stmt = replace(stmt, body=(_noted(stmt.body, refused, names),))
    return [ir.Assign(refused, ir.Const(None)), stmt, raised_again(refused)]


def _noted(body: ir.Block, refused: str, names: Names) -> ir.Try:
    """The body, with its refusal remembered."""
    error = names.fresh("error")
    note = (ir.Assign(refused, ir.Name(error)), raised())
    return ir.Try(body, (ir.Handler(_REFUSAL, error, note),), (), ())


def raised_again(refused: str) -> ir.If:
    test = ir.Op("is not", (ir.Name(refused), ir.Const(None)))
    return ir.If(test, (raised(refused),), ())


def raised(name: str = "") -> ir.Opaque:
    """`raise`, or `raise name`."""
    value = gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None) if name else None
    return ir.Opaque(gast.Raise(exc=value, cause=None), frozenset({name} - {""}), frozenset(), "raise", leaves=True)


def may_refuse(block: ir.Block, seen: frozenset[int] = frozenset()) -> bool:
    """Whether the forward of a block may find at run time that something has no derivative."""
    for stmt in ir.statements(block):
        if (isinstance(stmt, ir.Store) and stmt.kinds is not None) or (isinstance(stmt, ir.Assign) and in_place(stmt)):
            return True  # of an array, which may have to be told from another one
        for expr in ir.expressions(stmt):
            if not isinstance(expr, ir.Apply):
                continue
            match expr.callee:
                case PairCall(spec):
                    found = writes(expr.callee) or may_store(expr.callee)  # it may stop halfway
                    found = found or (id(spec) not in seen and may_refuse(spec.body, seen | {id(spec)}))
                case RuleCall(rules):
                    found = any(rule_text(rule) is None for rule in rules)
                case callee:
                    found = isinstance(callee, _AT_RUN_TIME)
            if found:
                return True
    return False


def _catches(test: ir.Expr | None, spec: Spec) -> bool:
    """Whether a handler may take a refusal for an exception of the user's."""
    if not isinstance(test, ir.Verbatim):
        return True
    nodes = test.node.elts if isinstance(test.node, gast.Tuple) else [test.node]
    return any(_may_be_refusal(_class_of(node, spec)) for node in nodes)


def _may_be_refusal(cls: Any) -> bool:
    return not isinstance(cls, type) or issubclass(DifferentiationError, cls) or issubclass(TangentError, cls)


def _class_of(node: Any, spec: Spec) -> Any:
    """The class that a handler names, if it is a builtin or a library's; else None."""
    match node:
        case gast.Name(id=name) if name not in spec.function.locals | spec.function.cells | frozenset(spec.params):
            found = spec.globals.get(name, getattr(builtins, name, None))
            builtin = getattr(builtins, name, None) is found
            return found if builtin or trusted(found) else None
        case gast.Attribute(value=value, attr=attr):
            module = _class_of(value, spec)
            return getattr(module, attr, None) if trusted(module) else None
    return None


__all__ = ["may_refuse", "raised", "raised_again", "try_that_passes", "with_that_passes"]
