"""Cotangents of arrays in hot memory: windows of shadows, which the table of cotangents keeps by block of memory.

The forward notes where an array lies, and the reverse adds into its window of the block's shadow:

    y_at = refer(y)                         y_shadow = bars.window(y_at)
    t = y[1:]                               t_shadow = y_shadow[1:]
    s = t * w                               t_shadow += s_bar * w

A name in hot memory has no variable for its cotangent.  Where the name is bound to something new, what is in its window
is taken out, and becomes the cotangent of the operation; where it is bound to memory that was there before (a view, an
item of a list), the window is that of the memory, and nothing is to be done.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.aliases import OUTSIDE
from adcompiler.bars import Bar, Code, State
from adcompiler.callees import Build, Copied, InertCall, Into, Load, Make, PairCall, PathLoad, PlaceCall, RuleCall
from adcompiler.cotangents import ACCUMULATE, Cotangents
from adcompiler.decide import is_basic_index
from adcompiler.lattice import Array, Closure, Kind, TupleOf, is_real, numeric
from adcompiler.runtime.containers import from_items
from adcompiler.runtime.held import hold, hold_arrays
from adcompiler.runtime.shadows import add_into, real_like, refer
from adcompiler.runtime.shapes import real

REFER = ir.Static(refer, "refer")
_ADD_INTO = ir.Static(add_into, "add_into")
_REAL_LIKE = ir.Static(real_like, "real_like")
_REAL = ir.Static(real, "real")
HOLD = ir.Static(hold, "hold")
HOLD_ARRAYS = ir.Static(hold_arrays, "hold_arrays")


class Shadowing(Cotangents):
    """Adds shadows to `Cotangents`."""

    table = ""

    def at_table(self, method: str, *args: ir.Expr) -> ir.Expr:
        """A call of a method of the table."""
        return ir.Call(ir.Attr(ir.Name(self.table), method), args)

    def is_hot(self, name: str, after: bool = False) -> bool:
        """Whether what a name refers to just before (or after) the statement at hand is hot."""
        if not self.hot:
            return False
        node = self.aliases.node(self.stmt, name, after)
        if node is None:
            nodes = self.aliases.named(name) + ([OUTSIDE] if name in self.spec.function.cells else [])
            return any(self.aliases.find(n) in self.hot for n in nodes)
        return self.aliases.find(node) in self.hot

    def is_shadowed(self, kind: Kind | None, name: str = "") -> bool:
        """Whether a value in hot memory is surely an array, whose cotangent is nowhere but in its shadow.

        Of one that may have elements several times, as `broadcast_to` gives it, there is no window to be added to.
        """
        return isinstance(numeric(kind), Array) and name not in self.repeating

    @functools.cached_property
    def repeating(self) -> frozenset[str]:
        """The names that may refer to arrays with repeated elements."""
        found: set[str] = set()
        while True:
            before = len(found)
            for stmt in ir.statements(self.spec.body):
                if isinstance(stmt, ir.Assign | ir.Unpack) and _repeats(stmt.value, found):
                    found |= ir.bound(stmt)
            if len(found) == before:
                return frozenset(found)

    # --- windows ----------------------------------------------------------------------------------------

    def reference(self, name: str, after: bool = False) -> ir.Expr:
        """Where an array lies, as the forward notes it."""
        return ir.Name(self.saver.fact(name, "at", ir.Call(REFER, (ir.Name(name),)), after))

    def window(self, name: str, after: bool = False) -> ir.Name:
        """The variable of an array's window in the reverse."""
        if not after and (view := self._view(name)) is not None:
            return view
        at = self.reference(name, after)
        assert isinstance(at, ir.Name)
        region = self.saver.home(name).region
        if at.id not in region.windows:
            shadow = self.names.unique(f"{name}_shadow")
            region.windows[at.id] = ir.Assign(shadow, self.at_table("window", at))
        return ir.Name(region.windows[at.id].target)

    def _view(self, name: str) -> ir.Name | None:
        """The window of a basic index of an array, if it was taken in the same block and nothing was rebound since."""
        frame = self.saver.frames[-1]
        for k in reversed(range(frame.index)):
            stmt = frame.block[k]
            if name not in ir.bound(stmt):
                continue
            if not (isinstance(stmt, ir.Assign) and stmt.target == name and is_view(stmt.value, stmt.kind)):
                return None
            value = stmt.value
            assert isinstance(value, ir.Apply)
            changed = ir.bound_in(frame.block[k : frame.index])
            array, index = value.args
            if not isinstance(array, ir.Name) or changed & {array.id, *ir.reads(index)}:
                return None
            if any(self.aliases.is_written(stmt, n) for n in ir.reads(index)):  # an array of shape ()
                return None
            if ir.Name(name) == array or not self.is_hot(array.id) or array.id in self.repeating:
                return None
            # Asked for each time: what lies earlier in the forward has to be kept earlier.
            whole, place = self.window(array.id), self.primal(index)
            if (name, k) not in frame.views:
                shadow = self.names.unique(f"{name}_shadow")
                frame.views[name, k] = ir.Assign(shadow, ir.Item(whole, place))
            return ir.Name(frame.views[name, k].target)
        return None

    # --- contributions ----------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        value: ir.Expr,
        state: State,
        code: Code,
        lazy: bool = False,
        maybe: bool = False,
        dense: bool = False,
        kind: Kind | None = None,
        complex_: bool = False,
    ) -> None:
        if not self.is_hot(name):
            super().add(name, value, state, code, lazy, maybe, dense, kind, complex_)
            return
        kind = kind if numeric(kind) is not None else self.spec.name_kinds.get(name)
        if self.is_shadowed(kind, name):
            if maybe:
                code.append(ir.Do(self.at_table("add_array", self.reference(name), value)))
            else:
                window = self.window(name)
                if self.spec.program.on_device and (items := _items(value)) is not None:
                    code.append(ir.Do(ir.Call(_ADD_INTO, (window, items))))
                    return
                value = self.as_real(value, window, kind)
                code.append(ir.Assign(window.id, ir.Op("+", (window, value)), augmented=True))
            return
        if numeric(kind) is not None:
            rest = self.at_table("add_array", self.reference(name), value)
        else:
            rest = self.at_table("give", self.held_arrays(name), value)
        super().add(name, rest, state, code, maybe=True, kind=kind)

    def as_real(self, value: ir.Expr, window: ir.Expr, kind: Kind | None) -> ir.Expr:
        """What is added into the window of an array, where complex numbers are about: of a real array the real part."""
        if not self.mixes:
            return value
        return ir.Call(_REAL, (value,)) if is_real(kind) else ir.Call(_REAL_LIKE, (value, window))

    @functools.cached_property
    def mixes(self) -> bool:
        """Whether the program may compute with complex numbers."""
        kinds = (k for s in self.spec.program.specs.values() for k in (*s.kinds, *s.name_kinds.values()))
        return any(numeric(k) is not None and not is_real(k) for k in kinds)

    def held_arrays(self, name: str, after: bool = False) -> ir.Expr:
        """What a value holds now, and where the arrays in it lie; of a parameter, at the end, as it was given."""
        call = ir.Call(HOLD_ARRAYS, (ir.Name(name),))
        if not self.saver.frames:
            self.regions[0].saved[name] = None
            return call
        return ir.Name(self.saver.copied(name + "_held", call, after))

    def held_places(self, name: str) -> ir.Expr:
        """What of a value can be written into, but for arrays, as it is right after the statement at hand."""
        return ir.Name(self.saver.copied(name + "_held", ir.Call(HOLD, (ir.Name(name),)), after=True))

    def is_new(self, stmt: ir.Assign) -> bool:
        """Whether a statement makes an array in memory that nothing else refers to."""
        value, root = stmt.value, self.aliases.find(self.aliases.node(self.stmt, stmt.target, after=True) or "")
        if (
            not isinstance(value, ir.Apply)
            or not isinstance(value.callee, RuleCall)
            or value.callee.rule.result != "fresh"
        ):
            return False
        return all(self.aliases.find(self.aliases.node(self.stmt, n) or n) != root for n in ir.reads(value))

    def gives_hot(self, value: Any) -> bool:
        """Whether a compiled function gives arrays whose cotangents it takes from their shadows itself."""
        raise NotImplementedError

    # --- definitions ------------------------------------------------------------------------------------

    def defined(self, stmt: ir.Assign, state: State) -> Code:
        """What is in the window of a name that a statement binds to something new becomes its cotangent."""
        if not self.hot or not self.is_hot(stmt.target, after=True) or not self.is_active(stmt.value):
            return []
        if keeps_identity(stmt.value, stmt.kind) or self.gives_hot(stmt.value):
            return []
        bar = ir.Name(self.bar(stmt.target))
        if numeric(stmt.kind) is not None:
            fresh = self.is_new(stmt)
            call = self.at_table("release_array" if fresh else "take_array", self.reference(stmt.target, after=True))
        elif isinstance(stmt.kind, TupleOf) or self.spec.program.writes_places:
            call = self.at_table("release", self.held_arrays(stmt.target, after=True))
            if isinstance(stmt.value, ir.Apply) and isinstance(stmt.value.callee, PairCall):
                before = [self.held_arrays(n) for n in _functions_in(stmt.value) if self.is_hot(n)]
                if before:  # in hot memory nobody looks for what functions capture
                    held = self.held_arrays(stmt.target, after=True)
                    call = self.at_table("release_new", held, ir.Seq("tuple", tuple(before)))
                call = self.at_table("give", self.held_places(stmt.target), call)
        else:
            return []
        if stmt.target in state:
            call = ir.Call(ACCUMULATE, (bar, call))
        state[stmt.target] = Bar(maybe=True)
        return [ir.Assign(bar.id, call)]


