"""Cotangents while the reverse is written: what each one is known to be, and how what two paths know is joined.

A cotangent is statically zero (no entry), present, or `maybe` (None at run time when nothing reached it).  A present
one may be *lazy* (it only broadcasts to its value's shape), *owned* (a buffer that nothing else refers to, which may be
added to in place), *dense* (of a container: every entry is present), or *complex* (of a container: entries may be so).
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
    complex: bool = False


State = dict[str, Bar]
Code = list[ir.Stmt]


def meet(a: Bar | None, b: Bar | None, zero: bool = False) -> Bar:
    """What is known of a cotangent where two paths meet, one of which has it; `zero`: the other makes it 0.0."""
    assert not any(bar.lazy for bar in (a, b) if bar), "lazy cotangents do not cross control flow"
    if a is None or b is None:
        one = a or b
        return Bar(maybe=not zero or (one is not None and one.maybe), complex=one is not None and one.complex)
    return Bar(a.maybe or b.maybe, False, a.owned and b.owned, a.dense and b.dense, a.complex or b.complex)


def meet_states(a: State, b: State, zeros: frozenset[str] = frozenset()) -> State:
    """`meet`, name by name; `zeros` are the names whose missing cotangents are made 0.0 instead of None."""
    return {name: meet(a.get(name), b.get(name), name in zeros) for name in dict.fromkeys([*a, *b])}


def adapt(state: State, wanted: State, bar_name: Callable[[str], str], zeros: frozenset[str] = frozenset()) -> Code:
    """The statements that bring the cotangents of `state` to what `wanted` says: the statically zero ones are set."""
    unset = [name for name in wanted if name not in state]
    out: Code = [ir.Assign(bar_name(n), ir.Const(0.0)) for n in unset if n in zeros]
    plain = tuple(bar_name(name) for name in unset if name not in zeros)
    return [*out, ir.Clear(plain)] if plain else out
