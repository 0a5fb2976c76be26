"""`hook(fn, x)` and `stop_gradient(x)`: they give x itself, and change what comes back.

    y = hook(note, x)                   y_hook = Hook(note, x)                  x_bar = y_hook(y_bar)
                                        y = x

What is written into while derivatives are about has one cotangent, by identity or in a shadow of its memory, wherever
it is used; there is none of this use alone, so that there they are refused.
"""

from __future__ import annotations

import inspect
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
from adcompiler.runtime.checkpoints import bound_checkpoint, checkpoint, recomputed
from adcompiler.runtime.hooks import OF_ARRAY, OF_FUNCTION, OF_PLACE, Hook, check_by_value
from adcompiler.runtime.marks import hook, stop_gradient
from adcompiler.streams import StreamResolver

_BOUND = ir.Static(bound_checkpoint, "bound_checkpoint")
_HOOK = ir.Static(Hook, "Hook")
_CHECK = ir.Static(check_by_value, "check_by_value")
_SIGNATURE = inspect.signature(hook)


class MarkResolver(StreamResolver):
    """Adds them to what can be resolved."""

    def marked(self, expr: ir.Call, function: Any, kinds: list[Any]) -> Resolved | None:
        """A call of a function that means something to the compiler; None for all others."""
        if function is checkpoint and len(expr.args) == 1 and not expr.kwargs and not isinstance(expr.args[0], ir.Star):
            bound = Instance(types.MethodType, ("__func__", "__self__"), (Known(recomputed), kinds[0]))
            return self.apply(ir.Call(_BOUND, expr.args), Make(("__self__",)), expr.args, kinds, bound)
        if function is stop_gradient:
            operands, kind = self._operands(expr, expr.args), kinds[0] if kinds else Unknown()
            return self.apply(expr, InertCall("stop_gradient", "constant", passes=True), operands, kinds, kind)
        return self._hooked(expr) if function is hook else None

    def _hooked(self, expr: ir.Call) -> Resolved:
        try:
            bound = bind_call(_SIGNATURE, expr.args, expr.kwargs, self._expand, self._expand_dict)
        except BindError as error:
            operands = self._operands(expr, expr.args)
            callee = self.missing(NoRuleError, f"hook {error}", "", "Write it as hook(fn, x).")
            return self.apply(expr, callee, operands, self.kinds_of_args(operands), Unknown())
        kinds = self.kinds(bound.values())
        kind = kinds[1]
        if isinstance(kind, Closure):
            refused = self.missing(UnsupportedSyntaxError, "hook() of a function", *OF_FUNCTION)
            return self.apply(expr, refused, bound.values(), kinds, Unknown())
        if isinstance(kind, Observed):
            kind = replace(kind, holder=None)  # what is loaded from it is of this use
        return self.apply(expr, Hooked(), bound.values(), kinds, kind)


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
        checked = self._checked(stmt, hook if hooked else stop_gradient, x, value.kinds[-1])
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
        if function is hook and self.is_hot(stmt.target, after=True):
            raise refuse(MutationError, f"{name}() of an array that is written into", stmt.origin, *OF_ARRAY)
        if not self.tracks or is_plain(kind):
            return []
        if is_mutable(kind):
            what = f"{name}() of a list, dict or object, in a program that writes into such"
            raise refuse(UnsupportedSyntaxError, what, stmt.origin, *OF_PLACE)
        values = ir.Seq("tuple", (x,))
        return [ir.Do(ir.Call(_CHECK, (ir.Static(function, name), values)), stmt.origin)]


__all__ = ["MarkResolver", "Marks"]
