"""Cotangents of containers, and buffers that a reverse loop may write into."""

from typing import Any

import numpy as np

from adcompiler.runtime.shapes import broadcast


def one_item(length: int, index: Any = None, value: Any = None) -> list[Any]:
    """The cotangent of a list of `length` items of which only the one at `index` was read."""
    out: list[Any] = [None] * length
    if index is not None:
        out[index] = value
    return out


def owned_list(c: Any, length: int) -> list[Any]:
    """The cotangent of a list as a new list that may be written into; None is zero."""
    return [None] * length if c is None else list(c)


def array_shape(x: Any) -> tuple[int, ...] | None:
    """The shape of an array; None for whatever else can be unpacked."""
    return getattr(x, "shape", None)


def owned(c: Any, shape: tuple[int, ...], dtype: type = float) -> Any:
    """The cotangent `c` (None is zero) as a new array of `shape` that may be added to in place."""
    if c is None:
        return np.zeros(shape, dtype)
    full = np.array(broadcast(c, shape))
    wide = full.dtype.kind == "c" or (full.dtype.kind == "f" and dtype is not complex)
    return full if wide else full.astype(dtype)


def from_items(items: Any, shape: tuple[int, ...] | None) -> Any:
    """The cotangent of an array from those of the rows (or elements) it was unpacked into; no array: `items` itself."""
    if shape is None:
        return items
    present = [np.asarray(i) for i in items if i is not None]
    out = np.zeros(shape, np.result_type(float, *present) if any(p.dtype.kind == "c" for p in present) else float)
    for i, item in enumerate(items):
        if item is not None:
            out[i] = item
    return out


def snapshot(x: Any) -> Any:
    """The value of `x` as it is now: arrays and containers are copied, numbers are immutable."""
    if isinstance(x, np.ndarray):
        return x.copy()
    if type(x) in (list, tuple, set):
        return type(x)([snapshot(item) for item in x])
    return {key: snapshot(item) for key, item in x.items()} if type(x) is dict else x


def real_part(c: Any) -> Any:
    """The real part of the cotangent of a real item of a container with complex entries; None is zero."""
    return c if c is None or isinstance(c, list | tuple | dict) else c.real


def cell_of(function: Any, name: str) -> Any:
    """The captured variable `name` of a function."""
    return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents
