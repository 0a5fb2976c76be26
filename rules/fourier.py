"""Rules for the discrete Fourier transforms of `numpy.fft`.

All are linear. What a real transform drops of a complex spectrum (the imaginary part of the frequencies that are their
own mirror image) has the cotangent 0. NumPy may return the argument itself where there are no axes.
"""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.fourier import (
    fft_bar,
    fftn_bar,
    hfft_bar,
    ifft_bar,
    ifftn_bar,
    ihfft_bar,
    irfft_bar,
    irfftn_bar,
    rfft_bar,
    rfftn_bar,
)
from adcompiler.runtime.shapes import conj, fit, shape

# One axis


@rrule(np.fft.fft, result="fresh", kind="same_rank_complex", linear=("a",))
def fft(a, n=None, axis=-1, norm=None):
    y = np.fft.fft(a, n, axis, norm)
    a_shape = shape(a)

    def pullback(y_bar):
        return fft_bar(y_bar, a_shape, axis, norm), None, None, None

    return y, pullback


@rrule(np.fft.ifft, result="fresh", kind="same_rank_complex", linear=("a",))
def ifft(a, n=None, axis=-1, norm=None):
    y = np.fft.ifft(a, n, axis, norm)
    a_shape = shape(a)

    def pullback(y_bar):
        return ifft_bar(y_bar, a_shape, axis, norm), None, None, None

    return y, pullback


@rrule(np.fft.rfft, result="fresh", kind="same_rank_complex", linear=("a",))
def rfft(a, n=None, axis=-1, norm=None):
    y = np.fft.rfft(a, n, axis, norm)
    a_shape = shape(a)

    def pullback(y_bar):
        return rfft_bar(y_bar, a_shape, n, axis, norm), None, None, None

    return y, pullback


@rrule(np.fft.irfft, result="fresh", kind="same_rank_real", linear=("a",))
def irfft(a, n=None, axis=-1, norm=None):
    y = np.fft.irfft(a, n, axis, norm)
    a_shape, a_is_real = shape(a), np.isrealobj(a)

    def pullback(y_bar):
        return irfft_bar(y_bar, a_shape, a_is_real, axis, norm), None, None, None

    return y, pullback


@rrule(np.fft.hfft, result="fresh", kind="same_rank_real", linear=("a",))
def hfft(a, n=None, axis=-1, norm=None):
    y = np.fft.hfft(a, n, axis, norm)
    a_shape, a_is_real = shape(a), np.isrealobj(a)

    def pullback(y_bar):
        return hfft_bar(y_bar, a_shape, a_is_real, axis, norm), None, None, None

    return y, pullback


@rrule(np.fft.ihfft, result="fresh", kind="same_rank_complex", linear=("a",))
def ihfft(a, n=None, axis=-1, norm=None):
    y = np.fft.ihfft(a, n, axis, norm)
    a_shape = shape(a)

    def pullback(y_bar):
        return ihfft_bar(y_bar, a_shape, n, axis, norm), None, None, None

    return y, pullback


# Several axes


@rrule(np.fft.fftn, result="same", kind="same_rank_complex", linear=("a",))
def fftn(a, s=None, axes=None, norm=None):
    y = np.fft.fftn(a, s, axes, norm)
    a_shape = shape(a)

    def pullback(y_bar):
        return fftn_bar(y_bar, a_shape, s, axes, norm), None, None, None

    return y, pullback


@rrule(np.fft.fft2, result="same", kind="same_rank_complex", linear=("a",))
def fft2(a, s=None, axes=(-2, -1), norm=None):
    y = np.fft.fft2(a, s, axes, norm)
    a_shape = shape(a)

    def pullback(y_bar):
        return fftn_bar(y_bar, a_shape, s, axes, norm), None, None, None

    return y, pullback


@rrule(np.fft.ifftn, result="same", kind="same_rank_complex", linear=("a",))
def ifftn(a, s=None, axes=None, norm=None):
    y = np.fft.ifftn(a, s, axes, norm)
    a_shape = shape(a)

    def pullback(y_bar):
        return ifftn_bar(y_bar, a_shape, s, axes, norm), None, None, None

    return y, pullback


@rrule(np.fft.ifft2, result="same", kind="same_rank_complex", linear=("a",))
def ifft2(a, s=None, axes=(-2, -1), norm=None):
    y = np.fft.ifft2(a, s, axes, norm)
    a_shape = shape(a)

    def pullback(y_bar):
        return ifftn_bar(y_bar, a_shape, s, axes, norm), None, None, None

    return y, pullback


@rrule(np.fft.rfftn, result="fresh", kind="same_rank_complex", linear=("a",))
def rfftn(a, s=None, axes=None, norm=None):
    y = np.fft.rfftn(a, s, axes, norm)
    a_shape = shape(a)

    def pullback(y_bar):
        return rfftn_bar(y_bar, a_shape, s, axes, norm), None, None, None

    return y, pullback


@rrule(np.fft.rfft2, result="fresh", kind="same_rank_complex", linear=("a",))
def rfft2(a, s=None, axes=(-2, -1), norm=None):
    y = np.fft.rfft2(a, s, axes, norm)
    a_shape = shape(a)

    def pullback(y_bar):
        return rfftn_bar(y_bar, a_shape, s, axes, norm), None, None, None

    return y, pullback


@rrule(np.fft.irfftn, result="fresh", kind="same_rank_real", linear=("a",))
def irfftn(a, s=None, axes=None, norm=None):
    y = np.fft.irfftn(a, s, axes, norm)
    a_shape, a_is_real = shape(a), np.isrealobj(a)

    def pullback(y_bar):
        return irfftn_bar(y_bar, a_shape, a_is_real, s, axes, norm), None, None, None

    return y, pullback


@rrule(np.fft.irfft2, result="fresh", kind="same_rank_real", linear=("a",))
def irfft2(a, s=None, axes=(-2, -1), norm=None):
    y = np.fft.irfft2(a, s, axes, norm)
    a_shape, a_is_real = shape(a), np.isrealobj(a)

    def pullback(y_bar):
        return irfftn_bar(y_bar, a_shape, a_is_real, s, axes, norm), None, None, None

    return y, pullback


# The order of the frequencies, and the frequencies themselves


@rrule(np.fft.fftshift, result="fresh", kind="like", linear=("x",))
def fftshift(x, axes=None):
    y = np.fft.fftshift(x, axes)

    def pullback(y_bar):
        return np.fft.ifftshift(y_bar, axes), None

    return y, pullback


@rrule(np.fft.ifftshift, result="fresh", kind="like", linear=("x",))
def ifftshift(x, axes=None):
    y = np.fft.ifftshift(x, axes)

    def pullback(y_bar):
        return np.fft.fftshift(y_bar, axes), None

    return y, pullback


@rrule(np.fft.fftfreq, result="fresh", kind="array1")
def fftfreq(n, d=1.0, device=None):
    y = np.fft.fftfreq(n, d, device)
    d_shape = shape(d)

    def pullback(y_bar):
        return None, fit(y_bar * conj(-y / d), d_shape), None

    return y, pullback


@rrule(np.fft.rfftfreq, result="fresh", kind="array1")
def rfftfreq(n, d=1.0, device=None):
    y = np.fft.rfftfreq(n, d, device)
    d_shape = shape(d)

    def pullback(y_bar):
        return None, fit(y_bar * conj(-y / d), d_shape), None

    return y, pullback
