"""The tangents of what is written: the same write into the container or array of tangents.

y[i] = v                y_dot[i] = v_dot
x += v                  x_dot[...] = x_dot + v_dot
xs.append(v)            xs_dot.append(v_dot)
obj.w = v               obj_dot["w"] = v_dot
np.sin(x, out=y)        y_dot[...] = np.cos(x) * x_dot
"""

from __future__ import annotations

import operator
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.callees import Dynamic, InertCall, Into, PlaceCall, RuleCall, WriteCall
from adcompiler.lattice import Array, Heap, class_of, numeric
from adcompiler.places import container_class
from adcompiler.pushstate import Code
from adcompiler.pushvalues import FIELD_DOT, PushValues, may_be_of_class
from adcompiler.runtime.members import ABSENT, member
from adcompiler.runtime.moved import CONTAINERS
from adcompiler.runtime.places import check_container, refuse_foreign
from adcompiler.runtime.pushed_calls import (
    PLAIN_OPERATORS,
    factory_dot,
    pop_item_dot,
    remove_dot,
    sort_dot,
)
from adcompiler.runtime.pushing import into, zero_factory

_INTO = ir.Static(into, "into")
_ALL = ir.Const(...)
_SETATTR = vars(object)["__setattr__"]

# Methods of lists, deques and dicts that move no item by its value: which of their arguments are put there.
_STORED: dict[str, tuple[bool, ...]] = {
    "append": (True,), "appendleft": (True,), "insert": (False, True), "extend": (True,), "grow": (True,),
    "pop": (False, True), "pop_left": (), "append_left": (True,), "get": (False, True), "setdefault": (False, True),
    "reverse": (), "rotate": (False,), "clear": (), "move_to_end": (False, False),
}  # fmt: skip
_NAMES = {"pop_left": "popleft", "append_left": "appendleft", "grow": "extend"}


# Writes that are linear in the array and in what is written, as functions of both; and those that are assignments.
_CARRIED = ("src", "value", "v", "values", "vals", "val", "b")
_FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "np.copyto": ("copyto", ("src",)), "np.put": ("put", ("ind", "v")), "y.put": ("put", ("indices", "values")),
    "np.putmask": ("putmask", ("mask", "values")), "np.place": ("place", ("mask", "vals")),
    "np.fill_diagonal": ("fill_diagonal", ("val",)),
    "np.put_along_axis": ("put_along_axis", ("indices", "values")),
    "np.add.at": ("add.at", ("indices", "b")), "np.subtract.at": ("subtract.at", ("indices", "b")),
}  # fmt: skip
_PLACES: dict[str, Any] = {
    "y[index] = value": ir.Item,
    "y.fill": lambda dot, _: ir.Item(dot, _ALL),
    "y.flat[index] = value": lambda dot, index: ir.Item(ir.Attr(dot, "flat"), index),
    "y.flat = value": lambda dot, _: ir.Attr(dot, "flat"),
    "y.real = value": lambda dot, _: ir.Attr(dot, "real"),
    "y.imag = value": lambda dot, _: ir.Attr(dot, "imag"),
}


