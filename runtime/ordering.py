"""Parts of the pullbacks of functions that pick elements along an axis, or bring them in order.

Each one says where the elements came from, as an index, and leaves the adding up to `scatter`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import moved_to
from adcompiler.runtime.layout import reshape
from adcompiler.runtime.scatter import scatter
from adcompiler.runtime.shapes import Shape, broadcast, zeros


def take_bar(c: Any, indices: Any, x_shape: Shape, axis: int | None, mode: str = "raise") -> Any:
    """The cotangent of `x` in ``np.take(x, indices, axis, mode=mode)``; ``axis=None`` takes from the flat array."""
    if axis is None or not x_shape:
        length = math.prod(x_shape)
        return reshape(scatter(c, placed(indices, length, mode), (length,)), x_shape)
    axis = axis % len(x_shape)
    return scatter(c, (slice(None),) * axis + (placed(indices, x_shape[axis], mode),), x_shape)


def read_at(indices: Any, x_shape: Shape, axis: int | None, mode: str) -> Any:
    """The positions that ``np.take(x, indices, axis, mode=mode)`` reads, as CuPy takes them too."""
    return placed(indices, math.prod(x_shape) if axis is None or not x_shape else x_shape[axis], mode)


def placed(indices: Any, length: int, mode: str) -> Any:
    """The positions that NumPy reads on an axis of `length` for `indices`, by its `mode`."""
    indices = _as_whole(indices)
    if mode == "raise" or not length:
        return indices
    return np.remainder(indices, length) if mode == "wrap" else np.clip(indices, 0, length - 1)


def _as_whole(indices: Any) -> Any:
    """Positions as integers: NumPy's functions take True for 1, where an index of booleans would be a mask."""
    if type(indices) is int:
        return indices
    dtype = getattr(indices, "dtype", None)
    return indices if dtype is not None and dtype.kind in "iu" else np.add(indices, 0)


def along_axis(indices: Any, x_shape: Shape, axis: int) -> tuple[Any, ...]:
    """The index for which ``x[index]`` is ``np.take_along_axis(x, indices, axis)``."""
    index = [moved_to(indices, entry) for entry in np.ogrid[tuple(slice(n) for n in x_shape)]]
    index[axis] = indices
    return tuple(index)


def take_along_axis_bar(c: Any, indices: Any, x_shape: Shape, axis: int | None) -> Any:
    """The cotangent of `x` in ``np.take_along_axis(x, indices, axis)``."""
    if axis is None:
        return take_bar(c, indices, x_shape, None)
    return scatter(c, along_axis(indices, x_shape, axis), x_shape)


def ordered_bar(c: Any, order: Any, x_shape: Shape, axis: int | None) -> Any:
    """The cotangent of `x` in ``np.take_along_axis(x, order, axis)``, if `order` names each element once."""
    if axis is None:
        return reshape(ordered_bar(c, order, (math.prod(x_shape),), 0), x_shape)
    x_bar = zeros(x_shape, c)
    x_bar[along_axis(order, x_shape, axis)] = c
    return x_bar


def item_bar(c: Any, position: tuple[Any, ...], x_shape: Shape, dtype: Any, home: Any) -> Any:
    """The cotangent of `x`, of `dtype` and the library `home`, in ``x.item(*position)``, which is a Python number."""
    c = home.asarray(c, np.result_type(dtype, c))
    if not position:
        return broadcast(c, x_shape)
    where = position[0] if len(position) == 1 else position
    if isinstance(where, tuple):
        return scatter(c, where, x_shape)
    return scatter(c, where, (math.prod(x_shape),)).reshape(x_shape)


def partition_order(x: Any, y: Any, axis: int | None) -> Any:
    """Where the elements of `y`, which is `x` in another order along `axis`, stood in `x`."""
    ranks = np.argsort(np.argsort(y, axis=axis, kind="stable"), axis=axis)
    return np.take_along_axis(np.argsort(x, axis=axis, kind="stable"), ranks, axis=axis)


def first_places(x: Any, y: Any) -> Any:
    """For each element of the flat array `y` the position in the flat array `x` of the first element equal to it."""
    values, places = np.unique(x, return_index=True)
    return places[np.searchsorted(values, y)]


def unique_places(x: Any, values: Any, axis: int | None) -> Any:
    """Where the elements (or, along `axis`, the slices) in `values`, which ``np.unique(x, axis=axis)`` gave, stand."""
    if axis is None:
        return first_places(np.ravel(x), np.ravel(values))
    return np.unique(x, return_index=True, axis=axis)[1]


def trimmed_bar(c: Any, x_shape: Shape, starts: Any) -> Any:
    """The cotangent of `x` of which the part that begins at `starts` was kept."""
    x_bar = zeros(x_shape, c)
    x_bar[tuple(slice(start, start + n) for start, n in zip(starts, c.shape, strict=True))] = c
    return x_bar


def trim_starts(x: Any, y_shape: Shape, trim: str) -> list[int]:
    """Where along each axis the part of `x` begins that ``np.trim_zeros(x, trim)`` keeps, which is of `y_shape`."""
    x = x if hasattr(x, "dtype") else np.asarray(x)
    first = [int(np.min(found)) if found.size else 0 for found in np.nonzero(x)]
    cut = "f" in trim.lower() and 0 not in y_shape
    return [place if cut and n < length else 0 for place, n, length in zip(first, y_shape, x.shape, strict=True)]


def difference_places(x: Any, others: Any, y: Any, assume_unique: Any) -> Any:
    """Where the elements of `y`, which is ``np.setdiff1d(x, others, assume_unique)``, stood in the flat `x`."""
    return np.flatnonzero(np.isin(x, others, invert=True)) if assume_unique else first_places(np.ravel(x), y)
