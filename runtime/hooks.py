"""What the pullback does for `hook(fn, x)`, and where `hook` and `stop_gradient` cannot give the value itself."""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.arrays import home_of
from adcompiler.runtime.errors import MutationError, TangentError, UnsupportedSyntaxError
from adcompiler.runtime.held import hold
from adcompiler.runtime.marks import Printed, hook, showgrad, stop_gradient
from adcompiler.runtime.members import is_named_tuple
from adcompiler.runtime.project import detach, project
from adcompiler.runtime.resolved import Resolved, plain
from adcompiler.runtime.walk import check_cotangent, gradient_like, is_array

_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
OF_FUNCTION = "Its cotangent is that of what it captured.", "Hook the values that it captures."
OF_ARRAY = (
    "It gives the array itself, whose memory has one cotangent wherever it is used.",
    "Pass a copy, x.copy(), or write into a copy of the result.",
)
OF_PLACE = (
    "It gives the object itself, which has one cotangent wherever it is used.",
    "Use the numbers and arrays in it, one by one.",
)


class Hook:
    """The function of a hook with what it has to know of the value: from a cotangent to what takes its place."""

    __slots__ = ("fn", "like")

    def __init__(self, fn: Callable[[Any], Any], x: Any) -> None:
        if isinstance(hook(fn, x), _FUNCTIONS):
            raise UnsupportedSyntaxError("\n".join(("hook() of a function", *OF_FUNCTION)))
        self.fn = fn
        self.like = form_of(x)

    def __call__(self, ct: Any) -> Any:
        """The cotangent that goes on; `fn` gets a copy of its own, and what it returns is copied."""
        given = project(ct, self.like)
        if not _is_there(given):
            return None
        found = self.fn(detach(given, given))
        if found is None:
            return given
        try:
            check_cotangent(found, self.like)
            new = project(found, self.like)
        except TangentError as error:
            raise TangentError(f"a hook returned what cannot be used: {error}") from None
        return detach(new, new)


def form_of(x: Any) -> Any:
    """What a cotangent of `x` has to look like: `x` with arrays that have its shapes and dtypes, and no memory."""
    cls = type(x)
    if is_array(x) and not isinstance(x, np.generic):
        home = home_of(x)
        return home.broadcast_to(home.zeros((), x.dtype), x.shape)
    if cls is dict:
        return {key: form_of(value) for key, value in x.items()}
    if cls in (tuple, list, deque) or is_named_tuple(cls):
        return gradient_like(x, dict(enumerate(map(form_of, x))))
    return x


def _is_there(ct: Any) -> bool:
    """Whether anything in a cotangent is not structurally zero."""
    if isinstance(ct, list | tuple | deque):
        return any(map(_is_there, ct))
    return any(_is_there(value) for _, value in ct.items()) if hasattr(ct, "items") else ct is not None


# --- resolved at run time ---------------------------------------------------------------------------------


def is_mark(f: Any) -> bool:
    """Whether a function gives its argument itself, and means something to the compiler."""
    return f is hook or f is stop_gradient or f is showgrad


def resolve_mark(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Resolved:
    """The derivative of a call of such a function, for the callable and each argument."""
    count = 1 + len(args) + len(kwargs)
    if f is stop_gradient:
        return plain(f, count)
    if f is showgrad:
        return Resolved(lambda x: (x, Hook(Printed("x"), x)), lambda made, y_bar: (None, made(y_bar)))
    at = 1 + (len(args) + list(kwargs).index("x") if "x" in kwargs else 1)

    def forward(*args: Any, **kwargs: Any) -> Any:
        return hook(*args, **kwargs), Hook(*args, **kwargs)

    def backward(made: Hook, y_bar: Any) -> tuple[Any, ...]:
        return tuple(made(y_bar) if i == at else None for i in range(count))

    return Resolved(forward, backward)


def check_by_value(f: Any, values: Any, hot: bool = False) -> None:
    """Raise if what `f` gives back has its cotangent by identity, or (`hot`) in a shadow of its memory."""
    if hot:
        raise MutationError("\n".join((f"{f.__name__}() of an array that is written into", *OF_ARRAY)))
    if any(hold(value) is not None for value in values):
        raise UnsupportedSyntaxError(
            "\n".join((f"{f.__name__}() of a list, dict or object, in a program that writes into such", *OF_PLACE))
        )
