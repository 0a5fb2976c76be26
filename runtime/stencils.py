"""Filters of arrays with a boundary: an array is extended at its edges, and a window moves over the result.

What a boundary does is said by the places that the elements of the extended array have in the array itself, -1 for a
constant: an extension is a reading by these, and its adjoint adds at them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from adcompiler.runtime.shapes import conj

# The names that scipy.ndimage and scipy.signal give to what np.pad calls otherwise.
_PADDING = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "symm": "symmetric", "symmetric": "symmetric",
    "nearest": "edge", "mirror": "reflect", "wrap": "wrap", "grid-wrap": "wrap", "circular": "wrap",
}  # fmt: skip
CONSTANT = ("constant", "grid-constant", "fill", "pad")

Widths = Sequence[tuple[int, int]]


def extension(length: int, before: int, after: int, mode: str) -> Any:
    """The places of the elements of an extended axis."""
    if mode in CONSTANT or length == 0:
        places = np.full(before + length + after, -1)
        places[before : before + length] = np.arange(length)
        return places
    return np.pad(np.arange(length), (before, after), mode=_PADDING[mode])  # type: ignore[call-overload]


def extended(x: Any, widths: Widths, modes: Sequence[str], value: Any) -> Any:
    """`x` with `widths` elements more on both sides of each axis."""
    for axis, ((before, after), mode) in enumerate(zip(widths, modes, strict=True)):
        if before or after:
            places = extension(x.shape[axis], before, after, mode)
            x = (
                np.take(x, np.maximum(places, 0), axis)
                if x.shape[axis]
                else np.zeros_like(x, shape=(*x.shape[:axis], before + after, *x.shape[axis + 1 :]))
            )
            if np.any(places < 0):
                x[(slice(None),) * axis + (places < 0,)] = value
    return x


def extended_bar(bar: Any, widths: Widths, modes: Sequence[str]) -> Any:
    """The cotangent of an array, given that of its extension."""
    for axis, ((before, after), mode) in enumerate(zip(widths, modes, strict=True)):
        if before or after:
            length = bar.shape[axis] - before - after
            places = extension(length, before, after, mode)
            moved = np.moveaxis(bar, axis, 0)
            total = moved[before : before + length].copy()
            outside = (places >= 0) & ((np.arange(len(places)) < before) | (np.arange(len(places)) >= before + length))
            np.add.at(total, places[outside], moved[outside])
            bar = np.moveaxis(total, 0, axis)
    return bar


def window_bar(y_bar: Any, weights: Any, shape: Sequence[int]) -> Any:
    """The cotangent of an extended array of `shape`, of which ``y[i] = sum(weights[k] * x[i + k])``."""
    x_bar = np.zeros(shape, np.result_type(y_bar, weights))
    for offset in np.ndindex(weights.shape):
        x_bar[_window(offset, y_bar.shape)] += y_bar * conj(weights[offset])
    return x_bar


def weights_bar(y_bar: Any, x: Any, shape: Sequence[int]) -> Any:
    """The cotangent of the weights, of this `shape`."""
    bar = np.zeros(shape, np.result_type(y_bar, x))
    for offset in np.ndindex(*shape):
        bar[offset] = np.sum(y_bar * conj(x[_window(offset, y_bar.shape)]))
    return bar


def _window(offset: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(k, k + n) for k, n in zip(offset, shape, strict=True))


def in_full(y_bar: Any, a_shape: Sequence[int], b_shape: Sequence[int], mode: str, late: bool = False) -> Any:
    """The cotangent of a full convolution, of which ``mode`` keeps the middle: of an even number the `late` one."""
    if mode == "full":
        return y_bar
    whole = np.zeros([n + m - 1 for n, m in zip(a_shape, b_shape, strict=True)], y_bar.dtype)
    starts = [(m - 1 + late) // 2 if mode == "same" else min(n, m) - 1 for n, m in zip(a_shape, b_shape, strict=True)]
    whole[_window(starts, y_bar.shape)] = y_bar
    return whole


def turned_round(x: Any) -> Any:
    """`x` with all axes reversed, and its conjugate."""
    return conj(np.flip(x))


def widths_of(sizes: Sequence[int], origins: Sequence[int]) -> list[tuple[int, int]]:
    """How far windows reach before and after the element that they belong to."""
    return [(n // 2 + origin, n - 1 - n // 2 - origin) for n, origin in zip(sizes, origins, strict=True)]


def origins_along(origin: int, axis: int, rank: int) -> list[int]:
    """The origin of a window along one axis as one for each."""
    return [origin if i == axis % rank else 0 for i in range(rank)]
