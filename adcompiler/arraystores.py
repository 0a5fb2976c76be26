"""Resolving what writes into arrays: item stores, `out=`, and functions such as `np.copyto` and `np.add.at`.

    a[i] += v                       t = a[i]
                                    t += v
                                    a[i] = t

is what Python does for an augmented item, and what it is compiled as.
"""

from __future__ import annotations

import contextlib
import inspect
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.callees import Dynamic, InertCall, Into, RuleCall, WriteCall
from adcompiler.errors import MutationError, NoRuleError
from adcompiler.lattice import (
    Array,
    Heap,
    IntArray,
    Kind,
    Known,
    ListOf,
    Number,
    Observed,
    TupleOf,
    Unknown,
    can_be_active,
    numeric,
)
from adcompiler.resolve import Resolved, Resolver
from adcompiler.rules.twins import numpy_twin
from adcompiler.runtime.writes import REFUSED_WRITES, STORE, STORE_FLAT, WRITES, Write, refused_at
from adcompiler.runtime.writes_flat import store_flat
from adcompiler.sharing import is_literal

_BEFORE_OUT = {"reduce": 3, "accumulate": 3, "reduceat": 4}  # positions in the methods of ufuncs
_ARRAYS = ("dst", "a", "arr")  # how functions that write call their array
_VALUES = ("value", "values", "src", "v", "val", "vals", "b")  # and what they write


