"""A function that a rule was given, with the further arguments that it always gets: its value and its derivative.

Cotangents of what such a function depends on besides the point (what it captured, and the further arguments) are kept
together as a pair, the `Outside`; None is zero in it, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.frozen import frozen
from adcompiler.runtime.tangents import accumulate, scale
from adcompiler.runtime.walk import is_constant, part


class Outside(NamedTuple):
    """The cotangents of a function itself and of the arguments that it gets besides the point."""

    function: Any = None
    arguments: Any = None

    def __add__(self, other: Any) -> Outside:
        """The sum of two, entry by entry."""
        return Outside(accumulate(self.function, other.function), accumulate(self.arguments, other.arguments))

    def times(self, factor: Any) -> Outside:
        """All cotangents times a number."""
        return Outside(scale(self.function, factor), scale(self.arguments, factor))


Pull = Callable[[Any], tuple[tuple[Any, ...], Outside]]


class Callback:
    """`f(*point, *args)`; `at` gives its value and the function from a cotangent to those of point and outside.

    `args` is a tuple, or the only further argument, as SciPy has it. What is not `wanted` is a constant. The function
    and the arguments are as they were when this was made.
    """

    def __init__(self, config: Any, f: Any, args: Any = (), wanted: tuple[bool, bool] = (True, True)) -> None:
        self.config = config
        self.f = frozen(f)
        self.single = not isinstance(args, tuple)
        self.args = frozen((args,) if self.single else args)
        self.wanted = wanted
        self.prepared: dict[Any, Any] = {}

    def at(self, *point: Any, moving: tuple[bool, ...] = ()) -> tuple[Any, Pull]:
        """The value at a point, and its pullback; `moving` says which parts of the point want a cotangent (all)."""
        key = (moving, *map(type, point))
        if key not in self.prepared:
            flags = (self.wanted[0], *(moving or (True,) * len(point)), *(self.wanted[1] for _ in self.args))
            self.prepared[key] = self.config.prepared(flags, self.f, *point, *self.args)
        y, back = self.prepared[key](*point, *self.args)

        def pull(y_bar: Any) -> tuple[tuple[Any, ...], Outside]:
            f_bar, *bars = back(y_bar)
            rest = tuple(bars[len(point) :])
            if all(bar is None for bar in rest):
                return tuple(bars[: len(point)]), Outside(f_bar, None)
            return tuple(bars[: len(point)]), Outside(f_bar, rest[0] if self.single else rest)

        return y, pull

    def value(self, *point: Any) -> Any:
        """The value alone."""
        return self.f(*point, *self.args)


def flat(value: Any) -> Any:
    """A number, array or nested list of numbers as a vector."""
    return np.ravel(np.asarray(value))


def shaped(vector: Any, like: Any) -> Any:
    """A vector as the cotangent of `like`: a number, an array, or a list or tuple (of lists) of numbers."""
    if type(like) is np.ndarray:
        return vector if like.shape == vector.shape else np.reshape(vector, like.shape)
    if isinstance(like, list | tuple):
        sizes = [np.size(entry) for entry in like]
        pieces = np.split(vector, np.cumsum(sizes)[:-1])
        return type(like)(shaped(piece, entry) for piece, entry in zip(pieces, like, strict=True))
    if np.ndim(like) == 0 and not isinstance(like, np.ndarray):
        return vector[0]
    return np.reshape(vector, np.shape(like))


def dense(ct: Any, like: Any) -> Any:
    """A cotangent as an array of the shape of its value, zeros if it is None."""
    if type(ct) is np.ndarray and ct.shape == np.shape(like):
        return ct
    return np.zeros(np.shape(like)) if ct is None else np.broadcast_to(np.asarray(ct), np.shape(like))


def taken(y_bar: Any, names: Sequence[Any], y: Any, where: str) -> list[Any]:
    """The entries `names` of the cotangent of a result y.

    Raises NoRuleError if it has another entry that is not zero, of something that is no constant.
    """
    if y_bar is None:
        return [None] * len(names)
    keys = y_bar.keys() if hasattr(y_bar, "keys") else range(len(y_bar))
    for key in keys:
        if key not in names and not _is_zero(part(y_bar, key)) and not is_constant(y[key]):
            entry = f".{key}" if isinstance(key, str) else f"item {key}"
            raise NoRuleError(
                f"{entry} of the result of {where} has no derivative\n"
                "Use the solution itself, or stop_gradient() of the entry if it is meant as a constant."
            )
    return [part(y_bar, name) if name in keys else None for name in names]


def _is_zero(ct: Any) -> bool:
    if ct is None or isinstance(ct, str):
        return True
    if hasattr(ct, "keys"):
        return all(_is_zero(part(ct, key)) for key in ct.keys())
    if isinstance(ct, list | tuple):
        return all(map(_is_zero, ct))
    return not np.any(ct)
