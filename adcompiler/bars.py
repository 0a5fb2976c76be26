"""Cotangents while the reverse is written: what each one is known to be, and how what two paths know is joined.

A cotangent is statically zero (no entry), present, or `maybe` (None at run time when nothing reached it).  A present one may
be *lazy* (it only broadcasts to its value's shape), *owned* (a buffer that nothing else refers to, which may be added to in
place), or *dense* (of a container: every entry is present).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adcompiler import ir


@dataclass(frozen=True)
class Bar:
    """What is known of a cotangent that is not statically zero."""

    maybe: bool = False
    lazy: bool = False
    owned: bool = False
    dense: bool = False


State = dict[str, Bar]


def meet(a: Bar | None, b: Bar | None) -> Bar:
    """What is known of a cotangent where two paths meet, at least one of which has it."""
    if a is None or b is None:
        return Bar(maybe=True)
    return Bar(a.maybe or b.maybe, False, a.owned and b.owned, a.dense and b.dense)


def meet_states(a: State, b: State) -> State:
    """`meet`, name by name."""
    return {name: meet(a.get(name), b.get(name)) for name in dict.fromkeys([*a, *b])}


def adapt(state: State, wanted: State, bar_name: Callable[[str], str]) -> list[ir.Stmt]:
    """The statements that bring the cotangents of `state` to what `wanted` says: the statically zero ones become None."""
    unset = tuple(bar_name(name) for name in wanted if name not in state)
    return [ir.Clear(unset)] if unset else []
