"""The adjoint of a one-step method: cotangents of an ODE's solution go to its start, its parameters and its times.

The steps of the forward solution are taken backwards, each from the state that it had started from; see Sandu, On the
properties of Runge-Kutta discrete adjoints (2006). The step sizes are constants; steps that are too wide for the
derivative are divided. Solutions of multistep methods are differentiated as those of a collocation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adcompiler.runtime.callbacks import Callback, Outside, dense, flat, shaped
from adcompiler.runtime.errors import DifferentiationError
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
    between: Callable[[Any], Any]


class Outputs(NamedTuple):
    """Times at which a solution was asked for, and the cotangents of the states there, one in each row."""

    t: Any
    bars: Any


_HALVINGS = 12


class Adjoint:
    """The reverse of the steps of a solution with one method, to the relative tolerance of the solution."""

    def __init__(self, field: Field, steps: Steps, method: Tableau, rtol: float) -> None:
        self.field = field
        self.steps = steps
        self.method = method
        self.ends = method.weights(np.ones(1))[:, 0]
        self.stage = _implicit if method.implicit else _explicit
        self.tolerance = min(10 * rtol, 0.01)
        # Where the terms that the method leaves out of exp(q) are small, a step is not looked at again.
        self.limit = (self.tolerance * math.factorial(method.order + 1)) ** (1 / (method.order + 1))

    def run(self, outputs: Outputs) -> tuple[Any, Outside]:
        """The cotangents of the state at the start and of the outside."""
        times, states, _ = self.steps
        total = Outside()
        state = np.zeros(states.shape[1], dtype=np.result_type(outputs.bars, float))
        way = np.sign(times[-1] - times[0])
        owner = np.clip(np.searchsorted(way * times, way * outputs.t, side="left") - 1, 0, len(times) - 2)
        order = np.argsort(owner, kind="stable")
        cuts = np.searchsorted(owner[order], np.arange(len(times)))
        for i in reversed(range(len(times) - 1)):
            chosen = order[cuts[i] : cuts[i + 1]]
            inside = Outputs(outputs.t[chosen], outputs.bars[chosen])
            state, outside = self.checked(times[i], times[i + 1] - times[i], states[i], state, inside, _HALVINGS)
            total = total + outside
        return state, total

    def step(self, t: Any, h: Any, y: Any, state: Any, outputs: Outputs) -> tuple[Any, Outside, bool]:
        """One step from t with width h: the cotangent of the state y there, and whether the step may be too wide."""
        if h == 0:
            return state + outputs.bars.sum(0), Outside(), False
        slopes_bar = np.outer(self.ends, state)
        if outputs.t.size:
            slopes_bar = slopes_bar + self.method.weights((outputs.t - t) / h) @ outputs.bars
            state = state + outputs.bars.sum(0)
        if not np.any(slopes_bar):
            return state, Outside(), False
        moved, outside, matrix = self.stage(self.field, self.steps, self.method, (t, h, y), h * slopes_bar)
        size = np.linalg.norm(state) or 1.0
        if matrix is None:
            return state + moved, outside, np.linalg.norm(moved) > self.limit * size
        way = np.linalg.norm(matrix @ state)
        return state + moved, outside, way > self.limit * size and self.misses(matrix, state)

    def misses(self, matrix: Any, state: Any) -> bool:
        """Whether a step differs from exp(matrix) @ state, the solution of the adjoint equation for a constant one.

        Modes that decay fast are fine with a method that lets them decay; those that turn or grow need small steps.
        """
        values, vectors = np.linalg.eig(matrix)
        parts = np.linalg.lstsq(vectors, state.astype(complex))[0]
        stages = len(self.ends)
        inverse = np.linalg.solve(np.eye(stages) - values[:, None, None] * self.method.a, np.ones((stages, 1)))
        factor = 1 + values * (inverse[:, :, 0] @ self.ends)
        with np.errstate(over="ignore", invalid="ignore"):
            difference = vectors @ ((factor - np.exp(values)) * parts)
        return not np.linalg.norm(difference) <= self.tolerance * np.linalg.norm(state)

    def checked(self, t: Any, h: Any, y: Any, state: Any, outputs: Outputs, depth: int) -> tuple[Any, Outside]:
        """A step, or smaller ones if these give something else.

        The width was chosen for the solution; where that is at rest, its derivative may move all the same.
        """
        start, outside, wide = self.step(t, h, y, state, outputs)
        if not wide:
            return start, outside
        if not depth:
            raise DifferentiationError(
                "the derivative of the solution needs far smaller steps than the solution itself\n"
                "Use an implicit method (Radau), or a smaller max_step."
            )
        if not self.method.implicit:
            scale = np.linalg.norm(state) + np.linalg.norm(outputs.bars)
            between, total = self.twice(t, h, y, state, outputs, lambda *half: self.step(*half)[:2])
            if np.linalg.norm(between - start) <= self.tolerance * scale:
                return between, total
        return self.twice(t, h, y, state, outputs, functools.partial(self.checked, depth=depth - 1))

    def twice(self, t: Any, h: Any, y: Any, state: Any, outputs: Outputs, take: Any) -> tuple[Any, Outside]:
        """A step as two, the later one first."""
        middle = t + h / 2
        late = (outputs.t - middle) * h > 0
        second, first = (Outputs(outputs.t[part], outputs.bars[part]) for part in (late, ~late))
        state, later = take(middle, h / 2, self.steps.between(middle), state, second)
        state, earlier = take(t, h / 2, y, state, first)
        return state, later + earlier


def _explicit(
    field: Field, steps: Steps, method: Tableau, step: tuple[Any, Any, Any], slopes_bar: Any
) -> tuple[Any, Outside, Any]:
    """How far one step of an explicit method moves the cotangent, and the outside's: its stages again, and back."""
    t, h, y = step
    wanted = np.any(slopes_bar, 1)
    last = np.max(np.flatnonzero(wanted))
    slopes, pulls = np.zeros(slopes_bar.shape, dtype=np.result_type(y, float)), {}
    for j in range(last + 1):
        if wanted[j] or method.needed[j]:
            slopes[j], pulls[j] = field.at(t + method.c[j] * h, y + h * (method.a[j, :j] @ slopes[:j]))
    moved, total = np.zeros_like(slopes[0]), Outside()
    for j in reversed(list(pulls)):
        if wanted[j] or np.any(slopes_bar[j]):
            stage_bar, outside = pulls[j](slopes_bar[j])
            slopes_bar[:j] += (h * method.a[j, :j, None]) * stage_bar
            moved, total = moved + stage_bar, total + outside
    return moved, total, None


