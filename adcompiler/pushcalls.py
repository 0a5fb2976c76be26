"""Calls inside text in forward mode whose function is known at run time only: `find` says how each is done.

`push` (in `runtime.pushed_calls`) runs what is found; its own derivative is that of the same call as plain code.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler.differentiable import Differentiable
from adcompiler.errors import NoRuleError
from adcompiler.forwardmode import find_jvp
from adcompiler.found import (
    Found,
    both,
    no_second,
    of_applied,
    of_partial,
    once,
    part_of,
    same,
    with_first,
)
from adcompiler.program import signature_of
from adcompiler.pushedagain import METHOD, PUSH, bars_of, pushed_again
from adcompiler.pushedcustom import of_custom
from adcompiler.pushoperators import (
    declared_for,
    declared_forwards,
    of_attribute,
    of_conversion,
    of_method,
    of_operator,
)
from adcompiler.pushtransforms import connect, special_of
from adcompiler.ruledforward import of_rule
from adcompiler.rules.forward import forward_rules
from adcompiler.rules.registry import is_non_differentiable, key_name, lookup, rrule
from adcompiler.runtime import pushed_calls
from adcompiler.runtime.calling import applied
from adcompiler.runtime.checkpoints import recomputed
from adcompiler.runtime.custom import with_pullback
from adcompiler.runtime.domain import array_member, is_domain, unwrapped
from adcompiler.runtime.members import has_plain_fields, member
from adcompiler.runtime.missing import no_rule
from adcompiler.runtime.pushed_calls import PLAIN_OPERATORS, push, push_method, unsupported
from adcompiler.runtime.pushed_rules import looped, plainly
from adcompiler.runtime.pushing import into, zeros_of
from adcompiler.runtime.resolved import caller
from adcompiler.runtime.revolve import checkpoint_loop
from adcompiler.runtime.transformed import Holder
from adcompiler.runtime.walk import entries, is_array, is_constant

_PAIRS = looped.__module__  # pairs of value and tangent of functions with rules


def find(f: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:  # noqa: C901  one case per kind of callable
    """How a call is done in forward mode; `f` may be the name of a method of `args[0]`."""
    if isinstance(f, str) and isinstance(args[0], list | dict | deque):
        return of_method(find, f, args, dots, named)
    if isinstance(f, str):
        f, args, dots = _method(f, args, dots)
    if named and len(dots) < len(args) + len(named):
        dots = (*dots, *(None,) * (len(args) + len(named) - len(dots)))
    if own is None and all(dot is None for dot in dots):
        return Found(_plain, (f, args, named), once(plainly, f, named), (args, dots), same, both)
    if isinstance(f, types.MethodType):
        found = find(f.__func__, (f.__self__, *args), (part_of(own, "__self__"), *dots), named, None)
        return replace(found, leads="__self__")
    if isinstance(f, functools.partial):
        return of_partial(find, f, args, dots, named, own)
    f = unwrapped(f._function if isinstance(f, Differentiable) else f)
    if f is push or f is push_method:
        return pushed_again(find, f, args, dots, named)
    if f is applied:
        return of_applied(find, args, dots)
    if f is recomputed:
        return with_first(find(args[0], args[1:], dots[1:], named, dots[0]))
    if f is checkpoint_loop:
        names = ("body", "state", "n")
        given = (*args, *(named[k] for k in names[len(args) :]))
        moved = (*dots, None, None, None)[:2]
        return find(looped, given[:3], (*moved, None), {}, None)
    if f is with_pullback:
        return of_custom(args, dots, named)
    special = special_of(f)
    if special is not None:
        return special(f, args, dots, named, own)  # type: ignore[no-any-return]
    if isinstance(f, types.FunctionType) and f.__name__ == "__call__" and args and isinstance(args[0], Holder):
        return with_first(special_of(args[0])(args[0], args[1:], dots[1:], named, dots[0]))
    overloaded = of_operator(find, f, args, dots, named)
    if overloaded is not None:
        return overloaded
    called = _called(f)
    if called is not None:
        return replace(find(called, (f, *args), (own, *dots), named, None), leads="")
    if f in PLAIN_OPERATORS and not (is_array(args[0]) and not isinstance(args[0], np.generic)):
        f = PLAIN_OPERATORS[f]
    if f in PLAIN_OPERATORS:
        return Found(_updated, (f, args, dots))
    if is_non_differentiable(f):
        return Found(_plain, (f, args, named), once(plainly, f, named), (args, dots), same, both)
    rules = declared_for(f, args, named)
    if rules or declared_forwards(f, args, named):
        return of_rule(f, rules, args, dots, named)
    if isinstance(f, types.FunctionType):
        return source_of(f, args, dots, named, own)
    if isinstance(f, type) and has_plain_fields(f):
        return _made(f, args, dots, named)
    if f in (list, tuple, dict) and not named and len(args) == 1:
        return of_conversion(f, args[0], dots[0])
    if f is getattr:
        return of_attribute(find, args[0], args[1], dots[0])
    if lookup(f, tuple(map(type, args))):
        raise no_rule(f, [a for a in (*args, *named.values()) if not is_domain(a)])
    raise NoRuleError(
        f"{key_name(f) if callable(f) else repr(f)} has no derivative in forward mode\n"
        "Register a forward rule for it with @frule, or call a plain function."
    )


def _called(f: Any) -> Any:
    """The method `__call__` of an object; None of all that has a rule, and of what is called by Python itself."""
    called = member(type(f), "__call__")
    if not isinstance(called, types.FunctionType):
        return None
    declared = isinstance(f, Hashable) and (lookup(f, ()) or forward_rules(f) or is_non_differentiable(f))
    return None if declared else called


def _method(name: str, args: Any, dots: Any) -> tuple[Any, Any, Any]:
    """A method by its name: of an array its descriptor, of an object the function of its class."""
    obj = args[0]
    if isinstance(obj, float | complex) or is_array(obj):
        key = array_member(name) or getattr(type(obj), name)
        return key, args, dots
    found = member(type(obj), name)
    if isinstance(found, types.FunctionType):
        return found, args, dots
    if isinstance(found, staticmethod | classmethod):
        return getattr(obj, name), args[1:], dots[1:]
    return getattr(obj, name), args[1:], dots[1:]


def _made(cls: Any, args: Any, dots: Any, named: Any) -> Found:
    """A new object, of a class that is known at run time only."""
    init = member(cls, "__init__")
    if not isinstance(init, types.FunctionType) or member(cls, "__new__") is not object.__new__:
        raise unsupported(f"making an object of class {cls.__qualname__} that is only known at run time")

    def run() -> tuple[Any, Any]:
        obj, dot = cls.__new__(cls), {}  # type: ignore[var-annotated]
        found = find(init, (obj, *args), (dot, *dots), named, None)
        found.run(*found.operands)
        return obj, dot

    return Found(run, ())


def _plain(f: Any, args: Any, named: Any) -> tuple[Any, Any]:
    y = f(*args, **named)
    return y, zeros_of(y)


def _updated(f: Any, args: Any, dots: Any) -> tuple[Any, Any]:
    """`a op= b`, where an array and its tangent stay what they are."""
    found = find(PLAIN_OPERATORS[f], args, dots, {}, None)
    _, new = found.run(*found.operands)
    return f(*args), into(dots[0], new)


# --- functions with source --------------------------------------------------------------------------------


def source_of(f: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """A function with source: what is compiled for it.

    One with captured variables comes first among the arguments of a function that calls it: these variables may have
    cotangents, whether they move or not.
    """
    captured = own is not None or _has_variables(f)
    if captured:
        f, args, dots = caller(f, bool(named)), (f, *args), (own, *dots)
    signature = signature_of(f)
    count = len(args)
    bound = signature.bind(*range(count), **{k: count + i for i, k in enumerate(named)}).arguments
    wanted = frozenset(n for n, place in bound.items() if _any(place, dots))
    jvp, arguments, active = find_jvp(f, wanted, args, named)
    values = dict(zip(signature.parameters, arguments, strict=True))
    operands = (*arguments, *(_complete(bound[n], dots, values[n]) for n in active))

    def back(bars: Any) -> tuple[Any, Any]:
        by_name = dict(zip(signature.parameters, bars, strict=False))
        dots_by_name = dict(zip(active, bars[len(arguments) :], strict=True))
        each = [_taken(bound, by_name, len(dots)), _taken(bound, dots_by_name, len(dots))]
        return each[0], each[1]

    def given(of_args: Any, of_dots: Any) -> tuple[Any, ...]:
        by_name = {n: _placed(place, of_args) if _any(place, of_args) else None for n, place in bound.items()}
        own = [None if not _any(bound[n], of_dots) else _placed(bound[n], of_dots) for n in active]
        return (*(by_name.get(n) for n in signature.parameters), *own)

    return Found(jvp, operands, jvp, operands, back, given, leads="" if captured else None)


def _has_variables(f: types.FunctionType) -> bool:
    """Whether a function has captured variables of the user's, or of a rule's: not what the compiler made of one."""
    return bool(f.__closure__) and f.__module__ != _PAIRS and not hasattr(f, "__adcompiler_derivative__")


def _taken(bound: Any, bars: Any, count: int) -> list[Any]:
    """Cotangents by parameter → those of the arguments of a call, then of its keywords."""
    out: list[Any] = [None] * count
    for name, place in bound.items():
        bar = bars.get(name)
        if bar is None:
            continue
        if isinstance(place, tuple):
            for i, p in enumerate(place):
                out[p] = bar[i]
        elif isinstance(place, dict):
            for key, p in place.items():
                out[p] = bar.get(key)
        else:
            out[place] = bar
    return out


def _placed(place: Any, dots: Any) -> Any:
    if isinstance(place, tuple):
        return tuple(dots[p] for p in place)
    if isinstance(place, dict):
        return {k: dots[p] for k, p in place.items()}
    return dots[place]


def _any(place: Any, dots: Any) -> bool:
    if isinstance(place, tuple | dict):
        return any(dots[p] is not None for p in (place.values() if isinstance(place, dict) else place))
    return dots[place] is not None


def _complete(place: Any, dots: Any, value: Any) -> Any:
    """The tangent of a parameter, with zeros for what in a tuple or dict has none, as in `*args` and `**kwargs`."""
    dot = _placed(place, dots)
    if isinstance(dot, tuple) and isinstance(value, tuple):
        return tuple(zeros_of(v) if d is None else d for d, v in zip(dot, value, strict=True))
    if isinstance(dot, dict) and isinstance(value, dict):
        for key in [k for k in value if dot.get(k) is None]:
            dict.__setitem__(dot, key, zeros_of(value[key]))
    return dot  # a dict itself: the function may write into it


# --- derivatives of such calls ----------------------------------------------------------------------------


@rrule(push)
def push_rule(
    f: Any, args: Any, dots: Any, named: Any = None, own: Any = None, *, config: Any, needs: Any, written_later: Any
) -> Any:
    """The reverse of a call in forward mode: that of what computes the pair."""
    found = find(f, args, dots, named or {}, own)
    if needs[3] and found.pair is not found.run and not _is_still(named or {}):
        raise no_second(f)
    return _reversed(found, f, len(args), tuple(named or ()), config.protecting(written_later))


@rrule(push_method)
def push_method_rule(
    obj: Any,
    name: str,
    obj_dot: Any,
    args: Any,
    dots: Any,
    named: Any = None,
    *,
    config: Any,
    needs: Any,
    written_later: Any,
) -> Any:
    """The same of a method."""
    found = find(name, (obj, *args), (obj_dot, *dots), named or {}, None)
    if needs[5] and found.pair is not found.run and not _is_still(named or {}):
        raise no_second(name)
    value, back = _reversed(found, None, len(args) + 1, tuple(named or ()), config.protecting(written_later))

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        _, bars, dot_bars, named_bar, _ = back(y_bar)
        return bars[0], None, dot_bars[0], tuple(bars[1:]), tuple(dot_bars[1:]), named_bar

    return value, pullback


def _is_still(value: Any) -> bool:
    """Whether nothing in a value has a derivative."""
    children = None if is_constant(value) else entries(value)
    return is_constant(value) if children is None else all(map(_is_still, children.values()))


def _reversed(found: Found, f: Any, count: int, named: tuple[str, ...], config: Any) -> Any:
    """The pair of value and tangent, and its pullback; there are `count` arguments and `named` keywords."""
    if found.pair is None:
        raise no_second(f)
    value, back = config.rrule_via_ad(found.pair, *found.inputs)

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        _, *inputs = back(tuple(y_bar))
        return bars_of(found, found.back(inputs), count, named)

    return value, pullback


def as_code(function: Any, args: Any, kwargs: Any) -> Any:
    """What a call in forward mode is as plain code: the pair, its inputs, and how their cotangents are the call's."""
    form = METHOD if function is push_method else PUSH
    names = form.names
    by_name = {**dict(zip(names, args, strict=False)), **kwargs}
    f, operands, dots, named, own = form.unpack(tuple(by_name.get(n) for n in names))
    found = find(f, operands, dots, named or {}, own)
    if found.pair is None:
        raise no_second(f)

    def back(inputs: Any) -> tuple[Any, ...]:
        bars = form.pack(bars_of(found, found.back(inputs), len(operands), tuple(named or ())))
        return tuple(bars[names.index(n)] for n in by_name)

    return found.pair, found.inputs, back


pushed_calls.connect(find, as_code)

__all__ = ["connect", "find", "source_of"]
