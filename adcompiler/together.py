"""The rows of a Jacobian all at once: one backward with an axis of its own for the rows, instead of one for each.

It is tried where the program has nothing but built-in rules, on what the loop over rows has computed, and used from
then on; each time one row is computed by itself too, and compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adcompiler import ir
from adcompiler.callees import Build, InertCall, Load, PairCall, PathLoad, RuleCall
from adcompiler.pair import Pair
from adcompiler.runtime.rows import Rows
from adcompiler.writing import applied

Back = Callable[[Any], tuple[Any, ...]]

_FEWEST = 4
_NUMBERS = 1 << 13  # that are computed at once, of the seed or of a result


@dataclass
class Together:
    """Whether the rows of one compiled function are computed at once; None: it is not known yet."""

    works: bool | None

    def rows(self, value: Any, primals: tuple[Any, ...], back: Back) -> list[Any] | None:
        """The Jacobian with respect to each argument; None where each row has to be computed by itself."""
        if not self.works or not _fits(value, primals):
            return None
        found = _computed(value, primals, back)
        if found is None or not _agrees(found, value, primals, back):
            self.works = False
            return None
        return found

    def learn(self, value: Any, primals: tuple[Any, ...], back: Back, rows: list[Any]) -> None:
        """Find out whether it works, from what the loop has computed."""
        if self.works is not None or not _fits(value, primals):
            return
        some = _block(value, primals)
        found = _rows(0, some, value, primals, back)
        each = (r.reshape(value.size, *p.shape)[:some] for r, p in zip(rows, primals, strict=True))
        self.works = found is not None and all(map(_close, found, each))


def together(pair: Pair) -> Together:
    """What is known of a function: it may work if there are built-in rules only."""
    return Together(None if _is_plain(pair.spec, set()) else False)


def _is_plain(spec: Any, seen: set[int]) -> bool:
    """Whether a function calls nothing of which the pullback is the user's, or sees its cotangents."""
    if id(spec) in seen:
        return True
    seen.add(id(spec))
    for value in applied(spec.body):
        match value.callee:
            case RuleCall(rules) if all(rule.builtin for rule in rules):
                continue
            case PairCall(inner) if _is_plain(inner, seen):
                continue
            case InertCall() | Load() | PathLoad() | Build():
                continue
        return False
    return not any(isinstance(s, ir.Try | ir.With) for s in ir.statements(spec.body))


def _fits(value: Any, primals: tuple[Any, ...]) -> bool:
    exact = all(type(p) is np.ndarray and p.dtype.kind == "f" for p in (value, *primals))
    return exact and value.size >= _FEWEST and all(p.ndim and p.size for p in primals)


def _computed(value: Any, primals: tuple[Any, ...], back: Back) -> list[Any] | None:
    """The Jacobian, a block of rows at a time; None if something cannot be done with several."""
    size, block = value.size, _block(value, primals)
    out = [np.empty((size, *p.shape), p.dtype) for p in primals]
    for start in range(0, size, block):
        found = _rows(start, min(start + block, size), value, primals, back)
        if found is None:
            return None
        for rows, new in zip(out, found, strict=True):
            rows[start : start + block] = new
    return [rows.reshape(*value.shape, *p.shape) for rows, p in zip(out, primals, strict=True)]


def _block(value: Any, primals: tuple[Any, ...]) -> int:
    """How many rows are computed at once."""
    return int(min(value.size, max(1, _NUMBERS // max(value.size, *(p.size for p in primals)))))


def _rows(start: int, stop: int, value: Any, primals: tuple[Any, ...], back: Back) -> list[Any] | None:
    """The derivatives of some entries of the value with respect to each argument."""
    count = stop - start
    seeds = np.zeros((count, value.size), value.dtype)
    seeds[np.arange(count), np.arange(start, stop)] = 1.0
    try:
        cts = back(Rows(seeds.reshape(count, *value.shape)))
    except Exception:  # of what is in its way the loop over rows says more
        return None
    fits = all(
        ct is None or (isinstance(ct, Rows) and ct.shape == p.shape and ct.dtype.kind == "f")
        for ct, p in zip(cts, primals, strict=True)
    )
    return [_filled(ct, count, p) for ct, p in zip(cts, primals, strict=True)] if fits else None


def _filled(ct: Any, count: int, primal: Any) -> Any:
    return np.zeros((count, *primal.shape), primal.dtype) if ct is None else ct.data.astype(primal.dtype, copy=False)


def _agrees(found: list[Any], value: Any, primals: tuple[Any, ...], back: Back) -> bool:
    """Whether one row is what it is by itself."""
    at = value.size // 2
    seed = np.zeros(value.size, value.dtype)
    seed[at] = 1.0
    alone = back(seed.reshape(value.shape))
    each = zip(found, alone, primals, strict=True)
    return all(
        _close(rows.reshape(value.size, *p.shape)[at], np.zeros(p.shape) if ct is None else ct) for rows, ct, p in each
    )


def _close(a: Any, b: Any) -> bool:
    """Whether numbers are the same but for the order of sums."""
    a, b = np.broadcast_arrays(a, b)
    with np.errstate(all="ignore"):
        finite = np.isfinite(b)
        size = np.max(np.abs(b), initial=0.0, where=finite)
        exact = np.finfo(a.dtype).eps ** 0.75 * size
        return bool(np.array_equal(finite, np.isfinite(a)) and np.all(np.abs(a - b)[finite] <= exact))


__all__ = ["Together", "together"]