def _implicit(
    field: Field, steps: Steps, method: Tableau, step: tuple[Any, Any, Any], slopes_bar: Any
) -> tuple[Any, Outside, Any]:
    """The same of a collocation method, and its matrix: the adjoint of the linear system of the stages."""
    t, h, _ = step
    stages, size = slopes_bar.shape
    states = steps.between(t + method.c * h).T
    pulls = [field.at(t + c * h, y)[1] for c, y in zip(method.c, states, strict=True)]
    unit = np.eye(size)
    jacobians = np.stack([[pull(e)[0] for e in unit] for pull in pulls])
    coupling = np.einsum("lj,lba->jalb", h * method.a, jacobians).reshape(stages * size, -1)
    slopes = np.linalg.solve(np.eye(stages * size) - coupling, slopes_bar.ravel()).reshape(stages, size)
    moved, total = np.einsum("jba,jb->a", jacobians, slopes), Outside()
    if any(field.f.wanted):
        for pull, ct in zip(pulls, slopes, strict=True):
            total = total + pull(ct)[1]
    return moved, total, h * jacobians[-1].T


def coarser(field: Field, steps: Steps, method: Tableau, tolerance: Callable[[Any], Any]) -> Steps:
    """As few steps as the collocation needs, if the solution came from a method with many small ones.

    Steps are joined as long as the states between them solve the equations of the collocation to the tolerance.
    """
    chosen, i, count = [0], 0, 1
    last = len(steps.t) - 1
    while i < last:
        count = min(count, last - i)
        while count > 1 and not _solves(field, steps, method, tolerance, steps.t[i], steps.t[i + count]):
            count //= 2
        i += count
        chosen.append(i)
        count *= 2
    return Steps(steps.t[chosen], steps.y[chosen], steps.between)


def _solves(field: Field, steps: Steps, method: Tableau, tolerance: Callable[[Any], Any], start: Any, end: Any) -> bool:
    h = end - start
    states = steps.between(start + np.append(0.0, method.c) * h).T
    slopes = np.stack([field.slope(start + c * h, y) for c, y in zip(method.c, states[1:], strict=True)])
    return bool(np.all(np.abs(states[1:] - states[0] - h * (method.a @ slopes)) <= tolerance(states[0])))
