"""Matrices that are given by their diagonals, one a row, as in LAPACK: ``ab[above + i - j, j]`` is entry (i, j)."""

from typing import Any

import numpy as np

from adcompiler.runtime.shapes import Shape, conj


def adjoint_band(ab: Any, below: int, above: int) -> Any:
    """The adjoint of a matrix with `below` and `above` diagonals beside the main one, in the same form."""
    ab = np.asarray(ab)
    turned = np.zeros_like(ab)
    for offset in range(-below, above + 1):
        columns = ab.shape[1] - abs(offset)
        row = ab[above - offset, max(offset, 0) : max(offset, 0) + columns]
        turned[below + offset, max(-offset, 0) : max(-offset, 0) + columns] = conj(row)
    return turned


def solve_band_bar(x_bar: Any, y: Any, ab_shape: Shape, above: int) -> Any:
    """The cotangent of the diagonals of a matrix in a linear system, given that of its right side and the solution."""
    x_bar, y = (part if part.ndim == 2 else part[:, None] for part in (x_bar, y))
    ab_bar = np.zeros(ab_shape, np.result_type(x_bar, y))
    for row in range(ab_shape[0]):
        offset = above - row
        columns = max(ab_shape[1] - abs(offset), 0)
        i, j = max(-offset, 0), max(offset, 0)
        products = x_bar[i : i + columns] * conj(y[j : j + columns])
        ab_bar[row, j : j + columns] = -np.sum(products, axis=1)
    return ab_bar
