"""`checkpoint(f)`: of a call of `f` the arguments are kept and nothing else; the pullback computes it once more.

y = recomputed(f, x)                            _, saved = f_forward(x)
                                                x_bar = f_backward(saved, y_bar)
"""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from adcompiler.runtime.dynamic import call_again
from adcompiler.runtime.errors import MutationError
from adcompiler.runtime.frozen import as_called
from adcompiler.runtime.marks import differentiating
from adcompiler.runtime.randomness import States, generators, moved_on, replayed, states
from adcompiler.runtime.tangents import unthunk
from adcompiler.runtime.walk import entries, is_array, is_constant
from adcompiler.runtime.wrapped import wrapping

Function = TypeVar("Function", bound=Callable[..., Any])

NOTHING = contextlib.nullcontext()
_SAMPLES = 64  # elements of an array that are compared


def checkpoint(f: Function) -> Function:
    """A function that calls as `f`, and of which a pullback keeps the arguments only: `checkpoint(f)(x)`, or `@`.

    The pullback computes `f` once more, with the same random numbers, and goes back from there; what that keeps is
    given back as it runs. Effects of `f` (printing, counting) happen again. `f` may be anything that can be called:
    a function, a closure over variables with derivatives, a method, an object; arguments and results may have any
    structure. The arguments, and the arrays that `f` has captured, are kept themselves: `f` must not write into them.
    Outside of differentiation it is `f`.
    """
    if not callable(f):
        raise TypeError(f"checkpoint() takes a function: checkpoint(f)(x), not checkpoint({f!r})")

    return wrapping(recomputed, f)  # type: ignore[no-any-return]


