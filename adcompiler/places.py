"""Resolving reads of and writes into lists, dicts and objects whose cotangents are kept by identity.

A program that writes into a container or an object in a way that may matter for a derivative is compiled knowing so
(`Program.writes_places`): displays are then made at *sites*, of which it is known what is ever stored there, and what
is loaded from a site is of that kind.
"""

from __future__ import annotations

import operator
import types
from collections import OrderedDict, defaultdict, deque
from dataclasses import replace
from typing import Any

import gast

from adcompiler import ir
from adcompiler.callees import Dynamic, InertCall, PlaceCall
from adcompiler.errors import UnsupportedSyntaxError
from adcompiler.lattice import (
    Array,
    Closure,
    DictOfKinds,
    Heap,
    Inert,
    Instance,
    IntArray,
    Kind,
    Known,
    ListOf,
    MapOf,
    Number,
    Observed,
    SliceOf,
    TupleOf,
    Unknown,
    can_be_active,
    numeric,
)
from adcompiler.parse import parse
from adcompiler.resolve import Resolved, Resolver
from adcompiler.rules.registry import lookup
from adcompiler.runtime import changes, places
from adcompiler.runtime.bars import Cell
from adcompiler.runtime.held import is_place, is_place_class
from adcompiler.runtime.moved import Operation
from adcompiler.runtime.pushed_calls import push, push_method
from adcompiler.spec import ANY

_CONTAINERS = (list, dict, deque, defaultdict, OrderedDict)


def is_mutable(kind: Kind | None) -> bool:
    """Whether a value is surely a list, dict or object: something that has places."""
    match kind:
        case Heap() | ListOf() | DictOfKinds() | MapOf():
            return True
        case Observed(_, value):
            return is_place(value)
        case Instance(cls):
            return is_place_class(cls)
    return False


def holds_places(kind: Kind | None) -> bool:
    """Whether a value is a list, dict or object, or a tuple that holds such."""
    return any(map(holds_places, kind.items)) if isinstance(kind, TupleOf) else is_mutable(kind)


