"""Calls that forward mode finds at run time, and the tangents of moves that depend on the values.

`push(f, args, dots)` is `(y, y_dot)` for `y = f(*args)`; `connect` is told how the tangent is found.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from adcompiler.runtime.errors import UnsupportedSyntaxError
from adcompiler.runtime.iterated import check_iterated
from adcompiler.runtime.pushing import zero_factory, zeros_of

# What `a op= b` computes, by what it does in place.
PLAIN_OPERATORS: dict[Any, Any] = {
    getattr(operator, f"i{name}"): getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "pow", "matmul", "mod", "floordiv")
}

_find: Callable[..., Any]
_as_code: Callable[..., Any]


def connect(find: Callable[..., Any], as_code: Callable[..., Any]) -> None:
    """Give the compiler's part: of what `find(f, args, dots, named, own)` gives, `run(*operands)` is the pair.

    `as_code` says what a call of a function here is as plain code, and takes cotangents of its inputs to the call's.
    """
    global _find, _as_code
    _find, _as_code = find, as_code


def as_code(function: Any, args: Any, kwargs: Any) -> Any:
    """`(pair, inputs, back)` of a call of `push` or `push_method`."""
    return _as_code(function, args, kwargs)


def push(f: Any, args: Any, dots: Any, named: Any = None, own: Any = None) -> tuple[Any, Any]:
    """`(f(*args, **named), its tangent)`; `dots` are of the arguments, then of the keywords, `own` of `f`."""
    return _run(_find(f, args, dots, named or {}, own))


def _run(found: Any) -> tuple[Any, Any]:
    """The value and its tangent, which is never None."""
    y, y_dot = found.run(*found.operands)
    return y, zeros_of(y) if y_dot is None else y_dot


def push_method(obj: Any, name: str, obj_dot: Any, args: Any, dots: Any, named: Any = None) -> tuple[Any, Any]:
    """`obj.name(*args)` and its tangent."""
    return _run(_find(name, (obj, *args), (obj_dot, *dots), named or {}, None))


def push_spread(f: Any, items: Any, dots: Any) -> tuple[Any, Any]:
    """`f(*items)` and its tangent."""
    return push(f, tuple(items), tuple(dots))


def keyed(pairs: Any, dots: Any) -> Any:
    """The tangents of pairs of a key and a value, or of a dict, as what a dict of tangents is made of."""
    if isinstance(pairs, dict):
        return dots
    return [(pair[0], dot[1]) for pair, dot in zip(pairs, dots, strict=True)]


def items_dot(value: Any, dot: Any) -> Any:
    """The tangent of a value that is taken apart."""
    check_iterated(value)
    return dot


def factory_dot(factory: Any, dot: Any) -> Any:
    """What makes the tangents of the values that the factory of a `defaultdict` makes; `dot` is the factory's own."""
    if dot is None or factory is None or isinstance(factory, type):
        return zero_factory(factory)
    return lambda: push(factory, (), (), None, dot)[1]


def sort_dot(dots: list[Any], values: list[Any], key: Any = None, reverse: Any = False) -> None:
    """Bring tangents into the order that `values.sort(...)` will give."""
    marks = list(values) if key is None else list(map(key, values))
    order = sorted(range(len(values)), key=marks.__getitem__, reverse=reverse)
    dots[:] = [dots[i] for i in order]


def remove_dot(dots: list[Any], values: list[Any], value: Any) -> None:
    """Remove the tangent of the item that `values.remove(value)` will remove."""
    if value in values:
        del dots[values.index(value)]


def pop_item_dot(dots: dict[Any, Any], last: bool = True) -> tuple[Any, Any]:
    """What `popitem` takes from a dict of tangents."""
    if not last:
        key = next(iter(dots), None)
        return None, dots.pop(key)
    return None, dots.popitem()[1]


def unsupported(what: str) -> UnsupportedSyntaxError:
    """The refusal of a call that forward mode does not follow."""
    return UnsupportedSyntaxError(f"{what} in forward mode\nCall a plain function instead.")


__all__ = [
    "PLAIN_OPERATORS",
    "as_code",
    "connect",
    "factory_dot",
    "items_dot",
    "keyed",
    "pop_item_dot",
    "push",
    "push_method",
    "push_spread",
    "remove_dot",
    "sort_dot",
]
