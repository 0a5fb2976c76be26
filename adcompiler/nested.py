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

from adcompiler.api import gradient, pullback, value_and_grad
from adcompiler.differentiable import Transformed, TransformedMethod, TransformedRule
from adcompiler.errors import MutationError, UnsupportedSyntaxError
from adcompiler.forward_api import jvp
from adcompiler.forwardmode import Found, connect, filled, find, source_of
from adcompiler.rules.forward import forward_rules
from adcompiler.rules.registry import is_non_differentiable, lookup, rrule
from adcompiler.runtime.checkpoints import _agree
from adcompiler.runtime.checkpoints import _samples as samples
from adcompiler.runtime.frozen import as_called
from adcompiler.runtime.pushed_rules import by_gradient
from adcompiler.runtime.pushing import completed, returned
from adcompiler.runtime.randomness import Draws
from adcompiler.runtime.resolved import caller
from adcompiler.runtime.tangents import accumulate
from adcompiler.runtime.transformed import Transform
from adcompiler.wanted import wanted_names

GRADIENTS = ("gradient", "value_and_grad")


# --- calls that are made once more -----------------------------------------------------------------------


class Repeated:
    """A call of `f` as it was, of which the pullback computes the value and the tangent in a direction."""

    def __init__(self, f: Any, args: Any, kwargs: Any, apart: str | None) -> None:
        if apart == "outside":
            raise MutationError(
                "a derivative is taken inside a function that writes into arrays from outside\n"
                "The function is computed again in the pullback, where such arrays may hold something else.\n"
                "Pass the arrays as arguments."
            )
        self.call = as_called((f, args, kwargs), arrays=apart is not None)
        self.draws = Draws()
        self.samples: list[Any] | None = None

    def watched(self, run: Callable[[], Any], value_of: Callable[[Any], Any]) -> Any:
        """What `run()` gives; `value_of` it is the value of the function."""
        with self.draws.watched(*self.call):
            found = run()
        self.samples = list(samples(value_of(found)))
        return found

    def pair(self, config: Any, dots: tuple[Any, ...]) -> tuple[Any, Any, Callable[[Any], Any]]:
        """The value, its tangent for those of the arguments and keywords, and their pullback.

        That gives the cotangents of `f`, and of the arguments and keywords.
        """
        f, args, kwargs = as_called(self.call, arrays=False)
        moved = [None if d is None else completed(d, v) for d, v in zip(dots, (*args, *kwargs.values()), strict=True)]
        found, first = found_for(f, args, tuple(moved), kwargs, None)
        with self.draws.again():
            (y, y_dot), back = pulled_back(found, config)
        if self.samples is not None and not same_samples(list(samples(y)), self.samples):
            raise MutationError(
                f"{getattr(f, '__name__', 'a function')} gave another value when it was computed again\n"
                "What it reads has changed since its derivative was taken, or it draws random numbers from a source "
                "that is not known.\nPass what changes as an argument."
            )

        def pullback(bar: Any) -> Any:
            f_bar, *inputs = back(bar)
            own = list(found.back(inputs)[0] or ())
            own += [None] * (first + len(args) + len(kwargs) - len(own))
            return (own[0] if first else f_bar), own[first:]

        return y, y_dot, pullback


