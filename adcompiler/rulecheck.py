"""What a rule promises, checked on one call: its value, its cotangents, its manners and its declarations.

In goes a case (a function and its arguments); out comes nothing, or an AssertionError that says what to change.
"""

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adcompiler.forwardcheck import check_forward
from adcompiler.ruleclaims import Variant, changed, check_kind, check_result, variants
from adcompiler.rules.registry import Rule, key_name, lookup
from adcompiler.runtime.dynamic import resolve_value
from adcompiler.runtime.ruling import first_that_takes, options_of
from adcompiler.runtime.tangents import scale, unthunk
from adcompiler.runtime.walk import entries, is_array, part
from adcompiler.vectors import (
    all_single,
    close,
    combined,
    direction,
    dtypes_of,
    has_complex,
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
    from adcompiler.testing import Case

_STEP = 1e-6


@dataclass(frozen=True)
class Application:
    """One call of a rule: what went in, and what came out."""

    label: str
    key: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    rule: Rule
    bound: inspect.BoundArguments
    expected: Any
    y: Any
    pullback: Callable[[Any], Any]

    def require(self, condition: Any, message: str) -> None:
        """Raise AssertionError with `message` and the name of this call unless `condition` holds."""
        if not condition:
            raise AssertionError(f"{self.label}: {message}")

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments by the name of the rule's parameters, defaults included."""
        return self.bound.arguments


def check_rule(case: "Case") -> None:
    """Check the rule of a function on one call, and on the same call with other dtypes, sizes and memory layouts.

    Checked are: the value and its type; one cotangent for each parameter, None for what has no derivative, the shape
    and dtype of the argument for the rest; the cotangents against central differences, for complex arguments in both
    directions; that the pullback is linear, can be called twice, and changes nothing; what `result=` and `kind=`
    declare; and the forward rule, if there is one: its value, the tangent against the cotangents and against central
    differences. Raises AssertionError with a message that says what to change.
    """
    args, kwargs = case.inputs()
    base = applied(case.key, args, kwargs, str(case))
    bars = _check_call(base)
    _check_linear(base)
    _check_differences(base, case.wrt)
    check_forward(base, case.wrt, differences=True)
    for variant in variants(base.rule.kind, case.real_only):
        _check_variant(case, variant, bars)


def applied(key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], label: str) -> Application:
    """Call the function and the first of its rules that does not decline."""
    expected = _call(key, args, kwargs)
    rules = lookup(key, [type(arg) for arg in args])
    assert rules, f"{label}: {key_name(key)} has no rule for these types; register one with @rrule({key_name(key)})"
    for rule in rules[rules.index(first_that_takes(rules, args, kwargs)) :]:
        bound = _bind(rule, args, kwargs, label)
        wanted = (True,) * (len(args) + len(kwargs))
        result = rule.function(*bound.args, **bound.kwargs, **options_of(rule, wanted, args, kwargs, resolve_value))
        if result is not NotImplemented:
            pair = isinstance(result, tuple) and len(result) == 2
            assert pair, f"{label}: the rule {rule.name} must return (y, pullback), not {result!r}"
            return Application(label, key, args, kwargs, rule, bound, expected, *result)
    raise AssertionError(f"{label}: every rule of {key_name(key)} returned NotImplemented")


def _call(key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return key(*args, **kwargs) if callable(key) else key.__get__(*args)  # a descriptor such as ndarray.T


def _bind(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], label: str) -> inspect.BoundArguments:
    try:
        bound = rule.signature.bind(*args, **kwargs)
    except TypeError as error:
        accepted = f"{rule.name}{rule.signature}"
        raise AssertionError(f"{label}: the rule must take this call, but it is {accepted}: {error}") from None
    bound.apply_defaults()
    return bound


# One call


def _check_call(call: Application) -> tuple[Any, ...]:
    """Everything that holds for any arguments; returns the cotangents."""
    before = copy.deepcopy((call.args, call.kwargs, call.y))
    _check_value(call)
    check_result(call)
    check_kind(call)
    y_bar = random_like(call.y, np.random.default_rng(5))
    y_bar_before = copy.deepcopy(y_bar)
    bars = _bars(call, y_bar)
    _check_bars(call, bars)
    call.require(same_numbers(bars, _bars(call, y_bar)), "a second call of the pullback must give the same cotangents")
    call.require(
        same_numbers((call.args, call.kwargs, call.y), before), "the rule must not change its arguments or its value"
    )
    call.require(same_numbers(y_bar, y_bar_before), "the pullback must not change y_bar")
    _check_zero(call, y_bar)
    if isinstance(call.y, float):
        plain = _bars(call, float(y_bar))
        call.require(close(plain, bars, 1e-5), "y_bar may be a Python float, and must then give the same cotangents")
    return bars


def _check_value(call: Application) -> None:
    # One rule serves np.multiply and *, which differ in float or np.float64, and by a rounding in some functions.
    y, expected = call.y, call.expected
    alike = isinstance(y, type(expected)) or isinstance(expected, type(y))
    call.require(
        alike and same_numbers(y, expected, roundings=4),
        f"the rule's value must be the function's own: expected {expected!r}, got {y!r}",
    )
    call.require(
        dtypes_of(y) == dtypes_of(expected), f"the value must be of dtype {dtypes_of(expected)}, not {dtypes_of(y)}"
    )


def _check_zero(call: Application, y_bar: Any) -> None:
    if not all(np.all(np.isfinite(leaf)) for value in call.parameters.values() for leaf in leaves(value)):
        return
    zeros = _bars(call, scale(y_bar, 0))
    call.require(
        all(not np.any(leaf) for leaf in leaves(zeros)),
        "a zero cotangent must give zeros, also where a partial derivative is infinite; use a guarded division",
    )


