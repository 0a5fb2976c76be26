"""What is said of a call that has no derivative, and what to do."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from adcompiler.runtime.domain import foreign_module, is_domain
from adcompiler.runtime.errors import NoRuleError

_CACHED = type(functools.cache(print))


def no_rule(key: Any, foreign: list[Any], refusal: str | None = None) -> NoRuleError:
    """The error for a call without derivative; `refusal` is why the function is declared so, and what to do."""
    name = getattr(key, "__name__", repr(key))
    if refusal is not None:
        return NoRuleError(f"{name} is not differentiated: {refusal}")
    if isinstance(key, _CACHED):
        return NoRuleError(
            f"{name} keeps its results in a cache, which would keep one derivative for all calls\n"
            "Remove the cache, or register a rule with @rrule."
        )
    if foreign:
        kinds = ", ".join(
            sorted({f"{cls.__module__}.{cls.__qualname__}" for v in foreign for cls in _foreign_types(v)})
        )
        advice = "Convert it to an array, or register a rule with @rrule."
        if key in (sum, max, min):
            advice = "Combine the items in a loop."
        return NoRuleError(f"{name} has no derivative rule for {kinds}\n{advice}")
    return NoRuleError("\n".join(without_rule(key, name)))


def _foreign_types(value: Any) -> set[type]:
    """The classes that built-in rules do not hold for, of a value or of the items of a list or tuple."""
    if type(value) in (list, tuple):
        return {cls for item in value for cls in _foreign_types(item)}
    return set() if is_domain(value) else {type(value)}


def without_rule(function: Any, name: str) -> tuple[str, str, str]:
    """What is said of something that can be called, and has neither a rule nor source: what, why, and what to do."""
    inside = getattr(function, "__wrapped__", None)
    if hasattr(type(function), "__adcompiler_transform__"):
        why = "Derivatives of derivatives are not supported yet."
        return f"{name} has no derivative", why, "Compute it outside and pass the result."
    if isinstance(function, np.vectorize) or function in (np.vectorize.__init__, np.vectorize.__call__):
        what, why = "a function made by np.vectorize has no derivative", "It calls Python once for each number."
        return what, why, "Write it with operations on whole arrays (np.where for a choice), or as a loop."
    if getattr(function, "__module__", None) == "_operator":
        why = "It is no operation on numbers alone, or writes into its first argument."
        return f"{name.lstrip('_')} has no derivative rule", why, "Write the operator or the call itself."
    ufunc = getattr(function, "__self__", function)
    if isinstance(ufunc, np.ufunc):
        return _ufunc_without_rule(function, ufunc, name)
    if isinstance(inside, types.FunctionType) and not foreign_module(function):
        wrapper = f"{type(function).__module__}.{type(function).__qualname__}"
        why = f"It is wrapped by {wrapper.replace('._lru_cache_wrapper', '.lru_cache')}, which has no source."
        return f"{name} has no derivative rule", why, "Use the function inside, which is its attribute __wrapped__."
    cls = type(function)
    if cls.__module__.startswith("cupy.") and cls.__name__.endswith("Kernel"):
        what, why = f"the kernel {name} has no derivative rule", "It is written in CUDA C++, which is not read."
        return what, why, "Register one: @rrule(kernel) above a function that returns (y, pullback)."
    why = "It is not written in Python, and no rule is registered for it."
    return f"{name} has no derivative rule", why, "Register one with @rrule, or declare it with non_differentiable()."


def _ufunc_without_rule(function: Any, ufunc: np.ufunc, name: str) -> tuple[str, str, str]:
    """What is said of a ufunc, or of a method of one."""
    if getattr(function, "__name__", "") == "at":
        what = f"{ufunc.__name__}.at has no derivative"
        return what, "It writes into its first argument.", "Make a new array and add it."
    if all(types.count("O") == ufunc.nargs for types in ufunc.types):
        why = "A ufunc made by np.frompyfunc calls Python once for each number, and returns objects."
        advice = "Write it with operations on whole arrays (np.where for a choice), or as a loop."
        return f"{name} has no derivative", why, advice
    if ufunc.signature is not None:
        return f"{name} has no derivative rule", "It is not written in Python.", "Register a rule with @rrule."
    numbers = "x" if ufunc.nin == 1 else ", ".join(f"x{i + 1}" for i in range(ufunc.nin))
    partials = ", ".join(f"lambda {numbers}: ..." for _ in range(ufunc.nin))
    why = "It is a ufunc that is not written in Python, and no rule is registered for it."
    return f"{name} has no derivative rule", why, f"Register its partial derivatives: scalar_rule({name}, {partials})."


def refused_call(function: Any, error: TypeError) -> NoRuleError:
    """The error for a call that is right in Python, and that the function's rule does not take."""
    name = getattr(function, "__name__", repr(function))
    return NoRuleError(f"the rule of {name} does not take this call: {error}\nWrite it another way.")
