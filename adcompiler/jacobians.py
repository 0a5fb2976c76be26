"""`jacobian` and `value_and_jacobian`: by rows, one call of a reusable pullback for each entry of the result.

    y, back = ...                                # one forward
    for index in np.ndindex(y.shape):            # one backward for each entry, or one for all: `together`
        J[index] = back(one at index)

The rows go into one array for each leaf of the result and each leaf of an argument, of shape `y.shape + x.shape`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.columns import Along, by_columns
from adcompiler.entry import Finish
from adcompiler.errors import TangentError, definition_of, locate
from adcompiler.finish import at_entry, check_found, seed_of, wanted_of
from adcompiler.leaves import Leaf, leaves, like, outputs, zeros
from adcompiler.pipeline import Compiled
from adcompiler.program import signature_of
from adcompiler.ruled import ruled_call
from adcompiler.runtime.project import detach, materialize, project
from adcompiler.runtime.walk import entries, gradient_like
from adcompiler.together import together
from adcompiler.transforms import Kind, computed, transform
from adcompiler.wanted import Argnums, Wanted

Back = Callable[[Any], tuple[Any, ...]]
MODES = (None, "reverse", "forward")


def jacobian(f: Callable[..., Any], argnums: Argnums = 0, mode: str | None = None) -> Callable[..., Any]:
    """The function that computes all partial derivatives of `f`, whose result may have any structure.

    An array result and an array argument give an array of shape ``y.shape + x.shape`` with the argument's dtype and
    device; where one of them is a number, its shape is left out. A result with a structure gives that structure, an
    argument with a structure gives that of the argument inside; `argnums` is as in `gradient`, and a tuple gives a
    tuple. No influence gives zeros; constants (ints, strings, None) inside a structure give None. Complex arguments get
    ∂/∂re + i ∂/∂im, as in `gradient`. `mode` is "reverse" (one backward for each entry of the result),
    "forward" (one forward with tangents for each entry of the arguments), or None: by which there are fewer of. Raises
    TangentError if the result is complex, or has no derivative.
    """
    return _transform("jacobian", f, argnums, mode, (jacobian, (f, argnums, mode)))


def value_and_jacobian(f: Callable[..., Any], argnums: Argnums = 0, mode: str | None = None) -> Callable[..., Any]:
    """The function that computes `(f(...), jacobian(f, argnums, mode)(...))` with one forward."""
    return _transform("value_and_jacobian", f, argnums, mode, (value_and_jacobian, (f, argnums, mode)))


def _transform(name: str, f: Any, argnums: Any, mode: str | None, made: Any) -> Callable[..., Any]:
    if mode not in MODES:
        raise ValueError(f"mode is {' or '.join(map(repr, MODES))}, not {mode!r}")
    if mode == "forward":
        return computed(name, functools.partial(_forwards, name, f, argnums), f, made)
    finisher, ruled = functools.partial(_finisher, name, mode), functools.partial(_ruled, name)
    return transform(f, argnums, Kind(name, finisher, ruled, mode or "", single_use=False), made)


def _forwards(name: str, f: Any, argnums: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The call of a Jacobian by columns."""
    along = Along(f, argnums if isinstance(argnums, tuple) else (argnums,), args, kwargs)
    return _by_columns(name, isinstance(argnums, tuple), along)


def _by_columns(name: str, as_tuple: bool, along: Along) -> Any:
    function = along.function
    try:
        value, found = by_columns(getattr(function, "__qualname__", name), along)
    except TangentError as error:
        if error.origin is None:
            locate(error, definition_of(function))
        raise
    return _result(name, as_tuple, value, found)


