"""Cotangents of arrays that a program writes into: one buffer, a *shadow*, for each block of memory.

What is written into may have several names: a view, a row, an item of a list.  A name's cotangent is then its own
window of the block's shadow, with the same offset, shape and strides, so that what shares memory shares cotangents.
The forward notes where an array lies (`refer`); the pullback reads, takes and adds through that note.  A block is told
by the array that owns it, which is never kept alive.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array, is_flat, library, like_of, moved_to
from adcompiler.runtime.errors import MutationError
from adcompiler.runtime.shapes import broadcast

_REAL = {"F": "f", "D": "d", "G": "g"}
_FLOATS = "efdgFDG"


class Block:
    """The memory of an array that owns it: how many bytes there are, and the float type that they hold."""

    __slots__ = ("real", "size", "start")

    def __init__(self, start: int, size: int, real: str) -> None:
        self.start = start  # of its first array
        self.size = size
        self.real = real


class Reference:
    """Where an array lies: its block, and its window there. It keeps no array alive."""

    __slots__ = ("block", "dtype", "flat", "home", "offset", "repeats", "shape", "strides")

    def __init__(self, block: Block, offset: int, x: Any, home: Any, repeats: bool = False) -> None:
        self.flat = False  # what lies there is the `.flat` of the array
        self.block = block
        self.offset = offset
        self.shape = x.shape
        self.strides = x.strides
        self.dtype = x.dtype
        self.home = home
        self.repeats = repeats  # it has some elements several times, as `broadcast_to` does
        self.flat = False  # `x.flat`

    def overlaps(self, other: Reference) -> bool:
        """Whether two arrays of a block have an element in common."""
        if 0 in self.shape or 0 in other.shape:
            return False
        spans = []
        for at in (self, other):
            reach = [(n - 1) * s for n, s in zip(at.shape, at.strides, strict=True)]
            first = at.offset + sum(min(r, 0) for r in reach)
            spans.append((first, at.offset + sum(max(r, 0) for r in reach) + at.dtype.itemsize))
        if spans[0][1] <= spans[1][0] or spans[1][1] <= spans[0][0]:
            return False
        buffer = np.empty(self.block.size, np.uint8)
        a, b = (np.ndarray(at.shape, at.dtype, buffer, at.offset, at.strides) for at in (self, other))
        return np.shares_memory(a, b)


# A block belongs to one array only while that lives: its address may then be another's.
_blocks: dict[int, tuple[Any, Block]] = {}
# Of CuPy's memory the arrays that are known to lie there: some share it that are no views, as `as_strided` gives them.
_device_blocks: dict[int, tuple[list[Any], Block]] = {}


def address(x: Any) -> int:
    """The address of an array's first element."""
    if like_of(x) is not None:
        _check_told(x)
        return int(x.data.ptr)
    return int(x.__array_interface__["data"][0])


def _bounds(x: Any) -> tuple[int, int]:
    """The addresses of the first byte of an array's elements, and of the first one behind them."""
    first = last = address(x)
    if not x.size:
        return first, last
    for count, stride in zip(x.shape, x.strides, strict=True):
        reach = (count - 1) * stride
        first, last = first + min(reach, 0), last + max(reach, 0)
    return first, last + x.itemsize


def root_of(x: Any) -> Any:
    """The array whose memory `x` is a view of, or the `.flat` of; `x` itself, if it is neither."""
    if is_flat(x):
        x = x.base
    while True:
        base = getattr(x, "base", None)
        if base is not None and not hasattr(base, "dtype"):
            base = getattr(base, "base", None)  # what `as_strided` puts in between
        if base is None or not hasattr(base, "dtype") or not hasattr(base, "strides"):
            return x
        x = base


def in_memory(x: Any) -> bool:
    """Whether a value is an array (a class of arrays has `strides`, too)."""
    return (hasattr(x, "strides") or like_of(x) is not None) and not isinstance(x, type)


def refer(x: Any) -> Reference | None:
    """Where an array of floats lies; None for a number and whatever else has no shadow."""
    if type(x) is not np.ndarray and like_of(x) is None:
        return _refer_flat(x) if is_flat(x) else None
    _check_told(x)
    code = x.dtype.char
    root = root_of(x)
    if code not in _FLOATS:
        if root.dtype.char in _FLOATS:
            raise _punned()
        return None
    real = _REAL.get(code, code)
    repeats = not (x.flags.c_contiguous or x.flags.f_contiguous) and _overlaps(x)
    if type(x) is not np.ndarray:
        block, offset = _device_block(root, real), x.data.ptr - x.data.mem.ptr
        if block.real != real:
            raise _punned()
        return Reference(block, offset, x, library(x), repeats)
    found = _blocks.get(id(root))
    if found is None or found[0]() is not root:
        if getattr(root, "base", None) is not None:
            raise _not_its_own()
        key = id(root)
        first, count = 0, root.nbytes
        if not (root.flags.c_contiguous or root.flags.f_contiguous):
            low, high = _bounds(root)
            first, count = address(root) - low, high - low
        block = Block(first, count, real)
        _blocks[key] = (weakref.ref(root, lambda _: _blocks.pop(key, None)), block)
    else:
        block = found[1]
    if block.real != real:
        raise _punned()
    return Reference(block, block.start if x is root else block.start + address(x) - address(root), x, np, repeats)


