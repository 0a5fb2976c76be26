"""Rules for products of vectors, matrices and tensors, and for linear algebra.

Sources: Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation", sections 2 and 3; Magnus and Neudecker, "Matrix Differential Calculus", chapter 8.
"""

import operator

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.contraction import einsum_bars, first_operand_bar
from adcompiler.runtime.layout import reshape
from adcompiler.runtime.matrices import (
    cofactors,
    matrix_power_bar,
    per_matrix,
    pinv_bar,
    slogdet_bar,
    solve_adjoint,
    solve_bar_a,
)
from adcompiler.runtime.products import (
    adjoint,
    dot_bar_a,
    dot_bar_b,
    inner_bar_a,
    inner_bar_b,
    kron_bar_a,
    kron_bar_b,
    matmul_bar_a,
    matmul_bar_b,
    tensordot_bar_a,
    tensordot_bar_b,
    trace_bar,
)
from adcompiler.runtime.shapes import conj, fit, ndim, shape


@rrule(np.matmul, operator.matmul, np.linalg.matmul, result="fresh", kind="matmul")
def matmul(a, b):
    y = np.matmul(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        if ndim(a) == 2 and ndim(b) == 2:
            a_bar = y_bar @ conj(b).T
            b_bar = conj(a).T @ y_bar
        elif ndim(a) == 2 and ndim(b) == 1:
            a_bar = y_bar[:, None] * conj(b)
            b_bar = conj(a).T @ y_bar
        elif ndim(a) == 1 and ndim(b) == 2:
            a_bar = conj(b) @ y_bar
            b_bar = conj(a)[:, None] * y_bar
        elif ndim(a) == 1 and ndim(b) == 1:
            a_bar = y_bar * conj(b)
            b_bar = y_bar * conj(a)
        else:
            a_bar = matmul_bar_a(y_bar, b, a_shape)
            b_bar = matmul_bar_b(y_bar, a, b_shape)
        return a_bar, b_bar

    return y, pullback


@rrule(np.dot, np.ndarray.dot, result="fresh")
def dot(a, b):
    y = np.dot(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        if ndim(a) == 2 and ndim(b) == 2:
            a_bar = y_bar @ conj(b).T
            b_bar = conj(a).T @ y_bar
        elif ndim(a) == 2 and ndim(b) == 1:
            a_bar = y_bar[:, None] * conj(b)
            b_bar = conj(a).T @ y_bar
        elif ndim(a) == 1 and ndim(b) == 2:
            a_bar = conj(b) @ y_bar
            b_bar = conj(a)[:, None] * y_bar
        elif ndim(a) == 1 and ndim(b) == 1:
            a_bar = y_bar * conj(b)
            b_bar = y_bar * conj(a)
        else:
            a_bar = dot_bar_a(y_bar, b, a_shape)
            b_bar = dot_bar_b(y_bar, a, b_shape)
        return a_bar, b_bar

    return y, pullback


@rrule(np.outer, np.linalg.outer, result="fresh", kind="array2")
def outer(a, b):
    y = np.outer(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        if ndim(a) == 1 and ndim(b) == 1:
            a_bar = y_bar @ conj(b)
            b_bar = conj(a) @ y_bar
        else:
            a_bar = reshape(y_bar @ np.ravel(np.conj(b)), a_shape)
            b_bar = reshape(np.ravel(np.conj(a)) @ y_bar, b_shape)
        return a_bar, b_bar

    return y, pullback


@rrule(np.inner, result="fresh")
def inner(a, b):
    y = np.inner(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        if ndim(a) == 1 and ndim(b) == 1:
            a_bar = y_bar * conj(b)
            b_bar = y_bar * conj(a)
        else:
            a_bar = inner_bar_a(y_bar, b, a_shape)
            b_bar = inner_bar_b(y_bar, a, b_shape)
        return a_bar, b_bar

    return y, pullback


@rrule(np.vdot, result="fresh", kind="scalar")
def vdot(a, b):
    y = np.vdot(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        if ndim(a) == 1 and ndim(b) == 1:
            a_bar = conj(y_bar) * np.ravel(b)
            b_bar = y_bar * np.ravel(a)
        else:
            a_bar = reshape(conj(y_bar) * np.ravel(b), a_shape)
            b_bar = reshape(y_bar * np.ravel(a), b_shape)
        return a_bar, b_bar

    return y, pullback


@rrule(np.tensordot, np.linalg.tensordot, result="fresh", kind="array")
def tensordot(a, b, axes=2):
    y = np.tensordot(a, b, axes)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return tensordot_bar_a(y_bar, b, a_shape, axes), tensordot_bar_b(y_bar, a, b_shape, axes), None

    return y, pullback


@rrule(np.einsum, result="same")
def einsum(subscripts, *operands, optimize=False):
    y = np.einsum(subscripts, *operands, optimize=optimize)

    def pullback(y_bar):
        return first_operand_bar(y_bar, subscripts, operands), einsum_bars(y_bar, subscripts, operands), None

    return y, pullback


@rrule(np.kron, result="fresh", kind="array")
def kron(a, b):
    y = np.kron(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return kron_bar_a(y_bar, b, a_shape), kron_bar_b(y_bar, a, b_shape)

    return y, pullback


@rrule(np.trace, np.ndarray.trace, result="fresh")
def trace(a, offset=0, axis1=0, axis2=1):
    y = np.trace(a, offset, axis1, axis2)
    a_shape = shape(a)

    def pullback(y_bar):
        return trace_bar(y_bar, a_shape, offset, axis1, axis2), None, None, None

    return y, pullback


# Inverses, powers and determinants


@rrule(np.linalg.inv, result="fresh", kind="like")
def inv(a):
    y = np.linalg.inv(a)

    def pullback(y_bar):
        return (-(adjoint(y) @ y_bar @ adjoint(y)),)

    return y, pullback


@rrule(np.linalg.pinv, result="fresh", kind="transpose")
def pinv(a):
    y = np.linalg.pinv(a)

    def pullback(y_bar):
        return (pinv_bar(y_bar, a, y),)

    return y, pullback


@rrule(np.linalg.matrix_power, result="same", kind="like")
def matrix_power(a, n):
    y = np.linalg.matrix_power(a, n)

    def pullback(y_bar):
        return matrix_power_bar(y_bar, a, n), None

    return y, pullback


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


@rrule(np.linalg.det, result="fresh")
def det(a):
    y = np.linalg.det(a)

    def pullback(y_bar):
        return (per_matrix(y_bar) * conj(cofactors(a, y)),)

    return y, pullback


@rrule(np.linalg.slogdet, kind="tuple")
def slogdet(a):
    y = np.linalg.slogdet(a)
    sign = y[0]

    def pullback(y_bar):
        return (slogdet_bar(y_bar, a, sign),)

    return y, pullback
