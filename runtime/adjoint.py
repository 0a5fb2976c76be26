"""The adjoint of a one-step method: cotangents of an ODE's solution go to its start, its parameters and its times.

The steps of the forward solution are taken backwards, each from the state that it had started from; see Sandu, On the
properties of Runge-Kutta discrete adjoints (2006). The step sizes are constants. Solutions of multistep methods are
differentiated as collocation solutions on the same steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adcompiler.runtime.callbacks import Callback, Outside, dense, flat, shaped
from adcompiler.runtime.tableaus import Tableau


class Field:
    """The right-hand side of y' = f(t, y), from a callback that takes (t, y) or (y, t), or a matrix for y."""

    def __init__(self, f: Callback, time_first: bool = True, columns: bool = False) -> None:
        self.f = f
        self.time_first = time_first
        self.columns = columns

    def point(self, t: Any, y: Any) -> tuple[Any, Any]:
        """The arguments of the callback."""
        y = y[:, None] if self.columns else y
        return (t, y) if self.time_first else (y, t)

    def slope(self, t: Any, y: Any) -> Any:
        """The value alone."""
        return flat(self.f.value(*self.point(t, y)))

    def at(self, t: Any, y: Any) -> tuple[Any, Callable[[Any], tuple[Any, Outside]]]:
        """The value, and the function from a cotangent to that of y and the outside."""
        position = 1 if self.time_first else 0
        moving = (position == 0, position == 1)
        point = self.point(t, y)
        value, pull = self.f.at(*point, moving=moving)

        def back(ct: Any) -> tuple[Any, Outside]:
            bars, outside = pull(shaped(ct, value))
            return flat(dense(bars[position], point[position])), outside

        return flat(value), back


class Steps(NamedTuple):
    """The steps of a solution: their times, the states there, one in each row, and the states in between."""

    t: Any
    y: Any
    between: Callable[[Any], Any] | None


def adjoint(field: Field, steps: Steps, method: Tableau, times: Any, bars: Any) -> tuple[Any, Outside]:
    """The cotangents of the state at the start and of the outside; `bars` has a row for each of the output `times`."""
    total = Outside()
    state = np.zeros(steps.y.shape[1], dtype=np.result_type(bars, float))
    way = np.sign(steps.t[-1] - steps.t[0])
    owner = np.clip(np.searchsorted(way * steps.t, way * times, side="left") - 1, 0, len(steps.t) - 2)
    order = np.argsort(owner, kind="stable")
    cuts = np.searchsorted(owner[order], np.arange(len(steps.t)))
    ends = method.weights(np.ones(1))[:, 0]
    for i in reversed(range(len(steps.t) - 1)):
        chosen = order[cuts[i] : cuts[i + 1]]
        t, h = steps.t[i], steps.t[i + 1] - steps.t[i]
        slopes_bar = np.outer(ends, state)
        if chosen.size:
            slopes_bar = slopes_bar + method.weights((times[chosen] - t) / h) @ bars[chosen]
            state = state + bars[chosen].sum(0)
        if not np.any(slopes_bar):
            continue
        moved, outside = (_implicit if method.implicit else _explicit)(field, steps, method, i, h * slopes_bar)
        state, total = state + moved, total + outside
    return state, total


def _explicit(field: Field, steps: Steps, method: Tableau, i: int, slopes_bar: Any) -> tuple[Any, Outside]:
    """One step of an explicit method: its stages again, and back."""
    t, y, h = steps.t[i], steps.y[i], steps.t[i + 1] - steps.t[i]
    used = np.flatnonzero(np.any(slopes_bar, 1) | np.any(method.a != 0, 0))
    last = np.max(np.flatnonzero(np.any(slopes_bar, 1)))
    slopes, pulls = np.zeros(slopes_bar.shape, dtype=np.result_type(y, float)), {}
    for j in used[used <= last]:
        slopes[j], pulls[j] = field.at(t + method.c[j] * h, y + h * (method.a[j, :j] @ slopes[:j]))
    moved, total = np.zeros_like(slopes[0]), Outside()
    for j in reversed(list(pulls)):
        if np.any(slopes_bar[j]):
            stage_bar, outside = pulls[j](slopes_bar[j])
            slopes_bar[:j] += h * np.outer(method.a[j, :j], stage_bar)
            moved, total = moved + stage_bar, total + outside
    return moved, total


def _implicit(field: Field, steps: Steps, method: Tableau, i: int, slopes_bar: Any) -> tuple[Any, Outside]:
    """One step of a collocation method: the adjoint of the linear system of its stages."""
    t, h = steps.t[i], steps.t[i + 1] - steps.t[i]
    stages, size = slopes_bar.shape
    assert steps.between is not None
    states = steps.between(t + method.c * h).T
    pulls = [field.at(t + c * h, y)[1] for c, y in zip(method.c, states, strict=True)]
    unit = np.eye(size)
    jacobians = np.stack([[pull(e)[0] for e in unit] for pull in pulls])
    coupling = np.einsum("lj,lba->jalb", h * method.a, jacobians).reshape(stages * size, -1)
    slopes = np.linalg.solve(np.eye(stages * size) - coupling, slopes_bar.ravel()).reshape(stages, size)
    moved, total = np.einsum("jba,jb->a", jacobians, slopes), Outside()
    for pull, ct in zip(pulls, slopes, strict=True):
        total = total + pull(ct)[1]
    return moved, total
