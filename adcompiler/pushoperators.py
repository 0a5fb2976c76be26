"""Operators that forward mode finds at run time, on containers and on objects of the user's classes.

[a] + [b]       the same of the containers of tangents
u * v           u.__mul__(v), or v.__rmul__(u), in Python's order
"""

from __future__ import annotations

import builtins
import operator
import types
from collections import deque
from dataclasses import replace
from typing import Any

from adcompiler.found import Finder, Found, both, filled, once, same
from adcompiler.ruledforward import by_rule
from adcompiler.rules.forward import forward_rules, is_builtin_rule
from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.runtime.domain import array_member, gives_way, is_domain
from adcompiler.runtime.members import has_plain_fields, member
from adcompiler.runtime.pushed_calls import push, unsupported
from adcompiler.runtime.pushed_methods import METHODS
from adcompiler.runtime.pushed_rules import (
    by_attribute,
    by_method,
    by_methods,
    converted,
    joined,
    merged,
    of_bound,
    of_field,
    plain_attribute,
    plain_method,
    repeated,
    summed,
    taken,
    times,
)
from adcompiler.runtime.pushing import zeros_of
from adcompiler.runtime.tangents import Tangent
from adcompiler.runtime.walk import is_array

_METHODS: dict[Any, tuple[str, str | None]] = {
    getattr(operator, f"__{name}__"): (f"__{name}__", f"__r{name}__")
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
}
_METHODS |= {
    getattr(operator, f"__{name}__"): (f"__{name}__", None) for name in ("neg", "pos", "abs", "invert", "getitem")
}
_METHODS[builtins.abs] = ("__abs__", None)
_IN_PLACE = {
    getattr(operator, f"__i{name}__"): f"__i{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
}


def of_operator(find: Finder, f: Any, args: Any, dots: Any, named: Any) -> Found | None:
    """The call of an operator; None if it is of numbers and arrays, or no operator."""
    if f is builtins.sum and not _is_summed(args, named):
        return find(summed, args, dots, named, None)
    if named or not isinstance(f, types.BuiltinFunctionType):
        return None
    if f is operator.getitem and isinstance(args[0], list | tuple | dict | deque):
        return _item(args[0], args[1], dots[0])
    pair = _of_containers(f, args)
    if pair is not None:
        return _found(pair, args, _filled(args, dots))
    return _overloaded(f, args, dots)


def declared_for(f: Any, args: Any, named: Any) -> Any:
    """The rules of a function that take a call: those of adcompiler's own take no objects of unknown classes."""
    foreign = [a for a in (*args, *named.values()) if not is_domain(a)]
    rules = lookup(f, tuple(map(type, args)))
    if not foreign:
        return rules
    return tuple(r for r in rules if not r.builtin or all(isinstance(a, r.accepts) for a in foreign))


def declared_forwards(f: Any, args: Any, named: Any) -> Any:
    """The forward rules that take a call of a function without rule for it."""
    foreign = not all(map(is_domain, (*args, *named.values())))
    return tuple(r for r in forward_rules(f) if not (foreign and is_builtin_rule(r)))


def of_method(find: Finder, name: str, args: Any, dots: Any, named: Any) -> Found:
    """A method of a list, dict or deque: the same of the container of tangents."""
    obj, *rest = args
    cls = next(c for c in (list, dict, deque) if isinstance(obj, c))
    if type(obj).__dict__.get(name) is not None and isinstance(member(type(obj), name), types.FunctionType):
        return find(member(type(obj), name), args, dots, named, None)
    if all(dot is None for dot in dots) or name in ("index", "count", "keys"):
        return _found(once(plain_method, name, named), args, dots)
    pair = METHODS[cls].get((name, len(rest)))
    if named or pair is None:
        raise unsupported(f".{name}() of a {type(obj).__name__} that is only known at run time")
    if dots[0] is None:
        raise unsupported(f".{name}() of a {type(obj).__name__} that comes from outside")
    return _found(pair, args, _filled(args, dots))


def of_conversion(form: Any, value: Any, dot: Any) -> Found:
    """`list(value)`, `tuple(value)` or `dict(value)`."""
    return _found(once(converted, form), (value,), (dot,))


