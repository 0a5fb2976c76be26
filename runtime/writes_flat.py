"""Writes at positions in the order of C, whatever the strides: `put`, `place`, `putmask`, `fill_diagonal`, `y.flat`.

The elements of the value are written one after the other, and again from the first one when they are used up.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod
from operator import index as as_int
from operator import mul
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import home_of, like_of, moved_to
from adcompiler.runtime.errors import MutationError
from adcompiler.runtime.scatter import add_at
from adcompiler.runtime.shapes import size
from adcompiler.runtime.writes_values import Likeness, begin, check_apart, cycled, typed


class Placed:
    """Positions that were written, all of them distinct, and, if the value was not used in turn, from which element."""

    __slots__ = ("like", "places", "source")

    def __init__(self, places: Any, like: Likeness | None, source: Any = None) -> None:
        self.places = places
        self.like = like
        self.source = source


def store_flat(y: Any, index: Any, value: Any) -> None:
    """``y.flat[index] = value``."""
    y.flat[index] = value


def set_flat(y: Any, value: Any) -> None:
    """``y.flat = value``."""
    y.flat = value


def take_flat(window: Any, places: Any) -> Any:
    """A copy of the elements at distinct positions, which are zero from here on."""
    if window.flags.c_contiguous:
        flat, at = window.reshape(-1), places
    else:
        if type(places) is slice:
            places = home_of(window).arange(window.size)[places]
        flat, at = window, np.unravel_index(places, window.shape)
    taken = flat[at].copy() if type(at) is slice else flat[at]
    flat[at] = 0
    return taken


def _kept(y: Any, places: Any, value: Any, like: Likeness | None) -> Placed:
    """The record of a write at positions of which some may be equal, when the last one wins."""
    count = size(value)
    if not count or not places.size:
        return Placed(slice(0, 0), like)
    places = np.where(places < 0, places + y.size, places)
    lanes = home_of(y).arange(places.size)
    lane = np.empty_like(y, dtype=np.intp, shape=(y.size,))
    lane[places] = lanes
    last = lane[places] == lanes
    if last.all():
        return Placed(places, like)
    if count == 1 or like is None:
        return Placed(places[last], like)
    if like_of(y) is not None:
        raise MutationError(
            "several values are written to one position\nOn a device it is left open which of them is written last.\n"
            "Make the positions distinct first."
        )
    return Placed(places[last], like, lanes[last] % count)


def reverse_placed(window: Any, saved: Any) -> Any:
    """The cotangent of the value: what was in its places, of which nothing is left."""
    taken = take_flat(window, saved.places)
    if saved.source is None or saved.like is None:
        return cycled(taken, saved.like)
    shape, dtype = saved.like
    taken = typed(taken, dtype)
    return add_at(np.zeros(prod(shape), taken.dtype), saved.source, taken).reshape(shape)


def reverse_indexed(window: Any, saved: Any) -> tuple[Any, ...]:
    """Of the operands position and value."""
    return None, reverse_placed(window, saved)


def reverse_first(window: Any, saved: Any) -> tuple[Any, ...]:
    """Of the value alone."""
    return (reverse_placed(window, saved),)


def _positions(index: Any, y: Any) -> Any:
    """A copy of an array or a list of positions as a vector, beside `y`."""
    if like_of(index) is not None:
        return index.flatten().astype(np.intp)
    return moved_to(y, np.array(index).astype(np.intp).ravel())


def keep_put(y: Any, ind: Any, v: Any, mode: str = "raise") -> Any:
    """Before ``np.put``."""
    like = begin(y, v)
    places = _positions(ind, y)
    if mode not in ("raise", "wrap", "clip"):
        raise MutationError(f"np.put with mode={mode!r}\nThere are three modes.\nUse 'raise', 'wrap' or 'clip'.")
    on_device = like_of(y) is not None  # where no position is out of bounds
    if y.size and (mode == "wrap" or (on_device and mode == "raise")):
        places = places % y.size
    elif y.size and mode == "clip":
        places = np.clip(places, 0, y.size - 1)
    return _kept(y, places, v, like)


def reverse_put(window: Any, saved: Any) -> tuple[Any, ...]:
    """Of position, value and mode."""
    return None, reverse_placed(window, saved), None


def keep_place(y: Any, mask: Any, vals: Any) -> Any:
    """Before ``np.place``: the values go to the positions of the mask, in order."""
    like = begin(y, vals)
    check_apart(y, vals)
    return Placed(np.flatnonzero(_mask(mask, y)) if size(vals) else slice(0, 0), like)


def _mask(mask: Any, y: Any) -> Any:
    """A copy of a mask, beside `y`."""
    return mask.astype(bool) if like_of(mask) is not None else moved_to(y, np.array(mask).astype(bool))


def keep_putmask(y: Any, mask: Any, values: Any) -> Any:
    """Before ``np.putmask``: the values go by the position in the array, also where nothing is written."""
    like = begin(y, values)
    mask = _mask(mask, y)
    return (mask.reshape(y.shape) if mask.size == y.size and size(values) else None), like


def reverse_putmask(window: Any, saved: Any) -> tuple[Any, ...]:
    """All elements take part, with zero where nothing is written."""
    mask, like = saved
    if mask is None:
        return None, cycled(np.zeros_like(window, shape=(0,)), like)
    taken = np.where(mask, window, 0)
    np.copyto(window, 0, where=mask)
    return None, cycled(taken.ravel(), like)


def keep_diagonal(y: Any, val: Any, wrap: bool = False) -> Any:
    """Before ``np.fill_diagonal``: the positions are those of NumPy's own slice of ``y.flat``."""
    like = begin(y, val)
    check_apart(y, val)
    if y.ndim == 2:
        step, stop = y.shape[1] + 1, None if wrap else y.shape[1] ** 2
    else:
        step, stop = 1 + sum(accumulate(y.shape[:-1], mul)), None
    return Placed(slice(0, stop if size(val) else 0, step), like)


def reverse_diagonal(window: Any, saved: Any) -> tuple[Any, ...]:
    """Of value and wrap."""
    return reverse_placed(window, saved), None


def keep_flat(y: Any, index: Any, value: Any) -> Any:
    """Before ``y.flat[index] = value``."""
    like = begin(y, value)
    check_apart(y, value)
    while isinstance(index, tuple) and len(index) == 1:
        (index,) = index
    if not size(value):
        return Placed(slice(0, 0), like)
    if index is Ellipsis:
        return Placed(slice(None), like)
    if isinstance(index, int | np.integer) and not isinstance(index, bool):
        place = int(index) % y.size if y.size else 0
        return Placed(slice(place, place + 1), like)
    if isinstance(index, slice):
        parts = (index.start, index.stop, index.step)
        return Placed(slice(*(None if part is None else as_int(part) for part in parts)), like)
    if isinstance(index, list):
        index = np.array(index) if index else np.zeros(0, np.intp)
    kind = index.dtype.kind if hasattr(index, "dtype") and hasattr(index, "ravel") else ""
    if kind == "b" and index.ndim:
        return Placed(np.flatnonzero(_mask(index, y)), like)
    if kind not in ("i", "u"):
        raise MutationError(
            "y.flat is written into at an index that is no int, slice or array\n"
            "Which positions it stands for is not known.\nUse np.put(y, positions, values)."
        )
    return _kept(y, _positions(index, y), value, like)


def keep_set_flat(y: Any, value: Any) -> Any:
    """Before ``y.flat = value``."""
    return keep_flat(y, Ellipsis, value)
