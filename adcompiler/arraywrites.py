"""The reverse of writes into arrays whose cotangents are in shadows.

What a write overwrote has no influence any more: its adjoint *takes* what is in the window of the place (a copy, and
zeros are left), and gives it to what was written.  Contributions are complete before anything is added, and nothing is
ever lent out of a shadow.

    y[1:] = v                       v_bar = fit(take(y_shadow, slice(1, None)), v_shape)
    y += v                          v_bar = y_shadow.copy()
    y *= v                          y_bar = take(y_shadow, ...)
                                    y_shadow += y_bar * v; v_bar = y_bar * y_1
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.bars import Bar, Code, State
from adcompiler.callees import InertCall, Into, PairCall, RuleCall, WriteCall, in_place
from adcompiler.cotangents import ACCUMULATE, is_there
from adcompiler.decide import is_basic_index
from adcompiler.errors import MutationError, refuse
from adcompiler.lattice import Array, IntArray, Number, is_real, is_scalar, numeric, shape_of
from adcompiler.runtime import fit
from adcompiler.runtime.apart import is_part
from adcompiler.runtime.shapes import real
from adcompiler.runtime.shapes import shape as shape_of_value
from adcompiler.runtime.writes import STORE, WRITES
from adcompiler.runtime.writes_indexed import take
from adcompiler.runtime.writes_values import check_errors, check_float, check_integers, check_out, check_strides
from adcompiler.runtime.writes_whole import kept_mask, put_into, take_where
from adcompiler.saving import Region
from adcompiler.shadowing import is_view
from adcompiler.structures import Structures
from adcompiler.transfer import result_kind

_TAKE = ir.Static(take, "take")
_FIT = ir.Static(fit, "fit")
_REAL = ir.Static(real, "real")
_SHAPE = ir.Static(shape_of_value, "shape")
_KEPT_MASK = ir.Static(kept_mask, "kept_mask")
_TAKE_WHERE = ir.Static(take_where, "take_where")
_IS_PART = ir.Static(is_part, "is_part")
_PUT_INTO = ir.Static(put_into, "put_into")
_CHECK = ir.Static(check_float, "check_float")
_CHECK_OUT = ir.Static(check_out, "check_out")
_CHECK_ERRORS = ir.Static(check_errors, "check_errors")
_CHECK_STRIDES = ir.Static(check_strides, "check_strides")
_CHECK_INTEGERS = ir.Static(check_integers, "check_integers")
_ALL = ir.Const(...)
ELEMENTWISE = ("elementwise", "elementwise_real", "where")  # kinds of rules whose results broadcast their operands
# Functions that are no ufuncs, and do not look whether the buffer is one of their operands.
_PART_BY_PART = ("concatenate", "stack", "choose", "compress", "take")
_FILLED = ("zeros", "ones", "empty", "linspace")
_FLOATS_OF_FLOATS = ("elementwise", "matmul")  # kinds of rules: with one operand of floats the result has floats


class ArrayWrites(Structures):
    """Adds writes into arrays to what is reversed."""

    caught: int  # how many `try` and `with` around the statement at hand may catch its exceptions

    @abstractmethod
    def assigned(self, stmt: ir.Assign, state: State) -> tuple[Code, Code, State]:
        """The reverse of an assignment whose target has a cotangent of its own."""

    # --- a[i] = v ---------------------------------------------------------------------------------------

    def stmt_Store(self, stmt: ir.Store, state: State, region: Region) -> tuple[Code, Code, State]:
        if stmt.kinds is None or not isinstance(stmt.place.value, ir.Name) or not self.is_hot(stmt.place.value.id):
            return [*self.checked_integers(stmt, stmt.place.value), stmt], [], state
        array = stmt.place.value.id
        _, index_kind, _ = stmt.kinds
        if isinstance(stmt.place, ir.Attr):
            return self.by_runtime(stmt, WRITES.get(("set", stmt.place.name)), [stmt.place.value, stmt.value], state)
        if is_basic_index(index_kind) is not True:
            return self.by_runtime(stmt, STORE, [stmt.place.value, stmt.place.index, stmt.value], state)
        if self._is_self(stmt):
            return [stmt], [], state
        return self._stored(stmt, array, state)

    def _stored(self, stmt: ir.Store, array: str, state: State) -> tuple[Code, Code, State]:
        """A store at a basic index."""
        assert isinstance(stmt.place, ir.Item)
        assert stmt.kinds is not None
        obj, index_kind, kind = stmt.kinds
        window, index = self.window(array), self.primal(stmt.place.index)
        place = ir.Item(window, index)
        if not self._is_on(stmt.value):
            return [stmt], [ir.Store(place, ir.Const(0.0))], state
        assert isinstance(stmt.value, ir.Name)
        forward: Code = [stmt]
        if not self.surely_float(array):
            forward.insert(0, ir.Do(ir.Call(_CHECK, (stmt.place.value,)), stmt.origin))
        if self.is_hot(stmt.value.id) and not is_scalar(kind):
            forward.insert(0, ir.Do(ir.Call(_CHECK_STRIDES, (stmt.place, stmt.value)), stmt.origin))
        element = self.spec.program.element(result_kind("getitem", {"x": obj, "index": index_kind}, object()))
        fresh = self.names.fresh("c")
        taken: ir.Expr = ir.Name(fresh)
        code: Code = [ir.Assign(fresh, place), ir.Store(place, ir.Const(0.0))]
        if not is_scalar(element):
            code = [ir.Assign(fresh, ir.Call(_TAKE, (window, ir.as_argument(index))))]
            if shape_of(kind) is None or shape_of(kind) != shape_of(element):
                self.sizes[stmt.value.id] = kind
                shape = ir.Const(()) if is_scalar(kind) else self.shape_fact(stmt.value.id, after=False)
                taken = ir.Call(_FIT, (taken, shape))
        if is_real(kind) and not is_real(obj):
            taken = ir.Call(_REAL, (taken,))
        self.add(stmt.value.id, taken, state, code, kind=kind)
        return forward, code, state

    def checked_integers(self, stmt: ir.Stmt, array: ir.Expr) -> Code:
        """A test that integers which are written are not floats in memory, where floats with derivatives may be."""
        if not isinstance(array, ir.Name) or not isinstance(
            numeric(self.spec.name_kinds.get(array.id)), IntArray | Number
        ):
            return []
        node = self.aliases.node(stmt, array.id)
        shared = node is not None and self.aliases.sharing(stmt, array.id) & self.active - {array.id}
        return [ir.Do(ir.Call(_CHECK_INTEGERS, (array,)), stmt.origin)] if shared else []

    def surely_float(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether an array surely holds floats: an argument that does, or what operations on such give."""
        kind = numeric(self.spec.name_kinds.get(name))
        if not isinstance(kind, Array) or name in seen:
            return name in seen
        seen = seen | {name}
        made = [s for s in ir.statements(self.spec.body) if name in ir.bound(s)]
        return all(
            isinstance(s, ir.Assign) and self._gives_floats(s, seen) for s in made if not getattr(s, "augmented", 0)
        )

    def _gives_floats(self, stmt: ir.Assign, seen: frozenset[str]) -> bool:
        value = stmt.value
        if isinstance(value, ir.Name):
            return self.surely_float(value.id, seen)
        if not isinstance(value, ir.Apply) or not isinstance(value.spelled, ir.Call | ir.Op | ir.Item):
            return False
        if isinstance(value.callee, InertCall):
            spelled = value.spelled
            filled = isinstance(spelled, ir.Call) and isinstance(spelled.func, ir.Attr) and spelled.func.name in _FILLED
            return filled and len(value.args) == 1
        if not isinstance(value.callee, RuleCall) or not value.callee.rule.builtin:
            return False
        if value.callee.rule.kind not in _FLOATS_OF_FLOATS and value.callee.key not in (np.copy, np.ndarray.copy):
            return False
        return any(isinstance(a, ir.Name) and self.surely_float(a.id, seen) for a in value.args)

    def _is_on(self, value: Any) -> bool:
        return isinstance(value, ir.Name) and value.id in self.active

    def _is_self(self, stmt: ir.Store) -> bool:
        """Whether a view is stored into itself, as an augmented assignment does: `t = y[1:]; t += v; y[1:] = t`."""
        frame = self.saver.frames[-1]
        if frame.index < 2 or not isinstance(stmt.value, ir.Name):
            return False
        read, total = frame.block[frame.index - 2 : frame.index]
        if not (isinstance(total, ir.Assign) and total.augmented and total.target == stmt.value.id):
            return False
        if not (isinstance(read, ir.Assign) and read.target == stmt.value.id and is_view(read.value, read.kind)):
            return False
        assert isinstance(read.value, ir.Apply)
        return repr(read.value.spelled) == repr(stmt.place)

    # --- a op= v ----------------------------------------------------------------------------------------

    def updated(self, stmt: ir.Assign, state: State) -> tuple[Code, Code, State] | None:
        """An augmented assignment of hot memory; None for all other statements."""
        value = stmt.value
        if not in_place(stmt) or not isinstance(value, ir.Apply):
            return None
        if not self.hot or not self.is_hot(stmt.target):
            checked = self.checked_integers(stmt, ir.Name(stmt.target))
            return None if not checked else ([*checked, stmt], [], state)
        target = stmt.target
        bar = ir.Name(self.bar(target))
        operand = value.args[1]
        spelled = value.spelled
        linear = isinstance(spelled, ir.Op) and spelled.op in ("+", "-") and ir.Name(target) != operand
        if self.is_shadowed(value.kinds[0]) and linear and isinstance(value.callee, RuleCall):
            if not self._is_on(operand):
                return [stmt], [], state
            code: Code = [ir.Assign(bar.id, ir.Call(ir.Attr(self.window(target), "copy")))]
            state = state | {target: Bar(owned=True)}
            active, self.active = self.active, self.active - {target}
            forward, more, state = self.assigned(stmt, state)
            self.active = active
            forward = [*self.checked_errors(stmt), *forward]
            return self.put_back(forward, ir.Name(target), stmt), code + more, state
        call = self.at_table("take_array", self.reference(target, after=True))
        if target in state:
            call = ir.Call(ACCUMULATE, (bar, call))
        state = state | {target: Bar(maybe=True)}
        forward, more, state = self.assigned(stmt, state)
        forward = [*self.checked_errors(stmt), *self.put_back(forward, ir.Name(target), stmt)]
        return forward, [ir.Assign(bar.id, call), *more], state

    def checked_errors(self, stmt: ir.Stmt) -> Code:
        """Where exceptions are caught, an operation must not raise after it has written."""
        return [ir.Do(ir.Call(_CHECK_ERRORS, ()), stmt.origin)] if self.caught else []

    def put_back(self, forward: Code, old: ir.Expr, stmt: ir.Assign, how: tuple[tuple[str, ir.Expr], ...] = ()) -> Code:
        """A forward in which a rule that is called gives a new value: an array takes that over.

        Of an array that is not contiguous the last bits may be others, if it is written by the operation itself.
        """
        made = forward[-1]
        if not isinstance(made, ir.Unpack):
            return forward
        assert isinstance(made.target, ir.Targets)
        target, *others = made.target.items
        assert isinstance(target, str)
        fresh = self.names.fresh("t")
        put = ir.Assign(target, ir.Call(_PUT_INTO, (old, ir.Name(fresh)), how), made.origin)
        either = ir.If(ir.Call(_IS_PART, (old,)), (stmt,), (put,), made.origin)
        return [*forward[:-1], replace(made, target=ir.Targets((fresh, *others))), either]

    # --- out= -------------------------------------------------------------------------------------------

    def written_out(self, stmt: ir.Assign, state: State) -> tuple[Code, Code, State] | None:
        """`y = f(x, out=a)`; None for all other statements."""
        value = stmt.value
        if not isinstance(value, ir.Apply) or not isinstance(value.callee, Into):
            return None
        out = value.callee.out
        if not self.hot or not self.is_hot(out.id):
            return [stmt], [], state
        alone = value.callee.inner
        inner, kind = alone.callee, alone.kind
        applied = replace(alone, spelled=value.spelled)
        checked = self.checked_errors(stmt)
        if isinstance(inner, RuleCall) and getattr(inner.key, "__name__", "") in _PART_BY_PART:
            operands = [a for part in alone.args for a in (part if isinstance(part, tuple) else (part,))]
            names = tuple(a for a in operands if isinstance(a, ir.Name))
            checked += [ir.Do(ir.Call(_CHECK_OUT, (out, *names)), stmt.origin)]
        if not self.surely_float(out.id):
            checked += [ir.Do(ir.Call(_CHECK, (out,)), stmt.origin)]
        if value.callee.where is not None:
            return self.written_where(stmt, alone, state, checked)
        if isinstance(inner, InertCall) or not self.is_active(applied):
            return [*checked, stmt], [ir.Store(ir.Item(self.window(out.id), _ALL), ir.Const(0.0))], state
        widened = isinstance(inner, RuleCall) and inner.rule.kind in ELEMENTWISE
        if widened and not (shape_of(kind) == shape_of(value.kinds[-1]) is not None):
            return self.spread_out(stmt, replace(stmt, value=alone, kind=kind), state, checked)
        taken = ir.Assign(self.bar(stmt.target), self.at_table("take_array", self.reference(out.id)))
        state = {**state, stmt.target: Bar(maybe=True)}
        forward, code, state = self.assigned(replace(stmt, value=applied, kind=kind), state)
        forward = self.put_back(forward, out, stmt)
        return [*checked, *forward], [taken, *code], state

    def spread_out(self, stmt: ir.Assign, computed: ir.Assign, state: State, checked: Code) -> tuple[Code, Code, State]:
        """As `written_out`, of a result that the buffer may hold several times, so that it is computed by itself."""
        assert isinstance(stmt.value, ir.Apply)
        out, made = stmt.value.callee.out, self.names.fresh("t")
        region = self.saver.frames[-1].region
        region.bound |= {made}
        shape = self.saver.kept(f"{made}_shape", ir.Call(_SHAPE, (ir.Name(made),)))
        taken = ir.Assign(self.bar(made), self.at_table("take_array", self.reference(out.id)))
        if computed.kind is not None:
            self.sizes[made] = computed.kind
        fitted = ir.Assign(self.bar(made), ir.Call(_FIT, (ir.Name(self.bar(made)), ir.Name(shape))))
        state = {**state, made: Bar(maybe=True)}
        forward, code, state = self.assigned(replace(computed, target=made), state)
        put = ir.Assign(stmt.target, ir.Call(_PUT_INTO, (out, ir.Name(made))), stmt.origin)
        either = ir.If(ir.Call(_IS_PART, (out,)), (stmt,), (put,), stmt.origin)
        return [*checked, *forward, either], [taken, ir.If(is_there(self.bar(made)), (fitted,), ()), *code], state

    def written_where(
        self, stmt: ir.Assign, applied: ir.Apply, state: State, checked: Code
    ) -> tuple[Code, Code, State]:
        """`f(x, out=a, where=mask)`: what is not written keeps its cotangent."""
        assert isinstance(stmt.value, ir.Apply)
        out, where = stmt.value.callee.out, stmt.value.callee.where
        mask = self.saver.before(self.names.fresh("mask"), ir.Call(_KEPT_MASK, (where,)))
        bar = ir.Name(self.bar(stmt.target))
        taken = ir.Assign(bar.id, ir.Call(_TAKE_WHERE, (self.window(out.id), ir.Name(mask))))
        if isinstance(applied.callee, InertCall) or not self.is_active(applied):
            return [*checked, stmt], [taken], state
        state = {**state, stmt.target: Bar()}
        forward, code, state = self.assigned(replace(stmt, value=applied, kind=applied.kind), state)
        return [*checked, *self.put_back(forward, out, stmt, (("where", where),))], [taken, *code], state

    # --- functions --------------------------------------------------------------------------------------

    def stmt_Do(self, stmt: ir.Do, state: State, region: Region) -> tuple[Code, Code, State]:
        value = stmt.value
        if isinstance(value, ir.Apply) and isinstance(value.callee, PairCall) and self.table and self.is_active(value):
            if self.callee_pair(value).shared:
                unused = ir.Assign(self.names.fresh("t"), value, stmt.origin, kind=value.kind)
                return self.tracked_call(unused, state)
        if not isinstance(value, ir.Apply) or not isinstance(value.callee, WriteCall):
            return [stmt], [], state
        return self.by_runtime(stmt, value.callee.write, value.args, state, value.callee.operands)

    def by_runtime(
        self, stmt: Any, write: Any, args: Any, state: State, given: tuple[str, ...] | None = None
    ) -> tuple[Code, Code, State]:
        """A write that the run time knows: `saved = keep(a, v)` before it, `v_bar, = reverse(a_shadow, saved)`."""
        array, *operands = args
        if not isinstance(array, ir.Name) or not self.is_hot(array.id):
            return [stmt], [], state
        if write is None:
            raise refuse(
                MutationError,
                f"the attribute .{stmt.place.name} of an array is assigned",
                stmt.origin,
                "What it changes is not followed.",
                "Use reshape() or astype().",
            )
        saved = self.names.fresh("saved")
        self.saver.mark(saved)
        by_name = dict(zip(write.operands if given is None else given, operands, strict=True))
        first = list(itertools.takewhile(by_name.__contains__, write.operands))
        named = tuple((name, ir.as_argument(value)) for name, value in by_name.items() if name not in first)
        places = map(ir.as_argument, (array, *(by_name[name] for name in first)))
        keep = ir.Call(ir.Static(write.keep, write.keep.__name__), tuple(places), named)
        code: Code = []
        back = ir.Call(ir.Static(write.reverse, write.reverse.__name__), (self.window(array.id), ir.Name(saved)))
        given_to = [by_name.get(name) for name in write.operands]
        names = [o.id if isinstance(o, ir.Name) and o.id in self.active else None for o in given_to]
        if any(names):
            self.distribute(names, [True] * len(names), back, state, code)
        else:
            code.append(ir.Do(back))
        return [ir.Assign(saved, keep, stmt.origin), stmt], code, state


__all__ = ["ELEMENTWISE", "ArrayWrites"]
