"""Rules for what CuPy has and NumPy has not: copies between host and device, and arrays made on the device.

Imported as soon as a user has imported `cupy`. The other functions of CuPy have the rules of their twins in NumPy.
"""

import types

import cupy
import cupyx
import numpy as np

from adcompiler.rules.registry import lookup, non_differentiable, refused, rrule
from adcompiler.runtime.arrays import home_of, moved_home
from adcompiler.runtime.layout import cast_bar, reshape
from adcompiler.runtime.shapes import shape
from adcompiler.runtime.writes import WRITES, Write
from adcompiler.runtime.writes_indexed import keep_at, reverse_add_at

# Copies between host and device: the cotangent goes back to where the argument is


@rrule(cupy.asnumpy, result="same", kind="like")
def asnumpy(a, stream=None, order="C", *, blocking=True):
    y = cupy.asnumpy(a, stream, order, blocking=blocking)
    home = home_of(a)

    def pullback(y_bar):
        return moved_home(y_bar, home), None, None, None

    return y, pullback


@rrule(cupy.ndarray.get, result="fresh", kind="like")
def get(self, stream=None, order="C", *, blocking=True):
    y = self.get(stream, order, blocking=blocking)
    home = home_of(self)

    def pullback(y_bar):
        return moved_home(y_bar, home), None, None, None

    return y, pullback


@rrule(cupy.array, result="fresh", kind="array")
def array(obj, dtype=None, *, order="K", ndmin=0, blocking=False):
    y = cupy.array(obj, dtype, order=order, ndmin=ndmin, blocking=blocking)
    obj_shape, home, y_dtype = shape(obj), home_of(obj), y.dtype

    def pullback(y_bar):
        return moved_home(cast_bar(reshape(y_bar, obj_shape), y_dtype), home), None, None, None, None

    return y, pullback


@rrule(cupy.array, result="same", kind="array", general=True)
def array_without_copy(obj, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, blocking=False):
    y = cupy.array(obj, dtype, copy, order, subok, ndmin, blocking=blocking)
    obj_shape, home, y_dtype = shape(obj), home_of(obj), y.dtype

    def pullback(y_bar):
        return moved_home(cast_bar(reshape(y_bar, obj_shape), y_dtype), home), None, None, None, None, None, None

    return y, pullback


@rrule(cupy.asarray, cupy.asanyarray, result="same", kind="array")
def asarray(a, dtype=None, order=None, *, copy=None, blocking=False):
    y = cupy.asarray(a, dtype, order, copy=copy, blocking=blocking)
    home, y_dtype = home_of(a), y.dtype

    def pullback(y_bar):
        return moved_home(cast_bar(y_bar, y_dtype), home), None, None, None, None

    return y, pullback


# Arrays made on the device: the text of NumPy's rules, in which `np` is CuPy

MADE_THERE = ("arange", "ascontiguousarray", "asfortranarray", "full", "geomspace", "linspace", "logspace", "tri")


def read_with_cupy(rule):
    """The function of a rule with another meaning of `np`."""
    function = rule.function
    names = function.__globals__ | {"np": cupy}
    read = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    read.__kwdefaults__ = function.__kwdefaults__
    return read


for name in MADE_THERE:
    if hasattr(cupy, name):
        for i, found in enumerate(lookup(getattr(np, name))):
            declare = rrule(getattr(cupy, name), result=found.result, kind=found.kind, flat=found.flat, general=i > 0)
            declare(read_with_cupy(found))

# Descriptions

non_differentiable(cupy.ndarray.device, cupy.ndarray.data, cupy.ndarray.cstruct, cupy.get_array_module, kind="other")

# Writes

SCATTER_ADD = Write("cupyx.scatter_add", keep_at, reverse_add_at, ("slices", "value"))
WRITES[cupyx.scatter_add] = WRITES[cupy.ndarray.scatter_add] = SCATTER_ADD

WRITE = "it writes into its first argument, whose earlier values are gone\nMake a new array: "
refused(cupyx.scatter_max, cupyx.scatter_min, why=WRITE + "np.maximum or np.minimum of two arrays.")
