"""`hvp`, `hessian`, `jacobian` and their relatives as plain code, for where they stand inside what is differentiated.

    H v  =  gradient of   y ↦ jvp(f, (y,), (v,))          rows of H, and of a Jacobian, for each unit vector

The derivative of such a call is that of this text, and so on.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from adcompiler.api import gradient, pullback
from adcompiler.errors import UnsupportedSyntaxError
from adcompiler.forward_api import jvp
from adcompiler.found import Found, filled
from adcompiler.generated import code_of
from adcompiler.hessians import hvp
from adcompiler.pushcalls import connect, find
from adcompiler.rules.registry import non_differentiable, rrule
from adcompiler.runtime.walk import is_array

# One text for each number of arguments, of which the one at some position is moved.
_TEXT = """
def product(f, v, {args}):
    return gradient(lambda y: jvp(f, ({moved}), ({tangents}))[1])({x})

def hessian(f, {args}):
    return shaped([product(f, unit, {args}) for unit in unit_vectors({x})], shapes({x}, {x}))

def diag_hessian(f, {args}):
    return shaped([np.sum(product(f, unit, {args}) * unit) for unit in unit_vectors({x})], shapes({x}))

def value_and_jacobian(f, {args}):
    y, back = pullback(lambda y: f({moved}), {x})
    if np.size(y) <= np.size({x}):
        return y, shaped([with_zeros(back(unit)[0], {x}) for unit in unit_vectors(y)], shapes(y, {x}))
    columns = [jvp(lambda y: f({moved}), ({x},), (unit,))[1] for unit in unit_vectors({x})]
    return y, np.reshape(np.stack(columns, -1), shapes(y, {x}))

def jacobian(f, {args}):
    return value_and_jacobian(f, {args})[1]
"""


@functools.cache
def plain_functions(at: int, count: int) -> dict[str, Any]:
    """The functions of `f` and `count` arguments, with respect to that at position `at`."""
    names = [f"a{i}" for i in range(count)]
    moved = ["y" if i == at else name for i, name in enumerate(names)]
    tangents = ["v" if i == at else "None" for i in range(count)]
    given = {"args": names, "moved": moved, "tangents": tangents}
    text = _TEXT.format(x=names[at], **{key: ", ".join(parts) + "," * (key != "args") for key, parts in given.items()})
    used = (gradient, jvp, pullback, shaped, shapes, unit_vectors, with_zeros)
    found = {"__name__": __name__, "np": np} | {function.__name__: function for function in used}
    exec(code_of(f"derivatives of {count} arguments", text), found)
    return {name: found[name] for name in ("product", *KINDS)}


def shaped(rows, shape):  # type: ignore[no-untyped-def]
    """Rows as one array, of a number as a number."""
    return np.reshape(np.stack(rows), shape) if shape else rows[0]


def with_zeros(bar, x):  # type: ignore[no-untyped-def]
    """A cotangent, zeros where there is none."""
    return x * 0.0 if bar is None else bar


def shapes(*values: Any) -> tuple[int, ...]:
    """The shape of an array with the axes of all of these."""
    return sum(map(np.shape, values), ())


def unit_vectors(x: Any) -> list[Any]:
    """For each entry of an array or number what is 1 there and 0 elsewhere."""
    if not is_array(x) or not np.shape(x):
        return [1.0]
    out = []
    for i in range(x.size):
        unit = np.zeros_like(x, order="C")
        unit.reshape(-1)[i] = 1.0
        out.append(unit)
    return out


def plain_call(transformed: Any, args: Any, named: Any) -> tuple[Any, tuple[Any, ...]]:
    """What a call of a transformed function is as plain code: a function and its arguments."""
    kind, argnums = transformed.kind, transformed.argnums
    if not named and isinstance(argnums, int) and -len(args) <= argnums < len(args):
        at = argnums % len(args)
        if isinstance(args[at], float) or is_array(args[at]):
            return plain_functions(at, len(args))[kind], (transformed.__wrapped__, *args)
    raise UnsupportedSyntaxError(
        f"{kind} inside a differentiated function, of more than one argument, by name, or of one that is no array\n"
        "It has no derivative there yet.\n"
        "Take it with respect to one array: jacobian(lambda x: ...)."
    )


def pushed_plain(self: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """The same in forward mode."""
    function, given = plain_call(self, args, named)
    f_dot = None if own is None else own.get("function")
    return replace(find(function, given, (f_dot, *dots), {}, None), leads="function")


def pushed_product(_: Any, args: Any, dots: Any, named: Any, own: Any) -> Found:
    """`hvp(f, x, v, *rest)`, in forward mode."""
    check_unnamed("hvp", named)
    function, given, order = _product(args)
    found = find(function, given, tuple(dots[i] for i in order), {}, None)

    def back(inputs: Any) -> tuple[Any, ...]:
        each = (filled(bars, len(order)) for bars in found.back(inputs))
        return tuple([bars[i] for i in order] for bars in each)

    def moved(of_args: Any, of_dots: Any) -> Any:
        return found.given(*(tuple(own[i] for i in order) for own in (of_args, of_dots)))

    return replace(found, back=back, given=moved)


def _product(args: Any) -> tuple[Any, tuple[Any, ...], tuple[int, ...]]:
    """`hvp(f, x, v, *rest)` as plain code: the function, its arguments, and their positions; it is its own inverse."""
    order = (0, 2, 1, *range(3, len(args)))
    return plain_functions(0, len(args) - 2)["product"], tuple(args[i] for i in order), order


@rrule(hvp, kind="unknown")
def hvp_rule(f: Any, x: Any, v: Any, *rest: Any, config: Any, written_later: Any, **named: Any) -> Any:
    """`hvp(f, x, v, *rest)`, differentiated: the plain code."""
    check_unnamed("hvp", named)
    function, given, _ = _product((f, x, v, *rest))
    y, back = config.protecting(written_later).rrule_via_ad(function, *given)

    def pull(bar: Any) -> Any:
        _, f_bar, v_bar, x_bar, *rest_bar = back(bar)
        return f_bar, x_bar, v_bar, tuple(rest_bar), {}

    return y, pull


def check_unnamed(name: str, named: Any) -> None:
    """Raise where arguments are given by name."""
    if named:
        raise UnsupportedSyntaxError(
            f"{name} with keywords inside a differentiated function\nIt has no derivative yet.\n"
            "Give the arguments by position."
        )


non_differentiable(unit_vectors, shapes, kind="other")
KINDS = ("hessian", "diag_hessian", "jacobian", "value_and_jacobian")

connect({hvp: pushed_product}, {})

__all__ = ["plain_call", "pushed_plain"]
