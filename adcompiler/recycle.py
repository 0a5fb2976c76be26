"""The pass `recycle`, for single use: results go into arrays that are not needed any more.

    h_bar = h_bar * (1 - h * h)    →    h = np.multiply(h, h, out=reuse(h, h))
                                        h = np.subtract(1, h, out=reuse(h))
                                        h_bar = np.multiply(h_bar, h, out=reuse_either(h_bar, h))

First nested arithmetic is taken apart (`apart`), so that each operand dies where it is last read; then each operation
one of whose operands is not read later may write into that one.  Whether it does is decided when it runs
(`runtime.reuse`): the array must be nobody else's, large, and have the result's shape and dtype.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.fold import changes_cotangents
from adcompiler.holdings import Holdings, is_number, may_be_array
from adcompiler.lastuse import is_long
from adcompiler.lattice import Array, Kind, Number, Scalar, is_scalar, numeric
from adcompiler.lifetimes import Live, lifetimes
from adcompiler.names import Names
from adcompiler.runtime import accumulate, scatter
from adcompiler.runtime.reuse import add_into, reuse, reuse_either, scatter_into

_UFUNCS: dict[tuple[str, int], Any] = {
    ("+", 2): np.add,
    ("-", 2): np.subtract,
    ("*", 2): np.multiply,
    ("/", 2): np.divide,
    ("-", 1): np.negative,
}
# What keeps the shape and dtype of one operand, and is one operation for each element.
_UNARY = (np.exp, np.tanh, np.sin, np.cos, np.log, np.sqrt, np.square, np.negative, np.conj, np.log1p, np.expm1)
_BINARY = (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum)
_ELEMENTWISE: dict[Any, int] = {**dict.fromkeys(_UNARY, 1), **dict.fromkeys(_BINARY, 2)}

ARRAY = Array()
NP = ir.Static(np, "np")
REUSE = ir.Static(reuse, "reuse")
EITHER = ir.Static(reuse_either, "reuse_either")
ADD_INTO = ir.Static(add_into, "add_into")
SCATTER_INTO = ir.Static(scatter_into, "scatter_into")


@dataclass(frozen=True)
class Words:
    """What recycling has to know of the text around: kinds of names, new names, and what the user's names mean.

    `reuses`: results are to go into operands, and not only operands to be let go of early. `outside` are the names of
    what the text does not make itself. `exact`: results keep their type, float or NumPy's.
    """

    kinds: Holdings
    names: Names
    outer: Callable[[str], Any]
    reuses: bool
    outside: frozenset[str]
    exact: bool = False


def operation(expr: ir.Expr, words: Words) -> tuple[Any, tuple[ir.Expr, ...]] | None:
    """The ufunc that an expression is a plain call of, and its operands."""
    match expr:
        case ir.Op(op, args):
            ufunc = _UFUNCS.get((op, len(args)))
            return None if ufunc is None else (ufunc, args)
        case ir.Call(func, args, ()):
            ufunc = _meant(func, words)
            if isinstance(ufunc, np.ufunc) and _ELEMENTWISE.get(ufunc) == len(args):
                return ufunc, args
    return None


def _meant(func: ir.Expr, words: Words) -> Any:
    """The object that the function of a call is, if it is named."""
    match func:
        case ir.Static(value):
            return value
        case ir.Attr(ir.Static(value), name) if value is np:
            return getattr(np, name, None)
        case ir.Attr(ir.Global(module), name) if words.outer(module) is np:
            return getattr(np, name, None)
        case ir.Global(name):
            return words.outer(name)
    return None


# --- nested arithmetic, taken apart -----------------------------------------------------------------------


def apart(block: ir.Block, words: Words) -> ir.Block:
    """The block with an assignment of its own for each operation on arrays inside another one."""
    out: list[ir.Stmt] = []
    for stmt in block:
        inner = ir.blocks(stmt)
        if inner:
            stmt = ir.with_blocks(stmt, tuple(apart(b, words) for b in inner))
        out += _Taker(words, stmt.origin).statement(stmt)
    return tuple(out)


class _Taker:
    def __init__(self, words: Words, origin: Any) -> None:
        self.words = words
        self.origin = origin
        self.before: list[ir.Stmt] = []

    def statement(self, stmt: Any) -> list[ir.Stmt]:
        if isinstance(stmt, ir.Assign) and isinstance(stmt.value, ir.IfExp) and not stmt.augmented:
            return self.choice(stmt, stmt.target, stmt.value)
        if isinstance(stmt, ir.Assign | ir.Unpack) and is_long(stmt.value):
            return self.long_call(stmt)
        simple = isinstance(stmt, ir.Unpack | ir.Return | ir.Store) or (
            isinstance(stmt, ir.Assign) and not stmt.augmented
        )
        if not simple or any(map(changes_cotangents, ir.expressions(stmt))):
            return [stmt]
        if isinstance(stmt, ir.Store):
            stmt = replace(stmt, value=self.part(stmt.value, top=True)) if stmt.held is None else stmt
        else:
            stmt = replace(stmt, value=self.part(stmt.value, top=True))
        return [*self.before, stmt]

    def long_call(self, stmt: Any) -> list[ir.Stmt]:
        """A call of another backward: arguments have names, so that they can be handed over."""
        call = stmt.value
        if any(map(changes_cotangents, call.args)):
            return [stmt]
        args = tuple(a if ir.is_atom(a) else self.given(a) for a in call.args)
        return [*self.before, replace(stmt, value=ir.Call(call.func, args, call.kwargs))]

    def given(self, arg: ir.Expr) -> ir.Expr:
        """An argument, computed before."""
        part = self.part(arg)
        return part if ir.is_atom(part) or isinstance(part, ir.Seq | ir.DictOf) else self.named(part, Number())

    def choice(self, stmt: ir.Assign, target: str, value: ir.IfExp) -> list[ir.Stmt]:
        """`target = a if test else b` as statements, so that the parts of `a` are taken apart too."""
        bodies = [_Taker(self.words, self.origin).statement(replace(stmt, value=v)) for v in (value.body, value.orelse)]
        operations = self.words.reuses and any(self.is_array(v) for v in (value.body, value.orelse))
        if not operations and all(len(body) == 1 for body in bodies):
            return [stmt]
        return [ir.If(value.test, tuple(bodies[0]), tuple(bodies[1]), self.origin)]

    def part(self, expr: ir.Expr, top: bool = False) -> ir.Expr:
        """The expression with the operations inside it assigned before."""
        if not isinstance(expr, ir.Op | ir.Call | ir.Attr | ir.Item | ir.Seq):
            return self.named(expr) if isinstance(expr, ir.IfExp) and self.is_array(expr) else expr
        expr = ir.rebuild(expr, self.part)
        if operation(expr, self.words) is None or not self.is_array(expr):
            return expr
        if isinstance(expr, ir.Op):
            expr = ir.Op(expr.op, tuple(map(self.operand, expr.args)))
        return expr if top else self.named(expr)

    def operand(self, expr: ir.Expr) -> ir.Expr:
        """An operand that is computed by a function of the compiler's, or from numbers, assigned before."""
        if isinstance(expr, ir.Call):
            return self.named(expr, Number())
        if not isinstance(expr, ir.Op) or operation(expr, self.words) is None:
            return expr
        kinds = [self.words.kinds.get(n) for n in ir.reads(expr)]
        if not all(map(is_number, kinds)):
            return expr
        return self.named(expr, Scalar() if all(map(is_scalar, kinds)) else Number())

    def named(self, expr: ir.Expr, kind: Kind = ARRAY) -> ir.Expr:
        name = self.words.names.fresh("w")
        self.words.kinds[name] = kind
        made = ir.Assign(name, expr, self.origin)
        if isinstance(expr, ir.IfExp):
            self.before += _Taker(self.words, self.origin).choice(made, name, expr)
        else:
            self.before.append(made)
        return ir.Name(name)

    def is_array(self, expr: ir.Expr) -> bool:
        """Whether an operation is one on arrays."""
        if isinstance(expr, ir.IfExp):
            return self.is_array(expr.body) or self.is_array(expr.orelse)
        if isinstance(expr, ir.Name):
            return may_be_array(self.words.kinds.get(expr.id))
        if isinstance(expr, ir.Attr):
            return expr.name in ("T", "real", "imag") and self.is_array(expr.value)
        found = operation(expr, self.words)
        if found is None:
            return False
        return any(map(self.is_array, found[1])) and all(self.is_plain(a) for a in found[1])

    def is_plain(self, expr: ir.Expr) -> bool:
        """Whether an operand is a number or an array, or made by a function of the compiler's, which gives these."""
        if isinstance(expr, ir.Name):
            return is_number(self.words.kinds.get(expr.id))
        return not isinstance(expr, ir.Verbatim | ir.Lambda | ir.Seq | ir.DictOf)