def refer_if_told(x: Any) -> Reference | None:
    """The same of what need not be written into: an array that does not say where it lies has no shadow.

    It cannot be written into, because `refer` refuses it.
    """
    return None if like_of(x) is not None and not _is_told(x) else refer(x)


def _refer_flat(iterator: Any) -> Reference | None:
    """Where the elements lie that the `.flat` of an array gives."""
    array = iterator.base
    if like_of(array) is not None:
        raise MutationError(
            "x.flat of an array on a device, which is written into\n"
            "Its items are copies there, that have no cotangent in the array's.\nUse x.ravel()."
        )
    if array.flags.c_contiguous:
        return refer(array.reshape(-1))
    at = refer(array)
    if at is not None:
        at.flat = True
    return at


def _device_block(root: Any, real: str) -> Block:
    """The block of an array of CuPy's: the memory that was allocated for it."""
    memory = root.data.mem
    key = id(memory)
    if key not in _device_blocks:
        owner = getattr(memory, "_owner", None)
        lent = type(memory).__name__ in ("UnownedMemory", "DLPackMemory")
        if lent and type(owner).__module__.split(".")[0] != "rmm":  # RMM allocates in the place of CuPy
            raise _not_its_own()
        _device_blocks[key] = [], Block(0, memory.size, real)
    known, block = _device_blocks[key]
    if all(ref() is not root for ref in known):
        known.append(weakref.ref(root, functools.partial(_forget, key)))
    return block


def _forget(key: int, dead: Any) -> None:
    """Strike out an array that is gone, and with the last one its memory."""
    known = _device_blocks[key][0]
    known.remove(dead)
    if not known:
        del _device_blocks[key]


def _is_told(x: Any) -> bool:
    """Whether an array of a library says, as CuPy's does, where it lies and whether it is a view."""
    return hasattr(getattr(x, "data", None), "mem") and hasattr(x, "base")


def _check_told(x: Any) -> None:
    if type(x) is not np.ndarray and not _is_told(x):
        name = f"{type(x).__module__}.{type(x).__qualname__}"
        raise MutationError(
            f"a {name}, which does not say where its elements lie, may be written into\n"
            "Which other arrays share its memory is not known.\nMake a new array in the place of the write."
        )


def _not_its_own() -> MutationError:
    return MutationError(
        "an array in memory that is not its own (np.frombuffer, a tensor) may be written into\n"
        "Which other arrays lie there is not known.\nUse .copy() of it."
    )


def _punned() -> MutationError:
    return MutationError(
        "an array is read with another dtype than its memory has, and is written into\n"
        "Its cotangent would have no dtype.\nUse astype(), which makes a copy."
    )


