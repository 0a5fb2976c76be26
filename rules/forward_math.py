"""Forward rules of the `math` and `cmath` modules, and of Python's max and min, whose arguments are numbers."""

import builtins
import cmath
import math

from adcompiler.rules.forward import frule
from adcompiler.runtime.elementary import divide_singular, divide_strong
from adcompiler.runtime.guarded import (
    base_bar,
    cosine_of_arcsine,
    exponent_bar,
    sign,
    times_power_of_two,
    turn_bar,
)
from adcompiler.runtime.sequences import only_numbers
from adcompiler.runtime.shapes import conj

# Functions of one number


@frule(math.sqrt)
def sqrt(tangents, x):
    """The derivative at 0 is taken as 0, as that of abs."""
    y = math.sqrt(x)
    return y, 0.5 * tangents[0] / y if y else 0.0


@frule(math.cbrt)
def cbrt(tangents, x):
    y = math.cbrt(x)
    return y, divide_strong(tangents[0], 3 * y * y)


@frule(math.asin)
def asin(tangents, x):
    y = math.asin(x)
    return y, divide_strong(tangents[0], math.sqrt((1 - x) * (1 + x)))


@frule(math.acos)
def acos(tangents, x):
    y = math.acos(x)
    return y, -divide_strong(tangents[0], math.sqrt((1 - x) * (1 + x)))


@frule(math.acosh)
def acosh(tangents, x):
    y = math.acosh(x)
    return y, divide_strong(tangents[0], math.sqrt((x - 1) * (x + 1)))


# Functions of two numbers


@frule(math.log)
def log(tangents, x, base=None):
    if base is None:
        y = math.log(x)
        y_dot = tangents[0] / x
    else:
        y = math.log(x, base)
        y_dot = 0.0
        if tangents[0] is not None:
            y_dot = tangents[0] / (x * math.log(base))
        if tangents[1] is not None:
            y_dot = y_dot - tangents[1] * y / (base * math.log(base))
    return y, y_dot


@frule(math.pow)
def pow_(tangents, x, y):
    z = math.pow(x, y)
    z_dot = 0.0
    if tangents[0] is not None:
        z_dot = base_bar(tangents[0], x, y, z)
    if tangents[1] is not None:
        z_dot = z_dot + exponent_bar(tangents[1], x, z)
    return z, z_dot


@frule(math.atan2)
def atan2(tangents, y, x):
    z_dot = 0.0
    if tangents[0] is not None:
        z_dot = turn_bar(tangents[0], x, math.hypot(x, y))
    if tangents[1] is not None:
        z_dot = z_dot - turn_bar(tangents[1], y, math.hypot(x, y))
    z = math.atan2(y, x)
    return z, z_dot


@frule(math.fmod)
def fmod(tangents, x, y):
    z = math.fmod(x, y)
    z_dot = 0.0
    if tangents[0] is not None:
        z_dot = tangents[0]
    if tangents[1] is not None:
        z_dot = z_dot - tangents[1] * round((x - z) / y)
    return z, z_dot


@frule(math.remainder)
def remainder(tangents, x, y):
    z = math.remainder(x, y)
    z_dot = 0.0
    if tangents[0] is not None:
        z_dot = tangents[0]
    if tangents[1] is not None:
        z_dot = z_dot - tangents[1] * round((x - z) / y)
    return z, z_dot


@frule(math.copysign)
def copysign(tangents, x, y):
    z_dot = 0.0
    if tangents[0] is not None:
        z_dot = tangents[0] * sign(x) * math.copysign(1.0, y)
    z = math.copysign(x, y)
    return z, z_dot


@frule(math.nextafter)
def nextafter(tangents, x, y, *, steps=None):
    """`steps` is new in Python 3.12."""
    z = math.nextafter(x, y) if steps is None else math.nextafter(x, y, steps=steps)
    z_dot = 0.0
    if tangents[0] is not None:
        z_dot = tangents[0]
    return z, z_dot


# Functions of sequences


def inner(dots, factors):
    """The sum of the tangents, each times its factor; those that are None count as zero."""
    total = 0.0
    for dot, factor in zip(dots, factors, strict=True):
        if dot is not None:
            total = total + factor * dot
    return total


@frule(math.hypot)
def hypot(tangents, *coordinates):
    y = math.hypot(*coordinates)
    return y, inner(tangents[0], coordinates) / y if y else 0.0


@frule(math.dist)
def dist(tangents, p, q):
    y = math.dist(p, q)
    y_dot = 0.0
    if y and tangents[0] is not None:
        y_dot = inner(tangents[0], [a - b for a, b in zip(p, q, strict=True)]) / y
    if y and tangents[1] is not None:
        y_dot = y_dot - inner(tangents[1], [a - b for a, b in zip(p, q, strict=True)]) / y
    return y, y_dot


