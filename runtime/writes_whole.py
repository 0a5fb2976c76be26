"""Writes to all elements of an array, or to its real or imaginary parts: `copyto`, `fill`, `sort`, `y.real = v`."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import like_of, moved_to
from adcompiler.runtime.writes_values import begin, check_float, check_strides, fitted


def store_real(y: Any, value: Any) -> None:
    """``y.real = value``."""
    y.real = value


def store_imag(y: Any, value: Any) -> None:
    """``y.imag = value``."""
    y.imag = value


def put_into(old: Any, new: Any, where: Any = True) -> Any:
    """What ``old += v`` leaves, given the sum: an array changes in place, for anything else it is the sum."""
    if not isinstance(old, np.ndarray) and like_of(old) is None:
        return new
    np.copyto(old, new, casting="same_kind", where=where)
    return old


def kept_mask(where: Any) -> Any:
    """A mask that later writes do not reach."""
    return where.copy() if like_of(where) is not None else np.array(where)


def take_where(window: Any, where: Any) -> Any:
    """A copy of a window, zero where nothing is written; what is written has no cotangent from here on."""
    taken = np.where(where, window, 0)
    np.copyto(window, 0, where=where)
    return taken


def keep_copyto(y: Any, src: Any, casting: str = "same_kind", where: Any = True) -> Any:
    """Before ``np.copyto``."""
    like = begin(y, src)
    check_strides(y, src)
    if where is True:
        return None, like
    return where.copy() if like_of(where) is not None else moved_to(y, np.array(where)), like


def reverse_copyto(window: Any, saved: Any) -> tuple[Any, ...]:
    """What is not written keeps its cotangent."""
    where, like = saved
    if where is None:
        taken = window.copy()
        window[...] = 0
    else:
        taken = np.where(where, window, 0)
        np.copyto(window, 0, where=where)
    return fitted(taken, like), None, None


def keep_fill(y: Any, value: Any) -> Any:
    """Before ``y.fill(value)``."""
    return begin(y, value)


def reverse_fill(window: Any, saved: Any) -> tuple[Any, ...]:
    """The value is one number."""
    taken = None if saved is None else fitted(window.copy(), saved)
    window[...] = 0
    return (taken,)


def keep_sort(y: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Before ``y.sort()``: where the elements come from; of equal ones the first stays first."""
    check_float(y)
    return np.argsort(y, axis=axis, kind="stable"), axis


def reverse_sort(window: Any, saved: Any) -> tuple[Any, ...]:
    """The elements go back to where they came from."""
    order, axis = saved
    np.put_along_axis(window, order, window.copy(), axis)
    return None, None, None, None


def keep_real(y: Any, value: Any) -> Any:
    """Before ``y.real = value``."""
    like = begin(y, value)
    check_strides(y.real, value)
    return like


def reverse_real(window: Any, saved: Any) -> tuple[Any, ...]:
    """The imaginary parts keep their cotangents."""
    return reverse_fill(window.real, saved)


def keep_imag(y: Any, value: Any) -> Any:
    """Before ``y.imag = value``."""
    like = begin(y, value)
    check_strides(y.imag, value)
    return like


def reverse_imag(window: Any, saved: Any) -> tuple[Any, ...]:
    """The real parts keep their cotangents."""
    return reverse_fill(window.imag, saved)
