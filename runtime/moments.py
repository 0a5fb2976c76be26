"""Cotangents of means and moments along an axis; `y` is the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime import specials
from adcompiler.runtime.elementary import divide_singular, multiply_strong
from adcompiler.runtime.shapes import fit, kept_shape, shape
from adcompiler.runtime.ufuncs import as_given

# Power means, of which the geometric (p = 0) and the harmonic (p = -1) are two


def pmean_bar(y_bar: Any, a: Any, y: Any, axis: Any, weights: Any, keepdims: bool, p: Any) -> Any:
    """The cotangent of the data in the power mean with exponent `p`."""
    c, y = (_kept(value, a, axis, keepdims) for value in (y_bar, y))
    with np.errstate(all="ignore"):
        slope = _shares(a, axis, weights) * (a / y) ** (p - 1)
        return as_given(fit(multiply_strong(c, slope), shape(a)), np.asarray(a)[()])


def gmean_bar(y_bar: Any, a: Any, y: Any, axis: Any, weights: Any, keepdims: bool) -> Any:
    """The cotangent of the data in the geometric mean."""
    return pmean_bar(y_bar, a, y, axis, weights, keepdims, 0.0)


def hmean_bar(y_bar: Any, a: Any, y: Any, axis: Any, weights: Any, keepdims: bool) -> Any:
    """The cotangent of the data in the harmonic mean."""
    return pmean_bar(y_bar, a, y, axis, weights, keepdims, -1.0)


def weight_bar(y_bar: Any, a: Any, y: Any, axis: Any, weights: Any, keepdims: bool, p: Any) -> Any:
    """The cotangent of the weights in the power mean with exponent `p`."""
    if weights is None:
        return None
    c, y = (_kept(value, a, axis, keepdims) for value in (y_bar, y))
    w = _aligned_weights(a, axis, weights)
    with np.errstate(all="ignore"):
        slope = y / np.sum(np.broadcast_to(w, shape(a)), axis=axis, keepdims=True) * specials.boxcox(a / y, p)
        bar = fit(multiply_strong(c, slope), shape(w))
    return as_given(bar.reshape(shape(weights)), np.asarray(weights)[()])


def _shares(a: Any, axis: Any, weights: Any) -> Any:
    """The part that each element has in a mean."""
    if weights is None:
        return 1 / _length(a, axis)
    w = np.broadcast_to(_aligned_weights(a, axis, weights), shape(a))
    return w / np.sum(w, axis=axis, keepdims=True)


def _aligned_weights(a: Any, axis: Any, weights: Any) -> Any:
    """Weights of one dimension along the axis of the mean; others are of the shape of the data."""
    if np.ndim(weights) == 1 and np.ndim(a) > 1 and isinstance(axis, int):
        return np.reshape(weights, tuple(-1 if i == axis % np.ndim(a) else 1 for i in range(np.ndim(a))))
    return weights


# Moments about the mean


def sem_bar(y_bar: Any, a: Any, y: Any, axis: Any, ddof: Any, keepdims: bool) -> Any:
    """The cotangent of the data in the standard error of the mean."""
    c, y = (_kept(value, a, axis, keepdims) for value in (y_bar, y))
    n = _length(a, axis)
    return _as_data(divide_singular(c, y * n * (n - ddof)) * _deviations(a, axis), a)


def variation_bar(y_bar: Any, a: Any, y: Any, axis: Any, ddof: Any, keepdims: bool) -> Any:
    """The cotangent of the data in the standard deviation over the mean."""
    c, y = (_kept(value, a, axis, keepdims) for value in (y_bar, y))
    n, mean = _length(a, axis), np.mean(a, axis=axis, keepdims=True)
    spread = divide_singular(c, y * mean * mean * (n - ddof)) * _deviations(a, axis)
    return _as_data(spread - c * y / (n * mean), a)


def skew_bar(y_bar: Any, a: Any, axis: Any, bias: bool, keepdims: bool) -> Any:
    """The cotangent of the data in the skewness."""
    c, n, d = _kept(y_bar, a, axis, keepdims), _length(a, axis), _deviations(a, axis)
    m2, m3 = (np.mean(d**k, axis=axis, keepdims=True) for k in (2, 3))
    factor = np.sqrt(n * (n - 1.0)) / (n - 2) if not bias and n > 2 else 1.0
    with np.errstate(all="ignore"):
        slope = 3 * factor / n * (d * d - m2 - m3 * d / m2) / m2**1.5
        return _as_data(multiply_strong(c, slope), a)


def kurtosis_bar(y_bar: Any, a: Any, axis: Any, bias: bool, keepdims: bool) -> Any:
    """The cotangent of the data in the kurtosis."""
    c, n, d = _kept(y_bar, a, axis, keepdims), _length(a, axis), _deviations(a, axis)
    m2, m3, m4 = (np.mean(d**k, axis=axis, keepdims=True) for k in (2, 3, 4))
    factor = (n * n - 1.0) / ((n - 2) * (n - 3)) if not bias and n > 3 else 1.0
    with np.errstate(all="ignore"):
        slope = 4 * factor / n * (d**3 - m3 - m4 * d / m2) / m2**2
        return _as_data(multiply_strong(c, slope), a)


def zscore_bar(y_bar: Any, a: Any, y: Any, axis: Any, ddof: Any) -> Any:
    """The cotangent of the data in the deviations over their standard deviation."""
    c = np.broadcast_to(y_bar, shape(y))
    n, scale = _length(a, axis), np.std(a, axis=axis, ddof=ddof, keepdims=True)
    with np.errstate(all="ignore"):
        total = c - np.mean(c, axis=axis, keepdims=True) - y * np.sum(c * y, axis=axis, keepdims=True) / (n - ddof)
        return _as_data(multiply_strong(total, 1 / scale), a)


# The entropy of weights that are divided by their sum


def entropy_bar(y_bar: Any, p: Any, q: Any, y: Any, base: Any, axis: Any, keepdims: bool) -> Any:
    """The cotangent of the weights `p` in their entropy, or in that relative to `q`."""
    whole = np.broadcast_shapes(shape(p), () if q is None else shape(q))
    c, y = (_reshaped(value, whole, axis, keepdims) for value in (_in_base(y_bar, base), y))
    nats = y if base is None else y * np.log(base)
    with np.errstate(all="ignore"):
        share, total = _normalised(p, axis)
        log = -np.log(share) if q is None else np.log(share / _normalised(q, axis)[0])
        return _as_data(multiply_strong(c, (log - nats) / total), p)


def reference_bar(y_bar: Any, p: Any, q: Any, base: Any, axis: Any, keepdims: bool) -> Any:
    """The cotangent of the weights `q` to which an entropy is relative."""
    if q is None:
        return None
    c = _reshaped(_in_base(y_bar, base), np.broadcast_shapes(shape(p), shape(q)), axis, keepdims)
    with np.errstate(all="ignore"):
        share, total = _normalised(q, axis)
        return _as_data(multiply_strong(c, (1 - _normalised(p, axis)[0] / share) / total), q)


def _in_base(y_bar: Any, base: Any) -> Any:
    return y_bar if base is None else y_bar / np.log(base)


def _normalised(p: Any, axis: Any) -> tuple[Any, Any]:
    """Weights divided by their sum, and the sum."""
    total = np.sum(p, axis=axis, keepdims=True)
    return p / total, total


def _reshaped(y: Any, whole: Any, axis: Any, keepdims: bool) -> Any:
    """A result, or its cotangent, with axes of length 1 where data of the shape `whole` were reduced."""
    return y if keepdims or axis is None or not shape(y) else y.reshape(kept_shape(whole, axis))


def _deviations(a: Any, axis: Any) -> Any:
    return a - np.mean(a, axis=axis, keepdims=True)


def _length(a: Any, axis: Any) -> Any:
    """The number of elements that a reduction over `axis` takes together, by which one can divide where it is 0."""
    whole = shape(a)
    axes = range(len(whole)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count = 1
    for i in axes:
        count *= whole[i]
    return np.float64(count)


def _kept(y: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    """A result, or its cotangent, with axes of length 1 where the data were reduced."""
    return _reshaped(y, shape(a), axis, keepdims)


def _as_data(bar: Any, a: Any) -> Any:
    """The cotangent `bar` in the shape and precision of the data."""
    return as_given(fit(bar, shape(a)), np.asarray(a)[()])
