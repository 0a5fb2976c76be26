"""The blocks of a pair as they are printed: forward and backward, folded, and with memory given back in single use.

pair.forward    recycle, fold, lastuse (or liveness)    the body of the forward, up to `return value, saved`
pair.backward   simplify, fold, release                 the body of the backward, up to `return cotangents`
"""

from __future__ import annotations

import sys
import types
from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.fold import fold
from adcompiler.holdings import Holdings, holdings, holds_arrays
from adcompiler.lastuse import let_go_in_forward
from adcompiler.lattice import Inert, numeric
from adcompiler.liveness import drop
from adcompiler.names import Names
from adcompiler.pair import Pair
from adcompiler.recycle import Words, recycle
from adcompiler.release import released
from adcompiler.runtime.dynamic import once, resolve, resolve_spread, resolve_value
from adcompiler.runtime.release import Release
from adcompiler.simplify import simplify

# From Python 3.14 on, the reference count of an argument does not tell that its caller has it, too.
_BORROWED = sys.version_info >= (3, 14)

# What finds the derivative of a call at run time, where its pullback is called once.
_ONCE = {find: once(find) for find in (resolve, resolve_value, resolve_spread)}


# --- names and records ------------------------------------------------------------------------------------


def local_names(pair: Pair) -> set[str]:
    """All names that a pair's text reads or binds by itself; modules that it reads keep their names."""
    names = (
        {*pair.params, *pair.saved, pair.cotangent, pair.table, pair.run, "saved"}
        | pair.spec.function.locals
        | pair.spec.function.cells
    )
    for stmt in ir.statements((*pair.forward, *pair.backward)):
        names |= ir.bound(stmt)
        for expr in ir.expressions(stmt):
            names.update(ir.reads(expr))
    return names


def saved_expr(pair: Pair, release: Release) -> ir.Expr:
    """The saved values: a tuple, or a list if the backward empties it."""
    return ir.Seq("list" if empties(pair, release) else "tuple", tuple(map(ir.Name, pair.saved)))


def empties(pair: Pair, release: Release) -> bool:
    """Whether the backward empties its record, so that nothing in it outlives its last use there."""
    return release.drops and not pair.run and holds_arrays(pair.saved, holdings(pair))


# --- forward ----------------------------------------------------------------------------------------------


