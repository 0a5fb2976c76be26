"""What `gradient` and its relatives return, as the run time and the compiler know it."""

from __future__ import annotations

from typing import Any


class Holder:
    """What can be called and holds others, as a function holds what it has captured; nobody writes into it."""

    def held(self) -> dict[str, Any]:
        """What it holds, by the names that its cotangent has."""
        raise NotImplementedError

    def with_held(self, parts: dict[str, Any]) -> Any:
        """The same with other parts."""
        raise NotImplementedError


class Transform(Holder):
    """A function that was made of another one."""

    __adcompiler_transform__ = True
    __wrapped__: Any

    def held(self) -> dict[str, Any]:
        return {"function": self.__wrapped__}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError
