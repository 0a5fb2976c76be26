"""Rules for scipy.linalg: systems of linear equations, inverses, determinants, norms and matrix equations.

What overwrites an argument (`overwrite_a=True`) is not taken. Of a structured matrix only the part that SciPy reads has
a cotangent. Sources: Giles (2008), "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation"; for matrix equations Kao and Hennequin (2020), "Automatic differentiation of Sylvester,
Lyapunov, and algebraic Riccati equations".
"""

import numpy as np
from scipy import linalg

from adcompiler.rules import forward_scipy_linalg as forward_scipy_linalg
from adcompiler.rules import norms
from adcompiler.rules import scipy_factorisations as scipy_factorisations
from adcompiler.rules import scipy_matrices as scipy_matrices
from adcompiler.rules.names import existing
from adcompiler.rules.registry import non_differentiable, refused, rrule
from adcompiler.runtime.bands import adjoint_band, solve_band_bar
from adcompiler.runtime.factors import from_triangle
from adcompiler.runtime.gathers import diagonals_bars
from adcompiler.runtime.leastsquares import lstsq_bar_a, lstsq_bar_b, lstsq_inverse
from adcompiler.runtime.matrices import cofactors, per_matrix, solve_bar_a
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import conj, fit, ndim, shape
from adcompiler.runtime.structured import adjoint_structure, part_read, triangle_of
from adcompiler.runtime.truncated import pseudo_inverse_bar

non_differentiable(linalg.bandwidth, kind="tuple")
non_differentiable(
    *existing(linalg, "dft hadamard helmert hilbert invhilbert invpascal pascal"),
    kind="array2",
)
non_differentiable(
    *existing(linalg, "find_best_blas_type get_blas_funcs get_lapack_funcs test"),
    kind="other",
)
refused(
    *existing(linalg, "clarkson_woodruff_transform diagsvd"),
    why="It has no rule here.\nMultiply by the random matrix, or use numpy.diag.",
)
non_differentiable(linalg.issymmetric, linalg.ishermitian, kind="bool")
refused(
    linalg.solve_continuous_are,
    linalg.solve_discrete_are,
    why="The stabilising solution of a Riccati equation has no rule here.\n"
    "Differentiate a fixed-point form of the equation, for instance with scipy.optimize.root.",
)
refused(
    linalg.solve_circulant,
    linalg.matmul_toeplitz,
    linalg.cho_solve_banded,
    linalg.cholesky_banded,
    linalg.expm_cond,
    linalg.orthogonal_procrustes,
    linalg.subspace_angles,
    why="It has no rule: other functions here compute the same.\n"
    "Use scipy.linalg.solve or `@` with the full matrix, or scipy.linalg.svd.",
)

# Systems


@rrule(linalg.solve, result="fresh", kind="array")
def solve(a, b, lower=False, *, check_finite=True, assume_a=None, transposed=False):
    if ndim(a) < 2 or ndim(b) < 1 or shape(a)[-1] != shape(b)[max(ndim(b) - 2, 0)]:
        return NotImplemented
    given = {} if assume_a is None else dict(assume_a=assume_a)
    y = linalg.solve(a, b, lower, check_finite=check_finite, transposed=transposed, **given)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        other, assumed = (conj(a), assume_a) if transposed else adjoint_structure(a, assume_a)
        columns = y_bar[..., None] if len(b_shape) == 1 else y_bar
        x_bar = linalg.solve(other, columns, lower, check_finite=False, **(given and dict(assume_a=assumed)))
        x_bar = x_bar[..., 0] if len(b_shape) == 1 else x_bar
        wide = a_shape if len(a_shape) >= len(b_shape) else b_shape[:-2] + a_shape[-2:]
        a_bar = solve_bar_a(x_bar, y, wide, b_shape)
        a_bar = np.swapaxes(a_bar, -1, -2) if transposed else a_bar
        return fit(part_read(a_bar, assume_a, lower), a_shape), fit(x_bar, b_shape), *(None,) * 4

    return y, pullback


