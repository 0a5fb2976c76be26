"""The adjoint of reading ``x[index]``: adding a cotangent at an index."""

from math import prod
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import library, like_of, moved_to
from adcompiler.runtime.facts import is_basic, is_mask
from adcompiler.runtime.shapes import Shape, broadcast, zeros

# Number of elements up to which ufunc.at costs less than what would make it faster.
_FEW = 512
# Number of elements in a row from which on a sum of rows, one by one, costs less than one of elements by their places.
_WIDE = 100


def scatter(y_bar: Any, index: Any, shape: Shape) -> Any:
    """Zeros of `shape` with `y_bar` added at `index`: the cotangent of ``x`` in ``x[index]``.

    `y_bar` is a number or an array that broadcasts to the shape of ``x[index]``, and gives the dtype of the result. An
    element that an integer array names several times receives the sum.
    """
    if is_injective(index):
        x_bar = zeros(shape, y_bar)
        x_bar[index] = y_bar
        return x_bar
    if len(shape) > 1 and type(y_bar) is np.ndarray and y_bar.size > _FEW and y_bar.dtype.char == "d":
        leading = _leading_integers(index)
        if leading is not None:
            if len(leading) == 1 and prod(shape[1:]) >= _WIDE:
                x_bar = zeros(shape, y_bar)
                _add_rows(x_bar, leading[0], y_bar)
                return x_bar
            positions = _positions(leading, shape)
            weights = broadcast(y_bar, positions.shape)
            return np.bincount(positions.ravel(), weights.ravel(), prod(shape)).reshape(shape)
    x_bar = zeros(shape, y_bar)
    _add_repeated(x_bar, index, y_bar)
    return x_bar


def add_at(buffer: Any, index: Any, y_bar: Any) -> Any:
    """Add `y_bar` into `buffer` at `index`, in place, and return `buffer`; a number is replaced by the sum.

    The caller must own `buffer`. An element that an integer array names several times receives the sum.
    """
    if not hasattr(buffer, "__setitem__"):
        return buffer + scatter(y_bar, index, getattr(buffer, "shape", ()))
    if is_injective(index):
        buffer[index] += y_bar
    else:
        _add_repeated(buffer, index, y_bar)
    return buffer


def add_wide(buffer: Any, index: Any, y_bar: Any) -> Any:
    """As `add_at`, where `y_bar` may be complex though `buffer` is real: the sum then is a new array."""
    if getattr(y_bar, "dtype", np.dtype(float)).kind == "c" or isinstance(y_bar, complex):
        kind = getattr(buffer, "dtype", None)
        if kind is not None and kind.kind != "c":
            buffer = buffer.astype(np.result_type(kind, np.complex64))
    return add_at(buffer, index, y_bar)


def is_injective(index: Any) -> bool:
    """Whether no element can be named twice, so that plain assignment will do."""
    if type(index) is tuple:
        return all(is_basic(entry) or is_mask(entry) for entry in index)
    return is_basic(index) or is_mask(index)


def _add_repeated(buffer: Any, index: Any, y_bar: Any) -> None:
    """Add at an index that may name an element several times."""
    if hasattr(buffer, "add_repeated"):
        buffer.add_repeated(index, y_bar)
        return
    if like_of(buffer) is not None:
        _add_on_device(buffer, index, y_bar)
        return
    many = type(y_bar) is np.ndarray and y_bar.size > _FEW
    if many and type(buffer) is np.ndarray and buffer.ndim > 1 and buffer.flags.c_contiguous:
        leading = _leading_integers(index)
        if leading is not None:
            if len(leading) == 1 and prod(buffer.shape[1:]) >= _WIDE:
                _add_rows(buffer, leading[0], y_bar)
                return
            # NumPy adds at one array of positions five times faster than at any other index.
            positions = _positions(leading, buffer.shape)
            np.add.at(buffer.reshape(-1), positions.ravel(), broadcast(y_bar, positions.shape).ravel())
            return
    np.add.at(buffer, index, y_bar)


def _add_rows(buffer: Any, rows: Any, y_bar: Any) -> None:
    """Add wide rows to those that the integer array `rows` names."""
    values = broadcast(y_bar, rows.shape + buffer.shape[1:]).reshape(-1, *buffer.shape[1:])
    for row, value in zip(rows.ravel().tolist(), values, strict=True):
        buffer[row] += value


def _add_on_device(buffer: Any, index: Any, y_bar: Any) -> None:
    """Add to an array on a device, whose library adds real numbers only."""
    if buffer.dtype.kind == "c":
        _add_on_device(buffer.real, index, np.real(y_bar))
        _add_on_device(buffer.imag, index, np.imag(y_bar))
    else:
        entries = index if type(index) is tuple else (index,)
        here = tuple(moved_to(buffer, entry) if isinstance(entry, np.ndarray) else entry for entry in entries)
        library(buffer).add.at(buffer, here if type(index) is tuple else here[0], y_bar)


def _leading_integers(index: Any) -> list[Any] | None:
    """The integer arrays that index the first axes, or None if there is anything else in the index."""
    entries = [np.asarray(entry) for entry in (index if type(index) is tuple else (index,))]
    return entries if all(entry.dtype.kind in "iu" for entry in entries) else None


def _positions(leading: list[Any], shape: Shape) -> Any:
    """The positions, in a flat array of `shape`, of the elements that the integer arrays name."""
    rows = leading[0]
    if any(entry.size and np.minimum.reduce(entry, axis=None) < 0 for entry in leading):
        rows = np.ravel_multi_index(leading, shape[: len(leading)], mode="wrap")  # -1 is the last
    else:
        for entry, length in zip(leading[1:], shape[1:], strict=False):
            rows = rows * length + entry
    width = prod(shape[len(leading) :])
    if width == 1:
        return rows
    positions = np.multiply.outer(rows, width)[..., None] + np.arange(width)
    return positions.reshape(rows.shape + shape[len(leading) :])
