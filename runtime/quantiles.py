"""Cotangents of medians, quantiles and percentiles: where in the order of the elements a quantile lies.

A quantile is ``(1 - t) * s[j] + t * s[j + 1]`` of the sorted elements `s`, and `j + t` is its rank. NumPy's own
function tells the rank, whatever the method: it is the same quantile of 0, 1, 2, ... Equal elements share.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import moved_to
from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.errors import DifferentiationError
from adcompiler.runtime.layout import gather_bar
from adcompiler.runtime.reduction import axes_of, spread_weights
from adcompiler.runtime.shapes import Axis, Shape, shape, zeros
from adcompiler.runtime.ufuncs import as_given

# The rank that a method interpolates at is `q * (n + a) + b`: a and b of those that are continuous in q.
# Hyndman and Fan, Sample Quantiles in Statistical Packages, The American Statistician 50 (1996), definitions 4 to 9.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, -1.0),
    "hazen": (0.0, -0.5),
    "weibull": (1.0, -1.0),
    "linear": (-1.0, 0.0),
    "median_unbiased": (1 / 3, -2 / 3),
    "normal_unbiased": (1 / 4, -5 / 8),
}


def quantile_bar(
    c: Any, y: Any, quantile: Callable[..., Any], a: Any, q: Any, axis: Axis, method: str, weights: Any, skip_nan: bool
) -> Any:
    """The cotangent of `a` in ``y = quantile(a, q, axis, method=method, weights=weights)``."""
    _check_levels(a, q, axis, skip_nan)
    rows = rows_of(a, axis)
    if not rows.size:
        return zeros(shape(a), c)
    order = np.argsort(rows, axis=-1)
    ordered = np.take_along_axis(rows, order, axis=-1)
    ranks = ranks_of(quantile, ordered, q, method, weights, a, axis, order, skip_nan)
    if weights is not None:
        _check_selected(np.reshape(y, ranks.shape), ranks, ordered)
    return _back(_order_bar(np.reshape(c, ranks.shape), ranks, order, ordered), shape(a), axis)


def median_bar(c: Any, a: Any, axis: Axis) -> Any:
    """The cotangent of `a` in ``np.nanmedian(a, axis)``, complex numbers included."""
    rows = rows_of(a, axis)
    if not rows.size:
        return zeros(shape(a), c)
    order = np.argsort(rows, axis=-1)
    ordered = np.take_along_axis(rows, order, axis=-1)
    ranks = median_rank(ordered)
    return _back(_order_bar(np.reshape(c, ranks.shape), ranks, order, ordered), shape(a), axis)


def quantile_level_bar(c: Any, a: Any, q: Any, axis: Axis, method: str, percent: float, skip_nan: bool) -> Any:
    """The cotangent of `q`, which is piecewise linear in some methods, and piecewise constant in the others.

    At a bend it is the mean of both slopes, at 0 and 1 the slope inside; `percent` is what stands for the level 1.
    """
    dtype = np.result_type(np.asarray(q) if isinstance(q, (list, tuple, float, int)) else q)
    if dtype.kind != "f":
        return None
    _check_levels(a, q, axis, skip_nan)
    rows = rows_of(a, axis)
    if method not in _CONTINUOUS or not rows.size:
        return np.zeros(shape(q), dtype)
    ordered = np.sort(rows, axis=-1)
    count = np.sum(ordered == ordered, axis=-1) if skip_nan else rows.shape[-1]
    more, offset = _CONTINUOUS[method]
    level = moved_to(rows, np.reshape(np.true_divide(q, percent), (-1, 1)))
    rank = np.broadcast_to(level * (count + more) + offset, (len(level), len(rows)))
    right, left = _slope(ordered, np.floor(rank), count), _slope(ordered, np.ceil(rank) - 1, count)
    slope = np.where(level <= 0, right, np.where(level >= 1, left, (right + left) / 2)) * (count + more) / percent
    bar = multiply_strong(np.reshape(c, slope.shape), np.where(moved_to(slope, count > 0), slope, 0))
    return as_given(np.reshape(np.sum(bar, axis=-1), shape(q)), np.zeros((), dtype))[()]


def _check_levels(a: Any, q: Any, axis: Axis, skip_nan: bool) -> None:
    # NumPy mixes up the axes of such a result: those of the levels do not come first, or not in order.
    several = isinstance(axis, (tuple, list)) and len(axis) not in (1, len(shape(a)))
    if skip_nan and several and np.ndim(q) > 1:
        raise DifferentiationError(
            "quantiles without nan over several axes have no derivative for levels of more than one dimension\n"
            "Pass the levels as one flat array, and reshape the result."
        )


def _check_selected(y: Any, ranks: Any, ordered: Any) -> None:
    # Old versions of NumPy give weights that belong to several axes to the wrong elements.
    places = np.where(ranks == ranks, ranks, 0).astype(int)
    selected = np.take_along_axis(ordered, places.T, axis=-1).T
    if np.any((selected != y) & (y == y)):
        raise DifferentiationError(
            "the weights of a quantile do not belong to the elements in the order in which this NumPy has taken them\n"
            "Bring the axes together: a.reshape(...) and one axis, with weights of the same shape."
        )


def _slope(ordered: Any, rank: Any, count: Any) -> Any:
    """The slope between the element at `rank` and the next; 0 beyond the ends."""
    low, high = (np.clip(rank + step, 0, np.maximum(count - 1, 0)).astype(int) for step in (0, 1))
    values = np.take_along_axis(ordered, np.stack([low.T, high.T], axis=-1).reshape(len(ordered), -1), axis=-1)
    values = np.moveaxis(values.reshape(len(ordered), -1, 2), 0, 1)
    return values[..., 1] - values[..., 0]


# Rows: the elements that are put together, one row for each slice


def rows_of(a: Any, axis: Axis) -> Any:
    """`a` as a matrix, whose rows are the elements over `axis`."""
    a = np.asarray(a) if isinstance(a, (list, tuple, float, int)) else a
    axes = axes_of(axis, a.ndim)
    count = 1
    for other in axes:
        count *= a.shape[other]
    return np.moveaxis(a, axes, range(-len(axes), 0)).reshape((-1, count) if count else (0, 0))


def _back(rows: Any, lengths: Shape, axis: Axis) -> Any:
    """The inverse of `rows_of`: an array of shape `lengths`."""
    axes = axes_of(axis, len(lengths))
    kept = [n for other, n in enumerate(lengths) if other not in axes]
    return np.moveaxis(rows.reshape([*kept, *(lengths[other] for other in axes)]), range(-len(axes), 0), axes)[()]


def _ordered_weights(weights: Any, a: Any, axis: Axis, order: Any) -> Any:
    if weights is None:
        return None
    return np.take_along_axis(rows_of(spread_weights(weights, shape(a), axis), axis), order, axis=-1)


# Ranks


def median_rank(ordered: Any) -> Any:
    """The rank of the median of what is not nan in each of the `ordered` rows; nan where there is nothing."""
    count = np.sum(ordered == ordered, axis=-1)
    return np.where(count > 0, (count - 1) / 2, np.nan)[None]


def ranks_of(
    quantile: Any, ordered: Any, q: Any, method: str, weights: Any, a: Any, axis: Axis, order: Any, skip_nan: bool
) -> Any:
    """The ranks of quantiles of `a`, whose rows over `axis` are `ordered`; `weights` are as the user gives them."""
    return _ranks(quantile, ordered, q, method, _ordered_weights(weights, a, axis, order), skip_nan)


def _ranks(quantile: Any, ordered: Any, q: Any, method: str, weights: Any, skip_nan: bool) -> Any:
    """The rank of each quantile in each row: nan where there is none, the last where the quantile is nan."""
    places = np.arange(ordered.shape[-1], dtype=float, like=ordered)
    unknown = ordered != ordered
    if skip_nan or weights is not None:
        options = {} if weights is None else {"weights": weights}
        places = np.where(unknown & skip_nan, np.nan, places)
        if skip_nan and unknown.all(axis=-1).any():
            places, options = _without_empty(places, unknown, options)
        ranks = quantile(places, q, axis=-1, method=method, **options)
    else:
        ranks = quantile(places, q, method=method)[..., None]
    ranks = np.broadcast_to(np.reshape(ranks, (-1, ranks.shape[-1])), (np.size(q), len(ordered)))
    if skip_nan:
        return np.where(unknown.all(axis=-1), np.nan, ranks)
    return np.where(unknown[:, -1], ordered.shape[-1] - 1, ranks)


def level_bar(c: Any, quantile: Any, ordered: Any, q: Any, method: str, skip_nan: bool) -> Any:
    """The cotangent of the levels in `_ranks`, which are piecewise constant by some methods, else linear."""
    if method not in _CONTINUOUS:
        return zeros(shape(q), c)
    count = np.sum(ordered == ordered, axis=-1) if skip_nan else ordered.shape[-1]
    percent = 100.0 if "percentile" in quantile.__name__ else 1.0
    slopes = np.where(np.isfinite(c), c, 0) * (count + _CONTINUOUS[method][0]) / percent
    return np.sum(slopes, axis=-1).reshape(shape(q))


def _without_empty(places: Any, unknown: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Rows of nan alone made rows of numbers: what is found for them is not used, and nothing warns."""
    empty = unknown.all(axis=-1, keepdims=True)
    if "weights" in options:
        options = {"weights": np.where(empty, 1, options["weights"])}
    return np.where(empty, 0.0, places), options


