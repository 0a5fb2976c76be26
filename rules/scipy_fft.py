"""Rules for scipy.fft: the transforms that `numpy.fft` has too, and the cosine and sine transforms.

All are linear: the pullback is the adjoint (see `adcompiler.runtime.fourier` and `adcompiler.runtime.cosines`). Plans,
and `overwrite_x`, are not taken.
"""

import numpy as np
from scipy import fft

from adcompiler.rules.registry import non_differentiable, refused, rrule
from adcompiler.runtime.cosines import INVERSE_TYPE, OTHER_NORM, transform_bar
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
from adcompiler.runtime.shapes import shape

non_differentiable(fft.next_fast_len, fft.prev_fast_len, kind="int")
refused(
    fft.hfft2,
    fft.hfftn,
    fft.ihfft2,
    fft.ihfftn,
    fft.fht,
    fft.ifht,
    why="It has no rule here.\nUse hfft along one axis, or fftn.",
)

# One axis


@rrule(fft.fft, kind="same_rank_complex")
def fft_rule(x, n=None, axis=-1, norm=None, *, workers=None):
    y = fft.fft(x, n, axis, norm, workers=workers)
    return y, lambda y_bar: (fft_bar(y_bar, shape(x), axis, norm), None, None, None, None)


@rrule(fft.ifft, kind="same_rank_complex")
def ifft(x, n=None, axis=-1, norm=None, *, workers=None):
    y = fft.ifft(x, n, axis, norm, workers=workers)
    return y, lambda y_bar: (ifft_bar(y_bar, shape(x), axis, norm), None, None, None, None)


@rrule(fft.rfft, kind="same_rank_complex")
def rfft(x, n=None, axis=-1, norm=None, *, workers=None):
    y = fft.rfft(x, n, axis, norm, workers=workers)
    return y, lambda y_bar: (rfft_bar(y_bar, shape(x), n, axis, norm), None, None, None, None)


@rrule(fft.irfft, kind="same_rank_real")
def irfft(x, n=None, axis=-1, norm=None, *, workers=None):
    y = fft.irfft(x, n, axis, norm, workers=workers)
    return y, lambda y_bar: (irfft_bar(y_bar, shape(x), np.isrealobj(x), axis, norm), None, None, None, None)


@rrule(fft.hfft, kind="same_rank_real")
def hfft(x, n=None, axis=-1, norm=None, *, workers=None):
    y = fft.hfft(x, n, axis, norm, workers=workers)
    return y, lambda y_bar: (hfft_bar(y_bar, shape(x), np.isrealobj(x), axis, norm), None, None, None, None)


@rrule(fft.ihfft, kind="same_rank_complex")
def ihfft(x, n=None, axis=-1, norm=None, *, workers=None):
    y = fft.ihfft(x, n, axis, norm, workers=workers)
    return y, lambda y_bar: (ihfft_bar(y_bar, shape(x), n, axis, norm), None, None, None, None)


# Several axes


@rrule(fft.fftn, kind="same_rank_complex")
def fftn(x, s=None, axes=None, norm=None, *, workers=None):
    y = fft.fftn(x, s, axes, norm, workers=workers)
    return y, lambda y_bar: (fftn_bar(y_bar, shape(x), s, axes, norm), None, None, None, None)


@rrule(fft.fft2, kind="same_rank_complex")
def fft2(x, s=None, axes=(-2, -1), norm=None, *, workers=None):
    y = fft.fft2(x, s, axes, norm, workers=workers)
    return y, lambda y_bar: (fftn_bar(y_bar, shape(x), s, axes, norm), None, None, None, None)


@rrule(fft.ifftn, kind="same_rank_complex")
def ifftn(x, s=None, axes=None, norm=None, *, workers=None):
    y = fft.ifftn(x, s, axes, norm, workers=workers)
    return y, lambda y_bar: (ifftn_bar(y_bar, shape(x), s, axes, norm), None, None, None, None)


@rrule(fft.ifft2, kind="same_rank_complex")
def ifft2(x, s=None, axes=(-2, -1), norm=None, *, workers=None):
    y = fft.ifft2(x, s, axes, norm, workers=workers)
    return y, lambda y_bar: (ifftn_bar(y_bar, shape(x), s, axes, norm), None, None, None, None)


@rrule(fft.rfftn, kind="same_rank_complex")
def rfftn(x, s=None, axes=None, norm=None, *, workers=None):
    y = fft.rfftn(x, s, axes, norm, workers=workers)
    return y, lambda y_bar: (rfftn_bar(y_bar, shape(x), s, axes, norm), None, None, None, None)


