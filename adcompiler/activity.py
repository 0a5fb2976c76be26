"""The pass `activity`: which names carry a derivative, forward from the wanted parameters.

In goes a specialisation and which of its parameters are active; out comes an `Activity`: the active names before each
statement, and whether the result is active.  Whatever would need a derivative that does not exist is refused here, with
the user's line.  (Backward, from the result, the adjoint itself leaves out what no cotangent reaches.)
"""

from __future__ import annotations

from typing import Any

import gast

from adcompiler import ir
from adcompiler.active import ActiveValues
from adcompiler.aliases import PLAIN, Memory
from adcompiler.callees import (
    Backwards,
    Build,
    Counting,
    Enumerated,
    Keys,
    Move,
    Over,
    Zipped,
    in_place,
    parts,
)
from adcompiler.errors import UnsupportedSyntaxError, refuse
from adcompiler.handled import carries, lost
from adcompiler.late import refuse_late, stream_lost
from adcompiler.lattice import Stream, Unknown, can_be_active
from adcompiler.liveviews import refuse_changing, refuse_late_view
from adcompiler.lower import Lowering
from adcompiler.places import is_mutable
from adcompiler.scope import nonlocals
from adcompiler.spec import Spec
from adcompiler.unfollowed import Active, Activity


def activity(spec: Spec, mask: tuple[bool, ...], memory: Memory = PLAIN) -> Activity:
    """The activity of a specialisation for active parameters `mask`.

    Computed once; what recursion assumed is iterated to a fixed point.
    """
    rounds = _Rounds(spec.program.activities)
    if not rounds.knows(spec, mask, memory):
        while rounds.again():
            rounds.visit(spec, mask, memory)
        if rounds.suspected is not None:
            raise rounds.suspected
    return rounds.table[id(spec), mask, memory]


Key = tuple[int, tuple[bool, ...], Memory]


class _Rounds:
    """One fixed-point iteration over all functions that a function reaches."""

    def __init__(self, table: dict[Key, Activity]) -> None:
        self.table = table
        self.visited: set[Key] = set()
        self.changed = True
        self.suspected: Exception | None = None

    def suspect(self, error: Exception) -> None:
        """Raise an error at the end, if the last round still finds it."""
        self.suspected = self.suspected or error

    def again(self) -> bool:
        """Whether another round is needed; starts it."""
        again = self.changed
        if again:
            self.changed, self.visited, self.suspected = False, set(), None
        return again

    def knows(self, spec: Spec, mask: tuple[bool, ...], memory: Memory = PLAIN) -> bool:
        """Whether an iteration before has found the activity."""
        return (id(spec), mask, memory) in self.table

    def visit(self, spec: Spec, mask: tuple[bool, ...], memory: Memory = PLAIN) -> Activity:
        """The activity as known so far, computed once per round."""
        key = (id(spec), mask, memory)
        if key not in self.visited:
            self.visited.add(key)
            known = self.table.setdefault(key, Activity())
            found = _Analysis(spec, mask, self, memory).run()
            self.changed |= found.summary != known.summary
            known.result, known.before, known.gathered = found.result, found.before, found.gathered
            known.text, known.filled, known.lost = found.text, found.filled, found.lost
            known.hot, known.hot_params, known.shadows = found.hot, found.hot_params, found.shadows
            known.hot_result = found.hot_result
        return self.table[key]


