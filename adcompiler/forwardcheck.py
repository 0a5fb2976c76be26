"""The forward rule of a function, held against its reverse rule and against central differences on one call."""

import copy
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from adcompiler.forward_call import forward_call, has_dot
from adcompiler.runtime.tangents import scale, unthunk
from adcompiler.runtime.walk import entries, is_array, part
from adcompiler.vectors import (
    all_single,
    dtypes_of,
    has_tangent,
    inner,
    leaves,
    magnitude,
    moved,
    random_like,
    same_numbers,
    widened,
)

if TYPE_CHECKING:
    from adcompiler.rulecheck import Application

_STEP = 1e-6


def check_forward(call: "Application", wrt: tuple[int | str, ...] | None = None, differences: bool = False) -> None:
    """Check the tangent of the value along random tangents of one parameter at a time, and of all together.

    The pullback must be the adjoint of the derivative: <y_bar, y_dot> is the sum of all <x_bar, x_dot>. Nothing is
    checked where the derivative is not known forwards.
    """
    rng = np.random.default_rng(17)
    names = list(call.parameters)
    given = [name for name in names if _is_given(call, name) and has_tangent(call.parameters[name])]
    y_bar = random_like(call.y, rng)
    bars = {name: unthunk(bar) for name, bar in zip(names, call.pullback(y_bar), strict=True)}
    for active in [(name,) for name in given] + ([tuple(given)] if len(given) > 1 else []):
        dots = tuple(random_like(call.parameters[n], rng) if n in active else None for n in names)
        empty = not any(np.size(leaf) for leaf in leaves(dots)) and any(np.size(leaf) for leaf in leaves(call.y))
        found = NotImplemented if empty else _forward(call, dots)  # what NumPy makes of nothing may be anything
        if found is NotImplemented:
            continue
        y_dot = _check_pair(call, active, found)
        _check_adjoint(call, active, y_bar, y_dot, bars, dots)
        _check_zero(call, active, dots)
        chosen = names if wrt is None else [names[i] if isinstance(i, int) else i for i in wrt]
        if differences and set(active) <= set(chosen):
            _check_differences(call, active, y_bar, y_dot, dots)


def _is_given(call: "Application", name: str) -> bool:
    return list(call.parameters).index(name) < len(call.args) or name in call.kwargs


def _forward(call: "Application", dots: tuple[Any, ...]) -> Any:
    args = tuple(call.parameters.values())
    before = copy.deepcopy((call.args, call.kwargs, dots))
    found = forward_call(call.rule, call.key, args, dots)
    after = (call.args, call.kwargs, dots)
    call.require(same_numbers(after, before), "the forward rule must not change its arguments or their tangents")
    return found


def _check_pair(call: "Application", active: tuple[str, ...], found: Any) -> Any:
    """Check the value and the form of the tangent, which is returned."""
    pair = isinstance(found, tuple) and len(found) == 2
    call.require(pair, f"the forward rule must return (y, y_dot), not {found!r}")
    y, y_dot = found
    alike = isinstance(y, type(call.expected)) or isinstance(call.expected, type(y))
    call.require(
        alike and same_numbers(y, call.expected, roundings=4) and dtypes_of(y) == dtypes_of(call.expected),
        f"the value of the forward rule must be the function's own: expected {call.expected!r}, got {y!r}",
    )
    single = all_single([*call.parameters.values(), call.y])
    _check_form(call, f"the tangent of the value along {', '.join(active)}", call.y, y_dot, single)
    return y_dot


def _check_form(call: "Application", name: str, y: Any, y_dot: Any, single: bool) -> None:
    if y_dot is None:
        return
    children = entries(y)
    if children is not None:
        call.require(len(y_dot) == len(children), f"{name} must have {len(children)} entries, not {len(y_dot)}")
        for key, child in children.items():
            _check_form(call, f"{name}[{key!r}]", child, part(y_dot, key), single)
        return
    dtype = np.asarray(y_dot).dtype
    call.require(np.shape(y_dot) == np.shape(y), f"{name} must have shape {np.shape(y)}, not {np.shape(y_dot)}")
    call.require(dtype.kind in "fc", f"{name} must be of floats, not of dtype {dtype}")
    if not np.iscomplexobj(y):
        call.require(dtype.kind == "f", f"{name} must be real, as the value is")
    if single and is_array(y):
        call.require(dtype in ("float32", "complex64"), f"{name} must stay single, not become {dtype}")


