"""Rules for NumPy functions that call a function on the pieces of an array."""

import numpy as np

from adcompiler.rules.registry import refused, rrule
from adcompiler.runtime.callbacks import taken
from adcompiler.runtime.mapped import Pieces, Recorder, Vectorized, along_axis_bars, over_axes_bars

refused(
    np.frompyfunc,
    why="The function that it makes works on objects, which have no dtype and no derivative.\n"
    "Use np.vectorize, or better operations on whole arrays.",
)


@rrule(np.vectorize, result="fresh", kind="unknown", accepts=(object,))
def vectorize(pyfunc=np._NoValue, otypes=None, doc=None, excluded=None, cache=False, signature=None):
    y = np.vectorize(pyfunc, otypes, doc, excluded, cache, signature)

    def pullback(y_bar):
        (f_bar,) = taken(y_bar, ("pyfunc",), vars(y), "np.vectorize")
        return f_bar, None, None, None, None, None

    return y, pullback


@rrule(np.vectorize.__call__, result="fresh", kind="unknown", accepts=(object,))
def vectorized(self, /, *args, config, **kwargs):
    call = Vectorized(config, self, args, kwargs)

    def pullback(y_bar):
        f_bar, args_bar, kwargs_bar = call.pullback(y_bar)
        return None if f_bar is None else {"pyfunc": f_bar}, args_bar, kwargs_bar

    return call.value, pullback


@rrule(np.apply_along_axis, result="fresh", kind="unknown", accepts=(object,))
def apply_along_axis(func1d, axis, arr, *args, config, **kwargs):
    f = Recorder(config, func1d, lambda _: (True,) * (2 + len(args) + len(kwargs)))
    y = np.apply_along_axis(f, axis, arr, *args, **kwargs)

    def pullback(y_bar):
        f_bar, arr_bar, more = along_axis_bars(f, y_bar, axis, arr, len(args) + len(kwargs))
        return f_bar, None, arr_bar, tuple(more[: len(args)]), dict(zip(kwargs, more[len(args) :], strict=True))

    return y, pullback


@rrule(np.apply_over_axes, result="fresh", kind="unknown", accepts=(object,))
def apply_over_axes(func, a, axes, *, config):
    f = Recorder(config, func, lambda _: (True, True, False))
    y = np.apply_over_axes(f, a, axes)

    def pullback(y_bar):
        f_bar, a_bar = over_axes_bars(f, y_bar, a)
        return f_bar, a_bar, None

    return y, pullback


@rrule(np.piecewise, result="fresh", kind="unknown", accepts=(object,))
def piecewise(x, condlist, funclist, *args, config, **kw):
    call = Pieces(config, x, condlist, funclist, args, kw)

    def pullback(y_bar):
        x_bar, f_bars, more = call.pullback(y_bar)
        return x_bar, None, f_bars, tuple(more[: len(args)]), dict(zip(kw, more[len(args) :], strict=True))

    return call.value, pullback


@rrule(np.fromfunction, result="fresh", kind="unknown", accepts=(object,))
def fromfunction(function, shape, *, dtype=float, config, **kwargs):
    indices = tuple(np.indices(shape, dtype=dtype))
    wanted = (True, *(False for _ in indices), *(True for _ in kwargs))
    y, back = config.vjp(wanted, function, *indices, **kwargs)

    def pullback(y_bar):
        f_bar, *bars = back(y_bar)
        return f_bar, None, None, dict(zip(kwargs, bars[len(indices) :], strict=True))

    return y, pullback
