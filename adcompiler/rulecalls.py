"""Calls of functions that have a rule: bound to the rule's signature, and the kind of the result."""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.binding import BindError, OpenCall, bind_call
from adcompiler.callees import RuleCall
from adcompiler.decide import array_kind, full_name, may_turn_complex
from adcompiler.errors import NoRuleError, UnsupportedSyntaxError
from adcompiler.lattice import (
    DictOfKinds,
    Heap,
    Instance,
    Int,
    IntArray,
    Kind,
    ListOf,
    Number,
    Observed,
    Scalar,
    TupleOf,
    Unknown,
    can_be_active,
    is_object,
    numeric,
)
from adcompiler.resolve import Resolved, Resolver
from adcompiler.rules.registry import lookup
from adcompiler.runtime.calling import applied
from adcompiler.spec import ANY
from adcompiler.transfer import as_dict, result_kind

_OPERANDS_ONLY = (
    "elementwise",
    "elementwise_real",
    "where",
    "matmul",
    "ufunc",
)  # no axes or shapes among the arguments
_ON_ARRAYS = (*_OPERANDS_ONLY, "bool", "reduction", "reduction_real", "like")
_ONE_OR_SEVERAL = (np.atleast_1d, np.atleast_2d, np.atleast_3d)  # of several arrays the result is a tuple
_INTEGER_KEYS = (abs, max, min, pow, round, sum, divmod)


