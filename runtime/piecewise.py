"""Piecewise polynomials: the cotangents of coefficients, breakpoints and positions, and of the slopes of Hermite data.

A polynomial of interval i is ``sum(c[k - j, i] * (t - x[i]) ** j)``, with the highest power first. Values may have more
axes: they are last in the coefficients.
"""

import math
from typing import Any

import numpy as np

from adcompiler.runtime.shapes import conj


def intervals(x: Any, t: Any) -> Any:
    """The interval that each position is in, the outer ones extended."""
    return np.clip(np.searchsorted(x, t, side="right") - 1, 0, len(x) - 2)


def coefficients_bar(bar: Any, c_shape: Any, x: Any, t: Any, nu: int) -> Any:
    """The cotangent of the coefficients; `bar` belongs to the derivative `nu` at `t`, positions first."""
    c_bar = np.zeros(c_shape, bar.dtype)
    at = intervals(x, t)
    step = np.reshape(t - x[at], (-1, *(1,) * (bar.ndim - 1)))
    for power in range(nu, c_shape[0]):
        weight = math.perm(power, nu) * step ** (power - nu)
        np.add.at(c_bar[c_shape[0] - 1 - power], at, bar * weight)
    return c_bar


def integral_bar(y_bar: Any, c_shape: Any, x: Any, a: float, b: float) -> Any:
    """The cotangent of the coefficients in the integral from `a` to `b`."""
    low, high = min(a, b), max(a, b)
    starts, ends = x[:-1].copy(), x[1:].copy()
    starts[0], ends[-1] = min(low, x[0]), max(high, x[-1])
    left, right = np.clip(low, starts, ends) - x[:-1], np.clip(high, starts, ends) - x[:-1]
    c_bar = np.zeros(c_shape, np.asarray(y_bar).dtype)
    for power in range(c_shape[0]):
        weight = (right ** (power + 1) - left ** (power + 1)) / (power + 1)
        c_bar[c_shape[0] - 1 - power] = np.multiply.outer(weight, y_bar)
    return c_bar if a <= b else -c_bar


def derivative_bar(bar: Any, c_shape: Any, nu: int) -> Any:
    """The cotangent of the coefficients, given that of the coefficients of the derivative `nu`."""
    c_bar = np.zeros(c_shape, bar.dtype)
    for power in range(nu, c_shape[0]):
        c_bar[c_shape[0] - 1 - power] = math.perm(power, nu) * bar[bar.shape[0] - 1 - (power - nu)]
    return c_bar


def hermite_bars(c_bar: Any, x: Any) -> tuple[Any, Any]:
    """The cotangents of values and slopes, given that of the cubic coefficients that they fix."""
    h = np.reshape(np.diff(x), (-1, *(1,) * (c_bar.ndim - 2)))
    curved = c_bar[0] / h - c_bar[1]  # of the term (d[i] + d[i + 1] - 2 m) / h
    slope_bar = (c_bar[1] - 2 * curved) / h
    y_bar = np.zeros((len(x), *c_bar.shape[2:]), c_bar.dtype)
    d_bar = np.zeros_like(y_bar)
    y_bar[:-1] += c_bar[3] - slope_bar / h
    y_bar[1:] += slope_bar / h
    d_bar[:-1] += c_bar[2] - c_bar[1] / h + curved / h
    d_bar[1:] += curved / h
    return y_bar, d_bar


def monotone_slopes_bar(d_bar: Any, x: Any, y: Any) -> Any:
    """The cotangent of the values in the slopes of PCHIP: Fritsch and Butland (1984), "A method for constructing local
    monotone piecewise cubic interpolants". Where a slope is cut off to 0 it does not vary.
    """
    h = np.reshape(np.diff(x), (-1, *(1,) * (y.ndim - 1)))
    m = np.diff(y, axis=0) / h
    m_bar = np.zeros_like(m)
    if len(m) == 1:
        m_bar[0] = d_bar[0] + d_bar[1]
    else:
        first, second = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
        same = np.sign(m[1:]) * np.sign(m[:-1]) > 0
        before, after = (np.where(same, part, 1) for part in (m[:-1], m[1:]))
        d = (first + second) / (first / before + second / after)
        weight = np.where(same, d_bar[1:-1] * d * d / (first + second), 0)
        m_bar[:-1] += weight * first / before**2
        m_bar[1:] += weight * second / after**2
        for end, (i, j) in ((0, (0, 1)), (-1, (-1, -2))):
            near, far = _end_slope(h[i], h[j], m[i], m[j])
            m_bar[i] += near * d_bar[end]
            m_bar[j] += far * d_bar[end]
    y_bar = np.zeros(y.shape, d_bar.dtype)
    y_bar[:-1] -= m_bar / h
    y_bar[1:] += m_bar / h
    return y_bar


def _end_slope(h0: Any, h1: Any, m0: Any, m1: Any) -> tuple[Any, Any]:
    """The derivatives of the slope at an end by those of the two intervals there."""
    near, far = (2 * h0 + h1) / (h0 + h1), -h0 / (h0 + h1)
    d = near * m0 + far * m1
    turned = np.sign(d) != np.sign(m0)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3 * np.abs(m0)) & ~turned
    return np.where(turned, 0.0, np.where(steep, 3.0, near)), np.where(turned | steep, 0.0, far)


def positions_first(bar: Any, axis: int, rank: int) -> tuple[Any, Any]:
    """Values with the axes of the positions (`rank`, from `axis` on) as one first axis, and the lengths of the rest."""
    moved = np.moveaxis(bar, range(axis, axis + rank), range(rank))
    return np.reshape(moved, (-1, *moved.shape[rank:]) if rank else (1, *moved.shape)), moved.shape[rank:]


def position_bar(bar: Any, slope: Any, axis: int, t_shape: Any) -> Any:
    """The cotangent of the positions, given the slopes of the values there."""
    rank = len(t_shape)
    others = tuple(i for i in range(bar.ndim) if not axis <= i < axis + rank)
    # Where nothing is asked for, a slope that is not defined does no harm.
    products = np.where(bar == 0, 0, bar * conj(np.where(bar == 0, 0, slope)))
    return np.sum(np.real(products), axis=others)
