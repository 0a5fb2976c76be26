"""What consumes iterators where they stand: `sum`, `list`, `sorted`, `min`, `max`, `reduce`, `any`, `all`, `next`.

    sorted(map(f, xs), key=g)       t1 = [f(v) for v in xs]
                                    ordered(t1, [g(v) for v in t1], False)

Keys decide and carry no derivative.  An iterator with a name, used up in one place after it, is taken there.
"""

from __future__ import annotations

import copy
import functools
import math
import operator
from collections import Counter
from typing import Any

import gast
import numpy as np

from adcompiler import ir
from adcompiler.comprehend import COMPREHENSIONS
from adcompiler.iterators import MOVING, ONE_BY_ONE, Iterators, all_of, call_node, is_one, item_names, name_node
from adcompiler.runtime.moves import best, ordered
from adcompiler.scope import bindings, loads

# What takes all items of an iterator before it does anything else with them.
_TAKERS = (sum, tuple, dict, math.prod, math.fsum, np.fromiter)
_SELECTORS = (sorted, min, max)


class Consumers(Iterators):
    """Adds what consumes iterators to the expressions that can be lowered."""

    # --- consumers --------------------------------------------------------------------------------------

    def listed(self, node: Any) -> ir.Expr:
        """The items of an iterator as a new list."""
        found = self.taken_once(node)
        if isinstance(found, gast.GeneratorExp) or not is_one(self.known(found.func), MOVING):
            return self.value_ListComp(all_of(found))
        if is_one(self.known(found.func), ONE_BY_ONE):
            args = [
                a if self.kind_of_iterator(a) in (None, "moving") else self.named(self.listed(a), a) for a in found.args
            ]
            found = gast.copy_location(gast.Call(func=found.func, args=args, keywords=found.keywords), found)
        if any(self.kind_of_iterator(a) in ("generator", "calling") for a in found.args):
            return self.value_ListComp(all_of(found))
        return self.temp(ir.Call(ir.Static(list, "list"), (self.iterable(found),)), node)

    def value_Call(self, node: gast.Call) -> ir.Expr:  # noqa: C901  one case per consumer
        func = self.known(node.func)
        getter = self.getter(node, func)
        if getter is not None:
            return self.value(getter)
        arguments = node.args[1:] if func is functools.reduce else node.args
        first = arguments[0] if arguments else None
        if func is None or first is None or isinstance(first, gast.Starred):
            return super().value_Call(node)
        lazy = self.kind_of_iterator(first) is not None and (len(arguments) == 1 or func not in (any, all, list))
        what = "an iterator"
        if is_one(func, _SELECTORS) and (lazy or func is sorted or node.keywords):
            return self.gather(node, what, lambda t: self.selected(t, node, func))
        if func is functools.reduce and not node.keywords and len(arguments) < 3:
            return self.gather(node, what, lambda t: self.reduced(t, node))
        if func is next and len(node.args) < 3:
            return self.first_of(node)
        if not lazy or isinstance(first, gast.GeneratorExp):
            return super().value_Call(node)
        if is_one(func, (set, frozenset)):
            return self.gather(node, "a set of values", lambda t: self.collected(all_of(first)), unordered=True)
        if is_one(func, (any, all)):
            return self.gather(node, what, lambda t: self.until(t, all_of(first), func is any))
        if func is list:
            return self.gather(node, what, lambda t: self.whole(t, first, node))
        if is_one(func, _TAKERS):
            return self.gather(node, what, lambda t: self.with_list(t, node))
        return super().value_Call(node)

    def whole(self, target: str, first: Any, node: Any) -> None:
        """Add `list(iterator)`."""
        self.out.append(ir.Assign(target, self.listed(first), self.origin(node)))

    def with_list(self, target: str, node: Any) -> None:
        """Add a call that gets the items of an iterator as a list."""
        held = self.named(self.listed(node.args[0]), node)
        call = gast.copy_location(gast.Call(func=node.func, args=[held, *node.args[1:]], keywords=node.keywords), node)
        self.out.append(ir.Assign(target, super().value_Call(call), self.origin(node)))

    def reduced(self, target: str, node: Any) -> None:
        """Add `functools.reduce(f, xs)`, `functools.reduce(f, xs, start)`."""
        each, origin = self.function(node.args[0]), self.origin(node)
        total = name_node(target, node, gast.Store())
        self.own.add(target)
        item, started = self.item(node), self.names.fresh("t")

        def step() -> None:
            self.assign(total, call_node(each, [name_node(target, node), name_node(item.id, node)], node), node)

        source = node.args[1]
        if len(node.args) > 2:
            if self.kind_of_iterator(source) is None:
                source = self.named(self.atom(source), source)
            self.assign(total, node.args[2], node)
            self.loop(item, source, set(), step, lambda: None, node)
            return
        self.out.append(ir.Assign(started, ir.Const(False), origin))
        self.loop(item, source, set(), lambda: self.folded(started, total, item, step, node), lambda: None, node)
        message = "reduce() of empty iterable with no initial value"
        self.out.append(ir.If(ir.Name(started), (), (self.raising("TypeError", message, node),), origin))

    def raising(self, error: str, message: str, node: Any) -> ir.Stmt:
        """`raise error(message)`."""
        value = call_node(self.builtin(error, node), [gast.Constant(value=message, kind=None)] if message else [], node)
        raised = gast.copy_location(gast.Raise(exc=value, cause=None), node)
        return ir.Opaque(raised, frozenset(), frozenset(), "raise", self.origin(node), leaves=True)

    def selected(self, target: str, node: Any, func: Any) -> None:
        """Add `sorted(xs, key=, reverse=)`, `min(xs, key=, default=)`, `max(...)`."""
        options = {k.arg: k.value for k in node.keywords}
        if None in options or any(isinstance(a, gast.Starred) for a in node.args):
            raise self.unsupported(node, f"* or ** in a call of {func.__name__}()", "Write the arguments out.")
        origin = self.origin(node)
        if len(node.args) > 1:
            held = self.temp(ir.Seq("list", tuple(self.operands(node.args))), node)
        elif self.kind_of_iterator(node.args[0]) is not None:
            held = self.listed(node.args[0])  # type: ignore[assignment]
        else:
            held = self.temp(ir.Call(ir.Static(list, "list"), (self.atom(node.args[0]),)), node)
        values = self.named(held, node)
        given = {
            k: (self.function(v) if k == "key" else self.named(self.atom(v), v))
            for k, v in options.items()
            if not _is_none(v)
        }
        read = ir.Name(values.id)

        def choose() -> None:
            keys: ir.Expr = read
            if "key" in given:
                [item] = item_names(given["key"])
                keyed = gast.comprehension(name_node(item, node, gast.Store()), name_node(values.id, node), [], 0)
                elt = call_node(given["key"], [name_node(item, node)], node)
                keys = self.value_ListComp(gast.copy_location(gast.ListComp(elt=elt, generators=[keyed]), node))
            if func is sorted:
                reverse = self.atom(given["reverse"]) if "reverse" in given else ir.Const(False)
                value: ir.Expr = ir.Call(ir.Static(ordered, "ordered"), (read, keys, reverse))
            elif "key" in given:
                value = ir.Call(ir.Static(best, "best"), (self.value(node.func), read, keys))
            else:
                value = ir.Call(self.value(node.func), (read,))
            self.out.append(ir.Assign(target, value, origin))

        if "default" not in options:
            choose()
            return
        default = self.atom(given["default"]) if "default" in given else ir.Const(None)
        count = self.temp(ir.Call(ir.Static(len, "len"), (read,)), node)
        other = (ir.Assign(target, default, origin),)
        self.out.append(ir.If(count, self.block(choose), other, origin))

    def first_of(self, node: Any) -> ir.Expr:
        """`next(iter(xs))`, `next(iterator)`, and these with a default."""
        source = node.args[0]
        if isinstance(source, gast.Call) and self.known(source.func) is iter and len(source.args) == 1:
            source = source.args[0]
        elif self.iterator(source) is None:
            return super().value_Call(node)
        found = self.iterator(source)
        if isinstance(found, gast.GeneratorExp) and len(found.generators) > 1:
            return super().value_Call(node)

        def make(target: str) -> None:
            origin = self.origin(node)
            item = self.item(node)
            default = self.named(self.atom(node.args[1]), node) if len(node.args) > 1 else None

            def body() -> None:
                self.out.append(ir.Assign(target, ir.Name(item.id), origin))
                self.out.append(ir.Break(origin))

            def orelse() -> None:
                missing = default is None
                self.out.append(
                    self.raising("StopIteration", "", node)
                    if missing
                    else ir.Assign(target, ir.Name(default.id), origin)  # type: ignore[union-attr]
                )

            self.loop(item, source, set(), body, orelse, gast.copy_location(gast.Pass(), node))

        return self.gather(node, "an iterator", make)

    def getter(self, node: Any, func: Any) -> Any:
        """`operator.itemgetter(1)` and `operator.attrgetter("a")` as the functions that they are."""
        if func not in (operator.itemgetter, operator.attrgetter) or node.keywords or not node.args:
            return None
        if not all(isinstance(a, gast.Constant) for a in node.args):
            return None
        obj = name_node("obj", node, gast.Param())

        def part(argument: Any) -> Any:
            value: Any = name_node("obj", node)
            if func is operator.itemgetter:
                return gast.copy_location(gast.Subscript(value=value, slice=argument, ctx=gast.Load()), node)
            for name in argument.value.split("."):
                value = gast.copy_location(gast.Attribute(value=value, attr=name, ctx=gast.Load()), node)
            return value

        parts = [part(a) for a in node.args]
        body = parts[0] if len(parts) == 1 else gast.Tuple(elts=parts, ctx=gast.Load())
        arguments = gast.arguments(
            args=[obj], posonlyargs=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
        )
        return gast.copy_location(gast.Lambda(args=arguments, body=body), node)

    def operands(self, nodes: Any) -> list[ir.Expr]:
        """As for all expressions; `*map(f, xs)` takes all items first."""
        taken = [
            gast.Starred(value=self.named(self.listed(n.value), n), ctx=n.ctx)
            if isinstance(n, gast.Starred) and not isinstance(n.value, gast.GeneratorExp) and self.iterator(n.value)
            else n
            for n in nodes
        ]
        return super().operands(taken)

    # --- iterators that have a name ---------------------------------------------------------------------

    def defer(self, node: Any, rest: list[Any]) -> bool:
        """Whether `name = iterator` is left for the one place in `rest`, the statements after it, that uses it up."""
        if len(node.targets) != 1 or not isinstance(node.targets[0], gast.Name) or self.iterator(node.value) is None:
            return False
        name, scope = node.targets[0].id, self.source.node
        uses = Counter(n.id for n in gast.walk(scope) if isinstance(n, gast.Name))
        if uses[name] != 2 or name in self.cells or name in self.scope.outer or not self._can_settle(node.value):
            return False
        for i, stmt in enumerate(rest):
            found = [n for n in gast.walk(stmt) if isinstance(n, gast.Name) and n.id == name]
            if found:
                repeated = isinstance(stmt, gast.While | gast.FunctionDef | gast.ClassDef) or (
                    isinstance(stmt, gast.For) and found[0] is not stmt.iter
                )
                late = any(isinstance(d, gast.For | gast.While | gast.FunctionDef) for d in _below(stmt)) or _inner(
                    stmt, name
                )
                if repeated or late or not isinstance(found[0].ctx, gast.Load):
                    return False
                self.deferred[name] = self._settle(node.value, {n for s in rest[: i + 1] for n in bindings(s)})
                return True
        return False

    def _can_settle(self, node: Any) -> bool:
        """Whether the iterators that an iterator is made of can be made later."""
        if isinstance(node, gast.Starred):
            return self._can_settle(node.value)
        found = self.iterator(node)
        if found is None:
            return True
        if isinstance(found, gast.GeneratorExp):
            return self._can_settle(found.generators[0].iter)
        return all(map(self._can_settle, [*found.args, *(k.value for k in found.keywords)]))

    def _settle(self, node: Any, rebound: set[str]) -> Any:
        """An iterator that can be made later: what is evaluated when it is made has a name that is not `rebound`."""
        if isinstance(node, gast.GeneratorExp):
            node = copy.copy(node)
            first = copy.copy(node.generators[0])
            first.iter = self._settle(first.iter, rebound)
            node.generators = [first, *node.generators[1:]]
            return node
        if isinstance(node, gast.Starred):
            return gast.copy_location(gast.Starred(value=self._settle(node.value, rebound), ctx=node.ctx), node)
        if isinstance(node, gast.Call) and self.iterator(node) is not None:
            node = copy.copy(node)
            node.args = [self._settle(a, rebound) for a in node.args]
            values = [self._settle(k.value, rebound) for k in node.keywords]
            node.keywords = [
                gast.copy_location(gast.keyword(k.arg, v), k) for k, v in zip(node.keywords, values, strict=True)
            ]
            return node
        if isinstance(node, gast.Name) and node.id in rebound and self.known(node) is None:
            return self.named(self.temp(self.atom(node), node), node)
        if isinstance(node, gast.Name | gast.Constant | gast.Lambda) or self.known(node) is not None:
            return node
        return self.function(node)


def _below(stmt: Any) -> list[Any]:
    """The statements inside a compound statement other than a loop over what is looked for."""
    return [] if isinstance(stmt, gast.For) else [d for d in gast.walk(stmt) if d is not stmt]


def _inner(stmt: Any, name: str) -> bool:
    """Whether a name is read inside a comprehension or a lambda, elsewhere than as what that runs over first."""
    for node in gast.walk(stmt):
        if isinstance(node, COMPREHENSIONS):
            parts = [d for d in gast.walk(node) if isinstance(d, gast.Name) and d.id == name]
            if parts and not any(d is node.generators[0].iter for d in parts):
                return True
        elif isinstance(node, gast.Lambda) and name in loads(node):
            return True
    return False


def _is_none(node: Any) -> bool:
    return isinstance(node, gast.Constant) and node.value is None
