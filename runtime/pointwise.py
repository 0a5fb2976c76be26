"""The pullback of an elementwise function from its partial derivatives, which may be singular.

A partial is a function of the operands (and of the result, if it has a parameter `out`). One that is None says that
the function is piecewise constant in an operand; a text says why there is no derivative.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.shapes import conj, fit, shape
from adcompiler.runtime.ufuncs import as_given

Partial = Callable[..., Any] | str | None


def refuse_parameters(name: str, names: Sequence[str], partials: Sequence[Partial], args: Any, needs: Any) -> None:
    """Raise NoRuleError if the derivative is wanted of a parameter that has none; whole numbers have none anyway."""
    for parameter, partial, x, wanted in zip(names, partials, args, needs, strict=True):
        if isinstance(partial, str) and wanted and is_real_or_complex(x):
            raise NoRuleError(
                f"{name} has no derivative in {parameter}: {partial}\n"
                f"Take {parameter} as a constant with stop_gradient(), or register a rule with @rrule."
            )


def refuse_complex(name: str, args: Any) -> None:
    """Raise NoRuleError for complex arguments of a function that has no complex derivative, or an unknown one."""
    if any(map(np.iscomplexobj, args)):
        raise NoRuleError(
            f"the derivative of {name} is known for real arguments only\nRegister a rule for complex ones with @rrule."
        )


def is_real_or_complex(x: Any) -> bool:
    """Whether `x` is a number or an array of floating-point numbers."""
    return (getattr(x, "dtype", None) or np.asarray(x).dtype).kind in "fc"


def bars(partials: Sequence[Partial], args: Any, y: Any, y_bar: Any, needs: Any) -> tuple[Any, ...]:
    """The cotangents of the operands `args` of an elementwise function with the result `y`."""
    operands = [np.asarray(x)[()] if type(x) in (int, float, complex) else x for x in args]  # division raises nothing
    with np.errstate(all="ignore"):
        return tuple(
            as_given(fit(_against(y_bar, slope(partial, operands, y)), shape(x)), x)
            if callable(partial) and wanted and is_real_or_complex(x)
            else None
            for partial, x, wanted in zip(partials, args, needs, strict=True)
        )


def slope(partial: Callable[..., Any], args: Any, y: Any) -> Any:
    """A partial at the operands, with the result if it asks for that."""
    return partial(*args, out=y) if wants_out(partial) else partial(*args)


@functools.cache
def wants_out(partial: Callable[..., Any]) -> bool:
    return "out" in inspect.signature(partial).parameters


def _against(y_bar: Any, partial: Any) -> Any:
    """The cotangents of one result or of several, against the partials of each; None stands for zero."""
    if not isinstance(partial, tuple):
        return multiply_strong(y_bar, conj(partial))
    terms = [multiply_strong(c, conj(d)) for c, d in zip(y_bar, partial, strict=True) if c is not None]
    return sum(terms[1:], terms[0]) if terms else 0.0


# Transposed


def slope_products(
    config: Any, partials: Sequence[Partial], args: Any, y: Any, y_bar: Any, wanted: Any, cts: Any, again: bool
) -> tuple[Any, Any, Any]:
    """The cotangents of `args`, `y` and `y_bar` in ``bars(partials, args, y, y_bar, wanted)``, whose own are `cts`.

    Those of `args` and `y` are taken if the partials are differentiated `again`.
    """
    operands = [np.asarray(x)[()] if type(x) in (int, float, complex) else x for x in args]
    args_bar: list[Any] = [None] * len(args)
    y_bars: list[Any] = []
    out_bar: Any = None
    with np.errstate(all="ignore"):
        for partial, ct in zip(partials, cts, strict=True):
            if ct is None or not callable(partial):
                continue
            names = ("out",) if wants_out(partial) else ()
            flags = (False, *(again and is_real_or_complex(x) for x in operands), *(again for _ in names))
            value, back = config.vjp(flags, partial, *operands, **({"out": y} if names else {}))
            y_bars.append(_along(ct, value, y_bar))
            if again:
                bars_of = back(_weights(ct, value, y_bar))
                args_bar = [_sum(a, b) for a, b in zip(args_bar, bars_of[1:], strict=False)]
                out_bar = _sum(out_bar, bars_of[-1]) if names else out_bar
    args_bar = [None if bar is None else as_given(fit(bar, shape(x)), x) for bar, x in zip(args_bar, args, strict=True)]
    return tuple(args_bar), out_bar, functools.reduce(_sum, y_bars, None)


def _along(ct: Any, partial: Any, y_bar: Any) -> Any:
    """The cotangent of `y_bar`, or of the cotangents of several results, in its products with a partial."""
    if isinstance(partial, tuple):
        return tuple(None if c is None else _along(ct, d, c) for d, c in zip(partial, y_bar, strict=True))
    return fit(multiply_strong(ct, partial), shape(y_bar))


def _weights(ct: Any, partial: Any, y_bar: Any) -> Any:
    """The cotangent of the partial itself."""
    if isinstance(partial, tuple):
        return tuple(None if c is None else _weights(ct, d, c) for d, c in zip(partial, y_bar, strict=True))
    return fit(multiply_strong(y_bar, conj(ct)), shape(partial))


def _sum(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tuple):
        return tuple(map(_sum, a, b))
    return a + b
