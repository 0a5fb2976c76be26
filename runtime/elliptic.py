"""Slopes of elliptic integrals and functions, in Carlson's symmetric forms (DLMF 19.18 and 19.25)."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime import specials


def incomplete_first_slope(phi: Any, m: Any) -> Any:
    """How the incomplete integral of the first kind changes with its parameter."""
    turns = np.round(phi / np.pi)
    s, c = np.sin(phi), np.cos(phi)
    s = np.where(turns % 2 == 0, s, -s)
    part = s**3 * specials.elliprd(c * c, 1.0, 1 - m * s * s)
    whole = np.where(turns == 0, 0.0, specials.elliprd(0.0, 1.0, 1 - m))
    return part / 6 + turns * whole / 3


def incomplete_second_slope(phi: Any, m: Any) -> Any:
    """How the incomplete integral of the second kind changes with its parameter."""
    turns = np.round(phi / np.pi)
    s, c = np.sin(phi), np.cos(phi)
    s = np.where(turns % 2 == 0, s, -s)
    part = s**3 * specials.elliprd(c * c, 1 - m * s * s, 1.0)
    whole = np.where(turns == 0, 0.0, specials.elliprd(0.0, 1 - m, 1.0))
    return -part / 6 - turns * whole / 3


def amplitude_slope(y: Any, m: Any) -> Any:
    """How the amplitude changes with the parameter, of Jacobi's functions `y`: by the integral that it inverts."""
    return -y[2] * incomplete_first_slope(y[3], m)


def jacobi_slopes(y: Any, m: Any, slope: Any, parameter: float = 0.0) -> tuple[Any, Any, Any, Any]:
    """How Jacobi's functions `y` change if their amplitude moves by `slope`, and their parameter by `parameter`."""
    sn, cn, dn, _ = y
    return cn * slope, -sn * slope, -(parameter * sn * sn + 2 * m * sn * cn * slope) / (2 * dn), slope


def mean_slope(a: Any, b: Any, y: Any) -> Any:
    """How the arithmetic-geometric mean `y` changes with `a`: by its integral, DLMF 19.8.6."""
    return 2 / (3 * np.pi) * y * y * np.abs(a) * specials.elliprd(0.0, b * b, a * a)


# Where two arguments agree to half the digits, the difference of integrals has lost the others.
_CLOSE = 1e-8


def divided_difference(other: Any, y: Any, x: Any, z: Any) -> Any:
    """``(other - y) / (2 (x - z))``: how R_D or R_J changes with `x`; nan where `x` and `z` are too close."""
    lost = np.abs(x - z) <= _CLOSE * np.abs(z)
    return np.where(lost, np.nan, (other - y) / (2 * np.where(lost, 1.0, x - z)))


def elliprd_last_slope(x: Any, y: Any, z: Any, out: Any) -> Any:
    """How R_D changes with its last argument: it is homogeneous of degree -3/2."""
    x_part = x * divided_difference(specials.elliprd(y, z, x), out, x, z)
    y_part = y * divided_difference(specials.elliprd(x, z, y), out, y, z)
    return -(1.5 * out + np.where(np.equal(x, 0), 0.0, x_part) + np.where(np.equal(y, 0), 0.0, y_part)) / z


def elliprj_last_slope(x: Any, y: Any, z: Any, p: Any, out: Any) -> Any:
    """How R_J changes with its last argument: it is homogeneous of degree -3/2."""
    total = 1.5 * out
    for own, first, second in ((x, y, z), (y, x, z), (z, x, y)):
        part = own * divided_difference(specials.elliprd(first, second, own), out, own, p)
        total = total + np.where(np.equal(own, 0), 0.0, part)
    return -total / p


def elliprc_slopes(x: Any, y: Any, value: Any) -> tuple[Any, Any]:
    """How R_C changes with each argument; of a principal value (real y < 0) by the elementary form, DLMF 19.6.15."""
    cut = np.equal(np.imag(y), 0) & (np.real(y) < 0)
    right = np.where(cut, 1.0, y)
    root, distance = np.sqrt(x), 2 * (np.where(cut, y, x + 1.0) - x)
    first = np.where(cut, (value - 1 / root) / distance, -specials.elliprd(right, right, x) / 6)
    second = np.where(cut, (root / y - value) / distance, -specials.elliprd(x, right, right) / 3)
    return first, second
