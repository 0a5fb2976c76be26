"""Parts of the pullbacks of matrix and tensor products, one function per operand, right for every number of dimensions.

The rules use them where the dimensions are not known; a known pair of dimensions has its own formula in the rule.
"""

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array
from adcompiler.runtime.layout import cast_bar, collect, diagonal_bar
from adcompiler.runtime.shapes import Shape, conj, fit, ndim, shape


def adjoint(x: Any) -> Any:
    """The conjugate transpose of the last two axes."""
    return conj(x).swapaxes(-1, -2)


def matmul_bar_a(y_bar: Any, b: Any, a_shape: Shape) -> Any:
    """The cotangent of `a` in ``a @ b``."""
    b = conj(as_array(b))
    if b.ndim == 1:
        return fit(np.expand_dims(y_bar, -1) * b, a_shape)
    if len(a_shape) == 1:
        # One row, and the sum over the stacked matrices of b.
        return fit((b @ np.expand_dims(y_bar, -1))[..., 0], a_shape)
    return fit(y_bar @ b.swapaxes(-1, -2), a_shape)


def matmul_bar_b(y_bar: Any, a: Any, b_shape: Shape) -> Any:
    """The cotangent of `b` in ``a @ b``."""
    a = conj(as_array(a))
    if a.ndim == 1:
        return y_bar * a if len(b_shape) == 1 else fit(a[:, None] * np.expand_dims(y_bar, -2), b_shape)
    if len(b_shape) == 1:
        return fit((np.expand_dims(y_bar, -2) @ a)[..., 0, :], b_shape)
    return fit(a.swapaxes(-1, -2) @ y_bar, b_shape)


def dot_bar_a(y_bar: Any, b: Any, a_shape: Shape) -> Any:
    """The cotangent of `a` in ``np.dot(a, b)``: the last axis of `a` against the last but one of `b`."""
    b = conj(as_array(b))
    if not a_shape:
        return np.sum(y_bar * b)
    if b.ndim == 0:
        return y_bar * b
    if b.ndim > 1:
        b = np.moveaxis(b, -2, -1)
    return np.tensordot(y_bar, b, b.ndim - 1)


def dot_bar_b(y_bar: Any, a: Any, b_shape: Shape) -> Any:
    """The cotangent of `b` in ``np.dot(a, b)``."""
    a = conj(as_array(a))
    if not b_shape:
        return np.sum(y_bar * a)
    if a.ndim == 0:
        return y_bar * a
    lead = tuple(range(a.ndim - 1))
    b_bar = np.tensordot(a, y_bar, (lead, lead))
    return np.moveaxis(b_bar, 0, -2) if len(b_shape) > 1 else b_bar


def inner_bar_a(y_bar: Any, b: Any, a_shape: Shape) -> Any:
    """The cotangent of `a` in ``np.inner(a, b)``: the last axes of both against each other."""
    b = conj(as_array(b))
    if not a_shape:
        return np.sum(y_bar * b)
    return np.tensordot(y_bar, b, b.ndim - 1) if b.ndim else y_bar * b


def inner_bar_b(y_bar: Any, a: Any, b_shape: Shape) -> Any:
    """The cotangent of `b` in ``np.inner(a, b)``."""
    a = conj(as_array(a))
    if not b_shape:
        return np.sum(y_bar * a)
    lead = tuple(range(a.ndim - 1))
    return np.tensordot(y_bar, a, (lead, lead)) if a.ndim else y_bar * a


def tensordot_bar_a(y_bar: Any, b: Any, a_shape: Shape, axes: Any) -> Any:
    """The cotangent of `a` in ``np.tensordot(a, b, axes)``."""
    a_axes, b_axes = contracted_axes(axes, len(a_shape), ndim(b))
    a_free, b_free = _others(a_axes, len(a_shape)), _others(b_axes, ndim(b))
    y_axes = tuple(range(len(a_free), len(a_free) + len(b_free)))
    a_bar = np.tensordot(y_bar, np.conj(b), (y_axes, b_free))
    found = a_free + tuple(a_axes[b_axes.index(axis)] for axis in sorted(b_axes))
    return np.transpose(a_bar, np.argsort(found))


def tensordot_bar_b(y_bar: Any, a: Any, b_shape: Shape, axes: Any) -> Any:
    """The cotangent of `b` in ``np.tensordot(a, b, axes)``."""
    a_axes, b_axes = contracted_axes(axes, ndim(a), len(b_shape))
    a_free, b_free = _others(a_axes, ndim(a)), _others(b_axes, len(b_shape))
    b_bar = np.tensordot(np.conj(a), y_bar, (a_free, tuple(range(len(a_free)))))
    found = tuple(b_axes[a_axes.index(axis)] for axis in sorted(a_axes)) + b_free
    return np.transpose(b_bar, np.argsort(found))


