"""The pullbacks of vector and matrix norms of every order."""

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array
from adcompiler.runtime.elementary import divide_singular, multiply_strong
from adcompiler.runtime.reduction import keep_dims, share
from adcompiler.runtime.shapes import Axis


def norm_bar(c: Any, y: Any, x: Any, ord: Any, axis: Axis, keepdims: bool) -> Any:
    """The cotangent of `x` in ``y = np.linalg.norm(x, ord, axis, keepdims)``."""
    x = as_array(x)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    c, y = keep_dims(c, axes, keepdims), keep_dims(y, axes, keepdims)
    if len(axes) == 1:
        return vector_norm_bar(c, y, x, 2 if ord is None else ord, axes)
    return _matrix_norm_bar(c, y, x, ord, axes)


def vector_norm_bar(c: Any, y: Any, x: Any, ord: float, axis: Axis) -> Any:
    """The cotangent of `x` given its norm `y` over `axis`, and `c` that of the norm, both with the axes kept.

    In general ``c * (|x| / y) ** (ord - 1)`` times the sign, or the phase, of `x`.
    """
    if ord == 2:
        return multiply_strong(divide_singular(c, y), x)
    size = np.abs(x)
    phase = divide_singular(x, size)
    if ord == 1:
        return c * phase
    if ord == 0:
        return 0 * phase
    if np.isinf(ord):
        return share(c, size == y, axis, True) * phase
    # The slope at a component that is 0 is 0, or infinite if ord < 1: 0 by convention.
    absent = size == 0
    return c * phase * np.where(absent, 0, np.where(absent, 1, divide_singular(size, y)) ** (ord - 1))


def order_bar(c: Any, y: Any, x: Any, ord: Any, axis: Axis) -> Any:
    """The cotangent of a float `ord` in ``y = np.linalg.norm(x, ord, axis)``, where `y` and `c` have the axes kept.

    ``y / ord * sum(w * log(|x| / y))``, in which the weights ``w = (|x| / y) ** ord`` add up to 1.
    """
    if not isinstance(ord, float):
        return None
    if np.isinf(ord):
        return 0.0
    ratio = divide_singular(np.abs(x), y)
    absent = ratio == 0
    ratio = np.where(absent, 1, ratio)
    return np.sum(c * y * np.sum(np.where(absent, 0, ratio**ord * np.log(ratio)), axis=axis, keepdims=True)) / ord


def _matrix_norm_bar(c: Any, y: Any, x: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    if not x.size:
        return np.zeros_like(x)
    if ord in (None, "fro", "f"):
        return multiply_strong(divide_singular(c, y), x)
    if ord in (1, -1, np.inf, -np.inf):
        # The largest or smallest sum of absolute values of a column, or of a row.
        along, across = axes if abs(ord) == 1 else axes[::-1]
        size = np.abs(x)
        hit = size.sum(axis=along, keepdims=True) == y
        return share(c, hit, across, True) * divide_singular(x, size)
    u, s, vh = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), full_matrices=False)
    if ord == "nuc":
        slopes = np.ones_like(s)
    else:
        extreme = (s.max if ord == 2 else s.min)(axis=-1, keepdims=True)
        slopes = share(np.ones_like(extreme), s == extreme, -1, True)
    slopes = np.where(s > 0, slopes, 0)
    return c * np.moveaxis((u * slopes[..., None, :]) @ vh, (-2, -1), axes)
