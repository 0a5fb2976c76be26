"""Readable names that collide with nothing: one table for a whole generated module."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable


class Names:
    """Hands out names that neither the user's function nor the generated text uses yet.

    `fresh("t")` counts (`t1`, `t2`, ...); `unique("x_bar")` gives the name itself if it is free, else `x_bar_1`, ...
    """

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used) | set(keyword.kwlist) | set(dir(builtins))
        self._counts: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._used

    def fresh(self, stem: str) -> str:
        """A new name made of `stem` and a number."""
        while True:
            self._counts[stem] = self._counts.get(stem, 0) + 1
            name = f"{stem}{self._counts[stem]}"
            if name not in self._used:
                self._used.add(name)
                return name

    def unique(self, name: str) -> str:
        """`name` itself, or the first of `name_1`, `name_2`, ... that is free."""
        if name not in self._used:
            self._used.add(name)
            return name
        return self.fresh(name + "_")

    def reserve(self, names: Iterable[str]) -> None:
        """Mark names as used."""
        self._used.update(names)
