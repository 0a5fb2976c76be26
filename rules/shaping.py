"""Rules for functions that give the elements of an array another shape."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.conversion import set_only
from adcompiler.runtime.layout import atleast_bars, broadcast_bars, read_order, reshape, shapes_of
from adcompiler.runtime.shapes import fit
from adcompiler.runtime.shapes import shape as shape_of

# Another shape for the same elements


@rrule(np.reshape, result="same", kind="reshape", flat=("shape",), linear=("a",))
def reshape_function(a, shape, order="C", *, copy=None):
    y = np.reshape(a, shape, order, **set_only(copy=copy))
    a_shape = shape_of(a)
    a_order = read_order(a, order)

    def pullback(y_bar):
        if order == "C":
            a_bar = reshape(y_bar, a_shape)
        else:
            a_bar = reshape(y_bar, a_shape, a_order)
        return a_bar, None, None, None

    return y, pullback


@rrule(np.ndarray.reshape, result="same", kind="reshape", flat=("shape",), linear=("a",))
def reshape_method(a, *shape, order="C", copy=None):
    y = a.reshape(*shape, order=order, **set_only(copy=copy))
    a_shape = shape_of(a)
    a_order = read_order(a, order)

    def pullback(y_bar):
        if order == "C":
            a_bar = reshape(y_bar, a_shape)
        else:
            a_bar = reshape(y_bar, a_shape, a_order)
        return a_bar, None, None, None

    return y, pullback


@rrule(np.ndarray.flat, result="view", kind="number", linear=("a",))
def flat(a):
    y = a.flat
    a_shape = shape_of(a)

    def pullback(y_bar):
        return (reshape(y_bar, a_shape),)

    return y, pullback


@rrule(np.ravel, np.ndarray.ravel, result="same", kind="array1", linear=("a",))
def ravel(a, order="C"):
    y = np.ravel(a, order)
    a_shape = shape_of(a)
    a_order = read_order(a, order)

    def pullback(y_bar):
        if order == "C":
            a_bar = reshape(y_bar, a_shape)
        else:
            a_bar = reshape(y_bar, a_shape, a_order)
        return a_bar, None

    return y, pullback


@rrule(np.ndarray.flatten, result="fresh", kind="array1", linear=("a",))
def flatten(a, order="C"):
    y = a.flatten(order)
    a_shape = shape_of(a)
    a_order = read_order(a, order)

    def pullback(y_bar):
        if order == "C":
            a_bar = reshape(y_bar, a_shape)
        else:
            a_bar = reshape(y_bar, a_shape, a_order)
        return a_bar, None

    return y, pullback


@rrule(np.expand_dims, result="view", kind="expand_dims", flat=("axis",), linear=("a",))
def expand_dims(a, axis):
    y = np.expand_dims(a, axis)
    a_shape = shape_of(a)

    def pullback(y_bar):
        return reshape(y_bar, a_shape), None

    return y, pullback


@rrule(np.squeeze, np.ndarray.squeeze, result="same", kind="array", flat=("axis",), linear=("a",))
def squeeze(a, axis=None):
    y = np.squeeze(a, axis)
    a_shape = shape_of(a)

    def pullback(y_bar):
        return reshape(y_bar, a_shape), None

    return y, pullback


@rrule(np.atleast_1d, result="same", linear=("arys",))
def atleast_1d(*arys):
    y = np.atleast_1d(*arys)
    shapes = shapes_of(arys)

    def pullback(y_bar):
        return (atleast_bars(y_bar, shapes),)

    return y, pullback


@rrule(np.atleast_2d, result="same", linear=("arys",))
def atleast_2d(*arys):
    y = np.atleast_2d(*arys)
    shapes = shapes_of(arys)

    def pullback(y_bar):
        return (atleast_bars(y_bar, shapes),)

    return y, pullback


@rrule(np.atleast_3d, result="same", linear=("arys",))
def atleast_3d(*arys):
    y = np.atleast_3d(*arys)
    shapes = shapes_of(arys)

    def pullback(y_bar):
        return (atleast_bars(y_bar, shapes),)

    return y, pullback


# Another shape for elements that are repeated


@rrule(np.broadcast_to, result="view", kind="broadcast_to", flat=("shape",), linear=("array",))
def broadcast_to(array, shape, subok=False):
    y = np.broadcast_to(array, shape, subok)
    array_shape = shape_of(array)

    def pullback(y_bar):
        return fit(y_bar, array_shape), None, None

    return y, pullback


@rrule(np.broadcast_arrays, kind="tuple", linear=("args",))
def broadcast_arrays(*args, subok=False):
    y = np.broadcast_arrays(*args, subok=subok)
    shapes = shapes_of(args)

    def pullback(y_bar):
        return broadcast_bars(y_bar, shapes), None

    return y, pullback
