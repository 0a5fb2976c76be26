"""What solvers of ordinary differential equations return, with the derivatives of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.adjoint import Adjoint, Field, Outputs, Steps, coarser
from adcompiler.runtime.callbacks import Outside, shaped
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.tableaus import Tableau, explicit, radau

_EXPLICIT = ("RK23", "RK45", "DOP853")
# Collocation with as many stages as the steps of the method ask for.
_STAGES = {"Radau": 3, "BDF": 3, "LSODA": 5}


def tableau_of(method: Any, integrate: Any) -> Tableau | None:
    """The method that is differentiated for a solver of `scipy.integrate`, by name or class; None if there is none."""
    name = method if isinstance(method, str) else getattr(method, "__name__", None)
    solver = getattr(integrate, str(name), None)
    if solver is None or (not isinstance(method, str) and method is not solver):
        return None
    return explicit(solver) if name in _EXPLICIT else radau(_STAGES[name]) if name in _STAGES else None


def solution_back(
    field: Field, sol: Any, tableau: Tableau, again: Callable[[], Any], tolerances: tuple[Any, Any], chosen: bool
) -> Callable[[Any, Any, bool], tuple[Any, Any, Any, Outside]]:
    """From the cotangents of `sol.y` and `sol.t` to those of the start, of the times, of the first time, and outside.

    `again` solves once more with the states between the steps; `chosen` says that the times are not the steps.
    """
    times, states = np.array(sol.t), np.array(sol.y).T
    _refuse_complex(tableau, states)

    def back(y_bar: Any, t_bar: Any, timed: bool) -> tuple[Any, Any, Any, Outside]:
        rows = np.zeros_like(states) if y_bar is None else np.asarray(y_bar).T
        if len(times) < 2 and not chosen:
            return rows.sum(0), t_bar, None, Outside()
        dense = functools.cache(again)
        steps = Steps(times, states, lambda t: dense().sol(t))
        if chosen or tableau.implicit:
            steps = _steps(field, dense(), tableau, tolerances)
        start_bar, outside = Adjoint(field, steps, tableau, np.min(tolerances[0])).run(Outputs(times, rows))
        if not timed:
            return start_bar, None, None, outside
        times_bar = _times_bar(field, times, states, rows)
        if t_bar is not None:
            times_bar = times_bar + t_bar
        t0_bar = -_product(start_bar, field.slope(steps.t[0], steps.y[0]))
        return start_bar, times_bar, t0_bar, outside

    return back


def path_back(
    field: Field, times: Any, states: Any, again: Callable[[], Any], tableau: Tableau, tolerances: tuple[Any, Any]
) -> Callable[[Any, bool], tuple[Any, Any, Outside]]:
    """From the cotangent of the states at given times, the first of them at the start; see `solution_back`."""
    states = np.array(states)

    def back(rows: Any, timed: bool) -> tuple[Any, Any, Outside]:
        rows = np.asarray(rows)
        if len(times) < 2 or times[0] == times[-1]:
            return rows.sum(0), np.zeros_like(times) if timed else None, Outside()
        steps = _steps(field, again(), tableau, tolerances)
        start_bar, outside = Adjoint(field, steps, tableau, np.min(tolerances[0])).run(Outputs(times, rows))
        if not timed:
            return start_bar, None, outside
        times_bar = _times_bar(field, times, states, rows)
        times_bar[0] -= _product(start_bar, field.slope(times[0], states[0]))
        return start_bar, times_bar, outside

    return back


def _steps(field: Field, sol: Any, tableau: Tableau, tolerances: tuple[Any, Any]) -> Steps:
    """The steps of a solution with states in between; fewer, if the method is implicit and does not need them all."""
    steps = Steps(np.array(sol.t), np.array(sol.y).T, sol.sol)
    if not tableau.implicit:
        return steps
    return coarser(field, steps, tableau, lambda y: tolerances[1] + tolerances[0] * np.abs(y))


def _times_bar(field: Field, times: Any, states: Any, rows: Any) -> Any:
    """The cotangent of each time at which a state was asked for: the solution moves with its slope."""
    pairs = zip(times, states, rows, strict=True)
    return np.array([_product(row, field.slope(t, y)) if np.any(row) else 0.0 for t, y, row in pairs])


def _product(y_bar: Any, slope: Any) -> Any:
    return np.sum(np.real(np.conj(slope) * y_bar))


def span_bars(times_bar: Any, t0_bar: Any, t_span: Any, t_eval: Any) -> tuple[Any, Any]:
    """The cotangents of `t_span` and `t_eval`; without the latter the solution is at the ends, and at the steps."""
    if times_bar is None:
        return None, None
    if t_eval is not None:
        return shaped(np.array([t0_bar or 0.0, 0.0]), t_span), shaped(times_bar, t_eval)
    return shaped(np.array([times_bar[0] + (t0_bar or 0.0), times_bar[-1]]), t_span), None


def _refuse_complex(tableau: Tableau, states: Any) -> None:
    if tableau.implicit and np.iscomplexobj(states):
        raise NoRuleError(
            "a complex solution of an implicit method is not differentiated\n"
            "Use one of the methods RK23, RK45 and DOP853, or integrate real and imaginary part."
        )
