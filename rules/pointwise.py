"""Elementwise rules with singular or missing partial derivatives, as tables: `pointwise` where `scalar_rule` is not
enough.
"""

import inspect
from typing import Any

from adcompiler.rules.forward import frule
from adcompiler.rules.registry import rrule
from adcompiler.runtime.pointwise import bars, refuse_complex, refuse_parameters
from adcompiler.runtime.pointwise_forward import tangent


def pointwise(*keys_and_partials: Any, kind: str | None = "elementwise", real: bool = False) -> None:
    """Register the rule of elementwise functions from their partial derivatives, one entry for each argument.

    The functions come first, then the entries: a lambda as of `scalar_rule`, None for an argument in which the function
    is piecewise constant, or a text that says why there is no derivative in it. The lambda of a function with several
    results gives a tuple of partials. Partials may be infinite or nan: a zero cotangent stays zero. A derivative that
    holds for `real` arguments only is refused for complex ones.
    """
    first = next(i for i, entry in enumerate(keys_and_partials) if _is_partial(entry))
    keys, partials = keys_and_partials[:first], keys_and_partials[first:]
    rule = _rule(keys[0], partials, real)
    rrule(*keys, result="fresh" if kind != "tuple" else None, kind=kind)(rule)
    frule(*keys)(_forward_rule(keys[0], partials, real, rule.__signature__))


def _is_partial(entry: Any) -> bool:
    return entry is None or isinstance(entry, str) or getattr(entry, "__name__", None) == "<lambda>"


def _rule(function: Any, partials: tuple[Any, ...], real: bool) -> Any:
    """The rule of one function."""

    def rule(*args: Any, needs: tuple[bool, ...]) -> Any:
        refuse_parameters(function.__name__, names, partials, args, needs)
        if real:
            refuse_complex(function.__name__, args)
        y = function(*args)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            return bars(partials, args, y, y_bar, needs)

        return y, pullback

    first = next(partial for partial in partials if callable(partial))
    taken = inspect.signature(first).parameters
    names = [name for name in taken if name != "out"]
    if len(names) != len(partials):
        raise TypeError(f"{function.__name__}: {len(partials)} partials for {', '.join(names)}")
    rule.__name__ = function.__name__
    rule.written = first  # type: ignore[attr-defined]
    rule.__signature__ = _signature(function, names)  # type: ignore[attr-defined]
    return rule


def _forward_rule(function: Any, partials: tuple[Any, ...], real: bool, signature: inspect.Signature) -> Any:
    """The forward rule of one function, with the parameters of `signature` that come before ``needs``."""

    def forward(tangents: Any, *args: Any) -> Any:
        refuse_parameters(function.__name__, names, partials, args, [dot is not None for dot in tangents])
        if real:
            refuse_complex(function.__name__, args)
        y = function(*args)
        return y, tangent(partials, args, y, tangents)

    names = [name for name in signature.parameters if name != "needs"]
    first = inspect.Parameter("tangents", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = [signature.parameters[name] for name in names]
    forward.__name__ = function.__name__
    forward.__signature__ = inspect.Signature([first, *given])  # type: ignore[attr-defined]
    return forward


def _signature(function: Any, names: list[str]) -> inspect.Signature:
    """The parameters `names` with the defaults of `function`, and what the compiler fills in."""
    both = inspect.Parameter.POSITIONAL_OR_KEYWORD
    try:
        own = dict(inspect.signature(function).parameters)
    except ValueError:  # a ufunc of older versions of NumPy
        own = {}
    given = [inspect.Parameter(n, both, default=own[n].default if n in own else inspect.Parameter.empty) for n in names]
    return inspect.Signature([*given, inspect.Parameter("needs", inspect.Parameter.KEYWORD_ONLY)])
