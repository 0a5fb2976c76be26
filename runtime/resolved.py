"""What is found for one call at run time: its forward, its backward, and those of operations that only move values."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from adcompiler.runtime.containers import one_item
from adcompiler.runtime.domain import writes_nothing
from adcompiler.runtime.moves import moved

# Functions that call a closure or partial, by its code or type.
_callers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class Resolved:
    """A callable with its derivative, for one call."""

    __slots__ = ("apart", "backward", "bound", "builtin", "foreign", "forward", "result", "ruled", "source", "strict")

    def __init__(
        self,
        forward: Callable[..., Any],
        backward: Callable[..., Any],
        source: Any = None,
        ruled: bool = False,
        apart: Callable[..., Any] | None = None,
        builtin: bool = False,
        strict: Callable[..., Any] | None = None,
        result: str | None = None,
    ) -> None:
        self.forward = forward
        self.backward = backward
        self.source = source  # of a function with source: itself, what is wanted, and its first arguments
        self.ruled = ruled  # a rule keeps what it is given, and gives new values
        self.apart = apart  # the forward of a function with source, if its operands or result may be written later
        self.builtin = builtin  # all rules are adcompiler's own
        self.bound: tuple[Resolved, Any] | None = None  # of a method: the operation of its object and the arguments
        self.foreign = False  # an operand is an object that may change when it is used, as a random generator does
        self.result = result  # what the rules say of their results
        self.strict = strict  # as `apart`, of a function that must not read arrays from outside

    def given(self, arguments: Callable[..., Any], backward: Callable[..., Any], source: Any = None) -> Resolved:
        """The same operation called in another way: `arguments(*args)` gives its own positional ones."""

        def adapted(forward: Any) -> Any:
            return None if forward is None else lambda *args, **kwargs: forward(*arguments(*args), **kwargs)

        made = Resolved(adapted(self.forward), backward, source, self.ruled, adapted(self.apart), self.builtin)
        made.strict, made.result, made.foreign = adapted(self.strict), self.result, self.foreign
        return made


def caller(f: Any, named: bool) -> Any:
    """A function that calls what it is given first; one for each body, since each is compiled for itself."""
    while isinstance(f, functools.partial):
        f = f.func
    holders = _callers.setdefault(f if isinstance(f, type) else getattr(f, "__code__", type(f)), {})
    if named not in holders:
        made = holders[named] = types.FunctionType((_call_named if named else _call).__code__, globals(), "call")
        made.__adcompiler_pure__ = writes_nothing(f)  # type: ignore[attr-defined]
    return holders[named]


def is_caller(function: Any) -> bool:
    """Whether a function was made by `caller`."""
    return function.__code__ in (_call.__code__, _call_named.__code__)


def _call(f: Any, /, *args: Any) -> Any:
    return f(*args)


def _call_named(f: Any, /, *args: Any, **kwargs: Any) -> Any:
    return f(*args, **kwargs)


def load_attribute(obj: Any, name: str) -> Any:
    return getattr(obj, name), None


def from_object(inner: Resolved) -> Resolved:
    """What is computed from an object alone, as `getattr(obj, name)`."""
    return inner.given(lambda obj, name: (obj,), lambda saved, y_bar: (None, *inner.backward(saved, y_bar), None))


def plain(f: Any, count: int) -> Resolved:
    return Resolved(lambda *args, **kwargs: (f(*args, **kwargs), None), lambda saved, y_bar: (None,) * count)


def without_owner(inner: Resolved, owner: Any) -> Resolved:
    source = None if inner.source is None else (*inner.source[:2], (owner, *inner.source[2]))
    made = inner.given(lambda *args: (owner, *args), inner.backward, source)
    made.bound = inner, owner
    return made


def moving(function: Any, roles: str, named: int = 0) -> Resolved:
    """An operation that only moves what containers hold; keywords are moved themselves."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        count, names = len(args), tuple(kwargs)

        def run(*operands: Any) -> Any:
            return function(*operands[:count], **dict(zip(names, operands[count:], strict=True)))

        return moved(run, roles + "v" * named, *args, *kwargs.values())

    return Resolved(forward, lambda back, y_bar: back(y_bar))


def container_method(owner: Any, name: str, wanted: tuple[bool, ...]) -> Resolved | None:
    """A method of a container that only reads it."""
    roles = {"copy": "s", "get": "s-v", "items": "s", "values": "s", "keys": "s"}.get(name)
    if roles is None or ((name in ("items", "values", "keys", "get")) != isinstance(owner, dict) and name != "copy"):
        return None
    if name in ("items", "values"):
        return moving(lambda d: list(getattr(d, name)()), "s")
    roles = "".join(r if on else "-" for r, on in zip(roles, wanted, strict=False))
    return moving(lambda d, *args: getattr(d, name)(*args), roles)


def item_of(container: Any) -> Resolved:
    """An item of a container: its cotangent is the container's with that one entry."""

    def forward(container: Any, key: Any) -> Any:
        return container[key], key

    def backward(key: Any, y_bar: Any) -> Any:
        if isinstance(container, dict):
            return {key: y_bar}, None
        if isinstance(key, slice):
            entries: list[Any] = [None] * len(container)
            entries[key] = y_bar if y_bar is not None else [None] * len(entries[key])
        else:
            entries = one_item(len(container), key, y_bar)
        return entries, None

    return Resolved(forward, backward)
