"""Parts of the pullbacks of the discrete cosine and sine transforms, by their symmetries.

Martucci (1994), "Symmetric convolution and the discrete sine and cosine transforms": types 1 and 4 are symmetric up to
the weights of the ends, types 2 and 3 the transposes of each other up to that of one end.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.fourier import resize
from adcompiler.runtime.shapes import Shape

INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}
OTHER_NORM = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def transform_bar(
    transform: Callable[..., Any], c: Any, a_shape: Shape, kind: int, axis: int, norm: str | None, cosine: bool
) -> Any:
    """The cotangent of `a` in ``transform(a, kind, n, axis, norm)``, of the cosine or the sine transforms."""
    c = np.moveaxis(c, axis, -1)
    length = c.shape[-1]
    other = INVERSE_TYPE[kind]
    if norm == "ortho":
        bar = transform(c, other, norm="ortho")  # orthogonal: the adjoint is the inverse
    elif kind == 4 or (kind == 1 and not cosine):
        bar = transform(c, kind)
    elif kind == 1:
        weights = np.full(length, 2.0, c.real.dtype)
        weights[[0, -1]] = 1
        bar = transform(c / weights, 1) * weights
    else:
        end = np.ones(length, c.real.dtype)
        end[0 if cosine else -1] = 2
        bar = transform(c * end, 3) if kind == 2 else transform(c, 2) / end
    if norm == "forward":
        bar = bar / (2 * (length - (1 if cosine else -1)) if kind == 1 else 2 * length)
    return resize(np.moveaxis(bar, -1, axis), a_shape[axis], axis)