def _check_adjoint(
    call: "Application", active: tuple[str, ...], y_bar: Any, y_dot: Any, bars: dict[str, Any], dots: tuple[Any, ...]
) -> None:
    expected = sum(inner(bar, dot) for bar, dot in zip(bars.values(), dots, strict=True) if has_dot(dot))
    actual = inner(y_bar, y_dot)
    if not np.isfinite(expected):
        return
    size = magnitude(y_bar) * (0.0 if y_dot is None else magnitude(y_dot))
    tolerance = _tolerance(*call.parameters.values(), call.y, y_dot)
    call.require(
        abs(actual - expected) <= tolerance * (1 + abs(expected) + size),
        f"wrong tangent along {', '.join(active)}: its inner product with a random cotangent is {actual:.8g}, and by "
        f"the pullback {expected:.8g}",
    )


def _tolerance(*values: Any) -> float:
    """What rounding allows, by the least precision of an array or NumPy number."""
    numbers = [leaf for value in values for leaf in leaves(value) if is_array(leaf)]
    eps = max((float(np.finfo(leaf.dtype).eps) for leaf in numbers), default=0.0)
    return 10 * eps if eps > 1e-10 else 1e-8


def _check_zero(call: "Application", active: tuple[str, ...], dots: tuple[Any, ...]) -> None:
    if not all(np.all(np.isfinite(leaf)) for value in call.parameters.values() for leaf in leaves(value)):
        return
    _, y_dot = forward_call(call.rule, call.key, tuple(call.parameters.values()), tuple(scale(d, 0) for d in dots))
    call.require(
        all(not np.any(leaf) for leaf in leaves(y_dot)),
        f"zero tangents of {', '.join(active)} must give zeros, also where a partial derivative is infinite",
    )


def _check_differences(
    call: "Application", active: tuple[str, ...], y_bar: Any, y_dot: Any, dots: tuple[Any, ...]
) -> None:
    """Compare <y_bar, y_dot> with <y_bar, (f(x + h x_dot) - f(x - h x_dot)) / 2h>."""

    def at(step: float) -> Any:
        values = zip(call.parameters.values(), dots, strict=True)
        args = tuple(x if dot is None else moved(widened(x), widened(dot), step) for x, dot in values)
        return _called(call, args)

    ahead, behind = at(_STEP), at(-_STEP)
    expected = (inner(y_bar, ahead) - inner(y_bar, behind)) / (2 * _STEP)
    actual = inner(y_bar, y_dot)
    scale_ = 1 + abs(expected) + magnitude(y_bar) * magnitude(ahead) * 1e-3
    tolerance = (1e-3 if all_single([*call.parameters.values(), call.y]) else 1e-6) * scale_
    call.require(
        abs(actual - expected) <= tolerance,
        f"wrong tangent along {', '.join(active)}: central differences give {expected:.8g} along random tangents, the "
        f"forward rule {actual:.8g}",
    )


def _called(call: "Application", values: tuple[Any, ...]) -> Any:
    """The function itself, called as in the case with other values for the parameters."""
    args, kwargs = list(call.args), dict(call.kwargs)
    listed = len(args)  # how many of the positional arguments belong to a parameter of their own
    for position, (name, value) in enumerate(zip(call.parameters, values, strict=True)):
        kind = call.rule.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            args[position:] = value
            listed = position
        elif kind is inspect.Parameter.VAR_KEYWORD:
            kwargs |= value
        elif position < listed:
            args[position] = value
        elif name in kwargs:
            kwargs[name] = value
    return call.key(*args, **kwargs) if callable(call.key) else call.key.__get__(*args)
