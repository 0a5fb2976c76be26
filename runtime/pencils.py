"""The pullback of ``A v = w B v`` with Hermitian A and positive definite B: that of the matrix ``L^-1 A L^-H`` with the
Cholesky factor L of B, which has the same eigenvalues and the eigenvectors ``L^H v``.
"""

from typing import Any

import numpy as np

from adcompiler.runtime.factors import cholesky_bar, from_triangle, read_triangle
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.spectral import eigh_bar


def pencil_bars(y_bar: Any, w: Any, v: Any, a: Any, b: Any, lower: bool) -> tuple[Any, Any]:
    """The cotangents of `a` and `b` in ``w, v = scipy.linalg.eigh(a, b, lower=lower)``."""
    full_a, full_b = (from_triangle(np.asarray(x), not lower) for x in (a, b))
    factor = np.linalg.cholesky(full_b)
    vectors = adjoint(factor) @ v
    w_bar, v_bar = y_bar
    vectors_bar = None if v_bar is None else np.linalg.solve(factor, v_bar)
    triangle = eigh_bar((w_bar, vectors_bar), w, vectors, "L")
    whole = 0.5 * (triangle + adjoint(triangle))
    inverse = np.linalg.inv(factor)
    a_bar = adjoint(inverse) @ whole @ inverse
    factor_bar = -2 * a_bar @ full_a @ adjoint(inverse)
    if vectors_bar is not None:
        factor_bar = factor_bar - v @ adjoint(vectors_bar)
    b_triangle = cholesky_bar(np.tril(factor_bar), factor, False)
    b_bar = 0.5 * (b_triangle + adjoint(b_triangle))
    return read_triangle(a_bar, not lower), read_triangle(b_bar, not lower)
