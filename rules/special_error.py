"""Rules for error functions and exponential integrals in scipy.special. Formulas are from DLMF, chapters 6 and 7."""

import numpy as np
from scipy import special

from adcompiler.rules.pointwise import pointwise
from adcompiler.rules.registry import rrule
from adcompiler.runtime import specials
from adcompiler.runtime.densities import SQRT_2PI, bell, mills_inverse, normal_density
from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.integrals import (
    cosh_over,
    expn_slope,
    exprel_slope,
    modified_fresnel_slopes,
    sinh_over,
    spence_slope,
    voigt_slopes,
)
from adcompiler.runtime.shapes import conj

SQRT_2 = float(np.sqrt(2.0))
TWO_OVER_SQRT_PI = float(2 / np.sqrt(np.pi))

# The error function


@rrule(special.erf, result="fresh", kind="elementwise")
def erf(z):
    y = special.erf(z)

    def pullback(y_bar):
        return (multiply_strong(TWO_OVER_SQRT_PI * y_bar, conj(bell(z))),)

    return y, pullback


@rrule(special.erfc, result="fresh", kind="elementwise")
def erfc(z):
    y = special.erfc(z)

    def pullback(y_bar):
        return (multiply_strong(-TWO_OVER_SQRT_PI * y_bar, conj(bell(z))),)

    return y, pullback


pointwise(special.erfcx, lambda z, out: 2 * z * out - TWO_OVER_SQRT_PI)
pointwise(special.erfi, lambda z: TWO_OVER_SQRT_PI * np.exp(z * z))
pointwise(special.erfinv, lambda y, out: np.exp(out * out) / TWO_OVER_SQRT_PI)
pointwise(special.erfcinv, lambda y, out: -np.exp(out * out) / TWO_OVER_SQRT_PI)
pointwise(special.dawsn, lambda z, out: 1 - 2 * z * out)
pointwise(special.wofz, lambda z, out: 1j * TWO_OVER_SQRT_PI - 2 * z * out, kind="elementwise_complex")
pointwise(
    special.voigt_profile,
    lambda x, sigma, gamma, out: voigt_slopes(x, sigma, gamma, out)[0],
    lambda x, sigma, gamma, out: voigt_slopes(x, sigma, gamma, out)[1],
    lambda x, sigma, gamma, out: voigt_slopes(x, sigma, gamma, out)[2],
)

# Fresnel integrals

pointwise(special.fresnel, lambda z: (np.sin(np.pi / 2 * z * z), np.cos(np.pi / 2 * z * z)), kind="tuple")
pointwise(special.modfresnelp, lambda x, out: modified_fresnel_slopes(x, out, 1j), kind=None)
pointwise(special.modfresnelm, lambda x, out: modified_fresnel_slopes(x, out, -1j), kind=None)

# The normal distribution; density over distribution function by erfcx, which neither over- nor underflows


@rrule(special.ndtr, result="fresh", kind="elementwise")
def ndtr(x):
    y = special.ndtr(x)

    def pullback(y_bar):
        return (multiply_strong(y_bar, conj(normal_density(x))),)

    return y, pullback


@rrule(special.log_ndtr, result="fresh", kind="elementwise")
def log_ndtr(x):
    y = special.log_ndtr(x)

    def pullback(y_bar):
        return (multiply_strong(y_bar, conj(mills_inverse(x))),)

    return y, pullback


pointwise(special.ndtri, lambda y, out: 1 / normal_density(out))
pointwise(special.ndtri_exp, lambda y, out: 0.5 * SQRT_2PI * specials.erfcx(-out / SQRT_2))
pointwise(
    special.owens_t,
    lambda h, a: -0.5 * normal_density(h) * specials.erf(a * h / SQRT_2),
    lambda h, a: np.exp(-0.5 * h * h * (1 + a * a)) / (2 * np.pi * (1 + a * a)),
)

# Exponential, trigonometric and hyperbolic integrals

pointwise(special.expi, lambda x: np.exp(x) / x)
pointwise(special.exp1, lambda z: -np.exp(-z) / z)
pointwise(special.expn, "it is defined for whole orders", lambda n, x: expn_slope(n, x))
pointwise(special.exprel, lambda x: exprel_slope(x))
pointwise(special.sici, lambda x: (np.sinc(x / np.pi), np.cos(x) / x), kind="tuple")
pointwise(special.shichi, lambda x: (sinh_over(x), cosh_over(x)), kind="tuple")
pointwise(special.spence, lambda z: spence_slope(z))
