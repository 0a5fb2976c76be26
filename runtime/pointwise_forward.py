"""The tangent of an elementwise function from its partial derivatives, and the transpose of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adcompiler.runtime.elementary import multiply_strong
from adcompiler.runtime.forward import match
from adcompiler.runtime.pointwise import Partial, is_real_or_complex, slope, wants_out
from adcompiler.runtime.shapes import conj, fit, shape
from adcompiler.runtime.ufuncs import as_given


def tangent(partials: Sequence[Partial], args: Any, y: Any, tangents: Any) -> Any:
    """The tangent of an elementwise function with the result `y`, which may be several; None stands for zero."""
    several = isinstance(y, (tuple, list))
    totals: list[Any] = [None for _ in y] if several else [None]
    with np.errstate(all="ignore"):
        for partial, dot in zip(partials, tangents, strict=True):
            if callable(partial) and dot is not None:
                found = slope(partial, _operands(args), y)
                for i, factor in enumerate(found if several else (found,)):
                    totals[i] = _sum(totals[i], multiply_strong(dot, factor))
    if several:
        return tuple(None if t is None else match(t, each) for t, each in zip(totals, y, strict=True))
    return None if totals[0] is None else match(totals[0], y)


def tangent_bars(
    config: Any, partials: Sequence[Partial], args: Any, y: Any, tangents: Any, ct: Any, again: bool
) -> tuple[Any, Any, Any]:
    """The cotangents of `args`, `y` and `tangents` in ``tangent(partials, args, y, tangents)``, whose own is `ct`.

    Those of `args` and `y` are taken if the partials are differentiated `again`.
    """
    operands = _operands(args)
    several = isinstance(y, (tuple, list))
    args_bar: list[Any] = [None] * len(args)
    dots_bar: list[Any] = [None] * len(args)
    out_bar: Any = None
    with np.errstate(all="ignore"):
        for i, (partial, dot) in enumerate(zip(partials, tangents, strict=True)):
            if dot is None or not callable(partial):
                continue
            names = ("out",) if wants_out(partial) else ()
            flags = (False, *(again and is_real_or_complex(x) for x in operands), *(again for _ in names))
            value, back = config.vjp(flags, partial, *operands, **({"out": y} if names else {}))
            pairs = list(zip(ct, value, strict=True)) if several else [(ct, value)]
            for c, factor in pairs:
                if c is not None:
                    dots_bar[i] = _sum(dots_bar[i], fit(multiply_strong(c, conj(factor)), shape(dot)))
            if again:
                weights = [None if c is None else fit(multiply_strong(c, conj(dot)), shape(d)) for c, d in pairs]
                bars = back(tuple(weights) if several else weights[0])
                args_bar = [_sum(a, b) for a, b in zip(args_bar, bars[1:], strict=False)]
                out_bar = _sum(out_bar, bars[-1]) if names else out_bar
    args_bar = [None if bar is None else as_given(fit(bar, shape(x)), x) for bar, x in zip(args_bar, args, strict=True)]
    return tuple(args_bar), out_bar, tuple(dots_bar)


def _operands(args: Any) -> list[Any]:
    return [np.asarray(x)[()] if type(x) in (int, float, complex) else x for x in args]  # division raises nothing


def _sum(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return tuple(map(_sum, a, b)) if isinstance(a, tuple) else a + b
