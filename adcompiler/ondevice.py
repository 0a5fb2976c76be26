"""Programs of CuPy's arrays, whose elements are views and whose sums are arrays of shape (), which `+=` writes into.

    t = x[0]                in NumPy a number, in CuPy a view
    x[0] = 2.0              t is 2.0, too
    t += 1.0                so is x[0], in the same way 3.0

Kinds say there that what would be a number in NumPy may be an array; with this, aliases, writes and what is kept for
the reverse are found as for all arrays.
"""

from __future__ import annotations

from typing import Any

from adcompiler.fromcupy import CUPY, is_from_cupy
from adcompiler.lattice import Kind, live


class Needs(Exception):
    """Raised once, when a program is found to need what is done for some programs only: `flag` of `Program`."""

    def __init__(self, flag: str) -> None:
        super().__init__(flag)
        self.flag = flag


class OnDevice:
    """What a program knows of CuPy: `on_device` says that its arrays may be of it."""

    on_device: bool

    def meet(self, value: Any) -> None:
        """Note that the program uses a value; if it is the first one of CuPy's, all begins anew."""
        if not self.on_device and is_from_cupy(value):
            raise Needs("on_device")

    def meet_module(self, name: str) -> None:
        """The same of a module that the program imports itself, and that need not be there yet."""
        if not self.on_device and name.split(".")[0] in CUPY:
            raise Needs("on_device")

    def element(self, kind: Kind) -> Kind:
        """The kind of an element or row of an array."""
        return live(kind) if self.on_device else kind


__all__ = ["Needs", "OnDevice"]
