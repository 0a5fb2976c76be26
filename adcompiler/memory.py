"""What a pullback keeps in memory, line by line of the user's code: `memory_report`."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adcompiler import show
from adcompiler.advice import Memory, advised
from adcompiler.errors import Origin
from adcompiler.explain import table
from adcompiler.kept import GIVEN, TAKEN, Kept, Layout, Slot, Source, kept_by, layouts, plan_of
from adcompiler.overlap import value_of
from adcompiler.reachable import Part, block_of, parts, size_of, window_of
from adcompiler.runtime.bars import Tracked
from adcompiler.runtime.streams import Run
from adcompiler.runtime.walk import is_array


@dataclass(frozen=True)
class KeptItem:
    """What a line keeps: its `name`, its `bytes`, and how many arrays it is (`count`).

    `held` are the bytes of arrays that are not counted, because the user has them anyway, as `owner` says.
    """

    name: str
    bytes: int
    count: int
    held: int = 0
    owner: str = ""

    def __str__(self) -> str:
        """As it stands in the table."""
        return self.described(False)

    def described(self, sized: bool) -> str:
        """Its name, and in brackets what there is to say."""
        notes = [f"{self.count} arrays"] if self.count > 1 else []
        notes += [size(self.bytes)] if sized and self.bytes else []
        notes += [f"{size(self.held)} not counted: {self.owner}"] if self.held else []
        return f"{self.name} ({', '.join(notes)})" if notes else self.name


if TYPE_CHECKING:
    from adcompiler.pipeline import Compiled


@dataclass(frozen=True)
class KeptLine:
    """What one line of the user's code keeps alive for a pullback, the largest first."""

    file: str
    line: int
    text: str
    bytes: int
    items: tuple[KeptItem, ...]
    suggestion: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What it keeps, in words."""
        return tuple(item.name for item in self.items)

    @property
    def held(self) -> int:
        """The bytes of arrays that are not counted."""
        return sum(item.held for item in self.items)

    def described(self) -> str:
        """What it keeps as it stands in the table: with sizes, if there are several large ones."""
        large = [item for item in self.items if 100 * item.bytes >= self.bytes or item.held]
        several = sum(item.bytes > 0 for item in large) > 1
        return ", ".join(item.described(several) for item in large)


_WIDTH = 48  # of the user's text
_FACTS = "shapes and the like"


@dataclass(frozen=True)
class MemoryReport:
    """What a pullback keeps in memory: `total` bytes, and the `lines` that they belong to, the largest first."""

    function: str
    total: int
    lines: tuple[KeptLine, ...]
    note: str = ""

    def __str__(self) -> str:
        """A table for people."""
        large = [line for line in self.lines if 1000 * line.bytes >= self.total or line.held]
        small = [line for line in self.lines if line not in large]
        if len(small) < 3:
            large, small = list(self.lines), []
        rows = [("BYTES", "LINE", "CODE", "KEEPS")]
        rows += [(size(line.bytes), _place(line), _short(line.text), line.described()) for line in large]
        if small:
            rows.append((size(sum(line.bytes for line in small)), "", f"{len(small)} more lines", ""))
        head, *lines = table(rows)
        out = [f"The pullback of {self.function} keeps {size(self.total)}.{self.note}", *([head] if lines else [])]
        told = {""}
        for row, advice in itertools.zip_longest(lines, (line.suggestion for line in large), fillvalue=""):
            out += [row] if advice in told else [row, f"    -> {advice}"]
            told.add(advice)
        if any(line.held for line in large):
            out.append("Arrays that you hold yourself (arguments, the value, what is global) are not counted.")
        return "\n".join(out)


def _place(line: KeptLine) -> str:
    return show.located(line.file, line.line) if line.file else ""


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def size(count: int) -> str:
    """A number of bytes for people.

    >>> size(0), size(1000), size(1 << 20), size(123456789)
    ('0 B', '1000 B', '1.0 MiB', '117.7 MiB')
    """
    amount, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            break
        amount /= 1024
    return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"


def memory_report(back: Any) -> MemoryReport:
    """What a pullback keeps in memory, for each line of the code that was differentiated.

    `back` is what `pullback` gave. Counted are arrays, once for each block of memory, and the numbers, lists and tuples
    around them; arguments, the value and what is global are listed and not counted, since their user holds them anyway.
    A pullback for single use keeps nothing once it was called. `str()` of the report is a table; its `total` and
    `lines` are for programs. Raises TypeError for anything else than a pullback.
    """
    kept = kept_by(back)
    if kept is None:
        raise TypeError(f"memory_report takes the second result of pullback(), not {back!r}")
    return report(kept)


def report(kept: Kept) -> MemoryReport:
    """The report of what a pullback keeps."""
    tally = _Tally(kept)
    entries = tally.entries()
    total = sum(entry.bytes for entry in entries)
    by_line: dict[tuple[str, int, str], list[Memory]] = {}
    for entry in sorted(entries, key=lambda entry: -entry.bytes):
        origin = entry.origin
        key = (origin.file, origin.line, origin.text) if origin else ("", 0, "")
        by_line.setdefault(key, []).append(entry)
    lines = [
        KeptLine(
            *(file, line, text),
            sum(e.bytes for e in found),
            tuple(KeptItem(_named(e), e.bytes, e.count, e.held, e.owner) for e in found),
            next((advice for e in found if (advice := advised(e, entries, total))), ""),
        )
        for (file, line, text), found in by_line.items()
    ]
    lines.sort(key=lambda line: -line.bytes)
    note = "" if kept.records else " It was made for single use, and has been called."
    return MemoryReport(kept.plan.layout.name, total, tuple(lines), note)


def run_report(compiled: Compiled) -> MemoryReport:
    """The report of a call with the arguments that a function was compiled for: the forward runs."""
    arguments = tuple(compiled.request.arguments.values())
    value, record = compiled.alone[0](*arguments)
    return report(Kept(plan_of(compiled), [record], arguments, value))


def kept_kinds(compiled: Compiled) -> str:
    """What each line keeps as far as it is known without running: names and kinds, function by function."""
    out = []
    for pair, layout in layouts(compiled.pair, kinds=True).items():
        place = show.located(layout.origin.file, layout.origin.line) if layout.origin else ""
        wrt = f"with respect to {', '.join(pair.active)}" if pair.active else "without derivative"
        rows = sorted(set(_kind_rows(layout.slots, ())), key=lambda row: (row[0], row[2] == _FACTS, row))
        lines = [f"{layout.name}, {wrt}  [{place}]"]
        lines += table([(str(n), _short(code), f"{what}{kind}") for n, code, what, kind in rows], "  ") if rows else []
        out.append("\n".join(lines if rows else [*lines, "  keeps nothing"]))
    return "\n\n".join(out) + "\n"


def _kind_rows(slots: tuple[Slot, ...], each: tuple[str, ...]) -> Iterator[tuple[int, str, str, str]]:
    """Line, code, what is kept, and its kind."""
    for slot in slots:
        origin = slot.source.origin
        if slot.entries is not None:
            yield from _kind_rows(slot.entries, (*each, str(origin.line)) if origin else each)
            continue
        if origin is None:  # which branch ran, and the like
            continue
        kind = f": {show.kind(slot.kind)}" if slot.source.role in ("value", "argument", "copy") and slot.kind else ""
        what = f"{slot.source.text} (an argument)" if slot.source.role == "argument" else said(slot.source)
        if slot.source.role == "fact" and slot.layout is None:
            what = _FACTS
        loops = f", for each iteration of line{'s' * (len(each) > 1)} {' and '.join(each)}" if each else ""
        yield origin.line, origin.text, f"{what}{kind}", loops


def said(source: Source) -> str:
    """What is said of something that is kept."""
    return {"copy": "a copy of ", "rule": "kept for "}.get(source.role, "") + source.text


def _named(entry: Memory) -> str:
    """What is said of an entry."""
    if entry.role == "loop":
        return f"records of {entry.iterations} iteration{'s' if entry.iterations != 1 else ''}"
    return {"copy": "a copy of ", "rule": "kept for "}.get(entry.role, "") + entry.text


# --- counting ---------------------------------------------------------------------------------------------


class _At(NamedTuple):
    """Where a record was made: the call in the caller, the name of its function, and the loops around it."""

    call: Origin | None = None
    name: str = ""
    loops: tuple[tuple[Origin | None, int], ...] = ()


@dataclass(eq=False)
class _Block:
    """A block of memory, and the entry that it counts for."""

    size: int
    array: Any
    rank: int
    entry: Memory
    facts_only: bool = True
    windows: dict[Hashable, int] = field(default_factory=dict)


class _Tally:
    """Goes through a record, and counts each block and object for one entry."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.seen: set[int] = set()
        self.owners: dict[Hashable, str] = {}
        self.roots = dict.fromkeys(kept.plan.outside)
        self.blocks: dict[Hashable, _Block] = {}
        self.found: dict[Hashable, Memory] = {}
        self.todo: list[Any] = []

    def entries(self) -> list[Memory]:
        """What each line keeps; blocks that the user holds are not in their bytes."""
        for value, owner in ((self.kept.arguments, "an argument"), (self.kept.value, "the value")):
            self.own(value, owner)
        for record in self.kept.records:
            self.root(record)
        while self.todo:
            method, *args = self.todo.pop()
            method(*args)
        for root in self.roots:
            self.own(value_of(root), "global" if root.form == "global" else "captured")
        for key, block in self.blocks.items():
            entry = block.entry
            if key in self.owners:
                entry.held += block.size
                entry.owner = self.owners[key]
                continue
            entry.bytes += block.size
            entry.count += 1
            entry.used += min(block.size, sum(block.windows.values()))
            entry.facts_only &= block.facts_only
            if len(entry.arrays) < 8:
                entry.arrays.append(block.array)
        return [e for e in self.found.values() if e.bytes or e.held]

    def own(self, value: Any, owner: str) -> None:
        """What the user holds anyway."""
        for part in parts(value, self.seen):
            if is_array(part.value) and not isinstance(part.value, np.generic):
                self.owners.setdefault(block_of(part.value)[0], owner)

    def root(self, record: Any) -> None:
        layout = self.kept.plan.layout
        if isinstance(record, Tracked):
            around = Source(layout.origin, "the arguments as they were", "fact", GIVEN)
            self.value(Slot("", around), (record.arguments, record.held, record.value), _At())
            record = record.record
        self.record(layout, record, _At())

    # --- records ----------------------------------------------------------------------------------------

    def record(self, layout: Layout, record: Any, at: _At) -> None:
        """The record of a pair: its entries by name."""
        if isinstance(record, list | tuple) and len(record) == len(layout.slots):
            self.todo += [(self.slot, s, v, at) for s, v in zip(layout.slots, record, strict=True)][::-1]
        elif record:
            self.value(Slot("", Source(layout.origin, layout.name, "rule")), record, at)

    def slot(self, slot: Slot, value: Any, at: _At) -> None:
        """An entry of a record."""
        if slot.entries is not None and isinstance(value, list):
            inner = at._replace(loops=(*at.loops, (slot.source.origin, len(value))))
            self.count(slot, value, at)
            self.entry(slot, at).iterations += len(value)
            self.todo += [(self.iteration, slot, item, inner) for item in reversed(value)]
        elif slot.layout is not None and isinstance(value, list | tuple | Run):
            if isinstance(value, Run):
                value = value.kept or ()
            inner = at._replace(call=slot.source.origin, name=slot.layout.name)
            self.count(slot, value, at)
            self.todo.append((self.record, slot.layout, value, inner))
        else:
            self.value(slot, value, at)

    def iteration(self, slot: Slot, item: Any, at: _At) -> None:
        """What is kept of one iteration of a loop."""
        entries = slot.entries or ()
        if len(entries) == 1:
            self.slot(entries[0], item, at)
        elif isinstance(item, list | tuple) and len(item) == len(entries):
            self.count(slot, item, at)
            for inner, value in zip(entries, item, strict=True):
                self.slot(inner, value, at)
        else:
            self.value(slot, item, at)

    # --- values -----------------------------------------------------------------------------------------

    def value(self, slot: Slot, value: Any, at: _At) -> None:
        """Whatever is kept under a name."""
        for part in parts(value, self.seen):
            inner = kept_by(part.value)
            if inner is not None:
                self.inner(slot, inner, at)
            elif is_array(part.value) and not isinstance(part.value, np.generic):
                self.array(slot, part, at)
            else:
                self.entry(slot, at).bytes += size_of(part.value)

    def inner(self, slot: Slot, kept: Kept, at: _At) -> None:
        """The pullback of a function that was found at run time."""
        self.roots |= dict.fromkeys(kept.plan.outside)
        inner = at._replace(call=slot.source.origin, name=kept.plan.layout.name)
        self.todo += [(self.record, kept.plan.layout, record, inner) for record in kept.records]

    def count(self, slot: Slot, value: Any, at: _At) -> None:
        """A list or tuple of a record itself."""
        if value and id(value) not in self.seen:
            self.seen.add(id(value))
            self.entry(slot, at).bytes += size_of(value)

    def array(self, slot: Slot, part: Part, at: _At) -> None:
        """An array: its block counts for the entry that is closest to the line which made it."""
        key, size = block_of(part.value)
        if not size:
            return
        rank = max(slot.source.rank, TAKEN) if part.label else slot.source.rank
        known = self.blocks.get(key)
        if known is None or rank < known.rank:
            entry = self.entry(slot, at, part.label)
            entry.loops |= dict(at.loops)
            if known is None:
                known = self.blocks[key] = _Block(size, part.value, rank, entry)
            known.rank, known.entry = rank, entry
        known.facts_only &= part.facts_only
        window, count = window_of(part.value)
        known.windows[window] = count

    def entry(self, slot: Slot, at: _At, label: str = "") -> Memory:
        """The entry of a line for what a slot holds; what a callee was given belongs to the line that calls it."""
        source = slot.source
        origin, text = source.origin, source.text
        if source.role == "argument" and at.call is not None:
            origin, text = at.call, f"{text} of {at.name}()"
        text = f"{label} in the pullback of {text}" if label else text
        key = (origin and (origin.file, origin.line), text, source.role)
        if key not in self.found:
            self.found[key] = Memory(origin, text, "value" if label else source.role, label)
        return self.found[key]


__all__ = ["KeptLine", "MemoryReport", "memory_report", "report"]
