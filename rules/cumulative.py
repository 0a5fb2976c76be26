"""Rules for the running sums and products of the array API standard, which NumPy has from 2.1 on."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.running import running_product_bar, running_sum_bar, without_first
from adcompiler.runtime.selection import given
from adcompiler.runtime.shapes import dtype_of, shape


@rrule(np.cumulative_sum, result="fresh", kind="array", linear=("x",))
def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    y = np.cumulative_sum(x, axis=axis, include_initial=include_initial, **given(dtype=dtype))
    x_shape, y_dtype = shape(x), dtype_of(y)

    def pullback(y_bar):
        x_bar = running_sum_bar(without_first(y_bar, axis, include_initial), x_shape, y_dtype, axis)
        return x_bar, None, None, None

    return y, pullback


@rrule(np.cumulative_prod, result="fresh", kind="array")
def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    y = np.cumulative_prod(x, axis=axis, include_initial=include_initial, **given(dtype=dtype))
    y_dtype = dtype_of(y)

    def pullback(y_bar):
        x_bar = running_product_bar(without_first(y_bar, axis, include_initial), x, y_dtype, axis)
        return x_bar, None, None, None

    return y, pullback
