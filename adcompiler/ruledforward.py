"""Calls with a rule in forward mode: run by what is declared of the function, and the same as plain code."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from adcompiler.errors import NoRuleError
from adcompiler.forward_call import forward_call
from adcompiler.found import Found, filled, no_second, once, same
from adcompiler.rules.forward import forward_rule, forward_rules, forward_signature
from adcompiler.rules.registry import key_name
from adcompiler.runtime.pushed_rules import by_forward_rule, by_partials, by_pullback, linearly, multilinearly, refusing
from adcompiler.runtime.pushing import zeros_of
from adcompiler.runtime.ruling import first_that_takes
from adcompiler.transpose import forward_by_transposition, transposed


def of_rule(f: Any, rules: Any, args: Any, dots: Any, named: Any) -> Found:
    """The call of a function with rules."""
    places: list[int] | None = None
    if named:
        args, dots, named, places = by_position(f, rules, args, dots, named)
    found = Found(by_rule, (f, rules, args, dots, named), *as_code(f, rules, args, dots, named))
    return found if places is None or found.pair is None else _as_given(found, places, len(dots))


def _as_given(found: Found, places: list[int], count: int) -> Found:
    """The same for the arguments and keywords as they were given, of which `places` are those in the call."""

    def back(inputs: Any) -> tuple[Any, Any]:
        each = (filled(bars, count) for bars in found.back(inputs))
        bars, dot_bars = ([own[i] for i in places] for own in each)
        return bars, dot_bars

    def moved(dots: Any) -> tuple[Any, ...]:
        by_place = dict(zip(places, dots, strict=True))
        return tuple(by_place.get(i) for i in range(count))

    return replace(found, back=back, given=lambda of_args, of_dots: found.given(moved(of_args), moved(of_dots)))


def by_rule(f: Any, rules: Any, args: Any, dots: Any, named: Any) -> tuple[Any, Any]:
    """A call with a rule, by its forward rule or by the transpose of its pullback."""
    if not rules:
        found = forward_call(None, f, args, dots)
        if found is not NotImplemented:
            return found  # type: ignore[no-any-return]
    for rule in rules[rules.index(first_that_takes(rules, args, named)) :] if rules else ():
        try:
            values = rule.signature.bind(*args, **named)
            marks = rule.signature.bind_partial(*dots[: len(args)], **dict(zip(named, dots[len(args) :], strict=True)))
        except TypeError:
            continue
        values.apply_defaults()
        tangents = tuple(
            marks.arguments.get(n, () if p.kind is p.VAR_POSITIONAL else None)
            for n, p in rule.signature.parameters.items()
        )
        found = forward_call(rule, f, tuple(values.arguments.values()), tangents)
        if found is NotImplemented:
            found = forward_by_transposition(rule, args, named, tangents)
        if found is not NotImplemented:
            y, y_dot = found
            return y, zeros_of(y) if y_dot is None else y_dot
    raise NoRuleError(
        f"{key_name(f)} has no derivative in forward mode for this call\nRegister a forward rule with @frule."
    )


def by_position(f: Any, rules: Any, args: Any, dots: Any, named: Any) -> tuple[Any, Any, Any, Any]:
    """Keywords that a rule takes by position, too, among the arguments; and where each argument and keyword is then."""
    rule = rules[rules.index(first_that_takes(rules, args, named))] if rules else None
    signature = rule.signature if rule is not None else forward_signature(forward_rules(f)[0])
    try:
        bound = signature.bind(*args, **named)
    except TypeError:
        return args, dots, named, None
    marks = dict(zip(named, dots[len(args) :], strict=True))
    given = set(bound.arguments)
    names = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    last = max((i for i, n in enumerate(names) if n in given), default=-1)
    if any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()) or last + 1 < len(args):
        return args, dots, named, None
    bound.apply_defaults()
    new = tuple(bound.arguments[n] for n in names[: last + 1])
    new_dots = (*dots[: len(args)], *(marks.get(n) for n in names[len(args) : last + 1]))
    left = {k: v for k, v in named.items() if k not in names[: last + 1]}
    at = {n: i for i, n in enumerate([*names[: last + 1], *left])}
    places = [*range(len(args)), *(at[n] for n in marks)]
    return new, (*new_dots, *(marks[k] for k in left)), left, places


def as_code(f: Any, rules: Any, args: Any, dots: Any, named: Any) -> tuple[Any, ...]:
    """A call with a rule as plain code, with what it is given."""
    count = len(args)
    if any(dot is not None for dot in dots[count:]):
        return None, ()
    dots = tuple(dots[:count])
    whole = (args, dots), same, lambda of_args, of_dots: (tuple(of_args[:count]), tuple(of_dots[:count]))
    rule = rules[rules.index(first_that_takes(rules, args, named))] if rules else None
    explicit = forward_rule(f, rule)
    if explicit is not None:
        parameters = forward_signature(explicit)
        places = _positions(parameters, count)[1], len(parameters.parameters)
        other = None
        if "NotImplemented" in explicit.__code__.co_names:
            other = _by_rules(f, rules, rule, dots, named) or once(refusing, str(no_second(f)))
        return once(by_forward_rule, explicit, named, places, other), *whole
    if rule is None:
        return None, ()
    names, _ = _positions(rule.signature, count)
    active = [i for i, dot in enumerate(dots) if dot is not None]
    given = {names[i] for i in active}
    if rule.partials:
        wants = tuple("out" in inspect.signature(p).parameters for p in rule.partials)
        return once(by_partials, f, rule.partials, wants, tuple(active)), *whole
    if given and given <= set(rule.linear) and callable(f):
        moved = tuple(n in rule.linear for n in names)
        whole_dots = tuple(zeros_of(a) if on and d is None else d for a, d, on in zip(args, dots, moved, strict=False))
        return once(linearly, f, moved, named), (args, whole_dots), *whole[1:]
    if given and given <= set(rule.multilinear) and callable(f):
        each = tuple(tuple(i == j for j in range(count)) for i in active)
        return once(multilinearly, f, each, named), *whole
    pair = _by_rules(f, rules, rule, dots, named)
    return (None, ()) if pair is None else (pair, *whole)


def _by_rules(f: Any, rules: Any, rule: Any, dots: Any, named: Any) -> Any:
    """The call of a reverse rule as plain code, where nothing else is known of it; behind it come those that follow."""
    if rule is None or set(rule.options) - {"needs"}:
        return None
    count, parameters = len(dots), rule.signature.parameters
    names, several = _positions(rule.signature, count)
    if "needs" in rule.options:
        active = {n for n, dot in zip(names, dots, strict=True) if dot is not None}
        named = {**named, "needs": tuple(n in active for n in parameters)}
    declined = None
    if "NotImplemented" in rule.function.__code__.co_names:
        following = next(iter(rules[rules.index(rule) + 1 :]), None)
        rest = {k: v for k, v in named.items() if k != "needs"}
        declined = _by_rules(f, rules, following, dots, rest) or once(refusing, str(no_second(f)))
    return once(by_pullback, rule.function, named, transposed, (several, len(parameters)), declined)


def _positions(signature: inspect.Signature, count: int) -> tuple[list[str], int | None]:
    """The parameters that take the arguments of a call, and the position from which on `*args` does."""
    parameters = list(signature.parameters.values())
    names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    for i, p in enumerate(parameters):
        if p.kind is p.VAR_POSITIONAL:
            return [*names[:i], *([p.name] * (count - i))], i
    return names[:count], None


__all__ = ["by_rule", "of_rule"]
