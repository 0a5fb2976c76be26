"""The decorator that puts a function into the corpus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adcompiler.testing import made


@dataclass(frozen=True)
class Sample:
    """One call of one function; `args` and `kwargs` may contain makers such as `normal(3)`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    id: str

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Fresh arguments and keyword arguments, always the same numbers."""
        rng = np.random.default_rng(20)
        return made(self.args, rng), made(self.kwargs, rng)


SAMPLES: list[Sample] = []


def sample(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """Register the decorated function, as it is, with the arguments of one call; may be repeated."""

    def register(function: Any) -> Any:
        name = f"{function.__module__.rpartition('.')[2]}-{function.__name__.strip('<>')}"
        count = sum(1 for s in SAMPLES if s.id.rstrip("0123456789") in (name, f"{name}-"))
        SAMPLES.append(Sample(function, args, kwargs, f"{name}-{count + 1}" if count else name))
        return function

    return register
