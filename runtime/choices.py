"""Parts of the rules of functions that take each element from one of several arrays or functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from adcompiler.runtime.conversion import varies
from adcompiler.runtime.layout import Layout, cast_bar, collect
from adcompiler.runtime.scatter import scatter
from adcompiler.runtime.shapes import Shape, broadcast, fit, shape, zeros
from adcompiler.runtime.tangents import accumulate


def choice_bars(c: Any, chosen: Any, choices: Layout) -> Any:
    """The cotangents of the arrays of which the `chosen` one gave each element."""
    container, shapes = choices
    bars = [fit(np.where(np.equal(chosen, i), c, 0), lengths) for i, lengths in enumerate(shapes)]
    return collect(bars, container)


class Piece(NamedTuple):
    """One piece of `np.piecewise`: its elements, those of them that no later piece replaces, and where they are from.

    `shape` is that of the number or of the function's result, `pullback` is None for a number.
    """

    elements: Any
    kept: Any
    shape: Shape
    varies: bool
    pullback: Callable[[Any], Any] | None


def pieces(
    x: Any, condlist: Any, functions: Any, args: tuple[Any, ...], rrule_via_ad: Callable[..., Any]
) -> tuple[Any, list[Piece]]:
    """The value of ``np.piecewise(x, condlist, functions, *args)``, and its pieces.

    A function is called with the elements of its piece; where conditions overlap, the last one counts.
    """
    made: dict[int, Any] = {}

    def recorded(i: int, f: Any) -> Any:
        def call(*operands: Any) -> Any:
            value, pullback = rrule_via_ad(f, *operands)
            made[i] = shape(value), pullback
            return value

        return call if callable(f) else f

    y = np.piecewise(x, condlist, [recorded(i, f) for i, f in enumerate(functions)], *args)
    found: list[Piece] = []
    later = np.zeros(shape(x), bool)
    for i, elements in reversed(list(enumerate(_conditions(condlist, len(functions), shape(x))))):
        value_shape, pullback = made.get(i, (shape(functions[i]), None))
        number = not callable(functions[i]) and varies(functions[i])
        found.insert(0, Piece(elements, np.logical_and(elements, ~later), value_shape, number, pullback))
        later = np.logical_or(later, elements)
    return y, found


def _conditions(condlist: Any, count: int, x_shape: Shape) -> list[Any]:
    """One mask for each of the `count` functions: the last may be for what no condition holds for."""
    if np.isscalar(condlist) or (x_shape and np.ndim(condlist[0]) == 0):
        condlist = [condlist]
    masks = [np.equal(condition, True) for condition in condlist]
    return masks if len(masks) == count else [*masks, ~reduce(np.logical_or, masks)]


def pieces_bars(c: Any, found: list[Piece], x_shape: Shape, dtype: Any, count: int) -> tuple[Any, Any, Any]:
    """The cotangents of `x`, of the list of functions and of the `count` arguments of `np.piecewise`."""
    c = broadcast(cast_bar(c, dtype), x_shape)
    x_bar = zeros(x_shape, c)
    functions_bar: list[Any] = []
    args_bar: list[Any] = [None] * count
    for piece in found:
        value_bar = fit(np.where(piece.kept, c, 0)[piece.elements], piece.shape)
        if piece.pullback is None:
            functions_bar.append(value_bar if piece.varies else None)
            continue
        function_bar, elements_bar, *others = piece.pullback(value_bar)
        functions_bar.append(function_bar)
        if elements_bar is not None:
            x_bar = x_bar + scatter(elements_bar, piece.elements, x_shape)
        args_bar = [accumulate(total, bar) for total, bar in zip(args_bar, others, strict=True)]
    return x_bar, functions_bar, tuple(args_bar)


class Rows(NamedTuple):
    """The calls of `np.apply_along_axis`, in the order of the rows: their pullbacks, and the shape of their results."""

    pullbacks: list[Callable[[Any], Any]]
    shape: Shape
    dtype: np.dtype[Any]


def along_rows(
    function: Any, axis: int, x: Any, args: tuple[Any, ...], rrule_via_ad: Callable[..., Any]
) -> tuple[Any, Rows]:
    """The value of ``np.apply_along_axis(function, axis, x, *args)``, and its calls."""
    pullbacks: list[Callable[[Any], Any]] = []
    shapes: list[Shape] = []

    def recorded(row: Any, *others: Any) -> Any:
        value, pullback = rrule_via_ad(function, row, *others)
        pullbacks.append(pullback)
        shapes.append(shape(value))
        return value

    y = np.apply_along_axis(recorded, axis, x, *args)
    return y, Rows(pullbacks, shapes[0], y.dtype)


def along_rows_bars(c: Any, found: Rows, axis: int, x_shape: Shape, count: int) -> tuple[Any, Any, Any]:
    """The cotangents of the function, of `x` and of the `count` arguments of `np.apply_along_axis`."""
    axis = axis % len(x_shape)
    rank = len(found.shape)
    # The axes of a result stand in the place of the axis; its row is found by the others.
    c = np.moveaxis(cast_bar(c, found.dtype), range(axis, axis + rank), range(-rank, 0))
    others = x_shape[:axis] + x_shape[axis + 1 :]
    x_bar = zeros((*others, x_shape[axis]), c)
    function_bar = None
    args_bar: list[Any] = [None] * count
    for index, pullback in zip(np.ndindex(others), found.pullbacks, strict=True):
        own_bar, row_bar, *more = pullback(c[index])
        function_bar = accumulate(function_bar, own_bar)
        if row_bar is not None:
            x_bar[index] = row_bar
        args_bar = [accumulate(total, bar) for total, bar in zip(args_bar, more, strict=True)]
    return function_bar, np.moveaxis(x_bar, -1, axis), tuple(args_bar)
