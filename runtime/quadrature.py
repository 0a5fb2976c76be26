"""Integrals of cotangents: what a function is given besides the variable gets the integral of its cotangent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.callbacks import Callback, Outside, dense, flat, shaped
from adcompiler.runtime.tangents import Tangent, accumulate, rebuild


class _Grown(Exception):
    """Raised when a cotangent has an entry that none before had."""


class Integrand:
    """x -> the cotangents of the outside of `f(x)` for the cotangent `y_bar`, as a vector.

    Which entries there are is found out on the way; `integral` begins again when there are more.
    """

    def __init__(self, f: Callback, y_bar: Any) -> None:
        self.f = f
        self.y_bar = y_bar
        self.pattern: Any = None
        self.known: dict[Any, Any] = {}

    def at(self, x: Any) -> Any:
        """The vector at one point; each point is visited once."""
        if x not in self.known:
            y, pull = self.f.at(x, moving=(False,))
            tree = tuple(pull(shaped(flat(self.y_bar), y))[1])
            pattern = accumulate(self.pattern, tree)
            grown = len(_leaves(pattern)) != len(_leaves(self.pattern))
            self.pattern = pattern
            self.known[x] = tree
            if grown:
                raise _Grown
        return self.vector(self.known[x])

    def vector(self, tree: Any) -> Any:
        """The numbers of a cotangent, in the order of the pattern."""
        parts = _leaves(tree)
        whole = _leaves(self.pattern)
        return np.concatenate([flat(parts.get(k, np.zeros(np.shape(v)))) for k, v in whole.items()] or [np.zeros(0)])

    def integral(self, integrate: Callable[[Callable[[Any], Any], int, bool], Any], start: Any) -> Outside:
        """The integral; `integrate(g, size, is_complex)` gives that of a function g with `size` values."""
        while True:
            try:
                first = self.at(start)
                total = integrate(self.at, first.size, np.iscomplexobj(first))
                break
            except _Grown:
                continue
        return Outside(*(_filled(self.pattern, iter(total)) or (None, None)))


def _leaves(tree: Any, path: tuple[Any, ...] = ()) -> dict[Any, Any]:
    """The numbers and arrays in a cotangent, by their place."""
    if tree is None:
        return {}
    if isinstance(tree, dict | Tangent):
        pairs = list(tree.items())
    elif isinstance(tree, list | tuple):
        pairs = list(enumerate(tree))
    else:
        return {path: tree}
    return {k: v for name, entry in pairs for k, v in _leaves(entry, (*path, name)).items()}


def _filled(tree: Any, numbers: Any) -> Any:
    """A cotangent with other numbers, taken from an iterator in the order of `_leaves`."""
    if tree is None:
        return None
    if isinstance(tree, Tangent):
        return Tangent(tree._cls, **{name: _filled(entry, numbers) for name, entry in tree.items()})
    if isinstance(tree, dict):
        return {name: _filled(entry, numbers) for name, entry in tree.items()}
    if isinstance(tree, list | tuple):
        return rebuild(tree, [_filled(entry, numbers) for entry in tree])
    if np.ndim(tree) == 0:
        return next(numbers)
    return np.reshape([next(numbers) for _ in range(np.size(tree))], np.shape(tree))


def limit_bars(f: Callback, a: Any, b: Any, wanted: tuple[bool, bool], y_bar: Any) -> tuple[Any, Any]:
    """The cotangents of the limits of an integral of f: its values there; none of an infinite limit."""
    return tuple(  # type: ignore[return-value]
        sign * np.sum(np.real(np.conj(f.value(x)) * y_bar)) if on and np.isfinite(x) and np.any(y_bar) else None
        for x, on, sign in ((a, wanted[0], -1.0), (b, wanted[1], 1.0))
    )


def inside(a: Any, b: Any) -> Any:
    """A number between two limits, which may be infinite."""
    if np.isfinite(a) and np.isfinite(b):
        return a + 0.4375 * (b - a)
    return b - 1.0 if np.isfinite(b) else a + 1.0 if np.isfinite(a) else 0.0


def fixed_bars(f: Callback, a: Any, b: Any, rule: tuple[Any, Any], y_bar: Any) -> tuple[Any, Any, Outside]:
    """The cotangents of the limits and the outside of Gaussian quadrature with the nodes and weights `rule`."""
    nodes, weights = rule
    share = (nodes + 1) / 2
    y, pull = f.at((b - a) * share + a)
    half = (b - a) / 2
    slope = np.sum(np.real(np.conj(np.sum(weights * y, axis=-1)) * y_bar)) / 2
    (x_bar,), outside = pull(np.multiply.outer(y_bar, weights * half))
    x_bar = dense(x_bar, nodes)
    return np.sum(x_bar * (1 - share)) - slope, np.sum(x_bar * share) + slope, outside
