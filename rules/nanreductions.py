"""Rules for the reductions that leave nan out: an element that is nan has no influence, so its cotangent is 0.

Each is the reduction of the elements that are numbers, among those in `where`.
"""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_strong
from adcompiler.runtime.guarded import masked
from adcompiler.runtime.layout import cast_bar
from adcompiler.runtime.reduction import keep_dims
from adcompiler.runtime.selection import (
    deviation_bar,
    factors,
    given,
    given_mean_bar,
    initial_hits,
    mean_bar,
    numbers,
    product_bar,
    scalar_bar,
    selected_freedom,
    selected_hits,
    sum_bar,
    tie_part,
)
from adcompiler.runtime.shapes import conj, dtype_of, fit, real, shape

# Sums, means and products


@rrule(np.nansum, result="fresh", kind="reduction", flat=("where",))
def nansum(a, axis=None, dtype=None, *, keepdims=False, initial=None, where=True):
    y = np.nansum(a, axis=axis, keepdims=keepdims, **given(dtype=dtype, initial=initial, where=where))
    a_shape, y_dtype = shape(a), dtype_of(y)
    kept = numbers(a, where)

    def pullback(y_bar):
        a_bar = sum_bar(y_bar, a_shape, y_dtype, axis, keepdims, kept)
        return a_bar, None, None, None, scalar_bar(cast_bar(y_bar, y_dtype), initial), None

    return y, pullback


@rrule(np.nanmean, result="fresh", kind="reduction", flat=("where",))
def nanmean(a, axis=None, dtype=None, *, keepdims=False, where=True):
    y = np.nanmean(a, axis=axis, keepdims=keepdims, **given(dtype=dtype, where=where))
    a_shape, y_dtype = shape(a), dtype_of(y)
    kept = numbers(a, where)

    def pullback(y_bar):
        return mean_bar(y_bar, a_shape, y_dtype, axis, keepdims, kept), None, None, None, None

    return y, pullback


@rrule(np.nanprod, result="fresh", kind="reduction", flat=("where",))
def nanprod(a, axis=None, dtype=None, *, keepdims=False, initial=None, where=True):
    y = np.nanprod(a, axis=axis, keepdims=keepdims, **given(dtype=dtype, initial=initial, where=where))
    y_dtype = dtype_of(y)
    kept = numbers(a, where)

    def pullback(y_bar):
        c, taken = cast_bar(y_bar, y_dtype), factors(a, y_dtype, kept)
        a_bar = masked(product_bar(c, taken, initial, axis, keepdims), kept)
        initial_bar = scalar_bar(c * conj(np.prod(taken, axis=axis, keepdims=keepdims)), initial)
        return a_bar, None, None, None, initial_bar, None

    return y, pullback


# Extrema


@rrule(np.nanmax, result="fresh", kind="reduction", flat=("where",))
def nanmax(a, axis=None, *, keepdims=False, initial=None, where=True):
    y = np.nanmax(a, axis=axis, keepdims=keepdims, **given(initial=initial, where=where))
    hits, first = selected_hits(a, y, axis, keepdims, numbers(a, where)), initial_hits(initial, y)

    def pullback(y_bar):
        each = tie_part(y_bar, hits, first, axis, keepdims)
        return masked(keep_dims(each, axis, keepdims), hits), None, None, scalar_bar(masked(each, first), initial), None

    return y, pullback


@rrule(np.nanmin, result="fresh", kind="reduction", flat=("where",))
def nanmin(a, axis=None, *, keepdims=False, initial=None, where=True):
    y = np.nanmin(a, axis=axis, keepdims=keepdims, **given(initial=initial, where=where))
    hits, first = selected_hits(a, y, axis, keepdims, numbers(a, where)), initial_hits(initial, y)

    def pullback(y_bar):
        each = tie_part(y_bar, hits, first, axis, keepdims)
        return masked(keep_dims(each, axis, keepdims), hits), None, None, scalar_bar(masked(each, first), initial), None

    return y, pullback


# Moments


@rrule(np.nanvar, result="fresh", kind="reduction_real", flat=("where",))
def nanvar(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    options = given(dtype=dtype, where=where, mean=mean, correction=correction)
    y = np.nanvar(a, axis=axis, ddof=ddof, keepdims=keepdims, **options)
    a_shape, y_dtype = shape(a), dtype_of(y)
    kept = numbers(a, where)
    freedom = selected_freedom(a_shape, y_dtype, axis, keepdims, kept, ddof, correction)

    def pullback(y_bar):
        c = divide_strong(real(cast_bar(y_bar, y_dtype)), freedom)
        distance_bar = deviation_bar(2 * c, a, mean, axis, keepdims, kept)
        return (
            fit(distance_bar, a_shape),
            None,
            None,
            scalar_bar(multiply_strong(c, y), ddof),
            None,
            None,
            given_mean_bar(distance_bar, mean),
            scalar_bar(multiply_strong(c, y), correction),
        )

    return y, pullback


@rrule(np.nanstd, result="fresh", kind="reduction_real", flat=("where",))
def nanstd(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    options = given(dtype=dtype, where=where, mean=mean, correction=correction)
    y = np.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims, **options)
    a_shape, y_dtype = shape(a), dtype_of(y)
    kept = numbers(a, where)
    freedom = selected_freedom(a_shape, y_dtype, axis, keepdims, kept, ddof, correction)

    def pullback(y_bar):
        c = divide_strong(real(cast_bar(y_bar, y_dtype)), freedom)
        distance_bar = deviation_bar(divide_singular(c, y), a, mean, axis, keepdims, kept)
        return (
            fit(distance_bar, a_shape),
            None,
            None,
            scalar_bar(multiply_strong(0.5 * c, y), ddof),
            None,
            None,
            given_mean_bar(distance_bar, mean),
            scalar_bar(multiply_strong(0.5 * c, y), correction),
        )

    return y, pullback
