"""`hook(fn, x)` and `stop_gradient(x)`: they give x itself, and change what comes back.

    y = hook(note, x)                   y_hook = Hook(note, x)                  x_bar = y_hook(y_bar)
                                        y = x

What is written into while derivatives are about has one cotangent, by identity or in a shadow of its memory, wherever
it is used; there is none of this use alone, so that there they are refused.
"""

from __future__ import annotations

import ast
import inspect
import os
import types
from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.bars import Bar, Code, State
from adcompiler.binding import BindError, bind_call
from adcompiler.callees import Hooked, InertCall, Make
from adcompiler.dynamics import Dynamics
from adcompiler.errors import MutationError, NoRuleError, UnsupportedSyntaxError, refuse
from adcompiler.lattice import Array, Closure, Instance, Known, Observed, Scalar, Unknown, is_plain, numeric
from adcompiler.places import is_mutable
from adcompiler.resolve import Resolved
from adcompiler.runtime.checkpoints import checkpoint, recomputed
from adcompiler.runtime.custom import custom_pullback, with_pullback
from adcompiler.runtime.hooks import OF_ARRAY, OF_FUNCTION, OF_PLACE, Hook, check_by_value
from adcompiler.runtime.marks import FUNCTIONS, Printed, hook, is_differentiating, showgrad, stop_gradient, stopped
from adcompiler.runtime.wrapped import bound
from adcompiler.streams import StreamResolver

_TARGETS: dict[Any, Any] = {checkpoint: recomputed, custom_pullback: with_pullback, stop_gradient: stopped}
_BOUND, _PRINTED = ir.Static(bound, "bound"), ir.Static(Printed, "Printed")
_HOOK = ir.Static(Hook, "Hook")
_CHECK = ir.Static(check_by_value, "check_by_value")
_SIGNATURE = inspect.signature(hook)


