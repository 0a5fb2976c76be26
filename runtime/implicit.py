"""Derivatives of solutions, by the implicit function theorem: where F(x, p) = 0, x' = -(∂F/∂x)⁻¹ ∂F/∂p.

See Griewank & Walther, Evaluating Derivatives (2nd ed.), chapter 15, and Blondel et al., Efficient and modular implicit
differentiation (2022). Nothing here looks at how the solution was found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adcompiler.runtime.callbacks import Outside, Pull, dense, flat, shaped
from adcompiler.runtime.errors import DifferentiationError

Gradient = Callable[[Any], tuple[Any, Outside]]


def jacobian(pull: Pull, y: Any, x: Any) -> Any:
    """The matrix of ∂yᵢ/∂xⱼ of a function with the pullback `pull`, row by row."""
    return np.stack([flat(dense(pull(shaped(e, y))[0][0], x)) for e in np.eye(flat(y).size)])


def solved(matrix: Any, right: Any, what: str) -> Any:
    """The solution of a square system; raises DifferentiationError if the matrix is singular."""
    if right.size == 0:
        return right
    with np.errstate(all="ignore"):
        usable = np.all(np.isfinite(matrix)) and np.linalg.cond(matrix) < 1e14
    if not usable:
        raise DifferentiationError(
            f"{what} is singular or not finite at the solution, so that the solution has no derivative\n"
            "Solve a problem whose solution is isolated, or use stop_gradient() of the solution."
        )
    return np.linalg.solve(matrix, right)


def root_pull(pull: Pull, y: Any, x: Any, shift: float = 0.0) -> Callable[[Any], Outside]:
    """The cotangents of what f depends on besides x, from that of the solution x of f(x) - shift * x = 0.

    `pull` is the pullback of f at x, and y the value there.
    """

    def back(x_bar: Any) -> Outside:
        size = flat(x).size
        if flat(y).size != size:
            raise DifferentiationError(
                f"the function has {flat(y).size} values for {size} unknowns\nSolve a system with as many equations."
            )
        matrix = jacobian(pull, y, x) - shift * np.eye(size)
        u = solved(matrix.T, -flat(dense(x_bar, x)), "the Jacobian")
        return pull(shaped(u, y))[1]

    return back


def scalar_root_pull(pull: Pull, y: Any, x: Any) -> Callable[[Any], Outside]:
    """The same for one equation in one unknown, or an elementwise function of an array (also a complex one)."""

    def back(x_bar: Any) -> Outside:
        slope = flat(dense(pull(shaped(np.ones(flat(y).size), y))[0][0], x))
        right = flat(dense(x_bar, x))
        if not np.all(np.isfinite(slope) & ((slope != 0) | (right == 0))):
            raise DifferentiationError(
                "the slope of the function is zero or not finite at the root, so that the root has no derivative\n"
                "Solve for a simple root, or use stop_gradient() of the root."
            )
        u = -np.divide(right, slope, out=np.zeros(right.shape, np.result_type(right, slope)), where=right != 0)
        return pull(shaped(u, y))[1]

    return back


class Curvature(NamedTuple):
    """The second derivatives of a function at its minimum x: `product(v)` gives (H v, ∂(∇f·v)/∂p).

    H is the Hessian in x, and p all that the function depends on besides x.
    """

    product: Callable[[Any], tuple[Any, Outside]]
    x: Any


def curvature_by_differences(gradient: Gradient, x: Any) -> Curvature:
    """Second derivatives as differences of exact gradients; `gradient(x)` gives (∂f/∂x, ∂f/∂p).

    Central differences with two steps, extrapolated (Richardson): the error is of fourth order. The first step is a
    thousandth of the greater of |xᵢ| and 1, and it is reduced until the two differences agree.
    """

    def product(v: Any) -> tuple[Any, Outside]:
        size = np.max(np.abs(v) / np.maximum(np.abs(x), 1.0))
        if size == 0:
            return np.zeros_like(x), Outside()
        best: Any = None
        for reduction in (1.0, 1 / 16, 1 / 256):
            step = 1e-3 * reduction / size
            coarse, fine = (_central(gradient, x, v, h) for h in (step, step / 2))
            error = np.max(np.abs(fine[0] - coarse[0])) / (np.max(np.abs(fine[0])) or 1.0)
            if best is None or error < best[0]:
                best = error, coarse, fine
            if error < 1e-5:
                break
        _, coarse, fine = best
        return (4 * fine[0] - coarse[0]) / 3, fine[1].times(4 / 3) + coarse[1].times(-1 / 3)

    return Curvature(product, x)


def _central(gradient: Gradient, x: Any, v: Any, h: Any) -> tuple[Any, Outside]:
    ahead, behind = gradient(x + h * v), gradient(x - h * v)
    return (ahead[0] - behind[0]) / (2 * h), (ahead[1] + behind[1].times(-1.0)).times(1 / (2 * h))


def curvature_of_gradient(pull: Pull, y: Any, x: Any) -> Curvature:
    """Second derivatives from the pullback of a function that computes the gradient y at x: exact."""

    def product(v: Any) -> tuple[Any, Outside]:
        (x_bar,), outside = pull(shaped(v, y))
        return flat(dense(x_bar, x)), outside

    return Curvature(product, x)


def curvature_of_squares(f: Any, x: Any) -> Curvature:
    """Second derivatives of ½ |f(x)|², with `f.at` as of a `Callback`.

    The Gauss-Newton part is exact, the part with f'' a difference.
    """
    y, pull = f.at(x)
    matrix, residual = jacobian(pull, y, x), flat(y)
    second = curvature_by_differences(lambda point: _pulled(f, point, residual), x)

    def product(v: Any) -> tuple[Any, Outside]:
        image = matrix @ v
        bent = second.product(v) if np.any(residual) else (0.0, Outside())
        return matrix.T @ image + bent[0], pull(shaped(image, y))[1] + bent[1]

    return Curvature(product, x)


def _pulled(f: Any, x: Any, y_bar: Any) -> tuple[Any, Outside]:
    y, pull = f.at(x)
    (x_bar,), outside = pull(shaped(y_bar, y))
    return flat(dense(x_bar, x)), outside


def minimum_bar(curvature: Curvature, x_bar: Any, free: Any) -> Outside:
    """The cotangents of what a function depends on, from that of its minimum; only `free` variables move.

    What stays at an active bound has no sensitivity.
    """
    x_bar = np.where(free, flat(dense(x_bar, curvature.x)), 0.0)
    if not np.any(x_bar):
        return Outside()
    places = np.flatnonzero(free)
    columns = [curvature.product(e)[0][places] for e in np.eye(curvature.x.size)[places]]
    hessian = np.stack(columns)
    v = np.zeros(curvature.x.size)
    v[places] = solved((hessian + hessian.T) / 2, -x_bar[places], "the Hessian")
    return curvature.product(v)[1]
