"""`custom_pullback`: a function that returns its value and its pullback, used as one that returns its value."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from adcompiler.runtime.errors import DifferentiationError, NoRuleError
from adcompiler.runtime.ruling import Form, aligned
from adcompiler.runtime.wrapped import wrapping


def custom_pullback(f: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for a function that returns ``(y, pullback)``: calls give `y`, and derivatives come from `pullback`.

    ``pullback(y_bar)`` returns a tuple with one cotangent for each parameter of `f`, None where there is none; of a
    function with one parameter the cotangent itself will do. It is linear in `y_bar`, writes into nothing, and can be
    called any number of times. What `f` has captured gets no cotangent: an active value among that is an error.
    """
    if not callable(f):
        raise TypeError(f"custom_pullback is for a function that returns (y, pullback), not {f!r}")
    return wrapping(with_pullback, f)  # type: ignore[no-any-return]


def with_pullback(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The value of a call: what a function under `custom_pullback` calls, and what has the rule."""
    return _pair(f, f(*args, **kwargs))[0]


def with_pullback_rule(f: Any, /, *args: Any, config: Any, **kwargs: Any) -> Any:
    """The rule: the user's pullback, brought into the form of one of the call's arguments."""
    if config.wanted[0] and not isinstance(f, types.MethodType):
        raise NoRuleError(captures(f))
    function, first = (f.__func__, (f.__self__,)) if isinstance(f, types.MethodType) else (f, ())
    y, back = _pair(f, f(*args, **kwargs))
    signature = inspect.signature(function, follow_wrapped=False)
    form = Form.of((*first, *args), kwargs)
    wanted = config.wanted if first else config.wanted[1:]

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        cts = aligned(signature, _each(f, signature, back(y_bar)), wanted, form)
        own = {"__self__": cts[0]} if first else None
        cts = cts[len(first) :]
        return own, tuple(cts[: len(args)]), dict(zip(kwargs, cts[len(args) :], strict=True))

    return y, pullback


def captures(f: Any) -> str:
    """What is wrong with a function that has captured what carries a derivative."""
    return (
        f"{_name(f)}, a function under custom_pullback, has captured a value that carries a derivative\n"
        "Its pullback gives cotangents of the parameters only.\nPass that value as an argument."
    )


def each(back: Callable[[Any], Any], count: int) -> Callable[[Any], Any]:
    """A user's pullback as one that returns a tuple, of a function with `count` parameters; plain code."""

    def pullback(y_bar: Any) -> Any:
        found = back(y_bar)
        if count == 1 and not (isinstance(found, tuple | list) and len(found) == 1):
            return (found,)
        return found

    return pullback


def _pair(f: Any, found: Any) -> Any:
    if isinstance(found, tuple | list) and len(found) == 2 and callable(found[1]):
        return found
    raise DifferentiationError(
        f"{_name(f)}, a function under custom_pullback, returned no pair of a value and a pullback\n"
        "Let it return `y, pullback`."
    )


def _each(f: Any, signature: inspect.Signature, found: Any) -> Any:
    """One cotangent for each parameter, from what the pullback has returned."""
    names = list(signature.parameters)
    if len(names) == 1 and not (isinstance(found, tuple | list) and len(found) == 1):
        return (found,)
    if isinstance(found, tuple | list) and len(found) == len(names):
        return found
    what = f"{len(found)} cotangents" if isinstance(found, tuple | list) else f"a {type(found).__name__}"
    raise DifferentiationError(
        f"the pullback of {_name(f)} returned {what}, not a tuple of {len(names)}\n"
        f"Let it return one cotangent for each of the parameters ({', '.join(names)}), None where there is none."
    )


def _name(f: Any) -> str:
    return str(getattr(f, "__name__", type(f).__name__))


__all__ = ["captures", "custom_pullback", "each", "with_pullback", "with_pullback_rule"]
