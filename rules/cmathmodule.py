"""Rules for the `cmath` module, whose results are always Python complex numbers unless said otherwise.

The functions are holomorphic off their cuts, so the cotangent is multiplied by the conjugate of the derivative (DLMF
4.7, 4.20, 4.24, 4.34 and 4.38); the roots are taken of the factors, so that the cuts are those of the functions. Where
a slope may be complex though the argument is real, the cotangent is conjugated instead, which never looks real.
"""

import cmath
import math

from adcompiler.rules.registry import non_differentiable, rrule, scalar_rule
from adcompiler.runtime.elementary import divide_strong
from adcompiler.runtime.facts import is_static
from adcompiler.runtime.guarded import angle_bar, cosine_of_arcsine, polar_bar, sqrt_bar
from adcompiler.runtime.shapes import conj

LOG_10 = math.log(10)

# Functions without singular points

scalar_rule(cmath.exp, lambda x, out: out, kind="scalar_complex")
scalar_rule(cmath.sin, lambda x: cmath.cos(x), kind="scalar_complex")
scalar_rule(cmath.cos, lambda x: -cmath.sin(x), kind="scalar_complex")
scalar_rule(cmath.tan, lambda x, out: 1 + out * out, kind="scalar_complex")
scalar_rule(cmath.sinh, lambda x: cmath.cosh(x), kind="scalar_complex")
scalar_rule(cmath.cosh, lambda x: cmath.sinh(x), kind="scalar_complex")
scalar_rule(cmath.tanh, lambda x, out: 1 - out * out, kind="scalar_complex")

# Functions whose poles are exceptions in Python too

scalar_rule(cmath.log10, lambda x: 1 / (x * LOG_10), kind="scalar_complex")
scalar_rule(cmath.atan, lambda x: 1 / ((1 + 1j * x) * (1 - 1j * x)), kind="scalar_complex")
scalar_rule(cmath.atanh, lambda x: 1 / ((1 - x) * (1 + x)), kind="scalar_complex")


@rrule(cmath.log, kind="scalar_complex")
def log(z, base=None):
    y = cmath.log(z) if base is None else cmath.log(z, base)

    def pullback(y_bar):
        if base is None:
            z_bar = y_bar / conj(z)
        else:
            z_bar = conj(conj(y_bar) / (z * cmath.log(base)))
        if is_static(base):
            base_bar = None
        else:
            base_bar = -y_bar * conj(y / (base * cmath.log(base)))
        return z_bar, base_bar

    return y, pullback


# Roots


@rrule(cmath.sqrt, kind="scalar_complex")
def sqrt(z):
    """The derivative at 0 is taken as 0, as that of abs."""
    y = cmath.sqrt(z)

    def pullback(y_bar):
        return (sqrt_bar(y_bar, conj(y)),)

    return y, pullback


@rrule(cmath.asin, kind="scalar_complex")
def asin(z):
    y = cmath.asin(z)

    def pullback(y_bar):
        return (conj(divide_strong(conj(y_bar), cosine_of_arcsine(z))),)

    return y, pullback


@rrule(cmath.acos, kind="scalar_complex")
def acos(z):
    y = cmath.acos(z)

    def pullback(y_bar):
        return (-conj(divide_strong(conj(y_bar), cosine_of_arcsine(z))),)

    return y, pullback


@rrule(cmath.asinh, kind="scalar_complex")
def asinh(z):
    y = cmath.asinh(z)

    def pullback(y_bar):
        return (conj(divide_strong(conj(y_bar), cmath.sqrt(1 + 1j * z) * cmath.sqrt(1 - 1j * z))),)

    return y, pullback


@rrule(cmath.acosh, kind="scalar_complex")
def acosh(z):
    y = cmath.acosh(z)

    def pullback(y_bar):
        return (conj(divide_strong(conj(y_bar), cmath.sqrt(z - 1) * cmath.sqrt(z + 1))),)

    return y, pullback


# Polar coordinates, which are real


@rrule(cmath.phase, kind="scalar_real")
def phase(z):
    y = cmath.phase(z)

    def pullback(y_bar):
        return (angle_bar(y_bar, z),)

    return y, pullback


@rrule(cmath.polar, kind="tuple")
def polar(z):
    y = cmath.polar(z)

    def pullback(y_bar):
        return (polar_bar(y_bar, z),)

    return y, pullback


@rrule(cmath.rect, kind="scalar_complex")
def rect(r, phi):
    y = cmath.rect(r, phi)

    def pullback(y_bar):
        return conj(y_bar) * cmath.rect(1.0, phi), y_bar * conj(1j * y)

    return y, pullback


# Predicates

non_differentiable(cmath.isclose, cmath.isfinite, cmath.isinf, cmath.isnan, kind="int")
