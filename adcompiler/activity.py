"""The pass `activity`: which names carry a derivative, forward from the wanted parameters.

In goes a specialisation and which of its parameters are active; out comes an `Activity`: the active names before each
statement, and whether the result is active.  Whatever would need a derivative that does not exist is refused here, with
the user's line.  (Backward, from the result, the adjoint itself leaves out what no cotangent reaches.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gast

from adcompiler import ir
from adcompiler.alias import alias
from adcompiler.callees import (
    Backwards,
    Build,
    Copied,
    Drain,
    Dynamic,
    Enumerated,
    InertCall,
    Iteration,
    Keys,
    Load,
    Make,
    Missing,
    Move,
    Over,
    PairCall,
    PathLoad,
    PlaceCall,
    Pull,
    Relay,
    RuleCall,
    Spread,
    Zipped,
    in_place,
    parts,
)
from adcompiler.errors import MutationError, UnsupportedSyntaxError, refuse
from adcompiler.escape import local_functions, rebound_after, rebound_between, rebound_late
from adcompiler.handled import carries, lost
from adcompiler.late import refuse_late, refuse_lost, stream_lost
from adcompiler.lattice import Closure, Inert, Observed, Stream, Unknown, can_be_active, is_scalar
from adcompiler.lower import Lowering
from adcompiler.places import is_mutable, is_simple
from adcompiler.program import Spec
from adcompiler.quiet import is_quiet
from adcompiler.runtime.changes import CONTAINER_METHODS
from adcompiler.scope import nonlocals

Active = frozenset[str]

_SETS = ("a set of values",)


@dataclass
class Activity:
    """`before[id(stmt)]`: the names active just before a statement; `result`: whether the returned value is active.

    `gathered` are the `Gather`s (by id) whose value is active.
    """

    before: dict[int, Active] = field(default_factory=dict)
    gathered: set[int] = field(default_factory=set)
    result: bool = False


def activity(spec: Spec, mask: tuple[bool, ...]) -> Activity:
    """The activity of a specialisation for active parameters `mask`.

    Computed once; what recursion assumed is iterated to a fixed point.
    """
    rounds = _Rounds(spec.program.activities)
    if not rounds.knows(spec, mask):
        while rounds.again():
            rounds.visit(spec, mask)
    return rounds.table[id(spec), mask]


class _Rounds:
    """One fixed-point iteration over all functions that a function reaches."""

    def __init__(self, table: dict[tuple[int, tuple[bool, ...]], Activity]) -> None:
        self.table = table
        self.visited: set[tuple[int, tuple[bool, ...]]] = set()
        self.changed = True

    def again(self) -> bool:
        """Whether another round is needed; starts it."""
        again, self.changed, self.visited = self.changed, False, set()
        return again

    def knows(self, spec: Spec, mask: tuple[bool, ...]) -> bool:
        """Whether an iteration before has found the activity."""
        return (id(spec), mask) in self.table

    def visit(self, spec: Spec, mask: tuple[bool, ...]) -> Activity:
        """The activity as known so far, computed once per round."""
        key = (id(spec), mask)
        if key not in self.visited:
            self.visited.add(key)
            known = self.table.setdefault(key, Activity())
            found = _Analysis(spec, mask, self).run()
            self.changed |= found.result != known.result
            known.result, known.before, known.gathered = found.result, found.before, found.gathered
        return self.table[key]


class _Analysis:
    """One traversal of a specialisation, repeated until what is ever active no longer grows."""

    def __init__(self, spec: Spec, mask: tuple[bool, ...], rounds: _Rounds) -> None:
        self.spec = spec
        self.rounds = rounds
        self.aliases = alias(spec)
        self.mask = mask
        self.found = Activity()
        self.breaks: list[list[Active]] = []
        self.continues: list[list[Active]] = []
        self.ever: Active = frozenset()
        self.text: set[str] = set()
        self.heads: dict[int, Active] = {}
        self.generators: dict[int, Any] = {}
        self.shared = nonlocals(spec.function.source.node)
        self.raising: list[set[str]] = []  # for each protected body around: what is active where it may be left
        self.carried: set[str] = set()  # exceptions that may hold an active value, and what was read from them

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
            ever = self.ever
            self.block(self.spec.body, frozenset(start))
            if self.ever == ever:
                break
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

    def rebound(self, stmt: Any, name: str) -> Exception:
        return refuse(
            UnsupportedSyntaxError,
            f"{name} carries a derivative and is rebound by a nested function (nonlocal)",
            stmt.origin,
            "Such variables are not differentiated yet.",
            "Return the new value from the nested function.",
        )

    def block(self, block: ir.Block, active: Active | None) -> Active | None:
        for stmt in block:
            if active is None:
                break
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
        match stmt:
            case ir.Assign():
                if self.is_text(stmt.value, active):
                    self.text.add(stmt.target)
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
            case ir.Gather(target, _, into, body):
                end = self.block(body, active)
                if end is not None and into in end and stmt.spelled.what in _SETS:
                    raise refuse(
                        UnsupportedSyntaxError,
                        f"{stmt.spelled.what} that carry derivatives",
                        stmt.origin,
                        "A set keeps one of several equal values, and no order.",
                        "Use a list.",
                    )
                if end is None:
                    return None
                if into is not None:
                    end = end | {target} if into in end else end - {target}
                if target in end:
                    self.found.gathered.add(id(stmt))
                return end
            case ir.For() | ir.While():
                return self.loop(stmt, active)
        return active

    def assign(self, stmt: ir.Assign, active: Active) -> Active:
        now = (self.value(stmt.value, active, stmt) and can_be_active(stmt.kind)) or self.in_table(stmt.kind)
        if in_place(stmt) and self.shares(stmt, active, now):
            raise self.mutation(stmt, f"{stmt.target} is changed in place")
        if now and stmt.target in self.shared:
            raise self.rebound(stmt, stmt.target)
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

    def context(self, stmt: ir.With, active: Active) -> Active | None:
        """A `with`: control may go on behind it from anywhere in its body, if it swallows exceptions."""
        if self.value(stmt.item, active, stmt):
            raise self.unsupported_context(stmt)
        end, caught = self.protected(stmt.body, active - {stmt.target} if stmt.target else active)
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
        final = self.block(stmt.final, anywhere)
        changed = ir.bound_in(stmt.final)

        def after(end: Active | None) -> Active | None:
            return None if end is None or final is None else (end - changed) | (final & changed)

        for exits in leaving:
            left = exits.pop()
            if exits:
                exits[-1] += [a for a in map(after, left) if a is not None]
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
            return back, self.block(stmt.orelse, after)
        names = frozenset(ir.target_names(stmt.target))
        plan = stmt.iterable.callee.plan if isinstance(stmt.iterable, ir.Apply) else None
        self.refuse_unknown_iteration(stmt, plan, head)
        inside = (head - names) | self.targets(stmt.target, plan, head)
        return self.block(stmt.body, inside), self.block(stmt.orelse, head)

    def refuse_unknown_iteration(self, stmt: Any, plan: Any, active: Active) -> None:
        for over in parts(plan):
            if over.kind == Stream(None) and self.atom(over.source, active):
                raise stream_lost(stmt)
        known = isinstance(plan, Over | Zipped | Enumerated | Backwards | Keys)
        known = known and all(ir.is_atom(over.source) for over in parts(plan))
        spelled = stmt.iterable.spelled if isinstance(stmt.iterable, ir.Apply) else stmt.iterable
        if not known and any(n in active for n in ir.reads(spelled)):
            if isinstance(spelled, ir.Call) and getattr(spelled.func, "id", None) == "range":
                return
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

    # --- values -----------------------------------------------------------------------------------------

    def atom(self, expr: Any, active: Active) -> bool:
        """Whether an operand is active (operands may be nested tuples and indices)."""
        if isinstance(expr, tuple):
            return any(self.atom(e, active) for e in expr)
        return isinstance(expr, ir.Expr) and any(n in active for n in ir.reads(expr))

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
            return bool(value.captures & (active | self.ever))
        if not isinstance(value, ir.Apply):
            if isinstance(value, ir.Name) and value.id in self.carried and isinstance(stmt, ir.Assign):
                self.carried.add(stmt.target)
            return self.atom(value, active)
        self.carry(value, stmt)
        if isinstance(value.callee, InertCall | Iteration):
            self.refuse_hidden(value, active, stmt)
            return False
        self.refuse_text(value, stmt)
        on = [self.atom(a, active) for a in value.args]
        if not any(on) and not self.may_read_places(value):
            return False
        return self.applied(value, tuple(on), active, stmt)

    def refuse_hidden(self, value: ir.Apply, active: Active, stmt: Any) -> None:
        """A function that may write is not to be called out of sight (`min(range(3), key=f)`)."""
        if not self.spec.program.places_active or not isinstance(value.spelled, ir.Call):
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

    def may_read_places(self, value: ir.Apply) -> bool:
        """Whether a call may read what others have stored, though nothing active is passed to it."""
        program = self.spec.program
        if not program.places_active:
            return False
        return isinstance(value.callee, PairCall) and not is_quiet(value.callee.spec)

    def is_text(self, value: ir.Expr, active: Active) -> bool:
        """Whether a value is text that was made of active values."""
        if isinstance(value, ir.Verbatim):
            return value.inert and bool(value.reads & (active | self.text | self.carried))
        if isinstance(value, ir.Name):
            return value.id in self.text
        match value:
            case ir.Apply(ir.Call(ir.Global(name)), InertCall(), args):
                return name in ("str", "repr", "format", "ascii") and self.atom(args, active | self.text | self.carried)
            case ir.Apply(ir.Call(ir.Attr()), InertCall(), args, _, Inert()):
                return self.atom(args, active | self.text)
        return False

    def carry(self, value: ir.Apply, stmt: Any) -> None:
        """What is read from an exception that may hold an active value must not be computed with."""
        if not self.carried or not self.atom(value.args, frozenset(self.carried)):
            return
        load = isinstance(value.spelled, ir.Attr | ir.Item)
        if load and isinstance(stmt, ir.Assign) and stmt.target not in self.spec.function.locals:
            self.carried.add(stmt.target)
        elif not isinstance(value.callee, InertCall):
            raise lost(stmt)

    def refuse_text(self, value: ir.Apply, stmt: Any) -> None:
        """A number must not come back from text: its derivative would be lost."""
        for arg, kind in zip(value.args, value.kinds, strict=False):
            if isinstance(kind, Inert) and isinstance(arg, ir.Name) and arg.id in self.text:
                raise refuse(
                    UnsupportedSyntaxError,
                    "text that was made of a value with a derivative is used in a computation",
                    stmt.origin,
                    "The derivative is lost in the text.",
                    "Use the value itself, or stop_gradient() of it.",
                )

    def applied(self, value: ir.Apply, on: tuple[bool, ...], active: Active, stmt: Any) -> bool:  # noqa: C901
        if not isinstance(value.callee, Missing):
            refuse_lost(value, on, stmt)
        match value.callee:
            case Missing(error):
                raise error
            case PairCall(spec):
                if isinstance(value.kind, Stream):
                    self.generators[id(stmt)] = value, stmt
                self.passed_closures(value, active, stmt)
                self.passed_memory(value, active, stmt)
                return self.rounds.visit(spec, on).result
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
                return can_be_active(value.kind)
            case Dynamic(key) if not callable(key):
                if self.spec.program.outside_active and key not in CONTAINER_METHODS:
                    raise refuse(
                        UnsupportedSyntaxError,
                        "a function that is only known at run time may read what is stored in a global container",
                        stmt.origin,
                        "A value with a derivative is stored there, whose derivative would be lost.",
                        "Pass the container as an argument.",
                    )
                self.hold_active()
                self.called_closures(value, active, stmt)
                return can_be_active(value.kind)
            case RuleCall() | Dynamic() | Spread() | Load() | PathLoad() | Pull() | Drain() | Relay():
                return can_be_active(value.kind)
        return True

    def note_outside(self, kind: Any) -> None:
        """Note that something active is stored in a container or object that is not the program's own."""
        program = self.spec.program
        outside = isinstance(kind, Observed) and getattr(kind.path[0], "form", "") in ("global", "cell")
        if outside and not program.outside_active:
            program.outside_active = True
            self.rounds.changed = True

    def hold_active(self) -> None:
        """Note that a container holds something active: from now on all containers may."""
        program = self.spec.program
        if program.writes_places and not program.places_active:
            program.places_active = True
            self.rounds.changed = True

    def passed_closures(self, value: ir.Apply, active: Active, stmt: Any) -> None:
        """A local function passed on must see the values that its captured variables had when it was made."""
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
            for node, captures in local_functions(self.spec.body):
                late = rebound_after(self.spec.body, node) & captures & (active | self.ever)
                if late:
                    raise rebound_late(stmt, late)

    def kept_closures(self, kinds: Any, active: Active, stmt: Any) -> None:
        """A local function that is returned or stored must not capture what is rebound after it was made."""
        for kind in kinds:
            if isinstance(kind, Closure) and kind.owner is self.spec:
                late = rebound_after(self.spec.body, kind.node) & set(kind.captures) & (active | self.ever)
                if late:
                    raise rebound_late(stmt, late)

    def passed_memory(self, value: ir.Apply, active: Active, stmt: Any) -> None:
        """An argument that is written later is passed as a copy, which must then not be what the callee returns.

        A function that is only known at run time refuses to write into what carries a derivative.
        """
        callee = alias(value.callee.spec)
        by_reference = self.spec.program.writes_places  # containers and objects are then passed as they are
        for i, (arg, kind) in enumerate(zip(value.args, value.kinds, strict=True)):
            if by_reference and is_mutable(kind):
                continue
            if isinstance(arg, ir.Name) and not is_scalar(kind) and self.aliases.is_written(stmt, arg.id):
                if arg.id in active and not self.aliases.is_surely_written(stmt, arg.id):
                    continue
                if i in callee.results and i not in callee.writes:
                    what = self.spec.function.shown(arg.id)
                    raise self.mutation(stmt, f"{what} is passed on here and written in place")

    # --- writes -----------------------------------------------------------------------------------------

    def store(self, stmt: ir.Store, active: Active) -> None:
        place = stmt.place.value
        touched = self.aliases.sharing(stmt, place.id) if isinstance(place, ir.Name) else frozenset()
        if touched & active or self.atom(stmt.value, active):
            raise self.mutation(stmt, "a value that carries a derivative is written into")

    def mutation(self, stmt: Any, what: str) -> Exception:
        return refuse(
            MutationError,
            what,
            stmt.origin,
            "Writing into arrays and containers is not differentiated yet.",
            "Make a new value: `y = y + v`, np.where, np.stack or a list display.",
        )

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
