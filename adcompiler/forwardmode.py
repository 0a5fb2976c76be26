"""What is compiled in forward mode for a function and the kinds of its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adcompiler.alias import alias
from adcompiler.aliases import PLAIN
from adcompiler.differentiable import store_of
from adcompiler.entry import Finish
from adcompiler.lattice import can_be_active, is_scalar
from adcompiler.module import Unit, load, units
from adcompiler.overlap import overlap_check
from adcompiler.pipeline import LOCK, Request, compiling, until_settled
from adcompiler.program import Program
from adcompiler.pushforward import pushforward_of
from adcompiler.runtime.domain import writes_nothing
from adcompiler.runtime.release import OFF
from adcompiler.spec import Spec
from adcompiler.variants import Variants


@dataclass(frozen=True, eq=False)
class CompiledForward:
    """A compilation in forward mode: the function, and the program whose guards it rests on."""

    request: Request
    program: Program
    spec: Spec
    pushed: Any
    units: dict[Any, Unit]

    def forget(self) -> None:
        """Let go of the arguments of the first call."""
        self.request.arguments.clear()
        self.program.forget()

    @property
    def forward(self) -> Any:
        return self.units[self.pushed].forward

    @property
    def derivative(self) -> Any:
        """The function that gives the tangent alone."""
        made = self.units[self.pushed].backward
        made.__adcompiler_alike__ = dict(zip(self.pushed.tangents, self.pushed.active, strict=True))
        made.__qualname__ = self.request.function.__qualname__
        return made

    @property
    def alone(self) -> tuple[Any, Any]:
        return self.forward, None

    @property
    def pair(self) -> Any:
        """What of a pair is asked for: the active parameters."""
        return self.pushed


def compile_forward(request: Request) -> CompiledForward:
    """All passes, for forward mode."""
    with LOCK, compiling(request.function):
        program, spec, pushed = until_settled(request, _pushed)
        pushed.derivative = pushed.derivative or program.pushed_name(spec, "derivative")
        all_units = units(pushed, OFF)
        load(all_units)
        return CompiledForward(request, program, spec, pushed, all_units)


def _pushed(spec: Spec, mask: tuple[bool, ...]) -> Any:
    return pushforward_of(spec, mask, PLAIN)


def _found(compiled: Any) -> Finish:
    """The entry gives the function and its arguments, for the caller to add the tangents."""
    active = compiled.pushed.active
    compiled.forward.__adcompiler_reads__ = any(
        guard.path[0].form == "global" and can_be_active(guard.kind) and not is_scalar(guard.kind)
        for guard in compiled.program.guards.values()
    )
    compiled.forward.__adcompiler_careful__ = any(f.careful for f in compiled.units)
    writes = bool(alias(compiled.spec).sure_writes)
    compiled.forward.__adcompiler_writes__ = writes
    compiled.forward.__adcompiler_overlap__ = overlap_check(compiled)
    known = writes_nothing(compiled.request.function)
    compiled.forward.__adcompiler_pure__ = known or not (writes or compiled.program.escaped)
    compiled.forward.__adcompiler_derivative__ = compiled.derivative
    bound = {"jvp": compiled.forward, "active": active}
    return Finish(None, ("$found = $jvp, ({names},), $active", "return $found"), bound)


def derivative_of(jvp_function: Any) -> Any:
    """The function that gives only the tangent of what `jvp_function` computes."""
    return jvp_function.__adcompiler_derivative__


def find_jvp(
    function: Any, wanted: frozenset[str], args: Any, kwargs: Any
) -> tuple[Any, tuple[Any, ...], tuple[str, ...]]:
    """`f_jvp`, the arguments by parameter, and the parameters whose tangents it takes after these."""
    store = store_of(function)
    key = "jvp", wanted
    if key not in store:
        store[key] = Variants(function, lambda *_: wanted, _found, False, compiler=compile_forward, key=key)
    found: tuple[Any, tuple[Any, ...], tuple[str, ...]] = store[key](*args, **kwargs)
    return found


def check_apart(jvp: Any, arguments: tuple[Any, ...]) -> None:
    """Raise MutationError if arguments overlap of which some are written into."""
    if jvp.__adcompiler_overlap__ is not None:
        jvp.__adcompiler_overlap__(arguments)


__all__ = ["check_apart", "compile_forward", "find_jvp"]
