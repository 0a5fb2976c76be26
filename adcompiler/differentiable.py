"""Functions as the user hands them over and gets them back: what `differentiable` and `gradient` make of them.

Both are objects, not closures, so that they pickle: by name where they are what a module calls by that name, as
functions do, else by what they were made from.
"""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.dump import dump
from adcompiler.errors import NoRuleError, SourceNotFoundError, refuse
from adcompiler.program import signature_of
from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.runtime.domain import unwrapped
from adcompiler.runtime.marks import hook, showgrad, stop_gradient
from adcompiler.runtime.members import member
from adcompiler.runtime.missing import without_rule
from adcompiler.runtime.release import current
from adcompiler.runtime.transformed import Transform
from adcompiler.variants import shown


class Wrapper:
    """What stands for a function and is made anew from it in another process; as with a function, a copy is itself."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def _reduced(self, function: Any, make: Any, *arguments: Any) -> Any:
        """For pickle: the name under which a module holds this object, or `make(*arguments)`."""
        module, name = getattr(function, "__module__", None) or "", getattr(function, "__qualname__", "")
        try:
            named = _by_name(module, name) is self
        except (ImportError, AttributeError, ValueError):  # no such module, no such name, or none at all
            named = False
        return (_by_name, (module, name)) if named else (make, arguments)


class Differentiable(Wrapper):
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

    def __reduce__(self) -> Any:
        return self._reduced(self, _wrapped, self._function, self._options)

    def __repr__(self) -> str:
        return f"<differentiable {self.__qualname__}>"

    def source(self, *args: Any, wrt: Any = None, single_use: bool = True, **kwargs: Any) -> str:
        """The generated forward function and pullback for these arguments, as text that can be imported."""
        return dump(self._function, args, kwargs, wrt=wrt, single_use=single_use)


class Transformed(Wrapper, Transform):
    """The function that `gradient` and `value_and_grad` return: the compiled variants, and what it was made from."""

    __qualname__: str

    def __init__(self, call: Any, name: str, f: Any, made: tuple[Any, tuple[Any, ...]]) -> None:
        self._call = call
        self._made = made
        self.__name__ = self.__qualname__ = name
        self.__doc__ = f"{name}; made by adcompiler."
        self.__wrapped__ = f

    @property
    def kind(self) -> str:
        """The name of the transform."""
        name: str = self._made[0].__name__
        return name

    def with_held(self, parts: dict[str, Any]) -> Any:
        make, (_, *options) = self._made
        return make(parts["function"], *options)

    @property
    def argnums(self) -> Any:
        """With respect to what it differentiates."""
        return self._made[1][1]

    @property
    def has_aux(self) -> bool:
        """Whether the value is a pair of which only the first is differentiated."""
        return self.kind == "value_and_grad" and bool(self._made[1][2])

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        # Without a call more than is needed: of a small function this is a large part of the time.
        variants = self._call
        function = variants.function
        if function.__code__ is not variants.code or function.__defaults__ is not variants.defaults:
            variants.renew()
        if variants.single_use and current() is not variants.release:
            variants.switch(current())
        try:
            return variants.first(*args, **kwargs)
        except Exception as error:
            raise shown(error)  # noqa: B904  it is the same exception

    def __reduce__(self) -> Any:
        make, arguments = self._made
        return self._reduced(self.__wrapped__, make, *arguments)

    def __repr__(self) -> str:
        return f"<{self.__name__}, made by adcompiler>"


class TransformedMethod(Transformed):
    """The same for a method, callable object or partial: what comes `first` among the arguments, and what by name."""

    def __init__(
        self, call: Any, name: str, f: Any, made: Any, first: tuple[Any, ...], named: dict[str, Any] | None = None
    ) -> None:
        super().__init__(call, name, f, made)
        self._first = first
        self._named = named or {}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return super().__call__(*self._first, *args, **{**self._named, **kwargs})


class TransformedRule(Transformed):
    """The same for a function that is not compiled."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._call(*args, **kwargs)
        except Exception as error:
            raise shown(error)  # noqa: B904  it is the same exception


def _wrapped(function: Any, options: dict[str, Any]) -> Differentiable:
    return Differentiable(function, **options)


