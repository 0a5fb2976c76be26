"""How a resolved operation is differentiated: the possible `callee`s of an `ir.Apply`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adcompiler import ir
from adcompiler.lattice import Inert, Kind, Known, Unknown, is_object, is_scalar
from adcompiler.rules.registry import Rule


@dataclass(frozen=True, eq=False)
class RuleCall:
    """The first of `rules` (the next ones are tried when it declines); `key` is the function as the user called it."""

    rules: tuple[Rule, ...]
    key: Any

    @property
    def rule(self) -> Rule:
        return self.rules[0]


@dataclass(frozen=True, eq=False)
class PairCall:
    """A function of the user's, compiled with the caller."""

    spec: Any
    captured: int = 0


@dataclass(frozen=True, eq=False)
class InertCall:
    """No derivative: declared so, or nothing active can come out.  `why` is for `explain`.

    `declared` says what comes out, as the kinds of `non_differentiable` do. `passes`: the result may be, or share
    memory with, the operands; `keeps`: somebody may keep the operands.
    """

    why: str
    declared: str | None = None
    passes: bool = False
    keeps: bool = False


@dataclass(frozen=True, eq=False)
class Build:
    """A tuple, list or dict display; of a dict with constant keys, these in order."""

    keys: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class Make:
    """A new object whose fields `names` are the operands: a bound method, a partial, an instance of a dataclass."""

    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Copied:
    """A copy of the operand: its cotangent is the operand's. `deep`: of what the operand holds, too."""

    deep: bool = False


@dataclass(frozen=True, eq=False)
class Hooked:
    """`hook(fn, x)`: the second operand itself; what the first makes of its cotangent is that of the operand."""


@dataclass(frozen=True)
class Field:
    """The key of a field in a `Load`."""

    name: str


@dataclass(frozen=True, eq=False)
class Pull:
    """`next(stream)` or `next(stream, default)`."""


@dataclass(frozen=True, eq=False)
class Drain:
    """A new list of the next items of a stream, all, or `limit` at most; or a tuple of all."""

    limit: int | None = None
    form: type = list


@dataclass(frozen=True, eq=False)
class Relay:
    """An iterator that hands on items of the stream at `position` as it takes them: `islice(stream, n)`."""

    position: int


@dataclass(frozen=True, eq=False)
class Gathered:
    """A list or dict that statements have collected: its cotangent becomes one that their reverse takes apart."""


@dataclass(frozen=True, eq=False)
class Move:
    """An operation that only moves what containers hold; `function` is it as a function of its `operands`.

    `roles` says what becomes of each operand (see `runtime.moves`), `fresh` that the result is a new container, `view`
    that Python's own would show what its operand holds later. `of_tangents` is the same operation on containers of
    tangents, and `intended` says what would become of each operand if it had one.
    """

    function: Any
    operands: tuple[Any, ...]
    roles: str
    fresh: bool
    view: bool = False
    of_tangents: Any = None
    intended: str = ""


@dataclass(frozen=True, eq=False)
class Load:
    """An item of a container or a `Field` of an object: its cotangent goes into the whole's at `key`."""

    key: Any


@dataclass(frozen=True, eq=False)
class PathLoad:
    """An item of a container that the function was given and never writes; `param` and `steps` say which."""

    param: str
    steps: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Dynamic:
    """Resolved at run time from the types of the operands; `key` is the operator's function, None for a call.

    `pure` calls are of functions that are known to have a rule: they write nothing.
    """

    key: Any
    keywords: tuple[str, ...] = ()
    pure: bool = False


@dataclass(frozen=True, eq=False)
class PlaceCall:
    """A read of or a write into a list, dict or object whose cotangent is kept by identity."""

    operation: Any
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Into:
    """`inner`, whose result is written into the array `out`, which it also returns; `where`: a mask says which of it.

    `inner` is the operation without `out`, resolved.
    """

    inner: ir.Apply
    out: Any
    where: Any = None


@dataclass(frozen=True, eq=False)
class WriteCall:
    """A call that writes into its first operand, an array: `np.copyto(y, v)`, `y.sort()`; see `runtime.writes`.

    `operands` names the others.
    """

    write: Any
    operands: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Spread:
    """A call of a known function with the items of one tuple, whose number is known at run time only."""


@dataclass(frozen=True, eq=False)
class Missing:
    """Not differentiable as it stands; `error` is raised if something active is involved."""

    error: Exception


def writes_array(callee: PlaceCall, kinds: tuple[Kind, ...]) -> bool:
    """Whether an operation on a place may write into an array: what has the place, or, of an update, is in it."""
    key = kinds[1] if len(kinds) > 1 else None
    if callee.operation.name == "store_item":
        return isinstance(kinds[0], Unknown | Inert) and not (isinstance(key, Known) and isinstance(key.value, str))
    return callee.operation.name in ("update_item", "update_attribute")


def in_place(stmt: ir.Assign) -> bool:
    """Whether an augmented assignment may write into its target's block; a number can only be rebound."""
    held = stmt.value.kinds[0] if isinstance(stmt.value, ir.Apply) and stmt.value.kinds else stmt.kind
    return stmt.augmented and not is_scalar(stmt.kind) and not is_scalar(held) and not is_object(held)


# --- what a for loop runs over ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Over:
    """The items of an array, list or tuple.

    `live`: what Python runs over, if the source is a list of its items as they are when the loop starts.
    """

    source: Any
    kind: Kind
    item: Kind
    live: ir.Expr | None = None


@dataclass(frozen=True, eq=False)
class Zipped:
    """`zip(*parts)`."""

    parts: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Enumerated:
    """`enumerate(part)`."""

    part: Any


@dataclass(frozen=True, eq=False)
class Backwards:
    """`reversed(part)`."""

    part: Any


@dataclass(frozen=True, eq=False)
class Counting:
    """`range(...)`."""


@dataclass(frozen=True, eq=False)
class Blind:
    """Something whose items are not known: it must not carry a derivative."""


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of a dict or the characters of a text: what is iterated over may be active, its items are not."""


@dataclass(frozen=True, eq=False)
class Iteration:
    """The callee of a loop's iterable."""

    plan: Any


def parts(plan: Any) -> list[Over]:
    """The arrays, lists and tuples that a loop runs over."""
    match plan:
        case Over():
            return [plan]
        case Zipped(inner):
            return [over for part in inner for over in parts(part)]
        case Enumerated(part) | Backwards(part) | Iteration(part):
            return parts(part)
    return []
