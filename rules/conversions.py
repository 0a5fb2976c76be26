"""Rules for functions that make an array of numbers, lists or another array, with the same elements.

The cotangent of nested lists is an array: to iterate over it gives their elements' cotangents.
"""

import numpy as np

from adcompiler.rules.registry import rrule
from adcompiler.runtime.arrays import home_of
from adcompiler.runtime.conversion import set_only, tolist_bar
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.layout import cast_bar, reshape
from adcompiler.runtime.ordering import item_bar
from adcompiler.runtime.shapes import fit
from adcompiler.runtime.shapes import shape as shape_of

OTHER_BITS = (
    ".view() with another dtype reads the bits of the numbers, which has no derivative\n"
    "Use .astype() for another precision, .real and .imag for the parts of complex numbers."
)

OTHER_CLASS = (
    ".view() of another class of arrays\n"
    "Such classes have operators of their own, which are not known.\nUse a plain array: np.asarray(x)."
)

# Arrays of anything


@rrule(np.array, result="fresh", kind="array", linear=("object",))
def array(object, dtype=None, *, order="K", ndmin=0):
    y = np.array(object, dtype=dtype, order=order, ndmin=ndmin)
    object_shape = shape_of(object)
    y_dtype = y.dtype

    def pullback(y_bar):
        if ndmin == 0 and dtype is None:
            object_bar = y_bar
        else:
            object_bar = cast_bar(reshape(y_bar, object_shape), y_dtype)
        return object_bar, None, None, None

    return y, pullback


