"""Calls as plain code, which is differentiated as the user's own is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def applied(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any], *first: Any) -> Any:
    """`function(*first, *args, **options)`."""
    return function(*first, *args, **options)


def with_options(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """The function of the positional arguments alone."""

    def call(*args: Any) -> Any:
        return function(*args, **options)

    return call


def gradient_of(pullback: Any, function: Callable[..., Any], y_bar: Any) -> Callable[..., Any]:
    """The cotangents of all arguments of `function`, for one cotangent of its value."""

    def gradient(*args: Any) -> Any:
        _, back = pullback(function, *args)
        return back(y_bar)

    return gradient
