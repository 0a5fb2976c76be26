"""Rules for `numpy.emath`, whose functions turn complex where the real ones have no value.

The value of a real argument may be complex, so slopes are written by way of the value, which knows its branch; where
that is not possible the cotangent is conjugated instead, which never looks real.
"""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.elementary import divide_strong, multiply_strong
from adcompiler.runtime.facts import is_static
from adcompiler.runtime.guarded import base_bar, complex_log, exponent_bar, one_less_square, sqrt_bar
from adcompiler.runtime.shapes import conj, fit, shape

LOG_2 = float(np.log(2))
LOG_10 = float(np.log(10))


@rrule(np.emath.sqrt, result="fresh", kind="elementwise_complex")
def sqrt(x):
    """The derivative at 0 is taken as 0, as that of abs."""
    y = np.emath.sqrt(x)

    def pullback(y_bar):
        return (sqrt_bar(y_bar, conj(y)),)

    return y, pullback


@rrule(np.emath.log, result="fresh", kind="elementwise_complex")
def log(x):
    y = np.emath.log(x)

    def pullback(y_bar):
        return (divide_strong(y_bar, conj(x)),)

    return y, pullback


@rrule(np.emath.log2, result="fresh", kind="elementwise_complex")
def log2(x):
    y = np.emath.log2(x)

    def pullback(y_bar):
        return (divide_strong(y_bar, LOG_2 * conj(x)),)

    return y, pullback


@rrule(np.emath.log10, result="fresh", kind="elementwise_complex")
def log10(x):
    y = np.emath.log10(x)

    def pullback(y_bar):
        return (divide_strong(y_bar, LOG_10 * conj(x)),)

    return y, pullback


@rrule(np.emath.logn, result="fresh", kind="elementwise_complex")
def logn(n, x):
    """The logarithm of `x` to the base `n`."""
    y = np.emath.logn(n, x)
    n_shape, x_shape = shape(n), shape(x)

    def pullback(y_bar):
        scaled = divide_strong(conj(y_bar), complex_log(n))
        if is_static(n):
            n_bar = None
        else:
            n_bar = -fit(conj(divide_strong(multiply_strong(scaled, y), n)), n_shape)
        return n_bar, fit(conj(divide_strong(scaled, x)), x_shape)

    return y, pullback


@rrule(np.emath.power, result="fresh", kind="elementwise_complex")
def power(x, p):
    y = np.emath.power(x, p)
    x_shape, p_shape = shape(x), shape(p)

    def pullback(y_bar):
        if is_static(p):
            p_bar = None
        else:
            p_bar = fit(exponent_bar(y_bar, x, y), p_shape)
        return fit(base_bar(y_bar, x, p, y), x_shape), p_bar

    return y, pullback


@rrule(np.emath.arcsin, result="fresh", kind="elementwise_complex")
def arcsin(x):
    y = np.emath.arcsin(x)

    def pullback(y_bar):
        return (divide_strong(y_bar, conj(np.cos(y))),)

    return y, pullback


@rrule(np.emath.arccos, result="fresh", kind="elementwise_complex")
def arccos(x):
    y = np.emath.arccos(x)

    def pullback(y_bar):
        return (-divide_strong(y_bar, conj(np.sin(y))),)

    return y, pullback


@rrule(np.emath.arctanh, result="fresh", kind="elementwise_complex")
def arctanh(x):
    y = np.emath.arctanh(x)

    def pullback(y_bar):
        return (divide_strong(y_bar, conj(one_less_square(x))),)

    return y, pullback
