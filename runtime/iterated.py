"""What loops and unpackings take apart where its class is only known when they run: the items must be its own."""

from __future__ import annotations

import functools
import types
from typing import Any

from adcompiler.runtime.arrays import is_library_class
from adcompiler.runtime.errors import UnsupportedSyntaxError
from adcompiler.runtime.members import ABSENT, member


def check_iterated(value: Any) -> None:
    """Raise if items of an object are taken by methods of the user's, whose cotangents would go nowhere."""
    if _is_by_method(type(value)):  # type: ignore[arg-type]  # classes are hashable
        raise UnsupportedSyntaxError(
            f"the items of a {type(value).__qualname__} are taken by a loop or an unpacking\n"
            "What its class computes them from is not followed where the class is only known at run time.\n"
            "Take the fields themselves, or give a list of the items."
        )


@functools.lru_cache(maxsize=1024)
def _is_by_method(cls: type) -> bool:
    if is_library_class(cls):
        return False
    found = member(cls, "__iter__")
    return isinstance(member(cls, "__getitem__") if found is ABSENT or found is None else found, types.FunctionType)


__all__ = ["check_iterated"]
