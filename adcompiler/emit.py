"""The pass `emit`: IR → gast → text.

`printed` gives the text of definitions; `to_source` is the only place that knows astor.  Comments are put in as marker
statements and replaced in the text, since no printer keeps comments.  What is printed is parsed again and compared, and
what astor cannot print faithfully is printed by `ast.unparse`.
"""

from __future__ import annotations

import ast
import copy
import re
import warnings
from collections.abc import Callable
from typing import Any

import gast

from adcompiler import ir
from adcompiler.normalise import BINARY, COMPARE, UNARY

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # astor looks up ast.Num
    import astor

_BINARY = {text: node for node, text in BINARY.items()}
_COMPARE = {text: node for node, text in COMPARE.items()}
_UNARY = {text: node for node, text in UNARY.items()}
_MARKER = "__comment_{}__"

Spell = Callable[[ir.Static], str]


def load(name: str) -> gast.Name:
    return gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None)


def store(name: str) -> gast.Name:
    return gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)


def constant(value: Any) -> gast.AST:
    """A literal; negative numbers and tuples as Python writes them."""
    if isinstance(value, tuple):
        return gast.Tuple(elts=[constant(v) for v in value], ctx=gast.Load())
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value != value or value in (float("inf"), float("-inf")):
            call = gast.Call(func=load("float"), args=[gast.Constant(value=str(value), kind=None)], keywords=[])
            return call
        if value < 0 or (value == 0 and str(value).startswith("-")):
            return gast.UnaryOp(op=gast.USub(), operand=gast.Constant(value=-value, kind=None))
    if isinstance(value, complex):
        real, imag = constant(value.real), constant(value.imag)
        return gast.Call(func=load("complex"), args=[real, imag], keywords=[])
    return gast.Constant(value=value, kind=None)


