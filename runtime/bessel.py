"""Recurrences of Bessel functions, and of those that are scaled by a real exponential."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime import specials
from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.shapes import conj

Family = Callable[..., Any]


def half_difference(f: Family, order: Any, z: Any) -> Any:
    """Half the difference of the functions one order below and above: the derivative of J, Y and H (DLMF 10.6.1)."""
    return 0.5 * (f(order - 1, z) - f(order + 1, z))


def half_sum(f: Family, order: Any, z: Any) -> Any:
    """Half the sum of the functions one order below and above: the derivative of I; of K minus that (DLMF 10.29.1)."""
    return 0.5 * (f(order - 1, z) + f(order + 1, z))


def spherical_slope(f: Family, n: Any, z: Any, derivative: bool, below: int, above: int) -> Any:
    """The derivative of a spherical function, or of its derivative.

    That is ``(below n f(n - 1) + above (n + 1) f(n + 1)) / (2 n + 1)`` (DLMF 10.51.2 and 10.51.5), differentiated.
    """
    if not derivative:
        return f(n, z, True)
    lower = np.where(np.equal(n, 0), 0, np.asarray(n) - 1)
    return (below * n * f(lower, z, True) + above * (n + 1) * f(n + 1, z, True)) / (2 * n + 1)


def enveloped_bar(y_bar: Any, slope: Any, y: Any, z: Any, direction: complex) -> Any:
    """The cotangent of `z` in a function `y` that is analytic times exp(-abs(x)).

    `slope` is the scaled derivative of the analytic factor; `direction` is 1 if x is the real part of z, and 1j if it
    is the imaginary part.
    """
    with np.errstate(all="ignore"):
        z_bar = multiply_strong(y_bar, conj(slope))
        if direction == 1j and not np.iscomplexobj(z):
            return z_bar
        along = np.sign(np.imag(z) if direction == 1j else np.real(z))
        return z_bar - direction * np.real(multiply_strong(conj(y_bar), along * y))


def struve_term(v: Any, x: Any) -> Any:
    """The term by which the recurrences of Struve functions differ from those of Bessel functions (DLMF 11.4.24)."""
    return 0.5 * np.power(x / 2, v) * specials.rgamma(v + 1.5) / np.sqrt(np.pi)


def over(y: Any, x: Any, limit: complex) -> Any:
    """``y / x``, and `limit` at 0."""
    origin = np.equal(x, 0)
    return np.where(origin, limit, y / np.where(origin, 1.0, x))
