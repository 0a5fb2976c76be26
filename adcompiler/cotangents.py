"""Cotangents while the reverse is written: taking, adding, and what the forward must keep for them.

`state` maps the names whose cotangents are not statically zero to what is known of each (see `bars`); `code` is the
reverse written so far.  The value of a name is asked for by `primal`, facts about it by `shape_fact` and `length_fact`;
both make the forward save what they need.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.alias import alias
from adcompiler.aliases import OUTSIDE, Aliases
from adcompiler.bars import Bar, Code, State, adapt, meet_states
from adcompiler.callees import InertCall, Iteration, PairCall
from adcompiler.lattice import Array, IntArray, Kind, is_plain, is_real, is_scalar, numeric
from adcompiler.names import Names
from adcompiler.overwritten import Order, is_reached
from adcompiler.quiet import is_quiet
from adcompiler.runtime import accumulate, broadcast
from adcompiler.runtime.containers import form, real_part, snapshot
from adcompiler.runtime.held import all_as_it_was, as_it_was
from adcompiler.runtime.shapes import shape
from adcompiler.saving import Region, Saver
from adcompiler.spec import Spec

# The builtins as they are, whatever the user's module calls by their names.
LEN = ir.Static(len, "len")
RANGE = ir.Static(range, "range")
REVERSED = ir.Static(reversed, "reversed")
ACCUMULATE = ir.Static(accumulate, "accumulate")
SNAPSHOT = ir.Static(snapshot, "snapshot")


class Cotangents:
    """The cotangents of one specialisation's names, and the values that its reverse reads."""

    def __init__(self, spec: Spec, names: Names, saver: Saver, aliases: Aliases) -> None:
        self.spec = spec
        self.names = names
        self.saver = saver
        self.aliases = aliases
        self.stmt: Any = None
        self.active: frozenset[str] = frozenset()
        self.bar_names: dict[str, str] = {}
        self.counters: dict[Any, str] = {}  # by loop; by loop and list, how many items this had there
        self.numbers: dict[int, dict[str, str]] = {}
        self.regions: list[Region] = []
        self.owned_requests: list[set[str]] = []
        self.paths: dict[tuple[str, Any], str] = {}
        self.sizes: dict[str, Kind] = {}
        self.zeros: frozenset[str] = frozenset()
        self.junk = names.unique("_")
        self.outside_written = any(alias(s).writes_outside for s in spec.program.specs.values())
        self.taken_unsure: set[str] = set()
        self.order: Order | None = None
        self.hot: frozenset[str] = frozenset()  # the alias classes whose cotangents are in shadows
        self.over = False  # whether what the function is given or gives may be written into before its pullback runs

    # --- cotangents -------------------------------------------------------------------------------------

    def bar(self, name: str) -> str:
        """The name of a variable's cotangent."""
        if name not in self.bar_names:
            self.bar_names[name] = self.names.unique(f"{name}_bar")
        return self.bar_names[name]

    def take(self, name: str, state: State) -> Bar | None:
        """Take a cotangent: it is zero from here on."""
        bar = state.pop(name, None)
        if bar is not None and bar.maybe:
            self.taken_unsure.add(name)
        return bar

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
        """Add a contribution to a cotangent."""
        if kind is not None:
            self.sizes[name] = kind
        bar, have = self.bar(name), state.get(name)
        if have is None:
            fresh = isinstance(value, ir.Op) and not lazy
            state[name] = Bar(maybe, lazy, fresh and not maybe, dense, complex_)
            if value != ir.Name(bar):
                code.append(ir.Assign(bar, value))
            return
        if not maybe and not have.maybe and numeric(kind) is not None:
            total: ir.Expr = ir.Op("+", (ir.Name(bar), value))
        else:
            total = ir.Call(ACCUMULATE, (ir.Name(bar), value))
        code.append(ir.Assign(bar, total))
        # What may be None leaves the other one as it is.
        unsure = maybe or have.maybe
        both_lazy = (lazy or have.lazy) if unsure else (lazy and have.lazy)
        # An owned one is never None, so that its sum with anything is new, or is the buffer itself.
        owned_ = (isinstance(total, ir.Op) or have.owned) and not both_lazy
        state[name] = Bar(maybe and have.maybe, both_lazy, owned_, False, complex_ or have.complex)

    def distribute(
        self,
        names: list[str | None],
        maybe: list[bool],
        call: ir.Expr,
        state: State,
        code: Code,
        real_items: list[bool] | None = None,
    ) -> None:
        """Unpack the cotangents that a call returns and add each to its name's.

        None stands for one that is not wanted; `real_items` says of which only the real part is taken.
        """
        targets: list[str] = []
        later: list[tuple[str, ir.Expr, bool]] = []
        for name, unsure, real_item in zip(names, maybe, real_items or [False] * len(names), strict=True):
            if name is None:
                targets.append(self.junk)
                continue
            direct = not real_item and name not in state and self.bar(name) not in targets
            targets.append(self.bar(name) if direct else self.names.fresh("c"))
            item: ir.Expr = ir.Name(targets[-1])
            if real_item:
                item = ir.Call(ir.Static(real_part, "real_part"), (item,))
            later.append((name, item, unsure))
        code.append(ir.Unpack(ir.Targets(tuple(targets)), call))
        for name, item, unsure in later:
            self.add(name, item, state, code, maybe=unsure)

    def materialise(self, name: str, after: bool, maybe: bool = False) -> ir.Stmt:
        """Bring a lazy cotangent to its value's shape."""
        full = ir.Call(ir.Static(broadcast, "broadcast"), (ir.Name(self.bar(name)), self.shape_fact(name, after)))
        if maybe:
            return ir.If(is_there(self.bar(name)), (ir.Assign(self.bar(name), full),), ())
        return ir.Assign(self.bar(name), full)

    def materialise_all(self, state: State, after: bool) -> Code:
        """Bring all lazy cotangents to their values' shapes."""
        out: Code = []
        for name, bar in state.items():
            if bar.lazy:
                state[name] = replace(bar, lazy=False)
                out.append(self.materialise(name, after, bar.maybe))
        return out

    # --- where paths meet -------------------------------------------------------------------------------

    def met(self, a: State, b: State) -> State:
        """The cotangents where two paths meet."""
        return meet_states(a, b, self.zeros)

    def adapted(self, state: State, wanted: State) -> Code:
        """The statements that bring the cotangents of a path to what is wanted where it meets another."""
        return adapt(state, wanted, self.bar, self.zeros)

    def if_present(self, bar: str, code: Code, inner: State, outer: State) -> tuple[Code, State]:
        """Reverse code that runs only if a cotangent is there."""
        joined = self.met(inner, outer)
        code = code + self.adapted(inner, joined)
        return [ir.If(is_there(bar), tuple(code), tuple(self.adapted(outer, joined)))], joined

    # --- values of the forward --------------------------------------------------------------------------

    def shape_fact(self, name: str, after: bool) -> ir.Expr:
        """The shape of a value, kept by the forward."""
        attribute = isinstance(numeric(self.sizes.get(name)), Array | IntArray)
        expr: ir.Expr = ir.Attr(ir.Name(name), "shape")
        if not attribute:
            expr = ir.Call(ir.Static(shape, "shape"), (ir.Name(name),))
        return ir.Name(self.saver.fact(name, "shape", expr, after))

    def form_fact(self, name: str) -> ir.Expr:
        """The shape of an array or the length of a list, for what may be either; kept by the forward."""
        call = ir.Call(ir.Static(form, "form"), (ir.Name(name),))
        return ir.Name(self.saver.fact(name, "form", call, False))

    def length_fact(self, name: str) -> ir.Expr:
        """The length of a list, kept by the forward."""
        return ir.Name(self.saver.fact(name, "len", ir.Call(LEN, (ir.Name(name),)), False))

    def primal(self, expr: Any, kind: Kind | None = None) -> ir.Expr:
        """An operand as the reverse reads it: names under the name that still holds their value."""
        match expr:
            case ir.Name(name):
                return ir.Name(self.saver.value(name, False, self.snapshot_for(name, kind)))
            case ir.Global(name):
                return ir.Name(self.global_value(name))
            case tuple():
                return ir.Seq("tuple", tuple(map(self.primal, expr)))
        return ir.rebuild(expr, self.primal)

    def global_value(self, name: str) -> str:
        """A global as it was when the forward started, or was read if the program writes to globals."""
        if self.outside_written:
            value = ir.Call(SNAPSHOT, (ir.Global(name),))
            return self.saver.before(self.names.fresh(name + "_"), value)
        frame = self.saver.frames[0]
        key = ("global", name)
        if key not in frame.copies:
            kept = self.names.fresh(name + "_")
            frame.copies[key] = (kept, 0, ir.Global(name), False)
            frame.region.saved[kept] = None
            if frame.region.open:
                frame.region.unset[kept] = None
        return frame.copies[key][0]

    def snapshot_for(self, name: str, kind: Kind | None, after: bool = False) -> Any:
        """The copying function for a value whose memory may be written later, else None."""
        kind = kind if kind is not None else self.spec.name_kinds.get(name)
        if self.spec.program.writes_places and kind is not None and not is_plain(kind):
            return all_as_it_was if self.may_be_written(name, after) else as_it_was
        return snapshot if not is_scalar(kind) and self.may_be_written(name, after) else None

    def may_be_written(self, name: str, after: bool = False) -> bool:
        """Whether the memory of a value may be written into after it was read here, and before the pullback runs."""
        if self.over and self.aliases.is_exposed(self.stmt, name, after):
            return True
        node = self.aliases.node(self.stmt, name, after)
        if node is None:
            return self.aliases.is_written(self.stmt, name, after, self.outside_written)
        root = self.aliases.find(node)
        if self.outside_written and root == self.aliases.find(OUTSIDE):
            return True
        if self.order is None:
            self.order = Order(self.spec.body)
        return is_reached(self.order, self.aliases, self.stmt, root, after)

    def is_written_here(self, name: str) -> bool:
        """Whether the statement at hand writes into the memory of a value."""
        root = self.aliases.find(self.aliases.node(self.stmt, name) or name)
        written = self.aliases.written.items()
        return any(id(self.stmt) in by and self.aliases.find(node) == root for node, by in written)

    # --- what is known of names -------------------------------------------------------------------------

    def is_active(self, value: Any) -> bool:
        """Whether an expression reads something active and is differentiated."""
        if isinstance(value, ir.Apply):
            if isinstance(value.callee, InertCall | Iteration):
                return False
            if (
                isinstance(value.callee, PairCall)
                and self.spec.program.places_active
                and not is_quiet(value.callee.spec)
            ):
                return True  # it may read what others have stored
            if isinstance(value.callee, PairCall) and self.spec.program.outside_hot:
                if alias(value.callee.spec).reads_outside:
                    return True
            return any(self.is_active(a) for a in value.args)
        if isinstance(value, tuple):
            return any(self.is_active(v) for v in value)
        if isinstance(value, ir.Verbatim):
            return False
        return isinstance(value, ir.Expr) and any(n in self.active for n in ir.reads(value))

    def may_be_complex(self, name: str) -> bool:
        """Whether a name may hold a complex number somewhere, so that its cotangent may be complex where it is real."""
        kind = numeric(self.spec.name_kinds.get(name))
        return kind is not None and not is_real(kind)


def is_there(bar: str) -> ir.Expr:
    """The test whether a cotangent that may be None is one."""
    return ir.Op("is not", (ir.Name(bar), ir.Const(None)))
