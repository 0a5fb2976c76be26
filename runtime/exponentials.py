"""Cotangents of sums of exponentials, by their logarithms: what is -inf has no weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.shapes import conj, fit, kept_shape, shape
from adcompiler.runtime.ufuncs import as_given


def logsumexp_bar(y_bar: Any, a: Any, b: Any, y: Any, sign: Any, axis: Any, keepdims: bool) -> Any:
    """The cotangent of the exponents `a` in ``y = log(sum(b exp(a)))``; `sign` is that of the sum, or None."""
    if y_bar is None:
        return None
    weights = _weights(a, b, y, sign, axis, keepdims)
    if b is not None:
        weights = multiply_strong(b, weights)
    return as_given(fit(_spread(y_bar, weights, a, b, axis, keepdims), shape(a)), a)


def logsumexp_weights_bar(y_bar: Any, a: Any, b: Any, y: Any, sign: Any, axis: Any, keepdims: bool) -> Any:
    """The cotangent of the weights `b` in ``y = log(sum(b exp(a)))``."""
    if y_bar is None or b is None:
        return None
    weights = _weights(a, b, y, sign, axis, keepdims)
    return as_given(fit(_spread(y_bar, weights, a, b, axis, keepdims), shape(b)), b)


def _weights(a: Any, b: Any, y: Any, sign: Any, axis: Any, keepdims: bool) -> Any:
    """``exp(a)`` over the sum, and 0 where the sum is."""
    y = _kept(y, a, b, axis, keepdims)
    empty = np.isneginf(np.real(y))
    with np.errstate(all="ignore"):
        weights = np.where(empty, 0.0, np.exp(a - np.where(empty, 0.0, y)))
    return weights if sign is None else weights * _kept(sign, a, b, axis, keepdims)


def _spread(y_bar: Any, weights: Any, a: Any, b: Any, axis: Any, keepdims: bool) -> Any:
    return multiply_strong(_kept(y_bar, a, b, axis, keepdims), conj(weights))


def _kept(y: Any, a: Any, b: Any, axis: Any, keepdims: bool) -> Any:
    """A result, or its cotangent, with the axes of length 1 that the sum has left out."""
    whole = np.broadcast_shapes(shape(a), shape(b))
    return y if keepdims or axis is None or not shape(y) else y.reshape(kept_shape(whole, axis))


def refuse_complex_sign(a: Any, b: Any, return_sign: bool) -> None:
    """Raise NoRuleError if the phase of a complex sum is asked for, which is not constant."""
    if return_sign and (np.iscomplexobj(a) or np.iscomplexobj(b)):
        raise NoRuleError(
            "the phase that logsumexp returns of complex numbers has no derivative rule\n"
            "Leave return_sign out: the result is then complex."
        )


def softmax_bar(y_bar: Any, y: Any, axis: Any) -> Any:
    """The cotangent of the exponents in ``y = exp(x) / sum(exp(x))``."""
    c = multiply_strong(y_bar, conj(y))
    return c - conj(y) * np.sum(c, axis=axis, keepdims=True) if shape(y) else 0.0 * y_bar


def log_softmax_bar(y_bar: Any, y: Any, axis: Any) -> Any:
    """The cotangent of the exponents in ``y = x - log(sum(exp(x)))``."""
    y_bar = np.broadcast_to(y_bar, shape(y))
    return y_bar - conj(np.exp(y)) * np.sum(y_bar, axis=axis, keepdims=True)
