"""Which names of a function are its own: what a block binds, what a nested function captures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import gast

_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)


@dataclass(frozen=True)
class Scope:
    """`bound`: names the function binds (parameters included); `outer`: those it declares `global` or `nonlocal`."""

    bound: frozenset[str]
    outer: frozenset[str]
    generator: bool


def scope_of(node: gast.FunctionDef | gast.Lambda) -> Scope:
    """The scope of a function definition."""
    body = node.body if isinstance(node.body, list) else [node.body]
    outer = {n for stmt in body for d in own_nodes(stmt) if isinstance(d, gast.Global | gast.Nonlocal) for n in d.names}
    bound = {n for stmt in body for n in bindings(stmt)} | set(parameters(node))
    generator = any(isinstance(d, gast.Yield | gast.YieldFrom) for stmt in body for d in own_nodes(stmt))
    return Scope(frozenset(bound - outer), frozenset(outer), generator)


def nonlocals(node: gast.AST) -> frozenset[str]:
    """The variables that functions nested anywhere below a node rebind."""
    return frozenset(n for d in gast.walk(node) if isinstance(d, gast.Nonlocal) for n in d.names)


def parameters(node: gast.FunctionDef | gast.Lambda) -> tuple[str, ...]:
    """Parameter names in the order positional, *args, keyword-only, **kwargs."""
    a = node.args
    extra = [a.vararg] if a.vararg else []
    last = [a.kwarg] if a.kwarg else []
    return tuple(p.id for p in [*a.posonlyargs, *a.args, *extra, *a.kwonlyargs, *last])


def own_nodes(node: gast.AST) -> Iterator[gast.AST]:
    """The nodes of a statement or expression that belong to the function itself, not to a nested scope.

    A nested definition is yielded but not entered, except for its decorators and defaults; a comprehension is
    entered, since a walrus inside binds in the function.
    """
    yield node
    if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda):
        inner = [*getattr(node, "decorator_list", []), *node.args.defaults, *node.args.kw_defaults]
        children: list[gast.AST] = [d for d in inner if d is not None]
    elif isinstance(node, gast.ClassDef):
        children = [*node.decorator_list, *node.bases]
    else:
        children = list(gast.iter_child_nodes(node))
    for child in children:
        yield from own_nodes(child)


def bindings(node: gast.AST) -> Iterator[str]:
    """The names that a statement or expression binds in the function itself."""
    for d in _outside_comprehension_targets(node):
        match d:
            case gast.Name() if isinstance(d.ctx, gast.Store | gast.Del):
                yield d.id
            case gast.FunctionDef() | gast.AsyncFunctionDef() | gast.ClassDef():
                yield d.name
            case gast.Import() | gast.ImportFrom():
                yield from ((a.asname or a.name).split(".")[0] for a in d.names)
            case gast.ExceptHandler() if d.name is not None:
                yield d.name.id if isinstance(d.name, gast.Name) else d.name
            case gast.MatchAs() | gast.MatchStar() if d.name is not None:
                yield d.name
            case gast.MatchMapping() if d.rest is not None:
                yield d.rest


def _outside_comprehension_targets(node: gast.AST) -> Iterator[gast.AST]:
    """As `own_nodes`, but the targets of comprehensions, which are local to them, are left out."""
    skip = {
        id(t)
        for c in own_nodes(node)
        if isinstance(c, _COMPREHENSIONS)
        for g in c.generators
        for t in gast.walk(g.target)
    }
    return (d for d in own_nodes(node) if id(d) not in skip)


def loads(node: gast.AST, values_only: bool = False) -> frozenset[str]:
    """All names read anywhere below a node, nested scopes included and their own names left out.

    With `values_only`, names of which only a shape or a length is read are left out too.
    """
    found: set[str] = set()
    _loads(node, frozenset(), found, values_only)
    return frozenset(found)


_SHAPES = ("shape", "ndim", "size", "dtype")


def _loads(node: gast.AST, hidden: frozenset[str], found: set[str], values_only: bool = False) -> None:
    """Add the names that a node reads to `found`; `hidden` are those of scopes in between."""
    match node:
        case gast.Name():
            if node.id not in hidden and isinstance(node.ctx, gast.Load | gast.Del):
                found.add(node.id)
            return
        case gast.FunctionDef() | gast.AsyncFunctionDef() | gast.Lambda():
            _function_loads(node, hidden, found, values_only)
            return
        case gast.AugAssign(target=gast.Name(id=target)) if target not in hidden:
            found.add(target)
    if values_only and _is_shape(node):
        return
    if isinstance(node, _COMPREHENSIONS):
        hidden = hidden | {n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name)}
    for child in gast.iter_child_nodes(node):
        _loads(child, hidden, found, values_only)


def _function_loads(node: gast.AST, hidden: frozenset[str], found: set[str], values_only: bool) -> None:
    """As `_loads`, for a nested function: its own names are hidden in its body."""
    for outside in [*getattr(node, "decorator_list", []), *node.args.defaults, *node.args.kw_defaults]:
        if outside is not None:
            _loads(outside, hidden, found, values_only)
    inside = hidden | scope_of(node).bound
    for child in node.body if isinstance(node.body, list) else [node.body]:
        _loads(child, inside, found, values_only)


def _is_shape(node: gast.AST) -> bool:
    """Whether a node is `x.shape` or the like, or `len(x)`, of a name."""
    match node:
        case gast.Attribute(value=gast.Name(), attr=attr):
            return attr in _SHAPES
        case gast.Call(func=gast.Name(id="len"), args=[gast.Name()]):
            return True
    return False


_PURE = frozenset(
    "abs all any bool callable complex dict divmod enumerate float getattr hasattr hash id int isinstance issubclass "
    "len list max min pow range repr reversed round set slice sorted str sum super tuple type zip".split()
)
_LIBRARIES = frozenset({"np", "numpy", "math", "scipy", "cmath", "itertools", "operator"})


def calls_out(node: gast.AST) -> bool:
    """Whether evaluating an expression may run code of the user's, or change a container: any call but of libraries."""
    return any(isinstance(d, gast.Call) and not _is_library(d) for d in own_nodes(node))


def _is_library(call: gast.Call) -> bool:
    if any(isinstance(a, gast.Lambda) for a in (*call.args, *(k.value for k in call.keywords))):
        return False
    func = call.func
    if isinstance(func, gast.Name):
        return func.id in _PURE
    while isinstance(func, gast.Attribute):
        func = func.value
    return isinstance(func, gast.Name) and func.id in _LIBRARIES and isinstance(call.func, gast.Attribute)
