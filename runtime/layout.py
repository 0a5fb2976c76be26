"""Parts of the pullbacks of functions that move, join, split or repeat elements without computing with them.

A cotangent that only changes its arrangement may come out as a view of what came in; nothing is ever written to.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array, like_of, moved_to
from adcompiler.runtime.errors import DifferentiationError, NoRuleError, UnsupportedSyntaxError
from adcompiler.runtime.scatter import scatter
from adcompiler.runtime.shapes import Shape, fit, ndim, real, shape, zeros

Layout = tuple[type, list[Shape]]


def reshape(c: Any, shape: Shape, order: str | tuple[int, ...] = "C") -> Any:
    """`c` with its elements in `shape`, which is a scalar for the shape ``()``; `order` is one of `read_order`."""
    if not shape:
        return c.reshape(())[()] if ndim(c) else c
    if not ndim(c):
        return np.reshape(c, shape)
    if isinstance(order, tuple):
        return np.transpose(c.reshape([shape[axis] for axis in order]), inverse_axes(order))
    return c.reshape(shape) if order == "C" else c.reshape(shape, order=order)


def reshape_bar(c: Any, lengths: Shape, order: str | tuple[int, ...]) -> Any:
    """The adjoint of `reshape` for an argument of shape `lengths`: with an order of axes, these as they lie."""
    if isinstance(order, tuple):
        return np.reshape(np.transpose(c, order), lengths) if lengths else reshape(c, lengths)
    return reshape(c, lengths, order)


def read_order(x: Any, order: str) -> str | tuple[int, ...]:
    """The order in which NumPy reads the elements of `x` for `order` "A" or "K": "C", "F", or the axes as they lie in
    memory, outermost first."""
    if order in ("C", "F"):
        return order
    x = as_array(x)
    if not hasattr(x, "flags"):
        raise DifferentiationError(
            f"order={order!r} of a {type(x).__name__}, which does not say how it is laid out, has no derivative: "
            "pass order='C'"
        )
    if x.flags.f_contiguous and not x.flags.c_contiguous:
        return "F"
    if order == "A" or x.flags.c_contiguous:
        return "C"
    if 0 in x.strides:
        raise DifferentiationError(
            "order='K' of an array whose elements share memory has no derivative: pass order='C'"
        )
    return tuple(sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis])))


def inverse_axes(axes: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes ``np.transpose(x, axes)``."""
    return tuple(np.argsort([axis % len(axes) for axis in axes]).tolist())


def transpose_bar(c: Any, axes: tuple[Any, ...]) -> Any:
    """The cotangent of `x` in ``x.transpose(*axes)``: none, None, a tuple, or one integer after another."""
    if not axes or axes[0] is None:
        return np.transpose(c)
    return np.transpose(c, inverse_axes(axes if isinstance(axes[0], int | np.integer) else axes[0]))


def shapes_of(arrays: Any) -> list[Shape]:
    """The shape of each array in a sequence."""
    return [shape(array) for array in arrays]


def layout(arrays: Any) -> Layout:
    """The type of a sequence of arrays and the shape of each of them."""
    return type(arrays), shapes_of(arrays)


