"""Derivatives inside what is differentiated: `gradient(f)(x)`, `jvp`, in a function or of one.

    g = gradient(f)(x)          <v, g> is the derivative of f in the direction v, so that for a cotangent v of g
                                x_bar = the gradient of   x ↦ jvp(f, (x,), (v,))   (and of what f captured)

So derivatives of derivatives are gradients of text in forward mode, which is text as any other.  The same forwards: the
tangent of a gradient is the gradient of the tangent.  Pullbacks are in `nestedpullbacks`.
"""

from __future__ import annotations

import inspect
import types
from typing import Any

from adcompiler import nestedpullbacks as nestedpullbacks
from adcompiler.api import gradient, value_and_grad
from adcompiler.differentiable import Transformed, TransformedMethod, TransformedRule
from adcompiler.forward_api import jvp
from adcompiler.forwardmode import derivative_of
from adcompiler.found import Found, filled, once, under
from adcompiler.plainly import plain_call, pushed_plain
from adcompiler.program import signature_of
from adcompiler.pushcalls import connect, find, source_of
from adcompiler.pushedagain import PUSH, of_pushed
from adcompiler.rebinding import check_rebinds_nothing
from adcompiler.repeated import Repeated, apart_if_written, found_for, pulled_back, writes
from adcompiler.rules.registry import rrule
from adcompiler.runtime.pushed_rules import aside, by_gradient, by_gradient_with_keywords
from adcompiler.runtime.pushing import completed, returned
from adcompiler.runtime.resolved import caller
from adcompiler.runtime.transformed import Transform
from adcompiler.wanted import wanted_names

GRADIENTS = ("gradient", "value_and_grad")


# --- gradients of functions -------------------------------------------------------------------------------


@rrule(Transform.__call__, Transformed.__call__, TransformedMethod.__call__, TransformedRule.__call__, kind="unknown")
def transformed_rule(self: Any, *args: Any, config: Any, written_later: Any, **kwargs: Any) -> Any:
    """What `gradient` and `value_and_grad` return, called in a function that is differentiated."""
    if self.kind not in GRADIENTS:
        return _plainly(self, args, kwargs, config.protecting(written_later))
    call = Repeated(self.__wrapped__, args, kwargs, written_later)
    with_value = value_and_grad(self.__wrapped__, self.argnums, self.has_aux)
    value, grads = call.watched(lambda: with_value(*args, **kwargs), lambda found: found[0])
    places = _places(self, args, kwargs)
    count, names = len(args), tuple(kwargs)

    def pull(bar: Any) -> Any:
        value_bar, grads_bar = (None, bar) if self.kind == "gradient" else bar
        each = grads_bar if isinstance(self.argnums, tuple) else (grads_bar,)
        dots: list[Any] = [None] * (count + len(names))
        for place, entry in zip(places, each or (), strict=False):
            dots[place] = entry
        _, _, back = call.pair(config, tuple(dots))
        f_bar, bars = back((value_bar, (1.0, None) if self.has_aux else 1.0))
        return {"function": f_bar}, tuple(bars[:count]), dict(zip(names, bars[count:], strict=True))

    return (grads if self.kind == "gradient" else (value, grads)), pull


def _plainly(self: Any, args: Any, kwargs: Any, config: Any) -> Any:
    """What `jacobian` and its relatives return, called there: its plain code."""
    function, given = plain_call(self, args, kwargs)
    value, back = config.rrule_via_ad(function, *given)

    def pull(bar: Any) -> Any:
        _, f_bar, *bars = back(bar)
        return {"function": f_bar}, tuple(bars), {}

    return value, pull


def _places(transformed: Any, args: Any, kwargs: Any) -> list[int]:
    """The numbers of the arguments and keywords of a call that `argnums` asks for."""
    signature = _signature(transformed.__wrapped__)
    names = list(kwargs)
    bound = signature.bind(*range(len(args)), **{k: len(args) + i for i, k in enumerate(names)}).arguments
    out = []
    for name, position in wanted_names(signature, transformed.argnums):
        place = bound[name]
        out.append(place if position is None else place[position])
    return out