def recomputed(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`f(*args, **kwargs)`: what a checkpointed function calls, and what has the rule."""
    return f(*args, **kwargs)


class Call:
    """A call that a pullback makes once more, with generators of random numbers as they were `before`.

    `outside` says that it must not read arrays from outside; `samples` are those of its value, if they are known;
    `steady` that nothing in it could change but arrays, so that it need not be copied.
    """

    steady = False

    def __init__(self, wanted: tuple[bool, ...], outside: bool, f: Any, args: Any, kwargs: Any, before: States) -> None:
        self.wanted = wanted
        self.outside = outside
        self.call = f, args, kwargs
        self.before = before
        self.samples: list[Any] | None = None

    def again(self) -> Any:
        """The pullback of the call, which is made now; it gives a cotangent for `f` too, and is called once."""
        given, kwargs = self.call[:2], self.call[2]
        own = given if self.steady else as_called(given, arrays=False)  # the next one sees nothing of what it rebinds
        named = as_called(kwargs, arrays=False) if kwargs else {}
        with replayed(self.before) if self.before else NOTHING:
            value, back = self._computed(own[0], own[1], named)
        if not _is_as_it_was(own, given, set()) or (kwargs and not _is_as_it_was(named, kwargs, set())):
            raise self._writes()
        self.check(value)
        return back

    def pullback(self, y_bar: Any) -> tuple[Any, ...]:
        """The cotangents of the function, of each argument and of each keyword."""
        back: Any = self.again()
        return tuple(map(unthunk, (back, back := None)[0]((y_bar, y_bar := None)[0])))

    def check(self, value: Any) -> None:
        """Raise if a value is not the one that the call has had before."""
        again = list(samples_of(value)) if self.samples is not None else None
        if not agree(again, self.samples):
            raise MutationError(
                f"{self._name()} gave another value when checkpoint computed it again\n"
                "What it reads has changed meanwhile, or it draws random numbers from a source that is not known.\n"
                "Pass what changes as an argument that nobody writes into, or leave checkpoint away."
            )

    def _computed(self, f: Any, args: Any, kwargs: Any) -> Any:
        f, defaults = _without_defaults(f, args, kwargs)
        wanted = (*self.wanted, *(False for _ in defaults))
        try:
            value, back = call_again(wanted, f, args, {**kwargs, **defaults}, self.outside)
            return value, lambda y_bar: back(y_bar)[: len(self.wanted)]
        except MutationError as error:
            if error.origin is not None:
                raise
            raise (self._reads() if "reads an array" in str(error) else self._writes()) from None

    def _reads(self) -> MutationError:
        return MutationError(
            f"{self._name()}, a function under checkpoint, reads a global or captured array\n"
            "Such arrays are written into, with derivatives, by the function that calls it.\n"
            "Pass the array as an argument, or leave checkpoint away."
        )

    def _writes(self) -> MutationError:
        return MutationError(
            f"{self._name()}, a function under checkpoint, writes into what it is given or has captured\n"
            "The pullback computes it once more, from what it was given.\n"
            "Let it return a new array or container, or leave checkpoint away."
        )

    def _name(self) -> str:
        return str(getattr(self.call[0], "__name__", type(self.call[0]).__name__))


def called(
    wanted: tuple[bool, ...], written_later: str | None, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Call]:
    """The value of a call, and what is kept of it.

    `written_later` says that arrays may be written into by then, which are copied: those that it gets or has captured
    ("written"), or also those that it finds outside ("outside"), which it must not read.
    """
    own, given, named = as_called((f, args, kwargs), arrays=written_later is not None)
    call = Call(wanted, written_later == "outside", own, given, named, states(generators(f, args, kwargs)))
    with differentiating():
        value = f(*args, **kwargs)
    call.before = moved_on(call.before)
    call.samples = list(samples_of(value))
    return value, call


def _without_defaults(f: Any, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """A closure as a function without defaults, and those that a call needs: closures are followed without them."""
    if not isinstance(f, types.FunctionType) or not f.__closure__ or not (f.__kwdefaults__ or f.__defaults__):
        return f, {}
    signature = inspect.signature(f, follow_wrapped=False)
    given = signature.bind(*args, **kwargs).arguments
    left = [p for name, p in signature.parameters.items() if name not in given and p.default is not p.empty]
    if any(p.kind is p.POSITIONAL_ONLY for p in left):
        return f, {}
    bare = types.FunctionType(f.__code__, f.__globals__, f.__name__, None, f.__closure__)
    bare.__qualname__, bare.__module__ = f.__qualname__, f.__module__
    return bare, {p.name: p.default for p in left}


def samples_of(value: Any) -> Any:
    """Some elements of each array in a value, and its numbers."""
    if is_constant(value):
        return
    children = entries(value)
    if children is not None:
        for child in children.values():
            yield from samples_of(child)
    elif is_array(value) and np.ndim(value):
        steps, room = [], _SAMPLES
        for length in reversed(value.shape):
            steps.append(slice(None, None, max(1, -(-length // room))))
            room = max(1, room // max(1, min(length, room)))
        yield value[tuple(reversed(steps))].copy()
    else:
        yield value


def _is_as_it_was(value: Any, before: Any, seen: set[int]) -> bool:
    """Whether the containers, objects and captured variables in a value hold what they did: the same arrays."""
    if value is before or is_constant(before) or id(value) in seen:
        return True
    seen.add(id(value))
    now, then = entries(value), entries(before)
    if now is None or then is None:
        return now is then
    if now.keys() != then.keys():
        return all(is_constant({**then, **now}[key]) for key in now.keys() ^ then.keys())
    return all(_is_as_it_was(now[key], then[key], seen) for key in then)


def agree(a: list[Any] | None, b: list[Any] | None) -> bool:
    """Whether the samples of two values are the same; None if they are not known."""
    return a is None or b is None or (len(a) == len(b) and all(map(_agree, a, b)))


def _agree(a: Any, b: Any) -> bool:
    """Whether two samples are the same but for rounding."""
    if np.shape(a) != np.shape(b):
        return False
    if isinstance(a, float) and isinstance(b, float) and a == b:
        return True
    exact = np.finfo(np.result_type(a)).eps ** 0.5
    with np.errstate(all="ignore"):
        same = (a == b) | ((a != a) & (b != b))
        apart = np.where(same, 0.0, np.abs(a - b))
        finite = np.where(np.isfinite(b), np.abs(b), 0.0)
    return not np.size(apart) or bool(np.max(apart) <= exact * np.max(finite))


__all__ = ["NOTHING", "Call", "agree", "called", "checkpoint", "recomputed", "samples_of"]
