"""Parts of the pullbacks of functions that make sequences of numbers and grids from a few numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import moved_to
from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.layout import reshape
from adcompiler.runtime.shapes import Shape, conj, fit, shape, zeros


def meshgrid_bars(c: Any, shapes: list[Shape], indexing: str) -> tuple[Any, ...]:
    """The cotangents of the vectors of `np.meshgrid`: each grid summed over the axes of the others."""
    order = list(range(len(shapes)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    return tuple(
        None if bar is None else reshape(bar.sum(axis=tuple(a for a in range(bar.ndim) if a != axis)), lengths)
        for bar, axis, lengths in zip(c, order, shapes, strict=True)
    )


def fractions(num: int, endpoint: bool) -> Any:
    """How far each of `num` points of a sequence is on its way from the start to the stop."""
    return np.arange(num) / (steps(num, endpoint) or 1)


def steps(num: int, endpoint: bool) -> int:
    """Into how many steps `num` points divide the way from the start to the stop."""
    return num - 1 if endpoint else num


def line_bar(c: Any, weights: Any, axis: int) -> Any:
    """The cotangent of a number that contributed to the points along `axis` with these weights."""
    rows = np.moveaxis(c, axis, 0)
    return np.tensordot(moved_to(rows, weights.astype(rows.real.dtype)), rows, 1)[()]


def logspace_bars(c: Any, start: Any, stop: Any, num: int, endpoint: bool, base: Any, axis: int) -> tuple[Any, ...]:
    """The cotangents of `start`, `stop` and `base` in ``np.logspace(...)``, which is ``base ** np.linspace(...)``."""
    shapes = shape(start), shape(stop), shape(base)
    if shapes[2]:
        # NumPy reads the axis as one of all three, and the base has length 1 along it.
        rank = max(map(len, shapes))
        start, stop, base = (
            np.reshape(x, (1,) * (rank - len(n)) + n) for x, n in zip((start, stop, base), shapes, strict=True)
        )
        base = np.expand_dims(base, axis)
    exponents = np.linspace(start, stop, num, endpoint, axis=axis)
    exponents_bar = multiply_strong(c, conj(np.power(base, exponents) * np.log(base)))
    base_bar = multiply_strong(c, conj(exponents * np.power(base, exponents - 1)))
    way = fractions(num, endpoint)
    return (
        fit(line_bar(exponents_bar, 1 - way, axis), shapes[0]),
        fit(line_bar(exponents_bar, way, axis), shapes[1]),
        reshape(fit(base_bar, shape(base)), shapes[2]),
    )


def geomspace_bar(c: Any, y: Any, end: Any, weights: Any, axis: int) -> Any:
    """The cotangent of one `end` of ``np.geomspace(...)``, whose points are ``start ** (1 - w) * stop ** w``."""
    return fit(np.divide(line_bar(c * conj(y), weights, axis), conj(end)), shape(end))


def vander_bar(c: Any, x: Any, increasing: bool) -> Any:
    """The cotangent of `x` in ``np.vander(x, ...)``, whose columns are powers of `x`."""
    c = c if increasing else c[:, ::-1]
    count = c.shape[1] - 1
    if count < 1:
        return zeros(shape(x), c)
    powers = np.vander(x, count, increasing=True)
    slopes = powers * moved_to(powers, np.arange(1, count + 1).astype(powers.real.dtype))
    return np.sum(c[:, 1:] * conj(slopes), axis=1)
