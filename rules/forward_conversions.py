"""Forward rules of the conversions to another precision: the tangent is converted too."""

import numpy as np

from adcompiler.rules.forward import frule


@frule(np.float16)
def float16(tangents, x):
    return np.float16(x), np.float16(tangents[0])


@frule(np.float32)
def float32(tangents, x):
    return np.float32(x), np.float32(tangents[0])


@frule(np.float64)
def float64(tangents, x):
    return np.float64(x), np.float64(tangents[0])


@frule(np.longdouble)
def longdouble(tangents, x):
    return np.longdouble(x), np.longdouble(tangents[0])


@frule(np.complex64)
def complex64(tangents, x):
    return np.complex64(x), np.complex64(tangents[0])


@frule(np.complex128)
def complex128(tangents, x):
    return np.complex128(x), np.complex128(tangents[0])


@frule(np.clongdouble)
def clongdouble(tangents, x):
    return np.clongdouble(x), np.clongdouble(tangents[0])
