"""A call whose arguments are known when it happens only."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def applied(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any], *first: Any) -> Any:
    """`function(*first, *args, **options)`."""
    return function(*first, *args, **options)
