"""Guarded arithmetic for pullbacks: a zero cotangent beats a partial that is infinite or nan.

Only for rules that can meet a singular point (exp, sin, log, sqrt, power, division, norm, ...). The guarded form costs
several times the plain one and is hardly ever needed, so something is tested first: `is_finite` of the value, in the
forward part of a rule, or the denominator. A guard touches only the elements that are singular: elsewhere the result
is the plain product or quotient also for a cotangent of zero, so that it can be differentiated again.
"""

import cmath
from typing import Any

import numpy as np

_NUMBERS = (float, complex, int, np.generic)

# Number of elements up to which counting costs less than a reduction.
_SMALL = 1024
# Number of elements above which OpenBLAS may use several threads for an inner product: on a machine that is busy they
# wait for each other for hundreds of times what it takes.
_ONE_THREAD = 10_000


# Tests


def is_finite(x: Any) -> bool:
    """Whether every element of `x` is finite.

    It raises no floating-point flag. It may say no if the sum of squares overflows, and says no for an array on a
    device, which would have to be waited for: the guarded forms are right in any case.
    """
    if type(x) is np.ndarray:
        if x.size > _ONE_THREAD and x.dtype.kind in "fc":
            return bool(np.isfinite(x).all())
        flat = x if x.size <= _SMALL else x.ravel("K")
        return cmath.isfinite(np.vdot(flat, flat))
    return isinstance(x, _NUMBERS) and cmath.isfinite(x)


def can_divide(x: Any) -> bool:
    """Whether no element of `x` is 0 or nan. May say no, as `is_finite` may."""
    if type(x) is not np.ndarray:
        return isinstance(x, _NUMBERS) and x != 0 and x == x
    if x.size <= _SMALL:
        return bool(np.count_nonzero(x) == x.size and is_finite(x))
    # Most denominators are positive, and the minimum takes half the time of `all`.
    return bool(np.minimum.reduce(x, axis=None) > 0) or (bool(x.all()) and is_finite(x))


# Guarded forms


def divide_singular(c: Any, y: Any) -> Any:
    """``c / y``, and 0 where `y` is 0: for functions whose derivative at the singular point is taken as 0.

    `c` and `y` are numbers or arrays that broadcast together; the dtype is that of the plain quotient.
    """
    if can_divide(y):
        return c / y
    nothing = np.equal(y, 0) | (np.equal(c, 0) & np.not_equal(y, y))
    return np.where(nothing, 0, c / np.where(nothing, 1, y))[()]


def divide_strong(c: Any, x: Any) -> Any:
    """``c / x``, and 0 where `c` is 0 at a pole: a zero cotangent stays zero there, any other becomes infinite."""
    if can_divide(x):
        return c / x
    with np.errstate(all="ignore"):
        nothing = np.equal(c, 0) & (np.equal(x, 0) | np.not_equal(x, x))
        return np.where(nothing, 0, np.divide(c, np.where(nothing, 1, x)))[()]


def multiply_strong(c: Any, partial: Any) -> Any:
    """``c * partial``, and 0 where `c` is 0 and `partial` infinite or nan."""
    if is_finite(partial):
        return c * partial
    with np.errstate(all="ignore"):
        nothing = np.equal(c, 0) & ~np.isfinite(partial)
        return np.where(nothing, 0, np.multiply(c, np.where(nothing, 0, partial)))[()]


def multiply_both(a: Any, b: Any) -> Any:
    """``a * b``, and 0 where either is 0 and the other infinite or nan: for products of two cotangents or tangents."""
    if is_finite(a) and is_finite(b):
        return a * b
    with np.errstate(all="ignore"):
        nothing = np.equal(a, 0) | np.equal(b, 0)
        return np.where(nothing, 0, np.multiply(np.where(nothing, 0, a), np.where(nothing, 0, b)))[()]
