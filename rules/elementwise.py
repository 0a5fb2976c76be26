"""Rules for the arithmetic operators and for elementwise functions of two or three arguments."""

import builtins
import math
import operator

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.elementary import can_divide, divide_singular, divide_strong, is_finite, multiply_strong
from adcompiler.runtime.facts import is_static
from adcompiler.runtime.guarded import (
    base_bar,
    exponent_bar,
    length,
    log_weight,
    masked,
    masked_out,
    quietly,
    share_above,
    sign,
    sqrt_bar,
    take_share,
    times_power_of_two,
    turn_bar,
    whole_quotient,
)
from adcompiler.runtime.shapes import conj, fit, ndim, shape, zeros

# Arithmetic


@rrule(operator.add, np.add, result="fresh", kind="elementwise", linear=("a", "b"))
def add(a, b):
    y = a + b
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return fit(y_bar, a_shape), fit(y_bar, b_shape)

    return y, pullback


@rrule(operator.sub, np.subtract, result="fresh", kind="elementwise", linear=("a", "b"))
def subtract(a, b):
    y = a - b
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return fit(y_bar, a_shape), fit(-y_bar, b_shape)

    return y, pullback


@rrule(operator.mul, np.multiply, result="fresh", kind="elementwise", multilinear=("a", "b"))
def multiply(a, b):
    y = a * b
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return fit(y_bar * conj(b), a_shape), fit(y_bar * conj(a), b_shape)

    return y, pullback


@rrule(operator.truediv, np.divide, result="fresh", kind="elementwise")
def divide(a, b):
    y = a / b
    a_shape, b_shape = shape(a), shape(b)
    regular, finite = can_divide(b), is_finite(y)

    def pullback(y_bar):
        if is_static(b) and b != 0:
            a_bar = y_bar / b
        elif ndim(a) == 0 and ndim(b) == 0:
            a_bar = y_bar / conj(b) if y_bar and b else divide_strong(y_bar, conj(b))
        else:
            a_bar = y_bar / conj(b) if regular else divide_strong(y_bar, conj(b))
        if ndim(a) == 0 and ndim(b) == 0:
            b_bar = -a_bar * conj(y) if y_bar else -multiply_strong(a_bar, conj(y))
        else:
            # Where `y` is finite, `b` is not zero: what it is broadcast over is summed before the division.
            b_bar = (
                -fit(y_bar * conj(y), b_shape) / conj(b)
                if finite
                else -multiply_strong(divide_strong(y_bar, conj(b)), conj(y))
            )
        return fit(a_bar, a_shape), fit(b_bar, b_shape)

    return y, pullback


@rrule(operator.mod, np.remainder, result="fresh", kind="elementwise")
def remainder(a, b):
    y = a % b
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return fit(y_bar, a_shape), fit(-multiply_strong(y_bar, whole_quotient(a - y, b)), b_shape)

    return y, pullback


