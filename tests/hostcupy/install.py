"""The real CuPy without a GPU: its own arrays, views, memory pool, ufuncs, reductions and indexing on host memory.

CuPy is the unchanged wheel. Only what it asks of CUDA is answered here, in four parts: memory, the C++ compiler,
kernels and libraries. No race can show, because nothing is asynchronous, and the last digits of some functions are
those of the host.
"""

import functools

from tests.hostcupy import kernels, libraries, memory


@functools.cache
def install() -> memory.Host:
    """Make `import cupy` give arrays in host memory, in this process; to be called before anything imports it."""
    host = memory.install()
    kernels.install(host)
    libraries.install()
    return host
