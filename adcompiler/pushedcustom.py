"""Functions under `custom_pullback`, in forward mode: the transpose of the user's pullback.

    y = f(x)                y, x_bar = f's pullback,        y_dot = its transpose, of x_dot

The value moves as the user's pullback says at every order, whatever the text of the function does.
"""

from __future__ import annotations

import inspect
import types
from typing import Any

from adcompiler.errors import NoRuleError
from adcompiler.found import Found, filled, once, part_of
from adcompiler.runtime.custom import captures, each, with_pullback
from adcompiler.runtime.pushed_calls import unsupported
from adcompiler.runtime.pushed_rules import by_custom
from adcompiler.runtime.pushing import FrozenDict
from adcompiler.transpose import transposed

_NAMED = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)


def of_custom(args: Any, dots: Any, named: Any) -> Found:
    """`with_pullback(f, *args, **named)`."""
    f, *rest = args
    bound = isinstance(f, types.MethodType)
    if not bound and dots[0] is not None and not isinstance(dots[0], FrozenDict):
        raise NoRuleError(captures(f))
    function, first = (f.__func__, (f.__self__,)) if bound else (f, ())
    signature = inspect.signature(function, follow_wrapped=False)
    values = [*first, *rest, *named.values()]
    tangents = [*((part_of(dots[0], "__self__"),) if bound else ()), *dots[1:]]
    count = len(values) - len(named)
    given = signature.bind(*range(count), **{k: count + i for i, k in enumerate(named)})
    order = _places(function, signature, given)
    operands = tuple(values[p] if isinstance(p, int) else p.default for p in order)
    moved = tuple(tangents[p] if isinstance(p, int) else None for p in order)
    several = next((i for i, p in enumerate(signature.parameters.values()) if p.kind is p.VAR_POSITIONAL), None)
    pair = once(by_custom, with_pullback, function, each, transposed, (several, len(signature.parameters)))

    def as_given(bars: Any) -> list[Any]:
        own: list[Any] = [None] * len(values)
        for place, bar in zip(order, filled(bars, len(order)), strict=True):
            if isinstance(place, int):
                own[place] = bar
        return [{"__self__": own[0]}, *own[1:]] if bound else [None, *own]

    def placed(dots: Any) -> tuple[Any, ...]:
        own = [part_of(dots[0], "__self__"), *dots[1:]] if bound else dots[1:]
        return tuple(own[p] if isinstance(p, int) else None for p in order)

    return Found(
        pair,
        (operands, moved),
        pair,
        (operands, moved),
        lambda bars: tuple(map(as_given, bars)),
        lambda of_args, of_dots: (placed(of_args), placed(of_dots)),
    )


def _places(function: Any, signature: inspect.Signature, given: inspect.BoundArguments) -> list[Any]:
    """For each argument by position, which of those of the call it is, or the parameter whose default it is."""
    out: list[Any] = []
    last = max((i for i, n in enumerate(signature.parameters) if n in given.arguments), default=-1)
    for i, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind in _NAMED and name in given.arguments:
            raise unsupported(f"a keyword of {function.__name__}, a function under custom_pullback,")
        if parameter.kind is parameter.VAR_POSITIONAL:
            out += given.arguments.get(name, ())
        elif i <= last and parameter.kind not in _NAMED:
            out.append(given.arguments.get(name, parameter))
    return out


__all__ = ["of_custom"]
