"""NumPy functions that call a function on many pieces of an array: the calls are recorded, and reversed one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.callbacks import flat, shaped
from adcompiler.runtime.layout import cast_bar
from adcompiler.runtime.shapes import fit, shape
from adcompiler.runtime.tangents import accumulate


class Recorder:
    """A function in place of `f`, which keeps the pullback of each call: by number, or by `place` where it is given."""

    def __init__(self, config: Any, f: Any, wanted: Callable[[Any], tuple[bool, ...]], numbered: bool = False) -> None:
        self.config = config
        self.f = f
        self.wanted = wanted
        self.numbered = numbered
        self.calls: dict[int, tuple[Any, Callable[[Any], Any]]] = {}
        self.prepared: dict[Any, Any] = {}
        self.__name__ = getattr(f, "__name__", "f")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        place, args = (args[0], args[1:]) if self.numbered else (len(self.calls), args)
        kinds = tuple(map(type, (*args, *kwargs.values()))), tuple(kwargs)
        if kinds not in self.prepared:
            self.prepared[kinds] = self.config.prepared(self.wanted(kwargs), self.f, *args, **kwargs)
        y, back = self.prepared[kinds](*args, **kwargs)
        self.calls[int(place)] = y, back
        return y

    def pull(self, place: int, ct: Any) -> Any:
        """The cotangents of one call: of f, of the arguments, of the keywords."""
        y, back = self.calls[place]
        if isinstance(y, tuple):
            parts = zip(ct, y, strict=True)
            return back(tuple(None if c is None else shaped(flat(c), entry) for c, entry in parts))
        return back(shaped(flat(ct), y))


class Vectorized:
    """A call of an object of np.vectorize, and its pullback."""

    def __init__(self, config: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs
        signature = function.signature
        excluded = {key + 1 if isinstance(key, int) else key for key in function.excluded}
        self.free = [i not in function.excluded for i in range(len(args))] + [
            k not in function.excluded for k in kwargs
        ]
        values = [value for value, on in zip((*args, *kwargs.values()), self.free, strict=True) if on]
        self.core = _core_ranks(signature, len(values))
        shapes = [np.shape(v)[: np.ndim(v) - rank] for v, rank in zip(values, self.core, strict=True)]
        self.shape = np.broadcast_shapes(*shapes)
        self.recorder = Recorder(config, function.pyfunc, self._wanted, numbered=True)
        again = np.vectorize(
            self.recorder,
            otypes=function.otypes,
            excluded=excluded,
            cache=function.cache,
            signature=None if signature is None else "()," + signature if values else "()" + signature,
        )
        places = np.arange(int(np.prod(self.shape))).reshape(self.shape)
        self.value = again(places, *args, **kwargs) if values or excluded else function(*args, **kwargs)

    def _wanted(self, kwargs: Any) -> tuple[bool, ...]:
        return (True,) * (1 + len(self.args) + len(kwargs))

    def pullback(self, y_bar: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """The cotangents of the function, of the arguments and of the keywords."""
        several = isinstance(self.value, tuple)
        f_bar: Any = None
        bars: list[list[Any]] = [[] for _ in self.free]
        for place, index in enumerate(np.ndindex(*self.shape)):
            ct = tuple(None if c is None else c[index] for c in y_bar) if several else np.asarray(y_bar)[index]
            one, *rest = self.recorder.pull(place, ct)
            f_bar = accumulate(f_bar, one)
            for into, bar in zip(bars, rest, strict=True):
                into.append(bar)
        ranks = iter(self.core)
        values = (*self.args, *self.kwargs.values())
        gathered = [
            self._gathered(entries, value, next(ranks)) if free else _summed(entries)
            for entries, value, free in zip(bars, values, self.free, strict=True)
        ]
        count = len(self.args)
        return f_bar, tuple(gathered[:count]), dict(zip(self.kwargs, gathered[count:], strict=True))

    def _gathered(self, entries: list[Any], value: Any, rank: int) -> Any:
        """The cotangents of the pieces of an argument, put together and summed over what was broadcast."""
        if all(entry is None for entry in entries):
            return None
        core = np.shape(value)[np.ndim(value) - rank :]
        pieces = [np.zeros(core) if entry is None else np.broadcast_to(entry, core) for entry in entries]
        whole = fit(np.reshape(pieces, (*self.shape, *core)), np.shape(value))
        return shaped(flat(whole), value)


def _core_ranks(signature: str | None, count: int) -> list[int]:
    """How many axes of each argument one call gets."""
    if signature is None:
        return [0] * count
    inputs = re.findall(r"\(([^()]*)\)", signature.split("->")[0])
    return [len([name for name in dims.split(",") if name.strip()]) for dims in inputs]


def _summed(entries: list[Any]) -> Any:
    total = None
    for entry in entries:
        total = accumulate(total, entry)
    return total


def along_axis_bars(recorder: Recorder, y_bar: Any, axis: int, arr: Any, count: int) -> tuple[Any, Any, list[Any]]:
    """The cotangents of the function, of the array and of `count` further arguments, for np.apply_along_axis."""
    arr = np.asarray(arr)
    y_bar, axis = np.asarray(y_bar), axis % arr.ndim
    arr_bar = np.zeros(arr.shape, dtype=np.result_type(arr, y_bar, "f2"))
    f_bar, more = None, [None] * count
    others = (*arr.shape[:axis], *arr.shape[axis + 1 :])
    for place, index in enumerate(np.ndindex(*others)):
        before, after = index[:axis], index[axis:]
        one, row, *rest = recorder.pull(place, y_bar[(*before, Ellipsis, *after)])
        f_bar = accumulate(f_bar, one)
        more = [accumulate(total, bar) for total, bar in zip(more, rest, strict=True)]
        if row is not None:
            arr_bar[(*before, slice(None), *after)] = row
    return f_bar, arr_bar, more


def over_axes_bars(recorder: Recorder, y_bar: Any, a: Any) -> tuple[Any, Any]:
    """The cotangents of the function and of the array, for np.apply_over_axes."""
    f_bar = None
    for place in reversed(range(len(recorder.calls))):
        one, y_bar, *_ = recorder.pull(place, y_bar)
        f_bar = accumulate(f_bar, one)
        if y_bar is None:
            return f_bar, None
    return f_bar, np.reshape(y_bar, np.shape(a))


class Pieces:
    """A call of np.piecewise, and its pullback."""

    def __init__(self, config: Any, x: Any, condlist: Any, funclist: Any, args: Any, kwargs: Any) -> None:
        self.x = np.asarray(x)
        self.count = len(args) + len(kwargs)
        wanted = (True,) * (2 + self.count)
        self.functions = [Recorder(config, f, lambda _: wanted) if callable(f) else f for f in funclist]
        self.value = np.piecewise(x, condlist, self.functions, *args, **kwargs)
        self.masks = _masks(self.x, condlist, len(self.functions))

    def pullback(self, y_bar: Any) -> tuple[Any, list[Any], list[Any]]:
        """The cotangents of x, of the functions and of the further arguments."""
        y_bar = cast_bar(np.asarray(y_bar), self.value.dtype)
        x_bar = np.zeros(self.x.shape, dtype=np.result_type(self.x, y_bar, "f2"))
        bars: list[Any] = []
        more: list[Any] = [None] * self.count
        for i, (f, mask) in enumerate(zip(self.functions, self.masks, strict=True)):
            later = np.any(self.masks[i + 1 :], axis=0) if i + 1 < len(self.masks) else np.zeros_like(mask)
            ct = np.where(later, 0.0, y_bar)[mask]
            if not isinstance(f, Recorder):
                bars.append(np.sum(ct))
            elif not f.calls:
                bars.append(None)
            else:
                one, piece, *rest = f.pull(0, fit(ct, shape(f.calls[0][0])))  # one number may fill many places
                bars.append(one)
                more = [accumulate(total, bar) for total, bar in zip(more, rest, strict=True)]
                if piece is not None:
                    x_bar[mask] += piece
        return x_bar, bars, more


def _masks(x: Any, condlist: Any, count: int) -> list[Any]:
    """The conditions of np.piecewise as masks, with that of the default."""
    if np.isscalar(condlist) or (not isinstance(condlist[0], list | np.ndarray) and x.ndim != 0):
        condlist = [condlist]
    masks = [np.broadcast_to(mask, x.shape) for mask in np.asarray(condlist, dtype=bool)]
    return masks if len(masks) == count else [*masks, ~np.any(masks, axis=0)]