@rrule(np.fmod, result="fresh", kind="elementwise")
def fmod(a, b):
    y = np.fmod(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return fit(y_bar, a_shape), fit(-multiply_strong(y_bar, whole_quotient(a - y, b)), b_shape)

    return y, pullback


@rrule(builtins.divmod, np.divmod, result="fresh", kind="tuple")
def divmod_(a, b):
    y = divmod(a, b)
    a_shape, b_shape = shape(a), shape(b)
    whole = y[0]

    def pullback(y_bar):
        remainder_bar = y_bar[1]
        if remainder_bar is None:
            return None, None
        return fit(remainder_bar, a_shape), fit(-remainder_bar * whole, b_shape)

    return y, pullback


@rrule(operator.pow, np.power, builtins.pow, result="fresh", kind="elementwise")
def power(base, exp):
    """The derivative is mostly taken as `exp * y / base`: a power takes many times as long as a division."""
    y = base**exp
    base_shape, exp_shape = shape(base), shape(exp)
    finite, regular = is_finite(y), can_divide(y)

    def pullback(y_bar):
        if is_static(base):
            b_bar = None
        elif is_static(exp) and exp == 2:
            b_bar = fit(y_bar * conj(2 * base), base_shape)
        elif is_static(exp) and exp == 3:
            b_bar = fit(y_bar * conj(3 * base * base), base_shape)
        elif is_static(exp) and exp == 0.5 and ndim(base) > 0:
            b_bar = fit(0.5 * y_bar / conj(y) if regular else sqrt_bar(y_bar, conj(y)), base_shape)
        elif is_static(exp) and exp <= -1 and ndim(base) > 0:  # then the slope is finite where y * y is
            b_bar = fit(y_bar * conj(exp * y / base) if finite else base_bar(y_bar, base, exp, y), base_shape)
        elif is_static(exp) and isinstance(exp, int) and ndim(base) == 0:
            b_bar = y_bar * conj(exp * y / base) if y_bar and base else base_bar(y_bar, base, exp, y)
        else:
            b_bar = fit(base_bar(y_bar, base, exp, y), base_shape)
        if is_static(exp):
            e_bar = None
        elif is_static(base) and base > 0:
            e_bar = fit(y_bar * conj(y * math.log(base)) if finite else exponent_bar(y_bar, base, y), exp_shape)
        else:
            e_bar = fit(exponent_bar(y_bar, base, y), exp_shape)
        return b_bar, e_bar

    return y, pullback


@rrule(np.float_power, result="fresh", kind="elementwise")
def float_power(base, exp):
    y = np.float_power(base, exp)
    base_shape, exp_shape = shape(base), shape(exp)

    def pullback(y_bar):
        if is_static(base):
            b_bar = None
        else:
            b_bar = fit(base_bar(y_bar, base, exp, y), base_shape)
        if is_static(exp):
            e_bar = None
        else:
            e_bar = fit(exponent_bar(y_bar, base, y), exp_shape)
        return b_bar, e_bar

    return y, pullback


@rrule(operator.neg, np.negative, result="fresh", kind="elementwise", linear=("x",))
def negative(x):
    y = -x

    def pullback(y_bar):
        return (-y_bar,)

    return y, pullback


@rrule(operator.pos, np.positive, result="fresh", kind="elementwise", linear=("x",))
def positive(x):
    y = +x

    def pullback(y_bar):
        return (y_bar,)

    return y, pullback


@rrule(builtins.abs, operator.abs, np.absolute, result="fresh", kind="elementwise_real")
def absolute(x):
    y = abs(x)

    def pullback(y_bar):
        return (y_bar * sign(x),)

    return y, pullback


# Choices: a tie is shared


@rrule(np.maximum, result="fresh", kind="elementwise")
def maximum(a, b):
    y = np.maximum(a, b)
    a_shape, b_shape = shape(a), shape(b)
    a_share, b_share = share_above(a, b), share_above(b, a)

    def pullback(y_bar):
        return fit(take_share(y_bar, a_share), a_shape), fit(take_share(y_bar, b_share), b_shape)

    return y, pullback


@rrule(np.minimum, result="fresh", kind="elementwise")
def minimum(a, b):
    y = np.minimum(a, b)
    a_shape, b_shape = shape(a), shape(b)
    a_share, b_share = share_above(b, a), share_above(a, b)

    def pullback(y_bar):
        return fit(take_share(y_bar, a_share), a_shape), fit(take_share(y_bar, b_share), b_shape)

    return y, pullback


@rrule(np.fmax, result="fresh", kind="elementwise")
def fmax(a, b):
    y = np.fmax(a, b)
    a_shape, b_shape = shape(a), shape(b)
    a_share, b_share = share_above(a, np.fmax(b, -np.inf)), share_above(b, np.fmax(a, -np.inf))

    def pullback(y_bar):
        return fit(take_share(y_bar, a_share), a_shape), fit(take_share(y_bar, b_share), b_shape)

    return y, pullback


@rrule(np.fmin, result="fresh", kind="elementwise")
def fmin(a, b):
    y = np.fmin(a, b)
    a_shape, b_shape = shape(a), shape(b)
    a_share, b_share = share_above(np.fmin(b, np.inf), a), share_above(np.fmin(a, np.inf), b)

    def pullback(y_bar):
        return fit(take_share(y_bar, a_share), a_shape), fit(take_share(y_bar, b_share), b_shape)

    return y, pullback


@rrule(np.where, result="fresh", kind="where", flat=("condition",), linear=("x", "y"))
def where(condition, x, y):
    z = np.where(condition, x, y)
    x_shape, y_shape = shape(x), shape(y)

    def pullback(z_bar):
        return None, fit(masked(z_bar, condition), x_shape), fit(masked_out(z_bar, condition), y_shape)

    return z, pullback


@rrule(np.heaviside, result="fresh", kind="elementwise")
def heaviside(x, at_zero):
    y = np.heaviside(x, at_zero)
    x_shape, zero_shape = shape(x), shape(at_zero)

    def pullback(y_bar):
        return zeros(x_shape, y_bar), fit(masked(y_bar, x == 0), zero_shape)

    return y, pullback


# Functions of two arguments


@rrule(np.hypot, result="fresh", kind="elementwise")
def hypot(a, b):
    y = np.hypot(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return (
            fit(multiply_strong(divide_singular(y_bar, y), a), a_shape),
            fit(multiply_strong(divide_singular(y_bar, y), b), b_shape),
        )

    return y, pullback


@rrule(np.arctan2, result="fresh", kind="elementwise")
def arctan2(a, b):
    y = np.arctan2(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        distance = length(a, b)
        return fit(turn_bar(y_bar, b, distance), a_shape), fit(-turn_bar(y_bar, a, distance), b_shape)

    return y, pullback


@rrule(np.logaddexp, result="fresh", kind="elementwise")
def logaddexp(a, b):
    y = np.logaddexp(a, b)
    a_shape, b_shape = shape(a), shape(b)
    finite = is_finite(y)

    def pullback(y_bar):
        a_bar = y_bar / (1 + quietly(np.exp, b - a)) if finite else multiply_strong(y_bar, log_weight(a, b, np.exp))
        b_bar = y_bar / (1 + quietly(np.exp, a - b)) if finite else multiply_strong(y_bar, log_weight(b, a, np.exp))
        return fit(a_bar, a_shape), fit(b_bar, b_shape)

    return y, pullback


@rrule(np.logaddexp2, result="fresh", kind="elementwise")
def logaddexp2(a, b):
    y = np.logaddexp2(a, b)
    a_shape, b_shape = shape(a), shape(b)
    finite = is_finite(y)

    def pullback(y_bar):
        a_bar = y_bar / (1 + quietly(np.exp2, b - a)) if finite else multiply_strong(y_bar, log_weight(a, b, np.exp2))
        b_bar = y_bar / (1 + quietly(np.exp2, a - b)) if finite else multiply_strong(y_bar, log_weight(b, a, np.exp2))
        return fit(a_bar, a_shape), fit(b_bar, b_shape)

    return y, pullback


@rrule(np.copysign, result="fresh", kind="elementwise")
def copysign(a, b):
    y = np.copysign(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return fit(y_bar * (np.sign(a) * np.sign(y)), a_shape), zeros(b_shape, y_bar)

    return y, pullback


@rrule(np.ldexp, result="fresh", kind="elementwise", linear=("x",))
def ldexp(x, exponent):
    y = np.ldexp(x, exponent)
    x_shape = shape(x)

    def pullback(y_bar):
        return fit(np.ldexp(y_bar, exponent), x_shape), None

    return y, pullback


@rrule(np.nextafter, result="fresh", kind="elementwise")
def nextafter(x, towards):
    y = np.nextafter(x, towards)
    x_shape, towards_shape = shape(x), shape(towards)

    def pullback(y_bar):
        return fit(y_bar, x_shape), zeros(towards_shape, y_bar)

    return y, pullback


# Numbers in two parts, of which one is whole


@rrule(np.modf, result="fresh", kind="tuple")
def modf(x):
    y = np.modf(x)

    def pullback(y_bar):
        return (y_bar[0],)

    return y, pullback


@rrule(np.frexp, result="fresh", kind="tuple")
def frexp(x):
    y = np.frexp(x)
    exponent = y[1]

    def pullback(y_bar):
        return (times_power_of_two(y_bar[0], -exponent),)

    return y, pullback
