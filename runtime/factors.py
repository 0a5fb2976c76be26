"""Parts of the pullbacks of the factorisations without eigenvalues: Cholesky and QR, of (stacks of) matrices."""

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import eye
from adcompiler.runtime.errors import DifferentiationError
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import real, shape


def read_triangle(a_bar: Any, upper: bool) -> Any:
    """The cotangent of the triangle that NumPy reads of a Hermitian matrix, given that of the whole matrix."""
    both = a_bar + adjoint(a_bar)
    triangle = np.triu(both) if upper else np.tril(both)
    return triangle * (1 - 0.5 * eye(a_bar.shape[-1], real(a_bar).dtype, a_bar))


def from_triangle(a: Any, upper: bool) -> Any:
    """The Hermitian matrix of which NumPy reads one triangle of `a`."""
    half = np.triu(a, 1) if upper else np.tril(a, -1)
    return half + adjoint(half) + np.real(a) * eye(half.shape[-1], real(half).dtype, half)


def cholesky_bar(y_bar: Any, y: Any, upper: bool) -> Any:
    """The cotangent of `a` in ``y = np.linalg.cholesky(a)``. Murray (2016), "Differentiation of the Cholesky
    decomposition", equation 10."""
    factor, factor_bar = (adjoint(y), adjoint(y_bar)) if upper else (y, y_bar)
    inner = np.tril(adjoint(factor) @ factor_bar) * (1 - 0.5 * eye(y.shape[-1], real(y).dtype, y))
    half = np.linalg.solve(adjoint(factor), inner)
    a_bar = adjoint(np.linalg.solve(adjoint(factor), adjoint(half)))
    return read_triangle(0.5 * (a_bar + adjoint(a_bar)), upper)


def qr_bar(y_bar: Any, a: Any, y: Any, mode: str) -> Any:
    """The cotangent of `a` in ``y = np.linalg.qr(a, mode)``, for independent leading columns.

    Walter and Lehmann (2018), "Algorithmic differentiation of linear algebra functions with application in optimum
    experimental design"; the columns behind a square part as in Roberts and Roberts (2020), "QR and LQ decomposition
    matrix backpropagation algorithms for square, wide, and deep matrices".
    """
    if mode in ("raw", "economic"):
        raise DifferentiationError(
            f"qr(mode={mode!r}) gives LAPACK's reflectors in packed form, which have no derivative here: "
            "use mode='reduced'"
        )
    q_bar, r_bar = (None, y_bar) if mode == "r" else y_bar
    q, r = np.linalg.qr(a) if mode == "r" else y
    if (q_bar is None and r_bar is None) or 0 in shape(a):
        return np.zeros_like(q, shape=shape(a))
    rows, columns = shape(a)[-2:]
    if rows > columns:
        q_bar = lead_bar(q_bar, q, columns, "the columns of q behind the first ones")
        r_bar = None if r_bar is None else r_bar[..., :columns, :]
        return _tall_qr_bar(q_bar, r_bar, q[..., :columns], r[..., :columns, :])
    if rows == columns:
        return _tall_qr_bar(q_bar, r_bar, q, r)
    if r_bar is None:
        lead = _tall_qr_bar(q_bar, None, q, r[..., :rows])
        return np.concatenate([lead, np.zeros_like(lead, shape=(*lead.shape[:-1], columns - rows))], axis=-1)
    behind = q @ r_bar[..., rows:]
    q_bar = (0 if q_bar is None else q_bar) + q @ r[..., rows:] @ adjoint(r_bar[..., rows:])
    return np.concatenate([_tall_qr_bar(q_bar, r_bar[..., :rows], q, r[..., :rows]), behind], axis=-1)


def _tall_qr_bar(q_bar: Any, r_bar: Any, q: Any, r: Any) -> Any:
    """The cotangent of a matrix with no fewer rows than columns, given those of its reduced factors."""
    if not r.size:
        return np.zeros_like(q)
    require_independent(r, q.shape[-2])
    inner: Any = 0.0 if r_bar is None else r @ adjoint(np.triu(r_bar))
    inner = inner if q_bar is None else inner - adjoint(q_bar) @ q
    lower = np.tril(inner, -1)
    real_diagonal = np.real(inner) * eye(inner.shape[-1], real(inner).dtype, inner)
    right = q @ (lower + adjoint(lower) + real_diagonal)
    return adjoint(np.linalg.solve(r, adjoint(right if q_bar is None else q_bar + right)))


def require_independent(r: Any, rows: int) -> None:
    """Raise DifferentiationError if a matrix of so many `rows` with the triangular factor `r` has dependent columns."""
    pivots = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
    least = np.finfo(r.dtype).eps * rows * np.max(pivots, axis=-1)
    if np.any(np.min(pivots, axis=-1) <= least):
        raise DifferentiationError(
            "the QR factorisation has no derivative where a leading column depends on those before it: "
            "use np.linalg.svd or np.linalg.pinv"
        )


def lead_bar(bar: Any, q: Any, count: int, what: str) -> Any:
    """The cotangent of the first `count` columns of a unitary `q`, which with the others' also counts for the first.

    The others are any orthonormal basis of the complement: raises DifferentiationError if it matters which.
    """
    if bar is None or bar.shape[-1] == count:
        return bar
    lead, rest, rest_bar = q[..., :count], q[..., count:], bar[..., count:]
    turn = adjoint(rest) @ rest_bar
    if np.any(np.abs(turn - adjoint(turn)) > np.finfo(q.dtype).eps ** 0.5 * (np.max(np.abs(bar)) if bar.size else 0.0)):
        raise DifferentiationError(
            f"{what} are an arbitrary basis of their space, and the function depends on which one: "
            "use the space only, or the reduced factorisation"
        )
    return bar[..., :count] - rest @ (adjoint(rest_bar) @ lead)
