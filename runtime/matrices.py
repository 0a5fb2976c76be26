"""Parts of the pullbacks of linear algebra on (stacks of) square matrices, and of factorisations.

Sources are named where a formula is not in Giles (2008), "An extended collection of matrix derivative results for
forward and reverse mode algorithmic differentiation".
"""

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array, eye
from adcompiler.runtime.errors import DifferentiationError
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.reduction import product_of_others
from adcompiler.runtime.shapes import Shape, conj, fit, ndim, zeros


def per_matrix(c: Any) -> Any:
    """`c`, a number for each matrix of a stack, so that it broadcasts against the matrices."""
    return c[..., None, None] if ndim(c) else c


def solve_adjoint(a: Any, y_bar: Any, b_shape: Shape) -> Any:
    """The cotangent of `b` in ``np.linalg.solve(a, b)``, before stacked matrices are summed."""
    a = adjoint(as_array(a))
    if len(b_shape) == 1:
        return np.linalg.solve(a, y_bar[..., None])[..., 0]
    return np.linalg.solve(a, y_bar)


def solve_bar_a(x_bar: Any, y: Any, a_shape: Shape, b_shape: Shape) -> Any:
    """The cotangent of `a` in ``y = np.linalg.solve(a, b)``, given `x_bar`, that of `b`."""
    if len(b_shape) == 1:
        return fit(-(x_bar[..., :, None] * conj(y)[..., None, :]), a_shape)
    return fit(-(x_bar @ adjoint(y)), a_shape)


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
    """The cotangent of `a` in ``sign, logabsdet = np.linalg.slogdet(a)``; a real sign does not vary."""
    weight = None if y_bar[1] is None else np.real(y_bar[1])
    if y_bar[0] is not None and np.iscomplexobj(sign):
        turn = 1j * np.imag(y_bar[0] * conj(sign))
        weight = turn if weight is None else weight + turn
    return None if weight is None else per_matrix(weight) * adjoint(np.linalg.inv(a))


def matrix_power_bar(y_bar: Any, a: Any, n: int) -> Any:
    """The cotangent of `a` in ``np.linalg.matrix_power(a, n)``: the sum of ``a^k @ y_bar @ a^(n-1-k)``, adjoint."""
    if n == 0:
        return zeros(np.shape(a), y_bar)
    if n < 0:
        inverse = np.linalg.inv(a)
        return -(adjoint(inverse) @ matrix_power_bar(y_bar, inverse, -n) @ adjoint(inverse))
    step = adjoint(as_array(a))
    total = right = y_bar
    for _ in range(n - 1):
        right = right @ step
        total = step @ total + right
    return total


def pinv_bar(y_bar: Any, a: Any, y: Any) -> Any:
    """The cotangent of `a` in ``y = np.linalg.pinv(a)``, for constant rank: Golub and Pereyra (1973), "The
    differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate", equation 4.12."""
    outside = eye(y.shape[-1], y.dtype, y) - a @ y
    inside = eye(y.shape[-2], y.dtype, y) - y @ a
    yh, bar = adjoint(y), adjoint(y_bar)
    return outside @ bar @ y @ yh + yh @ y @ bar @ inside - yh @ y_bar @ yh


def qr_bar(y_bar: Any, q: Any, r: Any) -> Any:
    """The cotangent of `a` in ``q, r = np.linalg.qr(a)`` with no fewer rows than columns: Walter and Lehmann (2018),
    "Algorithmic differentiation of linear algebra functions with application in optimum experimental design"."""
    q_bar, r_bar = y_bar
    if q_bar is None and r_bar is None:
        return None
    inner: Any = 0.0 if r_bar is None else r @ adjoint(np.triu(r_bar))
    inner = inner if q_bar is None else inner - adjoint(q_bar) @ q
    lower = np.tril(inner, -1)
    real_diagonal = np.real(inner) * eye(inner.shape[-1], inner.real.dtype, inner)
    right = q @ (lower + adjoint(lower) + real_diagonal)
    return adjoint(np.linalg.solve(r, adjoint(right if q_bar is None else q_bar + right)))


def read_triangle(a_bar: Any, upper: bool) -> Any:
    """The cotangent of the triangle that NumPy reads of a Hermitian matrix, given that of the whole matrix."""
    both = a_bar + adjoint(a_bar)
    return (np.triu if upper else np.tril)(both) * (1 - 0.5 * eye(a_bar.shape[-1], a_bar.real.dtype, a_bar))


def cholesky_bar(y_bar: Any, y: Any, upper: bool) -> Any:
    """The cotangent of `a` in ``y = np.linalg.cholesky(a)``. Murray (2016), "Differentiation of the Cholesky
    decomposition", equation 10."""
    factor, factor_bar = (adjoint(y), adjoint(y_bar)) if upper else (y, y_bar)
    inner = np.tril(adjoint(factor) @ factor_bar) * (1 - 0.5 * eye(y.shape[-1], y.real.dtype, y))
    half = np.linalg.solve(adjoint(factor), inner)
    a_bar = adjoint(np.linalg.solve(adjoint(factor), adjoint(half)))
    return read_triangle(0.5 * (a_bar + adjoint(a_bar)), upper)


