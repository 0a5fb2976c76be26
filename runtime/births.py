"""Values that the factory of a `defaultdict` makes: their cotangents are of the variables that the factory captures.

They wait in the table under the factory itself, by the names of its variables, until the reverse of `defaultdict(...)`.
"""

from __future__ import annotations

import types
from collections import defaultdict
from typing import Any

from adcompiler.runtime.bars import Bars
from adcompiler.runtime.dynamic import call_again
from adcompiler.runtime.held import hold
from adcompiler.runtime.shadows import refer
from adcompiler.runtime.tangents import accumulate
from adcompiler.runtime.walk import is_array, is_constant


def is_born(obj: Any, key: Any) -> bool:
    """Whether reading a key makes its value."""
    return isinstance(obj, defaultdict) and key not in obj


class Birth:
    """A value that a factory with captured variables has made."""

    __slots__ = ("count", "factory", "held")

    def __init__(self, factory: Any, value: Any) -> None:
        self.factory = factory
        self.held = refer(value) if is_array(value) else hold(value)
        self.count = len(value) if isinstance(value, list | tuple) else None

    def reverse(self, ct: Any, bars: Bars) -> None:
        """The cotangent of the value, with what has arrived in its places, goes to what the factory captures."""
        ct = accumulate(ct, bars.release(self.held, self.count))
        if ct is None:
            return
        _, back = call_again((True,), self.factory, (), {}, False)
        for name, bar in (back(ct)[0] or {}).items():
            bars.add(self.factory, name, bar)


def birth_of(obj: Any, value: Any) -> Birth | None:
    """What is noted of a value that has just been made; None if its factory captures nothing that may vary."""
    factory = obj.default_factory
    if not isinstance(factory, types.FunctionType):
        return None
    captures = not all(is_constant(cell.cell_contents) for cell in factory.__closure__ or ())
    return Birth(factory, value) if captures else None


__all__ = ["Birth", "birth_of", "is_born"]
