"""Rules for matrix factorisations. Their results are named tuples, and so are the cotangents, with None for a part
that is not used.

NumPy reads one triangle of a Hermitian matrix, so the cotangent of the other one is zero.
"""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.matrices import cholesky_bar, eigh_bar, eigvalsh_bar, qr_bar, svd_bar


@rrule(np.linalg.cholesky, result="fresh", kind="like")
def cholesky(a, *, upper=False):
    y = np.linalg.cholesky(a, upper=True) if upper else np.linalg.cholesky(a)

    def pullback(y_bar):
        return cholesky_bar(y_bar, y, upper), None

    return y, pullback


@rrule(np.linalg.eigh, kind="tuple")
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


@rrule(np.linalg.svd, kind="tuple")
def svd(a, full_matrices=True, compute_uv=True):
    y = np.linalg.svd(a, full_matrices, compute_uv)

    def pullback(y_bar):
        return svd_bar(y_bar, a, y, compute_uv), None, None

    return y, pullback


@rrule(np.linalg.svdvals, result="fresh", kind="array_real")
def svdvals(x):
    y = np.linalg.svdvals(x)

    def pullback(y_bar):
        return (svd_bar(y_bar, x, y, False),)

    return y, pullback


@rrule(np.linalg.qr, kind="tuple")
def qr(a, mode="reduced"):
    """Opaque: declines the other modes, and more columns than rows."""
    if mode != "reduced" or np.shape(a)[-1] > np.shape(a)[-2]:
        return NotImplemented
    y = np.linalg.qr(a, mode)

    def pullback(y_bar):
        return qr_bar(y_bar, y[0], y[1]), None

    return y, pullback
