"""Forward rules of `numpy.emath`, whose functions turn complex where the real ones have no value."""

import numpy as np

from adcompiler.rules.forward import frule
from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_strong
from adcompiler.runtime.guarded import base_bar, complex_log, exponent_bar, one_less_square
from adcompiler.runtime.shapes import conj

LOG_2 = float(np.log(2))
LOG_10 = float(np.log(10))


@frule(np.emath.sqrt)
def sqrt(tangents, x):
    """The derivative at 0 is taken as 0, as that of abs."""
    y = np.emath.sqrt(x)
    return y, divide_singular(0.5 * tangents[0], y)


@frule(np.emath.log)
def log(tangents, x):
    y = np.emath.log(x)
    return y, divide_strong(tangents[0], x)


@frule(np.emath.log2)
def log2(tangents, x):
    y = np.emath.log2(x)
    return y, divide_strong(tangents[0], LOG_2 * x)


@frule(np.emath.log10)
def log10(tangents, x):
    y = np.emath.log10(x)
    return y, divide_strong(tangents[0], LOG_10 * x)


@frule(np.emath.logn)
def logn(tangents, n, x):
    """The logarithm of `x` to the base `n`."""
    y = np.emath.logn(n, x)
    if tangents[0] is None:
        y_dot = divide_strong(divide_strong(tangents[1], complex_log(n)), x)
    elif tangents[1] is None:
        y_dot = -divide_strong(multiply_strong(divide_strong(tangents[0], complex_log(n)), y), n)
    else:
        y_dot = divide_strong(divide_strong(tangents[1], complex_log(n)), x) - divide_strong(
            multiply_strong(divide_strong(tangents[0], complex_log(n)), y), n
        )
    return y, y_dot


@frule(np.emath.power)
def power(tangents, x, p):
    y = np.emath.power(x, p)
    if tangents[1] is None:
        y_dot = conj(base_bar(conj(tangents[0]), x, p, y))
    elif tangents[0] is None:
        y_dot = conj(exponent_bar(conj(tangents[1]), x, y))
    else:
        y_dot = conj(base_bar(conj(tangents[0]), x, p, y)) + conj(exponent_bar(conj(tangents[1]), x, y))
    return y, y_dot


@frule(np.emath.arcsin)
def arcsin(tangents, x):
    y = np.emath.arcsin(x)
    return y, divide_strong(tangents[0], np.cos(y))


@frule(np.emath.arccos)
def arccos(tangents, x):
    y = np.emath.arccos(x)
    return y, -divide_strong(tangents[0], np.sin(y))


@frule(np.emath.arctanh)
def arctanh(tangents, x):
    y = np.emath.arctanh(x)
    return y, divide_strong(tangents[0], one_less_square(x))
