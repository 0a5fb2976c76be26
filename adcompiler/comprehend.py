"""Comprehensions and generator expressions that are consumed where they stand → loops.

    sum(f(v) for v in xs if v > 0)      t1 = []
                                        for v in xs:
                                            if v > 0:
                                                t1.append(f(v))
                                        sum(t1)

The variables of a comprehension are its own: they get names that nothing else in the function has.  Each is lowered
to a `Gather`, which keeps the user's text too: `gathers` decides between the two when it is known what is active.
"""

from __future__ import annotations

import builtins
import copy
import functools
import itertools
import math
import types
from collections.abc import Callable, Iterable
from typing import Any

import gast
import numpy as np

from adcompiler import ir
from adcompiler.decide import trusted
from adcompiler.lattice import Known, observe
from adcompiler.normalise import YIELDS, Normaliser
from adcompiler.renaming import rename
from adcompiler.scope import bindings, loads, own_nodes

COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
# What takes all items of a generator expression before it does anything else with them.
_TAKE_ALL = (sum, tuple, dict, math.prod, math.fsum, np.fromiter)
_ABSENT = object()


class Comprehender(Normaliser):
    """Adds comprehensions to the expressions that can be lowered; `loop` is the statements' work."""

    globals: dict[str, Any]
    assumed: set[str]  # globals and builtins whose meaning was used: they become guards
    depth: int  # of the loops around
    _outside: frozenset[str] | None = None

    def loop(
        self,
        target: gast.AST,
        iterable: gast.AST,
        rebound: set[str],
        inside: Callable[[], None],
        orelse: Callable[[], None],
        node: gast.AST,
    ) -> None:
        """Add a loop over an iterable."""
        raise NotImplementedError

    # --- what names mean --------------------------------------------------------------------------------

    def known(self, node: gast.AST) -> Any:
        """The object that a global, a builtin or a member of a library stands for; None if it is none of these."""
        match node:
            case gast.Name(id=name) if not self.is_local(name) and name not in self.scope.outer:
                found = self.globals.get(name, getattr(builtins, name, None))
                if isinstance(found, type | types.BuiltinFunctionType | types.FunctionType | types.ModuleType):
                    self.assumed.add(name)
                    return found
            case gast.Attribute(value=value, attr=attr):
                module = self.known(value)
                return getattr(module, attr, None) if trusted(module) or module is itertools.chain else None
        return None

    def is_constant(self, path: ir.Expr) -> bool:
        """Whether a dotted path leads to a module, a class, a function or the like: no object, container or array."""
        return isinstance(path, ir.Attr) and _is_constant(self._found(path))

    def _found(self, path: ir.Expr) -> Any:
        """What a path from a global on leads to through modules and classes; `_ABSENT` if through anything else."""
        match path:
            case ir.Global(name) if name not in self.scope.outer:
                return self.globals.get(name, getattr(builtins, name, _ABSENT))
            case ir.Attr(value, name):
                owner = self._found(value)
                return getattr(owner, name, _ABSENT) if _is_constant(owner) else _ABSENT
        return _ABSENT

    # --- comprehensions ---------------------------------------------------------------------------------

    def value_ListComp(self, node: gast.ListComp) -> ir.Expr:
        return self.gather(node, "a list comprehension", lambda t: self.collected(node))

    def value_SetComp(self, node: gast.SetComp) -> ir.Expr:
        return self.gather(node, "a set of values", lambda t: self.collected(node), unordered=True)

    def value_DictComp(self, node: gast.DictComp) -> ir.Expr:
        return self.gather(node, "a dict comprehension", lambda t: self.collected(node))

    def gather(self, node: gast.AST, what: str, make: Callable[[str], str | None], unordered: bool = False) -> ir.Expr:
        """The value of an expression that `make` writes as statements.

        `make` gets the name for the value, and returns that of the list or dict which collects it, if there is one.
        """
        if any(isinstance(d, YIELDS) for d in own_nodes(node)):
            raise self.unsupported(node, f"a yield inside {what}", "Yield in a statement of its own.")
        target = self.names.fresh("t")
        node = self.kept(node)
        into: list[str | None] = []
        body = self.block(lambda: into.append(make(target)))
        spelled = ir.Verbatim(node, frozenset(n for n in loads(node, values_only=True) if self.is_local(n)), what)
        own_cells = self.depth > 0 and any(self.keeps_cells(n) for n in gast.walk(node))
        origin = self.origin(node)
        self.out.append(ir.Gather(target, spelled, into[0], body, origin, unordered=unordered, own_cells=own_cells))
        return ir.Name(target)

    def collected(self, node: Any) -> str:
        """Add the loops of a comprehension; the name of the list or dict that collects its items."""
        into = self.names.fresh("t")
        origin = self.origin(node)
        keyed = isinstance(node, gast.DictComp)
        empty: ir.Expr = ir.DictOf(()) if keyed else ir.Seq("list", ())
        self.out.append(ir.Assign(into, empty, origin))

        def leaf(node: Any) -> None:
            if keyed:
                key, value = self.operands([node.key, node.value])
                self.out.append(ir.Collect(into, value, key, origin))
            else:
                self.out.append(ir.Collect(into, self.atom(node.elt), None, origin))

        self.nest(node, leaf)
        return into

    def nest(
        self,
        node: Any,
        leaf: Callable[[Any], None],
        inner: Callable[[], None] = lambda: None,
        orelse: Callable[[], None] = lambda: None,
        rebound: Iterable[str] = (),
    ) -> None:
        """Add the loops and conditions of a comprehension around `leaf`, and `inner` after each loop but the first.

        `orelse` is for the end of the first loop; `rebound` are the names that `leaf` may bind.
        """
        if any(g.is_async for g in node.generators):
            raise self.unsupported(node, "an asynchronous comprehension", "Write it as a plain function.")
        node, own = self.with_own_names(node)

        def level(k: int) -> None:
            if k == len(node.generators):
                leaf(node)
                return
            generator = node.generators[k]
            parts = [*generator.ifs, *node.generators[k + 1 :], *_results(node)]
            bound = {n for part in parts for n in bindings(part)} | own | set(rebound)
            last = orelse if k == 0 else lambda: None
            self.loop(generator.target, generator.iter, bound, lambda: tests(generator.ifs, k), last, node)
            if k > 0:
                inner()

        def tests(conditions: list[gast.AST], k: int) -> None:
            if not conditions:
                level(k + 1)
                return
            test = self.atom(conditions[0])
            body = self.block(lambda: tests(conditions[1:], k))
            self.out.append(ir.If(test, body, (), self.origin(conditions[0])))

        outer = self.own
        self.own = outer | own
        level(0)
        self.own = outer

    def with_own_names(self, node: Any) -> tuple[Any, set[str]]:
        """A comprehension whose variables are called as nothing else in the function, and these names."""
        if self._outside is None:
            self._outside = self.scope.bound | self.scope.outer | self.cells | loads(self.source.node)
        first = node.generators[0].iter
        node = copy.copy(node)
        node.generators = [copy.copy(g) for g in node.generators]
        targets = dict.fromkeys(n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name))
        new: dict[str, str] = {}
        for name in targets:
            taken = name in self._outside or name in self.own
            new[name] = self.names.unique(name) if taken else name
            self.names.reserve((name,))
        renamed = copy.deepcopy(node)
        rename(renamed, new, whole=True)
        renamed.generators[0].iter = first
        return renamed, set(new.values())

    def keeps_cells(self, node: gast.AST) -> bool:
        """Whether a comprehension makes functions that capture its variables and may outlive its run."""
        if not isinstance(node, COMPREHENSIONS):
            return False
        own = {n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name)}
        used_up = {id(f) for call in gast.walk(node) if isinstance(call, gast.Call) for f in self.called_only(call)}
        return any(isinstance(d, gast.Lambda) and own & loads(d) and id(d) not in used_up for d in gast.walk(node))

    def called_only(self, call: gast.Call) -> list[gast.AST]:
        """The functions in a call that it calls and does not keep: `(lambda ...)(v)`, `sorted(xs, key=lambda ...)`."""
        found = [call.func]
        func = self.known(call.func)
        if func in (sorted, min, max, functools.reduce):
            found += [*call.args, *(k.value for k in call.keywords)]
        if func in (sorted, min, max, sum, list, tuple, any, all, functools.reduce):
            for inner in call.args:
                if isinstance(inner, gast.Call) and self.known(inner.func) in (map, filter):
                    found += inner.args[:1]
        return found

    # --- generator expressions --------------------------------------------------------------------------

    def value_GeneratorExp(self, node: gast.GeneratorExp) -> ir.Expr:
        return self.verbatim(node, "a generator expression")

    def value_Call(self, node: gast.Call) -> ir.Expr:
        first = node.args[0] if node.args else None
        if isinstance(first, gast.GeneratorExp):
            func = self.known(node.func)
            alone = len(node.args) == 1 and not node.keywords
            if func is list and alone:
                return self.gather(node, "a generator expression", lambda t: self.collected(first))
            if func in (set, frozenset) and alone and func is not None:
                return self.gather(node, "a set of values", lambda t: self.collected(first), unordered=True)
            if func in (any, all) and alone and func is not None:
                return self.gather(node, "a generator expression", lambda t: self.until(t, first, func is any))
            joined = isinstance(node.func, gast.Attribute) and node.func.attr == "join"
            if joined or (func is not None and any(func is f for f in _TAKE_ALL)):
                return self.gather(node, "a generator expression", lambda t: self.taken(t, node, first))
        return super().value_Call(node)

    def taken(self, target: str, node: Any, first: gast.GeneratorExp) -> None:
        """Add a call that gets the items of a generator expression as a list."""
        call = copy.copy(node)
        call.args = [as_list(first), *node.args[1:]]
        self.out.append(ir.Assign(target, super().value_Call(call), self.origin(node)))

    def until(self, target: str, node: gast.GeneratorExp, wanted: bool) -> None:
        """Add `any(...)` or `all(...)`, which stop at the first item that decides."""
        origin = self.origin(node)
        self.out.append(ir.Assign(target, ir.Const(not wanted), origin))
        inner = len(node.generators) > 1

        def leaf(node: Any) -> None:
            test = self.atom(node.elt)
            leave = (ir.Assign(target, ir.Const(wanted), origin), ir.Break(origin))
            body, orelse = (leave, ()) if wanted else ((), leave)
            self.out.append(ir.If(test, body, orelse, origin))

        def found() -> None:
            body, orelse = ((ir.Break(origin),), ()) if wanted else ((), (ir.Break(origin),))
            self.out.append(ir.If(ir.Name(target), body, orelse, origin))

        self.nest(node, leaf, found if inner else lambda: None)

    def operands(self, nodes: Any) -> list[ir.Expr]:
        """As for all expressions; `*(f(v) for v in xs)` takes all items first."""
        taken = [
            gast.Starred(value=as_list(n.value), ctx=n.ctx)
            if isinstance(n, gast.Starred) and isinstance(n.value, gast.GeneratorExp)
            else n
            for n in nodes
        ]
        return super().operands(taken)


def _is_constant(value: Any) -> bool:
    return value is not _ABSENT and isinstance(observe(value, ()), Known)


def as_list(node: Any) -> Any:
    """A generator expression as a list comprehension."""
    return gast.copy_location(gast.ListComp(elt=node.elt, generators=node.generators), node)


def _results(node: Any) -> list[gast.AST]:
    return [node.key, node.value] if isinstance(node, gast.DictComp) else [node.elt]
