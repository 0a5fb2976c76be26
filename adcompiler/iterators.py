"""Iterators that are consumed where they stand → loops: `map`, `filter`, `reduce`, `sorted`, parts of `itertools`.

    functools.reduce(f, xs, start)      t1 = start
                                        for v in xs:
                                            t1 = f(t1, v)

What calls a function of the user's becomes a loop, so that effects come in Python's order and endless iterators are
left where Python leaves them.  What only moves items (`zip`, `chain`, `islice`) stays one expression: see `moves`.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from adcompiler import ir
from adcompiler.comprehend import COMPREHENSIONS, Comprehender
from adcompiler.runtime.moves import best, ordered
from adcompiler.scope import bindings, loads

MOVING = (
    zip, enumerate, reversed, itertools.chain, itertools.chain.from_iterable, itertools.islice, itertools.repeat,
    itertools.cycle, itertools.count, itertools.product, itertools.combinations, itertools.permutations,
    itertools.combinations_with_replacement, itertools.pairwise, itertools.zip_longest, itertools.compress,
)  # fmt: skip
CALLING = (
    map, filter, itertools.starmap, itertools.takewhile, itertools.dropwhile, itertools.accumulate,
    itertools.filterfalse,
)  # fmt: skip
# These take all items of each argument before they give the first of their own, or in the order of the arguments.
_ONE_BY_ONE = (
    itertools.chain, itertools.product, itertools.combinations, itertools.permutations, itertools.pairwise,
    itertools.combinations_with_replacement, itertools.cycle,
)  # fmt: skip
# What takes all items of an iterator before it does anything else with them.
_TAKERS = (sum, tuple, dict, math.prod, math.fsum, np.fromiter)
_SELECTORS = (sorted, min, max)


def _is(found: Any, among: tuple[Any, ...]) -> bool:
    return found is not None and any(found == f for f in among)


class Iterators(Comprehender):
    """Adds iterators and what consumes them to the expressions that can be lowered."""

    def assign(self, target: gast.AST, value: gast.AST, node: gast.AST) -> None:
        """Add `target = value`; the statements' work."""
        raise NotImplementedError

    # --- what is an iterator ----------------------------------------------------------------------------

    def iterator(self, node: Any) -> Any:
        """The expression of an iterator that can be consumed here; None if a node is something else."""
        if isinstance(node, gast.GeneratorExp):
            return node
        if isinstance(node, gast.Name) and node.id in self.deferred:
            return self.deferred[node.id]
        if isinstance(node, gast.Call) and _is(self.known(node.func), MOVING + CALLING):
            return node
        return None

    def taken_once(self, node: Any) -> Any:
        """The expression of an iterator, which is used up by this."""
        found = self.iterator(node)
        if isinstance(node, gast.Name) and found is not None:
            self.deferred.pop(node.id, None)
        return found

    def kind_of_iterator(self, node: Any) -> Any:
        """`moving`, `calling` or `generator`; None if a node is no iterator that can be consumed here."""
        found = self.iterator(node)
        if found is None or isinstance(found, gast.GeneratorExp):
            return found and "generator"
        return "moving" if _is(self.known(found.func), MOVING) else "calling"

    def function(self, node: Any) -> Any:
        """A function that is called for each item: evaluated once, as a name that stands for it."""
        return node if self.known(node) is not None else self.named(self.atom(node), node)

    def named(self, value: ir.Expr, node: Any) -> Any:
        """A name, as syntax, that holds a value."""
        if not isinstance(value, ir.Name):
            value = self.temp(value, node)
        self.own.add(value.id)
        return _name(value.id, node)

    def moving(self, node: Any) -> ir.Expr | None:
        if not (isinstance(node, gast.Call) and _is(self.known(node.func), MOVING)):
            return None
        func = self._path(node.func) if isinstance(node.func, gast.Name) else self.value(node.func)
        args = []
        for arg in node.args:
            if isinstance(arg, gast.Starred):
                args.append(ir.Star(self.atom(arg.value)))
            else:
                args.append(self.iterable(self.taken_once(arg) or arg))
        return ir.Call(func, tuple(args), tuple((k.arg, self.atom(k.value)) for k in node.keywords))

    # --- loops over iterators ---------------------------------------------------------------------------

    def loop(
        self,
        target: gast.AST,
        iterable: gast.AST,
        rebound: set[str],
        inside: Callable[[], None],
        orelse: Callable[[], None],
        node: Any,
    ) -> None:
        found = self.taken_once(iterable)
        if found is None:
            self.plain_loop(target, iterable, rebound, inside, orelse, node)
        elif isinstance(found, gast.GeneratorExp):
            self.over_generator(target, found, rebound, inside, orelse, node)
        else:
            method = _LOOPS.get(getattr(self.known(found.func), "__name__", ""))
            lazy = [a for a in found.args if self.kind_of_iterator(a) in ("generator", "calling")]
            if method is not None and (lazy or _is(self.known(found.func), CALLING)):
                method(self, target, found, rebound, inside, orelse, node)
            else:
                self.plain_loop(target, found, rebound, inside, orelse, node)

    def plain_loop(
        self,
        target: Any,
        iterable: Any,
        rebound: set[str],
        inside: Callable[[], None],
        orelse: Callable[[], None],
        node: Any,
    ) -> None:
        """Add a loop over what is no iterator of the program's own making; the statements' work."""
        raise NotImplementedError

    def over_generator(self, target: Any, found: Any, rebound: Any, inside: Any, orelse: Any, node: Any) -> None:
        """A loop over a generator expression: its own loops, with the body inside."""
        several = len(found.generators) > 1
        if several and isinstance(node, gast.For) and (node.orelse or _breaks(node)):
            raise self.unsupported(
                node,
                "a loop with break or else over a generator expression with several loops",
                "Make it a list first.",
            )

        def leaf(generator: Any) -> None:
            self.assign(target, generator.elt, node)
            inside()

        self.nest(found, leaf, orelse=orelse, rebound=rebound)

    def mapped(self, target: Any, found: Any, rebound: Any, inside: Any, orelse: Any, node: Any) -> None:
        """`map(f, xs)`, `map(f, xs, ys)`, `filter(f, xs)`, `starmap(f, rows)`."""
        func: Any = self.known(found.func)
        if found.keywords or len(found.args) < 2 or any(isinstance(a, gast.Starred) for a in found.args):
            raise self.unsupported(found, f"this call of {func.__name__}()", "Write its arguments out.")
        first, *sources = found.args
        each = None if isinstance(first, gast.Constant) and first.value is None else self.function(first)
        items = [_name(n, found, gast.Store()) for n in ("v", "w", "u", "x", "y", "z")[: len(sources)]]
        values: list[Any] = [_name(i.id, found) for i in items]
        elt, tests = values[0], []
        if func is map and each is not None:
            elt = _call(each, values, found)
        elif func is itertools.starmap and each is not None:
            elt = _call(each, [gast.Starred(value=values[0], ctx=gast.Load())], found)
        else:
            test = values[0] if each is None else _call(each, values, found)
            tests = [gast.UnaryOp(op=gast.Not(), operand=test) if func is itertools.filterfalse else test]
        over, bound = sources[0], items[0]
        if len(sources) > 1:
            over = _call(self.builtin("zip", found), sources, found)
            bound = gast.Tuple(elts=items, ctx=gast.Store())
        generator = gast.comprehension(target=bound, iter=over, ifs=tests, is_async=0)
        self.over_generator(
            target, gast.copy_location(gast.GeneratorExp(elt=elt, generators=[generator]), found), rebound, inside,
            orelse, node,
        )  # fmt: skip

    def builtin(self, name: str, node: Any) -> Any:
        """A builtin that the program did not write itself."""
        found = _name(name, node)
        if getattr(self.known(found), "__module__", "") != "builtins":
            raise self.unsupported(node, f"this call, where {name} is not the builtin", "Use another name.")
        return found

    def while_taken(self, target: Any, found: Any, rebound: Any, inside: Any, orelse: Any, node: Any) -> None:
        """`takewhile(f, xs)` and `dropwhile(f, xs)`."""
        if isinstance(node, gast.For) and node.orelse:
            raise self.unsupported(node, "a loop with else over takewhile() or dropwhile()", "Make it a list first.")
        take = self.known(found.func) is itertools.takewhile
        source = self.iterator(found.args[1])
        if isinstance(source, gast.GeneratorExp) and len(source.generators) > 1:
            raise self.unsupported(
                node, "takewhile() of a generator expression with several loops", "Make it a list first."
            )
        each, origin = self.function(found.args[0]), self.origin(found)
        item, dropping = self.item(found), self.names.fresh("t")
        if not take:
            self.out.append(ir.Assign(dropping, ir.Const(True), origin))

        def test() -> ir.Expr:
            return self.atom(_call(each, [_name(item.id, found)], found))

        def body() -> None:
            if take:
                self.out.append(ir.If(test(), (), (ir.Break(origin),), origin))
                self.assign(target, _name(item.id, found), node)
                inside()
                return
            ended = (ir.Assign(dropping, ir.Const(False), origin),)
            dropped = self.block(lambda: self.out.append(ir.If(test(), (), ended, origin)))
            self.out.append(ir.If(ir.Name(dropping), dropped, (), origin))
            self.out.append(ir.If(ir.Name(dropping), (ir.Continue(origin),), (), origin))
            self.assign(target, _name(item.id, found), node)
            inside()

        self.loop(item, found.args[1], rebound, body, orelse, found)

    def accumulated(self, target: Any, found: Any, rebound: Any, inside: Any, orelse: Any, node: Any) -> None:
        """`accumulate(xs)`, `accumulate(xs, f)`."""
        options = {k.arg: k.value for k in found.keywords}
        start = options.pop("initial", None)
        func = options.pop("func", found.args[1] if len(found.args) > 1 else None)
        if options or len(found.args) > 2 or start is not None:
            raise self.unsupported(
                found, "accumulate() with an initial value" if start is not None else "this call of accumulate()",
                "Write it as a loop.",
            )  # fmt: skip
        plain = func is None or (isinstance(func, gast.Constant) and func.value is None)
        each = None if plain else self.function(func)
        item, total, origin = self.item(found), self.item(found), self.origin(found)

        def step() -> None:
            operands = [_name(total.id, found), _name(item.id, found)]
            value = gast.BinOp(operands[0], gast.Add(), operands[1]) if each is None else _call(each, operands, found)
            self.assign(total, value, found)

        def body() -> None:
            self.folded(started, total, item, step, found)
            self.assign(target, _name(total.id, found), node)
            inside()

        started = self.names.fresh("t")
        self.out.append(ir.Assign(started, ir.Const(False), origin))
        self.loop(item, found.args[0], rebound, body, orelse, found)

    def folded(self, started: str, total: Any, item: Any, step: Callable[[], None], node: Any) -> None:
        """Add `total = f(total, item)`, or `total = item` the first time."""
        origin = self.origin(node)

        def begin() -> None:
            self.assign(total, _name(item.id, node), node)
            self.out.append(ir.Assign(started, ir.Const(True), origin))

        self.out.append(ir.If(ir.Name(started), self.block(step), self.block(begin), origin))

    def counted(self, target: Any, found: Any, rebound: Any, inside: Any, orelse: Any, node: Any) -> None:
        """`enumerate(iterator, start)`."""
        start = [*found.args[1:], *(k.value for k in found.keywords)]
        item, number, count = self.item(found), self.item(found), self.item(found)
        self.assign(count, start[0] if start else gast.Constant(value=0, kind=None), found)

        def body() -> None:
            self.assign(number, _name(count.id, found), found)
            one = gast.Constant(value=1, kind=None)
            self.assign(count, gast.BinOp(_name(count.id, found), gast.Add(), one), found)
            pair = gast.Tuple(elts=[_name(number.id, found), _name(item.id, found)], ctx=gast.Load())
            self.assign(target, gast.copy_location(pair, found), node)
            inside()

        self.loop(item, found.args[0], rebound, body, orelse, found)

    def interleaved(self, target: Any, found: Any, rebound: Any, inside: Any, orelse: Any, node: Any) -> None:
        """What would take the items of several iterators in turn."""
        name = self.known(found.func).__name__
        raise self.unsupported(
            found, f"{name}() of an iterator that calls functions", "Make it a list first: list(...)."
        )

    def item(self, node: Any) -> Any:
        """A new variable, as a target."""
        name = self.names.fresh("t")
        self.own.add(name)
        return _name(name, node, gast.Store())

    # --- consumers --------------------------------------------------------------------------------------

    def listed(self, node: Any) -> ir.Expr:
        """The items of an iterator as a new list."""
        found = self.taken_once(node)
        if isinstance(found, gast.GeneratorExp) or not _is(self.known(found.func), MOVING):
            return self.value_ListComp(_all_of(found))
        if _is(self.known(found.func), _ONE_BY_ONE):
            args = [
                a if self.kind_of_iterator(a) in (None, "moving") else self.named(self.listed(a), a) for a in found.args
            ]
            found = gast.copy_location(gast.Call(func=found.func, args=args, keywords=found.keywords), found)
        if any(self.kind_of_iterator(a) in ("generator", "calling") for a in found.args):
            return self.value_ListComp(_all_of(found))
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
        if _is(func, _SELECTORS) and (lazy or func is sorted or node.keywords):
            return self.gather(node, what, lambda t: self.selected(t, node, func))
        if func is functools.reduce and not node.keywords and len(arguments) < 3:
            return self.gather(node, what, lambda t: self.reduced(t, node))
        if func is next and len(node.args) < 3:
            return self.first_of(node)
        if not lazy or isinstance(first, gast.GeneratorExp):
            return super().value_Call(node)
        if _is(func, (set, frozenset)):
            return self.gather(node, "a set of values", lambda t: self.collected(_all_of(first)))
        if _is(func, (any, all)):
            return self.gather(node, what, lambda t: self.until(t, _all_of(first), func is any))
        if func is list:
            return self.gather(node, what, lambda t: self.whole(t, first, node))
        if _is(func, _TAKERS):
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
        total = _name(target, node, gast.Store())
        self.own.add(target)
        item, started = self.item(node), self.names.fresh("t")

        def step() -> None:
            self.assign(total, _call(each, [_name(target, node), _name(item.id, node)], node), node)

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
        value = _call(self.builtin(error, node), [gast.Constant(value=message, kind=None)] if message else [], node)
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
                item = _name("v", node)
                keyed = gast.comprehension(_name("v", node, gast.Store()), _name(values.id, node), [], 0)
                elt = _call(given["key"], [item], node)
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
        elif not isinstance(source, gast.Call | gast.GeneratorExp) or self.kind_of_iterator(source) is None:
            return super().value_Call(node)
        if isinstance(source, gast.GeneratorExp) and len(source.generators) > 1:
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
        obj = _name("obj", node, gast.Param())

        def part(argument: Any) -> Any:
            value: Any = _name("obj", node)
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
            if isinstance(n, gast.Starred) and self.kind_of_iterator(n.value) in ("moving", "calling")
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
        if uses[name] != 2 or name in self.cells or not self._is_settled(node.value):
            return False
        for i, stmt in enumerate(rest):
            found = [n for n in gast.walk(stmt) if isinstance(n, gast.Name) and n.id == name]
            if found:
                between = {n for s in rest[: i + 1] for n in bindings(s)}
                repeated = isinstance(stmt, gast.While | gast.FunctionDef | gast.ClassDef) or (
                    isinstance(stmt, gast.For) and found[0] is not stmt.iter
                )
                late = any(isinstance(d, gast.For | gast.While | gast.FunctionDef) for d in _below(stmt)) or _inner(
                    stmt, name
                )
                if repeated or late or between & set(loads(node.value)):
                    return False
                self.deferred[name] = node.value
                return True
        return False

    def _is_settled(self, node: Any) -> bool:
        """Whether an iterator is made of names, constants and functions only, so that it can be made later."""
        if isinstance(node, gast.Name | gast.Constant | gast.Lambda) or self.known(node) is not None:
            return True
        if isinstance(node, gast.Starred):
            return self._is_settled(node.value)
        if isinstance(node, gast.GeneratorExp):
            return self._is_settled(node.generators[0].iter)
        if self.iterator(node) is None:
            return False
        return all(map(self._is_settled, [*node.args, *(k.value for k in node.keywords)]))


