"""`checkpoint(f)`: of a call of `f` the arguments are kept and nothing else; the pullback computes it once more.

y = recomputed(f, x)                            _, saved = f_forward(x)
                                                x_bar = f_backward(saved, y_bar)
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from adcompiler.runtime.dynamic import once, resolve_body
from adcompiler.runtime.errors import MutationError
from adcompiler.runtime.frozen import as_called
from adcompiler.runtime.randomness import Draws
from adcompiler.runtime.tangents import unthunk
from adcompiler.runtime.tracked import no_strict
from adcompiler.runtime.walk import entries, is_array, is_constant

Function = TypeVar("Function", bound=Callable[..., Any])

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

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return recomputed(f, *args, **kwargs)

    functools.update_wrapper(checkpointed, f)
    checkpointed.__dict__.pop("__adcompiler_variants__", None)
    if checkpointed.__module__ == __name__ or not isinstance(f, types.FunctionType):
        checkpointed.__module__ = "__main__"  # of what is compiled with its caller
    return checkpointed  # type: ignore[return-value]


def recomputed(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`f(*args, **kwargs)`: what a checkpointed function calls, and what has the rule."""
    return f(*args, **kwargs)


def bound_checkpoint(f: Callable[..., Any]) -> Any:
    """What `checkpoint(f)` is in generated code: a method of `f`, whose cotangent is that of `f`."""
    return types.MethodType(recomputed, f)


_CODE = checkpoint(recomputed).__code__  # type: ignore[attr-defined]


def is_checkpointed(f: Any) -> bool:
    """Whether a function was made by `checkpoint`."""
    return isinstance(f, types.FunctionType) and f.__code__ is _CODE


class Again:
    """A call that the pullback makes once more: `value` is what it gave, and `pullback` the way back.

    `apart` says that arrays may be written into by then, which are copied: those that it gets or has captured
    ("written"), or also those that it finds outside ("outside"), which it must not read.
    """

    def __init__(
        self, wanted: tuple[bool, ...], apart: str | None, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.wanted = wanted
        self.outside = apart == "outside"
        self.call = as_called((f, args, kwargs), arrays=apart is not None)
        self.draws = Draws()
        with self.draws.watched(f, args, kwargs):
            self.value = f(*args, **kwargs)
        self.samples = list(_samples(self.value))

    def pullback(self, y_bar: Any) -> tuple[Any, ...]:
        """The cotangents of the function, of each argument and of each keyword."""
        f, args, kwargs = as_called(self.call, arrays=False)  # what it rebinds or appends is not seen by the next call
        found = once(resolve_body)(self.wanted, f, *args, **kwargs)
        forward = (found.strict or no_strict) if self.outside else found.forward
        with self.draws.again():
            value, saved = self._forward(forward, args, kwargs)
        self._check(value)
        del value
        return tuple(map(unthunk, found.backward((saved, saved := None)[0], (y_bar, y_bar := None)[0])))

    def _forward(self, forward: Any, args: Any, kwargs: Any) -> Any:
        try:
            return forward(*args, **kwargs)
        except MutationError as error:
            if error.origin is not None:
                raise
            raise MutationError(
                f"{self._name()}, a function under checkpoint, writes into what it is given or has captured\n"
                "The pullback computes it once more, from what it was given.\n"
                "Let it return a new array or container, or leave checkpoint away."
            ) from None

    def _name(self) -> str:
        return str(getattr(self.call[0], "__name__", type(self.call[0]).__name__))

    def _check(self, value: Any) -> None:
        """Raise if the second value is another one."""
        again = list(_samples(value))
        if len(again) != len(self.samples) or not all(map(_agree, again, self.samples)):
            raise MutationError(
                f"{self._name()} gave another value when checkpoint computed it again\n"
                "What it reads has changed meanwhile, or it draws random numbers from a source that is not known.\n"
                "Pass what changes as an argument that nobody writes into, or leave checkpoint away."
            )


def _samples(value: Any) -> Any:
    """Some elements of each array in a value, and its numbers."""
    if is_constant(value):
        return
    children = entries(value)
    if children is not None:
        for child in children.values():
            yield from _samples(child)
    elif is_array(value) and np.ndim(value):
        steps, room = [], _SAMPLES
        for length in reversed(value.shape):
            steps.append(slice(None, None, max(1, -(-length // room))))
            room = max(1, room // max(1, min(length, room)))
        yield value[tuple(reversed(steps))].copy()
    else:
        yield value


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
    return bool(np.max(apart, initial=0.0) <= exact * np.max(finite, initial=0.0))


__all__ = ["Again", "checkpoint", "is_checkpointed", "recomputed"]
