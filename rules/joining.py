"""Rules for functions that join, split, repeat, pad or copy arrays, or make one of nested lists."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.layout import (
    assemble,
    cast_bar,
    gather_bar,
    layout,
    meshgrid_bars,
    positions_of,
    repeat_bar,
    reshape,
    separate,
    shapes_of,
    tile_bar,
    unpad,
)
from adcompiler.runtime.shapes import fit, ndim
from adcompiler.runtime.shapes import shape as shape_of

# Arrays of the elements of others. The cotangent of nested lists is an array: to iterate over it gives their
# elements' cotangents.


@rrule(np.array, result="fresh", kind="array")
def array(object, dtype=None, *, order="K", ndmin=0):
    y = np.array(object, dtype=dtype, order=order, ndmin=ndmin)
    object_shape = shape_of(object)
    y_dtype = y.dtype

    def pullback(y_bar):
        if ndmin == 0 and dtype is None:
            object_bar = y_bar
        else:
            object_bar = cast_bar(reshape(y_bar, object_shape), y_dtype)
        return object_bar, None, None, None

    return y, pullback


@rrule(np.asarray, np.asanyarray, result="same", kind="array")
def asarray(a, dtype=None):
    y = np.asarray(a, dtype=dtype)
    y_dtype = y.dtype

    def pullback(y_bar):
        if dtype is None:
            a_bar = y_bar
        else:
            a_bar = cast_bar(y_bar, y_dtype)
        return a_bar, None

    return y, pullback


@rrule(np.ascontiguousarray, result="same", kind="array")
def ascontiguousarray(a, dtype=None):
    y = np.ascontiguousarray(a, dtype)
    a_shape = shape_of(a)
    y_dtype = y.dtype

    def pullback(y_bar):
        return reshape(cast_bar(y_bar, y_dtype), a_shape), None

    return y, pullback


@rrule(np.asfortranarray, result="same", kind="array")
def asfortranarray(a, dtype=None):
    y = np.asfortranarray(a, dtype)
    a_shape = shape_of(a)
    y_dtype = y.dtype

    def pullback(y_bar):
        return reshape(cast_bar(y_bar, y_dtype), a_shape), None

    return y, pullback


@rrule(np.copy, np.ndarray.copy, result="fresh", kind="like")
def copy(a, order="C"):
    y = np.copy(a, order=order)

    def pullback(y_bar):
        return y_bar, None

    return y, pullback


@rrule(np.ndarray.astype, np.astype, result="same", kind="array")
def astype(x, dtype, *, copy=True):
    y = x.astype(dtype, copy=copy)
    y_dtype = y.dtype

    def pullback(y_bar):
        return cast_bar(y_bar, y_dtype), None, None

    return y, pullback


@rrule(np.full, result="fresh", kind="array")
def full(shape, fill_value, dtype=None):
    y = np.full(shape, fill_value, dtype)
    fill_shape = shape_of(fill_value)
    y_dtype = y.dtype

    def pullback(y_bar):
        return None, fit(cast_bar(y_bar, y_dtype), fill_shape), None

    return y, pullback


@rrule(np.full_like, result="fresh", kind="array", flat=("a",))
def full_like(a, fill_value, dtype=None):
    y = np.full_like(a, fill_value, dtype)
    fill_shape = shape_of(fill_value)
    y_dtype = y.dtype

    def pullback(y_bar):
        return None, fit(cast_bar(y_bar, y_dtype), fill_shape), None

    return y, pullback


# Arrays joined


@rrule(np.concatenate, result="fresh", kind="concatenate")
def concatenate(arrays, axis=0):
    y = np.concatenate(arrays, axis)
    parts = layout(arrays)

    def pullback(y_bar):
        return separate(y_bar, parts, axis), None

    return y, pullback


@rrule(np.stack, result="fresh", kind="stack")
def stack(arrays, axis=0):
    y = np.stack(arrays, axis)

    def pullback(y_bar):
        if axis == 0:
            arrays_bar = y_bar
        else:
            arrays_bar = np.moveaxis(y_bar, axis, 0)
        return arrays_bar, None

    return y, pullback


@rrule(np.vstack, result="fresh", kind="array")
def vstack(tup):
    y = np.vstack(tup)
    parts = layout(tup)

    def pullback(y_bar):
        return (separate(y_bar, parts, 0),)

    return y, pullback


@rrule(np.hstack, result="fresh", kind="array")
def hstack(tup):
    y = np.hstack(tup)
    parts = layout(tup)
    axis = min(ndim(y) - 1, 1)

    def pullback(y_bar):
        return (separate(y_bar, parts, axis),)

    return y, pullback


@rrule(np.column_stack, result="fresh", kind="array")
def column_stack(tup):
    y = np.column_stack(tup)
    parts = layout(tup)

    def pullback(y_bar):
        return (separate(y_bar, parts, 1),)

    return y, pullback


@rrule(np.dstack, result="fresh", kind="array")
def dstack(tup):
    y = np.dstack(tup)
    parts = layout(tup)

    def pullback(y_bar):
        return (separate(y_bar, parts, 2),)

    return y, pullback


@rrule(np.append, result="fresh", kind="array")
def append(arr, values, axis=None):
    y = np.append(arr, values, axis)
    parts = layout((arr, values))

    def pullback(y_bar):
        return separate(y_bar, parts, axis)[0], separate(y_bar, parts, axis)[1], None

    return y, pullback


# Arrays split. The result is a list, and so is its cotangent, with None for a part that is not used.


@rrule(np.split, kind="tuple")
def split(ary, indices_or_sections, axis=0):
    y = np.split(ary, indices_or_sections, axis)
    shapes = shapes_of(y)

    def pullback(y_bar):
        return assemble(y_bar, shapes, axis), None, None

    return y, pullback


@rrule(np.array_split, kind="tuple")
def array_split(ary, indices_or_sections, axis=0):
    y = np.array_split(ary, indices_or_sections, axis)
    shapes = shapes_of(y)

    def pullback(y_bar):
        return assemble(y_bar, shapes, axis), None, None

    return y, pullback


@rrule(np.vsplit, kind="tuple")
def vsplit(ary, indices_or_sections):
    y = np.vsplit(ary, indices_or_sections)
    shapes = shapes_of(y)

    def pullback(y_bar):
        return assemble(y_bar, shapes, 0), None

    return y, pullback


@rrule(np.hsplit, kind="tuple")
def hsplit(ary, indices_or_sections):
    y = np.hsplit(ary, indices_or_sections)
    shapes = shapes_of(y)
    axis = min(ndim(ary) - 1, 1)

    def pullback(y_bar):
        return assemble(y_bar, shapes, axis), None

    return y, pullback


@rrule(np.dsplit, kind="tuple")
def dsplit(ary, indices_or_sections):
    y = np.dsplit(ary, indices_or_sections)
    shapes = shapes_of(y)

    def pullback(y_bar):
        return assemble(y_bar, shapes, 2), None

    return y, pullback


# Elements repeated, surrounded and left out


@rrule(np.tile, result="fresh", kind="array")
def tile(A, reps):
    y = np.tile(A, reps)
    A_shape = shape_of(A)

    def pullback(y_bar):
        return tile_bar(y_bar, A_shape, reps), None

    return y, pullback


@rrule(np.repeat, np.ndarray.repeat, result="fresh", kind="array")
def repeat(a, repeats, axis=None):
    y = np.repeat(a, repeats, axis)
    a_shape = shape_of(a)

    def pullback(y_bar):
        return repeat_bar(y_bar, a_shape, repeats, axis), None, None

    return y, pullback


@rrule(np.pad, result="fresh", kind="transpose")
def pad(array, pad_width, mode="constant", *, constant_values=0, needs=(True, False, False, True)):
    """Opaque: takes constants around an array, and the modes that copy elements of it; declines the others."""
    copied = mode in ("edge", "reflect", "symmetric", "wrap")
    constants_wanted = needs[3] and np.asarray(constant_values).dtype.kind in "fc"
    if not (copied or mode == "constant") or (constants_wanted and ndim(constant_values)):
        return NotImplemented
    y = np.pad(array, pad_width, mode) if copied else np.pad(array, pad_width, constant_values=constant_values)
    array_shape = shape_of(array)

    def pullback(y_bar):
        if copied:
            return gather_bar(y_bar, np.pad(positions_of(array_shape), pad_width, mode), array_shape), None, None, None
        inside = unpad(y_bar, pad_width)
        return inside, None, None, np.sum(y_bar) - np.sum(inside) if constants_wanted else None

    return y, pullback


@rrule(np.delete, result="fresh", kind="array")
def delete(arr, obj, axis=None):
    y = np.delete(arr, obj, axis)
    arr_shape = shape_of(arr)

    def pullback(y_bar):
        return gather_bar(y_bar, np.delete(positions_of(arr_shape, obj), obj, axis), arr_shape), None, None

    return y, pullback


@rrule(np.meshgrid, kind="tuple")
def meshgrid(*xi, indexing="xy"):
    y = np.meshgrid(*xi, indexing=indexing)
    shapes = shapes_of(xi)

    def pullback(y_bar):
        return meshgrid_bars(y_bar, shapes, indexing), None

    return y, pullback
