"""The closure form of a pair: the forward, in the user's own signature, that returns its value and its pullback.

    def loss_forward(x, scale=2.0):                     a pair, for comparison:
        y = np.sin(x)
        value = np.sum(y) * scale                       loss_forward(x, scale) → value, (scale, x, ...)
                                                        loss_backward((scale, x, ...), value_bar) → x_bar
        def loss_pullback(value_bar):
            return value_bar * scale * np.cos(x)

        return value, loss_pullback

What the pair passes as `saved` are here the free variables of the pullback, so a pullback that may be called again must
not assign them; those that the backward assigns get another name in it (`x_now`).  One that is called once lets go of
them (`nonlocal`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gast

from adcompiler import ir
from adcompiler.blocks import backward_block, recycled
from adcompiler.emit import Emitter
from adcompiler.fold import fold
from adcompiler.lastuse import taken_in
from adcompiler.pair import Pair
from adcompiler.renaming import renamed
from adcompiler.runtime.bars import with_table
from adcompiler.runtime.release import Release

_LATE = "What the pullback reads is assigned below, before each return."
_ONCE = "Call it once: it uses up what the forward has kept."


@dataclass(frozen=True)
class Titles:
    """What the definitions are called; `unique` gives a name that is free in the whole text."""

    forward: str
    pullback: str
    unique: Callable[[str], str]


def closure_form(pair: Pair, emitter: Emitter, params: gast.arguments, release: Release, titles: Titles) -> Any:
    """The definition, or None if the pullback would have to assign a variable that user code in it reads."""
    backward = None if pair.table else _closed(pair, release, titles)
    if backward is None:
        return None
    forward = _forward(pair, release)
    last = forward[-1]
    returns = [s for s in ir.statements(forward) if isinstance(s, ir.Return)]
    emitter.new_function()
    if isinstance(last, ir.Return) and len(returns) == 1:
        body = _ending_in_pullback(
            forward[:-1], last, emitter, lambda: _pullback(pair, backward, emitter, titles), titles
        )
    else:
        inner = _pullback(pair, backward, emitter, titles)
        emitter.new_function()
        body = [emitter.comment(_LATE), inner, *emitter.block(_returning(forward, titles.pullback))]
    return emitter.function(titles.forward, params, body)


def wrapper_form(pair: Pair, emitter: Emitter, params: gast.arguments, own: tuple[str, str], titles: Titles) -> Any:
    """The definition that calls the pair, whose functions are spelled `own`, with a table if it needs one."""
    value, saved = titles.unique("value"), titles.unique("saved")
    before: tuple[ir.Stmt, ...] = ()
    if pair.table:
        where = ir.Seq("tuple", tuple(ir.Seq("tuple", (ir.Const(i), ir.Const(n))) for i, n in pair.collected))
        count = ir.Const(len(pair.active))
        arguments = (
            ir.Name(own[0]),
            ir.Name(own[1]),
            where,
            count,
            ir.Const(pair.spec.program.escaped),
            ir.Const(pair.seed),
        )
        own = titles.unique("forward"), titles.unique("backward")
        made = ir.Call(ir.Static(with_table, "with_table"), arguments)
        before = (ir.Unpack(ir.Targets(own), made),)
    run = ir.Call(ir.Name(own[0]), tuple(map(ir.Name, pair.params)))
    back = ir.Return(ir.Call(ir.Name(own[1]), (ir.Name(saved), ir.Name(pair.cotangent))))
    call = emitter.block((*before, ir.Unpack(ir.Targets((value, saved)), run)))
    inner = emitter.function(titles.pullback, (pair.cotangent,), emitter.block((back,)))
    result = emitter.block(_returning((ir.Return(ir.Name(value)),), titles.pullback))
    return emitter.function(titles.forward, params, [*call, inner, *result])


# --- forward ----------------------------------------------------------------------------------------------


def _forward(pair: Pair, release: Release) -> ir.Block:
    """The forward of a pair, folded, with what the pullback reads kept under its name."""
    function = pair.spec.function
    keep = function.locals | function.cells | frozenset(pair.params) | frozenset(pair.saved)
    return fold(recycled(pair, pair.forward, release), keep, pair.saved)


def _ending_in_pullback(
    before: ir.Block, last: ir.Return, emitter: Emitter, pullback: Callable[[], Any], titles: Titles
) -> list[Any]:
    """The body of a forward with one return: the pullback is defined just before it."""
    value = last.value
    if not ir.is_atom(value):
        value = ir.Name(titles.unique("value"))
        before = (*before, ir.Assign(value.id, last.value, last.origin))
        last = replace(last, origin=None)
    body = emitter.block(before)
    result = emitter.block(_returning((replace(last, value=value),), titles.pullback))
    return [*body, *result[:-1], pullback(), result[-1]]


def _returning(block: ir.Block, pullback: str) -> ir.Block:
    """The block with every `return value` returning the pullback too."""
    out: list[ir.Stmt] = []
    for stmt in block:
        if isinstance(stmt, ir.Return):
            stmt = replace(stmt, value=ir.Seq("tuple", (stmt.value, ir.Name(pullback))))
        elif ir.blocks(stmt):
            stmt = ir.with_blocks(stmt, tuple(_returning(b, pullback) for b in ir.blocks(stmt)))
        out.append(stmt)
    return tuple(out)


# --- pullback ---------------------------------------------------------------------------------------------


def _pullback(pair: Pair, backward: ir.Block, emitter: Emitter, titles: Titles) -> Any:
    emitter.new_function()
    kept = sorted((ir.bound_in(backward) | taken_in(backward)) & frozenset(pair.saved))
    once = [emitter.comment(_ONCE)] if kept or _consumes(backward) else []
    first = [gast.Nonlocal(names=kept)] if kept else []
    return emitter.function(titles.pullback, (pair.cotangent,), [*once, *first, *emitter.block(backward)])


def _consumes(block: ir.Block) -> bool:
    """Whether a block pops from a record."""
    return any(
        isinstance(e, ir.Call) and isinstance(e.func, ir.Attr) and e.func.name in ("pop", "clear")
        for stmt in ir.statements(block)
        for top in ir.expressions(stmt)
        for e in ir.walk(top)
    )


def _closed(pair: Pair, release: Release, titles: Titles) -> ir.Block | None:
    """The backward with the saved values as free variables, which it does not assign."""
    block = backward_block(pair, release)
    if release.drops:
        return block  # what it lets go of is its own
    mapping = {n: titles.unique(f"{n}_now") for n in pair.saved if n in ir.bound_in(block)}
    if not mapping:
        return block
    if any(mapping.keys() & e.reads for stmt in ir.statements(block) for e in _verbatim(stmt)):
        return None
    first = tuple(ir.Assign(new, ir.Name(old)) for old, new in mapping.items())
    return (*first, *renamed(block, mapping))


def _verbatim(stmt: ir.Stmt) -> list[ir.Verbatim]:
    return [e for top in ir.expressions(stmt) for e in ir.walk(top) if isinstance(e, ir.Verbatim)]