def forward_block(pair: Pair, release: Release) -> ir.Block:
    """The forward with `return value, saved`, folded."""
    saved = saved_expr(pair, release)

    def finish(block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in block:
            record = saved if pair.record is None else ir.Name(pair.record)
            if isinstance(stmt, ir.Return) and pair.run:
                out.append(ir.Store(ir.Attr(ir.Name(pair.run), "kept"), record))
            elif isinstance(stmt, ir.Return):
                stmt = ir.Return(ir.Seq("tuple", (stmt.value, record)), stmt.origin)
            elif ir.blocks(stmt):
                stmt = ir.with_blocks(stmt, tuple(map(finish, ir.blocks(stmt))))
            out.append(stmt)
        return tuple(out)

    function = pair.spec.function
    mine = frozenset({pair.run}) | function.locals | function.cells | frozenset(pair.params)
    block = fold(recycled(pair, finish(pair.forward), release), mine)
    kept = frozenset(_recorded(pair))
    if release.drops:
        block = _resolved_once(let_go_in_forward(block, _own(pair), kept))
    else:
        block = drop(block, mine | kept)
    return _still_local(pair) + (block if pair.record is None else _filling(block, pair.record, saved))


def _own(pair: Pair) -> Holdings:
    """What the forward of a single use may let go of: temporaries.

    The user's variables live as long as in a plain run: identities and weak references could tell.
    """
    function = pair.spec.function
    named = function.locals | function.cells | frozenset(pair.params) | {pair.run}
    found = holdings(pair)
    return {n: kind if n not in named and numeric(kind) is not None else Inert() for n, kind in found.items()}


def _filling(block: ir.Block, record: str, saved: ir.Expr) -> ir.Block:
    """The forward that returns its record as a list, which is filled when all is done: a `finally` saves values too."""
    count = next((i for i, s in enumerate(block) if not isinstance(s, ir.Clear)), len(block))
    fill = ir.Store(ir.Item(ir.Name(record), ir.Slice(None, None, None)), saved)
    made = ir.Assign(record, ir.Seq("list", ()))
    return (*block[:count], made, ir.Try(block[count:], (), (), (fill,)))


def _still_local(pair: Pair) -> ir.Block:
    """Names that only dead code binds stay local to the forward, and unbound."""
    names = sorted((pair.spec.function.locals - set(pair.params) - ir.bound_in(pair.forward)) & _reads_in(pair.forward))
    return (ir.Clear(tuple(names)), ir.Delete(tuple(names))) if names else ()


def _reads_in(block: ir.Block) -> set[str]:
    return {n for s in ir.statements(block) for e in ir.expressions(s) for n in ir.reads(e)}


def _recorded(pair: Pair) -> set[str]:
    """The names that some record holds."""
    calls = (s.value for s in ir.statements(pair.forward) if isinstance(s, ir.Do))
    appended = (e for e in calls if isinstance(e, ir.Call) and isinstance(e.func, ir.Attr) and e.func.name == "append")
    return {*pair.saved, *(n for e in appended for n in ir.reads(e))}


def _resolved_once(block: ir.Block) -> ir.Block:
    """The block with calls that are found at run time releasing memory as the others do."""

    def found(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Static) and isinstance(expr.value, types.FunctionType) and expr.value in _ONCE:
            return ir.Static(_ONCE[expr.value], expr.spelling)
        return ir.rebuild(expr, found)

    out = []
    for stmt in block:
        if ir.blocks(stmt):
            stmt = ir.with_blocks(stmt, tuple(map(_resolved_once, ir.blocks(stmt))))
        out.append(ir.map_expressions(stmt, found))
    return tuple(out)


def recycled(pair: Pair, forward: ir.Block, release: Release) -> ir.Block:
    """The forward of a pair with results in the place of temporaries that are not needed any more.

    The user's variables get new arrays, as in a plain run.
    """
    function = pair.spec.function
    if not release.reuses:
        return forward
    named = function.locals | function.cells | frozenset(pair.params)
    words = replace(words_of(pair, release), exact=True)
    return recycle(forward, words, named, frozenset(pair.saved))


# --- backward ---------------------------------------------------------------------------------------------


def backward_block(pair: Pair, release: Release) -> ir.Block:
    """The backward from unpacking `saved` to `return cotangents`, folded."""
    results: ir.Expr = pair.results[0] if len(pair.results) == 1 else ir.Seq("tuple", pair.results)
    body = (*pair.backward, ir.Return(results))
    folded = fold(simplify(body, frozenset({*pair.saved, pair.cotangent})), frozenset())
    if not release.drops:
        return folded
    given = frozenset((pair.cotangent, pair.table)) if _BORROWED else frozenset((pair.table,))
    return released(folded, release, words_of(pair, release), given)


# --- what recycling has to know ---------------------------------------------------------------------------


def words_of(pair: Pair, release: Release) -> Words:
    """What `recycle` has to know of a pair's text."""
    names = Names(local_names(pair))

    def meant(name: str) -> Any:
        return pair.spec.program.global_value(pair.spec.globals, name)[1]

    given = frozenset((*pair.saved, pair.cotangent, pair.table)) | _popped(pair.backward)
    return Words(holdings(pair), names, meant, release.reuses, given)


def _popped(backward: ir.Block) -> frozenset[str]:
    """The names that a backward takes from the records of loops."""
    loops = (s for s in ir.statements(backward) if isinstance(s, ir.For))
    return frozenset(n for s in loops for n in ir.target_names(s.target))


__all__ = ["backward_block", "empties", "forward_block", "local_names", "recycled"]
