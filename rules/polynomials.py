"""Rules for NumPy's polynomials, given by their coefficients from the highest power to the lowest."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.arrays import as_array
from adcompiler.runtime.layout import reshape
from adcompiler.runtime.polynomials import (
    aligned_bar,
    derivative_bar,
    division_bars,
    fit_bars,
    from_roots_bar,
    integral_bars,
    product_bar,
    roots_bar,
    value_bars,
)
from adcompiler.runtime.shapes import shape, size


@rrule(np.polyval, result="fresh", linear=("p",))
def polyval(p, x):
    y = np.polyval(p, x)
    p_shape = shape(p)

    def pullback(y_bar):
        p_bar, x_bar = value_bars(y_bar, p, x)
        return reshape(p_bar, p_shape), x_bar

    return y, pullback


@rrule(np.polyadd, result="fresh", kind="array", linear=("a1", "a2"))
def polyadd(a1, a2):
    y = np.polyadd(a1, a2)
    a1_shape, a2_shape = shape(a1), shape(a2)

    def pullback(y_bar):
        return aligned_bar(y_bar, a1_shape), aligned_bar(y_bar, a2_shape)

    return y, pullback


@rrule(np.polysub, result="fresh", kind="array", linear=("a1", "a2"))
def polysub(a1, a2):
    y = np.polysub(a1, a2)
    a1_shape, a2_shape = shape(a1), shape(a2)

    def pullback(y_bar):
        return aligned_bar(y_bar, a1_shape), -aligned_bar(y_bar, a2_shape)

    return y, pullback


@rrule(np.polymul, result="fresh", kind="array1")
def polymul(a1, a2):
    y = np.polymul(a1, a2)
    a1_shape, a2_shape = shape(a1), shape(a2)

    def pullback(y_bar):
        return product_bar(y_bar, a2, a1_shape), product_bar(y_bar, a1, a2_shape)

    return y, pullback


@rrule(np.polydiv, result="fresh", kind="tuple")
def polydiv(u, v):
    y = np.polydiv(u, v)
    u_shape, v_shape = shape(u), shape(v)

    def pullback(y_bar):
        u_bar, v_bar = division_bars(y_bar, u, v, y[0])
        return reshape(u_bar, u_shape), reshape(v_bar, v_shape)

    return y, pullback


@rrule(np.polyder, kind="array1", linear=("p",))
def polyder(p, m=1):
    y = np.polyder(p, m)
    count = size(p)

    def pullback(y_bar):
        return derivative_bar(y_bar, count, m), None

    return y, pullback


@rrule(np.polyint, kind="array1", linear=("p", "k"))
def polyint(p, m=1, k=None):
    y = np.polyint(p, m, k)
    count = size(p)

    def pullback(y_bar):
        p_bar, k_bar = integral_bars(y_bar, count, m, k)
        return p_bar, None, k_bar

    return y, pullback


@rrule(np.polyfit, result="fresh", kind="array")
def polyfit(x, y, deg, rcond=None, *, w=None):
    c = np.polyfit(x, y, deg, rcond, w=w)

    def pullback(c_bar):
        x_bar, y_bar, w_bar = fit_bars(c_bar, as_array(x), as_array(y), deg, w, c)
        return x_bar, y_bar, None, None, w_bar

    return c, pullback


@rrule(np.poly)
def poly(seq_of_zeros):
    y = np.poly(seq_of_zeros)

    def pullback(y_bar):
        return (from_roots_bar(y_bar, seq_of_zeros),)

    return y, pullback


@rrule(np.roots, kind="array_complex")
def roots(p):
    y = np.roots(p)

    def pullback(y_bar):
        return (roots_bar(y_bar, p, y),)

    return y, pullback