def separate(c: Any, arrays: Layout, axis: int | None) -> Any:
    """The cotangent `c` of arrays joined along `axis`, taken apart: a sequence with a cotangent for each array.

    Each part gets its array's own shape, also where the join gave it more axes. ``axis=None`` joins flat arrays.
    """
    container, shapes = arrays
    if axis is None:
        c, axis = c.reshape(-1), 0
    axis = axis % c.ndim
    # What one step along the axis holds; the number of steps of a part follows from its size.
    step = math.prod(c.shape[:axis] + c.shape[axis + 1 :])
    parts, start = [], 0
    for lengths in shapes:
        stop = start + (math.prod(lengths) // step if step else 0)
        parts.append(reshape(c[(slice(None),) * axis + (slice(start, stop),)], lengths))
        start = stop
    return collect(parts, container)


def joined(parts: Any, shapes: list[Shape], axis: int | None, lengths: Shape) -> Any:
    """The adjoint of `separate`: an array of shape `lengths`, of parts with the `shapes`; None is zero."""
    given = [part for part in parts if part is not None]
    if not given or not math.prod(lengths):
        return zeros(lengths, given[0] if given else 0.0)
    if axis is None:
        return joined([None if p is None else p.reshape(-1) for p in parts], shapes, 0, (math.prod(lengths),)).reshape(
            lengths
        )
    axis = axis % len(lengths)
    lead, last = lengths[:axis], lengths[axis + 1 :]
    step = math.prod(lead + last)
    wholes = [
        zeros((*lead, math.prod(own) // step, *last), given[0])
        if part is None
        else np.reshape(part, (*lead, -1, *last))
        for part, own in zip(parts, shapes, strict=True)
    ]
    return np.concatenate(wholes, axis=axis)


def collect(parts: list[Any], container: type) -> Any:
    """`parts` in the form of the argument they belong to: an array, a tuple or a list."""
    if container is tuple:
        return tuple(parts)
    return parts if container is list else np.stack(parts)


def assemble(parts: Any, shapes: list[Shape], axis: int, sections: Any, x_shape: Shape) -> Any:
    """The cotangent of an array of `x_shape` that was split along `axis`: `parts` joined, zeros where a part is None.

    `sections` is their number or where they begin; they overlap if these places are not in ascending order.
    """
    given = [part for part in parts if part is not None]
    given = [part for part in parts if part is not None]
    kind = given[0] if given else 0.0
    parts = [zeros(lengths, kind) if part is None else part for part, lengths in zip(parts, shapes, strict=True)]
    if sum(lengths[axis] for lengths in shapes) == x_shape[axis]:
        return np.concatenate(parts, axis=axis)
    x_bar = zeros(x_shape, parts[0])
    lead = (slice(None),) * (axis % len(x_shape))
    for start, stop, part in zip((None, *sections), (*sections, None), parts, strict=True):
        x_bar[(*lead, slice(start, stop))] += part
    return x_bar


def unstack_bar(parts: Any, x_shape: Shape, axis: int) -> Any:
    """The cotangent of an array of `x_shape` that was taken apart along `axis`; zeros where a part is None."""
    given = [part for part in parts if part is not None]
    if not given:
        return np.zeros(x_shape)
    nothing = zeros(shape(given[0]), given[0])
    return np.stack([nothing if part is None else part for part in parts], axis=axis)


def broadcast_bars(c: Any, shapes: list[Shape]) -> tuple[Any, ...]:
    """The cotangents of the arguments of `np.broadcast_arrays`."""
    return tuple(None if bar is None else fit(bar, lengths) for bar, lengths in zip(c, shapes, strict=True))


def atleast_bars(c: Any, shapes: list[Shape]) -> tuple[Any, ...]:
    """The cotangents of the arguments of `np.atleast_1d` and its like, which return one array or a tuple of them."""
    bars = (c,) if len(shapes) == 1 else c
    return tuple(None if bar is None else reshape(bar, lengths) for bar, lengths in zip(bars, shapes, strict=True))


def rollaxis_bar(c: Any, axis: int, start: int) -> Any:
    """The cotangent of the argument of ``np.rollaxis(x, axis, start)``."""
    axis, start = axis % c.ndim, start + c.ndim if start < 0 else start
    return np.moveaxis(c, start - (axis < start), axis)


def positions_of(x_shape: Shape, like: Any = None) -> Any:
    """An array of `x_shape` that holds its own flat positions: moved like `x`, it tells where elements came from.

    It is in the library of `like`: what moves it may be an array on a device.
    """
    return moved_to(like, np.arange(math.prod(x_shape)).reshape(x_shape))


def diagonal_bar(c: Any, x_shape: Shape, offset: int, axis1: int, axis2: int) -> Any:
    """The cotangent of `x` in ``np.diagonal(x, offset, axis1, axis2)``, also for a `c` that broadcasts to it."""
    axes = (axis1 % len(x_shape), axis2 % len(x_shape))
    rows = np.arange(max(0, min(x_shape[axes[0]] + min(offset, 0), x_shape[axes[1]] - max(offset, 0))))
    lead = tuple(n for axis, n in enumerate(x_shape) if axis not in axes)
    x_bar = zeros((*lead, x_shape[axes[0]], x_shape[axes[1]]), c)
    # A diagonal names no element twice.
    x_bar[..., rows - min(offset, 0), rows + max(offset, 0)] = c
    return np.moveaxis(x_bar, (-2, -1), axes)


def diag_bar(c: Any, v_shape: Shape, k: int) -> Any:
    """The cotangent of `v` in ``np.diag(v, k)``, which makes a matrix of a vector and a vector of a matrix."""
    return np.diagonal(c, k) if len(v_shape) == 1 else diagonal_bar(c, v_shape, k, 0, 1)


def gather_bar(c: Any, positions: Any, x_shape: Shape) -> Any:
    """The cotangent of `x` in ``np.ravel(x)[positions]``: sums over the places where an element was copied to."""
    count, positions = math.prod(x_shape), np.ravel(positions)
    if c.dtype.kind == "c":
        return gather_bar(real(c), positions, x_shape) + 1j * gather_bar(np.imag(c), positions, x_shape)
    if like_of(c) is not None or c.dtype.itemsize > 8:  # NumPy counts in double precision only
        return scatter(c.ravel(), moved_to(c, positions), (count,)).reshape(x_shape)
    return np.bincount(positions, np.ravel(c), count).astype(c.dtype, copy=False).reshape(x_shape)


def cast_bar(c: Any, dtype: np.dtype[Any]) -> Any:
    """The cotangent `c` of a value that was cast to `dtype`: zero if that is a dtype of whole numbers.

    A cast from complex to real drops the imaginary part, and so does its adjoint. Raises NoRuleError for objects, dates
    and text, in which the derivative would be lost.
    """
    if dtype.kind == "f":
        return real(c)
    if dtype.kind == "c":
        return c
    if dtype.kind in "SUT":
        raise UnsupportedSyntaxError(
            "text made of numbers with a derivative is used in a computation\n"
            "Use the values themselves, or stop_gradient() of them."
        )
    if dtype.kind not in "iub":
        raise NoRuleError(
            f"an array of dtype {dtype} carries no derivative, and it was made of values that do\n"
            "Use a list, or an array of floats."
        )
    return zeros(shape(c), c)
