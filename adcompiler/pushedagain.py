"""Calls in forward mode, in forward mode: of what computes the pair of value and tangent, the pair with its tangent.

    push(f, args, dots)       = pair(*inputs)            a call that was found
    its tangent               = the tangent of pair in the direction  given(tangents of args, tangents of dots)

What is found is again in terms of the call's own arguments `(f, args, dots, ...)`, so that it can be done once more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adcompiler.found import Finder, Found, filled, inside, no_second, padded, under
from adcompiler.runtime.pushed_calls import push, push_method
from adcompiler.runtime.pushing import zeros_of


@dataclass(frozen=True)
class Form:
    """How the arguments of a call in forward mode are those of `push`: `unpack` takes them there, `pack` back."""

    unpack: Callable[[Any], Any]
    pack: Callable[[Any], Any]


def _five(args: Any) -> Any:
    return (*args, *(None,) * (5 - len(args)))


def _method_unpacked(args: Any) -> Any:
    obj, name, obj_dot, rest, rest_dots, *named = args
    return name, (obj, *(rest or ())), (obj_dot, *(rest_dots or ())), named[0] if named else None, None


def _method_packed(bars: Any) -> Any:
    _, args_bar, dots_bar, named_bar, _ = bars
    return args_bar[0], None, dots_bar[0], args_bar[1:], dots_bar[1:], named_bar


PUSH = Form(_five, tuple)
METHOD = Form(_method_unpacked, _method_packed)


def pushed_again(find: Finder, f: Any, args: Any, dots: Any) -> Found:
    """The call `f(*args)` of `push` or `push_method` with its tangent; `dots` are the tangents of the arguments."""
    return of_pushed(find, METHOD if f is push_method else PUSH, args, dots)


def of_pushed(find: Finder, form: Form, args: Any, dots: Any) -> Found:
    """The same of a call whose arguments have another form."""
    function, operands, own_dots, named, own = form.unpack(args)
    of_f, of_operands, *_ = form.unpack(dots)
    named = named or {}
    if own is None and of_f is not None:
        own = zeros_of(function)
    own_dots = _with_function(function, operands, own_dots, of_operands)
    found = find(function, operands, own_dots, named, own)
    if found.pair is None or found.given is None:
        raise no_second(function)
    counts = len(operands), tuple(named)

    def split(dots: Any) -> tuple[Any, ...]:
        moved = form.unpack(dots)
        _check_followed(found, function, moved)
        return moved_of(found, moved, *counts)

    inner = find(found.pair, found.inputs, found.given(*split(dots)), {}, None)
    if inner.pair is None or inner.given is None:
        return inner

    def back(inputs: Any) -> tuple[Any, Any]:
        each = (found.back(bars) for bars in inner.back(inputs))
        bars, dot_bars = (form.pack(bars_of(found, both, *counts))[: len(args)] for both in each)
        return bars, dot_bars

    def given(of_args: Any, of_dots: Any) -> Any:
        return inner.given(*(found.given(*split(dots)) for dots in (of_args, of_dots)))

    return Found(inner.run, inner.operands, inner.pair, inner.inputs, back, given)


def _with_function(function: Any, operands: Any, own_dots: Any, of_operands: Any) -> Any:
    """The tangents of a call of `push` itself, with zeros for a function of which only the next tangent is about."""
    if function is push and own_dots[0] is None and of_operands is not None and of_operands[0] is not None:
        return (zeros_of(operands[0]), *own_dots[1:])
    return own_dots


def _check_followed(found: Found, function: Any, dots: Any) -> None:
    if found.leads is None and any(dots[i] for i in (0, 4)):
        raise no_second(function)


def moved_of(found: Found, dots: Any, count: int, names: tuple[str, ...]) -> tuple[Any, Any]:
    """Tangents of the arguments of `push`, as those of the call's own arguments and of their tangents."""
    of_f, of_operands, of_dots, of_named, of_own = dots
    named = tuple((of_named or {}).get(n) for n in names)
    moved = (*padded(of_operands, count), *named), padded(of_dots, count + len(names))
    if found.leads is None:
        return moved
    return (inside(found.leads, of_f), *moved[0]), (inside(found.leads, of_own), *moved[1])


def bars_of(found: Found, bars: Any, count: int, names: tuple[str, ...]) -> tuple[Any, ...]:
    """Cotangents of a call's own arguments and of their tangents, as those of the arguments of `push`."""
    first = found.leads is not None
    own, own_dots = (filled(each, first + count + len(names)) for each in bars)
    f_bar = own_bar = None
    if first:
        f_bar, own_bar = (under(found.leads, each.pop(0)) for each in (own, own_dots))
    named_bar = dict(zip(names, own[count:], strict=False)) if names else None
    return f_bar, tuple(own[:count]), tuple(own_dots), named_bar, own_bar


__all__ = ["METHOD", "PUSH", "Form", "bars_of", "of_pushed", "pushed_again"]
