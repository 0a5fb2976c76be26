"""The data of a compilation: specialisations of functions, paths to values, and guards on what is found there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from adcompiler import ir
from adcompiler.lattice import Kind
from adcompiler.names import Names

if TYPE_CHECKING:
    from adcompiler.program import Program

Path = tuple[Any, ...]
ANY = ("any",)  # some key of a container


@dataclass(frozen=True)
class Root:
    """Where a path starts: a parameter, a global of a module (`holder` its dict) or a cell (`holder`)."""

    form: str
    name: str
    holder: Any = None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Root)
            and (self.form, self.name) == (other.form, other.name)
            and self.holder is other.holder
        )

    def __hash__(self) -> int:
        return hash((self.form, self.name, id(self.holder)))


def of_object(value: Any) -> Path:
    """The path of a class or object that is known by identity."""
    return (Root("object", getattr(value, "__qualname__", type(value).__qualname__), value),)


@dataclass(frozen=True)
class Guard:
    """A fact about the value at `path`: its kind, or its exact type where the kind says nothing."""

    path: Path
    kind: Kind
    type: type


@dataclass(frozen=True)
class CodeGuard:
    """A helper's body (and its defaults, if they were used) must be what was compiled."""

    function: Any
    code: Any
    defaults: Any
    kwdefaults: Any


@dataclass(eq=False)
class Spec:
    """A function for given kinds of its parameters (captured variables that are passed come first)."""

    name: str
    function: ir.Function
    kinds: tuple[Kind, ...]
    globals: dict[str, Any]
    cells: dict[str, Any]
    program: Program
    aliases: Any = None
    merged: Any = None  # those where arguments may share memory
    body: ir.Block = ()
    result: Kind | None = None
    round: int = 0
    busy: bool = False
    settled: bool = False
    quiet: bool | None = None
    named: dict[Any, tuple[dict[str, str], ir.Stmt, ir.Stmt]] = field(default_factory=dict)
    pairs: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)  # parameters that may be text made of active values
    written_out: dict[Any, ir.Block] = field(default_factory=dict)
    stores: dict[int, ir.Block] = field(default_factory=dict)  # `a[i] op= v` as what Python does, by statement
    names: Names = field(default_factory=Names)
    name_kinds: dict[str, Kind | None] = field(default_factory=dict)

    @property
    def params(self) -> tuple[str, ...]:
        return self.function.params
