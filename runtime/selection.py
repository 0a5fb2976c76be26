"""Parts of the pullbacks of reductions that take some of the elements (``where=``, not nan), or an initial value.

`where` is True for all elements, or a mask that broadcasts to the array. What it leaves out has the cotangent 0.
"""

import math
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import moved_to
from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.errors import DifferentiationError
from adcompiler.runtime.guarded import masked
from adcompiler.runtime.layout import cast_bar
from adcompiler.runtime.reduction import count_of, keep_dims, product_of_others, tie_hits
from adcompiler.runtime.shapes import Axis, Shape, conj, dtype_of, expand, fit, shape
from adcompiler.runtime.walk import is_constant


def given(*, where: Any = True, **options: Any) -> dict[str, Any]:
    """The keywords that a call gives: array libraries do not take all of them, even with their default."""
    found = {name: value for name, value in options.items() if value is not None}
    return found if where is True else {**found, "where": where}


def numbers(a: Any, where: Any) -> Any:
    """The mask of the elements in `where` that are not nan."""
    return ~np.isnan(a) if where is True else np.logical_and(~np.isnan(a), where)


def select(c: Any, where: Any) -> Any:
    """`c` where the mask `where` holds, and 0 elsewhere."""
    return c if where is True else masked(c, where)


def scalar_bar(c: Any, x: Any) -> Any:
    """The cotangent `c`, summed, of a number `x` that entered every element of a result; None if it is a constant."""
    return None if is_constant(x) else fit(c, shape(x))


# Sums and means


def sum_bar(c: Any, lengths: Shape, dtype: Any, axis: Axis, keepdims: bool, where: Any) -> Any:
    """The cotangent of an array, with the shape `lengths`, in a sum of `dtype` over `axis`."""
    return select(expand(cast_bar(c, dtype), lengths, axis, keepdims), where)


def selected_count(lengths: Shape, dtype: Any, axis: Axis, keepdims: bool, where: Any) -> Any:
    """How many elements a reduction over `axis` puts together, in the precision of `dtype`."""
    if where is True:
        return count_of(lengths, axis)
    real = np.finfo(dtype).dtype if np.dtype(dtype).kind in "fc" else np.dtype(float)
    count = np.sum(np.broadcast_to(where, lengths), axis=axis, keepdims=keepdims)
    return count.astype(np.promote_types(real, np.float32))  # half precision cannot count


def mean_bar(c: Any, lengths: Shape, dtype: Any, axis: Axis, keepdims: bool, where: Any) -> Any:
    """The cotangent of an array, with the shape `lengths`, in a mean of `dtype` over `axis`."""
    count = selected_count(lengths, dtype, axis, keepdims, where)
    count = (count or 1) if where is True else np.maximum(count, 1)
    return sum_bar(c / count, lengths, dtype, axis, keepdims, where)


# Moments


def selected_freedom(
    lengths: Shape, dtype: Any, axis: Axis, keepdims: bool, where: Any, ddof: Any, correction: Any
) -> Any:
    """The divisor of a variance of `dtype` over `axis`; nan where there are too few elements."""
    count = selected_count(lengths, dtype, axis, keepdims, where) - (ddof if correction is None else correction)
    if where is True:
        return count if count > 0 else math.nan
    return np.where(count > 0, count, count.dtype.type(np.nan))


def deviation(a: Any, mean: Any, axis: Axis, where: Any) -> Any:
    """The distances of `a` from its `mean`, or from that of the elements in `where`."""
    if mean is not None:
        _check_given_mean(a, mean)
        return a - mean
    if where is True:
        return a - np.mean(a, axis=axis, keepdims=True)
    total = np.sum(np.where(where, a, 0), axis=axis, keepdims=True)
    return a - total / np.maximum(selected_count(shape(a), total.dtype, axis, True, where), 1)


def _check_given_mean(a: Any, mean: Any) -> None:
    if np.iscomplexobj(mean) and not np.iscomplexobj(a):
        raise DifferentiationError(
            "a variance of real numbers around a complex mean has no derivative: NumPy squares it without conjugation\n"
            "Make the array complex, or take the real part of the mean."
        )


def deviation_bar(c: Any, a: Any, mean: Any, axis: Axis, keepdims: bool, where: Any) -> Any:
    """The cotangent of the distances from the mean in a sum of their squares, where `c` is twice that of the sum."""
    return select(multiply_strong(keep_dims(c, axis, keepdims), deviation(a, mean, axis, where)), where)


def given_mean_bar(deviation_bar: Any, mean: Any) -> Any:
    """The cotangent of a given mean, from that of the distances from it."""
    return None if is_constant(mean) else -fit(deviation_bar, shape(mean))


# Extrema


def selected_hits(a: Any, y: Any, axis: Axis, keepdims: bool, where: Any) -> Any:
    """The mask of the elements in `where` that attain the extremum `y` over `axis`."""
    hits = tie_hits(a, y, axis, keepdims)
    return hits if where is True else np.logical_and(hits, where)


def initial_hits(initial: Any, y: Any) -> Any:
    """Where the extremum `y` is attained by the initial value."""
    return False if initial is None else np.equal(initial, y) | (np.not_equal(initial, initial) & np.not_equal(y, y))


def tie_part(c: Any, hits: Any, first: Any, axis: Axis, keepdims: bool) -> Any:
    """The part of the cotangent of an extremum that each element gets which attains it, the initial value included."""
    count = np.sum(hits, axis=axis, keepdims=keepdims) + first
    return c / np.maximum(count, 1).astype(np.promote_types(np.finfo(dtype_of(c)).dtype, np.float32))


# Products


def factors(a: Any, dtype: Any, where: Any) -> Any:
    """The factors of a product of `dtype`: 1 for what is left out."""
    wide = np.result_type(dtype, np.float16) if np.dtype(dtype).kind not in "fc" else dtype
    return np.where(moved_to(a, where), a, 1).astype(wide, copy=False)


def product_bar(c: Any, taken: Any, initial: Any, axis: Axis, keepdims: bool) -> Any:
    """The cotangent of the factors `taken` in their product over `axis`, times `initial`."""
    y = np.prod(taken, axis=axis, keepdims=keepdims)
    scaled = c if initial is None else multiply_strong(c, conj(initial))
    others = conj(product_of_others(taken, y, axis, keepdims))
    return multiply_strong(keep_dims(scaled, axis, keepdims), others)


def sum_of_bars(first: Any, second: Any) -> Any:
    """The sum of two cotangents; None counts as zero."""
    return second if first is None else first if second is None else first + second
