"""Rules for the products of a matrix and a vector that NumPy 2.2 has added; one of them conjugates the vector."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.arrays import as_array
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import conj, fit, shape


@rrule(np.matvec, result="fresh", kind="array", multilinear=("x1", "x2"))
def matvec(x1, x2, /):
    y = np.matvec(x1, x2)
    x1_shape, x2_shape = shape(x1), shape(x2)

    def pullback(y_bar):
        x1_bar = fit(y_bar[..., :, None] * conj(x2)[..., None, :], x1_shape)
        x2_bar = fit((adjoint(x1) @ y_bar[..., None])[..., 0], x2_shape)
        return x1_bar, x2_bar

    return y, pullback


@rrule(np.vecmat, result="fresh", kind="array", multilinear=("x1", "x2"))
def vecmat(x1, x2, /):
    y = np.vecmat(x1, x2)
    x1_shape, x2_shape = shape(x1), shape(x2)

    def pullback(y_bar):
        x1_bar = fit((as_array(x2) @ conj(y_bar)[..., None])[..., 0], x1_shape)
        x2_bar = fit(as_array(x1)[..., :, None] * y_bar[..., None, :], x2_shape)
        return x1_bar, x2_bar

    return y, pullback
