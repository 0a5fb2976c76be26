"""Rules for functions of samples: interpolation, difference quotients, convolution."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.arrays import as_array
from adcompiler.runtime.grids import (
    Interpolation,
    convolution_bar,
    full_of,
    gradient_axes,
    gradient_bars,
    gradient_spacings,
    kaiser_slope,
    outside_bar,
    refuse_complex,
)
from adcompiler.runtime.layout import reshape
from adcompiler.runtime.shapes import conj, shape, size, zeros


@rrule(np.interp, result="fresh", kind="number")
def interp(x, xp, fp, left=None, right=None, period=None, *, needs=(True,) * 6):
    y = np.interp(x, xp, fp, left, right, period)

    def pullback(y_bar):
        if size(y) == 0:
            return zeros(shape(x), y_bar), zeros(shape(xp), y_bar), zeros(shape(fp), y_bar), None, None, None
        found = Interpolation(as_array(x), as_array(xp), as_array(fp), period)
        return (
            found.x_bar(y_bar) if needs[0] else None,
            found.xp_bar(y_bar) if needs[1] else None,
            found.fp_bar(y_bar, left, right) if needs[2] else None,
            None if left is None or period is not None else outside_bar(y_bar, found.low),
            None if right is None or period is not None else outside_bar(y_bar, found.high),
            found.period_bar(y_bar, period) if needs[5] and period is not None else None,
        )

    return y, pullback


@rrule(np.gradient, linear=("f",))
def gradient(f, *varargs, axis=None, edge_order=1, needs=(True,) * 4):
    y = np.gradient(f, *varargs, axis=axis, edge_order=edge_order)
    axes = gradient_axes(f, axis)
    spacings = gradient_spacings(varargs, len(axes))
    refuse_complex(spacings)

    def pullback(y_bar):
        values, bars = (y, y_bar) if isinstance(y, tuple | list) else ((y,), (y_bar,))
        given = [i for i, bar in enumerate(bars) if bar is not None]
        moved = bool(varargs) and needs[1]
        pairs = [
            gradient_bars(bar, value, as_array(f), along, spacing, edge_order, moved)
            for bar, value, along, spacing in zip(bars, values, axes, spacings, strict=True)
            if bar is not None
        ]
        f_bar = sum(f_bar for f_bar, _ in pairs)
        if not moved:
            return f_bar, None, None, None
        spacing_bars = [None] * len(axes)
        for i, (_, spacing_bar) in zip(given, pairs, strict=True):
            spacing_bars[i] = spacing_bar
        if len(varargs) == 1:
            spacing_bars = [sum(bar for bar in spacing_bars if bar is not None)]
        return f_bar, tuple(spacing_bars[: len(varargs)]), None, None

    return y, pullback


@rrule(np.convolve, result="fresh", kind="array1", multilinear=("a", "v"))
def convolve(a, v, mode="full"):
    y = np.convolve(a, v, mode)
    n, m = size(a), size(v)
    a_shape, v_shape = shape(a), shape(v)

    def pullback(y_bar):
        full_bar = full_of(y_bar, n, m, mode)
        return (
            reshape(convolution_bar(full_bar, np.ravel(v)), a_shape),
            reshape(convolution_bar(full_bar, np.ravel(a)), v_shape),
            None,
        )

    return y, pullback


@rrule(np.correlate, result="fresh", kind="array1", multilinear=("a", "v"))
def correlate(a, v, mode="valid"):
    """A convolution with the conjugate of the second in reverse."""
    y = np.correlate(a, v, mode)
    n, m = size(a), size(v)
    a_shape, v_shape = shape(a), shape(v)

    def pullback(y_bar):
        full_bar = full_of(y_bar, n, m, mode, from_behind=m > n)
        a_bar = convolution_bar(full_bar, conj(np.ravel(v)[::-1]))
        v_bar = conj(convolution_bar(full_bar, np.ravel(a))[::-1])
        return reshape(a_bar, a_shape), reshape(v_bar, v_shape), None

    return y, pullback


@rrule(np.kaiser, result="fresh", kind="array1")
def kaiser(M, beta):
    y = np.kaiser(M, beta)

    def pullback(y_bar):
        return None, np.sum(y_bar * kaiser_slope(y, M, beta))

    return y, pullback
