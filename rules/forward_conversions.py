"""Forward rules of the conversions to another precision: the tangent is converted too."""

import numpy as np

from adcompiler.rules.forward import frule


@frule(np.float16)
def float16(tangents, x):
    y = np.float16(x)
    return y, np.float16(tangents[0])


@frule(np.float32)
def float32(tangents, x):
    y = np.float32(x)
    return y, np.float32(tangents[0])


@frule(np.float64)
def float64(tangents, x):
    y = np.float64(x)
    return y, np.float64(tangents[0])


@frule(np.longdouble)
def longdouble(tangents, x):
    y = np.longdouble(x)
    return y, np.longdouble(tangents[0])


@frule(np.complex64)
def complex64(tangents, x):
    y = np.complex64(x)
    return y, np.complex64(tangents[0])


@frule(np.complex128)
def complex128(tangents, x):
    y = np.complex128(x)
    return y, np.complex128(tangents[0])


@frule(np.clongdouble)
def clongdouble(tangents, x):
    y = np.clongdouble(x)
    return y, np.clongdouble(tangents[0])


@frule(slice)
def slice_(tangents, *ends):
    """Positions are whole numbers."""
    return slice(*ends), None
