"""Forward rules of matrix factorisations.

NumPy reads one triangle of a Hermitian matrix, so the tangent of the other one does not count. Vectors of equal values
are any basis of a space: where the tangent of the matrix turns that basis by an angle that is not small there is no
derivative, and an error is raised.
"""

import numpy as np

from adcompiler.rules.forward import frule
from adcompiler.runtime.factors import from_triangle, require_independent
from adcompiler.runtime.matrices import unit
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import real, shape
from adcompiler.runtime.singular import is_null, require_no_null
from adcompiler.runtime.spectral import (
    divide_where_not,
    equal_values,
    inverse_of_eigenvectors,
    require_apart,
    share_equal,
)

# Triangular factors


def factor_dot(dot, y, upper):
    """Of the Cholesky factor `y`: Murray (2016), "Differentiation of the Cholesky decomposition", equation 8."""
    factor = adjoint(y) if upper else y
    whole = from_triangle(dot, upper)
    inner = np.linalg.solve(factor, adjoint(np.linalg.solve(factor, whole)))
    lower_dot = factor @ (np.tril(inner) * (1 - 0.5 * unit(y).astype(real(y).dtype)))
    return adjoint(lower_dot) if upper else lower_dot


@frule(np.linalg.cholesky)
def cholesky(tangents, a, *, upper=False):
    y = np.linalg.cholesky(a, upper=True) if upper else np.linalg.cholesky(a)
    return y, factor_dot(tangents[0], y, upper)


@frule(np.linalg.qr)
def qr(tangents, a, mode="reduced"):
    """For independent leading columns; those of q behind the first are any basis of their space."""
    if mode in ("raw", "economic") or 0 in shape(a):
        return NotImplemented
    y = np.linalg.qr(a, mode)
    whole = np.linalg.qr(a) if mode == "r" else y
    rank = min(shape(a)[-2:])
    q, r = whole[0][..., :rank], whole[1][..., :rank, :]
    require_independent(r[..., :rank], shape(a)[-2])
    dot = tangents[0]
    scaled = adjoint(np.linalg.solve(adjoint(r[..., :rank]), adjoint(dot[..., :rank])))
    inner = adjoint(q) @ scaled
    lower = np.tril(inner, -1)
    turn = lower - adjoint(lower) + unit(inner) * (inner - real(inner))
    lead_dot = q @ turn + scaled - q @ inner
    r_dot = adjoint(q) @ dot - turn @ r
    r_dot = np.concatenate([np.triu(r_dot[..., :rank]), r_dot[..., rank:]], axis=-1)
    if mode == "r":
        return y, r_dot
    extra = whole[0][..., rank:]
    q_dot = np.concatenate([lead_dot, -(q @ (adjoint(lead_dot) @ extra))], axis=-1)
    below = np.zeros_like(whole[1][..., rank:, :])
    return y, (q_dot, np.concatenate([r_dot, below], axis=-2))


# Eigenvalues


@frule(np.linalg.eigh)
def eigh(tangents, a, UPLO="L"):
    y = np.linalg.eigh(a, UPLO)
    w, v = y[0], y[1]
    inner = adjoint(v) @ from_triangle(tangents[0], UPLO.upper() == "U") @ v
    same = equal_values(w)
    require_apart(inner, same)
    v_dot = v @ divide_where_not(same, inner, w[..., None, :] - w[..., :, None])
    return y, (real(np.diagonal(inner, axis1=-2, axis2=-1)), v_dot)


@frule(np.linalg.eigvalsh)
def eigvalsh(tangents, a, UPLO="L"):
    w, v = np.linalg.eigh(a, UPLO)
    inner = adjoint(v) @ from_triangle(tangents[0], UPLO.upper() == "U") @ v
    slopes = real(np.diagonal(inner, axis1=-2, axis2=-1))
    y = np.linalg.eigvalsh(a, UPLO)
    return y, share_equal(slopes, equal_values(w))


