"""Kinds around exceptions: `try` and `with`, where control may go on after any statement of the body.

A handler, a `finally` and what follows a context manager that swallows exceptions see the kinds that names have
anywhere in the body: at the start, or after any of its statements.
"""

from __future__ import annotations

import contextlib
import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.callees import InertCall
from adcompiler.calls import CallResolver
from adcompiler.environment import Env, merge
from adcompiler.errors import UnsupportedSyntaxError, refuse
from adcompiler.lattice import Inert, Kind, Known, Unknown
from adcompiler.runtime.marks import stop_gradient
from adcompiler.spec import Spec
from adcompiler.stopping import stopped

# Context managers that let every exception pass and change no value.
_TRANSPARENT = (np.errstate, np.printoptions, warnings.catch_warnings, contextlib.nullcontext, open, stop_gradient)


class Handling(CallResolver):
    """Adds `try` and `with` to the statements whose kinds are inferred."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.breaks: list[list[Env]] = []
        self.continues: list[list[Env]] = []
        self._raising: list[list[Env]] = []  # for each protected body around: the kinds wherever it may be left

    @abstractmethod
    def block(self, block: ir.Block, env: Env | None) -> tuple[ir.Block, Env | None]:
        """The resolved block and the kinds at its end (None if control never gets there)."""

    @abstractmethod
    def noted(self, bound: Env) -> Env:
        """The kinds of newly bound names."""

    def may_raise(self, env: Env) -> None:
        """Note the kinds at a place where an exception may leave the bodies around."""
        for envs in self._raising:
            envs.append(env)

    def protected(self, block: ir.Block, env: Env, where: Any) -> tuple[ir.Block, Env | None, Env]:
        """As `block`, and the kinds where an exception in it is caught."""
        self._raising.append([env])
        new, end = self.block(block, env)
        return new, end, merge([*self._raising.pop()], (where, "caught")) or {}

    # --- try --------------------------------------------------------------------------------------------

    def stmt_Try(self, stmt: ir.Try, env: Env) -> tuple[ir.Block, Env | None]:
        leaving = (self.breaks, self.continues)
        for exits in leaving:
            exits.append([])
        self._raising.append([env])
        new, ends = self._arms(stmt, env)
        anywhere = self._raising.pop()
        left = [exits.pop() for exits in leaving]
        after = merge(ends, (id(stmt), "end"))
        final, end = self.block(stmt.final, merge([*anywhere, *ends], (id(stmt), "finally")) or {})
        changed = ir.bound_in(stmt.final)
        for exits, gone in zip(leaving, left, strict=True):
            if exits and end is not None:
                exits[-1] += [_changed(one, end, changed) for one in gone]
        if after is not None:
            after = None if end is None else _changed(after, end, changed)
        if not stmt.handlers and not final:
            return (*new.body, *new.orelse), after  # what kinds decide left nothing to do at the end
        return (replace(new, final=final),), after

    def _arms(self, stmt: ir.Try, env: Env) -> tuple[ir.Try, list[Env | None]]:
        """All but the `finally`, and the kinds at the ends of the `else` and of the handlers."""
        body, end, caught = self.protected(stmt.body, env, id(stmt))
        orelse, end = self.block(stmt.orelse, end)
        ends, handlers = [end], []
        for handler in stmt.handlers:
            start = {**caught, **self.noted({handler.name: Unknown()})} if handler.name else caught
            inner, end = self.block(handler.body, start)
            handlers.append(replace(handler, body=inner))
            ends.append(None if end is None else {n: k for n, k in end.items() if n != handler.name})
        return replace(stmt, body=body, handlers=tuple(handlers), orelse=orelse), ends

    # --- with -------------------------------------------------------------------------------------------

    def stmt_With(self, stmt: ir.With, env: Env) -> tuple[ir.Block, Env | None]:
        item, manager = self.context(stmt.item)
        stmt = replace(stmt, item=item, swallows=manager not in _TRANSPARENT)
        if stmt.swallows and any(isinstance(s, ir.Yield) for s in ir.statements(stmt.body)):
            raise refuse(
                UnsupportedSyntaxError,
                "a with statement with a yield inside cannot be differentiated",
                stmt.origin,
                "The context manager would be left when the generator is dropped, and might see why.",
                "Yield behind it what is bound inside, or put the `with` around the loop that takes the items.",
            )
        known = isinstance(item, ir.Apply) and isinstance(item.callee, InertCall)
        if manager is contextlib.nullcontext and stmt.target is not None and known:
            # The target is the argument itself: bound to it, it is differentiated like any assignment.
            given = (*item.args, ir.Const(None))[0]  # type: ignore[attr-defined]
            bound = ir.Assign(stmt.target, given, stmt.origin)
            stmt = replace(stmt, target=None, body=(bound, *stmt.body))
        if manager is stop_gradient:
            stmt = replace(stmt, body=self.stopped(stmt.body))
        if stmt.target is not None:
            env = {**env, **self.noted({stmt.target: Unknown()})}
        body, end, caught = self.protected(stmt.body, env, id(stmt))
        after = merge([end, caught], (id(stmt), "end")) if stmt.swallows else end
        return (replace(stmt, body=body),), after

    def stopped(self, body: ir.Block) -> ir.Block:
        """The body of a `with stop_gradient()`."""
        key = "stopped", *map(id, body)
        if key not in self.spec.written_out:
            self.spec.written_out[key] = stopped(body, self.spec.function.locals, self.spec.names)
        return self.spec.written_out[key]

    def context(self, item: ir.Expr) -> tuple[ir.Expr, Any]:
        """A context manager, and what makes it if that is known; one with something active in it is refused."""
        func: Kind | None = None
        if isinstance(item, ir.Call):
            func = self.value(item.func)[1] if not isinstance(item.func, ir.Attr) else self._member_kind(item.func)
        made_by = func.value if isinstance(func, Known) else None
        advice = "Put the `with` around the call of the differentiated function, or bind the value before."
        callee: Any = self.missing(
            UnsupportedSyntaxError,
            "a context manager that is made of a value with a derivative",
            "What it does with the value is not known.",
            advice,
        )
        if made_by is stop_gradient and getattr(item, "args", None):
            what, why = "with stop_gradient(...) of a value", "The block takes none: all that it computes is constant."
            callee = self.missing(UnsupportedSyntaxError, what, why, "Write `with stop_gradient():`.")
        operands: tuple[ir.Expr, ...] = (item,)
        if isinstance(item, ir.Call):
            operands = (*item.args, *(v for _, v in item.kwargs))
            starred = any(isinstance(o, ir.Star) for o in operands)
            plain = made_by in (contextlib.nullcontext, np.errstate, warnings.catch_warnings)
            if (plain or (made_by is stop_gradient and not operands)) and not starred:
                callee = InertCall("stop_gradient" if made_by is stop_gradient else "a context manager")
            else:
                operands = (item.func, *operands)
        kinds = [self.value(o)[1] if ir.is_atom(o) else Unknown() for o in operands]
        return self.apply(item, callee, operands, kinds, Inert())[0], made_by

    def _member_kind(self, func: ir.Attr) -> Kind | None:
        """The kind of `module.name`; Unknown for attributes of anything but modules and classes."""
        owner = func.value
        obj = self._member_kind(owner) if isinstance(owner, ir.Attr) else self.value(owner)[1]
        return self.value(func)[1] if isinstance(obj, Known) else Unknown()


def _changed(env: Env, end: Env, changed: frozenset[str]) -> Env:
    """The kinds after a `finally` that ends with `end` and binds the names `changed`."""
    kept = {name: kind for name, kind in env.items() if name not in changed}
    return {**kept, **{name: end[name] for name in changed if name in end}}
