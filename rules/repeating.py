"""Rules for functions that repeat, surround and leave out elements of an array."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.conversion import varies
from adcompiler.runtime.layout import cast_bar, positions_of
from adcompiler.runtime.padding import MODES, STATISTICS, pad_bar, pad_value_bar, pad_widths
from adcompiler.runtime.repeating import deleted_bar, repeat_bar, resize_bar, tile_bar, windows_bar
from adcompiler.runtime.shapes import shape as shape_of


@rrule(np.tile, result="fresh", kind="array", flat=("reps",), linear=("A",))
def tile(A, reps):
    y = np.tile(A, reps)
    A_shape = shape_of(A)

    def pullback(y_bar):
        return tile_bar(y_bar, A_shape, reps), None

    return y, pullback


@rrule(np.repeat, np.ndarray.repeat, result="fresh", kind="array", flat=("repeats",), linear=("a",))
def repeat(a, repeats, axis=None):
    y = np.repeat(a, repeats, axis)
    a_shape = shape_of(a)

    def pullback(y_bar):
        return repeat_bar(y_bar, a_shape, repeats, axis), None, None

    return y, pullback


@rrule(
    np.lib.stride_tricks.sliding_window_view, result="view", kind="array", flat=("window_shape", "axis"), linear=("x",)
)
def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    y = np.lib.stride_tricks.sliding_window_view(x, window_shape, axis, subok=subok, writeable=writeable)
    x_shape = shape_of(x)

    def pullback(y_bar):
        return windows_bar(y_bar, x_shape, window_shape, axis), None, None, None, None

    return y, pullback


@rrule(np.resize, result="fresh", kind="reshape", flat=("new_shape",), linear=("a",))
def resize(a, new_shape):
    y = np.resize(a, new_shape)
    a_shape = shape_of(a)

    def pullback(y_bar):
        return resize_bar(y_bar, a_shape), None

    return y, pullback


@rrule(np.delete, result="fresh", kind="array", flat=("obj",), linear=("arr",))
def delete(arr, obj, axis=None):
    y = np.delete(arr, obj, axis)
    arr_shape = shape_of(arr)

    def pullback(y_bar):
        return deleted_bar(y_bar, np.delete(positions_of(arr_shape, obj), obj, axis), arr_shape), None, None

    return y, pullback


@rrule(np.pad, result="fresh", kind="transpose", flat=("pad_width", "stat_length"))
def pad(
    array,
    pad_width,
    mode="constant",
    *,
    constant_values=None,
    end_values=None,
    stat_length=None,
    reflect_type=None,
    needs=(True,) * 7,
):
    """Opaque: takes all modes but functions, which write into the array that they are given."""
    if mode not in MODES:
        return NotImplemented
    named = {
        "constant_values": constant_values,
        "end_values": end_values,
        "stat_length": stat_length,
        "reflect_type": reflect_type,
    }
    options = {name: value for name, value in named.items() if value is not None}
    y = np.pad(array, pad_width, mode, **options)
    array_shape, y_dtype = shape_of(array), y.dtype
    widths = pad_widths(pad_width, len(array_shape))
    compared = array if mode in STATISTICS else None
    shapes = [shape_of(value) if value is not None and varies(value) else None for value in named.values()]

    def pullback(y_bar):
        y_bar = cast_bar(y_bar, y_dtype)
        array_bar = pad_bar(y_bar, compared, widths, mode, options)
        constant_bar = pad_value_bar(y_bar, shapes[0], widths, mode) if needs[3] and shapes[0] is not None else None
        end_bar = pad_value_bar(y_bar, shapes[1], widths, mode) if needs[4] and shapes[1] is not None else None
        return array_bar, None, None, constant_bar, end_bar, None, None

    return y, pullback
