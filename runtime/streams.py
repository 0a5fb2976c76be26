"""Generators at work: what each one has yielded so far, and what its reverse needs when it is finished or dropped.

A compiled generator gets a `Run`.  It counts its items there, and leaves its records there when it ends, whether it
was exhausted or dropped at a `yield`.  The cotangent of a generator is a dict from an item's position to its cotangent:
items that were pulled and not used, as `zip` does, have none.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator
from typing import Any

from adcompiler.runtime.errors import UnsupportedSyntaxError


class Run:
    """One run of a compiled generator; it is not kept alive by this."""

    __slots__ = ("count", "generator", "kept")

    def __init__(self) -> None:
        self.count = 0
        self.kept: tuple[Any, ...] | None = None
        self.generator: Any = None

    @property
    def saved(self) -> tuple[Any, ...]:
        """What the reverse needs; a generator that is still waiting somewhere is dropped."""
        if self.kept is None:
            generator = self.generator()
            if generator is not None:
                generator.close()
        if self.kept is None:
            raise UnsupportedSyntaxError(
                "a generator was left by an exception that was caught outside of it: what it did before cannot be "
                "differentiated. Catch the exception inside the generator, or return a list instead."
            )
        return self.kept

    def bars(self, c: dict[int | None, Any] | None) -> list[Any] | None:
        """The cotangents of all items that were yielded, in order; None if nothing reached any."""
        out: list[Any] = [None] * self.count
        for position, value in (c or {}).items():
            if position is not None:
                out[position] = value
        return out if any(value is not None for value in out) else None


_RUNS: weakref.WeakKeyDictionary[Any, Run] = weakref.WeakKeyDictionary()


def started(forward: Any, *args: Any) -> tuple[Any, Run]:
    """A new generator and its run."""
    run = Run()
    generator = forward(run, *args)
    run.generator = weakref.ref(generator)
    _RUNS[generator] = run
    return generator, run


def run_of(generator: Any) -> Run:
    """The run of a generator; one that carries no derivative has none, and its positions mean nothing."""
    return _RUNS.get(generator) or Run()


def numbered(generator: Any) -> Iterator[tuple[int, Any]]:
    """The items of a generator with their positions."""
    run = run_of(generator)
    for item in generator:
        yield run.count - 1, item


def pulled(generator: Any, *default: Any) -> tuple[Any, int | None]:
    """`next(generator, *default)` and the item's position, None for the default."""
    try:
        item = next(generator)
    except StopIteration:
        if not default:
            raise
        return default[0], None
    return item, run_of(generator).count - 1


def relayed(function: Any, position: int, *args: Any) -> Iterator[Any]:
    """`function(*args)`, an iterator that hands on items of the generator `args[position]` as it takes them."""
    made = function(*args)
    relay = (item for item in made)
    run = _RUNS.get(args[position])
    if run is not None:
        _RUNS[relay] = run
    return relay


def drained(generator: Any, limit: int | None = None, form: Any = list) -> tuple[Any, range | list[int]]:
    """The next items of a generator as a list or tuple, all or `limit` at most, and their positions."""
    run = run_of(generator)
    if run.generator is not None and run.generator() is generator:
        first = run.count
        items = form(itertools.islice(generator, limit))
        return items, range(first, first + len(items))
    pairs = list(itertools.islice(numbered(generator), limit))
    return form(item for _, item in pairs), [position for position, _ in pairs]


def items_of(generator: Any, limit: int | None = None) -> list[Any]:
    """The next items of a generator, all or `limit` at most."""
    return list(itertools.islice(generator, limit))


def by_position(c: Any, positions: range | list[int]) -> dict[int, Any]:
    """The cotangent of a generator from that of a list of its items at `positions`."""
    return dict(zip(positions, c, strict=True))