class Emitter:
    """IR → gast; `spell` gives the name of a static object."""

    def __init__(self, spell: Spell) -> None:
        self.spell = spell
        self.comments: list[str] = []
        self._line: tuple[str, int] | None = None

    # --- expressions ------------------------------------------------------------------------------------

    def expr(self, expr: Any) -> gast.AST:  # noqa: C901  one case per form
        """The syntax tree of an expression."""
        match expr:
            case ir.Name(name) | ir.Global(name):
                return load(name)
            case ir.Const(value):
                return constant(value)
            case ir.Static():
                return load(self.spell(expr))
            case ir.Op(op, args):
                return self.op(op, [self.expr(a) for a in args])
            case ir.Call(func, args, kwargs):
                keywords = [gast.keyword(arg=k, value=self.expr(v)) for k, v in kwargs]
                return gast.Call(func=self.expr(func), args=[self.expr(a) for a in args], keywords=keywords)
            case ir.Attr(value, name):
                return gast.Attribute(value=self.expr(value), attr=name, ctx=gast.Load())
            case ir.Item(value, index):
                return gast.Subscript(value=self.expr(value), slice=self.index(index), ctx=gast.Load())
            case ir.Slice(lower, upper, step):
                parts = [constant(None) if e is None else self.expr(e) for e in (lower, upper, step)]
                return gast.Call(func=load("slice"), args=parts, keywords=[])
            case ir.Seq(form, items):
                elts = [self.expr(i) for i in items]
                if form == "set":
                    return gast.Set(elts=elts)
                return (gast.Tuple if form == "tuple" else gast.List)(elts=elts, ctx=gast.Load())
            case ir.DictOf(items):
                keys = [None if k is None else self.expr(k) for k, _ in items]
                return gast.Dict(keys=keys, values=[self.expr(v) for _, v in items])
            case ir.Star(value):
                return gast.Starred(value=self.expr(value), ctx=gast.Load())
            case ir.Taken(ir.Name(name)):
                gone = gast.NamedExpr(target=store(name), value=constant(None))
                return gast.Subscript(
                    value=gast.Tuple(elts=[load(name), gone], ctx=gast.Load()), slice=constant(0), ctx=gast.Load()
                )
            case ir.IfExp(test, body, orelse):
                return gast.IfExp(test=self.expr(test), body=self.expr(body), orelse=self.expr(orelse))
            case ir.BoolOp(op, args):
                node = gast.And() if op == "and" else gast.Or()
                return gast.BoolOp(op=node, values=[self.expr(a) for a in args])
            case ir.Fn(params, body):
                return gast.Lambda(args=_parameters(params), body=self.expr(body))
            case ir.Verbatim() | ir.Lambda():
                return copy.deepcopy(expr.node)
            case ir.Apply():
                return self.expr(expr.spelled)
        raise AssertionError(f"no text for {expr!r}")

    def index(self, index: Any) -> gast.AST:
        """An index as it stands between brackets, where slices have a spelling of their own."""
        match index:
            case ir.Slice(lower, upper, step):
                return gast.Slice(*(e if e is None else self.expr(e) for e in (lower, upper, step)))
            case ir.Seq("tuple", items) if items:
                return gast.Tuple(elts=[self.index(i) for i in items], ctx=gast.Load())
        return self.expr(index)

    def op(self, op: str, args: list[gast.AST]) -> gast.AST:
        if len(args) == 1:
            return gast.UnaryOp(op=_UNARY[op](), operand=args[0])
        if op in _COMPARE:
            return gast.Compare(left=args[0], ops=[_COMPARE[op]()], comparators=[args[1]])
        return gast.BinOp(left=args[0], op=_BINARY[op](), right=args[1])

    # --- statements -------------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> list[gast.AST]:
        """The statements of a block, each new user line announced by a comment."""
        out: list[gast.AST] = []
        for stmt in block:
            origin = stmt.origin
            if origin is not None and (origin.file, origin.line) != self._line:
                self._line = (origin.file, origin.line)
                out.append(self.comment(f"{origin.line}  {origin.text}"))
            out.extend(self.stmt(stmt))
        return out

    def comment(self, text: str) -> gast.AST:
        """A marker statement for a comment."""
        self.comments.append(text)
        return gast.Expr(value=load(_MARKER.format(len(self.comments) - 1)))

    def stmt(self, stmt: Any) -> list[gast.AST]:
        method = getattr(self, "stmt_" + type(stmt).__name__)
        result = method(stmt)
        return result if isinstance(result, list) else [result]

    def stmt_Assign(self, stmt: ir.Assign) -> gast.AST:
        if stmt.augmented:
            value = stmt.value.spelled if isinstance(stmt.value, ir.Apply) else stmt.value
            assert isinstance(value, ir.Op)
            return gast.AugAssign(target=store(stmt.target), op=_BINARY[value.op](), value=self.expr(value.args[1]))
        return gast.Assign(targets=[store(stmt.target)], value=self.expr(stmt.value), type_comment=None)

    def stmt_Unpack(self, stmt: ir.Unpack) -> gast.AST:
        return gast.Assign(targets=[self.target(stmt.target)], value=self.expr(stmt.value), type_comment=None)

    def target(self, target: ir.Target) -> gast.AST:
        if isinstance(target, str):
            return store(target)
        elts = [self.target(t) for t in target.items]
        if target.star is not None:
            elts[target.star] = gast.Starred(value=elts[target.star], ctx=gast.Store())
        return gast.Tuple(elts=elts, ctx=gast.Store())

    def stmt_Do(self, stmt: ir.Do) -> gast.AST:
        return gast.Expr(value=self.expr(stmt.value))

    def stmt_Store(self, stmt: ir.Store) -> gast.AST:
        target = self.expr(stmt.place)
        target.ctx = gast.Store()
        if stmt.op is not None:
            return gast.AugAssign(target=target, op=_BINARY[stmt.op](), value=self.expr(stmt.value))
        return gast.Assign(targets=[target], value=self.expr(stmt.value), type_comment=None)

    def stmt_Collect(self, stmt: ir.Collect) -> gast.AST:
        into = ir.Name(stmt.into)
        if stmt.key is not None:
            return self.stmt_Store(ir.Store(ir.Item(into, stmt.key), stmt.value))
        return gast.Expr(value=self.expr(ir.Call(ir.Attr(into, "append"), (stmt.value,))))

    def stmt_If(self, stmt: ir.If) -> gast.AST:
        test, body, orelse = stmt.test, stmt.body, stmt.orelse
        if not body and orelse:
            test, body, orelse = ir.Op("not", (test,)), orelse, ()
        arms = self.body(body)
        if len(orelse) == 1 and isinstance(orelse[0], ir.If):
            return gast.If(test=self.expr(test), body=arms, orelse=self.stmt(orelse[0]))  # prints as elif
        return gast.If(test=self.expr(test), body=arms, orelse=self.block(orelse))

    def body(self, block: ir.Block) -> list[gast.AST]:
        return self.block(block) or [gast.Pass()]

    def stmt_With(self, stmt: ir.With) -> gast.AST:
        items, body = [self.context(stmt)], stmt.body
        while len(body) == 1 and isinstance(body[0], ir.With) and body[0].origin == stmt.origin:
            items.append(self.context(body[0]))
            body = body[0].body
        return gast.With(items=items, body=self.body(body), type_comment=None)

    def context(self, stmt: ir.With) -> gast.AST:
        """One item of a `with`."""
        target = None if stmt.target is None else store(stmt.target)
        return gast.withitem(context_expr=self.expr(stmt.item), optional_vars=target)

    def stmt_Try(self, stmt: ir.Try) -> gast.AST:
        body, handlers = self.body(stmt.body), [self.handler(h) for h in stmt.handlers]
        return gast.Try(body=body, handlers=handlers, orelse=self.block(stmt.orelse), finalbody=self.block(stmt.final))

    def handler(self, handler: ir.Handler) -> gast.AST:
        """One `except` clause."""
        test = None if handler.test is None else self.expr(handler.test)
        name = None if handler.name is None else store(handler.name)
        return gast.ExceptHandler(type=test, name=name, body=self.body(handler.body))

    def stmt_For(self, stmt: ir.For) -> gast.AST:
        return gast.For(
            target=self.target(stmt.target),
            iter=self.expr(stmt.iterable),
            body=self.body(stmt.body),
            orelse=self.block(stmt.orelse),
            type_comment=None,
        )

    def stmt_While(self, stmt: ir.While) -> list[gast.AST]:
        if not stmt.head:
            return [gast.While(test=self.expr(stmt.test), body=self.body(stmt.body), orelse=self.block(stmt.orelse))]
        head = self.block(stmt.head)
        leave = [*self.block(stmt.orelse), gast.Break()]
        test = gast.If(test=gast.UnaryOp(op=gast.Not(), operand=self.expr(stmt.test)), body=leave, orelse=[])
        return [
            gast.While(test=gast.Constant(value=True, kind=None), body=[*head, test, *self.block(stmt.body)], orelse=[])
        ]

    def stmt_Break(self, stmt: ir.Break) -> gast.AST:
        return gast.Break()

    def stmt_Continue(self, stmt: ir.Continue) -> gast.AST:
        return gast.Continue()

    def stmt_Return(self, stmt: ir.Return) -> gast.AST:
        return gast.Return(value=self.expr(stmt.value))

    def stmt_Yield(self, stmt: ir.Yield) -> gast.AST:
        out = gast.Expr(value=gast.Yield(value=self.expr(stmt.value)))
        if not stmt.body:
            return out
        dropped = self.expr(ir.Static(GeneratorExit, "GeneratorExit"))
        handler = gast.ExceptHandler(type=dropped, name=None, body=self.body(stmt.body))
        return gast.Try(body=[out], handlers=[handler], orelse=[], finalbody=[])

    def stmt_Clear(self, stmt: ir.Clear) -> gast.AST:
        return gast.Assign(targets=[store(n) for n in stmt.names], value=constant(stmt.value), type_comment=None)

    def stmt_Delete(self, stmt: ir.Delete) -> gast.AST:
        targets = [gast.Name(id=n, ctx=gast.Del(), annotation=None, type_comment=None) for n in stmt.names]
        return gast.Delete(targets=targets)

    def stmt_Define(self, stmt: ir.Define) -> gast.AST:
        return copy.deepcopy(stmt.node)

    def stmt_Opaque(self, stmt: ir.Opaque) -> gast.AST:
        return copy.deepcopy(stmt.node)

    # --- functions --------------------------------------------------------------------------------------

    def function(self, name: str, params: Any, body: list[gast.AST]) -> gast.FunctionDef:
        """A definition; `params` is a tuple of names or a `gast.arguments`."""
        if isinstance(params, tuple):
            params = _parameters(params)
        return gast.FunctionDef(
            name=name, args=params, body=body, decorator_list=[], returns=None, type_comment=None, type_params=[]
        )

    def printed(self, definitions: list[gast.AST]) -> str:
        """The text of definitions, with comments."""
        text = to_source(gast.Module(body=definitions, type_ignores=[]))
        return re.sub(
            r"^([ \t]*)__comment_(\d+)__$", lambda m: f"{m[1]}# {self.comments[int(m[2])]}", text, flags=re.MULTILINE
        )

    def new_function(self) -> None:
        """The next statement announces its line again."""
        self._line = None


def _parameters(names: tuple[str, ...]) -> gast.arguments:
    """Positional parameters."""
    args = [gast.Name(id=p, ctx=gast.Param(), annotation=None, type_comment=None) for p in names]
    return gast.arguments(
        args=args, posonlyargs=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )


def to_source(module: gast.Module) -> str:
    """The text of a module: by astor, or by `ast.unparse` where astor's text does not parse to the same tree."""
    tree = ast.fix_missing_locations(gast.gast_to_ast(module))
    wanted = ast.dump(tree)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            text = astor.to_source(tree, pretty_source="".join)
        if ast.dump(ast.parse(text)) == wanted:
            return text  # type: ignore[no-any-return]
    except (SyntaxError, AttributeError, ValueError, TypeError):
        pass  # a node that astor does not know
    text = ast.unparse(tree)
    if ast.dump(ast.parse(text)) != wanted:
        raise AssertionError("the generated text does not mean what was generated; please report this function")
    return text + "\n"
