"""Rules for scipy.ndimage: filters, by the adjoint of the window that moves over the extended image.

Widths, orders and values outside of the image are constants: it is an error if they carry a derivative. The argument
`output` is a place to write, and is not taken.
"""

import numpy as np
from scipy import ndimage

from adcompiler.rules import ndimage_geometry as ndimage_geometry
from adcompiler.rules import ndimage_ranks as ndimage_ranks
from adcompiler.rules.names import existing
from adcompiler.rules.registry import non_differentiable, refused, rrule
from adcompiler.runtime.constants import require_constant
from adcompiler.runtime.sampling import per_axis
from adcompiler.runtime.shapes import shape
from adcompiler.runtime.stencils import (
    extended,
    extended_bar,
    origins_along,
    weights_bar,
    widths_of,
    window_bar,
)

non_differentiable(
    ndimage.label,
    ndimage.find_objects,
    ndimage.binary_dilation,
    ndimage.binary_erosion,
    ndimage.binary_opening,
    ndimage.binary_closing,
    ndimage.binary_fill_holes,
    ndimage.binary_propagation,
    ndimage.binary_hit_or_miss,
    ndimage.distance_transform_edt,
    ndimage.distance_transform_cdt,
    ndimage.distance_transform_bf,
    ndimage.maximum_position,
    ndimage.minimum_position,
    ndimage.watershed_ift,
    *existing(ndimage, "generate_binary_structure iterate_structure value_indices test"),
    kind="other",
)
refused(
    ndimage.generic_filter,
    ndimage.generic_filter1d,
    ndimage.generic_laplace,
    ndimage.generic_gradient_magnitude,
    ndimage.geometric_transform,
    ndimage.labeled_comprehension,
    *existing(ndimage, "vectorized_filter"),
    why="It calls a Python function for each part of the image.\n"
    "Write it with correlate, or with slices of the padded image.",
)
refused(
    ndimage.grey_dilation,
    ndimage.grey_erosion,
    ndimage.grey_opening,
    ndimage.grey_closing,
    ndimage.morphological_gradient,
    ndimage.morphological_laplace,
    ndimage.white_tophat,
    ndimage.black_tophat,
    why="It has no rule here.\nUse maximum_filter and minimum_filter, which are the same without a structure.",
)
refused(
    ndimage.fourier_gaussian,
    ndimage.fourier_uniform,
    ndimage.fourier_ellipsoid,
    ndimage.fourier_shift,
    ndimage.spline_filter,
    ndimage.spline_filter1d,
    why="It has no rule here.\nMultiply the spectrum of numpy.fft, or use gaussian_filter and shift.",
)
refused(
    *existing(ndimage, "sum_labels sum"),
    ndimage.mean,
    ndimage.variance,
    ndimage.standard_deviation,
    ndimage.median,
    ndimage.minimum,
    ndimage.maximum,
    ndimage.extrema,
    ndimage.center_of_mass,
    ndimage.histogram,
    why="Measurements by labels have no rule here.\nUse numpy functions of image[labels == i].",
)

# Windows with weights


def input_bar(y_bar, weights, modes, origins):
    """The cotangent of the image in a correlation with `weights`."""
    if not y_bar.size:
        return y_bar
    weights = np.asarray(weights, np.result_type(np.asarray(weights).dtype.kind == "c" and complex, y_bar.dtype))
    widths = widths_of(weights.shape, origins)
    outer = [n + before + after for n, (before, after) in zip(y_bar.shape, widths, strict=True)]
    return extended_bar(window_bar(y_bar, weights, outer), widths, modes)


def correlation(y, x, weights, mode, cval, origins, turn=False):
    """The rule of a correlation; with `turn` the weights are turned round first, as in a convolution."""
    modes = per_axis(mode, np.ndim(x))

    def pullback(y_bar):
        kernel = np.flip(weights) if turn else np.conj(weights)  # SciPy's correlation takes the conjugate
        shifts = [-o - (n % 2 == 0) for o, n in zip(origins, kernel.shape, strict=True)] if turn else origins
        outer = extended(np.asarray(x), widths_of(kernel.shape, shifts), modes, cval)
        kernel_bar = weights_bar(y_bar, outer, kernel.shape)
        return input_bar(y_bar, kernel, modes, shifts), np.flip(kernel_bar) if turn else np.conj(kernel_bar)

    return y, pullback


@rrule(ndimage.correlate, result="fresh", kind="like")
def correlate(input, weights, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[3], cval, "cval", "correlate")
    y = ndimage.correlate(input, weights, mode=mode, cval=cval, origin=origin)
    y, back = correlation(y, input, weights, mode, cval, per_axis(origin, np.ndim(input)))
    return y, lambda y_bar: (*back(y_bar), None, None, None)


