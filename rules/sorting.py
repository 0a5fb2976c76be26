"""Rules for functions that put elements in order, or leave out some of them by their values.

Equal elements may change places, so the cotangents of ties are those of one such order; of equal elements that become
one, the first has the cotangent.
"""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.conversion import set_only
from adcompiler.runtime.layout import reshape
from adcompiler.runtime.ordering import (
    difference_places,
    first_places,
    ordered_bar,
    partition_order,
    take_bar,
    trim_starts,
    trimmed_bar,
    unique_places,
)
from adcompiler.runtime.shapes import shape

# In order


@rrule(np.sort, result="fresh", kind="array")
def sort(a, axis=-1, kind=None, *, stable=None):
    y = np.sort(a, axis, kind, stable=stable)
    a_shape = shape(a)
    order = np.argsort(a, axis, kind, stable=stable)

    def pullback(y_bar):
        return ordered_bar(y_bar, order, a_shape, axis), None, None, None

    return y, pullback


@rrule(np.sort_complex, result="fresh", kind="elementwise_complex")
def sort_complex(a):
    y = np.sort_complex(a)
    a_shape = shape(a)
    order = np.argsort(a, -1)

    def pullback(y_bar):
        return (ordered_bar(y_bar, order, a_shape, -1),)

    return y, pullback


@rrule(np.partition, result="fresh", kind="array", flat=("kth",))
def partition(a, kth, axis=-1, kind="introselect"):
    y = np.partition(a, kth, axis, kind)
    a_shape = shape(a)
    order = partition_order(a, y, axis)

    def pullback(y_bar):
        return ordered_bar(y_bar, order, a_shape, axis), None, None, None

    return y, pullback


# Without repetitions


@rrule(np.unique, result="fresh", kind="array")
def unique(ar, axis=None, *, equal_nan=True):
    y = np.unique(ar, axis=axis, equal_nan=equal_nan)
    ar_shape = shape(ar)
    places = unique_places(ar, y, axis)

    def pullback(y_bar):
        return take_bar(y_bar, places, ar_shape, axis), None, None

    return y, pullback


@rrule(np.unique, result="fresh", kind="unknown", general=True)
def unique_with_counts(
    ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True
):
    """Opaque: a tuple if there is more than the values, and `sorted` is a parameter in newer versions only."""
    if axis is not None and not sorted:
        return NotImplemented
    unsorted = set_only(sorted=None if sorted else False)
    y = np.unique(ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan, **unsorted)
    ar_shape = shape(ar)
    several = isinstance(y, tuple)
    places = unique_places(ar, y[0] if several else y, axis)

    def pullback(y_bar):
        values_bar = y_bar[0] if several else y_bar
        ar_bar = None if values_bar is None else take_bar(values_bar, places, ar_shape, axis)
        return ar_bar, None, None, None, None, None, None

    return y, pullback


@rrule(np.unique_values, result="fresh", kind="array1")
def unique_values(x):
    y = np.unique_values(x)
    x_shape = shape(x)
    places = unique_places(x, y, None)

    def pullback(y_bar):
        return (take_bar(y_bar, places, x_shape, None),)

    return y, pullback


@rrule(np.unique_all, result="fresh", kind="unknown")
def unique_all(x):
    y = np.unique_all(x)
    x_shape = shape(x)
    places = unique_places(x, y.values, None)

    def pullback(y_bar):
        return (None if y_bar[0] is None else take_bar(y_bar[0], places, x_shape, None),)

    return y, pullback


@rrule(np.unique_counts, result="fresh", kind="unknown")
def unique_counts(x):
    y = np.unique_counts(x)
    x_shape = shape(x)
    places = unique_places(x, y.values, None)

    def pullback(y_bar):
        return (None if y_bar[0] is None else take_bar(y_bar[0], places, x_shape, None),)

    return y, pullback


@rrule(np.unique_inverse, result="fresh", kind="unknown")
def unique_inverse(x):
    y = np.unique_inverse(x)
    x_shape = shape(x)
    places = unique_places(x, y.values, None)

    def pullback(y_bar):
        return (None if y_bar[0] is None else take_bar(y_bar[0], places, x_shape, None),)

    return y, pullback


# Sets, whose members come from one argument or the other


@rrule(np.union1d, result="fresh", kind="array1")
def union1d(ar1, ar2):
    y = np.union1d(ar1, ar2)
    shape1, shape2 = shape(ar1), shape(ar2)
    places = first_places(np.append(ar1, ar2), y)
    count, total = np.size(ar1), np.size(ar1) + np.size(ar2)

    def pullback(y_bar):
        both = take_bar(y_bar, places, (total,), 0)
        return reshape(both[:count], shape1), reshape(both[count:], shape2)

    return y, pullback


@rrule(np.setdiff1d, result="same", kind="array1", flat=("ar2",))
def setdiff1d(ar1, ar2, assume_unique=False):
    y = np.setdiff1d(ar1, ar2, assume_unique)
    ar1_shape = shape(ar1)
    places = difference_places(ar1, ar2, y, assume_unique)

    def pullback(y_bar):
        return take_bar(y_bar, places, ar1_shape, None), None, None

    return y, pullback


@rrule(np.setxor1d, result="fresh", kind="array1")
def setxor1d(ar1, ar2, assume_unique=False):
    y = np.setxor1d(ar1, ar2, assume_unique)
    shape1, shape2 = shape(ar1), shape(ar2)
    places = first_places(np.append(ar1, ar2), y)
    count, total = np.size(ar1), np.size(ar1) + np.size(ar2)

    def pullback(y_bar):
        both = take_bar(y_bar, places, (total,), 0)
        return reshape(both[:count], shape1), reshape(both[count:], shape2), None

    return y, pullback


# Without the zeros around


@rrule(np.trim_zeros, result="view", kind="transpose")
def trim_zeros(filt, trim="fb", axis=None):
    """Opaque: `axis` is a parameter in newer versions only, and of a list the result is a list."""
    if isinstance(filt, list | tuple):
        return NotImplemented
    y = np.trim_zeros(filt, trim, **set_only(axis=axis))
    filt_shape = shape(filt)
    starts = trim_starts(filt, shape(y), trim)

    def pullback(y_bar):
        return trimmed_bar(y_bar, filt_shape, starts), None, None

    return y, pullback
