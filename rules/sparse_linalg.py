"""Rules for scipy.sparse.linalg: the solution of a linear system, by the solution of the adjoint one.

An iterative solver is asked for both, with the same tolerance: the derivative is as exact as the solution.
"""

import numpy as np
from scipy.sparse import linalg

from adcompiler.rules.names import existing
from adcompiler.rules.registry import non_differentiable, refused, rrule
from adcompiler.rules.sparse_parts import FORMATS, is_sparse
from adcompiler.runtime.errors import DifferentiationError
from adcompiler.runtime.shapes import conj, shape
from adcompiler.runtime.sparsity import product_bar
from adcompiler.runtime.tangents import NotImplementedTangent, Thunk

refused(
    linalg.eigs,
    linalg.eigsh,
    linalg.svds,
    linalg.lobpcg,
    why="The vectors are found by iteration up to signs and rotations.\n"
    "Use the functions of numpy.linalg with A.toarray().",
)
refused(
    linalg.expm_multiply,
    linalg.expm,
    linalg.inv,
    linalg.lsqr,
    linalg.lsmr,
    linalg.spilu,
    linalg.spsolve_triangular,
    linalg.matrix_power,
    linalg.onenormest,
    why="It has no rule here.\nUse spsolve, or the functions of scipy.linalg with A.toarray().",
)


refused(
    *existing(linalg, "bicg cgs gcrotmk lgmres minres qmr tfqmr"),
    why="It has no rule here.\nUse cg, gmres or bicgstab.",
)
refused(
    *existing(linalg, "norm funm_multiply_krylov LaplacianNd aslinearoperator"),
    why="It has no rule here.\nUse the stored elements themselves: np.linalg.norm(A.data).",
)
non_differentiable(*existing(linalg, "is_sptriangular spbandwidth use_solver test"), kind="other")


def adjoint_of(A):
    """The adjoint of a matrix or operator."""
    if isinstance(A, linalg.LinearOperator):
        return A.H
    return A.conj().T if np.iscomplexobj(A) or (is_sparse(A) and np.iscomplexobj(A.data)) else A.T


def matrix_bar(A, x_bar, y):
    """The cotangent of the matrix in ``A y = b``, given that of `b`."""
    x_bar, y = (part if part.ndim == 2 else part[:, None] for part in (x_bar, y))
    if is_sparse(A):
        return product_bar(A, -x_bar, y)
    if isinstance(A, linalg.LinearOperator):
        return NotImplementedTangent("of a LinearOperator: pass the matrix")
    return -(x_bar @ conj(y).T)


@rrule(linalg.spsolve, kind="array", accepts=FORMATS)
def spsolve(A, b, permc_spec=None, use_umfpack=True):
    if is_sparse(b):
        return NotImplemented
    y = linalg.spsolve(A, b, permc_spec, use_umfpack)

    def pullback(y_bar):
        x_bar = linalg.spsolve(adjoint_of(A).tocsc(), y_bar, permc_spec, use_umfpack)
        return Thunk(lambda: matrix_bar(A, x_bar, y)), np.reshape(x_bar, shape(b)), None, None

    return y, pullback


# What a factorisation, and the matrix in it, have for a cotangent; an error if somebody asks for it.
UNKNOWN = {"data": NotImplementedTangent("of a matrix that is factorised by splu: use spsolve")}


@rrule(linalg.splu, kind="unknown", accepts=FORMATS)
def splu(A, permc_spec=None, diag_pivot_thresh=None, relax=None, panel_size=None, options=None):
    y = linalg.splu(A, permc_spec, diag_pivot_thresh, relax, panel_size, {} if options is None else options)
    return y, lambda y_bar: (UNKNOWN, *(None,) * 5)


@rrule(linalg.factorized, kind="unknown", accepts=FORMATS)
def factorized(A):
    return linalg.factorized(A), lambda y_bar: (UNKNOWN,)


@rrule(linalg.SuperLU.solve, kind="array", accepts=(linalg.SuperLU,))
def solve(self, rhs, trans="N"):
    y = self.solve(rhs, trans)

    def pullback(y_bar):
        if trans == "T":
            b_bar = conj(self.solve(conj(y_bar), "N"))
        else:
            b_bar = self.solve(y_bar, "N" if trans == "H" else "H")
        return UNKNOWN, b_bar, None

    return y, pullback


def by_iteration(solver, A, b, adjoint_options, y):
    """The pullback of an iterative solver."""

    def pullback(y_bar):
        if y_bar[0] is None:
            return None, None
        x_bar, failed = solver(adjoint_of(A), np.ravel(y_bar[0]), **adjoint_options)
        if failed:
            raise DifferentiationError("the adjoint system has not converged: use another tolerance or preconditioner")
        return Thunk(lambda: matrix_bar(A, x_bar, np.ravel(y[0]))), np.reshape(x_bar, shape(b))

    return pullback


def conjugated(M):
    """The preconditioner of the adjoint system."""
    return None if M is None else adjoint_of(M)


ACCEPTED = (*FORMATS, linalg.LinearOperator)


@rrule(linalg.cg, kind="tuple", accepts=ACCEPTED)
def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None):
    y = linalg.cg(A, b, x0, rtol=rtol, atol=atol, maxiter=maxiter, M=M)
    back = by_iteration(linalg.cg, A, b, dict(rtol=rtol, atol=atol, maxiter=maxiter, M=conjugated(M)), y)
    return y, lambda y_bar: (*back(y_bar), *(None,) * 5)


@rrule(linalg.bicgstab, kind="tuple", accepts=ACCEPTED)
def bicgstab(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None):
    y = linalg.bicgstab(A, b, x0, rtol=rtol, atol=atol, maxiter=maxiter, M=M)
    back = by_iteration(linalg.bicgstab, A, b, dict(rtol=rtol, atol=atol, maxiter=maxiter, M=conjugated(M)), y)
    return y, lambda y_bar: (*back(y_bar), *(None,) * 5)


@rrule(linalg.gmres, kind="tuple", accepts=ACCEPTED)
def gmres(A, b, x0=None, *, rtol=1e-5, atol=0.0, restart=None, maxiter=None, M=None):
    options = dict(rtol=rtol, atol=atol, restart=restart, maxiter=maxiter)
    y = linalg.gmres(A, b, x0, **options, M=M)
    back = by_iteration(linalg.gmres, A, b, dict(options, M=conjugated(M)), y)
    return y, lambda y_bar: (*back(y_bar), *(None,) * 6)