def eigh_bar(y_bar: Any, w: Any, v: Any, uplo: str) -> Any:
    """The cotangent of `a` in ``w, v = np.linalg.eigh(a)``.

    Eigenvectors of equal eigenvalues are no function of `a`: raises DifferentiationError if they count.
    """
    w_bar, v_bar = y_bar
    w_bar = None if w_bar is None else np.real(w_bar)
    inner = 0.0 if w_bar is None else w_bar[..., None, :] * eye(w.shape[-1], w.dtype, w)
    if v_bar is not None:
        turn = adjoint(v) @ v_bar
        inner = inner + 0.5 * divide_gaps(turn - adjoint(turn), w, "eigenvalues")
    elif w_bar is None:
        return None
    return read_triangle(v @ inner @ adjoint(v), uplo.upper() == "U")


def eigvalsh_bar(y_bar: Any, a: Any, uplo: Any) -> Any:
    """The cotangent of `a` in ``np.linalg.eigvalsh(a)``."""
    w, v = np.linalg.eigh(a, uplo)
    return eigh_bar((y_bar, None), w, v, uplo)


def svd_bar(y_bar: Any, a: Any, y: Any, compute_uv: bool) -> Any:
    """The cotangent of `a` in ``y = np.linalg.svd(a)``: Wan and Zhang (2019), "Automatic differentiation for complex
    valued SVD", with the two terms of the singular vectors joined, so that the polar factor needs distinct values no
    more than it does by itself."""
    if compute_uv and y_bar[1] is not None:
        y_bar = y_bar[0], np.real(y_bar[1]), y_bar[2]
    if not compute_uv:
        u, _, vh = np.linalg.svd(a, full_matrices=False)
        return (u * y_bar[..., None, :]) @ vh
    k = y[1].shape[-1]
    u, s, v = y[0][..., :k], y[1], adjoint(y[2][..., :k, :])
    u_bar, v_bar = _economy(y_bar[0], k), _economy(None if y_bar[2] is None else adjoint(y_bar[2]), k)
    if y_bar[1] is None and u_bar is None and v_bar is None:
        return None
    inner = 0.0 if y_bar[1] is None else y_bar[1][..., None, :] * eye(k, s.dtype, s)
    u_turn = 0.0 if u_bar is None else adjoint(u) @ u_bar
    v_turn = 0.0 if v_bar is None else adjoint(v) @ v_bar
    if u_bar is None and v_bar is None:
        return u @ inner @ adjoint(v)
    left, right = (turn - np.conj(np.swapaxes(turn, -1, -2)) if np.ndim(turn) else 0.0 for turn in (u_turn, v_turn))
    inner = inner + 0.5 * divide_gaps(left + right, s, "singular values") + 0.5 * _divide_sums(left - right, s)
    a_bar = u @ inner @ adjoint(v)
    if u_bar is not None and u.shape[-2] > k:
        a_bar = a_bar + ((u_bar - u @ u_turn) / s[..., None, :]) @ adjoint(v)
    if v_bar is not None and v.shape[-2] > k:
        a_bar = a_bar + (u / s[..., None, :]) @ adjoint(v_bar - v @ v_turn)
    return a_bar


def _economy(bar: Any, k: int) -> Any:
    """The cotangent of the first `k` singular vectors; those of the null space are no function of the matrix."""
    if bar is not None and np.any(bar[..., k:]):
        raise DifferentiationError("the singular vectors of the null space have no derivative: full_matrices=False")
    return None if bar is None else bar[..., :k]


def divide_gaps(turn: Any, w: Any, what: str) -> Any:
    """``turn[i, j] / (w[j] - w[i])`` off the diagonal, and 0 on it and where both are zero up to rounding."""
    gaps = w[..., None, :] - w[..., :, None]
    scale = np.max(np.abs(w), axis=-1)[..., None, None] if w.size else 0.0
    same = np.abs(gaps) <= 4 * np.finfo(w.dtype).eps * w.shape[-1] * scale
    limit = np.finfo(w.dtype).eps ** 0.5 * (np.max(np.abs(turn)) if turn.size else 0.0)
    off = ~eye(w.shape[-1], bool, w)
    if np.any(same & off & (np.abs(turn) > limit)):
        raise DifferentiationError(f"equal {what}: their vectors have no derivative; use a function of the spaces only")
    return np.where(same, 0, turn / np.where(same, 1, gaps))


def _divide_sums(turn: Any, s: Any) -> Any:
    """``turn[i, j] / (s[i] + s[j])``; the diagonal holds the phases of complex singular vectors."""
    sums = s[..., None, :] + s[..., :, None]
    none = sums == 0
    return np.where(none, 0, turn / np.where(none, 1, sums))
