"""Rules for reading elements of arrays, and for putting them in order."""

import operator

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.arrays import home_of
from adcompiler.runtime.layout import collect, diagonal_bar, layout
from adcompiler.runtime.ordering import item_bar, partition_order, take_along_axis_bar, take_bar
from adcompiler.runtime.scatter import scatter
from adcompiler.runtime.shapes import fit, shape

# Elements at an index


@rrule(operator.getitem, np.ndarray.__getitem__, kind="getitem")
def getitem(a, index):
    y = a[index]
    a_shape = shape(a)

    def pullback(y_bar):
        return scatter(y_bar, index, a_shape), None

    return y, pullback


@rrule(np.take, np.ndarray.take, result="fresh")
def take(a, indices, axis=None):
    y = np.take(a, indices, axis)
    a_shape = shape(a)

    def pullback(y_bar):
        return take_bar(y_bar, indices, a_shape, axis), None, None

    return y, pullback


@rrule(np.take_along_axis, result="fresh", kind="array")
def take_along_axis(arr, indices, axis=-1):
    y = np.take_along_axis(arr, indices, axis)
    arr_shape = shape(arr)

    def pullback(y_bar):
        return take_along_axis_bar(y_bar, indices, arr_shape, axis), None, None

    return y, pullback


@rrule(np.compress, result="fresh", kind="array", flat=("condition",))
def compress(condition, a, axis=None):
    y = np.compress(condition, a, axis)
    a_shape = shape(a)

    def pullback(y_bar):
        return None, take_bar(y_bar, np.flatnonzero(condition), a_shape, axis), None

    return y, pullback


@rrule(np.ndarray.compress, result="fresh", kind="array", flat=("condition",))
def compress_method(a, condition, axis=None):
    y = a.compress(condition, axis)
    a_shape = shape(a)

    def pullback(y_bar):
        return take_bar(y_bar, np.flatnonzero(condition), a_shape, axis), None, None

    return y, pullback


@rrule(np.extract, result="fresh", kind="array1", flat=("condition",))
def extract(condition, arr):
    y = np.extract(condition, arr)
    arr_shape = shape(arr)

    def pullback(y_bar):
        return None, take_bar(y_bar, np.flatnonzero(condition), arr_shape, None)

    return y, pullback


@rrule(np.ndarray.item, kind="scalar")
def item(a, *args):
    y = a.item(*args)
    a_shape = shape(a)
    a_dtype, home = a.dtype, home_of(a)

    def pullback(y_bar):
        return item_bar(y_bar, args, a_shape, a_dtype, home), None

    return y, pullback


@rrule(np.diagonal, np.ndarray.diagonal, result="view", kind="array")
def diagonal(a, offset=0, axis1=0, axis2=1):
    y = np.diagonal(a, offset, axis1, axis2)
    a_shape = shape(a)

    def pullback(y_bar):
        return diagonal_bar(y_bar, a_shape, offset, axis1, axis2), None, None, None

    return y, pullback


# Elements in order. Equal elements may change places, so the cotangents of ties are those of one such order.


@rrule(np.sort, result="fresh", kind="array")
def sort(a, axis=-1, kind=None):
    y = np.sort(a, axis, kind)
    a_shape = shape(a)
    order = np.argsort(a, axis, kind)

    def pullback(y_bar):
        return take_along_axis_bar(y_bar, order, a_shape, axis), None, None

    return y, pullback


@rrule(np.partition, result="fresh", kind="array")
def partition(a, kth, axis=-1):
    y = np.partition(a, kth, axis)
    a_shape = shape(a)
    order = partition_order(a, y, axis)

    def pullback(y_bar):
        return take_along_axis_bar(y_bar, order, a_shape, axis), None, None

    return y, pullback


# Elements of several arrays


@rrule(np.choose, result="fresh", kind="array")
def choose(a, choices):
    """Opaque: there are as many choices as the list has."""
    y = np.choose(a, choices)
    container, shapes = layout(choices)

    def pullback(y_bar):
        bars = [fit(np.where(np.equal(a, i), y_bar, 0), shapes[i]) for i in range(len(shapes))]
        return None, collect(bars, container)

    return y, pullback


@rrule(np.select, result="fresh", kind="array")
def select(condlist, choicelist, default=0):
    """Opaque: there are as many choices as the lists have."""
    y = np.select(condlist, choicelist, default)
    shapes = [*map(shape, choicelist), shape(default)]
    chosen = np.select(condlist, list(range(len(choicelist))), len(choicelist))
    default_varies = np.asarray(default).dtype.kind in "fc"

    def pullback(y_bar):
        bars = [fit(np.where(chosen == i, y_bar, 0), shapes[i]) for i in range(len(shapes))]
        return None, bars[:-1], bars[-1] if default_varies else None

    return y, pullback
