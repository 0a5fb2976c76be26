"""What forward mode makes of one specialisation: the same function with the tangents of its values beside them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from adcompiler import ir
from adcompiler.aliases import Memory
from adcompiler.fold import fold
from adcompiler.spec import Spec


@dataclass(eq=False)
class Pushed:
    """`name(*params, *tangents) → (value, value_dot)`; `tangents` are those of the `active` parameters, in order."""

    spec: Spec
    mask: tuple[bool, ...]
    memory: Memory
    name: str
    active: tuple[str, ...] = ()
    tangents: tuple[str, ...] = ()
    body: ir.Block = ()
    dots: dict[str, str] = field(default_factory=dict)  # the names of tangents, by name of the value
    careful: bool = False  # arrays are written into
    derivative: str = ""  # the name of a second function, which gives the tangent alone

    @property
    def params(self) -> tuple[str, ...]:
        """All parameters."""
        return (*self.spec.params, *self.tangents)


def pushed_names(pushed: Pushed) -> set[str]:
    """All names that the text reads or binds by itself."""
    function = pushed.spec.function
    names = {*pushed.params} | function.locals | function.cells
    for stmt in ir.statements(pushed.body):
        names |= ir.bound(stmt)
        for expr in ir.expressions(stmt):
            names.update(ir.reads(expr))
    return names


def pushed_block(pushed: Pushed, alone: bool = False) -> ir.Block:
    """The body as it is printed: folded, without tangents that nobody reads; `alone`: it returns the tangent only."""
    function = pushed.spec.function
    mine = function.locals | function.cells | frozenset(pushed.spec.params)
    kept = frozenset(dot for name, dot in pushed.dots.items() if name in mine)
    body = _tangent_only(pushed.body) if alone else pushed.body
    return fold(_needed(body, frozenset(pushed.dots.values()) - frozenset(pushed.tangents)), mine | kept)


def _tangent_only(block: ir.Block) -> ir.Block:
    """The block with tangents returned instead of pairs."""
    out: list[ir.Stmt] = []
    for stmt in block:
        if isinstance(stmt, ir.Return) and isinstance(stmt.value, ir.Seq):
            stmt = replace(stmt, value=stmt.value.items[1])
        elif ir.blocks(stmt):
            stmt = ir.with_blocks(stmt, tuple(map(_tangent_only, ir.blocks(stmt))))
        out.append(stmt)
    return tuple(out)


def _needed(body: ir.Block, dots: frozenset[str]) -> ir.Block:
    """The block without assignments of tangents that are read nowhere."""
    while True:
        read = {n for s in ir.statements(body) for e in ir.expressions(s) for n in ir.reads(e)}
        new = _without(body, dots - read)
        if new == body:
            return body
        body = new


def _without(block: ir.Block, unread: frozenset[str]) -> ir.Block:
    out: list[ir.Stmt] = []
    for stmt in block:
        if isinstance(stmt, ir.Assign) and stmt.target in unread and _is_pure(stmt.value):
            continue
        inner = ir.blocks(stmt)
        new = tuple(_without(b, unread) for b in inner)
        same = all(
            len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True)) for a, b in zip(inner, new, strict=True)
        )
        out.append(stmt if same else ir.with_blocks(stmt, new))
    return tuple(out) if len(out) != len(block) or any(a is not b for a, b in zip(out, block, strict=True)) else block


def _is_pure(expr: ir.Expr) -> bool:
    """Whether an expression of tangents may be left out: it takes nothing out of a container."""
    taking = ("pop", "popleft", "popitem", "setdefault")
    return not any(
        isinstance(e, ir.Call)
        and (
            (isinstance(e.func, ir.Attr) and e.func.name in taking)
            or (isinstance(e.func, ir.Static) and isinstance(e.func.value, Pushed))
        )
        for e in ir.walk(expr)
    )
