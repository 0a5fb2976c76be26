"""Which memory is *hot*: written into by the program while it carries derivatives.

Activity is then a matter of alias classes and not of names: whoever refers to hot memory is active, before and after
the write.  What a function makes hot is hot for its callers.

    y = np.zeros(3)
    v = y[1:]
    y[1] = x * x        # v is active, too
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from adcompiler import ir
from adcompiler.alias import alias
from adcompiler.aliases import OUTSIDE, PLAIN, RESULT, Aliases, Memory
from adcompiler.errors import MutationError, refuse
from adcompiler.lattice import (
    Array,
    Closure,
    Inert,
    Int,
    IntArray,
    Known,
    Number,
    Scalar,
    Stream,
    TupleOf,
    can_be_active,
    is_scalar,
    numeric,
)
from adcompiler.ondevice import Needs
from adcompiler.sharing import is_outside
from adcompiler.spec import Spec
from adcompiler.unfollowed import Active, Rounds, Unfollowed


def memory_of(aliases: Aliases, hot: Collection[str], stmt: ir.Stmt, value: ir.Apply) -> Memory:
    """What a compiled function has to know of its arguments' memory, given the classes that are hot."""
    arguments = enumerate(zip(value.args, value.kinds, strict=True))
    held = frozenset(
        i
        for i, (arg, kind) in arguments
        if _needs_table(kind) and any(aliases.find(aliases.node(stmt, n) or n) in hot for n in _reads(arg))
    )
    return Memory(overlapping(aliases, stmt, value), held if hot else frozenset())


def overlapping(aliases: Aliases, stmt: ir.Stmt, value: ir.Apply) -> bool:
    """Whether a function that writes may be called with arguments that share memory, or that others share."""
    callee = alias(value.callee.spec)
    if not callee.writes and not callee.writes_outside:
        return False
    outside = aliases.find(OUTSIDE)
    found = [outside] if callee.reads_outside or callee.writes_outside else []
    for arg, kind in zip(value.args, value.kinds, strict=True):
        if not is_scalar(kind):
            classes = {aliases.find(aliases.node(stmt, name) or name) for name in _reads(arg)}
            if any(_is_outside(e) for e in _parts(arg)):
                classes.add(outside)
            if classes & set(found):
                return True
            found += classes
    return False


def _is_outside(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Global) or (isinstance(expr, ir.Static) and is_outside(expr.value))


def _parts(arg: Any) -> list[ir.Expr]:
    return [e for part in (arg if isinstance(arg, tuple) else (arg,)) for e in ir.walk(part)]


def _reads(arg: Any) -> list[str]:
    return [e.id for e in _parts(arg) if isinstance(e, ir.Name)]