class PushWrites(PushValues):
    """Adds all that writes."""

    # --- arrays -----------------------------------------------------------------------------------------

    def stmt_Store(self, stmt: ir.Store) -> Code:
        holder = stmt.place.value
        if not self.is_active(holder) and not self.is_active(stmt.value):
            return [stmt]
        if stmt.op is not None or stmt.held is not None or not isinstance(holder, ir.Name):
            raise self.unsupported("this store", "Assign the new value: a[i] = a[i] + v.")
        kind = stmt.kinds[2] if stmt.kinds else None
        value = self.tangent_of(stmt.value, kind)
        dot = self.tangents(holder)
        if isinstance(stmt.place, ir.Item):
            return [stmt, ir.Store(ir.Item(dot, stmt.place.index), value, None, stmt.origin)]
        if stmt.place.name in ("real", "imag"):
            return [stmt, ir.Store(ir.Attr(dot, stmt.place.name), value, None, stmt.origin)]
        raise self.unsupported(f"an assignment to .{stmt.place.name}", "Write a[...] = v.")

    def updated(self, stmt: ir.Assign) -> Code:
        """`x += v` of an array: its tangent stays the array that it is."""
        if isinstance(stmt.value, ir.Apply) and isinstance(stmt.value.callee, Dynamic):
            plain = PLAIN_OPERATORS.get(stmt.value.callee.key)
            if plain is not None and isinstance(numeric(stmt.value.kinds[0]), Array):
                return self.updated_by(plain, stmt)
        if not (isinstance(stmt.value, ir.Apply) and isinstance(stmt.value.callee, RuleCall)):
            return self.computed(replace(stmt, augmented=False))  # the operation that is called writes itself
        held = self.names.fresh("t")
        plain, before, tangent = self.pushed(stmt.value, held, stmt.origin, stmt.kind)
        needed = held in ir.reads(tangent) or any(held in ir.reads(e) for s in before for e in ir.expressions(s))
        first = [] if not needed and len(plain) == 1 and isinstance(plain[0], ir.Assign) else plain
        new = self.names.fresh("d")
        dot = self.dots[stmt.target]
        put = ir.Assign(dot, ir.Call(_INTO, (ir.Name(dot), ir.Name(new))), stmt.origin)
        return [*first, *before, ir.Assign(new, tangent, stmt.origin), stmt, put]

    def updated_by(self, operator: Any, stmt: ir.Assign) -> Code:
        """The same where the operation is found at run time: as that of the operator that makes a new array."""
        assert isinstance(stmt.value, ir.Apply)
        call = replace(stmt.value, callee=replace(stmt.value.callee, key=operator))
        held, new, dot = self.names.fresh("t"), self.names.fresh("d"), self.dots[stmt.target]
        both = ir.Unpack(ir.Targets((held, new)), self.dynamic(call), stmt.origin)
        put = ir.Assign(dot, ir.Call(_INTO, (ir.Name(dot), ir.Name(new))), stmt.origin)
        return [both, stmt, put]

    def written_out(self, stmt: ir.Assign, value: ir.Apply) -> Code:
        """`y = f(x, out=a)`: what is computed into `a` has its tangent computed before, since `a` may be an operand."""
        callee: Into = value.callee
        inner, out = callee.inner, callee.out
        if not self.is_active(out):  # an array that never carries a derivative: of whole numbers, or read by nobody
            return self.still(stmt)
        held, new = self.names.fresh("t"), self.names.fresh("d")
        if isinstance(inner.callee, InertCall) or not any(map(self.is_active, inner.args)):
            first: Code = []
            tangent: ir.Expr = ir.Const(0.0)
        else:
            plain, before, tangent = self.pushed(inner, held, stmt.origin, inner.kind)
            first = [*plain, *before, ir.Assign(new, tangent, stmt.origin)]
            tangent = ir.Name(new)
        dot = self.tangents(out)
        if callee.where is not None:
            where = (("where", callee.where),)
            put: ir.Stmt = ir.Do(ir.Call(ir.Attr(ir.Static(np, "np"), "copyto"), (dot, tangent), where), stmt.origin)
        else:
            put = ir.Store(ir.Item(dot, _ALL), tangent, None, stmt.origin)
        rest = [ir.Assign(self.dots[stmt.target], dot)] if stmt.target in self.dots else []
        return [*first, stmt, put, *rest]

    def written(self, stmt: Any, value: ir.Apply) -> Code:
        """`np.copyto(y, v)`, `y.sort()` and the like."""
        callee: WriteCall = value.callee
        array, *operands = value.args
        if not any(map(self.is_active, value.args)):
            return [stmt]
        name = callee.write.name if callee.write is not None else ""
        given = dict(zip(callee.operands, operands, strict=True))
        kinds = dict(zip(callee.operands, value.kinds[1:], strict=True))
        dot = self.tangents(array)
        carried = {n: self.tangent_of(given[n], kinds[n]) for n in _CARRIED if n in given}
        args = {n: carried.get(n, ir.as_argument(a)) for n, a in given.items()}
        if name == "y.sort":
            return [*self.sorted(array, dot, args, stmt), stmt]
        if name in _PLACES and "value" in args:
            place = _PLACES[name](dot, given.get("index"))
            return [stmt, ir.Store(place, args["value"], None, stmt.origin)]
        if name not in _FUNCTIONS:
            raise self.unsupported("this write into an array", "Write a[...] = v.")
        function, positional = _FUNCTIONS[name]
        first = tuple(args.pop(n) for n in positional)
        return [stmt, ir.Do(ir.Call(_named(function), (dot, *first), tuple(args.items())), stmt.origin)]

    def sorted(self, array: ir.Expr, dot: ir.Expr, args: dict[str, Any], stmt: Any) -> Code:
        """`y.sort(axis)`: the tangents go where the numbers go."""
        axis = args.get("axis", ir.Const(-1))
        order = self.names.fresh("order")
        found = ir.Call(_named("argsort"), (array, axis), (("kind", ir.Const("stable")),))
        taken = ir.Call(_named("take_along_axis"), (dot, ir.Name(order), axis))
        return [ir.Assign(order, found, stmt.origin), ir.Store(ir.Item(dot, _ALL), taken, None, stmt.origin)]

    # --- containers and objects -------------------------------------------------------------------------

    def placed(self, stmt: ir.Assign, value: ir.Apply, held: bool = False) -> Code:  # noqa: C901  one case per operation
        """A read of or a write into a list, dict or object."""
        callee: PlaceCall = value.callee
        name = callee.operation.name
        if not any(map(self.is_active, value.args)) and stmt.target not in self.dots:
            return [stmt]
        obj, *args = value.args
        kinds = value.kinds[1:]
        if name == "cell":
            entries = () if not args else ((ir.Const("value"), self.tangent_of(args[0], kinds[0])),)
            return [stmt, ir.Assign(self.dots[stmt.target], ir.DictOf(entries), stmt.origin)]
        if name == "make":
            return self.constructed(stmt, value)
        dot = self.tangents(obj)
        if isinstance(dot, ir.Const):
            raise self.unsupported("a container that comes from outside", "Pass it as an argument.")
        checked = self.check_place(name, obj, value)
        match name:
            case "store_item" | "store_attribute" | "init_attribute":
                put = ir.Store(ir.Item(dot, args[0]), self.entry(args[1], kinds[1]), None, stmt.origin)
                plain = name != "init_attribute"
                own = ir.Store(_place(name, obj, args[0]), args[1], None, stmt.origin) if plain else stmt
                return [*checked, own, put]
            case "delete_item":
                return [*checked, stmt, ir.Do(ir.Call(ir.Static(operator.delitem, "delitem"), (dot, args[0])))]
            case "load_attribute" | "load_own_attribute" if may_be_of_class(value.kinds[0], args[0].value):
                return self.with_tangent(stmt, ir.Call(FIELD_DOT, (dot, obj, args[0])))
            case "load_item" | "load_attribute" | "load_own_attribute":
                return self.with_tangent(stmt, ir.Item(dot, args[0]))
            case "update_attribute" if not held and may_be_of_class(value.kinds[0], args[0].value):
                first = ir.Store(ir.Item(dot, args[0]), ir.Call(FIELD_DOT, (dot, obj, args[0])), None, stmt.origin)
                return [first, *self.placed(stmt, value, held=True)]
            case "update_item" | "update_attribute":
                place = _place(name, obj, args[0])
                before = self.update(ir.Item(dot, args[0]), place, args[1], self.tangents(args[1]), args[2].value)
                return [*checked, *before, ir.Store(place, args[1], args[2].value, stmt.origin)]
            case "sort":
                call = ir.Call(ir.Static(sort_dot, "sort_dot"), (dot, obj), _keywords(callee, args))
                return [ir.Do(call, stmt.origin), stmt]
            case "remove":
                return [ir.Do(ir.Call(ir.Static(remove_dot, "remove_dot"), (dot, obj, *args)), stmt.origin), stmt]
            case "pop_item":
                last = self.names.fresh("d")
                taken = ir.Assign(
                    last, ir.Call(ir.Static(pop_item_dot, "pop_item_dot"), (dot, *args), _keywords(callee, args))
                )
                return [taken, *self.with_tangent(stmt, ir.Name(last))]
            case "concatenate":
                return self.with_tangent(stmt, ir.Op("+", (dot, self.tangent_of(args[0], kinds[0]))))
            case "update":
                split = len(args) - len(callee.keywords)
                tangents = [
                    self.items_of(dict, a, k) if i < split else self.entry(a, k)
                    for i, (a, k) in enumerate(zip(args, kinds, strict=True))
                ]
                named = tuple(zip(callee.keywords, tangents[split:], strict=True))
                return [stmt, ir.Do(ir.Call(ir.Attr(dot, "update"), tuple(tangents[:split]), named), stmt.origin)]
        return self.by_method(stmt, name, dot, args, kinds)

    def check_place(self, name: str, obj: ir.Expr, value: ir.Apply) -> Code:
        """Where a store might run code of the user's, `__setitem__` or a setter: what does not follow it says so."""
        kind, key = value.kinds[0], value.args[1:2]
        if name in ("store_item", "delete_item", "update_item"):
            known = container_class(kind) is not None and (not isinstance(kind, Heap) or kind.cls in CONTAINERS)
            call = ir.Call(ir.Static(check_container, "check_container"), (obj,))
        elif name in ("store_attribute", "update_attribute"):
            cls = class_of(kind)
            known = cls is not None and member(cls, "__setattr__") is _SETATTR and not _may_be_of_the_class(value)
            call = ir.Call(ir.Static(refuse_foreign, "refuse_foreign"), (obj, *key))
        else:
            return []
        return [] if known else [ir.Do(call, self.stmt.origin)]

    def update(self, dot: ir.Item, place: ir.Expr, value: ir.Expr, value_dot: ir.Expr, op: str) -> Code:
        """The tangent of what `place op= value` leaves, computed before it; an array stays the array that it is."""
        still = isinstance(value_dot, ir.Const)
        origin = self.stmt.origin
        match op:
            case "+" | "-":
                return [] if still else [ir.Store(dot, value_dot, op, origin)]
            case "*":
                scaled = ir.Store(dot, value, "*", origin)
                return [scaled, *([] if still else [ir.Store(dot, ir.Op("*", (place, value_dot)), "+", origin)])]
            case "/":
                slope = ir.Op("*", (ir.Op("/", (place, value)), value_dot))
                return [*([] if still else [ir.Store(dot, slope, "-", origin)]), ir.Store(dot, value, "/", origin)]
            case "**" if still:
                less = ir.Op("**", (place, ir.Op("-", (value, ir.Const(1)))))
                return [ir.Store(dot, ir.Op("*", (value, less)), "*", origin)]
        raise self.unsupported(f"{op}= of an item or attribute", f"Assign the new value: a = a {op} b.")

    def by_method(self, stmt: ir.Assign, name: str, dot: ir.Expr, args: Any, kinds: Any) -> Code:
        """A method: the same of the container of tangents."""
        stored = _STORED.get("setdefault" if name == "set_default" else name.replace("extend_items", "extend"))
        if stored is None:
            raise self.unsupported(f"the method .{name}() of a container", "Build a new list instead.")
        given = [self.entry(a, k) if on else a for a, k, on in zip(args, kinds, stored, strict=False)]
        method = {"set_default": "setdefault", "extend_items": "extend"}.get(name, _NAMES.get(name, name))
        call = ir.Call(ir.Attr(dot, method), tuple(given))
        if stmt.target in self.dots:
            held = self.names.fresh("d")
            return [ir.Assign(held, call, stmt.origin), *self.with_tangent(stmt, ir.Name(held))]
        return [stmt, ir.Do(call, stmt.origin)]

    def constructed(self, stmt: ir.Assign, value: ir.Apply) -> Code:
        """`deque(xs, maxlen=...)`, `defaultdict(list)`, `OrderedDict(pairs)`: the same of the tangents of the items."""
        cls, *args = value.args
        keywords, kinds = value.callee.keywords, value.kinds[1:]
        split = len(args) - len(keywords)
        of = cls.value
        source = 1 if of is defaultdict else 0
        given: list[ir.Expr] = []
        for i, (arg, kind) in enumerate(zip(args, kinds, strict=True)):
            name = keywords[i - split] if i >= split else None
            if issubclass(of, dict) and name is not None:
                given.append(self.entry(arg, kind))
            elif i == source or name == "iterable":
                given.append(self.items_of(of, arg, kind))
            elif of is defaultdict:
                given.append(self.factory_of(arg))
            else:
                given.append(arg)  # how many items a deque has at most
        call = ir.Call(cls, tuple(given[:split]), tuple(zip(keywords, given[split:], strict=True)))
        return [stmt, ir.Assign(self.dots[stmt.target], call, stmt.origin)]

    def factory_of(self, factory: ir.Expr) -> ir.Expr:
        """What makes the tangents of the values that the factory of a `defaultdict` makes."""
        if self.is_active(factory):
            return ir.Call(ir.Static(factory_dot, "factory_dot"), (factory, self.tangents(factory)))
        if isinstance(factory, ir.Static) and factory.value in (list, dict, float):
            return factory
        return ir.Call(ir.Static(zero_factory, "zero_factory"), (factory,))

    def with_tangent(self, stmt: ir.Assign, tangent: ir.Expr) -> Code:
        """A statement, and the tangent of what it binds."""
        if stmt.target not in self.dots:
            return [stmt]
        if stmt.target in ir.reads(tangent) or any(stmt.target in ir.reads(e) for e in ir.expressions(stmt)):
            held = self.names.fresh("d")
            return [ir.Assign(held, tangent, stmt.origin), stmt, ir.Assign(self.dots[stmt.target], ir.Name(held))]
        return [stmt, ir.Assign(self.dots[stmt.target], tangent, stmt.origin)]


def _place(name: str, obj: ir.Expr, key: ir.Expr) -> ir.Item | ir.Attr:
    """The place of an operation."""
    return ir.Attr(obj, key.value) if name.endswith("attribute") and isinstance(key, ir.Const) else ir.Item(obj, key)


def _may_be_of_the_class(value: ir.Apply) -> bool:
    """Whether an attribute may stand in the class, or be computed there: the object's tangent has no such entry."""
    cls, key = class_of(value.kinds[0]), value.args[1]
    return cls is None or not isinstance(key, ir.Const) or member(cls, key.value) is not ABSENT


def _named(name: str) -> ir.Expr:
    """A function of NumPy, or a method of an array (whose first argument is the array)."""
    first, *rest = name.split(".")
    out: ir.Expr = ir.Attr(ir.Static(np, "np"), first)
    for part in rest:
        out = ir.Attr(out, part)
    return out


def _keywords(callee: PlaceCall, args: Any) -> tuple[tuple[str | None, ir.Expr], ...]:
    count = len(callee.keywords)
    return tuple(zip(callee.keywords, args[len(args) - count :], strict=True)) if count else ()


__all__ = ["PushWrites"]
