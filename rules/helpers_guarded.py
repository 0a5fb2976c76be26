"""Rules for the guarded products, quotients and powers of pullbacks: one that is 0 by convention is 0 at each order.

A cotangent `c` that is zero beats a partial that is infinite or nan, at each order: the derivative with respect to the
partial is a product with `c`, with respect to `c` one with the partial, both guarded.
"""

import math

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_both, multiply_strong
from adcompiler.runtime.guarded import (
    _quiet,
    base_bar,
    divide_root,
    exponent_bar,
    integer_power,
    length,
    log_weight,
    masked,
    masked_out,
    nan_to_num_bar,
    one_less_square,
    sign,
    sign_bar,
    sqrt_bar,
    take_share,
    times_power_of_two,
)
from adcompiler.runtime.shapes import conj, fit, shape

LOG_2 = math.log(2.0)

# Products and quotients


@rrule(multiply_strong, result="fresh", kind="elementwise")
def multiply_strong_(c, partial):
    y = multiply_strong(c, partial)
    c_shape, partial_shape = shape(c), shape(partial)

    def pullback(y_bar):
        return (
            fit(multiply_both(y_bar, conj(partial)), c_shape),
            fit(multiply_both(conj(c), y_bar), partial_shape),
        )

    return y, pullback


@rrule(multiply_both, result="fresh", kind="elementwise")
def multiply_both_(a, b):
    y = multiply_both(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return fit(multiply_both(y_bar, conj(b)), a_shape), fit(multiply_both(y_bar, conj(a)), b_shape)

    return y, pullback


@rrule(divide_strong, result="fresh", kind="elementwise")
def divide_strong_(c, x):
    y = divide_strong(c, x)
    c_shape, x_shape = shape(c), shape(x)

    def pullback(y_bar):
        return (
            fit(divide_strong(y_bar, conj(x)), c_shape),
            fit(-multiply_both(conj(y), divide_strong(y_bar, conj(x))), x_shape),
        )

    return y, pullback


@rrule(divide_singular, result="fresh", kind="elementwise")
def divide_singular_(c, y):
    quotient = divide_singular(c, y)
    c_shape, y_shape = shape(c), shape(y)

    def pullback(bar):
        return (
            fit(divide_singular(bar, conj(y)), c_shape),
            fit(-multiply_both(divide_singular(bar, conj(y)), conj(quotient)), y_shape),
        )

    return quotient, pullback


@rrule(divide_root, result="fresh", kind="elementwise")
def divide_root_(c, s):
    y = divide_root(c, s)
    c_shape, s_shape = shape(c), shape(s)

    def pullback(y_bar):
        return (
            fit(divide_root(y_bar, conj(s)), c_shape),
            fit(-0.5 * multiply_both(conj(y), divide_strong(y_bar, conj(s))), s_shape),
        )

    return y, pullback


@rrule(sqrt_bar, result="fresh", kind="elementwise")
def sqrt_bar_(c, y):
    x_bar = sqrt_bar(c, y)
    c_shape, y_shape = shape(c), shape(y)

    def pullback(bar):
        return (
            fit(sqrt_bar(bar, conj(y)), c_shape),
            fit(-multiply_both(divide_singular(bar, conj(y)), conj(x_bar)), y_shape),
        )

    return x_bar, pullback


@rrule(one_less_square, result="fresh", kind="elementwise")
def one_less_square_(x):
    y = one_less_square(x)

    def pullback(y_bar):
        return (y_bar * conj(-2 * x),)

    return y, pullback


# Signs and lengths


@rrule(sign, result="fresh", kind="elementwise")
def sign_(x):
    y = sign(x)

    def pullback(y_bar):
        return (sign_bar(y_bar, x, y),)

    return y, pullback


@rrule(length, result="fresh", kind="elementwise")
def length_(a, b):
    y = length(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return (
            fit(multiply_both(divide_singular(y_bar, y), a), a_shape),
            fit(multiply_both(divide_singular(y_bar, y), b), b_shape),
        )

    return y, pullback


# Shares


@rrule(log_weight, result="fresh", kind="elementwise", flat=("exp",))
def log_weight_(a, b, exp):
    share = log_weight(a, b, exp)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        slope = share * (1 - share) * (LOG_2 if exp is np.exp2 else 1.0)
        moved = y_bar * conj(slope)
        return fit(moved, a_shape), fit(-moved, b_shape), None

    return share, pullback


# Choices


@rrule(masked, result="fresh", flat=("mask",), linear=("c",))
def masked_(c, mask):
    y = masked(c, mask)
    c_shape = shape(c)

    def pullback(y_bar):
        return fit(masked(y_bar, mask), c_shape), None

    return y, pullback


@rrule(masked_out, result="fresh", flat=("mask",), linear=("c",))
def masked_out_(c, mask):
    y = masked_out(c, mask)
    c_shape = shape(c)

    def pullback(y_bar):
        return fit(masked_out(y_bar, mask), c_shape), None

    return y, pullback


@rrule(take_share, result="fresh", flat=("share",), linear=("c",))
def take_share_(c, share):
    y = take_share(c, share)
    c_shape = shape(c)

    def pullback(y_bar):
        return fit(take_share(y_bar, share), c_shape), None

    return y, pullback


@rrule(nan_to_num_bar, result="fresh", flat=("x",))
def nan_to_num_bar_(c, x):
    y = nan_to_num_bar(c, x)

    def pullback(y_bar):
        return nan_to_num_bar(y_bar, x), None

    return y, pullback


# Powers


@rrule(integer_power, result="same")
def integer_power_(x, n):
    y = integer_power(x, n)

    def pullback(y_bar):
        return (y_bar * conj(n * integer_power(x, n - 1)) if n else 0 * y_bar), None

    return y, pullback


@rrule(base_bar, result="fresh", kind="elementwise", flat=("y",))
def base_bar_(c, base, exp, y):
    """As a function of `c`, `base` and `exp`, of which `y` is the power: `c * conj(exp * base ** (exp - 1))`."""
    x_bar = base_bar(c, base, exp, y)
    c_shape, base_shape, exp_shape = shape(c), shape(base), shape(exp)

    def pullback(bar):
        slopes = both_slopes(bar, c, base, exp)
        return (
            fit(base_bar(bar, conj(base), conj(exp), conj(y)), c_shape),
            fit(slopes[0], base_shape),
            fit(slopes[1], exp_shape),
            None,
        )

    return x_bar, pullback


def both_slopes(bar, c, base, exp):
    """The cotangents of `base` and `exp` for `base_bar`."""
    with _quiet():
        less = exp - 1
        power = np.power(base, 1.0 * less)
        weight = multiply_both(conj(bar), c)
        scaled = weight * conj(exp)
        exp_bar = multiply_both(weight, conj(power)) + exponent_bar(scaled, base, power)
        return base_bar(scaled, base, less, power), exp_bar


@rrule(exponent_bar, result="fresh", kind="elementwise")
def exponent_bar_(c, base, y):
    """`c * conj(y * log(base))`, and 0 where the base has no logarithm."""
    exp_bar = exponent_bar(c, base, y)
    c_shape, base_shape, y_shape = shape(c), shape(base), shape(y)

    def pullback(bar):
        weight = multiply_both(conj(bar), c)
        return (
            fit(exponent_bar(bar, conj(base), conj(y)), c_shape),
            fit(logarithm_bar(weight * conj(y), base, y), base_shape),
            fit(exponent_bar(weight, base, np.ones_like(y)[()]), y_shape),
        )

    return exp_bar, pullback


def logarithm_bar(c, base, y):
    """`c / conj(base)` where `exponent_bar` takes a logarithm, and 0 elsewhere."""
    whole = np.iscomplexobj(base) or np.iscomplexobj(y)
    regular = np.not_equal(base, 0) if whole else np.greater(base, 0)
    return masked(c, regular) / conj(np.where(regular, base, 1.0)[()])


@rrule(times_power_of_two, result="fresh", flat=("exponent",))
def times_power_of_two_(c, exponent):
    y = times_power_of_two(c, exponent)
    c_shape = shape(c)

    def pullback(y_bar):
        return fit(times_power_of_two(y_bar, exponent), c_shape), None

    return y, pullback
