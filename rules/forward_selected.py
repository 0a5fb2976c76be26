"""Forward rules of the reductions of selected elements: with ``where=``, an initial value, or without nan.

An element that is left out does not count, whatever its tangent is.
"""

import numpy as np

from adcompiler.rules.forward import frule
from adcompiler.rules.forward_reductions import running_product_dot
from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_strong
from adcompiler.runtime.forward import match
from adcompiler.runtime.guarded import masked
from adcompiler.runtime.quantiles_forward import median_dot, quantile_dot
from adcompiler.runtime.reduction import product_of_others
from adcompiler.runtime.selection import (
    deviation,
    factors,
    given,
    initial_hits,
    numbers,
    select,
    selected_count,
    selected_freedom,
    selected_hits,
    tie_part,
)
from adcompiler.runtime.shapes import conj, dtype_of, real, shape

# Sums and means


@frule(np.nansum)
def nansum(tangents, a, axis=None, dtype=None, *, keepdims=False, initial=None, where=True):
    y = np.nansum(a, axis=axis, keepdims=keepdims, **given(dtype=dtype, initial=initial, where=where))
    y_dot = 0.0
    if tangents[0] is not None:
        y_dot = np.sum(masked(tangents[0], numbers(a, where)), axis=axis, dtype=dtype, keepdims=keepdims)
    if tangents[4] is not None:
        y_dot = y_dot + tangents[4]
    return y, match(y_dot, y)


@frule(np.nanmean)
def nanmean(tangents, a, axis=None, dtype=None, *, keepdims=False, where=True):
    y = np.nanmean(a, axis=axis, keepdims=keepdims, **given(dtype=dtype, where=where))
    kept = numbers(a, where)
    count = np.maximum(selected_count(shape(a), dtype_of(y), axis, keepdims, kept), 1)
    return y, np.sum(masked(tangents[0], kept), axis=axis, dtype=dtype, keepdims=keepdims) / count


# Products


def product_dot(tangents, a, y, axis, keepdims, initial, where):
    """The tangent of the product `y` of `a` where the mask holds, times `initial`; `tangents` are those of both."""
    taken = factors(a, dtype_of(y), where)
    product = np.prod(taken, axis=axis, keepdims=keepdims)
    y_dot = 0.0
    if tangents[0] is not None:
        others = product_of_others(taken, product, axis, keepdims)
        y_dot = np.sum(multiply_strong(select(tangents[0], where), others), axis=axis, keepdims=keepdims)
        if initial is not None:
            y_dot = y_dot * initial
    if tangents[1] is not None:
        y_dot = y_dot + tangents[1] * product
    return y_dot


@frule(np.prod, np.ndarray.prod)
def prod_general(tangents, a, axis=None, dtype=None, *, keepdims=False, initial=None, where=True):
    y = np.prod(a, axis=axis, keepdims=keepdims, **given(dtype=dtype, initial=initial, where=where))
    return y, match(product_dot((tangents[0], tangents[4]), a, y, axis, keepdims, initial, where), y)


@frule(np.nanprod)
def nanprod(tangents, a, axis=None, dtype=None, *, keepdims=False, initial=None, where=True):
    y = np.nanprod(a, axis=axis, keepdims=keepdims, **given(dtype=dtype, initial=initial, where=where))
    return y, match(product_dot((tangents[0], tangents[4]), a, y, axis, keepdims, initial, numbers(a, where)), y)


# Extrema: the initial value is one more element of every slice


def extreme_dot(tangents, hits, first, axis, keepdims):
    """The mean of the tangents of what attains an extremum; `tangents` are those of the array and the initial value."""
    total = 0.0
    if tangents[0] is not None:
        total = np.sum(masked(tangents[0], hits), axis=axis, keepdims=keepdims)
    if tangents[1] is not None:
        total = total + masked(tangents[1], first)
    return tie_part(total, hits, first, axis, keepdims)


@frule(np.max, np.amax, np.ndarray.max)
def max_general(tangents, a, axis=None, *, keepdims=False, initial=None, where=True):
    y = np.max(a, axis=axis, keepdims=keepdims, **given(initial=initial, where=where))
    hits, first = selected_hits(a, y, axis, keepdims, where), initial_hits(initial, y)
    return y, match(extreme_dot((tangents[0], tangents[3]), hits, first, axis, keepdims), y)


