"""Rules for functions that make sequences of numbers, grids and tables of powers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.conversion import set_only
from adcompiler.runtime.facts import is_static
from adcompiler.runtime.layout import cast_bar, shapes_of
from adcompiler.runtime.ranges import (
    fractions,
    geomspace_bar,
    line_bar,
    logspace_bars,
    meshgrid_bars,
    steps,
    vander_bar,
)
from adcompiler.runtime.shapes import fit, zeros
from adcompiler.runtime.shapes import shape as shape_of

FUNCTIONS: Any = Callable


@rrule(np.arange, result="fresh", kind="array1")
def arange(start, stop=None, step=1, dtype=None, *, device=None):
    """Not a filling of constants: it moves with its start and its step, and has a jump or none at its stop."""
    y = np.arange(start, stop, step, dtype, device=device)
    y_dtype = y.dtype

    def pullback(y_bar):
        if dtype is None:
            points_bar = y_bar
        else:
            points_bar = cast_bar(y_bar, y_dtype)
        if stop is None or is_static(start):
            start_bar = None
        else:
            start_bar = fit(points_bar, ())
        if is_static(step):
            step_bar = None
        else:
            step_bar = np.dot(points_bar, np.arange(y_bar.size))
        if is_static(stop):
            stop_bar = None
        else:
            stop_bar = 0.0
        return start_bar, stop_bar, step_bar, None, None

    return y, pullback


@rrule(np.linspace, result="fresh", kind="array", linear=("start", "stop"))
def linspace(start, stop, num=50, endpoint=True, *, dtype=None, axis=0, device=None):
    y = np.linspace(start, stop, num, endpoint, dtype=dtype, axis=axis, device=device)
    start_shape, stop_shape = shape_of(start), shape_of(stop)
    y_dtype = y.dtype

    def pullback(y_bar):
        points_bar = cast_bar(y_bar, y_dtype)
        start_bar = fit(line_bar(points_bar, 1 - fractions(num, endpoint), axis), start_shape)
        stop_bar = fit(line_bar(points_bar, fractions(num, endpoint), axis), stop_shape)
        return start_bar, stop_bar, None, None, None, None, None

    return y, pullback


@rrule(np.linspace, result="fresh", kind="unknown", general=True, linear=("start", "stop"))
def linspace_with_step(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """Opaque: a pair if `retstep` is true. The step of a single point is nan, and has no derivative."""
    y = np.linspace(start, stop, num, endpoint, retstep, dtype, axis, **set_only(device=device))
    start_shape, stop_shape = shape_of(start), shape_of(stop)
    points = y[0] if retstep else y
    points_shape, points_dtype = points.shape, points.dtype
    count = steps(num, endpoint)

    def pullback(y_bar):
        points_bar, step_bar = y_bar if retstep else (y_bar, None)
        points_bar = zeros(points_shape, step_bar) if points_bar is None else cast_bar(points_bar, points_dtype)
        slope_bar = 0.0 if step_bar is None or not count else step_bar / count
        start_bar = line_bar(points_bar, 1 - fractions(num, endpoint), axis) - slope_bar
        stop_bar = line_bar(points_bar, fractions(num, endpoint), axis) + slope_bar
        return fit(start_bar, start_shape), fit(stop_bar, stop_shape), None, None, None, None, None, None

    return y, pullback


@rrule(np.logspace, result="fresh", kind="array")
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Opaque: the three cotangents have most in common."""
    y = np.logspace(start, stop, num, endpoint, base, dtype, axis)
    y_dtype = y.dtype

    def pullback(y_bar):
        bars = logspace_bars(cast_bar(y_bar, y_dtype), start, stop, num, endpoint, base, axis)
        start_bar, stop_bar, base_bar = bars
        return start_bar, stop_bar, None, None, None if is_static(base) else base_bar, None, None

    return y, pullback


@rrule(np.geomspace, result="fresh", kind="array")
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    y = np.geomspace(start, stop, num, endpoint, dtype, axis)
    y_dtype = y.dtype

    def pullback(y_bar):
        points_bar = cast_bar(y_bar, y_dtype)
        start_bar = geomspace_bar(points_bar, y, start, 1 - fractions(num, endpoint), axis)
        stop_bar = geomspace_bar(points_bar, y, stop, fractions(num, endpoint), axis)
        return start_bar, stop_bar, None, None, None, None

    return y, pullback


@rrule(np.meshgrid, kind="tuple", linear=("xi",))
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    y = np.meshgrid(*xi, copy=copy, sparse=sparse, indexing=indexing)
    shapes = shapes_of(xi)

    def pullback(y_bar):
        return meshgrid_bars(y_bar, shapes, indexing), None, None, None

    return y, pullback


@rrule(np.vander, result="fresh", kind="array2")
def vander(x, N=None, increasing=False):
    y = np.vander(x, N, increasing)

    def pullback(y_bar):
        return vander_bar(y_bar, x, increasing), None, None

    return y, pullback
