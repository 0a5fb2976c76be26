"""Rules for scipy.linalg: functions of matrices, and matrices that are built from vectors and blocks.

The derivative of an analytic function f of a matrix A in the direction E is the upper right block of
``f([[A, E], [0, A]])``: Higham (2008), "Functions of matrices", equation 3.16. The adjoint of this linear map of E
is the same map for the adjoint of A.
"""

import numpy as np
from scipy import linalg

from adcompiler.rules.registry import refused, rrule
from adcompiler.runtime.gathers import antidiagonals_bars, blocks_bars, companion_bar, diagonals_bars, gathered_bar
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import conj, ndim, shape

refused(
    linalg.funm,
    linalg.signm,
    why="The function of the matrix is any Python function, or has jumps.\n"
    "Use expm, logm, sqrtm or the other named functions, or write it with eigh.",
)
refused(
    linalg.expm_frechet,
    why="It is a derivative itself.\nUse the upper right block of expm([[A, E], [0, A]]).",
)
refused(
    linalg.fiedler,
    linalg.fiedler_companion,
    linalg.convolution_matrix,
    linalg.leslie,
    linalg.khatri_rao,
    why="It has no rule here.\nBuild the matrix with NumPy's functions.",
)


def direction_bar(function, a, y_bar):
    """The cotangent of `a` in ``function(a)``, by the block matrix; the direction is scaled, lest it set the scale."""
    a = np.asarray(a)
    n = a.shape[-1]
    size = np.max(np.abs(y_bar), axis=(-2, -1), keepdims=True, initial=0.0)
    size = np.where(size > 0, size, 1)
    dtype = np.result_type(a, y_bar)
    lead = np.zeros(np.broadcast_shapes(shape(y_bar), a.shape), dtype)
    turned = lead + adjoint(a)
    whole = np.block([[turned, lead + y_bar / size], [lead, turned]])
    found = function(whole)[..., :n, n:] * size
    return np.real(found) if np.isrealobj(a) and np.isrealobj(y_bar) else found.astype(dtype)


# Functions of a matrix


@rrule(linalg.expm, result="fresh", kind="like")
def expm(A):
    y = linalg.expm(A)

    def pullback(y_bar):
        return (direction_bar(linalg.expm, A, y_bar),)

    return y, pullback


@rrule(linalg.logm)
def logm(A):
    y = linalg.logm(A)

    def pullback(y_bar):
        return (direction_bar(linalg.logm, A, y_bar),)

    return y, pullback


@rrule(linalg.sqrtm)
def sqrtm(A):
    """Higham (2008), section 6.1: the derivative of the principal root X solves ``X E + E X = D``."""
    y = linalg.sqrtm(A)

    def pullback(y_bar):
        if ndim(y) > 2:
            return (direction_bar(linalg.sqrtm, A, y_bar),)
        return (linalg.solve_sylvester(adjoint(y), adjoint(y), y_bar),)

    return y, pullback


@rrule(linalg.sinm, result="fresh", kind="like")
def sinm(A):
    y = linalg.sinm(A)

    def pullback(y_bar):
        return (direction_bar(linalg.sinm, A, y_bar),)

    return y, pullback


@rrule(linalg.cosm, result="fresh", kind="like")
def cosm(A):
    y = linalg.cosm(A)

    def pullback(y_bar):
        return (direction_bar(linalg.cosm, A, y_bar),)

    return y, pullback


@rrule(linalg.tanm, result="fresh", kind="like")
def tanm(A):
    y = linalg.tanm(A)

    def pullback(y_bar):
        return (direction_bar(linalg.tanm, A, y_bar),)

    return y, pullback


@rrule(linalg.sinhm, result="fresh", kind="like")
def sinhm(A):
    y = linalg.sinhm(A)

    def pullback(y_bar):
        return (direction_bar(linalg.sinhm, A, y_bar),)

    return y, pullback


@rrule(linalg.coshm, result="fresh", kind="like")
def coshm(A):
    y = linalg.coshm(A)

    def pullback(y_bar):
        return (direction_bar(linalg.coshm, A, y_bar),)

    return y, pullback


@rrule(linalg.tanhm, result="fresh", kind="like")
def tanhm(A):
    y = linalg.tanhm(A)

    def pullback(y_bar):
        return (direction_bar(linalg.tanhm, A, y_bar),)

    return y, pullback


@rrule(linalg.fractional_matrix_power)
def fractional_matrix_power(A, t):
    y = linalg.fractional_matrix_power(A, t)

    def pullback(y_bar):
        A_bar = direction_bar(lambda a: linalg.fractional_matrix_power(a, t), A, y_bar)
        if isinstance(t, int | np.integer):
            return A_bar, None
        logarithm = linalg.logm(np.asarray(A, np.result_type(A, float)))  # it warns in single precision
        return A_bar, float(np.sum(np.real(conj(logarithm @ y) * y_bar)))

    return y, pullback


# Matrices of vectors and blocks


@rrule(linalg.toeplitz, result="fresh", kind="array2", linear=("c", "r"))
def toeplitz(c, r=None):
    y = linalg.toeplitz(c, r)
    if ndim(c) > 1 or ndim(r) > 1:
        return NotImplemented
    c_shape, r_shape = shape(c), None if r is None else shape(r)

    def pullback(y_bar):
        return diagonals_bars(y_bar, c_shape, r_shape)

    return y, pullback


@rrule(linalg.hankel, result="fresh", kind="array2", linear=("c", "r"))
def hankel(c, r=None):
    y = linalg.hankel(c, r)
    if ndim(c) > 1 or ndim(r) > 1:
        return NotImplemented
    c_shape, r_shape = shape(c), None if r is None else shape(r)

    def pullback(y_bar):
        return antidiagonals_bars(y_bar, c_shape, r_shape)

    return y, pullback


@rrule(linalg.circulant, result="fresh", kind="array2", linear=("c",))
def circulant(c):
    y = linalg.circulant(c)
    n = y.shape[-1]
    if ndim(c) != 1:
        return NotImplemented

    def pullback(y_bar):
        return (gathered_bar(y_bar, (np.arange(n)[:, None] - np.arange(n)) % n, n),)

    return y, pullback


@rrule(linalg.companion, result="fresh", kind="array2")
def companion(a):
    y = linalg.companion(a)
    if ndim(a) != 1:
        return NotImplemented

    def pullback(y_bar):
        return (companion_bar(y_bar, np.asarray(a)),)

    return y, pullback


@rrule(linalg.block_diag, result="fresh", kind="array2", linear=("arrs",))
def block_diag(*arrs):
    if max(map(ndim, arrs), default=0) > 2:
        return NotImplemented
    y = linalg.block_diag(*arrs)
    shapes = [shape(a) for a in arrs]

    def pullback(y_bar):
        return (blocks_bars(y_bar, shapes),)

    return y, pullback
