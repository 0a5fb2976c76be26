"""The intermediate representation: expressions (in `expression`) and, here, the statements that hold them.

`lower` makes it in A-normal form (every argument of a call is a name or a constant), `kinds` replaces each
operation by a resolved `Apply`, `adjoint` makes a second block from the first, `fold` nests expressions again,
and `emit` prints it.  Values are immutable: a pass is a function from block to block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from adcompiler.errors import Origin
from adcompiler.expression import Apply as Apply
from adcompiler.expression import Atom as Atom
from adcompiler.expression import Attr as Attr
from adcompiler.expression import BoolOp as BoolOp
from adcompiler.expression import Call as Call
from adcompiler.expression import Const as Const
from adcompiler.expression import DictOf as DictOf
from adcompiler.expression import Expr as Expr
from adcompiler.expression import Fn as Fn
from adcompiler.expression import Global as Global
from adcompiler.expression import IfExp as IfExp
from adcompiler.expression import Item as Item
from adcompiler.expression import Lambda as Lambda
from adcompiler.expression import Name as Name
from adcompiler.expression import Op as Op
from adcompiler.expression import Seq as Seq
from adcompiler.expression import Slice as Slice
from adcompiler.expression import Star as Star
from adcompiler.expression import Static as Static
from adcompiler.expression import Taken as Taken
from adcompiler.expression import Verbatim as Verbatim
from adcompiler.expression import as_argument as as_argument
from adcompiler.expression import children as children
from adcompiler.expression import is_atom as is_atom
from adcompiler.expression import reads as reads
from adcompiler.expression import rebuild as rebuild
from adcompiler.expression import substitute as substitute
from adcompiler.expression import walk as walk

# --- targets ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets of an unpacking: names, nested `Targets`, and at most one starred name."""

    items: tuple[str | Targets, ...]
    star: int | None = None

    def names(self) -> Iterator[str]:
        """All names bound, left to right."""
        for item in self.items:
            if isinstance(item, Targets):
                yield from item.names()
            else:
                yield item


Target = str | Targets


def target_names(target: Target) -> tuple[str, ...]:
    """The names that a target binds."""
    return (target,) if isinstance(target, str) else tuple(target.names())


# --- statements -------------------------------------------------------------------------------------------


class Stmt:
    """Base of all statements; each carries the user's line as `origin` (None for the compiler's own)."""

    __slots__ = ()
    origin: Origin | None


Block = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Stmt):
    """`target = value`; with `augmented`, `target op= value.args[1]` of an `Op` or its `Apply`.

    `cause` is the user's operation for whose reverse the forward keeps this.
    """

    target: str
    value: Expr
    origin: Origin | None = None
    augmented: bool = False
    kind: Any = None
    cause: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Unpack(Stmt):
    """`a, (b, *c) = value`."""

    target: Targets
    value: Expr
    origin: Origin | None = None
    kind: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Do(Stmt):
    """An expression evaluated for its effect."""

    value: Expr
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class If(Stmt):
    """`if test: body else: orelse`."""

    test: Expr
    body: Block
    orelse: Block
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class For(Stmt):
    """`for target in iterable: body else: orelse`; `kind` describes the elements once kinds are known."""

    target: Target
    iterable: Expr
    body: Block
    orelse: Block
    origin: Origin | None = None
    kind: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class While(Stmt):
    """`while True: head; if not test: break-to-else; body`."""

    head: Block
    test: Expr
    body: Block
    orelse: Block
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class With(Stmt):
    """`with item as target: body`; `swallows` says that the context manager may end an exception of the body."""

    item: Expr
    target: str | None
    body: Block
    origin: Origin | None = None
    swallows: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Handler:
    """`except test as name: body`."""

    test: Expr | None
    name: str | None
    body: Block
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Try(Stmt):
    """`try: body`, its handlers, `else: orelse`, `finally: final`."""

    body: Block
    handlers: tuple[Handler, ...]
    orelse: Block
    final: Block
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Break(Stmt):
    """`break`."""

    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Continue(Stmt):
    """`continue`."""

    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Return(Stmt):
    """`return value`."""

    value: Expr
    origin: Origin | None = None
    kind: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Yield(Stmt):
    """`yield value`; `body` runs if the generator is dropped there."""

    value: Expr
    body: Block = ()
    origin: Origin | None = None
    kind: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Clear(Stmt):
    """`a = b = None`: the compiler's own names, before something may leave them unset; markers get a `value`."""

    names: tuple[str, ...]
    origin: Origin | None = None
    value: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Delete(Stmt):
    """`del names`."""

    names: tuple[str, ...]
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Store(Stmt):
    """`place = value` for an item or an attribute; with an `op`, `place op= value`.

    `held` is what the place held before the value was computed, where that may have changed it; `kinds` are those of
    the array, the index and the value of a store into an array.
    """

    place: Item | Attr
    value: Expr
    op: str | None = None
    origin: Origin | None = None
    held: Expr | None = None
    kinds: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Collect(Stmt):
    """`into.append(value)`, or `into[key] = value`, where nobody else can see `into` yet."""

    into: str
    value: Expr
    key: Expr | None = None
    origin: Origin | None = None
    kind: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Gather(Stmt):
    """`target = spelled`, and the statements that mean the same; `into` is what they collect the result in, if any.

    Where nothing active is collected, the expression stays as the user `spelled` it.
    """

    target: str
    spelled: Verbatim
    into: str | None
    body: Block
    origin: Origin | None = None
    kind: Any = None
    unordered: bool = False  # the value is a set
    own_cells: bool = False  # functions inside capture its variables, and may outlive this run of it