@frule(np.linalg.eig)
def eig(tangents, a):
    """The eigenvectors have length 1."""
    y = np.linalg.eig(a)
    w, v = y[0], y[1]
    inverse, condition = inverse_of_eigenvectors(v)
    inner = inverse @ tangents[0] @ v
    same = equal_values(w, condition)
    require_apart(inner, same)
    free = v @ divide_where_not(same, inner, w[..., None, :] - w[..., :, None])
    along = real(np.sum(np.conj(v) * free, axis=-2, keepdims=True))
    return y, (np.diagonal(inner, axis1=-2, axis2=-1), free - v * along)


@frule(np.linalg.eigvals)
def eigvals(tangents, a):
    w, v = np.linalg.eig(a)
    inverse, condition = inverse_of_eigenvectors(v)
    slopes = np.diagonal(inverse @ tangents[0] @ v, axis1=-2, axis2=-1)
    y = np.linalg.eigvals(a)
    return y, share_equal(slopes, equal_values(w, condition))


# Singular values


@frule(np.linalg.svdvals)
def svdvals(tangents, x):
    """Of equal ones the mean; 0 at the kink of one that is 0."""
    if 0 in shape(x):
        return NotImplemented
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    slopes = real(np.diagonal(adjoint(u) @ tangents[0] @ adjoint(vh), axis1=-2, axis2=-1))
    null = is_null(s, u.shape[-2] + vh.shape[-1])
    y = np.linalg.svdvals(x)
    return y, share_equal(np.where(null, 0, slopes), equal_values(s))


@frule(np.linalg.svd)
def svd(tangents, a, full_matrices=True, compute_uv=True, hermitian=False):
    """From ``u_dot = u @ turn_u`` and ``v_dot = v @ turn_v``, in which both turns are anti-Hermitian.

    Their sum is the Hermitian part of ``u^H a_dot v`` over differences of singular values, their difference the rest
    over sums.
    """
    if hermitian or 0 in shape(a):
        return NotImplemented
    y = np.linalg.svd(a, full_matrices, compute_uv)
    if not compute_uv:
        return y, svdvals(tangents, a)[1]
    s = y[1]
    rank = s.shape[-1]
    u, v = y[0][..., :rank], adjoint(y[2][..., :rank, :])
    core = adjoint(u) @ tangents[0] @ v
    null, same = is_null(s, u.shape[-2] + v.shape[-2]), equal_values(s)
    both_null = null[..., None, :] & null[..., :, None]
    across, down = s[..., None, :], s[..., :, None]
    require_apart(0.5 * (core + adjoint(core)), same)
    half_sum = 0.5 * divide_where_not(same, core + adjoint(core), across - down)
    half_difference = 0.5 * divide_where_not(both_null, core - adjoint(core), across + down)
    u_dot = u @ (half_sum + half_difference)
    v_dot = v @ (half_sum - half_difference)
    if u.shape[-2] > rank:
        u_dot = u_dot + outside(tangents[0] @ v - u @ core, s, null)
    if v.shape[-2] > rank:
        v_dot = v_dot + outside(adjoint(tangents[0]) @ u - v @ adjoint(core), s, null)
    u_dot = with_complement(u_dot, u, y[0][..., rank:])
    v_dot = with_complement(v_dot, v, adjoint(y[2][..., rank:, :]))
    return y, (u_dot, real(np.diagonal(core, axis1=-2, axis2=-1)), adjoint(v_dot))


def outside(part, s, null):
    """The part of the tangent of vectors outside of their space, over the singular values."""
    require_no_null(part, null)
    return divide_where_not(null[..., None, :], part, s[..., None, :])


def with_complement(dot, vectors, others):
    """The tangent of orthonormal vectors, and of `others` that span the rest of the space: these turn against them."""
    return np.concatenate([dot, -(vectors @ (adjoint(dot) @ others))], axis=-1)
