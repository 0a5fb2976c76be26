"""Lowering of assignments: targets of every form, in the order in which Python binds them."""

from __future__ import annotations

from collections import Counter

import gast

from adcompiler import ir
from adcompiler.consumers import Consumers
from adcompiler.errors import Origin
from adcompiler.matching import Matching
from adcompiler.normalise import BINARY
from adcompiler.scope import bindings, calls_out


class Assignments(Consumers, Matching):
    """Adds assignments."""

    def stmt_Assign(self, node: gast.Assign) -> None:
        if len(node.targets) == 1:
            self.assign(node.targets[0], node.value, node)
            return
        value = self.atom(node.value)
        if isinstance(value, ir.Name):
            value = self.temp(value, node)
        for target in node.targets:
            self.bind(target, value, node)

    def stmt_AnnAssign(self, node: gast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, node.value, node)

    def assign(self, target: gast.AST, value: gast.AST, node: gast.AST) -> None:
        """Add `target = value`, the value lowered first."""
        if isinstance(target, gast.Name):
            self.bind(target, self.value(value), node)
        elif (
            isinstance(target, gast.Tuple | gast.List)
            and isinstance(value, gast.Tuple | gast.List)
            and len(target.elts) == len(value.elts)
            and all(isinstance(e, gast.Name) for e in target.elts)
            and not any(isinstance(e, gast.Starred) for e in value.elts)
        ):
            # A parallel assignment stays one statement: its adjoint is parallel too.
            self.bind(target, ir.Seq("tuple", tuple(self.operands(value.elts))), node)
        else:
            lazy = isinstance(target, gast.Tuple | gast.List) and self.iterator(value) is not None
            self.bind(
                target,
                self.gather(value, "an iterator", lambda t: self.whole(t, value, node)) if lazy else self.atom(value),
                node,
            )

    def bind(self, target: gast.AST, value: ir.Expr, node: gast.AST) -> None:
        """Add the binding of a target to a lowered value."""
        match target:
            case gast.Name():
                self.out.append(ir.Assign(target.id, value, self.origin(node)))
            case gast.Tuple() | gast.List() if all(self._plain(e) for e in target.elts):
                self.out += self.unpacked(self.targets(target), value, self.origin(node))
            case gast.Tuple() | gast.List():
                self._bind_places(target, value, node)
            case gast.Subscript():
                if not ir.is_atom(value):
                    value = self.temp(value, node)
                self.out.append(ir.Store(ir.Item(*self.subscript(target)), value, None, self.origin(node)))
            case gast.Attribute():
                if not ir.is_atom(value):
                    value = self.temp(value, node)
                place = ir.Attr(self.atom(target.value), target.attr)
                self.out.append(ir.Store(place, value, None, self.origin(node)))
            case _:
                raise self.unsupported(node, "this assignment target", "Assign to a name.")

    def _plain(self, target: gast.AST) -> bool:
        match target:
            case gast.Name():
                return True
            case gast.Starred():
                return self._plain(target.value)
            case gast.Tuple() | gast.List():
                return all(map(self._plain, target.elts))
        return False

    def _bind_places(self, target: gast.Tuple, value: ir.Expr, node: gast.AST) -> None:
        """Unpack into temporaries, then bind the places left to right."""
        if any(isinstance(e, gast.Starred) for e in target.elts):
            raise self.unsupported(node, "a starred target beside a subscript", "Unpack into names first.")
        parts = tuple(self.names.fresh("t") for _ in target.elts)
        self.out.append(ir.Unpack(ir.Targets(parts), value, self.origin(node)))
        for element, part in zip(target.elts, parts, strict=True):
            self.bind(element, ir.Name(part), node)

    def targets(self, target: gast.Tuple | gast.List) -> ir.Targets:
        """The targets of an unpacking; of a name that stands twice only the last one binds it."""
        names = [n.id for n in gast.walk(target) if isinstance(n, gast.Name)]
        found = self._targets(target)
        return found if len(names) == len(set(names)) else self._last_only(found, Counter(names))

    def _last_only(self, targets: ir.Targets, left: Counter[str]) -> ir.Targets:
        items: list[str | ir.Targets] = []
        for item in targets.items:
            if isinstance(item, ir.Targets):
                items.append(self._last_only(item, left))
            else:
                left[item] -= 1
                items.append(item if not left[item] else self.names.fresh("t"))
        return ir.Targets(tuple(items), targets.star)

    def unpacked(self, targets: ir.Targets, value: ir.Expr, origin: Origin | None) -> list[ir.Stmt]:
        """An unpacking, one level at a time: `a, (b, c) = v` is `a, t = v; b, c = t`, in Python's order."""
        items: list[ir.Target] = []
        inner: list[ir.Stmt] = []
        for item in targets.items:
            if isinstance(item, ir.Targets):
                part = self.names.fresh("t")
                inner += self.unpacked(item, ir.Name(part), origin)
                items.append(part)
            else:
                items.append(item)
        return [ir.Unpack(ir.Targets(tuple(items), targets.star), value, origin), *inner]

    def _targets(self, target: gast.Tuple | gast.List) -> ir.Targets:
        items: list[str | ir.Targets] = []
        star = None
        for i, element in enumerate(target.elts):
            if isinstance(element, gast.Starred):
                star, element = i, element.value
            items.append(element.id if isinstance(element, gast.Name) else self._targets(element))
        return ir.Targets(tuple(items), star)

    def stmt_AugAssign(self, node: gast.AugAssign) -> None:
        if any(True for _ in bindings(node.value)):
            raise self.unsupported(
                node, "a walrus inside an augmented assignment", "Assign the name in a statement of its own before."
            )
        op = BINARY[type(node.op)]
        match node.target:
            case gast.Name():
                value = ir.Op(op, (ir.Name(node.target.id), self.atom(node.value)))
                self.out.append(ir.Assign(node.target.id, value, self.origin(node), augmented=True))
            case gast.Subscript():
                self._increased(ir.Item(*self.subscript(node.target)), node, op)
            case gast.Attribute():
                self._increased(ir.Attr(self.atom(node.target.value), node.target.attr), node, op)

    def _increased(self, place: ir.Item | ir.Attr, node: gast.AugAssign, op: str) -> None:
        """`place op= value`: Python reads the place first, which matters if the value may change it."""
        held = self.temp(place, node) if calls_out(node.value) else None
        self.out.append(ir.Store(place, self.atom(node.value), op, self.origin(node), held))
