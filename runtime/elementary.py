"""Guarded arithmetic for pullbacks: a zero cotangent beats an infinite derivative.

Only for the few rules that can meet a singular point (sqrt, power, log, division, norm). Each helper tests the whole
denominator first, because the guarded form costs several times the plain one and is hardly ever needed.
"""

from typing import Any

import numpy as np


def divide_singular(c: Any, y: Any) -> Any:
    """``c / y``, and 0 where `y` is 0: for functions whose derivative at the singular point is taken as 0.

    `c` and `y` are numbers or arrays that broadcast together; the dtype is that of the plain quotient.
    """
    if has_no_zero(y):
        return c / y
    singular = y == 0
    return np.where(singular, 0, c / np.where(singular, 1, y))[()]


def divide_strong(c: Any, x: Any) -> Any:
    """``c / x``, and 0 where `c` is 0: a zero cotangent stays zero at a pole, any other becomes infinite."""
    if has_no_zero(x):
        return c / x
    nothing = c == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(nothing, 0, np.divide(c, np.where(nothing, 1, x)))[()]


def multiply_strong(c: Any, partial: Any) -> Any:
    """``c * partial``, and 0 where `c` is 0, also where `partial` is infinite or nan."""
    nothing = c == 0
    with np.errstate(invalid="ignore"):
        return np.where(nothing, 0, np.multiply(c, np.where(nothing, 0, partial)))[()]


def has_no_zero(x: Any) -> bool:
    """Whether no element of `x`, a number or an array, is zero."""
    if not getattr(x, "shape", ()):
        return bool(x != 0)
    # The minimum takes half the time of `all`, and most denominators are positive.
    return x.size == 0 or bool(x.min() > 0) or bool(x.all())
