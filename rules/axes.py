"""Rules for functions that give the axes or the elements of an array another order."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.layout import inverse_axes, rollaxis_bar, transpose_bar
from adcompiler.runtime.shapes import ndim

# Axes in another order


@rrule(np.transpose, result="view", kind="transpose", flat=("axes",), linear=("a",))
def transpose(a, axes=None):
    y = np.transpose(a, axes)

    def pullback(y_bar):
        if axes is None:
            a_bar = np.transpose(y_bar)
        else:
            a_bar = np.transpose(y_bar, inverse_axes(axes))
        return a_bar, None

    return y, pullback


@rrule(np.ndarray.transpose, result="view", kind="transpose", flat=("axes",), linear=("a",))
def transpose_method(a, *axes):
    y = a.transpose(*axes)

    def pullback(y_bar):
        return transpose_bar(y_bar, axes), None

    return y, pullback


@rrule(np.ndarray.T, result="view", kind="transpose", linear=("a",))
def transpose_attribute(a):
    y = a.T

    def pullback(y_bar):
        if ndim(a) > 0:
            a_bar = y_bar.T
        else:
            a_bar = np.transpose(y_bar)
        return (a_bar,)

    return y, pullback


@rrule(np.ndarray.mT, result="view", kind="transpose", linear=("a",))
def matrix_transpose_attribute(a):
    y = a.mT

    def pullback(y_bar):
        return (y_bar.mT,)

    return y, pullback


@rrule(np.matrix_transpose, np.linalg.matrix_transpose, result="view", kind="transpose", linear=("x",))
def matrix_transpose(x):
    y = np.matrix_transpose(x)

    def pullback(y_bar):
        return (y_bar.mT,)

    return y, pullback


@rrule(np.swapaxes, np.ndarray.swapaxes, result="view", kind="transpose", linear=("a",))
def swapaxes(a, axis1, axis2):
    y = np.swapaxes(a, axis1, axis2)

    def pullback(y_bar):
        return y_bar.swapaxes(axis1, axis2), None, None

    return y, pullback


@rrule(np.moveaxis, result="view", kind="transpose", flat=("source", "destination"), linear=("a",))
def moveaxis(a, source, destination):
    y = np.moveaxis(a, source, destination)

    def pullback(y_bar):
        return np.moveaxis(y_bar, destination, source), None, None

    return y, pullback


@rrule(np.rollaxis, result="view", kind="transpose", linear=("a",))
def rollaxis(a, axis, start=0):
    y = np.rollaxis(a, axis, start)

    def pullback(y_bar):
        return rollaxis_bar(y_bar, axis, start), None, None

    return y, pullback


# Elements in another order


@rrule(np.flip, result="view", kind="like", flat=("axis",), linear=("m",))
def flip(m, axis=None):
    y = np.flip(m, axis)

    def pullback(y_bar):
        return np.flip(y_bar, axis), None

    return y, pullback


@rrule(np.flipud, result="view", kind="like", linear=("m",))
def flipud(m):
    y = np.flipud(m)

    def pullback(y_bar):
        return (y_bar[::-1],)

    return y, pullback


@rrule(np.fliplr, result="view", kind="like", linear=("m",))
def fliplr(m):
    y = np.fliplr(m)

    def pullback(y_bar):
        return (y_bar[:, ::-1],)

    return y, pullback


@rrule(np.roll, result="fresh", kind="like", flat=("shift", "axis"), linear=("a",))
def roll(a, shift, axis=None):
    y = np.roll(a, shift, axis)

    def pullback(y_bar):
        return np.roll(y_bar, np.negative(shift), axis), None, None

    return y, pullback


@rrule(np.rot90, result="view", kind="transpose", flat=("axes",), linear=("m",))
def rot90(m, k=1, axes=(0, 1)):
    y = np.rot90(m, k, axes)

    def pullback(y_bar):
        return np.rot90(y_bar, -k, axes), None, None

    return y, pullback
