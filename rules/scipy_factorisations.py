"""Rules for the factorisations of scipy.linalg. What is said in `adcompiler.rules.factorisations` of triangles and of
the freedom of eigenvectors and singular vectors holds here too.
"""

import numpy as np
from scipy import __version__, linalg

from adcompiler.rules.registry import refused, rrule
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.factors import cholesky_bar, qr_bar
from adcompiler.runtime.lu import lu_bar, packed_parts, permuted_back, row_order
from adcompiler.runtime.pencils import pencil_bars
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import conj, ndim, shape
from adcompiler.runtime.singular import svd_bar
from adcompiler.runtime.spectral import eig_bar, eigh_bar, eigvals_bar, eigvalsh_bar

refused(
    linalg.schur,
    linalg.qz,
    linalg.ordqz,
    linalg.rsf2csf,
    linalg.cdf2rdf,
    linalg.hessenberg,
    linalg.matrix_balance,
    linalg.cossin,
    why="The factors depend on the order of eigenvalues and on rotations that the algorithm is free to choose.\n"
    "Use eigvals, or the function of the matrix that does not need the factors.",
)
refused(
    linalg.null_space,
    linalg.orth,
    why="It gives any orthonormal basis of a space, and has no derivative of its own.\n"
    "Use the projector on the space: A @ pinv(A), or 1 minus pinv(A) @ A.",
)
refused(
    linalg.polar,
    why="It has no rule here.\nUse the factors of scipy.linalg.svd: U @ Vh, and Vh.T * s @ Vh.",
)
refused(
    linalg.ldl,
    linalg.rq,
    linalg.qr_multiply,
    linalg.qr_insert,
    linalg.qr_delete,
    linalg.qr_update,
    why="It has no rule here.\nUse cholesky, lu or qr.",
)
refused(
    linalg.eigh_tridiagonal,
    linalg.eigvalsh_tridiagonal,
    linalg.eig_banded,
    linalg.eigvals_banded,
    why="It has no rule here.\nUse eigh with the full matrix.",
)

# Triangular factors

COPIES_THE_REST = tuple(map(int, __version__.split(".")[:2])) < (1, 18)


@rrule(linalg.cholesky, result="fresh", kind="like")
def cholesky(a, lower=False, *, check_finite=True):
    y = linalg.cholesky(a, lower, check_finite=check_finite)

    def pullback(y_bar):
        return cholesky_bar(y_bar, y, not lower), None, None

    return y, pullback


@rrule(linalg.cho_factor, kind="tuple")
def cho_factor(a, lower=False, *, check_finite=True):
    """The triangle that is not part of the factor holds what `a` has there, up to SciPy 1.17, and nothing after."""
    y = linalg.cho_factor(a, lower, check_finite=check_finite)
    triangle, strictly_other = (np.tril, lambda c: np.triu(c, 1)) if lower else (np.triu, lambda c: np.tril(c, -1))

    def pullback(y_bar):
        c_bar = y_bar[0]
        if c_bar is None:
            return None, None, None
        a_bar = cholesky_bar(triangle(c_bar), triangle(y[0]), not lower)
        return a_bar + strictly_other(c_bar) if COPIES_THE_REST else a_bar, None, None

    return y, pullback


@rrule(linalg.cho_solve, result="fresh", kind="array")
def cho_solve(c_and_lower, b, *, check_finite=True):
    y = linalg.cho_solve(c_and_lower, b, check_finite=check_finite)
    c, lower = c_and_lower
    if ndim(c) != 2 or ndim(b) > 2:
        return NotImplemented

    def pullback(y_bar):
        b_bar = linalg.cho_solve(c_and_lower, y_bar)
        outer = -(np.outer(b_bar, conj(y)) if ndim(y) == 1 else b_bar @ adjoint(y))
        both = outer + adjoint(outer)
        c_bar = np.tril(both @ np.tril(c)) if lower else np.triu(np.triu(c) @ both)
        return (c_bar, None), b_bar, None

    return y, pullback


@rrule(linalg.lu, kind="tuple")
def lu(a, permute_l=False, *, check_finite=True, p_indices=False):
    if ndim(a) != 2:
        return NotImplemented
    y = linalg.lu(a, permute_l, check_finite=check_finite, p_indices=p_indices)
    order, lower, upper = linalg.lu(a, p_indices=True)
    a_shape = shape(a)

    def pullback(y_bar):
        if 0 in a_shape:
            return np.zeros_like(upper, shape=a_shape), None, None, None
        l_bar, u_bar = y_bar[-2:]
        l_bar = permuted_back(l_bar, order) if permute_l else l_bar
        return lu_bar(l_bar, u_bar, lower, upper)[order], None, None, None

    return y, pullback


@rrule(linalg.lu_factor, kind="tuple")
def lu_factor(a, *, check_finite=True):
    if ndim(a) != 2:
        return NotImplemented
    y = linalg.lu_factor(a, check_finite=check_finite)

    def pullback(y_bar):
        if y_bar[0] is None or not y[0].size:
            return y_bar[0], None
        lower, upper = packed_parts(y[0])
        k = min(shape(y[0]))
        l_bar, u_bar = np.tril(y_bar[0], -1)[:, :k], np.triu(y_bar[0])[:k]
        return permuted_back(lu_bar(l_bar, u_bar, lower, upper), row_order(y[1], shape(y[0])[0])), None

    return y, pullback