def _signature(f: Any) -> inspect.Signature:
    """The signature of what can be called; of NumPy's own functions all that is known is that they take arguments."""
    try:
        return signature_of(f) if isinstance(f, types.FunctionType) else inspect.signature(f, follow_wrapped=False)
    except ValueError:
        return inspect.signature(lambda *args, **kwargs: None)


# --- forwards ---------------------------------------------------------------------------------------------


@rrule(jvp, kind="unknown")
def jvp_rule(f: Any, primals: Any, tangents: Any, *, config: Any) -> Any:
    """`jvp(f, primals, tangents)`: text in forward mode, differentiated as any other."""
    dots = tuple(None if t is None else completed(t, x) for t, x in zip(tangents, primals, strict=True))
    found, first = found_for(f, tuple(primals), dots, {}, None)
    value, back = pulled_back(found, config)

    def pull(bar: Any) -> Any:
        f_bar, *inputs = back(tuple(bar) if y_dot is not None else (bar[0], None))
        count = first + len(primals)
        bars, dot_bars = (filled(each, count) for each in found.back(inputs))
        f_bar = under(found.leads, bars[0]) if first else f_bar
        return f_bar, tuple(bars[first:]), tuple(dot_bars[first:])

    y, y_dot = value
    return (y, returned(y_dot, y)), pull


def pushed_gradient(self: Any, args: Any, dots: Any, kwargs: Any, own: Any) -> Found:
    """The call of what `gradient` returned, in forward mode: the gradient of the tangent."""
    if self.kind not in GRADIENTS:
        return pushed_plain(self, args, dots, kwargs, own)
    f, f_dot = self.__wrapped__, None if own is None else own.get("function")
    check_rebinds_nothing(f)
    found = source_of(caller(f, bool(kwargs)), (f, *args), (f_dot, *dots), kwargs, None)
    transform = {"gradient": gradient, "value_and_grad": value_and_grad}[self.kind]
    if getattr(found.run, "__adcompiler_writes__", False):
        raise writes(f)
    places = tuple(_places(self, args, kwargs))
    pair = once(
        by_gradient_with_keywords if kwargs else by_gradient,
        transform,
        self._made[1][1:],
        _by_kind(places, len(args), tuple(kwargs)) if kwargs else places,
        not isinstance(self.argnums, tuple),
        found.run,
        apart_if_written(found.run, once(_gradient_of, derivative_of(found.run), bool(kwargs), self.has_aux)),
        self.kind == "value_and_grad",
    )
    return Found(pair, found.operands, pair, found.operands, found.back, found.given, leads="function")


def _by_kind(places: tuple[int, ...], count: int, names: tuple[str, ...]) -> tuple[Any, ...]:
    """The places of arguments, the names of keywords, and where each of `places` is among both."""
    positions = [p for p in places if p < count]
    named = [p for p in places if p >= count]
    order = [*positions, *named]
    return tuple(positions), tuple(names[p - count] for p in named), tuple(map(order.index, places))


def _gradient_of(derivative: Any, keywords: bool, has_aux: bool) -> Any:
    """The gradient of a tangent with respect to the arguments of `f(*args)`, and to its keywords."""
    wanted = (1, 2) if keywords else 1
    return aside(value_and_grad(derivative, wanted, True)) if has_aux else gradient(derivative, wanted)


def pushed_jvp(_: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """`jvp(f, primals, tangents)`, in forward mode."""
    f, primals, tangents = args
    given = tuple(None if t is None else completed(t, x) for t, x in zip(tangents, primals, strict=True))
    return of_pushed(find, PUSH, (f, tuple(primals), given), dots)


connect({jvp: pushed_jvp}, {Transformed: pushed_gradient})

__all__ = ["pushed_gradient"]
