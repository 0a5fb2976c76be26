"""Which arguments a transform differentiates, and whether they and the value can be differentiated at all."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import Any

import numpy as np

from adcompiler.errors import NotScalarError, TangentError
from adcompiler.lattice import can_be_active, observe
from adcompiler.runtime.walk import is_array

Argnums = int | str | tuple[int | str, ...]
Wanted = tuple[tuple[str, int | None], ...]  # (parameter, position inside `*args` or None)


def positional_parameters(signature: inspect.Signature) -> list[inspect.Parameter]:
    """The parameters that can be given by position, `*args` included."""
    return [p for p in signature.parameters.values() if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]


def without_first(signature: inspect.Signature, count: int, named: Collection[str] = ()) -> inspect.Signature:
    """The signature of a method, callable object or partial: without what it is called on.

    What it gives by name, and all behind that, can only be given by name.
    """
    parameters: list[inspect.Parameter] = []
    by_name = False
    for p in list(signature.parameters.values())[count:]:
        by_name = by_name or (p.name in named and p.kind is p.POSITIONAL_OR_KEYWORD)
        if not by_name or p.kind is not p.VAR_POSITIONAL:
            parameters.append(p.replace(kind=p.KEYWORD_ONLY) if by_name and p.kind is p.POSITIONAL_OR_KEYWORD else p)
    return signature.replace(parameters=parameters)


def wanted_names(signature: inspect.Signature, argnums: Argnums) -> Wanted:
    """The arguments that `argnums` asks for; raises TypeError if there are no such parameters."""
    wanted = argnums if isinstance(argnums, tuple) else (argnums,)
    if any(isinstance(a, bool) or not isinstance(a, int | str) for a in wanted):
        raise TypeError(f"argnums is an int, a parameter name, or a tuple of these, not {argnums!r}")
    positional = positional_parameters(signature)
    out: list[tuple[str, int | None]] = []
    for a in wanted:
        if isinstance(a, str):
            if a not in signature.parameters:
                raise TypeError(f"argnums names {a!r}, which is not a parameter of {signature}")
            out.append((a, None))
            continue
        index = a + len(positional) if a < 0 else a
        if index < 0:
            raise TypeError(f"argnums={a} is out of range for {signature}")
        if index < len(positional) and positional[index].kind is not inspect.Parameter.VAR_POSITIONAL:
            out.append((positional[index].name, None))
        elif positional and positional[-1].kind is inspect.Parameter.VAR_POSITIONAL and index >= 0:
            out.append((positional[-1].name, index - len(positional) + 1))
        else:
            raise TypeError(f"argnums={a} is out of range for {signature}")
    return tuple(out)


def check_nondiff(names: Wanted, options: dict[str, Any]) -> None:
    """Refuse parameters that were declared constant."""
    constant = [name for name, _ in names if name in options.get("nondiff", ())]
    if constant:
        raise TangentError(f"the parameter {constant[0]!r} was declared without derivative (nondiff=)")


def plan_gradient(names: Wanted, _: inspect.Signature, arguments: dict[str, Any]) -> frozenset[str]:
    """The parameters that are asked for; raises if the arguments of a call cannot carry a derivative."""
    for name, position in names:
        value = arguments[name]
        if position is not None:
            if position >= len(value):
                raise TypeError(f"argnums asks for argument {position} of *{name}, which has {len(value)}")
            value = value[position]
        _check_wanted(name, value)
    return frozenset(name for name, _ in names)


def plan_pullback(nondiff: frozenset[str], signature: inspect.Signature, arguments: dict[str, Any]) -> frozenset[str]:
    """The positional parameters whose values can carry a derivative."""
    names = [p.name for p in positional_parameters(signature)]
    return frozenset(n for n in names if n not in nondiff and can_be_active(observe(arguments[n], ())))


def _check_wanted(name: str, value: Any) -> None:
    """An argument that is asked for must be able to carry a derivative."""
    if isinstance(value, bool | int | str | bytes | np.integer | np.bool_ | None) or (
        is_array(value) and value.dtype.kind in "biu"
    ):
        hint = "pass 3.0 instead of 3" if isinstance(value, int | np.integer) else "pass an array of floats"
        raise TangentError(f"the argument {name!r} is {_described(value)}, which has no derivative: {hint}")


def _described(value: Any) -> str:
    if is_array(value) and not isinstance(value, np.generic):
        return f"an array of {value.dtype}"
    return "None" if value is None else f"of type {type(value).__name__}"


def returned(value: Any) -> str:
    """What a function has returned, for messages."""
    text = _described(value)
    return f"a value {text}" if text.startswith("of type") else text


def check_pair(value: Any, name: str) -> None:
    """Raise NotScalarError unless `value` is the pair that `has_aux=True` asks for."""
    if not (isinstance(value, tuple) and len(value) == 2):
        raise NotScalarError(f"{name} returned {returned(value)}; has_aux=True needs a pair (value, aux)")


def check_scalar(value: Any, name: str) -> None:
    """Raise NotScalarError unless `value` is one real number."""
    if isinstance(value, bool | np.bool_ | complex | np.complexfloating) or not (
        isinstance(value, int | float) or is_array(value)
    ):
        if isinstance(value, complex | np.complexfloating):
            raise NotScalarError(
                f"{name} returned a complex number; a gradient needs a real one\n"
                "Return its .real or abs(), or use pullback() with a complex seed."
            )
        hint = "Is a return missing?" if value is None else "Use jacobian() or pullback() for other outputs."
        if isinstance(value, tuple) and len(value) == 2:
            hint = "If the first is the loss, use value_and_grad(..., has_aux=True); pullback() is for other outputs."
        raise NotScalarError(f"{name} returned {returned(value)}; a gradient needs one real number\n{hint}")
    if is_array(value) and not isinstance(value, np.generic):
        if value.ndim or value.dtype.kind not in "fiu":
            raise NotScalarError(
                f"{name} returned an array of shape {value.shape} and dtype {value.dtype}; "
                "a gradient needs one real number\n"
                "Sum or average it; jacobian() is for arrays, and pullback() takes a seed of that shape."
            )
