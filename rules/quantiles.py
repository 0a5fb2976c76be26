"""Rules for order statistics that are interpolated: quantiles and percentiles by every method, medians without nan.

Piecewise linear in the elements; in the weights piecewise constant, in the level by method. `overwrite_input` and
`out=` are writes.
"""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.quantiles import median_bar, quantile_bar, quantile_level_bar
from adcompiler.runtime.selection import given


@rrule(np.quantile, result="fresh", flat=("weights",))
def quantile(a, q, axis=None, *, method="linear", keepdims=False, weights=None):
    y = np.quantile(a, q, axis=axis, method=method, keepdims=keepdims, **given(weights=weights))

    def pullback(y_bar):
        a_bar = quantile_bar(y_bar, y, np.quantile, a, q, axis, method, weights, False)
        q_bar = quantile_level_bar(y_bar, a, q, axis, method, 1.0, False)
        return a_bar, q_bar, None, None, None, None

    return y, pullback


@rrule(np.percentile, result="fresh", flat=("weights",))
def percentile(a, q, axis=None, *, method="linear", keepdims=False, weights=None):
    y = np.percentile(a, q, axis=axis, method=method, keepdims=keepdims, **given(weights=weights))

    def pullback(y_bar):
        a_bar = quantile_bar(y_bar, y, np.percentile, a, q, axis, method, weights, False)
        q_bar = quantile_level_bar(y_bar, a, q, axis, method, 100.0, False)
        return a_bar, q_bar, None, None, None, None

    return y, pullback


@rrule(np.nanquantile, result="fresh", flat=("weights",))
def nanquantile(a, q, axis=None, *, method="linear", keepdims=False, weights=None):
    y = np.nanquantile(a, q, axis=axis, method=method, keepdims=keepdims, **given(weights=weights))

    def pullback(y_bar):
        a_bar = quantile_bar(y_bar, y, np.nanquantile, a, q, axis, method, weights, True)
        q_bar = quantile_level_bar(y_bar, a, q, axis, method, 1.0, True)
        return a_bar, q_bar, None, None, None, None

    return y, pullback


@rrule(np.nanpercentile, result="fresh", flat=("weights",))
def nanpercentile(a, q, axis=None, *, method="linear", keepdims=False, weights=None):
    y = np.nanpercentile(a, q, axis=axis, method=method, keepdims=keepdims, **given(weights=weights))

    def pullback(y_bar):
        a_bar = quantile_bar(y_bar, y, np.nanpercentile, a, q, axis, method, weights, True)
        q_bar = quantile_level_bar(y_bar, a, q, axis, method, 100.0, True)
        return a_bar, q_bar, None, None, None, None

    return y, pullback


@rrule(np.nanmedian, result="fresh", kind="reduction")
def nanmedian(a, axis=None, *, keepdims=False):
    y = np.nanmedian(a, axis=axis, keepdims=keepdims)

    def pullback(y_bar):
        return median_bar(y_bar, a, axis), None, None

    return y, pullback
