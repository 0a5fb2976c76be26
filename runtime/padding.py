"""Parts of the pullback of `np.pad`, which surrounds an array along one axis after another.

What it puts around along an axis is computed from the array as it is by then, with the padding along the axes before.
So the adjoint goes through the axes backwards, and leaves the axis at hand with its own length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import moved_to
from adcompiler.runtime.reduction import middle, share, tie_hits
from adcompiler.runtime.scatter import scatter
from adcompiler.runtime.shapes import Shape, fit, zeros

Widths = list[tuple[int, int]]

# Modes and options are known at run time only.
_pad: Any = np.pad

STATISTICS = ("mean", "median", "maximum", "minimum")
MODES = ("constant", "edge", "empty", "linear_ramp", "reflect", "symmetric", "wrap", *STATISTICS)


def pad_widths(pad_width: Any, ndim: int) -> Widths:
    """How many elements come before and after along each axis, from any of the forms that NumPy takes."""
    if isinstance(pad_width, dict):
        given: list[Any] = [pad_width.get(axis, pad_width.get(axis - ndim, 0)) for axis in range(ndim)]
        pad_width = [(width, width) if np.ndim(width) == 0 else width for width in given]
    return _pairs(pad_width, ndim)


def _pairs(value: Any, ndim: int) -> list[Any]:
    return [tuple(pair) for pair in np.broadcast_to(value, (ndim, 2)).tolist()]


def pad_bar(c: Any, x: Any, widths: Widths, mode: str, options: dict[str, Any]) -> Any:
    """The cotangent of `x` in ``np.pad(x, widths, mode, **options)``; `x` is needed for the modes that compare."""
    for axis in reversed(range(len(widths))):
        rows = np.moveaxis(c, axis, 0)
        before, after = widths[axis]
        if before or after:
            inside = rows[before : len(rows) - after]
            outside = rows[:before], rows[len(rows) - after :]
            rows = inside + _outside_bar(outside, inside.shape, axis, x, widths, mode, options)
        c = np.moveaxis(rows, 0, axis)
    return c


def _outside_bar(
    outside: tuple[Any, Any],
    x_shape: Shape,
    axis: int,
    x: Any,
    widths: Widths,
    mode: str,
    options: dict[str, Any],
) -> Any:
    """What the padding along one axis, brought to the front, adds to the cotangent of what it surrounds."""
    if mode in ("constant", "empty"):
        return 0.0
    if mode == "linear_ramp":
        return _ramp_bar(outside, x_shape)
    if mode in STATISTICS:
        rows = _so_far(x, axis, widths, mode, options)
        lengths = options.get("stat_length")
        lengths = (None, None) if lengths is None else _pairs(lengths, len(widths))[axis]
        return _statistic_bar(outside, rows, lengths, mode)
    return _copied_bar(outside, x_shape, mode, options)


def _so_far(x: Any, axis: int, widths: Widths, mode: str, options: dict[str, Any]) -> Any:
    """The array as it was when NumPy came to `axis`, which is brought to the front."""
    so_far = [pair if i < axis else (0, 0) for i, pair in enumerate(widths)]
    return np.moveaxis(_pad(x, so_far, mode, **options), axis, 0)


def _copied_bar(outside: tuple[Any, Any], x_shape: Shape, mode: str, options: dict[str, Any]) -> Any:
    """The adjoint of the modes that copy elements, or reflect them at the elements on the edges."""
    count = x_shape[0]
    widths = len(outside[0]), len(outside[1])
    numbers = np.arange(count)

    def ends(padded: Any) -> tuple[Any, Any]:
        return padded[: widths[0]], padded[len(padded) - widths[1] :]

    if options.get("reflect_type", "even") == "even":
        sources = ends(_pad(numbers, widths, mode))
        return scatter(outside[0], sources[0], x_shape) + scatter(outside[1], sources[1], x_shape)
    # Each element is a copy with a sign, plus multiples of the two edges: NumPy itself says which.
    first, last = numbers == 0, (numbers == count - 1) & (numbers > 0)
    x_bar = zeros(x_shape, outside[0])
    for edge, end in ((first, 0), (last, -1)):
        for rows, factors in zip(outside, ends(_pad(edge.astype(int), widths, mode, **options)), strict=True):
            x_bar[end] += np.tensordot(moved_to(rows, factors), rows, 1)
    inner = np.where(first | last, 0, numbers)
    for rows, sources in zip(outside, ends(_pad(inner, widths, mode, **options)), strict=True):
        x_bar = x_bar + scatter(_along(np.sign(sources), rows) * rows, np.abs(sources), x_shape)
    return x_bar


def _ramp_bar(outside: tuple[Any, Any], x_shape: Shape) -> Any:
    """The adjoint of ``mode="linear_ramp"`` for the elements on the edges."""
    before, after = outside
    x_bar = zeros(x_shape, before)
    x_bar[0] += np.sum(before * _along(_ramp(len(before)), before), axis=0)
    x_bar[-1] += np.sum(after * _along(_ramp(len(after))[::-1], after), axis=0)
    return x_bar


def _ramp(count: int) -> Any:
    """The weights of the edge, from the outermost element on."""
    return np.arange(count) / (count or 1)


def _along(weights: Any, rows: Any) -> Any:
    """One weight for each of the `rows`, in their dtype."""
    return moved_to(rows, weights.astype(rows.real.dtype)).reshape((-1,) + (1,) * (rows.ndim - 1))


def _statistic_bar(outside: tuple[Any, Any], rows: Any, lengths: tuple[Any, Any], mode: str) -> Any:
    """The adjoint of the modes that pad with the mean, median or an extremum of the elements next to the edge."""
    x_bar = zeros(rows.shape, outside[0])
    for c, part in zip(outside, _parts(len(rows), lengths), strict=True):
        if len(c) and len(rows[part]):
            x_bar[part] += _mean_like_bar(np.sum(c, axis=0), rows[part], mode)
    return x_bar


def _parts(count: int, lengths: tuple[Any, Any]) -> tuple[slice, slice]:
    """The elements at both ends, of `count`, of which statistics are taken."""
    first, last = (count if length is None else min(length, count) for length in lengths)
    return slice(0, first), slice(count - last, None)


def _mean_like_bar(c: Any, rows: Any, mode: str) -> Any:
    """The adjoint of a statistic over the first axis of `rows`."""
    if mode == "mean":
        return c / len(rows)
    if mode == "median":
        hits = [tie_hits(rows, middle(rows, 0, higher), 0, True) for higher in (False, True)]
        return share(0.5 * c, hits[0], 0, False) + share(0.5 * c, hits[1], 0, False)
    extremum = np.max(rows, axis=0) if mode == "maximum" else np.min(rows, axis=0)
    return share(c, tie_hits(rows, extremum, 0, False), 0, False)


def pad_value_bar(c: Any, value_shape: Shape, widths: Widths, mode: str) -> Any:
    """The cotangent of the constants, or the outermost values of a ramp, that `np.pad` puts around an array."""
    sums: list[Any] = []
    for axis in reversed(range(len(widths))):
        rows = np.moveaxis(c, axis, 0)
        before, after = widths[axis]
        outside = rows[:before], rows[len(rows) - after :]
        rows = rows[before : len(rows) - after]
        if mode == "linear_ramp" and (before or after):
            rows = rows + _ramp_bar(outside, rows.shape)
            weights = 1 - _ramp(before), 1 - _ramp(after)[::-1]
            outside = tuple(part * _along(own, part) for part, own in zip(outside, weights, strict=True))
        sums = [np.sum(outside[0]), np.sum(outside[1]), *sums]
        c = np.moveaxis(rows, 0, axis)
    return fit(np.reshape(np.stack(sums), (len(widths), 2)), value_shape) if sums else np.zeros(value_shape)
