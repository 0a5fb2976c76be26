"""Reverse rules of the parts that forward rules are made of, which second derivatives go through."""

from adcompiler.rules.registry import rrule
from adcompiler.runtime.forward import filled, kept, match
from adcompiler.runtime.pointwise_forward import tangent, tangent_bars
from adcompiler.runtime.quantiles import median_bar, quantile_bar
from adcompiler.runtime.quantiles_forward import median_dot, quantile_dot
from adcompiler.runtime.shapes import fit, shape


@rrule(match, result="same", flat=("y",), linear=("dot",))
def match_(dot, y):
    out = match(dot, y)
    dot_shape = shape(dot)

    def pullback(out_bar):
        return fit(out_bar, dot_shape), None

    return out, pullback


@rrule(filled, kind="unknown", flat=("x",))
def filled_(dot, x):
    out = filled(dot, x)

    def pullback(out_bar):
        return kept(out_bar, dot), None

    return out, pullback


@rrule(tangent, kind="unknown", accepts=(object,))
def tangent_(partials, args, y, tangents, *, needs, config):
    """Linear in the tangents; with respect to the operands, the derivatives of the partials are needed."""
    out = tangent(partials, args, y, tangents)

    def pullback(ct):
        args_bar, y_bar, dots_bar = tangent_bars(config, partials, args, y, tangents, ct, needs[1] or needs[2])
        return None, args_bar, y_bar, dots_bar

    return out, pullback


# Piecewise linear in the elements, so that the second derivative is 0


@rrule(quantile_dot, result="fresh", flat=("y", "a", "q", "weights"), linear=("dot",))
def quantile_dot_(dot, y, quantile, a, q, axis, method, weights, skip_nan):
    out = quantile_dot(dot, y, quantile, a, q, axis, method, weights, skip_nan)

    def pullback(out_bar):
        dot_bar = quantile_bar(out_bar, y, quantile, a, q, axis, method, weights, skip_nan)
        return dot_bar, None, None, None, None, None, None, None, None

    return out, pullback


@rrule(median_dot, result="fresh", flat=("y", "a"), linear=("dot",))
def median_dot_(dot, y, a, axis):
    out = median_dot(dot, y, a, axis)

    def pullback(out_bar):
        return median_bar(out_bar, a, axis), None, None, None

    return out, pullback
