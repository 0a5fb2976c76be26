"""The numbers and arrays in a value, by the keys that lead to them, and structures made of what belongs to them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from adcompiler.errors import TangentError
from adcompiler.runtime.arrays import home_of
from adcompiler.runtime.walk import entries, gradient_like, is_array, is_constant, part
from adcompiler.wanted import returned


@dataclass(frozen=True)
class Leaf:
    """A number or array in a value, and the keys that lead to it."""

    keys: tuple[Any, ...]
    value: Any

    def of(self, ct: Any) -> Any:
        """The entry for it in a cotangent of the whole value."""
        return functools.reduce(part, self.keys, ct)


def zeros(y: Any, x: Any) -> Any:
    """The place for the rows of an array `y`: beside a number `x`, it is where `y` is."""
    shape = (*np.shape(y), *np.shape(x))
    if is_array(x) and not isinstance(x, np.generic):
        return home_of(x).zeros(shape, x.dtype)
    dtype = x.dtype if isinstance(x, np.generic) else complex if isinstance(x, complex) else float
    return home_of(y).zeros(shape, dtype)


def leaves(value: Any, keys: tuple[Any, ...] = (), above: frozenset[int] = frozenset()) -> Iterator[Leaf]:
    """The numbers and arrays in a value that have a derivative."""
    if is_constant(value) or id(value) in above:
        return
    children = entries(value)
    if children is None:
        yield Leaf(keys, value)
        return
    for key, child in children.items():
        yield from leaves(child, (*keys, key), above | {id(value)})


def like(value: Any, found: Callable[[tuple[Any, ...]], Any], keys: Any = (), above: Any = frozenset()) -> Any:
    """The structure of a value with `found(keys)` at each leaf, and None for constants."""
    if is_constant(value) or id(value) in above:
        return None
    children = entries(value)
    if children is None:
        return found(keys)
    above = above | {id(value)}
    return gradient_like(value, {k: like(child, found, (*keys, k), above) for k, child in children.items()})


def outputs(name: str, value: Any) -> list[Leaf]:
    """The leaves of a result; refused if there are none, or one is complex."""
    found = list(leaves(value))
    for leaf in found:
        if np.iscomplexobj(leaf.value):
            raise TangentError(
                f"{name} returned {_named(leaf)}; jacobian does not accept complex output\n"
                "Return the real and the imaginary part, y.real and y.imag, or use pullback() with complex seeds."
            )
    if not found and (is_constant(value) or entries(value)):
        hint = "Is a return missing?" if value is None else "Return floats or an array of floats."
        raise TangentError(f"{name} returned {returned(value)}, which has no derivative\n{hint}")
    return found


def _named(leaf: Leaf) -> str:
    where = "".join(f"[{key!r}]" for key in leaf.keys)
    what = f"an array of {leaf.value.dtype}" if np.ndim(leaf.value) else "a complex number"
    return f"{what} at {where}" if where else what


__all__ = ["Leaf", "leaves", "like", "outputs", "zeros"]
