"""The pullbacks of vector and matrix norms of every order, and of condition numbers."""

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array
from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_strong
from adcompiler.runtime.matrices import per_matrix, unit
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.reduction import keep_dims, share, tie_hits
from adcompiler.runtime.shapes import Axis, ndim
from adcompiler.runtime.singular import is_null, value_slopes
from adcompiler.runtime.spectral import equal_values, share_equal


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
    if ord is None or ord == 2:
        return multiply_strong(divide_singular(c, y), x)
    size = np.abs(x)
    phase = divide_singular(x, size)
    if ord == 1:
        return c * phase
    if ord == 0:
        return 0 * phase
    if np.isinf(ord):
        return share(c, tie_hits(size, y, axis, True), axis, True) * phase
    # The slope at a component that is 0 is 0, or infinite if ord < 1: 0 by convention. With ord < 0 such a component
    # makes the norm 0, and the slopes of the others.
    absent = (size == 0) | (y == 0)
    return c * phase * np.where(absent, 0, np.where(absent, 1, divide_singular(size, y)) ** (ord - 1))


def order_bar(c: Any, y: Any, x: Any, ord: Any, axis: Axis) -> Any:
    """The cotangent of a float `ord` in ``y = np.linalg.norm(x, ord, axis)``, where `y` and `c` have the axes kept.

    ``y / ord * sum(w * log(|x| / y))``, in which the weights ``w = (|x| / y) ** ord`` add up to 1.
    """
    if not _is_order(ord):
        return None
    if np.isinf(ord) or ord == 0:
        return 0.0
    ratio = divide_singular(np.abs(x), y)
    absent = ratio == 0
    ratio = np.where(absent, 1, ratio)
    return np.sum(c * y * np.sum(np.where(absent, 0, ratio**ord * np.log(ratio)), axis=axis, keepdims=True)) / ord


def _is_order(ord: Any) -> bool:
    """Whether an order of a norm is a floating-point number, in an array of no dimensions too."""
    return not isinstance(ord, str) and ord is not None and np.asarray(ord).dtype.kind == "f"


def norm_order_bar(c: Any, y: Any, x: Any, ord: Any, axis: Axis) -> Any:
    """The same for `np.linalg.norm`, which over two axes is a matrix norm: those have orders that stand apart."""
    axes = ndim(x) if axis is None else len(axis) if isinstance(axis, tuple) else 1
    if axes > 1:
        return 0.0 if _is_order(ord) else None
    return order_bar(c, y, x, ord, axis)


def _matrix_norm_bar(c: Any, y: Any, x: Any, ord: Any, axes: tuple[int, ...]) -> Any:
    if not x.size:
        return np.zeros_like(x)
    if ord in (None, "fro", "f"):
        return multiply_strong(divide_singular(c, y), x)
    if ord in (1, -1, np.inf, -np.inf):
        # The largest or smallest sum of absolute values of a column, or of a row.
        along, across = axes if abs(ord) == 1 else axes[::-1]
        size = np.abs(x)
        sums = size.sum(axis=along, keepdims=True)
        extreme = (np.max if ord > 0 else np.min)(sums, axis=across, keepdims=True)
        return share(c, tie_hits(sums, extreme, across, True), across, True) * divide_singular(x, size)
    u, s, vh = np.linalg.svd(np.moveaxis(x, axes, (-2, -1)), full_matrices=False)
    slopes = np.ones_like(s)
    if ord != "nuc":
        slopes[..., slice(1, None) if ord == 2 else slice(-1)] = 0
        slopes = share_equal(slopes, equal_values(s))
    slopes = np.where(is_null(s, u.shape[-2] + vh.shape[-1]), 0, slopes)
    return c * np.moveaxis((u * slopes[..., None, :]) @ vh, (-2, -1), axes)


# Condition numbers


def cond_bar(c: Any, y: Any, x: Any, p: Any) -> Any:
    """The cotangent of `x` in ``y = np.linalg.cond(x, p)``. A singular matrix has none: nan, unless `c` is 0."""
    c = np.real(c)  # older NumPy gives a complex number for a complex matrix
    if p in (None, 2, -2):
        return _singular_values_cond_bar(c, x, p)
    x = as_array(x)
    pole = np.logical_not(np.isfinite(y))
    none = per_matrix(pole & np.not_equal(c, 0))
    c = np.where(pole, 0, c)
    x = np.where(per_matrix(pole), unit(x), x)
    inverse = np.linalg.inv(x)
    size, inverse_size = (np.linalg.norm(z, p, axis=(-2, -1)) for z in (x, inverse))
    inverse_bar = norm_bar(c * size, inverse_size, inverse, p, (-2, -1), False)
    x_bar = norm_bar(c * inverse_size, size, x, p, (-2, -1), False)
    return np.where(none, np.nan, x_bar - adjoint(inverse) @ inverse_bar @ adjoint(inverse))


def _singular_values_cond_bar(c: Any, x: Any, p: Any) -> Any:
    """The quotient of the first and the last singular value, or for ``p = -2`` of the last and the first."""
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    over, under = (s[..., -1:], s[..., :1]) if p == -2 else (s[..., :1], s[..., -1:])
    c = keep_dims(c, -1, False)
    over_bar = divide_strong(c, under)
    under_bar = -divide_strong(over_bar * over, under)
    first_bar, last_bar = (under_bar, over_bar) if p == -2 else (over_bar, under_bar)
    s_bar = np.zeros_like(s, dtype=np.result_type(s, c))
    s_bar[..., :1] += first_bar
    s_bar[..., -1:] += last_bar
    if p == -2:
        slopes = value_slopes(s_bar, s, u.shape[-2] + vh.shape[-1])
    else:
        with np.errstate(all="ignore"):
            slopes = share_equal(s_bar, equal_values(s))
    with np.errstate(all="ignore"):
        return (u * slopes[..., None, :]) @ vh
