"""Parts of the pullbacks of reductions: reduced axes put back, ties shared, products of all others, running sums.

A cotangent comes in with the shape of the reduced array and goes out with (or broadcasting to) that of the argument.
Nothing is ever written to.
"""

import math
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array, like_of, ones
from adcompiler.runtime.elementary import is_finite
from adcompiler.runtime.guarded import masked
from adcompiler.runtime.shapes import Axis, Shape, conj, dtype_of, expand, fit, kept_shape, ndim, shape, size, zeros


def keep_dims(c: Any, axis: Axis, keepdims: bool) -> Any:
    """`c`, a result of a reduction over `axis`, so that it broadcasts against the argument of the reduction."""
    if axis is None or keepdims or not ndim(c):
        return c
    return np.expand_dims(c, axis)


def axis_count(x: Any, axis: Axis) -> int:
    """The number of elements of `x` that a reduction over `axis` puts together."""
    return count_of(shape(x), axis)


def count_of(lengths: Shape, axis: Axis) -> int:
    """The number of elements that a reduction over `axis` of an array of shape `lengths` puts together."""
    if axis is None:
        return math.prod(lengths)
    return math.prod(lengths[a] for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))


def degrees_of_freedom(x: Any, axis: Axis, ddof: float) -> float:
    """The divisor of a variance; nan where NumPy's variance is not a number for want of elements."""
    count = axis_count(x, axis) - ddof
    return count if count > 0 else math.nan


def tie_hits(x: Any, y: Any, axis: Axis, keepdims: bool) -> Any:
    """Where `x` attains its extremum `y` over `axis`, as a mask; the elements that are nan where `y` is nan."""
    hit = np.equal(x, keep_dims(y, axis, keepdims))
    if is_finite(y):
        return hit
    unknown = y != y
    if like_of(y) is None and not (unknown.any() if ndim(y) else unknown):
        return hit
    return hit | (keep_dims(unknown, axis, keepdims) & np.not_equal(x, x))


def share(c: Any, hit: Any, axis: Axis, keepdims: bool) -> Any:
    """The cotangent `c` of an extremum over `axis`, in equal parts to the elements that attain it."""
    if like_of(hit) is not None:  # nothing is counted on the host
        return masked(keep_dims(c, axis, keepdims) / hit.sum(axis=axis, keepdims=True, dtype=dtype_of(c)), hit)
    count = np.count_nonzero(hit)
    if not count:
        return zeros(np.shape(hit), c)
    if axis is None:
        if type(hit) is not np.ndarray or ndim(c):
            return masked(c if count == 1 else c / count, hit)
        bar = np.zeros(hit.shape, dtype_of(c))
        bar[hit] = c if count == 1 else c / count
        return bar
    c = keep_dims(c, axis, keepdims)
    if count != size(c):
        # Counted in the dtype of c: a count in int64 would make the cotangent of a float32 array float64.
        c = c / hit.sum(axis=axis, keepdims=True, dtype=getattr(c, "dtype", float))
    return masked(c, hit)


def mean_of_hits(c: Any, hit: Any, axis: Axis, keepdims: bool) -> Any:
    """The mean over `axis` of the elements of `c` where `hit` holds: the adjoint of `share`."""
    total = np.sum(masked(c, hit), axis=axis, keepdims=keepdims)
    count = np.sum(hit, axis=axis, keepdims=keepdims, dtype=dtype_of(total).char.lower())
    return total / np.maximum(count, 1)


