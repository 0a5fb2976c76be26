"""Real CuPy on host memory, part 1: memory, streams and events.

CuPy's compiled modules reach the CUDA runtime and driver only through the function tables (``__pyx_capi__``) of
``cupy_backends.cuda.api.runtime`` and ``...driver``, which import without a GPU. Entries of these tables are replaced
by Python callables before `cupy` is imported: cudaMalloc becomes posix_memalign, copies become memmove, streams and
events do nothing, because everything happens at once. Whatever CuPy does above that level is its own code.
"""

import ctypes
import os
import re
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p
_libc.malloc.argtypes = [ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]
_libc.free.restype = None
_libc.posix_memalign.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]

_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype = ctypes.c_char_p
_capsule_name.argtypes = [ctypes.py_object]
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

_C_TYPES = {
    "PyObject *": ctypes.py_object,
    "intptr_t": ctypes.c_ssize_t,
    "uintmax_t": ctypes.c_size_t,
    "size_t": ctypes.c_size_t,
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "float": ctypes.c_float,
    "cudaMemcpyKind": ctypes.c_int,
    "CUdevice": ctypes.c_int,
}

DEVICE_TO_HOST = 2  # a cudaMemcpyKind

# cudaDeviceAttr -> value, those of a device of compute capability 9.0.
_ATTRIBUTES = {
    **{1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 2**31 - 1, 6: 65535, 7: 65535, 8: 49152, 10: 32, 12: 65536},
    **{13: 1_000_000, 16: 16, 39: 2048, 75: 9, 76: 0, 81: 49152, 95: 1, 97: 49152, 115: 1},
}


def override(module: ModuleType, name: str, function: Callable[..., Any]) -> None:
    """Replace one C-level function of a Cython module by a Python callable; nothing if the module has none such."""
    table = module.__pyx_capi__
    if name not in table:  # of another release of CuPy
        return
    signature = _capsule_name(table[name])
    match = re.fullmatch(r"(.*?)\s*\(([^()]*)\)", signature.decode())
    assert match, f"{module.__name__}.{name} has the signature {signature!r}"
    result, arguments = match[1], [a for a in match[2].split(", ") if a != "void"]
    given = sum("__pyx_" not in a or "obj" in a for a in arguments)  # the rest are Cython's own
    prototype = ctypes.PYFUNCTYPE(_c_type(result), *map(_c_type, arguments))
    callback = prototype(lambda *values: function(*values[:given]))
    text = ctypes.create_string_buffer(signature)
    for kept in (callback, text):  # for ever: CuPy frees memory while Python shuts down
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    table[name] = _new_capsule(ctypes.cast(callback, ctypes.c_void_p), ctypes.cast(text, ctypes.c_char_p), None)
    if hasattr(module, name):
        setattr(module, name, function)  # for callers in Python


def _c_type(name: str) -> Any:
    name = name.replace("__pyx_skip_dispatch", "").strip()
    if name.startswith("struct __pyx_opt_args"):
        return ctypes.c_void_p
    return ctypes.py_object if name.startswith("struct __pyx_obj") else _C_TYPES[name]


class Host:
    """The device in host memory. `waits` has an entry for each copy from it to the host, with the way there.

    `followed` has the streams that were told to go on after another one.
    """

    def __init__(self, total: int = 1 << 34) -> None:
        self.total = total
        self.sizes: dict[int, int] = {}
        self.in_use = 0
        self.launches = 0
        self.waits: list[traceback.StackSummary] = []
        self.followed: list[int] = []

    def malloc(self, size: int, *_: Any) -> int:
        """The address of `size` new bytes, aligned as those of CUDA."""
        pointer = ctypes.c_void_p()
        if _libc.posix_memalign(ctypes.byref(pointer), 512, max(size, 1)):
            raise MemoryError(size)
        assert pointer.value
        self.sizes[pointer.value] = size
        self.in_use += size
        return pointer.value

    def free(self, pointer: int, *_: Any) -> None:
        """Give the memory at `pointer` back."""
        self.in_use -= self.sizes.pop(pointer)
        _libc.free(pointer)

    def copy(self, target: int, source: int, size: int, kind: int, *_: Any) -> None:
        """cudaMemcpy; from the device to the host it would wait for all that was asked before."""
        if kind == DEVICE_TO_HOST:
            self.waits.append(traceback.extract_stack(limit=12))
        ctypes.memmove(target, source, size)


def install() -> Host:
    """Put host memory in the place of the device. To be called before `cupy` is imported."""
    if "cupy" in sys.modules:
        raise RuntimeError("cupy is imported already: too late to put host memory in the place of the device")
    os.environ["CUPY_ACCELERATORS"] = ""  # neither CUB nor cuTENSOR
    from cupy_backends.cuda.api import runtime

    host = Host()
    for name, function in {**_device(runtime, host), **_memory(host), **_streams(host)}.items():
        override(runtime, name, function)
    return host


def _nothing(*_: Any) -> None:
    return None


def _zero(*_: Any) -> int:
    return 0


def _device(runtime: ModuleType, host: Host) -> dict[str, Callable[..., Any]]:
    properties = {
        **{"name": b"host memory", "totalGlobalMem": host.total, "major": 9, "minor": 0, "multiProcessorCount": 1},
        **{"maxThreadsPerBlock": 1024, "warpSize": 32, "sharedMemPerBlock": 49152},
    }
    return {
        "getDeviceProperties": lambda device: properties,
        "getDevice": _zero,
        "getDeviceCount": lambda: 1,
        "setDevice": _nothing,
        "driverGetVersion": lambda: 13000,
        "_ensure_context": _nothing,
        "memGetInfo": lambda: (host.total - host.in_use, host.total),
        "deviceGetAttribute": lambda attribute, device: _ATTRIBUTES.get(attribute, 0),
        "deviceCanAccessPeer": _zero,
        "_deviceEnsurePeerAccess": _nothing,
        "pointerGetAttributes": lambda pointer: runtime.PointerAttributes(0, pointer, pointer, 2),
        "pointerGetMemoryType": _zero,
    }


def _memory(host: Host) -> dict[str, Callable[..., Any]]:
    def fill(target: int, value: int, size: int, *_: Any) -> None:
        ctypes.memset(target, value, size)

    return {
        "malloc": host.malloc,
        "mallocAsync": host.malloc,
        "mallocManaged": host.malloc,
        "free": host.free,
        "freeAsync": host.free,
        "hostAlloc": lambda size, flags: _libc.malloc(size),
        "freeHost": _libc.free,
        "memcpy": host.copy,
        "memcpyAsync": host.copy,
        "memset": fill,
        "memsetAsync": fill,
    }


def _streams(host: Host) -> dict[str, Callable[..., Any]]:
    handles = iter(range(0x1000, 1 << 40))
    makers = (
        "streamCreate",
        "streamCreateWithFlags",
        "streamCreateWithPriority",
        "eventCreate",
        "eventCreateWithFlags",
    )
    done = ("streamDestroy", "streamQuery", "eventDestroy", "eventRecord", "deviceSynchronize")
    return {
        **dict.fromkeys(makers, lambda *_: next(handles)),
        **dict.fromkeys((*done, "streamSynchronize", "eventSynchronize"), _nothing),
        **dict.fromkeys(("streamIsCapturing", "streamGetPriority", "eventQuery"), _zero),
        "streamWaitEvent": lambda stream, *_: host.followed.append(stream),
        "eventElapsedTime": lambda start, stop: 0.0,
    }
