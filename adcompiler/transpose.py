"""The transpose of a pullback: a forward rule for every function that has a reverse rule.

    pullback    y_bar ↦ (x_bar, ...)     what a rule returns beside its value; linear
    transposed  (x_dot, ...) ↦ y_dot     with Re⟨y_bar, y_dot⟩ = Σ Re⟨x_bar, x_dot⟩ for every y_bar

It is the pullback of the pullback: this is compiled as any function is, so that its text has to be in the language that
is differentiated, or to call what has rules.
"""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.errors import DifferentiationError, NoRuleError
from adcompiler.finish import pullback_finisher
from adcompiler.rules.forward import frule
from adcompiler.rules.registry import Rule, key_name, rrule
from adcompiler.runtime import dynamic
from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.pointwise import slope
from adcompiler.runtime.project import materialize, project
from adcompiler.runtime.pushed_calls import push
from adcompiler.runtime.resolved import caller
from adcompiler.runtime.ruling import options_of, value_and_pullback
from adcompiler.runtime.shapes import fit, real
from adcompiler.runtime.tangents import accumulate
from adcompiler.runtime.walk import entries, is_array, is_constant, part, replaced
from adcompiler.variants import Variants

Pullback = Callable[[Any], Any]


def transposed(pullback: Pullback, y: Any, tangents: tuple[Any, ...]) -> Any:
    """The transpose of the linear map `pullback`, applied to `tangents`: the tangent of the value `y`.

    `tangents` has an entry for each cotangent that `pullback` returns, None where there is none. Raises NoRuleError if
    the pullback cannot be differentiated.
    """
    return _transposed(pullback, y, tangents, _name_of(pullback))


def _transposed(pullback: Pullback, y: Any, tangents: tuple[Any, ...], name: str) -> Any:
    found = _ones(y)
    if found is None:  # a value of whole numbers moves with nothing
        return None
    try:
        bars, back = _pulled(pullback, found, ("y_bar",), name)
    except DifferentiationError:
        # Not every cotangent is one of a function that has a derivative: of eigenvectors, the vectors themselves are.
        bars, back = _pulled(pullback, _only_active(y), ("y_bar",), name)
    (_, y_dot) = back(_against(tangents, bars))
    return materialize(project(y_dot, y), y)


@rrule(transposed)
def transposed_rule(pullback: Any, y: Any, tangents: Any) -> Any:
    """Linear in the tangents; with respect to what the pullback captured it has the derivative of the pullback."""
    y_dot = transposed(pullback, y, tangents)

    def back(y_dot_bar: Any) -> tuple[Any, ...]:
        bars, inner = _pulled(pullback, y_dot_bar, ("pullback",), _name_of(pullback))
        f_bar, _ = inner(_against(tangents, bars))
        return f_bar, None, None if bars is None else tuple(bars)  # it moves with nothing

    return y_dot, back


@frule(transposed)
def transposed_forward(tangents: Any, pullback: Any, y: Any, dots: Any) -> Any:
    """The tangent moves with the tangents, and with what the pullback captured: by the transpose of its tangent."""
    y_dot = transposed(pullback, y, dots)
    if tangents[0] is None:
        return y_dot, transposed(pullback, y, tangents[2])
    moved = transposed(_tangent_of(pullback, tangents[0]), y, dots)
    if tangents[2] is None:
        return y_dot, moved
    return y_dot, accumulate(moved, transposed(pullback, y, tangents[2]))


@rrule(accumulate, linear=("a", "b"))
def accumulate_rule(a: Any, b: Any) -> Any:
    return accumulate(a, b), lambda bar: (bar, bar)


def _tangent_of(pullback: Any, dot: Any) -> Any:
    """How a pullback moves in the direction `dot` of what it captured; linear in the cotangent as itself."""

    def moved(y_bar: Any) -> Any:
        _, bars_dot = push(pullback, (y_bar,), (None,), None, dot)
        return bars_dot

    return moved


def _pulled(
    pullback: Pullback, y_bar: Any, wanted: tuple[str, ...], name: str
) -> tuple[Any, Callable[[Any], tuple[Any, Any]]]:
    """The cotangents for `y_bar`, and the pullback of `(pullback, y_bar) ↦ pullback(y_bar)`."""
    try:
        bars, make_back = _variants(pullback, wanted)(pullback, y_bar)
    except DifferentiationError as error:
        raise _not_transposed(name, error) from error
    return bars, make_back(0, 2)


def _call(pullback: Any, y_bar: Any) -> Any:
    return pullback(y_bar)


