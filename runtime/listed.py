"""Lists and tuples of numbers given to functions that compute with arrays: the rule gets arrays of them."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from adcompiler.runtime.domain import NUMBERS, foreign_module

_SEQUENCES = (list, tuple)


def in_arrays(rule: Any, key: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """`values`, and arrays in place of lists of floats; a rule that takes objects gets them as they are.

    A tuple is an option with a structure of its own as often as not: it is taken for an array by ufuncs only.
    """
    computes = isinstance(key, np.ufunc | types.FunctionType | types.BuiltinFunctionType) and _is_numeric(key)
    if not rule.builtin or rule.accepts or not computes:
        return values
    taken = _SEQUENCES if isinstance(key, np.ufunc) else (list,)
    return tuple(_in_array(value) if type(value) in taken else value for value in values)


def listed(bar: Any, value: Any) -> Any:
    """The cotangent of a sequence of numbers, from that of the array in its place; of all else (None) the same."""
    if value is None or not hasattr(bar, "tolist"):
        return bar
    return _like(bar.tolist(), value)


def _is_numeric(key: Any) -> bool:
    return isinstance(key, np.ufunc) or foreign_module(key)


def _in_array(value: Any) -> Any:
    if not _has_float(value):
        return value
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return value
    return array if array.dtype.kind in "fc" else value


def _has_float(value: Any) -> bool:
    """Whether a sequence is of numbers all through, some of them no whole ones."""
    found = False
    for item in value:
        if type(item) in _SEQUENCES:
            if not _has_float(item):
                return False
            found = True
        elif not isinstance(item, NUMBERS) or isinstance(item, np.void | np.object_ | np.str_ | np.bytes_):
            return False
        else:
            found = found or isinstance(item, float | complex | np.inexact)
    return found


def _like(items: Any, value: Any) -> Any:
    if type(value) not in _SEQUENCES:
        return items
    return type(value)(map(_like, items, value))
