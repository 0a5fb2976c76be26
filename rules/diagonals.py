"""Rules for triangles and diagonals of matrices, and for matrices made of them."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.layout import diag_bar, diagonal_bar, reshape
from adcompiler.runtime.shapes import fit, ndim
from adcompiler.runtime.shapes import shape as shape_of


@rrule(np.tril, result="fresh", kind="array", linear=("m",))
def tril(m, k=0):
    y = np.tril(m, k)
    m_shape = shape_of(m)

    def pullback(y_bar):
        return fit(np.tril(y_bar, k), m_shape), None

    return y, pullback


@rrule(np.triu, result="fresh", kind="array", linear=("m",))
def triu(m, k=0):
    y = np.triu(m, k)
    m_shape = shape_of(m)

    def pullback(y_bar):
        return fit(np.triu(y_bar, k), m_shape), None

    return y, pullback


@rrule(np.diag, result="same", kind="array", linear=("v",))
def diag(v, k=0):
    y = np.diag(v, k)
    v_shape = shape_of(v)

    def pullback(y_bar):
        if ndim(v) == 1:
            v_bar = np.diagonal(y_bar, k)
        else:
            v_bar = diag_bar(y_bar, v_shape, k)
        return v_bar, None

    return y, pullback


@rrule(np.diagflat, result="fresh", kind="array2", linear=("v",))
def diagflat(v, k=0):
    y = np.diagflat(v, k)
    v_shape = shape_of(v)

    def pullback(y_bar):
        return reshape(np.diagonal(y_bar, k), v_shape), None

    return y, pullback


@rrule(np.diagonal, np.ndarray.diagonal, result="view", kind="array", linear=("a",))
def diagonal(a, offset=0, axis1=0, axis2=1):
    y = np.diagonal(a, offset, axis1, axis2)
    a_shape = shape_of(a)

    def pullback(y_bar):
        return diagonal_bar(y_bar, a_shape, offset, axis1, axis2), None, None, None

    return y, pullback
