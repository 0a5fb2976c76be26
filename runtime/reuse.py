"""What generated code calls at the last use of an array: `free`, `reuse` in place of a new result, `poison` in tests.

    h = np.multiply(h, t, out=reuse(h, t))      the result goes into h, if nobody else has it and it fits
    free(h)                                     the memory goes back to the pool, whoever still holds the array

Both act only on what no other array shares.  `reuse` also makes sure that nobody else has the array itself, by its
reference count: NumPy's views hold the array that they are views of.  What the counts are where only the calling text
has an array is found when this module is loaded, since it depends on the interpreter.
"""

from __future__ import annotations

import collections
from sys import getrefcount
from typing import Any

import numpy as np

from adcompiler.runtime.release import counts, current
from adcompiler.runtime.scatter import is_injective, scatter
from adcompiler.runtime.shapes import Shape
from adcompiler.runtime.tangents import accumulate

_quarantine: collections.deque[Any] = collections.deque(maxlen=256)


# --- whose memory it is -----------------------------------------------------------------------------------


def pooled(x: Any) -> Any:
    """The memory of a device array, if it is from a pool, to which it can be returned; else None.

    (CuPy: all views have the memory in common. Memory without a pool may be somebody else's, of another library.)
    """
    memory = getattr(getattr(x, "data", None), "mem", None)
    return memory if hasattr(memory, "free") else None


def _is_shared(x: Any) -> bool:
    """Whether another array may have the memory of a device array: the counts are those of the array's own references.

    (CuPy: a view holds the memory, or the same pointer to it, and has a base.)
    """
    return x.base is not None or getrefcount(x.data) > 2 or getrefcount(x.data.mem) > 2


# --- free and poison --------------------------------------------------------------------------------------


def free(x: Any) -> bool:
    """Return the memory of a device array to its pool, whoever still holds the array; whether that was done.

    Arrays of NumPy are left alone: their memory has no pool, and goes when the last reference does.
    """
    if type(x) is np.ndarray or pooled(x) is None or x.nbytes < current().above:
        return False
    if _is_shared(x):
        counts["shared"] += 1
        return False
    size = x.nbytes
    x.data.mem.free()
    counts["released"] += 1
    counts["bytes"] += size
    return True


def poison(x: Any) -> None:
    """Fill the memory of an array that would be freed with NaN, and keep it from being used again for a while."""
    base = getattr(x, "base", None)
    while base is not None and type(base) is type(x):
        x, base = base, base.base  # a cotangent that was spread over a shape is a view that cannot be written
    if getattr(x, "ndim", 0) > 0 and x.dtype.kind in "fc":
        x[...] = np.nan
        _quarantine.append(x)
        counts["poisoned"] += 1


# --- reuse ------------------------------------------------------------------------------------------------


def reuse(x: Any, y: Any = None) -> Any:
    """`x`, if the result of an operation on `x` and `y` may be written into it (``out=``); else None, for a new array.

    The array must be as large as results are worth it, of the result's shape and dtype, and nobody else's.
    """
    if type(x) is np.ndarray and x.nbytes < current().above:
        return None
    if getrefcount(x) != (_TWICE if x is y else _ONCE if y is None else _BESIDE):
        return None
    return x if _fits(x, y) else None


def reuse_either(x: Any, y: Any) -> Any:
    """As `reuse`, of one or the other."""
    if type(x) is type(y) is np.ndarray and x.nbytes < current().above > y.nbytes:
        return None
    if getrefcount(x) == _BESIDE and _fits(x, y):
        return x
    return y if getrefcount(y) == _BESIDE and _fits(y, x) else None


def add_into(total: Any, part: Any) -> Any:
    """`accumulate(total, part)`, written into `total` where the caller has passed its only reference."""
    small = type(total) is np.ndarray and total.nbytes < current().above
    if small or part is None or getrefcount(total) != _PASSED or not _fits(total, part):
        return accumulate(total, part)
    total += part
    return total


def scatter_into(total: Any, part: Any, index: Any, shape: Shape) -> Any:
    """`accumulate(total, scatter(part, index, shape))`, written into `total` where the caller has passed its only
    reference: that costs no more than the elements at the index, so that it is done for small arrays, too.
    """
    alone = getrefcount(total) == _PASSED and _is_buffer(total) and total.shape == shape
    if not alone or not is_injective(index) or not _has_dtype(part, total.dtype):
        return accumulate(total, scatter(part, index, shape))
    total[index] += part
    return total


def _has_dtype(part: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a number or an array can be added into an array of a dtype."""
    if type(part) in (float, int):
        return True
    return hasattr(part, "dtype") and np.promote_types(part.dtype, dtype) == dtype


def _fits(x: Any, y: Any) -> bool:
    """Whether the result of an elementwise operation on an array and another operand has its shape and dtype."""
    if not _is_buffer(x) or x.nbytes < current().above:
        return False
    if y is None or y is x or type(y) in (float, int, bool):
        pass
    elif isinstance(y, np.generic) or type(y) is type(x):
        if np.promote_types(x.dtype, y.dtype) != x.dtype or not _is_laid_out(x, y):
            return False
    elif not (type(y) is complex and x.dtype.kind == "c"):
        return False
    counts["reused"] += 1
    counts["reused_bytes"] += x.nbytes
    return True


def _is_buffer(x: Any) -> bool:
    """Whether a value is an array of floats that has memory of its own.

    Of NumPy's 0-d arrays a new result would be a number, of those in another byte order one in the machine's.
    """
    if type(x) is np.ndarray:
        own = x.base is None and x.flags.owndata and x.flags.writeable
        return own and x.ndim > 0 and x.dtype.kind in "fc" and x.dtype.isnative
    return pooled(x) is not None and x.dtype.kind in "fc" and not _is_shared(x)


def _is_laid_out(x: Any, y: Any) -> bool:
    """Whether the result of an operation on two operands has the shape of `x`, and its order in memory."""
    if y.ndim == 0:
        return True
    if _is_ordered(x, "c_contiguous"):
        return _is_ordered(y, "c_contiguous") and (y.shape == x.shape or _spreads(y.shape, x.shape))
    return y.shape == x.shape and _is_ordered(x, "f_contiguous") and _is_ordered(y, "f_contiguous")


def _is_ordered(x: Any, order: str) -> bool:
    """Whether the elements of an array lie one behind the other; arrays without flags are in C order."""
    return bool(getattr(getattr(x, "flags", None), order, order == "c_contiguous"))


def _spreads(part: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether an array of shape `part` is broadcast to `whole` beside one of that shape."""
    return len(part) <= len(whole) and all(p in (1, w) for p, w in zip(reversed(part), reversed(whole), strict=False))


def _references() -> tuple[int, int, int, int]:
    """The reference counts that the functions above see for an array that only the local variable of a caller has."""
    seen: list[int] = []

    def count(x: Any, y: Any = None) -> Any:
        seen.append(getrefcount(x))

    x, y = np.empty(1), np.empty(1)
    np.negative(x, out=count(x))
    np.add(x, y, out=count(x, y))
    np.add(x, x, out=count(x, x))
    count((x, x := None)[0])  # type: ignore[assignment]
    return tuple(seen)  # type: ignore[return-value]


_ONCE, _BESIDE, _TWICE, _PASSED = _references()


__all__ = ["add_into", "free", "poison", "pooled", "reuse", "reuse_either", "scatter_into"]
