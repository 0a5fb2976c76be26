"""Calls of a ufunc with a mask, a dtype, or as an outer product, by way of the rule for its plain call.

A `plain` rule takes the operands alone and returns the value and its pullback. Entries under a False mask take no
part: the operands are picked first, so nothing is computed where the function may not be defined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.shapes import Shape, broadcast, fit, real, shape, zeros
from adcompiler.runtime.tangents import unthunk

Plain = Callable[..., Any]

_NUMBERS = (float, complex, int)


def call_bars(
    plain: Plain, ufunc: Any, operands: Any, y_bar: Any, y_shape: Shape, mask: Any, dtype: Any, casting: str
) -> tuple[Any, ...]:
    """The cotangents of the `operands` in ``y = ufunc(*operands, where=mask, dtype=dtype, casting=casting)``."""
    with np.errstate(all="ignore"):
        read = as_read(ufunc, operands, dtype, casting)
        bars = masked_bars(plain, read, y_bar, y_shape, mask)
        return tuple(as_given(bar, x) for bar, x in zip(bars, operands, strict=True))


def outer_bars(
    plain: Plain, ufunc: Any, operands: Any, y_bar: Any, y_shape: Shape, mask: Any, dtype: Any, casting: str
) -> tuple[Any, ...]:
    """The cotangents of `a` and `b` in ``y = ufunc.outer(a, b, where=mask, dtype=dtype, casting=casting)``."""
    a, b = (x if hasattr(x, "shape") else np.asarray(x)[()] for x in operands)
    a_shape = a.shape
    columns = a.reshape(a_shape + (1,) * b.ndim)
    a_bar, b_bar = call_bars(plain, ufunc, (columns, b), y_bar, y_shape, mask, dtype, casting)
    if a_bar is not None and shape(a_bar) != a_shape:
        a_bar = a_bar.reshape(a_shape)[()]
    return a_bar, b_bar


def masked_bars(plain: Plain, operands: Any, y_bar: Any, y_shape: Shape, mask: Any) -> tuple[Any, ...]:
    """The cotangents of the `operands` of an elementwise function that is computed where `mask` holds."""
    if mask is True:
        _, pullback = plain(*operands)
        return tuple([unthunk(bar) for bar in pullback(y_bar)])
    chosen = np.broadcast_to(mask, y_shape)
    _, pullback = plain(*(np.broadcast_to(x, y_shape)[chosen] for x in operands))
    several = isinstance(y_bar, (tuple, list))
    picked = tuple(None if c is None else broadcast(c, y_shape)[chosen] for c in (y_bar if several else (y_bar,)))
    bars = [unthunk(bar) for bar in pullback(picked if several else picked[0])]
    return tuple(
        None if bar is None else fit(_put(bar, chosen), shape(x))[()] for bar, x in zip(bars, operands, strict=True)
    )


def _put(bar: Any, chosen: Any) -> Any:
    """`bar` at the entries that are chosen, and 0 elsewhere."""
    whole = zeros(chosen.shape, bar)
    whole[chosen] = bar
    return whole


def as_read(ufunc: Any, operands: Any, dtype: Any, casting: str) -> tuple[Any, ...]:
    """The `operands` as arrays or NumPy scalars, in the types that the loop chosen by `dtype` reads."""
    read = tuple(x if hasattr(x, "dtype") else np.asarray(x)[()] for x in operands)
    if dtype is None:
        return read
    given = tuple(type(x) if type(x) in _NUMBERS else r.dtype for x, r in zip(operands, read, strict=True))
    signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    types = ufunc.resolve_dtypes(given + (None,) * ufunc.nout, signature=signature, casting=casting)
    return tuple(x.astype(t) for x, t in zip(read, types, strict=False))


def as_given(bar: Any, x: Any) -> Any:
    """The cotangent `bar` in the precision and realness of the argument `x`; None if that has no derivative."""
    if bar is None:
        return None
    kind = getattr(x, "dtype", None) or np.asarray(x).dtype
    if kind.kind not in "fc":
        return None
    bar = bar if kind.kind == "c" or not np.iscomplexobj(bar) else real(bar)
    if isinstance(bar, (float, complex)):
        return bar if getattr(bar, "dtype", kind) == kind else kind.type(bar)
    return bar if bar.dtype == kind else bar.astype(kind)
