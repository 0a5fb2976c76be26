"""Rules for the transformations of scipy.ndimage: an image that is read between its elements.

All are `map_coordinates` at places that the transformation says; in the image they are linear. Orders 0, 1 and 3 have
rules, and modes other than "wrap".
"""

import numpy as np
from scipy import ndimage
from scipy.special import cosdg, sindg

from adcompiler.rules.registry import non_differentiable, rrule
from adcompiler.runtime.constants import require_constant
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.sampling import per_axis, sampled_bars
from adcompiler.runtime.shapes import fit, shape
from adcompiler.runtime.stencils import extended, extended_bar

PAD = 12  # SciPy fits a spline to the image with so many elements more, where the image is continued by constants
PADDED = ("nearest", "grid-constant")


def check_method(order, mode, prefilter):
    """Raise NoRuleError for an order or mode without rule."""
    if order not in (0, 1, 3) or mode == "wrap" or not (prefilter or order < 2):
        raise NoRuleError(
            f"order={order} with mode={mode!r} and prefilter={prefilter} has no derivative here\n"
            "Use order 0, 1 or 3, and mode='grid-wrap' instead of 'wrap'."
        )


def read_bars(y_bar, y, image, coordinates, order, mode, cval):
    """The cotangents of the image and of the coordinates at which it was read."""
    image = np.asarray(image)
    if not image.size:
        return np.zeros_like(image), np.zeros((image.ndim, *y_bar.shape))
    mode = "grid-constant" if mode == "grid-constant" else {"grid-mirror": "reflect"}.get(mode, mode)
    pad = PAD if order > 1 and mode in PADDED else 0
    widths, modes = [(pad, pad)] * image.ndim, [mode] * image.ndim
    coefficients = extended(np.asarray(image, np.result_type(image, float)), widths, modes, cval)
    filters = []
    if order > 1:
        for axis, length in enumerate(coefficients.shape):
            filters.append(spline_matrix(length, order, mode))
            moved = np.tensordot(filters[-1], np.moveaxis(coefficients, axis, 0), 1)
            coefficients = np.moveaxis(moved, 0, axis)
    places = np.asarray(coordinates, float) + pad
    bar, places_bar, value = sampled_bars(y_bar, coefficients, places, order, mode, cval)
    if np.any(np.abs(value - y) > 10 * np.finfo(y.dtype).eps ** 0.5 * np.max(np.abs(image))):
        raise NoRuleError(
            "a position is, up to rounding, where the interpolation jumps: at an edge or between two elements\n"
            "Use another mode, such as 'nearest', or order 1 or 3."
        )
    for axis, matrix in enumerate(filters):
        bar = np.moveaxis(np.tensordot(matrix.T, np.moveaxis(bar, axis, 0), 1), 0, axis)
    return extended_bar(bar, widths, modes).astype(y_bar.dtype), places_bar


def in_precision(bar, value):
    """A cotangent in the precision of its value."""
    return bar.astype(value.dtype) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else bar


def spline_matrix(length, order, mode):
    """The matrix of the filter from an axis of an image to spline coefficients."""
    return ndimage.spline_filter1d(np.eye(length), order, axis=0, mode=mode) if length > 1 else np.eye(length)


def grid(output_shape):
    """The places of all elements of an image."""
    return np.indices(output_shape, dtype=float)


non_differentiable(spline_matrix, grid, kind="array")


@rrule(ndimage.map_coordinates, result="fresh", kind="array")
def map_coordinates(input, coordinates, *, order=3, mode="constant", cval=0.0, prefilter=True, needs):
    require_constant(needs[4], cval, "cval", "map_coordinates")
    check_method(order, mode, prefilter)
    y = ndimage.map_coordinates(input, coordinates, order=order, mode=mode, cval=cval)
    if isinstance(coordinates, tuple | list):
        coordinates = np.stack(np.broadcast_arrays(*coordinates)) if not needs[1] else None
        if coordinates is None:
            return NotImplemented

    def pullback(y_bar):
        input_bar, places_bar = read_bars(y_bar, y, input, coordinates, order, mode, cval)
        return input_bar, in_precision(np.reshape(places_bar, shape(coordinates)), coordinates), None, None, None, None

    return y, pullback


