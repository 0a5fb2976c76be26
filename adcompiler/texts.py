"""Text that was made of values with a derivative: followed wherever it goes, refused where a number is made of it.

To print, compare, store, join or return such text is no error.  It is followed by name, and the names only grow:
through assignments, displays, loads and loops, into functions (`Spec.texts`) and out of them (`Activity.text`), and
into what the program writes into (`Program.text_sites`).  An active value of which nothing is known is checked at run
time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from adcompiler import ir
from adcompiler.aliases import PLAIN, Memory
from adcompiler.callees import (
    Build,
    Copied,
    Drain,
    Dynamic,
    Gathered,
    Hooked,
    InertCall,
    Load,
    Make,
    Missing,
    Move,
    PairCall,
    PathLoad,
    PlaceCall,
    Pull,
    Relay,
)
from adcompiler.errors import UnsupportedSyntaxError, refuse
from adcompiler.handled import carries
from adcompiler.lattice import (
    Closure,
    DictOfKinds,
    Heap,
    Inert,
    Instance,
    Kind,
    Known,
    ListOf,
    MapOf,
    Observed,
    Stream,
    TupleOf,
    Unknown,
    numeric,
)
from adcompiler.runtime.changes import WRITERS
from adcompiler.runtime.held import entries, is_place
from adcompiler.spec import Spec

Active = frozenset[str]


@dataclass
class Activity:
    """`before[id(stmt)]`: the names active just before a statement; `result`: whether the returned value is active.

    `gathered` are the `Gather`s (by id) whose value is active.  Of text made of active values: `text`: it may be
    returned, `lost`: by a name that is not active; `filled`: the parameters into which it may be put.

    `hot` are the alias classes of arrays that are written into and carry derivatives: their cotangents are in shadows;
    `hot_params` the parameters that are of these, `hot_result` says that the result may be; `shadows` says that there
    are some, here or in what is called.
    """

    before: dict[int, Active] = field(default_factory=dict)
    gathered: set[int] = field(default_factory=set)
    result: bool = False
    text: bool = False
    lost: bool = False
    filled: set[int] = field(default_factory=set)
    hot: frozenset[str] = frozenset()
    hot_params: frozenset[int] = frozenset()
    hot_result: bool = False
    shadows: bool = False

    @property
    def summary(self) -> tuple[Any, ...]:
        """What callers use."""
        return self.result, self.text, self.filled, self.hot_params, self.hot_result, self.shadows


class Rounds(Protocol):
    """A fixed-point iteration over the functions that a function reaches."""

    changed: bool

    def visit(self, spec: Spec, mask: tuple[bool, ...], memory: Memory = PLAIN) -> Activity:
        """The activity of a function, as known so far."""

    def suspect(self, error: Exception) -> None:
        """Raise an error at the end, if the last round still finds it."""


# What functions without derivative that are given text do with it, by the kind that they are declared with: they answer
# a question about it, or give something that is no number.
_ANSWERS = ("int", "bool", "constant")
_CARRIERS = ("text", "other", "object", None)


def may_hold_text(kind: Kind | None) -> bool:
    """Whether a value of this kind may be text, or hold some."""
    match kind:
        case Inert() | Unknown() | Observed() | Heap() | Closure():
            return True
        case Known(value):
            return isinstance(value, str | bytes)
        case TupleOf(items) | DictOfKinds(_, items) | Instance(_, _, items):
            return any(map(may_hold_text, items))
        case ListOf(items, item):
            return any(map(may_hold_text, items)) if items is not None else may_hold_text(item)
        case MapOf(item):
            return may_hold_text(item)
        case Stream(item):
            return item is None or may_hold_text(item)
    return False


class Texts:
    """Adds text to the state of one traversal of a specialisation."""

    spec: Spec
    rounds: Rounds
    found: Activity
    text: set[str]
    put: set[str]
    doubts: dict[int, Exception]
    carried: set[str]
    aliases: Any

    def hold_active(self) -> None:
        """Note that a container holds something active."""
        raise NotImplementedError

    def has_text(self, expr: Any) -> bool:
        """Whether an operand is text that was made of active values, or holds some."""
        if isinstance(expr, tuple):
            return any(map(self.has_text, expr))
        return isinstance(expr, ir.Expr) and not self.text.isdisjoint(ir.reads(expr))

    def texts(self, value: ir.Apply) -> Iterator[tuple[int, Any, Kind]]:
        """The operands with text: position, operand, kind."""
        for i, (arg, kind) in enumerate(zip(value.args, value.kinds, strict=False)):
            if self.has_text(arg) and (may_hold_text(kind) or not self.put.isdisjoint(_reads(arg))):
                yield i, arg, kind
        spelled = value.spelled.func if isinstance(value.spelled, ir.Call) else value.spelled
        if isinstance(spelled, ir.Attr | ir.Item) and spelled.value not in value.args and self.has_text(spelled.value):
            yield 0, spelled.value, Inert()  # what is read from, and whose method is called

    def note_text(self, stmt: Any, active: Active) -> None:  # noqa: C901  one case per form
        """Note which names a statement gives text that was made of active values."""
        match stmt:
            case ir.Assign(target, value):
                self.give_text((target,) if self.follow_text(value, active, stmt) else (), stmt.kind)
            case ir.Unpack(target, value):
                self.give_text(target.names() if self.follow_text(value, active, stmt) else ())
            case ir.Do(value):
                self.follow_text(value, active, stmt)
            case ir.Return(value) | ir.Yield(value):
                if self.follow_text(value, active, stmt) and may_hold_text(stmt.kind):
                    self.found.text = True
                    self.found.lost |= not any(n in active for n in _reads(value))
            case ir.Store(place, value):
                if self.follow_text(value, active, stmt):
                    kind = self.kind_of(place.value) or Unknown()
                    self.put_text(place.value, kind, place.name if isinstance(place, ir.Attr) else None, stmt)
            case ir.Collect(into, value, key):
                if self.follow_text(value, active, stmt) or self.has_text(key):
                    self.text.add(into)
                    self.put.add(into)
            case ir.Gather(target) if stmt.into in self.text:
                self.text.add(target)
                self.put.add(target)
            case ir.Define(name, _, captures) if captures & self.text:
                self.text.add(name)
            case ir.With(item, str() as target) if self.follow_text(item, active, stmt):
                self.text.add(target)
            case ir.Opaque(_, reads, writes) if reads & self.text:
                self.give_text(writes)
            case ir.For(target, iterable):
                spelled = iterable.spelled if isinstance(iterable, ir.Apply) else iterable
                if self.has_text(spelled) or any(self.site_has_text(self.kind_of(e)) for e in ir.walk(spelled)):
                    self.give_text(ir.target_names(target))
            case ir.Try(body, handlers) if carries(body, {}, self.text):
                self.text |= {h.name for h in handlers if h.name}

    def kind_of(self, expr: ir.Expr) -> Kind | None:
        """The kind of a variable, whenever it is read."""
        if isinstance(expr, ir.Global):
            return self.spec.program.global_kind(self.spec.globals, expr.id)
        return self.spec.name_kinds.get(expr.id) if isinstance(expr, ir.Name) else None

    def give_text(self, names: Iterable[str], kind: Kind | None = None) -> None:
        """Note that names may be text, where their kinds allow it."""
        self.text |= {n for n in names if may_hold_text(kind or self.spec.name_kinds.get(n) or Unknown())}

    def follow_text(self, value: ir.Expr, active: Active, stmt: Any) -> bool:
        """Whether a value is, or holds, text that was made of active values; refused if it is a number made of such."""
        if isinstance(value, ir.Verbatim):
            if value.inert:
                return bool(value.reads & (active | self.text | self.carried))
            if value.reads & self.text:
                raise number_of_text(stmt)
            return False
        if isinstance(value, ir.Lambda):
            return bool(value.captures & self.text)
        if not isinstance(value, ir.Apply):
            return self.has_text(value)
        given = list(self.texts(value))
        if isinstance(value.callee, PairCall):
            return self.called_with_text(value, [i for i, _, _ in given], active, stmt)
        found = self.made_of_text(value, given, active, stmt) if given else self.loads_text(value)
        if isinstance(value.spelled, ir.DictOf) and any(self.has_text(k) for k, _ in value.spelled.items):
            self.keys_of_text(stmt)
        if isinstance(value.callee, InertCall) and value.callee.declared == "text":
            sources = active | self.text | self.carried
            found |= any(n in sources for arg in value.args for n in _reads(arg))
        return found and may_hold_text(value.kind)

    def made_of_text(self, value: ir.Apply, given: Any, active: Active, stmt: Any) -> bool:  # noqa: C901  one case per callee
        """The same for an operation on text: what does not only carry it is refused, if its result is used."""
        match value.callee:
            case PlaceCall(operation):
                if operation.stores and any(i > 0 for i, _, _ in given):
                    self.put_text(value.args[0], value.kinds[0], key_of(value), stmt)
                return True
            case Build() | Make() | Copied() | Hooked() | Move() | Gathered():
                if isinstance(value.kind, Heap):
                    self.put_text(ir.Const(None), value.kind, None, stmt)
                return True
            case InertCall(_, declared):
                if declared in _ANSWERS:
                    return False
                if declared not in _CARRIERS and not self.is_unused(stmt):
                    raise number_of_text(stmt)
                self.keep_text(value, stmt)
                return True
            case Missing() | Dynamic(None | str(), _, False):  # whatever it makes of text is followed as text
                self.keep_text(value, stmt)
                return True
        if is_load(value):
            return any(i == 0 for i, _, _ in given)
        at_run_time = isinstance(value.callee, Dynamic)
        if at_run_time and callable(value.callee.key) and not any(n in active for a in value.args for n in _reads(a)):
            return True  # an operator
        if self.is_unused(stmt):
            return False
        if not at_run_time or not all(isinstance(kind, Unknown) for _, _, kind in given):
            raise number_of_text(stmt)
        if all(any(n in active for n in _reads(arg)) for _, arg, _ in given):
            self.doubts.pop(id(stmt), None)
        else:
            self.doubts[id(stmt)] = number_of_text(stmt)  # it may turn out to be active later
        return False

    def keys_of_text(self, stmt: Any) -> None:
        """A dict display has keys that are text: these come out when it is iterated over."""
        if isinstance(stmt, ir.Assign):
            self.text.add(stmt.target)
            self.put.add(stmt.target)

    def called_with_text(self, value: ir.Apply, positions: list[int], active: Active, stmt: Any) -> bool:
        """Whether a function of the user's gives text that it was given at `positions`, has made, or reads."""
        spec = value.callee.spec
        new = {spec.params[i] for i in positions} - spec.texts
        if new:
            spec.texts |= new
            self.rounds.changed = True
        on = tuple(any(n in active for n in _reads(a)) for a in value.args)
        visited = positions or any(on) or self.spec.program.text_sites
        if not visited:
            return False
        found = self.rounds.visit(spec, on)
        for i in found.filled:
            self.put_text(value.args[i], value.kinds[i], None, stmt)
        return found.text and may_hold_text(value.kind)

    def keep_text(self, value: ir.Apply, stmt: Any) -> None:
        """The object of a method may keep the text that it is given (`lines.append(message)`)."""
        if isinstance(value.spelled, ir.Call) and isinstance(value.spelled.func, ir.Attr):
            holder = value.spelled.func.value
            if any(self.has_text(a) for a in value.args if a is not holder):
                at = [k for a, k in zip(value.args, value.kinds, strict=False) if a is holder]
                kind = at[0] if at else Inert()
                if isinstance(kind, Unknown) and value.spelled.func.name not in WRITERS:
                    kind = Inert()  # a file or a logger: only what is read from it again is text
                self.put_text(holder, kind, None, stmt)

    # --- what the program writes into -------------------------------------------------------------------

    def put_text(self, holder: ir.Expr, kind: Kind | None, key: Any, stmt: Any) -> None:
        """Note that text is put into a container or object, at the known `key` or (None) somewhere."""
        if numeric(kind) is not None:
            raise number_of_text(stmt)  # an array makes numbers of it
        program, site = self.spec.program, site_of(kind)
        if site is None:
            names = {n for name in ir.reads(holder) for n in self.aliases.sharing(stmt, name)}
            names = {n for n in names if numeric(self.spec.name_kinds.get(n)) is None}
            self.text |= names
            self.put |= names
            self.found.filled |= {i for i, p in enumerate(self.spec.params) if p in names}
        if program.writes_places and (program.loose if site is not None else isinstance(kind, Unknown | Heap)):
            self.hold_active()  # of what is read from somewhere only the run time knows whether it is text
        if (site is not None or isinstance(kind, Unknown)) and (site, key) not in program.text_sites:
            program.text_sites.add((site, key))
            self.rounds.changed = True

    def loads_text(self, value: ir.Apply) -> bool:
        """Whether text may be read from a container or object that the program writes into."""
        if not self.spec.program.text_sites or isinstance(value.kind, Known) or not value.kinds or not is_load(value):
            return False
        return self.site_has_text(value.kinds[0], key_of(value))

    def site_has_text(self, holder: Kind | None, key: Any = None) -> bool:
        """Whether text may have been put into a container or object (at a known key)."""
        program = self.spec.program
        if not program.text_sites or not isinstance(holder, Heap | Observed | Unknown):
            return False
        if isinstance(holder, Unknown):
            return program.loose or any(site is None for site, _ in program.text_sites)
        sites = [site_of(holder)] if isinstance(holder, Heap) else [("object", i) for i in reached(holder.value)]
        return any(
            site is None or (site in sites and (k is None or key is None or k == key or site != sites[0]))
            for site, k in program.text_sites
        )

    def is_unused(self, stmt: Any) -> bool:
        """Whether nothing reads the value of a statement."""
        if isinstance(stmt, ir.Do):
            return True
        if not isinstance(stmt, ir.Assign) or stmt.target in self.spec.function.locals:
            return False
        return not any(stmt.target in used_names(s) for s in ir.statements(self.spec.body))


