"""How a call is done in forward mode when it is found at run time, and how one such call is made of another.

A `Found` computes `(f(*args), tangent)`.  Cotangents and tangents of what it is given are taken to those of the call's
own arguments and of their tangents, and back.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from adcompiler.errors import NoRuleError
from adcompiler.rules.registry import key_name
from adcompiler.runtime.pushed_calls import PLAIN_OPERATORS

Finder = Callable[..., "Found"]


@dataclass(frozen=True)
class Found:
    """How `(f(*args), tangent)` is computed: `run(*operands)`; as plain code it is `pair(*inputs)`.

    `back` takes cotangents of the inputs to those of the arguments and of their tangents; `given` takes tangents of
    both to those of the inputs.
    """

    run: Any
    operands: tuple[Any, ...]
    pair: Any = None
    inputs: tuple[Any, ...] = ()
    back: Any = None
    given: Any = None
    leads: str | None = None  # the function comes first among the arguments; under this name in its cotangent, if any


# --- cotangents and tangents, by argument -----------------------------------------------------------------


def same(bars: Any) -> Any:
    return bars


def both(of_args: Any, of_dots: Any) -> tuple[Any, Any]:
    """Tangents of the arguments and of their tangents as those of the two tuples of them."""
    return tuple(of_args), tuple(of_dots)


def listed(bars: Any) -> list[Any]:
    return [] if bars is None else list(bars)


def filled(bars: Any, count: int) -> list[Any]:
    """Cotangents with None for those at the end that are missing."""
    found = listed(bars)
    return found + [None] * (count - len(found))


def padded(dots: Any, count: int) -> tuple[Any, ...]:
    found = () if dots is None else tuple(dots)
    return found + (None,) * (count - len(found))


def once(make: Callable[..., Any], *args: Any) -> Any:
    """`make(*args)`, the same function for the same arguments: what is compiled for it is then found again."""
    key = make, *(() if arg == {} else arg for arg in args)
    try:
        return _made[key]
    except KeyError:
        if len(_made) >= _MOST:
            _made.clear()
        made = _made[key] = make(*args)
        return made
    except TypeError:  # an argument has no hash
        return make(*args)


_made: dict[Any, Any] = {}
_MOST = 4096


def part_of(own: Any, name: str) -> Any:
    return None if own is None else own.get(name)


def under(name: str | None, bar: Any) -> Any:
    return {name: bar} if name and bar is not None else bar


def inside(name: str | None, dot: Any) -> Any:
    return dot.get(name) if name and dot is not None else dot


# --- calls made of others ---------------------------------------------------------------------------------


def with_first(found: Found) -> Found:
    """A call whose first argument is what is called: a method of an object, `recomputed(f, x)`."""
    if found.pair is None or found.given is None:
        return found
    name = found.leads

    def back(inputs: Any) -> tuple[Any, Any]:
        bars, dot_bars = map(listed, found.back(inputs))
        if name is None:
            return [None, *bars], [None, *dot_bars]
        return [under(name, bars[0]), *bars[1:]], [under(name, dot_bars[0]), *dot_bars[1:]]

    def given(of_args: Any, of_dots: Any) -> Any:
        if name is None:
            return found.given(of_args[1:], of_dots[1:])
        return found.given((inside(name, of_args[0]), *of_args[1:]), (inside(name, of_dots[0]), *of_dots[1:]))

    return Found(found.run, found.operands, found.pair, found.inputs, back, given)


def of_applied(find: Finder, args: Any, dots: Any) -> Found:
    """`applied(f, args, options, *first)`: `f(*first, *args, **options)`, of a tuple and of a dict."""
    function, operands, options, *first = args
    start, stop, names = len(first), len(first) + len(operands), tuple(options)

    def flat(dots: Any) -> tuple[Any, ...]:
        of_f, of_operands, of_options, *of_first = dots
        named = ((of_options or {}).get(n) for n in names)
        return (of_f, *padded(of_first, start), *padded(of_operands, len(operands)), *named)

    of_f, *moved = flat(dots)
    inner = with_first(find(function, (*first, *operands), tuple(moved), dict(options), of_f))
    if inner.pair is None or inner.given is None:
        return inner

    def packed(bars: Any) -> tuple[Any, ...]:
        f_bar, *rest = filled(bars, 1 + stop + len(names))
        return f_bar, tuple(rest[start:stop]), dict(zip(names, rest[stop:], strict=True)), *rest[:start]

    return Found(
        inner.run,
        inner.operands,
        inner.pair,
        inner.inputs,
        lambda inputs: tuple(map(packed, inner.back(inputs))),
        lambda of_args, of_dots: inner.given(flat(of_args), flat(of_dots)),
    )


def of_partial(find: Finder, f: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """A partial: its arguments come first, and keywords of the call replace its own."""
    first = len(f.args)
    kept = {k: v for k, v in f.keywords.items() if k not in named}
    first_dots = part_of(own, "args") or (None,) * first
    kept_dots = part_of(own, "keywords") or {}
    all_dots = (*first_dots, *dots, *(kept_dots.get(k) for k in kept))
    inner = find(f.func, (*f.args, *args), all_dots, {**named, **kept}, part_of(own, "func"))
    if inner.pair is None or inner.given is None:
        return inner
    leads, count = inner.leads is not None, len(args) + len(named)

    def packed(bars: Any) -> list[Any]:
        f_bar, *rest = filled(bars if leads else [None, *listed(bars)], 1 + first + count + len(kept))
        held = {
            "func": under(inner.leads, f_bar) if leads else None,
            "args": tuple(rest[:first]),
            "keywords": dict(zip(kept, rest[first + count :], strict=True)),
        }
        return [held, *rest[first : first + count]]

    def flat(dots: Any) -> tuple[Any, ...]:
        own, *rest = dots
        front = (inside(inner.leads, part_of(own, "func")),) if leads else ()
        last = part_of(own, "keywords") or {}
        return (*front, *(part_of(own, "args") or (None,) * first), *rest, *(last.get(k) for k in kept))

    return replace(
        inner,
        back=lambda inputs: tuple(map(packed, inner.back(inputs))),
        given=lambda of_args, of_dots: inner.given(flat(of_args), flat(of_dots)),
        leads="",
    )


def no_second(f: Any) -> NoRuleError:
    if isinstance(f, types.BuiltinFunctionType) and f in PLAIN_OPERATORS:
        sign = PLAIN_OPERATORS[f].__name__
        return NoRuleError(
            f"the second derivative of an assignment in place ({sign}) of operands that are known at run time only\n"
            "It is not followed yet.\nMake a new array: a = a - b for a -= b."
        )
    return NoRuleError(
        f"{key_name(f) if callable(f) else 'this call'} has no second derivative yet\n"
        "Register a forward rule for it with @frule."
    )


__all__ = [
    "Finder",
    "Found",
    "both",
    "filled",
    "inside",
    "listed",
    "no_second",
    "of_applied",
    "of_partial",
    "once",
    "padded",
    "part_of",
    "same",
    "under",
    "with_first",
]
