"""Integrals of sampled functions: the cotangents of the samples, of the points and of their distance.

Along the last axis, y has n samples and h the n - 1 widths between them, of y's shape or without its other axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime.shapes import fit
from adcompiler.runtime.ufuncs import as_given


def _prepared(y: Any, x: Any, axis: int) -> tuple[Any, Any]:
    """The samples with their axis last, and the widths; widths of 1 if there are no points."""
    y = np.moveaxis(np.asarray(y), axis, -1)
    if x is None:
        return y, np.ones(max(y.shape[-1] - 1, 0))
    x = np.asarray(x)
    return y, np.diff(np.moveaxis(x, axis, -1) if x.ndim > 1 else x)


def _returned(c: Any, y_bar: Any, h_bar: Any, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any, Any]:
    """The cotangents of y, x and dx; `h_bar` is that of the widths, which are all dx if there are no points.

    They are as precise as c, the cotangent of the integral, and the arguments are.
    """
    precision = np.result_type(c, y, *(() if x is None else (x,)))
    if precision.char in "fF":
        y_bar, h_bar = _single(y_bar), _single(h_bar)
    y_bar = np.moveaxis(fit(y_bar, np.moveaxis(np.asarray(y), axis, -1).shape), -1, axis)
    if x is None:
        return y_bar * dx, None, np.sum(h_bar)
    x = np.asarray(x)
    if not x.size:
        return y_bar, np.zeros(x.shape), None
    ends = [(0, 0)] * (h_bar.ndim - 1) + [(1, 1)]
    x_bar = -np.diff(np.pad(h_bar, ends))
    x_bar = fit(x_bar, x.shape) if x.ndim == 1 else np.moveaxis(x_bar, -1, axis)
    return y_bar, x_bar, None


def _single(bar: Any) -> Any:
    return as_given(bar, np.zeros((), "F" if np.iscomplexobj(bar) else "f"))


def area_bars(c: Any, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any, Any]:
    """The same for trapezia, where c has the cotangents of their areas, along the last axis."""
    samples, h = _prepared(y, x, axis)
    half = 0.5 * c * np.conj(h)
    ends = [(0, 0)] * (half.ndim - 1)
    y_bar = np.pad(half, [*ends, (0, 1)]) + np.pad(half, [*ends, (1, 0)])
    return _returned(c, y_bar, c * np.conj(samples[..., 1:] + samples[..., :-1]) / 2, y, x, dx, axis)


def trapezoid_bars(area_bar: Any, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any, Any]:
    """The cotangents of the integral by trapezia."""
    samples, _ = _prepared(y, x, axis)
    c = np.broadcast_to(np.asarray(area_bar)[..., None], samples[..., 1:].shape)
    return area_bars(c, y, x, dx, axis)


def cumulative_bars(z_bar: Any, y: Any, x: Any, dx: Any, axis: int, first: bool) -> tuple[Any, Any, Any]:
    """The cotangents of running integrals by trapezia, with a 0 in front of them if `first`."""
    z_bar = np.moveaxis(np.asarray(z_bar), axis, -1)[..., int(first) :]
    return area_bars(np.flip(np.cumsum(np.flip(z_bar, -1), -1), -1), y, x, dx, axis)


def simpson_bars(area_bar: Any, y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any, Any]:
    """The cotangents of Simpson's rule, for an even number of points with Cartwright's last interval."""
    samples, h = _prepared(y, x, axis)
    count = samples.shape[-1]
    c = np.asarray(area_bar)[..., None]
    if count == 2:
        return trapezoid_bars(area_bar, y, x, dx, axis)
    w, slope = np.zeros((*h.shape[:-1], count)), np.zeros(samples[..., 1:].shape, dtype=np.result_type(samples, float))
    even = count - 1 + count % 2  # as many points have the rule itself
    a, b = h[..., 0 : even - 1 : 2], h[..., 1 : even - 1 : 2]
    low, mid, high = (samples[..., i : even - 2 + i : 2] for i in range(3))
    s = a + b
    middle = s**3 / (6 * a * b)
    w[..., 0 : even - 2 : 2] += (2 * a + b - b * b / a) / 6
    w[..., 1 : even - 1 : 2] += middle
    w[..., 2:even:2] += (2 * b + a - a * a / b) / 6
    slope[..., 0 : even - 1 : 2] += (
        low * (2 + (b / a) ** 2) / 6 + mid * middle * (3 / s - 1 / a) + high * (1 - 2 * a / b) / 6
    )
    slope[..., 1 : even - 1 : 2] += (
        low * (1 - 2 * b / a) / 6 + mid * middle * (3 / s - 1 / b) + high * (2 + (a / b) ** 2) / 6
    )
    if count % 2 == 0 and count:
        _last_interval(w, slope, samples, h)
    return _returned(c, c * w, c * np.conj(slope), y, x, dx, axis)


def _last_interval(w: Any, slope: Any, samples: Any, h: Any) -> None:
    """Add the last interval of an even number of points (Cartwright 2017, equation 8)."""
    a, b = h[..., -2], h[..., -1]
    s = a + b
    alpha = (2 * b * b + 3 * a * b) / (6 * s)
    eta = b**3 / (6 * a * s)
    w[..., -1] += alpha
    w[..., -2] += (b * b + 3 * a * b) / (6 * a)
    w[..., -3] -= eta
    one, two, three = samples[..., -1], samples[..., -2], samples[..., -3]
    slope[..., -2] += one * (3 * b - 6 * alpha) / (6 * s) - two * (b / a) ** 2 / 6 + three * eta * (2 * a + b) / (a * s)
    slope[..., -1] += (
        one * (4 * b + 3 * a - 6 * alpha) / (6 * s)
        + two * (b / (3 * a) + 0.5)
        - three * (b * b / (2 * a * s) - eta / s)
    )


def romberg_bars(area_bar: Any, y: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """The cotangents of samples and distance in Romberg's rule: trapezia of halved widths, extrapolated."""
    samples, _ = _prepared(y, None, axis)
    weights = _romberg_weights(samples.shape[-1] - 1)
    c = np.asarray(area_bar)[..., None]
    y_bar, _, dx_bar = _returned(c, c * weights, c * np.conj(samples) * weights, y, None, dx, axis)
    return y_bar, dx_bar


def _romberg_weights(intervals: int) -> Any:
    """The weights of the samples."""
    row: list[Any] = []
    width = intervals
    while width >= 1:
        w = np.zeros(intervals + 1)
        w[::width] = width
        w[[0, -1]] /= 2
        new = [w]
        for j, old in enumerate(row):
            new.append(new[j] + (new[j] - old) / (4.0 ** (j + 1) - 1))
        row, width = new, width // 2
    return row[-1]