@dataclass(frozen=True, slots=True, eq=False)
class Define(Stmt):
    """A nested `def`, compiled when it is called."""

    name: str
    node: Any
    captures: frozenset[str]
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Stmt):
    """A statement kept as the user wrote it: raise, assert, import, inert `with`, `try`, ..."""

    node: Any
    reads: frozenset[str]
    writes: frozenset[str]
    what: str
    origin: Origin | None = None
    leaves: bool = False
    error: Exception | None = None  # why it has no other form, to be raised where it needs one


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function in the IR; `params` in order, `body` in A-normal form."""

    name: str
    params: tuple[str, ...]
    body: Block
    source: Any
    locals: frozenset[str]
    cells: frozenset[str]
    origin: Origin | None = None
    generator: bool = False

    def shown(self, name: str) -> str:
        """A name as messages show it; temporaries are nothing that the user wrote."""
        return name if name in self.locals | self.cells or name in self.params else "a value"


# --- walking ----------------------------------------------------------------------------------------------


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks inside a statement, in the order of the text."""
    match stmt:
        case If(_, body, orelse):
            return body, orelse
        case For(_, _, body, orelse):
            return body, orelse
        case With() | Gather() | Yield():
            return (stmt.body,)
        case Try(body, handlers, orelse, final):
            return body, *(h.body for h in handlers), orelse, final
        case While(head, _, body, orelse):
            return head, body, orelse
    return ()


def with_blocks(stmt: Stmt, new: tuple[Block, ...]) -> Stmt:
    """The statement with its blocks replaced, in the order of `blocks`."""
    if isinstance(stmt, Try):
        body, *arms, orelse, final = new
        handlers = tuple(replace(h, body=b) for h, b in zip(stmt.handlers, arms, strict=True))
        return replace(stmt, body=body, handlers=handlers, orelse=orelse, final=final)
    holder: Any = stmt
    names = [f.name for f in fields(holder) if f.name in ("head", "body", "orelse")]
    changed: Stmt = replace(holder, **dict(zip(names, new, strict=True)))
    return changed


def bound(stmt: Stmt) -> frozenset[str]:
    """The names that a statement may bind or delete, nested blocks included."""
    match stmt:
        case Assign(target) | Gather(target):
            own: tuple[str, ...] = (target,)
        case Unpack(target) | For(target):
            own = target_names(target)
        case Delete(names) | Clear(names):
            own = names
        case Define(name):
            own = (name,)
        case Opaque():
            own = tuple(stmt.writes)
        case With(_, str() as target):
            own = (target,)
        case Try(_, handlers):
            own = tuple(h.name for h in handlers if h.name is not None)
        case _:
            own = ()
    return frozenset(own).union(*(bound_in(b) for b in blocks(stmt)))


def bound_in(block: Block) -> frozenset[str]:
    """The names that a block may bind or delete."""
    return frozenset().union(*(bound(s) for s in block))


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that the statement itself evaluates (not those of its blocks)."""
    match stmt:
        case Assign() | Unpack() | Do() | Return() | Yield():
            return (stmt.value,)
        case If() | While():
            return (stmt.test,)
        case For():
            return (stmt.iterable,)
        case With():
            return (stmt.item,)
        case Try(_, handlers):
            return tuple(h.test for h in handlers if h.test is not None)
        case Store():
            return (stmt.value, stmt.place, *([stmt.held] if stmt.held is not None else []))
        case Collect(_, value, None):
            return (value,)
        case Collect(_, value, key) if key is not None:
            return key, value
    return ()


def map_expressions(stmt: Stmt, f: Callable[[Expr], Expr]) -> Stmt:
    """The statement with `f` applied to the expressions it evaluates itself."""
    match stmt:
        case Assign() | Unpack() | Do() | Return() | Yield():
            return replace(stmt, value=f(stmt.value))
        case Collect(_, value, key):
            return replace(stmt, value=f(value), key=None if key is None else f(key))
        case If() | While():
            return replace(stmt, test=f(stmt.test))
        case For():
            return replace(stmt, iterable=f(stmt.iterable))
        case With():
            return replace(stmt, item=f(stmt.item))
        case Try(_, handlers):
            return replace(stmt, handlers=tuple(replace(h, test=h.test and f(h.test)) for h in handlers))
        case Store():
            place: Any = rebuild(stmt.place, f)
            return replace(stmt, value=f(stmt.value), place=place, held=stmt.held and f(stmt.held))
    return stmt


def statements(block: Block) -> Iterator[Stmt]:
    """All statements of a block, nested ones included, in the order of the text."""
    for stmt in block:
        yield stmt
        for inner in blocks(stmt):
            yield from statements(inner)


def is_exit(stmt: Stmt) -> bool:
    """Whether a `break` or `continue` inside a statement is of the loop around it."""
    if isinstance(stmt, For | While):
        return any(map(is_exit, stmt.orelse))
    return isinstance(stmt, Break | Continue) or any(is_exit(s) for b in blocks(stmt) for s in b)


def copied(block: Block) -> Block:
    """The same statements, as statements of their own."""
    out: list[Any] = [with_blocks(s, tuple(map(copied, blocks(s)))) if blocks(s) else s for s in block]
    return tuple(replace(out[i]) if out[i] is s else out[i] for i, s in enumerate(block))


def leaves(block: Block) -> bool:
    """Whether control never reaches the end of the block."""
    return bool(block) and _leaves(block[-1])


def _leaves(stmt: Stmt) -> bool:
    match stmt:
        case Return() | Break() | Continue():
            return True
        case Opaque():
            return stmt.leaves
        case If(_, body, orelse):
            return leaves(body) and leaves(orelse)
        case With():
            return leaves(stmt.body) and not stmt.swallows
        case Try(body, handlers, orelse, final):
            return leaves(final) or (leaves(body + orelse) and all(leaves(h.body) for h in handlers))
    return False
