"""Rules for sums, products, extrema and moments over axes, and for running sums and differences.

Keyword-only parameters follow `axis` where NumPy has `dtype` and `out` in between, which no rule takes.
"""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_strong
from adcompiler.runtime.layout import reshape
from adcompiler.runtime.reduction import (
    average_bar_a,
    average_bar_weights,
    axis_count,
    cumprod_bar,
    degrees_of_freedom,
    diff_bar,
    keep_dims,
    middle,
    midpoints,
    product_of_others,
    reverse_cumsum,
    share,
    tie_hits,
    trapezoid_bar_x,
    trapezoid_bar_y,
)
from adcompiler.runtime.selection import scalar_bar
from adcompiler.runtime.shapes import conj, expand, fit, ndim, shape, size

# Sums and means


@rrule(np.sum, np.ndarray.sum, result="fresh", kind="reduction", linear=("a",))
def sum(a, axis=None, *, keepdims=False):
    y = np.sum(a, axis=axis, keepdims=keepdims)
    a_shape = shape(a)

    def pullback(y_bar):
        return expand(y_bar, a_shape, axis, keepdims), None, None

    return y, pullback


@rrule(np.mean, np.ndarray.mean, result="fresh", kind="reduction", linear=("a",))
def mean(a, axis=None, *, keepdims=False):
    y = np.mean(a, axis=axis, keepdims=keepdims)
    a_shape = shape(a)
    if axis is None:
        count = size(a) or 1
    else:
        count = axis_count(a, axis) or 1

    def pullback(y_bar):
        return expand(y_bar / count, a_shape, axis, keepdims), None, None

    return y, pullback


@rrule(np.max, np.amax, np.ndarray.max, result="fresh", kind="reduction")
def max(a, axis=None, *, keepdims=False):
    y = np.max(a, axis=axis, keepdims=keepdims)
    hit = tie_hits(a, y, axis, keepdims)

    def pullback(y_bar):
        return share(y_bar, hit, axis, keepdims), None, None

    return y, pullback


@rrule(np.min, np.amin, np.ndarray.min, result="fresh", kind="reduction")
def min(a, axis=None, *, keepdims=False):
    y = np.min(a, axis=axis, keepdims=keepdims)
    hit = tie_hits(a, y, axis, keepdims)

    def pullback(y_bar):
        return share(y_bar, hit, axis, keepdims), None, None

    return y, pullback


@rrule(np.prod, np.ndarray.prod, result="fresh", kind="reduction")
def prod(a, axis=None, *, keepdims=False):
    y = np.prod(a, axis=axis, keepdims=keepdims)

    def pullback(y_bar):
        others = conj(product_of_others(a, y, axis, keepdims))
        return multiply_strong(keep_dims(y_bar, axis, keepdims), others), None, None

    return y, pullback


@rrule(np.ptp, result="fresh", kind="reduction")
def ptp(a, axis=None, *, keepdims=False):
    y = np.ptp(a, axis=axis, keepdims=keepdims)
    highest = tie_hits(a, np.max(a, axis=axis, keepdims=keepdims), axis, keepdims)
    lowest = tie_hits(a, np.min(a, axis=axis, keepdims=keepdims), axis, keepdims)

    def pullback(y_bar):
        return share(y_bar, highest, axis, keepdims) - share(y_bar, lowest, axis, keepdims), None, None

    return y, pullback


# Moments. Of a complex array NumPy's variance is the mean of the squared distances, which is real.


@rrule(np.var, np.ndarray.var, result="fresh", kind="reduction_real")
def var(a, axis=None, *, ddof=0, keepdims=False):
    y = np.var(a, axis=axis, ddof=ddof, keepdims=keepdims)
    freedom = degrees_of_freedom(a, axis, ddof)

    def pullback(y_bar):
        scaled = keep_dims(divide_strong(2 * y_bar, freedom), axis, keepdims)
        ddof_bar = scalar_bar(multiply_strong(divide_strong(y_bar, freedom), y), ddof)
        return scaled * (a - np.mean(a, axis=axis, keepdims=True)), None, ddof_bar, None

    return y, pullback


@rrule(np.std, np.ndarray.std, result="fresh", kind="reduction_real")
def std(a, axis=None, *, ddof=0, keepdims=False):
    y = np.std(a, axis=axis, ddof=ddof, keepdims=keepdims)
    freedom = degrees_of_freedom(a, axis, ddof)

    def pullback(y_bar):
        scaled = keep_dims(divide_strong(divide_singular(y_bar, y), freedom), axis, keepdims)
        ddof_bar = scalar_bar(multiply_strong(divide_strong(0.5 * y_bar, freedom), y), ddof)
        return scaled * (a - np.mean(a, axis=axis, keepdims=True)), None, ddof_bar, None

    return y, pullback


