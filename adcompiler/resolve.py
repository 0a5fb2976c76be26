"""Resolving expressions: what each operation is, how it is differentiated, and the kind of its result.

`Resolver.value` takes an expression in A-normal form and returns it with every operation an `ir.Apply`, and its kind.
Rule before source, source before run time, and a clear refusal last.  Here is what all operations share; `rulecalls`
binds calls to rules, `operations` knows operators and loads, `functions` the user's functions, `calls` all calls.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from adcompiler import ir
from adcompiler.callees import Dynamic, Load, Missing, Spread
from adcompiler.errors import DifferentiationError, refuse
from adcompiler.joins import join
from adcompiler.lattice import (
    Closure,
    DictOfKinds,
    Heap,
    Inert,
    Kind,
    Known,
    ListOf,
    Number,
    Observed,
    SliceOf,
    TupleOf,
    Unknown,
    can_be_active,
    is_scalar,
    live,
    numeric,
)
from adcompiler.runtime.arrays import may_meet_library
from adcompiler.scope import scope_of
from adcompiler.spec import Spec

Resolved = tuple[ir.Expr, Kind | None]

_COUNTS = (len, ord)  # functions of Python that give an int for whatever they are given
_OF_PYTHON = ("builtins", "_operator", "math", "cmath")  # modules whose functions of numbers give numbers


class Resolver(ABC):
    """Kinds and callees of expressions at one point of a specialisation (`env` and `stmt` say where).

    Statements that an operation needs before it are put into `extra`.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.program = spec.program
        self.env: dict[str, Kind | None] = {}
        self.stmt: Any = None
        self.extra: list[ir.Stmt] = []
        self.views: dict[str, ir.Expr] = {}  # the temporaries that are lists of what a dict's view shows
        self.outer = scope_of(spec.function.source.node).outer
        self._rebound = ir.bound_in(spec.function.body)

    # --- one case per form of expression ----------------------------------------------------------------

    def value(self, expr: ir.Expr) -> Resolved:  # noqa: C901  one case per form
        """The resolved expression and its kind."""
        match expr:
            case ir.Name(name):
                return expr, self.env.get(name, Unknown())
            case ir.Const(value):
                return expr, Known(value)
            case ir.Static(value):  # the default of a parameter
                self.program.meet(value)
                return expr, Known(value)
            case ir.Global(name):
                unknown = name in self.outer
                return expr, Unknown() if unknown else self.program.global_kind(self.spec.globals, name)
            case ir.Op():
                return self.op(expr)
            case ir.Call():
                return self.call(expr)
            case ir.Attr():
                return self.attr(expr)
            case ir.Item():
                return self.item(expr)
            case ir.Seq() | ir.DictOf():
                return self.display(expr)
            case ir.Verbatim():
                return expr, Inert() if expr.inert else Unknown()
            case ir.Lambda():
                return expr, Closure(expr.node, tuple(sorted(expr.captures)), self.spec, "lambda_")
        return expr, Unknown()

    @abstractmethod
    def op(self, expr: ir.Op) -> Resolved:
        """An operator."""

    @abstractmethod
    def call(self, expr: ir.Call) -> Resolved:
        """A call."""

    @abstractmethod
    def attr(self, expr: ir.Attr) -> Resolved:
        """`value.name`, not called."""

    @abstractmethod
    def item(self, expr: ir.Item) -> Resolved:
        """`value[index]`."""

    @abstractmethod
    def display(self, expr: ir.Seq | ir.DictOf) -> Resolved:
        """A tuple, list, set or dict display."""

    # --- results ----------------------------------------------------------------------------------------

    def apply(
        self, spelled: ir.Expr, callee: Any, args: Iterable[Any], kinds: Sequence[Kind | None], kind: Kind | None
    ) -> Resolved:
        """An `Apply` and its kind; the kind is bottom as long as an operand's is."""
        if isinstance(callee, Missing | Spread) or (
            isinstance(callee, Dynamic) and (callee.key is None or isinstance(callee.key, str))
        ):
            self.program.volatile = True
        if isinstance(callee, Missing) or (isinstance(callee, Dynamic) and not callee.pure):
            if any(isinstance(k, Heap) for k in kinds) and not (isinstance(callee, Dynamic) and callable(callee.key)):
                self.program.loosen()
        unknown = isinstance(callee, Dynamic) and not callable(callee.key) and not callee.pure
        if unknown and any(map(can_be_active, kinds)):
            # What runs may write into whatever it knows.
            self.program.need_places()
            self.program.loosen()
            self.program.escaped = True
        cut_out = isinstance(callee, Dynamic) and callee.pure and callee.key is operator.getitem
        if isinstance(callee, Missing | Dynamic | Spread) and not cut_out:
            self.program.escaped |= any(isinstance(k, Observed | ListOf | DictOfKinds) for k in kinds)
        if any(k is None for k in kinds):
            kind = None
        return ir.Apply(spelled, callee, tuple(args), tuple(k or Unknown() for k in kinds), kind), kind

    def missing(self, kind: type[DifferentiationError], what: str, why: str, advice: str) -> Missing:
        """A callee that is an error as soon as something active is involved."""
        return Missing(refuse(kind, what, self.stmt.origin, why, advice))

    def by_library(self, key: Any, kinds: Sequence[Kind | None], kind: Kind) -> Kind:
        """The kind of a result that is a number in NumPy, but may be an array of shape () in CuPy."""
        if not self.program.on_device:
            # CuPy's arrays may also come from where nothing is known.
            unsure = any(isinstance(numeric(k), Number) or isinstance(k, Unknown) for k in kinds)
            if not unsure or not may_meet_library():
                return kind
        if key in _COUNTS:
            return kind
        of_numbers = isinstance(key, type) or all(is_scalar(k) for k in kinds)
        return kind if of_numbers and getattr(key, "__module__", None) in _OF_PYTHON else live(kind)

    @property
    def fresh(self) -> Any:
        """A shape class for the result of this statement, or of the next temporary before it."""
        return ("s", id(self.spec), id(self.stmt), len(self.extra))

    # --- operands ---------------------------------------------------------------------------------------

    def kinds(self, exprs: Iterable[ir.Expr]) -> list[Kind | None]:
        """The kinds of atoms (a star has the kind of what it unpacks)."""
        return [self.value(e.value if isinstance(e, ir.Star) else e)[1] for e in exprs]

    def index_kind(self, index: ir.Expr) -> Kind | None:
        """The kind of an index; slices are `SliceOf`, a tuple of indices has a kind for each."""
        match index:
            case ir.Slice():
                return SliceOf()
            case ir.Seq(_, items):
                kinds = [self.index_kind(i) for i in items]
                return None if None in kinds else TupleOf(tuple(k for k in kinds if k))
        return self.value(index)[1]

    def kinds_of_args(self, args: Iterable[ir.Expr]) -> list[Kind | None]:
        """The kinds of call arguments; unlike in `kinds`, slices and tuples of indices have one too."""
        return [self.index_kind(a.value if isinstance(a, ir.Star) else a) for a in args]

    @staticmethod
    def _operands(expr: ir.Expr, args: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
        """All operands of a call: `args` and the keywords."""
        return (*args, *(v for _, v in expr.kwargs)) if isinstance(expr, ir.Call) else args

    def _merged(self, items: tuple[Kind, ...]) -> Kind:
        """What several items have in common."""
        merged: Kind | None = None
        for i, k in enumerate(items):
            merged = join(merged, k, (*self.fresh, i))
        return merged or Unknown()

    def _made(self, display: ir.Expr) -> ir.Expr:
        """A temporary that holds the value of an operation before the statement at hand."""
        value, kind = self.value(display)
        name = self.spec.names.fresh("t")
        self.extra.append(ir.Assign(name, value, self.stmt.origin, kind=kind))
        self.env = {**self.env, name: kind}
        return ir.Name(name)

    def _expand(self, star: ir.Star) -> list[ir.Expr] | None:
        """The items of a starred argument, as temporaries, if their number is known."""
        kind = self.value(star.value)[1]
        kind = self.program.deep_kind(kind) if kind is not None else None
        items = kind.items if isinstance(kind, TupleOf | ListOf) else None
        if items is None:
            return None
        out: list[ir.Expr] = []
        for i, k in enumerate(items):
            name = self.spec.names.fresh("t")
            load = ir.Apply(ir.Item(star.value, ir.Const(i)), Load(i), (star.value,), (kind,), k)
            self.extra.append(ir.Assign(name, load, self.stmt.origin, kind=k))
            self.env = {**self.env, name: k}
            out.append(ir.Name(name))
        return out

    def _expand_dict(self, value: ir.Expr, written: bool = True) -> list[tuple[str, ir.Expr]] | None:
        """The items of a dict given as `**value`, as temporaries, if its keys are known (`written`: it may change)."""
        kind = self.value(value)[1]
        kind = self.program.deep_kind(kind) if kind is not None else None
        if not isinstance(kind, DictOfKinds) or (written and self.program.escaped):
            return None
        out: list[tuple[str, ir.Expr]] = []
        for key, k in zip(kind.keys, kind.items, strict=True):
            name = self.spec.names.fresh("t")
            load = ir.Apply(ir.Item(value, ir.Const(key)), Load(key), (value,), (kind,), k)
            self.extra.append(ir.Assign(name, load, self.stmt.origin, kind=k))
            self.env = {**self.env, name: k}
            out.append((key, ir.Name(name)))
        return out


__all__ = ["Resolved", "Resolver"]
