"""Rules for norms and condition numbers. At the zero vector and the zero matrix, where norms have their minimum, the
cotangent is 0."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.elementary import can_divide, divide_singular, is_finite, multiply_strong
from adcompiler.runtime.norms import cond_bar, norm_bar, norm_order_bar, order_bar, vector_norm_bar
from adcompiler.runtime.reduction import keep_dims


@rrule(np.linalg.norm, result="fresh", kind="reduction_real")
def norm(x, ord=None, axis=None, keepdims=False):
    y = np.linalg.norm(x, ord, axis, keepdims)
    regular = can_divide(y) and is_finite(y)

    def pullback(y_bar):
        if ord is None and axis is None:
            x_bar = y_bar / y * x if regular else norm_bar(y_bar, y, x, ord, axis, keepdims)
        elif ord is None:
            x_bar = keep_dims(y_bar / y, axis, keepdims) * x if regular else norm_bar(y_bar, y, x, ord, axis, keepdims)
        else:
            x_bar = norm_bar(y_bar, y, x, ord, axis, keepdims)
        ord_bar = norm_order_bar(keep_dims(y_bar, axis, keepdims), keep_dims(y, axis, keepdims), x, ord, axis)
        return x_bar, ord_bar, None, None

    return y, pullback


@rrule(np.linalg.vector_norm, result="fresh", kind="reduction_real")
def vector_norm(x, *, axis=None, keepdims=False, ord=2):
    y = np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)

    def pullback(y_bar):
        if ord == 2:
            x_bar = multiply_strong(keep_dims(divide_singular(y_bar, y), axis, keepdims), x)
        else:
            x_bar = vector_norm_bar(keep_dims(y_bar, axis, keepdims), keep_dims(y, axis, keepdims), x, ord, axis)
        ord_bar = order_bar(keep_dims(y_bar, axis, keepdims), keep_dims(y, axis, keepdims), x, ord, axis)
        return x_bar, None, None, ord_bar

    return y, pullback


@rrule(np.linalg.matrix_norm, result="fresh", flat=("ord",))
def matrix_norm(x, *, keepdims=False, ord="fro"):
    y = np.linalg.matrix_norm(x, keepdims=keepdims, ord=ord)

    def pullback(y_bar):
        return norm_bar(y_bar, y, x, ord, (-2, -1), keepdims), None, None

    return y, pullback


@rrule(np.linalg.cond, result="fresh", flat=("p",))
def cond(x, p=None):
    y = np.linalg.cond(x, p)

    def pullback(y_bar):
        return cond_bar(y_bar, y, x, p), None

    return y, pullback