def site_of(holder: Kind | None) -> Any:
    """What stands for a container or object in `Program.text_sites`; None if that is not known."""
    if isinstance(holder, Observed):
        return "object", id(holder.value)
    return holder.site if isinstance(holder, Heap) else None


def key_of(value: ir.Apply) -> Any:
    """The name or literal key of a load or store; None if it is not known."""
    spelled = value.spelled
    if isinstance(spelled, ir.Attr):
        return spelled.name
    key = spelled.index if isinstance(spelled, ir.Item) else None
    if isinstance(value.callee, PlaceCall) and len(value.args) > 1 and value.callee.operation.keyed:
        key = value.args[1]
    return key.value if isinstance(key, ir.Const) and isinstance(key.value, str) else None


def reached(value: Any) -> Iterator[int]:
    """The identities of a container or object and of the containers and objects in it, the value's own first."""
    seen, left = {id(value)}, [value]
    yield id(value)
    for found in left:
        for item in inside(found):
            if id(item) not in seen:
                seen.add(id(item))
                left.append(item)
                yield id(item)


def inside(value: Any) -> Iterator[Any]:
    """What a container or object holds that may hold text."""
    if isinstance(value, list | tuple | deque | dict) or is_place(value):
        yield from (v for _, v in entries(value) if not isinstance(v, str | bytes | int | float | complex | np.generic))


def used_names(stmt: ir.Stmt) -> set[str]:
    """The names that a statement itself reads."""
    return {n for e in ir.expressions(stmt) for n in ir.reads(e)} | set(getattr(stmt, "reads", ()))


def is_load(value: ir.Apply) -> bool:
    """Whether an operation reads what a container or object holds."""
    if isinstance(value.callee, PlaceCall):
        return not value.callee.operation.stores or value.callee.operation.name in ("pop", "pop_left", "set_default")
    return isinstance(value.spelled, ir.Item | ir.Attr) or isinstance(value.callee, _LOADS)


_LOADS = (Load, PathLoad, Pull, Drain, Relay, Move)


def number_of_text(stmt: Any) -> Exception:
    """The refusal of a number that a statement or a function makes of text: its derivative would be lost."""
    return refuse(
        UnsupportedSyntaxError,
        "text that was made of a value with a derivative is used in a computation",
        stmt.origin,
        "The derivative is lost in the text.",
        "Use the value itself, or stop_gradient() of it.",
    )


def _reads(expr: Any) -> Iterator[str]:
    if isinstance(expr, tuple):
        for e in expr:
            yield from _reads(e)
    elif isinstance(expr, ir.Expr):
        yield from ir.reads(expr)
