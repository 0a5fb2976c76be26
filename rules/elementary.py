"""Rules for elementwise functions of one argument, and its limits: mostly a table of derivatives."""

import numpy as np

from adcompiler.rules.registry import rrule, scalar_rule
from adcompiler.runtime.errors import MutationError
from adcompiler.runtime.guarded import (
    angle_bar,
    filler_bar,
    imag_bar,
    nan_to_num_bar,
    quietly,
    share_high,
    share_inside,
    share_low,
    sign,
    sign_bar,
    take_share,
)
from adcompiler.runtime.shapes import conj, fit, real, shape
from adcompiler.runtime.special import arcsinh_slope, bessel_i1, sinc_slope

DEGREE = float(np.pi / 180)

# A bounded or a linear derivative

scalar_rule(np.arctan, lambda x: 1 / (1 + quietly(np.square, x)))
scalar_rule(np.tanh, lambda x, out: 1 - out * out)
scalar_rule(np.arcsinh, lambda x: arcsinh_slope(x))
scalar_rule(np.square, lambda x: 2 * x)
scalar_rule(np.deg2rad, lambda x: DEGREE)
scalar_rule(np.radians, lambda x: DEGREE)
scalar_rule(np.rad2deg, lambda x: 1 / DEGREE)
scalar_rule(np.degrees, lambda x: 1 / DEGREE)
scalar_rule(np.sinc, lambda x: sinc_slope(x))
scalar_rule(np.i0, lambda x: bessel_i1(x), kind="where")  # DLMF 10.29.3
scalar_rule(np.fabs, lambda x: sign(x))

# Conversions keep the derivative

scalar_rule(np.float16, lambda x: 1.0, result="same", kind="elementwise_real")
scalar_rule(np.float32, lambda x: 1.0, result="same", kind="elementwise_real")
scalar_rule(np.float64, lambda x: 1.0, result="same", kind="elementwise_real")
scalar_rule(np.longdouble, lambda x: 1.0, result="same", kind="elementwise_real")
scalar_rule(np.complex64, lambda x: 1.0, result="same", kind="elementwise_complex")
scalar_rule(np.complex128, lambda x: 1.0, result="same", kind="elementwise_complex")
scalar_rule(np.clongdouble, lambda x: 1.0, result="same", kind="elementwise_complex")


@rrule(np.sign, result="fresh", kind="elementwise")
def sign_(x):
    y = np.sign(x)

    def pullback(y_bar):
        return (sign_bar(y_bar, x, y),)

    return y, pullback


# Parts of complex numbers; the gradient of a real loss is d/dRe + i d/dIm


@rrule(np.real, np.ndarray.real, np.generic.real, float.real, complex.real, result="same", kind="like", linear=("val",))
def real_(val):
    y = np.real(val)

    def pullback(y_bar):
        return (real(y_bar),)

    return y, pullback


@rrule(np.imag, np.ndarray.imag, np.generic.imag, float.imag, complex.imag, result="same", kind="like", linear=("val",))
def imag_(val):
    y = np.imag(val)

    def pullback(y_bar):
        return (imag_bar(y_bar, val),)

    return y, pullback


@rrule(np.conjugate, result="fresh", kind="elementwise", linear=("x",))
def conjugate(x):
    y = np.conjugate(x)

    def pullback(y_bar):
        return (conj(y_bar),)

    return y, pullback


CONJUGATES = (np.ndarray.conj, np.ndarray.conjugate, np.generic.conj, np.generic.conjugate)


@rrule(*CONJUGATES, float.conjugate, complex.conjugate, result="same", kind="like", linear=("x",))
def conjugate_method(x):
    y = x.conjugate()

    def pullback(y_bar):
        return (conj(y_bar),)

    return y, pullback


@rrule(np.angle, result="fresh", kind="elementwise_real")
def angle(z, deg=False):
    y = np.angle(z, deg)
    unit = 1 / DEGREE if deg else 1.0

    def pullback(y_bar):
        return angle_bar(unit * y_bar, z), None

    return y, pullback


@rrule(np.real_if_close, result="same", kind=None)
def real_if_close(a, tol=100):
    y = np.real_if_close(a, tol)
    a_shape = shape(a)

    def pullback(y_bar):
        return fit(y_bar, a_shape), None

    return y, pullback


# Limits and replacements


@rrule(np.clip, result="fresh", kind="elementwise")
def clip(a, a_min=None, a_max=None, *, min=None, max=None):
    """An end may be given under either of its two names; at an end the array and the end share."""
    if min is None:
        low = a_min
    else:
        low = min
    if max is None:
        high = a_max
    else:
        high = max
    y = np.clip(a, low, high)
    a_shape, low_shape, high_shape = shape(a), shape(low), shape(high)
    inside, below, above = share_inside(a, low, high), share_low(a, low, high), share_high(a, low, high)

    def pullback(y_bar):
        if a_min is None:
            a_min_bar = None
        else:
            a_min_bar = fit(take_share(y_bar, below), low_shape)
        if a_max is None:
            a_max_bar = None
        else:
            a_max_bar = fit(take_share(y_bar, above), high_shape)
        if min is None:
            min_bar = None
        else:
            min_bar = fit(take_share(y_bar, below), low_shape)
        if max is None:
            max_bar = None
        else:
            max_bar = fit(take_share(y_bar, above), high_shape)
        return fit(take_share(y_bar, inside), a_shape), a_min_bar, a_max_bar, min_bar, max_bar

    return y, pullback


@rrule(np.ndarray.clip, result="fresh", kind="elementwise")
def clip_method(a, min=None, max=None):
    y = a.clip(min, max)
    a_shape, min_shape, max_shape = shape(a), shape(min), shape(max)
    inside, below, above = share_inside(a, min, max), share_low(a, min, max), share_high(a, min, max)

    def pullback(y_bar):
        if min is None:
            min_bar = None
        else:
            min_bar = fit(take_share(y_bar, below), min_shape)
        if max is None:
            max_bar = None
        else:
            max_bar = fit(take_share(y_bar, above), max_shape)
        return fit(take_share(y_bar, inside), a_shape), min_bar, max_bar

    return y, pullback


@rrule(np.nan_to_num, result="fresh", kind="elementwise")
def nan_to_num(x, *, nan=0.0, posinf=None, neginf=None):
    y = np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    nan_shape, posinf_shape, neginf_shape = shape(nan), shape(posinf), shape(neginf)

    def pullback(y_bar):
        if posinf is None:
            posinf_bar = None
        else:
            posinf_bar = fit(filler_bar(y_bar, x, np.isposinf), posinf_shape)
        if neginf is None:
            neginf_bar = None
        else:
            neginf_bar = fit(filler_bar(y_bar, x, np.isneginf), neginf_shape)
        return nan_to_num_bar(y_bar, x), fit(filler_bar(y_bar, x, np.isnan), nan_shape), posinf_bar, neginf_bar

    return y, pullback


@rrule(np.nan_to_num, result="fresh", kind="elementwise", general=True)
def nan_to_num_general(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """The replacements by position, and a copy that is asked for; without one the array is written into."""
    if not copy:
        raise MutationError("nan_to_num(x, copy=False) writes into x\nLeave copy out, and use the result.")
    y, inner = nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)

    def pullback(y_bar):
        x_bar, *others = inner(y_bar)
        return x_bar, None, *others

    return y, pullback
