"""Parts of the pullbacks of functions that pick elements along an axis, or bring them in order.

Each one says where the elements came from, as an index, and leaves the adding up to `scatter`.
"""

import math
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import moved_to
from adcompiler.runtime.layout import reshape
from adcompiler.runtime.scatter import scatter
from adcompiler.runtime.shapes import Shape, broadcast


def take_bar(c: Any, indices: Any, x_shape: Shape, axis: int | None) -> Any:
    """The cotangent of `x` in ``np.take(x, indices, axis)``; ``axis=None`` takes from the flat array."""
    if axis is None or not x_shape:
        return reshape(scatter(c, indices, (math.prod(x_shape),)), x_shape)
    return scatter(c, (slice(None),) * (axis % len(x_shape)) + (indices,), x_shape)


def along_axis(indices: Any, x_shape: Shape, axis: int) -> tuple[Any, ...]:
    """The index for which ``x[index]`` is ``np.take_along_axis(x, indices, axis)``."""
    index = [moved_to(indices, entry) for entry in np.ogrid[tuple(slice(n) for n in x_shape)]]
    index[axis] = indices
    return tuple(index)


def take_along_axis_bar(c: Any, indices: Any, x_shape: Shape, axis: int | None) -> Any:
    """The cotangent of `x` in ``np.take_along_axis(x, indices, axis)``."""
    if axis is None:
        return take_bar(c, indices, x_shape, None)
    return scatter(c, along_axis(indices, x_shape, axis), x_shape)


def item_bar(c: Any, position: tuple[Any, ...], x_shape: Shape, dtype: Any, home: Any) -> Any:
    """The cotangent of `x`, of `dtype` and the library `home`, in ``x.item(*position)``, which is a Python number."""
    c = home.asarray(c, np.result_type(dtype, c))
    if not position:
        return broadcast(c, x_shape)
    where = position[0] if len(position) == 1 else position
    if isinstance(where, tuple):
        return scatter(c, where, x_shape)
    return scatter(c, where, (math.prod(x_shape),)).reshape(x_shape)


def partition_order(x: Any, y: Any, axis: int | None) -> Any:
    """Where the elements of `y`, which is `x` in another order along `axis`, stood in `x`."""
    ranks = np.argsort(np.argsort(y, axis=axis, kind="stable"), axis=axis)
    return np.take_along_axis(np.argsort(x, axis=axis, kind="stable"), ranks, axis=axis)
