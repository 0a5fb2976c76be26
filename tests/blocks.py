"""Blocks of the intermediate representation, written as text, and their text again: for tests of single passes."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import gast
import numpy as np

from adcompiler import ir
from adcompiler.emit import Emitter, to_source
from adcompiler.lattice import Array, Inert, Int, Number, Scalar
from adcompiler.names import Names
from adcompiler.recycle import Words
from adcompiler.runtime import accumulate, fit
from adcompiler.runtime.reuse import free

STATICS: dict[str, Any] = {
    "np": np,
    "accumulate": accumulate,
    "fit": fit,
    "free": free,
    "reversed": reversed,
    "range": range,
}
# What the names in such texts hold, by their first letter: the other letters are arrays.
KINDS = {"n": Int(), "s": Scalar(True), "m": Number(), "i": Inert(), "q": None}
_OPS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.USub: "-",
    ast.Not: "not",
    ast.Gt: ">",
    ast.Lt: "<",
    ast.Is: "is",
    ast.IsNot: "is not",
}


def block(text: str) -> ir.Block:
    """The statements of a text. `while (head(), test)[1]:` has a head; `stop()` leaves the function like `raise`."""
    return tuple(map(_statement, ast.parse(textwrap.dedent(text)).body))


def text(statements: ir.Block) -> str:
    """The text of a block."""
    emitter = Emitter(lambda static: static.spelling)
    return to_source(gast.Module(body=emitter.block(statements), type_ignores=[])).strip("\n")


def lines(statements: ir.Block) -> list[str]:
    """The lines of the text of a block."""
    return text(statements).split("\n")


def kinds(statements: ir.Block) -> dict[str, Any]:
    """The kind of each name."""
    names = ir.bound_in(statements)
    names |= {n for s in ir.statements(statements) for e in ir.expressions(s) for n in ir.reads(e)}
    return {name: KINDS.get(name[0], Array(1)) for name in names}


def words(statements: ir.Block, outside: str = "", **options: Any) -> Words:
    """What `recycle` knows of a block; `outside` are the names of what the block is given."""
    found = kinds(statements)
    return Words(found, Names(set(found)), lambda name: None, **{"reuses": True, **options}, outside=names(outside))


def names(words: str) -> frozenset[str]:
    """The names in a text."""
    return frozenset(words.split())


# --- statements -------------------------------------------------------------------------------------------


def _block(body: list[Any]) -> ir.Block:
    return tuple(map(_statement, body))


def _statement(node: Any) -> Any:
    match node:
        case ast.Assign([target], value):
            if isinstance(target, ast.Name):
                return ir.Assign(target.id, _expr(value))
            if isinstance(target, ast.Tuple):
                return ir.Unpack(_target(target), _expr(value))
            return ir.Store(_expr(target), _expr(value))
        case ast.Assign(targets, ast.Constant(None)):
            return ir.Clear(tuple(target.id for target in targets))
        case ast.AugAssign(ast.Name(name), op, value):
            return ir.Assign(name, ir.Op(_OPS[type(op)], (ir.Name(name), _expr(value))), augmented=True)
        case ast.Expr(ast.Call(ast.Name("stop"))):
            return ir.Opaque(node, frozenset(), frozenset(), "stop", leaves=True)
        case ast.Expr(value):
            return ir.Do(_expr(value))
        case ast.If(test, body, orelse):
            return ir.If(_expr(test), _block(body), _block(orelse))
        case ast.For(target, iterable, body, orelse):
            return ir.For(_target(target), _expr(iterable), _block(body), _block(orelse))
        case ast.While(ast.Subscript(ast.Tuple([head, test])), body, orelse):
            return ir.While((ir.Do(_expr(head)),), _expr(test), _block(body), _block(orelse))
        case ast.While(test, body, orelse):
            return ir.While((), _expr(test), _block(body), _block(orelse))
        case ast.With([item], body):
            target = item.optional_vars.id if item.optional_vars is not None else None
            return ir.With(_expr(item.context_expr), target, _block(body))
        case ast.Try(body, handlers, orelse, final):
            arms = tuple(ir.Handler(h.type and _expr(h.type), h.name, _block(h.body)) for h in handlers)
            return ir.Try(_block(body), arms, _block(orelse), _block(final))
        case ast.FunctionDef(name, _, body):
            read = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name)}
            return ir.Define(name, gast.ast_to_gast(node), frozenset(read))
        case ast.Return(value):
            return ir.Return(_expr(value))
        case ast.Delete(targets):
            return ir.Delete(tuple(target.id for target in targets))
        case ast.Break():
            return ir.Break()
        case ast.Continue():
            return ir.Continue()
    raise AssertionError(ast.dump(node))


def _target(node: Any) -> Any:
    return node.id if isinstance(node, ast.Name) else ir.Targets(tuple(map(_target, node.elts)))


def _expr(node: Any) -> Any:
    match node:
        case ast.Name(name):
            return ir.Static(STATICS[name], name) if name in STATICS else _named(name)
        case ast.Constant(value):
            return ir.Const(value)
        case ast.BinOp(left, op, right):
            return ir.Op(_OPS[type(op)], (_expr(left), _expr(right)))
        case ast.UnaryOp(op, operand):
            return ir.Op(_OPS[type(op)], (_expr(operand),))
        case ast.Compare(left, [op], [right]):
            return ir.Op(_OPS[type(op)], (_expr(left), _expr(right)))
        case ast.Call(func, args, keywords):
            return ir.Call(_expr(func), tuple(map(_expr, args)), tuple((k.arg, _expr(k.value)) for k in keywords))
        case ast.Attribute(value, name):
            return ir.Attr(_expr(value), name)
        case ast.Subscript(value, index):
            return ir.Item(_expr(value), _expr(index))
        case ast.Tuple(items) | ast.List(items):
            return ir.Seq("tuple" if isinstance(node, ast.Tuple) else "list", tuple(map(_expr, items)))
        case ast.IfExp(test, body, orelse):
            return ir.IfExp(_expr(test), _expr(body), _expr(orelse))
    raise AssertionError(ast.dump(node))


def _named(name: str) -> ir.Expr:
    """A variable; with a capital, one of the user's module."""
    return ir.Global(name) if name[0].isupper() else ir.Name(name)
