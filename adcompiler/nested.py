"""Derivatives inside what is differentiated: `gradient(f)(x)`, `pullback`, `jvp`, in a function or of one.

    g = gradient(f)(x)          <v, g> is the derivative of f in the direction v, so that for a cotangent v of g
                                x_bar = the gradient of   x ↦ jvp(f, (x,), (v,))   (and of what f captured)
    ct = back(w)                w_bar = jvp(f, (x,), (v,)),    x_bar = the gradient of   x ↦ <w, jvp(f, (x,), (v,))>

So derivatives of derivatives are gradients of text in forward mode, which is text as any other.  The same forwards: the
tangent of a gradient is the gradient of the tangent.
"""

from __future__ import annotations

import inspect
import linecache
import types
from collections.abc import Callable
from typing import Any

from adcompiler.api import gradient, pullback
from adcompiler.differentiable import Transformed, TransformedMethod, TransformedRule
from adcompiler.errors import UnsupportedSyntaxError
from adcompiler.forward_api import jvp
from adcompiler.forwardmode import Found, connect, find, source_of
from adcompiler.rules.registry import rrule
from adcompiler.runtime.pushed_rules import by_gradient
from adcompiler.runtime.pushing import completed
from adcompiler.runtime.resolved import caller
from adcompiler.runtime.tangents import accumulate
from adcompiler.wanted import wanted_names

GRADIENTS = ("gradient", "value_and_grad")


# --- gradients of functions -------------------------------------------------------------------------------


@rrule(Transformed.__call__, TransformedMethod.__call__, TransformedRule.__call__, kind="unknown")
def transformed_rule(self: Any, *args: Any, config: Any, **kwargs: Any) -> Any:
    """What `gradient` and `value_and_grad` return, called in a function that is differentiated."""
    if self.kind not in GRADIENTS:
        raise _unsupported(self.kind)
    value = self(*args, **kwargs)
    names = tuple(kwargs)

    def pull(bar: Any) -> Any:
        value_bar, grads_bar = _parts_of(self, bar)
        dots = _at_argnums(self, grads_bar, args, kwargs)
        found = find(self.__wrapped__, args, dots, kwargs, None)
        (y, y_dot), back = config.rrule_via_ad(found.pair, *found.inputs)
        f_bar, bars = _taken(found, back(_seed(self, value_bar, y, y_dot)), len(args))
        return {"function": f_bar}, tuple(bars[: len(args)]), dict(zip(names, bars[len(args) :], strict=False))

    return value, pull


def _parts_of(transformed: Any, bar: Any) -> tuple[Any, Any]:
    """The cotangents of the value, and of the gradients as a tuple."""
    value_bar, grads_bar = (None, bar) if transformed.kind == "gradient" else bar
    if not isinstance(transformed.argnums, tuple):
        grads_bar = (grads_bar,)
    return value_bar, grads_bar or ()


def _seed(transformed: Any, value_bar: Any, y: Any, y_dot: Any) -> Any:
    """The cotangent of `(value, tangent)`: that of the value, and 1 for the tangent of the loss."""
    if not transformed.has_aux:
        return value_bar, 1.0
    return value_bar, (1.0, None)


