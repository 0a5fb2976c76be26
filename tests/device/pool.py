"""The memory of the double: a pool that counts to the byte, and allocations that know where they were freed.

`Memory`, `PooledMemory` and `MemoryPointer` are to an array what CuPy's are: `x.data.mem` owns the bytes, `x.data`
points into them, and `x.data.mem.free()` gives them back at once.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

UNIT = 512
POISON = 0xFF  # NaN in every float and complex type, -1 in signed integers
_HERE = str(Path(__file__).parent)


class UseAfterFree(RuntimeError):
    """An array is read, written or viewed whose memory was given back."""


class Pool:
    """How many bytes are out, how many were at most, and how often memory was taken and given back.

    `limit` makes what does not fit a MemoryError, as CuPy's `set_limit` does.
    """

    def __init__(self) -> None:
        self.used = 0
        self.peak = 0
        self.limit: int | None = None
        self.allocations = 0
        self.frees = 0
        self.explicit_frees = 0  # those by `free()`, which are counted in `frees` too

    def take(self, size: int) -> int:
        """Take `size` bytes, rounded up to the unit; returns how many that are."""
        size = -(-size // UNIT) * UNIT
        if self.limit is not None and self.used + size > self.limit:
            raise MemoryError(f"{size:,} bytes do not fit: {self.used:,} of {self.limit:,} are in use")
        self.used += size
        self.allocations += 1
        self.peak = max(self.peak, self.used)
        return size

    def give(self, size: int, explicit: bool) -> None:
        """Give `size` bytes back."""
        self.used -= size
        self.frees += 1
        self.explicit_frees += explicit

    def reset_peak(self) -> None:
        """Count the peak from here on."""
        self.peak = self.used


pool = Pool()


class Memory:
    """Memory without a pool, which has no `free`: that of arrays without elements."""

    def __init__(self, raw: np.ndarray) -> None:
        self.raw = raw  # the array of NumPy that owns the bytes
        self.ptr: int = raw.__array_interface__["data"][0]
        self.size = raw.nbytes

    def bytes(self) -> np.ndarray:
        """All of it, as a vector of bytes."""
        order = sorted(range(self.raw.ndim), key=lambda axis: -self.raw.strides[axis])
        found = self.raw.transpose(order).reshape(-1).view(np.uint8)
        assert np.may_share_memory(found, self.raw) or not found.size
        return found

    def check(self) -> None:
        """Raise UseAfterFree if it was freed, which this memory cannot be."""


class PooledMemory(Memory):
    """One allocation from the pool."""

    def __init__(self, raw: np.ndarray) -> None:
        self.taken = 0
        self.site: traceback.StackSummary | None = None
        self.freed = False
        self.taken = pool.take(raw.nbytes)
        super().__init__(raw)

    def free(self) -> None:
        """Give the memory back at once, whoever still refers to it. What was freed is not freed again."""
        if self.freed:
            return
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_HERE):
            frame = frame.f_back
        self.site = traceback.StackSummary.extract(traceback.walk_stack(frame), limit=3, lookup_lines=False)
        self.bytes()[...] = POISON
        self._give(explicit=True)

    def _give(self, explicit: bool) -> None:
        self.freed = True
        self.ptr = 0
        del self.raw
        taken, self.taken = self.taken, 0
        pool.give(taken, explicit)

    def __del__(self) -> None:
        if self.taken:
            self._give(explicit=False)

    def check(self) -> None:
        """Raise UseAfterFree if it was freed, with the line where that was."""
        if self.freed:
            assert self.site is not None
            where = "".join(traceback.format_list(list(reversed(self.site))))
            raise UseAfterFree(
                f"the array was freed, and is used again; it was freed here, innermost call last:\n{where}"
            )


class MemoryPointer:
    """A place in some memory; arrays that begin there may share it."""

    __slots__ = ("mem", "ptr")

    def __init__(self, mem: Memory, offset: int) -> None:
        self.mem = mem
        self.ptr = mem.ptr + offset

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)


def allocated(raw: np.ndarray) -> Memory:
    """The memory of an array of NumPy that owns its bytes."""
    return PooledMemory(raw) if raw.nbytes else Memory(raw)
