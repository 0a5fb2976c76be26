"""The intermediate representation: a few frozen dataclasses for expressions and statements.

`lower` makes it in A-normal form (every argument of a call is a name or a constant), `kinds` replaces each
operation by a resolved `Apply`, `adjoint` makes a second block from the first, `fold` nests expressions again,
and `emit` prints it.  Values are immutable: a pass is a function from block to block.

Names are strings.  A name is a local or a captured variable of the user's function, or one of the compiler's
(`names.Names` keeps them apart); what the function reads from its module is a `Global`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from adcompiler.errors import Origin

# --- expressions ------------------------------------------------------------------------------------------


class Expr:
    """Base of all expressions."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A local or captured variable."""

    id: str


@dataclass(frozen=True, slots=True)
class Global(Expr):
    """A variable of the user's module or a builtin, read live."""

    id: str


@dataclass(frozen=True, slots=True, eq=False)
class Const(Expr):
    """A literal."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Static(Expr):
    """An object that only the compiler names: a module, a helper of the runtime, a rule, a generated function."""

    value: Any
    spelling: str


@dataclass(frozen=True, slots=True)
class Op(Expr):
    """An operator, spelled as in Python; one argument for the unary ones (`-`, `+`, `~`, `not`)."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """`func(*args, **kwargs)`; a `Star` among the arguments and the keyword None unpack."""

    func: Expr
    args: tuple[Expr, ...] = ()
    kwargs: tuple[tuple[str | None, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class Attr(Expr):
    """`value.name`."""

    value: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Item(Expr):
    """`value[index]`."""

    value: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Slice(Expr):
    """`lower:upper:step` inside an index."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True)
class Seq(Expr):
    """A tuple, list or set display."""

    form: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class DictOf(Expr):
    """A dict display; a key of None unpacks."""

    items: tuple[tuple[Expr | None, Expr], ...]


@dataclass(frozen=True, slots=True)
class Star(Expr):
    """`*value` in a call or a display."""

    value: Expr


@dataclass(frozen=True, slots=True)
class IfExp(Expr):
    """`body if test else orelse`; made by `fold` only."""

    test: Expr
    body: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class BoolOp(Expr):
    """`a and b`, `a or b`; made by `fold` only."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Verbatim(Expr):
    """An expression kept as the user wrote it.  `inert` ones (f-strings) may read active values."""

    node: Any
    reads: frozenset[str]
    what: str
    inert: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Lambda(Expr):
    """A lambda expression, compiled when it is called."""

    node: Any
    captures: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Apply(Expr):
    """A resolved operation: `spelled` is what the forward evaluates, `callee` says how it is differentiated.

    `args` are the operands in the callee's own order (for a rule, one per parameter of its signature), `kinds` their kinds,
    and `kind` that of the result.
    """

    spelled: Expr
    callee: Any
    args: tuple[Any, ...]
    kinds: tuple[Any, ...]
    kind: Any


Atom = Name | Global | Const | Static

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
    """`target = value`; with `augmented`, `target op= value.args[1]` of an `Op` or its `Apply`."""

    target: str
    value: Expr
    origin: Origin | None = None
    augmented: bool = False
    kind: Any = None


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
    """`with items: body`, for context managers that neither bind a name nor swallow exceptions (`np.errstate`)."""

    items: tuple[Expr, ...]
    body: Block
    node: Any
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
class Clear(Stmt):
    """`a = b = None`: the compiler's own names, before something may leave them unset."""

    names: tuple[str, ...]
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Delete(Stmt):
    """`del names`."""

    names: tuple[str, ...]
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Store(Stmt):
    """`place = value` for an item or an attribute; with an `op`, `place op= value`."""

    place: Item | Attr
    value: Expr
    op: str | None = None
    origin: Origin | None = None


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


# --- walking ----------------------------------------------------------------------------------------------


def children(expr: Any) -> Iterator[Expr]:
    """The direct sub-expressions, in evaluation order."""
    match expr:
        case Op(_, args) | BoolOp(_, args) | Seq(_, args):
            yield from args
        case Call(func, args, kwargs):
            yield func
            yield from args
            yield from (value for _, value in kwargs)
        case Attr(value, _) | Star(value):
            yield value
        case Item(value, index):
            yield value
            yield index
        case Slice(lower, upper, step):
            yield from (e for e in (lower, upper, step) if e is not None)
        case DictOf(items):
            for key, value in items:
                if key is not None:
                    yield key
                yield value
        case IfExp(test, body, orelse):
            yield test
            yield body
            yield orelse
        case Apply():
            yield expr.spelled