def _variants(pullback: Any, wanted: tuple[str, ...]) -> Variants:
    """What is compiled for one body of a pullback, of which there is a new closure for every call of its rule."""
    caller(pullback, False).__adcompiler_pure__ = True  # the pullback of a rule, of a user's, too
    made = _compiled.setdefault(getattr(pullback, "__code__", type(pullback)), {})
    if wanted not in made:
        function = types.FunctionType(_call.__code__, globals(), getattr(pullback, "__name__", "pullback"))
        finisher = functools.partial(pullback_finisher, False)
        made[wanted] = Variants(function, lambda *_: frozenset(wanted), finisher, False)
    return made[wanted]


_compiled: weakref.WeakKeyDictionary[Any, dict[tuple[str, ...], Variants]] = weakref.WeakKeyDictionary()


def _name_of(pullback: Any) -> str:
    """The name of the rule that a pullback is from."""
    name: str = getattr(pullback, "__qualname__", type(pullback).__qualname__)
    return name.split(".<locals>")[0]


def _not_transposed(name: str, error: DifferentiationError) -> NoRuleError:
    return NoRuleError(
        f"{name} has no forward derivative, and no second one, yet: in its pullback, {str(error).splitlines()[0]}\n"
        "Register a forward rule for it with @frule."
    )


# Cotangents and tangents


def _ones(y: Any) -> Any:
    """A cotangent of the form of `y`, without zeros; None for what has no derivative."""
    if is_constant(y):
        return None
    children = entries(y)
    if children is not None:
        found = {key: _ones(child) for key, child in children.items()}
        return replaced(y, found) if isinstance(y, (tuple, list)) else found
    if is_array(y) and not isinstance(y, np.generic):
        return np.ones_like(y)
    return type(y)(1.0)


def _only_active(y: Any) -> Any:
    """A value as a cotangent of itself: None for what has no derivative."""
    if is_constant(y):
        return None
    children = entries(y)
    if children is None:
        return y.copy() if is_array(y) else y  # the pullback may keep the value itself
    found = {key: _only_active(child) for key, child in children.items()}
    return replaced(y, found) if isinstance(y, (tuple, list)) else found


def _against(tangent: Any, bar: Any) -> Any:
    """A tangent as the cotangent of `bar`, which may be smaller, real, or None."""
    if tangent is None or bar is None or (is_constant(bar) and entries(bar) is None):
        return None
    children = entries(bar)
    if children is not None:
        found = {key: _against(part(tangent, key), child) for key, child in children.items()}
        return replaced(bar, found) if isinstance(bar, (tuple, list)) else found
    tangent = fit(np.asarray(tangent)[()], np.shape(bar))
    return tangent if np.iscomplexobj(bar) else real(tangent)


# Rules


def forward_by_transposition(
    rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], tangents: tuple[Any, ...]
) -> Any:
    """The value of a call that `rule` takes, and its tangent; `tangents` has an entry for each parameter of the rule.

    NotImplemented if the rule declines. Raises NoRuleError if its pullback cannot be differentiated.
    """
    marks = dict(zip(rule.signature.parameters, (t is not None for t in tangents), strict=True))
    bound = rule.signature.bind(*args, **kwargs)
    wanted = tuple(marks[name] for name in _takers(bound))
    options = options_of(rule, wanted, args, kwargs, dynamic.resolve_value)
    bound.apply_defaults()
    found = rule.function(*bound.args, **bound.kwargs, **options)
    if found is NotImplemented:
        return found
    y, pullback = value_and_pullback(rule, found)
    if rule.partials:
        return y, _by_partials(rule, bound.args, y, tangents)
    return y, _transposed(pullback, y, tangents, key_name(rule.keys[0]))


def _takers(bound: inspect.BoundArguments) -> list[str]:
    """For each argument of a call, and then each keyword, the parameter that takes it."""
    names: list[str] = []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        names += [name] * (len(value) if kind in (kind.VAR_POSITIONAL, kind.VAR_KEYWORD) else 1)
    return names


def _by_partials(rule: Rule, args: tuple[Any, ...], y: Any, tangents: tuple[Any, ...]) -> Any:
    terms = [
        multiply_strong(t, slope(p, args, y)) for p, t in zip(rule.partials, tangents, strict=True) if t is not None
    ]
    return None if not terms else materialize(project(fit(sum(terms[1:], terms[0]), np.shape(y)), y), y)


@functools.cache
def forward_function(rule: Rule) -> Callable[..., Any]:
    """`(tangents, *args, **kwargs) ↦ (y, y_dot)` for a rule without partials and options, as text that is compiled.

    What calls it can be differentiated, and so can what it computes.
    """
    function = rule.function

    def forward(tangents: Any, /, *args: Any, **kwargs: Any) -> Any:
        y, pullback = function(*args, **kwargs)
        return y, transposed(pullback, y, tangents)

    forward.__name__ = forward.__qualname__ = rule.name
    return forward


__all__ = ["forward_by_transposition", "forward_function", "transposed"]
