"""Rules for the filters of scipy.ndimage whose values are some of the image's: equal ones share the cotangent."""

import numpy as np
from scipy import ndimage

from adcompiler.rules.registry import rrule
from adcompiler.runtime.constants import require_constant
from adcompiler.runtime.sampling import chosen_bar, per_axis
from adcompiler.runtime.stencils import extended, origins_along, widths_of


def windows(x, size, footprint, mode, origin):
    """The flat places of the elements of each window."""
    rank = x.ndim
    kept = np.ones(per_axis(size, rank), bool) if footprint is None else np.asarray(footprint, bool)
    places = np.arange(x.size).reshape(x.shape)
    widths = widths_of(kept.shape, per_axis(origin, rank))
    outer = extended(places, widths, per_axis(mode, rank), -1)
    return np.lib.stride_tricks.sliding_window_view(outer, kept.shape)[..., kept]


def ranked(y, x, size, footprint, mode, cval, origin):
    """The rule of a filter whose values are some of the image's."""
    if np.iscomplexobj(x):
        return NotImplemented

    def pullback(y_bar):
        if not y_bar.size:
            return y_bar
        image = np.asarray(x)
        return chosen_bar(y_bar, y, image, windows(image, size, footprint, mode, origin), cval)

    return y, pullback


def line_footprint(size, axis, rank):
    """The footprint of a window along one axis."""
    return np.ones([size if i == axis % rank else 1 for i in range(rank)], bool)


@rrule(ndimage.median_filter, result="fresh", kind="like")
def median_filter(input, size=None, footprint=None, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[4], cval, "cval", "median_filter")
    y = ndimage.median_filter(input, size, footprint, mode=mode, cval=cval, origin=origin)
    y, back = ranked(y, input, size, footprint, mode, cval, origin)
    return y, lambda y_bar: (back(y_bar), *(None,) * 5)


@rrule(ndimage.maximum_filter, result="fresh", kind="like")
def maximum_filter(input, size=None, footprint=None, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[4], cval, "cval", "maximum_filter")
    y = ndimage.maximum_filter(input, size, footprint, mode=mode, cval=cval, origin=origin)
    y, back = ranked(y, input, size, footprint, mode, cval, origin)
    return y, lambda y_bar: (back(y_bar), *(None,) * 5)


@rrule(ndimage.minimum_filter, result="fresh", kind="like")
def minimum_filter(input, size=None, footprint=None, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[4], cval, "cval", "minimum_filter")
    y = ndimage.minimum_filter(input, size, footprint, mode=mode, cval=cval, origin=origin)
    y, back = ranked(y, input, size, footprint, mode, cval, origin)
    return y, lambda y_bar: (back(y_bar), *(None,) * 5)


@rrule(ndimage.maximum_filter1d, result="fresh", kind="like")
def maximum_filter1d(input, size, axis=-1, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[4], cval, "cval", "maximum_filter1d")
    y = ndimage.maximum_filter1d(input, size, axis, mode=mode, cval=cval, origin=origin)
    rank = np.ndim(input)
    footprint, origins = line_footprint(size, axis, rank), origins_along(origin, axis, rank)
    y, back = ranked(y, input, None, footprint, mode, cval, origins)
    return y, lambda y_bar: (back(y_bar), *(None,) * 5)


@rrule(ndimage.minimum_filter1d, result="fresh", kind="like")
def minimum_filter1d(input, size, axis=-1, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[4], cval, "cval", "minimum_filter1d")
    y = ndimage.minimum_filter1d(input, size, axis, mode=mode, cval=cval, origin=origin)
    rank = np.ndim(input)
    footprint, origins = line_footprint(size, axis, rank), origins_along(origin, axis, rank)
    y, back = ranked(y, input, None, footprint, mode, cval, origins)
    return y, lambda y_bar: (back(y_bar), *(None,) * 5)


@rrule(ndimage.rank_filter, result="fresh", kind="like")
def rank_filter(input, rank, size=None, footprint=None, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[5], cval, "cval", "rank_filter")
    y = ndimage.rank_filter(input, rank, size, footprint, mode=mode, cval=cval, origin=origin)
    y, back = ranked(y, input, size, footprint, mode, cval, origin)
    return y, lambda y_bar: (back(y_bar), *(None,) * 6)


@rrule(ndimage.percentile_filter, result="fresh", kind="like", flat=("percentile",))
def percentile_filter(input, percentile, size=None, footprint=None, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[5], cval, "cval", "percentile_filter")
    y = ndimage.percentile_filter(input, percentile, size, footprint, mode=mode, cval=cval, origin=origin)
    y, back = ranked(y, input, size, footprint, mode, cval, origin)
    return y, lambda y_bar: (back(y_bar), *(None,) * 6)
