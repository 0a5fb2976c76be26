"""Functions that mean something to the compiler and nothing to Python: they give what they are given."""

import contextlib
import contextvars
import os
import types
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, TypeVar, overload

import numpy as np

from adcompiler.runtime.wrapped import wrapping

T = TypeVar("T")
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, np.ufunc)


class _Nothing(Enum):
    NOTHING = 0


@overload
def stop_gradient(x: T) -> T: ...


@overload
def stop_gradient() -> contextlib.AbstractContextManager[None]: ...


def stop_gradient(x: Any = _Nothing.NOTHING) -> Any:
    """The value of `x`, treated as a constant: no cotangent passes, at any order.

    Of a function, one that does the same and whose results are constants: ``stop_gradient(f)(x)``. In
    ``with stop_gradient():`` all that the block computes is constant, also behind it; an augmented assignment changes
    its variable by a constant.
    """
    if x is _Nothing.NOTHING:
        return contextlib.nullcontext()
    return wrapping(stopped, x) if isinstance(x, FUNCTIONS) else x


def stopped(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What a function under `stop_gradient` calls."""
    return stop_gradient(f(*args, **kwargs))


def hook(fn: Callable[[Any], Any], x: T) -> T:
    """The value of `x`, with a look at the cotangent of this use of it: what `fn` returns for that replaces it.

    `fn` is called by the pullback, as plain Python, with the cotangent in the form that a gradient with respect to `x`
    has: the shape and dtype of an array, the structure of a container, a `Tangent` for an object, None inside these for
    what has no influence. It is its own copy, to be kept or changed; arrays that the differentiated function has
    computed with must stay as they are, since the pullback still reads them. None leaves the cotangent as it was;
    anything else must be a cotangent of `x`, and is checked to be one. Where no cotangent reaches this use, `fn` is not
    called; but it may be given zeros, of an array whose elements are read in a loop that did not run. Other uses of `x`
    are not concerned. Raises TypeError if `fn` cannot be called.
    """
    if not callable(fn):
        raise TypeError(f"hook() takes a function and then the value, and {type(fn).__name__!r} object is not callable")
    return x


def showgrad(x: T) -> T:
    """The value of `x`; when the pullback comes here it prints what you wrote for `x`, and the cotangent of this use.

    It is a `hook` that prints, as in ``showgrad(a * b) at train.py:12: [1. 2.]``. A plain call prints nothing.
    """
    return x


class Printed:
    """The function of the hook behind `showgrad`: `text` is what was shown, `place` the file and the line."""

    def __init__(self, text: str, place: str = "") -> None:
        self.text = text
        self.place = os.path.basename(place)

    def __call__(self, g: Any) -> None:
        print(f"showgrad({self.text}){f' at {self.place}' if self.place else ''}: {g}")


_differentiating: contextvars.ContextVar[bool] = contextvars.ContextVar("differentiating", default=False)


def is_differentiating() -> bool:
    """Whether the function that asks runs as the forward of a derivative: False where it is called plainly.

    In what is compiled it is the constant True. A function that gets nothing with a derivative and has captured no such
    thing is called plainly there, too.
    """
    return _differentiating.get()


@contextlib.contextmanager
def differentiating() -> Iterator[None]:
    """Around a plain call that belongs to a forward."""
    token = _differentiating.set(True)
    try:
        yield
    finally:
        _differentiating.reset(token)
