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
    if isinstance(inside, types.FunctionType) and not foreign_module(function):
        cls = f"{type(function).__module__}.{type(function).__qualname__}".replace("._lru_cache_wrapper", ".lru_cache")
        why = f"It is wrapped by {cls}, which has no source."
        return f"{name} has no derivative rule", why, "Use the function inside, which is its attribute __wrapped__."
    why = "It is not written in Python, and no rule is registered for it."
    return f"{name} has no derivative rule", why, "Register one with @rrule, or declare it with non_differentiable()."


def refused_call(function: Any, error: TypeError) -> NoRuleError:
    """The error for a call that is right in Python, and that the function's rule does not take."""
    name = getattr(function, "__name__", repr(function))
    return NoRuleError(f"the rule of {name} does not take this call: {error}\nWrite it another way.")
