"""The public transforms of forward mode: `jvp`."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

from adcompiler.differentiable import function_of
from adcompiler.forwardmode import check_apart, find_jvp
from adcompiler.pushcalls import find
from adcompiler.runtime.errors import TangentError
from adcompiler.runtime.pushing import completed, returned
from adcompiler.variants import shown


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """`(f(*primals), tangent)`: the derivative of `f` in the direction of `tangents`, computed along with the value.

    `tangents` has an entry for each of the `primals`, with its structure, shape and kind of numbers, None anywhere for
    zero (objects: a `Tangent`, a dict of fields, or an object of the class). The result's tangent is like the value.
    It costs one to three evaluations of `f`, whatever the number of inputs; no memory is kept. Raises TangentError if a
    tangent does not fit, and other DifferentiationErrors for what cannot be differentiated.
    """
    if len(primals) != len(tangents):
        raise TangentError(f"{len(primals)} primals and {len(tangents)} tangents: there is one for each")
    try:
        return _jvp(f, tuple(primals), tuple(tangents))
    except Exception as error:
        raise shown(error)  # noqa: B904  it is the same exception


def _jvp(f: Any, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    function, options = function_of(f)
    first, named = options.get("first", ()), options.get("named", {})
    if not isinstance(function, types.FunctionType) or options.get("rule"):
        found = find(function, primals, tuple(map(completed, tangents, primals)), {}, None)
        y, y_dot = found.run(*found.operands)
        return y, returned(y_dot, y)
    args, given = (*first, *primals), ((None,) * len(first) + tangents)
    bound = inspect.signature(function, follow_wrapped=False).bind_partial(*range(len(args))).arguments
    by_name = {n: tuple(given[i] for i in p) if isinstance(p, tuple) else given[p] for n, p in bound.items()}
    wanted = frozenset(n for n, t in by_name.items() if _is_given(t)) - frozenset(options.get("nondiff", ()))
    pushed, arguments, active = find_jvp(function, wanted, args, named)
    if pushed.__adcompiler_writes__:  # into what has no tangent, too, whose own one is then about what was written
        wanted = frozenset(by_name) - frozenset(options.get("nondiff", ()))
        pushed, arguments, active = find_jvp(function, wanted, args, named)
    values = dict(zip(inspect.signature(function, follow_wrapped=False).parameters, arguments, strict=True))
    seen: dict[int, Any] = {}
    for name in wanted - set(active):
        completed(by_name[name], values[name])  # what cannot have a tangent has been given one
    dots = [completed(by_name[n], values[n], seen) for n in active]
    check_apart(pushed, arguments)
    y, y_dot = pushed(*arguments, *dots)
    return y, returned(y_dot, y)


def _is_given(tangent: Any) -> bool:
    return any(t is not None for t in tangent) if isinstance(tangent, tuple) else tangent is not None
