"""Random numbers that are drawn once more: the states of all generators that a function can reach, and their return.

They are NumPy's and Python's global ones, and those found in the arguments, in what functions have captured, in the
fields of objects, and under the global names that functions read.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from adcompiler.runtime.draws import state_of
from adcompiler.runtime.transformed import Holder
from adcompiler.runtime.walk import is_array

_SOURCES = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
_LEAVES = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype, types.BuiltinFunctionType, np.ufunc)
_LIBRARIES = frozenset({*sys.stdlib_module_names, "numpy", "scipy", "cupy", "cupyx", "adcompiler"}) - {"__main__"}
_GLOBAL: Any = np.random.normal.__self__  # type: ignore[attr-defined]  # the RandomState behind them all
_PYTHON: Any = random.random.__self__  # type: ignore[attr-defined]


States = list[tuple[Any, Any]]  # generators, each with a state


def generators(*reached: Any) -> list[Any]:
    """The global generators, and those that can be reached from some values."""
    return [_GLOBAL, _PYTHON, *_sources(reached)]


def states(sources: list[Any]) -> States:
    """The states of generators now."""
    return [(source, _state(source)) for source in sources]


def drawn_from(*reached: Any) -> States:
    """The states of all generators that can be reached from some values, for `rewind`."""
    return states(generators(*reached))


def rewind(before: States) -> States:
    """Let generators be in these states again, and draw the same numbers again; gives the states that they were in."""
    now = states([source for source, _ in before])
    for source, state in before:
        _restore(source, state)
    return now


def moved_on(before: States) -> States:
    """Those of the states that are other ones by now."""
    return [(source, state) for source, state in before if not _same(_state(source), state)]


@contextlib.contextmanager
def replayed(before: States) -> Iterator[None]:
    """Around what is to draw the same numbers as it did at these states; afterwards nobody notices."""
    now = rewind(before)
    try:
        yield
    finally:
        rewind(now)


def _state(source: Any) -> Any:
    if isinstance(source, random.Random):
        return source.getstate()
    return source.state if isinstance(source, np.random.BitGenerator) else state_of(source)


def _restore(source: Any, state: Any) -> None:
    if isinstance(source, random.Random):
        source.setstate(state)
    elif isinstance(source, np.random.RandomState):
        source.set_state(state)
    else:
        bits = source if isinstance(source, np.random.BitGenerator) else source.bit_generator
        bits.state = state


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b)


def _sources(reached: tuple[Any, ...]) -> list[Any]:
    """The generators in some values, and in what these refer to."""
    found: dict[int, Any] = {}
    seen: set[int] = set()
    todo: list[Any] = [reached]
    while todo:
        value = todo.pop()
        if isinstance(value, _LEAVES) or is_array(value) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, random.SystemRandom):
            continue  # it has no state
        if isinstance(value, _SOURCES):
            found[id(value)] = value
        else:
            todo.extend(_referred(value))
    return list(found.values())


def _referred(value: Any) -> Any:
    """What a function, method, container or object refers to."""
    if isinstance(value, types.MethodType):
        return value.__self__, value.__func__
    if isinstance(value, types.FunctionType):
        return () if _is_library(value.__module__) else _read(value)
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, Holder):
        return value.held().values()
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, list | tuple | set | frozenset):
        return value
    cls = value if isinstance(value, type) else type(value)
    if _is_library(cls.__module__):
        return list(vars(value).values()) if not isinstance(value, type) and hasattr(value, "__dict__") else ()
    members = [m for base in cls.__mro__ if not _is_library(base.__module__) for m in vars(base).values()]
    members = [getattr(m, "__func__", getattr(m, "fget", m)) for m in members]
    slots = [_slot(value, s) for base in cls.__mro__ for s in _names(vars(base).get("__slots__", ()))]
    return [*members, *slots, *getattr(value, "__dict__", {}).values()]


def _slot(value: Any, name: str) -> Any:
    """What a slot holds; None if nothing, or if it is none of this object."""
    try:
        return getattr(value, name, None)
    except TypeError:
        return None


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _read(function: types.FunctionType) -> list[Any]:
    """What a function has captured, its defaults, and the global variables that it names."""
    cells: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # it is empty
            cells.append(cell.cell_contents)
    names = function.__globals__
    own = [names[name] for name in _global_names(function.__code__) if name in names]
    modules = [m for m in own if isinstance(m, types.ModuleType) and not _is_library(m.__name__)]
    attributes = [vars(m).get(name) for m in modules for name in _global_names(function.__code__)]
    return [*cells, *attributes, *(v for v in own if not isinstance(v, types.ModuleType))]


@functools.lru_cache(maxsize=1024)
def _global_names(code: types.CodeType) -> tuple[str, ...]:
    """The names that a body and the functions defined in it read, attributes among them."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return tuple(dict.fromkeys([*code.co_names, *(name for c in inner for name in _global_names(c))]))


def _is_library(module: Any) -> bool:
    """Whether a module is not the user's own: Python's, or an installed package."""
    return not isinstance(module, str) or _is_installed(module.split(".")[0])


@functools.lru_cache(maxsize=1024)
def _is_installed(root: str) -> bool:
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return root in _LIBRARIES or "site-packages" in file or "dist-packages" in file


__all__ = ["States", "drawn_from", "generators", "moved_on", "replayed", "rewind", "states"]
