"""Rules for functions of one argument whose derivative can be infinite, or not a number, somewhere.

There a cotangent of zero stays zero, so `np.where(x < 1, np.exp(x), 0.0)` has gradient 0 where `exp(x)` overflows. The
derivative is finite where the value is, unless a rule says otherwise; so the forward asks `is_finite` of the value,
once and while it is in the cache. Of a scalar less is asked: only a cotangent that is zero takes the guarded form.
"""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.elementary import can_divide, divide_strong, is_finite, multiply_strong
from adcompiler.runtime.guarded import divide_root, one_less_square, quietly, sqrt_bar
from adcompiler.runtime.shapes import conj, ndim

LOG_2 = float(np.log(2))
LOG_10 = float(np.log(10))

# Entire functions, or singular only where the value is too


@rrule(np.exp, result="fresh", kind="elementwise")
def exp(x):
    y = np.exp(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = y_bar * conj(y) if y_bar else multiply_strong(y_bar, conj(y))
        else:
            x_bar = y_bar * conj(y) if finite else multiply_strong(y_bar, conj(y))
        return (x_bar,)

    return y, pullback


@rrule(np.exp2, result="fresh", kind="elementwise")
def exp2(x):
    y = np.exp2(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = y_bar * conj(LOG_2 * y) if y_bar else multiply_strong(y_bar, conj(LOG_2 * y))
        else:
            x_bar = y_bar * conj(LOG_2 * y) if finite else multiply_strong(y_bar, conj(LOG_2 * y))
        return (x_bar,)

    return y, pullback


@rrule(np.expm1, result="fresh", kind="elementwise")
def expm1(x):
    y = np.expm1(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = y_bar * conj(y + 1) if y_bar else multiply_strong(y_bar, conj(y + 1))
        else:
            x_bar = y_bar * conj(y + 1) if finite else multiply_strong(y_bar, conj(y + 1))
        return (x_bar,)

    return y, pullback


@rrule(np.sin, result="fresh", kind="elementwise")
def sin(x):
    y = np.sin(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = y_bar * conj(np.cos(x)) if y_bar else multiply_strong(y_bar, conj(quietly(np.cos, x)))
        else:
            x_bar = y_bar * conj(np.cos(x)) if finite else multiply_strong(y_bar, conj(quietly(np.cos, x)))
        return (x_bar,)

    return y, pullback


@rrule(np.cos, result="fresh", kind="elementwise")
def cos(x):
    y = np.cos(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = y_bar * conj(-np.sin(x)) if y_bar else multiply_strong(y_bar, conj(-quietly(np.sin, x)))
        else:
            x_bar = y_bar * conj(-np.sin(x)) if finite else multiply_strong(y_bar, conj(-quietly(np.sin, x)))
        return (x_bar,)

    return y, pullback


@rrule(np.tan, result="fresh", kind="elementwise")
def tan(x):
    y = np.tan(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = y_bar * conj(1 + y * y) if y_bar else multiply_strong(y_bar, conj(1 + y * y))
        else:
            x_bar = y_bar * conj(1 + y * y) if finite else multiply_strong(y_bar, conj(1 + y * y))
        return (x_bar,)

    return y, pullback


@rrule(np.sinh, result="fresh", kind="elementwise")
def sinh(x):
    y = np.sinh(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = y_bar * conj(np.cosh(x)) if y_bar else multiply_strong(y_bar, conj(quietly(np.cosh, x)))
        else:
            x_bar = y_bar * conj(np.cosh(x)) if finite else multiply_strong(y_bar, conj(quietly(np.cosh, x)))
        return (x_bar,)

    return y, pullback


@rrule(np.cosh, result="fresh", kind="elementwise")
def cosh(x):
    y = np.cosh(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = y_bar * conj(np.sinh(x)) if y_bar else multiply_strong(y_bar, conj(quietly(np.sinh, x)))
        else:
            x_bar = y_bar * conj(np.sinh(x)) if finite else multiply_strong(y_bar, conj(quietly(np.sinh, x)))
        return (x_bar,)

    return y, pullback


# Logarithms, with a pole


@rrule(np.log, result="fresh", kind="elementwise")
def log(x):
    y = np.log(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = y_bar / conj(x) if y_bar and x else divide_strong(y_bar, conj(x))
        else:
            x_bar = y_bar / conj(x) if finite else divide_strong(y_bar, conj(x))
        return (x_bar,)

    return y, pullback


@rrule(np.log2, result="fresh", kind="elementwise")
def log2(x):
    y = np.log2(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = y_bar / (LOG_2 * conj(x)) if y_bar and x else divide_strong(y_bar, LOG_2 * conj(x))
        else:
            x_bar = y_bar / (LOG_2 * conj(x)) if finite else divide_strong(y_bar, LOG_2 * conj(x))
        return (x_bar,)

    return y, pullback


@rrule(np.log10, result="fresh", kind="elementwise")
def log10(x):
    y = np.log10(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = y_bar / (LOG_10 * conj(x)) if y_bar and x else divide_strong(y_bar, LOG_10 * conj(x))
        else:
            x_bar = y_bar / (LOG_10 * conj(x)) if finite else divide_strong(y_bar, LOG_10 * conj(x))
        return (x_bar,)

    return y, pullback


@rrule(np.log1p, result="fresh", kind="elementwise")
def log1p(x):
    y = np.log1p(x)
    finite = is_finite(y)

    def pullback(y_bar):
        shifted = conj(1 + x)
        if ndim(x) == 0:
            x_bar = y_bar / shifted if y_bar and shifted else divide_strong(y_bar, shifted)
        else:
            x_bar = y_bar / shifted if finite else divide_strong(y_bar, shifted)
        return (x_bar,)

    return y, pullback


@rrule(np.arctanh, result="fresh", kind="elementwise")
def arctanh(x):
    y = np.arctanh(x)
    finite = is_finite(y)

    def pullback(y_bar):
        square = conj(one_less_square(x))
        if ndim(x) == 0:
            x_bar = y_bar / square if y_bar and square else divide_strong(y_bar, square)
        else:
            x_bar = y_bar / square if finite else divide_strong(y_bar, square)
        return (x_bar,)

    return y, pullback


@rrule(np.reciprocal, result="fresh", kind="elementwise")
def reciprocal(x):
    y = np.reciprocal(x)
    finite = is_finite(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = -y_bar * conj(y * y) if y_bar else -multiply_strong(multiply_strong(y_bar, conj(y)), conj(y))
        else:
            x_bar = -y_bar * conj(y * y) if finite else -multiply_strong(multiply_strong(y_bar, conj(y)), conj(y))
        return (x_bar,)

    return y, pullback


# Roots and the like: the value is finite where the derivative is not


@rrule(np.sqrt, result="fresh", kind="elementwise")
def sqrt(x):
    """The derivative at 0 is taken as 0, as that of abs."""
    y = np.sqrt(x)
    regular = can_divide(y)

    def pullback(y_bar):
        if ndim(x) == 0:
            x_bar = 0.5 * y_bar / conj(y) if y_bar and y else sqrt_bar(y_bar, conj(y))
        else:
            x_bar = 0.5 * y_bar / conj(y) if regular else sqrt_bar(y_bar, conj(y))
        return (x_bar,)

    return y, pullback


@rrule(np.cbrt, result="fresh", kind="elementwise")
def cbrt(x):
    y = np.cbrt(x)

    def pullback(y_bar):
        return (divide_strong(y_bar, 3 * y * y),)

    return y, pullback


@rrule(np.arcsin, result="fresh", kind="elementwise")
def arcsin(x):
    y = np.arcsin(x)

    def pullback(y_bar):
        return (divide_root(y_bar, conj(one_less_square(x))),)

    return y, pullback


@rrule(np.arccos, result="fresh", kind="elementwise")
def arccos(x):
    y = np.arccos(x)

    def pullback(y_bar):
        return (-divide_root(y_bar, conj(one_less_square(x))),)

    return y, pullback


@rrule(np.arccosh, result="fresh", kind="elementwise")
def arccosh(x):
    """Two roots, because the cut of the function is along x < 1 (DLMF 4.38.10)."""
    y = np.arccosh(x)

    def pullback(y_bar):
        return (divide_root(divide_root(y_bar, conj(x - 1)), conj(x + 1)),)

    return y, pullback