@rrule(ndimage.convolve, result="fresh", kind="like")
def convolve(input, weights, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[3], cval, "cval", "convolve")
    y = ndimage.convolve(input, weights, mode=mode, cval=cval, origin=origin)
    y, back = correlation(y, input, weights, mode, cval, per_axis(origin, np.ndim(input)), turn=True)
    return y, lambda y_bar: (*back(y_bar), None, None, None)


def along(weights, axis, rank):
    """Weights along one axis as those of a window."""
    return np.reshape(weights, [-1 if i == axis % rank else 1 for i in range(rank)])


def line_correlation(function, input, weights, axis, mode, cval, origin, turn):
    """The rule of a correlation along one axis."""
    rank = np.ndim(input)
    y = function(input, weights, axis, mode=mode, cval=cval, origin=origin)
    shifts = origins_along(origin, axis, rank)
    if turn and np.size(weights) % 2 == 0:
        # Along the other axes, of length 1, nothing is turned.
        shifts = [o if i == axis % rank else 0 for i, o in enumerate(shifts)]
    y, back = correlation(y, input, along(weights, axis, rank), mode, cval, shifts, turn)

    def pullback(y_bar):
        x_bar, kernel_bar = back(y_bar)
        return x_bar, np.reshape(kernel_bar, shape(weights)), None, None, None, None

    return y, pullback


@rrule(ndimage.correlate1d, result="fresh", kind="like")
def correlate1d(input, weights, axis=-1, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[4], cval, "cval", "correlate1d")
    return line_correlation(ndimage.correlate1d, input, weights, axis, mode, cval, origin, False)


@rrule(ndimage.convolve1d, result="fresh", kind="like")
def convolve1d(input, weights, axis=-1, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[4], cval, "cval", "convolve1d")
    return line_correlation(ndimage.convolve1d, input, weights, axis, mode, cval, origin, True)


# Windows with fixed weights


def lines_bar(y_bar, lines):
    """The cotangent of an image, filtered along one axis after the other: lines are (axis, weights, mode, origin)."""
    for axis, weights, mode, origin in reversed(lines):
        rank = y_bar.ndim
        y_bar = input_bar(y_bar, along(weights, axis, rank), [mode] * rank, origins_along(origin, axis, rank))
    return y_bar


def gaussian_weights(sigma, order, truncate, radius):
    """The weights of a Gaussian filter: the response to an impulse, turned round."""
    reach = int(truncate * float(sigma) + 0.5) if radius is None else radius
    impulse = np.zeros(2 * reach + 1)
    impulse[reach] = 1
    return np.flip(
        ndimage.gaussian_filter1d(impulse, sigma, order=order, mode="constant", truncate=truncate, radius=radius)
    )


def gaussian_lines(rank, sigma, order, mode, truncate, radius):
    """The lines of a Gaussian filter of all axes."""
    options = (per_axis(value, rank) for value in (sigma, order, mode, radius))
    return [
        (axis, gaussian_weights(s, o, truncate, r), m, 0)
        for axis, (s, o, m, r) in enumerate(zip(*options, strict=True))
        if s > 1e-15
    ]


non_differentiable(gaussian_weights, gaussian_lines, kind="other")


@rrule(ndimage.gaussian_filter1d, result="fresh", kind="like")
def gaussian_filter1d(input, sigma, axis=-1, order=0, *, mode="reflect", cval=0.0, truncate=4.0, radius=None, needs):
    require_constant(needs[1], sigma, "sigma", "gaussian_filter1d")
    require_constant(needs[5], cval, "cval", "gaussian_filter1d")
    y = ndimage.gaussian_filter1d(input, sigma, axis, order, mode=mode, cval=cval, truncate=truncate, radius=radius)

    def pullback(y_bar):
        lines = [(axis, gaussian_weights(sigma, order, truncate, radius), mode, 0)]
        return lines_bar(y_bar, lines), *(None,) * 7

    return y, pullback


@rrule(ndimage.gaussian_filter, result="fresh", kind="like")
def gaussian_filter(input, sigma, order=0, *, mode="reflect", cval=0.0, truncate=4.0, radius=None, needs):
    require_constant(needs[1], sigma, "sigma", "gaussian_filter")
    require_constant(needs[4], cval, "cval", "gaussian_filter")
    y = ndimage.gaussian_filter(input, sigma, order, mode=mode, cval=cval, truncate=truncate, radius=radius)

    def pullback(y_bar):
        return lines_bar(y_bar, gaussian_lines(y_bar.ndim, sigma, order, mode, truncate, radius)), *(None,) * 6

    return y, pullback