@rrule(fft.rfft2, kind="same_rank_complex")
def rfft2(x, s=None, axes=(-2, -1), norm=None, *, workers=None):
    y = fft.rfft2(x, s, axes, norm, workers=workers)
    return y, lambda y_bar: (rfftn_bar(y_bar, shape(x), s, axes, norm), None, None, None, None)


@rrule(fft.irfftn, kind="same_rank_real")
def irfftn(x, s=None, axes=None, norm=None, *, workers=None):
    y = fft.irfftn(x, s, axes, norm, workers=workers)
    return y, lambda y_bar: (irfftn_bar(y_bar, shape(x), np.isrealobj(x), s, axes, norm), None, None, None, None)


@rrule(fft.irfft2, kind="same_rank_real")
def irfft2(x, s=None, axes=(-2, -1), norm=None, *, workers=None):
    y = fft.irfft2(x, s, axes, norm, workers=workers)
    return y, lambda y_bar: (irfftn_bar(y_bar, shape(x), np.isrealobj(x), s, axes, norm), None, None, None, None)


# Cosine and sine transforms


def along_axis(function, transform, x, type, n, axis, norm, workers, orthogonalize, inverse, cosine):
    """The rule of a transform along one axis; an inverse one is that of the inverse type with the other norm."""
    if orthogonalize is not None and orthogonalize != (norm == "ortho"):
        return NotImplemented
    y = function(x, type, n, axis, norm, workers=workers)
    kind, norm = (INVERSE_TYPE[type], OTHER_NORM[norm]) if inverse else (type, norm)
    back = (transform, shape(x), kind, axis, norm)
    return y, lambda y_bar: (transform_bar(back[0], y_bar, *back[1:], cosine), *(None,) * 6)


@rrule(fft.dct, result="fresh", kind="array")
def dct(x, type=2, n=None, axis=-1, norm=None, *, workers=None, orthogonalize=None):
    return along_axis(fft.dct, fft.dct, x, type, n, axis, norm, workers, orthogonalize, False, True)


@rrule(fft.idct, result="fresh", kind="array")
def idct(x, type=2, n=None, axis=-1, norm=None, *, workers=None, orthogonalize=None):
    return along_axis(fft.idct, fft.dct, x, type, n, axis, norm, workers, orthogonalize, True, True)


@rrule(fft.dst, result="fresh", kind="array")
def dst(x, type=2, n=None, axis=-1, norm=None, *, workers=None, orthogonalize=None):
    return along_axis(fft.dst, fft.dst, x, type, n, axis, norm, workers, orthogonalize, False, False)


@rrule(fft.idst, result="fresh", kind="array")
def idst(x, type=2, n=None, axis=-1, norm=None, *, workers=None, orthogonalize=None):
    return along_axis(fft.idst, fft.dst, x, type, n, axis, norm, workers, orthogonalize, True, False)


def along_axes(function, transform, x, type, s, axes, norm, workers, orthogonalize, inverse, cosine):
    """The rule of a transform along several axes, one after the other; lengths that are given are not taken."""
    if s is not None or (orthogonalize is not None and orthogonalize != (norm == "ortho")):
        return NotImplemented
    y = function(x, type, s, axes, norm, workers=workers)
    kind, norm = (INVERSE_TYPE[type], OTHER_NORM[norm]) if inverse else (type, norm)
    chosen = range(np.ndim(x)) if axes is None else np.atleast_1d(axes).tolist()

    def pullback(y_bar):
        for axis in chosen:
            y_bar = transform_bar(transform, y_bar, shape(x), kind, axis, norm, cosine)
        return y_bar, *(None,) * 6

    return y, pullback


@rrule(fft.dctn, result="fresh", kind="array")
def dctn(x, type=2, s=None, axes=None, norm=None, *, workers=None, orthogonalize=None):
    return along_axes(fft.dctn, fft.dct, x, type, s, axes, norm, workers, orthogonalize, False, True)


@rrule(fft.idctn, result="fresh", kind="array")
def idctn(x, type=2, s=None, axes=None, norm=None, *, workers=None, orthogonalize=None):
    return along_axes(fft.idctn, fft.dct, x, type, s, axes, norm, workers, orthogonalize, True, True)


@rrule(fft.dstn, result="fresh", kind="array")
def dstn(x, type=2, s=None, axes=None, norm=None, *, workers=None, orthogonalize=None):
    return along_axes(fft.dstn, fft.dst, x, type, s, axes, norm, workers, orthogonalize, False, False)


@rrule(fft.idstn, result="fresh", kind="array")
def idstn(x, type=2, s=None, axes=None, norm=None, *, workers=None, orthogonalize=None):
    return along_axes(fft.idstn, fft.dst, x, type, s, axes, norm, workers, orthogonalize, True, False)
