"""Loops over iterators that do something for each item: `map`, `filter`, `starmap`, `takewhile`, `np.ndenumerate`.

    for y in map(f, xs):            for v in xs:
        ...                             y = f(v)
                                        ...

What calls a function of the user's becomes a loop, so that effects come in Python's order and endless iterators are
left where Python leaves them.  What only moves items (`zip`, `chain`, `islice`) stays one expression: see `moves`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from adcompiler import ir
from adcompiler.comprehend import Comprehender
from adcompiler.scope import loads

MOVING = (
    zip, enumerate, reversed, itertools.chain, itertools.chain.from_iterable, itertools.islice, itertools.repeat,
    itertools.cycle, itertools.count, itertools.product, itertools.combinations, itertools.permutations,
    itertools.combinations_with_replacement, itertools.pairwise, itertools.zip_longest, itertools.compress,
)  # fmt: skip
CALLING = (
    map, filter, itertools.starmap, itertools.takewhile, itertools.dropwhile, itertools.accumulate,
    itertools.filterfalse, np.ndenumerate,
)  # fmt: skip
# These take all items of each argument before they give the first of their own, or in the order of the arguments.
ONE_BY_ONE = (
    itertools.chain, itertools.product, itertools.combinations, itertools.permutations, itertools.pairwise,
    itertools.combinations_with_replacement, itertools.cycle,
)  # fmt: skip


def is_one(found: Any, among: tuple[Any, ...]) -> bool:
    """Whether what a name stands for is one of several functions."""
    return found is not None and any(found == f for f in among)


class Iterators(Comprehender):
    """Adds loops over iterators to what can be lowered."""

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
        if isinstance(node, gast.Call) and is_one(self.known(node.func), MOVING + CALLING):
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
        return "moving" if is_one(self.known(found.func), MOVING) else "calling"

    def function(self, node: Any) -> Any:
        """A function that is called for each item: evaluated once, as a name that stands for it."""
        if self.known(node) is not None:
            return node
        if isinstance(node, gast.Attribute):  # a method: of an object that is evaluated once
            owner = self.named(self.atom(node.value), node)
            return gast.copy_location(gast.Attribute(value=owner, attr=node.attr, ctx=gast.Load()), node)
        return self.named(self.atom(node), node)

    def named(self, value: ir.Expr, node: Any) -> Any:
        """A name, as syntax, that holds a value."""
        if not isinstance(value, ir.Name):
            value = self.temp(value, node)
        self.own.add(value.id)
        return name_node(value.id, node)

    def moving(self, node: Any) -> ir.Expr | None:
        if not (isinstance(node, gast.Call) and is_one(self.known(node.func), MOVING)):
            return None
        func = self._path(node.func) if isinstance(node.func, gast.Name) else self.value(node.func)
        args: list[ir.Expr] = []
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
            if method is not None and (lazy or is_one(self.known(found.func), CALLING)):
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
        items = [name_node(n, found, gast.Store()) for n in item_names(each or first, len(sources))]
        values: list[Any] = [name_node(i.id, found) for i in items]
        elt, tests = values[0], []
        if func is map and each is not None:
            elt = call_node(each, values, found)
        elif func is itertools.starmap and each is not None:
            elt = call_node(each, [gast.Starred(value=values[0], ctx=gast.Load())], found)
        else:
            test = values[0] if each is None else call_node(each, values, found)
            tests = [gast.UnaryOp(op=gast.Not(), operand=test) if func is itertools.filterfalse else test]
        over, bound = sources[0], items[0]
        if len(sources) > 1:
            over = call_node(self.builtin("zip", found), sources, found)
            bound = gast.Tuple(elts=items, ctx=gast.Store())
        generator = gast.comprehension(target=bound, iter=over, ifs=tests, is_async=0)
        self.over_generator(
            target, gast.copy_location(gast.GeneratorExp(elt=elt, generators=[generator]), found), rebound, inside,
            orelse, node,
        )  # fmt: skip

    def builtin(self, name: str, node: Any) -> Any:
        """A builtin that the program did not write itself."""
        found = name_node(name, node)
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
            return self.atom(call_node(each, [name_node(item.id, found)], found))

        def body() -> None:
            if take:
                self.out.append(ir.If(test(), (), (ir.Break(origin),), origin))
                self.assign(target, name_node(item.id, found), node)
                inside()
                return
            ended = (ir.Assign(dropping, ir.Const(False), origin),)
            dropped = self.block(lambda: self.out.append(ir.If(test(), (), ended, origin)))
            self.out.append(ir.If(ir.Name(dropping), dropped, (), origin))
            self.out.append(ir.If(ir.Name(dropping), (ir.Continue(origin),), (), origin))
            self.assign(target, name_node(item.id, found), node)
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
            operands = [name_node(total.id, found), name_node(item.id, found)]
            value = (
                gast.BinOp(operands[0], gast.Add(), operands[1]) if each is None else call_node(each, operands, found)
            )
            self.assign(total, value, found)

        def body() -> None:
            self.folded(started, total, item, step, found)
            self.assign(target, name_node(total.id, found), node)
            inside()

        started = self.names.fresh("t")
        self.out.append(ir.Assign(started, ir.Const(False), origin))
        self.loop(item, found.args[0], rebound, body, orelse, found)

    def folded(self, started: str, total: Any, item: Any, step: Callable[[], None], node: Any) -> None:
        """Add `total = f(total, item)`, or `total = item` the first time."""
        origin = self.origin(node)

        def begin() -> None:
            self.assign(total, name_node(item.id, node), node)
            self.out.append(ir.Assign(started, ir.Const(True), origin))

        self.out.append(ir.If(ir.Name(started), self.block(step), self.block(begin), origin))

    def counted(self, target: Any, found: Any, rebound: Any, inside: Any, orelse: Any, node: Any) -> None:
        """`enumerate(iterator, start)`."""
        start = [*found.args[1:], *(k.value for k in found.keywords)]
        item, number, count = self.item(found), self.item(found), self.item(found)
        self.assign(count, start[0] if start else gast.Constant(value=0, kind=None), found)

        def body() -> None:
            self.assign(number, name_node(count.id, found), found)
            one = gast.Constant(value=1, kind=None)
            self.assign(count, gast.BinOp(name_node(count.id, found), gast.Add(), one), found)
            pair = gast.Tuple(elts=[name_node(number.id, found), name_node(item.id, found)], ctx=gast.Load())
            self.assign(target, gast.copy_location(pair, found), node)
            inside()

        self.loop(item, found.args[0], rebound, body, orelse, found)

    def located(self, target: Any, found: Any, rebound: Any, inside: Any, orelse: Any, node: Any) -> None:
        """`np.ndenumerate(array)`: each place, and the element that is there when the loop gets to it."""
        if len(found.args) != 1 or found.keywords or isinstance(found.args[0], gast.Starred):
            raise self.unsupported(found, "this call of ndenumerate()", "Give it one array.")
        array = self.named(
            self.temp(ir.Call(ir.Static(np.asarray, "asarray"), (self.atom(found.args[0]),)), found), found
        )
        shape = self.temp(ir.Attr(ir.Name(array.id), "shape"), found)
        places = self.named(ir.Call(ir.Static(np.ndindex, "ndindex"), (shape,)), found)
        place = self.item(found)

        def body() -> None:
            at = name_node(place.id, found)
            element = gast.copy_location(gast.Subscript(value=array, slice=at, ctx=gast.Load()), found)
            pair = gast.Tuple(elts=[name_node(place.id, found), element], ctx=gast.Load())
            self.assign(target, gast.copy_location(pair, found), node)
            inside()

        self.plain_loop(place, places, rebound, body, orelse, found)

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
        return name_node(name, node, gast.Store())


_LOOPS: dict[str, Any] = {
    "map": Iterators.mapped, "filter": Iterators.mapped, "starmap": Iterators.mapped,
    "filterfalse": Iterators.mapped, "takewhile": Iterators.while_taken, "dropwhile": Iterators.while_taken,
    "accumulate": Iterators.accumulated, "enumerate": Iterators.counted, "zip": Iterators.interleaved,
    "islice": Iterators.interleaved, "chain": Iterators.interleaved, "zip_longest": Iterators.interleaved,
    "compress": Iterators.interleaved, "product": Iterators.interleaved, "pairwise": Iterators.interleaved,
    "cycle": Iterators.interleaved, "combinations": Iterators.interleaved, "permutations": Iterators.interleaved,
    "repeat": Iterators.interleaved, "from_iterable": Iterators.interleaved,
    "combinations_with_replacement": Iterators.interleaved, "ndenumerate": Iterators.located,
}  # fmt: skip


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


def item_names(function: Any, count: int = 1) -> list[str]:
    """Names for the items that a function is called with; a function of such a name keeps it to itself."""
    more = (f"v{i}" for i in itertools.count(1))
    free = (name for name in itertools.chain("vwuxyz", more) if name not in loads(function))
    return list(itertools.islice(free, count))


def all_of(node: Any) -> Any:
    """`[v for v in node]`."""
    generator = gast.comprehension(name_node("v", node, gast.Store()), node, [], 0)
    return gast.copy_location(gast.ListComp(elt=name_node("v", node), generators=[generator]), node)


def name_node(name: str, node: Any, ctx: Any = None) -> Any:
    found = gast.Name(id=name, ctx=ctx or gast.Load(), annotation=None, type_comment=None)
    return gast.copy_location(found, node)


def call_node(func: Any, args: list[Any], node: Any) -> Any:
    return gast.copy_location(gast.Call(func=func, args=args, keywords=[]), node)
