"""Derivatives inside what is differentiated: `gradient(f)(x)`, `pullback`, `jvp`, in a function or of one.

    g = gradient(f)(x)          <v, g> is the derivative of f in the direction v, so that for a cotangent v of g
                                x_bar = the gradient of   x ↦ jvp(f, (x,), (v,))   (and of what f captured)
    ct = back(w)                w_bar = jvp(f, (x,), (v,)),    x_bar = the gradient of   x ↦ <w, jvp(f, (x,), (v,))>

So derivatives of derivatives are gradients of text in forward mode, which is text as any other.  The same forwards: the
tangent of a gradient is the gradient of the tangent.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from adcompiler.api import gradient, pullback, value_and_grad
from adcompiler.differentiable import Transformed, TransformedMethod, TransformedRule
from adcompiler.errors import MutationError, UnsupportedSyntaxError
from adcompiler.forward_api import jvp
from adcompiler.found import Found, filled, once, under
from adcompiler.program import signature_of
from adcompiler.pushcalls import connect, find, source_of
from adcompiler.pushedagain import PUSH, of_pushed
from adcompiler.rules.forward import forward_rules
from adcompiler.rules.registry import is_non_differentiable, lookup, rrule
from adcompiler.runtime.checkpoints import agree, samples_of
from adcompiler.runtime.frozen import as_called
from adcompiler.runtime.pushed_calls import push
from adcompiler.runtime.pushed_rules import by_gradient, by_pulled, by_pulling
from adcompiler.runtime.pushing import completed, returned
from adcompiler.runtime.randomness import generators, moved_on, replayed, states
from adcompiler.runtime.resolved import caller
from adcompiler.runtime.tangents import accumulate
from adcompiler.runtime.transformed import Holder, Transform
from adcompiler.wanted import wanted_names

GRADIENTS = ("gradient", "value_and_grad")


# --- calls that are made once more -----------------------------------------------------------------------


class Repeated:
    """A call of `f` as it was, of which the pullback computes the value and the tangent in a direction."""

    def __init__(self, f: Any, args: Any, kwargs: Any, written_later: str | None) -> None:
        self.copied = written_later is not None
        self.outside = written_later == "outside"  # arrays from outside may be written into by then
        self.call = as_called((f, args, kwargs), arrays=written_later is not None)
        self.before = states(generators(f, args, kwargs))
        self.samples: list[Any] | None = None

    def watched(self, run: Callable[[], Any], value_of: Callable[[Any], Any]) -> Any:
        """What `run()` gives; `value_of` it is the value of the function."""
        found = run()
        self.before = moved_on(self.before)
        self.samples = list(samples_of(value_of(found)))
        return found

    def pair(self, config: Any, dots: tuple[Any, ...]) -> tuple[Any, Any, Callable[[Any], Any]]:
        """The value, its tangent for those of the arguments and keywords, and their pullback.

        That gives the cotangents of `f`, and of the arguments and keywords.
        """
        f, args, kwargs = as_called(self.call, arrays=self.copied)
        moved = [None if d is None else completed(d, v) for d, v in zip(dots, (*args, *kwargs.values()), strict=True)]
        found, first = found_for(f, args, tuple(moved), kwargs, None)
        if not self.copied and getattr(found.pair, "__adcompiler_writes__", False):
            raise _writes(f)
        if self.outside and getattr(found.pair, "__adcompiler_reads__", False):
            raise MutationError(
                "a derivative is taken of a function that reads an array from outside, where such are written into\n"
                "The function is computed again in the pullback, where the array may hold something else.\n"
                "Pass the array as an argument."
            )
        with replayed(self.before):
            (y, y_dot), back = pulled_back(found, config)
        if not agree(list(samples_of(y)), self.samples):
            raise MutationError(
                f"{getattr(f, '__name__', 'a function')} gave another value when it was computed again\n"
                "What it reads has changed since its derivative was taken, or it draws random numbers from a source "
                "that is not known.\nPass what changes as an argument."
            )

        def pullback(bar: Any) -> Any:
            f_bar, *inputs = back(bar)
            own = list(found.back(inputs)[0] or ())
            own += [None] * (first + len(args) + len(kwargs) - len(own))
            return (under(found.leads, own[0]) if first else f_bar), own[first:]

        return y, y_dot, pullback


def pulled_back(found: Found, config: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A function and its tangent, and their pullback: the cotangent of the function, then those of the inputs.

    What is compiled in forward mode for a function of the user's is called by nobody else, and may write into what it
    is given.
    """
    if not hasattr(found.pair, "__adcompiler_derivative__"):
        return config.rrule_via_ad(found.pair, *found.inputs)  # type: ignore[no-any-return]
    value, back = pullback(found.pair, *found.inputs)
    return value, lambda bar: (None, *back(bar))


