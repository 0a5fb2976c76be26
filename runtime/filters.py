"""Parts of the pullbacks of recursive filters ``a[0] y[n] = sum(b[k] x[n - k]) - sum(a[k] y[n - k], k > 0)``, and of
filters in the frequency domain.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.shapes import conj, fit, real, shape


def reversed_filter(lfilter: Callable[..., Any], b: Any, a: Any, bar: Any, axis: int) -> Any:
    """The adjoint of a filter: the filter with the conjugate coefficients, backwards."""
    b, a = (np.asarray(conj(np.atleast_1d(x)), np.result_type(x, bar.dtype)) for x in (b, a))
    return np.flip(lfilter(b, a, np.flip(bar, axis), axis), axis)


def coefficient_bars(inner: Any, b: Any, a: Any, x: Any, y: Any, zi: Any, axis: int) -> tuple[Any, Any, Any]:
    """The cotangents of `b`, `a` and of the first state, given that of what the recursion divides: `inner`."""
    inner, x, y = (np.moveaxis(signal, axis, -1) for signal in (inner, x, y))
    b_bar = _delayed_products(inner, x, np.size(b))
    a_bar = -_delayed_products(inner, y, np.size(a))
    zi_bar = None
    if zi is not None:
        states = np.moveaxis(np.asarray(zi), axis, -1)
        first = inner[..., : states.shape[-1]]
        missing = states.shape[-1] - first.shape[-1]
        first = np.concatenate([first, np.zeros((*first.shape[:-1], missing), first.dtype)], -1)
        zi_bar = fit(np.moveaxis(first * conj(np.ravel(a)[0]), -1, axis), shape(zi))
        a_bar[0] += np.sum(first * conj(states))
    return np.reshape(b_bar, shape(b)), np.reshape(a_bar, shape(a)), zi_bar


def _delayed_products(inner: Any, signal: Any, count: int) -> Any:
    """The sums of ``inner[n] * conj(signal[n - k])`` for each delay k."""
    length = signal.shape[-1]
    return np.array(
        [np.sum(inner[..., k:] * conj(signal[..., : max(length - k, 0)])) for k in range(count)],
        np.result_type(inner, signal),
    )


def hilbert_weights(length: int, dtype: Any, axis: int, rank: int) -> Any:
    """What the frequencies of an analytic signal are multiplied by: twice the positive ones, none of the negative."""
    weights = np.zeros(length, dtype)
    weights[: length // 2 + 1] = 2
    weights[0] = 1
    if length % 2 == 0:
        weights[length // 2] = 1
    return np.reshape(weights, [-1 if i == axis % rank else 1 for i in range(rank)])


def resampled_bar(y_bar: Any, length: int, axis: int, is_real: bool) -> Any:
    """The cotangent of `x` in ``scipy.signal.resample(x, num)``: the common frequencies, transformed back.

    The highest one of an even number is its own mirror image: the shorter signal has the sum of both in it.
    """
    bar = np.moveaxis(y_bar, axis, -1)
    num = bar.shape[-1]
    spectrum = np.fft.fft(bar)
    common = min(length, num)
    out = np.zeros((*bar.shape[:-1], length), spectrum.dtype)
    out[..., : common // 2 + 1] = spectrum[..., : common // 2 + 1]
    if common > 1:
        out[..., -((common - 1) // 2) or length :] = spectrum[..., -((common - 1) // 2) or num :]
    if common % 2 == 0 and length != num:
        if num > length:
            both = spectrum[..., common // 2] + spectrum[..., -(common // 2)]
            out[..., common // 2] = 0.5 * both
        else:
            out[..., -(common // 2)] = spectrum[..., common // 2]
    x_bar = np.fft.ifft(out)
    return np.moveaxis(real(x_bar) if is_real and np.isrealobj(y_bar) else x_bar, -1, axis)
