"""Slopes of the gamma function's relatives: at poles, and off the real axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime import specials

# B(2k) of the asymptotic series, DLMF 5.15.8.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_STEPS = 12


def trigamma(z: Any) -> Any:
    """The derivative of the digamma function."""
    return _complex_trigamma(z) if np.iscomplexobj(z) else specials.polygamma(1, z)


def _complex_trigamma(z: Any) -> Any:
    """By reflection (DLMF 5.15.6), recurrence (5.15.5) and the asymptotic series."""
    left = np.real(z) < 0.5
    right = np.where(left, 1 - z, z)
    y = sum(1 / (right + k) ** 2 for k in range(_STEPS))
    w = right + _STEPS
    square = 1 / (w * w)
    series = 0.0
    for coefficient in reversed(_BERNOULLI):
        series = square * (coefficient + series)
    y = y + 1 / w + square / 2 + series / w
    turn = np.exp(2j * np.pi * np.where(np.imag(z) < 0, -z, z))  # of size 1 at most
    return np.where(left, -4 * np.pi**2 * turn / (1 - turn) ** 2 - y, y)


def rgamma_slope(z: Any, y: Any) -> Any:
    """The derivative of `y`, 1 / gamma(z), which is entire: at the poles of gamma too."""
    pole = np.equal(y, 0) & (np.real(z) <= 0)
    at_pole = np.cos(np.pi * np.real(z)) * specials.gamma(1 - np.where(pole, z, 0.0))
    return np.where(pole, at_pole, -specials.psi(z) * y)


def factorial_slope(n: Any) -> Any:
    """The derivative of n!, which scipy.special sets to 0 for negative n."""
    return np.where(np.less(n, 0), 0.0, specials.gamma(n + 1.0) * specials.psi(n + 1.0))
