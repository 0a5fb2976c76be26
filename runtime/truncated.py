"""The pullback of a pseudo-inverse with the cutoffs of SciPy: an absolute one plus a multiple of the largest value."""

from typing import Any

import numpy as np

from adcompiler.runtime.leastsquares import pinv_bar
from adcompiler.runtime.shapes import shape


def pseudo_inverse_bar(y_bar: Any, a: Any, y: Any, atol: Any, rtol: Any) -> Any:
    """The cotangent of `a` in ``y = scipy.linalg.pinv(a, atol=atol, rtol=rtol)``."""
    if (atol is None and rtol is None) or 0 in shape(a):
        return pinv_bar(y_bar, a, y, None, False, None)
    largest = np.max(np.linalg.svd(a, compute_uv=False), axis=-1, initial=0.0)
    relative = max(shape(a)[-2:]) * np.finfo(y.dtype).eps if rtol is None else rtol
    absolute = 0.0 if atol is None else atol / np.where(largest > 0, largest, 1)
    return pinv_bar(y_bar, a, y, None, False, np.asarray(relative + absolute, y.real.dtype))
