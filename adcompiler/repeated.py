"""Calls inside what is differentiated that are made once more for a derivative, as they were made."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from adcompiler.api import pullback
from adcompiler.errors import MutationError, UnsupportedSyntaxError
from adcompiler.found import Found, once, under
from adcompiler.pushcalls import find, source_of
from adcompiler.rebinding import check_rebinds_nothing
from adcompiler.rules.forward import forward_rules
from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.runtime.checkpoints import agree, samples_of
from adcompiler.runtime.frozen import as_called, as_now
from adcompiler.runtime.pushed_rules import apart
from adcompiler.runtime.pushing import completed
from adcompiler.runtime.randomness import generators, moved_on, replayed, states
from adcompiler.runtime.resolved import caller


class Repeated:
    """A call of `f` as it was, of which the pullback computes the value and the tangent in a direction."""

    def __init__(self, f: Any, args: Any, kwargs: Any, written_later: str | None) -> None:
        check_rebinds_nothing(f)
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
        found, first = self.found(f, args, kwargs, tuple(moved))
        with replayed(self.before):
            (y, y_dot), back = pulled_back(found, config)
        self.check(y)

        def pullback(bar: Any) -> Any:
            f_bar, *inputs = back(bar)
            own = list(found.back(inputs)[0] or ())
            own += [None] * (first + len(args) + len(kwargs) - len(own))
            return (under(found.leads, own[0]) if first else f_bar), own[first:]

        return y, y_dot, pullback

    def found(self, f: Any, args: Any, kwargs: Any, dots: Any) -> tuple[Found, int]:
        """As `found_for`, of what may be computed again."""
        found, first = found_for(f, args, dots, kwargs, None)
        if not self.copied and getattr(found.pair, "__adcompiler_writes__", False):
            raise writes(f)
        if self.outside and getattr(found.pair, "__adcompiler_reads__", False):
            raise MutationError(
                "a derivative is taken of a function that reads an array from outside, where such are written into\n"
                "The function is computed again in the pullback, where the array may hold something else.\n"
                "Pass the array as an argument."
            )
        return found, first

    def check(self, y: Any) -> None:
        """Raise if the function has given another value than before."""
        if not agree(list(samples_of(y)), self.samples):
            raise MutationError(
                f"{getattr(self.call[0], '__name__', 'a function')} gave another value when it was computed again\n"
                "What it reads has changed since its derivative was taken, or it draws random numbers from a source "
                "that is not known.\nPass what changes as an argument."
            )

    def pulled(self, config: Any) -> Callable[[Any], Any]:
        """The pullback of the value: the cotangents of `f`, and of the arguments and keywords."""
        f, args, kwargs = as_called(self.call, arrays=self.copied)
        if self.outside:
            self.found(f, args, kwargs, tuple(completed(None, v) for v in (*args, *kwargs.values())))
        if kwargs or not isinstance(_innermost(f), types.FunctionType) or _has_rule(_innermost(f)):
            run = functools.partial(config.rrule_via_ad, f, *args, **kwargs)
        else:
            run = functools.partial(pullback, caller(f, False), f, *args)
        with replayed(self.before):
            y, back = run()
        self.check(y)
        return back  # type: ignore[no-any-return]

    def transpose(self, ct: Any, config: Any) -> Callable[[Any], Any]:
        """The pullback of `back(ct)`, for the `back` of this call.

        It gives the cotangents of the function, of the arguments and keywords, and of `ct`.
        """
        kept = as_called(ct, arrays=True)

        def pull(bars: Any) -> Any:
            given = (*bars, *(None for _ in self.call[2]))
            _, y_dot, back = self.pair(config, given)
            f_bar, args_bar = back((None, kept))
            return f_bar, args_bar, y_dot

        return pull


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
    own = _innermost(f)
    if isinstance(own, types.FunctionType) and (own.__closure__ or f_dot is not None) and not _has_rule(own):
        return source_of(caller(f, bool(kwargs)), (f, *args), (f_dot, *dots), kwargs, None), 1
    found = find(f, args, dots, kwargs, f_dot)
    return found, 0 if found.leads is None else 1


def _innermost(f: Any) -> Any:
    """The function that a partial is of."""
    while isinstance(f, functools.partial):
        f = f.func
    return f


def _has_rule(f: Any) -> bool:
    return bool(lookup(f) or forward_rules(f) or is_non_differentiable(f))


def apart_if_written(run: Any, derivative: Any) -> Any:
    """A derivative of what `run` computes, of copies of its arguments if that writes into arrays."""
    return once(apart, derivative, as_now) if getattr(run, "__adcompiler_careful__", False) else derivative


def writes(f: Any) -> MutationError:
    return MutationError(
        f"a derivative of {getattr(f, '__name__', 'a function')}, which writes into its arguments, is differentiated\n"
        "It is computed again from what it was given, which is not there any more.\n"
        "Let it write into a copy: x = x.copy()."
    )


def unsupported(name: str) -> Exception:
    return UnsupportedSyntaxError(
        f"{name} inside a differentiated function\nIt has no derivative yet.\n"
        "Use gradient(), pullback() or jvp() there."
    )


__all__ = ["Repeated", "apart_if_written", "found_for", "pulled_back", "unsupported", "writes"]
