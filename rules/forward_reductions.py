"""Forward rules of products, extrema and moments over axes, and of running products.

An extremum moves with the mean of the tangents of all elements that attain it.
"""

import numpy as np

from adcompiler.rules.forward import frule
from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_strong
from adcompiler.runtime.guarded import masked
from adcompiler.runtime.reduction import (
    degrees_of_freedom,
    keep_dims,
    middle,
    product_of_others,
    spread_weights,
    tie_hits,
)
from adcompiler.runtime.shapes import conj, dtype_of, ndim, real, shape


def tie_mean(dot, hit, axis, keepdims):
    """The mean of the tangents where the mask `hit` holds, over `axis`."""
    count = np.sum(hit, axis=axis, keepdims=keepdims, dtype=dtype_of(real(dot)))
    return np.sum(masked(dot, hit), axis=axis, keepdims=keepdims) / count


# Extrema and products


@frule(np.max, np.amax, np.ndarray.max)
def max(tangents, a, axis=None, *, keepdims=False):
    y = np.max(a, axis=axis, keepdims=keepdims)
    return y, tie_mean(tangents[0], tie_hits(a, y, axis, keepdims), axis, keepdims)


@frule(np.min, np.amin, np.ndarray.min)
def min(tangents, a, axis=None, *, keepdims=False):
    y = np.min(a, axis=axis, keepdims=keepdims)
    return y, tie_mean(tangents[0], tie_hits(a, y, axis, keepdims), axis, keepdims)


@frule(np.ptp)
def ptp(tangents, a, axis=None, *, keepdims=False):
    highest, lowest = np.max(a, axis=axis, keepdims=keepdims), np.min(a, axis=axis, keepdims=keepdims)
    y_dot = tie_mean(tangents[0], tie_hits(a, highest, axis, keepdims), axis, keepdims) - tie_mean(
        tangents[0], tie_hits(a, lowest, axis, keepdims), axis, keepdims
    )
    y = np.ptp(a, axis=axis, keepdims=keepdims)
    return y, y_dot


@frule(np.maximum.reduce)
def maximum_reduce(tangents, array, axis=0, *, keepdims=False):
    y = np.maximum.reduce(array, axis=axis, keepdims=keepdims)
    return y, tie_mean(tangents[0], tie_hits(array, y, axis, keepdims), axis, keepdims)


@frule(np.minimum.reduce)
def minimum_reduce(tangents, array, axis=0, *, keepdims=False):
    y = np.minimum.reduce(array, axis=axis, keepdims=keepdims)
    return y, tie_mean(tangents[0], tie_hits(array, y, axis, keepdims), axis, keepdims)


@frule(np.prod, np.ndarray.prod)
def prod(tangents, a, axis=None, *, keepdims=False):
    y = np.prod(a, axis=axis, keepdims=keepdims)
    others = product_of_others(a, y, axis, keepdims)
    return y, np.sum(multiply_strong(tangents[0], others), axis=axis, keepdims=keepdims)


@frule(np.multiply.reduce)
def multiply_reduce(tangents, array, axis=0, *, keepdims=False):
    y = np.multiply.reduce(array, axis=axis, keepdims=keepdims)
    others = product_of_others(array, y, axis, keepdims)
    return y, np.sum(multiply_strong(tangents[0], others), axis=axis, keepdims=keepdims)


# Moments


@frule(np.var, np.ndarray.var)
def var(tangents, a, axis=None, *, ddof=0, keepdims=False):
    y = np.var(a, axis=axis, ddof=ddof, keepdims=keepdims)
    freedom = degrees_of_freedom(a, axis, ddof)
    y_dot = 0.0
    if tangents[0] is not None:
        along = real(conj(a - np.mean(a, axis=axis, keepdims=True)) * tangents[0])
        y_dot = divide_strong(2 * np.sum(along, axis=axis, keepdims=keepdims), freedom)
    if tangents[2] is not None:
        y_dot = y_dot + multiply_strong(divide_strong(tangents[2], freedom), y)
    return y, y_dot


