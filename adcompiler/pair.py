"""What differentiating one specialisation gives: its forward and its backward."""

from __future__ import annotations

from dataclasses import dataclass, field

from adcompiler import ir
from adcompiler.aliases import PLAIN, Memory
from adcompiler.spec import Spec


@dataclass(eq=False)
class Pair:
    """`forward(*params) → (value, saved)`, `backward(saved, value_bar) → cotangents of the active parameters`.

    `saved` are what the forward keeps, `results` the cotangents of the `active` parameters in order.
    """

    spec: Spec
    mask: tuple[bool, ...]
    forward_name: str
    backward_name: str
    params: tuple[str, ...]
    forward: ir.Block = ()
    backward: ir.Block = ()
    saved: tuple[str, ...] = ()
    cotangent: str = ""
    active: tuple[str, ...] = ()
    results: tuple[ir.Expr, ...] = ()
    sure: dict[str, bool] | None = None
    run: str = ""  # the first parameter of the forward of a generator: see `runtime.streams`
    table: str = ""  # the parameter of the backward for the cotangents that are kept by identity
    shared: bool = False  # others put something into the table that concerns it, or read what it leaves there
    tracks: bool = False  # the cotangents of containers and objects are in the table
    hot_params: frozenset[int] = frozenset()
    hot: bool = False  # the result may hold arrays whose cotangents are in shadows
    memory: Memory = PLAIN
    over: bool = False  # they, or the result, may be written into before the pullback runs
    caught: bool = False  # its exceptions are caught by a caller, in a program with a table
    bars: dict[str, str] = field(default_factory=dict)  # the names of cotangents, by what they belong to
    junk: str = ""  # the name of cotangents that nobody wants
    record: str | None = None  # the list that is filled with what is saved when the forward ends, if it is open

    @property
    def collected(self) -> tuple[tuple[int, int], ...]:
        """The active parameters whose cotangents are in the table: their positions, and numbers among the active."""
        where = [(self.params.index(name), number) for number, name in enumerate(self.active)]
        return tuple((i, number) for i, number in where if self.tracks or i in self.hot_params)

    @property
    def seed(self) -> str:
        """Where the cotangent of the result belongs, as `runtime.bars.with_table` is told."""
        return "" if not self.tracks else "arrays" if self.hot else "places"
