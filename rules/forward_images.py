"""Forward rules of the filters and transformations of scipy.ndimage, which continue an image.

They are linear in the image and the value outside of it together, so that the tangent is continued by 0.
"""

import inspect

import numpy as np
from scipy import ndimage

from adcompiler.rules.forward import frule
from adcompiler.rules.registry import lookup

# Fixed weights


def continued(function):
    """The forward rule of a function that is linear in its first argument where `cval` is 0."""

    def forward(tangents, input, *args, cval=0.0, **options):
        if any(dot is not None for dot in tangents[1:]):
            return NotImplemented
        y = function(input, *args, cval=cval, **options)
        return y, function(tangents[0], *args, cval=0.0, **options)

    (rule, *_) = lookup(function)
    first = inspect.Parameter("tangents", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    forward.__signature__ = inspect.Signature([first, *rule.signature.parameters.values()])
    forward.__name__ = rule.name
    return forward


for _function in (
    *(ndimage.gaussian_filter1d, ndimage.gaussian_filter, ndimage.gaussian_laplace, ndimage.uniform_filter1d),
    *(ndimage.uniform_filter, ndimage.laplace, ndimage.sobel, ndimage.prewitt),
    *(ndimage.map_coordinates, ndimage.shift, ndimage.affine_transform, ndimage.zoom, ndimage.rotate),
):
    frule(_function)(continued(_function))


@frule(ndimage.gaussian_gradient_magnitude)
def gaussian_gradient_magnitude(tangents, input, sigma, *, mode="reflect", cval=0.0):
    """Where the gradient is 0 its derivative is 0, as that of a norm."""
    y = ndimage.gaussian_gradient_magnitude(input, sigma, mode=mode, cval=cval)
    total = 0.0
    for order in np.eye(np.ndim(input), dtype=int):
        part = ndimage.gaussian_filter(input, sigma, order, mode=mode, cval=cval)
        total = total + part * ndimage.gaussian_filter(tangents[0], sigma, order, mode=mode, cval=0.0)
    return y, np.where(y == 0, 0, total / np.where(y == 0, 1, y))


# Weights that are given


@frule(ndimage.correlate)
def correlate(tangents, input, weights, *, mode="reflect", cval=0.0, origin=0):
    y, y_dot = ndimage.correlate(input, weights, mode=mode, cval=cval, origin=origin), 0.0
    if tangents[0] is not None:
        y_dot = ndimage.correlate(tangents[0], weights, mode=mode, cval=0.0, origin=origin)
    if tangents[1] is not None:
        y_dot = y_dot + ndimage.correlate(input, tangents[1], mode=mode, cval=cval, origin=origin)
    return y, y_dot


@frule(ndimage.convolve)
def convolve(tangents, input, weights, *, mode="reflect", cval=0.0, origin=0):
    y, y_dot = ndimage.convolve(input, weights, mode=mode, cval=cval, origin=origin), 0.0
    if tangents[0] is not None:
        y_dot = ndimage.convolve(tangents[0], weights, mode=mode, cval=0.0, origin=origin)
    if tangents[1] is not None:
        y_dot = y_dot + ndimage.convolve(input, tangents[1], mode=mode, cval=cval, origin=origin)
    return y, y_dot


@frule(ndimage.correlate1d)
def correlate1d(tangents, input, weights, axis=-1, *, mode="reflect", cval=0.0, origin=0):
    y, y_dot = ndimage.correlate1d(input, weights, axis, mode=mode, cval=cval, origin=origin), 0.0
    if tangents[0] is not None:
        y_dot = ndimage.correlate1d(tangents[0], weights, axis, mode=mode, cval=0.0, origin=origin)
    if tangents[1] is not None:
        y_dot = y_dot + ndimage.correlate1d(input, tangents[1], axis, mode=mode, cval=cval, origin=origin)
    return y, y_dot


@frule(ndimage.convolve1d)
def convolve1d(tangents, input, weights, axis=-1, *, mode="reflect", cval=0.0, origin=0):
    y, y_dot = ndimage.convolve1d(input, weights, axis, mode=mode, cval=cval, origin=origin), 0.0
    if tangents[0] is not None:
        y_dot = ndimage.convolve1d(tangents[0], weights, axis, mode=mode, cval=0.0, origin=origin)
    if tangents[1] is not None:
        y_dot = y_dot + ndimage.convolve1d(input, tangents[1], axis, mode=mode, cval=cval, origin=origin)
    return y, y_dot
