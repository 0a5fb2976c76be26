"""Rules for the functions of scipy.special that sum exponentials over an axis."""

from scipy import special

from adcompiler.rules.registry import rrule
from adcompiler.runtime.exponentials import (
    log_softmax_bar,
    logsumexp_bar,
    logsumexp_weights_bar,
    refuse_complex_sign,
    softmax_bar,
)


@rrule(special.logsumexp, result="fresh", kind="reduction")
def logsumexp(a, axis=None, *, keepdims=False):
    y = special.logsumexp(a, axis=axis, keepdims=keepdims)

    def pullback(y_bar):
        return logsumexp_bar(y_bar, a, None, y, None, axis, keepdims), None, None

    return y, pullback


@rrule(special.logsumexp, kind="unknown", general=True)
def logsumexp_general(a, axis=None, b=None, keepdims=False, return_sign=False):
    """With weights, of which a sum may be negative: then the logarithm of its size, and its sign."""
    refuse_complex_sign(a, b, return_sign)
    found = special.logsumexp(a, axis, b, keepdims, return_sign)
    y, sign = found if return_sign else (found, None)

    def pullback(found_bar):
        y_bar = found_bar[0] if return_sign else found_bar
        return (
            logsumexp_bar(y_bar, a, b, y, sign, axis, keepdims),
            None,
            logsumexp_weights_bar(y_bar, a, b, y, sign, axis, keepdims),
            None,
            None,
        )

    return found, pullback


@rrule(special.softmax, result="fresh", kind="like")
def softmax(x, axis=None):
    y = special.softmax(x, axis)

    def pullback(y_bar):
        return softmax_bar(y_bar, y, axis), None

    return y, pullback


@rrule(special.log_softmax, result="fresh", kind="like")
def log_softmax(x, axis=None):
    y = special.log_softmax(x, axis)

    def pullback(y_bar):
        return log_softmax_bar(y_bar, y, axis), None

    return y, pullback