def _at_argnums(transformed: Any, entries: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """Entries for the arguments that are asked for → one for each argument and keyword, None for the others."""
    dots: list[Any] = [None] * (len(args) + len(kwargs))
    values = [*args, *kwargs.values()]
    for place, entry in zip(_places(transformed, args, kwargs), entries, strict=False):
        if entry is not None:
            dots[place] = completed(entry, values[place])
    return tuple(dots)


def _places(transformed: Any, args: Any, kwargs: Any) -> list[int]:
    """The numbers of the arguments and keywords of a call that `argnums` asks for."""
    signature = inspect.signature(transformed.__wrapped__)
    names = list(kwargs)
    bound = signature.bind(*range(len(args)), **{k: len(args) + i for i, k in enumerate(names)}).arguments
    out = []
    for name, position in wanted_names(signature, transformed.argnums):
        place = bound[name]
        out.append(place if position is None else place[position])
    return out


def _taken(found: Found, bars: Any, count: int) -> tuple[Any, list[Any]]:
    """The cotangents of a function and of its arguments from those of what computed its tangent."""
    f_bar, *inputs = bars
    own, _ = found.back(inputs)
    own = list(own or ())
    return f_bar, own + [None] * (count - len(own))


# --- pullbacks --------------------------------------------------------------------------------------------


class Pulled:
    """The pullback of a function that is called where derivatives are taken of it, too."""

    def __init__(self, function: Any, args: Any, kwargs: Any, back: Callable[[Any], Any]) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.back = back

    def __call__(self, ct: Any) -> Any:
        return self.back(ct)


@rrule(pullback, kind="unknown")
def pullback_rule(f: Any, *args: Any, single_use: bool = False, config: Any, **kwargs: Any) -> Any:
    """`y, back = pullback(f, *args)`: the value as it is differentiated anyway, and a pullback with its own."""
    y, own = config.rrule_via_ad(f, *args, **kwargs)
    _, back = pullback(f, *args, single_use=single_use, **kwargs)

    def pull(bar: Any) -> Any:
        y_bar, back_bar = bar
        f_bar, *bars = own(y_bar) if y_bar is not None else (None,) * (1 + len(args) + len(kwargs))
        if back_bar is not None:
            f_bar = accumulate(f_bar, back_bar.get("function"))
            more = back_bar.get("args") or (None,) * len(args)
            bars = [accumulate(a, b) for a, b in zip(bars, (*more, *(None,) * len(kwargs)), strict=True)]
        return f_bar, tuple(bars[: len(args)]), None, dict(zip(kwargs, bars[len(args) :], strict=True))

    return (y, Pulled(f, args, kwargs, back)), pull


@rrule(Pulled.__call__, kind="unknown")
def pulled_rule(self: Any, ct: Any, *, config: Any) -> Any:
    """`back(ct)`: linear in the cotangent, with the transpose `jvp`."""
    value = self(ct)

    def pull(bars: Any) -> Any:
        given = [None if b is None else completed(b, a) for a, b in zip(self.args, bars, strict=True)]
        found = find(self.function, self.args, (*given, *(None for _ in self.kwargs)), self.kwargs, None)
        (_, y_dot), back = config.rrule_via_ad(found.pair, *found.inputs)
        f_bar, args_bar = _taken(found, back((None, ct)), len(self.args))
        return {"function": f_bar, "args": tuple(args_bar[: len(self.args)])}, y_dot

    return value, pull


# --- forwards ---------------------------------------------------------------------------------------------


@rrule(jvp, kind="unknown")
def jvp_rule(f: Any, primals: Any, tangents: Any, *, config: Any) -> Any:
    """`jvp(f, primals, tangents)`: text in forward mode, differentiated as any other."""
    dots = tuple(None if t is None else completed(t, x) for t, x in zip(tangents, primals, strict=True))
    found = find(f, tuple(primals), dots, {}, None)
    value, back = config.rrule_via_ad(found.pair, *found.inputs)

    def pull(bar: Any) -> Any:
        f_bar, *inputs = back(tuple(bar))
        bars, dot_bars = found.back(inputs)
        return f_bar, tuple(bars), tuple(dot_bars)

    return tuple(value), pull


def derivative_of(jvp_function: Any) -> Any:
    """The function that gives only the tangent of what `jvp_function` computes; one for each."""
    made = jvp_function.__dict__.get("__adcompiler_derivative__")
    if made is None:
        made = jvp_function.__adcompiler_derivative__ = _derivative(jvp_function)
    return made


def _derivative(jvp_function: Any) -> Any:
    names = ", ".join(inspect.signature(jvp_function).parameters)
    name = f"{jvp_function.__name__.removesuffix('_jvp')}_derivative"
    text = f"def bind(jvp):\n    def {name}({names}):\n        return jvp({names})[1]\n    return {name}\n"
    file = f"<adcompiler derivative {next(_numbers)}: {jvp_function.__name__}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    code = compile(text, file, "exec", dont_inherit=True)
    bind = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    return types.FunctionType(bind, jvp_function.__globals__)(jvp_function)


_numbers = iter(range(1, 1 << 62))


def pushed_gradient(self: Any, args: Any, dots: Any, kwargs: Any, own: Any) -> Found:
    """The call of what `gradient` returned, in forward mode: the gradient of the tangent."""
    if self.kind not in GRADIENTS or kwargs or self.has_aux:
        raise _unsupported(self.kind)
    f = self.__wrapped__
    f_dot = None if own is None else own.get("function")
    call = isinstance(f, types.FunctionType) and f_dot is None
    found = source_of(f, args, dots, {}, None) if call else source_of(caller(f, False), (f, *args), (f_dot, *dots), {}, None)
    shift = 0 if call else 1
    places = tuple(p + shift for p in _places(self, args, kwargs))
    if len(found.operands) - sum(d is not None for d in dots) - (f_dot is not None) != len(args) + shift:
        raise _unsupported("gradient of a function with defaults or *args")
    argnums = places if isinstance(self.argnums, tuple) else places[0]
    grads = gradient(derivative_of(found.run), argnums)
    pair = by_gradient(self, grads, found.run, len(args) + shift, shift, self.kind == "value_and_grad")
    return Found(pair, found.operands, pair, found.operands, found.back)


connect(pushed_gradient)


def _unsupported(name: str) -> Exception:
    return UnsupportedSyntaxError(
        f"{name} inside a differentiated function\nIt has no derivative yet.\nUse gradient(), pullback() or jvp() there."
    )


__all__ = ["derivative_of", "pushed_gradient"]
