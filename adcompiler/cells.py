"""Variables that nested functions rebind → places: `w = w * v` under `nonlocal w` becomes `w.value = w.value * v`.

    def counter(x):                              def counter(x):
        w = x                                        w = Cell(); w.value = x
        def step(v):                                 def step(v):
            nonlocal w                      →            w.value = w.value * v
            w = w * v                                step(2.0)
        step(2.0)                                    return w.value
        return w

A variable of this kind is an object of its own, which the functions that share it capture.
"""

from __future__ import annotations

import copy
from typing import Any

import gast

from adcompiler.scope import bindings, loads, nonlocals, scope_of

_FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)


def with_cells(node: Any, shared: frozenset[str] = frozenset()) -> tuple[Any, tuple[str, ...]]:
    """A function with such variables of its own as places, and their names; itself if it has none.

    `shared` are others that are rebound after a function that captures them was made.
    """
    scope = scope_of(node)
    names = (nonlocals(node) | (shared & _captured(node))) & scope.bound
    if not names or scope.outer or any(_binds_otherwise(d, names) for d in gast.walk(node)):
        return node, ()
    new = copy.deepcopy(node)
    used = {n.id for n in gast.walk(node) if isinstance(n, gast.Name)}
    places = _Places(names, used)
    if isinstance(new, gast.Lambda):
        new.body = places.visit(new.body)
    else:
        new.body = [places.visit(stmt) for stmt in new.body]
    return new, tuple(sorted(names))


def _captured(node: Any) -> frozenset[str]:
    """The names that functions nested in a function read."""
    nested = [d for d in gast.walk(node) if isinstance(d, _FUNCTIONS) and d is not node]
    return frozenset().union(*map(loads, nested))


def _binds_otherwise(node: gast.AST, names: frozenset[str]) -> bool:
    """Whether a node binds one of the names in another way than by a plain assignment."""
    match node:
        case gast.FunctionDef() | gast.AsyncFunctionDef() | gast.ClassDef():
            return node.name in names
        case gast.ExceptHandler():
            return node.name is not None and node.name.id in names
        case gast.Import() | gast.ImportFrom() | gast.MatchAs() | gast.MatchStar():
            return any(n in names for n in bindings(node))
        case gast.NamedExpr():
            return node.target.id in names
    return False


class _Places(gast.NodeTransformer):  # type: ignore[misc]
    """Replaces reads and assignments of the names; scopes that bind one of them anew are left alone."""

    def __init__(self, names: frozenset[str], used: set[str]) -> None:
        self.names = names
        self.used = used

    def visit_Name(self, node: gast.Name) -> Any:
        if node.id not in self.names or isinstance(node.ctx, gast.Param):
            return node
        inner = gast.copy_location(gast.Name(node.id, gast.Load(), None, None), node)
        return gast.copy_location(gast.Attribute(inner, "value", node.ctx), node)

    def visit_For(self, node: gast.For) -> Any:
        """A loop binds names of its own first, which are stored when an iteration begins."""
        stores = []
        for name in [n for n in gast.walk(node.target) if isinstance(n, gast.Name) and n.id in self.names]:
            place, name.id = name.id, self.fresh(f"{name.id}_item")
            read = gast.copy_location(gast.Name(name.id, gast.Load(), None, None), name)
            write = self.visit(gast.copy_location(gast.Name(place, gast.Store(), None, None), name))
            stores.append(gast.copy_location(gast.Assign([write], read, None), node))
        node.iter = self.visit(node.iter)
        node.body = [*stores, *(self.visit(stmt) for stmt in node.body)]
        node.orelse = [self.visit(stmt) for stmt in node.orelse]
        return node

    def fresh(self, name: str) -> str:
        """A name that the function does not use."""
        while name in self.used:
            name += "_"
        self.used.add(name)
        return name

    def visit_Nonlocal(self, node: gast.Nonlocal) -> Any:
        left = [n for n in node.names if n not in self.names]
        new = gast.Nonlocal(left) if left else gast.Pass()
        return gast.copy_location(new, node)

    def _function(self, node: Any) -> Any:
        args = node.args
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [d if d is None else self.visit(d) for d in args.kw_defaults]
        inner = _Places(self.names - scope_of(node).bound, self.used)
        if isinstance(node, gast.Lambda):
            node.body = inner.visit(node.body)
        else:
            node.decorator_list = [self.visit(d) for d in node.decorator_list]
            node.body = [inner.visit(stmt) for stmt in node.body]
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    def _comprehension(self, node: Any) -> Any:
        own = {n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name)}
        hidden = own & self.names
        if not hidden:
            return self.generic_visit(node)
        node.generators[0].iter = self.visit(node.generators[0].iter)
        inner = _Places(self.names - hidden, self.used)
        for field in ("elt", "key", "value"):
            if hasattr(node, field):
                setattr(node, field, inner.visit(getattr(node, field)))
        for i, generator in enumerate(node.generators):
            generator.ifs = [inner.visit(test) for test in generator.ifs]
            if i:
                generator.iter = inner.visit(generator.iter)
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


__all__ = ["with_cells"]
