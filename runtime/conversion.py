"""Parts of the pullbacks of functions that convert: to another dtype, to lists, to arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime.shapes import Shape


def varies(x: Any) -> bool:
    """Whether `x` (a number, an array or nested lists) consists of floats or complex numbers."""
    dtype = getattr(x, "dtype", None)
    return (np.asarray(x).dtype if dtype is None else dtype).kind in "fc"


def set_only(**options: Any) -> dict[str, Any]:
    """Those of the keywords that are not None: NumPy takes no None for some, and its older versions have not all."""
    return {name: value for name, value in options.items() if value is not None}


def tolist_bar(c: Any, x_shape: Shape, dtype: Any) -> Any:
    """The cotangent of `x`, of `dtype`, in ``x.tolist()``, from that of a list of lists, in which None is zero."""
    if c is None:
        return np.zeros(x_shape, dtype)
    if not x_shape or hasattr(c, "dtype"):
        return np.asarray(c, np.result_type(dtype, c))
    rows = [tolist_bar(row, x_shape[1:], dtype) for row in c]
    return np.stack(rows) if rows else np.zeros(x_shape, dtype)
