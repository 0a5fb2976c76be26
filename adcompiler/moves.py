"""Resolving operations that only move what containers hold: displays with stars, slices, joins, copies, `itertools`.

    ys = [*xs, y]        ys, back = moved(lambda xs, y: [*xs, y], "sv", xs, y)

The operation is run by `runtime.moves`, which finds where each entry of the result came from.  An iterator is moved as
part of the expression that consumes it, so that laziness and endless iterators are Python's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from adcompiler import ir
from adcompiler.callees import Dynamic, InertCall, Move
from adcompiler.joins import join
from adcompiler.lattice import (
    DictOfKinds,
    Heap,
    Inert,
    Int,
    IntArray,
    Kind,
    Known,
    ListOf,
    MapOf,
    Observed,
    TupleOf,
    Unknown,
    can_be_active,
    is_scalar,
    numeric,
)
from adcompiler.places import PlaceResolver, container_class
from adcompiler.resolve import Resolved
from adcompiler.runtime.moves import best, ordered
from adcompiler.shapeclasses import shapeless
from adcompiler.spec import ANY
from adcompiler.transfer import item_kind

Items = tuple[tuple[Kind, ...] | None, Kind | None]

# What a function does with each of its arguments (see `runtime.moves.moved`); of most, the items are moved.
ROLES: dict[Any, str] = {
    itertools.repeat: "v-", itertools.islice: "s---", itertools.combinations: "s-", itertools.permutations: "s-",
    itertools.combinations_with_replacement: "s-", itertools.chain.from_iterable: "d", itertools.compress: "s-",
    itertools.count: "--", range: "---", ordered: "s--", best: "-s-", dict: "p", enumerate: "s-",
}  # fmt: skip
METHODS = {"copy": (), "get": ("-", "v"), "items": (), "values": (), "keys": ()}


class MoveResolver(PlaceResolver):
    """Adds operations on whole containers to what can be resolved."""

    def move(self, expr: ir.Expr, kind: Kind | None, fresh: bool = True, view: ir.Expr | None = None) -> Resolved:
        """An operation that moves entries of containers; `fresh` says that its result is a new container.

        `view` is the user's expression, if it gives a view where no derivative is wanted.
        """
        spelled = view or expr
        parts = _Parts(self)
        body = parts.part(expr, "s")
        kinds = self.kinds(parts.atoms)
        if any(k is None for k in kinds):
            return self.apply(spelled, InertCall("not reached yet"), parts.atoms, kinds, None)
        if all(role == "-" for role in parts.roles):
            return self.apply(spelled, InertCall("no derivative"), parts.atoms, kinds, kind)
        function = ir.Fn(tuple(parts.params), body)
        of_tangents = ir.Fn(function.params, _with_zeros(body))
        intended = "".join(parts.intended)
        callee = Move(
            function, tuple(parts.atoms), "".join(parts.roles), fresh, view is not None, of_tangents, intended
        )
        args = [(a, k) for a, k, role in zip(parts.atoms, kinds, parts.roles, strict=True) if role != "-"]
        return self.apply(spelled, callee, [a for a, _ in args], [k for _, k in args], kind)

    # --- kinds of containers ----------------------------------------------------------------------------

    def contents(self, kind: Kind | None) -> Items:
        """The kinds of the items of a value: one by one if they are known, and what they have in common."""
        if isinstance(kind, Heap):
            return None, Inert() if issubclass(kind.cls, dict) else self.program.content(kind, ANY)
        deep: Any = self.program.deep_kind(kind) if kind is not None else None
        if self.program.escaped and isinstance(deep, ListOf):
            return None, Unknown()
        match deep:
            case None:
                return None, None
            case TupleOf(items) | ListOf(tuple() as items):
                return items, self.common(items)
            case ListOf(_, item):
                return None, shapeless(item)
            case DictOfKinds() | MapOf() | Observed(_, dict()):
                return None, key_kind(deep)
            case Known(str() | bytes()) | Inert():
                return None, Inert()
        if numeric(deep) is not None:
            return None, shapeless(self.program.element(item_kind(numeric(deep) or Unknown())))
        return None, Unknown()

    def common(self, items: Any) -> Kind | None:
        """What several kinds have in common, as kinds of different values; None if there are none."""
        merged: Kind | None = None
        for i, kind in enumerate(items):
            merged = join(merged, shapeless(kind), (*self.fresh, i))
        return merged

    def sequence(self, form: type, items: tuple[Kind, ...] | None, common: Kind | None) -> Kind:
        """The kind of a new list or tuple."""
        if form is list and self.program.writes_places:
            return self.made(list, [(ANY, common)] if common is not None else [])
        if form is tuple and items is not None:
            return TupleOf(items)
        if form is tuple and self.program.writes_places:
            return Unknown()
        if items is None and common is None:
            items = ()
        return ListOf(items, common or Unknown())

    def mapping(self, entries: list[tuple[Any, Kind | None]]) -> Kind:
        """The kind of a new dict from the kinds of its values by key (`ANY`: some keys)."""
        if self.program.writes_places:
            return self.made(dict, entries)
        if any(key is ANY for key, _ in entries):
            return MapOf(self.common([k for _, k in entries if k is not None]) or Unknown())
        last = dict(entries)
        return DictOfKinds(tuple(last), tuple(k or Unknown() for k in last.values()))

    def entries(self, kind: Kind | None) -> list[tuple[Any, Kind | None]]:
        """The kinds of the values of a dict by key; `ANY` stands for keys that are not known."""
        deep: Any = self.program.deep_kind(kind) if kind is not None else None
        if isinstance(deep, Heap):
            return [(ANY, self.program.content(deep, ANY))]
        if self.program.escaped:
            return [(ANY, Unknown())]
        match deep:
            case DictOfKinds(keys, items):
                return list(zip(keys, items, strict=True))
            case MapOf(item):
                return [(ANY, item)]
        return [(ANY, Unknown())]

    # --- operations -------------------------------------------------------------------------------------

    def starred(self, expr: ir.Seq) -> Resolved:
        """A tuple or list display with stars."""
        items: list[Kind] | None = []
        commons: list[Kind | None] = []
        for item in expr.items:
            star = isinstance(item, ir.Star)
            kind = self.value(item.value if isinstance(item, ir.Star) else item)[1]
            known, common = self.contents(kind) if star else ((kind or Unknown(),), kind)
            commons.append(common)
            items = None if items is None or known is None else [*items, *known]
        merged = self.common([k for k in commons if k is not None])
        form = tuple if expr.form == "tuple" else list
        return self.move(expr, self.sequence(form, None if items is None else tuple(items), merged))

    def keyed(self, expr: ir.DictOf) -> Resolved:
        """A dict display with `**` or with keys that are not constants."""
        entries: list[tuple[Any, Kind | None]] = []
        for key, value in expr.items:
            kind = self.value(value)[1]
            if key is None:
                entries += self.entries(kind)
            else:
                constant = self.value(key)[1]
                entries.append((constant.value if isinstance(constant, Known) else ANY, kind))
        return self.move(expr, self.mapping(entries))

    def joined(self, expr: ir.Op, kinds: list[Any]) -> Resolved | None:
        """`+`, `*` and `|` of containers; None if it is none of these."""
        match expr.op, [self.form(k) for k in kinds]:
            case "+", [a, b] if a is b and a in (list, tuple):
                (x, common), (y, other) = map(self.contents, kinds)
                merged = self.common([k for k in (common, other) if k is not None])
                return self.move(expr, self.sequence(a, None if x is None or y is None else x + y, merged))
            case "*", [a, b] if list in (a, b) or tuple in (a, b):
                form, which = (a, 0) if a is list or a is tuple else (b or list, 1)
                items, common = self.contents(kinds[which])
                times = kinds[1 - which].value if isinstance(kinds[1 - which], Known) else None
                known = items * times if items is not None and type(times) is int and times < 9 else None
                return self.move(expr, self.sequence(form, known, common))
            case "|", [a, b] if a is dict and b is dict:
                return self.move(expr, self.mapping([*self.entries(kinds[0]), *self.entries(kinds[1])]))
        return None

    def sliced(self, expr: ir.Item, obj: Kind) -> Resolved | None:
        """A slice of a list or tuple; None if it is none of these."""
        form = self.form(obj)
        if form not in (list, tuple) or not isinstance(expr.index, ir.Slice):
            return None
        items, common = self.contents(obj)
        ends = [
            Known(None) if e is None else self.value(e)[1]
            for e in (expr.index.lower, expr.index.upper, expr.index.step)
        ]
        if items is not None and all(isinstance(e, Known) for e in ends):
            try:
                items = items[slice(*(e.value for e in ends))]  # type: ignore[union-attr]
            except (TypeError, ValueError):
                items = None
        else:
            items = None
        return self.move(expr, self.sequence(form, items, common if items is None else self.common(items)))

    def form(self, kind: Kind | None) -> type | None:
        """The class of a container: list, tuple or dict."""
        match kind:
            case TupleOf():
                return tuple
            case ListOf(tuple()):
                return list
            case ListOf():
                return list
            case MapOf():
                return dict
            case Observed(_, value) if type(value) is tuple:
                return tuple
        return container_class(kind) if kind is not None else None

    def container_method(self, expr: ir.Call, func: ir.Attr, obj: Kind, kinds: list[Any]) -> Resolved | None:
        """`.copy()`, `.get()`, `.items()`, `.values()` and `.keys()`; None if it is none of these."""
        form = self.form(obj)
        if form is None or func.name not in METHODS or expr.kwargs or any(isinstance(a, ir.Star) for a in expr.args):
            return None
        if form is not dict:
            if func.name != "copy" or form is tuple or expr.args:
                return None
            return self.move(expr, self.sequence(list, *self.contents(obj)))
        entries = self.entries(obj)
        common = self.common([k for _, k in entries if k is not None])
        match func.name, len(expr.args):
            case "copy", 0:
                return self.move(expr, self.mapping(entries))
            case "keys", 0:
                return self.apply(expr, InertCall("keys"), (func.value,), (obj,), Inert())
            case "values" | "items", 0:
                item = (
                    common
                    if func.name == "values" or common is None
                    else TupleOf((key_kind(self.program.deep_kind(obj)), common))
                )
                return self.view(expr, item)
            case "get", 1 | 2:
                key = kinds[0]
                default = kinds[1] if len(kinds) > 1 else Known(None)
                known = dict(entries)
                if isinstance(key, Known) and ANY not in known:
                    return self.move(expr, known.get(key.value, default), fresh=False)
                return self.move(expr, self.common([k for k in (common, default) if k is not None]), fresh=False)
        return None

    def view(self, expr: ir.Call, item: Kind | None) -> Resolved:
        """`d.values()` and `d.items()`; where containers are written into, a list of what is in them now."""
        whole = ir.Call(ir.Static(list, "list"), (expr,))
        value, kind = self.move(whole, self.sequence(list, None, item), view=expr)
        listed = isinstance(value, ir.Apply) and isinstance(value.callee, Move)
        if listed and isinstance(self.stmt, ir.Assign) and self.stmt.target not in self.spec.function.locals:
            self.views[self.stmt.target] = expr
        return value, kind

    def on_containers(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """`list(x)`, `tuple(x)`, `dict(x)`, and what `sorted`, `min` and `max` become; None if it is none of these."""
        if function is ordered:
            return self.move(expr, self.sequence(list, None, self.contents(kinds[0])[1]))
        if function is best:
            return self.move(expr, self.contents(kinds[1])[1], fresh=False)
        known = len(kinds) == 1 and (can_be_active(kinds[0]) or self.form(kinds[0]) or numeric(kinds[0]))
        if function in (list, tuple) and known and not expr.kwargs:
            return self.converted(expr, function, kinds[0])
        if function is dict and any(map(can_be_active, kinds)) and len(expr.args) < 2:
            return self.dict_of(expr, kinds)
        return None

    def converted(self, expr: ir.Call, form: type, kind: Kind) -> Resolved:
        """`list(x)` and `tuple(x)`."""
        if isinstance(kind, Unknown):
            return self.apply(expr, Dynamic(form, pure=True), expr.args, (kind,), Unknown())
        return self.move(expr, self.sequence(form, *self.contents(kind)))

    def dict_of(self, expr: ir.Call, kinds: list[Any]) -> Resolved:
        """`dict(other)`, `dict(pairs)`, `dict(a=x)`; `dict(**other)` is `{**other}`."""
        if any(k is None for k, _ in expr.kwargs) and not expr.args:
            return self.display(ir.DictOf(tuple((None if k is None else ir.Const(k), v) for k, v in expr.kwargs)))
        entries: list[tuple[Any, Kind | None]] = []
        if expr.args and self.form(kinds[0]) is dict:
            entries += self.entries(kinds[0])
        elif expr.args:
            pair = self.contents(kinds[0])[1]
            entries.append((ANY, pair.items[1] if isinstance(pair, TupleOf) and len(pair.items) == 2 else Unknown()))
        for (name, _), kind in zip(expr.kwargs, kinds[len(expr.args) :], strict=True):
            entries += self.entries(kind) if name is None else [(name, kind)]
        return self.move(expr, self.mapping(entries))

    # --- iterators --------------------------------------------------------------------------------------

    def consumed(self, expr: ir.Call) -> Resolved:
        """`list(iterator)`, where the iterator is a nested call."""
        return self.move(expr, self.sequence(list, None, self.item_of(expr.args[0])))

    def is_endless(self, expr: ir.Expr) -> bool:
        """Whether an iterator may have no end."""
        if not isinstance(expr, ir.Call):
            return False
        func: Any = self.value(expr.func)[1]
        inner = [self.is_endless(a) for a in expr.args]
        match func.value if isinstance(func, Known) else None:
            case itertools.repeat:
                return len(expr.args) < 2 and not expr.kwargs
            case itertools.count | itertools.cycle:
                return True
            case itertools.islice:
                stop = expr.args[1 if len(expr.args) < 3 else 2]
                return inner[0] and isinstance(stop, ir.Const) and stop.value is None
            case f if f is zip:
                return bool(inner) and all(inner)
        return any(inner)

    def item_of(self, expr: ir.Expr) -> Kind | None:  # noqa: C901  one case per function
        """The kind of the items that an iterator gives."""
        if not isinstance(expr, ir.Call):
            return self.contents(self.value(expr)[1])[1]
        func: Any = self.value(expr.func)[1]
        parts = [
            self.contents(self.item_of(a.value))[1] if isinstance(a, ir.Star) else self.item_of(a) for a in expr.args
        ]
        unsure = any(isinstance(a, ir.Star) for a in expr.args)
        values = [self.value(a)[1] if ir.is_atom(a) else Unknown() for a in expr.args]
        if any(k is None for k in parts) and func.value not in (itertools.repeat, itertools.count, range):
            return None
        match func.value if isinstance(func, Known) else None:
            case itertools.repeat:
                return values[0] and shapeless(values[0])
            case f if f in (range, itertools.count):
                numbers = all(isinstance(numeric(k), Int | IntArray) for k in values)
                return Int() if numbers else Unknown()
            case f if f is zip and not unsure:
                return TupleOf(tuple(k or Unknown() for k in parts))
            case f if f is enumerate:
                return TupleOf((Int(), parts[0] or Unknown()))
            case f if f in (reversed, itertools.islice, itertools.cycle, itertools.compress):
                return parts[0]
            case itertools.chain if not unsure:
                return self.common([k for k in parts if k is not None])
            case f if f == itertools.chain.from_iterable:
                return self.contents(parts[0])[1]
            case itertools.pairwise:
                return TupleOf((parts[0] or Unknown(),) * 2)
            case itertools.zip_longest if not unsure:
                fill = [self.value(v)[1] for k, v in expr.kwargs if k == "fillvalue"] or [Known(None)]
                return TupleOf(tuple(self.common([k or Unknown(), fill[0] or Unknown()]) or Unknown() for k in parts))
            case itertools.product if not unsure and all(
                isinstance(k, Known) for k in self.kinds(v for _, v in expr.kwargs)
            ):
                times = next((self.value(v)[1].value for k, v in expr.kwargs if k == "repeat"), 1)  # type: ignore[union-attr]
                return TupleOf(tuple(k or Unknown() for k in parts) * times)
            case itertools.combinations | itertools.combinations_with_replacement | itertools.permutations:
                count = values[1].value if len(values) > 1 and isinstance(values[1], Known) else None
                return TupleOf((parts[0] or Unknown(),) * count) if isinstance(count, int) else Unknown()
        return Unknown()


def key_kind(kind: Kind) -> Kind:
    """The kind of the keys of a dict."""
    integers = isinstance(kind, DictOfKinds) and kind.keys and all(type(k) is int for k in kind.keys)
    return Int() if integers else Inert()


class _Parts:
    """The operands of an expression, each occurrence a parameter, with what is done to it."""

    def __init__(self, resolver: MoveResolver) -> None:
        self.resolver = resolver
        self.params: list[str] = []
        self.roles: list[str] = []
        self.intended: list[str] = []  # the roles that they would have if they could carry derivatives
        self.atoms: list[ir.Expr] = []

    def part(self, expr: Any, role: str) -> Any:
        """The expression with parameters in the place of names."""
        match expr:
            case ir.Name(name):
                param = name if name not in self.params else self.resolver.spec.names.fresh(name + "_")
                passive = not can_be_active(self.resolver.value(expr)[1])
                self.params.append(param)
                self.roles.append("-" if passive else role)
                self.intended.append("-" if is_scalar(self.resolver.value(expr)[1]) and role == "s" else role)
                self.atoms.append(expr)
                return ir.Name(param)
            case ir.Star(value):
                return ir.Star(self.part(value, "d" if role == "call" else "s"))
            case ir.Seq(form, items):
                return ir.Seq(form, tuple(self.part(i, "-" if role == "-" else "v") for i in items))
            case ir.DictOf(items):
                return ir.DictOf(
                    tuple(
                        (None, self.part(v, "s")) if k is None else (self.part(k, "-"), self.part(v, "v"))
                        for k, v in items
                    )
                )
            case ir.Op(op, args):
                return ir.Op(op, tuple(self.part(a, "s") for a in args))
            case ir.Item(value, index):
                return ir.Item(self.part(value, "s"), self.part(index, "-"))
            case ir.Slice(lower, upper, step):
                return ir.Slice(*(e if e is None else self.part(e, "-") for e in (lower, upper, step)))
            case ir.Call():
                return self.call(expr)
            case ir.Const(value) if role == "v":
                return _Entry(value)
        return expr

    def call(self, expr: ir.Call) -> ir.Expr:
        """A call of a method of a container, or of a function that iterates over its arguments."""
        if isinstance(expr.func, ir.Attr) and isinstance(expr.func.value, ir.Name):
            roles: Any = METHODS[expr.func.name]
            obj = self.part(expr.func.value, "s")
            return ir.Call(ir.Attr(obj, expr.func.name), tuple(map(self.part, expr.args, roles)))
        func: Any = self.resolver.value(expr.func)[1]
        known = func.value if isinstance(func, Known) else None
        args = tuple(
            ir.Star(self.part(a.value, "d")) if isinstance(a, ir.Star) else self.part(a, r)
            for a, r in zip(expr.args, itertools.chain(_roles(known), itertools.repeat("s")), strict=False)
        )
        kwargs = tuple((k, self.part(v, "v" if known is dict or k == "fillvalue" else "-")) for k, v in expr.kwargs)
        return ir.Call(expr.func, args, kwargs)


class _Entry(ir.Const):
    """A constant that becomes an entry of a container."""

    __slots__ = ()


def _with_zeros(expr: ir.Expr) -> ir.Expr:
    """The same operation on containers of tangents: the tangent of a constant is zero, or None."""
    if isinstance(expr, _Entry):
        return ir.Const(0.0 if isinstance(expr.value, int | float | complex) else None)
    return ir.rebuild(expr, _with_zeros)


def _roles(function: Any) -> Iterator[str]:
    for key, roles in ROLES.items():
        if key == function:
            yield from roles


__all__ = ["MoveResolver"]
