"""Rules for products of vectors, matrices and tensors, and for traces and diagonals of matrices.

Sources: Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation", section 2; Magnus and Neudecker, "Matrix Differential Calculus", chapter 8.
"""

import operator

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.contraction import einsum_bars, first_operand_bar
from adcompiler.runtime.layout import diagonal_bar, reshape
from adcompiler.runtime.products import (
    cross_bar_a,
    cross_bar_b,
    dot_bar_a,
    dot_bar_b,
    inner_bar_a,
    inner_bar_b,
    kron_bar_a,
    kron_bar_b,
    matmul_bar_a,
    matmul_bar_b,
    multi_dot_bars,
    tensordot_bar_a,
    tensordot_bar_b,
    trace_bar,
    vecdot_bar,
)
from adcompiler.runtime.shapes import conj, ndim, shape


@rrule(np.matmul, operator.matmul, np.linalg.matmul, result="fresh", kind="matmul", multilinear=("a", "b"))
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


@rrule(np.dot, np.ndarray.dot, result="fresh", multilinear=("a", "b"))
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


@rrule(np.outer, np.linalg.outer, result="fresh", kind="array2", multilinear=("a", "b"))
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


@rrule(np.inner, result="fresh", multilinear=("a", "b"))
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


@rrule(np.vdot, result="fresh", kind="scalar", multilinear=("a", "b"))
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


@rrule(np.tensordot, np.linalg.tensordot, result="fresh", kind="array", multilinear=("a", "b"))
def tensordot(a, b, axes=2):
    y = np.tensordot(a, b, axes)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return tensordot_bar_a(y_bar, b, a_shape, axes), tensordot_bar_b(y_bar, a, b_shape, axes), None

    return y, pullback


@rrule(np.einsum, result="same", multilinear=("subscripts", "operands"))
def einsum(subscripts, *operands, optimize=False):
    y = np.einsum(subscripts, *operands, optimize=optimize)

    def pullback(y_bar):
        return first_operand_bar(y_bar, subscripts, operands), einsum_bars(y_bar, subscripts, operands), None

    return y, pullback


@rrule(np.kron, result="fresh", kind="array", multilinear=("a", "b"))
def kron(a, b):
    y = np.kron(a, b)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        return kron_bar_a(y_bar, b, a_shape), kron_bar_b(y_bar, a, b_shape)

    return y, pullback


@rrule(np.vecdot, np.linalg.vecdot, result="fresh", multilinear=("x1", "x2"))
def vecdot(x1, x2, /, *, axis=-1):
    """The first factor is conjugated, which makes the product antilinear in it."""
    y = np.vecdot(x1, x2, axis=axis)
    x1_shape, x2_shape = shape(x1), shape(x2)

    def pullback(y_bar):
        return vecdot_bar(conj(y_bar), x2, x1_shape, axis), vecdot_bar(y_bar, x1, x2_shape, axis), None

    return y, pullback


@rrule(np.linalg.multi_dot, result="fresh")
def multi_dot(arrays):
    y = np.linalg.multi_dot(arrays)

    def pullback(y_bar):
        return (multi_dot_bars(y_bar, arrays),)

    return y, pullback


@rrule(np.cross, result="fresh", multilinear=("a", "b"))
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    y = np.cross(a, b, axisa, axisb, axisc, axis)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        a_bar = cross_bar_a(y_bar, b, a_shape, axisa, axisb, axisc, axis)
        b_bar = cross_bar_b(y_bar, a, b_shape, axisa, axisb, axisc, axis)
        return a_bar, b_bar, None, None, None, None

    return y, pullback


@rrule(np.linalg.cross, result="fresh", kind="array", multilinear=("x1", "x2"))
def cross_of_three(x1, x2, /, *, axis=-1):
    y = np.linalg.cross(x1, x2, axis=axis)
    x1_shape, x2_shape = shape(x1), shape(x2)

    def pullback(y_bar):
        x1_bar = cross_bar_a(y_bar, x2, x1_shape, axis, axis, axis, None)
        x2_bar = cross_bar_b(y_bar, x1, x2_shape, axis, axis, axis, None)
        return x1_bar, x2_bar, None

    return y, pullback


# Diagonals of matrices


@rrule(np.trace, np.ndarray.trace, result="fresh", linear=("a",))
def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    y = np.trace(a, offset, axis1, axis2, dtype)
    a_shape = shape(a)

    def pullback(y_bar):
        return trace_bar(y_bar, a_shape, offset, axis1, axis2, dtype), None, None, None, None

    return y, pullback


@rrule(np.linalg.trace, result="fresh", linear=("x",))
def matrix_trace(x, /, *, offset=0, dtype=None):
    y = np.linalg.trace(x, offset=offset, dtype=dtype)
    x_shape = shape(x)

    def pullback(y_bar):
        return trace_bar(y_bar, x_shape, offset, -2, -1, dtype), None, None

    return y, pullback


@rrule(np.linalg.diagonal, result="view", kind="array", linear=("x",))
def matrix_diagonal(x, /, *, offset=0):
    y = np.linalg.diagonal(x, offset=offset)
    x_shape = shape(x)

    def pullback(y_bar):
        return diagonal_bar(y_bar, x_shape, offset, -2, -1), None

    return y, pullback
