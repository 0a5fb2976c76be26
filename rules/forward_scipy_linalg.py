"""Forward rules of scipy.linalg, for matrices without a structure that is assumed."""

import numpy as np
from scipy import linalg

from adcompiler.rules import forward_factorisations, forward_linalg
from adcompiler.rules.forward import frule
from adcompiler.runtime.matrices import cofactors
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import ndim, shape

# Systems, inverses and determinants


@frule(linalg.inv)
def inv(tangents, a, *, check_finite=True, assume_a=None, lower=False):
    if assume_a not in (None, "gen", "general"):
        return NotImplemented
    y = linalg.inv(a, check_finite=check_finite)
    return y, -(y @ tangents[0] @ y)


@frule(linalg.det)
def det(tangents, a, *, check_finite=True):
    y = linalg.det(a, check_finite=check_finite)
    return y, np.sum(cofactors(np.asarray(a), y) * tangents[0], axis=(-2, -1))


@frule(linalg.solve)
def solve(tangents, a, b, lower=False, *, check_finite=True, assume_a=None, transposed=False):
    if assume_a is not None or transposed or ndim(a) != 2 or ndim(b) > 2 or 0 in shape(a):
        return NotImplemented
    y = linalg.solve(a, b, check_finite=check_finite)
    right = 0.0
    if tangents[1] is not None:
        right = tangents[1]
    if tangents[0] is not None:
        right = right - tangents[0] @ y
    return y, linalg.solve(a, right)


@frule(linalg.solve_triangular)
def solve_triangular(tangents, a, b, trans=0, lower=False, unit_diagonal=False, *, check_finite=True):
    if ndim(a) != 2 or ndim(b) > 2 or 0 in shape(a) or 0 in shape(b):
        return NotImplemented
    y = linalg.solve_triangular(a, b, trans, lower, unit_diagonal, check_finite=check_finite)
    right = 0.0
    if tangents[1] is not None:
        right = tangents[1]
    if tangents[0] is not None:
        if lower:
            part = np.tril(tangents[0], -1 if unit_diagonal else 0)
        else:
            part = np.triu(tangents[0], 1 if unit_diagonal else 0)
        if trans in (1, "T"):
            turned = part.T
        elif trans in (2, "C"):
            turned = adjoint(part)
        else:
            turned = part
        right = right - turned @ y
    return y, linalg.solve_triangular(a, right, trans, lower, unit_diagonal)


@frule(linalg.solve_sylvester)
def solve_sylvester(tangents, a, b, q):
    y = linalg.solve_sylvester(a, b, q)
    if not np.size(y):
        return NotImplemented
    right = 0.0
    if tangents[2] is not None:
        right = tangents[2]
    if tangents[0] is not None:
        right = right - tangents[0] @ y
    if tangents[1] is not None:
        right = right - y @ tangents[1]
    return y, linalg.solve_sylvester(a, b, right)


@frule(linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(tangents, a, q):
    y = linalg.solve_continuous_lyapunov(a, q)
    right = 0.0
    if tangents[1] is not None:
        right = tangents[1]
    if tangents[0] is not None:
        right = right - tangents[0] @ y - y @ adjoint(tangents[0])
    return y, linalg.solve_continuous_lyapunov(a, right)


@frule(linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(tangents, a, q, method=None):
    y = linalg.solve_discrete_lyapunov(a, q, method)
    right = 0.0
    if tangents[1] is not None:
        right = tangents[1]
    if tangents[0] is not None:
        right = right + tangents[0] @ y @ adjoint(a) + a @ y @ adjoint(tangents[0])
    return y, linalg.solve_discrete_lyapunov(a, right, method)


@frule(linalg.norm)
def norm(tangents, a, ord=None, axis=None, keepdims=False, check_finite=True):
    found = forward_linalg.norm(tangents[:4], np.asarray(a), ord, axis, keepdims)
    if found is NotImplemented:
        return NotImplemented
    y = linalg.norm(a, ord, axis, keepdims, check_finite)
    return y, found[1]


# Factorisations


@frule(linalg.cholesky)
def cholesky(tangents, a, lower=False, *, check_finite=True):
    """The triangle that SciPy reads is the one of the factor."""
    y = linalg.cholesky(a, lower, check_finite=check_finite)
    return y, forward_factorisations.factor_dot(tangents[0], y, not lower)


@frule(linalg.eigvals)
def eigvals(tangents, a, *, check_finite=True):
    _, w_dot = forward_factorisations.eigvals(tangents[:1], a)
    y = linalg.eigvals(a, check_finite=check_finite)
    return y, w_dot


@frule(linalg.svdvals)
def svdvals(tangents, a, *, check_finite=True):
    if 0 in shape(a):
        return NotImplemented
    _, s_dot = forward_factorisations.svdvals(tangents[:1], np.asarray(a))
    y = linalg.svdvals(a, check_finite=check_finite)
    return y, s_dot


# Functions of a matrix: the upper right block of ``f([[A, E], [0, A]])``, Higham (2008), "Functions of matrices", 3.16


def along(function, a, dot):
    """The derivative of `function` at a matrix along `dot`, which is scaled, lest it set the scale."""
    n = shape(a)[-1]
    size = np.max(np.abs(dot), axis=(-2, -1), keepdims=True, initial=0.0)
    size = np.where(size > 0, size, 1)
    nothing = np.zeros_like(dot)
    whole = np.block([[a + nothing, dot / size], [nothing, a + nothing]])
    return function(whole)[..., :n, n:] * size


@frule(linalg.expm)
def expm(tangents, A):
    y = linalg.expm(A)
    return y, along(linalg.expm, np.asarray(A), tangents[0])


@frule(linalg.sinm)
def sinm(tangents, A):
    y = linalg.sinm(A)
    return y, along(linalg.sinm, np.asarray(A), tangents[0])


@frule(linalg.cosm)
def cosm(tangents, A):
    y = linalg.cosm(A)
    return y, along(linalg.cosm, np.asarray(A), tangents[0])


@frule(linalg.sinhm)
def sinhm(tangents, A):
    y = linalg.sinhm(A)
    return y, along(linalg.sinhm, np.asarray(A), tangents[0])


@frule(linalg.coshm)
def coshm(tangents, A):
    y = linalg.coshm(A)
    return y, along(linalg.coshm, np.asarray(A), tangents[0])


@frule(linalg.tanhm)
def tanhm(tangents, A):
    y = linalg.tanhm(A)
    return y, along(linalg.tanhm, np.asarray(A), tangents[0])


@frule(linalg.tanm)
def tanm(tangents, A):
    y = linalg.tanm(A)
    return y, along(linalg.tanm, np.asarray(A), tangents[0])


@frule(linalg.logm)
def logm(tangents, A):
    y = linalg.logm(A)
    return y, along(linalg.logm, np.asarray(A), tangents[0])


@frule(linalg.sqrtm)
def sqrtm(tangents, A):
    """The derivative E of the principal root X along D solves ``X E + E X = D``: Higham (2008), section 6.1."""
    y = linalg.sqrtm(A)
    if ndim(y) > 2:
        return y, along(linalg.sqrtm, np.asarray(A), tangents[0])
    return y, linalg.solve_sylvester(y, y, tangents[0])