@frule(math.prod)
def prod(tangents, iterable, *, start=1):
    """The product rule, factor by factor: no division, so zeros are no exception."""
    product, product_dot = start, 0.0
    if tangents[1] is not None:
        product_dot = tangents[1]
    for i, factor in enumerate(iterable):
        product_dot = product_dot * factor
        if tangents[0] is not None and tangents[0][i] is not None:
            product_dot = product_dot + product * tangents[0][i]
        product = product * factor
    y = math.prod(iterable, start=start)
    return y, product_dot


@frule(math.modf)
def modf(tangents, x):
    y = math.modf(x)
    return y, (tangents[0], None)


@frule(math.frexp)
def frexp(tangents, x):
    y = math.frexp(x)
    return y, (times_power_of_two(tangents[0], -y[1]), None)


def sumprod(tangents, p, q):
    """math.sumprod, new in Python 3.12."""
    y_dot = 0.0
    if tangents[0] is not None:
        y_dot = inner(tangents[0], q)
    if tangents[1] is not None:
        y_dot = y_dot + inner(tangents[1], p)
    return math.sumprod(p, q), y_dot


def fma(tangents, x, y, z):
    """math.fma, new in Python 3.13."""
    out_dot = 0.0
    if tangents[0] is not None:
        out_dot = tangents[0] * y
    if tangents[1] is not None:
        out_dot = out_dot + tangents[1] * x
    if tangents[2] is not None:
        out_dot = out_dot + tangents[2]
    return math.fma(x, y, z), out_dot


if hasattr(math, "sumprod"):
    frule(math.sumprod)(sumprod)
if hasattr(math, "fma"):
    frule(math.fma)(fma)


def tied_mean(dots, values, y):
    """The mean of the tangents of those of `values` that are equal to `y`."""
    only_numbers(values)
    total, count = 0.0, 0
    for i, value in enumerate(values):
        if value == y:
            count = count + 1
            if dots[i] is not None:
                total = total + dots[i]
    return total / count if count else total


@frule(builtins.max)
def max_(tangents, *values):
    y = max(*values)
    if len(values) > 1:
        y_dot = tied_mean(tangents[0], values, y)
    else:
        y_dot = tied_mean(tangents[0][0], values[0], y)
    return y, y_dot


@frule(builtins.min)
def min_(tangents, *values):
    y = min(*values)
    if len(values) > 1:
        y_dot = tied_mean(tangents[0], values, y)
    else:
        y_dot = tied_mean(tangents[0][0], values[0], y)
    return y, y_dot


# Functions of a complex number


@frule(cmath.log)
def complex_log(tangents, z, base=None):
    if base is None:
        y = cmath.log(z)
        y_dot = tangents[0] / z
    else:
        y = cmath.log(z, base)
        y_dot = 0.0
        if tangents[0] is not None:
            y_dot = tangents[0] / (z * cmath.log(base))
        if tangents[1] is not None:
            y_dot = y_dot - tangents[1] * y / (base * cmath.log(base))
    return y, y_dot


@frule(cmath.sqrt)
def complex_sqrt(tangents, z):
    """The derivative at 0 is taken as 0, as that of abs."""
    y = cmath.sqrt(z)
    return y, divide_singular(0.5 * tangents[0], y)


@frule(cmath.asin)
def complex_asin(tangents, z):
    y = cmath.asin(z)
    return y, divide_strong(tangents[0], cosine_of_arcsine(z))


@frule(cmath.acos)
def complex_acos(tangents, z):
    y = cmath.acos(z)
    return y, -divide_strong(tangents[0], cosine_of_arcsine(z))


@frule(cmath.asinh)
def complex_asinh(tangents, z):
    y = cmath.asinh(z)
    return y, divide_strong(tangents[0], cmath.sqrt(1 + 1j * z) * cmath.sqrt(1 - 1j * z))


@frule(cmath.acosh)
def complex_acosh(tangents, z):
    y = cmath.acosh(z)
    return y, divide_strong(tangents[0], cmath.sqrt(z - 1) * cmath.sqrt(z + 1))


# Polar coordinates


@frule(cmath.phase)
def phase(tangents, z):
    """0 at the origin, as the reverse rule takes it."""
    turn = conj(z) * tangents[0]
    y = cmath.phase(z)
    return y, turn.imag / (z.real * z.real + z.imag * z.imag) if z else 0.0


@frule(cmath.polar)
def polar(tangents, z):
    """0 at the origin, as the reverse rule takes it."""
    y = cmath.polar(z)
    turn = conj(z) * tangents[0]
    return y, (divide_strong(turn.real, abs(z)), divide_strong(turn.imag, z.real * z.real + z.imag * z.imag))


@frule(cmath.rect)
def rect(tangents, r, phi):
    y = cmath.rect(r, phi)
    y_dot = 0j
    if tangents[0] is not None:
        y_dot = tangents[0] * cmath.rect(1.0, phi)
    if tangents[1] is not None:
        y_dot = y_dot + tangents[1] * 1j * y
    return y, y_dot
