"""Rules for the reductions that leave nan out: an element that is nan has no influence, so its cotangent is 0."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.elementary import divide_singular
from adcompiler.runtime.layout import reshape
from adcompiler.runtime.reduction import (
    keep_dims,
    nan_deviation,
    nan_freedom,
    product_of_others,
    reverse_cumsum,
    share,
    tie_hits,
)
from adcompiler.runtime.shapes import conj, shape


@rrule(np.nansum, result="fresh", kind="reduction")
def nansum(a, axis=None, *, keepdims=False):
    y = np.nansum(a, axis=axis, keepdims=keepdims)
    left_out = np.isnan(a)

    def pullback(y_bar):
        return np.where(left_out, 0, keep_dims(y_bar, axis, keepdims)), None, None

    return y, pullback


@rrule(np.nanmean, result="fresh", kind="reduction")
def nanmean(a, axis=None, *, keepdims=False):
    y = np.nanmean(a, axis=axis, keepdims=keepdims)
    left_out = np.isnan(a)
    count = nan_freedom(a, y, axis, keepdims, 0)

    def pullback(y_bar):
        return np.where(left_out, 0, keep_dims(y_bar / count, axis, keepdims)), None, None

    return y, pullback


@rrule(np.nanprod, result="fresh", kind="reduction")
def nanprod(a, axis=None, *, keepdims=False):
    y = np.nanprod(a, axis=axis, keepdims=keepdims)
    left_out = np.isnan(a)

    def pullback(y_bar):
        others = product_of_others(np.where(left_out, 1, a), y, axis, keepdims)
        return np.where(left_out, 0, keep_dims(y_bar, axis, keepdims) * conj(others)), None, None

    return y, pullback


@rrule(np.nanmax, result="fresh", kind="reduction")
def nanmax(a, axis=None, *, keepdims=False):
    y = np.nanmax(a, axis=axis, keepdims=keepdims)
    hit = tie_hits(a, y, axis, keepdims)

    def pullback(y_bar):
        return share(y_bar, hit, axis, keepdims), None, None

    return y, pullback


@rrule(np.nanmin, result="fresh", kind="reduction")
def nanmin(a, axis=None, *, keepdims=False):
    y = np.nanmin(a, axis=axis, keepdims=keepdims)
    hit = tie_hits(a, y, axis, keepdims)

    def pullback(y_bar):
        return share(y_bar, hit, axis, keepdims), None, None

    return y, pullback


@rrule(np.nanmedian, result="fresh", kind="reduction")
def nanmedian(a, axis=None, *, keepdims=False):
    y = np.nanmedian(a, axis=axis, keepdims=keepdims)
    lower = tie_hits(a, np.nanquantile(a, 0.5, axis=axis, method="lower", keepdims=True), axis, True)
    higher = tie_hits(a, np.nanquantile(a, 0.5, axis=axis, method="higher", keepdims=True), axis, True)

    def pullback(y_bar):
        half = 0.5 * y_bar
        return share(half, lower, axis, keepdims) + share(half, higher, axis, keepdims), None, None

    return y, pullback


@rrule(np.nanvar, result="fresh", kind="reduction_real")
def nanvar(a, axis=None, *, ddof=0, keepdims=False):
    y = np.nanvar(a, axis=axis, ddof=ddof, keepdims=keepdims)
    freedom = nan_freedom(a, y, axis, keepdims, ddof)

    def pullback(y_bar):
        return keep_dims(y_bar * (2 / freedom), axis, keepdims) * nan_deviation(a, axis), None, None, None

    return y, pullback


@rrule(np.nanstd, result="fresh", kind="reduction_real")
def nanstd(a, axis=None, *, ddof=0, keepdims=False):
    y = np.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims)
    freedom = nan_freedom(a, y, axis, keepdims, ddof)

    def pullback(y_bar):
        scaled = keep_dims(divide_singular(y_bar, y) / freedom, axis, keepdims)
        return scaled * nan_deviation(a, axis), None, None, None

    return y, pullback


@rrule(np.nancumsum, result="fresh", kind="array")
def nancumsum(a, axis=None):
    y = np.nancumsum(a, axis=axis)
    left_out = np.isnan(a)

    def pullback(y_bar):
        if axis is None:
            a_bar = np.where(left_out, 0, reshape(np.cumsum(y_bar[::-1])[::-1], shape(left_out)))
        else:
            a_bar = np.where(left_out, 0, reverse_cumsum(y_bar, axis))
        return a_bar, None

    return y, pullback
