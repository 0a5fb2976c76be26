"""Parts of the rules of functions that join arrays along several axes: `np.block`, `np.r_` and `np.c_`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from adcompiler.runtime.conversion import varies
from adcompiler.runtime.layout import positions_of, reshape
from adcompiler.runtime.shapes import Shape, shape, zeros


def block_layout(arrays: Any) -> Any:
    """The shapes of the arrays in nested lists, in the same lists."""
    return [block_layout(part) for part in arrays] if isinstance(arrays, list) else shape(arrays)


def block_bar(c: Any, parts: Any) -> Any:
    """The cotangent of the nested lists of `np.block`: the innermost are joined along the last axis."""
    return _apart(c, parts, -_depth(parts))


def _depth(parts: Any) -> int:
    return 1 + _depth(parts[0]) if isinstance(parts, list) else 0


def _apart(c: Any, parts: Any, axis: int) -> Any:
    """`c` taken apart along `axis`, and its parts along the axes that follow."""
    if not isinstance(parts, list):
        return reshape(c, parts)
    bars, start = [], 0
    for part in parts:
        stop = start + _extent(part, axis)
        bars.append(_apart(c[(..., slice(start, stop), *(slice(None),) * (-1 - axis))], part, axis + 1))
        start = stop
    return bars


def _extent(parts: Any, axis: int) -> int:
    """The length along the negative `axis` of arrays that are joined along later axes."""
    while isinstance(parts, list):
        parts = parts[0]
    return parts[axis] if len(parts) >= -axis else 1


class Marks(NamedTuple):
    """Where the elements of ``np.r_[key]`` are from: -1 for no array, else the position among those of all entries.

    `entries` has for each entry of the key where its elements begin and its shape, or None if it does not vary.
    """

    marks: Any
    entries: list[tuple[int, Shape] | None]
    total: int
    several: bool


def concatenator_marks(concatenator: Any, key: Any) -> Marks:
    """What `concatenator` (`np.r_` or `np.c_`) does with the entries of a key, seen by doing it with marks."""
    several = isinstance(key, tuple)
    marked: list[Any] = []
    entries: list[tuple[int, Shape] | None] = []
    start = 0
    for entry in key if several else (key,):
        found = None
        if isinstance(entry, slice):
            marked.append(np.full(np.r_[entry].shape, -1))
        elif isinstance(entry, str):
            marked.append(entry)
        else:
            found = (start, shape(entry)) if varies(entry) else None
            positions = start + positions_of(shape(entry))
            # A number is joined in another way than an array of no dimensions.
            marked.append(positions if isinstance(entry, np.ndarray) or positions.ndim else int(positions))
            start += positions.size
        entries.append(found)
    return Marks(concatenator[tuple(marked)], entries, start, several)


def concatenator_bar(c: Any, made: Marks) -> Any:
    """The cotangent of the key of `np.r_` or `np.c_`."""
    flat = zeros((made.total,), c)
    used = made.marks >= 0
    flat[made.marks[used]] = c[used]
    bars = [
        None if entry is None else reshape(flat[entry[0] : entry[0] + math.prod(entry[1])], entry[1])
        for entry in made.entries
    ]
    return tuple(bars) if made.several else bars[0]