@rrule(np.array, result="same", kind="array", general=True, linear=("object",))
def array_without_copy(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    y = np.array(object, dtype=dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)
    object_shape = shape_of(object)
    y_dtype = y.dtype

    def pullback(y_bar):
        return cast_bar(reshape(y_bar, object_shape), y_dtype), None, None, None, None, None

    return y, pullback


@rrule(np.asarray, np.asanyarray, result="same", kind="array", linear=("a",))
def asarray(a, dtype=None, order=None, *, device=None, copy=None):
    y = np.asarray(a, dtype=dtype, order=order, **set_only(device=device, copy=copy))
    y_dtype = y.dtype

    def pullback(y_bar):
        if dtype is None:
            a_bar = y_bar
        else:
            a_bar = cast_bar(y_bar, y_dtype)
        return a_bar, None, None, None, None

    return y, pullback


@rrule(np.from_dlpack, result="view", kind="array", linear=("x",))
def from_dlpack(x):
    y = np.from_dlpack(x)

    def pullback(y_bar):
        return (y_bar,)

    return y, pullback


@rrule(np.asarray_chkfinite, result="same", kind="array", linear=("a",))
def asarray_chkfinite(a, dtype=None, order=None):
    y = np.asarray_chkfinite(a, dtype, order)
    y_dtype = y.dtype

    def pullback(y_bar):
        return cast_bar(y_bar, y_dtype), None, None

    return y, pullback


@rrule(np.ascontiguousarray, result="same", kind="array", linear=("a",))
def ascontiguousarray(a, dtype=None):
    y = np.ascontiguousarray(a, dtype)
    a_shape = shape_of(a)
    y_dtype = y.dtype

    def pullback(y_bar):
        return reshape(cast_bar(y_bar, y_dtype), a_shape), None

    return y, pullback


@rrule(np.asfortranarray, result="same", kind="array", linear=("a",))
def asfortranarray(a, dtype=None):
    y = np.asfortranarray(a, dtype)
    a_shape = shape_of(a)
    y_dtype = y.dtype

    def pullback(y_bar):
        return reshape(cast_bar(y_bar, y_dtype), a_shape), None

    return y, pullback


@rrule(np.require, result="same", kind="array", linear=("a",))
def require(a, dtype=None, requirements=None):
    y = np.require(a, dtype, requirements)
    y_dtype = y.dtype

    def pullback(y_bar):
        return cast_bar(y_bar, y_dtype), None, None

    return y, pullback


@rrule(np.fromiter, result="fresh", kind="array1", linear=("iter",))
def fromiter(iter, dtype, count=-1):
    """Opaque: takes lists, tuples and arrays, whose items can be read twice."""
    if not (isinstance(iter, list | tuple) or hasattr(iter, "dtype")):
        return NotImplemented
    y = np.fromiter(iter, dtype, count)
    iter_shape, y_dtype = shape_of(iter), y.dtype

    def pullback(y_bar):
        given = cast_bar(y_bar, y_dtype)
        return np.concatenate([given, np.zeros(iter_shape[0] - len(given), given.dtype)]), None, None

    return y, pullback


# Arrays of an array


@rrule(np.copy, result="fresh", kind="like", linear=("a",))
def copy(a, order="K", subok=False):
    y = np.copy(a, order, subok)

    def pullback(y_bar):
        return y_bar, None, None

    return y, pullback


@rrule(np.ndarray.copy, result="fresh", kind="like", linear=("a",))
def copy_method(a, order="C"):
    y = a.copy(order)

    def pullback(y_bar):
        return y_bar, None

    return y, pullback


@rrule(np.astype, result="same", kind="cast", linear=("x",))
def astype(x, dtype, *, copy=True, device=None):
    y = np.astype(x, dtype, copy=copy, **set_only(device=device))
    y_dtype = y.dtype

    def pullback(y_bar):
        return cast_bar(y_bar, y_dtype), None, None, None

    return y, pullback


@rrule(np.ndarray.astype, result="same", kind="cast", linear=("x",))
def astype_method(x, dtype, order="K", casting="unsafe", subok=True, copy=True):
    y = x.astype(dtype, order=order, casting=casting, subok=subok, copy=copy)
    y_dtype = y.dtype

    def pullback(y_bar):
        return cast_bar(y_bar, y_dtype), None, None, None, None, None

    return y, pullback


@rrule(np.ndarray.view, result="view", kind="like", linear=("a",))
def view(a, dtype=None, type=None):
    """Opaque: refused where the bits are read as numbers of another dtype, or by another class."""
    y = a.view(**set_only(dtype=dtype, type=type))
    if not isinstance(a, y.__class__):
        raise NoRuleError(OTHER_CLASS)
    if y.dtype != a.dtype:
        raise NoRuleError(OTHER_BITS)

    def pullback(y_bar):
        return y_bar, None, None

    return y, pullback


@rrule(np.ndarray.to_device, result="same", kind="like", linear=("a",))
def to_device(a, device, *, stream=None):
    y = a.to_device(device, stream=stream)

    def pullback(y_bar):
        return y_bar, None, None

    return y, pullback


# Numbers and lists of an array


@rrule(np.ndarray.item, kind="scalar", flat=("args",), linear=("a",))
def item(a, *args):
    y = a.item(*args)
    a_shape = shape_of(a)
    a_dtype, home = a.dtype, home_of(a)

    def pullback(y_bar):
        return item_bar(y_bar, args, a_shape, a_dtype, home), None

    return y, pullback


@rrule(np.ndarray.tolist, result="fresh", kind="list", linear=("a",))
def tolist(a):
    y = a.tolist()
    a_shape = shape_of(a)
    a_dtype = a.dtype

    def pullback(y_bar):
        return (tolist_bar(y_bar, a_shape, a_dtype),)

    return y, pullback


# Arrays of one number


@rrule(np.full, result="fresh", kind="array", flat=("shape",), linear=("fill_value",))
def full(shape, fill_value, dtype=None, order="C", *, device=None):
    y = np.full(shape, fill_value, dtype, order, device=device)
    fill_shape = shape_of(fill_value)
    y_dtype = y.dtype

    def pullback(y_bar):
        return None, fit(cast_bar(y_bar, y_dtype), fill_shape), None, None, None

    return y, pullback


@rrule(np.full_like, result="fresh", kind="array", flat=("a", "shape"), linear=("fill_value",))
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    y = np.full_like(a, fill_value, dtype, order, subok, shape, device=device)
    fill_shape = shape_of(fill_value)
    y_dtype = y.dtype

    def pullback(y_bar):
        return None, fit(cast_bar(y_bar, y_dtype), fill_shape), None, None, None, None, None

    return y, pullback
