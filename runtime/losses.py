"""Slopes of losses and of power transformations that have removable singular points."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime.elementary import divide_singular
from adcompiler.runtime.integrals import exprel_slope, log1p_slope


def ratio_or_zero(x: Any, y: Any) -> Any:
    """``x / y``, and 0 where `x` is: the convention that 0 log 0 is 0."""
    return np.where(np.equal(x, 0) & ~np.isnan(y), 0.0, x / y)


def huber_slope(delta: Any, r: Any) -> Any:
    """How Huber's loss changes with the residual; nan where its threshold is negative."""
    return np.where(np.less(delta, 0), np.nan, np.minimum(np.maximum(r, -delta), delta))


def huber_scale_slope(delta: Any, r: Any) -> Any:
    """How Huber's loss changes with its threshold."""
    return np.where(np.less(delta, 0), np.nan, np.maximum(np.abs(r) - delta, 0))


def pseudo_huber_slope(delta: Any, r: Any) -> Any:
    """How the smooth form of Huber's loss changes with the residual."""
    return np.where(np.less(delta, 0), np.nan, delta * divide_singular(r, np.hypot(delta, r)))


def pseudo_huber_scale_slope(delta: Any, r: Any) -> Any:
    """How the smooth form of Huber's loss changes with its threshold: (h - delta)^2 / h with h the hypotenuse."""
    h = np.hypot(delta, r)
    excess = divide_singular(r * r, h + delta)
    return np.where(np.less(delta, 0), np.nan, divide_singular(excess * excess, h))


def boxcox_slope(log: Any, exponent: Any) -> Any:
    """How the transformation of Box and Cox changes with its exponent, from the logarithm of its argument."""
    away = np.where(np.equal(exponent, 0), 1.0, exponent)
    square = np.where(np.isneginf(log), 1.0, log * log)
    return np.where(np.isneginf(log), 1 / (away * away), square * exprel_slope(exponent * log))


def inverse_boxcox_slope(y: Any, exponent: Any) -> Any:
    """How the logarithm of the inverse transformation of Box and Cox changes with its exponent."""
    return y * y * log1p_slope(exponent * y)


def lambertw_slope(z: Any, w: Any) -> Any:
    """The derivative of the inverse of w exp(w), which is 1 at the origin (DLMF 4.13.4)."""
    return np.exp(-w) / (1 + w)