def _order_bar(c: Any, ranks: Any, order: Any, ordered: Any) -> Any:
    """The cotangent of rows, of which `c` is that of the elements at `ranks`: row by row, in the rows' own order."""
    count, length = ordered.shape
    given = ranks == ranks
    lower = np.where(given, np.floor(ranks), 0).astype(int)
    part = np.where(given, ranks - lower, 0).astype(np.real(c).dtype)
    start = moved_to(ordered, np.arange(count) * length)
    bar = gather_bar(np.where(given, c * (1 - part), 0), start + lower, (count * length,))
    bar = bar + gather_bar(np.where(part > 0, c * part, 0), start + np.minimum(lower + 1, length - 1), bar.shape)
    bar = shared(bar.reshape(ordered.shape), ordered)
    back = np.empty_like(bar)
    np.put_along_axis(back, order, bar, axis=-1)
    return back


def shared(bar: Any, ordered: Any) -> Any:
    """The cotangents of sorted elements, in equal parts where elements are equal; nan equals nan."""
    same = ordered[:, 1:] == ordered[:, :-1]
    same = same | ((ordered[:, 1:] != ordered[:, 1:]) & (ordered[:, :-1] != ordered[:, :-1]))
    if not same.any():
        return bar
    first = np.concatenate([np.ones_like(same, shape=(len(same), 1)), ~same], axis=1)
    group = np.cumsum(first.ravel()) - 1
    number = np.bincount(group)
    total = gather_bar(bar, group, number.shape)
    return (total / number.astype(np.real(bar).dtype))[group].reshape(bar.shape)
