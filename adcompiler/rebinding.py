"""Functions that rebind variables of the function around them: these are not computed more than once.

The variables are captured as Python's own (`nonlocal n`), or as places in text that was made of a function.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import gast

from adcompiler.errors import MutationError, SourceNotFoundError
from adcompiler.parse import parse
from adcompiler.runtime.bars import Cell
from adcompiler.runtime.transformed import Holder


def check_rebinds_nothing(f: Any) -> None:
    """Raise MutationError if a function, or one that it has captured, rebinds a captured variable."""
    names = _rebound(f, set())
    if names:
        raise MutationError(
            f"a derivative of {getattr(f, '__name__', 'a function')}, which rebinds {', '.join(sorted(names))}, "
            "is differentiated\n"
            "It is computed again, and would rebind it again.\n"
            "Return the new value, and bind it where the function is called."
        )


def _rebound(f: Any, seen: set[int]) -> set[str]:
    if id(f) in seen:
        return set()
    seen.add(id(f))
    if isinstance(f, functools.partial):
        return _rebound(f.func, seen)
    if isinstance(f, types.MethodType):
        return _rebound(f.__func__, seen)
    if isinstance(f, Holder):
        return set().union(*(_rebound(part, seen) for part in f.held().values()))
    if not isinstance(f, types.FunctionType) or not f.__closure__:
        return set()
    names: set[str] = set()
    bound, placed = _stored(f.__code__)
    for name, cell in zip(f.__code__.co_freevars, f.__closure__, strict=True):
        value = _contents(cell)
        if name in bound or (name in placed and isinstance(value, Cell)):
            names.add(name)
        names |= _rebound(value, seen)
    return names


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None


@functools.lru_cache(maxsize=4096)
def _stored(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a body declares as those of the functions around it, and those whose `value` it assigns."""
    try:
        node: Any = parse(types.FunctionType(code, {}, closure=tuple(types.CellType() for _ in code.co_freevars))).node
    except SourceNotFoundError:
        return frozenset(), frozenset()
    found = list(gast.walk(node))
    bound = {name for n in found if isinstance(n, gast.Nonlocal) for name in n.names}
    stores = [n for n in found if isinstance(n, gast.Attribute) and n.attr == "value" and isinstance(n.ctx, gast.Store)]
    placed = {n.value.id for n in stores if isinstance(n.value, gast.Name)}
    return frozenset(bound), frozenset(placed)


__all__ = ["check_rebinds_nothing"]
