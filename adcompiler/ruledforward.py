"""Calls with a rule in forward mode: run by what is declared of the function, and the same as plain code."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from adcompiler.errors import NoRuleError
from adcompiler.forward_call import forward_call
from adcompiler.found import Found, both, filled, once, same
from adcompiler.rules.forward import forward_rule, forward_rules, forward_signature
from adcompiler.rules.registry import key_name
from adcompiler.runtime.pushed_rules import by_forward_rule, by_partials, by_pullback, linearly, multilinearly
from adcompiler.runtime.pushing import zeros_of
from adcompiler.runtime.ruling import first_that_takes
from adcompiler.transpose import forward_by_transposition, transposed


def of_rule(f: Any, rules: Any, args: Any, dots: Any, named: Any) -> Found:
    """The call of a function with rules."""
    count, names = len(args), list(named)
    if named:
        args, dots, named = by_position(f, rules, args, dots, named)
    found = Found(by_rule, (f, rules, args, dots, named), *as_code(f, rules, args, dots, named))
    return _by_name(found, count, names, len(args), _taken_by(f, rules)) if names else found


def _taken_by(f: Any, rules: Any) -> list[str]:
    signature = rules[0].signature if rules else forward_signature(forward_rules(f)[0])
    return list(signature.parameters)


def _by_name(found: Found, count: int, names: list[str], places: int, parameters: list[str]) -> Found:
    """What is found for a call with keywords, of which some have become positional: in the order of the call."""
    new = [*range(count), *(names.index(p) + count if p in names else None for p in parameters[count:places])]
    left = [i + count for i, n in enumerate(names) if i + count not in new]
    order = [*new, *left]

    def back(bars: Any) -> tuple[Any, Any]:
        out: list[list[Any]] = []
        for each in found.back(bars):
            by_place = dict(zip(order, filled(each, len(order)), strict=True))
            out.append([by_place.get(i) for i in range(count + len(names))])
        return out[0], out[1]

    def moved(dots: Any) -> tuple[Any, ...]:
        return tuple(None if i is None else dots[i] for i in order)

    def given(of_args: Any, of_dots: Any) -> Any:
        return found.given(moved(of_args)[:places], moved(of_dots)[: len(found.inputs[1])])

    return replace(found, back=back, given=given) if found.pair is not None else found


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


def by_position(f: Any, rules: Any, args: Any, dots: Any, named: Any) -> tuple[Any, Any, Any]:
    """Keywords that a rule takes by position, too, among the arguments."""
    rule = rules[rules.index(first_that_takes(rules, args, named))] if rules else None
    signature = rule.signature if rule is not None else forward_signature(forward_rules(f)[0])
    try:
        bound = signature.bind(*args, **named)
    except TypeError:
        return args, dots, named
    marks = dict(zip(named, dots[len(args) :], strict=True))
    given = set(bound.arguments)
    names = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    last = max((i for i, n in enumerate(names) if n in given), default=-1)
    if any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()) or last + 1 < len(args):
        return args, dots, named
    bound.apply_defaults()
    new = tuple(bound.arguments[n] for n in names[: last + 1])
    new_dots = (*dots[: len(args)], *(marks.get(n) for n in names[len(args) : last + 1]))
    left = {k: v for k, v in named.items() if k not in names[: last + 1]}
    return new, (*new_dots, *(marks[k] for k in left)), left


def as_code(f: Any, rules: Any, args: Any, dots: Any, named: Any) -> tuple[Any, ...]:
    """A call with a rule as plain code, with what it is given."""
    rule = rules[rules.index(first_that_takes(rules, args, named))] if rules else None
    explicit = forward_rule(f, rule)
    active = [i for i, dot in enumerate(dots[: len(args)]) if dot is not None]
    names, several = _positions(rule.signature, len(args)) if rule is not None else ([], None)
    given = {names[i] for i in active}
    whole = same, both
    if explicit is not None and len(dots) == len(args) and not _declines(explicit, args, dots, named):
        several, wanted = None, len(forward_signature(explicit).parameters)
        if any(p.kind is p.VAR_POSITIONAL for p in forward_signature(explicit).parameters.values()):
            several = _positions(forward_signature(explicit), len(args))[1]
        return once(by_forward_rule, explicit, named, (several, wanted)), (args, dots), *whole
    if rule is None:
        return None, ()
    if rule.partials:
        wants = tuple("out" in inspect.signature(p).parameters for p in rule.partials)
        return once(by_partials, f, rule.partials, wants, tuple(active)), (args, dots), *whole
    if given and given <= set(rule.linear) and callable(f):
        moved = tuple(n in rule.linear for n in names[: len(args)])
        filled = tuple(zeros_of(a) if on and d is None else d for a, d, on in zip(args, dots, moved, strict=False))
        return once(linearly, f, moved, named), (args, filled), *whole
    if given and given <= set(rule.multilinear) and callable(f):
        return once(multilinearly, f, tuple(active), named), (args, dots), *whole
    if rule.options:
        return None, ()
    places = several, len(rule.signature.parameters)
    return once(by_pullback, rule.function, named, transposed, places), (args, dots), *whole


def _declines(explicit: Any, args: Any, dots: Any, named: Any) -> bool:
    """Whether a forward rule that may leave a call to others does so."""
    if "NotImplemented" not in explicit.__code__.co_names:
        return False
    signature = forward_signature(explicit)
    marks = signature.bind_partial(*dots).arguments
    tangents = tuple(marks.get(n, () if p.kind is p.VAR_POSITIONAL else None) for n, p in signature.parameters.items())
    return explicit(tangents, *args, **named) is NotImplemented


def _positions(signature: inspect.Signature, count: int) -> tuple[list[str], int | None]:
    """The parameters that take the arguments of a call, and the position from which on `*args` does."""
    parameters = list(signature.parameters.values())
    names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    for i, p in enumerate(parameters):
        if p.kind is p.VAR_POSITIONAL:
            return [*names[:i], *([p.name] * (count - i))], i
    return names[:count], None


__all__ = ["by_rule", "of_rule"]
