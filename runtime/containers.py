"""Cotangents of containers, and buffers that a reverse loop may write into."""

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array, home_of, is_flat, like_of, moved_to
from adcompiler.runtime.iterated import check_iterated
from adcompiler.runtime.shapes import broadcast, real
from adcompiler.runtime.tangents import accumulate


def one_item(length: int, index: Any = None, value: Any = None) -> list[Any]:
    """The cotangent of a list of `length` items of which only the one at `index` was read."""
    out: list[Any] = [None] * length
    if index is not None:
        out[index] = value
    return out


def owned_list(c: Any, length: int) -> list[Any]:
    """The cotangent of a list as a new list that may be written into; None is zero."""
    return [None] * length if c is None else list(c)


def owned_dict(c: Any) -> dict[Any, Any]:
    """The cotangent of a dict as a new dict that may be written into; None is zero."""
    return {} if c is None else dict(c)


def array_shape(x: Any) -> tuple[int, ...] | None:
    """The shape of an array; None for whatever else can be unpacked."""
    return getattr(x, "shape", None)


def form(x: Any) -> tuple[int, ...] | int:
    """What a cotangent of `x` looks like: the shape of an array, the length of a list or tuple."""
    found = array_shape(x)
    if found is None:
        check_iterated(x)
    return len(x) if found is None else found


def owned_items(c: Any, form: tuple[int, ...] | int) -> Any:
    """The cotangent `c` (None is zero) of an array or a list, as a new one that `add_item` may write into."""
    return owned_list(c, form) if isinstance(form, int) else owned(c, form)


def owned_array(c: Any, form: tuple[int, ...] | int) -> Any:
    """As `owned_items` for an array; what has no shape keeps its cotangent, since a list's is elsewhere."""
    return c if isinstance(form, int) else owned(c, form)


def add_item(c: Any, index: int, value: Any) -> Any:
    """Add the cotangent of one item into what `owned_items` made, in place where the dtype allows it."""
    if isinstance(c, list):
        c[index] = accumulate(c[index], value)
        return c
    if value is None:
        return c
    row = from_items(value, c.shape[1:]) if isinstance(value, list | tuple) else value
    if np.iscomplexobj(row) and c.dtype.kind != "c":
        c = c.astype(complex)
    c = moved_to(row, c)
    c[index] += row
    return c


def owned(c: Any, shape: tuple[int, ...], dtype: type = float, library: Any = np) -> Any:
    """The cotangent `c` (None is zero) as a new array of `shape` that may be added to in place, in its library."""
    if c is None:
        return library.zeros(shape, dtype)
    full = from_items(c, shape) if isinstance(c, list | tuple) else home_of(c).array(broadcast(c, shape))
    wide = full.dtype.kind == "c" or (full.dtype.kind == "f" and dtype is not complex)
    return full if wide else full.astype(dtype)


def from_items(items: Any, shape: tuple[int, ...] | None) -> Any:
    """The cotangent of an array from those of the rows (or elements) it was unpacked into; no array: `items` itself."""
    if shape is None:
        return items
    rows = [from_items(row, shape[1:]) if isinstance(row, list | tuple) else row for row in items]
    present = [as_array(row) for row in rows if row is not None]
    dtype = np.result_type(float, *present) if any(p.dtype.kind == "c" for p in present) else float
    out = home_of(present).zeros(shape, dtype)
    for i, row in enumerate(rows):
        if row is not None:
            out[i] = row
    return out


def snapshot(x: Any) -> Any:
    """The value of `x` as it is now: arrays and containers are copied, numbers are immutable."""
    if isinstance(x, np.ndarray) or like_of(x) is not None:
        return x.copy(order="K")
    if is_flat(x):
        return x.copy()
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(snapshot, x))
    if type(x) is slice:
        return slice(*map(snapshot, (x.start, x.stop, x.step)))  # whose ends may be arrays
    if type(x) in (list, tuple, set):
        return type(x)([snapshot(item) for item in x])
    return {key: snapshot(item) for key, item in x.items()} if type(x) is dict else x


def real_part(c: Any) -> Any:
    """The real part of the cotangent of a real item of a container with complex entries; None is zero."""
    return c if c is None or isinstance(c, list | tuple | dict) else real(c)


def cell_of(function: Any, name: str) -> Any:
    """The captured variable `name` of a function."""
    return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents
