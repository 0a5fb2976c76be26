"""Forward rules of the guarded products, quotients and powers of pullbacks and of other forward rules.

So that tangents of tangents are plain text too. What is 0 by convention is 0 at each order, as in `helpers_guarded`.
"""

import numpy as np

from adcompiler.rules.forward import frule
from adcompiler.rules.helpers_guarded import LOG_2
from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_both, multiply_strong
from adcompiler.runtime.guarded import (
    divide_root,
    integer_power,
    length,
    log_weight,
    one_less_square,
    sqrt_bar,
)

# Products and quotients


@frule(multiply_strong)
def multiply_strong_(tangents, c, partial):
    y = multiply_strong(c, partial)
    if tangents[1] is None:
        y_dot = multiply_strong(tangents[0], partial)
    elif tangents[0] is None:
        y_dot = multiply_both(c, tangents[1])
    else:
        y_dot = multiply_strong(tangents[0], partial) + multiply_both(c, tangents[1])
    return y, y_dot


@frule(multiply_both)
def multiply_both_(tangents, a, b):
    y = multiply_both(a, b)
    if tangents[1] is None:
        y_dot = multiply_both(tangents[0], b)
    elif tangents[0] is None:
        y_dot = multiply_both(a, tangents[1])
    else:
        y_dot = multiply_both(tangents[0], b) + multiply_both(a, tangents[1])
    return y, y_dot


@frule(divide_strong)
def divide_strong_(tangents, c, x):
    y = divide_strong(c, x)
    if tangents[1] is None:
        y_dot = divide_strong(tangents[0], x)
    elif tangents[0] is None:
        y_dot = -divide_strong(multiply_both(y, tangents[1]), x)
    else:
        y_dot = divide_strong(tangents[0], x) - divide_strong(multiply_both(y, tangents[1]), x)
    return y, y_dot


@frule(divide_singular)
def divide_singular_(tangents, c, y):
    quotient = divide_singular(c, y)
    if tangents[1] is None:
        quotient_dot = divide_singular(tangents[0], y)
    elif tangents[0] is None:
        quotient_dot = -divide_singular(multiply_both(quotient, tangents[1]), y)
    else:
        quotient_dot = divide_singular(tangents[0], y) - divide_singular(multiply_both(quotient, tangents[1]), y)
    return quotient, quotient_dot


@frule(divide_root)
def divide_root_(tangents, c, s):
    y = divide_root(c, s)
    if tangents[1] is None:
        y_dot = divide_root(tangents[0], s)
    elif tangents[0] is None:
        y_dot = -0.5 * divide_strong(multiply_both(y, tangents[1]), s)
    else:
        y_dot = divide_root(tangents[0], s) - 0.5 * divide_strong(multiply_both(y, tangents[1]), s)
    return y, y_dot


@frule(sqrt_bar)
def sqrt_bar_(tangents, c, y):
    x_bar = sqrt_bar(c, y)
    if tangents[1] is None:
        x_bar_dot = sqrt_bar(tangents[0], y)
    elif tangents[0] is None:
        x_bar_dot = -divide_singular(multiply_both(x_bar, tangents[1]), y)
    else:
        x_bar_dot = sqrt_bar(tangents[0], y) - divide_singular(multiply_both(x_bar, tangents[1]), y)
    return x_bar, x_bar_dot


# Powers, lengths and shares


@frule(one_less_square)
def one_less_square_(tangents, x):
    y = one_less_square(x)
    return y, -2 * x * tangents[0]


@frule(integer_power)
def integer_power_(tangents, x, n):
    y = integer_power(x, n)
    return y, n * integer_power(x, n - 1) * tangents[0] if n else 0 * tangents[0]


@frule(length)
def length_(tangents, a, b):
    y = length(a, b)
    if tangents[1] is None:
        y_dot = divide_singular(multiply_both(a, tangents[0]), y)
    elif tangents[0] is None:
        y_dot = divide_singular(multiply_both(b, tangents[1]), y)
    else:
        y_dot = divide_singular(multiply_both(a, tangents[0]) + multiply_both(b, tangents[1]), y)
    return y, y_dot


@frule(log_weight)
def log_weight_(tangents, a, b, exp):
    share = log_weight(a, b, exp)
    slope = share * (1 - share) * (LOG_2 if exp is np.exp2 else 1.0)
    if tangents[1] is None:
        share_dot = tangents[0] * slope
    elif tangents[0] is None:
        share_dot = -tangents[1] * slope
    else:
        share_dot = (tangents[0] - tangents[1]) * slope
    return share, share_dot
