"""Forward rules of the arithmetic operators and of elementwise functions of two arguments.

The tangent has the shape of the value, also where only a smaller operand has one. A tangent of zero stays zero where
the slope is infinite, and a tie is shared, as in the reverse rules.
"""

import builtins
import operator

import numpy as np

from adcompiler.rules.forward import frule
from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_strong
from adcompiler.runtime.facts import is_static
from adcompiler.runtime.forward import match
from adcompiler.runtime.guarded import (
    base_bar,
    exponent_bar,
    length,
    log_weight,
    masked,
    share_above,
    sign,
    take_share,
    times_power_of_two,
    turn_bar,
    whole_quotient,
)
from adcompiler.runtime.shapes import conj, real

# Arithmetic


@frule(operator.truediv, np.divide)
def divide(tangents, a, b):
    y = a / b
    if tangents[1] is None:
        y_dot = divide_strong(tangents[0], b)
    elif tangents[0] is None:
        y_dot = -multiply_strong(divide_strong(tangents[1], b), y)
    else:
        y_dot = divide_strong(tangents[0] - multiply_strong(tangents[1], y), b)
    return y, y_dot


@frule(operator.mod, np.remainder)
def remainder(tangents, a, b):
    y = a % b
    if tangents[1] is None:
        y_dot = match(tangents[0], y)
    elif tangents[0] is None:
        y_dot = -multiply_strong(tangents[1], whole_quotient(a - y, b))
    else:
        y_dot = tangents[0] - multiply_strong(tangents[1], whole_quotient(a - y, b))
    return y, y_dot


@frule(np.fmod)
def fmod(tangents, a, b):
    y = np.fmod(a, b)
    if tangents[1] is None:
        y_dot = match(tangents[0], y)
    elif tangents[0] is None:
        y_dot = -multiply_strong(tangents[1], whole_quotient(a - y, b))
    else:
        y_dot = tangents[0] - multiply_strong(tangents[1], whole_quotient(a - y, b))
    return y, y_dot


@frule(builtins.divmod, np.divmod)
def divmod_(tangents, a, b):
    y = divmod(a, b)
    if tangents[1] is None:
        remainder_dot = match(tangents[0], y[1])
    elif tangents[0] is None:
        remainder_dot = -tangents[1] * y[0]
    else:
        remainder_dot = tangents[0] - tangents[1] * y[0]
    return y, (None, remainder_dot)


@frule(operator.pow, np.power, builtins.pow)
def power(tangents, base, exp):
    y = base**exp
    if tangents[1] is not None and tangents[0] is not None:
        y_dot = conj(base_bar(conj(tangents[0]), base, exp, y)) + conj(exponent_bar(conj(tangents[1]), base, y))
    elif tangents[0] is None:
        y_dot = conj(exponent_bar(conj(tangents[1]), base, y))
    elif is_static(exp) and exp == 2:
        y_dot = 2 * base * tangents[0]
    elif is_static(exp) and exp == 3:
        y_dot = 3 * base * base * tangents[0]
    elif is_static(exp) and 1 <= exp <= 16:
        y_dot = exp * base ** (exp - 1) * tangents[0]
    else:
        y_dot = conj(base_bar(conj(tangents[0]), base, exp, y))
    return y, y_dot


@frule(np.float_power)
def float_power(tangents, base, exp):
    y = np.float_power(base, exp)
    if tangents[1] is None:
        y_dot = conj(base_bar(conj(tangents[0]), base, exp, y))
    elif tangents[0] is None:
        y_dot = conj(exponent_bar(conj(tangents[1]), base, y))
    else:
        y_dot = conj(base_bar(conj(tangents[0]), base, exp, y)) + conj(exponent_bar(conj(tangents[1]), base, y))
    return y, y_dot


@frule(builtins.abs, operator.abs, np.absolute)
def absolute(tangents, x):
    y = abs(x)
    return y, real(conj(sign(x)) * tangents[0])


# Choices


@frule(np.maximum)
def maximum(tangents, a, b):
    y = np.maximum(a, b)
    if tangents[1] is None:
        y_dot = take_share(tangents[0], share_above(a, b))
    elif tangents[0] is None:
        y_dot = take_share(tangents[1], share_above(b, a))
    else:
        y_dot = take_share(tangents[0], share_above(a, b)) + take_share(tangents[1], share_above(b, a))
    return y, match(y_dot, y)


