"""The reverse where a program writes into containers and objects: their cotangents are kept by identity at run time.

What can be written into has no variable for its cotangent: the backward gets a table (`runtime.bars.Bars`), reads add
to it, writes take from it, and a new container's entries are released to what it was made of.  What is a number, an
array or a tuple keeps its variable; what may be either has both, and the table knows which.
"""

from __future__ import annotations

import functools
from typing import Any

from adcompiler import ir
from adcompiler.bars import Bar, Code, State
from adcompiler.callees import Build, Copied, Drain, Dynamic, Make, Move, PairCall, PlaceCall, RuleCall
from adcompiler.cotangents import ACCUMULATE, LEN
from adcompiler.lattice import Heap, Kind, Observed, Unknown, class_of, is_plain
from adcompiler.pair import Pair
from adcompiler.places import is_mutable
from adcompiler.quiet import is_quiet
from adcompiler.runtime.held import hold_made
from adcompiler.runtime.moved import first_of
from adcompiler.shadowing import HOLD, Shadowing
from adcompiler.spec import ANY

HOLD_MADE = ir.Static(hold_made, "hold_made")


class Tracking(Shadowing):
    """Adds containers and objects to what is in the table."""

    tracks = False  # whether the pair at hand follows them by identity

    def itself(self, name: str) -> ir.Expr:
        """A container as the reverse reads it: the object itself, never a copy."""
        return ir.Name(self.saver.value(name, False))

    def held(self, name: str, kind: Kind | None) -> ir.Expr:
        """A container with what it holds now: the object itself, if only numbers and arrays are in it."""
        if self.is_hot(name):
            return self.held_arrays(name)
        simple = isinstance(kind, Observed) and not self.spec.program.escaped
        if isinstance(kind, Heap):
            content = self.spec.program.content(kind, ANY)
            simple = content is None or is_plain(content)
        if simple:
            return self.itself(name)
        return ir.Name(self.saver.before(self.names.fresh(name + "_held"), ir.Call(HOLD, (ir.Name(name),))))

    # --- contributions ----------------------------------------------------------------------------------

    def given(self, name: str, value: ir.Expr, kind: Kind | None, code: Code) -> ir.Expr | None:
        """What of a contribution is for the name's own variable, after the rest was put into the table."""
        if not self.tracks or is_plain(kind):
            return value
        rest = self.at_table("give", self.held(name, kind), value)
        if is_mutable(kind):
            code.append(ir.Do(rest))
            return None
        return rest

    def given_items(self, name: str, value: ir.Expr, kind: Kind | None, code: Code) -> ir.Expr | None:
        """The same for the cotangents of the items that a value was taken apart into."""
        if not self.tracks or is_plain(kind):
            return value
        rest = self.at_table("give_items", self.itself(name), value)
        if is_mutable(kind):
            code.append(ir.Do(rest))
            return None
        return rest

    def add_place(self, name: str, index: ir.Expr, value: ir.Expr, kind: Kind | None, code: Code) -> bool:
        """Add to an item's entry in the table; whether the container has one for sure."""
        if not self.tracks or not is_mutable(kind):
            return False
        code.append(ir.Do(self.at_table("add_item", self.itself(name), index, value)))
        return True

    # --- statements -------------------------------------------------------------------------------------

    def tracked(self, stmt: ir.Assign, state: State) -> tuple[Code, Code, State] | None:
        """The reverse of a statement that involves the table whatever reaches its target; None for all others."""
        value = stmt.value
        if not self.table or not isinstance(value, ir.Apply) or not self.is_active(value):
            return None
        if isinstance(value.callee, PairCall) and self.callee_pair(value).shared:
            return self.tracked_call(stmt, state)
        if not self.tracks:
            return None
        match value.callee:
            case PlaceCall():
                return self.place_call(stmt, value, state)
            case PairCall(spec) if not is_quiet(spec):
                return self.tracked_call(stmt, state)
            case Dynamic(pure=pure) if not pure or not is_plain(stmt.kind):
                return self.tracked_call(stmt, state)
        return None

    def tracked_call(self, stmt: ir.Assign, state: State) -> tuple[Code, Code, State]:
        """A call that may read and write places: reversed whether or not its value has a cotangent."""
        code: Code = []
        self.seed(stmt, state, code)
        forward = self.reverse_call(stmt, state, code)
        return forward, code, state

    def callee_pair(self, value: ir.Apply) -> Pair:
        """The pair of the function that a call is of; `reverse` knows them."""
        raise NotImplementedError

    def reverse_call(self, stmt: ir.Assign, state: State, code: Code) -> Code:
        """The reverse of a call; `reverse` knows the callees."""
        raise NotImplementedError

    def seed(self, stmt: ir.Assign, state: State, code: Code) -> None:
        """The cotangent of a call's value: taken, or None."""
        bar = self.take(stmt.target, state)
        if stmt.kind is not None:
            self.sizes[stmt.target] = stmt.kind
        if bar is None:
            code.append(ir.Clear((self.bar(stmt.target),)))
        elif bar.lazy:
            code.append(self.materialise(stmt.target, after=True, maybe=bar.maybe))

    def place_call(self, stmt: ir.Assign, value: ir.Apply, state: State) -> tuple[Code, Code, State]:
        """A read or write of a place: `value, saved = append(xs, v)`, reversed by `v_bar, = append_bar(saved, ...)`."""
        code: Code = []
        self.seed(stmt, state, code)
        operation = value.callee.operation
        saved = self.names.fresh("saved")
        self.saver.mark(saved)
        split = len(value.args) - len(value.callee.keywords)
        keywords = tuple(zip(value.callee.keywords, map(ir.as_argument, value.args[split:]), strict=True))
        run = ir.Call(
            ir.Static(operation.forward, operation.name), tuple(map(ir.as_argument, value.args[:split])), keywords
        )
        forward: Code = [ir.Unpack(ir.Targets((stmt.target, saved)), run, stmt.origin)]
        back = ir.Call(
            ir.Static(operation.reverse, operation.name + "_bar"),
            (ir.Name(saved), ir.Name(self.bar(stmt.target)), ir.Name(self.table)),
        )
        operands = list(zip(value.args[1:], value.kinds[1:], strict=True))
        names = [
            a.id if isinstance(a, ir.Name) and a.id in self.active and not is_mutable(k) else None for a, k in operands
        ]
        if any(names):
            self.distribute(names, [True] * len(names), ir.Call(_FIRST, (back, ir.Const(len(names)))), state, code)
        else:
            code.append(ir.Do(back))
        return forward, code, state

    def released(self, stmt: ir.Assign, state: State) -> Code:
        """The cotangent of a container that a statement makes: its entries, as a value."""
        value = stmt.value
        if not self.tracks or not isinstance(value, ir.Apply) or not self.is_active(value):
            return []
        bar = ir.Name(self.bar(stmt.target))
        match value.callee:
            case Drain() if is_mutable(stmt.kind):
                whole = ir.Name(self.saver.value(stmt.target, True))
                call = self.at_table("release", whole, ir.Call(LEN, (whole,)))
            case Build() if is_mutable(stmt.kind):
                count = ir.Const(len(value.args))
                call = self.at_table("release", ir.Name(self.saver.value(stmt.target, True)), count)
            case Make() if is_mutable(stmt.kind) and class_of(stmt.kind) is not functools.partial:
                call = self.at_table("release", ir.Name(self.saver.value(stmt.target, True)))
            case Make() if class_of(stmt.kind) is functools.partial:
                call = self.at_table("release_partial", ir.Name(self.saver.value(stmt.target, True)))
            case RuleCall() | Copied() | Move(fresh=True) if _may_be_made(value.callee, stmt.kind):
                held = self.names.fresh(stmt.target + "_held")
                hold = HOLD_MADE if isinstance(value.callee, RuleCall) else HOLD
                self.saver.after(held, ir.Call(hold, (ir.Name(stmt.target),)))
                method = "release_own" if isinstance(value.callee, Move) else "release"
                call = self.at_table(method, ir.Name(held))
            case _:
                return []
        if stmt.target in state:
            call = ir.Call(ACCUMULATE, (bar, call))
        state[stmt.target] = Bar(maybe=True, complex=self.mixes)
        return [ir.Assign(bar.id, call)]


def _may_be_made(callee: Any, kind: Kind | None) -> bool:
    """Whether an operation may have made a new container: an unknown one unless its rule says that it is not new."""
    known = not isinstance(kind, Unknown) or (isinstance(callee, RuleCall) and callee.rule.result in (None, "fresh"))
    return known and not is_plain(kind)


_FIRST = ir.Static(first_of, "first_of")

__all__ = ["Tracking"]
