"""What takes items from a generator that carries derivatives, loops apart: `next`, unpacking, `list`, `sum`, ...

A generator function is compiled to a generator (`yields`), and a call of it has the kind `Stream`.  What takes all
items before it does anything else gets them as a list.
"""

from __future__ import annotations

import inspect
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.callees import Drain, InertCall, Pull, Relay
from adcompiler.errors import UnsupportedSyntaxError
from adcompiler.joins import join
from adcompiler.lattice import Closure, Int, Kind, Known, ListOf, Stream, Unknown, can_be_active, class_of, is_object
from adcompiler.newobjects import NewObjectResolver
from adcompiler.objects import plain_function
from adcompiler.overloads import iterated_field
from adcompiler.resolve import Resolved
from adcompiler.runtime.members import member
from adcompiler.runtime.streams import items_of
from adcompiler.spec import ANY

_TAKE_ALL = (list, tuple, sum, sorted, min, max, math.fsum, math.prod, np.fromiter)
# Iterators that hand on what they have just taken, and the position of what they take it from.
_RELAYS = (
    (itertools.islice, 0), (itertools.takewhile, 1), (itertools.dropwhile, 1), (itertools.filterfalse, 1), (filter, 1),
)  # fmt: skip


def is_active_stream(kind: Kind | None) -> bool:
    """Whether a value is a generator that may carry derivatives."""
    return isinstance(kind, Stream) and can_be_active(kind)