@frule(np.std, np.ndarray.std)
def std(tangents, a, axis=None, *, ddof=0, keepdims=False):
    """The derivative where all elements are equal is taken as 0, as that of abs."""
    y = np.std(a, axis=axis, ddof=ddof, keepdims=keepdims)
    freedom = degrees_of_freedom(a, axis, ddof)
    y_dot = 0.0
    if tangents[0] is not None:
        along = real(conj(a - np.mean(a, axis=axis, keepdims=True)) * tangents[0])
        y_dot = divide_strong(divide_singular(np.sum(along, axis=axis, keepdims=keepdims), y), freedom)
    if tangents[2] is not None:
        y_dot = y_dot + multiply_strong(divide_strong(0.5 * tangents[2], freedom), y)
    return y, y_dot


@frule(np.average)
def average(tangents, a, axis=None, weights=None, *, keepdims=False):
    y = np.average(a, axis, weights, keepdims=keepdims)
    y_dot = 0.0
    if tangents[0] is not None:
        y_dot = np.average(tangents[0], axis, weights, keepdims=keepdims)
    if tangents[2] is not None:
        distance = (a - keep_dims(y, axis, keepdims)) * spread_weights(tangents[2], shape(a), axis)
        total = np.sum(spread_weights(weights, shape(a), axis), axis=axis, keepdims=keepdims)
        y_dot = y_dot + np.sum(distance, axis=axis, keepdims=keepdims) / total
    return y, y_dot


@frule(np.average)
def average_general(tangents, a, axis=None, weights=None, returned=False, *, keepdims=False):
    """With the sum of the weights, if `returned`."""
    y, y_dot = average((tangents[0], None, tangents[2], None), a, axis, weights, keepdims=keepdims)
    if not returned:
        return y, y_dot
    found = np.average(a, axis, weights, returned, keepdims=keepdims)
    if tangents[2] is None:
        return found, (y_dot, None)
    sum_dot = np.sum(spread_weights(tangents[2], shape(a), axis), axis=axis, keepdims=keepdims)
    return found, (y_dot, sum_dot)


@frule(np.median)
def median(tangents, a, axis=None, *, keepdims=False):
    """Half of the tangents of each of the two elements in the middle, which may be the same."""
    y = np.median(a, axis=axis, keepdims=keepdims)
    lower = tie_hits(a, middle(a, axis, False), axis, True)
    higher = tie_hits(a, middle(a, axis, True), axis, True)
    half = 0.5 * tangents[0]
    return y, tie_mean(half, lower, axis, keepdims) + tie_mean(half, higher, axis, keepdims)


@frule(np.trapezoid)
def trapezoid(tangents, y, x=None, dx=1.0, axis=-1):
    """Linear in the heights, and in the places or the distance."""
    area = np.trapezoid(y, x, dx, axis)
    area_dot = 0.0
    if tangents[0] is not None:
        area_dot = np.trapezoid(tangents[0], x, dx, axis)
    if tangents[1] is not None:
        area_dot = area_dot + np.trapezoid(y, tangents[1], axis=axis)
    if tangents[2] is not None and x is None:
        area_dot = area_dot + np.trapezoid(y, dx=tangents[2], axis=axis)
    return area, area_dot


# Running products


def running_product_dot(dot, x, axis):
    """The tangent of ``np.cumprod(x, axis)``: the product rule factor by factor, so that zeros are no exception."""
    factors, dots = np.moveaxis(x, axis, 0), np.moveaxis(dot, axis, 0)
    product, product_dot, rows = 1.0, 0.0, []
    for i in range(len(factors)):
        product_dot = product_dot * factors[i] + product * dots[i]
        product = product * factors[i]
        rows.append(product_dot)
    return np.moveaxis(np.stack(rows), 0, axis) if rows else dot


@frule(np.cumprod, np.ndarray.cumprod)
def cumprod(tangents, a, axis=None):
    y = np.cumprod(a, axis=axis)
    if axis is None:
        y_dot = running_product_dot(np.ravel(tangents[0]), np.ravel(a), 0)
    elif ndim(a) > 0:
        y_dot = running_product_dot(tangents[0], a, axis)
    else:
        y_dot = running_product_dot(np.atleast_1d(tangents[0]), np.atleast_1d(a), axis)
    return y, y_dot