def contracted_axes(axes: Any, a_ndim: int, b_ndim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of `a` and those of `b` that ``np.tensordot(a, b, axes)`` sums over, counted from 0."""
    if np.ndim(axes) == 0 and not isinstance(axes, (list, tuple)):
        return tuple(range(a_ndim - axes, a_ndim)), tuple(range(axes))
    pairs = ((axes[0], a_ndim), (axes[1], b_ndim))
    a_axes, b_axes = (tuple(axis % rank for axis in np.atleast_1d(named).astype(int).tolist()) for named, rank in pairs)
    return a_axes, b_axes


def _others(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(rank) if axis not in axes)


def kron_bar_a(y_bar: Any, b: Any, a_shape: Shape) -> Any:
    """The cotangent of `a` in ``np.kron(a, b)``, whose axes are those of `a` and `b` in pairs."""
    pairs, rank = _kron_pairs(a_shape, shape(b))
    spread = np.reshape(np.conj(b), [n for pair in pairs for n in (1, pair[1])])
    product = np.reshape(y_bar, [n for pair in pairs for n in pair]) * spread
    return product.sum(axis=tuple(range(1, 2 * rank, 2))).reshape(a_shape)


def kron_bar_b(y_bar: Any, a: Any, b_shape: Shape) -> Any:
    """The cotangent of `b` in ``np.kron(a, b)``."""
    pairs, rank = _kron_pairs(shape(a), b_shape)
    spread = np.reshape(np.conj(a), [n for pair in pairs for n in (pair[0], 1)])
    product = np.reshape(y_bar, [n for pair in pairs for n in pair]) * spread
    return product.sum(axis=tuple(range(0, 2 * rank, 2))).reshape(b_shape)


def _kron_pairs(a_shape: Shape, b_shape: Shape) -> tuple[list[tuple[int, int]], int]:
    rank = max(len(a_shape), len(b_shape))
    a_lengths, b_lengths = ((1,) * (rank - len(lengths)) + lengths for lengths in (a_shape, b_shape))
    return list(zip(a_lengths, b_lengths, strict=True)), rank


def vecdot_bar(c: Any, other: Any, x_shape: Shape, axis: int) -> Any:
    """The cotangent of an operand of ``np.vecdot``, given the `other` one: the vectors lie along `axis` of each."""
    bar = np.expand_dims(c, -1) * np.moveaxis(other, axis, -1)
    return np.moveaxis(fit(bar, _moved_last(x_shape, axis)), -1, axis)


def multi_dot_bars(c: Any, arrays: Any) -> Any:
    """The cotangents of ``np.linalg.multi_dot(arrays)``: each a product of the others, in the best order again."""
    matrices = [conj(a) for a in arrays]
    if ndim(matrices[0]) == 1:
        matrices[0] = matrices[0][None, :]
    if ndim(matrices[-1]) == 1:
        matrices[-1] = matrices[-1][:, None]
    c = np.reshape(c, (shape(matrices[0])[0], shape(matrices[-1])[1]))
    turned = [matrix.T for matrix in matrices]
    bars = []
    for position, array in enumerate(arrays):
        chain = [*turned[:position][::-1], c, *turned[position + 1 :][::-1]]
        bars.append(np.reshape(np.linalg.multi_dot(chain), shape(array)))
    return collect(bars, type(arrays))


def cross_bar_a(c: Any, b: Any, a_shape: Shape, axisa: int, axisb: int, axisc: int, axis: int | None) -> Any:
    """The cotangent of `a` in ``np.cross(a, b, axisa, axisb, axisc, axis)``: ``b`` times ``c``."""
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    c = _in_space(c, axisc, a_shape[axisa] == shape(b)[axisb] == 2)
    bar = np.cross(_in_space(conj(b), axisb, False), c)[..., : a_shape[axisa]]
    return np.moveaxis(fit(bar, _moved_last(a_shape, axisa)), -1, axisa)


def cross_bar_b(c: Any, a: Any, b_shape: Shape, axisa: int, axisb: int, axisc: int, axis: int | None) -> Any:
    """The cotangent of `b` in ``np.cross(a, b, axisa, axisb, axisc, axis)``, which is the negative of ``b`` times
    ``a``."""
    return cross_bar_a(-c, a, b_shape, axisb, axisa, axisc, axis)


def _in_space(vectors: Any, axis: int, third_only: bool) -> Any:
    """Vectors of two or three components along the last axis, with three; `third_only`: the numbers are the third."""
    if third_only:
        vectors, missing = np.expand_dims(vectors, -1), (2, 0)
    else:
        vectors = np.moveaxis(vectors, axis, -1)
        missing = (0, 3 - vectors.shape[-1])
    return vectors if missing == (0, 0) else np.pad(vectors, [(0, 0)] * (vectors.ndim - 1) + [missing])


def _moved_last(lengths: Shape, axis: int) -> Shape:
    axis = axis % len(lengths)
    return (*lengths[:axis], *lengths[axis + 1 :], lengths[axis])


def trace_bar(y_bar: Any, a_shape: Shape, offset: int, axis1: int, axis2: int, dtype: Any = None) -> Any:
    """The cotangent of `a` in ``np.trace(a, offset, axis1, axis2, dtype)``."""
    c = y_bar if dtype is None else cast_bar(y_bar, np.dtype(dtype))
    return diagonal_bar(np.expand_dims(c, -1) if ndim(c) else c, a_shape, offset, axis1, axis2)
