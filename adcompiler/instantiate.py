"""A rule's template, filled in for one call: facts decided by kinds, idle `fit` and `conj` left out.

What comes out are expressions over the rule's own names: locals that the forward must keep, and for each wanted
argument its cotangent.  An expression is *lazy* if it only broadcasts to the argument's shape (the adjoint of a sum
stays the number it is until somebody needs the array).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.decide import is_basic_index
from adcompiler.lattice import (
    Array,
    Inert,
    IntArray,
    Kind,
    Known,
    TupleOf,
    is_real,
    is_scalar,
    ndim_of,
    numeric,
    shape_of,
)
from adcompiler.ruletext import Choose, Let, NotInlinable, RuleText
from adcompiler.runtime.containers import real_part
from adcompiler.runtime.elementary import can_divide, is_finite
from adcompiler.runtime.facts import is_basic, is_mask, is_static
from adcompiler.runtime.shapes import conj, expand, fit, ndim, real, shape, size

UNDECIDED = object()

# Functions whose results are small facts about a value, not the value in another form.
FACTS = (shape, ndim, size, is_static, is_basic, is_mask, is_finite, can_divide)

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "is": operator.is_, "is not": operator.is_not, "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip


@dataclass(frozen=True)
class Cotangent:
    """The cotangent of one parameter: `lets` first, then `value`.

    Names not in `lets` are parameters, the result, its cotangent, or forward locals.
    """

    lets: tuple[Let, ...]
    value: ir.Expr
    lazy: bool


@dataclass(frozen=True)
class Instance:
    """A template filled in: the forward locals by name, and a cotangent for each wanted parameter that has one."""

    text: RuleText
    forward: dict[str, ir.Expr]
    cotangents: dict[str, Cotangent]


class Filler:
    """Fills in one template; `operands` are the kinds of the parameters, `result` that of the value.

    `strict`: a choice that cannot be made when compiling raises NotInlinable. `present` are names that are never None.
    """

    def __init__(
        self,
        text: RuleText,
        operands: dict[str, Kind],
        result: Kind,
        strict: bool = False,
        present: frozenset[str] = frozenset(),
    ) -> None:
        self.text = text
        self.strict = strict
        self.present = present
        self.operands = operands
        self.result = result
        self.constants: dict[str, Any] = {n: k.value for n, k in operands.items() if isinstance(k, Known)}
        self.forward: dict[str, ir.Expr] = {}
        self.backward: dict[str, ir.Expr] = {}
        self.uses: dict[str, int] = {}

    def fill(self, wanted: tuple[str, ...], lazy_cotangent: bool) -> Instance:
        """The instance for the wanted parameters."""
        self.assignments()
        for let in self.chosen(self.text.backward):
            self.backward[let.name] = self.simplify(let.value)
        entries = dict(zip(self.text.params, self.text.entries, strict=True))
        found = {name: self.simplify(entry) for name in wanted if (entry := entries[name]) is not None}
        self.uses = self.count(found.values())
        cotangents = {name: self.cotangent(name, value, lazy_cotangent) for name, value in found.items()}
        return Instance(self.text, self.forward, cotangents)

    def assignments(self) -> list[Let]:
        """The assignments of the rule's own text, those of its pullback apart."""
        out = []
        for let in self.chosen(self.text.forward):
            self.forward[let.name] = self.simplify(let.value)
            out.append(Let(let.name, self.forward[let.name]))
            known = self.decide(let.value)
            if known is not UNDECIDED and (known is None or isinstance(known, bool | int | float | str)):
                self.constants[let.name] = known
        return out

    def count(self, values: Iterable[ir.Expr]) -> dict[str, int]:
        """How often each backward local is used by the wanted cotangents."""
        uses: dict[str, int] = {}
        stack = list(values)
        while stack:
            for name in ir.reads(stack.pop()):
                if name in self.backward:
                    uses[name] = uses.get(name, 0) + 1
                    if uses[name] == 1:
                        stack.append(self.backward[name])
        return uses

    # --- facts ------------------------------------------------------------------------------------------

    def chosen(self, steps: Any) -> list[Let]:
        """The assignments of the arms that facts choose; an undecided choice takes the last arm."""
        out: list[Let] = []
        for step in steps:
            if isinstance(step, Let):
                out.append(step)
                continue
            known = self.decide(step.test)
            out.extend(self.general(step) if known is UNDECIDED else self.chosen(step.body if known else step.orelse))
        return out

    def general(self, step: Choose) -> list[Let]:
        """The last arm of a choice, which a built-in rule has for every case."""
        if self.strict:
            raise NotInlinable
        while len(step.orelse) == 1 and isinstance(step.orelse[0], Choose):
            step = step.orelse[0]
        return self.chosen(step.orelse)

    def decide(self, expr: Any) -> Any:
        """The value of a fact, or UNDECIDED."""
        match expr:
            case ir.Const(value) | ir.Static(value):
                return value
            case ir.Name(name):
                if name in self.constants:
                    return self.constants[name]
                return self.decide(self.forward[name]) if name in self.forward else UNDECIDED
            case ir.Op("not", (arg,)):
                known = self.decide(arg)
                return UNDECIDED if known is UNDECIDED else not known
            case ir.Op(op, (left, right)) if op in _COMPARE:
                return self.compare(op, left, right)
            case ir.BoolOp(op, args):
                return self.decide_all(op, args)
            case ir.Call(ir.Static(function), args):
                return self.decide_call(function, args)
        return UNDECIDED

    def compare(self, op: str, left: ir.Expr, right: ir.Expr) -> Any:
        a, b = self.decide(left), self.decide(right)
        if a is UNDECIDED and b is None and op in ("is", "is not") and isinstance(left, ir.Name):
            kind = self.operands.get(left.id)
            never = left.id in self.present or numeric(kind) is not None or isinstance(kind, TupleOf)
            return (op == "is not") if never else UNDECIDED
        if a is UNDECIDED or b is UNDECIDED:
            return UNDECIDED
        try:
            return bool(_COMPARE[op](a, b))
        except (TypeError, ValueError):
            return UNDECIDED

    def decide_all(self, op: str, args: tuple[ir.Expr, ...]) -> Any:
        stop = op == "or"
        sure = True
        for arg in args:
            known = self.decide(arg)
            if known is UNDECIDED:
                sure = False
            elif bool(known) is stop:
                return stop if sure else UNDECIDED
        return (not stop) if sure else UNDECIDED

    def decide_call(self, function: Any, args: tuple[ir.Expr, ...]) -> Any:
        if len(args) != 1 or isinstance(args[0], ir.Star):
            return self._evaluate(function, args)
        kind = self.kind(args[0])
        if function is ndim:
            n = ndim_of(kind)
            return UNDECIDED if n is None else n
        if function is is_static:
            return isinstance(kind, Known) and (numeric(kind) is not None or bool(is_static(kind.value)))
        if function is is_basic:
            known = is_basic_index(kind)
            return UNDECIDED if known is None else known
        if function is is_mask:
            return False if is_basic_index(kind) else UNDECIDED
        return self._evaluate(function, args)

    def _evaluate(self, function: Any, args: tuple[ir.Expr, ...]) -> Any:
        if getattr(function, "__module__", "") != "builtins" or function not in (isinstance, len, int, abs, float):
            return UNDECIDED
        values = [self.decide(a) for a in args]
        return UNDECIDED if UNDECIDED in values else function(*values)

    # --- simplification ---------------------------------------------------------------------------------

    def kind(self, expr: Any) -> Kind | None:
        """The kind of a name, or None."""
        if isinstance(expr, ir.Name):
            return self.result if expr.id == self.text.result else self.operands.get(expr.id)
        return Known(expr.value) if isinstance(expr, ir.Const) else None

    def simplify(self, expr: ir.Expr) -> ir.Expr:
        """Constants put in, `conj` of real values left out, decided conditional expressions replaced."""
        match expr:
            case ir.Name(name) if name in self.constants and _is_literal(self.constants[name]):
                return ir.Const(self.constants[name])
            case ir.Call(ir.Static(function), (arg,)) if function is conj and self.is_real(arg):
                return self.simplify(arg)
            case ir.Call(ir.Static(function), (arg,)) if function is shape:
                return self.spell_shape(arg, expr)
            case ir.Call(ir.Static(function), (arg,)) if function in (ndim, size) and self._is_array(arg):
                return ir.Attr(arg, "ndim" if function is ndim else "size")
            case ir.IfExp(test, body, orelse):
                known = self.decide(test)
                if known is not UNDECIDED:
                    return self.simplify(body if known else orelse)
            case ir.Op("-", (a, ir.Const(int(n)))):  # the exponent of a power's derivative
                a = self.simplify(a)
                return (
                    ir.Const(a.value - n)
                    if isinstance(a, ir.Const) and type(a.value) is int
                    else ir.Op("-", (a, ir.Const(n)))
                )
        return ir.rebuild(expr, self.simplify)

    def _is_array(self, expr: ir.Expr) -> bool:
        return isinstance(numeric(self.kind(expr)), Array | IntArray)

    def spell_shape(self, arg: ir.Expr, call: ir.Expr) -> ir.Expr:
        """`x.shape` for arrays, `()` for scalars, `shape(x)` otherwise."""
        if is_scalar(self.kind(arg)):
            return ir.Seq("tuple", ())
        return ir.Attr(arg, "shape") if self._is_array(arg) else call

    def is_real(self, expr: ir.Expr) -> bool:
        """Whether an expression of the rule is surely real."""
        match expr:
            case ir.Name(name):
                if name in (self.text.cotangent, self.text.result):
                    return is_real(self.result)
                local = self.backward.get(name, self.forward.get(name))
                if local is not None:
                    return self.is_real(local)
                kind = self.kind(expr)
                return is_real(kind) or (
                    isinstance(kind, Known | Inert) and not isinstance(getattr(kind, "value", 0), complex)
                )
            case ir.Const(value):
                return not isinstance(value, complex)
            case ir.Static():
                return True
            case ir.Call(ir.Static(function), _) if function in (*FACTS, real, abs):
                return True
            case ir.Op(op) if op in _COMPARE or op == "not":
                return True
            case ir.Attr(_, name) if name in ("shape", "size", "ndim", "real", "imag"):
                return True
        return all(map(self.is_real, ir.children(expr)))

    # --- cotangents -------------------------------------------------------------------------------------

    def cotangent(self, name: str, value: ir.Expr, lazy_cotangent: bool) -> Cotangent:
        """The cotangent of a parameter, with the `fit` or `expand` at its root resolved."""
        real_value = self.is_real(value)
        lets, value = self.slice(value)
        value, lazy = self.root(name, value, lazy_cotangent)
        if is_real(self.operands[name]) and not real_value and numeric(self.operands[name]) is not None:
            part = (real, "real") if numeric(self.result) is not None else (real_part, "real_part")
            value = ir.Call(ir.Static(*part), (value,))
        return Cotangent(lets, value, lazy)

    def slice(self, value: ir.Expr) -> tuple[tuple[Let, ...], ir.Expr]:
        """The backward locals that an expression needs in order; those used once in all are substituted."""
        needed = self.count([value])
        mapping: dict[str, ir.Expr] = {}
        lets = []
        for name in [n for n in self.backward if n in needed]:
            local = ir.substitute(self.backward[name], mapping)
            if self.uses[name] == 1:
                mapping[name] = local
            else:
                lets.append(Let(name, local))
        return tuple(lets), ir.substitute(value, mapping)

    def root(self, name: str, value: ir.Expr, lazy_cotangent: bool) -> tuple[ir.Expr, bool]:
        """Leave out a `fit` between equal shapes; keep the adjoint of a reduction lazy."""
        match value:
            case ir.Call(ir.Static(function), (inner, _)) if function is fit:
                if shape_of(self.result) is not None and shape_of(self.result) == shape_of(self.operands[name]):
                    return inner, lazy_cotangent and not self.touches_full(inner, name)
                return value, False
            case ir.Call(ir.Static(function), (inner, _, axis, keepdims)) if function is expand:
                return self.expanded(name, inner, axis, keepdims, value)
        return value, lazy_cotangent and self.elementwise(name) and not self.touches_full(value, name)

    def elementwise(self, name: str) -> bool:
        return shape_of(self.result) is not None and shape_of(self.result) == shape_of(self.operands[name])

    def touches_full(self, expr: ir.Expr, name: str) -> bool:
        """Whether an expression has an operand of the parameter's own shape."""
        target = shape_of(self.operands[name])
        if target == ():
            return True
        return any(
            shape_of(self.kind(ir.Name(n)) if n != self.text.cotangent else None) == target for n in self.leaves(expr)
        )

    def leaves(self, expr: ir.Expr) -> set[str]:
        """Parameters and result below an expression, through forward locals but not through shapes."""
        match expr:
            case ir.Attr(_, "shape" | "size" | "ndim"):
                return set()
            case ir.Call(ir.Static(function), _) if function in FACTS:
                return set()
            case ir.IfExp(_, body, orelse):
                return self.leaves(body) & self.leaves(orelse)
            case ir.Name(name) if name in self.backward:
                return self.leaves(self.backward[name])
            case ir.Name(name) if name in self.forward:
                return self.leaves(self.forward[name])
            case ir.Name(name):
                return {name}
        return set().union(*map(self.leaves, ir.children(expr)))

    def expanded(
        self, name: str, inner: ir.Expr, axis: ir.Expr, keepdims: ir.Expr, full: ir.Expr
    ) -> tuple[ir.Expr, bool]:
        """The adjoint of a sum without its broadcast, where axis and keepdims are known."""
        known_axis, known_keep = self.decide(axis), self.decide(keepdims)
        if known_axis is UNDECIDED or known_keep is UNDECIDED:
            return full, False
        if known_axis is not None and not ndim_of(self.operands[name]):
            return full, False  # of a number NumPy takes the axes 0 and -1 too
        if known_axis is None or known_keep:
            return inner, True
        spread = ir.Call(ir.Attr(ir.Static(np, "np"), "expand_dims"), (inner, ir.Const(known_axis)))
        return spread, True


def _is_literal(value: Any) -> bool:
    return (
        value is None
        or type(value) in (bool, int, float, complex, str)
        or (isinstance(value, tuple) and all(map(_is_literal, value)))
    )
