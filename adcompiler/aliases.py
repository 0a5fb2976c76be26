"""Alias classes as a value: which definitions may refer to one memory block, and what callers of a function ask.

The pass `alias` makes it; activity, saving and the reverse ask it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adcompiler import ir

OUTSIDE = "<outside>"  # memory of globals, captured variables and whatever else holds
RESULT = "<result>"
HELD = "<argument><yielded>"  # memory that whoever takes the items of a generator may hold

UNSEEN = 0  # in place of a statement: something may write, nobody sees when

Env = dict[str, str]  # name → the definition that it has at this point


@dataclass(frozen=True)
class Memory:
    """What a function has to know of the memory of its arguments where it is called.

    `merged`: they may share it, with each other or with memory from outside. `hot`: the parameters which hold arrays
    that are written into and carry derivatives.
    """

    merged: bool = False
    hot: frozenset[int] = frozenset()


PLAIN = Memory()


@dataclass
class Aliases:
    """Classes of definitions by representative, and the definitions at each statement.

    `results` and `writes` are the summary that callers use: the parameters that the result may be, and those that are
    written in place; likewise for memory from outside.
    """

    parent: dict[str, str] = field(default_factory=dict)
    written: dict[str, set[int]] = field(default_factory=dict)  # definition → the statements that surely write it
    before: dict[int, Env] = field(default_factory=dict)
    made: dict[tuple[int, str], str] = field(default_factory=dict)
    results: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    sure_writes: frozenset[int] = frozenset()  # those that are not mere guesses about what runs out of sight
    result_outside: bool = False
    writes_outside: bool = False
    surely_writes_outside: bool = False
    asked: bool = False  # somebody has asked for these
    writes_result: bool = False
    groups: tuple[int, ...] = ()  # for each parameter the first one that it may share memory with; -1 for outside
    reads_outside: bool = False

    def find(self, node: str) -> str:
        """The representative of a definition's class."""
        while self.parent.get(node, node) != node:
            node = self.parent[node]
        return node

    def unify(self, a: str, b: str) -> None:
        """Put two definitions into one class."""
        x, y = self.find(a), self.find(b)
        if x != y:
            self.parent[x] = y

    def node(self, stmt: ir.Stmt, name: str, after: bool = False) -> str | None:
        """The definition of a name before (or after) a statement; None if the statement is not known."""
        made = self.made.get((id(stmt), name)) if after else None
        if made is not None:
            return made
        env = self.before.get(id(stmt))
        return None if env is None else env.get(name, name)

    def named(self, name: str) -> list[str]:
        """All definitions of a name, for a place of which they are not known."""
        return [n for n in self.parent if n.split("@")[0] in (name, f"<argument>{name}")]

    def sharing(self, stmt: ir.Stmt, name: str) -> frozenset[str]:
        """The names that refer to a name's block just before a statement, itself included."""
        env = self.before[id(stmt)]
        root = self.find(env.get(name, name))
        return frozenset(n for n, node in env.items() if self.find(node) == root) | {name}

    def is_alone(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether nothing else can refer to a name's block just before a statement."""
        root = self.find(self.before[id(stmt)].get(name, name))
        return self.sharing(stmt, name) == {name} and root not in {self.find(n) for n in self._held}

    @property
    def summary(self) -> tuple[Any, ...]:
        """What callers use."""
        outside = self.result_outside, self.writes_outside, self.surely_writes_outside
        return self.results, self.writes, self.sure_writes, self.writes_result, self.groups, self.reads_outside, outside

    @property
    def _held(self) -> set[str]:
        return {OUTSIDE, *(n for n in self.parent if n.startswith("<argument>"))}

    def written_by_others(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether the block that a name has at a statement may be written by any statement but this one."""
        root = self.find(self.node(stmt, name) or name)
        return any(self.find(w) == root and by - {id(stmt), UNSEEN} for w, by in self.written.items())

    def is_surely_written(self, stmt: ir.Stmt, name: str) -> bool:
        """Whether a statement of the program itself writes the block that a name has at a statement."""
        root = self.find(self.node(stmt, name) or name)
        return any(by - {UNSEEN} and self.find(w) == root for w, by in self.written.items())

    def is_exposed(self, stmt: ir.Stmt, name: str, after: bool = False) -> bool:
        """Whether callers may know the block that a name has at a statement: it is an argument's, or the result's."""
        known = {self.find(n) for n in (OUTSIDE, RESULT, *(n for n in self.parent if n.startswith("<argument>")))}
        node = self.node(stmt, name, after)
        if node is None:
            return any(self.find(n) in known for n in self.named(name))
        return self.find(node) in known

    def is_written(self, stmt: ir.Stmt, name: str, after: bool = False, outside: bool = False) -> bool:
        """Whether the block that a name has at a statement may be written in place somewhere.

        `outside` says that another function of the program writes memory from outside.
        """
        node = self.node(stmt, name, after)
        written = {self.find(w) for w in self.written}
        if outside:
            written.add(self.find(OUTSIDE))
        if node is None:
            return any(self.find(n) in written for n in self.named(name))
        return self.find(node) in written
