"""Forward rules of scipy.special: error functions, the logarithm of the gamma function, sums of exponentials."""

import numpy as np
from scipy import special

from adcompiler.rules.forward import frule
from adcompiler.runtime import specials
from adcompiler.runtime.counts import multigammaln_slope
from adcompiler.runtime.densities import bell, mills_inverse, normal_density
from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.exponentials import logsumexp_bar, logsumexp_weights_bar
from adcompiler.runtime.forward import match
from adcompiler.runtime.shapes import conj, shape

TWO_OVER_SQRT_PI = float(2 / np.sqrt(np.pi))


@frule(special.gammaln)
def gammaln(tangents, x):
    y = special.gammaln(x)
    return y, multiply_strong(tangents[0], specials.psi(x))


@frule(special.multigammaln)
def multigammaln(tangents, a, d):
    y = special.multigammaln(a, d)
    return y, match(tangents[0] * multigammaln_slope(a, d), y)


@frule(special.erf)
def erf(tangents, z):
    y = special.erf(z)
    return y, multiply_strong(TWO_OVER_SQRT_PI * tangents[0], bell(z))


@frule(special.erfc)
def erfc(tangents, z):
    y = special.erfc(z)
    return y, multiply_strong(-TWO_OVER_SQRT_PI * tangents[0], bell(z))


@frule(special.ndtr)
def ndtr(tangents, x):
    y = special.ndtr(x)
    return y, multiply_strong(tangents[0], normal_density(x))


@frule(special.log_ndtr)
def log_ndtr(tangents, x):
    y = special.log_ndtr(x)
    return y, multiply_strong(tangents[0], mills_inverse(x))


# Sums of exponentials


@frule(special.logsumexp)
def logsumexp(tangents, a, axis=None, *, keepdims=False):
    """The mean of the tangents, weighed with the exponentials."""
    y = special.logsumexp(a, axis=axis, keepdims=keepdims)
    weights = conj(logsumexp_bar(np.ones_like(y)[()], a, None, y, None, axis, keepdims))
    return y, np.sum(weights * tangents[0], axis=axis, keepdims=keepdims)


@frule(special.logsumexp)
def logsumexp_general(tangents, a, axis=None, b=None, keepdims=False, return_sign=False):
    """With weights of real numbers, of which a sum may be negative."""
    if np.iscomplexobj(a) or np.iscomplexobj(b):
        return NotImplemented
    found = special.logsumexp(a, axis, b, keepdims, return_sign)
    y, sign = found if return_sign else (found, None)
    one = np.ones_like(y)[()]
    y_dot = 0.0
    if tangents[0] is not None:
        moved = logsumexp_bar(one, a, b, y, sign, axis, keepdims) * tangents[0]
        y_dot = np.sum(moved, axis=axis, keepdims=keepdims)
    if tangents[2] is not None:
        if shape(b) != shape(a):
            return NotImplemented
        moved = logsumexp_weights_bar(one, a, b, y, sign, axis, keepdims) * tangents[2]
        y_dot = y_dot + np.sum(moved, axis=axis, keepdims=keepdims)
    return found, (match(y_dot, y), None) if return_sign else match(y_dot, y)


@frule(special.softmax)
def softmax(tangents, x, axis=None):
    y = special.softmax(x, axis)
    return y, y * (tangents[0] - np.sum(y * tangents[0], axis=axis, keepdims=True))


@frule(special.log_softmax)
def log_softmax(tangents, x, axis=None):
    y = special.log_softmax(x, axis)
    return y, tangents[0] - np.sum(np.exp(y) * tangents[0], axis=axis, keepdims=True)
