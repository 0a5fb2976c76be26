"""The gradient of a function against central differences, argument by argument."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from adcompiler.api import pullback
from adcompiler.errors import TangentError
from adcompiler.guess import guesses
from adcompiler.program import signature_of
from adcompiler.vectors import direction, has_complex, has_tangent, inner, magnitude, moved, random_like, widened

_DIRECTIONS = 8
_STEP = 1e-6


def compared(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[tuple[str, float]]:
    """Each argument that has a derivative and its largest relative error, over random directions.

    Arguments given by keyword are held fixed.  The error of a directional derivative is relative to the length of the
    gradient, so that a direction in which little changes does not count as wrong.
    """
    args = [widened(arg) for arg in args]
    y, back = pullback(function, *copy.deepcopy(args), **kwargs)
    rng = np.random.default_rng(7)
    y_bar = type(y)(1.0) if isinstance(y, float | np.floating) else random_like(y, rng)
    cotangents = back(y_bar)
    names = _names(function, len(args))
    errors = [
        (name, _error(function, args, kwargs, position, y_bar, cotangents[position], rng))
        for position, name in enumerate(names)
        if has_tangent(args[position])
    ]
    if not errors:
        raise TangentError(
            f"no positional argument of {function.__name__} has a derivative: pass floats or arrays of floats"
        )
    return errors


def compared_or_guessed(
    function: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[list[tuple[str, float]], dict[str, Any]]:
    """`compared`, with the first guess of the missing arguments that the function takes, and this guess.

    What the function raises for every guess is raised, of the likeliest one.
    """
    parameters = signature_of(function).parameters
    given = signature_of(function).bind_partial(*args, **kwargs).arguments
    rng = np.random.default_rng(3)
    first: Exception | None = None
    for guess in guesses(function, given):
        values = {name: _spread(value, rng) for name, value in guess.items()}
        named = {**given, **values}
        positional = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        count = max((i + 1 for i, n in enumerate(positional) if n in values), default=0)
        filled = [named.pop(n, parameters[n].default) for n in positional[:count]] if values else list(args)
        rest = {n: v for n, v in {**values, **kwargs}.items() if n not in positional[: len(filled)]}
        try:
            function(*copy.deepcopy(filled), **copy.deepcopy(rest))
            return compared(function, filled, rest), guess
        except Exception as error:
            first = first or error
            if not guess:
                break
    assert first is not None
    raise first


def _spread(value: Any, rng: np.random.Generator) -> Any:
    """A guess without ties between its numbers, at which many functions have no derivative."""
    return rng.uniform(0.5, 1.5, value.shape) if isinstance(value, np.ndarray) else value


def _names(function: Any, count: int) -> list[str]:
    """The names of the positional arguments; those of `*rest` are `rest[0]`, `rest[1]`, ..."""
    parameters = signature_of(function).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    rest = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
    return names + [f"{rest[0]}[{i}]" for i in range(count - len(names))]


def _error(
    function: Any, args: list[Any], kwargs: dict[str, Any], position: int, y_bar: Any, gradient: Any, rng: Any
) -> float:
    """The largest relative error of the derivatives in random directions of one argument."""

    def output(v: Any, step: float) -> float:
        moving = copy.deepcopy(args)
        moving[position] = moved(moving[position], v, step)
        return inner(y_bar, function(*moving, **copy.deepcopy(kwargs)))

    worst = 0.0
    for i in range(_DIRECTIONS):
        v = direction(args[position], rng, imaginary=i % 2 == 1 and has_complex(args[position]))
        expected = (output(v, _STEP) - output(v, -_STEP)) / (2 * _STEP)
        actual = inner(gradient, v)
        size = max(abs(expected), magnitude(gradient) if gradient is not None else 0.0, 1e-3)
        error = abs(actual - expected) / size
        worst = max(worst, error if error == error else np.inf)
    return worst