def _of_containers(f: Any, args: Any) -> Any:
    """What joins or repeats containers; None for all else."""
    first, second = (args[0], args[-1]) if args else (None, None)
    if f is operator.add and isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return joined
    if f is operator.or_ and isinstance(first, dict) and isinstance(second, dict):
        return merged
    if f is operator.mul and isinstance(first, list | tuple) and not is_array(second):
        return repeated
    return times if f is operator.mul and isinstance(second, list | tuple) and not is_array(first) else None


def of_attribute(find: Finder, obj: Any, name: str, dot: Any) -> Found:
    """`getattr(obj, name)`: an attribute of an array or number, a property, a field, or a method."""
    if isinstance(obj, float | complex) or is_array(obj):
        key = array_member(name)
        if callable(key) or is_non_differentiable(key):
            return _found(once(plain_attribute, name), (obj,), (dot,))
        pair = once(by_attribute, name)
        found = Found(by_rule, (key, lookup(key), (obj,), (dot,), {}), pair, ((obj,), (dot,)), same, both)
        return _with_key(found)
    member_found = member(type(obj), name)
    held = isinstance(dot, dict | Tangent) and name in dot
    if isinstance(member_found, property) and not held:
        return _with_key(find(member_found.fget, (obj,), (dot,), {}, None))
    if held:
        return _with_key(_found(once(of_field, name, name), (obj,), (dot,)))
    if isinstance(dot, tuple) and name in getattr(type(obj), "_fields", ()):
        return _with_key(_found(once(of_field, name, type(obj)._fields.index(name)), (obj,), (dot,)))
    if isinstance(member_found, types.FunctionType):
        return _with_key(_found(once(of_bound, name), (obj,), (dot,)))
    return _with_key(_found(once(plain_attribute, name), (obj,), (dot,)))


def _item(value: Any, key: Any, dot: Any) -> Found:
    """`value[key]` of a container."""
    return _with_key(_found(once(taken, key), (value,), (dot,)))


def _with_key(found: Found) -> Found:
    """What is found for an object, for a call with a key or name behind it."""
    if found.pair is None:
        return found
    return replace(
        found,
        back=lambda bars: tuple([*filled(each, 1), None] for each in found.back(bars)),
        given=lambda of_args, of_dots: found.given(tuple(of_args[:1]), tuple(of_dots[:1])),
    )


def _is_summed(args: Any, named: Any) -> bool:
    """Whether a sum is one that has a rule: of numbers and arrays."""
    items, start = args[0], (*args[1:], *named.values())
    if is_array(items):
        return True
    return isinstance(items, list | tuple) and not any(has_plain_fields(type(v)) for v in (*items, *start))


def _filled(args: Any, dots: Any) -> tuple[Any, ...]:
    return tuple(zeros_of(a) if d is None else d for a, d in zip(args, dots, strict=True))


def _found(pair: Any, args: Any, dots: Any) -> Found:
    return Found(pair, (args, dots), pair, (args, dots), same, both)


def _overloaded(f: Any, args: Any, dots: Any) -> Found | None:
    """An operator of objects whose classes say what it does."""
    if not any(has_plain_fields(type(a)) for a in args):
        return None
    in_place = member(type(args[0]), _IN_PLACE[f]) if f in _IN_PLACE else None
    if isinstance(in_place, types.FunctionType):
        return _found(once(by_method, push, in_place, False), args, dots)
    names = _METHODS.get(f)
    if names is None:
        return None
    straight, reflected = names
    methods = [(member(type(args[0]), straight), False)]
    if reflected is not None and len(args) == 2 and type(args[0]) is not type(args[1]):
        a, b = type(args[0]), type(args[1])
        if not has_plain_fields(a) and not gives_way(args[0], b):
            return None
        own = issubclass(b, a) and member(b, reflected) is not member(a, reflected)
        methods.insert(0 if own else 1, (member(b, reflected), True))
    found = [(m, swapped) for m, swapped in methods if isinstance(m, types.FunctionType)]
    if not found:
        return None
    if len(found) == 1 or found[0][1]:
        return _found(once(by_method, push, *found[0]), args, dots)
    return _found(once(by_methods, push, found[0][0], found[1][0]), args, dots)


__all__ = ["of_attribute", "of_conversion", "of_operator"]
