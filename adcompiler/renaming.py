"""Other names for variables: in every form of statement and expression, and in the text that these keep."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import gast

from adcompiler import ir
from adcompiler.scope import bindings, parameters, scope_of

_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)

Mapping = dict[str, str]


def renamed(block: ir.Block, new: Mapping) -> ir.Block:
    """The block with names replaced wherever they are read and wherever they are bound."""
    return tuple(renamed_statement(stmt, new) for stmt in block) if new else block


def renamed_statement(stmt: ir.Stmt, new: Mapping) -> ir.Stmt:
    """A statement with names replaced, its blocks included."""
    out: Any = ir.map_expressions(stmt, lambda e: renamed_expression(e, new))
    if ir.blocks(out):
        out = ir.with_blocks(out, tuple(renamed(b, new) for b in ir.blocks(out)))
    match out:
        case ir.Assign(target) | ir.Unpack(target) | ir.For(target):
            return replace(out, target=_target(target, new))
        case ir.Gather(target, spelled, into):
            text: Any = renamed_expression(spelled, new)
            return replace(out, target=_target(target, new), spelled=text, into=_name(into, new))
        case ir.Collect(into):
            return replace(out, into=_target(into, new))
        case ir.With(_, target):
            return replace(out, target=_name(target, new))
        case ir.Try(_, handlers):
            return replace(out, handlers=tuple(replace(h, name=_name(h.name, new)) for h in handlers))
        case ir.Clear(names) | ir.Delete(names):
            return replace(out, names=tuple(new.get(n, n) for n in names))
        case ir.Define(name, node, captures) if new.keys() & {name, *captures}:
            return replace(out, name=new.get(name, name), node=renamed_text(node, new), captures=_names(captures, new))
        case ir.Opaque(node, read, written) if new.keys() & (read | written):
            return replace(out, node=renamed_text(node, new), reads=_names(read, new), writes=_names(written, new))
    return out  # type: ignore[no-any-return]


def renamed_expression(expr: ir.Expr, new: Mapping) -> ir.Expr:
    """An expression with names replaced; one that is resolved (`Apply`) has names in its callee too: never here."""
    match expr:
        case ir.Name(name):
            return ir.Name(new[name]) if name in new else expr
        case ir.Verbatim(node, read):
            return replace(expr, node=renamed_text(node, new), reads=_names(read, new)) if read & new.keys() else expr
        case ir.Lambda(node, captures):
            hit = captures & new.keys()
            return replace(expr, node=renamed_text(node, new), captures=_names(captures, new)) if hit else expr
        case ir.Apply():
            raise TypeError("names are replaced before operations are resolved")
    return ir.rebuild(expr, lambda e: renamed_expression(e, new))


def _target(target: Any, new: Mapping) -> Any:
    if isinstance(target, ir.Targets):
        return replace(target, items=tuple(_target(t, new) for t in target.items))
    return new.get(target, target)


def _name(name: str | None, new: Mapping) -> str | None:
    return None if name is None else new.get(name, name)


def _names(names: Iterable[str], new: Mapping) -> frozenset[str]:
    return frozenset(new.get(n, n) for n in names)


# --- text -------------------------------------------------------------------------------------------------


def renamed_text(node: Any, new: Mapping) -> Any:
    """A copy of a syntax tree with variables replaced; scopes inside keep names that are their own."""
    node = copy.deepcopy(node)
    rename(node, new)
    return node


def rename(node: Any, new: Mapping, whole: bool = False) -> None:  # noqa: C901  one case per form that holds names
    """Rename variables in a syntax tree, in place.

    `whole`: the node is the comprehension whose variables these are.
    """
    match node:
        case gast.Name():
            node.id = new.get(node.id, node.id)
        case gast.Lambda() | gast.FunctionDef() | gast.AsyncFunctionDef():
            _rename_function(node, new, new)
            return
        case gast.ClassDef():
            node.name = new.get(node.name, node.name)
            for part in [*node.bases, *node.keywords, *node.decorator_list]:
                rename(part, new)
            inside = _without(new, {n for stmt in node.body for n in bindings(stmt)})
            for stmt in node.body:
                if isinstance(stmt, gast.FunctionDef):
                    _rename_function(stmt, new, inside)  # methods do not see the names of the class
                else:
                    rename(stmt, inside)
            return
        case gast.Global() | gast.Nonlocal():
            node.names = [new.get(n, n) for n in node.names]
        case gast.Import() | gast.ImportFrom():
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                if bound in new and alias.name.partition(".")[0] == alias.name:
                    alias.asname = new[bound]
        case gast.MatchAs() | gast.MatchStar():
            node.name = _name(node.name, new)
        case gast.MatchMapping():
            node.rest = _name(node.rest, new)
    if isinstance(node, _COMPREHENSIONS) and not whole:
        first = node.generators[0].iter
        rename(first, new)
        hidden = {n.id for g in node.generators for n in gast.walk(g.target) if isinstance(n, gast.Name)}
        node.generators[0].iter = gast.Constant(value=None, kind=None)
        rename(node, _without(new, hidden), whole=True)
        node.generators[0].iter = first
        return
    for child in gast.iter_child_nodes(node):
        rename(child, new)


def _rename_function(node: Any, new: Mapping, around: Mapping) -> None:
    """Rename what a function captures, and, as names of the scope `around` it, its defaults and its own name."""
    for default in [*node.args.defaults, *node.args.kw_defaults]:
        if default is not None:
            rename(default, around)
    if isinstance(node, gast.Lambda):
        rename(node.body, _without(new, parameters(node)))
        return
    node.name = around.get(node.name, node.name)
    for decorator in node.decorator_list:
        rename(decorator, around)
    inner = _without(new, scope_of(node).bound)
    for stmt in node.body:
        rename(stmt, inner)


def _without(new: Mapping, names: Iterable[str]) -> Mapping:
    hidden = set(names)
    return {a: b for a, b in new.items() if a not in hidden}


__all__ = ["rename", "renamed", "renamed_expression", "renamed_statement", "renamed_text"]
