"""Sparse matrices: where their stored entries are, and what a cotangent of the matrix is for these.

The cotangent of a sparse matrix is that of its field `data`: a dict with this one entry. SciPy is not imported here:
formats are told apart by what the object has.
"""

from typing import Any

import numpy as np

from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.shapes import conj


def positions(matrix: Any) -> tuple[Any, Any, Any]:
    """The row and column of each element of ``matrix.data``, and which elements are entries of the matrix."""
    if len(matrix.shape) != 2:
        raise NoRuleError("a sparse array that is no matrix has no derivative\nReshape it to two axes.")
    if matrix.format == "coo":
        rows, columns = matrix.row, matrix.col
        return rows, columns, np.ones(matrix.data.shape, bool)
    if matrix.format == "dia":
        columns = np.broadcast_to(np.arange(matrix.data.shape[1]), matrix.data.shape)
        rows = columns - matrix.offsets[:, None]
        inside = (rows >= 0) & (rows < matrix.shape[0]) & (columns < matrix.shape[1])
        return np.where(inside, rows, 0), np.where(inside, columns, 0), inside
    major = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
    minor = matrix.indices[: len(major)]
    if matrix.format == "bsr":
        height, width = matrix.data.shape[1:]
        rows = major[:, None, None] * height + np.arange(height)[:, None]
        columns = minor[:, None, None] * width + np.arange(width)
        found = list(np.broadcast_arrays(rows, columns))
    else:
        found = [major, minor] if matrix.format == "csr" else [minor, major]
    spare = matrix.data.shape[0] - len(major)  # SciPy allows for elements behind the last entry
    rows, columns = (np.concatenate([x, np.zeros((spare, *x.shape[1:]), x.dtype)]) if spare else x for x in found)
    inside = np.zeros(matrix.data.shape, bool)
    inside[: len(major)] = True
    return rows, columns, inside


def entries_bar(matrix: Any, values: Any, inside: Any) -> dict[str, Any]:
    """The cotangent of a sparse matrix with the cotangents `values` of its stored elements."""
    values = values if np.iscomplexobj(matrix.data) else np.real(values)
    return {"data": np.where(inside, values, 0).astype(values.dtype)}


def product_bar(matrix: Any, left: Any, right: Any) -> dict[str, Any]:
    """The entries of ``left @ adjoint(right)`` that the sparse `matrix` has; both may be vectors."""
    rows, columns, inside = positions(matrix)
    if left.ndim == 1:
        return entries_bar(matrix, left[rows] * conj(right)[columns], inside)
    return entries_bar(matrix, np.sum(left[rows] * conj(right)[columns], axis=-1), inside)


def dense_bar(matrix: Any, dense: Any) -> dict[str, Any]:
    """The entries of a `dense` matrix that the sparse `matrix` has."""
    rows, columns, inside = positions(matrix)
    return entries_bar(matrix, np.asarray(dense)[rows, columns], inside)


def sum_bar(matrix: Any, y_bar: Any, axis: int | None) -> dict[str, Any]:
    """The cotangent of the sparse `matrix` in ``matrix.sum(axis)``."""
    rows, columns, inside = positions(matrix)
    if axis is None:
        return entries_bar(matrix, np.broadcast_to(y_bar, matrix.data.shape), inside)
    return entries_bar(matrix, np.ravel(y_bar)[columns if axis in (0, -2) else rows], inside)


def diagonal_entries_bar(matrix: Any, y_bar: Any, k: int) -> dict[str, Any]:
    """The cotangent of the sparse `matrix` in ``matrix.diagonal(k)``."""
    rows, columns, inside = positions(matrix)
    on = inside & (columns - rows == k)
    at = np.where(on, columns if k < 0 else rows, 0)
    return entries_bar(matrix, y_bar[at] if y_bar.size else np.zeros(at.shape), on)


def has_repeated(matrix: Any) -> bool:
    """Whether an entry of the sparse `matrix` is the sum of several stored elements."""
    if matrix.format == "dia":
        return False
    rows, columns, inside = positions(matrix)
    places = (rows.astype(np.int64) * matrix.shape[1] + columns)[inside]
    return bool(len(np.unique(places)) < len(places))
