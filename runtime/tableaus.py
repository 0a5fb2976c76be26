"""One-step methods for ordinary differential equations, as tableaus of coefficients with a continuous extension.

Stage j has the slope K_j = f(t + c_j h, y + h Σ_l a_jl K_l), and inside the step y(t + x h) = y + h Σ_j w_j(x) K_j.
See Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, II.6, and Hairer & Wanner, II, IV.5.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial, legendre


class Tableau(NamedTuple):
    """The coefficients of a method; `weights(x)` gives a column for each x in [0, 1].

    `needed` says which stages others need.
    """

    a: Any
    c: Any
    weights: Callable[[Any], Any]
    order: int
    implicit: bool = False
    needed: Any = None


def explicit(solver: Any) -> Tableau:
    """The explicit Runge-Kutta method of a solver class with the coefficients A, B, C and P."""
    if hasattr(solver, "A_EXTRA"):
        return _dormand_prince_853(solver)
    stages = len(solver.B)
    a = np.zeros((stages + 1, stages + 1))
    a[:stages, : solver.A.shape[1]] = solver.A
    a[stages, :stages] = solver.B
    end = np.append(solver.B, 0.0)
    powers = np.arange(1, solver.P.shape[1] + 1)

    def weights(x: Any) -> Any:
        # The interpolant meets the step's end up to rounding only.
        return np.where(x == 1, end[:, None], solver.P @ x ** powers[:, None])

    return Tableau(a, np.append(solver.C, 1.0), weights, solver.order, needed=np.any(a != 0, axis=0))


def _dormand_prince_853(solver: Any) -> Tableau:
    stages, total = len(solver.B), solver.A_EXTRA.shape[1]
    a = np.zeros((total, total))
    a[:stages, :stages] = solver.A[:stages, :stages]
    a[stages, :stages] = solver.B
    a[stages + 1 :] = solver.A_EXTRA
    c = np.concatenate([solver.C[:stages], [1.0], solver.C_EXTRA])
    end, first, last = np.zeros((3, total))
    end[:stages], first[0], last[stages] = solver.B, 1.0, 1.0
    rows = np.stack([end, first - end, 2 * end - first - last, *solver.D])

    def weights(x: Any) -> Any:
        total = np.zeros((rows.shape[1], x.size))
        for i, row in enumerate(rows[::-1]):
            total = (total + row[:, None]) * (x if i % 2 == 0 else 1 - x)
        return total

    return Tableau(a, c, weights, solver.order, needed=np.any(a != 0, axis=0))


@functools.cache
def radau(stages: int) -> Tableau:
    """Radau IIA, the collocation at the right Radau points: of order 2 * stages - 1, and L-stable."""
    nodes = np.zeros(stages + 1)
    nodes[stages - 1 :] = -1.0, 1.0
    c = (np.sort(legendre.legroots(nodes).real) + 1) / 2
    c[-1] = 1.0
    integrals = []
    for j in range(stages):
        others = np.delete(c, j)
        integrals.append((Polynomial.fromroots(others) / np.prod(c[j] - others)).integ())

    def weights(x: Any) -> Any:
        return np.stack([integral(x) for integral in integrals])

    return Tableau(weights(c).T, c, weights, 2 * stages - 1, True)
