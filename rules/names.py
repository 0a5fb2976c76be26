"""Functions by their names, where versions of a package differ in what they have."""

from types import ModuleType
from typing import Any


def existing(module: ModuleType, names: str) -> tuple[Any, ...]:
    """Those of the named functions that this version of a module has, each once."""
    return tuple(dict.fromkeys(getattr(module, name) for name in names.split() if hasattr(module, name)))
