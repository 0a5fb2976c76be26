"""Parts of the pullbacks of running sums and products, and of differences with what stands at their ends."""

from typing import Any

import numpy as np

from adcompiler.runtime.layout import cast_bar, reshape
from adcompiler.runtime.reduction import cumprod_bar, diff_bar, reverse_cumsum
from adcompiler.runtime.shapes import Shape, fit, ndim, shape, zeros
from adcompiler.runtime.walk import is_constant


def running_sum_bar(c: Any, lengths: Shape, dtype: Any, axis: int | None) -> Any:
    """The cotangent of an array, with the shape `lengths`, in its running sum of `dtype` along `axis`."""
    c = cast_bar(c, dtype)
    return reshape(reverse_cumsum(c, 0 if axis is None else axis), lengths)


def running_product_bar(c: Any, x: Any, dtype: Any, axis: int | None) -> Any:
    """The cotangent of the factors `x` in their running product of `dtype` along `axis`."""
    c = cast_bar(c, dtype)
    wide = dtype if np.dtype(dtype).kind in "fc" else np.result_type(dtype, np.float16)
    flat = np.ravel(x) if axis is None or not ndim(x) else x
    along = 0 if axis is None else axis
    bar = cumprod_bar(c, flat.astype(wide, copy=False), np.cumprod(flat, axis=along, dtype=wide), along)
    return reshape(bar, shape(x))


def without_first(c: Any, axis: int | None, present: bool) -> Any:
    """`c` without its first entry along `axis`, which a running sum begins with if its initial value is `present`."""
    if not present:
        return c
    axis = 0 if axis is None else axis % c.ndim
    return c[(slice(None),) * axis + (slice(1, None),)]


def joined_diff_bars(c: Any, x: Any, prepend: Any, append: Any, n: int, axis: int) -> tuple[Any, Any, Any]:
    """The cotangents of `x` and of what stands before and after it in ``np.diff(x, n, axis, prepend, append)``."""
    if n == 0:  # NumPy returns x
        return c, _end_bar(zeros(shape(prepend), c), prepend), _end_bar(zeros(shape(append), c), append)
    axis = axis % ndim(x)
    before, after = _length(prepend, axis), _length(append, axis)
    lengths = list(shape(x))
    inner = lengths[axis]
    lengths[axis] = before + inner + after
    bar = diff_bar(c, tuple(lengths), n, axis)
    lead = (slice(None),) * axis
    first, middle, last = (
        bar[(*lead, slice(*ends))] for ends in ((before,), (before, before + inner), (before + inner, None))
    )
    return middle, _end_bar(first, prepend), _end_bar(last, append)


def _length(end: Any, axis: int) -> int:
    if end is None:
        return 0
    return shape(end)[axis] if ndim(end) else 1


def _end_bar(c: Any, end: Any) -> Any:
    return None if is_constant(end) else fit(c, shape(end))


def flat_diff_bar(c: Any, lengths: Shape, before: Any, after: Any) -> Any:
    """The cotangent of the array in ``np.ediff1d``: differences again, between those that were put at the ends."""
    inner = c[_size(before) : len(c) - _size(after)]
    size = int(np.prod(lengths, dtype=int))
    return reshape(diff_bar(inner, (size,), 1, 0) if size else zeros((0,), c), lengths)


def flat_end_bar(c: Any, end: Any, last: bool) -> Any:
    """The cotangent of what ``np.ediff1d`` puts before the differences, or after them if `last`."""
    if is_constant(end):
        return None
    return reshape(c[len(c) - _size(end) :] if last else c[: _size(end)], shape(end))


def _size(end: Any) -> int:
    return 0 if end is None else int(np.prod(shape(end), dtype=int))