def _functions_in(value: ir.Apply) -> list[str]:
    """The operands of a call that are local functions, or tuples with such."""
    pairs = zip(value.args, value.kinds, strict=True)
    return [n for arg, kind in pairs if _has_function(kind) for n in ir.reads(arg)]


def _has_function(kind: Kind | None) -> bool:
    return isinstance(kind, Closure) or (isinstance(kind, TupleOf) and any(map(_has_function, kind.items)))


def _items(value: ir.Expr) -> ir.Expr | None:
    """The items that a cotangent is made of, which may be none: they do not say in which library it is."""
    if isinstance(value, ir.Call) and isinstance(value.func, ir.Static) and value.func.value is from_items:
        return value.args[0]
    return None


_REPEATING = ("broadcast_to", "broadcast_arrays", "sliding_window_view")


def _repeats(value: Any, known: set[str]) -> bool:
    """Whether an operation may give an array with repeated elements, given the names that refer to such."""
    if isinstance(value, ir.Name):
        return value.id in known
    if not isinstance(value, ir.Apply):
        return False
    if isinstance(value.callee, RuleCall):
        if getattr(value.callee.key, "__name__", "") in _REPEATING:
            return True
        if value.callee.rule.result == "fresh":
            return False
    operands = [p for a in value.args for p in (a if isinstance(a, tuple) else (a,))]
    return any(n in known for operand in operands for n in ir.reads(operand))


