"""The reverse of containers: displays, unpacking, items, and operations on them as wholes.

The cotangent of a tuple or list is a tuple or list with None where nothing arrived, of a dict a dict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adcompiler import ir
from adcompiler.bars import Bar, Code, State
from adcompiler.callees import Field
from adcompiler.cotangents import ACCUMULATE, LEN
from adcompiler.elements import CHECK_ITERATED, Elements, is_dict
from adcompiler.lattice import (
    Closure,
    Kind,
    ListOf,
    Observed,
    TupleOf,
    Unknown,
    is_real,
    numeric,
)
from adcompiler.runtime.containers import (
    array_shape,
    from_items,
    one_item,
    owned_dict,
    owned_list,
    real_part,
)
from adcompiler.runtime.moves import moved
from adcompiler.saving import Region


class Structures(Elements):
    """Adds what concerns containers and elements."""

    # --- displays and items -----------------------------------------------------------------------------

    def built(self, value: ir.Apply, y_bar: ir.Expr, bar: Bar, state: State, code: Code) -> None:
        """A display: each entry of its cotangent goes to its item."""
        if isinstance(value.spelled, ir.DictOf):
            self._built_dict(value, y_bar, state, code)
            return
        names = [
            a.id if isinstance(a, ir.Name) and a.id in self.active and not self.has_places(k) else None
            for a, k in zip(value.args, value.kinds, strict=True)
        ]
        real_items = [bar.complex and numeric(k) is not None and is_real(k) for k in value.kinds]
        self.distribute(names, [not bar.dense] * len(names), y_bar, state, code, real_items)

    def _built_dict(self, value: ir.Apply, y_bar: ir.Expr, state: State, code: Code) -> None:
        items = value.spelled.items  # type: ignore[attr-defined]
        if any(isinstance(item, ir.Name) and ir.Name(self.bar(item.id)) == y_bar for _, item in items):
            held = self.names.fresh("c")  # the display takes the name of one of its items
            code.append(ir.Assign(held, y_bar))
            y_bar = ir.Name(held)
        seen = set()
        # Of two values for one key the later one stays.
        for i in reversed(range(len(items))):
            key, item = items[i]
            if value.callee.keys is not None:
                constant = value.callee.keys[i]
                if constant in seen:
                    continue
                seen.add(constant)
                literal = constant is None or type(constant) in (str, int, float, bool, bytes)
                entry = ir.Call(ir.Attr(y_bar, "get"), (ir.Const(constant) if literal else ir.Static(constant, "key"),))
            else:
                entry = ir.Call(ir.Attr(y_bar, "pop"), (self.primal(key), ir.Const(None)))
            if isinstance(item, ir.Name) and item.id in self.active and not self.has_places(value.kinds[i]):
                if self.tracks and self.mixes and numeric(value.kinds[i]) is not None and is_real(value.kinds[i]):
                    entry = ir.Call(ir.Static(real_part, "real_part"), (entry,))
                self.add(item.id, entry, state, code, maybe=True)
            elif value.callee.keys is None:
                code.append(ir.Do(entry))

    def loaded(self, container: str, kind: Kind, key: Any, y_bar: ir.Expr, state: State, code: Code) -> None:
        """An item read from a container: its cotangent is the container's with that one entry."""
        place = ir.Const(key.name if isinstance(key, Field) else key)
        if self.add_place(container, self.primal(key) if isinstance(key, ir.Expr) else place, y_bar, kind, code):
            return
        if isinstance(key, Field):
            self.add(container, ir.DictOf(((ir.Const(key.name), y_bar),)), state, code, kind=kind)
            return
        if isinstance(key, ir.Expr):
            index = self.primal(key)
            self.add_element(container, kind, key, index, None, self.stmt.target, state, code)
            return
        length = _length(kind)
        if length is None and isinstance(kind, ListOf):
            self.add_element(container, kind, ir.Const(key), ir.Const(key), None, self.stmt.target, state, code)
            return
        if length is None or isinstance(kind, Closure):
            entry: ir.Expr = ir.DictOf(((ir.Const(key), y_bar),))
        else:
            items: list[ir.Expr] = [ir.Const(None)] * length
            items[key] = y_bar
            entry = ir.Seq("list" if isinstance(kind, ListOf) else "tuple", tuple(items))
        self.add(container, entry, state, code, kind=kind)

    def path(self, param: str, steps: Any) -> str:
        """The variable that stands for an item of a parameter."""
        key = (param, steps)
        if key not in self.paths:
            spelled = "_".join([param, *(str(k) for _, k in steps)])
            safe = "".join(c if c.isalnum() or c == "_" else "_" for c in spelled)
            self.paths[key] = self.names.unique(safe)
        return self.paths[key]

    def finish_paths(self, state: State) -> Code:
        """Put the cotangents of a parameter's items together as the parameter's own."""
        code: Code = []
        kinds = dict(zip(self.spec.params, self.spec.kinds, strict=True))
        for param, kind in kinds.items():
            entries = {steps: name for (p, steps), name in self.paths.items() if p == param and name in state}
            if entries and isinstance(kind, Observed):
                tree = {steps: ir.Name(self.bar(name)) for steps, name in entries.items()}
                for name in entries.values():
                    del state[name]
                display = _assemble(tree, kind.value)
                if self.tracks:
                    self.regions[0].saved[param] = None
                    display = self.at_table("give", ir.Name(param), display)
                if self.has_places(kind):
                    code.append(ir.Do(display))
                else:
                    self.add(param, display, state, code, maybe=self.tracks, kind=kind)
        return code

    # --- collecting -------------------------------------------------------------------------------------

    def gathered(self, stmt: ir.Assign, value: ir.Apply, bar: Bar, state: State) -> Code:
        """The cotangent of what statements have collected, as a new list or dict from which their reverse takes."""
        into, y_bar = value.args[0].id, ir.Name(self.bar(stmt.target))
        if is_dict(stmt.kind):
            held = ir.Call(ir.Static(owned_dict, "owned_dict"), (y_bar,))
        elif bar.maybe:
            length = ir.Name(self.saver.fact(stmt.target, "len", ir.Call(LEN, (ir.Name(stmt.target),)), True))
            held = ir.Call(ir.Static(owned_list, "owned_list"), (y_bar, length))
        else:
            held = ir.Call(ir.Static(list, "list"), (y_bar,))
        state[into] = Bar(owned=True, dense=bar.dense and not bar.maybe, complex=bar.complex)
        return [ir.Assign(self.bar(into), held)]

    def stmt_Collect(self, stmt: ir.Collect, state: State, region: Region) -> tuple[Code, Code, State]:
        into = ir.Name(stmt.into)
        if stmt.key is None:
            forward: ir.Stmt = ir.Do(ir.Call(ir.Attr(into, "append"), (stmt.value,)), stmt.origin)
        else:
            forward = ir.Store(ir.Item(into, stmt.key), stmt.value, None, stmt.origin)
        bar = state.get(stmt.into)
        if bar is None:
            return [forward], [], state
        code: Code = []
        # The last one that was collected is taken first; of equal keys it is the one that stayed.
        which = () if stmt.key is None else (self.primal(stmt.key), ir.Const(None))
        taken: ir.Expr = ir.Call(ir.Attr(ir.Name(self.bar(stmt.into)), "pop"), which)
        inner: State = dict(state)
        if not isinstance(stmt.value, ir.Name) or stmt.value.id not in self.active:
            code.append(ir.Do(taken))
        else:
            self.collected(stmt, taken, bar, inner, code)
        if not bar.maybe:
            return [forward], code, inner
        # An exception ended the comprehension: nobody has what it had collected.
        guarded, state = self.if_present(self.bar(stmt.into), code, inner, state)
        return [forward], guarded, state

    def collected(self, stmt: ir.Collect, taken: ir.Expr, bar: Bar, state: State, code: Code) -> None:
        """What was collected gets its entry of the cotangent."""
        assert isinstance(stmt.value, ir.Name)
        if bar.complex and numeric(stmt.kind) is not None and is_real(stmt.kind):
            taken = ir.Call(ir.Static(real_part, "real_part"), (taken,))
        maybe = stmt.key is not None or not bar.dense
        self.add(stmt.value.id, taken, state, code, maybe=maybe, kind=stmt.kind)

    # --- moving -----------------------------------------------------------------------------------------

    def moved(self, stmt: ir.Assign, value: ir.Apply, y_bar: ir.Expr, state: State, code: Code) -> Code:
        """An operation on whole containers: the forward notes where each entry came from."""
        back = self.names.fresh("back")
        self.saver.mark(back)
        callee = value.callee
        marks = [r != "-" and self.is_active(a) for a, r in zip(callee.operands, callee.roles, strict=True)]
        roles = "".join(r if on else "-" for r, on in zip(callee.roles, marks, strict=True))
        run = ir.Call(ir.Static(moved, "moved"), (callee.function, ir.Const(roles), *callee.operands))
        temps = [self.names.fresh("c") if on else self.junk for on in marks]
        code.append(ir.Unpack(ir.Targets(tuple(temps)), ir.Call(ir.Name(back), (y_bar,))))
        kinds = {id(a): k for a, k in zip(value.args, value.kinds, strict=True)}
        for arg, temp in zip(callee.operands, temps, strict=True):
            if temp != self.junk and isinstance(arg, ir.Name):
                rest = self.given(arg.id, ir.Name(temp), kinds[id(arg)], code)
                if rest is not None:
                    self.add(arg.id, rest, state, code, maybe=True, kind=kinds[id(arg)])
        return [ir.Unpack(ir.Targets((stmt.target, back)), run, stmt.origin)]

    # --- unpacking --------------------------------------------------------------------------------------

    def stmt_Unpack(self, stmt: ir.Unpack, state: State, region: Region) -> tuple[Code, Code, State]:
        opened = self.opened_star(stmt, state)
        forward, code, state = self.unpacked(stmt, state)
        return forward, opened + code, state

    def opened_star(self, stmt: ir.Unpack, state: State) -> Code:
        """The list that a starred target is bound to is new: its entries are those of its items."""
        star = stmt.target.star
        if not self.tracks or star is None or not self.is_active(stmt.value):
            return []
        name = stmt.target.items[star]
        assert isinstance(name, str)
        count = self.star_count(name)
        call = self.at_table("release", ir.Name(self.saver.value(name, True)), count)
        state[name] = Bar(maybe=True)
        return [ir.Assign(self.bar(name), call)]

    def unpacked(self, stmt: ir.Unpack, state: State) -> tuple[Code, Code, State]:
        """The reverse of an unpacking."""
        bars = {n: b for n in stmt.target.names() if (b := self.take(n, state)) is not None}
        if not bars or not self.is_active(stmt.value):
            return [stmt], [], state
        code: Code = []
        if isinstance(stmt.value, ir.Apply):
            self.parallel(stmt, stmt.value, bars, state, code)
        else:
            assert isinstance(stmt.value, ir.Name)
            code += [self.materialise(n, after=True, maybe=bar.maybe) for n, bar in bars.items() if bar.lazy]
            whole = self.packed(stmt.target, stmt.kind, bars, stmt.value.id)
            kind = self.spec.name_kinds.get(stmt.value.id) if self.tracks else stmt.kind
            rest = self.given_items(stmt.value.id, whole, kind, code)
            if rest is not None:
                self.add(stmt.value.id, rest, state, code, maybe=rest is not whole, kind=stmt.kind)
            if isinstance(stmt.kind, Unknown):
                return [ir.Do(ir.Call(CHECK_ITERATED, (stmt.value,)), stmt.origin), stmt], code, state
        return [stmt], code, state

    def parallel(self, stmt: ir.Unpack, value: ir.Apply, bars: State, state: State, code: Code) -> None:
        """`a, b = b, a`: all cotangents are taken before any is added."""
        moves = [
            (arg.id, target, bars[target], kind)
            for target, arg, kind in zip(stmt.target.items, value.args, value.kinds, strict=True)
            if isinstance(target, str) and target in bars and isinstance(arg, ir.Name) and arg.id in self.active
        ]
        crossing = [m for m in moves if m[0] in bars]
        for name, target, bar, kind in moves:
            if name not in bars:
                self.add(name, ir.Name(self.bar(target)), state, code, bar.lazy, bar.maybe, bar.dense, kind)
        if len(crossing) == 1:
            name, target, bar, kind = crossing[0]
            self.add(name, ir.Name(self.bar(target)), state, code, bar.lazy, bar.maybe, bar.dense, kind)
        elif crossing:
            held = [self.names.fresh("c") for _ in crossing]
            sources = tuple(ir.Name(self.bar(t)) for _, t, _, _ in crossing)
            if len({m[0] for m in crossing}) == len(crossing):
                targets = tuple(self.bar(m[0]) for m in crossing)
                code.append(ir.Unpack(ir.Targets(targets), ir.Seq("tuple", sources)))
                for name, _, bar, _ in crossing:
                    state[name] = replace(bar, owned=False)
                return
            code.append(ir.Unpack(ir.Targets(tuple(held)), ir.Seq("tuple", sources)))
            for (name, _, bar, kind), temp in zip(crossing, held, strict=True):
                self.add(name, ir.Name(temp), state, code, bar.lazy, bar.maybe, bar.dense, kind)

    def packed(self, target: ir.Targets, kind: Any, bars: State, source: str) -> ir.Expr:
        """The cotangent of a value from those of the names it was unpacked into."""
        items: list[ir.Expr] = []
        length = _length(kind)
        for i, item in enumerate(target.names()):
            if i == target.star:
                if item not in bars and length is not None:
                    items += [ir.Const(None)] * (length - len(target.items) + 1)
                else:
                    items.append(ir.Star(self._starred(item, bars.get(item))))
            else:
                items.append(ir.Name(self.bar(item)) if item in bars else ir.Const(None))
        display = ir.Seq("tuple", tuple(items))
        if isinstance(kind, Unknown):
            rows = self.saver.fact(
                source, "rows", ir.Call(ir.Static(array_shape, "array_shape"), (ir.Name(source),)), False
            )
            return ir.Call(ir.Static(from_items, "from_items"), (display, ir.Name(rows)))
        if numeric(kind) is None:
            return display
        return ir.Call(ir.Static(from_items, "from_items"), (display, self.shape_fact(source, after=False)))

    def star_count(self, name: str) -> ir.Expr:
        """The number of items that a starred name took; the list itself may grow later."""
        if not self.tracks:
            return ir.Call(LEN, (ir.Name(self.saver.value(name, True)),))
        return ir.Name(self.saver.after(self.names.fresh(f"{name}_len"), ir.Call(LEN, (ir.Name(name),))))

    def _starred(self, name: str, bar: Bar | None) -> ir.Expr:
        """The cotangents of the items that a starred name took."""
        if bar is not None and not bar.maybe:
            return ir.Name(self.bar(name))
        count = self.star_count(name)
        if bar is not None:
            return ir.Call(ir.Static(owned_list, "owned_list"), (ir.Name(self.bar(name)), count))
        return ir.Call(ir.Static(one_item, "one_item"), (count,))