def _by_name(module: str, qualname: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def differentiable(f: Any = None, *, nondiff: tuple[str, ...] = (), single_use: bool | None = None) -> Any:
    """Mark a function as differentiated: the result calls exactly like `f` and has `.source(*args)`.

    The decorator is only needed for its options and for `.source`; helpers that `f` calls need nothing.  `nondiff`
    names parameters that are constants: `gradient` refuses them, and `pullback` gives None.  With `single_use=False`
    the pullback inside `gradient` and `value_and_grad` frees nothing while it runs; `pullback` has its own argument.
    """
    if f is None:
        return functools.partial(differentiable, nondiff=nondiff, single_use=single_use)
    return Differentiable(f, nondiff, single_use)


def function_of(f: Any) -> tuple[Any, dict[str, Any]]:
    """The function behind what the user passed, in Python or with a rule, and its options."""
    options: dict[str, Any] = {}
    if isinstance(f, Differentiable):
        options, f = f._options, f._function
    if isinstance(f, Transformed):
        return _call_of(f.__wrapped__), {**options, "first": (f,)}
    f = unwrapped(f)
    f = _CALLED.get(id(f), f)
    if lookup(f) or is_non_differentiable(f):
        return f, {**options, "rule": True}
    if isinstance(f, types.FunctionType):
        return f, options
    if type(f) is functools.partial and of_function(f):
        function, inner = function_of(f.func)
        first, named = (*inner.get("first", ()), *f.args), {**inner.get("named", {}), **f.keywords}
        return function, {**inner, **options, "first": first, "named": named}
    called, first = calling(f)
    if called is not None:
        function, inner = function_of(called)
        return function, {**inner, **options, "first": (*first, *inner.get("first", ()))}
    if not callable(f):
        raise TypeError(f"{f!r} is not a function")
    raise _refused(f, getattr(f, "__name__", type(f).__name__))


def _hook(fn: Any, x: Any) -> Any:
    return hook(fn, x)


def _stop_gradient(x: Any) -> Any:
    return stop_gradient(x)


def _showgrad(x: Any) -> Any:
    return showgrad(x)


# What means something where it is called has no derivative in its own text.
_CALLED = {id(hook): _hook, id(stop_gradient): _stop_gradient, id(showgrad): _showgrad}
_PLAIN = (types.FunctionType, Differentiable)


def calling(f: Any) -> tuple[Any, tuple[Any, ...]]:
    """The function behind a bound method or callable object, and its first argument."""
    if isinstance(f, types.MethodType):
        return (f.__func__, (f.__self__,)) if isinstance(f.__func__, _PLAIN) else (None, ())
    if isinstance(f, Transformed | np.vectorize):
        return None, ()
    called = member(type(f), "__call__")
    if isinstance(called, _PLAIN) and not lookup(f):
        return called, (f,)
    if isinstance(f, functools.partial):
        return _call_of(f.func), (f,)
    return None, ()


def of_function(f: Any) -> bool:
    """Whether a partial only gives parameters of a function in Python their values."""
    plain = isinstance(f.func, _PLAIN) or isinstance(getattr(f.func, "__func__", None), _PLAIN)
    function, options = function_of(f.func) if plain else (None, {})
    if not isinstance(function, types.FunctionType) or options.get("rule"):
        return False
    positional = [p for p in signature_of(function).parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    return len(options.get("first", ())) + len(f.args) <= len(positional)


@functools.cache
def _call_of(function: Any) -> Any:
    """A function that calls the partial that it is given first; one for each function that a partial is of."""

    def call(f: Any, /, *args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return call


def _refused(f: Any, name: str) -> Exception:
    """Why something that can be called is not differentiated, and what to write instead."""
    wrap = "Wrap it in a def or a lambda that passes on what is to be differentiated."
    if isinstance(f, types.MethodType):
        what, why = f"the method {name}", "A method depends on its object."
        wrap = f"Pass a function: lambda x: {type(f.__self__).__name__.lower()}.{name}(x)."
    elif isinstance(f, type):
        what, why = f"the class {name}", "Making an object has no derivative of its own."
    elif isinstance(f, Transformed | np.vectorize) or hasattr(f, "__wrapped__") or _is_in_c(f):
        what, why, advice = without_rule(f, name)
        return refuse(NoRuleError, what, None, why, advice)
    else:
        what, why = f"an object of class {type(f).__qualname__}", "It can be called, but is not a function."
    return refuse(SourceNotFoundError, f"{what} cannot be differentiated", None, why, wrap)


def _is_in_c(f: Any) -> bool:
    return type(f).__module__ in ("builtins", "numpy")


def store_of(f: Any) -> dict[Any, Any]:
    """Where the variants of a function are kept: on the function itself."""
    if isinstance(f, Differentiable):
        return f._store
    if type(f) is not types.FunctionType:
        if type(f) is functools.partial and of_function(f):
            return store_of(f.func)
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
