"""Forward rules of inverses, linear systems, determinants, powers, norms and condition numbers of matrices.

Source: Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation", section 2.
"""

import math

import numpy as np

from adcompiler.rules.forward import frule
from adcompiler.rules.forward_factorisations import svdvals
from adcompiler.runtime.elementary import divide_singular, multiply_strong
from adcompiler.runtime.factors import from_triangle
from adcompiler.runtime.matrices import cofactors, per_matrix, solved_axes, unit
from adcompiler.runtime.norms import cond_bar, norm_bar, vector_norm_bar
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.reduction import keep_dims
from adcompiler.runtime.shapes import conj, ndim, real, shape

# Inverses and powers


@frule(np.linalg.inv)
def inv(tangents, a):
    y = np.linalg.inv(a)
    return y, -(y @ tangents[0] @ y)


def power_dot(dot, a, n):
    """The tangent of the `n`-th power of a matrix, by repeated squaring as the power itself."""
    if n == 0:
        return 0.0 * dot
    if n == 1:
        return dot
    if n < 0:
        inverse = np.linalg.inv(a)
        return power_dot(-(inverse @ dot @ inverse), inverse, -n)
    square, half_dot = a @ a, power_dot(dot @ a + a @ dot, a @ a, n // 2)
    if n % 2 == 0:
        return half_dot
    return dot @ np.linalg.matrix_power(square, n // 2) + a @ half_dot


@frule(np.linalg.matrix_power)
def matrix_power(tangents, a, n):
    y = np.linalg.matrix_power(a, n)
    return y, power_dot(tangents[0], a, n)


@frule(np.linalg.pinv)
def pinv(tangents, a, rcond=None, hermitian=False, *, rtol=np._NoValue):
    """Among matrices of the same rank: Golub and Pereyra (1973), equation 4.12."""
    if 0 in shape(a) or (rcond is not None) or not (rtol is None or rtol is np._NoValue):
        return NotImplemented
    y = np.linalg.pinv(a, rcond, hermitian, rtol=rtol)
    if hermitian:
        whole, dot = from_triangle(a, False), from_triangle(tangents[0], False)
    else:
        whole, dot = a, tangents[0]
    outside, inside = unit(whole @ y) - whole @ y, unit(y @ whole) - y @ whole
    turned = y @ adjoint(y) @ adjoint(dot) @ outside + inside @ adjoint(dot) @ adjoint(y) @ y
    return y, turned - y @ dot @ y


@frule(np.linalg.tensorinv)
def tensorinv(tangents, a, ind=2):
    y = np.linalg.tensorinv(a, ind)
    n = math.prod(shape(a)[ind:])
    inverse = np.reshape(y, (n, n))
    return y, np.reshape(-(inverse @ np.reshape(tangents[0], (n, n)) @ inverse), shape(y))


# Linear systems


@frule(np.linalg.solve)
def solve(tangents, a, b):
    y = np.linalg.solve(a, b)
    if tangents[0] is None:
        y_dot = np.linalg.solve(a, tangents[1])
    elif ndim(b) == 1 and tangents[1] is None:
        y_dot = -np.linalg.solve(a, tangents[0] @ y[..., None])[..., 0]
    elif ndim(b) == 1:
        y_dot = np.linalg.solve(a, tangents[1][..., None] - tangents[0] @ y[..., None])[..., 0]
    elif tangents[1] is None:
        y_dot = -np.linalg.solve(a, tangents[0] @ y)
    else:
        y_dot = np.linalg.solve(a, tangents[1] - tangents[0] @ y)
    return y, y_dot


@frule(np.linalg.tensorsolve)
def tensorsolve(tangents, a, b, axes=None):
    if 0 in shape(a):
        return NotImplemented
    y = np.linalg.tensorsolve(a, b, axes)
    right = 0.0
    if tangents[1] is not None:
        right = tangents[1]
    if tangents[0] is not None:
        moved = np.tensordot(np.transpose(tangents[0], solved_axes(ndim(a), axes)), y, axes=ndim(y))
        right = right - np.reshape(moved, shape(b))
    return y, np.linalg.tensorsolve(a, right, axes)


def columns_of(b):
    """A vector as a matrix of one column."""
    return b[:, None] if ndim(b) == 1 else b


@frule(np.linalg.lstsq)
def lstsq(tangents, a, b, rcond=None):
    """Among matrices of the same rank, of the solution of least length if there are several."""
    if rcond is not None or 0 in shape(a):
        return NotImplemented
    y = np.linalg.lstsq(a, b, rcond)
    columns = columns_of(b)
    x = columns_of(y[0])
    inverse = np.linalg.pinv(a, float(np.finfo(float).eps) * max(shape(a)))
    moved = 0.0 * columns
    if tangents[1] is not None:
        moved = moved + columns_of(tangents[1])
    x_dot, values_dot = 0.0, None
    if tangents[0] is not None:
        dot = adjoint(tangents[0])
        moved = moved - tangents[0] @ x
        lifted = dot @ adjoint(inverse) @ x
        x_dot = inverse @ adjoint(inverse) @ dot @ (columns - a @ x) + lifted - inverse @ (a @ lifted)
        values_dot = svdvals((tangents[0],), a)[1]
    x_dot = x_dot + inverse @ moved
    if np.size(y[1]):
        rest_dot = 2 * np.sum(real(conj(columns - a @ x) * moved), axis=0)
    else:
        rest_dot = None
    return y, (np.reshape(x_dot, shape(y[0])), rest_dot, None, values_dot)


# Determinants


@frule(np.linalg.det)
def det(tangents, a):
    y = np.linalg.det(a)
    return y, np.sum(cofactors(a, y) * tangents[0], axis=(-2, -1))


@frule(np.linalg.slogdet)
def slogdet(tangents, a):
    """There is no derivative at a singular matrix: nan there, unless the tangent is 0."""
    y = np.linalg.slogdet(a)
    sign = y[0]
    singular = np.equal(sign, 0)
    regular = np.where(per_matrix(singular), unit(a), a)
    turn = np.trace(np.linalg.solve(regular, tangents[0]), axis1=-2, axis2=-1)
    moves = np.any(np.not_equal(tangents[0], 0), axis=(-2, -1))
    turn = np.where(singular & moves, np.nan, turn)[()]
    if np.iscomplexobj(sign):
        return y, (1j * np.imag(turn) * sign, real(turn))
    return y, (None, turn)


# Norms: at the zero vector and the zero matrix, where they have their minimum, the derivative is 0


@frule(np.linalg.norm)
def norm(tangents, x, ord=None, axis=None, keepdims=False):
    if tangents[1] is not None:
        return NotImplemented
    y = np.linalg.norm(x, ord, axis, keepdims)
    if ord is None:
        along = np.sum(real(conj(x) * tangents[0]), axis=axis, keepdims=keepdims)
        y_dot = divide_singular(along, y)
    else:
        slopes = norm_bar(np.ones_like(y)[()], y, x, ord, axis, keepdims)
        y_dot = np.sum(real(conj(slopes) * tangents[0]), axis=axis, keepdims=keepdims)
    return y, y_dot


@frule(np.linalg.vector_norm)
def vector_norm(tangents, x, *, axis=None, keepdims=False, ord=2):
    if tangents[3] is not None:
        return NotImplemented
    y = np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    if ord == 2:
        along = np.sum(real(conj(x) * tangents[0]), axis=axis, keepdims=keepdims)
        y_dot = divide_singular(along, y)
    else:
        size = keep_dims(y, axis, keepdims)
        slopes = vector_norm_bar(np.ones_like(size), size, x, ord, axis)
        y_dot = np.sum(real(conj(slopes) * tangents[0]), axis=axis, keepdims=keepdims)
    return y, y_dot


@frule(np.linalg.matrix_norm)
def matrix_norm(tangents, x, *, keepdims=False, ord="fro"):
    y = np.linalg.matrix_norm(x, keepdims=keepdims, ord=ord)
    slopes = norm_bar(np.ones_like(y)[()], y, x, ord, (-2, -1), keepdims)
    return y, np.sum(real(conj(slopes) * tangents[0]), axis=(-2, -1), keepdims=keepdims)


@frule(np.linalg.cond)
def cond(tangents, x, p=None):
    y = np.linalg.cond(x, p)
    slopes = cond_bar(np.ones_like(y)[()], y, x, p)
    return y, np.sum(real(multiply_strong(tangents[0], conj(slopes))), axis=(-2, -1))


@frule(np.linalg.multi_dot)
def multi_dot(tangents, arrays):
    y = np.linalg.multi_dot(arrays)
    y_dot = 0.0
    for i in range(len(arrays)):
        if tangents[0][i] is not None:
            y_dot = y_dot + np.linalg.multi_dot([*arrays[:i], tangents[0][i], *arrays[i + 1 :]])
    return y, y_dot
