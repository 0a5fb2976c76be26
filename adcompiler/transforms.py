"""From a function and `argnums` to what a transform returns: compiled variants, or a call of its rule."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adcompiler.differentiable import Transformed, TransformedMethod, TransformedRule, function_of, store_of
from adcompiler.program import signature_of
from adcompiler.variants import Variants
from adcompiler.wanted import check_nondiff, plan_gradient, wanted_names, without_first


@dataclass(frozen=True)
class Kind:
    """A transform: its public name, what it does around a compiled pair, and what it does with a rule.

    `finisher(names, as_tuple, compiled)` and `ruled(function, argnums, options)` are as in `finish` and `ruled`; `mode`
    tells transforms of one name apart. What is called more than once is not for single use.
    """

    name: str
    finisher: Callable[..., Any]
    ruled: Callable[..., Any]
    mode: str = ""
    single_use: bool = True


def transform(f: Any, argnums: Any, kind: Kind, made: Any) -> Callable[..., Any]:
    """The transformed function; `made` is the call of the public function that makes it again."""
    if isinstance(f, Transformed) and kind.name in ("gradient", "value_and_grad") and _of_gradient is not None:
        return _of_gradient(f, argnums, kind, made)
    return plain_transform(f, argnums, kind, made)


_of_gradient: Callable[..., Callable[..., Any]] | None = None


def connect(of_gradient: Callable[..., Callable[..., Any]]) -> None:
    """Tell what a gradient of what a transform returned is: `of_gradient(f, argnums, kind, made)`."""
    global _of_gradient
    _of_gradient = of_gradient


def plain_transform(f: Any, argnums: Any, kind: Kind, made: Any) -> Callable[..., Any]:
    """A transformed function whose calls are compiled."""
    function, options = function_of(f)
    if not isinstance(argnums, int | str | tuple):
        raise TypeError(
            f"argnums is an int, a parameter name, or a tuple of these, not {argnums!r}; "
            f"the arguments go to the result: {kind.name}(f)(x)"
        )
    name = f"{kind.name}({getattr(f, '__name__', getattr(getattr(f, 'func', None), '__name__', 'f'))})"
    if not isinstance(function, types.FunctionType):
        return TransformedRule(kind.ruled(function, argnums, options), name, f, made)
    store = store_of(f)
    first, named = options.get("first", ()), options.get("named", {})
    key = (kind.name, kind.mode, argnums, len(first), *named)
    variants = store.get(key)
    if variants is None:
        names = wanted_names(without_first(signature_of(function), len(first), named), argnums)
        check_nondiff(names, options)
        plan = functools.partial(plan_gradient, names)
        single_use = kind.single_use and options.get("single_use") is not False
        finisher = functools.partial(kind.finisher, names, isinstance(argnums, tuple))
        places = {
            **options,
            "first": (None,) * len(first),
            "named": {},
        }  # the function outlives the objects it was called on
        ruled = functools.partial(_ruled, kind.ruled, function, argnums, places)
        variants = store[key] = Variants(
            function, plan, finisher, single_use, ruled=ruled, key=None if options.get("nondiff") else key
        )
    if first or named:
        return TransformedMethod(variants, name, f, made, first, named)
    return Transformed(variants, name, f, made)


class _Call:
    """What stands for compiled variants in a `Transformed` that calls others."""

    single_use = False
    code = defaults = __code__ = __defaults__ = None

    def __init__(self, first: Callable[..., Any]) -> None:
        self.first = first
        self.function = self


def computed(name: str, call: Callable[..., Any], f: Any, made: Any) -> Callable[..., Any]:
    """A transformed function that calls others; `made` is the call of the public function that makes it again."""
    return Transformed(_Call(call), f"{name}({getattr(f, '__name__', 'f')})", f, made)


def _ruled(ruled: Any, function: Any, argnums: Any, options: Any, /, *args: Any, **kwargs: Any) -> Any:
    return ruled(function, argnums, options)(*args, **kwargs)


__all__ = ["Kind", "computed", "connect", "plain_transform", "transform"]
