"""Rules for scipy.signal: convolutions, filters and transforms along an axis, all linear in the signal.

The adjoint of a convolution is a correlation, that of a filter runs backwards. Sources: Oppenheim and Schafer,
"Discrete-time signal processing", chapters 2 and 6.
"""

import numpy as np
from scipy import signal

from adcompiler.rules import signal_refused as signal_refused
from adcompiler.rules.forward import frule
from adcompiler.rules.registry import rrule
from adcompiler.runtime.constants import require_constant
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.filters import coefficient_bars, hilbert_weights, resampled_bar, reversed_filter
from adcompiler.runtime.shapes import conj, fit, ndim, real, shape
from adcompiler.runtime.stencils import (
    extended,
    extended_bar,
    in_full,
    turned_round,
    weights_bar,
    window_bar,
)

# Convolutions


def nothing(y_bar, a, b):
    """The cotangents of the arguments of a convolution without elements."""
    return np.zeros_like(y_bar, shape=shape(a)), np.zeros_like(y_bar, shape=shape(b))


def full_convolution_bars(whole, a, b, method="auto"):
    """The cotangents of the arguments of a full convolution."""
    return signal.correlate(whole, b, "valid", method), signal.correlate(whole, a, "valid", method)


@rrule(signal.convolve, result="fresh", kind="array", multilinear=("in1", "in2"))
def convolve(in1, in2, mode="full", method="auto"):
    if ndim(in1) == 0 or ndim(in1) != ndim(in2):
        return NotImplemented
    y = signal.convolve(in1, in2, mode, method)

    def pullback(y_bar):
        if not y_bar.size:
            return *nothing(y_bar, in1, in2), None, None
        whole = in_full(y_bar, shape(in1), shape(in2), mode)
        return *full_convolution_bars(whole, in1, in2, method), None, None

    return y, pullback


@rrule(signal.correlate, result="fresh", kind="array", multilinear=("in1", "in2"))
def correlate(in1, in2, mode="full", method="auto"):
    if ndim(in1) == 0 or ndim(in1) != ndim(in2):
        return NotImplemented
    y = signal.correlate(in1, in2, mode, method)
    kernel = turned_round(np.asarray(in2))

    def pullback(y_bar):
        if not y_bar.size:
            return *nothing(y_bar, in1, in2), None, None
        whole = in_full(y_bar, shape(in1), shape(in2), mode)
        in1_bar, kernel_bar = full_convolution_bars(whole, in1, kernel, method)
        return in1_bar, turned_round(kernel_bar), None, None

    return y, pullback


def by_transforms(function, in1, in2, mode, axes):
    """The rule of the convolutions that use Fourier transforms, along some axes and broadcast along the others."""
    if ndim(in1) == 0 or ndim(in1) != ndim(in2):
        return NotImplemented
    y = function(in1, in2, mode, axes)
    rank = ndim(in1)
    chosen = list(range(rank)) if axes is None else [int(axis) % rank for axis in np.atleast_1d(axes)]
    apart = [axis not in chosen for axis in range(rank)]

    def pullback(y_bar):
        if not y_bar.size:
            return *nothing(y_bar, in1, in2), None, None
        outer = [
            (m, 1) if off else pair for m, off, *pair in zip(y_bar.shape, apart, shape(in1), shape(in2), strict=True)
        ]
        whole = in_full(y_bar, *zip(*outer, strict=True), mode)
        in1_bar, in2_bar = (signal.fftconvolve(whole, conj(np.flip(x, chosen)), "valid", chosen) for x in (in2, in1))
        return fit(in1_bar, shape(in1)), fit(in2_bar, shape(in2)), None, None

    return y, pullback


@rrule(signal.fftconvolve, result="fresh", kind="array", multilinear=("in1", "in2"))
def fftconvolve(in1, in2, mode="full", axes=None):
    return by_transforms(signal.fftconvolve, in1, in2, mode, axes)