def found_for(f: Any, args: Any, dots: Any, kwargs: Any, f_dot: Any) -> tuple[Found, int]:
    """How a function and its tangent are computed, and whether the function is the first of what that is given.

    A new closure has the text of the one before it, so it is an argument of what is compiled.
    """
    if isinstance(f, types.FunctionType) and (f.__closure__ or f_dot is not None) and not _has_rule(f):
        return source_of(caller(f, bool(kwargs)), (f, *args), (f_dot, *dots), kwargs, None), 1
    found = find(f, args, dots, kwargs, f_dot)
    return found, 0 if found.leads is None else 1


def _has_rule(f: Any) -> bool:
    return bool(lookup(f) or forward_rules(f) or is_non_differentiable(f))


# --- gradients of functions -------------------------------------------------------------------------------


@rrule(Transform.__call__, Transformed.__call__, TransformedMethod.__call__, TransformedRule.__call__, kind="unknown")
def transformed_rule(self: Any, *args: Any, config: Any, written_later: Any, **kwargs: Any) -> Any:
    """What `gradient` and `value_and_grad` return, called in a function that is differentiated."""
    if self.kind not in GRADIENTS:
        raise _unsupported(self.kind)
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


# --- pullbacks --------------------------------------------------------------------------------------------


class Pulled(Holder):
    """The pullback of a function that is called where derivatives are taken of it, too."""

    def __init__(self, function: Any, args: Any, back: Callable[[Any], Any], call: Repeated) -> None:
        self.function = function
        self.args = args
        self.back = back
        self.call = call

    def held(self) -> dict[str, Any]:
        return {"function": self.function, "args": self.args}

    def with_held(self, parts: dict[str, Any]) -> Any:
        return Pulled(parts["function"], parts["args"], self.back, self.call)

    def __call__(self, ct: Any) -> Any:
        return self.back(ct)


def pullback_rule(f: Any, *args: Any, single_use: bool = False, config: Any, written_later: Any, **kwargs: Any) -> Any:
    """`y, back = pullback(f, *args)`: the value as it is differentiated anyway, and a pullback with its own."""
    call = Repeated(f, args, kwargs, written_later)
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


def pulled(f: Any, *args: Any) -> tuple[Any, Pulled]:
    """`pullback(f, *args)`, of which derivatives can be taken."""
    call = Repeated(f, args, {}, None)
    y, back = call.watched(lambda: pullback(f, *args), lambda found: found[0])
    return y, Pulled(f, args, back, call)


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
        f_bar = under(found.leads, bars[0]) if first else f_bar
        return f_bar, tuple(bars[first:]), tuple(dot_bars[first:])

    y, y_dot = value
    return (y, returned(y_dot, y)), pull


def derivative_of(jvp_function: Any) -> Any:
    """The function that gives only the tangent of what `jvp_function` computes."""
    return jvp_function.__adcompiler_derivative__


