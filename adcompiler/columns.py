"""The tangents of one call: what is compiled in forward mode for it, and Jacobians by columns.

y, y_dot = f_jvp(x, one at index)            # one forward with a tangent for each entry of the arguments
J[..., index] = y_dot
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from adcompiler.differentiable import function_of
from adcompiler.errors import TangentError, definition_of, locate
from adcompiler.forwardmode import check_apart, find_jvp
from adcompiler.leaves import Leaf, leaves, like, outputs, zeros
from adcompiler.program import signature_of
from adcompiler.runtime.project import materialize
from adcompiler.runtime.pushing import completed, returned
from adcompiler.runtime.resolved import caller
from adcompiler.runtime.walk import entries, gradient_like, is_array
from adcompiler.wanted import plan_gradient, wanted_names


class Along:
    """One call of a function, to be moved along vectors: one entry for each of the arguments in `argnums`."""

    def __init__(self, f: Any, argnums: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        function, options = function_of(f)
        first, kwargs = tuple(options.get("first", ())), {**options.get("named", {}), **kwargs}
        if not isinstance(function, types.FunctionType) or options.get("rule"):
            function, first = caller(function, bool(kwargs)), (function,)
        self.function = function
        signature = signature_of(function)
        bound = signature.bind(*first, *args, **kwargs)
        bound.apply_defaults()
        shifted = tuple(a + len(first) if isinstance(a, int) and a >= 0 else a for a in argnums)
        self.names = wanted_names(signature, shifted)
        self.check(self.names, signature, bound.arguments)
        wanted = frozenset(name for name, _ in self.names)
        self.jvp, self.arguments, self.active = find_jvp(function, wanted, (*first, *args), kwargs)
        check_apart(self.jvp, self.arguments)
        self.values = dict(zip(signature.parameters, self.arguments, strict=True))
        self.primals = tuple(self.values[n] if p is None else self.values[n][p] for n, p in self.names)

    def check(self, names: Any, signature: inspect.Signature, arguments: dict[str, Any]) -> None:
        """Raise TangentError, at the function's definition, if an argument has no derivative."""
        try:
            plan_gradient(names, signature, arguments)
        except TangentError as error:
            locate(error, definition_of(self.function))
            raise

    def dots(self, vectors: tuple[Any, ...]) -> list[Any]:
        """The tangents of the active parameters."""
        given = self.given(vectors)
        return [completed(given.get(n), self.values[n]) for n in self.active]

    def given(self, vectors: tuple[Any, ...]) -> dict[str, Any]:
        """Vectors by the parameters that they are for, as they were given."""
        given: dict[str, Any] = {}
        for (name, position), v in zip(self.names, vectors, strict=True):
            if position is None:
                given[name] = v
            else:
                given.setdefault(name, [None] * len(self.values[name]))[position] = v
        return given

    def pushed(self, vectors: tuple[Any, ...]) -> tuple[Any, Any]:
        """The value, and its tangent along vectors."""
        y, y_dot = self.jvp(*self.arguments, *self.dots(vectors))
        return y, returned(y_dot, y)


def ones(primals: tuple[Any, ...]) -> Iterator[tuple[int, Leaf, tuple[int, ...], tuple[Any, ...]]]:
    """A vector with a one at each entry of the arguments, and where that is: the argument, the leaf, the index."""
    for i, primal in enumerate(primals):
        for leaf in leaves(primal):
            number = not is_array(leaf.value) or isinstance(leaf.value, np.generic)
            for index in [()] if number else np.ndindex(leaf.value.shape):
                one: Any = 1.0
                if not number:
                    one = np.zeros_like(leaf.value)
                    one[index] = 1.0
                vectors: list[Any] = [None] * len(primals)
                vectors[i] = at(primal, leaf.keys, one)
                yield i, leaf, index, tuple(vectors)


def at(value: Any, keys: tuple[Any, ...], one: Any) -> Any:
    """A tangent of `value` that is `one` at a leaf, and zero elsewhere."""
    if not keys:
        return one
    children = entries(value) or {}
    return gradient_like(value, {k: at(v, keys[1:], one) if k == keys[0] else None for k, v in children.items()})


def by_columns(name: str, along: Along) -> tuple[Any, tuple[Any, ...]]:
    """The value, and its derivative with respect to each argument."""
    y, _ = along.pushed((None,) * len(along.primals))
    found = {leaf.keys: leaf for leaf in outputs(name, y)}
    blocks = {
        (keys, i, leaf.keys): zeros(out.value, leaf.value)
        for keys, out in found.items()
        for i, primal in enumerate(along.primals)
        for leaf in leaves(primal)
    }
    for i, leaf, index, vectors in ones(along.primals):
        _, y_dot = along.pushed(vectors)
        if np.iscomplexobj(leaf.value):
            turned = tuple(None if v is None else _turned(v) for v in vectors)
            _, other = along.pushed(turned)
        for keys, out in found.items():
            column = materialize(out.of(y_dot), out.value)
            if np.iscomplexobj(leaf.value):
                column = column + 1j * materialize(out.of(other), out.value)
            blocks[keys, i, leaf.keys][(..., *index)] = column

    def of(i: int) -> Any:
        inputs = {leaf.keys: leaf.value for leaf in leaves(along.primals[i])}

        def block(keys: Any, inner: Any) -> Any:
            whole = blocks[keys, i, inner][()]
            given = type(inputs[inner])
            return given(whole) if given in (float, complex) and not np.ndim(whole) else whole

        return like(y, lambda keys: like(along.primals[i], functools.partial(block, keys)))

    return y, tuple(map(of, range(len(along.primals))))


def _turned(tangent: Any) -> Any:
    """A tangent in the direction of imaginary numbers."""
    if isinstance(tangent, dict):
        return {k: _turned(t) for k, t in tangent.items()}
    if isinstance(tangent, list | tuple):
        return [_turned(t) for t in tangent]
    return None if tangent is None else tangent * 1j


__all__ = ["Along", "at", "by_columns", "ones"]
