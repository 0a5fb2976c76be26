"""Whether the value of an expression is active: one case per callee.

What would need a derivative that does not exist is refused here, with the user's line.
"""

from __future__ import annotations

from typing import Any

from adcompiler import ir
from adcompiler.alias import alias
from adcompiler.aliases import PLAIN, Memory
from adcompiler.callees import (
    Build,
    Copied,
    Drain,
    Dynamic,
    Hooked,
    InertCall,
    Into,
    Iteration,
    Load,
    Make,
    Missing,
    Move,
    PairCall,
    PathLoad,
    PlaceCall,
    Pull,
    Relay,
    RuleCall,
    Spread,
    WriteCall,
    writes_array,
)
from adcompiler.errors import MutationError, UnsupportedSyntaxError, refuse
from adcompiler.hot import HotMemory, memory_of
from adcompiler.late import refuse_lost
from adcompiler.lattice import Observed, Stream, can_be_active
from adcompiler.places import is_mutable
from adcompiler.quiet import is_quiet
from adcompiler.runtime.writes import WRITES
from adcompiler.spec import Spec
from adcompiler.unfollowed import Active, Rounds
from adcompiler.writing import may_store, writes


class ActiveValues(HotMemory):
    """Adds the values of expressions."""

    def __init__(self, spec: Spec, mask: tuple[bool, ...], rounds: Rounds, memory: Memory = PLAIN) -> None:
        super().__init__(spec, mask, rounds, memory)
        self.generators: dict[int, Any] = {}
        self.stopping = 0  # how many `with stop_gradient()` are around

    def value(self, value: ir.Expr, active: Active, stmt: Any) -> bool:
        """Whether the value of an expression is active."""
        if isinstance(value, ir.Verbatim):
            if value.inert or not value.reads & active:
                return False
            raise refuse(
                UnsupportedSyntaxError,
                f"{value.what} over differentiated values",
                stmt.origin,
                "It has no derivative yet.",
                "Write it as a loop, or with array operations.",
            )
        if isinstance(value, ir.Lambda):
            self.refuse_defaults(value.node, active, stmt)
            self.captured_closures(value.captures, active, stmt)
            return bool(value.captures & (active | self.ever))
        if not isinstance(value, ir.Apply):
            if isinstance(value, ir.Name) and value.id in self.carried and isinstance(stmt, ir.Assign):
                self.carried.add(stmt.target)
            return self.atom(value, active)
        self.carry(value, stmt)
        if isinstance(value.callee, InertCall | Iteration):
            self.refuse_hidden(value, active, stmt)
            return False
        on = [self.atom(a, active) for a in value.args]
        if not any(on) and not self.may_read_places(value):
            return False
        return self.applied(value, tuple(on), active, stmt)

    def may_read_places(self, value: ir.Apply) -> bool:
        """Whether a call may read what others have stored, though nothing active is passed to it."""
        program = self.spec.program
        if not isinstance(value.callee, PairCall):
            return False
        if program.outside_hot and alias(value.callee.spec).reads_outside:
            return True
        return program.places_active and not is_quiet(value.callee.spec)

    def applied(self, value: ir.Apply, on: tuple[bool, ...], active: Active, stmt: Any) -> bool:  # noqa: C901
        if not isinstance(value.callee, Missing):
            refuse_lost(value, on, stmt)
        if self.stopping and (may_store(value.callee) or writes(value.callee)):
            raise refuse(
                MutationError,
                "a call that may write into its arguments, inside `with stop_gradient()`",
                stmt.origin,
                "What it writes is not known to be constant.",
                "Pass stop_gradient(x), or x.copy() made in the block, or call it outside.",
            )
        match value.callee:
            case Missing(error):
                raise error
            case PairCall(spec):
                if isinstance(value.kind, Stream):
                    self.generators[id(stmt)] = value, stmt
                self.passed_closures(value, active, stmt)
                found = self.rounds.visit(spec, on, memory_of(self.aliases, self.hot, stmt, value))
                self.heat_call(value, stmt, found)
                return found.result
            case Into(inner, out):
                on_now = not isinstance(inner.callee, InertCall) and self.applied(inner, on[:-1], active, stmt)
                self.written_into(stmt, out, value.kinds[-1], on_now and any(on[:-1]), active)
                return True
            case WriteCall():
                self.write_call(value, active, stmt)
                return False
            case Build() | Make() | Copied() | Move():
                self.kept_closures(value.kinds, active, stmt)
                if is_mutable(value.kind):
                    self.hold_active()
                return can_be_active(value.kind)
            case PlaceCall(operation):
                self.kept_closures(value.kinds, active, stmt)
                if operation.stores and any(on[1:]):
                    self.hold_active()
                    self.note_outside(value.kinds[0])
                if writes_array(value.callee, value.kinds):
                    self.written_into(stmt, value.args[0], None, any(on[1:]), active)
                return can_be_active(value.kind)
            case Dynamic(key) if not callable(key):
                self.hold_active()
                self.called_closures(value, active, stmt)
                if ("ndarray", key) in WRITES:
                    self.written_into(stmt, value.args[0], None, any(on[1:]), active)
                return can_be_active(value.kind)
            case Hooked():
                return on[1] and can_be_active(value.kind)
            case RuleCall() | Dynamic():
                self.kept_closures(value.kinds, active, stmt)  # forward mode passes them on in tuples
                return can_be_active(value.kind)
            case Spread() | Load() | PathLoad() | Pull() | Drain() | Relay():
                return can_be_active(value.kind)
        return True

    def note_outside(self, kind: Any) -> None:
        """Note that something active is stored in a container or object that is not the program's own."""
        program = self.spec.program
        outside = isinstance(kind, Observed) and getattr(kind.path[0], "form", "arg") != "arg"
        if outside and not program.outside_active:
            program.outside_active = True
            self.rounds.changed = True

    def hold_active(self) -> None:
        """Note that a container holds something active: from now on all containers may."""
        program = self.spec.program
        if program.writes_places and not program.places_active:
            program.places_active = True
            self.rounds.changed = True
