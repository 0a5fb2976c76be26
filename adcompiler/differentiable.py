"""Functions as the user hands them over: the wrapper that `differentiable` makes, and where variants are kept."""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

from adcompiler.dump import dump
from adcompiler.errors import SourceNotFoundError, refuse
from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.runtime.members import member


class Differentiable:
    """A function that `differentiable` has wrapped: calls as the function itself, with the generated text at hand."""

    __qualname__: str

    def __init__(self, function: Callable[..., Any], nondiff: tuple[str, ...], single_use: bool | None) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = {"nondiff": nondiff, "single_use": single_use}
        self._store: dict[Any, Any] = {}

    @property
    def __adcompiler_function__(self) -> Any:
        return self._function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        # By name, as functions pickle: the unpickled one is the module's own.
        return _by_name, (self.__module__, self.__qualname__)

    def __repr__(self) -> str:
        return f"<differentiable {self.__qualname__}>"

    def source(self, *args: Any, wrt: Any = None, single_use: bool = True, **kwargs: Any) -> str:
        """The generated forward function and pullback for these arguments, as text that can be imported."""
        return dump(self._function, args, kwargs, wrt=wrt, single_use=single_use)


def _by_name(module: str, qualname: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def differentiable(f: Any = None, *, nondiff: tuple[str, ...] = (), single_use: bool | None = None) -> Any:
    """Mark a function as differentiated: the result calls exactly like `f` and has `.source(*args)`.

    The decorator is only needed for its options and for `.source`; helpers that `f` calls need nothing.  `nondiff`
    names parameters that are constants; `single_use` overrides the choice that each transform makes.
    """
    if f is None:
        return functools.partial(differentiable, nondiff=nondiff, single_use=single_use)
    return Differentiable(f, nondiff, single_use)


def function_of(f: Any) -> tuple[Any, dict[str, Any]]:
    """The Python function behind what the user passed, and its options."""
    options: dict[str, Any] = {}
    if isinstance(f, Differentiable):
        options, f = f._options, f._function
    if isinstance(f, types.FunctionType):
        return f, options
    called, first = calling(f)
    if called is not None:
        function, options = function_of(called)
        return function, {**options, "first": (*first, *options.get("first", ()))}
    if lookup(f) or is_non_differentiable(f):
        return _wrapped_rule(f), {"rule": True}
    if not callable(f):
        raise TypeError(f"{f!r} is not a function")
    raise refuse(
        SourceNotFoundError,
        f"{getattr(f, '__name__', type(f).__name__)} cannot be differentiated",
        None,
        "It is neither a Python function nor a function with a rule.",
        "Wrap it in a def or a lambda.",
    )


def calling(f: Any) -> tuple[Any, tuple[Any, ...]]:
    """The function behind a bound method or callable object, and its first argument."""
    if isinstance(f, types.MethodType):
        return (
            (None, ())
            if not isinstance(f.__func__, types.FunctionType | Differentiable)
            else (f.__func__, (f.__self__,))
        )
    called = member(type(f), "__call__")
    if isinstance(called, types.FunctionType | Differentiable) and not lookup(f):
        return called, (f,)
    if isinstance(f, functools.partial):
        return _call_of(f.func), (f,)
    return None, ()


@functools.cache
def _call_of(function: Any) -> Any:
    """A function that calls the partial that it is given first; one for each function that a partial is of."""

    def call(f: Any, /, *args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return call


def _wrapped_rule(f: Any) -> Any:
    return lambda *args: f(*args)


def store_of(f: Any) -> dict[Any, Any]:
    """Where the variants of a function are kept: on the function itself."""
    if isinstance(f, Differentiable):
        return f._store
    called, _ = calling(f)
    if called is not None:
        return store_of(called)
    try:
        owner, store = f.__dict__.get("__adcompiler_variants__", (None, None))
        if owner is not f:  # functools.wraps copies the attributes of what it wraps
            store = {}
            f.__dict__["__adcompiler_variants__"] = f, store
        kept: dict[Any, Any] = store
        return kept
    except AttributeError:
        return {}