class _Analysis(ActiveValues):
    """One traversal of a specialisation, repeated until what is ever active no longer grows."""

    def __init__(self, spec: Spec, mask: tuple[bool, ...], rounds: _Rounds, memory: Memory) -> None:
        super().__init__(spec, mask, rounds, memory)
        self.breaks: list[list[Active]] = []
        self.continues: list[list[Active]] = []
        self.heads: dict[int, Active] = {}
        self.shared = nonlocals(spec.function.source.node)
        self.raising: list[set[str]] = []  # for each protected body around: what is active where it may be left

    def run(self) -> Activity:
        start = {
            p
            for p, wanted, kind in zip(self.spec.params, self.mask, self.spec.kinds, strict=True)
            if (wanted and can_be_active(kind)) or self.in_table(kind)
        }
        start |= {n for n in self.spec.function.cells if self.in_table(self.spec.name_kinds.get(n))}
        if start & self.shared:
            raise self.rebound(self.spec.function, ", ".join(sorted(start & self.shared)))
        # Python binds captured variables late: a function is active if what it captures is active at any time.
        while True:
            ever, text, hot = self.ever, set(self.text), set(self.hot)
            self.block(self.spec.body, frozenset(start))
            if (self.ever, self.text, self.hot) == (ever, text, hot):
                break
        self.settle_hot()
        for error in self.doubts.values():
            self.rounds.suspect(error)
        for value, made in self.generators.values():  # last: what is refused anyway counts as a write
            refuse_late(self.spec, self.aliases, value, made)
        return self.found

    def in_table(self, kind: Any) -> bool:
        """Whether a value may have entries in the table of cotangents: a container, once one holds something active."""
        program = self.spec.program
        return program.places_active and (is_mutable(kind) or (program.loose and isinstance(kind, Unknown)))

    def shares(self, stmt: ir.Assign, active: Active, now: bool) -> bool:
        """Whether writing into a name's memory changes something that another name refers to, and is active."""
        members = self.aliases.sharing(stmt, stmt.target)
        return not self.aliases.is_alone(stmt, stmt.target) and (now or bool(members & active))

    def block(self, block: ir.Block, active: Active | None) -> Active | None:
        for stmt in block:
            if active is None:
                break
            active |= self.hot_names(stmt)
            self.ever |= active
            self.found.before[id(stmt)] = active
            self.may_raise(active)
            active = self.statement(stmt, active)
        self.may_raise(active or frozenset())
        return active

    def may_raise(self, active: Active) -> None:
        """Note what is active at a place where an exception may leave the bodies around."""
        for names in self.raising:
            names |= active

    def statement(self, stmt: Any, active: Active) -> Active | None:  # noqa: C901  one case per form
        """The names active after a statement; None if control does not get there."""
        self.note_text(stmt, active)
        match stmt:
            case ir.Assign():
                return self.assign(stmt, active)
            case ir.Unpack():
                return self.unpack(stmt, active)
            case ir.Do():
                self.value(stmt.value, active, stmt)
            case ir.Store():
                self.store(stmt, active)
            case ir.Delete():
                return active - set(stmt.names)
            case ir.Define():
                self.refuse_defaults(stmt.node, active, stmt)
                self.captured_closures(stmt.captures, active, stmt)
                captured = stmt.captures & (active | self.ever)
                return active | {stmt.name} if captured else active - {stmt.name}
            case ir.Opaque():
                return self.opaque(stmt, active)
            case ir.Return():
                if isinstance(stmt.value, ir.Name) and stmt.value.id in self.carried:
                    raise lost(stmt)
                on = can_be_active(stmt.kind) and self.value(stmt.value, active, stmt)
                self.found.result |= on and not self.spec.function.generator
                self.kept_closures([stmt.kind], active, stmt)
                return None
            case ir.Yield():
                self.found.result |= can_be_active(stmt.kind) and self.value(stmt.value, active, stmt)
                self.kept_closures([stmt.kind], active, stmt)
                if isinstance(stmt.kind, Stream) and self.atom(stmt.value, active):
                    raise stream_lost(stmt)
            case ir.Break():
                self.breaks[-1].append(active)
                return None
            case ir.Continue():
                self.continues[-1].append(active)
                return None
            case ir.If():
                return self.join(self.block(stmt.body, active), self.block(stmt.orelse, active))
            case ir.With():
                return self.context(stmt, active)
            case ir.Try():
                return self.handled(stmt, active)
            case ir.Collect():
                return self.collect(stmt, active)
            case ir.Gather():
                return self.gather(stmt, active)
            case ir.For() | ir.While():
                return self.loop(stmt, active)
        return active

    def assign(self, stmt: ir.Assign, active: Active) -> Active:
        now = (self.value(stmt.value, active, stmt) and can_be_active(stmt.kind)) or self.in_table(stmt.kind)
        if in_place(stmt) and self.shares(stmt, active, now):
            kinds = stmt.value.kinds if isinstance(stmt.value, ir.Apply) else ()
            self.written_into(stmt, ir.Name(stmt.target), kinds[0] if kinds else stmt.kind, now, active)
        if now and stmt.target in self.shared:
            raise self.rebound(stmt, stmt.target)
        if now and isinstance(stmt.value, ir.Apply) and isinstance(stmt.value.callee, Move) and stmt.value.callee.view:
            refuse_late_view(self.spec, self.aliases, stmt)
        return active | {stmt.target} if now else active - {stmt.target}

    def unpack(self, stmt: ir.Unpack, active: Active) -> Active:
        names = {n for n in stmt.target.names() if can_be_active(self.spec.name_kinds.get(n) or Unknown())}
        value = stmt.value
        if (
            isinstance(value, ir.Apply)
            and isinstance(value.callee, Build)
            and len(value.args) == len(stmt.target.items)
        ):
            now = {
                n
                for item, arg in zip(stmt.target.items, value.args, strict=True)
                if self.atom(arg, active)
                for n in ir.target_names(item)
            }
            if stmt.target.star is None:
                return (active - set(stmt.target.names())) | (now & names)
        return (active - set(stmt.target.names())) | (names if self.value(value, active, stmt) else set())

    def collect(self, stmt: ir.Collect, active: Active) -> Active:
        if stmt.key is not None and self.atom(stmt.key, active):
            raise refuse(
                UnsupportedSyntaxError,
                "a dict with keys that carry a derivative",
                stmt.origin,
                "The derivative would be lost in the keys.",
                "Use stop_gradient() of the key, or text or integers.",
            )
        self.kept_closures([stmt.kind], active, stmt)
        now = self.value(stmt.value, active, stmt) and can_be_active(stmt.kind)
        return active | {stmt.into} if now else active

    def gather(self, stmt: ir.Gather, active: Active) -> Active | None:
        """What has been collected is active if the list or dict that collects is."""
        end = self.block(stmt.body, active)
        if end is None:
            return None
        if stmt.into is not None:
            if stmt.into in end and stmt.unordered:
                raise refuse(
                    UnsupportedSyntaxError,
                    f"{stmt.spelled.what} that carry derivatives",
                    stmt.origin,
                    "A set keeps one of several equal values, and no order.",
                    "Use a list.",
                )
            end = end | {stmt.target} if stmt.into in end else end - {stmt.target}
        if stmt.target in end:
            self.found.gathered.add(id(stmt))
        return end

    def context(self, stmt: ir.With, active: Active) -> Active | None:
        """A `with`: control may go on behind it from anywhere in its body, if it swallows exceptions."""
        if self.value(stmt.item, active, stmt):
            raise self.unsupported_context(stmt)
        stops = isinstance(stmt.item, ir.Apply) and getattr(stmt.item.callee, "why", "") == "stop_gradient"
        self.stopping += stops
        end, caught = self.protected(stmt.body, active - {stmt.target} if stmt.target else active)
        self.stopping -= stops
        return self.join(end, caught) if stmt.swallows else end

    @staticmethod
    def unsupported_context(stmt: ir.With) -> Exception:
        return refuse(
            UnsupportedSyntaxError,
            "a context manager that carries a derivative",
            stmt.origin,
            "What it does with the value is not known.",
            "Bind the value in a statement of its own.",
        )

    def protected(self, block: ir.Block, active: Active) -> tuple[Active | None, Active]:
        """As `block`, and what is active where an exception in it is caught."""
        self.raising.append(set(active))
        end = self.block(block, active)
        return end, frozenset(self.raising.pop())

    def handled(self, stmt: ir.Try, active: Active) -> Active | None:
        leaving = (self.breaks, self.continues)
        for exits in leaving:
            exits.append([])
        self.raising.append(set(active))
        end, caught = self.protected(stmt.body, active)
        ends = [None if end is None else self.block(stmt.orelse, end)]
        holds = carries(stmt.body, self.found.before, self.carried)
        for handler in stmt.handlers:
            name = {handler.name} if handler.name else set()
            if holds:
                self.carried |= name
            if handler.test is not None:
                self.value(handler.test, caught, handler)
            end = self.block(handler.body, caught - name)
            ends.append(None if end is None else end - name)
        anywhere = frozenset(self.raising.pop())
        left = [exits.pop() for exits in leaving]
        final = self.block(stmt.final, anywhere)
        changed = ir.bound_in(stmt.final)

        def after(end: Active | None) -> Active | None:
            return None if end is None or final is None else (end - changed) | (final & changed)

        for exits, gone in zip(leaving, left, strict=True):
            if exits:
                exits[-1] += [a for a in map(after, gone) if a is not None]
        return after(self.join(*ends))

    def loop(self, stmt: Any, active: Active) -> Active | None:
        head = active | self.heads.get(id(stmt), frozenset())
        while True:
            self.breaks.append([])
            self.continues.append([])
            back, end = self.once(stmt, head)
            broken, continued = self.breaks.pop(), self.continues.pop()
            merged = self.join(head, back, *continued)
            if merged == head:
                self.heads[id(stmt)] = head
                return self.join(end, *broken)
            head = merged or frozenset()

    def once(self, stmt: Any, head: Active) -> tuple[Active | None, Active | None]:
        if isinstance(stmt, ir.While):
            after = self.block(stmt.head, head)
            if after is None:
                return None, None
            back = self.block(stmt.body, after)
            return back, self.outside(stmt.orelse, after)
        names = frozenset(ir.target_names(stmt.target))
        plan = stmt.iterable.callee.plan if isinstance(stmt.iterable, ir.Apply) else None
        self.refuse_unknown_iteration(stmt, plan, head)
        inside = (head - names) | self.targets(stmt.target, plan, head)
        return self.block(stmt.body, inside), self.outside(stmt.orelse, head)

    def outside(self, orelse: ir.Block, active: Active) -> Active | None:
        """The `else` of a loop, which is no part of it: `break` and `continue` there are those of the loop around."""
        own = self.breaks.pop(), self.continues.pop()
        end = self.block(orelse, active)
        self.breaks.append(own[0])
        self.continues.append(own[1])
        return end

    def refuse_unknown_iteration(self, stmt: Any, plan: Any, active: Active) -> None:
        for over in parts(plan):
            if over.kind == Stream(None) and self.atom(over.source, active):
                raise stream_lost(stmt)
            if self.atom(over.source, active):
                refuse_changing(self.aliases, stmt, over)
        known = isinstance(plan, Counting | Over | Zipped | Enumerated | Backwards | Keys)
        known = known and all(ir.is_atom(over.source) for over in parts(plan))
        spelled = stmt.iterable.spelled if isinstance(stmt.iterable, ir.Apply) else stmt.iterable
        if not known and any(n in active for n in ir.reads(spelled)):
            raise refuse(
                UnsupportedSyntaxError,
                "a loop over this value cannot be differentiated",
                stmt.origin,
                "Loops run over range, arrays, lists, tuples, zip, enumerate and reversed.",
                "Loop over indices, or over a list.",
            )

    def targets(self, target: ir.Target, plan: Any, active: Active) -> Active:
        """The loop targets that are active."""
        match plan, target:
            case Over(source, _, item), _:
                on = self.atom(source, active) and can_be_active(item)
                return frozenset(ir.target_names(target)) if on else frozenset()
            case (Backwards(part), _):
                return self.targets(target, part, active)
            case Enumerated(part), ir.Targets((_, item)):
                return self.targets(item, part, active)
            case Zipped(inner), ir.Targets(items) if len(inner) == len(items):
                return frozenset().union(*(self.targets(t, p, active) for t, p in zip(items, inner, strict=True)))
            case (Zipped() | Enumerated(), _):
                on = any(self.atom(over.source, active) for over in parts(plan))
                return frozenset(ir.target_names(target)) if on else frozenset()
        return frozenset()

    @staticmethod
    def join(*sets: Active | None) -> Active | None:
        reached = [s for s in sets if s is not None]
        return frozenset().union(*reached) if reached else None

    # --- writes -----------------------------------------------------------------------------------------

    def store(self, stmt: ir.Store, active: Active) -> None:
        if stmt.kinds is not None:
            self.store_into(stmt, active)
            return
        if self.atom(stmt.value, active):
            raise self.mutation(stmt)

    def opaque(self, stmt: ir.Opaque, active: Active) -> Active | None:
        if isinstance(stmt.node, gast.Raise):
            return None
        if isinstance(stmt.node, gast.Assert):
            return active
        if (stmt.reads | stmt.writes) & active:
            if stmt.error is not None:
                raise stmt.error
            raise refuse(
                UnsupportedSyntaxError,
                f"{stmt.what} around differentiated values",
                stmt.origin,
                "It has no derivative yet.",
                Lowering.advice(stmt.node),
            )
        return active - stmt.writes


__all__ = ["Active", "Activity", "activity"]
