"""Slopes of integrals of elementary functions, by their series where the closed form cancels."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from adcompiler.runtime import specials

# Terms of the series within one radius; 1 / k! of the last is below a rounding.
_TERMS = 18


def sinh_over(x: Any) -> Any:
    """sinh(x) / x, and 1 at 0."""
    origin = np.equal(x, 0)
    return np.where(origin, 1.0, np.sinh(x) / np.where(origin, 1.0, x))


def cosh_over(x: Any) -> Any:
    """cosh(x) / x, the slope of the integral that has a logarithm at 0."""
    return np.cosh(x) / x


def spence_slope(z: Any) -> Any:
    """log(z) / (1 - z), and -1 at 1 (DLMF 25.12.2)."""
    one = np.equal(z, 1)
    return np.where(one, -1.0, np.log(z) / np.where(one, 1.0, 1 - z))


def expn_slope(n: Any, x: Any) -> Any:
    """The derivative of the exponential integral of order `n` (DLMF 8.19.13); of order 0 it is elementary."""
    zero = np.equal(n, 0)
    below = specials.expn(np.where(zero, 0, n - 1), x)
    return np.where(zero, -np.exp(-x) * (1 + 1 / x) / x, -below)


def exprel_slope(x: Any) -> Any:
    """The derivative of (exp(x) - 1) / x."""
    near = np.abs(x) < 0.7
    inner, outer = np.where(near, x, 0.0), np.where(near, 1.0, x)
    series: Any = 0.0
    for k in reversed(range(1, _TERMS)):
        series = series * inner + k / factorial(k + 1)
    return np.where(near, series, (np.exp(outer) * (1 - 1 / outer) + 1 / outer) / outer)


def log1p_slope(x: Any) -> Any:
    """The derivative of log(1 + x) / x."""
    near = np.abs(x) < 0.1
    inner, outer = np.where(near, x, 0.0), np.where(near, 1.0, x)
    series: Any = 0.0
    for k in reversed(range(_TERMS)):
        series = series * inner + (-1) ** (k + 1) * (k + 1) / (k + 2)
    return np.where(near, series, (1 / (1 + outer) - np.log1p(outer) / outer) / outer)


def dirichlet_slope(x: Any, n: Any) -> Any:
    """The derivative in `x` of ``sin(n x / 2) / (n sin(x / 2))``, whose singular points are removable."""
    turns = np.round(x / (2 * np.pi))
    rest = x - 2 * np.pi * turns
    sign = np.cos(np.pi * np.fmod(turns * (n - 1), 2))
    near = np.abs(n * rest) < 0.01
    square = n * n - 1.0
    series = square * rest * ((3 * n * n - 7) * rest * rest / 120 - 1) / 12
    away = np.where(near, 1.0, rest)
    s, c = np.sin(away / 2), np.cos(away / 2)
    closed = (np.cos(n * away / 2) * s * n - np.sin(n * away / 2) * c) / (2 * n * s * s)
    return sign * np.where(near, series, closed)


def voigt_slopes(x: Any, sigma: Any, gamma: Any, y: Any) -> tuple[Any, Any, Any]:
    """How the Voigt profile `y`, the real part of the Faddeeva function, changes with each of its arguments."""
    z = (x + 1j * gamma) / (sigma * np.sqrt(2.0))
    turn = (2j / np.sqrt(np.pi) - 2 * z * specials.wofz(z)) / (2 * np.sqrt(np.pi) * sigma * sigma)
    return turn.real, -(y + (turn * z).real * np.sqrt(2.0) * sigma) / sigma, -turn.imag


def modified_fresnel_slopes(x: Any, y: Any, i: complex) -> tuple[Any, Any]:
    """How the modified Fresnel integrals `y` change with `x`, of which SciPy has wrong values for negative numbers."""
    right = np.where(np.less(x, 0), np.nan, x)
    return -np.exp(i * right * right), -2 * i * right * y[1] - np.exp(-0.25 * i * np.pi) / np.sqrt(np.pi)
