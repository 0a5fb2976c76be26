"""Functions that have a rule, differentiated as they are: there is nothing to compile, and no source is read.

`gradient(np.sum)` comes here, and a function in Python for which a rule is registered: rules come before source.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from adcompiler.finish import zero_if_none
from adcompiler.kept import Kept, plan_of_rule, remembered
from adcompiler.lattice import can_be_active, observe
from adcompiler.rules.registry import lookup
from adcompiler.runtime import dynamic
from adcompiler.runtime.missing import refused_call
from adcompiler.runtime.project import detach, project
from adcompiler.runtime.ruling import first_that_takes
from adcompiler.runtime.walk import check_cotangent
from adcompiler.wanted import (
    Argnums,
    check_nondiff,
    check_pair,
    check_scalar,
    plan_gradient,
    wanted_names,
    without_first,
)

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Called:
    """One call of a function with a rule: its value, the arguments that are asked for, and their cotangents."""

    name: str
    value: Any
    primals: tuple[Any, ...]
    back: Callable[[Any], tuple[Any, ...]]
    given: Any


def ruled_call(f: Any, argnums: Argnums, options: dict[str, Any]) -> Callable[..., Called]:
    """What calls a function by its rule; of a method, what it is called on (`first` in the options) is not counted."""
    skipped = len(options.get("first", ()))
    check_nondiff(wanted_names(without_first(_signature(f), skipped), argnums), options)

    def call(*args: Any, **kwargs: Any) -> Called:
        signature = _signature(f, args, kwargs)
        positions = _positions(f, signature, args, kwargs)
        values = (*args, *kwargs.values())
        names = wanted_names(without_first(signature, skipped), argnums)
        plan_gradient(names, signature, _arguments(signature, args, kwargs))
        places = [positions[name] if inside is None else positions[name][inside] for name, inside in names]
        wanted = (False, *(i in places for i in range(len(values))))
        found = dynamic.resolve(wanted, f, *args, **kwargs)
        value, saved = found.forward(*args, **kwargs)
        name = getattr(f, "__qualname__", getattr(f, "__name__", "the function"))

        def back(seed: Any) -> tuple[Any, ...]:
            cts = found.backward(saved, seed)[1:]
            return tuple(cts[p] for p in places)

        return Called(name, value, tuple(values[p] for p in places), back, (args, kwargs))

    return call


def ruled_gradient(mode: str, f: Any, argnums: Argnums, options: dict[str, Any]) -> Callable[..., Any]:
    """What `gradient` and `value_and_grad` compute for a function with a rule."""
    by_rule = ruled_call(f, argnums, options)

    def call(*args: Any, **kwargs: Any) -> Any:
        called = by_rule(*args, **kwargs)
        value = called.value
        if mode == "aux":
            check_pair(value, called.name)
        check_scalar(value[0] if mode == "aux" else value, called.name)
        cts = called.back((1.0, None) if mode == "aux" else 1.0)
        out = tuple(zero_if_none(project(ct, a), a) for ct, a in zip(cts, called.primals, strict=True))
        whole = detach(out, (called.given, value))
        grads = whole if isinstance(argnums, tuple) else whole[0]
        return grads if mode == "gradient" else (value, grads)

    return call


def ruled_pullback(f: Any, constant: Any, args: Any, kwargs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The pullback of a function with a rule; `constant` are the names of parameters without derivative."""
    positions = _positions(f, _signature(f, args, kwargs), args, kwargs)
    fixed = {positions.get(name) for name in constant}
    wanted = (False, *(i not in fixed and can_be_active(observe(a, ())) for i, a in enumerate(args)))
    found = dynamic.resolve((*wanted, *(False for _ in kwargs)), f, *args, **kwargs)
    value, saved = found.forward(*args, **kwargs)

    def back(ct: Any) -> tuple[Any, ...]:
        check_cotangent(ct, value)
        cts = found.backward(saved, project(ct, value))[1 : 1 + len(args)]
        grads = [project(c, a) if on else None for c, a, on in zip(cts, args, wanted[1:], strict=True)]
        return tuple(detach(grads, (args, value, ct)))

    return value, remembered(back, Kept(plan_of_rule(f), [((found, saved),)], args, value))


def _signature(f: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] = _NONE) -> inspect.Signature:
    """The call that the rule of `f` accepts; of several rules, the first that accepts this one."""
    rules = lookup(f)
    if rules:
        signature: inspect.Signature = first_that_takes(rules, args, kwargs).signature
        return signature
    try:
        return inspect.signature(f, follow_wrapped=False)
    except ValueError:  # a builtin that does not tell
        kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
        return inspect.Signature([inspect.Parameter(n, k) for n, k in zip(("args", "kwargs"), kinds, strict=True)])


def _positions(f: Any, signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    """Where the argument of each parameter stands among `(*args, *kwargs.values())`; for `*args` several."""
    numbers = dict(zip(kwargs, range(len(args), len(args) + len(kwargs)), strict=True))
    try:
        return dict(signature.bind(*range(len(args)), **numbers).arguments)
    except TypeError as error:
        f(*args, **kwargs)  # Python's own complaint, where the call is wrong
        raise refused_call(f, error) from None


def _arguments(signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


__all__ = ["Called", "ruled_call", "ruled_gradient", "ruled_pullback"]
