"""Forward rules of elementwise functions of one argument, and of limits and replacements: a table of derivatives.

A tangent of zero stays zero where the slope is infinite or not a number.
"""

import numpy as np

from adcompiler.rules.forward import frule
from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_strong
from adcompiler.runtime.errors import MutationError
from adcompiler.runtime.forward import match
from adcompiler.runtime.guarded import (
    divide_root,
    masked,
    nan_to_num_bar,
    one_less_square,
    share_high,
    share_inside,
    share_low,
    sign_bar,
    take_share,
)
from adcompiler.runtime.shapes import conj, real

LOG_2 = float(np.log(2))
LOG_10 = float(np.log(10))
DEGREE = float(np.pi / 180)

# Entire functions, or singular only where the value is too


@frule(np.exp)
def exp(tangents, x):
    y = np.exp(x)
    return y, multiply_strong(tangents[0], y)


@frule(np.exp2)
def exp2(tangents, x):
    y = np.exp2(x)
    return y, multiply_strong(tangents[0], LOG_2 * y)


@frule(np.expm1)
def expm1(tangents, x):
    y = np.expm1(x)
    return y, multiply_strong(tangents[0], y + 1)


@frule(np.sin)
def sin(tangents, x):
    y = np.sin(x)
    return y, multiply_strong(tangents[0], np.cos(x))


@frule(np.cos)
def cos(tangents, x):
    y = np.cos(x)
    return y, multiply_strong(tangents[0], -np.sin(x))


@frule(np.tan)
def tan(tangents, x):
    y = np.tan(x)
    return y, multiply_strong(tangents[0], 1 + y * y)


@frule(np.sinh)
def sinh(tangents, x):
    y = np.sinh(x)
    return y, multiply_strong(tangents[0], np.cosh(x))


@frule(np.cosh)
def cosh(tangents, x):
    y = np.cosh(x)
    return y, multiply_strong(tangents[0], np.sinh(x))


# Logarithms, with a pole


@frule(np.log)
def log(tangents, x):
    y = np.log(x)
    return y, divide_strong(tangents[0], x)


@frule(np.log2)
def log2(tangents, x):
    y = np.log2(x)
    return y, divide_strong(tangents[0], LOG_2 * x)


@frule(np.log10)
def log10(tangents, x):
    y = np.log10(x)
    return y, divide_strong(tangents[0], LOG_10 * x)


@frule(np.log1p)
def log1p(tangents, x):
    y = np.log1p(x)
    return y, divide_strong(tangents[0], 1 + x)


@frule(np.arctanh)
def arctanh(tangents, x):
    y = np.arctanh(x)
    return y, divide_strong(tangents[0], one_less_square(x))


@frule(np.reciprocal)
def reciprocal(tangents, x):
    y = np.reciprocal(x)
    return y, -multiply_strong(multiply_strong(tangents[0], y), y)


# Roots and the like: the value is finite where the derivative is not


@frule(np.sqrt)
def sqrt(tangents, x):
    """The derivative at 0 is taken as 0, as that of abs."""
    y = np.sqrt(x)
    return y, divide_singular(0.5 * tangents[0], y)


@frule(np.cbrt)
def cbrt(tangents, x):
    y = np.cbrt(x)
    return y, divide_strong(tangents[0], 3 * y * y)


@frule(np.arcsin)
def arcsin(tangents, x):
    y = np.arcsin(x)
    return y, divide_root(tangents[0], one_less_square(x))


@frule(np.arccos)
def arccos(tangents, x):
    y = np.arccos(x)
    return y, -divide_root(tangents[0], one_less_square(x))


@frule(np.arccosh)
def arccosh(tangents, x):
    """Two roots, because the cut of the function is along x < 1 (DLMF 4.38.10)."""
    y = np.arccosh(x)
    return y, divide_root(divide_root(tangents[0], x - 1), x + 1)


# Complex numbers


@frule(np.sign)
def sign(tangents, x):
    """The part of the tangent across the direction of `x`, over its length."""
    y = np.sign(x)
    return y, match(sign_bar(tangents[0], x, y), y)


@frule(np.angle)
def angle(tangents, z, deg=False):
    y = np.angle(z, deg)
    turn = divide_singular(np.imag(conj(z) * tangents[0]), real(conj(z) * z))
    if deg:
        y_dot = turn / DEGREE
    else:
        y_dot = turn
    return y, y_dot


@frule(np.real_if_close)
def real_if_close(tangents, a, tol=100):
    y = np.real_if_close(a, tol)
    if np.isrealobj(y):
        y_dot = real(tangents[0])
    else:
        y_dot = tangents[0]
    return y, y_dot


# Limits and replacements


@frule(np.clip)
def clip(tangents, a, a_min=None, a_max=None, *, min=None, max=None):
    """An end may be given under either of its two names; at an end the array and the end share."""
    if min is None:
        low, low_dot = a_min, tangents[1]
    else:
        low, low_dot = min, tangents[3]
    if max is None:
        high, high_dot = a_max, tangents[2]
    else:
        high, high_dot = max, tangents[4]
    y = np.clip(a, low, high)
    y_dot = 0.0
    if tangents[0] is not None:
        y_dot = take_share(tangents[0], share_inside(a, low, high))
    if low_dot is not None:
        y_dot = y_dot + take_share(low_dot, share_low(a, low, high))
    if high_dot is not None:
        y_dot = y_dot + take_share(high_dot, share_high(a, low, high))
    return y, match(y_dot, y)


@frule(np.ndarray.clip)
def clip_method(tangents, a, min=None, max=None):
    y = a.clip(min, max)
    y_dot = 0.0
    if tangents[0] is not None:
        y_dot = take_share(tangents[0], share_inside(a, min, max))
    if tangents[1] is not None:
        y_dot = y_dot + take_share(tangents[1], share_low(a, min, max))
    if tangents[2] is not None:
        y_dot = y_dot + take_share(tangents[2], share_high(a, min, max))
    return y, match(y_dot, y)


def filler_dot(dot, x, replaced):
    """The tangent where a number fills in for the entries of `x`, or of its parts, that are `replaced`."""
    if np.iscomplexobj(x):
        return masked(dot, replaced(np.real(x))) + 1j * masked(dot, replaced(np.imag(x)))
    return masked(dot, replaced(x))


@frule(np.nan_to_num)
def nan_to_num(tangents, x, *, nan=0.0, posinf=None, neginf=None):
    y = np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    y_dot = 0.0
    if tangents[0] is not None:
        y_dot = nan_to_num_bar(tangents[0], x)
    if tangents[1] is not None:
        y_dot = y_dot + filler_dot(tangents[1], x, np.isnan)
    if tangents[2] is not None:
        y_dot = y_dot + filler_dot(tangents[2], x, np.isposinf)
    if tangents[3] is not None:
        y_dot = y_dot + filler_dot(tangents[3], x, np.isneginf)
    return y, match(y_dot, y)


@frule(np.nan_to_num)
def nan_to_num_general(tangents, x, copy=True, nan=0.0, posinf=None, neginf=None):
    """The replacements by position, and a copy that is asked for; without one the array is written into."""
    if not copy:
        raise MutationError("nan_to_num(x, copy=False) writes into x\nLeave copy out, and use the result.")
    return nan_to_num((tangents[0], *tangents[2:]), x, nan=nan, posinf=posinf, neginf=neginf)
