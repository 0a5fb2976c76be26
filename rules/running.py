"""Rules for running sums and products of every form, for differences with given ends, and for unwrapped phases."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.guarded import masked
from adcompiler.runtime.layout import cast_bar
from adcompiler.runtime.running import (
    flat_diff_bar,
    flat_end_bar,
    joined_diff_bars,
    running_product_bar,
    running_sum_bar,
)
from adcompiler.runtime.selection import given, scalar_bar
from adcompiler.runtime.shapes import dtype_of, shape

# Running sums and products


@rrule(np.cumsum, np.ndarray.cumsum, result="fresh", kind="array", general=True, linear=("a",))
def cumsum_general(a, axis=None, dtype=None):
    y = np.cumsum(a, axis=axis, **given(dtype=dtype))
    a_shape, y_dtype = shape(a), dtype_of(y)

    def pullback(y_bar):
        return running_sum_bar(y_bar, a_shape, y_dtype, axis), None, None

    return y, pullback


@rrule(np.cumprod, np.ndarray.cumprod, result="fresh", kind="array", general=True)
def cumprod_general(a, axis=None, dtype=None):
    y = np.cumprod(a, axis=axis, **given(dtype=dtype))
    y_dtype = dtype_of(y)

    def pullback(y_bar):
        return running_product_bar(y_bar, a, y_dtype, axis), None, None

    return y, pullback


@rrule(np.nancumsum, result="fresh", kind="array")
def nancumsum(a, axis=None, dtype=None):
    y = np.nancumsum(a, axis=axis, **given(dtype=dtype))
    a_shape, y_dtype = shape(a), dtype_of(y)
    kept = ~np.isnan(a)

    def pullback(y_bar):
        return masked(running_sum_bar(y_bar, a_shape, y_dtype, axis), kept), None, None

    return y, pullback


@rrule(np.nancumprod, result="fresh", kind="array")
def nancumprod(a, axis=None, dtype=None):
    y = np.nancumprod(a, axis=axis, **given(dtype=dtype))
    y_dtype = dtype_of(y)
    kept = ~np.isnan(a)

    def pullback(y_bar):
        return masked(running_product_bar(y_bar, np.where(kept, a, 1), y_dtype, axis), kept), None, None

    return y, pullback


# Differences


@rrule(np.diff, result="same", kind="array", general=True, linear=("a", "prepend", "append"))
def diff_general(a, n=1, axis=-1, prepend=None, append=None):
    """With values before and after; a number stands for a slice of equal ones."""
    y = np.diff(a, n, axis, **given(prepend=prepend, append=append))

    def pullback(y_bar):
        bars = joined_diff_bars(y_bar, a, prepend, append, n, axis)
        return bars[0], None, None, bars[1], bars[2]

    return y, pullback


@rrule(np.ediff1d, result="fresh", kind="array1", linear=("ary", "to_end", "to_begin"))
def ediff1d(ary, to_end=None, to_begin=None):
    y = np.ediff1d(ary, to_end, to_begin)
    ary_shape = shape(ary)

    def pullback(y_bar):
        ary_bar = flat_diff_bar(y_bar, ary_shape, to_begin, to_end)
        return ary_bar, flat_end_bar(y_bar, to_end, True), flat_end_bar(y_bar, to_begin, False)

    return y, pullback


@rrule(np.unwrap, result="fresh", kind="array", flat=("discont",))
def unwrap(p, discont=None, axis=-1, *, period=2 * np.pi):
    """The values plus whole periods, whose number is piecewise constant."""
    y = np.unwrap(p, discont, axis, period=period)
    y_dtype = dtype_of(y)

    def pullback(y_bar):
        c = cast_bar(y_bar, y_dtype)
        return c, None, None, scalar_bar(c * np.rint((y - p) / period), period)

    return y, pullback