def pushed_gradient(self: Any, args: Any, dots: Any, kwargs: Any, own: Any) -> Found:
    """The call of what `gradient` returned, in forward mode: the gradient of the tangent."""
    if self.kind not in GRADIENTS or kwargs:
        raise _unsupported(self.kind)
    f, f_dot = self.__wrapped__, None if own is None else own.get("function")
    found = source_of(caller(f, False), (f, *args), (f_dot, *dots), {}, None)
    transform = {"gradient": gradient, "value_and_grad": value_and_grad}[self.kind]
    if getattr(found.run, "__adcompiler_writes__", False):
        raise _writes(f)
    pair = once(
        by_gradient,
        transform,
        self._made[1][1:],
        tuple(_places(self, args, {})),
        not isinstance(self.argnums, tuple),
        found.run,
        once(_gradient_of, derivative_of(found.run)),
        self.kind == "value_and_grad",
        self.has_aux,
    )
    return Found(pair, found.operands, pair, found.operands, found.back, found.given, leads="function")


def _gradient_of(derivative: Any) -> Any:
    """The gradient of a tangent with respect to the arguments of `f(*args)`."""
    return gradient(derivative, 1)


def pushed_jvp(_: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """`jvp(f, primals, tangents)`, in forward mode."""
    f, primals, tangents = args
    given = tuple(None if t is None else completed(t, x) for t, x in zip(tangents, primals, strict=True))
    return of_pushed(find, PUSH, (f, tuple(primals), given), dots)


def pushed_pullback(_: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """`pullback(f, *args)`, in forward mode: the tangents of the value, and of what the pullback holds."""
    if named:
        raise _unsupported("pullback with keywords")
    f, *rest = args
    f_dot, *rest_dots = dots
    pair = once(by_pulling, pulled, push)
    inputs = f, tuple(rest), f_dot, tuple(rest_dots)

    def back(bars: Any) -> tuple[Any, Any]:
        f_bar, rest_bars, f_dot_bar, dot_bars = filled(bars, 4)
        return [f_bar, *filled(rest_bars, len(rest))], [f_dot_bar, *filled(dot_bars, len(rest))]

    def given(of_args: Any, of_dots: Any) -> Any:
        return of_args[0], tuple(of_args[1:]), of_dots[0], tuple(of_dots[1:])

    return Found(pair, inputs, pair, inputs, back, given)


def pushed_pulled(self: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """`back(ct)`, in forward mode: `back` of the tangent, and the pullback of the function in forward mode."""
    (ct,), (ct_dot,) = args, dots
    own = own or {}
    moved = own.get("args") or (None,) * len(self.args)
    found = source_of(
        caller(self.function, False), (self.function, *self.args), (own.get("function"), *moved), {}, None
    )
    if getattr(found.run, "__adcompiler_writes__", False):
        raise _writes(self.function)
    pair = once(by_pulled, pulled, found.run)
    inputs = (ct, ct_dot, *found.operands)

    def back(bars: Any) -> tuple[Any, Any]:
        ct_bar, ct_dot_bar, *rest = bars
        (f_bar, *args_bar), (f_dot_bar, *dots_bar) = (filled(each, 1 + len(self.args)) for each in found.back(rest))
        held = {"function": f_bar, "args": tuple(args_bar)}
        return [held, ct_bar], [{"function": f_dot_bar, "args": tuple(dots_bar)}, ct_dot_bar]

    def given(of_args: Any, of_dots: Any) -> Any:
        inside = [
            ((d or {}).get("function"), *((d or {}).get("args") or (None,) * len(self.args)))
            for d in (of_args[0], of_dots[0])
        ]
        return (of_args[1], of_dots[1], *found.given(*inside))

    return Found(pair, inputs, pair, inputs, back, given, leads="")


rrule(pullback, pulled, kind="unknown")(pullback_rule)
connect({jvp: pushed_jvp, pullback: pushed_pullback}, {Transformed: pushed_gradient, Pulled: pushed_pulled})


def _writes(f: Any) -> MutationError:
    return MutationError(
        f"a derivative of {getattr(f, '__name__', 'a function')}, which writes into its arguments, is differentiated\n"
        "It is computed again from what it was given, which is not there any more.\n"
        "Let it write into a copy: x = x.copy()."
    )


def _unsupported(name: str) -> Exception:
    return UnsupportedSyntaxError(
        f"{name} inside a differentiated function\nIt has no derivative yet.\n"
        "Use gradient(), pullback() or jvp() there."
    )


__all__ = ["derivative_of", "pushed_gradient"]
