"""The texts behind a derivative of a derivative: in forward mode, and the gradient of the tangent.

loss → loss_jvp → loss_derivative = the tangent alone → loss_derivative_forward, its pullback
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adcompiler.dump import assumed_notes, header, plain, tried
from adcompiler.forwardmode import compile_forward
from adcompiler.pipeline import Request, compile_request
from adcompiler.program import signature_of
from adcompiler.runtime.pushing import completed
from adcompiler.runtime.release import OFF
from adcompiler.text import ForwardText, Text


def dump_order(
    function: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None, wrt: Any = None, order: int = 2
) -> str:
    """The generated texts of the derivative of the given order, as modules one after the other.

    `args`, `kwargs` and `wrt` are as in `dump`. Raises ValueError if `order` is below 2.
    """
    if order < 2:
        raise ValueError(f"order={order}: dump() gives the text of the first derivative")
    function = plain(function)
    compiled, assumed = tried(function, args, kwargs, wrt, OFF, compile_forward)
    texts = [
        ForwardText(compiled).module([header(function.__name__, compiled.spec, compiled.pair), *assumed_notes(assumed)])
    ]
    bound = signature_of(function).bind_partial(*args, **kwargs or {})
    bound.apply_defaults()
    arguments = dict(bound.arguments) | assumed
    for _ in range(order - 1):
        active = compiled.pair.active
        given = [arguments[n] for n in compiled.spec.params]
        tangents = [completed(None, arguments[n]) for n in active]
        function = compiled.derivative
        arguments = dict(zip(signature_of(function).parameters, [*given, *tangents], strict=True))
        request = Request(function, dict(arguments), frozenset(active))
        if len(texts) + 1 < order:
            compiled = compile_forward(request)
            texts.append(ForwardText(compiled).module([header(function.__name__, compiled.spec, compiled.pair)]))
        else:
            last = compile_request(request)
            texts.append(Text(last).module([header(function.__name__, last.spec, last.pair)]))
    return "\n\n".join(texts)


__all__ = ["dump_order"]
