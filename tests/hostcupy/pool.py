"""The memory of the real CuPy, as the tests of single use ask for it: its arrays, its peak, a limit."""

import contextlib
import gc

import cupy
import numpy as np

from benchmarks.release import CuPy


class Pool(CuPy):
    """The memory of a new pool of CuPy's."""

    def __init__(self):
        super().__init__()
        self.pool = cupy.cuda.MemoryPool()

    def arrays(self, value):
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.arrays, value))
        return cupy.array(value) if isinstance(value, (np.ndarray, np.generic)) else value

    def out(self):
        """The bytes that are out now."""
        return self.pool.used_bytes()

    @contextlib.contextmanager
    def limited(self, more):
        """Not more than so many bytes above what is out now."""
        gc.collect()
        self.pool.free_all_blocks()
        self.pool.set_limit(self.pool.total_bytes() + more)
        try:
            yield
        finally:
            self.pool.set_limit(0)

    def lent(self, value):
        """An array in memory that is another array's, of which CuPy knows only the address."""
        return cupy.asarray(Lent(value))

    @contextlib.contextmanager
    def without_pool(self):
        """New arrays have no pool."""
        cupy.cuda.set_allocator(None)
        try:
            yield
        finally:
            cupy.cuda.set_allocator(self.pool.malloc)


class Lent:
    """An array of another library."""

    def __init__(self, value):
        self.own = cupy.array(value)
        self.__cuda_array_interface__ = self.own.__cuda_array_interface__
