"""Rules for inverses, linear systems, least squares, powers and determinants of matrices.

Sources: Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation", section 2; Magnus and Neudecker, "Matrix Differential Calculus", chapter 8.
"""

import numpy as np

from adcompiler.rules.registry import non_differentiable, rrule
from adcompiler.runtime.leastsquares import lstsq_bar_a, lstsq_bar_b, lstsq_inverse, pinv_bar
from adcompiler.runtime.matrices import (
    cofactors,
    matrix_power_bar,
    per_matrix,
    slogdet_bar,
    solve_adjoint,
    solve_bar_a,
    tensorinv_bar,
    tensorsolve_bar_a,
    tensorsolve_bar_b,
)
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import conj, fit, ndim, shape

non_differentiable(np.linalg.matrix_rank, kind="number")

# Inverses and powers


@rrule(np.linalg.inv, result="fresh", kind="like")
def inv(a):
    y = np.linalg.inv(a)

    def pullback(y_bar):
        return (-(adjoint(y) @ y_bar @ adjoint(y)),)

    return y, pullback


@rrule(np.linalg.matrix_power, result="same", kind="like")
def matrix_power(a, n):
    y = np.linalg.matrix_power(a, n)

    def pullback(y_bar):
        return matrix_power_bar(y_bar, a, n), None

    return y, pullback


@rrule(np.linalg.pinv, result="fresh", kind="transpose", flat=("rcond", "rtol"))
def pinv(a, rcond=None, hermitian=False, *, rtol=np._NoValue):
    """The derivative among matrices of the same rank: where the rank can change the pseudo-inverse has a pole."""
    y = np.linalg.pinv(a, rcond, hermitian, rtol=rtol)

    def pullback(y_bar):
        return pinv_bar(y_bar, a, y, rcond, hermitian, rtol), None, None, None

    return y, pullback


@rrule(np.linalg.tensorinv, result="fresh", kind="array")
def tensorinv(a, ind=2):
    y = np.linalg.tensorinv(a, ind)
    a_shape = shape(a)

    def pullback(y_bar):
        return tensorinv_bar(y_bar, y, a_shape, ind), None

    return y, pullback


# Linear systems


@rrule(np.linalg.solve, result="fresh", kind="array")
def solve(a, b):
    y = np.linalg.solve(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        if ndim(a) == 2 and ndim(b) == 1:
            x_bar = np.linalg.solve(conj(a).T, y_bar)
            a_bar = -(x_bar[:, None] * conj(y))
            b_bar = x_bar
        elif ndim(a) == 2 and ndim(b) == 2:
            x_bar = np.linalg.solve(conj(a).T, y_bar)
            a_bar = -(x_bar @ conj(y).T)
            b_bar = x_bar
        else:
            x_bar = solve_adjoint(a, y_bar, b_shape)
            a_bar = solve_bar_a(x_bar, y, a_shape, b_shape)
            b_bar = fit(x_bar, b_shape)
        return a_bar, b_bar

    return y, pullback


@rrule(np.linalg.tensorsolve, result="fresh", kind="array")
def tensorsolve(a, b, axes=None):
    y = np.linalg.tensorsolve(a, b, axes)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        b_bar = tensorsolve_bar_b(y_bar, a, b_shape, axes)
        return tensorsolve_bar_a(b_bar, y, a_shape, axes), b_bar, None

    return y, pullback


@rrule(np.linalg.lstsq, result="fresh", kind="lstsq", flat=("rcond",))
def lstsq(a, b, rcond=None):
    """The derivative among matrices of the same rank, of the solution of least length if there are several."""
    y = np.linalg.lstsq(a, b, rcond)

    def pullback(y_bar):
        inverse = lstsq_inverse(y_bar, a, rcond)
        return lstsq_bar_a(y_bar, inverse, a, b, y, rcond), lstsq_bar_b(y_bar, inverse, a, b, y), None

    return y, pullback


# Determinants


@rrule(np.linalg.det, result="fresh")
def det(a):
    y = np.linalg.det(a)

    def pullback(y_bar):
        return (per_matrix(y_bar) * conj(cofactors(a, y)),)

    return y, pullback


@rrule(np.linalg.slogdet, result="fresh", kind="slogdet")
def slogdet(a):
    y = np.linalg.slogdet(a)
    sign = y[0]

    def pullback(y_bar):
        return (slogdet_bar(y_bar, a, sign),)

    return y, pullback
