"""The cotangents of points, given those of their distances: one row of `w` for each point of the first set."""

from typing import Any

import numpy as np

SMOOTH = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine")


def distance_bars(w: Any, y: Any, a: Any, b: Any, metric: str, p: float) -> tuple[Any, Any]:
    """The cotangents of both sets of points. At distance 0, where a distance has its minimum, they are 0."""
    if metric == "cosine":
        return _cosine_bars(w, a, b)
    if metric in ("euclidean", "sqeuclidean"):
        weights = 2 * w if metric == "sqeuclidean" else _divided(w, y)
        a_bar = np.sum(weights, axis=1)[:, None] * a - weights @ b
        return a_bar, np.sum(weights, axis=0)[:, None] * b - weights.T @ a
    gaps = a[:, None, :] - b[None, :, :]
    if metric == "cityblock":
        slopes = w[:, :, None] * np.sign(gaps)
    elif metric == "chebyshev":
        farthest = np.abs(gaps) == y[:, :, None]
        slopes = (w / np.maximum(np.sum(farthest, axis=2), 1))[:, :, None] * np.where(farthest, np.sign(gaps), 0)
    else:
        ratio = np.abs(gaps) / np.where(y == 0, 1, y)[:, :, None]
        steep = np.where(ratio == 0, 0, np.where(ratio == 0, 1, ratio) ** (p - 1))
        slopes = w[:, :, None] * np.sign(gaps) * steep
    return np.sum(slopes, axis=1), -np.sum(slopes, axis=0)


def _divided(w: Any, y: Any) -> Any:
    return np.where(y == 0, 0, w / np.where(y == 0, 1, y))


def _cosine_bars(w: Any, a: Any, b: Any) -> tuple[Any, Any]:
    a_length, b_length = (np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    a_unit, b_unit = a / a_length, b / b_length
    a_turn, b_turn = -(w @ b_unit), -(w.T @ a_unit)
    a_bar = (a_turn - a_unit * np.sum(a_turn * a_unit, axis=1, keepdims=True)) / a_length
    return a_bar, (b_turn - b_unit * np.sum(b_turn * b_unit, axis=1, keepdims=True)) / b_length