@rrule(ndimage.gaussian_laplace, result="fresh", kind="like")
def gaussian_laplace(input, sigma, *, mode="reflect", cval=0.0, needs):
    require_constant(needs[1], sigma, "sigma", "gaussian_laplace")
    require_constant(needs[3], cval, "cval", "gaussian_laplace")
    y = ndimage.gaussian_laplace(input, sigma, mode=mode, cval=cval)

    def pullback(y_bar):
        orders = 2 * np.eye(y_bar.ndim, dtype=int)
        bars = [lines_bar(y_bar, gaussian_lines(y_bar.ndim, sigma, order, mode, 4.0, None)) for order in orders]
        return sum(bars), None, None, None

    return y, pullback


@rrule(ndimage.gaussian_gradient_magnitude, result="fresh", kind="like")
def gaussian_gradient_magnitude(input, sigma, *, mode="reflect", cval=0.0, needs):
    """Where the gradient is 0 the cotangent is 0, as that of a norm."""
    require_constant(needs[1], sigma, "sigma", "gaussian_gradient_magnitude")
    require_constant(needs[3], cval, "cval", "gaussian_gradient_magnitude")
    y = ndimage.gaussian_gradient_magnitude(input, sigma, mode=mode, cval=cval)

    def pullback(y_bar):
        total = np.zeros_like(y_bar)
        for order in np.eye(y_bar.ndim, dtype=int):
            part = ndimage.gaussian_filter(input, sigma, order, mode=mode, cval=cval)
            bar = np.where(y == 0, 0, y_bar * np.conj(part / np.where(y == 0, 1, y)))
            total = total + lines_bar(bar, gaussian_lines(y_bar.ndim, sigma, order, mode, 4.0, None))
        return total, None, None, None

    return y, pullback


@rrule(ndimage.uniform_filter1d, result="fresh", kind="like")
def uniform_filter1d(input, size, axis=-1, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[4], cval, "cval", "uniform_filter1d")
    y = ndimage.uniform_filter1d(input, size, axis, mode=mode, cval=cval, origin=origin)

    def pullback(y_bar):
        return lines_bar(y_bar, [(axis, np.full(size, 1 / size), mode, origin)]), *(None,) * 5

    return y, pullback


def uniform_lines(rank, size, mode, origin):
    """The lines of a filter that takes the mean of a window."""
    options = (per_axis(value, rank) for value in (size, mode, origin))
    return [(axis, np.full(n, 1 / n), m, o) for axis, (n, m, o) in enumerate(zip(*options, strict=True)) if n > 1]


non_differentiable(uniform_lines, kind="other")


@rrule(ndimage.uniform_filter, result="fresh", kind="like")
def uniform_filter(input, size=3, *, mode="reflect", cval=0.0, origin=0, needs):
    require_constant(needs[3], cval, "cval", "uniform_filter")
    y = ndimage.uniform_filter(input, size, mode=mode, cval=cval, origin=origin)

    def pullback(y_bar):
        return lines_bar(y_bar, uniform_lines(y_bar.ndim, size, mode, origin)), None, None, None, None

    return y, pullback


@rrule(ndimage.laplace, result="fresh", kind="like")
def laplace(input, *, mode="reflect", cval=0.0, needs):
    require_constant(needs[2], cval, "cval", "laplace")
    y = ndimage.laplace(input, mode=mode, cval=cval)

    def pullback(y_bar):
        weights, modes = np.array([1.0, -2.0, 1.0]), per_axis(mode, y_bar.ndim)
        return sum(lines_bar(y_bar, [(axis, weights, m, 0)]) for axis, m in enumerate(modes)), None, None

    return y, pullback


def edges_bar(y_bar, axis, mode, across):
    """The cotangent of an image, of which differences along one axis are smoothed along the others."""
    modes = per_axis(mode, y_bar.ndim)
    axis = axis % y_bar.ndim
    lines = [(axis, np.array([-1.0, 0.0, 1.0]), modes[axis], 0)]
    lines += [(other, np.array(across), modes[other], 0) for other in range(y_bar.ndim) if other != axis]
    return lines_bar(y_bar, lines)


@rrule(ndimage.sobel, result="fresh", kind="like")
def sobel(input, axis=-1, *, mode="reflect", cval=0.0, needs):
    require_constant(needs[3], cval, "cval", "sobel")
    y = ndimage.sobel(input, axis, mode=mode, cval=cval)
    return y, lambda y_bar: (edges_bar(y_bar, axis, mode, [1.0, 2.0, 1.0]), None, None, None)


@rrule(ndimage.prewitt, result="fresh", kind="like")
def prewitt(input, axis=-1, *, mode="reflect", cval=0.0, needs):
    require_constant(needs[3], cval, "cval", "prewitt")
    y = ndimage.prewitt(input, axis, mode=mode, cval=cval)
    return y, lambda y_bar: (edges_bar(y_bar, axis, mode, [1.0, 1.0, 1.0]), None, None, None)


from adcompiler.rules import forward_images as forward_images  # noqa: E402  it looks up the rules above
