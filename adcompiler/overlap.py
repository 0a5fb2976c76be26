"""Arguments that are written into must share no memory with others: a gradient for each of them would not exist.

Which arguments these are is known from `activity`; whether they overlap only at the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from adcompiler import ir
from adcompiler.activity import activity
from adcompiler.alias import alias
from adcompiler.errors import MutationError, definition_of, refuse
from adcompiler.lattice import Known, can_be_active, is_scalar
from adcompiler.runtime.held import hold_arrays, objects
from adcompiler.runtime.shadows import Reference, references
from adcompiler.sharing import is_outside
from adcompiler.spec import Root

if TYPE_CHECKING:
    from adcompiler.pipeline import Compiled


def overlap_check(compiled: Compiled) -> Callable[[tuple[Any, ...]], None] | None:
    """What is called with the arguments before the forward runs; None if no argument is written into."""
    spec, pair = compiled.spec, compiled.pair
    params, aliases, function = spec.params, alias(spec), compiled.request.function
    written = activity(spec, pair.mask, pair.memory).hot_params | aliases.writes
    if not pair.active or (
        all(is_scalar(spec.kinds[i]) for i in written if i < len(params)) and not aliases.writes_outside
    ):
        return None
    guards = compiled.program.guards.values()
    read = _names_read(compiled.program)
    outside = list({root: None for root in (*_looked_up(compiled.program, read), *map(_root_outside, guards)) if root})
    classes = {c for guard in guards for c in _classes(guard) if _memory_of(c, read)}

    def check(arguments: tuple[Any, ...]) -> None:
        seen: dict[Any, list[tuple[Reference, int, str]]] = {}
        held = [(name, hold_arrays(value)) for name, value in zip(params, arguments, strict=True)]
        held += [(root.name, hold_arrays(value_of(root))) for root in outside]
        found = classes | {type(obj) for _, value in held for obj in objects(value)}
        held += [(name, hold_arrays(value)) for c in found for name, value in _memory_of(c, read)]
        for i, (name, value) in enumerate(held):
            for at in references(value):
                for other, j, other_name in seen.setdefault(at.block, []):
                    if i != j and j < len(params) and at.overlaps(other):
                        if {i, j} & written or (i >= len(params) and aliases.writes_outside):
                            raise _overlap(function, other_name, name)
                seen[at.block].append((at, i, name))

    return check


def _root_outside(guard: Any) -> Root | None:
    """Where a guard begins that is of what may be an array from outside."""
    root = guard.path[0]
    outside = isinstance(root, Root) and root.form != "arg" and can_be_active(guard.kind) and not is_scalar(guard.kind)
    return root if outside else None


def _looked_up(program: Any, names: frozenset[str]) -> Iterator[Root]:
    """The globals that a program may reach by `globals()`."""
    for spec in program.specs.values() if "globals" in names else ():
        yield from (Root("global", name, spec.globals) for name in sorted(names & spec.globals.keys()))


def _names_read(program: Any) -> frozenset[str]:
    """The attributes, keys and globals that a program names."""
    bodies = (ir.statements(spec.function.body) for spec in program.specs.values())
    exprs = [e for body in bodies for stmt in body for expr in ir.expressions(stmt) for e in ir.walk(expr)]
    keys = {e.value for e in exprs if isinstance(e, ir.Const) and isinstance(e.value, str)}
    return frozenset(
        keys | {e.name for e in exprs if isinstance(e, ir.Attr)} | {e.id for e in exprs if isinstance(e, ir.Global)}
    )


def _classes(guard: Any) -> Iterator[type]:
    """The classes that a guard is about."""
    candidates = (guard.type, guard.path[0].holder, guard.kind.value if isinstance(guard.kind, Known) else None)
    return (c for c in candidates if isinstance(c, type))


def _memory_of(cls: type, names: frozenset[str]) -> list[tuple[str, Any]]:
    """What a class holds under some names, and a program may write into."""
    own = [(c, name) for c in cls.__mro__ for name in names & vars(c).keys()]
    return [(f"{c.__qualname__}.{name}", vars(c)[name]) for c, name in own if is_outside(vars(c)[name])]


def value_of(root: Root) -> Any:
    """What a global, a captured variable or a default holds now."""
    match root.form:
        case "global":
            return root.holder.get(root.name)
        case "cell":
            return root.holder.cell_contents
        case "default":
            return root.holder.value
    return root.holder


def _overlap(function: Any, one: str, other: str) -> Exception:
    return refuse(
        MutationError,
        f"{one} and {other} share memory, and {function.__qualname__} writes into it",
        definition_of(function),
        "Each of them would have a gradient of its own, for values that are one.",
        f"Pass a copy: {other}.copy().",
    )


__all__ = ["overlap_check", "value_of"]