@rrule(ndimage.shift, result="fresh", kind="like")
def shift(input, shift, *, order=3, mode="constant", cval=0.0, prefilter=True, needs):
    require_constant(needs[4], cval, "cval", "shift")
    check_method(order, mode, prefilter)
    y = ndimage.shift(input, shift, order=order, mode=mode, cval=cval)

    def pullback(y_bar):
        steps = np.reshape(per_axis(shift, y_bar.ndim), (-1, *(1,) * y_bar.ndim))
        input_bar, places_bar = read_bars(y_bar, y, input, grid(y_bar.shape) - steps, order, mode, cval)
        shift_bar = -np.sum(places_bar, axis=tuple(range(1, y_bar.ndim + 1)))
        return input_bar, in_precision(fit(shift_bar, np.shape(shift)), shift), None, None, None, None

    return y, pullback


@rrule(ndimage.affine_transform, result="fresh", kind="array")
def affine_transform(
    input, matrix, offset=0.0, output_shape=None, *, order=3, mode="constant", cval=0.0, prefilter=True, needs
):
    require_constant(needs[6], cval, "cval", "affine_transform")
    check_method(order, mode, prefilter)
    rank = np.ndim(input)
    if shape(matrix) not in ((rank,), (rank, rank)):
        return NotImplemented
    y = ndimage.affine_transform(input, matrix, offset, output_shape, order=order, mode=mode, cval=cval)

    def pullback(y_bar):
        places = grid(y_bar.shape)
        begin = np.reshape(per_axis(offset, rank), (-1, *(1,) * rank))
        whole = np.diag(matrix) if np.ndim(matrix) == 1 else np.asarray(matrix)
        input_bar, bar = read_bars(y_bar, y, input, np.tensordot(whole, places, 1) + begin, order, mode, cval)
        axes = list(range(1, rank + 1))
        matrix_bar = np.tensordot(bar, places, (axes, axes))
        matrix_bar = np.diagonal(matrix_bar).copy() if np.ndim(matrix) == 1 else matrix_bar
        offset_bar = in_precision(fit(np.sum(bar, axis=tuple(axes)), np.shape(offset)), offset)
        return input_bar, in_precision(matrix_bar, matrix), offset_bar, *(None,) * 5

    return y, pullback


@rrule(ndimage.zoom, result="fresh", kind="array")
def zoom(input, zoom, *, order=3, mode="constant", cval=0.0, prefilter=True, needs):
    require_constant(needs[1], zoom, "zoom", "zoom")
    require_constant(needs[4], cval, "cval", "zoom")
    check_method(order, mode, prefilter)
    y = ndimage.zoom(input, zoom, order=order, mode=mode, cval=cval)

    def pullback(y_bar):
        lengths = zip(shape(input), y_bar.shape, strict=True)
        steps = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in lengths]
        places = grid(y_bar.shape) * np.reshape(steps, (-1, *(1,) * y_bar.ndim))
        limits = np.reshape(np.array(shape(input)) - 1.0, (-1, *(1,) * y_bar.ndim))
        input_bar, _ = read_bars(y_bar, y, input, np.minimum(places, limits), order, mode, cval)
        return input_bar, *(None,) * 5

    return y, pullback


@rrule(ndimage.rotate, result="fresh", kind="array")
def rotate(input, angle, axes=(1, 0), reshape=True, *, order=3, mode="constant", cval=0.0, prefilter=True, needs):
    require_constant(needs[1], angle, "angle", "rotate")
    require_constant(needs[6], cval, "cval", "rotate")
    check_method(order, mode, prefilter)
    y = ndimage.rotate(input, angle, axes, reshape, order=order, mode=mode, cval=cval)
    first, second = sorted(axis % np.ndim(input) for axis in axes)

    def pullback(y_bar):
        turn = np.array([[cosdg(angle), sindg(angle)], [-sindg(angle), cosdg(angle)]])
        places = grid(y_bar.shape)
        ends = [(shape(input)[i] - 1) / 2 for i in (first, second)], [(y_bar.shape[i] - 1) / 2 for i in (first, second)]
        begin = np.array(ends[0]) - turn @ np.array(ends[1])
        moved = np.tensordot(turn, places[[first, second]], 1) + np.reshape(begin, (2, *(1,) * y_bar.ndim))
        places[first], places[second] = moved
        input_bar, _ = read_bars(y_bar, y, input, places, order, mode, cval)
        return input_bar, *(None,) * 7

    return y, pullback
