"""Real CuPy on host memory, part 3: kernels are loaded from shared libraries, and run when they are launched.

CuPy generates the CUDA C++ of a kernel and hands it to `cupy.cuda.compiler._compile_module_with_cache`, which is
replaced here: the same text goes to the C++ compiler. Threads of a block run one after the other, or as fibers where
the kernel waits for all of them.
"""

import ctypes
from typing import Any

from tests.hostcupy.compiler import build
from tests.hostcupy.memory import Host, override


def install(host: Host) -> None:
    """Have kernels compiled for, loaded into and run by this process."""
    import cupy_backends.cuda.api.driver as driver
    import cupy_backends.cuda.libs.nvrtc as nvrtc

    loaded = Loaded(host)
    override(driver, "moduleLoadData", loaded.load)
    override(driver, "moduleGetFunction", loaded.function)
    override(driver, "moduleUnload", lambda module: None)
    override(driver, "launchKernel", loaded.launch)
    override(driver, "ctxGetCurrent", lambda: 1)
    override(driver, "funcGetAttribute", lambda attribute, function: 1024 if attribute == 0 else 0)
    override(nvrtc, "getVersion", lambda: (12, 0))

    import cupy.cuda.compiler
    import cupy.cuda.function

    def compile_module(source: str, options: tuple[str, ...] = (), *_: Any, **__: Any) -> Any:
        module = cupy.cuda.function.Module()
        module.load(f"{build(source, options)}\0{_is_one_loop(source)}".encode())
        module._set_mapping(None)
        return module

    cupy.cuda.compiler._compile_module_with_cache = compile_module


def _is_one_loop(source: str) -> bool:
    """Whether one thread covers the whole range, as it does in CuPy's elementwise kernels."""
    body = source.rsplit("#include", 1)[-1]
    return "CUPY_FOR" in body and "__sync" not in body and "blockIdx" not in body


class Loaded:
    """Modules and functions by the handles that CuPy knows them by."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.modules: dict[int, tuple[ctypes.CDLL, bool]] = {}
        self.functions: dict[int, tuple[Any, bool]] = {}

    def load(self, image: bytes) -> int:
        """cuModuleLoadData, of the path of a library and whether its kernels are one loop."""
        path, one_loop = image.decode().split("\0")
        handle = 0x10000 + len(self.modules)
        self.modules[handle] = ctypes.CDLL(path), one_loop == "True"
        return handle

    def function(self, module: int, name: str) -> int:
        """cuModuleGetFunction."""
        library, one_loop = self.modules[module]
        entry = getattr(library, f"{name}__on_host")
        entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        entry.restype = None
        handle = 0x20000 + len(self.functions)
        self.functions[handle] = entry, one_loop
        return handle

    def launch(self, function: int, *sizes_and_parameters: int) -> None:
        """cuLaunchKernel: the grid, the block, shared memory, the stream, the parameters."""
        entry, one_loop = self.functions[function]
        sizes = (1,) * 6 if one_loop else sizes_and_parameters[:6]
        self.host.launches += 1
        entry(sizes_and_parameters[8], (ctypes.c_uint * 6)(*sizes))