def _length(kind: Any) -> int | None:
    """The number of items of a tuple or list, if known."""
    match kind:
        case TupleOf(items) | ListOf(tuple() as items):
            return len(items)
        case Observed(_, tuple() | list() as value):
            return len(value)
    return None


def _assemble(tree: Mapping[Any, ir.Expr], value: Any) -> ir.Expr:
    """A display of the cotangents of a container's items; `tree` maps steps from the container to expressions."""
    if () in tree:
        whole = tree[()]
        rest = {steps: e for steps, e in tree.items() if steps}
        return whole if not rest else ir.Call(ACCUMULATE, (whole, _assemble(rest, value)))
    keys = list(dict.fromkeys(steps[0] for steps in tree))
    parts = {
        key: _assemble({s[1:]: e for s, e in tree.items() if s[0] == (form, key)}, _at(value, form, key))
        for form, key in keys
    }
    if not isinstance(value, tuple | list):
        return ir.DictOf(tuple((ir.Const(k), e) for k, e in parts.items()))
    display = tuple(parts.get(i, ir.Const(None)) for i in range(len(value)))
    return ir.Seq("list" if isinstance(value, list) else "tuple", display)


def _at(value: Any, form: str, key: Any) -> Any:
    """The value one step along a path."""
    return getattr(value, key) if form == "attr" else value[key]
