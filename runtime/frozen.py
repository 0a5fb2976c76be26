"""A function as it is now, for those who call it again later: what it captured may have changed by then."""

from __future__ import annotations

import functools
import operator
from collections import deque
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from adcompiler.runtime.held import is_place
from adcompiler.runtime.members import has_plain_fields
from adcompiler.runtime.transformed import Holder
from adcompiler.runtime.walk import entries, is_array, is_constant


class Copies(dict[int, Any]):
    """What has been copied so far, by identity: with the arrays, and with containers and objects without numbers?"""

    def __init__(self, arrays: bool = True, constants: bool = True) -> None:
        super().__init__()
        self.arrays = arrays
        self.constants = constants


def frozen(value: Any, seen: Copies | None = None) -> Any:
    """`value` with copies of all that may be rebound or written into: captured variables, containers, objects, arrays.

    Functions, methods, partials and objects of classes written in Python are looked into. What has nothing inside that
    could change is returned itself.
    """
    seen = Copies() if seen is None else seen
    if id(value) in seen:
        return seen[id(value)][0]
    stays = not seen.constants and is_place(value) and not _has_numbers(value, set())
    copy = value if stays else _copied(value, seen)
    seen[id(value)] = copy, value  # the value is kept, so that its id is not used again
    return copy


def as_called(value: Any, arrays: bool) -> Any:
    """As `frozen`, for a call that is made again: containers and objects without numbers are themselves.

    `arrays`: arrays are copied, too.
    """
    return frozen(value, Copies(arrays, constants=False))


def _copied(value: Any, seen: Copies) -> Any:  # noqa: C901  one case per kind of value
    cls = type(value)
    if cls is np.ndarray:
        changes = seen.arrays and (value.flags.writeable or value.base is not None)
        return value.copy(order="K") if changes else value
    if cls is FunctionType:
        return _function(value, seen) if value.__closure__ else value
    if isinstance(value, Holder):
        return _held(value, seen)
    if cls is MethodType:
        return MethodType(value.__func__, frozen(value.__self__, seen))
    if cls is functools.partial:
        keywords = {name: frozen(entry, seen) for name, entry in value.keywords.items()}
        return functools.partial(frozen(value.func, seen), *frozen(value.args, seen), **keywords)
    if cls is list or cls is deque:
        new = value.copy()
        seen[id(value)] = new, value
        for i, entry in enumerate(value):
            new[i] = frozen(entry, seen)
        return new
    if cls is dict:
        new = {}
        seen[id(value)] = new, value
        new.update((key, frozen(entry, seen)) for key, entry in value.items())
        return new
    if cls is tuple:
        entries_now = [frozen(entry, seen) for entry in value]
        same = all(map(operator.is_, entries_now, value))
        return value if same else tuple(entries_now)
    if is_constant(value) or isinstance(value, float | complex | tuple) or not has_plain_fields(cls):
        return value
    return _object(value, seen)


def _has_numbers(value: Any, seen: set[int]) -> bool:
    """Whether there is an array, or a number with a derivative, in a value."""
    if is_array(value):
        return True
    if is_constant(value) or id(value) in seen:
        return False
    seen.add(id(value))
    children = entries(value)
    return children is None or any(_has_numbers(child, seen) for child in children.values())


def _function(function: FunctionType, seen: Copies) -> FunctionType:
    cells = tuple(CellType() for _ in function.__closure__ or ())
    new = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
    new.__kwdefaults__ = function.__kwdefaults__
    new.__qualname__, new.__module__ = function.__qualname__, function.__module__
    seen[id(function)] = new, function
    same = True
    for cell, old in zip(cells, function.__closure__ or (), strict=True):
        try:
            cell.cell_contents = frozen(old.cell_contents, seen)
        except ValueError:  # it is empty, and stays so
            continue
        same = same and cell.cell_contents is old.cell_contents and not _rebindable(old.cell_contents)
    return function if same else new


def _rebindable(value: Any) -> bool:
    """Whether a variable with this value may get another one that matters: those of functions and modules do not."""
    return not isinstance(value, (FunctionType, ModuleType, type, BuiltinFunctionType, Holder, np.ufunc, bool, str))


def _held(value: Holder, seen: Copies) -> Any:
    parts = value.held()
    copies = {name: frozen(part, seen) for name, part in parts.items()}
    return value if all(copies[name] is parts[name] for name in parts) else value.with_held(copies)


def _object(value: Any, seen: Copies) -> Any:
    try:
        new = object.__new__(type(value))
    except TypeError:
        return value
    seen[id(value)] = new, value
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            descriptor = vars(base).get(name)
            if descriptor is not None and name not in ("__dict__", "__weakref__") and hasattr(value, name):
                descriptor.__set__(new, frozen(getattr(value, name), seen))
    if hasattr(value, "__dict__"):
        vars(new).update((name, frozen(entry, seen)) for name, entry in vars(value).items())
    return new