@rrule(signal.oaconvolve, result="fresh", kind="array", multilinear=("in1", "in2"))
def oaconvolve(in1, in2, mode="full", axes=None):
    return by_transforms(signal.oaconvolve, in1, in2, mode, axes)


def extended_bars(y_bar, x, kernel, mode, boundary, value, correlates=False):
    """The cotangents in the two-dimensional convolution of `x` with `kernel`, which extends `x` at its edges."""
    if not y_bar.size or not np.size(x):
        return nothing(y_bar, x, kernel)
    whole = in_full(y_bar, shape(x), shape(kernel), mode, correlates)
    if mode == "valid":
        return full_convolution_bars(whole, x, kernel, "direct")
    widths, modes = [(m - 1, m - 1) for m in shape(kernel)], [boundary] * 2
    outer = extended(np.asarray(x), widths, modes, value)
    x_bar = extended_bar(window_bar(whole, np.flip(kernel), outer.shape), widths, modes)
    return x_bar, np.flip(weights_bar(whole, outer, shape(kernel)))


@rrule(signal.convolve2d, result="fresh", kind="array2")
def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0, *, needs):
    require_constant(needs[4], fillvalue, "fillvalue", "convolve2d")
    y = signal.convolve2d(in1, in2, mode, boundary, fillvalue)

    def pullback(y_bar):
        return *extended_bars(y_bar, in1, in2, mode, boundary, fillvalue), None, None, None

    return y, pullback


@rrule(signal.correlate2d, result="fresh", kind="array2")
def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0, *, needs):
    require_constant(needs[4], fillvalue, "fillvalue", "correlate2d")
    y = signal.correlate2d(in1, in2, mode, boundary, fillvalue)
    kernel = turned_round(np.asarray(in2))

    def pullback(y_bar):
        in1_bar, kernel_bar = extended_bars(y_bar, in1, kernel, mode, boundary, fillvalue, True)
        return in1_bar, turned_round(kernel_bar), None, None, None

    return y, pullback


# Recursive filters


@rrule(signal.lfilter, kind="unknown")
def lfilter(b, a, x, axis=-1, zi=None):
    """Of the states at both ends the first has a derivative; the last one is refused if it is used."""
    y = signal.lfilter(b, a, x, axis, zi)
    values = y if zi is None else y[0]

    def pullback(y_bar):
        if zi is not None and y_bar[1] is not None and np.any(y_bar[1]):
            raise NoRuleError("the last state of lfilter has no derivative\nFilter the whole signal in one call.")
        bar = y_bar if zi is None else y_bar[0]
        if bar is None:
            return None, None, None, None, None
        inner = reversed_filter(signal.lfilter, 1.0, a, bar, axis)
        x_bar = reversed_filter(signal.lfilter, b, 1.0, inner, axis)
        b_bar, a_bar, zi_bar = coefficient_bars(inner, b, a, np.asarray(x), values, zi, axis)
        return b_bar, a_bar, fit(x_bar, shape(x)), None, zi_bar

    return y, pullback


@rrule(signal.sosfilt, result="fresh", kind="array")
def sosfilt(sos, x, axis=-1):
    y = signal.sosfilt(sos, x, axis)
    sections = np.atleast_2d(sos)

    def pullback(y_bar):
        signals = [np.asarray(x)]
        for section in sections:
            signals.append(signal.lfilter(section[:3], section[3:], signals[-1], axis))
        rows = []
        for section, before, after in reversed(list(zip(sections, signals[:-1], signals[1:], strict=True))):
            inner = reversed_filter(signal.lfilter, 1.0, section[3:], y_bar, axis)
            b_bar, a_bar, _ = coefficient_bars(inner, section[:3], section[3:], before, after, None, axis)
            rows.append(np.concatenate([b_bar, a_bar]))
            y_bar = reversed_filter(signal.lfilter, section[:3], 1.0, inner, axis)
        return np.reshape(np.stack(rows[::-1]), shape(sos)), y_bar, None

    return y, pullback


# Smoothing and transforms