class MarkResolver(StreamResolver):
    """Adds them to what can be resolved."""

    def marked(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """A call of a function that means something to the compiler; None for all others."""
        target = _TARGETS.get(function) if isinstance(function, types.FunctionType) else None
        if target is stopped and kinds and not _is_function(kinds[0]):
            target = None
        if target is not None and len(expr.args) == 1 and not expr.kwargs and not isinstance(expr.args[0], ir.Star):
            kind: Any = Instance(types.MethodType, ("__func__", "__self__"), (Known(target), kinds[0]))
            call = ir.Call(_BOUND, (ir.Static(target, target.__name__), *expr.args))
            return self.apply(call, Make(("__self__",)), expr.args, kinds, kind)
        if function is bound and len(expr.args) == 2 and isinstance(kinds[0], Known):  # the text of a derivative
            kind = Instance(types.MethodType, ("__func__", "__self__"), (kinds[0], kinds[1]))
            return self.apply(expr, Make(("__self__",)), expr.args[1:], kinds[1:], kind)
        if function is is_differentiating and not expr.args:
            return ir.Const(True), Known(True)
        if function is showgrad and len(expr.args) == 1 and not isinstance(expr.args[0], ir.Star):
            origin = self.stmt.origin
            place = f"{os.path.basename(origin.file)}:{origin.line}"
            shown = self._made(ir.Call(_PRINTED, (ir.Const(_shown(origin)), ir.Const(place))))
            return self._hooked(ir.Call(ir.Static(hook, "hook"), (shown, *expr.args)), showgrad)
        if function is stopped:
            value = self._made(replace(expr, func=expr.args[0], args=expr.args[1:]))
            expr, kinds = ir.Call(ir.Static(stop_gradient, "stop_gradient"), (value,)), self.kinds((value,))
            function = stop_gradient
        if function is stop_gradient:
            operands, kind = self._operands(expr, expr.args), kinds[0] if kinds else Unknown()
            return self.apply(expr, InertCall("stop_gradient", "constant", passes=True), operands, kinds, kind)
        return self._hooked(expr) if function is hook else None

    def _hooked(self, expr: ir.Call, function: Any = hook) -> Resolved:
        try:
            bound = bind_call(_SIGNATURE, expr.args, expr.kwargs, self._expand, self._expand_dict)
        except BindError as error:
            operands = self._operands(expr, expr.args)
            callee = self.missing(NoRuleError, f"hook {error}", "", "Write it as hook(fn, x).")
            return self.apply(expr, callee, operands, self.kinds_of_args(operands), Unknown())
        kinds = self.kinds(bound.values())
        kind = kinds[1]
        if isinstance(kind, Closure):
            refused = self.missing(UnsupportedSyntaxError, f"{function.__name__}() of a function", *OF_FUNCTION)
            return self.apply(expr, refused, bound.values(), kinds, Unknown())
        if isinstance(kind, Observed):
            kind = replace(kind, holder=None)  # what is loaded from it is of this use
        return self.apply(expr, Hooked(function), bound.values(), kinds, kind)


def _is_function(kind: Any) -> bool:
    method = isinstance(kind, Instance) and kind.cls is types.MethodType
    return method or isinstance(kind, Closure) or (isinstance(kind, Known) and isinstance(kind.value, FUNCTIONS))


def _shown(origin: Any) -> str:
    """What the user has written for the argument of `showgrad`; of several on a line the first that fits."""
    text = origin.text[origin.column : origin.end_column]
    for piece in (text, origin.text):
        try:
            tree = ast.parse(piece.strip().rstrip(":"))
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "showgrad" and node.args:
                return ast.unparse(node.args[0])
    return "x"


class Marks(Dynamics):
    """Adds their reverse."""

    def hooked(self, stmt: ir.Assign, state: State) -> tuple[Code, Code, State] | None:
        """The reverse of an assignment of what one of them gives; None for all others, and where nothing is active."""
        value = stmt.value
        if not isinstance(value, ir.Apply) or not value.args:
            return None
        hooked = isinstance(value.callee, Hooked)
        if not hooked and not (isinstance(value.callee, InertCall) and value.callee.declared == "constant"):
            return None
        x = value.args[-1]
        if not isinstance(x, ir.Name) or x.id not in self.active:
            return None
        function = value.callee.function if isinstance(value.callee, Hooked) else stop_gradient
        checked = self._checked(stmt, function, x, value.kinds[-1])
        if not hooked:
            return ([*checked, stmt], [], state) if checked else None
        bar = self.take(stmt.target, state)
        if bar is None:
            return [*checked, stmt], [], state
        if stmt.kind is not None:
            self.sizes[stmt.target] = stmt.kind
        made = self.names.unique(f"{stmt.target}_hook")
        self.saver.mark(made)
        make = ir.Assign(made, ir.Call(_HOOK, (value.args[0], x)), stmt.origin)
        return [*checked, make, replace(stmt, value=x)], *self._seen(stmt, made, x.id, bar, state)

    def _seen(self, stmt: ir.Assign, made: str, name: str, bar: Bar, state: State) -> tuple[Code, State]:
        """The call of the function with the cotangent of the target."""
        before = self.materialise_all(state, after=True) if bar.maybe else []
        inner, code = dict(state), [] if not bar.lazy else [self.materialise(stmt.target, after=True)]
        found = ir.Call(ir.Name(made), (ir.Name(self.bar(stmt.target)),))
        # It finds nothing in a container without entries, and in what turns out to be a whole number.
        sure = isinstance(numeric(stmt.kind), Scalar | Array)
        self.add(name, found, inner, code, maybe=not sure, kind=stmt.kind, complex_=bar.complex)
        if not bar.maybe:
            return code, inner
        code += self.materialise_all(inner, after=False)
        guarded, state = self.if_present(self.bar(stmt.target), code, inner, state)
        return before + guarded, state

    def _checked(self, stmt: ir.Assign, function: Any, x: ir.Name, kind: Any) -> Code:
        """What the forward has to check where things are written into; refused if it is known already."""
        name = function.__name__
        if function is not stop_gradient and self.is_hot(stmt.target, after=True):
            raise refuse(MutationError, f"{name}() of an array that is written into", stmt.origin, *OF_ARRAY)
        if not self.tracks or is_plain(kind):
            return []
        if is_mutable(kind):
            what = f"{name}() of a list, dict or object, in a program that writes into such"
            raise refuse(UnsupportedSyntaxError, what, stmt.origin, *OF_PLACE)
        values = ir.Seq("tuple", (x,))
        return [ir.Do(ir.Call(_CHECK, (ir.Static(function, name), values)), stmt.origin)]


__all__ = ["MarkResolver", "Marks"]