_LOOPS: dict[str, Any] = {
    "map": Iterators.mapped, "filter": Iterators.mapped, "starmap": Iterators.mapped,
    "filterfalse": Iterators.mapped, "takewhile": Iterators.while_taken, "dropwhile": Iterators.while_taken,
    "accumulate": Iterators.accumulated, "enumerate": Iterators.counted, "zip": Iterators.interleaved,
    "islice": Iterators.interleaved, "chain": Iterators.interleaved, "zip_longest": Iterators.interleaved,
    "compress": Iterators.interleaved, "product": Iterators.interleaved, "pairwise": Iterators.interleaved,
    "cycle": Iterators.interleaved, "combinations": Iterators.interleaved, "permutations": Iterators.interleaved,
    "repeat": Iterators.interleaved, "from_iterable": Iterators.interleaved,
    "combinations_with_replacement": Iterators.interleaved,
}  # fmt: skip


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


def _breaks(loop: Any) -> bool:
    """Whether a loop's own body leaves it by `break`."""
    todo = list(loop.body)
    while todo:
        node = todo.pop()
        if isinstance(node, gast.Break):
            return True
        if isinstance(node, gast.For | gast.While):
            todo += node.orelse
        elif not isinstance(node, gast.FunctionDef | gast.ClassDef):
            todo += [c for c in gast.iter_child_nodes(node) if not isinstance(c, gast.expr)]
    return False


def _is_none(node: Any) -> bool:
    return isinstance(node, gast.Constant) and node.value is None


def _all_of(node: Any) -> Any:
    """`[v for v in node]`."""
    generator = gast.comprehension(_name("v", node, gast.Store()), node, [], 0)
    return gast.copy_location(gast.ListComp(elt=_name("v", node), generators=[generator]), node)


def _name(name: str, node: Any, ctx: Any = None) -> Any:
    found = gast.Name(id=name, ctx=ctx or gast.Load(), annotation=None, type_comment=None)
    return gast.copy_location(found, node)


def _call(func: Any, args: list[Any], node: Any) -> Any:
    return gast.copy_location(gast.Call(func=func, args=args, keywords=[]), node)
