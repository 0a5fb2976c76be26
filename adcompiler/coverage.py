"""Which public functions of a module are differentiated, and how: the table of `adcompiler rules --coverage`.

In goes a module or class; out comes an entry for everything public in it that can be called (or, of a class, read).
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from adcompiler.decide import LIBRARIES, root_module
from adcompiler.explain import table
from adcompiler.rules.registry import is_non_differentiable, lookup, refusal
from adcompiler.runtime.writes import WRITES
from adcompiler.show import place

RULE, SOURCE, NOTHING, REFUSED, UNKNOWN = HOW = "rule", "via source", "no derivative", "refused", "unknown"


@dataclass(frozen=True)
class Entry:
    """One public name: how it is differentiated (one of `HOW`), and where the rule is, or why there is none."""

    name: str
    how: str
    detail: str = ""


def coverage(owner: Any) -> tuple[Entry, ...]:
    """The entries of a module or class, by name. Exceptions and submodules are left out."""
    return tuple(_entry(name, value) for name, value in _public(owner))


def covered(path: str) -> str:
    """The coverage of what a dotted path names, as a table with totals; raises ImportError if there is none."""
    entries = coverage(named(path))
    counts = Counter(entry.how for entry in entries)
    totals = ", ".join(f"{counts[how]} {how}" for how in HOW if counts[how])
    rows = [(f"{path}.{entry.name}", entry.how, entry.detail) for entry in entries]
    return "\n".join(
        [*table([("NAME", "HOW", "WHERE OR WHY"), *rows]), "", f"{path}: {len(entries)} in all: {totals}", ""]
    )


def named(path: str) -> Any:
    """The module or class with a dotted path, as `numpy.linalg` or `numpy.ndarray`."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        if not module:
            raise
    owner = named(module)
    if not hasattr(owner, name):
        raise ImportError(f"{module} has no {name}")
    return getattr(owner, name)


def _public(owner: Any) -> Iterator[tuple[str, Any]]:
    """The public names of a module or class, with what `lookup` knows them by."""
    for name in sorted(dir(owner)):
        if name.startswith("_"):
            continue
        try:
            value = getattr(owner, name)
        except AttributeError:  # announced by dir(), and not there
            continue
        if isinstance(value, types.ModuleType) or (isinstance(value, type) and issubclass(value, BaseException)):
            continue
        if callable(value) or (isinstance(owner, type) and inspect.isdatadescriptor(value)):
            yield name, value


def _entry(name: str, value: Any) -> Entry:
    rules, reason = lookup(value), refusal(value)
    if rules:
        return Entry(name, RULE, place(rules[0]))
    if is_non_differentiable(value):
        return Entry(name, NOTHING)
    if _is_write(value):
        return Entry(name, RULE, "adcompiler.runtime.writes")
    if reason is not None:
        return Entry(name, REFUSED, reason.split("\n")[0])
    if isinstance(value, types.FunctionType) and root_module(value) not in LIBRARIES:
        return Entry(name, SOURCE, "its source is compiled with the caller")
    return Entry(name, UNKNOWN)


def _is_write(value: Any) -> bool:
    """Whether a function or method writes into its first argument, and the write is reversed."""
    method = getattr(getattr(value, "__objclass__", None), "__name__", None), getattr(value, "__name__", None)
    return method in WRITES or (isinstance(value, Hashable) and value in WRITES)


__all__ = ["HOW", "NOTHING", "REFUSED", "RULE", "SOURCE", "UNKNOWN", "Entry", "coverage", "covered", "named"]
