"""Reverse rules of the parts that forward rules are made of, which second derivatives go through."""

from adcompiler.rules.registry import rrule
from adcompiler.runtime.forward import match
from adcompiler.runtime.shapes import fit, shape


@rrule(match, result="same", flat=("y",), linear=("dot",))
def match_(dot, y):
    out = match(dot, y)
    dot_shape = shape(dot)

    def pullback(out_bar):
        return fit(out_bar, dot_shape), None

    return out, pullback
