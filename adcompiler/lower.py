"""The user's function (gast) → IR in A-normal form, with the user's own control flow and names.

Statements that have no form in the IR (imports, classes, `except*`, ...) are kept verbatim as `Opaque`, and so are
`try`, `with` and `match` around such; whether they may stay is decided after activity, since inert ones may.
"""

from __future__ import annotations

import builtins
import copy
import functools
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gast

from adcompiler import ir
from adcompiler.assignments import Assignments
from adcompiler.cells import with_cells
from adcompiler.errors import Origin, UnsupportedSyntaxError
from adcompiler.names import Names
from adcompiler.normalise import YIELDS
from adcompiler.parse import Source, origin_of
from adcompiler.runtime import places
from adcompiler.scope import bindings, calls_out, own_nodes, parameters, scope_of

_WHAT = {
    "With": "a with statement", "Try": "a try statement", "TryStar": "a try statement with except*",
    "Match": "a match statement",
    "ClassDef": "a class definition", "Import": "an import", "ImportFrom": "an import", "Raise": "raise",
    "Assert": "assert", "Global": "global", "Nonlocal": "nonlocal",
}  # fmt: skip


def lower(
    source: Source,
    cells: frozenset[str],
    names: Names,
    globals_: dict[str, Any] | None = None,
    assumed: set[str] | None = None,
    shared: frozenset[str] = frozenset(),
) -> ir.Function:
    """The IR of a function; `cells` are the variables of enclosing functions that it reads.

    `shared` are variables that become places of their own. The names of globals and builtins whose meaning in
    `globals_` was used are added to `assumed`.
    """
    node, own_cells = with_cells(source.node, shared)
    source = replace(source, node=node)
    scope = scope_of(node)
    scope = replace(scope, bound=scope.bound | set(own_cells))
    lowering = Lowering(source, scope, cells, names)
    lowering.globals = globals_ or {}
    lowering.assumed = set() if assumed is None else assumed
    if isinstance(node, gast.AsyncFunctionDef):
        raise lowering.unsupported(
            node, "a coroutine (async def)", "Write it as a plain function that returns a list or an array."
        )
    if isinstance(node, gast.Lambda):
        body = lowering.block(lambda: lowering.returns(node.body, node.body))
    else:
        body = lowering.body(node.body)
    body = (*_made_cells(own_cells, parameters(node), origin_of(node, source)), *body)
    origin = origin_of(node, source)
    return ir.Function(source.name, parameters(node), body, source, scope.bound, cells, origin, scope.generator)


_COMPOUND = gast.If | gast.For | gast.While | gast.Try | gast.With | gast.Match


def _operands_of(call: gast.Call) -> list[gast.AST]:
    return [*call.args, *(k.value for k in call.keywords)]


def _made_cells(own: tuple[str, ...], params: tuple[str, ...], origin: Origin) -> ir.Block:
    """The places of variables that nested functions rebind; a parameter's holds the argument."""
    make = ir.Static(places.cell, "cell")
    return tuple(
        ir.Assign(name, ir.Call(make, (ir.Const(name), *([ir.Name(name)] if name in params else []))), origin)
        for name in own
    )