class ArrayStores(Resolver):
    """Adds writes into arrays to what can be resolved."""

    # --- stores -----------------------------------------------------------------------------------------

    def array_store(self, stmt: ir.Store, obj: Kind) -> ir.Block:
        """A store into an array, with the kinds of what takes part in it."""
        value = stmt.value
        kind = self.value(value)[1]
        if kind is not None and can_be_active(kind) and _is_sequence(kind):
            value = self._made(ir.Call(ir.Static(np.asarray, "asarray"), (value,)))
            kind = self.value(value)[1]
        index = self.index_kind(stmt.place.index) if isinstance(stmt.place, ir.Item) else Known(None)
        return (replace(stmt, value=value, place=self.named_holder(stmt.place), kinds=(obj, index, kind)),)

    def named_holder(self, place: ir.Item | ir.Attr) -> ir.Item | ir.Attr:
        """The place with a name for the array that it is in, which may be a global."""
        return place if isinstance(place.value, ir.Name) else replace(place, value=self._made(place.value))

    def flat_store(self, stmt: ir.Store) -> ir.Block | None:
        """`a.flat[i] = v`, which writes into `a`; None for all other stores."""
        array = self.flattened(stmt)
        if array is None or stmt.op is not None or numeric(self.value(array)[1]) is None:
            return None
        assert isinstance(stmt.place, ir.Item)
        args = (array if isinstance(array, ir.Name) else self._made(array), stmt.place.index, stmt.value)
        spelled = ir.Call(ir.Static(store_flat, "store_flat"), args)
        callee = WriteCall(STORE_FLAT, STORE_FLAT.operands)
        applied, _ = self.apply(spelled, callee, args, [self.index_kind(a) for a in args], Known(None))
        return (ir.Do(applied, stmt.origin),)

    def flattened(self, stmt: ir.Store) -> ir.Expr | None:
        """The array `a` in a store at `a.flat[i]`; None for all other stores."""
        place, array = stmt.place, None
        for other in ir.statements(self.spec.function.body):
            if isinstance(other, ir.Assign) and ir.Name(other.target) == place.value and isinstance(place, ir.Item):
                array = other.value.value if isinstance(other.value, ir.Attr) and other.value.name == "flat" else None
        return array

    def spelled_out(self, stmt: ir.Store, obj: Kind) -> ir.Block | None:
        """`a[i] op= v` as a read, an operation and a store; None where no derivative is involved."""
        kind = self.value(stmt.value)[1]
        if stmt.op is None or not (can_be_active(obj) or can_be_active(kind)):
            return None
        key = id(stmt)
        if key not in self.spec.stores:
            held = stmt.held if isinstance(stmt.held, ir.Name) else ir.Name(self.spec.names.fresh("t"))
            read: ir.Block = () if held is stmt.held else (ir.Assign(held.id, stmt.place, stmt.origin),)
            array = self.flattened(stmt)
            if array is not None and isinstance(stmt.place, ir.Item):
                flat = self.spec.names.fresh("t")
                copied = ir.Assign(flat, ir.Call(ir.Attr(array, "flatten"), ()), stmt.origin)
                read = (copied, ir.Assign(held.id, ir.Item(ir.Name(flat), stmt.place.index), stmt.origin))
            total = ir.Assign(held.id, ir.Op(stmt.op, (held, stmt.value)), stmt.origin, augmented=True)
            store = replace(stmt, value=held, op=None, held=None)
            self.spec.stores[key] = (*read, total, store)
        return self.spec.stores[key]

    # --- calls ------------------------------------------------------------------------------------------

    def writer(self, expr: ir.Call, key: Any, args: tuple[ir.Expr, ...], kinds: list[Any]) -> Resolved | None:
        """A call of a function that writes into its first operand; None for all others."""
        if not isinstance(key, Hashable) or any(isinstance(a, ir.Star) for a in args):
            return None
        key = key if key in WRITES else numpy_twin(key) or key
        given, name = self._operands(expr, args), getattr(key, "__name__", "")
        method = getattr(getattr(key, "__objclass__", None), "__name__", None), name
        refused = REFUSED_WRITES.get(method)
        ufunc = getattr(key, "__self__", None)
        if isinstance(ufunc, np.ufunc) and name == "at" and key not in WRITES:
            refused = refused_at(ufunc)
        if refused is not None and any(map(can_be_active, kinds)):
            callee = self.missing(MutationError, f"{name}() in place", *refused)
            return self.apply(expr, callee, given, kinds, Known(None))
        write = WRITES.get(key, WRITES.get(method))
        if write is None or not kinds:
            return None
        bound = _bound(write, args, expr.kwargs)
        if bound is not None and not self._may_be_array(write, self.value(bound[0][0])[1]):
            return None
        if bound is None:
            what = f"this call of {write.name}"
            callee = self.missing(
                NoRuleError, what, "An argument is not one that is followed.", "Write it with indices."
            )
            return self.apply(expr, callee, given, kinds, Known(None))
        made: list[ir.Expr] = []
        operands, names = bound
        for i, operand in enumerate(operands):
            kind = self.index_kind(operand)
            sequence = i > 0 and names[i - 1] in _VALUES and kind is not None and _is_sequence(kind)
            if sequence or isinstance(operand, ir.Global):
                called = ir.Call(ir.Static(np.asarray, "asarray"), (operand,)) if sequence else operand
                operand = self._made(called)
            made.append(operand)
        return self.apply(expr, WriteCall(write, names), made, [self.index_kind(o) for o in made], Known(None))

    @staticmethod
    def _may_be_array(write: Write, kind: Kind | None) -> bool:
        """Whether what a function writes into is an array, or only the run time knows what: nothing else is taken."""
        if isinstance(kind, Unknown):
            return write is not STORE
        return isinstance(numeric(kind), Array | IntArray | Number)

    def into(self, expr: ir.Call, key: Any, args: tuple[ir.Expr, ...], declared: Any, rules: Any) -> Resolved | None:
        """A call with `out=`, as the call without it whose result is written there; None where that is not sure."""
        own = len(args) - len(expr.args)
        found = self._split_out(key, args, expr.kwargs, rules)
        if found is None or any(isinstance(a, ir.Star) for a in args) or any(name is None for name, _ in expr.kwargs):
            return None
        out, args, kwargs = found
        kind = self.value(out)[1]
        if isinstance(kind, TupleOf) and len(kind.items) == 1:
            out = self._made(ir.Item(out, ir.Const(0)))
            kind = self.value(out)[1]
        if not isinstance(kind, Unknown) and not isinstance(numeric(kind), Array | IntArray | Number):
            return None
        # Of a reduction `where` says what is summed, which its rule knows.
        where = next((value for name, value in kwargs if name == "where" and isinstance(key, np.ufunc)), None)
        if where is not None:
            kwargs = (*kwargs, ("out", ir.Const(None)))  # what is not computed stays as it is
        out = out if isinstance(out, ir.Name) else self._made(out)
        inner = ir.Call(expr.func, args[own:], kwargs)
        kinds = self.kinds_of_args(self._operands(inner, args))
        if not all(map(_is_followed, kinds)):
            return None
        if declared is not None:
            applied, result = self.apply(inner, InertCall("declared without derivative"), args, kinds, kind)
        else:
            applied, result = self.ruled(inner, RuleCall(rules, key), args, kinds)
        if not isinstance(applied, ir.Apply) or not isinstance(applied.callee, RuleCall | InertCall | Dynamic):
            return applied, result
        operands = (*applied.args, out)
        return self.apply(expr, Into(applied, out, where), operands, (*applied.kinds, kind), kind)

    @abstractmethod
    def ruled(self, expr: ir.Call, callee: RuleCall, args: tuple[ir.Expr, ...], kinds: list[Any]) -> Resolved:
        """A call with a rule."""

    def _split_out(self, key: Any, args: Any, kwargs: Any, rules: Any) -> tuple[ir.Expr, Any, Any] | None:
        """The place that a call writes into, and its other arguments."""
        # With copy=False it writes into what it is given.
        copy = [*args[1:2], *(value for name, value in kwargs if name == "copy")]
        if key is np.nan_to_num and len(args) < 3 and len(copy) == 1 and is_literal(copy[0], False):
            return args[0], args[:1], tuple((name, value) for name, value in kwargs if name != "copy")
        rest = tuple((name, value) for name, value in kwargs if name != "out")
        if len(rest) < len(kwargs):
            (out,) = (value for name, value in kwargs if name == "out")
            return out, args, rest
        before = before_out(key, rules)
        if before is None or len(args) <= before:
            return None
        return args[before], (*args[:before], *args[before + 1 :]), rest


