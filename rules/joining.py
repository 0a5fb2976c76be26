"""Rules for functions that join arrays, or put elements into one."""

from typing import Any

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.blocks import block_bar, block_layout, concatenator_bar, concatenator_marks
from adcompiler.runtime.facts import is_static
from adcompiler.runtime.layout import cast_bar, layout, separate
from adcompiler.runtime.repeating import insert_marks, inserted_bar, kept_bar
from adcompiler.runtime.shapes import ndim
from adcompiler.runtime.shapes import shape as shape_of

CONCATENATOR: Any = type(np.r_).__bases__[0]
ROW_STACK = [np.row_stack] if hasattr(np, "row_stack") else []  # the older name of vstack

# Arrays joined along an axis


@rrule(np.concatenate, result="fresh", kind="concatenate", linear=("arrays",))
def concatenate(arrays, axis=0, *, dtype=None, casting="same_kind"):
    y = np.concatenate(arrays, axis, dtype=dtype, casting=casting)
    parts = layout(arrays)
    y_dtype = y.dtype

    def pullback(y_bar):
        if dtype is None:
            arrays_bar = separate(y_bar, parts, axis)
        else:
            arrays_bar = separate(cast_bar(y_bar, y_dtype), parts, axis)
        return arrays_bar, None, None, None

    return y, pullback


@rrule(np.stack, result="fresh", kind="stack", linear=("arrays",))
def stack(arrays, axis=0, *, dtype=None, casting="same_kind"):
    y = np.stack(arrays, axis, dtype=dtype, casting=casting)
    y_dtype = y.dtype

    def pullback(y_bar):
        if axis == 0 and dtype is None:
            arrays_bar = y_bar
        elif dtype is None:
            arrays_bar = np.moveaxis(y_bar, axis, 0)
        else:
            arrays_bar = np.moveaxis(cast_bar(y_bar, y_dtype), axis, 0)
        return arrays_bar, None, None, None

    return y, pullback


@rrule(np.vstack, *ROW_STACK, result="fresh", kind="array", linear=("tup",))
def vstack(tup, *, dtype=None, casting="same_kind"):
    y = np.vstack(tup, dtype=dtype, casting=casting)
    parts = layout(tup)
    y_dtype = y.dtype

    def pullback(y_bar):
        if dtype is None:
            tup_bar = separate(y_bar, parts, 0)
        else:
            tup_bar = separate(cast_bar(y_bar, y_dtype), parts, 0)
        return tup_bar, None, None

    return y, pullback


@rrule(np.hstack, result="fresh", kind="array", linear=("tup",))
def hstack(tup, *, dtype=None, casting="same_kind"):
    y = np.hstack(tup, dtype=dtype, casting=casting)
    parts = layout(tup)
    y_dtype = y.dtype
    axis = min(ndim(y) - 1, 1)

    def pullback(y_bar):
        if dtype is None:
            tup_bar = separate(y_bar, parts, axis)
        else:
            tup_bar = separate(cast_bar(y_bar, y_dtype), parts, axis)
        return tup_bar, None, None

    return y, pullback


@rrule(np.column_stack, result="fresh", kind="array", linear=("tup",))
def column_stack(tup):
    y = np.column_stack(tup)
    parts = layout(tup)

    def pullback(y_bar):
        return (separate(y_bar, parts, 1),)

    return y, pullback


@rrule(np.dstack, result="fresh", kind="array", linear=("tup",))
def dstack(tup):
    y = np.dstack(tup)
    parts = layout(tup)

    def pullback(y_bar):
        return (separate(y_bar, parts, 2),)

    return y, pullback


@rrule(np.append, result="fresh", kind="array", linear=("arr", "values"))
def append(arr, values, axis=None):
    y = np.append(arr, values, axis)
    parts = layout((arr, values))

    def pullback(y_bar):
        return separate(y_bar, parts, axis)[0], separate(y_bar, parts, axis)[1], None

    return y, pullback


# Arrays joined along several axes


@rrule(np.block, result="fresh", kind="array", linear=("arrays",))
def block(arrays):
    y = np.block(arrays)
    parts = block_layout(arrays)

    def pullback(y_bar):
        return (block_bar(y_bar, parts),)

    return y, pullback


@rrule(CONCATENATOR.__getitem__, result="fresh", kind="array", accepts=(CONCATENATOR,))
def concatenator(self, key):
    """``np.r_[...]`` and ``np.c_[...]``. Opaque: texts in front say along which axis, and slices stand for ranges."""
    y = self[key]
    if isinstance(y, np.matrix):
        return NotImplemented
    marks = concatenator_marks(self, key)

    def pullback(y_bar):
        return None, concatenator_bar(y_bar, marks)

    return y, pullback


# Elements put between others


@rrule(np.insert, result="fresh", kind="array", flat=("obj",), linear=("arr", "values"))
def insert(arr, obj, values, axis=None):
    y = np.insert(arr, obj, values, axis)
    arr_shape, values_shape = shape_of(arr), shape_of(values)
    marks = insert_marks(arr_shape, obj, values_shape, axis)
    y_dtype = y.dtype

    def pullback(y_bar):
        joined_bar = cast_bar(y_bar, y_dtype)
        if is_static(values):
            values_bar = None
        else:
            values_bar = inserted_bar(joined_bar, marks, values_shape)
        return kept_bar(joined_bar, marks, arr_shape), None, values_bar, None

    return y, pullback
