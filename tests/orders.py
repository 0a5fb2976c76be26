"""First and second derivatives of a function of one array, all compared with differences of the order before."""

import os
import zlib

import numpy as np

from adcompiler import gradient, hvp, jvp, pullback

EVERY = bool(os.environ.get("ADCOMPILER_RANDOM_PROGRAMS"))
X = np.array([0.5, 1.2, -0.7])
V = np.array([0.3, -0.2, 0.9])
W = np.array([-0.4, 0.8, 0.1])


def difference(function, x, v, step=1e-4):
    """The derivative along `v`, by central differences extrapolated to fourth order."""
    near, far = (
        (np.asarray(function(x + h * v)) - np.asarray(function(x - h * v))) / (2 * h) for h in (step, 2 * step)
    )
    return (4 * near - far) / 3


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-7)


def check_first(function, x=X):
    """The tangent, and the cotangent, of a function."""
    value, tangent = jvp(function, (x.copy(),), (V,))
    along = difference(lambda a: function(a.copy()), x, V)
    close(value, function(x.copy()))
    close(tangent, along)
    close(np.sum(pullback(function, x.copy())[1](np.ones_like(value))[0] * V), np.sum(along))


def check_second(function, x=X, backward=True):
    """Tangents of tangents, and what mixes tangents and gradients, of a function of a number."""
    check_first(function, x)

    def tangent(a):
        return jvp(function, (a.copy(),), (V,))[1]

    expected = difference(tangent, x, W)
    close(jvp(tangent, (x,), (W,))[1], expected)
    ways = {
        "gradient of the tangent": lambda: gradient(tangent)(x) @ W,
        "hvp": lambda: hvp(function, x, V) @ W,
        "tangent of the gradient": lambda: jvp(gradient(function), (x,), (V,))[1] @ W,
        "gradient of the gradient": lambda: gradient(lambda a: gradient(function)(a) @ V)(x) @ W,
    }
    some = zlib.crc32(getattr(function, "__name__", "").encode()) % 2  # half of them, where time counts
    for number, way in enumerate(ways.values() if backward else ()):
        if EVERY or number % 2 == some:
            close(way(), expected)
