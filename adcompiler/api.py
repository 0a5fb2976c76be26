"""The public transforms: `gradient`, `value_and_grad`, `pullback`.

Each wraps a function in `Variants`, which compile it for the kinds of arguments that it is called with; `wanted` says
with respect to what, `finish` what happens around the pair.  The run time compiles here what it first meets in a call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from adcompiler.differentiable import Differentiable, differentiable, function_of, store_of
from adcompiler.finish import call_finisher, grad_finisher, pullback_finisher, shared_finisher
from adcompiler.lattice import can_be_active, observe
from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.runtime import dynamic, tracked
from adcompiler.runtime.project import detach, project
from adcompiler.variants import Variants, explained
from adcompiler.wanted import Argnums, check_nondiff, plan_gradient, plan_pullback, wanted_names, without_first


def gradient(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the gradient of `f`, which must return one real number.

    `argnums` says with respect to what: a position, a parameter name, or a tuple of these (the result is then a tuple,
    also of length 1).  The gradient has the argument's structure, shape, dtype and device; complex arguments get
    ∂/∂re + i ∂/∂im.  An argument without influence gets zeros.  Raises NotScalarError, TangentError (an int was asked
    for), and other DifferentiationErrors for what cannot be differentiated.
    """
    return _transform(f, argnums, "gradient")


def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes `(f(...), gradient(f)(...))` at the cost of one forward and one backward.

    With `has_aux`, `f` returns `(value, aux)` and the result is `((value, aux), gradient)`; `aux` gets no cotangent.
    `argnums`, shapes, dtypes and errors are those of `gradient`.
    """
    return _transform(f, argnums, "aux" if has_aux else "value")


def _transform(f: Any, argnums: Any, mode: str) -> Callable[..., Any]:
    function, options = function_of(f)
    if not isinstance(argnums, int | str | tuple):
        raise TypeError(
            f"argnums is an int, a parameter name, or a tuple of these, not {argnums!r}; "
            "the arguments go to the result: gradient(f)(x)"
        )
    store = store_of(f)
    first = options.get("first", ())
    key = (mode, argnums, len(first))
    variants = store.get(key)
    if variants is None:
        names = wanted_names(without_first(inspect.signature(function, follow_wrapped=False), len(first)), argnums)
        check_nondiff(names, options)
        plan = functools.partial(plan_gradient, names)
        single_use = options.get("single_use") is not False
        finisher = functools.partial(grad_finisher, names, isinstance(argnums, tuple), mode)
        variants = store[key] = Variants(function, plan, finisher, single_use)
    name = {"gradient": "gradient", "value": "value_and_grad", "aux": "value_and_grad"}[mode]
    caller = _caller(variants, f"{name}({getattr(f, '__name__', 'f')})", f)
    return _bound(caller, first) if first else caller


def _bound(caller: Callable[..., Any], first: tuple[Any, ...]) -> Callable[..., Any]:
    """The transform of a bound method or callable object."""

    @functools.wraps(caller)
    def call(*args: Any, **kwargs: Any) -> Any:
        return caller(*first, *args, **kwargs)

    return call


def _caller(variants: Variants, name: str, f: Any) -> Callable[..., Any]:
    function = variants.function

    def call(*args: Any, **kwargs: Any) -> Any:
        if function.__code__ is not variants.code or function.__defaults__ is not variants.defaults:
            variants.renew()
        try:
            return variants.first(*args, **kwargs)
        except Exception as error:
            explained(error)
            raise

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name}; made by adcompiler."
    call.__wrapped__ = f  # type: ignore[attr-defined]
    return call


def pullback(
    f: Callable[..., Any], *args: Any, single_use: bool = False, **kwargs: Any
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`(f(*args, **kwargs), back)`; `back(ct)` gives one cotangent per positional argument, None where there is none.

    `ct` is a cotangent of the value: its structure and shape, None anywhere for zero.  Cotangents have the structure,
    shape, dtype and device of the arguments.  `back` may be called any number of times, unless `single_use` is given:
    then it frees what it has read, and a second call raises PullbackConsumedError.  Raises DifferentiationErrors for
    what cannot be differentiated.
    """
    function, options = function_of(f)
    if options.get("rule"):
        return _rule_pullback(f, args, kwargs)
    store = store_of(f)
    first = options.get("first", ())
    key = ("pullback", single_use, len(first))
    variants = store.get(key)
    if variants is None:
        constant = tuple(inspect.signature(function, follow_wrapped=False).parameters)[: len(first)]
        plan = functools.partial(plan_pullback, frozenset((*options.get("nondiff", ()), *constant)))
        finisher = functools.partial(pullback_finisher, single_use)
        variants = store[key] = Variants(function, plan, finisher, single_use)
    try:
        value, make_back = variants(*first, *args, **kwargs)
    except Exception as error:
        explained(error)
        raise
    back: Callable[[Any], tuple[Any, ...]] = make_back(len(first), len(first) + len(args))
    return value, back


def _rule_pullback(f: Any, args: Any, kwargs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The pullback of a function that is not written in Python, by its rule."""
    wanted = (False, *(can_be_active(observe(a, ())) for a in args), *(False for _ in kwargs))
    found = dynamic.resolve(wanted, f, *args, **kwargs)
    value, saved = found.forward(*args, **kwargs)

    def back(ct: Any) -> tuple[Any, ...]:
        cts = found.backward(saved, project(ct, value))[1 : 1 + len(args)]
        return tuple(detach([project(c, a) for c, a in zip(cts, args, strict=True)], (args, value, ct)))

    return value, back


def _compile_call(function: Any, wanted: tuple[bool, ...], args: Any, kwargs: Any, shared: bool = False) -> Any:
    """For the runtime's dynamic calls: the value and a pullback with one cotangent per argument and keyword."""
    signature = inspect.signature(function, follow_wrapped=False)
    numbers = dict(zip(kwargs, range(len(args), len(args) + len(kwargs)), strict=True))
    bound = signature.bind(*range(len(args)), **numbers).arguments
    store = store_of(function)
    key = ("shared call" if shared else "call", wanted, tuple(kwargs))
    variants = store.get(key)
    if variants is None:
        flat = {n: p if isinstance(p, tuple) else (p,) for n, p in bound.items()}
        on = frozenset(n for n, ps in flat.items() if any(isinstance(p, int) and wanted[p] for p in ps))
        finisher = functools.partial(shared_finisher if shared else call_finisher, bound, len(wanted))
        variants = store[key] = Variants(function, lambda *_: on, finisher, False)
    return variants(*args, **kwargs)


dynamic.connect(lookup, is_non_differentiable, _compile_call)
tracked.connect(functools.partial(_compile_call, shared=True))

__all__ = ["Differentiable", "differentiable", "gradient", "pullback", "value_and_grad"]