@rrule(linalg.solve_triangular, result="fresh", kind="array")
def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, *, check_finite=True):
    y = linalg.solve_triangular(a, b, trans, lower, unit_diagonal, check_finite=check_finite)
    a_shape, b_shape = shape(a), shape(b)

    def pullback(y_bar):
        columns = y_bar[..., None] if len(b_shape) == 1 else y_bar
        turned = trans in (1, 2, "T", "C")
        other = conj(a) if trans in (1, "T") else a
        x_bar = linalg.solve_triangular(other, columns, 0 if turned else 2, lower, unit_diagonal)
        solutions = y[..., None] if len(b_shape) == 1 else y
        if trans in (1, "T"):
            a_bar = -(conj(solutions) @ np.swapaxes(x_bar, -1, -2))
        elif turned:
            a_bar = -(solutions @ adjoint(x_bar))
        else:
            a_bar = -(x_bar @ adjoint(solutions))
        x_bar = x_bar[..., 0] if len(b_shape) == 1 else x_bar
        return triangle_of(fit(a_bar, a_shape), lower, unit_diagonal), fit(x_bar, b_shape), *(None,) * 4

    return y, pullback


@rrule(linalg.solve_banded, result="fresh", kind="array")
def solve_banded(l_and_u, ab, b, *, check_finite=True):
    y = linalg.solve_banded(l_and_u, ab, b, check_finite=check_finite)
    if ndim(ab) != 2:
        return NotImplemented
    below, above = l_and_u

    def pullback(y_bar):
        x_bar = linalg.solve_banded((above, below), adjoint_band(ab, below, above), y_bar)
        return None, solve_band_bar(x_bar, y, shape(ab), above), x_bar, None

    return y, pullback


@rrule(linalg.solveh_banded, result="fresh", kind="array")
def solveh_banded(ab, b, *, lower=False, check_finite=True):
    y = linalg.solveh_banded(ab, b, lower=lower, check_finite=check_finite)
    if ndim(ab) != 2:
        return NotImplemented

    def pullback(y_bar):
        x_bar = linalg.solveh_banded(ab, y_bar, lower=lower)
        above = 0 if lower else shape(ab)[0] - 1
        one, other = (solve_band_bar(*pair, shape(ab), above) for pair in ((x_bar, y), (y, x_bar)))
        both = one + other
        both[above] = 0.5 * np.real(both[above])
        return both, x_bar, None, None

    return y, pullback


@rrule(linalg.solve_toeplitz, result="fresh", kind="array")
def solve_toeplitz(c_or_cr, b, check_finite=True):
    y = linalg.solve_toeplitz(c_or_cr, b, check_finite)
    if ndim(b) > 2 or (not isinstance(c_or_cr, tuple) and ndim(c_or_cr) != 1):
        return NotImplemented

    def pullback(y_bar):
        c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, conj(np.asarray(c_or_cr)))
        first = np.concatenate([np.ravel(c)[:1], np.ravel(r)[1:]])
        x_bar = linalg.solve_toeplitz((conj(first), conj(np.ravel(c))), y_bar)
        outer = -(np.outer(x_bar, conj(y)) if ndim(y) == 1 else x_bar @ adjoint(y))
        bars = diagonals_bars(outer, shape(c), shape(r) if isinstance(c_or_cr, tuple) else None)
        return bars if isinstance(c_or_cr, tuple) else bars[0], x_bar, None

    return y, pullback


@rrule(linalg.lstsq, kind="tuple", flat=("cond",))
def lstsq(a, b, cond=None, *, check_finite=True, lapack_driver=None):
    """The derivative among matrices of the same rank, of the solution of least length if there are several."""
    y = linalg.lstsq(a, b, cond, check_finite=check_finite, lapack_driver=lapack_driver)
    if ndim(a) != 2:
        return NotImplemented

    def pullback(y_bar):
        inverse = lstsq_inverse(y_bar, a, cond)
        a_bar = lstsq_bar_a(y_bar, inverse, a, b, y, cond)
        return a_bar, lstsq_bar_b(y_bar, inverse, a, b, y), None, None, None

    return y, pullback


