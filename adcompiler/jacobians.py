"""`jacobian` and `value_and_jacobian`: by rows, one call of a reusable pullback for each entry of the result.

    y, back = ...                                # one forward
    for index in np.ndindex(y.shape):            # one backward for each entry
        J[index] = back(one at index)

The rows go into one array for each leaf of the result and each leaf of an argument, of shape `y.shape + x.shape`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from adcompiler.entry import Finish
from adcompiler.errors import TangentError, definition_of, locate
from adcompiler.finish import at_entry, check_found, seed_of, wanted_of
from adcompiler.pipeline import Compiled
from adcompiler.ruled import ruled_call
from adcompiler.runtime.arrays import home_of
from adcompiler.runtime.project import detach, materialize, project
from adcompiler.runtime.walk import entries, gradient_like, is_array, is_constant, part
from adcompiler.transforms import Kind, transform
from adcompiler.wanted import Argnums, Wanted, returned

Back = Callable[[Any], tuple[Any, ...]]
MODES = (None, "reverse")


def jacobian(f: Callable[..., Any], argnums: Argnums = 0, mode: str | None = None) -> Callable[..., Any]:
    """The function that computes all partial derivatives of `f`, whose result may have any structure.

    An array result and an array argument give an array of shape ``y.shape + x.shape`` with the argument's dtype and
    device; where one of them is a number, its shape is left out. A result with a structure gives that structure, an
    argument with a structure gives that of the argument inside; `argnums` is as in `gradient`, and a tuple gives a
    tuple. No influence gives zeros; constants (ints, strings, None) inside a structure give None. Complex arguments get
    ∂/∂re + i ∂/∂im, as in `gradient`. `mode` is None or "reverse": one backward for each entry of the result. Raises
    TangentError if the result is complex, or has no derivative.
    """
    return _transform("jacobian", f, argnums, mode, (jacobian, (f, argnums, mode)))


def value_and_jacobian(f: Callable[..., Any], argnums: Argnums = 0, mode: str | None = None) -> Callable[..., Any]:
    """The function that computes `(f(...), jacobian(f, argnums, mode)(...))` with one forward."""
    return _transform("value_and_jacobian", f, argnums, mode, (value_and_jacobian, (f, argnums, mode)))


def _transform(name: str, f: Any, argnums: Any, mode: str | None, made: Any) -> Callable[..., Any]:
    if mode not in MODES:
        raise ValueError(f"mode is {' or '.join(map(repr, MODES))}, not {mode!r}")
    finisher, ruled = functools.partial(_finisher, name), functools.partial(_ruled, name)
    return transform(f, argnums, Kind(name, finisher, ruled, "reverse", single_use=False), made)


def _finisher(name: str, names: Wanted, as_tuple: bool, compiled: Compiled) -> Finish:
    """The part after the forward of a compiled function."""
    backward, active = compiled.alone[1], compiled.pair.active
    function = compiled.request.function
    wanted = wanted_of(names, compiled)
    check_found(compiled)

    def finish(value: Any, saved: Any, *arguments: Any) -> Any:
        arguments = at_entry(saved, arguments)
        nothing = None if len(active) == 1 else (None,) * len(active)
        primals = tuple(primal for _, primal in wanted(nothing, arguments))

        def back(seed: Any) -> tuple[Any, ...]:
            return tuple(ct for ct, _ in wanted(backward(saved, seed) if active else nothing, arguments))

        try:
            found = by_rows(function.__qualname__, value, primals, back)
        except TangentError as error:
            if error.origin is None:
                locate(error, definition_of(function))
            raise
        return _result(name, as_tuple, value, found)

    return Finish(finish)


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


@dataclass(frozen=True)
class Leaf:
    """A number or array in a value, and the keys that lead to it."""

    keys: tuple[Any, ...]
    value: Any

    def of(self, ct: Any) -> Any:
        """The entry for it in a cotangent of the whole value."""
        return functools.reduce(part, self.keys, ct)


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
        rows = _row(seed_of(leaf.value), leaf, value, primals, back)
        whole = detach(tuple(map(materialize, rows, primals)), (rows, primals, value))
        return [{at.keys: at.of(row) for at in found} for row, found in zip(whole, inputs, strict=True)]
    out = [{at.keys: zeros(leaf.value, at.value) for at in found} for found in inputs]
    for index in np.ndindex(np.shape(leaf.value)):
        one = np.zeros_like(leaf.value)
        one[index] = 1.0
        rows = _row(one, leaf, value, primals, back)
        for row, found, arrays in zip(rows, inputs, out, strict=True):
            for at in found:
                entry = at.of(row)
                if entry is not None:
                    arrays[at.keys][index] = entry
    return out


def _row(one: Any, leaf: Leaf, value: Any, primals: Any, back: Back) -> tuple[Any, ...]:
    return tuple(map(project, back(_seed(value, leaf.keys, one)), primals))


def _seed(value: Any, keys: tuple[Any, ...], one: Any) -> Any:
    """The cotangent of a value that is `one` at a leaf, and zero elsewhere."""
    if not keys:
        return one
    children = entries(value) or {}
    return gradient_like(value, {k: _seed(v, keys[1:], one) if k == keys[0] else None for k, v in children.items()})


def zeros(y: Any, x: Any) -> Any:
    """The place for the rows of an array `y`: beside a number `x`, it is where `y` is."""
    shape = (*np.shape(y), *np.shape(x))
    if is_array(x) and not isinstance(x, np.generic):
        return home_of(x).zeros(shape, x.dtype)
    dtype = x.dtype if isinstance(x, np.generic) else complex if isinstance(x, complex) else float
    return home_of(y).zeros(shape, dtype)


# --- structures -------------------------------------------------------------------------------------------


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


__all__ = ["jacobian", "value_and_jacobian"]
