"""Pullbacks inside what is differentiated: `y, back = pullback(f, *args)`, and the call of `back`, both ways.

    ct = back(w)                w_bar = jvp(f, (x,), (v,)),    x_bar = the gradient of   x ↦ <w, jvp(f, (x,), (v,))>

A pullback keeps the function and the arguments as they were when it was made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adcompiler.api import pullback
from adcompiler.errors import UnsupportedSyntaxError
from adcompiler.found import Found, filled, once, padded, part_of
from adcompiler.pushcalls import connect, source_of
from adcompiler.rebinding import check_rebinds_nothing
from adcompiler.repeated import Repeated, apart_if_written, writes
from adcompiler.rules.registry import non_differentiable, rrule
from adcompiler.runtime.frozen import as_now
from adcompiler.runtime.pushed_calls import push
from adcompiler.runtime.pushed_rules import by_pulled, by_pulling
from adcompiler.runtime.randomness import drawn_from, rewind
from adcompiler.runtime.resolved import caller
from adcompiler.runtime.tangents import accumulate
from adcompiler.runtime.transformed import Holder


class Pulled(Holder):
    """The pullback of a function that is called where derivatives are taken of it, too.

    It holds the function and the arguments as they were when the pullback was made: what is rebound later is nothing
    to it. So nobody else has what it holds, and its cotangent is a value, whatever the function has captured.
    """

    def __init__(self, back: Callable[[Any], Any], call: Repeated) -> None:
        self.function, self.args, self.keywords = call.call
        self.back = back
        self.call = call

    def held(self) -> dict[str, Any]:
        return {"function": self.function, "args": self.args, "keywords": self.keywords}

    def with_held(self, parts: dict[str, Any]) -> Any:
        return self  # what it holds does not change

    def __call__(self, ct: Any) -> Any:
        return self.back(ct)


def pullback_rule(f: Any, *args: Any, single_use: bool = False, config: Any, written_later: Any, **kwargs: Any) -> Any:
    """`y, back = pullback(f, *args)`: the value as it is differentiated anyway, and a pullback with its own."""
    call = Repeated(f, args, kwargs, written_later)
    y, back = call.watched(lambda: pullback(f, *args, single_use=single_use, **kwargs), lambda found: found[0])
    own = call.pulled(config) if call.copied else None  # before anything is written into

    def pull(bar: Any) -> Any:
        y_bar, back_bar = bar
        f_bar, *bars = (None,) * (1 + len(args) + len(kwargs))
        if y_bar is not None:
            f_bar, *bars = (own or call.pulled(config))(y_bar)
        if back_bar is not None:
            f_bar = accumulate(f_bar, back_bar.get("function"))
            of_named = back_bar.get("keywords") or {}
            more = *padded(back_bar.get("args"), len(args)), *map(of_named.get, kwargs)
            bars = list(map(accumulate, bars, more))
        return f_bar, tuple(bars[: len(args)]), None, dict(zip(kwargs, bars[len(args) :], strict=True))

    return (y, Pulled(back, call)), pull


def pulled(f: Any, *args: Any) -> tuple[Any, Pulled]:
    """`pullback(f, *args)`, of which derivatives can be taken."""
    call = Repeated(f, args, {}, None)
    y, back = call.watched(lambda: pullback(f, *args), lambda found: found[0])
    return y, Pulled(back, call)


@rrule(as_now, linear=("value",), kind="unknown", result="fresh")
def as_now_rule(value: Any) -> Any:
    """A copy: its cotangent is that of what was copied."""
    return as_now(value), lambda bar: (bar,)


@rrule(Pulled.__call__, kind="unknown")
def pulled_rule(self: Any, ct: Any, *, config: Any) -> Any:
    """`back(ct)`: linear in the cotangent, with the transpose `jvp`."""
    value, transpose = self(ct), self.call.transpose(ct, config)

    def pull(bars: Any) -> Any:
        f_bar, args_bar, ct_bar = transpose(bars)
        count = len(self.args)
        named_bar = dict(zip(self.keywords, args_bar[count:], strict=True))
        return {"function": f_bar, "args": tuple(args_bar[:count]), "keywords": named_bar}, ct_bar

    return value, pull


def pulled_at(f: Any, ct: Any, *args: Any) -> Any:
    """`pullback(f, *args)[1](ct)`."""
    return pullback(f, *args)[1](ct)


@rrule(pulled_at, kind="unknown")
def pulled_at_rule(f: Any, ct: Any, *args: Any, config: Any, written_later: Any) -> Any:
    """The same where nothing is kept."""
    call = Repeated(f, args, {}, written_later)
    _, back = call.watched(lambda: pullback(f, *args), lambda found: found[0])
    value, transpose = back(ct), call.transpose(ct, config)

    def pull(bars: Any) -> Any:
        f_bar, args_bar, ct_bar = transpose(bars)
        return f_bar, ct_bar, tuple(args_bar)

    return value, pull


# --- forwards ---------------------------------------------------------------------------------------------


def pushed_pullback(_: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """`pullback(f, *args)`, in forward mode: the tangents of the value, and of what the pullback holds."""
    if named.keys() - {"single_use"}:
        raise UnsupportedSyntaxError(
            "pullback() of a call with keywords, in forward mode\nThey are not followed there yet.\n"
            "Pass these arguments by position."
        )
    f, *rest = args
    check_rebinds_nothing(f)
    f_dot, *rest_dots = dots[: len(args)]
    pair = once(by_pulling, pulled, push, as_now)
    inputs = f, tuple(rest), f_dot, tuple(rest_dots)

    def back(bars: Any) -> tuple[Any, Any]:
        f_bar, rest_bars, f_dot_bar, dot_bars = filled(bars, 4)
        return [f_bar, *filled(rest_bars, len(rest))], [f_dot_bar, *filled(dot_bars, len(rest))]

    def given(of_args: Any, of_dots: Any) -> Any:
        count = len(args)
        return of_args[0], tuple(of_args[1:count]), of_dots[0], tuple(of_dots[1:count])

    return Found(pair, inputs, pair, inputs, back, given)


def pushed_pulled(self: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """`back(ct)`, in forward mode: as `pulled_at`, of the function and the arguments that `back` holds."""
    count = len(self.args)
    moved = padded(part_of(own, "args"), count)
    found = pushed_pulled_at(
        self.call.before, (self.function, *args, *self.args), (part_of(own, "function"), *dots, *moved), named, None
    )

    def packed(bars: Any) -> list[Any]:
        f_bar, ct_bar, *rest = filled(bars, 2 + count)
        return [{"function": f_bar, "args": tuple(rest)}, ct_bar]

    def flat(dots: Any) -> tuple[Any, ...]:
        own, ct_dot = dots
        return part_of(own, "function"), ct_dot, *padded(part_of(own, "args"), count)

    def back(inputs: Any) -> tuple[Any, ...]:
        return tuple(map(packed, found.back(inputs)))

    def given(of_args: Any, of_dots: Any) -> Any:
        return found.given(flat(of_args), flat(of_dots))

    return replace(found, back=back, given=given, leads="")


def pushed_pulled_at(before: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """`pulled_at(f, ct, *args)`, in forward mode: that of the tangent `ct_dot`, and of the function in forward mode.

    `before` are states of generators of random numbers, if not those of now.
    """
    f, ct, *rest = args
    f_dot, ct_dot, *rest_dots = dots
    found = source_of(caller(f, False), (f, *rest), (f_dot, *rest_dots), {}, None)
    if getattr(found.run, "__adcompiler_writes__", False):
        raise writes(f)
    pair = once(by_pulled, pulled_at, apart_if_written(found.run, pulled_at), found.run)
    inputs = (ct, ct_dot, drawn_from(f, rest) if before is pulled_at else before, *found.operands)

    def back(bars: Any) -> tuple[Any, Any]:
        ct_bar, ct_dot_bar, _, *inner = bars
        each = found.back(inner)
        (f_bar, *args_bar), (f_dot_bar, *dots_bar) = (filled(bars, 1 + len(rest)) for bars in each)
        return [f_bar, ct_bar, *args_bar], [f_dot_bar, ct_dot_bar, *dots_bar]

    def given(of_args: Any, of_dots: Any) -> Any:
        inside = ((d[0], *d[2:]) for d in (of_args, of_dots))
        return (of_args[1], of_dots[1], None, *found.given(*inside))

    return Found(pair, inputs, pair, inputs, back, given)


non_differentiable(drawn_from, rewind, kind="other")
rrule(pullback, pulled, kind="unknown")(pullback_rule)
connect({pullback: pushed_pullback, pulled: pushed_pullback, pulled_at: pushed_pulled_at}, {Pulled: pushed_pulled})

__all__ = ["Pulled", "pulled", "pulled_at"]