def _is_followed(kind: Kind | None) -> bool:
    """Whether an operand of an operation that is written elsewhere is a number, an array, or a plain container."""
    if numeric(kind) is not None or isinstance(kind, Known | TupleOf | ListOf | Unknown):
        return True
    return isinstance(kind, Heap) and kind.cls in (list, dict)


def before_out(key: Any, rules: Any) -> int | None:
    """How many arguments come before the one that a function writes into; None if that is only given by name."""
    if isinstance(key, np.ufunc):
        return key.nin
    if isinstance(getattr(key, "__self__", None), np.ufunc):
        return _BEFORE_OUT.get(key.__name__)
    signatures = [rule.signature for rule in rules]
    with contextlib.suppress(TypeError, ValueError):  # of what is written in C there may be none
        signatures.append(inspect.signature(key))
    parameters = [list(signature.parameters.values()) for signature in signatures]
    found = [i for each in parameters for i, p in enumerate(each) if p.name == "out" and p.kind is not p.KEYWORD_ONLY]
    return min(found, default=None)


def _bound(write: Write, args: tuple[ir.Expr, ...], kwargs: Any) -> tuple[list[ir.Expr], tuple[str, ...]] | None:
    """The array and the given operands of a call that writes, and the names of these."""
    named = [(name, value) for name, value in kwargs if name in _ARRAYS] if not args else []
    kwargs = [pair for pair in kwargs if pair not in named]
    if not args and not named:
        return None
    array, *given = args or [named[0][1]]
    names = write.operands
    found = dict(zip(names, given, strict=False))
    if len(given) > len(names) or any(name not in names or name in found for name, _ in kwargs):
        return None
    found |= dict(kwargs)
    if not all(name in found or name in write.defaults for name in names):
        return None
    return [array, *found.values()], tuple(found)


def _is_sequence(kind: Kind) -> bool:
    """Whether a value is surely a list or tuple."""
    sequence = isinstance(kind, Observed) and isinstance(kind.value, list | tuple)
    return sequence or isinstance(kind, ListOf | TupleOf)


__all__ = ["ArrayStores", "before_out"]
