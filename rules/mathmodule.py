"""Rules for the `math` module, whose results are always Python floats."""

import math

from adcompiler.rules.registry import non_differentiable, rrule, scalar_rule
from adcompiler.runtime.elementary import divide_strong
from adcompiler.runtime.facts import is_static
from adcompiler.runtime.guarded import base_bar, exponent_bar, sign, times_power_of_two, turn_bar
from adcompiler.runtime.sequences import (
    differences,
    entry_shapes,
    multiples,
    others_product,
    scaled,
    spread,
    start_bar,
)
from adcompiler.runtime.special import digamma

LOG_2 = math.log(2)
LOG_10 = math.log(10)
DEGREE = math.pi / 180
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

# Functions of one number

scalar_rule(math.exp, lambda x, out: out, kind="scalar_real")
scalar_rule(math.exp2, lambda x, out: out * LOG_2, kind="scalar_real")
scalar_rule(math.expm1, lambda x, out: out + 1, kind="scalar_real")
scalar_rule(math.log1p, lambda x: 1 / (1 + x), kind="scalar_real")
scalar_rule(math.log2, lambda x: 1 / (x * LOG_2), kind="scalar_real")
scalar_rule(math.log10, lambda x: 1 / (x * LOG_10), kind="scalar_real")
scalar_rule(math.sin, lambda x: math.cos(x), kind="scalar_real")
scalar_rule(math.cos, lambda x: -math.sin(x), kind="scalar_real")
scalar_rule(math.tan, lambda x, out: 1 + out * out, kind="scalar_real")
scalar_rule(math.atan, lambda x: 1 / (1 + x * x), kind="scalar_real")
scalar_rule(math.sinh, lambda x: math.cosh(x), kind="scalar_real")
scalar_rule(math.cosh, lambda x: math.sinh(x), kind="scalar_real")
scalar_rule(math.tanh, lambda x, out: 1 - out * out, kind="scalar_real")
scalar_rule(math.asinh, lambda x: 1 / math.hypot(1, x), kind="scalar_real")
scalar_rule(math.atanh, lambda x: 1 / ((1 - x) * (1 + x)), kind="scalar_real")
scalar_rule(math.fabs, lambda x: sign(x), kind="scalar_real")
scalar_rule(math.erf, lambda x: TWO_OVER_ROOT_PI * math.exp(-x * x), kind="scalar_real")
scalar_rule(math.erfc, lambda x: -TWO_OVER_ROOT_PI * math.exp(-x * x), kind="scalar_real")
scalar_rule(math.gamma, lambda x, out: out * digamma(x), kind="scalar_real")  # DLMF 5.2.2
scalar_rule(math.lgamma, lambda x: digamma(x), kind="scalar_real")
scalar_rule(math.degrees, lambda x: 1 / DEGREE, kind="scalar_real")
scalar_rule(math.radians, lambda x: DEGREE, kind="scalar_real")


@rrule(math.sqrt, kind="scalar_real")
def sqrt(x):
    """The derivative at 0 is taken as 0, as that of abs."""
    y = math.sqrt(x)

    def pullback(y_bar):
        return (0.5 * y_bar / y if y else 0.0,)

    return y, pullback


@rrule(math.cbrt, kind="scalar_real")
def cbrt(x):
    y = math.cbrt(x)

    def pullback(y_bar):
        return (divide_strong(y_bar, 3 * y * y),)

    return y, pullback


@rrule(math.asin, kind="scalar_real")
def asin(x):
    y = math.asin(x)

    def pullback(y_bar):
        return (divide_strong(y_bar, math.sqrt((1 - x) * (1 + x))),)

    return y, pullback


@rrule(math.acos, kind="scalar_real")
def acos(x):
    y = math.acos(x)

    def pullback(y_bar):
        return (-divide_strong(y_bar, math.sqrt((1 - x) * (1 + x))),)

    return y, pullback


@rrule(math.acosh, kind="scalar_real")
def acosh(x):
    y = math.acosh(x)

    def pullback(y_bar):
        return (divide_strong(y_bar, math.sqrt((x - 1) * (x + 1))),)

    return y, pullback


# Functions of two or three numbers


@rrule(math.log, kind="scalar_real")
def log(x, base=None):
    y = math.log(x) if base is None else math.log(x, base)

    def pullback(y_bar):
        if base is None:
            x_bar = y_bar / x
        else:
            x_bar = y_bar / (x * math.log(base))
        if is_static(base):
            b_bar = None
        else:
            b_bar = -y_bar * y / (base * math.log(base))
        return x_bar, b_bar

    return y, pullback


