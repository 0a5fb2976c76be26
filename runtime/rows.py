"""Many cotangents of one value at a time: `Rows` is an array to a pullback, and has one more axis in front.

    one = Rows(np.eye(n))          an array of shape (n,), n times
    t.T @ (one * s)                one product for all

An operation is done on all of them at once, exactly as it would be on each, or NotTogether is raised: then they have to
go back one by one. So nothing is done that is not written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np


class NotTogether(Exception):
    """Something cannot be done with all cotangents at once."""


class Rows(np.lib.mixins.NDArrayOperatorsMixin):
    """Arrays of one shape; `data` has them along its first axis."""

    __slots__ = ("data",)
    __adcompiler_rows__ = True

    def __init__(self, data: Any) -> None:
        self.data = data

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape[1:]  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return self.data.ndim - 1  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def real(self) -> Rows:
        return Rows(self.data.real)

    @property
    def T(self) -> Rows:
        return Rows(self.data.transpose(0, *range(self.ndim, 0, -1)))

    def _no(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotTogether

    __bool__ = __float__ = __complex__ = __int__ = __index__ = __array__ = _no

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Rows]:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, index: Any) -> Rows:
        return Rows(self.data[_behind(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        place = _behind(index)
        self.data[place] = _entries(value, self.data[place].ndim)

    def add_repeated(self, index: Any, value: Any) -> None:
        """Add at an index that may name an element several times."""
        place = _behind(index)
        np.add.at(self.data, place, _entries(value, self.data[place].ndim))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduce" and ufunc is np.add:
            return self.sum(kwargs.get("axis", 0), kwargs.get("keepdims", False))
        (out,) = kwargs.pop("out", (None,))
        if method != "__call__" or kwargs or not (out is None or out is inputs[0]):
            raise NotTogether
        if ufunc is np.matmul:
            return _product(*inputs)
        if ufunc.signature is not None or ufunc.nout != 1:
            raise NotTogether
        if out is None:
            return Rows(ufunc(*_aligned(inputs)))
        out.data[...] = ufunc(*_aligned(inputs))
        return out

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.zeros:  # `like` this
            shape = args[0] if isinstance(args[0], tuple) else (args[0],)
            return Rows(np.zeros((len(self.data), *shape), *args[1:], **kwargs))
        known = _FUNCTIONS.get(function)
        if known is None:
            raise NotTogether
        return known(*args, **kwargs)

    def sum(self, axis: Any = None, keepdims: Any = False) -> Rows:
        """The sums of each over its own axes."""
        axes = range(self.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        return Rows(self.data.sum(axis=tuple(a % self.ndim + 1 for a in axes), keepdims=bool(keepdims)))

    def reshape(self, *shape: Any) -> Rows:
        """Each in another shape, in C order."""
        new = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if not all(isinstance(n, int) for n in new):
            raise NotTogether
        return Rows(self.data.reshape(len(self.data), *new))

    def conjugate(self) -> Rows:
        """As of an array."""
        return Rows(self.data.conjugate())

    def copy(self, order: str = "C") -> Rows:
        """As of an array."""
        return Rows(self.data.copy())

    conj = conjugate


def _behind(index: Any) -> tuple[Any, ...]:
    """An index of each as one of all; arrays in it stay where they are if they are all that there is."""
    parts = index if isinstance(index, tuple) else (index,)
    basic = [p is None or p is Ellipsis or isinstance(p, slice) or type(p) is int for p in parts]
    arrays = [isinstance(p, int) or (type(p) is np.ndarray and p.dtype.kind in "iub") for p in parts]
    if not all(basic) and not all(arrays):
        raise NotTogether
    return (slice(None), *parts)


def _entries(value: Any, ndim: int) -> Any:
    """What is put into a place of so many axes; a number is the same for all."""
    if isinstance(value, Rows) and value.ndim < ndim:
        return value.data.reshape(len(value.data), *(1,) * (ndim - 1 - value.ndim), *value.shape)
    if isinstance(value, np.generic | float | int):
        return value
    raise NotTogether


def _aligned(inputs: tuple[Any, ...]) -> list[Any]:
    """The operands of an elementwise function, of which those that are no `Rows` are the same for all."""
    most = max(i.ndim if isinstance(i, Rows) else np.ndim(i) for i in inputs)
    out = []
    for i in inputs:
        if isinstance(i, Rows):
            out.append(i.data.reshape(len(i.data), *(1,) * (most - i.ndim), *i.shape))
        elif isinstance(i, np.ndarray | np.generic | float | int | complex):
            out.append(i)
        else:
            raise NotTogether
    return out


def _product(a: Any, b: Any) -> Rows:
    """Matrix products of vectors and matrices."""
    if not isinstance(a, Rows):
        if np.ndim(a) > 2:
            raise NotTogether
        if b.ndim == 1:
            return Rows(b.data @ np.asarray(a).T)
        return Rows(np.matmul(a, b.data)) if b.ndim == 2 else _none()
    if not isinstance(b, Rows):
        return Rows(np.matmul(a.data, b)) if a.ndim in (1, 2) and np.ndim(b) in (1, 2) else _none()
    return Rows(np.matmul(a.data, b.data)) if a.ndim == b.ndim == 2 else _none()


def _none() -> NoReturn:
    raise NotTogether


def _broadcast_to(x: Rows, shape: Any) -> Rows:
    shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    whole = x.data.reshape(len(x.data), *(1,) * (len(shape) - x.ndim), *x.shape)
    return Rows(np.broadcast_to(whole, (len(x.data), *shape)))


def _where(condition: Any, a: Any, b: Any) -> Rows:
    return Rows(np.where(*_aligned((condition, a, b))))


def _transpose(x: Rows, axes: Any = None) -> Rows:
    own = range(x.ndim - 1, -1, -1) if axes is None else [a % x.ndim for a in axes]
    return Rows(x.data.transpose(0, *(a + 1 for a in own)))


def _expand_dims(x: Rows, axis: Any) -> Rows:
    if not isinstance(axis, int):
        raise NotTogether
    return Rows(np.expand_dims(x.data, axis + 1 if axis >= 0 else axis))


def _along(function: Callable[..., Any]) -> Callable[..., Rows]:
    """A function along one axis, the last one if none is named."""

    def call(x: Rows, n: Any = None, axis: int = -1, norm: Any = None) -> Rows:
        return Rows(function(x.data, n, axis + 1 if axis >= 0 else axis, norm))

    return call


def _cumsum(x: Rows, axis: Any = None) -> Rows:
    if axis is None and x.ndim != 1:
        raise NotTogether
    return Rows(x.data.cumsum(-1 if axis is None else axis % x.ndim + 1))


def _solve(a: Any, b: Any) -> Rows:
    if isinstance(a, Rows) or np.ndim(a) != 2 or b.ndim not in (1, 2):
        raise NotTogether
    return Rows(np.linalg.solve(a, b.data.T).T if b.ndim == 1 else np.linalg.solve(a, b.data))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x: x.size,
    np.sum: lambda x, axis=None, keepdims=False: x.sum(axis, keepdims),
    np.reshape: lambda x, shape: x.reshape(shape),
    np.real: lambda x: x.real,
    np.broadcast_to: _broadcast_to,
    np.where: _where,
    np.transpose: _transpose,
    np.expand_dims: _expand_dims,
    np.cumsum: _cumsum,
    np.linalg.solve: _solve,
    **{f: _along(f) for f in (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft)},
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
}


__all__ = ["NotTogether", "Rows"]
