"""Parts of the pullback of ``P A = L U``: de Hoog, Anderssen and Lukas (2011), "Differentiation of matrix functionals
using triangular factorization", with what is outside of the square part treated as the solution of a triangular system.
"""

from typing import Any

import numpy as np

from adcompiler.runtime.errors import DifferentiationError
from adcompiler.runtime.products import adjoint


def lu_bar(l_bar: Any, u_bar: Any, lower: Any, upper: Any) -> Any:
    """The cotangent of the permuted matrix, given those of the factors, either of which may be None."""
    l_bar = np.zeros_like(lower) if l_bar is None else l_bar
    u_bar = np.zeros_like(upper) if u_bar is None else u_bar
    k = lower.shape[-1]
    square_l, square_u = lower[:k], upper[:, :k]
    if np.any(np.diagonal(square_u) == 0):
        raise DifferentiationError("the LU factorisation of a singular matrix has no derivative: use det or solve")
    below = adjoint(np.linalg.solve(square_u, adjoint(l_bar[k:])))  # L2 = A2 / U
    beside = np.linalg.solve(adjoint(square_l), u_bar[:, k:])  # U2 = L \\ A2
    l_bar, u_bar = l_bar[:k] - beside @ adjoint(upper[:, k:]), u_bar[:, :k] - adjoint(lower[k:]) @ below
    inner = np.tril(adjoint(square_l) @ l_bar, -1) + np.triu(u_bar @ adjoint(square_u))
    core = adjoint(np.linalg.solve(square_u, adjoint(np.linalg.solve(adjoint(square_l), inner))))
    return np.concatenate([core, below], 0) if below.size else np.concatenate([core, beside], 1)


def packed_parts(factors: Any) -> tuple[Any, Any]:
    """The factors that LAPACK keeps in one matrix: L with ones on the diagonal, and U."""
    rows, columns = factors.shape
    k = min(rows, columns)
    lower = np.tril(factors[:, :k], -1) + np.eye(rows, k, dtype=factors.dtype)
    return lower, np.triu(factors[:k])


def row_order(pivots: Any, rows: int) -> Any:
    """Which row of the matrix each row of the factors is, given LAPACK's exchanges."""
    order = list(range(rows))
    for i, j in enumerate(np.asarray(pivots).tolist()):
        order[i], order[j] = order[j], order[i]
    return np.asarray(order, dtype=int)


def permuted_back(bar: Any, order: Any) -> Any:
    """The cotangent of what was read as ``x[order]``."""
    if bar is None:
        return None
    x_bar = np.empty_like(bar)
    x_bar[order] = bar
    return x_bar
