"""Expressions of the intermediate representation: a few frozen dataclasses, and how they are walked and rebuilt.

A name is a string: a local or a captured variable of the user's function, or one of the compiler's (`names.Names` keeps
them apart).  What the function reads from its module is a `Global`.  Passes use all of this as `ir.Name` and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any


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
class Taken(Expr):
    """The value of a variable, which holds None from then on: a call that is given it is the only one to hold it."""

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
class Fn(Expr):
    """`lambda params: body`, of the compiler's own; the body reads nothing but its parameters."""

    params: tuple[str, ...]
    body: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Apply(Expr):
    """A resolved operation: `spelled` is what the forward evaluates, `callee` says how it is differentiated.

    `args` are the operands in the callee's own order (for a rule, one per parameter of its signature), `kinds` their
    kinds, and `kind` that of the result.
    """

    spelled: Expr
    callee: Any
    args: tuple[Any, ...]
    kinds: tuple[Any, ...]
    kind: Any


Atom = Name | Global | Const | Static

# --- walking ----------------------------------------------------------------------------------------------


def children(expr: Any) -> Iterator[Expr]:  # noqa: C901  one case per form
    """The direct sub-expressions, in evaluation order."""
    match expr:
        case Op(_, args) | BoolOp(_, args) | Seq(_, args):
            yield from args
        case Call(func, args, kwargs):
            yield func
            yield from args
            yield from (value for _, value in kwargs)
        case Attr(value, _) | Star(value) | Taken(value):
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


def rebuild(expr: Expr, f: Callable[[Expr], Expr]) -> Expr:  # noqa: C901  one case per form
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
        case Taken(value):
            return Taken(f(value))
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


def as_argument(expr: Any) -> Any:
    """An operand as an argument of a call: the slices and tuples of an index are spelled out."""
    match expr:
        case Slice(lower, upper, step):
            ends = tuple(Const(None) if end is None else end for end in (lower, upper, step))
            return Call(Static(slice, "slice"), ends)
        case Seq(form, items):
            return Seq(form, tuple(map(as_argument, items)))
    return expr


def substitute(expr: Expr, mapping: dict[str, Expr]) -> Expr:
    """The expression with names replaced."""
    if isinstance(expr, Name):
        return mapping.get(expr.id, expr)
    return rebuild(expr, lambda e: substitute(e, mapping))


def is_atom(expr: Expr) -> bool:
    """Whether evaluating the expression again costs nothing and changes nothing."""
    return isinstance(expr, Name | Global | Const | Static)