# Inverses, determinants and norms


@rrule(linalg.inv, result="fresh", kind="like")
def inv(a, *, check_finite=True, assume_a=None, lower=False):
    y = linalg.inv(a, check_finite=check_finite, **({} if assume_a is None else dict(assume_a=assume_a, lower=lower)))

    def pullback(y_bar):
        return part_read(-(adjoint(y) @ y_bar @ adjoint(y)), assume_a, lower), None, None, None

    return y, pullback


@rrule(linalg.det, result="fresh")
def det(a, *, check_finite=True):
    y = linalg.det(a, check_finite=check_finite)

    def pullback(y_bar):
        return per_matrix(y_bar) * conj(cofactors(np.asarray(a), y)), None

    return y, pullback


@rrule(linalg.pinv, result="fresh", kind="transpose", flat=("atol", "rtol"))
def pinv(a, *, atol=None, rtol=None, check_finite=True):
    """The derivative among matrices of the same rank: where the rank can change the pseudo-inverse has a pole."""
    y = linalg.pinv(a, atol=atol, rtol=rtol, check_finite=check_finite)

    def pullback(y_bar):
        return pseudo_inverse_bar(y_bar, a, y, atol, rtol), None, None, None

    return y, pullback


@rrule(linalg.pinvh, result="fresh", kind="like", flat=("atol", "rtol"))
def pinvh(a, atol=None, rtol=None, lower=True, *, check_finite=True):
    y = linalg.pinvh(a, atol, rtol, lower, check_finite=check_finite)

    def pullback(y_bar):
        a_bar = pseudo_inverse_bar(y_bar, from_triangle(a, not lower), y, atol, rtol)
        return part_read(a_bar, "her", lower), None, None, None, None

    return y, pullback


@rrule(linalg.norm, result="fresh", kind="reduction_real")
def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
    y = linalg.norm(a, ord, axis, keepdims, check_finite)
    back = norms.norm(np.asarray(a), ord, axis, keepdims)[1]
    precision = np.zeros(0, np.result_type(a, np.float16)).real.dtype  # SciPy may give a Python float

    def pullback(y_bar):
        return *back(np.asarray(y_bar, precision)[()]), None

    return y, pullback


# Matrix equations


@rrule(linalg.solve_sylvester, result="fresh", kind="array2")
def solve_sylvester(a, b, q):
    y = linalg.solve_sylvester(a, b, q)

    def pullback(y_bar):
        if not y.size:
            return np.zeros_like(y, shape=shape(a)), np.zeros_like(y, shape=shape(b)), np.zeros_like(y, shape=shape(q))
        q_bar = linalg.solve_sylvester(adjoint(a), adjoint(b), y_bar)
        return -(q_bar @ adjoint(y)), -(adjoint(y) @ q_bar), q_bar

    return y, pullback


@rrule(linalg.solve_continuous_lyapunov, result="fresh", kind="array2")
def solve_continuous_lyapunov(a, q):
    y = linalg.solve_continuous_lyapunov(a, q)

    def pullback(y_bar):
        q_bar = linalg.solve_continuous_lyapunov(adjoint(a), y_bar)
        return -(q_bar @ adjoint(y) + adjoint(q_bar) @ y), q_bar

    return y, pullback


@rrule(linalg.solve_discrete_lyapunov, result="fresh", kind="array2")
def solve_discrete_lyapunov(a, q, method=None):
    y = linalg.solve_discrete_lyapunov(a, q, method)

    def pullback(y_bar):
        q_bar = linalg.solve_discrete_lyapunov(adjoint(a), y_bar, method)
        return q_bar @ a @ adjoint(y) + adjoint(q_bar) @ a @ y, q_bar, None

    return y, pullback