@frule(np.min, np.amin, np.ndarray.min)
def min_general(tangents, a, axis=None, *, keepdims=False, initial=None, where=True):
    y = np.min(a, axis=axis, keepdims=keepdims, **given(initial=initial, where=where))
    hits, first = selected_hits(a, y, axis, keepdims, where), initial_hits(initial, y)
    return y, match(extreme_dot((tangents[0], tangents[3]), hits, first, axis, keepdims), y)


@frule(np.nanmax)
def nanmax(tangents, a, axis=None, *, keepdims=False, initial=None, where=True):
    y = np.nanmax(a, axis=axis, keepdims=keepdims, **given(initial=initial, where=where))
    hits, first = selected_hits(a, y, axis, keepdims, numbers(a, where)), initial_hits(initial, y)
    return y, match(extreme_dot((tangents[0], tangents[3]), hits, first, axis, keepdims), y)


@frule(np.nanmin)
def nanmin(tangents, a, axis=None, *, keepdims=False, initial=None, where=True):
    y = np.nanmin(a, axis=axis, keepdims=keepdims, **given(initial=initial, where=where))
    hits, first = selected_hits(a, y, axis, keepdims, numbers(a, where)), initial_hits(initial, y)
    return y, match(extreme_dot((tangents[0], tangents[3]), hits, first, axis, keepdims), y)


# Moments: around the mean of the elements, or one that is given


def variance_dot(tangents, a, y, mean, axis, keepdims, where, freedom):
    """The tangent of the variance `y` by those of the elements, of a given mean, and of the degrees of freedom."""
    y_dot = 0.0
    if tangents[0] is not None or tangents[1] is not None:
        moved = 0.0
        if tangents[0] is not None:
            moved = tangents[0]
        if tangents[1] is not None:
            moved = moved - tangents[1]
        along = select(real(multiply_strong(moved, conj(deviation(a, mean, axis, where)))), where)
        y_dot = divide_strong(2 * np.sum(along, axis=axis, keepdims=keepdims), freedom)
    if tangents[2] is not None:
        y_dot = y_dot + multiply_strong(divide_strong(tangents[2], freedom), y)
    return y_dot


def deviation_dot(tangents, a, y, mean, axis, keepdims, where, freedom):
    """The same of a standard deviation `y`; where it is 0 the derivative is taken as 0."""
    variance = variance_dot((tangents[0], tangents[1], None), a, y, mean, axis, keepdims, where, freedom)
    y_dot = divide_singular(0.5 * variance, y)
    if tangents[2] is not None:
        y_dot = y_dot + multiply_strong(divide_strong(0.5 * tangents[2], freedom), y)
    return y_dot


def freedom_dot(ddof_dot, correction_dot):
    """The tangent of what is taken from the count, which has two names."""
    return ddof_dot if correction_dot is None else correction_dot


