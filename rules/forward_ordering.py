"""Forward rules of functions that put elements in order or leave out some by their values: the tangents move along."""

import numpy as np

from adcompiler.rules.forward import frule
from adcompiler.runtime.conversion import set_only
from adcompiler.runtime.ordering import difference_places, first_places, partition_order, trim_starts, unique_places
from adcompiler.runtime.shapes import shape


def in_order(dot, order, axis):
    """The elements in an order that `np.argsort` gave."""
    if axis is None:
        return np.ravel(dot)[order]
    return np.take_along_axis(dot, order, axis)


@frule(np.sort)
def sort(tangents, a, axis=-1, kind=None, *, stable=None):
    y = np.sort(a, axis, kind, stable=stable)
    if stable is None:
        order = np.argsort(a, axis, kind)
    else:
        order = np.argsort(a, axis, kind, stable=stable)
    return y, in_order(tangents[0], order, axis)


@frule(np.sort_complex)
def sort_complex(tangents, a):
    y = np.sort_complex(a)
    return y, in_order(tangents[0], np.argsort(a, -1), -1)


@frule(np.partition)
def partition(tangents, a, kth, axis=-1, kind="introselect"):
    y = np.partition(a, kth, axis, kind)
    return y, in_order(tangents[0], partition_order(a, y, axis), axis)


@frule(np.unique)
def unique(tangents, ar, axis=None, *, equal_nan=True):
    y = np.unique(ar, axis=axis, equal_nan=equal_nan)
    return y, np.take(tangents[0], unique_places(ar, y, axis), axis)


@frule(np.unique)
def unique_with_counts(
    tangents,
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    sorted=True,
):
    if axis is not None and not sorted:
        return NotImplemented
    unsorted = set_only(sorted=None if sorted else False)
    y = np.unique(ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan, **unsorted)
    if isinstance(y, tuple):
        moved = np.take(tangents[0], unique_places(ar, y[0], axis), axis)
        return y, (moved, *(None for _ in y[1:]))
    return y, np.take(tangents[0], unique_places(ar, y, axis), axis)


@frule(np.unique_values)
def unique_values(tangents, x):
    y = np.unique_values(x)
    return y, np.take(tangents[0], unique_places(x, y, None))


@frule(np.unique_all)
def unique_all(tangents, x):
    y = np.unique_all(x)
    return y, (np.take(tangents[0], unique_places(x, y.values, None)), None, None, None)


@frule(np.unique_counts)
def unique_counts(tangents, x):
    y = np.unique_counts(x)
    return y, (np.take(tangents[0], unique_places(x, y.values, None)), None)


@frule(np.unique_inverse)
def unique_inverse(tangents, x):
    y = np.unique_inverse(x)
    return y, (np.take(tangents[0], unique_places(x, y.values, None)), None)


def both(tangents, ar1, ar2):
    """The tangents of two arrays one behind the other, with zeros for the one that has none."""
    if tangents[0] is None:
        return np.append(np.zeros_like(ar1), tangents[1])
    if tangents[1] is None:
        return np.append(tangents[0], np.zeros_like(ar2))
    return np.append(tangents[0], tangents[1])


@frule(np.union1d)
def union1d(tangents, ar1, ar2):
    y = np.union1d(ar1, ar2)
    return y, both(tangents, ar1, ar2)[first_places(np.append(ar1, ar2), y)]


@frule(np.setxor1d)
def setxor1d(tangents, ar1, ar2, assume_unique=False):
    y = np.setxor1d(ar1, ar2, assume_unique)
    return y, both(tangents, ar1, ar2)[first_places(np.append(ar1, ar2), y)]


@frule(np.setdiff1d)
def setdiff1d(tangents, ar1, ar2, assume_unique=False):
    y = np.setdiff1d(ar1, ar2, assume_unique)
    return y, np.ravel(tangents[0])[difference_places(ar1, ar2, y, assume_unique)]


@frule(np.trim_zeros)
def trim_zeros(tangents, filt, trim="fb", axis=None):
    if isinstance(filt, list | tuple):
        return NotImplemented
    y = np.trim_zeros(filt, trim, **set_only(axis=axis))
    starts = trim_starts(filt, shape(y), trim)
    kept = tuple(slice(start, start + n) for start, n in zip(starts, shape(y), strict=True))
    return y, tangents[0][kept]
