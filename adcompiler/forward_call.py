"""The value and the tangent of one call of a function with a rule, at run time.

In go a reverse rule, the function that it is for, the arguments in the order of the rule's parameters (a tuple for
``*args``, a dict for ``**kwargs``) and their tangents, None where there is none; out comes ``(y, y_dot)``. The tangent
is found in the first way there is: a forward rule, the partials of a `scalar_rule`, ``linear=``, ``multilinear=``, or
the pullback of an elementwise function at ones. Else the answer is NotImplemented.
"""

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from adcompiler.rules.forward import forward_rules, forward_signature, is_builtin_rule, takes_calls_of
from adcompiler.rules.registry import Rule
from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.forward import filled
from adcompiler.runtime.pointwise import slope
from adcompiler.runtime.shapes import broadcast, conj, real, shape
from adcompiler.runtime.tangents import rebuild, unthunk
from adcompiler.runtime.walk import entries, is_array, is_constant, part

POINTWISE_KINDS = frozenset("elementwise elementwise_real elementwise_complex where ufunc scalar_real".split())


def forward_call(rule: Rule | None, key: Any, args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """The pair ``(y, y_dot)`` for the call of the function `key` with `args`, or NotImplemented.

    `rule` is the reverse rule that answers the call, None for a function that has forward rules only: then `args` and
    `tangents` are in the order of the parameters of the first of these. Where `y` is a tuple or list, so is `y_dot`,
    with None for entries without tangent.
    """
    tangents = _without_flat(rule, tangents)
    if rule is not None and not _active(rule, tangents):
        return called(key, rule.signature, args), None
    found = _by_forward_rule(rule, key, args, tangents)
    if found is NotImplemented and rule is not None:
        found = _by_declaration(rule, key, args, tangents)
    if found is NotImplemented:
        return NotImplemented
    y, y_dot = found
    return y, parallel(y_dot, y)


def way_of(rule: Rule | None, key: Any, tangents: tuple[Any, ...]) -> str | None:
    """The name of the first way in which a call with these tangents has a derivative forwards; None if there is none.

    A forward rule may still decline.
    """
    if rule is None or any(True for _ in _explicit(rule, key)):
        return form_of(rule, key)
    active = _active(rule, tangents)
    if rule.partials:
        return "partials"
    if active <= set(rule.linear):
        return "linear"
    if active <= set(rule.multilinear):
        return "multilinear"
    return "pointwise" if _is_pointwise(rule, key) else None


def form_of(rule: Rule | None, key: Any) -> str | None:
    """The name of the first way that a function has, for some calls at least; None if it has none."""
    if any(True for _ in _explicit(rule, key)):
        return "frule"
    if rule is None:
        return None
    declared = {"partials": rule.partials, "linear": rule.linear, "multilinear": rule.multilinear}
    found = next((name for name, given in declared.items() if given), None)
    return found or ("pointwise" if _is_pointwise(rule, key) else None)


def _by_declaration(rule: Rule, key: Any, args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    way = way_of(rule, key, tangents)
    if way == "frule":  # which has declined
        active = _active(rule, tangents)
        ways = ("linear" * (active <= set(rule.linear)), "multilinear" * (active <= set(rule.multilinear)))
        way = next(filter(None, ways), "pointwise" if _is_pointwise(rule, key) else None)
    if way == "partials":
        return _by_partials(rule, key, args, tangents)
    if way == "linear":
        y = called(key, rule.signature, args)
        return y, _linear(rule, key, args, tangents)
    if way == "multilinear":
        y = called(key, rule.signature, args)
        return y, _multilinear(rule, key, args, tangents)
    return _by_slopes(rule, args, tangents) if way == "pointwise" else NotImplemented


def _active(rule: Rule, tangents: tuple[Any, ...]) -> set[str]:
    """The parameters in which a call has a tangent, and its function a derivative that is not zero."""
    return {n for n, dot in zip(rule.signature.parameters, _without_flat(rule, tangents), strict=True) if has_dot(dot)}


def _without_flat(rule: Rule | None, tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    if rule is None or not rule.flat:
        return tangents
    return tuple(None if n in rule.flat else dot for n, dot in zip(rule.signature.parameters, tangents, strict=True))


# A forward rule


def _explicit(rule: Rule | None, key: Any) -> Iterator[Any]:
    """The forward rules that may hold for the calls of `rule`."""
    for function in forward_rules(key):
        builtin = is_builtin_rule(function)
        if rule is None or (takes_calls_of(function, rule) if builtin and rule.builtin else not builtin):
            yield function


def _by_forward_rule(rule: Rule | None, key: Any, args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    for function in _explicit(rule, key):
        signature = forward_signature(function)
        if rule is None or takes_calls_of(function, rule):
            given, dots = args, tangents
        else:
            rebound = _rebound(rule.signature, signature, args, tangents)
            if rebound is None:
                continue
            given, dots = rebound
        bound = inspect.BoundArguments(signature, dict(zip(signature.parameters, given, strict=True)))
        found = function(dots, *bound.args, **bound.kwargs)
        if found is not NotImplemented:
            return found
    return NotImplemented


def _rebound(rule: inspect.Signature, own: inspect.Signature, args: Any, tangents: Any) -> Any:
    """Arguments and tangents by the parameters of a forward rule, whose signature is not that of the reverse rule."""
    positional, keywords = unbound(rule, args)
    dots, dots_by_name = unbound(rule, tangents, like=args)
    try:
        values = own.bind(*positional, **keywords)
        marks = own.bind(*dots, **dots_by_name)
    except TypeError:
        return None
    values.apply_defaults()
    empty: dict[Any, Any] = {inspect.Parameter.VAR_POSITIONAL: (), inspect.Parameter.VAR_KEYWORD: {}}
    found = tuple(marks.arguments.get(name, empty.get(p.kind)) for name, p in own.parameters.items())
    return tuple(values.arguments.values()), found


# What a reverse rule declares


def _by_partials(rule: Rule, key: Any, args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    y = called(key, rule.signature, args)
    terms = [slope(d, args, y) * dot for d, dot in zip(rule.partials, tangents, strict=True) if dot is not None]
    return y, sum(terms[1:], terms[0]) if terms else None


def _linear(rule: Rule, key: Any, args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    names = rule.signature.parameters
    moved = [filled(dot, x) if name in rule.linear else x for name, x, dot in zip(names, args, tangents, strict=True)]
    return called(key, rule.signature, tuple(moved), given=args)


def _multilinear(rule: Rule, key: Any, args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    terms = []
    for i, (p, dot) in enumerate(zip(rule.signature.parameters.values(), tangents, strict=True)):
        if not has_dot(dot):
            continue
        if p.kind is p.VAR_POSITIONAL:
            operands = args[i]
            moved = [
                (*operands[:j], filled(entry, operands[j]), *operands[j + 1 :])
                for j, entry in enumerate(dot)
                if has_dot(entry)
            ]
        else:
            moved = [filled(dot, args[i])]
        terms += [called(key, rule.signature, (*args[:i], x, *args[i + 1 :]), given=args) for x in moved]
    return sum(terms[1:], terms[0])


# The slopes of an elementwise function


def _is_pointwise(rule: Rule, key: Any) -> bool:
    return rule.kind in POINTWISE_KINDS and getattr(key, "__name__", "") != "outer" and "needs" in rule.options


def _by_slopes(rule: Rule, args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """By the pullback at ones, each operand brought to the shape of the value, so that nothing is summed."""
    y = _applied(rule, args, tangents)
    if y is NotImplemented or entries(y[0]) is not None:
        return NotImplemented
    y_shape = shape(y[0])
    wide = tuple(
        broadcast(x, y_shape) if has_dot(dot) and not isinstance(dot, (tuple, list, dict)) else x
        for x, dot in zip(args, tangents, strict=True)
    )
    if any(isinstance(dot, (tuple, list, dict)) for dot in tangents):
        return NotImplemented
    value, pullback = _applied(rule, wide, tangents)
    one = np.ones_like(value) if is_array(value) else type(value)(1)
    y_dot = _along(pullback(one), tangents, y_shape)
    if np.iscomplexobj(value):
        y_dot = y_dot + 1j * _along(pullback(one * 1j), tangents, y_shape)
    if is_array(y[0]) and y_dot.dtype.itemsize > y[0].dtype.itemsize:
        y_dot = y_dot.astype(y[0].dtype)  # a number that was broadcast counts as an array in double precision
    return y[0], y_dot


def _applied(rule: Rule, args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    bound = inspect.BoundArguments(rule.signature, dict(zip(rule.signature.parameters, args, strict=True)))
    wanted = tuple(map(has_dot, tangents))
    options = {"needs": wanted} if "needs" in rule.options else {}
    return rule.function(*bound.args, **bound.kwargs, **options)


def _along(bars: Any, tangents: tuple[Any, ...], y_shape: Any) -> Any:
    """The real inner product of slopes and tangents, entry by entry. A zero tangent beats an infinite slope."""
    terms = [
        real(multiply_strong(dot, conj(broadcast(unthunk(bar), y_shape) if y_shape else unthunk(bar))))
        for bar, dot in zip(bars, tangents, strict=True)
        if has_dot(dot) and bar is not None
    ]
    return sum(terms[1:], terms[0]) if terms else 0.0


# Calls by the parameters of a rule


def called(key: Any, signature: inspect.Signature, args: tuple[Any, ...], given: Any = None) -> Any:
    """The function `key` itself, at arguments in the order of the parameters; those left at their default are not
    given. `given` are the arguments that say which these are, if they are others."""
    positional, keywords = unbound(signature, args, given, _keywords_of(key))
    if not callable(key):
        return getattr(positional[0], key.__name__)  # a descriptor such as ndarray.T
    owner = getattr(key, "__objclass__", None)
    if owner is not None and not isinstance(positional[0], owner):
        return getattr(positional[0], key.__name__)(*positional[1:], **keywords)  # a number for an array without axes
    return key(*positional, **keywords)


@functools.lru_cache(maxsize=4096)
def _keywords_of(key: Any) -> frozenset[str]:
    """The parameters that may be given by name, as far as a function says."""
    try:
        parameters = inspect.signature(key).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = frozenset(p.name for p in parameters if p.kind in by_name)
    return names | {_ANY} if any(p.kind is p.VAR_KEYWORD for p in parameters) else names


_ANY = "**"  # stands for every name


def unbound(
    signature: inspect.Signature, args: Any, like: Any = None, named: frozenset[str] = frozenset()
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments from one entry for each parameter.

    An entry that is the default is left out, as far as what follows allows it; `like` are the entries that decide.
    Options that are `named` are given by name.
    """
    positional: list[Any] = []
    count = 0
    keywords: dict[str, Any] = {}
    shown = args if like is None else like
    for p, x, seen in zip(signature.parameters.values(), args, shown, strict=True):
        if p.kind is p.VAR_POSITIONAL:
            positional += x if x is not None else (None,) * len(seen)
            count = len(positional) if seen else count
        elif p.kind is p.VAR_KEYWORD:
            keywords |= x if x is not None else dict.fromkeys(seen)
        elif p.kind is p.KEYWORD_ONLY or (p.default is not p.empty and (p.name in named or _ANY in named)):
            if seen is not p.default:
                keywords[p.name] = x
        else:
            positional.append(x)
            if seen is not p.default:
                count = len(positional)
    return tuple(positional[:count]), keywords


# Tangents in the form of values


def has_dot(dot: Any) -> bool:
    """Whether there is any tangent in `dot`, which may be a container."""
    if isinstance(dot, dict):
        return any(map(has_dot, dot.values()))
    if isinstance(dot, (tuple, list)):
        return any(map(has_dot, dot))
    return dot is not None


def parallel(dot: Any, y: Any) -> Any:
    """The tangent `dot` in the form of the value `y`: None for what has no derivative, real where `y` is."""
    if isinstance(y, (tuple, list)):
        parts = [parallel(part(dot, i), child) for i, child in enumerate(y)]
        return rebuild(y, parts) if any(entry is not None for entry in parts) else None
    if dot is None or is_constant(y):
        return None
    if is_array(y) or isinstance(y, (float, complex)):
        dot = dot if np.iscomplexobj(y) else real(dot)
        return dot if shape(dot) == shape(y) else broadcast(dot, shape(y))
    return dot
