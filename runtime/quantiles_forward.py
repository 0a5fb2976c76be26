"""Tangents of medians and quantiles: those of the two elements that a quantile lies between; equal elements share."""

from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.quantiles import median_rank, ranks_of, rows_of, shared
from adcompiler.runtime.shapes import Axis, shape, zeros


def quantile_dot(
    dot: Any,
    y: Any,
    quantile: Callable[..., Any],
    a: Any,
    q: Any,
    axis: Axis,
    method: str,
    weights: Any,
    skip_nan: bool,
) -> Any:
    """The tangent of ``y = quantile(a, q, axis, method=method, weights=weights)`` along `dot`, that of `a`."""
    rows = rows_of(a, axis)
    if not rows.size:
        return zeros(shape(y), dot)[()]
    order = np.argsort(rows, axis=-1)
    ordered = np.take_along_axis(rows, order, axis=-1)
    ranks = ranks_of(quantile, ordered, q, method, weights, a, axis, order, skip_nan)
    return _at_ranks(rows_of(dot, axis), ranks, order, ordered, shape(y))


def median_dot(dot: Any, y: Any, a: Any, axis: Axis) -> Any:
    """The tangent of ``y = np.nanmedian(a, axis)`` along `dot`, that of `a`."""
    rows = rows_of(a, axis)
    if not rows.size:
        return zeros(shape(y), dot)[()]
    order = np.argsort(rows, axis=-1)
    ordered = np.take_along_axis(rows, order, axis=-1)
    return _at_ranks(rows_of(dot, axis), median_rank(ordered), order, ordered, shape(y))


def _at_ranks(dots: Any, ranks: Any, order: Any, ordered: Any, y_shape: Any) -> Any:
    """The tangents of what stands at `ranks` in the `ordered` rows, given those of the rows; 0 where that is nan."""
    sorted_dots = shared(np.take_along_axis(dots, order, axis=-1), ordered)
    given = ranks == ranks
    lower = np.where(given, np.floor(ranks), 0).astype(int)
    part = np.where(given, ranks - lower, 0).astype(np.real(dots).dtype)
    low = np.take_along_axis(sorted_dots, lower.T, axis=-1).T
    high = np.take_along_axis(sorted_dots, np.minimum(lower + 1, ordered.shape[-1] - 1).T, axis=-1).T
    found = np.where(given, (1 - part) * low + np.where(part > 0, part * high, 0), 0)
    return found.reshape(y_shape)[()]
