"""The general forms of reductions: of selected elements (`where=`), with a dtype, with an initial value.

They get the calls that the short forms in `reductions` do not take. The mask, the dtype and the axes are constants; an
initial value has a derivative, and so have a given mean and the degrees of freedom.
"""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_strong
from adcompiler.runtime.guarded import masked
from adcompiler.runtime.layout import cast_bar
from adcompiler.runtime.reduction import average_bar_a, average_bar_weights, keep_dims, weight_sum_bar
from adcompiler.runtime.selection import (
    deviation_bar,
    factors,
    given,
    given_mean_bar,
    initial_hits,
    mean_bar,
    product_bar,
    scalar_bar,
    selected_freedom,
    selected_hits,
    sum_bar,
    sum_of_bars,
    tie_part,
)
from adcompiler.runtime.shapes import conj, dtype_of, fit, real, shape

# Sums, means and products


@rrule(np.sum, np.ndarray.sum, result="fresh", kind="reduction", flat=("where",), general=True, linear=("a", "initial"))
def sum_general(a, axis=None, dtype=None, *, keepdims=False, initial=None, where=True):
    y = np.sum(a, axis=axis, keepdims=keepdims, **given(dtype=dtype, initial=initial, where=where))
    a_shape, y_dtype = shape(a), dtype_of(y)

    def pullback(y_bar):
        a_bar = sum_bar(y_bar, a_shape, y_dtype, axis, keepdims, where)
        return a_bar, None, None, None, scalar_bar(cast_bar(y_bar, y_dtype), initial), None

    return y, pullback


@rrule(np.mean, np.ndarray.mean, result="fresh", kind="reduction", flat=("where",), general=True, linear=("a",))
def mean_general(a, axis=None, dtype=None, *, keepdims=False, where=True):
    y = np.mean(a, axis=axis, keepdims=keepdims, **given(dtype=dtype, where=where))
    a_shape, y_dtype = shape(a), dtype_of(y)

    def pullback(y_bar):
        return mean_bar(y_bar, a_shape, y_dtype, axis, keepdims, where), None, None, None, None

    return y, pullback


@rrule(np.prod, np.ndarray.prod, result="fresh", kind="reduction", flat=("where",), general=True)
def prod_general(a, axis=None, dtype=None, *, keepdims=False, initial=None, where=True):
    y = np.prod(a, axis=axis, keepdims=keepdims, **given(dtype=dtype, initial=initial, where=where))
    y_dtype = dtype_of(y)

    def pullback(y_bar):
        c, taken = cast_bar(y_bar, y_dtype), factors(a, y_dtype, where)
        a_bar = masked(product_bar(c, taken, initial, axis, keepdims), where)
        initial_bar = scalar_bar(c * conj(np.prod(taken, axis=axis, keepdims=keepdims)), initial)
        return a_bar, None, None, None, initial_bar, None

    return y, pullback


# Extrema: the initial value is one more element of every slice


@rrule(np.max, np.amax, np.ndarray.max, result="fresh", kind="reduction", flat=("where",), general=True)
def max_general(a, axis=None, *, keepdims=False, initial=None, where=True):
    y = np.max(a, axis=axis, keepdims=keepdims, **given(initial=initial, where=where))
    hits, first = selected_hits(a, y, axis, keepdims, where), initial_hits(initial, y)

    def pullback(y_bar):
        each = tie_part(y_bar, hits, first, axis, keepdims)
        return masked(keep_dims(each, axis, keepdims), hits), None, None, scalar_bar(masked(each, first), initial), None

    return y, pullback


@rrule(np.min, np.amin, np.ndarray.min, result="fresh", kind="reduction", flat=("where",), general=True)
def min_general(a, axis=None, *, keepdims=False, initial=None, where=True):
    y = np.min(a, axis=axis, keepdims=keepdims, **given(initial=initial, where=where))
    hits, first = selected_hits(a, y, axis, keepdims, where), initial_hits(initial, y)

    def pullback(y_bar):
        each = tie_part(y_bar, hits, first, axis, keepdims)
        return masked(keep_dims(each, axis, keepdims), hits), None, None, scalar_bar(masked(each, first), initial), None

    return y, pullback


# Moments: around the mean of the elements, or one that is given


@rrule(np.var, np.ndarray.var, result="fresh", kind="reduction_real", flat=("where",), general=True)
def var_general(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    options = given(dtype=dtype, where=where, mean=mean, correction=correction)
    y = np.var(a, axis=axis, ddof=ddof, keepdims=keepdims, **options)
    a_shape, y_dtype = shape(a), dtype_of(y)
    freedom = selected_freedom(a_shape, y_dtype, axis, keepdims, where, ddof, correction)

    def pullback(y_bar):
        c = divide_strong(real(cast_bar(y_bar, y_dtype)), freedom)
        distance_bar = deviation_bar(2 * c, a, mean, axis, keepdims, where)
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


@rrule(np.std, np.ndarray.std, result="fresh", kind="reduction_real", flat=("where",), general=True)
def std_general(a, axis=None, dtype=None, *, ddof=0, keepdims=False, where=True, mean=None, correction=None):
    options = given(dtype=dtype, where=where, mean=mean, correction=correction)
    y = np.std(a, axis=axis, ddof=ddof, keepdims=keepdims, **options)
    a_shape, y_dtype = shape(a), dtype_of(y)
    freedom = selected_freedom(a_shape, y_dtype, axis, keepdims, where, ddof, correction)

    def pullback(y_bar):
        c = divide_strong(real(cast_bar(y_bar, y_dtype)), freedom)
        distance_bar = deviation_bar(divide_singular(c, y), a, mean, axis, keepdims, where)
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


@rrule(np.average, result="fresh", kind="tuple", general=True)
def average_general(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """With the sum of the weights, if `returned`."""
    found = np.average(a, axis, weights, returned, keepdims=keepdims)
    y = found[0] if returned else found
    a_shape, weights_shape = shape(a), shape(weights)

    def pullback(found_bar):
        y_bar, sum_of_weights_bar = found_bar if returned else (found_bar, None)
        if y_bar is None:
            a_bar = weights_bar = None
        else:
            a_bar = average_bar_a(y_bar, weights, a_shape, axis, keepdims)
            weights_bar = average_bar_weights(y_bar, y, a, weights, weights_shape, axis, keepdims)
        sum_bar = weight_sum_bar(sum_of_weights_bar, a_shape, weights, weights_shape, axis, keepdims)
        return a_bar, None, sum_of_bars(weights_bar, sum_bar), None, None

    return found, pullback