# --- results in the place of operands ---------------------------------------------------------------------


def recycle(block: ir.Block, words: Words, given: Live, keep: Live = frozenset()) -> ir.Block:
    """The block with results written into operands that are read last there.

    `given` are names of what callers may still have, `keep` names that others read later.
    """
    after = lifetimes(block).after
    return _Recycler(words, given, keep, after, Counter(_read(block))).block(block)


def _read(block: ir.Block) -> Iterator[str]:
    return (n for s in ir.statements(block) for e in ir.expressions(s) for n in ir.reads(e))


@dataclass(frozen=True)
class _Recycler:
    words: Words
    given: Live
    keep: Live
    after: dict[int, Live]
    counts: Counter[str]

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        renamed: dict[str, ir.Expr] = {}
        for i, stmt in enumerate(block):
            new: Any = stmt
            if renamed and not ir.blocks(stmt):
                new = ir.map_expressions(stmt, lambda e: ir.substitute(e, renamed))
            if ir.blocks(stmt):
                new = ir.with_blocks(stmt, tuple(map(self.block, ir.blocks(stmt))))
            elif isinstance(stmt, ir.Assign) and not stmt.augmented:
                new = self.assigned(stmt, new, block[i + 1 :], renamed)
            out.append(new)
        return tuple(out)

    def assigned(self, stmt: ir.Assign, new: ir.Assign, rest: ir.Block, renamed: dict[str, ir.Expr]) -> ir.Assign:
        """An assignment, its result in an operand if it may be; a temporary then has the operand's name."""
        value = new.value.spelled if isinstance(new.value, ir.Apply) else new.value
        live = ((self.after[id(stmt)] | self.keep) - {stmt.target}) | self.given
        summed = _summed(value, live, self.words.reuses)
        if summed is not None or not self.words.reuses:
            return new if summed is None else replace(new, value=summed)
        dead, names = _operands(value, live, self.words)
        if not dead:
            return new
        found = operation(value, self.words)
        assert found is not None
        placed = ir.Call(ir.Attr(NP, found[0].__name__), found[1], (("out", _place(dead, names, found[1])),))
        if stmt.target in self.keep or not self.is_passing(stmt.target, rest, dead[0]):
            return replace(new, value=placed)
        renamed[stmt.target] = ir.Name(dead[0])
        return replace(new, target=dead[0], value=placed)

    def is_passing(self, name: str, rest: ir.Block, place: str) -> bool:
        """Whether a name is read once, by a statement of the same block, and neither it nor `place` is bound before."""
        if self.counts[name] != 1:
            return False
        for stmt in rest:
            if not ir.blocks(stmt) and any(name in ir.reads(e) for e in ir.expressions(stmt)):
                return not (isinstance(stmt, ir.Assign) and stmt.augmented and stmt.target == name)
            if ir.bound(stmt) & {name, place}:
                return False
        return False


