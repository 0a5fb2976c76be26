"""Parts of forward rules: tangents brought to the form of the value that they belong to."""

from typing import Any

import numpy as np

from adcompiler.runtime.shapes import broadcast, dtype_of, shape
from adcompiler.runtime.walk import is_array


def match(dot: Any, y: Any) -> Any:
    """The tangent `dot` in the shape of the value `y`, and no wider than it: of a number that meets an array."""
    y_shape = shape(y)
    if shape(dot) != y_shape:
        dot = broadcast(dot, y_shape)
    if not is_array(y) or not is_array(dot) or dtype_of(dot).itemsize <= y.dtype.itemsize:
        return dot
    return dot.astype(np.result_type(y.dtype, "c8") if dot.dtype.kind == "c" else y.dtype)