@rrule(math.pow, kind="scalar_real")
def pow_(x, y):
    z = math.pow(x, y)

    def pullback(z_bar):
        if is_static(y):
            y_bar = None
        else:
            y_bar = exponent_bar(z_bar, x, z)
        return base_bar(z_bar, x, y, z), y_bar

    return z, pullback


@rrule(math.atan2, kind="scalar_real")
def atan2(y, x):
    z = math.atan2(y, x)

    def pullback(z_bar):
        length = math.hypot(x, y)
        return turn_bar(z_bar, x, length), -turn_bar(z_bar, y, length)

    return z, pullback


@rrule(math.fmod, kind="scalar_real")
def fmod(x, y):
    z = math.fmod(x, y)

    def pullback(z_bar):
        return z_bar, -z_bar * round((x - z) / y)

    return z, pullback


@rrule(math.remainder, kind="scalar_real")
def remainder(x, y):
    z = math.remainder(x, y)

    def pullback(z_bar):
        return z_bar, -z_bar * round((x - z) / y)

    return z, pullback


@rrule(math.copysign, kind="scalar_real")
def copysign(x, y):
    z = math.copysign(x, y)

    def pullback(z_bar):
        return z_bar * sign(x) * math.copysign(1.0, y), 0.0

    return z, pullback


@rrule(math.ldexp, kind="scalar_real", linear=("x",))
def ldexp(x, i):
    y = math.ldexp(x, i)

    def pullback(y_bar):
        return math.ldexp(y_bar, i), None

    return y, pullback


@rrule(math.nextafter, kind="scalar_real")
def nextafter(x, y, *, steps=None):
    """`steps` is new in Python 3.12."""
    z = math.nextafter(x, y) if steps is None else math.nextafter(x, y, steps=steps)

    def pullback(z_bar):
        return z_bar, 0.0, None

    return z, pullback


# Functions of sequences


@rrule(math.hypot, kind="scalar_real")
def hypot(*coordinates):
    y = math.hypot(*coordinates)

    def pullback(y_bar):
        return (scaled(y_bar, coordinates, y),)

    return y, pullback


@rrule(math.dist, kind="scalar_real")
def dist(p, q):
    y = math.dist(p, q)

    def pullback(y_bar):
        return scaled(y_bar, differences(p, q, p), y), scaled(-y_bar, differences(p, q, q), y)

    return y, pullback


@rrule(math.fsum, kind="scalar_real", linear=("seq",))
def fsum(seq):
    shapes = entry_shapes(seq)
    y = math.fsum(seq)

    def pullback(y_bar):
        return (spread(y_bar, shapes),)

    return y, pullback


@rrule(math.prod, kind="number")
def prod(iterable, *, start=1):
    y = math.prod(iterable, start=start)

    def pullback(y_bar):
        if is_static(start):
            s_bar = None
        else:
            s_bar = start_bar(y_bar, iterable, start)
        return others_product(y_bar, iterable, start), s_bar

    return y, pullback


@rrule(math.modf, kind="tuple")
def modf(x):
    y = math.modf(x)

    def pullback(y_bar):
        return (y_bar[0],)

    return y, pullback


@rrule(math.frexp, kind="tuple")
def frexp(x):
    y = math.frexp(x)
    exponent = y[1]

    def pullback(y_bar):
        return (times_power_of_two(y_bar[0], -exponent),)

    return y, pullback


def sumprod(p, q):
    """math.sumprod, new in Python 3.12."""
    y = math.sumprod(p, q)

    def pullback(y_bar):
        return multiples(y_bar, q, p), multiples(y_bar, p, q)

    return y, pullback


def fma(x, y, z):
    """math.fma, new in Python 3.13."""
    out = math.fma(x, y, z)

    def pullback(out_bar):
        return out_bar * y, out_bar * x, out_bar

    return out, pullback


if hasattr(math, "sumprod"):
    rrule(math.sumprod, kind="scalar")(sumprod)
if hasattr(math, "fma"):
    rrule(math.fma, kind="scalar_real")(fma)

# Steps and predicates

non_differentiable(math.floor, math.ceil, math.trunc, kind="int")
non_differentiable(math.comb, math.factorial, math.gcd, math.isqrt, math.lcm, math.perm, kind="int")
non_differentiable(math.isclose, math.isfinite, math.isinf, math.isnan, kind="int")
non_differentiable(math.ulp, kind="scalar_real")