def is_view(value: Any, kind: Kind | None) -> bool:
    """Whether a value is surely a view that basic indices give."""
    if not isinstance(value, ir.Apply) or not isinstance(value.callee, RuleCall):
        return False
    if getattr(value.callee.key, "__name__", "") != "getitem" or not isinstance(numeric(kind), Array):
        return False
    return is_basic_index(value.kinds[1]) is True and isinstance(numeric(value.kinds[0]), Array)


def keeps_identity(value: Any, kind: Kind | None) -> bool:
    """Whether what a value refers to was there before: a view, an item, another name, what a function captures."""
    if isinstance(value, ir.Name | ir.Global | ir.Static | ir.Attr | ir.Lambda):
        return True
    if not isinstance(value, ir.Apply):
        return False
    match value.callee:
        case Load() | PathLoad() | Build() | Make() | Into() | PlaceCall():
            return True
        case Copied(deep):
            return not deep and numeric(kind) is None
        case InertCall(declared=None):
            return isinstance(value.spelled, ir.Attr)  # of a class
        case RuleCall() as call:
            viewed = call.rule.builtin and call.rule.result == "view" and isinstance(numeric(kind), Array)
            return is_view(value, kind) or (viewed and isinstance(numeric(value.kinds[0]), Array))
    return False


def placed(code: Code, windows: dict[Any, ir.Assign]) -> Code:
    """Reverse code with the windows that it reads, each before the first statement that does.

    What only a branch reads is put there: on the other paths the forward may not have come to where the array is made.
    """
    out = list(code)
    for window in reversed(windows.values()):
        out = _with_window(out, window)
    return out


def _with_window(code: Code, window: ir.Assign) -> Code:
    at = [i for i, stmt in enumerate(code) if _mentions(stmt, window.target)]
    if not at:
        return code
    first = code[at[0]]
    if len(at) == 1 and isinstance(first, ir.If) and window.target not in ir.reads(first.test):
        body, orelse = (tuple(_with_window(list(part), window)) for part in (first.body, first.orelse))
        return [*code[: at[0]], replace(first, body=body, orelse=orelse), *code[at[0] + 1 :]]
    return [*code[: at[0]], replace(window, origin=first.origin), *code[at[0] :]]


def _mentions(stmt: ir.Stmt, name: str) -> bool:
    for inner in ir.statements((stmt,)):
        if isinstance(inner, ir.Assign) and inner.augmented and inner.target == name:
            return True
        if any(name in ir.reads(e) for e in ir.expressions(inner)):
            return True
    return False


__all__ = ["Shadowing", "keeps_identity", "placed"]
