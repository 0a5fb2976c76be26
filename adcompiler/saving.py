"""Which values the forward keeps for the reverse, under which name, and in which record.

A *region* is the function or the body of one loop; each has a record: the tuple of values saved in it (of a loop, one
per iteration).  A value belongs to the innermost loop that binds its name, so that what a loop does not change stays
out of its records.  A user's name is saved as it is if it still holds the value, surely, where the record is built;
otherwise the value is copied under a name of the compiler's (`h_1 = h`) where it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adcompiler import ir
from adcompiler.definite import Definite
from adcompiler.names import Names


@dataclass(eq=False)
class Region:
    """The function (`loop` None) or a loop; `saved` in order, `unset` the names that need a value (None) at the top."""

    loop: Any
    bound: frozenset[str]
    exits: dict[int, int]
    saved: dict[str, None] = field(default_factory=dict)
    unset: dict[str, Any] = field(default_factory=dict)
    windows: dict[str, ir.Assign] = field(default_factory=dict)  # of shadows, by what is saved of where they lie
    trace: str = ""
    marker: str | None = None
    open: bool = False  # its record may be built after any statement (see `protected`)

    @property
    def key(self) -> int | None:
        return None if self.loop is None else id(self.loop)


@dataclass(eq=False)
class Frame:
    """A block on the way to the statement at hand, and the statements to be put before its `k`-th (key `k`).

    In this order: what is kept right behind the statement before (`late`), the marker that says that it is done, copies
    and what else is kept (which may raise where a name is not bound).
    """

    block: ir.Block
    region: Region
    index: int = 0
    top: bool = False
    copies: dict[Any, tuple[str, int, ir.Expr, bool]] = field(default_factory=dict)
    kept: dict[int, list[ir.Stmt]] = field(default_factory=dict)
    late: dict[int, list[ir.Stmt]] = field(default_factory=dict)
    marks: dict[int, ir.Stmt] = field(default_factory=dict)
    views: dict[Any, ir.Assign] = field(default_factory=dict)  # windows that are parts of others, in the reverse

    @property
    def cause(self) -> Any:
        """The line of the statement at hand."""
        return self.block[self.index].origin if self.index < len(self.block) else None

    def noted(self) -> tuple[Any, ...]:
        """What has been noted so far, to be restored after a dry run."""
        kept, late = ({k: list(v) for k, v in d.items()} for d in (self.kept, self.late))
        return dict(self.copies), kept, late, dict(self.marks)


def exits_of(block: ir.Block, inner: bool = False) -> list[ir.Stmt]:
    """The statements through which control leaves a region, in the order of the text."""
    out: list[ir.Stmt] = []
    for stmt in block:
        match stmt:
            case ir.Return() | ir.Yield():
                out.append(stmt)
            case ir.Break() | ir.Continue() if not inner:
                out.append(stmt)
            case ir.If():
                out += exits_of(stmt.body, inner) + exits_of(stmt.orelse, inner)
            case ir.With() | ir.Try():
                for part in ir.blocks(stmt):
                    out += exits_of(part, inner)
            case ir.For() | ir.While():
                out += exits_of(stmt.body, True) + exits_of(stmt.orelse, inner)
    return out


def region_of(loop: Any, body: ir.Block) -> Region:
    """A new region, its exits numbered from 1."""
    bound = ir.bound_in(body) if loop is None else ir.bound(loop)
    return Region(loop, bound, {id(s): i for i, s in enumerate(exits_of(body), start=1)})


class Saver:
    """Hands out the names under which the reverse reads values of the forward."""

    def __init__(self, names: Names, definite: Definite, user_names: frozenset[str], cells: frozenset[str]) -> None:
        self.names = names
        self.definite = definite
        self.user_names = user_names
        self.cells = cells
        self.frames: list[Frame] = []

    def value(self, name: str, after: bool, snapshot: Any = None) -> str:
        """The name that holds, in the reverse, the value that `name` has just before (or after) the statement at hand.

        With `snapshot`, a function, the value is copied by it, since its memory may be written later.
        """
        if snapshot is not None or name in self.cells:
            # What may be written, or rebound by somebody else, is copied where it is read.
            expr: ir.Expr = ir.Name(name)
            if snapshot is not None:
                expr = ir.Call(ir.Static(snapshot, snapshot.__name__), (expr,))
            return self.copied(name + "_", expr, after)
        frame = self.home(name)
        direct = self.is_here(frame)
        if self._keeps(name, frame, after and direct):
            self._save(frame.region, name)
            return name
        return self._copy(name, "", name, ir.Name(name), frame, after and direct)

    def fact(self, name: str, suffix: str, expr: ir.Expr, after: bool) -> str:
        """The name of a fact about a value (`x_shape`), computed in the forward."""
        frame = self.home(name)
        return self._copy(name, suffix, f"{name}_{suffix}", expr, frame, after and self.is_here(frame))

    def kept(self, stem: str, expr: ir.Expr) -> str:
        """The name of something the forward computes right after the statement at hand."""
        return self.after(self.names.unique(stem), expr)

    def after(self, name: str, expr: ir.Expr) -> str:
        """Save, under a new name, something that is read right after the statement at hand."""
        frame = self.frames[-1]
        frame.late.setdefault(frame.index + 1, []).append(ir.Assign(name, expr, cause=frame.cause))
        self.mark(name)
        return name

    def copied(self, stem: str, expr: ir.Expr, after: bool) -> str:
        """Save what a function of the runtime makes of a value right before or after the statement at hand, once."""
        frame = self.frames[-1]
        there = frame.late.get(frame.index + 1, []) if after else frame.kept.get(frame.index, [])
        for stmt in there:
            if isinstance(stmt, ir.Assign) and _is_same_call(stmt.value, expr):
                return stmt.target
        copy = self.names.fresh(stem)
        return self.after(copy, expr) if after else self.before(copy, expr)

    def before(self, name: str, expr: ir.Expr) -> str:
        """Save, under a new name, something that is read right before the statement at hand."""
        frame = self.frames[-1]
        frame.kept.setdefault(frame.index, []).append(ir.Assign(name, expr, cause=frame.cause))
        self.mark(name)
        return name

    def mark(self, name: str, empty: Any = None) -> None:
        """Save a compiler's name that is assigned at or right after the statement at hand, else is `empty`."""
        frame = self.frames[-1]
        frame.region.saved[name] = None
        if not self._always_reached(frame, frame.index):
            frame.region.unset[name] = empty

    def is_here(self, frame: Frame) -> bool:
        """Whether the statement at hand stands in the frame's own block."""
        return frame is self.frames[-1]

    def home(self, name: str) -> Frame:
        """The frame whose region's record keeps a name."""
        regions = [f.region for f in self.frames]
        start = max((i for i, r in enumerate(regions) if r.loop is not None and name in r.bound), default=0)
        home = regions[start]
        for i, frame in enumerate(self.frames):
            last = i + 1 == len(self.frames)
            if frame.region is not home or (not last and self.frames[i + 1].region is home):
                continue
            stmt = frame.block[frame.index]
            if last or name in self.definite.before.get(id(stmt), frozenset()) or not self._is_user(name):
                return frame
            home = self.frames[i + 1].region
        return self.frames[-1]

    def _is_user(self, name: str) -> bool:
        return name in self.user_names

    def _keeps(self, name: str, frame: Frame, after: bool) -> bool:
        """Whether a name still holds its value wherever the region's record is built."""
        for f, inside in zip(self.frames, [*self.frames[1:], None], strict=True):
            if f.region is not frame.region:
                continue
            stmt = f.block[f.index]
            if isinstance(stmt, ir.Try) and inside is not None:
                # Of a `try` the blocks behind the one at hand may run too.
                parts = ir.blocks(stmt)
                at = next((i for i, part in enumerate(parts) if part is inside.block), 0)
                if any(name in ir.bound_in(part) for part in parts[at + 1 :]):
                    return False
            rest = f.block[f.index + (1 if after or f is not frame else 0) :]
            if name in ir.bound_in(rest):
                return False
            if f is frame:
                break
        if not self._is_user(name):
            return True
        return name in self.definite.at_record.get(frame.region.key, frozenset({name}))

    def _save(self, region: Region, name: str) -> None:
        region.saved[name] = None
        if not self._is_user(name) and name not in self.definite.at_record.get(region.key, frozenset({name})):
            region.unset[name] = None

    def _copy(self, name: str, tag: str, stem: str, expr: ir.Expr, frame: Frame, after: bool) -> str:
        at = frame.index + (1 if after else 0)
        version = sum(1 for s in frame.block[:at] if name in ir.bound(s))
        key = (name, tag, version)
        if key in frame.copies:
            copy, first, source, behind = frame.copies[key]
            behind = after if at < first else behind or (after and at == first)
            frame.copies[key] = (copy, min(first, at), source, behind)
        else:
            copy = self.names.unique(stem) if tag else self.names.fresh(stem + "_")
            frame.copies[key] = (copy, at, expr, after)
            frame.region.saved[copy] = None
        if not self._always_reached(frame, at):
            frame.region.unset[copy] = None
        return copy

    def _always_reached(self, frame: Frame, at: int) -> bool:
        """Whether every record of the region is built after the `at`-th statement of the frame's block."""
        return frame.top and not frame.region.open and not exits_of(frame.block[:at], frame.region.loop is None)


def _is_same_call(a: ir.Expr, b: ir.Expr) -> bool:
    """Whether two expressions are calls of one function of the runtime with equal arguments."""
    if not isinstance(a, ir.Call) or not isinstance(b, ir.Call) or a.args != b.args:
        return False
    return isinstance(a.func, ir.Static) and isinstance(b.func, ir.Static) and a.func.value is b.func.value


def with_copies(frame: Frame, outs: list[list[ir.Stmt]]) -> list[ir.Stmt]:
    """The statements of a block with the copies and kept values put in their places."""
    late: dict[int, list[ir.Stmt]] = {k: list(v) for k, v in frame.late.items()}
    before: dict[int, list[ir.Stmt]] = {k: list(v) for k, v in frame.kept.items()}
    for copy, at, expr, behind in frame.copies.values():
        (late if behind else before).setdefault(at, []).insert(0, ir.Assign(copy, expr))
    out: list[ir.Stmt] = []
    for k in range(len(outs) + 1):
        out += late.get(k, [])
        if k in frame.marks:
            out.append(frame.marks[k])
        out += before.get(k, [])
        if k < len(outs):
            out += outs[k]
    return out
