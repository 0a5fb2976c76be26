"""Example arguments for a function that is shown without any: from annotations and loops, else arrays, else numbers."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Container, Iterator
from typing import Any

import gast
import numpy as np

from adcompiler.parse import parse

# What stands for a parameter whose annotation says what it is.
_EXAMPLES: dict[Any, Any] = {float: 1.5, complex: 1.5 + 0.5j, int: 2, bool: True, str: "", bytes: b"", None: None}


def guesses(function: Any, given: Container[str]) -> Iterator[dict[str, Any]]:
    """Values for the parameters that are neither given nor have a default, the likeliest first.

    >>> def f(x, n: int, scale=2.0): ...
    >>> [{k: np.ndim(v) for k, v in g.items()} for g in guesses(f, ())]
    [{'x': 2, 'n': 0}, {'x': 1, 'n': 0}, {'x': 0, 'n': 0}]
    """
    missing = [p for p in _signature(function).parameters.values() if _is_missing(p, given)]
    counts = _counts(function) if missing else frozenset()
    for ndim in (2, 1, 0):
        yield {p.name: _example(int if p.name in counts else p.annotation, ndim) for p in missing}


def _counts(function: Any) -> frozenset[str]:
    """The names that the function's text passes to `range`."""
    calls = [n for n in gast.walk(parse(function).node) if isinstance(n, gast.Call)]
    ranges = [c for c in calls if isinstance(c.func, gast.Name) and c.func.id == "range"]
    return frozenset(a.id for c in ranges for a in c.args if isinstance(a, gast.Name))


def _signature(function: Any) -> inspect.Signature:
    """The signature, annotations evaluated if they can be."""
    try:
        return inspect.signature(function, follow_wrapped=False, eval_str=True)
    except Exception:  # the text of an annotation may name anything
        return inspect.signature(function, follow_wrapped=False)


def _is_missing(parameter: inspect.Parameter, given: Container[str]) -> bool:
    required = parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )
    return required and parameter.name not in given


def _example(annotation: Any, ndim: int) -> Any:
    if isinstance(annotation, type | None) and annotation in _EXAMPLES:
        return _EXAMPLES[annotation]
    is_array = np.ndarray in (annotation, typing.get_origin(annotation))
    return np.ones((2,) * max(ndim, 1 if is_array else 0)) if ndim or is_array else 1.0


def described(value: Any) -> str:
    """What an example is, in words.

    >>> described(np.ones((2, 2))), described(1.5)
    ('an array of 2 dimensions', 'a float')
    """
    if isinstance(value, np.ndarray):
        return f"an array of {value.ndim} dimension{'s' if value.ndim != 1 else ''}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