def middle(x: Any, axis: Axis, higher: bool) -> Any:
    """The lower or higher of the two middle elements over `axis`, which is kept; nan if there is a nan, or nothing.

    np.quantile has methods for this, but neither for complex numbers nor for size 0.
    """
    x = as_array(x)
    kept = kept_shape(x.shape, axis)
    count = axis_count(x, axis)
    if not count or not x.size:
        return np.full_like(x, np.nan, float, shape=kept)
    axes = axes_of(axis, x.ndim)
    rows = np.moveaxis(x, axes, range(-len(axes), 0)).reshape((-1, count))
    ranks = (count // 2 if higher else (count - 1) // 2, count - 1)
    ordered = np.partition(rows, ranks, axis=-1)  # nan comes last
    last = ordered[:, -1]
    return np.where(last != last, last, ordered[:, ranks[0]]).reshape(kept)


def product_of_others(x: Any, y: Any, axis: Axis, keepdims: bool) -> Any:
    """For each element of `x` the product over `axis` of the others; `y` is the product of all.

    ``y / x`` unless the product vanishes, overflows or loses digits; then running products from both ends.
    """
    size = np.abs(y)
    limits = np.finfo(size.dtype)
    if like_of(x) is None and np.all((size >= limits.tiny) & (size <= limits.max)):
        return keep_dims(y, axis, keepdims) / x
    x = as_array(x)
    axes = axes_of(axis, x.ndim)
    last = tuple(range(-len(axes), 0))
    moved = np.moveaxis(x, axes, last)
    lead = moved.shape[: x.ndim - len(axes)]
    rows = moved.reshape((*lead, axis_count(x, axes)))
    one = ones((*lead, 1), x.dtype, x)
    left = np.cumprod(np.concatenate([one, rows[..., :-1]], axis=-1), axis=-1)
    right = np.cumprod(np.concatenate([one, rows[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    others = (left * right)[..., : rows.shape[-1]]
    return np.moveaxis(others.reshape(moved.shape), last, axes)


def reverse_cumsum(c: Any, axis: int) -> Any:
    """Sums of `c` along `axis` from each element to the end: the adjoint of `np.cumsum`."""
    return np.flip(np.cumsum(np.flip(c, axis), axis), axis)


def cumprod_bar(c: Any, x: Any, y: Any, axis: int) -> Any:
    """The cotangent of `x` in ``y = np.cumprod(x, axis)``.

    ``sum over k >= i of c[k] * y[k] / x[i]`` in general; in the presence of zeros, and of products that overflow or
    lose digits, the recurrence ``tail[i] = c[i] + tail[i + 1] * x[i + 1]`` and ``x_bar[i] = y[i - 1] * tail[i]``.
    """
    size = np.abs(y)
    limits = np.finfo(size.dtype)
    if np.all((size >= limits.tiny) & (size <= limits.max)):
        return reverse_cumsum(c * np.conj(y), axis) / np.conj(x)
    c, x, y = (np.moveaxis(as_array(array), axis, 0) for array in (c, np.conj(x), np.conj(y)))
    last = len(x) - 1
    tail = c[last]
    bar = zeros(x.shape, c * x[:1])
    bar[last] = y[last - 1] * tail if last else tail
    for i in range(last - 1, -1, -1):
        tail = c[i] + tail * x[i + 1]
        bar[i] = y[i - 1] * tail if i else tail
    return np.moveaxis(bar, 0, axis)


def diff_bar(c: Any, x_shape: Shape, n: int, axis: int) -> Any:
    """The cotangent of `x` in ``np.diff(x, n, axis)``: differences again, with zeros beyond the ends."""
    if n == 0:
        return c
    if x_shape[axis] <= n:
        return zeros(x_shape, c)
    widths = [(0, 0)] * len(x_shape)
    widths[axis] = (n, n)
    return (-1) ** n * np.diff(np.pad(c, widths), n, axis)


def average_bar_a(c: Any, weights: Any, a_shape: Shape, axis: Axis, keepdims: bool) -> Any:
    """The cotangent of `a` in ``np.average(a, axis, weights)``."""
    if weights is None:
        return expand(c / (count_of(a_shape, axis) or 1), a_shape, axis, keepdims)
    spread = np.conj(spread_weights(weights, a_shape, axis))
    return keep_dims(c, axis, keepdims) * spread / spread.sum(axis=axis, keepdims=True)


def average_bar_weights(c: Any, y: Any, a: Any, weights: Any, lengths: Shape, axis: Axis, keepdims: bool) -> Any:
    """The cotangent of `weights`, of shape `lengths`, in ``y = np.average(a, axis, weights)``."""
    if weights is None:
        return None
    spread = spread_weights(weights, shape(a), axis)
    deviation = np.conj((a - keep_dims(y, axis, keepdims)) / spread.sum(axis=axis, keepdims=True))
    return _gathered_weights(keep_dims(c, axis, keepdims) * deviation, lengths, axis)


def weight_sum_bar(c: Any, a_shape: Shape, weights: Any, lengths: Shape, axis: Axis, keepdims: bool) -> Any:
    """The cotangent of `weights`, of shape `lengths`, in the sum of the weights that `np.average` returns."""
    if weights is None or c is None:
        return None
    return _gathered_weights(expand(c, a_shape, axis, keepdims), lengths, axis)


def _gathered_weights(bar: Any, lengths: Shape, axis: Axis) -> Any:
    """The cotangent of weights of shape `lengths`, from that of the weight of every element: undoes the spreading."""
    if bar.shape == lengths:
        return bar
    axes = axes_of(axis, bar.ndim)
    bar = bar.sum(axis=tuple(other for other in range(bar.ndim) if other not in axes))
    return np.transpose(bar, np.argsort(np.argsort(axes)))


def spread_weights(weights: Any, a_shape: Shape, axis: Axis) -> Any:
    """`weights`, given for the elements along `axis`, for every element of an array of `a_shape`."""
    weights = as_array(weights)
    if weights.shape == a_shape:
        return weights
    axes = axes_of(axis, len(a_shape))
    kept = [n if other in axes else 1 for other, n in enumerate(a_shape)]
    return np.broadcast_to(np.transpose(weights, np.argsort(axes)).reshape(kept), a_shape)


def axes_of(axis: Axis, rank: int) -> tuple[int, ...]:
    """`axis` as a tuple of axes counted from 0."""
    if axis is None:
        return tuple(range(rank))
    return tuple(a % rank for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))


def midpoints(y: Any, axis: int) -> Any:
    """The means of neighbours along `axis`."""
    y = np.moveaxis(as_array(y), axis, -1)
    return np.moveaxis(0.5 * (y[..., 1:] + y[..., :-1]), -1, axis)


def trapezoid_bar_y(c: Any, y_shape: Shape, x: Any, dx: Any, axis: int) -> Any:
    """The cotangent of `y` in ``np.trapezoid(y, x, dx, axis)``: half the widths of the intervals on both sides."""
    along = axis % len(y_shape)
    if not y_shape[along]:
        return zeros(y_shape, c)
    between = tuple(n - 1 if a == along else n for a, n in enumerate(y_shape))
    bar = fit(0.5 * keep_dims(c, axis, False) * conj(_widths(x, dx, len(y_shape), axis)), between)
    ends = [(0, 0)] * len(y_shape)
    ends[along] = (1, 1)
    bar = np.pad(bar, ends)
    low, high = (tuple(cut if a == along else slice(None) for a in range(len(y_shape))) for cut in _ENDS)
    return bar[low] + bar[high]


_ENDS = (slice(None, -1), slice(1, None))


def trapezoid_bar_x(c: Any, y: Any, x_shape: Shape, axis: int) -> Any:
    """The cotangent of `x` in ``np.trapezoid(y, x, axis=axis)``."""
    if not math.prod(x_shape):
        return zeros(x_shape, c)
    bar = keep_dims(c, axis, False) * np.conj(midpoints(y, axis))
    if len(x_shape) == 1:
        bar = np.moveaxis(bar, axis, -1)
        return diff_bar(bar.sum(axis=tuple(range(bar.ndim - 1))), x_shape, 1, 0)
    widths_shape = tuple(n - 1 if a == axis % len(x_shape) else n for a, n in enumerate(x_shape))
    return diff_bar(fit(bar, widths_shape), x_shape, 1, axis)


def _widths(x: Any, dx: Any, rank: int, axis: int) -> Any:
    """The widths of the intervals along `axis`, so that they broadcast against the values between the points."""
    if x is None:
        return dx
    if ndim(x) > 1:
        return np.diff(x, axis=axis)
    return np.diff(x).reshape([-1 if a == axis % rank else 1 for a in range(rank)])
