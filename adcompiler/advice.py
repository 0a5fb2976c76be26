"""What to do about a large entry of a memory report: one sentence, where there is one that helps."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adcompiler.errors import Origin

_LARGE = 64 * 1024
_ITERATIONS = 9  # from here on blocks of iterations keep much less than all of them


@dataclass(eq=False)
class Memory:
    """What a line keeps under one name: `bytes` in `count` blocks, of which `used` can be seen; `held` by the user."""

    origin: Origin | None
    text: str
    role: str
    label: str = ""
    bytes: int = 0
    count: int = 0
    iterations: int = 0
    used: int = 0
    held: int = 0
    owner: str = ""
    facts_only: bool = True
    loops: dict[Origin | None, int] = field(default_factory=dict)
    arrays: list[Any] = field(default_factory=list)


def advised(entry: Memory, entries: Sequence[Memory], total: int) -> str:
    """What would make a large entry smaller; nothing for small ones, and where nothing is sure to help."""
    if entry.bytes < _LARGE or 10 * entry.bytes < total:
        return ""
    if entry.label and entry.facts_only and entry.arrays:
        return (
            f"only the shape or dtype of {entry.label} is read: take that before the pullback is defined, "
            f"as in `n = {entry.label}.shape`"
        )
    if entry.arrays and 2 * entry.used <= entry.bytes and entry.role == "value" and not entry.label:
        return (
            f"{entry.text} is a view, and keeps all of the array that it is a part of: with a copy, "
            f"`{_operand(entry.text)}.copy()`, the rest is freed"
        )
    if entry.role == "copy":
        lines = _equal_copies(entry, entries)
        if lines:
            return (
                f"{lines} keep equal copies of {entry.text}, which is written into later: "
                f"let them read one, `kept = {entry.text}.copy()`"
            )
    return "" if entry.label else _recomputed(entry)


def _operand(text: str) -> str:
    return text if re.fullmatch(r"[\w.\[\]:, -]+", text) and " - " not in text else f"({text})"


def _equal_copies(entry: Memory, entries: Sequence[Memory]) -> str:
    """The lines that keep copies with the same contents."""
    same = [e for e in entries if e.role == "copy" and e.text == entry.text and e.origin and not e.loops and e.arrays]
    if entry not in same:
        return ""
    first = entry.arrays[0]
    equal = sorted({e.origin.line for e in same if e.origin and any(_is_equal(first, a) for a in e.arrays)})
    count = sum(_is_equal(first, a) for e in same for a in e.arrays)
    if count < 2:
        return ""
    return f"lines {' and '.join(map(str, equal))}" if len(equal) > 1 else f"several operations of line {equal[0]}"


def _is_equal(a: Any, b: Any) -> bool:
    return type(a) is np.ndarray and type(b) is np.ndarray and np.array_equal(a, b)


def _recomputed(entry: Memory) -> str:
    """Iterations in blocks that are recomputed, where a loop keeps something for each."""
    loop, count = max(entry.loops.items(), key=lambda item: item[1], default=(None, 0))
    if loop is None or min(count, entry.count or entry.iterations) < _ITERATIONS:
        return ""
    block = math.isqrt(count - 1) + 1
    return (
        f"recompute it: the loop of line {loop.line} keeps this for each of {count} iterations. Put {block} iterations "
        "at a time into a function, and call it by checkpoint(f)(...), which keeps its arguments only (README, Memory)"
    )


__all__ = ["Memory", "advised"]
