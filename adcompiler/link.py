"""An inlined rule in its place: expressions of its instance → expressions over the names that the reverse reads."""

from __future__ import annotations

from typing import Any

from adcompiler import ir
from adcompiler.bars import Code
from adcompiler.cotangents import ACCUMULATE, Cotangents
from adcompiler.instantiate import Cotangent, Instance
from adcompiler.lattice import Kind, numeric


class Linker:
    """Expressions of an inlined rule → expressions over the names that the reverse reads."""

    def __init__(
        self, reverser: Cotangents, instance: Instance, args: dict[str, Any], operands: dict[str, Kind], target: str
    ) -> None:
        self.r = reverser
        self.instance = instance
        self.args = args
        self.operands = operands
        self.target = target
        self.kept: dict[str, ir.Expr] = {}
        # Where the statement writes into an operand, what is read of the operands is read before it.
        self.overwrites = any(reverser.is_written_here(n) for arg in args.values() for n in self._names(arg))

    def linked(self, cotangent: Cotangent, code: Code) -> ir.Expr:
        """One cotangent; locals that it uses more than once are assigned in `code`."""
        mapping: dict[str, ir.Expr] = {}
        for let in cotangent.lets:
            if let.name in self.kept:
                mapping[let.name] = self.kept[let.name]
                continue
            name = self.r.names.unique(f"{self.target}_{let.name}")
            code.append(ir.Assign(name, self.backward(let.value, mapping)))
            mapping[let.name] = self.kept[let.name] = ir.Name(name)
        return self.backward(cotangent.value, mapping)

    def backward(self, expr: ir.Expr, mapping: dict[str, ir.Expr]) -> ir.Expr:
        """An expression as the reverse evaluates it."""
        if isinstance(expr, ir.Name):
            if expr.id in mapping:
                return mapping[expr.id]
            return self.name(expr.id)
        return ir.rebuild(expr, lambda e: self.backward(e, mapping))

    def name(self, name: str) -> ir.Expr:
        """The cotangent, the result, a local or a parameter of the rule, as the reverse reads it."""
        text = self.instance.text
        if name == text.cotangent:
            return ir.Name(self.r.bar(self.target))
        if name == text.result:
            kind = self.r.sizes.get(self.target)
            return ir.Name(self.r.saver.value(self.target, True, self.r.snapshot_for(self.target, kind, after=True)))
        if name in self.instance.forward:
            return self.local(name)
        arg = self.args[name]
        return self.r.primal(arg, self.operands[name])

    def local(self, name: str) -> ir.Expr:
        """A local of the rule's forward part: a fact about one value, or something kept."""
        if name not in self.kept:
            self.kept[name] = self._local(name, self.instance.forward[name])
        return self.kept[name]

    def _local(self, name: str, expr: ir.Expr) -> ir.Expr:
        if not set(ir.reads(expr)):
            return expr
        about = self._about(expr)
        if about is not None:
            variable, suffix, fact, after = about
            return ir.Name(self.r.saver.fact(variable, suffix, fact, after))
        kept, snapshot = self.forward(expr), self._snapshot(expr)
        if snapshot is not None:
            kept = ir.Call(ir.Static(snapshot, snapshot.__name__), (kept,))
        fresh = f"{self.target}_{name}"
        if self.overwrites and not self._reads_result(expr):
            return ir.Name(self.r.saver.before(self.r.names.unique(fresh), kept))
        return ir.Name(self.r.saver.kept(fresh, kept))

    def _reads_result(self, expr: ir.Expr) -> bool:
        """Whether a local of the rule depends on the operation's result."""
        forward, result = self.instance.forward, self.instance.text.result
        return any(n == result or (n in forward and self._reads_result(forward[n])) for n in ir.reads(expr))

    def _snapshot(self, expr: ir.Expr) -> Any:
        """The copying function for a local that may be, or be a view of, an operand whose memory is written later."""
        if isinstance(expr, ir.Op):
            return None
        if self.instance.text.result in ir.reads(expr):
            snapshot = self.r.snapshot_for(self.target, self.r.sizes.get(self.target), after=True)
            if snapshot is not None:
                return snapshot
        args = [self.args[name] for name in ir.reads(expr) if name in self.args]
        names = [(n, self.r.spec.name_kinds.get(n)) for arg in args for n in self._names(arg)]
        return next(filter(None, (self.r.snapshot_for(n, kind) for n, kind in names)), None)

    @staticmethod
    def _names(arg: Any) -> list[str]:
        return [n for part in (arg if isinstance(arg, tuple) else (arg,)) for n in ir.reads(part)]

    def _about(self, expr: ir.Expr) -> tuple[str, str, ir.Expr, bool] | None:
        """`x.shape` and the like of one name: the name, a suffix, the expression, and whether it is the result."""
        match expr:
            case ir.Attr(ir.Name(of), "shape" | "size" | "ndim" as suffix):
                pass
            case ir.Call(ir.Static(_, "shape" | "size" | "ndim" as suffix), (ir.Name(of),)):
                pass
            case _:
                return None
        if of == self.instance.text.result:
            return self.target, suffix, ir.substitute(expr, {of: ir.Name(self.target)}), True
        arg = self.args.get(of)
        return (arg.id, suffix, ir.substitute(expr, {of: arg}), False) if isinstance(arg, ir.Name) else None

    def forward(self, expr: ir.Expr) -> ir.Expr:
        """An expression as the forward evaluates it next to the statement."""
        if not isinstance(expr, ir.Name):
            return ir.rebuild(expr, self.forward)
        name = expr.id
        if name == self.instance.text.result:
            return ir.Name(self.target)
        if name in self.instance.forward:
            return self.local(name)
        arg = self.args[name]
        parts = arg if isinstance(arg, tuple) else (arg,)
        if any(n == self.target or self.r.is_written_here(n) for part in parts for n in ir.reads(part)):
            return self.r.primal(arg)
        return ir.Seq("tuple", arg) if isinstance(arg, tuple) else arg


def sum_of(parts: list[tuple[ir.Expr, bool, Any]], y_bar: ir.Name) -> tuple[ir.Expr, bool, Any]:
    """The sum of an operation's contributions to one name; two equal ones become one of twice the cotangent."""
    (expr, lazy, kind), rest = parts[0], parts[1:]
    equal = len(rest) == 1 and repr(rest[0][0]) == repr(expr) and y_bar.id in ir.reads(expr)
    if equal and numeric(kind) is not None:
        doubled = ir.Op("*", (ir.Const(2), y_bar))
        return ir.substitute(expr, {y_bar.id: doubled}), lazy, kind
    for other, other_lazy, _ in rest:
        both = ir.Op("+", (expr, other)) if numeric(kind) is not None else ir.Call(ACCUMULATE, (expr, other))
        expr, lazy = both, lazy and other_lazy
    return expr, lazy, kind
