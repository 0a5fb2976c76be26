"""Stores at an index, and their reverses: ``y[index] = value``, ``put_along_axis``, ``add.at``."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import home_of, like_of, moved_to
from adcompiler.runtime.errors import MutationError
from adcompiler.runtime.facts import is_basic, is_mask
from adcompiler.runtime.scatter import add_at
from adcompiler.runtime.writes_values import Likeness, begin, check_float, check_strides, fitted, likeness, typed


class Stored:
    """A store at an index: `once` marks one lane for each element, `source` says which part of the value is there."""

    __slots__ = ("basic", "index", "like", "once", "source")

    def __init__(self, index: Any, basic: bool, like: Likeness | None, once: Any = None, source: Any = None) -> None:
        self.index = index
        self.basic = basic
        self.like = like
        self.once = once
        self.source = source


def take(window: Any, index: Any) -> Any:
    """A copy of what a basic index names, which is zero from here on; of one element of NumPy's a scalar."""
    taken = window[index]
    if not isinstance(taken, np.generic):
        taken = taken.copy()
    window[index] = 0
    return taken


def take_fancy(window: Any, index: Any) -> Any:
    """The same for an index with integer arrays or masks; what is named again is zero in all places but one.

    Enough for a value that is one number, or for places that are distinct. Which element of an array is the last one
    to be written, `store` asks before.
    """
    taken = window[index]
    once = _once(window, index)
    window[index] = 0
    return taken if once is None else np.where(once, taken, 0)


def frozen(index: Any, y: Any) -> Any:
    """An index that later writes do not reach: arrays in it are copied, and lists are arrays."""
    if isinstance(index, tuple):
        return tuple([_frozen_entry(entry, y) for entry in index])
    return _frozen_entry(index, y)


def _frozen_entry(entry: Any, y: Any) -> Any:
    if isinstance(entry, int | np.integer | np.bool_) or entry is None or entry is Ellipsis:
        return entry
    if isinstance(entry, slice):
        return slice(*(e if e is None else operator.index(e) for e in (entry.start, entry.stop, entry.step)))
    if hasattr(entry, "dtype"):
        return entry.copy() if like_of(entry) is not None else moved_to(y, np.array(entry))
    if hasattr(entry, "__index__"):
        return operator.index(entry)
    made = np.array(entry)
    return moved_to(y, made if made.size or made.dtype.kind == "b" else made.astype(np.intp))


def _is_distinct(index: Any) -> bool:
    """Whether it is plain from the index that no element is named twice."""
    entries = index if type(index) is tuple else (index,)
    return all(is_basic(e) or is_mask(e) or getattr(e, "size", 2) < 2 for e in entries)


def _once(y: Any, index: Any) -> Any:
    """One lane, of those that an index names, for each element; None if no element is named twice."""
    if _is_distinct(index):
        return None
    entries = index if type(index) is tuple else (index,)
    # Behind integers for the first axes, whole rows are named.
    rows = all(isinstance(e, int | np.integer) or getattr(e, "dtype", y.dtype).kind in "iu" for e in entries)
    axes = len(entries) if rows else y.ndim
    lane = np.empty_like(y, dtype=np.intp, shape=y.shape[:axes])
    shape = lane[index].shape
    lanes = home_of(y).arange(prod(shape)).reshape(shape)
    lane[index] = lanes
    once = lane[index] == lanes
    return None if once.all() else once.reshape(shape + (1,) * (y.ndim - axes))


def _once_of(y: Any, index: Any, kept: Any) -> Any:
    """As `_once`; an index that is on the host is looked at there, so that a device is not waited for."""
    if like_of(y) is None or like_of(*(index if type(index) is tuple else (index,))) is not None:
        return _once(y, kept)
    there = np.broadcast_to(np.zeros(()), y.shape)
    once = _once(there, frozen(index, there))
    return None if once is None else moved_to(y, once)


def _numbered(value: Any, dtype: Any) -> Any:
    """The positions of the elements of an array, laid out as NumPy lays out the array when it is stored as `dtype`.

    The order in which NumPy walks through a store depends on the strides of the value. Along an axis without stride the
    elements are one and the same.
    """
    value = np.asarray(value)
    steps = [abs(s) for s, n in zip(value.strides, value.shape, strict=True) if n > 1 and s]
    if len({*steps}) < len(steps) or not value.flags.aligned:
        raise _undecided("The memory of what is written overlaps itself.")
    part = tuple(slice(None) if stride else slice(0, 1) for stride in value.strides)
    positions = np.arange(value.size).reshape(value.shape)[part]
    numbers = np.empty_like(value[part], dtype=np.intp, subok=False)
    numbers = numbers[tuple(slice(None, None, -1 if stride < 0 else 1) for stride in value.strides)]
    numbers[...] = positions
    numbers = np.broadcast_to(numbers, value.shape)
    return numbers if value.dtype == dtype else numbers.copy(order="K")


