"""The NumPy or SciPy function that a CuPy one stands for. Nothing here imports CuPy."""

import functools
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

# The modules of CuPy, each with the one whose names it repeats.
_MODULES = {
    **{f"cupy{part}": f"numpy{part}" for part in ("", ".linalg", ".fft", ".random")},
    **{f"cupyx.scipy.{part}": f"scipy.{part}" for part in ("special", "linalg", "fft", "ndimage", "signal", "stats")},
}


def numpy_twin(key: Any) -> Any:
    """The function, method or attribute of NumPy or SciPy that has the public name of `key` in CuPy, or None."""
    if "cupy" not in sys.modules:
        return None
    owner = getattr(key, "__objclass__", None)
    if owner is not None:
        return getattr(np.ndarray, key.__name__, None) if owner.__module__.startswith("cupy") else None
    array = getattr(sys.modules["cupy"], "ndarray", None)
    name = getattr(key, "__name__", "")
    if name and getattr(array, name, None) is key:  # a method that is a function
        return getattr(np.ndarray, name, None)
    ufunc = getattr(key, "__self__", None)
    if type(ufunc).__module__.startswith("cupy."):  # cupy.add.reduce
        return getattr(numpy_twin(ufunc), key.__name__, None)
    for name, twins in _MODULES.items():
        module, twin_module = sys.modules.get(name), sys.modules.get(twins)
        if module is not None and twin_module is not None:
            for public in _public_names(module).get(id(key), ()):
                twin = getattr(twin_module, public, None)
                if callable(twin) and twin is not key and getattr(module, public, None) is key:
                    return twin
    return None


@functools.lru_cache(maxsize=64)
def _public_names(module: ModuleType) -> Mapping[int, tuple[str, ...]]:
    """The names of the functions in `module` by identity: a helper of CuPy that shares a name is not the function."""
    found: dict[int, tuple[str, ...]] = {}
    for name, value in vars(module).items():
        if callable(value) and not name.startswith("_"):
            found[id(value)] = (*found.get(id(value), ()), name)
    return found
