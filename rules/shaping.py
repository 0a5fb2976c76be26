"""Rules for functions that give an array another shape, or its axes or elements another order."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.layout import (
    atleast_bars,
    diag_bar,
    inverse_axes,
    read_order,
    reshape,
    rollaxis_bar,
    shapes_of,
    transpose_bar,
)
from adcompiler.runtime.shapes import fit, ndim
from adcompiler.runtime.shapes import shape as shape_of

# Axes in another order


@rrule(np.transpose, result="view", kind="transpose")
def transpose(a, axes=None):
    y = np.transpose(a, axes)

    def pullback(y_bar):
        if axes is None:
            a_bar = np.transpose(y_bar)
        else:
            a_bar = np.transpose(y_bar, inverse_axes(axes))
        return a_bar, None

    return y, pullback


@rrule(np.ndarray.transpose, result="view", kind="transpose")
def transpose_method(a, *axes):
    y = a.transpose(*axes)

    def pullback(y_bar):
        return transpose_bar(y_bar, axes), None

    return y, pullback


@rrule(np.ndarray.T, result="view", kind="transpose")
def transpose_attribute(a):
    y = a.T

    def pullback(y_bar):
        if ndim(a) > 0:
            a_bar = y_bar.T
        else:
            a_bar = np.transpose(y_bar)
        return (a_bar,)

    return y, pullback


@rrule(np.ndarray.mT, result="view", kind="transpose")
def matrix_transpose_attribute(a):
    y = a.mT

    def pullback(y_bar):
        return (y_bar.mT,)

    return y, pullback


@rrule(np.matrix_transpose, np.linalg.matrix_transpose, result="view", kind="transpose")
def matrix_transpose(x):
    y = np.matrix_transpose(x)

    def pullback(y_bar):
        return (y_bar.mT,)

    return y, pullback


@rrule(np.swapaxes, np.ndarray.swapaxes, result="view", kind="transpose")
def swapaxes(a, axis1, axis2):
    y = np.swapaxes(a, axis1, axis2)

    def pullback(y_bar):
        return y_bar.swapaxes(axis1, axis2), None, None

    return y, pullback


@rrule(np.moveaxis, result="view", kind="transpose")
def moveaxis(a, source, destination):
    y = np.moveaxis(a, source, destination)

    def pullback(y_bar):
        return np.moveaxis(y_bar, destination, source), None, None

    return y, pullback


@rrule(np.rollaxis, result="view", kind="transpose")
def rollaxis(a, axis, start=0):
    y = np.rollaxis(a, axis, start)

    def pullback(y_bar):
        return rollaxis_bar(y_bar, axis, start), None, None

    return y, pullback


# Another shape for the same elements


@rrule(np.reshape, result="same", kind="reshape")
def reshape_function(a, shape, order="C"):
    y = np.reshape(a, shape, order)
    a_shape = shape_of(a)
    a_order = read_order(a, order)

    def pullback(y_bar):
        if order == "C":
            a_bar = reshape(y_bar, a_shape)
        else:
            a_bar = reshape(y_bar, a_shape, a_order)
        return a_bar, None, None

    return y, pullback


@rrule(np.ndarray.reshape, result="same", kind="reshape")
def reshape_method(a, *shape, order="C"):
    y = a.reshape(*shape, order=order)
    a_shape = shape_of(a)
    a_order = read_order(a, order)

    def pullback(y_bar):
        if order == "C":
            a_bar = reshape(y_bar, a_shape)
        else:
            a_bar = reshape(y_bar, a_shape, a_order)
        return a_bar, None, None

    return y, pullback


@rrule(np.ndarray.flat, result="view", kind="number")
def flat(a):
    y = a.flat
    a_shape = shape_of(a)

    def pullback(y_bar):
        return (reshape(y_bar, a_shape),)

    return y, pullback


@rrule(np.ravel, np.ndarray.ravel, result="same", kind="array1")
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


@rrule(np.ndarray.flatten, result="fresh", kind="array1")
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


@rrule(np.expand_dims, result="view", kind="expand_dims")
def expand_dims(a, axis):
    y = np.expand_dims(a, axis)
    a_shape = shape_of(a)

    def pullback(y_bar):
        return reshape(y_bar, a_shape), None

    return y, pullback


@rrule(np.squeeze, np.ndarray.squeeze, result="same", kind="array")
def squeeze(a, axis=None):
    y = np.squeeze(a, axis)
    a_shape = shape_of(a)

    def pullback(y_bar):
        return reshape(y_bar, a_shape), None

    return y, pullback


@rrule(np.atleast_1d, result="same")
def atleast_1d(*arys):
    y = np.atleast_1d(*arys)
    shapes = shapes_of(arys)

    def pullback(y_bar):
        return (atleast_bars(y_bar, shapes),)

    return y, pullback


@rrule(np.atleast_2d, result="same")
def atleast_2d(*arys):
    y = np.atleast_2d(*arys)
    shapes = shapes_of(arys)

    def pullback(y_bar):
        return (atleast_bars(y_bar, shapes),)

    return y, pullback


@rrule(np.atleast_3d, result="same")
def atleast_3d(*arys):
    y = np.atleast_3d(*arys)
    shapes = shapes_of(arys)

    def pullback(y_bar):
        return (atleast_bars(y_bar, shapes),)

    return y, pullback


@rrule(np.broadcast_to, result="view", kind="broadcast_to")
def broadcast_to(array, shape):
    y = np.broadcast_to(array, shape)
    array_shape = shape_of(array)

    def pullback(y_bar):
        return fit(y_bar, array_shape), None

    return y, pullback


# Elements in another order


@rrule(np.flip, result="view", kind="like")
def flip(m, axis=None):
    y = np.flip(m, axis)

    def pullback(y_bar):
        return np.flip(y_bar, axis), None

    return y, pullback


@rrule(np.flipud, result="view", kind="like")
def flipud(m):
    y = np.flipud(m)

    def pullback(y_bar):
        return (y_bar[::-1],)

    return y, pullback


@rrule(np.fliplr, result="view", kind="like")
def fliplr(m):
    y = np.fliplr(m)

    def pullback(y_bar):
        return (y_bar[:, ::-1],)

    return y, pullback


@rrule(np.roll, result="fresh", kind="like")
def roll(a, shift, axis=None):
    y = np.roll(a, shift, axis)

    def pullback(y_bar):
        return np.roll(y_bar, np.negative(shift), axis), None, None

    return y, pullback


@rrule(np.rot90, result="view", kind="transpose")
def rot90(m, k=1, axes=(0, 1)):
    y = np.rot90(m, k, axes)

    def pullback(y_bar):
        return np.rot90(y_bar, -k, axes), None, None

    return y, pullback


# Triangles and diagonals


@rrule(np.tril, result="fresh", kind="array")
def tril(m, k=0):
    y = np.tril(m, k)
    m_shape = shape_of(m)

    def pullback(y_bar):
        return fit(np.tril(y_bar, k), m_shape), None

    return y, pullback


@rrule(np.triu, result="fresh", kind="array")
def triu(m, k=0):
    y = np.triu(m, k)
    m_shape = shape_of(m)

    def pullback(y_bar):
        return fit(np.triu(y_bar, k), m_shape), None

    return y, pullback


@rrule(np.diag, result="same", kind="array")
def diag(v, k=0):
    y = np.diag(v, k)
    v_shape = shape_of(v)

    def pullback(y_bar):
        if ndim(v) == 1:
            v_bar = np.diagonal(y_bar, k)
        else:
            v_bar = diag_bar(y_bar, v_shape, k)
        return v_bar, None

    return y, pullback


@rrule(np.diagflat, result="fresh", kind="array2")
def diagflat(v, k=0):
    y = np.diagflat(v, k)
    v_shape = shape_of(v)

    def pullback(y_bar):
        return reshape(np.diagonal(y_bar, k), v_shape), None

    return y, pullback
