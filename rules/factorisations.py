"""Rules for matrix factorisations. Their results are named tuples, and so are the cotangents, with None for a part
that is not used.

NumPy reads one triangle of a Hermitian matrix, so the cotangent of the other one is zero.

Eigenvectors and singular vectors are defined up to a sign or phase, those of equal values up to a rotation, and those
of a null space are any basis of it. As PyTorch does, the rules raise an error where the function depends on such a
choice. The values alone are always fine: equal ones share their cotangents, as a maximum does. Functions of vectors
and values together, such as the product of the factors, are right at equal values as far as the cotangents tell what
the function is (see `adcompiler.runtime.spectral`), and raise an error elsewhere.
"""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.factors import cholesky_bar, qr_bar
from adcompiler.runtime.singular import svd_bar
from adcompiler.runtime.spectral import eig_bar, eigh_bar, eigvals_bar, eigvalsh_bar

# Triangular factors


@rrule(np.linalg.cholesky, result="fresh", kind="like")
def cholesky(a, *, upper=False):
    y = np.linalg.cholesky(a, upper=True) if upper else np.linalg.cholesky(a)

    def pullback(y_bar):
        return cholesky_bar(y_bar, y, upper), None

    return y, pullback


@rrule(np.linalg.qr, result="fresh", kind="qr")
def qr(a, mode="reduced"):
    y = np.linalg.qr(a, mode)

    def pullback(y_bar):
        return qr_bar(y_bar, a, y, mode), None

    return y, pullback


# Eigenvalues


@rrule(np.linalg.eigh, result="fresh", kind="eigh")
def eigh(a, UPLO="L"):
    y = np.linalg.eigh(a, UPLO)
    w, v = y[0], y[1]

    def pullback(y_bar):
        return eigh_bar(y_bar, w, v, UPLO), None

    return y, pullback


@rrule(np.linalg.eigvalsh, result="fresh", kind="array_real")
def eigvalsh(a, UPLO="L"):
    y = np.linalg.eigvalsh(a, UPLO)

    def pullback(y_bar):
        return eigvalsh_bar(y_bar, a, UPLO), None

    return y, pullback


@rrule(np.linalg.eig, result="fresh", kind="eig")
def eig(a):
    y = np.linalg.eig(a)
    w, v = y[0], y[1]
    a_is_real = np.isrealobj(a)

    def pullback(y_bar):
        return (eig_bar(y_bar, a_is_real, w, v),)

    return y, pullback


@rrule(np.linalg.eigvals, result="fresh", kind="array_complex")
def eigvals(a):
    y = np.linalg.eigvals(a)

    def pullback(y_bar):
        return (eigvals_bar(y_bar, a),)

    return y, pullback


# Singular values


@rrule(np.linalg.svd, result="fresh", kind="svd")
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    y = np.linalg.svd(a, full_matrices, compute_uv, hermitian)

    def pullback(y_bar):
        return svd_bar(y_bar, a, y, compute_uv, hermitian), None, None, None

    return y, pullback


@rrule(np.linalg.svdvals, result="fresh", kind="array_real")
def svdvals(x):
    y = np.linalg.svdvals(x)

    def pullback(y_bar):
        return (svd_bar(y_bar, x, y, False, False),)

    return y, pullback