@rrule(linalg.lu_solve, result="fresh", kind="array")
def lu_solve(lu_and_piv, b, trans=0, *, check_finite=True):
    y = linalg.lu_solve(lu_and_piv, b, trans, check_finite=check_finite)
    factors, pivots = lu_and_piv
    if ndim(factors) != 2 or ndim(b) > 2:
        return NotImplemented

    def pullback(y_bar):
        if not y.size or not factors.size:
            return (np.zeros_like(factors), None), np.zeros_like(y, shape=shape(b)), None, None
        if trans == 1:
            b_bar = conj(linalg.lu_solve(lu_and_piv, conj(y_bar)))
            left, right = conj(y), conj(b_bar)
        elif trans == 2:
            b_bar = linalg.lu_solve(lu_and_piv, y_bar)
            left, right = y, b_bar
        else:
            b_bar = linalg.lu_solve(lu_and_piv, y_bar, 2)
            left, right = b_bar, y
        outer = -(np.outer(left, conj(right)) if ndim(y) == 1 else left @ adjoint(right))
        inner = outer[row_order(pivots, shape(factors)[0])]
        lower, upper = packed_parts(factors)
        lu_bars = np.tril(inner @ adjoint(upper), -1) + np.triu(adjoint(lower) @ inner)
        return (lu_bars, None), b_bar, None, None

    return y, pullback


@rrule(linalg.qr, kind="tuple")
def qr(a, *, mode="full", pivoting=False, check_finite=True):
    if mode not in ("full", "economic", "r"):
        return NotImplemented
    y = linalg.qr(a, mode=mode, pivoting=pivoting, check_finite=check_finite)
    order = y[-1] if pivoting else slice(None)

    def pullback(y_bar):
        moved = np.asarray(a)[..., order]
        if mode == "r":
            factors, form = linalg.qr(moved, mode="economic"), "reduced"
            r_bar = y_bar[0]
            bars = (None, None if r_bar is None else r_bar[..., : shape(factors[1])[-2], :])
        else:
            factors, bars, form = y[:2], y_bar[:2], "complete" if mode == "full" else "reduced"
        a_bar = np.empty_like(moved, dtype=factors[0].dtype)
        a_bar[..., order] = qr_bar(bars, moved, factors, form)
        return a_bar, None, None, None

    return y, pullback


# Eigenvalues


@rrule(linalg.eigh, kind="unknown")
def eigh(a, b=None, *, lower=True, eigvals_only=False, type=1, check_finite=True, driver=None):
    options = dict(lower=lower, eigvals_only=eigvals_only, type=type, check_finite=check_finite, driver=driver)
    if b is not None and (type != 1 or ndim(a) != 2):
        raise NoRuleError(
            "eigh with type 2 or 3, or a stack of pairs, has no derivative here\n"
            "Multiply by the Cholesky factor of b, and use the ordinary eigenvalue problem."
        )
    y = linalg.eigh(a, b, **options)
    uplo = "L" if lower else "U"

    def pullback(y_bar):
        if b is not None:
            w, v = linalg.eigh(a, b, lower=lower) if eigvals_only else y
            a_bar, b_bar = pencil_bars((y_bar, None) if eigvals_only else y_bar, w, v, a, b, lower)
        elif eigvals_only:
            a_bar, b_bar = eigvalsh_bar(y_bar, a, uplo), None
        else:
            a_bar, b_bar = eigh_bar(y_bar, *y, uplo), None
        return a_bar, b_bar, None, None, None, None, None

    return y, pullback


@rrule(linalg.eigvalsh, result="fresh", kind="array_real")
def eigvalsh(a, b=None, *, lower=True, type=1, check_finite=True, driver=None):
    y, back = eigh(a, b, lower=lower, eigvals_only=True, type=type, check_finite=check_finite, driver=driver)

    def pullback(y_bar):
        a_bar, b_bar = back(y_bar)[:2]
        return a_bar, b_bar, None, None, None, None

    return y, pullback


@rrule(linalg.eig, kind="unknown")
def eig(a, *, right=True, check_finite=True):
    y = linalg.eig(a, right=right, check_finite=check_finite)
    a_is_real = np.isrealobj(a)

    def pullback(y_bar):
        return eig_bar(y_bar, a_is_real, *y) if right else eigvals_bar(y_bar, a), None, None

    return y, pullback


@rrule(linalg.eigvals, result="fresh", kind="array_complex")
def eigvals(a, *, check_finite=True):
    y = linalg.eigvals(a, check_finite=check_finite)

    def pullback(y_bar):
        return eigvals_bar(y_bar, a), None

    return y, pullback


# Singular values


@rrule(linalg.svd, kind="unknown")
def svd(a, full_matrices=True, compute_uv=True, *, check_finite=True, lapack_driver="gesdd"):
    y = linalg.svd(a, full_matrices, compute_uv, check_finite=check_finite, lapack_driver=lapack_driver)

    def pullback(y_bar):
        return svd_bar(y_bar, a, y, compute_uv, False), *(None,) * 4

    return y, pullback


@rrule(linalg.svdvals, result="fresh", kind="array_real")
def svdvals(a, *, check_finite=True):
    y = linalg.svdvals(a, check_finite=check_finite)

    def pullback(y_bar):
        return svd_bar(y_bar, a, y, False, False), None

    return y, pullback
