"""Facts: the questions a rule may ask in an ``if``. The compiler folds them when it knows the answer.

Each one is also an ordinary function, so that a rule can be called as it stands. A fact answers False when in doubt:
the arm it opens is a fast form, and the final ``else`` of the rule is right in every case.
"""

from types import EllipsisType
from typing import Any

import numpy as np

_CONSTANTS = (bool, int, np.integer, np.bool_, str, bytes, type(None), type, slice, range, EllipsisType)


def is_static(x: Any) -> bool:
    """Whether `x` is a constant that never carries a derivative: an int, bool, str, None, slice or a tuple of these.

    The compiler also answers True for a literal float in the user's text. A float that arrives at run time may be
    active, so here it is not static.
    """
    if isinstance(x, tuple):
        return all(is_static(entry) for entry in x)
    return isinstance(x, _CONSTANTS)


def is_basic(index: Any) -> bool:
    """Whether ``x[index]`` is basic indexing (ints, slices, None, Ellipsis), so every element is read at most once."""
    if type(index) is tuple:
        return all(_is_basic_entry(entry) for entry in index)
    return _is_basic_entry(index)


def _is_basic_entry(entry: Any) -> bool:
    kind = type(entry)
    # A bool is an int to Python, but NumPy reads it as a mask of no dimensions.
    return kind is int or kind is slice or entry is None or entry is Ellipsis or isinstance(entry, np.integer)


def is_mask(index: Any) -> bool:
    """Whether `index` is one boolean mask (an array, a list or a bool), so every element is read at most once."""
    if isinstance(index, (bool, np.bool_)):
        return True
    if isinstance(index, list):
        return np.asarray(index).dtype.kind == "b"
    dtype = getattr(index, "dtype", None)
    return dtype is not None and dtype.kind == "b"