@frule(np.minimum)
def minimum(tangents, a, b):
    y = np.minimum(a, b)
    if tangents[1] is None:
        y_dot = take_share(tangents[0], share_above(b, a))
    elif tangents[0] is None:
        y_dot = take_share(tangents[1], share_above(a, b))
    else:
        y_dot = take_share(tangents[0], share_above(b, a)) + take_share(tangents[1], share_above(a, b))
    return y, match(y_dot, y)


@frule(np.fmax)
def fmax(tangents, a, b):
    y = np.fmax(a, b)
    a_share, b_share = share_above(a, np.fmax(b, -np.inf)), share_above(b, np.fmax(a, -np.inf))
    if tangents[1] is None:
        y_dot = take_share(tangents[0], a_share)
    elif tangents[0] is None:
        y_dot = take_share(tangents[1], b_share)
    else:
        y_dot = take_share(tangents[0], a_share) + take_share(tangents[1], b_share)
    return y, match(y_dot, y)


@frule(np.fmin)
def fmin(tangents, a, b):
    y = np.fmin(a, b)
    a_share, b_share = share_above(np.fmin(b, np.inf), a), share_above(np.fmin(a, np.inf), b)
    if tangents[1] is None:
        y_dot = take_share(tangents[0], a_share)
    elif tangents[0] is None:
        y_dot = take_share(tangents[1], b_share)
    else:
        y_dot = take_share(tangents[0], a_share) + take_share(tangents[1], b_share)
    return y, match(y_dot, y)


@frule(np.heaviside)
def heaviside(tangents, x, at_zero):
    y = np.heaviside(x, at_zero)
    if tangents[1] is None:
        y_dot = 0.0 * tangents[0]
    else:
        y_dot = masked(tangents[1], np.equal(x, 0))
    return y, match(y_dot, y)


# Functions of two arguments


@frule(np.hypot)
def hypot(tangents, a, b):
    y = np.hypot(a, b)
    if tangents[1] is None:
        y_dot = multiply_strong(divide_singular(tangents[0], y), a)
    elif tangents[0] is None:
        y_dot = multiply_strong(divide_singular(tangents[1], y), b)
    else:
        y_dot = multiply_strong(divide_singular(tangents[0], y), a) + multiply_strong(
            divide_singular(tangents[1], y), b
        )
    return y, y_dot


@frule(np.arctan2)
def arctan2(tangents, a, b):
    y = np.arctan2(a, b)
    if tangents[1] is None:
        y_dot = turn_bar(tangents[0], b, length(a, b))
    elif tangents[0] is None:
        y_dot = -turn_bar(tangents[1], a, length(a, b))
    else:
        y_dot = turn_bar(tangents[0], b, length(a, b)) - turn_bar(tangents[1], a, length(a, b))
    return y, y_dot


@frule(np.logaddexp)
def logaddexp(tangents, a, b):
    y = np.logaddexp(a, b)
    if tangents[1] is None:
        y_dot = multiply_strong(tangents[0], log_weight(a, b, np.exp))
    elif tangents[0] is None:
        y_dot = multiply_strong(tangents[1], log_weight(b, a, np.exp))
    else:
        y_dot = multiply_strong(tangents[0], log_weight(a, b, np.exp)) + multiply_strong(
            tangents[1], log_weight(b, a, np.exp)
        )
    return y, y_dot


@frule(np.logaddexp2)
def logaddexp2(tangents, a, b):
    y = np.logaddexp2(a, b)
    if tangents[1] is None:
        y_dot = multiply_strong(tangents[0], log_weight(a, b, np.exp2))
    elif tangents[0] is None:
        y_dot = multiply_strong(tangents[1], log_weight(b, a, np.exp2))
    else:
        y_dot = multiply_strong(tangents[0], log_weight(a, b, np.exp2)) + multiply_strong(
            tangents[1], log_weight(b, a, np.exp2)
        )
    return y, y_dot


@frule(np.copysign)
def copysign(tangents, a, b):
    y = np.copysign(a, b)
    if tangents[0] is None:
        y_dot = match(0.0 * tangents[1], y)
    else:
        y_dot = tangents[0] * (np.sign(a) * np.sign(y))
    return y, match(y_dot, y)


@frule(np.nextafter)
def nextafter(tangents, x, towards):
    y = np.nextafter(x, towards)
    if tangents[0] is None:
        y_dot = match(0.0 * tangents[1], y)
    else:
        y_dot = match(tangents[0], y)
    return y, y_dot


# Numbers in two parts, of which one is whole


@frule(np.modf)
def modf(tangents, x):
    y = np.modf(x)
    return y, (tangents[0], None)


@frule(np.frexp)
def frexp(tangents, x):
    y = np.frexp(x)
    return y, (times_power_of_two(tangents[0], -y[1]), None)
