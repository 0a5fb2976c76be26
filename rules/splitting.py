"""Rules for functions that split an array. The cotangent of a list is a list, with None for a part that is not used."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.layout import assemble, shapes_of, unstack_bar
from adcompiler.runtime.shapes import ndim, shape


@rrule(np.split, kind="tuple", flat=("indices_or_sections",), linear=("ary",))
def split(ary, indices_or_sections, axis=0):
    y = np.split(ary, indices_or_sections, axis)
    shapes, ary_shape = shapes_of(y), shape(ary)

    def pullback(y_bar):
        return assemble(y_bar, shapes, axis, indices_or_sections, ary_shape), None, None

    return y, pullback


@rrule(np.array_split, kind="tuple", flat=("indices_or_sections",), linear=("ary",))
def array_split(ary, indices_or_sections, axis=0):
    y = np.array_split(ary, indices_or_sections, axis)
    shapes, ary_shape = shapes_of(y), shape(ary)

    def pullback(y_bar):
        return assemble(y_bar, shapes, axis, indices_or_sections, ary_shape), None, None

    return y, pullback


@rrule(np.vsplit, kind="tuple", flat=("indices_or_sections",), linear=("ary",))
def vsplit(ary, indices_or_sections):
    y = np.vsplit(ary, indices_or_sections)
    shapes, ary_shape = shapes_of(y), shape(ary)

    def pullback(y_bar):
        return assemble(y_bar, shapes, 0, indices_or_sections, ary_shape), None

    return y, pullback


@rrule(np.hsplit, kind="tuple", flat=("indices_or_sections",), linear=("ary",))
def hsplit(ary, indices_or_sections):
    y = np.hsplit(ary, indices_or_sections)
    shapes, ary_shape = shapes_of(y), shape(ary)
    axis = min(ndim(ary) - 1, 1)

    def pullback(y_bar):
        return assemble(y_bar, shapes, axis, indices_or_sections, ary_shape), None

    return y, pullback


@rrule(np.dsplit, kind="tuple", flat=("indices_or_sections",), linear=("ary",))
def dsplit(ary, indices_or_sections):
    y = np.dsplit(ary, indices_or_sections)
    shapes, ary_shape = shapes_of(y), shape(ary)

    def pullback(y_bar):
        return assemble(y_bar, shapes, 2, indices_or_sections, ary_shape), None

    return y, pullback


def unstack(x, *, axis=0):
    y = np.unstack(x, axis=axis)
    x_shape = shape(x)

    def pullback(y_bar):
        return unstack_bar(y_bar, x_shape, axis), None

    return y, pullback


if hasattr(np, "unstack"):  # from NumPy 2.1 on
    rrule(np.unstack, result="view", kind="tuple", linear=("x",))(unstack)
