"""Parts of the pullbacks of inverses, solutions of linear systems, powers and determinants of (stacks of) matrices.

Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation", section 2, unless another source is named.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array, eye
from adcompiler.runtime.layout import inverse_axes
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.reduction import product_of_others
from adcompiler.runtime.shapes import Shape, conj, fit, ndim


def unit(a: Any) -> Any:
    """The unit matrix that belongs to (a stack of) square matrices, as a mask in the same array library."""
    return eye(a.shape[-1], bool, a)


def per_matrix(c: Any) -> Any:
    """`c`, a number for each matrix of a stack, so that it broadcasts against the matrices."""
    return c[..., None, None] if ndim(c) else c


# Linear systems


def solve_adjoint(a: Any, y_bar: Any, b_shape: Shape) -> Any:
    """The cotangent of `b` in ``np.linalg.solve(a, b)``, before stacked matrices are summed."""
    if len(b_shape) == 1:
        return np.linalg.solve(adjoint(a), y_bar[..., None])[..., 0]
    return np.linalg.solve(adjoint(a), y_bar)


def solve_bar_a(x_bar: Any, y: Any, a_shape: Shape, b_shape: Shape) -> Any:
    """The cotangent of `a` in ``y = np.linalg.solve(a, b)``, given `x_bar`, that of `b`."""
    if len(b_shape) == 1:
        return fit(-(x_bar[..., :, None] * conj(y)[..., None, :]), a_shape)
    return fit(-(x_bar @ adjoint(y)), a_shape)


def tensorinv_bar(y_bar: Any, y: Any, a_shape: Shape, ind: int) -> Any:
    """The cotangent of `a` in ``y = np.linalg.tensorinv(a, ind)``: that of the inverse of a matrix, reshaped."""
    n = math.prod(a_shape[ind:])
    inverse = adjoint(np.reshape(y, (n, n)))
    return np.reshape(-(inverse @ np.reshape(y_bar, (n, n)) @ inverse), a_shape)


def tensorsolve_bar_b(y_bar: Any, a: Any, b_shape: Shape, axes: Sequence[int] | None) -> Any:
    """The cotangent of `b` in ``np.linalg.tensorsolve(a, b, axes)``."""
    n = math.prod(b_shape)
    matrix = np.reshape(np.transpose(a, solved_axes(ndim(a), axes)), (n, n))
    return np.reshape(np.linalg.solve(adjoint(matrix), np.reshape(y_bar, (n,))), b_shape)


def tensorsolve_bar_a(b_bar: Any, y: Any, a_shape: Shape, axes: Sequence[int] | None) -> Any:
    """The cotangent of `a` in ``y = np.linalg.tensorsolve(a, b, axes)``, given that of `b`."""
    order = solved_axes(len(a_shape), axes)
    bar = -np.tensordot(b_bar, conj(y), axes=0)
    return np.transpose(np.reshape(bar, _taken(a_shape, order)), inverse_axes(order))


def _taken(lengths: Shape, order: list[int]) -> Shape:
    return tuple(lengths[axis] for axis in order)


def solved_axes(rank: int, axes: Sequence[int] | None) -> list[int]:
    """The axes of `a` as `np.linalg.tensorsolve` orders them: those in `axes` last."""
    order = list(range(rank))
    for axis in axes or ():
        order.remove(axis)
        order.insert(rank, axis)
    return order


def matrix_power_bar(y_bar: Any, a: Any, n: int) -> Any:
    """The cotangent of `a` in ``np.linalg.matrix_power(a, n)``, by repeated squaring as the power itself."""
    if n == 0:
        return np.zeros_like(y_bar)
    if n == 1:
        return y_bar
    if n < 0:
        inverse = np.linalg.inv(a)
        return -(adjoint(inverse) @ matrix_power_bar(y_bar, inverse, -n) @ adjoint(inverse))
    a = as_array(a)
    square, step = a @ a, adjoint(a)
    if n % 2:
        square_bar = matrix_power_bar(step @ y_bar, square, n // 2)
        return y_bar @ adjoint(np.linalg.matrix_power(square, n // 2)) + step @ square_bar + square_bar @ step
    square_bar = matrix_power_bar(y_bar, square, n // 2)
    return step @ square_bar + square_bar @ step


# Determinants


def cofactors(a: Any, det: Any) -> Any:
    """The derivative of the determinant by each entry of `a`: ``det * inv(a).T`` if `a` is well conditioned.

    Else from the singular values, which need no division: the cofactor matrix of ``u @ diag(s) @ vh`` is
    ``det(u) * det(vh) * conj(u) @ diag(products of the other s) @ conj(vh)``.
    """
    if np.all(det != 0) and np.all(np.isfinite(det)):
        inverse = np.linalg.inv(a)
        condition = np.linalg.norm(a, axis=(-2, -1)) * np.linalg.norm(inverse, axis=(-2, -1))
        if np.all(condition < np.finfo(inverse.dtype).eps ** -0.5):
            return per_matrix(det) * inverse.swapaxes(-1, -2)
    u, s, vh = np.linalg.svd(a)
    others = product_of_others(s, np.prod(s, axis=-1), -1, False)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    return per_matrix(phase) * ((conj(u) * others[..., None, :]) @ conj(vh))


def slogdet_bar(y_bar: Any, a: Any, sign: Any) -> Any:
    """The cotangent of `a` in ``sign, logabsdet = np.linalg.slogdet(a)``; a real sign does not vary.

    There is no derivative at a singular matrix: nan there, unless the cotangent is 0.
    """
    weight = None if y_bar[1] is None else np.real(y_bar[1])
    if y_bar[0] is not None and np.iscomplexobj(sign):
        turn = 1j * np.imag(y_bar[0] * conj(sign))
        weight = turn if weight is None else weight + turn
    a = as_array(a)
    if weight is None:
        return np.zeros_like(a)
    singular = per_matrix(np.equal(sign, 0))
    weight = per_matrix(weight)
    inverse = adjoint(np.linalg.inv(np.where(singular, unit(a), a)))
    return weight * np.where(singular & np.not_equal(weight, 0), np.nan, inverse)
