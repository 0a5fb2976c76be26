"""What `gradient` and its relatives return, as the run time and the compiler know it."""

from __future__ import annotations

from typing import Any


class Transform:
    """A function that was made of another one, which it holds; it can be called."""

    __adcompiler_transform__ = True
    __wrapped__: Any

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError
