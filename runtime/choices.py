"""Parts of the rules of functions that take each element from one of several arrays or functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import like_of, moved_to
from adcompiler.runtime.layout import Layout, collect
from adcompiler.runtime.shapes import fit


def chosen_positions(conditions: Any) -> Any:
    """Which of the choices of ``np.select(conditions, choices)`` gave each element; the default counts as the last."""
    count = len(conditions)
    if like_of(*conditions) is None:
        return np.select(conditions, list(range(count)), count)
    chosen: Any = count  # CuPy's select takes no numbers
    for i in reversed(range(count)):
        chosen = np.where(moved_to(like_of(*conditions), conditions[i]), i, chosen)
    return chosen


def choice_bars(c: Any, chosen: Any, choices: Layout) -> Any:
    """The cotangents of the arrays of which the `chosen` one gave each element."""
    container, shapes = choices
    bars = [fit(np.where(np.equal(chosen, i), c, 0), lengths) for i, lengths in enumerate(shapes)]
    return collect(bars, container)