def _undecided(why: str) -> MutationError:
    return MutationError(
        f"an index names an element twice, with different values for it\n{why}\nMake the positions distinct first."
    )


def _sources(y: Any, index: Any, value: Any, once: Any) -> Any:
    """The position in `value` of what is in each element that a store has written: of several the last one."""
    if like_of(y) is not None:
        raise _undecided("On a device it is left open which of them is written last.")
    if isinstance(value, np.ndarray) and np.may_share_memory(y, value):
        raise _undecided("They are read from the array itself, in an order that is NumPy's own.")
    lane = np.empty_like(y, dtype=np.intp)
    lane[index] = _numbered(value, y.dtype)
    return lane[index][np.broadcast_to(once, lane[index].shape)]


def keep_store(y: Any, index: Any, value: Any) -> Any:
    """Before ``y[index] = value``."""
    cls = type(value)
    if (cls is float or cls is np.float64) and type(y) is np.ndarray and y.dtype.char == "d":
        if type(index) is int or _is_plain(index):
            return index
    like = begin(y, value)
    kept = frozen(index, y)
    if is_basic(kept):
        if type(value) is np.ndarray:
            check_strides(y[kept], value)
        return Stored(kept, True, like)
    once = _once_of(y, index, kept)
    if once is None or like is None or prod(like[0]) == 1:
        return Stored(kept, False, like, once)
    return Stored(kept, False, like, once, _sources(y, index, value, once))


def _is_plain(index: Any) -> bool:
    """Whether an index is made of ints, None and Ellipsis, and of slices of ints."""
    for entry in index if type(index) is tuple else (index,):
        kind = type(entry)
        if kind is slice:
            for part in (entry.start, entry.stop, entry.step):
                if part is not None and type(part) is not int:
                    return False
        elif kind is not int and entry is not None and entry is not Ellipsis:
            return False
    return True


def reverse_store(window: Any, saved: Any) -> tuple[Any, ...]:
    """The value's cotangent is what was in its place; nothing of the old elements is left there."""
    if type(saved) is not Stored:
        taken = take(window, saved)
        return None, taken if isinstance(taken, np.generic) else taken.sum()
    if saved.basic:
        return None, fitted(take(window, saved.index), saved.like)
    taken = window[saved.index]
    window[saved.index] = 0
    if saved.like is None or saved.once is None:
        return None, fitted(taken, saved.like)
    if saved.source is None:
        return None, fitted(np.where(saved.once, taken, 0), saved.like)
    shape, dtype = saved.like
    written = typed(taken[np.broadcast_to(saved.once, taken.shape)], dtype)
    return None, add_at(np.zeros(prod(shape), written.dtype), saved.source, written).reshape(shape)


def keep_along(y: Any, indices: Any, values: Any, axis: Any) -> Any:
    """Before ``put_along_axis``, which is a store at the indices for one axis and all positions of the others."""
    if axis is None:
        raise MutationError(
            "np.put_along_axis(..., axis=None) writes into an array\n"
            "NumPy writes into a copy of it, or not, as its memory is.\nUse np.put(y, indices, values)."
        )
    axis = range(y.ndim)[axis]
    index = tuple(
        indices if i == axis else home_of(y).arange(n).reshape([-1 if i == j else 1 for j in range(y.ndim)])
        for i, n in enumerate(y.shape)
    )
    return keep_store(y, index, values)


def reverse_along(window: Any, saved: Any) -> tuple[Any, ...]:
    """As the store."""
    return *reverse_store(window, saved), None


def keep_at(y: Any, indices: Any, b: Any) -> Any:
    """Before ``add.at`` and ``subtract.at``."""
    like = likeness(b)
    if like is None:
        return None
    check_float(y)
    kept = frozen(indices, y)
    return kept, is_basic(kept), like


def _read(window: Any, saved: Any) -> Any:
    """The cotangent of what was added at an index: the array's own, which stays."""
    index, basic, _ = saved
    read = window[index]
    return read.copy() if basic else read


def reverse_add_at(window: Any, saved: Any) -> tuple[Any, ...]:
    """An element that is named several times has its cotangent in each lane."""
    return None, None if saved is None else fitted(_read(window, saved), saved[2])


def reverse_subtract_at(window: Any, saved: Any) -> tuple[Any, ...]:
    """The same with the other sign."""
    return None, None if saved is None else fitted(-_read(window, saved), saved[2])
