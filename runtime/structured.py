"""Matrices of which only a part is read: a triangle, the diagonal, a band next to it."""

from typing import Any

import numpy as np

from adcompiler.runtime.factors import read_triangle
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import conj

_HERMITIAN = ("her", "hermitian", "pos", "positive definite")
_SYMMETRIC = ("sym", "symmetric")
_TRIANGULAR = {"upper triangular": "lower triangular", "lower triangular": "upper triangular"}


def adjoint_structure(a: Any, assumed: str | None) -> tuple[Any, str | None]:
    """The adjoint of a matrix of which SciPy reads the part that is `assumed`, and what is to be assumed of it."""
    if assumed in _HERMITIAN:
        return a, assumed
    if assumed in _SYMMETRIC:
        return conj(a), assumed
    return adjoint(np.asarray(a)), _TRIANGULAR.get(assumed, assumed) if assumed else None


def part_read(a_bar: Any, assumed: str | None, lower: bool) -> Any:
    """The cotangent of the part of a matrix that is read, given that of the whole matrix that it stands for."""
    if assumed in _HERMITIAN:
        return read_triangle(a_bar, not lower)
    if assumed in _SYMMETRIC:
        both = a_bar + np.swapaxes(a_bar, -1, -2)
        return (np.tril if lower else np.triu)(both) * (1 - 0.5 * np.eye(a_bar.shape[-1], dtype=a_bar.real.dtype))
    if assumed == "diagonal":
        return a_bar * np.eye(a_bar.shape[-1], dtype=a_bar.real.dtype)
    if assumed == "tridiagonal":
        return np.triu(np.tril(a_bar, 1), -1)
    if assumed in _TRIANGULAR:
        return triangle_of(a_bar, assumed == "lower triangular", False)
    return a_bar


def triangle_of(a_bar: Any, lower: bool, unit_diagonal: bool) -> Any:
    """The triangle of `a_bar`, without the diagonal if that is taken to be 1."""
    return np.tril(a_bar, -int(unit_diagonal)) if lower else np.triu(a_bar, int(unit_diagonal))
