"""Calls whose operands or results are written into before the pullback runs: what it keeps is out of reach then."""

from __future__ import annotations

from typing import Any

from adcompiler.runtime.arrays import is_flat
from adcompiler.runtime.containers import snapshot
from adcompiler.runtime.errors import MutationError
from adcompiler.runtime.resolved import Resolved
from adcompiler.runtime.shadows import in_memory, root_of


def run_apart(call: Resolved, written: tuple[bool, ...], result: bool, *args: Any, **kwargs: Any) -> Any:
    """`call.forward(*args, **kwargs)`, where operands may be written into later: `written` says which of them.

    `result`: what comes out may be, too. A function with source keeps copies of what it needs by itself. A rule gets
    copies, unless what comes out is an operand's own memory: then the operation has only rearranged, and keeps nothing.
    """
    if call.bound is not None:
        inner, owner = call.bound
        return run_apart(inner, (True, *written), result, owner, *args, **kwargs)
    if call.apart is not None:
        return call.apart(*args, **kwargs)
    if not call.ruled:
        return call.forward(*args, **kwargs)
    values = (*args, *kwargs.values())
    marks = tuple(written)
    own = _roots(list(values))
    if call.result != "fresh":
        y, saved = call.forward(*args, **kwargs)
        shared = _roots(y) & own
        if shared and not call.builtin:
            raise MutationError(
                "a function with a rule gives its argument back, or a view of it, and that is written into\n"
                "What the rule keeps of it could not be protected.\nPass a copy."
            )
        if shared:  # of the other operands, an index, it may keep what they are
            marks = tuple(m and not _roots(a) & shared for m, a in zip(marks, values, strict=True))
            return call.forward(*_copied(marks, args), **_named(marks, args, kwargs)) if any(marks) else (y, saved)
        if not call.builtin and not any(marks):
            return snapshot(y) if result else y, saved
    y, saved = call.forward(*_copied(marks, args), **_named(marks, args, kwargs))
    if not call.foreign and any(map(is_part, values)):
        # Of a copy, which is contiguous, the last bits may be others.
        return call.forward(*args, **kwargs)[0], saved
    return (snapshot(y) if result else y), saved  # the rule may keep what it returns


def within(found: Resolved) -> Resolved:
    """What is resolved where arrays from outside are written into that carry derivatives: it must not read such."""
    if found.apart is not None:
        found.forward = found.apart = found.strict or no_strict
    return found


def no_strict(*_: Any, **__: Any) -> Any:
    raise MutationError(
        "a method or property that is only known at run time is used, and global or captured arrays are written into\n"
        "What it reads of them would have no derivative.\nCall a function by its own name."
    )


def _copied(marks: tuple[bool, ...], args: tuple[Any, ...]) -> list[Any]:
    return [snapshot(a) if mark else a for mark, a in zip(marks, args, strict=False)]


def _named(marks: tuple[bool, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    pairs = zip(marks[len(args) :], kwargs.items(), strict=True)
    return {name: snapshot(a) if mark else a for mark, (name, a) in pairs}


def is_part(x: Any) -> bool:
    """Whether an array is no contiguous one, as a column is, or does not tell."""
    flags = getattr(x, "flags", None)
    return in_memory(x) and (flags is None or not (flags.c_contiguous or flags.f_contiguous))


def _roots(value: Any) -> set[int]:
    """The arrays whose memory a value refers to."""
    if isinstance(value, list | tuple):
        return set().union(*map(_roots, value))
    if isinstance(value, dict):
        return _roots(list(value.values()))
    return {id(root_of(value))} if in_memory(value) or is_flat(value) else set()


__all__ = ["is_part", "no_strict", "run_apart", "within"]
