"""Rules for what brings a cotangent to a shape, reads at an index or writes at one: each undoes another."""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.arrays import as_array, home_of, moved_home, moved_to
from adcompiler.runtime.fourier import resize
from adcompiler.runtime.layout import (
    cast_bar,
    diagonal_bar,
    gather_bar,
    joined,
    reshape,
    reshape_bar,
    separate,
)
from adcompiler.runtime.ordering import ordered_bar, read_at, take_along_axis_bar, take_bar, trimmed_bar
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.reduction import keep_dims
from adcompiler.runtime.repeating import deleted_bar
from adcompiler.runtime.scatter import scatter
from adcompiler.runtime.shapes import broadcast, conj, expand, fit, real
from adcompiler.runtime.shapes import shape as shape_of

# Shapes


@rrule(fit, result="same", flat=("shape",), linear=("c",))
def fit_(c, shape):
    y = fit(c, shape)
    c_shape = shape_of(c)

    def pullback(y_bar):
        return fit(y_bar, c_shape), None

    return y, pullback


@rrule(broadcast, result="same", flat=("shape",), linear=("c",))
def broadcast_(c, shape):
    y = broadcast(c, shape)
    c_shape = shape_of(c)

    def pullback(y_bar):
        return fit(y_bar, c_shape), None

    return y, pullback


@rrule(expand, result="same", flat=("shape", "axis", "keepdims"), linear=("c",))
def expand_(c, shape, axis=None, keepdims=False):
    y = expand(c, shape, axis, keepdims)
    c_shape = shape_of(c)

    def pullback(y_bar):
        return fit(np.sum(y_bar, axis=axis, keepdims=keepdims), c_shape), None, None, None

    return y, pullback


@rrule(keep_dims, result="same", flat=("axis", "keepdims"), linear=("c",))
def keep_dims_(c, axis, keepdims):
    y = keep_dims(c, axis, keepdims)
    c_shape = shape_of(c)

    def pullback(y_bar):
        return reshape(y_bar, c_shape), None, None

    return y, pullback


@rrule(reshape, result="same", flat=("shape", "order"), linear=("c",))
def reshape_(c, shape, order="C"):
    y = reshape(c, shape, order)
    c_shape = shape_of(c)

    def pullback(y_bar):
        return reshape_bar(y_bar, c_shape, order), None, None

    return y, pullback


# Numbers


@rrule(conj, result="same", kind="like", linear=("c",))
def conj_(c):
    y = conj(c)

    def pullback(y_bar):
        return (conj(y_bar),)

    return y, pullback


@rrule(real, result="same", kind="like", linear=("c",))
def real_(c):
    y = real(c)

    def pullback(y_bar):
        return (real(y_bar),)

    return y, pullback


@rrule(cast_bar, result="same", flat=("dtype",), linear=("c",))
def cast(c, dtype):
    y = cast_bar(c, dtype)

    def pullback(y_bar):
        return cast_bar(y_bar, dtype), None

    return y, pullback


@rrule(as_array, result="same", linear=("x",))
def as_array_(x):
    y = as_array(x)
    x_shape = shape_of(x)

    def pullback(y_bar):
        return (reshape(y_bar, x_shape),)

    return y, pullback


@rrule(moved_to, result="same", flat=("like",), linear=("x",))
def moved_to_(like, x):
    y = moved_to(like, x)
    home = home_of(x)

    def pullback(y_bar):
        return None, moved_home(y_bar, home)

    return y, pullback


@rrule(moved_home, result="same", flat=("home",), linear=("c",))
def moved_home_(c, home):
    y = moved_home(c, home)
    before = home_of(c)

    def pullback(y_bar):
        return moved_home(y_bar, before), None

    return y, pullback


# Reading and writing at an index


@rrule(scatter, result="fresh", flat=("index", "shape"), linear=("y_bar",))
def scatter_(y_bar, index, shape):
    x_bar = scatter(y_bar, index, shape)
    y_shape = shape_of(y_bar)

    def pullback(c):
        return fit(c[index], y_shape), None, None

    return x_bar, pullback