@frule(np.var, np.ndarray.var)
def var_general(tangents, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    options = given(dtype=dtype, where=where, mean=mean, correction=correction)
    y = np.var(a, axis=axis, ddof=ddof, keepdims=keepdims, **options)
    freedom = selected_freedom(shape(a), dtype_of(y), axis, keepdims, where, ddof, correction)
    dots = tangents[0], tangents[6], freedom_dot(tangents[3], tangents[7])
    return y, match(variance_dot(dots, a, y, mean, axis, keepdims, where, freedom), y)


@frule(np.std, np.ndarray.std)
def std_general(tangents, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    options = given(dtype=dtype, where=where, mean=mean, correction=correction)
    y = np.std(a, axis=axis, ddof=ddof, keepdims=keepdims, **options)
    freedom = selected_freedom(shape(a), dtype_of(y), axis, keepdims, where, ddof, correction)
    dots = tangents[0], tangents[6], freedom_dot(tangents[3], tangents[7])
    return y, match(deviation_dot(dots, a, y, mean, axis, keepdims, where, freedom), y)


@frule(np.nanvar)
def nanvar(tangents, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    options = given(dtype=dtype, where=where, mean=mean, correction=correction)
    y = np.nanvar(a, axis=axis, ddof=ddof, keepdims=keepdims, **options)
    kept = numbers(a, where)
    freedom = selected_freedom(shape(a), dtype_of(y), axis, keepdims, kept, ddof, correction)
    dots = tangents[0], tangents[6], freedom_dot(tangents[3], tangents[7])
    return y, match(variance_dot(dots, a, y, mean, axis, keepdims, kept, freedom), y)


@frule(np.nanstd)
def nanstd(tangents, a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    options = given(dtype=dtype, where=where, mean=mean, correction=correction)
    y = np.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims, **options)
    kept = numbers(a, where)
    freedom = selected_freedom(shape(a), dtype_of(y), axis, keepdims, kept, ddof, correction)
    dots = tangents[0], tangents[6], freedom_dot(tangents[3], tangents[7])
    return y, match(deviation_dot(dots, a, y, mean, axis, keepdims, kept, freedom), y)


# Running sums and products


@frule(np.nancumsum)
def nancumsum(tangents, a, axis=None, dtype=None):
    y = np.nancumsum(a, axis=axis, **given(dtype=dtype))
    return y, np.cumsum(masked(tangents[0], ~np.isnan(a)), axis=axis, dtype=dtype)


def flat_or_along(dot, x, axis):
    """The tangent of a running product along an axis, or of all elements."""
    if axis is None:
        return running_product_dot(np.ravel(dot), np.ravel(x), 0)
    return running_product_dot(np.atleast_1d(dot), np.atleast_1d(x), axis)


@frule(np.nancumprod)
def nancumprod(tangents, a, axis=None, dtype=None):
    y = np.nancumprod(a, axis=axis, **given(dtype=dtype))
    kept = ~np.isnan(a)
    return y, match(flat_or_along(masked(tangents[0], kept), np.where(kept, a, 1), axis), y)


@frule(np.cumprod, np.ndarray.cumprod)
def cumprod_general(tangents, a, axis=None, dtype=None):
    y = np.cumprod(a, axis=axis, **given(dtype=dtype))
    return y, match(flat_or_along(tangents[0], a, axis), y)


def cumulative_prod(tangents, x, /, *, axis=None, dtype=None, include_initial=False):
    y = np.cumulative_prod(x, axis=axis, include_initial=include_initial, **given(dtype=dtype))
    y_dot = flat_or_along(tangents[0], x, axis)
    if include_initial:
        along = 0 if axis is None else axis
        y_dot = np.concatenate([0.0 * np.take(y, [0], along), y_dot], along)
    return y, match(y_dot, y)


if hasattr(np, "cumulative_prod"):
    frule(np.cumulative_prod)(cumulative_prod)

# Order statistics: piecewise linear in the elements


@frule(np.quantile)
def quantile(tangents, a, q, axis=None, *, method="linear", keepdims=False, weights=None):
    if tangents[1] is not None:
        return NotImplemented
    y = np.quantile(a, q, axis=axis, method=method, keepdims=keepdims, **given(weights=weights))
    return y, quantile_dot(tangents[0], y, np.quantile, a, q, axis, method, weights, False)


@frule(np.percentile)
def percentile(tangents, a, q, axis=None, *, method="linear", keepdims=False, weights=None):
    if tangents[1] is not None:
        return NotImplemented
    y = np.percentile(a, q, axis=axis, method=method, keepdims=keepdims, **given(weights=weights))
    return y, quantile_dot(tangents[0], y, np.percentile, a, q, axis, method, weights, False)


@frule(np.nanquantile)
def nanquantile(tangents, a, q, axis=None, *, method="linear", keepdims=False, weights=None):
    if tangents[1] is not None:
        return NotImplemented
    y = np.nanquantile(a, q, axis=axis, method=method, keepdims=keepdims, **given(weights=weights))
    return y, quantile_dot(tangents[0], y, np.nanquantile, a, q, axis, method, weights, True)


@frule(np.nanpercentile)
def nanpercentile(tangents, a, q, axis=None, *, method="linear", keepdims=False, weights=None):
    if tangents[1] is not None:
        return NotImplemented
    y = np.nanpercentile(a, q, axis=axis, method=method, keepdims=keepdims, **given(weights=weights))
    return y, quantile_dot(tangents[0], y, np.nanpercentile, a, q, axis, method, weights, True)


@frule(np.nanmedian)
def nanmedian(tangents, a, axis=None, *, keepdims=False):
    y = np.nanmedian(a, axis=axis, keepdims=keepdims)
    return y, median_dot(tangents[0], y, a, axis)
