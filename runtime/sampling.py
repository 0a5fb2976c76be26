"""Arrays that are read between their elements, by splines of order 0, 1 or 3, with a boundary.

Unser, Aldroubi and Eden (1993), "B-spline signal processing", for the weights of the elements around a position.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from adcompiler.runtime.shapes import conj


def around(order: int, position: Any) -> tuple[Any, list[Any], list[Any]]:
    """The first element that a position reads, the weights of this and the following ones, and their slopes."""
    if order == 0:
        return np.floor(position + 0.5).astype(int), [np.ones_like(position)], [np.zeros_like(position)]
    first = np.floor(position).astype(int)
    u = position - first
    if order == 1:
        return first, [1 - u, u], [-np.ones_like(u), np.ones_like(u)]
    weights = [(1 - u) ** 3 / 6, (4 - 6 * u**2 + 3 * u**3) / 6, (1 + 3 * u + 3 * u**2 - 3 * u**3) / 6, u**3 / 6]
    slopes = [-((1 - u) ** 2) / 2, (3 * u**2 - 4 * u) / 2, (1 + 2 * u - 3 * u**2) / 2, u**2 / 2]
    return first - 1, weights, slopes


def folded(places: Any, length: int, mode: str) -> Any:
    """The elements that places outside of an axis stand for; -1 is none of them."""
    if length == 1 and mode != "grid-constant":
        return np.zeros_like(places)
    if mode == "reflect":
        turned = places % (2 * length)
        return np.where(turned < length, turned, 2 * length - 1 - turned)
    if mode == "grid-wrap":
        return places % length
    if mode == "nearest":
        return np.clip(places, 0, length - 1)
    if mode == "grid-constant":
        return np.where((places < 0) | (places >= length), -1, places)
    turned = places % (2 * length - 2)
    return np.where(turned < length, turned, 2 * length - 2 - turned)


def sampled_bars(bar: Any, table: Any, coordinates: Any, order: int, mode: str, cval: Any) -> tuple[Any, Any, Any]:
    """The cotangents of the table (of spline coefficients) and of the coordinates, one row for each axis; the value."""
    axes = range(table.ndim)
    positions, inside = list(coordinates), np.ones(bar.shape, bool)
    moving = [np.ones(bar.shape, bool) for _ in axes]
    for axis, length in enumerate(table.shape):
        within = (positions[axis] >= 0) & (positions[axis] <= length - 1)
        if mode == "constant":
            inside = inside & within
        if mode == "nearest":
            moving[axis] = within
            positions[axis] = np.clip(positions[axis], 0, length - 1)
    bar = np.where(inside, bar, 0)
    positions = [np.where(inside, p, 0.0) for p in positions]
    read = [around(order, p) for p in positions]
    table_bar = np.zeros(table.shape, np.result_type(bar, table))
    coordinate_bars = np.zeros((table.ndim, *bar.shape))
    value = np.where(inside, np.zeros(bar.shape, table.dtype), cval)
    for step in np.ndindex((order + 1,) * table.ndim):
        found_at = [folded(read[a][0] + step[a], table.shape[a], mode) for a in axes]
        weights = [read[a][1][step[a]] for a in axes]
        kept = np.all([p >= 0 for p in found_at], axis=0)
        places = tuple(np.where(kept, p, 0) for p in found_at)
        np.add.at(table_bar, places, np.where(kept, bar * np.prod(weights, axis=0), 0))
        found = np.where(kept, table[places], cval)
        value = value + np.where(inside, found * np.prod(weights, axis=0), 0)
        height = np.real(bar * conj(found))
        for a in axes:
            others = np.prod(weights[:a] + weights[a + 1 :], axis=0)
            coordinate_bars[a] += np.where(moving[a], height * others * read[a][2][step[a]], 0)
    return table_bar, coordinate_bars, value


def chosen_bar(y_bar: Any, y: Any, x: Any, places: Any, cval: Any) -> Any:
    """The cotangent of `x` where each element of `y` is one of a window; equal ones share it.

    `places` has the flat places of the window's elements along its last axis, -1 for the constant outside.
    """
    outside = places < 0
    candidates = np.where(outside, np.asarray(cval, x.dtype), x.ravel()[np.where(outside, 0, places)])
    same = candidates == y[..., None]
    share = np.where(same, (y_bar / np.maximum(np.sum(same, axis=-1), 1))[..., None], 0)
    x_bar = np.bincount(places[~outside], share[~outside], x.size)
    return x_bar.reshape(x.shape).astype(np.asarray(y_bar).dtype)


def per_axis(value: Any, rank: int) -> Sequence[Any]:
    """One value for each axis."""
    return list(value) if np.ndim(value) else [value] * rank
