"""Matrices whose entries are chosen from a vector: the adjoint adds what belongs to the same entry."""

from typing import Any

import numpy as np

from adcompiler.runtime.shapes import Shape, conj


def gathered_bar(y_bar: Any, places: Any, size: int) -> Any:
    """The cotangent of a vector of `size`, of which ``x[places]`` was read; entries with a negative place are none."""
    kept = np.greater_equal(places, 0)
    y_bar = np.where(kept, y_bar, 0).ravel()
    at = np.where(kept, places, 0).ravel()
    real = np.bincount(at, y_bar.real, size)
    if np.iscomplexobj(y_bar):
        return (real + 1j * np.bincount(at, y_bar.imag, size)).astype(y_bar.dtype)
    return real.astype(y_bar.dtype)


def diagonals_bars(y_bar: Any, c_shape: Shape, r_shape: Shape | None) -> tuple[Any, Any]:
    """The cotangents of the first column and row of a Toeplitz matrix; without a row that is the column's conjugate."""
    rows, columns = y_bar.shape
    step = np.arange(rows)[:, None] - np.arange(columns)
    c_bar = gathered_bar(y_bar, step, rows)
    r_bar = gathered_bar(y_bar, np.where(step < 0, -step, -1), columns)
    if r_shape is None:
        return np.reshape(c_bar + conj(r_bar), c_shape), None
    return np.reshape(c_bar, c_shape), np.reshape(r_bar, r_shape)


def antidiagonals_bars(y_bar: Any, c_shape: Shape, r_shape: Shape | None) -> tuple[Any, Any]:
    """The cotangents of the first column and the last row of a Hankel matrix; without a row that is 0."""
    rows, columns = y_bar.shape
    step = np.arange(rows)[:, None] + np.arange(columns)
    c_bar = gathered_bar(y_bar, np.where(step < rows, step, -1), rows)
    if r_shape is None:
        return np.reshape(c_bar, c_shape), None
    r_bar = gathered_bar(y_bar, np.where(step < rows, -1, step - rows + 1), columns)
    return np.reshape(c_bar, c_shape), np.reshape(r_bar, r_shape)


def companion_bar(y_bar: Any, a: Any) -> Any:
    """The cotangent of the coefficients of a polynomial, given that of its companion matrix's first row."""
    row = y_bar[..., 0, :]
    lead, rest = a[..., :1], a[..., 1:]
    lead_bar = np.sum(row * conj(rest / lead**2), axis=-1, keepdims=True)
    return np.concatenate([lead_bar, -row / conj(lead)], axis=-1)


def blocks_bars(y_bar: Any, shapes: list[Shape]) -> tuple[Any, ...]:
    """The cotangents of the matrices that stand on a block diagonal."""
    bars, row, column = [], 0, 0
    for given in shapes:
        rows, columns = ((1, 1)[: 2 - len(given)] + given)[-2:]
        bars.append(np.reshape(y_bar[row : row + rows, column : column + columns], given))
        row, column = row + rows, column + columns
    return tuple(bars)
