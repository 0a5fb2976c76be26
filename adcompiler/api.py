"""The public transforms: `gradient`, `value_and_grad`, `pullback`.

Each wraps a function in `Variants`, which compile it for the kinds of arguments that it is called with; `wanted` says
with respect to what, `finish` what happens around the pair.  The run time compiles here what it first meets in a call.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from adcompiler.differentiable import Differentiable, differentiable, function_of, store_of
from adcompiler.finish import call_finisher, grad_finisher, pullback_finisher, shared_finisher
from adcompiler.kept import kept_by, remembered
from adcompiler.program import signature_of
from adcompiler.ruled import ruled_gradient, ruled_pullback
from adcompiler.rules.registry import is_non_differentiable, lookup, refusal
from adcompiler.runtime import dynamic, tracked
from adcompiler.runtime.ruling import places_of
from adcompiler.transforms import Kind, transform
from adcompiler.variants import Variants, shown
from adcompiler.wanted import Argnums, plan_pullback


def gradient(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the gradient of `f`, which must return one real number.

    `argnums` says with respect to what: a position, a parameter name, or a tuple of these (the result is then a tuple,
    also of length 1).  The gradient has the argument's structure, shape, dtype and device; complex arguments get
    ∂/∂re + i ∂/∂im.  An argument without influence gets zeros.  Raises NotScalarError, TangentError (an int was asked
    for), and other DifferentiationErrors for what cannot be differentiated.
    """
    kind = Kind("gradient", functools.partial(grad_finisher, "gradient"), functools.partial(ruled_gradient, "gradient"))
    return transform(f, argnums, kind, (gradient, (f, argnums)))


def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes `(f(...), gradient(f)(...))` at the cost of one forward and one backward.

    With `has_aux`, `f` returns `(value, aux)` and the result is `((value, aux), gradient)`; `aux` gets no cotangent.
    `argnums`, shapes, dtypes and errors are those of `gradient`.
    """
    mode = "aux" if has_aux else "value"
    kind = Kind("value_and_grad", functools.partial(grad_finisher, mode), functools.partial(ruled_gradient, mode), mode)
    return transform(f, argnums, kind, (value_and_grad, (f, argnums, has_aux)))


def pullback(
    f: Callable[..., Any], *args: Any, single_use: bool = False, **kwargs: Any
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`(f(*args, **kwargs), back)`; `back(ct)` gives one cotangent per positional argument, None where there is none.

    `ct` is a cotangent of the value: its structure and shape, None anywhere for zero.  Cotangents have the structure,
    shape, dtype and device of the arguments.  `back` may be called any number of times, unless `single_use` is given:
    then it frees what it has read, and a second call raises PullbackConsumedError.  `f` may write into its arguments;
    cotangents are with respect to what they held before.  Between this call and the last one of `back` nobody else may
    write into arguments or value: they are kept, not copied.  Raises DifferentiationErrors for what cannot be
    differentiated.
    """
    function, options = function_of(f)
    constant = frozenset(options.get("nondiff", ()))
    first, kwargs = options.get("first", ()), {**options.get("named", {}), **kwargs}
    try:
        if not isinstance(function, types.FunctionType):
            return ruled_pullback(function, constant, args, kwargs)
        store = store_of(f)
        key = ("pullback", single_use, len(first))
        variants = store.get(key)
        if variants is None:
            constant |= frozenset([*signature_of(function).parameters][: len(first)])
            plan = functools.partial(plan_pullback, constant)
            finisher = functools.partial(pullback_finisher, single_use)
            ruled = functools.partial(_ruled_pullback, function, constant)
            variants = store[key] = Variants(
                function, plan, finisher, single_use, ruled=ruled, key=None if options.get("nondiff") else key
            )
        value, make_back = variants(*first, *args, **kwargs)
    except Exception as error:
        raise shown(error)  # noqa: B904  it is the same exception
    back: Callable[[Any], tuple[Any, ...]] = make_back(len(first), len(first) + len(args))
    return value, back


def _ruled_pullback(function: Any, constant: Any, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """As the entry of a pullback gives it: the value, and what makes the pullback for some of the arguments."""
    value, back = ruled_pullback(function, constant, args, kwargs)
    return value, lambda start, stop: remembered(lambda ct: back(ct)[start:stop], kept_by(back))


def _compile_call(
    function: Any,
    wanted: tuple[bool, ...],
    args: Any,
    kwargs: Any,
    shared: bool = False,
    over: bool = False,
    strict: bool = False,
    single_use: bool = False,
    again: bool = False,
) -> Any:
    """For the runtime's dynamic calls: the value and a pullback with one cotangent per argument and keyword.

    `over`: arguments and value may be written into before the pullback runs. `strict`: arrays from outside must not be
    read. `single_use`: the pullback is called once. `again`: the caller sees what was written into the arguments.
    """
    store = store_of(function)
    key = ("shared call" if shared else "call", wanted, tuple(kwargs), over, strict, single_use, again)
    variants = store.get(key)
    if variants is None:
        signature = signature_of(function)
        numbers = dict(zip(kwargs, range(len(args), len(args) + len(kwargs)), strict=True))
        bound = signature.bind(*range(len(args)), **numbers).arguments
        on = frozenset(n for n, place in bound.items() if any(wanted[p] for p in places_of(place)))
        finish: Any = shared_finisher if shared else functools.partial(call_finisher, again)
        finisher = functools.partial(finish, bound, len(wanted), strict)
        variants = store[key] = Variants(function, lambda *_: on, finisher, single_use, inner=True, over=over, key=key)
    return variants(*args, **kwargs)


dynamic.connect(lookup, is_non_differentiable, refusal, _compile_call)
tracked.connect(functools.partial(_compile_call, shared=True))

__all__ = ["Differentiable", "differentiable", "gradient", "pullback", "value_and_grad"]