def pulled_back(found: Found, config: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A function and its tangent, and their pullback: the cotangent of the function, then those of the inputs.

    What is compiled in forward mode for a function of the user's is called by nobody else, and may write into what it
    is given.
    """
    if found.pair is not found.run:
        return config.rrule_via_ad(found.pair, *found.inputs)  # type: ignore[no-any-return]
    value, back = pullback(found.pair, *found.inputs)
    return value, lambda bar: (None, *back(bar))


def found_for(f: Any, args: Any, dots: Any, kwargs: Any, f_dot: Any) -> tuple[Found, int]:
    """How a function and its tangent are computed, and whether the function is the first of what that is given.

    A new closure has the text of the one before it, so it is an argument of what is compiled.
    """
    if isinstance(f, types.FunctionType) and (f.__closure__ or f_dot is not None) and not _has_rule(f):
        return source_of(caller(f, bool(kwargs)), (f, *args), (f_dot, *dots), kwargs, None), 1
    return find(f, args, dots, kwargs, f_dot), 0


def _has_rule(f: Any) -> bool:
    return bool(lookup(f) or forward_rules(f) or is_non_differentiable(f))


# --- gradients of functions -------------------------------------------------------------------------------


@rrule(Transform.__call__, Transformed.__call__, TransformedMethod.__call__, TransformedRule.__call__, kind="unknown")
def transformed_rule(self: Any, *args: Any, config: Any, apart: Any, **kwargs: Any) -> Any:
    """What `gradient` and `value_and_grad` return, called in a function that is differentiated."""
    if self.kind not in GRADIENTS:
        raise _unsupported(self.kind)
    call = Repeated(self.__wrapped__, args, kwargs, apart)
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


def _places(transformed: Any, args: Any, kwargs: Any) -> list[int]:
    """The numbers of the arguments and keywords of a call that `argnums` asks for."""
    signature = inspect.signature(transformed.__wrapped__, follow_wrapped=False)
    names = list(kwargs)
    bound = signature.bind(*range(len(args)), **{k: len(args) + i for i, k in enumerate(names)}).arguments
    out = []
    for name, position in wanted_names(signature, transformed.argnums):
        place = bound[name]
        out.append(place if position is None else place[position])
    return out


# --- pullbacks --------------------------------------------------------------------------------------------


class Pulled:
    """The pullback of a function that is called where derivatives are taken of it, too."""

    def __init__(self, function: Any, args: Any, back: Callable[[Any], Any], call: Repeated) -> None:
        self.function = function
        self.args = args
        self.back = back
        self.call = call

    def __call__(self, ct: Any) -> Any:
        return self.back(ct)


@rrule(pullback, kind="unknown")
def pullback_rule(f: Any, *args: Any, single_use: bool = False, config: Any, apart: Any, **kwargs: Any) -> Any:
    """`y, back = pullback(f, *args)`: the value as it is differentiated anyway, and a pullback with its own."""
    call = Repeated(f, args, kwargs, apart)
    y, own = config.rrule_via_ad(f, *args, **kwargs)
    _, back = call.watched(lambda: pullback(f, *args, single_use=single_use, **kwargs), lambda found: found[0])

    def pull(bar: Any) -> Any:
        y_bar, back_bar = bar
        f_bar, *bars = own(y_bar) if y_bar is not None else (None,) * (1 + len(args) + len(kwargs))
        if back_bar is not None:
            f_bar = accumulate(f_bar, back_bar.get("function"))
            more = back_bar.get("args") or (None,) * len(bars)
            bars = [accumulate(a, b) for a, b in zip(bars, more, strict=True)]
        return f_bar, tuple(bars[: len(args)]), None, dict(zip(kwargs, bars[len(args) :], strict=True))

    return (y, Pulled(f, args, back, call)), pull


@rrule(Pulled.__call__, kind="unknown")
def pulled_rule(self: Any, ct: Any, *, config: Any) -> Any:
    """`back(ct)`: linear in the cotangent, with the transpose `jvp`."""
    value = self(ct)
    kept = as_called(ct, arrays=True)

    def pull(bars: Any) -> Any:
        given = (*bars, *(None for _ in self.call.call[2]))
        _, y_dot, back = self.call.pair(config, given)
        f_bar, args_bar = back((None, kept))
        return {"function": f_bar, "args": tuple(args_bar)}, y_dot

    return value, pull


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
        return (bars[0] if first else f_bar), tuple(bars[first:]), tuple(dot_bars[first:])

    y, y_dot = value
    return (y, returned(y_dot, y)), pull


def derivative_of(jvp_function: Any, name: str | None = None) -> Any:
    """The function that gives only the tangent of what `jvp_function` computes; one for each.

    In messages it has the `name` of the function whose derivative it is.
    """
    made = jvp_function.__dict__.get("__adcompiler_derivative__")
    if made is None:
        made = jvp_function.__adcompiler_derivative__ = _derivative(jvp_function)
        made.__qualname__ = name or made.__qualname__
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
    f_dot = None if own is None else own.get("function")
    found, shift = found_for(self.__wrapped__, args, dots, {}, f_dot)
    if shift == 0 and not isinstance(self.__wrapped__, types.FunctionType):
        f = self.__wrapped__
        found, shift = source_of(caller(f, False), (f, *args), (f_dot, *dots), {}, None), 1
    places = tuple(p + shift for p in _places(self, args, kwargs))
    if len(found.operands) - sum(d is not None for d in dots) - (f_dot is not None) != len(args) + shift:
        raise _unsupported("gradient of a function with defaults or *args")
    argnums = places if isinstance(self.argnums, tuple) else places[0]
    grads = gradient(derivative_of(found.run), argnums)
    pair = by_gradient(self, grads, found.run, len(args) + shift, shift, self.kind == "value_and_grad")
    return Found(pair, found.operands, pair, found.operands, found.back, found.given)


connect(pushed_gradient)


def same_samples(again: list[Any], before: list[Any]) -> bool:
    """Whether two values are the same but for rounding, by some of their elements."""
    return len(again) == len(before) and all(map(_agree, again, before))


def _unsupported(name: str) -> Exception:
    return UnsupportedSyntaxError(
        f"{name} inside a differentiated function\nIt has no derivative yet.\n"
        "Use gradient(), pullback() or jvp() there."
    )


__all__ = ["derivative_of", "pushed_gradient"]
