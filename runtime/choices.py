"""Parts of the rules of functions that take each element from one of several arrays or functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime.layout import Layout, collect
from adcompiler.runtime.shapes import fit


def choice_bars(c: Any, chosen: Any, choices: Layout) -> Any:
    """The cotangents of the arrays of which the `chosen` one gave each element."""
    container, shapes = choices
    bars = [fit(np.where(np.equal(chosen, i), c, 0), lengths) for i, lengths in enumerate(shapes)]
    return collect(bars, container)