class PlaceResolver(Resolver):
    """Adds places to what can be resolved."""

    def place_call(
        self, expr: ir.Expr, operation: Operation, args: Any, kinds: Any, kind: Kind | None, keywords: Any = ()
    ) -> Resolved:
        """A read of or write into a place; the first operand is the object."""
        if operation.stores and not isinstance(kinds[0], Heap) and kinds[0] is not None:
            self.program.escaped = True  # what was seen in containers no longer holds
            self.program.loosen()
        return self.apply(expr, PlaceCall(operation, tuple(keywords)), args, kinds, kind)

    def stored(self, stmt: ir.Store) -> ir.Block | None:
        """A store as the operation that it is; None if it is into an array, or of nothing that matters."""
        holder, kinds = stmt.place.value, []
        obj = self.value(holder)[1]
        value = self.value(stmt.value)[1]
        if obj is None or value is None or numeric(obj) is not None:
            return None
        if not can_be_active(value) and not can_be_active(obj):
            return None
        if isinstance(obj, Known | Inert) and not can_be_active(value):
            return None
        self.program.need_places()
        self.program.volatile |= isinstance(stmt.place, ir.Attr) or isinstance(obj, Unknown)
        self.program.stores_attributes |= isinstance(stmt.place, ir.Attr)
        key = ir.Const(stmt.place.name) if isinstance(stmt.place, ir.Attr) else stmt.place.index
        kinds = [obj, self.index_kind(key), value]
        args = [holder, key, stmt.value]
        by_attribute = isinstance(stmt.place, ir.Attr)
        if stmt.op is None:
            operation = places.STORE_ATTRIBUTE if by_attribute else places.STORE_ITEM
        else:
            operation = places.UPDATE_ATTRIBUTE if by_attribute else places.UPDATE_ITEM
            args.append(ir.Const(stmt.op))
            kinds.append(Known(stmt.op))
        self.note_stored(obj, kinds[1], Unknown() if stmt.op else value)
        spelled = ir.Call(ir.Static(operation.forward, operation.name), tuple(args))
        applied, _ = self.place_call(spelled, operation, args, kinds, Known(None))
        return (ir.Assign(self.spec.names.fresh("t"), applied, stmt.origin, kind=Known(None)),)

    def holds_number(self, stmt: ir.Store) -> bool:
        """Whether `place op= v` is of a number or an array, which may change in place: neither of a list that grows."""
        holder = self.value(stmt.place.value)[1]
        if stmt.op is None or holder is None or numeric(holder) is not None or stmt.value is None:
            return False
        kind = self.value(stmt.place if stmt.held is None else stmt.held)[1]
        if stmt.held is not None:
            return kind is not None and container_class(kind) is None
        return numeric(kind) is not None

    def with_named_globals(self, stmt: ir.Stmt) -> ir.Stmt:
        """A statement in which global containers and objects have names, which may then carry derivatives."""
        read = [e for expr in ir.expressions(stmt) for e in ir.walk(expr) if isinstance(e, ir.Global)]
        if not read:
            return stmt
        arrays = Array | Number if self.program.names_globals else ()
        kinds = {e.id: kind for e in read if is_mutable(kind := self.value(e)[1]) or isinstance(numeric(kind), arrays)}
        key = id(stmt), tuple(kinds)
        if not kinds:
            return stmt
        if key not in self.spec.named:
            names = {name: self.spec.names.fresh("t") for name in kinds}
            self.spec.named[key] = names, ir.map_expressions(stmt, lambda e: _renamed(e, names)), stmt
        names, named, _ = self.spec.named[key]
        for name, kind in kinds.items():
            self.extra.append(ir.Assign(names[name], ir.Global(name), stmt.origin, kind=kind))
            self.env = {**self.env, names[name]: kind}
        return named

    def on_places(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """A call that makes or changes a container, or makes the place of a variable; None if it is none of these."""
        if function is places.cell or function is places.plain_cell:
            return self.new_cell(expr, kinds)
        if function in (push, push_method):
            return self.pushed_call(expr, function, kinds)
        if function is operator.delitem:
            return self.deleted(expr, kinds)
        return self.constructed_container(expr, function, kinds) if function in _CONTAINERS else None

    def pushed_call(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """A call in forward mode: of what may write as a call that is found at run time; None where a rule will do."""
        callee = kinds[0] if function is push else None
        known = callee.value if isinstance(callee, Known) else None
        name = kinds[1].value if function is push_method and isinstance(kinds[1], Known) else None
        if not any(map(can_be_active, kinds)):
            return None
        writes = name in changes.WRITERS or (known is None and any(map(holds_places, kinds)))
        if not (self.program.writes_places or writes):
            return None
        ruled = known is not None and (not isinstance(known, types.FunctionType) or bool(lookup(known)))
        names = tuple(k for k, _ in expr.kwargs if k)
        args = (*expr.args, *(v for _, v in expr.kwargs))
        if ruled:
            return self.apply(expr, Dynamic(function, names), args, kinds, Unknown())
        callee_of = ir.Static(function, function.__name__)
        return self.apply(expr, Dynamic(None, names), (callee_of, *args), (Known(function), *kinds), Unknown())

    def new_cell(self, expr: ir.Call, kinds: list[Any]) -> Resolved:
        """A variable that nested functions rebind, as an object."""
        self.program.need_places()
        kind = Heap(Cell, (*self.fresh, "Cell"))
        for held in kinds[1:]:
            self.program.note_content(kind, "value", held)
        plain = ir.Call(ir.Static(places.plain_cell, "plain_cell"), expr.args)
        return self.apply(plain, PlaceCall(places.CELL), expr.args, kinds, kind)

    def deleted(self, expr: ir.Call, kinds: list[Any]) -> Resolved:
        """`del obj[key]`."""
        obj = kinds[0]
        if not can_be_active(obj):
            self.program.escaped |= isinstance(obj, Observed | ListOf | DictOfKinds)
            return self.apply(expr, InertCall("no derivative"), expr.args, kinds, Known(None))
        self.program.need_places()
        return self.place_call(expr, places.DELETE_ITEM, expr.args, kinds, Known(None))

    def grown(self, stmt: ir.Assign) -> ir.Block | None:
        """`xs += values` of a list, which is `xs.extend(values)` unless they are an array; None for anything else."""
        if not isinstance(stmt.value, ir.Op) or stmt.value.op != "+":
            return None
        obj, kind = (self.value(a)[1] for a in stmt.value.args)
        if obj is None or kind is None or container_class(obj) is not list:
            return None
        if isinstance(numeric(kind), Array | IntArray) or not (can_be_active(obj) or can_be_active(kind)):
            return None
        self.program.need_places()
        self.note_method("extend", obj, [kind])
        spelled = ir.Call(ir.Static(changes.plain_grow, "plain_grow"), stmt.value.args)
        applied, _ = self.place_call(spelled, changes.GROW, stmt.value.args, (obj, kind), Known(None))
        return (ir.Assign(self.spec.names.fresh("t"), applied, stmt.origin, kind=Known(None)),)

    def rebound_by_array(self, stmt: ir.Assign) -> ir.Assign:
        """`xs += a` of a list and an array, which is `xs = xs + a`; any other statement as it is."""
        if not isinstance(stmt.value, ir.Op):
            return stmt
        obj, kind = (self.value(a)[1] for a in stmt.value.args)
        if obj is None or container_class(obj) is not list or not isinstance(numeric(kind), Array | IntArray):
            return stmt
        return replace(stmt, augmented=False)

    def note_stored(self, obj: Kind, key: Kind | None, value: Kind | None) -> None:
        """Note what a store adds to what a site holds."""
        if isinstance(obj, Heap):
            whole = isinstance(key, SliceOf)
            constant = isinstance(key, Known) and not issubclass(obj.cls, list | deque)
            self.program.note_content(obj, key.value if constant else ANY, Unknown() if whole else value)  # type: ignore[union-attr]

    def made(self, form: type, items: list[tuple[Any, Kind | None]]) -> Heap:
        """The kind of a new container, with the kinds of what it holds by key."""
        kind = Heap(form, (*self.fresh, form.__name__))
        for key, item in items:
            self.program.note_content(kind, key, item)
        return kind

    def heap_item(self, expr: ir.Item, obj: Heap, index: Kind) -> Resolved:
        """An item of a container made by the program."""
        kind: Kind | None
        if isinstance(index, SliceOf):
            kind = obj if obj.cls is list else Unknown()
        elif isinstance(index, Known) and issubclass(obj.cls, dict):
            kind = self.program.content(obj, index.value)
        else:
            kind = self.program.content(obj, ANY)
        args = (expr.value, expr.index)
        return self.place_call(expr, places.LOAD_ITEM, args, (obj, index), kind)

    def written_method(self, expr: ir.Call, func: ir.Attr, obj: Kind, kinds: list[Any]) -> Resolved | None:
        """A method of a list, dict or deque that reads or writes its places; None if it is none of these."""
        cls = container_class(obj)
        operation = changes.METHODS.get(cls, {}).get(func.name) if cls is not None else None
        if operation is None or any(isinstance(a, ir.Star) for a in expr.args):
            return None
        if not any(map(can_be_active, (obj, *kinds))):
            return None
        if not self.program.writes_places and (cls is dict and func.name == "get"):
            return None
        self.program.need_places()
        if func.name == "sort" and any(name == "key" for name, _ in expr.kwargs):
            (key,) = (self.value(v)[1] for name, v in expr.kwargs if name == "key")
            if not is_simple(key):
                what, advice = (
                    "a sort() in place by a function that may have effects",
                    "Use `xs[:] = sorted(xs, key=f)`.",
                )
                callee = self.missing(UnsupportedSyntaxError, what, "The effects would have no derivative.", advice)
                return self.apply(
                    expr, callee, (func.value, *self._operands(expr, expr.args)), (obj, *kinds), Unknown()
                )
        self.note_method(func.name, obj, kinds)
        args = (func.value, *self._operands(expr, expr.args))
        names = tuple(k for k, _ in expr.kwargs if k)
        result: Kind | None = Known(None)
        if func.name in ("pop", "popleft", "get", "setdefault"):
            result = self.program.content(obj, ANY) if isinstance(obj, Heap) else Unknown()
            if func.name in ("get", "pop") and cls is dict:
                result = Unknown()
        elif func.name == "popitem":
            result = Unknown()
        return self.place_call(expr, operation, args, (obj, *kinds), result, names)

    def note_method(self, name: str, obj: Kind, kinds: list[Any]) -> None:
        """Note what a method adds to what a site holds."""
        if not isinstance(obj, Heap):
            return
        if name in ("append", "appendleft", "insert"):
            self.program.note_content(obj, ANY, kinds[-1])
        elif name == "setdefault":
            self.note_stored(obj, kinds[0], kinds[1] if len(kinds) > 1 else Known(None))
        elif name in ("extend", "update"):
            for kind in kinds:
                held: Kind | None = Unknown()
                if isinstance(kind, Heap) and issubclass(kind.cls, dict) == issubclass(obj.cls, dict):
                    held = self.program.content(kind, ANY)
                elif isinstance(kind, TupleOf) and not issubclass(obj.cls, dict):
                    held = self._merged(kind.items)
                self.program.note_content(obj, ANY, held)

    def constructed_container(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """`dict()`, `deque(xs, maxlen=...)`, `defaultdict(list)`: a container made by the program."""
        if any(isinstance(a, ir.Star) for a in expr.args) or any(k is None for k, _ in expr.kwargs):
            return None
        empty = not any(can_be_active(k) for k in kinds if not isinstance(k, Known))
        if not empty and function in (list, dict) and not self.program.writes_places:
            return None
        if not empty or function not in (list, dict):
            self.program.need_places()
        if not self.program.writes_places:
            return None
        # What a default factory makes is stored where nobody sees it, and so are the items of an iterator.
        unseen = function is defaultdict or any(not isinstance(k, Heap) for k in kinds)
        kind = self.made(function, [(ANY, Unknown())] if unseen else [])
        operands = self._operands(expr, expr.args)
        if empty and not any(isinstance(k, Heap) for k in kinds):
            return self.apply(expr, InertCall("a container of no derivatives"), operands, kinds, kind)
        if function in (list, dict):
            return None
        self.note_method("extend", kind, [k for k in kinds if not isinstance(k, Known)])
        args = (ir.Static(function, function.__name__), *operands)
        names = tuple(k for k, _ in expr.kwargs if k)
        return self.apply(expr, PlaceCall(changes.MAKE, names), args, (Known(function), *kinds), kind)


def container_class(obj: Kind) -> type | None:
    """The class of a container, where it is known."""
    match obj:
        case Heap(cls):
            return next((c for c in (list, deque, dict) if issubclass(cls, c)), None)
        case ListOf():
            return list
        case DictOfKinds() | MapOf():
            return dict
        case Observed(_, value) if type(value) in (list, dict):
            return type(value)
    return None


def _renamed(expr: ir.Expr, names: dict[str, str]) -> ir.Expr:
    if isinstance(expr, ir.Global) and expr.id in names:
        return ir.Name(names[expr.id])
    return expr if isinstance(expr, ir.Verbatim | ir.Lambda) else ir.rebuild(expr, lambda e: _renamed(e, names))


def is_simple(function: Kind | None) -> bool:
    """Whether a function surely has no effects: a builtin, or one expression of operators and calls of builtins."""
    node = None
    match function:
        case Known(types.FunctionType() as known):
            node = parse(known).node
        case Known(value):
            return callable(value)
        case Closure(owner=types.FunctionType() as known):
            node = parse(known).node
        case Closure(gast.AST() as found):
            node = found
    if not isinstance(node, gast.Lambda):
        return False
    calls = [n for n in gast.walk(node.body) if isinstance(n, gast.Call | gast.NamedExpr)]
    plain = ("abs", "len", "float", "int", "round", "min", "max", "sum", "str", "tuple")
    return all(isinstance(getattr(c, "func", None), gast.Name) and c.func.id in plain for c in calls)


def as_assignment(stmt: ir.Do, value: ir.Expr, name: str) -> ir.Stmt:
    """An operation on a place that stands alone: its value gets a name, since its forward returns a record too."""
    return ir.Assign(name, value, stmt.origin, kind=value.kind if isinstance(value, ir.Apply) else None)


__all__ = ["PlaceResolver", "as_assignment", "container_class", "is_mutable"]
