"""Rules for reading elements of arrays, and for choosing them from several."""

import operator

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.choices import choice_bars, chosen_positions
from adcompiler.runtime.conversion import varies
from adcompiler.runtime.layout import layout
from adcompiler.runtime.ordering import placed, take_along_axis_bar, take_bar
from adcompiler.runtime.scatter import scatter
from adcompiler.runtime.shapes import shape

# Elements at an index


@rrule(operator.getitem, np.ndarray.__getitem__, kind="getitem", linear=("a",))
def getitem(a, index):
    y = a[index]
    a_shape = shape(a)

    def pullback(y_bar):
        return scatter(y_bar, index, a_shape), None

    return y, pullback


@rrule(np.take, np.ndarray.take, result="fresh", flat=("indices",), linear=("a",))
def take(a, indices, axis=None, *, mode="raise"):
    y = np.take(a, indices, axis, mode=mode)
    a_shape = shape(a)

    def pullback(y_bar):
        if mode == "raise":
            a_bar = take_bar(y_bar, indices, a_shape, axis)
        else:
            a_bar = take_bar(y_bar, indices, a_shape, axis, mode)
        return a_bar, None, None, None

    return y, pullback


@rrule(np.take_along_axis, result="fresh", kind="array", flat=("indices",), linear=("arr",))
def take_along_axis(arr, indices, axis=-1):
    y = np.take_along_axis(arr, indices, axis)
    arr_shape = shape(arr)

    def pullback(y_bar):
        return take_along_axis_bar(y_bar, indices, arr_shape, axis), None, None

    return y, pullback


@rrule(np.compress, result="fresh", kind="array", flat=("condition",), linear=("a",))
def compress(condition, a, axis=None):
    y = np.compress(condition, a, axis)
    a_shape = shape(a)

    def pullback(y_bar):
        return None, take_bar(y_bar, np.flatnonzero(condition), a_shape, axis), None

    return y, pullback


@rrule(np.ndarray.compress, result="fresh", kind="array", flat=("condition",), linear=("a",))
def compress_method(a, condition, axis=None):
    y = a.compress(condition, axis)
    a_shape = shape(a)

    def pullback(y_bar):
        return take_bar(y_bar, np.flatnonzero(condition), a_shape, axis), None, None

    return y, pullback


@rrule(np.extract, result="fresh", kind="array1", flat=("condition",), linear=("arr",))
def extract(condition, arr):
    y = np.extract(condition, arr)
    arr_shape = shape(arr)

    def pullback(y_bar):
        return None, take_bar(y_bar, np.flatnonzero(condition), arr_shape, None)

    return y, pullback


# Elements of several arrays


@rrule(np.choose, np.ndarray.choose, result="fresh", kind="array", flat=("a",), linear=("choices",))
def choose(a, choices, *, mode="raise"):
    y = np.choose(a, choices, mode=mode)
    given = layout(choices)

    def pullback(y_bar):
        return None, choice_bars(y_bar, placed(a, len(given[1]), mode), given), None

    return y, pullback


@rrule(np.select, result="fresh", kind="array", flat=("condlist",), linear=("choicelist", "default"))
def select(condlist, choicelist, default=0):
    y = np.select(condlist, choicelist, default)
    given = layout(choicelist)
    last = layout([default])
    chosen = chosen_positions(condlist)
    default_varies = varies(default)

    def pullback(y_bar):
        default_bar = choice_bars(y_bar, chosen - len(given[1]), last)[0] if default_varies else None
        return None, choice_bars(y_bar, chosen, given), default_bar

    return y, pullback