@rrule(take_bar, result="fresh", flat=("indices", "x_shape", "axis", "mode"), linear=("c",))
def take_bar_(c, indices, x_shape, axis, mode="raise"):
    x_bar = take_bar(c, indices, x_shape, axis, mode)
    c_shape = shape_of(c)

    def pullback(y_bar):
        return fit(np.take(y_bar, read_at(indices, x_shape, axis, mode), axis), c_shape), None, None, None, None

    return x_bar, pullback


@rrule(take_along_axis_bar, result="fresh", flat=("indices", "x_shape", "axis"), linear=("c",))
def take_along_axis_bar_(c, indices, x_shape, axis):
    x_bar = take_along_axis_bar(c, indices, x_shape, axis)
    c_shape = shape_of(c)

    def pullback(y_bar):
        return fit(np.take_along_axis(y_bar, indices, axis), c_shape), None, None, None

    return x_bar, pullback


@rrule(ordered_bar, result="fresh", flat=("order", "x_shape", "axis"), linear=("c",))
def ordered_bar_(c, order, x_shape, axis):
    x_bar = ordered_bar(c, order, x_shape, axis)
    c_shape = shape_of(c)

    def pullback(y_bar):
        return fit(np.take_along_axis(y_bar, order, axis), c_shape), None, None, None

    return x_bar, pullback


@rrule(trimmed_bar, result="fresh", flat=("x_shape", "starts"), linear=("c",))
def trimmed_bar_(c, x_shape, starts):
    x_bar = trimmed_bar(c, x_shape, starts)
    index = tuple(slice(start, start + n) for start, n in zip(starts, c.shape, strict=True))

    def pullback(y_bar):
        return y_bar[index], None, None

    return x_bar, pullback


@rrule(diagonal_bar, result="fresh", flat=("x_shape", "offset", "axis1", "axis2"), linear=("c",))
def diagonal_bar_(c, x_shape, offset, axis1, axis2):
    x_bar = diagonal_bar(c, x_shape, offset, axis1, axis2)
    c_shape = shape_of(c)

    def pullback(y_bar):
        return fit(np.diagonal(y_bar, offset, axis1, axis2), c_shape), None, None, None, None

    return x_bar, pullback


@rrule(gather_bar, result="fresh", flat=("positions", "x_shape"), linear=("c",))
def gather_bar_(c, positions, x_shape):
    x_bar = gather_bar(c, positions, x_shape)
    c_shape = shape_of(c)

    def pullback(y_bar):
        return reshape(np.ravel(y_bar)[np.ravel(positions)], c_shape), None, None

    return x_bar, pullback


@rrule(deleted_bar, result="fresh", flat=("positions", "x_shape"), linear=("c",))
def deleted_bar_(c, positions, x_shape):
    x_bar = deleted_bar(c, positions, x_shape)
    c_shape = shape_of(c)

    def pullback(y_bar):
        return reshape(np.ravel(y_bar)[np.ravel(positions)], c_shape), None, None

    return x_bar, pullback


# Parts of an array


@rrule(separate, kind="unknown", flat=("arrays", "axis"))
def separate_(c, arrays, axis):
    parts = separate(c, arrays, axis)
    shapes, lengths = arrays[1], shape_of(c)

    def pullback(bars):
        return joined(bars, shapes, axis, lengths), None, None

    return parts, pullback


@rrule(joined, result="fresh", flat=("shapes", "axis", "lengths"))
def joined_(parts, shapes, axis, lengths):
    whole = joined(parts, shapes, axis, lengths)
    arrays = (type(parts), shapes)

    def pullback(c):
        return separate(c, arrays, axis), None, None, None

    return whole, pullback


@rrule(resize, result="same", flat=("length", "axis"), linear=("c",))
def resize_(c, length, axis):
    y = resize(c, length, axis)
    before = c.shape[axis]

    def pullback(y_bar):
        return resize(y_bar, before, axis), None, None

    return y, pullback


@rrule(adjoint, result="view", kind="transpose", linear=("x",))
def adjoint_(x):
    y = adjoint(x)

    def pullback(y_bar):
        return (adjoint(y_bar),)

    return y, pullback
