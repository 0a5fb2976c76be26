"""Rules for parts of the pullbacks of reductions."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.reduction import (
    degrees_of_freedom,
    diff_bar,
    mean_of_hits,
    reverse_cumsum,
    share,
)
from adcompiler.runtime.shapes import fit, shape


@rrule(share, result="fresh", flat=("hit", "axis", "keepdims"), linear=("c",))
def share_(c, hit, axis, keepdims):
    y = share(c, hit, axis, keepdims)
    c_shape = shape(c)

    def pullback(y_bar):
        return fit(mean_of_hits(y_bar, hit, axis, keepdims), c_shape), None, None, None

    return y, pullback


@rrule(mean_of_hits, result="fresh", flat=("hit", "axis", "keepdims"), linear=("c",))
def mean_of_hits_(c, hit, axis, keepdims):
    y = mean_of_hits(c, hit, axis, keepdims)
    c_shape = shape(c)

    def pullback(y_bar):
        return fit(share(y_bar, hit, axis, keepdims), c_shape), None, None, None

    return y, pullback


@rrule(degrees_of_freedom, kind="scalar", flat=("x", "axis"))
def degrees_of_freedom_(x, axis, ddof):
    y = degrees_of_freedom(x, axis, ddof)
    ddof_shape = shape(ddof)

    def pullback(y_bar):
        return None, None, fit(-y_bar, ddof_shape)

    return y, pullback


@rrule(reverse_cumsum, result="fresh", flat=("axis",), linear=("c",))
def reverse_cumsum_(c, axis):
    y = reverse_cumsum(c, axis)

    def pullback(y_bar):
        return np.cumsum(y_bar, axis), None

    return y, pullback


@rrule(diff_bar, result="same", flat=("x_shape", "n", "axis"), linear=("c",))
def diff_bar_(c, x_shape, n, axis):
    y = diff_bar(c, x_shape, n, axis)

    def pullback(y_bar):
        return np.diff(y_bar, n, axis), None, None, None

    return y, pullback