class StreamResolver(NewObjectResolver):
    """Adds generators to what can be resolved."""

    def taken_from(self, expr: ir.Call, func: Kind, kinds: list[Any]) -> Resolved | None:
        """A call that is given a generator; None if it is nothing special."""
        function = func.value if isinstance(func, Known) else None
        alone = not expr.kwargs and not any(isinstance(a, ir.Star) for a in expr.args)
        if function is iter and alone and len(expr.args) == 1:
            return self.value(expr.args[0])
        if function is next and alone and isinstance(kinds[0], Stream):
            return self._pulled(expr, expr.args, kinds)
        position = next((p for f, p in _RELAYS if function is f), None)
        if position is not None and alone and len(kinds) > position and self._is_relay(kinds, position):
            return self.apply(expr, Relay(position), expr.args, kinds, kinds[position])
        if any(isinstance(a, ir.Star) and is_active_stream(k) for a, k in zip(expr.args, kinds, strict=False)):
            args = self._starred(expr.args, tuple(v for _, v in expr.kwargs))
            return None if args is None else self.call(ir.Call(expr.func, args, expr.kwargs))
        first = expr.args[0] if expr.args else None
        keyed = function in (min, max) and any(k == "key" for k, _ in expr.kwargs)
        if first is None or keyed or not isinstance(kinds[0], Stream) or not any(function is f for f in _TAKE_ALL):
            return None
        held, kind = self.drained(first, form=tuple if function is tuple else list)
        if function in (list, tuple) and len(expr.args) == 1:
            return held, kind
        return self.call(ir.Call(expr.func, (held, *expr.args[1:]), expr.kwargs))

    def with_relays(self, expr: ir.Call) -> ir.Call:
        """A call whose arguments are nested iterators, those over generators as temporaries."""
        return replace(expr, args=tuple(map(self.relay, expr.args)))

    def relay(self, expr: ir.Expr) -> ir.Expr:
        """An iterator as it is, or a temporary that holds it if it hands on a generator's items: `islice(g, 3)`."""
        if isinstance(expr, ir.Name) and _is_generated(self.value(expr)[1]):
            return self._made(ir.Call(ir.Attr(expr, "__iter__"), ()))
        if not isinstance(expr, ir.Call):
            return expr
        expr = self.with_relays(expr)
        func: Any = self.value(expr.func)[1]
        position = next((p for f, p in _RELAYS if isinstance(func, Known) and func.value is f), None)
        if position is None or len(expr.args) <= position or not ir.is_atom(expr.args[position]):
            return expr
        return self._made(expr) if is_active_stream(self.value(expr.args[position])[1]) else expr

    @staticmethod
    def _is_relay(kinds: list[Any], position: int) -> bool:
        """Whether an iterator takes a generator's items and nothing that it is given does so too."""
        others = [k for i, k in enumerate(kinds) if i != position]
        harmless = all(isinstance(k, Known | Int) or (isinstance(k, Closure) and not _takes(k)) for k in others)
        return isinstance(kinds[position], Stream) and harmless

    def stream_method(self, expr: ir.Call, func: ir.Attr, obj: Stream, kinds: list[Any]) -> Resolved:
        """A method of a generator."""
        if func.name == "__next__":
            return self._pulled(expr, (func.value,), [obj])
        if func.name == "__iter__":
            return self.value(func.value)
        if func.name == "close":
            return self.apply(expr, InertCall("the end of a generator"), (func.value,), (obj,), Known(None))
        callee = self.missing(
            UnsupportedSyntaxError,
            f".{func.name}() of a generator",
            "A generator is differentiated for what it yields, not for what is sent to it.",
            "Pass the values as arguments, or write the loop out.",
        )
        return self.apply(expr, callee, (func.value, *self._operands(expr, expr.args)), (obj, *kinds), Unknown())

    def display(self, expr: ir.Seq | ir.DictOf) -> Resolved:
        """A display; `[*g]` takes all items of a generator."""
        if isinstance(expr, ir.Seq):
            kinds = self.kinds(expr.items)
            if any(isinstance(i, ir.Star) and is_active_stream(k) for i, k in zip(expr.items, kinds, strict=True)):
                items = self._starred(expr.items, ())
                if items is not None:
                    expr = ir.Seq(expr.form, items)
        return super().display(expr)

    def drained(self, source: ir.Expr, limit: int | None = None, form: type = list) -> tuple[ir.Expr, Kind]:
        """A list (or tuple) of the next items of a generator, as a temporary, and its kind."""
        kind = self.value(source)[1]
        assert isinstance(kind, Stream)
        item = kind.item or Unknown()
        whole: Kind = self.made(list, [(ANY, item)]) if self.program.writes_places else ListOf(None, item)
        if form is tuple:
            whole = Unknown()  # of unknown length
        spelled = ir.Call(ir.Static(form, form.__name__), (source,))
        if limit is not None:
            spelled = ir.Call(ir.Static(items_of, "items_of"), (source, ir.Const(limit)))
        value, _ = self.apply(spelled, Drain(limit, form), (source,), (kind,), whole)
        name = self.spec.names.fresh("t")
        self.extra.append(ir.Assign(name, value, self.stmt.origin, kind=whole))
        self.env = {**self.env, name: whole}
        return ir.Name(name), whole

    def _pulled(self, expr: ir.Call, args: tuple[ir.Expr, ...], kinds: list[Any]) -> Resolved:
        """The next item of a generator, or a default."""
        kind = kinds[0].item
        for default in kinds[1:]:
            kind = join(kind, default, self.fresh)
        return self.apply(expr, Pull(), args, kinds, kind or Unknown())

    def _starred(self, items: tuple[ir.Expr, ...], rest: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...] | None:
        """Operands with lists in the place of starred generators; None if what follows one was evaluated before."""
        out: list[ir.Expr] = []
        for i, item in enumerate(items):
            if isinstance(item, ir.Star) and is_active_stream(self.value(item.value)[1]):
                later = [e.value if isinstance(e, ir.Star) else e for e in (*items[i + 1 :], *rest)]
                if not all(isinstance(e, ir.Const) or self._is_variable(e) for e in later):
                    return None
                item = ir.Star(self.drained(item.value)[0])
            out.append(item)
        return tuple(out)

    def _is_variable(self, expr: ir.Expr) -> bool:
        return isinstance(expr, ir.Name) and expr.id in self.spec.function.locals


def _is_generated(kind: Kind | None) -> bool:
    """Whether a value is an object whose `__iter__` is a generator function."""
    cls = class_of(kind)
    function = plain_function(member(cls, "__iter__")) if cls is not None and is_object(kind) else None
    return function is not None and inspect.isgeneratorfunction(function) and iterated_field(function) is None


def _takes(closure: Closure) -> bool:
    """Whether a function captures a generator, or a function that may do so."""
    held = getattr(closure.owner, "name_kinds", {})
    return any(isinstance(held.get(name), Stream | Closure | Unknown) for name in closure.captures)


__all__ = ["StreamResolver", "is_active_stream"]