def _overlaps(x: Any) -> bool:
    """Whether two elements of an array may lie at one address."""
    if not x.size:
        return False
    reach = x.itemsize
    for stride, count in sorted((abs(s), n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (count - 1)
    return False


def references(held: Any) -> Iterator[Reference]:
    """The arrays that a value holds, by what `hold_arrays` says of it."""
    todo, seen = [held], set()
    while todo:
        part = todo.pop()
        if type(part) is Reference:
            yield part
        elif part is not None and id(part) not in seen:
            seen.add(id(part))
            parts = part if isinstance(part, tuple) else part.parts
            todo.extend(parts.values() if hasattr(parts, "values") else parts)


def _repeated() -> MutationError:
    return MutationError(
        "an array that holds some elements several times (broadcast_to, as_strided, sliding windows) shares memory "
        "with one that is written into\nWhat is written there is not followed.\nUse .copy() of it."
    )


class _Nowhere:
    """The window of an array of integers, which has no cotangent: what is added is dropped."""

    dtype = np.dtype(float)
    flags = np.zeros(0).flags
    size = ndim = 0
    shape = (0,)

    def __iadd__(self, _: Any) -> Any:
        return self

    def __getitem__(self, _: Any) -> Any:
        return self

    def __setitem__(self, index: Any, ct: Any) -> None:
        pass

    def copy(self) -> Any:
        return self

    def reshape(self, *_: Any) -> Any:
        return self


NOWHERE = _Nowhere()


class _Flat:
    """The window of the `.flat` of an array whose elements do not lie one after the other."""

    __slots__ = ("array", "dtype", "flags", "shape", "size")
    ndim = 1

    def __init__(self, array: Any) -> None:
        self.array = array
        self.dtype = array.dtype
        self.flags = array.flags
        self.size = array.size
        self.shape = (array.size,)

    def __iadd__(self, ct: Any) -> Any:
        add_into(self.array, as_array(ct).reshape(self.array.shape))
        return self

    def __getitem__(self, index: Any) -> Any:
        return self.array.flat[index]

    def __setitem__(self, index: Any, ct: Any) -> None:
        self.array.flat[index] = ct

    def copy(self) -> Any:
        return self.array.flatten()

    def add_repeated(self, index: Any, ct: Any) -> None:
        """Add at an index that may name an element several times."""
        total = self.copy()
        np.add.at(total, index, ct)
        self.array[...] = total.reshape(self.array.shape)


class Shadows:
    """The shadows of one run of a pullback."""

    __slots__ = ("_buffers",)

    def __init__(self) -> None:
        self._buffers: dict[Block, Any] = {}

    def window(self, at: Reference | None) -> Any:
        """The cotangent of an array, as a window of its block's shadow, to be added to in place."""
        if at is None:
            return NOWHERE
        if at.repeats:
            raise _repeated()
        home = at.home
        if 0 in at.shape:
            return home.zeros((0,) if at.flat else at.shape, at.dtype)
        buffer = self._buffers.get(at.block)
        if buffer is None:
            buffer = self._buffers[at.block] = home.zeros(at.block.size, np.uint8)
        if home is np:
            window = np.ndarray(at.shape, at.dtype, buffer, at.offset, at.strides)
        else:
            window = home.ndarray(at.shape, at.dtype, buffer.data + at.offset, at.strides)
        return _Flat(window) if at.flat else window

    def take_array(self, at: Reference | None) -> Any:
        """A copy of an array's cotangent, which is zero from here on; None if nothing has been added there."""
        if at is None or at.block not in self._buffers:
            return None
        if at.repeats:
            return self._take_once(at)
        window = self.window(at)
        taken = window.copy()
        window[...] = 0
        return taken

    def _elements(self, at: Reference) -> tuple[Any, Any]:
        """The whole shadow as a vector, and where in it each element of an array lies."""
        if at.home is not np or at.flat:
            raise _repeated()
        first = at.offset % at.dtype.itemsize
        buffer = self._buffers.setdefault(at.block, np.zeros(at.block.size, np.uint8))
        flat = np.ndarray(((at.block.size - first) // at.dtype.itemsize,), at.dtype, buffer, first)
        places = np.full(at.shape, (at.offset - first) // at.dtype.itemsize)
        for axis, (count, stride) in enumerate(zip(at.shape, at.strides, strict=True)):
            steps = np.arange(count) * (stride // at.dtype.itemsize)
            places += steps.reshape([-1 if i == axis else 1 for i in range(len(at.shape))])
        return flat, places

    def _take_once(self, at: Reference) -> Any:
        """As `take_array`, of an array with repeated elements: each has its cotangent in one of its places."""
        flat, places = self._elements(at)
        distinct, where = np.unique(places, return_index=True)
        taken = np.zeros(at.shape, at.dtype)
        taken.reshape(-1)[where] = flat[distinct]
        flat[distinct] = 0
        return taken

    def release_array(self, at: Reference | None) -> Any:
        """As `take_array`, of an array that has just been made: nothing else refers to its block before."""
        if at is None or at.block not in self._buffers:
            return None
        window = self.window(at)
        del self._buffers[at.block]
        return window

    def add_array(self, at: Reference | None, ct: Any) -> Any:
        """Add to an array's cotangent; of what has no shadow the cotangent itself is returned."""
        if at is None or ct is None:
            return ct
        if at.repeats:
            flat, places = self._elements(at)
            whole = np.zeros(at.shape, at.dtype)
            add_into(whole, ct)
            np.add.at(flat, places, whole)
        else:
            add_into(self.window(at), ct)
        return None


def check_unshared(made: Any, *operands: Any) -> None:
    """Refuse what a function without derivative gives, if that is its argument, or a view of it."""
    if in_memory(made) and any(in_memory(a) and root_of(a) is root_of(made) for a in operands):
        raise MutationError(
            "the derivative of an array is dropped, which is written into\n"
            "With the memory, what is written has one name with a derivative and one without.\nPass a copy: x.copy()."
        )


def real_like(ct: Any, window: Any) -> Any:
    """A cotangent as it is added into a window: of a real array its real part."""
    return ct if window.dtype.kind == "c" else ct.real


def add_into(window: Any, ct: Any) -> None:
    """Add a cotangent into a window, which is real where the array is."""
    if ct is None or window is NOWHERE:
        return
    if type(window) is _Flat:
        window += ct
        return
    if isinstance(ct, list | tuple):
        for i, part in enumerate(ct):
            add_into(window[i : i + 1].reshape(window.shape[1:]) if window.ndim else window, part)
        return
    ct = as_array(ct)
    if like_of(window) is not None and like_of(ct) is None:
        ct = moved_to(window, ct)
    if ct.dtype.kind == "c" and window.dtype.kind != "c":
        ct = ct.real
    if ct.shape != window.shape:
        ct = broadcast(ct, window.shape)
    # A sum in a wider type than the array's is rounded to it.
    np.add(window, ct, out=window, casting="same_kind")
