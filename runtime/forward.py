"""Parts of forward rules: tangents brought to the form of the value that they belong to."""

from typing import Any

import numpy as np

from adcompiler.runtime.shapes import broadcast, dtype_of, shape
from adcompiler.runtime.walk import entries, is_array, part, replaced


def match(dot: Any, y: Any) -> Any:
    """The tangent `dot` in the shape of the value `y`, and no wider than it: of a number that meets an array."""
    y_shape = shape(y)
    if shape(dot) != y_shape:
        dot = broadcast(dot, y_shape)
    if not is_array(y) or not is_array(dot) or dtype_of(dot).itemsize <= y.dtype.itemsize:
        return dot
    return dot.astype(np.result_type(y.dtype, "c8") if dot.dtype.kind == "c" else y.dtype)


def filled(dot: Any, x: Any) -> Any:
    """The tangent `dot` of `x` with zeros for every None; what is no number (an axis, a text) stays as it is."""
    if isinstance(x, (tuple, list, dict)):
        return replaced(x, {name: filled(part(dot, name), child) for name, child in (entries(x) or {}).items()})
    if dot is not None:
        return dot
    if isinstance(x, np.ndarray) or (is_array(x) and not isinstance(x, np.generic)):
        return np.zeros_like(x)
    return type(x)(0) if isinstance(x, (bool, int, float, complex, np.generic)) else x


def kept(bar: Any, dot: Any) -> Any:
    """The cotangent of the tangent `dot` in ``filled(dot, x)``, given that of the result: None where `dot` is."""
    if isinstance(dot, list):
        return [kept(part(bar, i), entry) for i, entry in enumerate(dot)]
    if isinstance(dot, tuple):
        return tuple([kept(part(bar, i), entry) for i, entry in enumerate(dot)])
    return None if dot is None else bar
