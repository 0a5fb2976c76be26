"""Parts of the pullbacks of functions that repeat elements of an array, put others between them, or leave some out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adcompiler.runtime.layout import gather_bar, positions_of, reshape
from adcompiler.runtime.scatter import scatter
from adcompiler.runtime.shapes import Shape, zeros


def tile_bar(c: Any, x_shape: Shape, reps: Any) -> Any:
    """The cotangent of `x` in ``np.tile(x, reps)``: the sum over the copies."""
    counts = (reps,) if np.ndim(reps) == 0 else tuple(reps)
    rank = max(len(counts), len(x_shape))
    counts, lengths = (1,) * (rank - len(counts)) + counts, (1,) * (rank - len(x_shape)) + x_shape
    pairs = [length for pair in zip(counts, lengths, strict=True) for length in pair]
    return reshape(np.sum(np.reshape(c, pairs), axis=tuple(range(0, 2 * rank, 2))), x_shape)


def repeat_bar(c: Any, x_shape: Shape, repeats: Any, axis: int | None) -> Any:
    """The cotangent of `x` in ``np.repeat(x, repeats, axis)``: the sum over the copies."""
    if axis is None or not x_shape:
        return reshape(repeat_bar(c, (math.prod(x_shape),), repeats, 0), x_shape)
    axis = axis % len(x_shape)
    if np.size(repeats) == 1:
        apart = (*x_shape[: axis + 1], int(np.reshape(repeats, ())), *x_shape[axis + 1 :])
        return c.reshape(apart).sum(axis=axis + 1)
    return gather_bar(c, np.repeat(positions_of(x_shape, repeats), repeats, axis), x_shape)


def resize_bar(c: Any, x_shape: Shape) -> Any:
    """The cotangent of `x` in ``np.resize(x, ...)``, which repeats its elements as often as it needs."""
    c, length = np.ravel(c), math.prod(x_shape)
    if not length:
        return zeros(x_shape, c)
    missing = -len(c) % length
    rows = np.reshape(np.concatenate([c, zeros((missing,), c)]), (-1, length))
    return reshape(np.sum(rows, axis=0), x_shape)


def windows_bar(c: Any, x_shape: Shape, window_shape: Any, axis: Any) -> Any:
    """The cotangent of `x` in ``sliding_window_view(x, window_shape, axis)``, which shows an element many times."""
    windows = np.lib.stride_tricks.sliding_window_view(positions_of(x_shape), window_shape, axis)
    return gather_bar(c, windows, x_shape)


def deleted_bar(c: Any, positions: Any, x_shape: Shape) -> Any:
    """The cotangent of an array of `x_shape` of which only the elements at the flat `positions` are left."""
    x_bar = zeros((math.prod(x_shape),), c)
    x_bar[np.ravel(positions)] = np.ravel(c)
    return np.reshape(x_bar, x_shape)


def insert_marks(x_shape: Shape, obj: Any, values_shape: Shape, axis: int | None) -> Any:
    """Where the elements of ``np.insert(x, obj, values, axis)`` are from: i of the flat `x`, -1 - i of `values`."""
    return np.insert(positions_of(x_shape), obj, -1 - positions_of(values_shape), axis)


def kept_bar(c: Any, marks: Any, x_shape: Shape) -> Any:
    """The cotangent of `x` in ``np.insert(x, ...)``; insertion keeps the order of its elements."""
    return reshape(c[marks >= 0], x_shape)


def inserted_bar(c: Any, marks: Any, values_shape: Shape) -> Any:
    """The cotangent of the values in ``np.insert(x, obj, values)``, which may be used several times."""
    own = marks < 0
    return reshape(scatter(c[own], -1 - marks[own], (math.prod(values_shape),)), values_shape)
