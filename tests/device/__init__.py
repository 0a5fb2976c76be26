"""A double of CuPy's arrays on NumPy, for tests of memory: exact peaks, and an error for what is used once freed."""

from tests.device.array import DeviceArray, asarray
from tests.device.pool import MemoryPointer, PooledMemory, UseAfterFree, pool

__all__ = ["DeviceArray", "MemoryPointer", "PooledMemory", "UseAfterFree", "asarray", "pool"]