def rebuild(expr: Any, f: Callable[[Expr], Expr]) -> Expr:
    """The same expression with `f` applied to its direct sub-expressions."""
    match expr:
        case Op(op, args):
            return Op(op, tuple(map(f, args)))
        case BoolOp(op, args):
            return BoolOp(op, tuple(map(f, args)))
        case Seq(form, items):
            return Seq(form, tuple(map(f, items)))
        case Call(func, args, kwargs):
            return Call(f(func), tuple(map(f, args)), tuple((k, f(v)) for k, v in kwargs))
        case Attr(value, name):
            return Attr(f(value), name)
        case Star(value):
            return Star(f(value))
        case Item(value, index):
            return Item(f(value), f(index))
        case Slice(lower, upper, step):
            return Slice(*(e if e is None else f(e) for e in (lower, upper, step)))
        case DictOf(items):
            return DictOf(tuple((k if k is None else f(k), f(v)) for k, v in items))
        case IfExp(test, body, orelse):
            return IfExp(f(test), f(body), f(orelse))
        case Apply():
            return replace(expr, spelled=f(expr.spelled))
    return expr


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all its sub-expressions."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def reads(expr: Expr) -> Iterator[str]:
    """The names read, in evaluation order, with repetitions."""
    for e in walk(expr):
        if isinstance(e, Name):
            yield e.id
        elif isinstance(e, Verbatim):
            yield from sorted(e.reads)
        elif isinstance(e, Lambda):
            yield from sorted(e.captures)


def substitute(expr: Expr, mapping: dict[str, Expr]) -> Expr:
    """The expression with names replaced."""
    if isinstance(expr, Name):
        return mapping.get(expr.id, expr)
    return rebuild(expr, lambda e: substitute(e, mapping))


def is_atom(expr: Expr) -> bool:
    """Whether evaluating the expression again costs nothing and changes nothing."""
    return isinstance(expr, Name | Global | Const | Static)


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks inside a statement, in the order of the text."""
    match stmt:
        case If(_, body, orelse):
            return body, orelse
        case For(_, _, body, orelse):
            return body, orelse
        case With(_, body):
            return (body,)
        case While(head, _, body, orelse):
            return head, body, orelse
    return ()


def with_blocks(stmt: Any, new: tuple[Block, ...]) -> Stmt:
    """The statement with its blocks replaced, in the order of `blocks`."""
    names = [f.name for f in fields(stmt) if f.name in ("head", "body", "orelse")]
    return replace(stmt, **dict(zip(names, new, strict=True)))


def bound(stmt: Stmt) -> frozenset[str]:
    """The names that a statement may bind or delete, nested blocks included."""
    match stmt:
        case Assign(target):
            own: tuple[str, ...] = (target,)
        case Unpack(target) | For(target):
            own = target_names(target)
        case Delete(names) | Clear(names):
            own = names
        case Define(name):
            own = (name,)
        case Opaque():
            own = tuple(stmt.writes)
        case _:
            own = ()
    return frozenset(own).union(*(bound_in(b) for b in blocks(stmt)))


def bound_in(block: Block) -> frozenset[str]:
    """The names that a block may bind or delete."""
    return frozenset().union(*(bound(s) for s in block))


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that the statement itself evaluates (not those of its blocks)."""
    match stmt:
        case Assign() | Unpack() | Do() | Return():
            return (stmt.value,)
        case If() | While():
            return (stmt.test,)
        case For():
            return (stmt.iterable,)
        case With():
            return stmt.items
        case Store():
            return stmt.value, stmt.place
    return ()


def map_expressions(stmt: Any, f: Callable[[Expr], Expr]) -> Stmt:
    """The statement with `f` applied to the expressions it evaluates itself."""
    match stmt:
        case Assign() | Unpack() | Do() | Return():
            return replace(stmt, value=f(stmt.value))
        case If() | While():
            return replace(stmt, test=f(stmt.test))
        case For():
            return replace(stmt, iterable=f(stmt.iterable))
        case With():
            return replace(stmt, items=tuple(map(f, stmt.items)))
        case Store():
            return replace(stmt, value=f(stmt.value), place=rebuild(stmt.place, f))
    return stmt


def statements(block: Block) -> Iterator[Stmt]:
    """All statements of a block, nested ones included, in the order of the text."""
    for stmt in block:
        yield stmt
        for inner in blocks(stmt):
            yield from statements(inner)


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
        case With(_, body):
            return leaves(body)
    return False
