"""Rules for Python's builtins and for the functions of the `operator` module that are not arithmetic."""

import builtins
import operator

import numpy as np

from adcompiler.rules.registry import non_differentiable, rrule
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.facts import is_static
from adcompiler.runtime.patterns import has_attribute, pattern_has
from adcompiler.runtime.sequences import entry_shapes, extreme_bar, spread
from adcompiler.runtime.shapes import fit, shape


@rrule(builtins.float, kind="scalar", linear=("x",))
def float_(x=0.0):
    y = float(x)
    x_shape = shape(x)

    def pullback(y_bar):
        return (fit(y_bar, x_shape),)

    return y, pullback


@rrule(builtins.complex, kind="scalar_complex", linear=("real", "imag"))
def complex_(real=0.0, imag=None):
    y = complex(real) if imag is None else complex(real, imag)

    def pullback(y_bar):
        if imag is None:
            imag_bar = None
        else:
            imag_bar = -1j * y_bar
        return y_bar, imag_bar

    return y, pullback


@rrule(builtins.sum, result="fresh", kind="number", linear=("iterable", "start"))
def sum_(iterable, start=0):
    shapes, start_shape = entry_shapes(iterable), shape(start)
    y = sum(iterable, start)

    def pullback(y_bar):
        if is_static(start):
            start_bar = None
        else:
            start_bar = fit(y_bar, start_shape)
        return spread(y_bar, shapes), start_bar

    return y, pullback


@rrule(builtins.max, result="same", kind="number")
def max_(*values):
    y = max(*values)

    def pullback(y_bar):
        return (extreme_bar(y_bar, values, y),)

    return y, pullback


@rrule(builtins.min, result="same", kind="number")
def min_(*values):
    y = min(*values)

    def pullback(y_bar):
        return (extreme_bar(y_bar, values, y),)

    return y, pullback


# Steps: round(x, digits) is flat between its jumps

non_differentiable(round, operator.floordiv, kind="number")
non_differentiable(int, ord, operator.index, kind="whole")
non_differentiable(len, hash, id, operator.length_hint, kind="int")
non_differentiable(operator.countOf, operator.indexOf, kind="int")

# Questions

non_differentiable(bool, isinstance, issubclass, callable, hasattr, any, all, pattern_has, has_attribute, kind="int")
non_differentiable(operator.not_, operator.truth, operator.is_, operator.is_not, operator.contains, kind="int")
non_differentiable(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, kind="elementwise")
non_differentiable(operator.and_, operator.or_, operator.xor, operator.invert, operator.inv, kind="elementwise")
non_differentiable(operator.lshift, operator.rshift, kind="elementwise")

# Positions


@rrule(slice, kind="unknown", accepts=(object,))
def slice_(*ends):
    if any(isinstance(end, float | complex | np.inexact) for end in ends):
        raise NoRuleError(
            "slice is not differentiated\n"
            "The ends of a slice are positions, which are whole numbers.\nUse int(x), or stop_gradient(x)."
        )

    def pullback(y_bar):
        return (None,)

    return slice(*ends), pullback


# Text and types

non_differentiable(str, repr, ascii, format, chr, bin, hex, oct, bytes, float.hex, kind="text")
non_differentiable(type, print, input, range, kind="other")
non_differentiable(dir, vars, globals, locals, object, kind="other")