class Lowering(Assignments):
    """Lowers statements; comprehensions, iterators, `match` and expressions are the base classes' work."""

    depth = 0

    def body(self, nodes: list[gast.AST]) -> ir.Block:
        """The IR of a list of statements."""
        return self.block(lambda: self.sequence(nodes))

    def sequence(self, nodes: list[gast.AST]) -> None:
        """Add the IR of a list of statements."""
        for i, node in enumerate(nodes):
            if not (isinstance(node, gast.Assign) and self.defer(node, nodes[i + 1 :])):
                self.statement(node)

    def statement(self, node: gast.AST) -> None:
        """Add the IR of one statement."""
        touched = {n for n in bindings(node) if n in self.scope.outer}
        method = getattr(self, "stmt_" + type(node).__name__, None)
        if method is None or (touched and not isinstance(node, _COMPOUND)):
            self.opaque(node)
            return
        before, depth, own, deferred = len(self.out), self.depth, set(self.own), dict(self.deferred)
        try:
            method(node)
        except UnsupportedSyntaxError as error:
            if not isinstance(node, gast.Try | gast.With | gast.Match):
                raise
            del self.out[before:]
            self.depth, self.own, self.deferred = depth, own, deferred
            self.opaque(node, error)

    def opaque(self, node: gast.AST, error: Exception | None = None) -> None:
        """Keep a statement as it stands, if control cannot leave through it; `error` says why it is not lowered."""
        node = self.kept(node)
        what = _WHAT.get(type(node).__name__, "this statement")
        outer = sorted(n for n in bindings(node) if n in self.scope.outer)
        if outer and not isinstance(node, _COMPOUND):
            what = f"an assignment to {outer[0]}, which is global or nonlocal,"
        exits = (gast.Return, gast.Break, gast.Continue)
        if any(isinstance(d, exits) for d in own_nodes(node)):
            what = f"{what} with a return, break or continue inside"
            raise error or self.unsupported(node, what, self.advice(node))
        if any(isinstance(d, YIELDS) for d in own_nodes(node)):
            raise error or self.unsupported(node, f"{what} with a yield inside", self.advice(node))
        writes = frozenset(n for n in bindings(node) if n not in self.scope.outer)
        leaves = isinstance(node, gast.Raise)
        self.out.append(ir.Opaque(node, self.local_reads(node), writes, what, self.origin(node), leaves, error))

    @staticmethod
    def advice(node: gast.AST) -> str:
        """What to write instead of a statement that is not supported."""
        if isinstance(node, gast.TryStar):
            return "Test with `if`, or catch single exceptions with `except`."
        if isinstance(node, gast.Assign | gast.AugAssign | gast.AnnAssign):
            return "Pass what it holds as an argument, and return the new value."
        return "Move it out of the differentiated function."

    # --- simple statements ------------------------------------------------------------------------------

    def stmt_Expr(self, node: gast.Expr) -> None:
        if isinstance(node.value, gast.Constant):
            return
        if isinstance(node.value, gast.YieldFrom):
            self.delegate(node.value)
            return
        value = self.value(node.value)
        if not ir.is_atom(value) or isinstance(value, ir.Global):
            self.out.append(ir.Do(value, self.origin(node)))

    def stmt_Assert(self, node: gast.Assert) -> None:
        if any(True for _ in bindings(node)):
            raise self.unsupported(
                node, "a walrus inside an assert", "Assign the name in a statement of its own before."
            )
        if __debug__ and calls_out(node.test):
            node = gast.copy_location(gast.Assert(self.settled(node.test), node.msg), node)
        self.opaque(node)

    def stmt_Raise(self, node: gast.Raise) -> None:
        if isinstance(node.exc, gast.Call) and any(map(calls_out, _operands_of(node.exc))):
            exc = copy.copy(node.exc)
            exc.args = [self.settled(a) for a in exc.args]
            exc.keywords = [gast.copy_location(gast.keyword(k.arg, self.settled(k.value)), k) for k in exc.keywords]
            node = gast.copy_location(gast.Raise(exc, node.cause), node)
        self.opaque(node)

    def stmt_Pass(self, node: gast.Pass) -> None:
        pass

    def stmt_Return(self, node: gast.Return) -> None:
        self.returns(node.value, node)

    def returns(self, value: gast.AST | None, node: gast.AST) -> None:
        """Add `return value`."""
        result = ir.Const(None) if value is None else self.atom(value)
        self.out.append(ir.Return(result, self.origin(node)))

    def stmt_Break(self, node: gast.Break) -> None:
        self.out.append(ir.Break(self.origin(node)))

    def stmt_Continue(self, node: gast.Continue) -> None:
        self.out.append(ir.Continue(self.origin(node)))

    def stmt_Delete(self, node: gast.Delete) -> None:
        for target in node.targets:
            match target:
                case gast.Name():
                    self.out.append(ir.Delete((target.id,), self.origin(node)))
                case gast.Subscript():
                    delete = ir.Call(ir.Static(operator.delitem, "delitem"), self.subscript(target))
                    self.out.append(ir.Do(delete, self.origin(node)))
                case _:
                    self.opaque(gast.copy_location(gast.Delete(targets=[target]), node))

    def stmt_FunctionDef(self, node: gast.FunctionDef) -> None:
        if node.decorator_list:
            raise self.unsupported(node, "a decorated nested function", "Define it at module level.")
        node = self.with_settled_defaults(node)
        self.out.append(ir.Define(node.name, node, self.local_reads(node) - {node.name}, self.origin(node)))

    def delegate(self, node: gast.YieldFrom) -> None:
        """Add `yield from`, whose value is not used, as a loop that yields."""
        item = self.names.fresh("t")
        target = gast.Name(id=item, ctx=gast.Store(), annotation=None, type_comment=None)
        again = ir.Yield(ir.Name(item), (), self.origin(node))
        self.loop(target, node.value, set(), lambda: self.out.append(again), lambda: None, node)

    # --- control flow -----------------------------------------------------------------------------------

    def stmt_Try(self, node: gast.Try) -> None:
        if any(isinstance(d, YIELDS) for d in own_nodes(node)):
            advice = "Yield behind it what is bound inside."
            raise self.unsupported(node, "a try statement with a yield inside", advice)
        body, handlers = self.body(node.body), tuple(map(self.handler, node.handlers))
        self.out.append(ir.Try(body, handlers, self.body(node.orelse), self.body(node.finalbody), self.origin(node)))

    def handler(self, node: gast.ExceptHandler) -> ir.Handler:
        """One `except` clause; its test is evaluated only if there is an exception, and kept as it stands."""
        name = None if node.name is None else node.name.id
        if name in self.scope.outer:
            raise self.unsupported(node, "an exception bound to an outer name", "Use a local name.")
        test = None if node.type is None else self.verbatim(node.type, "an exception class")
        return ir.Handler(test, name, self.body(node.body), self.origin(node))

    def stmt_With(self, node: gast.With) -> None:
        self._with(node.items, node)

    def _with(self, items: list[gast.withitem], node: gast.With) -> None:
        """Add a `with`; several items are nested, and a target is bound first thing in the body."""
        context = self.value(items[0].context_expr)
        target = items[0].optional_vars
        name = None if target is None else self.names.fresh("t")

        def make() -> None:
            if name is not None:
                self.bind(target, ir.Name(name), node)
            if items[1:]:
                self._with(items[1:], node)
            else:
                self.out += self.body(node.body)

        self.out.append(ir.With(context, name, self.block(make), self.origin(node)))

    def stmt_If(self, node: gast.If) -> None:
        test = self.atom(node.test)
        self.out.append(ir.If(test, self.body(node.body), self.body(node.orelse), self.origin(node)))

    def stmt_While(self, node: gast.While) -> None:
        tests: list[ir.Expr] = []
        self.depth += 1
        head = self.block(lambda: tests.append(self.atom(node.test)))
        body = self.body(node.body)
        self.depth -= 1
        orelse = self.body(node.orelse)
        self.out.append(ir.While(head, tests[0], body, orelse, self.origin(node)))

    def stmt_For(self, node: gast.For) -> None:
        rebound = {n for stmt in (*node.body, *node.orelse) for n in bindings(stmt)} | set(bindings(node.target))

        inside, orelse = functools.partial(self.sequence, node.body), functools.partial(self.sequence, node.orelse)
        self.loop(node.target, node.iter, rebound, inside, orelse, node)

    def plain_loop(
        self,
        target: Any,
        iterable: Any,
        rebound: set[str],
        inside: Callable[[], None],
        orelse: Callable[[], None],
        node: Any,
    ) -> None:
        if not self._plain(target):
            raise self.unsupported(node, "a loop target that is not a name", "Use a name, and assign inside the loop.")
        over = self._kept(self.iterable(iterable), rebound, iterable)
        bound: ir.Target = target.id if isinstance(target, gast.Name) else self.targets(target)
        first: list[ir.Stmt] = []
        bound = self._aligned(bound, over, node, first)
        self.depth += 1
        body = self.block(inside)
        self.depth -= 1
        self.out.append(ir.For(bound, over, (*first, *body), self.block(orelse), self.origin(node)))

    def _aligned(self, target: ir.Target, iterable: ir.Expr, node: gast.For, first: list[ir.Stmt]) -> ir.Target:
        """The targets of a loop over `zip` or `enumerate`, one for each part; other forms are bound by `first`."""
        match iterable:
            case ir.Call(ir.Static(builtins.zip), parts) if parts and not any(isinstance(p, ir.Star) for p in parts):
                wanted: tuple[ir.Expr | None, ...] = parts
            case ir.Call(ir.Static(builtins.enumerate), (part, *_)):
                wanted = (None, part)
            case _ if isinstance(target, ir.Targets):
                item = self.names.fresh("t")
                first += self.unpacked(target, ir.Name(item), self.origin(node))
                return item
            case _:
                return target
        fits = isinstance(target, ir.Targets) and target.star is None and len(target.items) == len(wanted)
        if fits:
            items: tuple[ir.Target, ...] = target.items  # type: ignore[union-attr]
        else:
            items = tuple(self.names.fresh("t") for _ in wanted)
            pair = ir.Seq("tuple", tuple(ir.Name(str(n)) for n in items))
            if isinstance(target, str):
                first.append(ir.Assign(target, pair, self.origin(node)))
            else:
                held = self.names.fresh("t")
                first.append(ir.Assign(held, pair, self.origin(node)))
                first += self.unpacked(target, ir.Name(held), self.origin(node))
        inner = [t if p is None else self._aligned(t, p, node, first) for t, p in zip(items, wanted, strict=True)]
        return ir.Targets(tuple(inner))

    def _kept(self, iterable: ir.Expr, rebound: set[str], node: gast.AST) -> ir.Expr:
        """An iterable whose names the loop does not rebind: those that it does are copied first."""
        if isinstance(iterable, ir.Name):
            return self.temp(iterable, node) if iterable.id in rebound else iterable
        if isinstance(iterable, ir.Call):
            return ir.rebuild(iterable, lambda e: self._kept(e, rebound, node))
        return iterable