@rrule(np.average, result="fresh", kind="reduction", linear=("a",))
def average(a, axis=None, weights=None, *, keepdims=False):
    y = np.average(a, axis, weights, keepdims=keepdims)
    a_shape, weights_shape = shape(a), shape(weights)

    def pullback(y_bar):
        a_bar = average_bar_a(y_bar, weights, a_shape, axis, keepdims)
        weights_bar = average_bar_weights(y_bar, y, a, weights, weights_shape, axis, keepdims)
        return a_bar, None, weights_bar, None

    return y, pullback


# Order statistics


@rrule(np.median, result="fresh", kind="reduction")
def median(a, axis=None, *, keepdims=False):
    y = np.median(a, axis=axis, keepdims=keepdims)
    lower = tie_hits(a, middle(a, axis, False), axis, True)
    higher = tie_hits(a, middle(a, axis, True), axis, True)

    def pullback(y_bar):
        half = 0.5 * y_bar
        return share(half, lower, axis, keepdims) + share(half, higher, axis, keepdims), None, None

    return y, pullback


# Running sums, products and differences


@rrule(np.cumsum, np.ndarray.cumsum, result="fresh", kind="array", linear=("a",))
def cumsum(a, axis=None):
    y = np.cumsum(a, axis=axis)
    a_shape = shape(a)

    def pullback(y_bar):
        if axis is None:
            a_bar = reshape(np.cumsum(y_bar[::-1])[::-1], a_shape)
        elif ndim(a) > 0:
            a_bar = reverse_cumsum(y_bar, axis)
        else:
            a_bar = reshape(reverse_cumsum(y_bar, axis), a_shape)
        return a_bar, None

    return y, pullback


@rrule(np.cumprod, np.ndarray.cumprod, result="fresh", kind="array")
def cumprod(a, axis=None):
    y = np.cumprod(a, axis=axis)
    a_shape = shape(a)

    def pullback(y_bar):
        if axis is None:
            a_bar = reshape(cumprod_bar(y_bar, np.ravel(a), y, 0), a_shape)
        elif ndim(a) > 0:
            a_bar = cumprod_bar(y_bar, a, y, axis)
        else:
            a_bar = reshape(cumprod_bar(y_bar, np.atleast_1d(a), y, axis), a_shape)
        return a_bar, None

    return y, pullback


@rrule(np.diff, result="same", kind="array", linear=("a",))
def diff(a, n=1, axis=-1):
    y = np.diff(a, n, axis)
    a_shape = shape(a)

    def pullback(y_bar):
        return diff_bar(y_bar, a_shape, n, axis), None, None

    return y, pullback


@rrule(np.trapezoid, result="fresh", linear=("y",))
def trapezoid(y, x=None, dx=1.0, axis=-1):
    area = np.trapezoid(y, x, dx, axis)
    y_shape, x_shape, dx_shape = shape(y), shape(x), shape(dx)

    def pullback(area_bar):
        y_bar = trapezoid_bar_y(area_bar, y_shape, x, dx, axis)
        if x is None:
            x_bar = None
            dx_bar = fit(keep_dims(area_bar, axis, False) * conj(midpoints(y, axis)), dx_shape)
        else:
            x_bar = trapezoid_bar_x(area_bar, y, x_shape, axis)
            dx_bar = None
        return y_bar, x_bar, dx_bar, None

    return area, pullback


# Reductions by the ufuncs themselves, which take the first axis unless told otherwise


@rrule(np.add.reduce, result="fresh", kind="reduction", linear=("array",))
def add_reduce(array, axis=0, *, keepdims=False):
    y = np.add.reduce(array, axis=axis, keepdims=keepdims)
    array_shape = shape(array)

    def pullback(y_bar):
        return expand(y_bar, array_shape, axis, keepdims), None, None

    return y, pullback


@rrule(np.multiply.reduce, result="fresh", kind="reduction")
def multiply_reduce(array, axis=0, *, keepdims=False):
    y = np.multiply.reduce(array, axis=axis, keepdims=keepdims)

    def pullback(y_bar):
        return keep_dims(y_bar, axis, keepdims) * conj(product_of_others(array, y, axis, keepdims)), None, None

    return y, pullback


@rrule(np.maximum.reduce, result="fresh", kind="reduction")
def maximum_reduce(array, axis=0, *, keepdims=False):
    y = np.maximum.reduce(array, axis=axis, keepdims=keepdims)
    hit = tie_hits(array, y, axis, keepdims)

    def pullback(y_bar):
        return share(y_bar, hit, axis, keepdims), None, None

    return y, pullback


@rrule(np.minimum.reduce, result="fresh", kind="reduction")
def minimum_reduce(array, axis=0, *, keepdims=False):
    y = np.minimum.reduce(array, axis=axis, keepdims=keepdims)
    hit = tie_hits(array, y, axis, keepdims)

    def pullback(y_bar):
        return share(y_bar, hit, axis, keepdims), None, None

    return y, pullback