def _finisher(name: str, mode: str | None, names: Wanted, as_tuple: bool, compiled: Compiled) -> Finish:
    """The part after the forward of a compiled function."""
    backward, active = compiled.alone[1], compiled.pair.active
    function = compiled.request.function
    wanted = wanted_of(names, compiled)
    check_found(compiled)
    signature = signature_of(function)
    once = together(compiled.pair)

    def finish(value: Any, saved: Any, *arguments: Any) -> Any:
        arguments = at_entry(saved, arguments)
        nothing = None if len(active) == 1 else (None,) * len(active)
        primals = tuple(primal for _, primal in wanted(nothing, arguments))

        if mode is None and 2 * _size(primals) + 8 < _size(value):
            bound = inspect.BoundArguments(signature, dict(zip(signature.parameters, arguments, strict=True)))
            chosen = tuple(n if p is None else p + list(signature.parameters).index(n) for n, p in names)
            return _by_columns(name, as_tuple, Along(function, chosen, bound.args, bound.kwargs))

        def back(seed: Any) -> tuple[Any, ...]:
            return tuple(ct for ct, _ in wanted(backward(saved, seed) if active else nothing, arguments))

        at_once = once.rows(value, primals, back)
        if at_once is not None:
            return _result(name, as_tuple, value, tuple(at_once))
        try:
            found = by_rows(function.__qualname__, value, primals, back)
        except TangentError as error:
            if error.origin is None:
                locate(error, definition_of(function))
            raise
        once.learn(value, primals, back, list(found))
        return _result(name, as_tuple, value, found)

    return Finish(finish)


def _size(value: Any) -> int:
    """How many numbers with a derivative there are in a value."""
    return sum(np.size(leaf.value) for leaf in leaves(value))


def _ruled(name: str, f: Any, argnums: Argnums, options: dict[str, Any]) -> Callable[..., Any]:
    """The same for a function with a rule."""
    by_rule = ruled_call(f, argnums, options)

    def call(*args: Any, **kwargs: Any) -> Any:
        called = by_rule(*args, **kwargs)
        found = by_rows(called.name, called.value, called.primals, called.back)
        return _result(name, isinstance(argnums, tuple), called.value, found)

    return call


def _result(name: str, as_tuple: bool, value: Any, found: tuple[Any, ...]) -> Any:
    whole = found if as_tuple else found[0]
    return whole if name == "jacobian" else (value, whole)


# --- rows -------------------------------------------------------------------------------------------------


def by_rows(name: str, value: Any, primals: tuple[Any, ...], back: Back) -> tuple[Any, ...]:
    """The derivative of a value with respect to each of the `primals`; `back` gives their cotangents."""
    inputs = [list(leaves(primal)) for primal in primals]
    blocks: dict[tuple[Any, ...], list[dict[tuple[Any, ...], Any]]] = {}
    for leaf in outputs(name, value):
        blocks[leaf.keys] = _blocks(leaf, value, primals, inputs, back)

    def of(i: int) -> Any:
        return like(value, lambda keys: like(primals[i], blocks[keys][i].__getitem__))

    return tuple(map(of, range(len(primals))))


def _blocks(leaf: Leaf, value: Any, primals: Any, inputs: Any, back: Back) -> list[dict[tuple[Any, ...], Any]]:
    """The derivative of one leaf of the result with respect to the leaves of each argument."""
    if np.ndim(leaf.value) == 0:
        seed = _seed(value, leaf.keys, seed_of(leaf.value))
        rows = tuple(map(project, back(seed), primals))
        whole = detach(tuple(map(materialize, rows, primals)), (rows, primals, value))
        return [{at.keys: at.of(row) for at in found} for row, found in zip(whole, inputs, strict=True)]
    size = np.size(leaf.value)
    out = [{at.keys: zeros(leaf.value, at.value) for at in found} for found in inputs]
    places = [
        (primal, [(at, arrays[at.keys].reshape(size, *np.shape(at.value))) for at in found])
        for primal, found, arrays in zip(primals, inputs, out, strict=True)
    ]
    one = np.zeros_like(leaf.value, order="C")
    seed, ones = _seed(value, leaf.keys, one), one.reshape(-1)
    for i in range(size):
        ones[i] = 1.0
        for ct, (primal, parts) in zip(back(seed), places, strict=True):
            row = project(ct, primal)
            for at, rows in parts:
                entry = at.of(row) if at.keys else row
                if entry is not None:
                    rows[i] = entry
        ones[i] = 0.0
    return out


def _seed(value: Any, keys: tuple[Any, ...], one: Any) -> Any:
    """The cotangent of a value that is `one` at a leaf, and zero elsewhere."""
    if not keys:
        return one
    children = entries(value) or {}
    return gradient_like(value, {k: _seed(v, keys[1:], one) if k == keys[0] else None for k, v in children.items()})


__all__ = ["jacobian", "value_and_jacobian"]
