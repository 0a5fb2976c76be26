"""Pullbacks of the methods of two-argument ufuncs: reduce, accumulate and reduceat.

Everything is done on rows: the axes that are put together stand last, as one. Where a ufunc has no closed form here the
fold is taken step by step with the rule of its plain call: one step for each entry of a row, for all rows at once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from adcompiler.runtime.elementary import divide_singular, multiply_strong
from adcompiler.runtime.guarded import masked, masked_out
from adcompiler.runtime.reduction import cumprod_bar, product_of_others, reverse_cumsum
from adcompiler.runtime.scatter import add_at
from adcompiler.runtime.shapes import Axis, Shape, broadcast, zeros
from adcompiler.runtime.tangents import unthunk
from adcompiler.runtime.ufuncs import Plain, as_given

Total = Callable[[Any], Any]


def reduce_bars(
    plain: Plain, ufunc: Any, array: Any, y: Any, y_bar: Any, axis: Axis, initial: Any, mask: Any
) -> tuple[Any, Any]:
    """The cotangents of `array` and `initial` in ``y = ufunc.reduce(array, axis, initial=initial, where=mask)``.

    `initial` is Ellipsis or None if there is none; else it is taken as a first entry of every row.
    """
    if y.dtype.kind not in "fc":
        return None, None
    array = _array(array)
    axes = _axes(axis, array.ndim)
    rows, lead = _rows(array.astype(y.dtype), axes), _lead(array.shape, axes)
    chosen = None if mask is True else _rows(np.broadcast_to(mask, array.shape), axes)
    starts = initial is not None and initial is not ...
    if starts:
        first = zeros((*lead, 1), rows) + y.dtype.type(initial)
        rows = np.concatenate([first, rows], axis=-1)
        chosen = chosen if chosen is None else np.concatenate([np.ones_like(first, bool), chosen], axis=-1)
    c, y = broadcast(y_bar, np.shape(y)).reshape((*lead, 1)), np.reshape(y, (*lead, 1))
    with np.errstate(all="ignore"):
        bars = _group_bars(plain, ufunc, c, rows, y, chosen)
        own = bars[..., 1:] if starts else bars
        initial_bar = as_given(bars[..., 0].sum(), initial) if starts else None
        return as_given(_unrows(own, array.shape, axes), array), initial_bar


def _group_bars(plain: Plain, ufunc: Any, c: Any, rows: Any, y: Any, chosen: Any) -> Any:
    """The cotangents of the entries of `rows`, each of which is reduced where it is `chosen`."""
    if ufunc is np.multiply:
        factors = rows if chosen is None else np.where(chosen, rows, rows.dtype.type(1))
        product = np.multiply.reduce(factors, axis=-1, keepdims=True)
        bars = multiply_strong(c, np.conj(product_of_others(factors, product, -1, True)))
    elif ufunc is np.subtract:
        bars = np.where(np.arange(rows.shape[-1]) == 0, c, -c)
    elif ufunc in _CLOSED:
        counted = np.ones_like(rows, bool) if chosen is None else chosen
        bars = _CLOSED[ufunc](c, rows, y, counted, lambda z: z.sum(axis=-1, keepdims=True, dtype=rows.dtype))
    else:
        last = np.arange(rows.shape[-1]) == rows.shape[-1] - 1
        return fold_bars(plain, np.where(last, c, 0), rows, chosen)
    bars = broadcast(bars, rows.shape)
    return bars if chosen is None else masked(bars, chosen)


# Closed forms: `c` and `y` are the cotangent and the value of a group, spread over its entries `x` as far as they have
# to be; `chosen` are the entries that take part, and `total` is the sum over each group, spread again.


def _add_bars(c: Any, x: Any, y: Any, chosen: Any, total: Total) -> Any:
    return c


def _hypot_bars(c: Any, x: Any, y: Any, chosen: Any, total: Total) -> Any:
    return divide_singular(c, y) * x


def _extremum_bars(c: Any, x: Any, y: Any, chosen: Any, total: Total) -> Any:
    """In equal parts to the entries that attain the extremum, or are nan if that is."""
    hit = (np.equal(x, y) | ((x != x) & (y != y))) & chosen
    return masked(c / total(hit), hit)


def _log_bars(exp: Any) -> Callable[..., Any]:
    def bars(c: Any, x: Any, y: Any, chosen: Any, total: Total) -> Any:
        """The shares of `exp(x)` in their sum, and equal parts of what attains it where that is infinite or 0."""
        hit = np.equal(x, y) & chosen
        share = np.where(chosen, np.where(np.isinf(y), hit, exp(x - y)), 0)
        return multiply_strong(c, share / total(share))

    return bars


_CLOSED: dict[Any, Callable[..., Any]] = {
    np.add: _add_bars,
    np.hypot: _hypot_bars,
    **dict.fromkeys((np.maximum, np.minimum, np.fmax, np.fmin), _extremum_bars),
    np.logaddexp: _log_bars(np.exp),
    np.logaddexp2: _log_bars(np.exp2),
}


# Step by step


def fold_bars(plain: Plain, c: Any, rows: Any, chosen: Any = None) -> Any:
    """The cotangents of `rows`, where ``s[0] = rows[0]``, ``s[i] = f(s[i - 1], rows[i])``, and `c` is that of all s."""
    count = rows.shape[-1]
    steps: list[Any] = []
    s: Any = rows[..., 0] if count else None
    for i in range(1, count):
        y, pullback = plain(s, rows[..., i])
        s = y if chosen is None else np.where(chosen[..., i], y, s)
        steps.append(pullback)
    bars = np.zeros_like(rows, np.result_type(c, rows))
    s_bar = 0
    for i in range(count - 1, 0, -1):
        s_bar = s_bar + c[..., i]
        on = True if chosen is None else chosen[..., i]
        before, entry = (masked(unthunk(bar), on) for bar in steps[i - 1](masked(s_bar, on)))
        bars[..., i] = entry
        s_bar = before if chosen is None else before + masked_out(s_bar, on)
    if count:
        bars[..., 0] = s_bar + c[..., 0]
    return bars


# accumulate


def accumulate_bar(plain: Plain, ufunc: Any, array: Any, y: Any, y_bar: Any, axis: int) -> Any:
    """The cotangent of `array` in ``y = ufunc.accumulate(array, axis)``."""
    if y.dtype.kind not in "fc":
        return None
    array = _array(array)
    with np.errstate(all="ignore"):
        x, values, c = (np.moveaxis(v, axis, -1) for v in (array.astype(y.dtype), y, broadcast(y_bar, y.shape)))
        form = _RUNNING.get(ufunc)
        bar = fold_bars(plain, c, x) if form is None else form(c, x, values)
        return as_given(np.moveaxis(bar, -1, axis), array)


def _running_hypot(c: Any, x: Any, y: Any) -> Any:
    return reverse_cumsum(divide_singular(c, y), -1) * x


def _running_difference(c: Any, x: Any, y: Any) -> Any:
    bar = -reverse_cumsum(c, -1)
    bar[..., :1] *= -1
    return bar


def _running_extremum(c: Any, x: Any, y: Any) -> Any:
    """Each value of the cotangent is shared by the entries so far that attain the extremum so far.

    The running extremum is constant on runs. In a run the entries that attain it end segments, in whose sums the
    cotangents are collected; without ties a run has one such entry, at its beginning.
    """
    if not x.size:
        return zeros(x.shape, c)
    hit = np.equal(x, y) | ((x != x) & (y != y))
    same = np.equal(y[..., 1:], y[..., :-1]) | ((y[..., 1:] != y[..., 1:]) & (y[..., :-1] != y[..., :-1]))
    begins = np.concatenate([np.ones_like(y[..., :1], bool), ~same], axis=-1).ravel()
    hits = np.flatnonzero(hit | begins.reshape(hit.shape))
    sums = np.add.reduceat(c.ravel(), hits)
    runs = np.flatnonzero(begins[hits])
    lengths = np.diff(np.append(runs, hits.size))
    if hits.size != runs.size:
        rank = np.arange(hits.size) - np.repeat(runs, lengths)  # of an entry among those of its run
        shares = sums / (rank + 1).astype(np.real(sums).dtype)
        later = np.append(np.cumsum(shares[::-1])[::-1], 0)
        sums = later[:-1] - later[np.repeat(runs + lengths, lengths)]
    bar = zeros((x.size,), c)
    bar[hits] = sums
    return bar.reshape(x.shape)


_RUNNING: dict[Any, Callable[..., Any]] = {
    np.add: lambda c, x, y: reverse_cumsum(c, -1),
    np.subtract: _running_difference,
    np.multiply: lambda c, x, y: cumprod_bar(c, x, y, -1),
    np.hypot: _running_hypot,
    **dict.fromkeys((np.maximum, np.minimum, np.fmax, np.fmin), _running_extremum),
}


# reduceat


def segments(indices: Any, length: int) -> list[tuple[int, int]]:
    """The bounds of the segments of ``ufunc.reduceat``: an index not below the next one is for its own entry alone.

    >>> segments([4, 0, 3], 6)
    [(4, 5), (0, 3), (3, 6)]
    """
    starts = [int(start) for start in indices]
    return [(start, max(end, start + 1)) for start, end in zip(starts, [*starts[1:], length], strict=True)]


def reduceat_bar(plain: Plain, ufunc: Any, array: Any, indices: Any, y: Any, y_bar: Any, axis: int) -> Any:
    """The cotangent of `array` in ``y = ufunc.reduceat(array, indices, axis)``."""
    if y.dtype.kind not in "fc":
        return None
    array = _array(array)
    x, values, c = (np.moveaxis(v, axis, -1) for v in (array.astype(y.dtype), y, broadcast(y_bar, y.shape)))
    starts = np.asarray(indices, np.intp)
    if not starts.size:
        return as_given(zeros(array.shape, array), array)
    ends = np.append(starts[1:], x.shape[-1])
    lengths = np.maximum(ends - starts, 1)  # an index that is not below the next one stands for its own entry
    offsets = np.cumsum(lengths) - lengths
    positions = np.repeat(starts - offsets, lengths) + np.arange(lengths.sum())
    entries = x[..., positions]
    with np.errstate(all="ignore"):
        if ufunc in _CLOSED:
            spread = [np.repeat(v, lengths, axis=-1) for v in (c, values)]
            chosen = np.ones_like(entries, bool)
            bars = _CLOSED[ufunc](
                spread[0], entries, spread[1], chosen, lambda z: _totals(z, offsets, lengths, x.dtype)
            )
        else:
            groups = np.split(entries, offsets[1:], axis=-1)
            each = enumerate(groups)
            parts = [_group_bars(plain, ufunc, c[..., i, None], g, values[..., i, None], None) for i, g in each]
            bars = np.concatenate(parts, axis=-1)
        bar = zeros(x.shape, bars)
        if (starts[1:] > starts[:-1]).all():
            bar[..., positions] = bars
        else:
            add_at(bar, (..., positions), bars)
        return as_given(np.moveaxis(bar, -1, axis), array)


def _totals(z: Any, offsets: Any, lengths: Any, dtype: Any) -> Any:
    return np.repeat(np.add.reduceat(z, offsets, axis=-1, dtype=dtype), lengths, axis=-1)


# Rows


def _array(x: Any) -> Any:
    """`x` itself if it is an array or a NumPy scalar; else an array of it."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def _axes(axis: Axis, rank: int) -> tuple[int, ...]:
    """`axis` as a tuple of axes counted from 0; of a number NumPy takes the axes 0 and -1 too."""
    if axis is None or not rank:
        return tuple(range(rank))
    return tuple(a % rank for a in (axis if isinstance(axis, tuple) else (axis,)))


def _lead(lengths: Shape, axes: tuple[int, ...]) -> Shape:
    return tuple(n for a, n in enumerate(lengths) if a not in axes)


def _rows(x: Any, axes: tuple[int, ...]) -> Any:
    """`x` with `axes` last, as one axis."""
    moved = np.moveaxis(x, axes, range(-len(axes), 0))
    return moved.reshape((*_lead(x.shape, axes), prod(x.shape[a] for a in axes)))


def _unrows(rows: Any, lengths: Shape, axes: tuple[int, ...]) -> Any:
    """The inverse of `_rows` for an array of shape `lengths`."""
    moved = rows.reshape((*_lead(lengths, axes), *(lengths[a] for a in axes)))
    return np.moveaxis(moved, range(-len(axes), 0), axes)