def _bars(call: Application, y_bar: Any) -> tuple[Any, ...]:
    bars = call.pullback(y_bar)
    call.require(isinstance(bars, tuple), f"the pullback must return a tuple, not a {type(bars).__name__}")
    names = ", ".join(call.parameters)
    call.require(
        len(bars) == len(call.parameters), f"the pullback must return one entry for each of {names}, not {len(bars)}"
    )
    return tuple(unthunk(bar) for bar in bars)


def _check_bars(call: Application, bars: tuple[Any, ...]) -> None:
    real_y = not any(np.iscomplexobj(leaf) for leaf in leaves(call.y))
    single = all_single([*call.parameters.values(), call.y])
    for (name, value), bar in zip(call.parameters.items(), bars, strict=True):
        if not has_tangent(value):
            call.require(bar is None, f"{name} has no derivative, so its entry must be None, not {bar!r}")
        elif bar is not None:
            _check_bar(call, name, value, bar, real_y, single)


def _check_bar(call: Application, name: str, value: Any, bar: Any, real_y: bool, single: bool) -> None:
    children = entries(value)
    if children is not None:
        call.require(len(bar) == len(children), f"{name} has {len(children)} entries, its cotangent {len(bar)}")
        for key, child in children.items():
            entry = part(bar, key)
            if entry is not None:
                _check_bar(call, f"{name}[{key!r}]", child, entry, real_y, single)
        return
    shape, dtype = np.shape(value), np.asarray(bar).dtype
    call.require(np.shape(bar) == shape, f"the cotangent of {name} must have shape {shape}, not {np.shape(bar)}")
    call.require(dtype.kind in "fc", f"the cotangent of {name} must be of floats, not of dtype {dtype}")
    if real_y and not np.iscomplexobj(value):
        call.require(dtype.kind == "f", f"the cotangent of {name} must be real, as everything here is")
    if single and is_array(value):
        call.require(dtype in ("float32", "complex64"), f"the cotangent of {name} must stay single, not become {dtype}")


def _check_linear(call: Application) -> None:
    rng = np.random.default_rng(11)
    u, v = random_like(call.y, rng), random_like(call.y, rng)
    bars = _bars(call, combined(u, v))
    for name, bar, bar_u, bar_v in zip(call.parameters, bars, _bars(call, u), _bars(call, v), strict=True):
        if bar is not None:
            call.require(
                close(bar, combined(bar_u, bar_v), 1e-9),
                f"the pullback must be linear in y_bar, and the cotangent of {name} is not",
            )


# The same call with other arguments


def _check_variant(case: "Case", variant: Variant, base_bars: tuple[Any, ...]) -> None:
    args, kwargs = (changed(value, variant.change) for value in case.inputs())
    try:
        _call(case.key, args, kwargs)
    except (TypeError, AttributeError, ValueError, LookupError, ArithmeticError, RuntimeError, Warning):
        return  # the function itself does not take such arguments
    call = applied(case.key, args, kwargs, f"{case} with {variant.label}")
    if not has_tangent(call.y):
        return  # an empty sum is the integer 0
    bars = _check_call(call)
    check_forward(call)
    if variant.tolerance is not None:
        call.require(close(bars, base_bars, variant.tolerance), "the cotangents must be those of ordinary arrays")
    elif variant.differences:
        _check_differences(call, case.wrt)


# Finite differences


def _check_differences(call: Application, wrt: tuple[int | str, ...] | None) -> None:
    """Compare <bar, v> with <y_bar, J v> for random directions v of one argument at a time."""
    rng = np.random.default_rng(13)
    y_bar = random_like(call.y, rng)
    bars = dict(zip(call.parameters, _bars(call, y_bar), strict=True))
    names = list(call.parameters)
    chosen = names if wrt is None else [names[i] if isinstance(i, int) else i for i in wrt]
    for name in chosen:
        if is_given(call, name) and has_tangent(call.parameters[name]):
            for imaginary in (False, True) if has_complex(call.parameters[name]) else (False,):
                _check_direction(call, name, bars[name], y_bar, rng, imaginary)


def _check_direction(
    call: Application, name: str, bar: Any, y_bar: Any, rng: np.random.Generator, imaginary: bool
) -> None:
    value = widened(call.parameters[name])
    v = direction(value, rng, imaginary)
    forward, backward = (call_moved(call, name, moved(value, v, step)) for step in (_STEP, -_STEP))
    expected = (inner(y_bar, forward) - inner(y_bar, backward)) / (2 * _STEP)
    actual = 0.0 if bar is None else inner(bar, v)
    scale = 1 + abs(expected) + magnitude(y_bar) * magnitude(forward) * 1e-3
    tolerance = (1e-3 if all_single([*call.parameters.values(), call.y]) else 1e-6) * scale
    part_of = "imaginary direction of " if imaginary else ""
    hint = "; its entry is None, which says that there is no derivative" if bar is None else ""
    call.require(
        abs(actual - expected) <= tolerance,
        f"wrong cotangent of {part_of}{name}: central differences give {expected:.8g} along a random direction, "
        f"the pullback {actual:.8g}{hint}",
    )


def is_given(call: Application, name: str) -> bool:
    """Whether the call itself gives an argument for the parameter, and not its default."""
    position = list(call.parameters).index(name)
    return position < len(call.args) or name in call.kwargs


def call_moved(call: Application, name: str, value: Any) -> Any:
    """The function at the same arguments, in double precision, with another one for the parameter `name`."""
    args, kwargs = list(widened(call.args)), widened(call.kwargs)
    position = list(call.parameters).index(name)
    if call.rule.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
        args[position:] = value
    elif position < len(args):
        args[position] = value
    else:
        kwargs[name] = value
    return _call(call.key, tuple(args), kwargs)
