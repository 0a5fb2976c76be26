"""What activity cannot follow, and refuses: values in exceptions, and functions whose variables change.

A value that carries a derivative may go where nothing is differentiated (into an exception, a function that
is called later).  That is no error; to compute with what comes back from there is.
"""

from __future__ import annotations

from typing import Any

import gast

from adcompiler import ir
from adcompiler.alias import alias
from adcompiler.aliases import PLAIN, Memory
from adcompiler.callees import InertCall
from adcompiler.errors import MutationError, UnsupportedSyntaxError, refuse
from adcompiler.escape import local_functions, rebound_after, rebound_between, rebound_late
from adcompiler.handled import lost
from adcompiler.lattice import Closure, Inert, Kind, Known, TupleOf, Unknown, numeric
from adcompiler.places import is_simple
from adcompiler.runtime.pushing import new_zeros, zeros_of
from adcompiler.runtime.randomness import drawn_from
from adcompiler.spec import Spec
from adcompiler.texts import Active, Activity, Rounds, Texts


class Unfollowed(Texts):
    """The state of one traversal of a specialisation, and what is refused at its statements."""

    def __init__(self, spec: Spec, mask: tuple[bool, ...], rounds: Rounds, memory: Memory = PLAIN) -> None:
        self.spec = spec
        self.rounds = rounds
        self.aliases = alias(spec, memory.merged)
        self.mask = mask
        self.found = Activity()
        self.ever: Active = frozenset()
        self.text: set[str] = set(spec.texts)
        self.doubts: dict[int, Exception] = {}  # by statement
        self.put: set[str] = set()  # into which text has been put, whatever their kinds say
        self.carried: set[str] = set()  # exceptions that may hold an active value, and what was read from them

    def atom(self, expr: Any, active: Active) -> bool:
        """Whether an operand is active (operands may be nested tuples and indices)."""
        if isinstance(expr, tuple):
            return any(self.atom(e, active) for e in expr)
        return isinstance(expr, ir.Expr) and any(n in active for n in ir.reads(expr))

    def rebound(self, stmt: Any, name: str) -> Exception:
        return refuse(
            UnsupportedSyntaxError,
            f"{name} carries a derivative and is rebound by a nested function (nonlocal)",
            stmt.origin,
            "Such variables are not differentiated yet.",
            "Return the new value from the nested function.",
        )

    def refuse_defaults(self, node: Any, active: Active, stmt: Any) -> None:
        """A default of a nested function is a constant for whoever calls it: it must not be active."""
        for default in (*node.args.defaults, *node.args.kw_defaults):
            names = {n.id for n in gast.walk(default) if isinstance(n, gast.Name)} if default is not None else set()
            if names & active:
                raise refuse(
                    UnsupportedSyntaxError,
                    f"{', '.join(map(self.spec.function.shown, sorted(names & active)))} carries a derivative, and is "
                    "the default of a nested function",
                    stmt.origin,
                    "Such defaults are not differentiated yet.",
                    "Use the variable in the function, or pass it as an argument.",
                )

    def mutation(self, stmt: Any) -> Exception:
        """The refusal of a store of unknown kind: that of what a function would give that only raises."""
        return refuse(
            MutationError,
            "a store of a value that is never there, where exceptions are caught",
            stmt.origin,
            "What gives the value only raises, so that its kind is not known.",
            "Call it in a statement of its own.",
        )

    def carry(self, value: ir.Apply, stmt: Any) -> None:
        """What is read from an exception that may hold an active value must not be computed with."""
        if not self.carried or not self.atom(value.args, frozenset(self.carried)):
            return
        load = isinstance(value.spelled, ir.Attr | ir.Item)
        if load and isinstance(stmt, ir.Assign) and stmt.target not in self.spec.function.locals:
            self.carried.add(stmt.target)
        elif not isinstance(value.callee, InertCall):
            raise lost(stmt)

    def refuse_hidden(self, value: ir.Apply, active: Active, stmt: Any) -> None:
        """A function that may write is not to be called out of sight (`min(range(3), key=f)`)."""
        if not self.spec.program.places_active or not isinstance(value.spelled, ir.Call):
            return
        called = value.spelled.func
        if isinstance(called, ir.Global):
            called = ir.Static(self.spec.program.global_value(self.spec.globals, called.id)[1], called.id)
        elif isinstance(called, ir.Name) and called.id in self.spec.cells:  # as in text in forward mode
            held = self.spec.program.cell_kind(self.spec.cells[called.id], called.id)
            called = ir.Static(held.value, called.id) if isinstance(held, Known) else called
        if isinstance(called, ir.Static) and any(called.value is f for f in _NEVER_CALL):
            return
        operands = [*value.spelled.args, *(v for _, v in value.spelled.kwargs)]
        for name in [e.id for e in operands if isinstance(e, ir.Name) and e.id in active]:
            kind = self.spec.name_kinds.get(name)
            if isinstance(kind, Closure) and not is_simple(kind):
                raise refuse(
                    UnsupportedSyntaxError,
                    f"{self.spec.function.shown(name)} is passed to something that may call it out of sight",
                    stmt.origin,
                    "What it writes would have no derivative.",
                    "Call it in a loop.",
                )

    def passed_closures(self, value: ir.Apply, active: Active, stmt: Any) -> None:
        """A local function passed on must see the values that its captured variables had when it was made."""
        if self.spec.program.writes_places or _may_hold_function(value.kind):
            self.kept_closures(value.kinds, active, stmt)  # by what is called, or by what it gives
        captured = value.callee.captured
        for arg, kind in zip(value.args[captured:], value.kinds[captured:], strict=True):
            if isinstance(kind, Closure) and isinstance(arg, ir.Name) and kind.owner is self.spec:
                rebound = rebound_between(self.spec.body, kind.node, stmt) & set(kind.captures)
                if rebound & active:
                    raise rebound_late(stmt, rebound & active)

    def called_closures(self, value: ir.Apply, active: Active, stmt: Any) -> None:
        """What is called at run time may be any local function, which must not capture what is rebound later."""
        self.kept_closures(value.kinds, active, stmt)
        unknown = (
            isinstance(k, Unknown) and self.atom(a, active) for a, k in zip(value.args, value.kinds, strict=True)
        )
        if any(unknown):
            self.late_closures(None, active, stmt)

    def captured_closures(self, captures: frozenset[str], active: Active, stmt: Any) -> None:
        """A local function that another one captures is called there, which sees one value of each variable only."""
        kinds = [self.spec.name_kinds.get(name) for name in captures]
        self.kept_closures(kinds, active, stmt)
        self.late_closures(None if any(isinstance(k, Unknown) for k in kinds) else captures, active, stmt)

    def late_closures(self, names: frozenset[str] | None, active: Active, stmt: Any) -> None:
        """Local functions of some names, or of all, must not capture what is rebound after they were made."""
        for name, node, captures in local_functions(self.spec.body):
            late = rebound_after(self.spec.body, node) & captures & (active | self.ever)
            if late and (names is None or name in names):
                raise rebound_late(stmt, late)

    def kept_closures(self, kinds: Any, active: Active, stmt: Any) -> None:
        """A local function that is returned or stored must not capture what is rebound after it was made."""
        for kind in kinds:
            if isinstance(kind, Closure) and kind.owner is self.spec:
                late = rebound_after(self.spec.body, kind.node) & set(kind.captures) & (active | self.ever)
                if late:
                    raise rebound_late(stmt, late)


def _may_hold_function(kind: Kind | None) -> bool:
    if isinstance(kind, TupleOf):
        return any(map(_may_hold_function, kind.items))
    return kind is not None and not isinstance(kind, Known | Inert) and numeric(kind) is None


# These look at a function without calling it.
_NEVER_CALL = (drawn_from, zeros_of, new_zeros, callable, isinstance, id, type)

__all__ = ["Active", "Activity", "Rounds", "Unfollowed"]
