"""The double of `cupy.ndarray`, on NumPy: its manners with memory, its dispatch protocol, its refusals.

* Results are arrays, also those of shape (); `x[0]` and `x.T` are views, and `x += y` writes into what `x` has.
* Nothing becomes an array of NumPy by itself: `.get()` copies. An array of NumPy is no operand; it may be an index.
* Views that begin where their base begins share its pointer; slices and broadcast views have a pointer of their own.
* What was freed keeps its shape and dtype. Everything else raises UseAfterFree, which names the line of the free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tests.device.pool import Memory, MemoryPointer, allocated

# Functions that make a pointer even for the first element, and those that take indices of NumPy beside it.
_POINTING = frozenset("broadcast_to broadcast_arrays diagonal split array_split hsplit vsplit dsplit unstack".split())
_CONVERTING = frozenset("array asarray asanyarray ascontiguousarray asfortranarray".split())
_INDEXING = frozenset("take delete take_along_axis put put_along_axis place putmask tensordot transpose".split())


class DeviceArray(NDArrayOperatorsMixin):
    """An array on the double of a device; `DeviceArray(shape, dtype, memptr, strides)` as in CuPy."""

    __slots__ = ("__weakref__", "_array", "_base", "_data")
    __array_priority__ = 100

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None) -> None:
        if memptr is None:
            self._set(np.empty(shape, dtype), None, None)
            return
        memptr.mem.check()
        memory = memptr.mem.bytes()
        array = np.ndarray(shape, dtype, memory, memptr.ptr - memptr.mem.ptr, strides)
        self._set(array, memptr, None)

    def _set(self, array: np.ndarray, data: MemoryPointer | None, base: DeviceArray | None) -> None:
        if array.dtype.kind not in "biufc" or array.dtype.char in "gG":
            raise TypeError(f"Unsupported dtype {array.dtype}")
        self._array = array
        self._data = MemoryPointer(allocated(array), 0) if data is None else data
        self._base = base

    @property
    def array(self) -> np.ndarray:
        """The numbers: whoever wants to see or change them goes through here."""
        self._data.mem.check()
        return self._array

    # Other methods are NumPy's, put in below.
    data = property(lambda self: self._data)
    base = property(lambda self: self._base)
    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    size = property(lambda self: self._array.size)
    nbytes = property(lambda self: self._array.nbytes)
    itemsize = property(lambda self: self._array.itemsize)
    strides = property(lambda self: self._array.strides)
    T = property(lambda self: wrapped(self.array.T, [self]))
    mT = property(lambda self: wrapped(self.array.mT, [self]))
    real = property(lambda self: wrapped(self.array.real, [self]))
    imag = property(lambda self: wrapped(self.array.imag, [self]))

    @real.setter
    def real(self, value: Any) -> None:
        self.array.real = on_host(value)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.array.imag = on_host(value)

    @property
    def flags(self) -> SimpleNamespace:
        """Without `writeable`, which CuPy does not have."""
        own = self._array.flags
        contiguous = {"c_contiguous": own.c_contiguous, "f_contiguous": own.f_contiguous}
        return SimpleNamespace(**contiguous, owndata=self._base is None)

    def free(self) -> None:
        """Give the memory back, under every view of it."""
        self._data.mem.free()  # type: ignore[attr-defined]  # that of arrays without elements cannot be freed

    def get(self) -> np.ndarray:
        """A copy as an array of NumPy."""
        return self.array.copy()

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Use .get()")

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[DeviceArray]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> DeviceArray:
        plain = on_host(index)
        found = self.array[plain]
        if isinstance(found, np.generic) and _is_basic(index):
            found = self.array[(*(plain if isinstance(plain, tuple) else (plain,)), ...)]
        return wrapped(found, [self], pointing=True)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, np.ndarray):
            raise ValueError("an array of NumPy cannot be assigned to an array on the device")
        self.array[on_host(index)] = on_host(value)

    def __float__(self) -> float:
        return float(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __complex__(self) -> complex:
        return complex(self.array)

    def __index__(self) -> int:
        return self.array.__index__()

    def __bool__(self) -> bool:
        return bool(self.array)

    def __format__(self, spec: str) -> str:
        return format(self.array[()], spec)

    def __repr__(self) -> str:
        return f"DeviceArray({self.array!r})"

    def __copy__(self) -> DeviceArray:
        return wrapped(self.array.copy(), [])

    def __deepcopy__(self, _: Any) -> DeviceArray:
        return wrapped(self.array.copy(order="K"), [])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        operands = inputs[::2] if method == "at" else inputs  # the other one is an index
        if any(isinstance(x, np.ndarray) for x in operands):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        if out is not None:
            kwargs["out"] = on_host(out)
        found = getattr(ufunc, method)(*map(on_host, inputs), **on_host(kwargs))
        if out is None:
            return wrapped(found, inputs)
        return out[0] if len(out) == 1 else out

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not all(issubclass(t, (DeviceArray, np.ndarray)) for t in types):
            return NotImplemented
        name = func.__name__
        host = [x for x in _all_in([args, kwargs]) if isinstance(x, np.ndarray)]
        if name not in _CONVERTING and any(x.dtype.kind not in "biu" or name not in _INDEXING for x in host):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        found = func(*on_host(args), **on_host(kwargs))
        if host and found is host[0]:
            found = found.copy()
        return wrapped(found, [args, kwargs], pointing=name in _POINTING)


def on_host(value: Any) -> Any:
    """`value` with the array of NumPy that each array stands on, also inside lists, tuples, dicts and slices."""
    if isinstance(value, DeviceArray):
        return value.array
    if isinstance(value, (tuple, list)):
        return type(value)(map(on_host, value))
    if isinstance(value, dict):
        return {key: on_host(entry) for key, entry in value.items()}
    return value


def wrapped(found: Any, inputs: Iterable[Any], pointing: bool = False) -> Any:
    """What NumPy gave, as arrays on the device: a view of one of `inputs` shares its memory; `pointing`: not the place.

    What is one of the arrays of `inputs` is that array.
    """
    if isinstance(found, np.generic) and found.dtype.kind in "biufc":
        found = np.asarray(found)
    if isinstance(found, (tuple, list)):
        entries = [wrapped(entry, inputs, pointing) for entry in found]
        return type(found)(*entries) if hasattr(found, "_fields") else type(found)(entries)
    if not isinstance(found, np.ndarray):
        return found
    owner = _owner(found)
    for x in _all_in(inputs):
        if not isinstance(x, DeviceArray):
            continue
        if x._array is found:
            return x
        if owner is _owner(x._array):
            return _view(found, x, pointing)
    if owner is found:
        return _made(found, None, None)
    return _view(found, _made(owner, None, None), pointing)


def _view(found: np.ndarray, x: DeviceArray, pointing: bool) -> DeviceArray:
    offset = _address(found) - _address(x._array)
    data = x._data + offset if pointing or offset else x._data
    found.flags.writeable = True  # CuPy's broadcast views are
    return _made(found, data, x if x._base is None else x._base)


def _made(array: np.ndarray, data: MemoryPointer | None, base: DeviceArray | None) -> DeviceArray:
    result = DeviceArray.__new__(DeviceArray)
    result._set(array, data, base)
    return result


def _method(x: DeviceArray, name: str, *args: Any, **kwargs: Any) -> Any:
    """A method of NumPy's arrays, on an array of the device."""
    if any(isinstance(y, np.ndarray) for y in _all_in([args, kwargs])) and name not in _INDEXING:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    found = getattr(x.array, name)(*on_host(args), **on_host(kwargs))
    if kwargs.get("out") is not None:
        return kwargs["out"]
    return found if name in ("item", "tolist", "tobytes") else wrapped(found, [x, args], pointing=name in _POINTING)


def _as_method(name: str) -> Any:
    """The method `name` of NumPy's arrays, for those of the device."""

    def method(self: DeviceArray, *args: Any, **kwargs: Any) -> Any:
        return _method(self, name, *args, **kwargs)

    method.__name__ = name
    return method


for _name in dir(np.ndarray):
    if not _name.startswith("_") and callable(getattr(np.ndarray, _name)) and not hasattr(DeviceArray, _name):
        setattr(DeviceArray, _name, _as_method(_name))


def _is_basic(index: Any) -> bool:
    """Whether an index of ints picks a place, and not a copy."""
    return all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in _entries(index))


def _entries(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _all_in(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _all_in(value)
        elif isinstance(value, dict):
            yield from _all_in(value.values())
        else:
            yield value


def _owner(array: np.ndarray) -> np.ndarray:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def asarray(value: Any, dtype: Any = None) -> DeviceArray:
    """`value` as an array on the device, copied there; an array of the device as it is."""
    if isinstance(value, DeviceArray):
        return value if dtype in (None, value.dtype) else value.astype(dtype)
    return _made(np.array(on_host(value), dtype, order="K"), None, None)


__all__ = ["DeviceArray", "Memory", "asarray", "on_host", "wrapped"]
