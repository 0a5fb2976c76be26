"""Arguments that are written into must share no memory with others: a gradient for each of them would not exist.

Which arguments these are is known from `activity`; whether they overlap only at the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adcompiler.activity import activity
from adcompiler.alias import alias
from adcompiler.errors import MutationError, definition_of, refuse
from adcompiler.lattice import can_be_active, is_scalar
from adcompiler.runtime.held import hold_arrays
from adcompiler.runtime.shadows import Reference, references
from adcompiler.spec import Root

if TYPE_CHECKING:
    from adcompiler.pipeline import Compiled


def overlap_check(compiled: Compiled) -> Callable[[tuple[Any, ...]], None] | None:
    """What is called with the arguments before the forward runs; None if no argument is written into."""
    spec, pair = compiled.spec, compiled.pair
    params, aliases = spec.params, alias(spec)
    written = activity(spec, pair.mask, pair.memory).hot_params | aliases.writes
    outside = list({guard.path[0]: None for guard in compiled.program.guards.values() if _is_outside(guard)})
    if aliases.writes_outside:
        written |= set(range(len(params), len(params) + len(outside)))
    if not pair.active or (
        all(is_scalar(spec.kinds[i]) for i in written if i < len(params)) and not aliases.writes_outside
    ):
        return None

    def check(arguments: tuple[Any, ...]) -> None:
        seen: dict[Any, list[tuple[Reference, int, str]]] = {}
        named = [*zip(params, arguments, strict=True), *((root.name, _value(root)) for root in outside)]
        for i, (name, value) in enumerate(named):
            for at in references(hold_arrays(value)):
                for other, j, other_name in seen.setdefault(at.block, []):
                    if i != j and min(i, j) < len(params) and {i, j} & written and at.overlaps(other):
                        raise _overlap(compiled, other_name, name)
                seen[at.block].append((at, i, name))

    return check


def _is_outside(guard: Any) -> bool:
    """Whether a guard is of what may be an array from outside."""
    root = guard.path[0]
    return isinstance(root, Root) and root.form != "arg" and can_be_active(guard.kind) and not is_scalar(guard.kind)


def _value(root: Root) -> Any:
    """What a global, a captured variable or a default holds now."""
    match root.form:
        case "global":
            return root.holder.get(root.name)
        case "cell":
            return root.holder.cell_contents
        case "default":
            return root.holder.value
    return root.holder


def _overlap(compiled: Compiled, one: str, other: str) -> Exception:
    return refuse(
        MutationError,
        f"{one} and {other} share memory, and {compiled.request.function.__qualname__} writes into it",
        definition_of(compiled.request.function),
        "Each of them would have a gradient of its own, for values that are one.",
        f"Pass a copy: {other}.copy().",
    )


__all__ = ["overlap_check"]