class RuleResolver(Resolver):
    """Adds operations with rules to what can be resolved."""

    def rule(self, expr: ir.Expr, callee: RuleCall, args: tuple[ir.Expr, ...], kwargs: Any) -> Resolved:
        """A call of a function with a rule: bound to the rule's signature."""
        operands = self._operands(expr, args)
        try:
            bound = bind_call(callee.rule.signature, args, kwargs, self._expand, self._expand_dict)
        except OpenCall:
            return self.open_call(expr, ir.Static(callee.key, "f"), args, kwargs)
        except BindError as error:
            rule, *others = callee.rules
            if others and (rule.builtin or isinstance(callee.key, np.ufunc)):
                return self.rule(expr, RuleCall(tuple(others), callee.key), args, kwargs)
            what = f"the rule of {full_name(callee.key, rule.name)} {error}"
            missing = self.missing(NoRuleError, what, "", "Write it another way.")
            return self.apply(expr, missing, operands, self.kinds_of_args(operands), Unknown())
        if callee.key in (sum, max, min) and self._are_containers(bound):
            what = f"{callee.key.__name__}() of lists, tuples or objects"
            missing = self.missing(UnsupportedSyntaxError, what, "", "Combine the items in a loop.")
            return self.apply(expr, missing, operands, self.kinds_of_args(operands), Unknown())
        expr, bound = self._as_arrays(expr, callee.rule, bound)
        kinds = tuple(self._bound_kind(b) for b in bound.values())
        kind = self._rule_kind(callee, as_dict(tuple(bound), kinds))
        if callee.key in (sum, max, min) and any(isinstance(k, Unknown) for b in bound.values() for k in self.items(b)):
            kind = Unknown()  # what they give is of the kind of the items
        return self.apply(expr, callee, bound.values(), kinds, kind)

    def open_call(self, expr: ir.Expr, function: ir.Expr, args: tuple[ir.Expr, ...], kwargs: Any) -> Resolved:
        """A call with ever so many arguments or keywords: of all of them together, which are looked at when it runs.

        Those before the first `*items` stay alone: they may be inactive where the items are active.
        """
        count = next((i for i, a in enumerate(args) if isinstance(a, ir.Star)), 0)
        items = self._made(ir.Seq("tuple", args[count:]))
        pairs = tuple((None if name is None else ir.Const(name), value) for name, value in kwargs)
        operands = (function, items, self._made(ir.DictOf(pairs)), *args[:count])
        call = ir.Call(ir.Static(applied, "applied"), operands)
        return self.rule(call, RuleCall(lookup(applied), applied), operands, ())

    def _are_containers(self, bound: dict[str, Any]) -> bool:
        """Whether `sum`, `max` or `min` would have to combine containers or objects."""
        start = self.value(bound["start"])[1] if "start" in bound else None
        held = [k for value in bound.values() for k in self.items(value)]
        return is_object(start) or any(
            isinstance(k, TupleOf | ListOf | DictOfKinds | Observed | Heap | Instance) for k in held
        )

    def items(self, value: Any) -> list[Kind | None]:
        """The kinds of the items of an argument of `sum`, `max` or `min`, or of the several that it stands for."""
        values = value if isinstance(value, tuple) else (value,)
        items = [self.seen(self.value(v)[1]) for v in values]
        if len(values) > 1:
            return items
        return [i for k in items if k is not None for i in _items_of(self.program.deep_kind(k))]

    def _as_arrays(self, expr: ir.Expr, rule: Any, bound: dict[str, Any]) -> tuple[ir.Expr, dict[str, Any]]:
        """Lists given where a rule computes with arrays are made arrays first, as NumPy itself would."""
        if rule.kind not in _ON_ARRAYS or not isinstance(expr, ir.Call):
            return expr, bound
        made: dict[str, ir.Expr] = {}
        matters = any(can_be_active(self._bound_kind(b)) for b in bound.values())
        for name, value in bound.items():
            if isinstance(value, ir.Name) and value.id not in made and name != "out":
                kind = self.seen(self.value(value)[1])
                sequence = isinstance(kind, ListOf | TupleOf) or (
                    isinstance(kind, Observed) and isinstance(kind.value, tuple | list)
                )
                if sequence and (can_be_active(kind) or (matters and rule.kind in _OPERANDS_ONLY)):
                    made[value.id] = self._made(ir.Call(ir.Static(np.asarray, "asarray"), (value,)))
        if not made:
            return expr, bound
        args = tuple(ir.substitute(a, made) for a in expr.args)
        kwargs = tuple((k, ir.substitute(v, made)) for k, v in expr.kwargs)
        new = {k: made.get(v.id, v) if isinstance(v, ir.Name) else v for k, v in bound.items()}
        return ir.Call(expr.func, args, kwargs), new

    def _rule_kind(self, callee: RuleCall, operands: dict[str, Any]) -> Kind:
        """The kind of the result: what the rule says, and better where the operands decide it."""
        rule = callee.rule
        numbers = [numeric(k) for k in operands.values() if numeric(k) is not None]
        if callee.key is np.arange and all(isinstance(k, Int) for k in numbers):
            return IntArray(1, self.fresh)
        whole = len(numbers) == len(operands) > 0
        if callee.key in _INTEGER_KEYS and whole and all(isinstance(k, Int) for k in numbers):
            return Int() if rule.kind in ("scalar", "scalar_real", "elementwise", "elementwise_real") else Number()
        if callee.key in (np.array, np.asarray):
            kind = array_kind(next(iter(operands.values())), operands.get("dtype"), self.fresh)
            if kind is not None:
                return kind
        if callee.key in (operator.pow, pow) and may_turn_complex(list(operands.values())):
            return Scalar(False)
        if callee.key in _ONE_OR_SEVERAL and not _is_one(next(iter(operands.values()))):
            return Unknown()
        if rule.kind is None and not rule.builtin:
            return Unknown()
        if rule.kind == "tuple" and self.program.writes_places:
            return Unknown()  # a tuple of ever so many items has no place in the table, as a list has
        return self.by_library(callee.key, list(operands.values()), result_kind(rule.kind, operands, self.fresh))

    def _bound_kind(self, value: Any) -> Kind | None:
        """The kind of what a parameter is bound to; several arguments of a `*args` have a tuple's."""
        if isinstance(value, tuple):
            kinds = [self._bound_kind(v) for v in value]
            return None if None in kinds else TupleOf(tuple(k for k in kinds if k))
        return self.seen(self.index_kind(value))

    def seen(self, kind: Kind | None) -> Kind | None:
        """A list made by the program as rules see it: by the kind of its items."""
        if isinstance(kind, Heap) and issubclass(kind.cls, list | deque):
            return ListOf(None, self.program.content(kind, ANY) or Unknown())
        return kind


def _is_one(arguments: Kind) -> bool:
    """Whether a `*args` parameter is bound to one argument."""
    return isinstance(arguments, TupleOf) and len(arguments.items) == 1


def _items_of(kind: Kind) -> tuple[Kind, ...]:
    """The kinds of a sequence's items; of a list without known items the one that they have in common."""
    match kind:
        case TupleOf(items):
            return items
        case ListOf(items, item):
            return items or (item,)
    return ()