def _summed(value: ir.Expr, live: Live, reuses: bool) -> ir.Expr | None:
    """`accumulate(x_bar, c)` or `x_bar + scatter(c, i, s)`, into the array of `x_bar`."""
    match value:
        case ir.Call(ir.Static(function), (ir.Name(total), part), ()) if function is accumulate:
            pass
        case ir.Op("+", (ir.Name(total), ir.Call(ir.Static(function)) as part)) if function is scatter:
            pass
        case _:
            return None
    if total in live or total in ir.reads(part):
        return None
    taken = ir.Taken(ir.Name(total))
    match part:
        case ir.Call(ir.Static(function), (_, _, _) as args, ()) if function is scatter:
            return ir.Call(SCATTER_INTO, (taken, *args))
    return ir.Call(ADD_INTO, (taken, part)) if reuses else None


def _operands(value: ir.Expr, live: Live, words: Words) -> tuple[list[str], list[str]]:
    """The operands of an operation that are arrays which nothing reads later, and all that are names."""
    found = operation(value, words)
    if found is None or not all(isinstance(a, ir.Name | ir.Const) for a in found[1]):
        return [], []
    names = [a.id for a in found[1] if isinstance(a, ir.Name)]
    kinds = [words.kinds.get(n) for n in names]
    if not all(map(is_number, kinds)):
        return [], []
    if words.exact and isinstance(value, ir.Op) and not any(isinstance(numeric(k), Array) for k in kinds):
        return [], []  # of Python's floats the ufunc gives one of NumPy's
    return [n for n in dict.fromkeys(names) if n not in live and may_be_array(words.kinds.get(n))], names


def _place(dead: list[str], names: list[str], operands: tuple[ir.Expr, ...]) -> ir.Expr:
    if len(names) == 1:
        others = (a for a in operands if isinstance(a, ir.Const) and type(a.value) not in (float, int, bool))
        return ir.Call(REUSE, (ir.Name(dead[0]), *others))
    if len(dead) == 2:
        return ir.Call(EITHER, tuple(map(ir.Name, dead)))
    other = names[0] if names[1] == dead[0] else names[1]
    return ir.Call(REUSE, (ir.Name(dead[0]), ir.Name(other)))


__all__ = ["Words", "apart", "operation", "recycle"]
