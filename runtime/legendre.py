"""Orthogonal polynomials and Legendre functions: degrees, and cotangents by the derivatives that SciPy computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime import specials
from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.shapes import conj, fit, shape
from adcompiler.runtime.ufuncs import as_given


def lower(n: Any) -> Any:
    """The degree of the derivative: `n` - 1, and 0 for a constant."""
    below = n - 1 if hasattr(n, "dtype") else np.asarray(n)[()] - 1
    return np.where(np.equal(n, 0), 0, below)[()]


def of_degree(n: Any, slope: Any) -> Any:
    """`slope`, and 0 where the degree `n` is 0."""
    return np.where(np.equal(n, 0), 0.0, slope)


def lpmv_slope(m: Any, v: Any, x: Any, y: Any) -> Any:
    """The derivative of the associated Legendre function `y` on the open interval from -1 to 1 (DLMF 14.10.5)."""
    below = specials.lpmv(m, v - 1, x)
    return (v * x * y - np.where(np.equal(v + m, 0), 0.0, (v + m) * below)) / (x * x - 1)


def stacked_bar(y_bar: Any, slopes: Any, z: Any) -> Any:
    """The cotangent of `z`, from `slopes` with one derivative more along the first axis than the result has."""
    return as_given(fit(multiply_strong(y_bar, conj(slopes[1:])), shape(z)), z)


def gradient_bar(y_bar: Any, gradient: Any, i: int, angle: Any) -> Any:
    """The cotangent of one real angle, from the derivatives with respect to both along the last axis."""
    return as_given(fit(np.real(multiply_strong(y_bar, conj(gradient[..., i]))), shape(angle)), angle)


def refuse_gradient(name: str, diff_n: int) -> None:
    """Raise NoRuleError if the function is asked for its own derivatives."""
    if diff_n:
        raise NoRuleError(
            f"{name} with diff_n={diff_n} has no derivative rule\nLeave diff_n out: the gradient of the value is known."
        )