class HotMemory(Unfollowed):
    """Adds hot memory to what activity knows."""

    def __init__(self, spec: Spec, mask: tuple[bool, ...], rounds: Rounds, memory: Memory = PLAIN) -> None:
        super().__init__(spec, mask, rounds, memory)
        self.hot: set[str] = {self.aliases.find(f"<argument>{spec.params[i]}") for i in memory.hot}
        if spec.program.outside_hot:
            self.hot.add(self.aliases.find(OUTSIDE))

    def heat(self, stmt: ir.Stmt, name: str) -> None:
        """Note that what a name refers to is hot."""
        self.hot.add(self.aliases.find(self.aliases.node(stmt, name) or name))

    def is_hot(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether what a name refers to just before a statement is hot."""
        return bool(self.hot) and self.aliases.find(self.aliases.node(stmt, name) or name) in self.hot

    def hot_names(self, stmt: ir.Stmt) -> Active:
        """The names that refer to hot memory just before a statement."""
        env = self.aliases.before.get(id(stmt))
        if not self.hot or env is None:
            return frozenset()
        kinds = self.spec.name_kinds
        return frozenset(
            n
            for n, node in env.items()
            if self.aliases.find(node) in self.hot and (kinds.get(n) is None or can_be_active(kinds[n]))
        )

    # --- writes -----------------------------------------------------------------------------------------

    def written_into(self, stmt: Any, array: Any, kind: Any, on: bool, active: Active) -> None:
        """An array is written into; `on`: what is written carries a derivative."""
        if isinstance(array, ir.Global) and on:
            self.heat_outside()
        if not isinstance(array, ir.Name):
            return
        if not on and array.id not in active and not self.is_hot(stmt, array.id):
            return
        if isinstance(numeric(kind), IntArray | Int):
            if on:
                raise refuse(
                    MutationError,
                    "a value that carries a derivative is written into an array of integers",
                    stmt.origin,
                    "It is rounded there, and has no derivative.",
                    "Allocate the array with dtype=float.",
                )
            return
        if self.spec.function.generator:
            raise refuse(
                MutationError,
                "a generator writes into an array that carries derivatives",
                stmt.origin,
                "What was yielded before would change.",
                "Collect the values in a list, and return that.",
            )
        self.heat(stmt, array.id)

    def store_into(self, stmt: ir.Store, active: Active) -> None:
        """`a[i] = v`."""
        obj, _, _ = stmt.kinds
        self.written_into(stmt, stmt.place.value, obj, self.atom(stmt.value, active), active)

    def write_call(self, value: ir.Apply, active: Active, stmt: Any) -> None:
        """`np.copyto(a, v)`."""
        array, *operands = value.args
        on = any(self.atom(a, active) and can_be_active(k) for a, k in zip(operands, value.kinds[1:], strict=True))
        self.written_into(stmt, array, value.kinds[0], on, active)

    def heat_call(self, value: ir.Apply, stmt: ir.Stmt, found: Any) -> None:
        """What a compiled function makes hot."""
        self.found.shadows |= found.shadows
        if found.hot_result and isinstance(stmt, ir.Assign) and _needs_table(value.kind):
            # What is read from a container goes to the shadows at once, as what is written into its arrays does.
            self.hot.add(self.aliases.find(self.aliases.node(stmt, stmt.target, after=True) or stmt.target))
        for i in found.hot_params:
            for name in _reads(value.args[i]):
                self.heat(stmt, name)
            if any(_is_outside(e) for e in _parts(value.args[i])):
                self.heat_outside()

    def heat_outside(self) -> None:
        """Note that memory from outside is hot, in all functions."""
        program = self.spec.program
        if not program.names_globals:
            raise Needs("names_globals")
        if not program.outside_hot:
            program.outside_hot = True
            self.rounds.changed = True
        self.hot.add(self.aliases.find(OUTSIDE))

    # --- results ----------------------------------------------------------------------------------------

    def settle_hot(self) -> None:
        """Fill in what others ask for; what is in hot memory beside arrays must be followed by identity."""
        aliases = self.aliases
        outside = aliases.find(OUTSIDE)
        if outside in self.hot:
            self.heat_outside()
        self.found.hot = frozenset(self.hot)
        self.found.hot_result = aliases.find(RESULT) in self.hot
        at = [f"<argument>{p}" for p in self.spec.params]
        self.found.hot_params = frozenset(
            i
            for i, (node, kind) in enumerate(zip(at, self.spec.kinds, strict=True))
            if not is_scalar(kind) and aliases.find(node) in self.hot
        )
        for stmt in ir.statements(self.spec.body) if self.hot else ():
            for name, node in (aliases.before.get(id(stmt)) or {}).items():
                if isinstance(self.spec.name_kinds.get(name), Stream) and aliases.find(node) in self.hot:
                    raise refuse(
                        MutationError,
                        f"{self.spec.function.shown(name)} gives arrays that are written into",
                        stmt.origin,
                        "When it reads them is not followed.",
                        "Make a list of the items first, or copies of the arrays.",
                    )
        self.found.shadows |= bool(self.hot - {outside}) or self.spec.program.outside_hot
        if self.spec.program.writes_places or not self.hot:
            return
        for env in aliases.before.values():
            for name, node in env.items():
                if aliases.find(node) in self.hot and _needs_table(self.spec.name_kinds.get(name)):
                    self.spec.program.need_places()


def _needs_table(kind: Any) -> bool:
    """Whether a value may hold arrays without being one, or a tuple of some."""
    if isinstance(kind, TupleOf):
        return any(map(_needs_table, kind.items))
    if kind is None or isinstance(kind, Inert | Closure | Known):
        return False
    return not isinstance(numeric(kind), Int | IntArray | Scalar | Array | Number)


__all__ = ["HotMemory", "memory_of"]