@rrule(signal.savgol_filter, result="fresh", kind="like")
def savgol_filter(x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0, *, needs):
    require_constant(needs[7], cval, "cval", "savgol_filter")
    y = signal.savgol_filter(x, window_length, polyorder, deriv, delta, axis, mode, cval)
    if window_length % 2 == 0 or isinstance(delta, np.ndarray):
        return NotImplemented

    def pullback(y_bar):
        weights = signal.savgol_coeffs(window_length, polyorder, deriv, delta).astype(y_bar.dtype)
        half = window_length // 2
        bar = np.moveaxis(y_bar, axis, 0)
        edges = (mode == "interp") * half
        inside = np.concatenate([0 * bar[:edges], bar[edges : len(bar) - edges], 0 * bar[len(bar) - edges :]])
        kernel = np.reshape(np.flip(weights), (-1, *(1,) * (bar.ndim - 1)))
        widths = [(half, half), *((0, 0),) * (bar.ndim - 1)]
        outer = (bar.shape[0] + 2 * half, *bar.shape[1:])
        boundary = "constant" if edges else mode
        x_bar = extended_bar(window_bar(inside, kernel, outer), widths, [boundary] * bar.ndim)
        if edges:
            options = (window_length, polyorder, deriv, delta, 0)
            ends = signal.savgol_filter(np.eye(window_length), *options).astype(y_bar.dtype)
            x_bar[:window_length] += np.tensordot(ends[:half].T, bar[:half], 1)
            x_bar[len(bar) - window_length :] += np.tensordot(ends[-half:].T, bar[len(bar) - half :], 1)
        delta_bar = fit(-deriv * np.sum(y_bar * conj(y)) / delta, shape(delta)) if deriv else 0.0 * delta
        return np.moveaxis(x_bar, 0, axis), None, None, None, delta_bar, None, None, None

    return y, pullback


@frule(signal.savgol_filter)
def savgol_filter_forward(
    tangents, x, window_length, polyorder, deriv=0, delta=1.0, axis=-1, mode="interp", cval=0.0
):  # linear in x but for cval
    y = signal.savgol_filter(x, window_length, polyorder, deriv, delta, axis, mode, cval)
    y_dot = 0.0 * y
    if tangents[0] is not None:
        y_dot = signal.savgol_filter(tangents[0], window_length, polyorder, deriv, delta, axis, mode, 0.0)
    if tangents[4] is not None:
        y_dot = y_dot - deriv * y / delta * tangents[4]
    return y, y_dot


@rrule(signal.detrend, result="fresh", kind="like", linear=("data",))
def detrend(data, axis=-1, type="linear", bp=0):
    """What is left is the projection on a space: its own adjoint."""
    y = signal.detrend(data, axis, type, bp)

    def pullback(y_bar):
        return signal.detrend(y_bar, axis, type, bp), None, None, None

    return y, pullback


@rrule(signal.resample, result="fresh", kind="array", linear=("x",))
def resample(x, num, *, axis=0):
    y = signal.resample(x, num, axis=axis)
    x_shape, x_is_real = shape(x), np.isrealobj(x)

    def pullback(y_bar):
        return resampled_bar(y_bar, x_shape[axis], axis, x_is_real), None, None

    return y, pullback


@rrule(signal.hilbert, result="fresh", kind="same_rank_complex", linear=("x",))
def hilbert(x, N=None, axis=-1):
    y = signal.hilbert(x, N, axis)
    x_shape = shape(x)

    def pullback(y_bar):
        length = y_bar.shape[axis]
        weights = hilbert_weights(length, y_bar.real.dtype, axis, y_bar.ndim)
        x_bar = real(np.fft.ifft(weights * np.fft.fft(y_bar, axis=axis), axis=axis))
        kept = np.moveaxis(np.zeros(x_shape, x_bar.dtype), axis, 0)
        kept[:length] = np.moveaxis(x_bar, axis, 0)[: x_shape[axis]]
        return np.moveaxis(kept, 0, axis), None, None

    return y, pullback
