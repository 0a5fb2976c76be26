"""What the solvers of SciPy return, with the derivatives of it: roots, minima and fits.

Each function takes the problem and the result, and returns the function from the result's cotangent to an `Outside`:
the cotangents of the function that was given, and of its further arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adcompiler.runtime.callbacks import Callback, Outside, Pull, dense, flat, shaped, taken
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.frozen import frozen
from adcompiler.runtime.implicit import (
    Curvature,
    curvature_by_differences,
    curvature_of_gradient,
    curvature_of_squares,
    minimum_bar,
    root_pull,
    scalar_root_pull,
    solved,
)
from adcompiler.runtime.tangents import accumulate

Back = Callable[[Any], Outside]

# The derivatives of the loss functions of least_squares, at the squared residuals.
_LOSSES: dict[str, Callable[[Any], Any]] = {
    "soft_l1": lambda z: 1 / np.sqrt(1 + z),
    "huber": lambda z: np.where(z <= 1, 1.0, 1 / np.sqrt(np.maximum(z, 1))),
    "cauchy": lambda z: 1 / (1 + z),
    "arctan": lambda z: 1 / (1 + z * z),
}


def zero_of(f: Callback, result: Any, where: str, several: bool = False) -> Back:
    """The root of one equation, or of an elementwise function; with full output the first of several results.

    With `several`, the function gives its own derivatives behind its value.
    """
    full = isinstance(result, tuple)
    x = np.array(result[0] if full else result)[()]
    y, pull = _first(*f.at(x)) if several else f.at(x)
    back = scalar_root_pull(pull, y, x)

    def pulled(y_bar: Any) -> Outside:
        if full:
            x_bar, details = taken(y_bar, (0, 1), result, where)
            y_bar = accumulate(x_bar, *taken(details, ("root",), result[1], where))
        return Outside() if y_bar is None else back(y_bar)

    return pulled


def zero_in(f: Callback, result: Any, where: str, several: bool) -> Back:
    """The attribute `root` of a result."""
    inner = zero_of(f, result.root, where, several)
    return lambda y_bar: inner(*taken(y_bar, ("root",), result, where))


def system_root(f: Callback, x: Any, shift: float = 0.0, several: bool = False) -> Back:
    """The solution of f(x) - shift * x = 0, with as many equations as unknowns."""
    x = np.array(x)[()]
    y, pull = _first(*f.at(x)) if several else f.at(x)
    back = root_pull(pull, y, x, shift)
    return lambda x_bar: Outside() if x_bar is None else back(x_bar)


def _first(y: Any, pull: Pull) -> tuple[Any, Pull]:
    """The first value of a function that returns several."""
    return y[0], lambda ct: pull((ct, *(None for _ in y[1:])))


def minimum(f: Callback, jac: Any, result: Any, free: Any, where: str) -> Back:
    """The minimiser `x` and the minimum `fun`; `jac` computes the gradient, or tells that f does, or is something else.

    The cotangents of `jac`, where they are, stand behind those of f in `Outside.function`.
    """
    x = np.array(result.x, dtype=float)
    y, pull = f.at(x[()])
    curvature = _curvature(f, jac, x)

    def pulled(y_bar: Any) -> Outside:
        x_bar, fun_bar = taken(y_bar, ("x", "fun"), result, where)
        moved = Outside() if x_bar is None else minimum_bar(curvature, x_bar, np.reshape(free, -1))
        own = moved if not isinstance(jac, Callback) else Outside(None, moved.arguments)
        if fun_bar is not None:
            own += pull((fun_bar, None) if jac is True else shaped(flat(fun_bar), y))[1]
        return Outside((own.function, moved.function if isinstance(jac, Callback) else None), own.arguments)

    return pulled


def _curvature(f: Callback, jac: Any, x: Any) -> Curvature:
    if isinstance(jac, Callback):
        y, pull = jac.at(x)
        return curvature_of_gradient(pull, y, x)
    if jac is True:
        y, both = f.at(x)
        return curvature_of_gradient(lambda ct: both((None, ct)), y[1], x)

    def gradient(point: Any) -> tuple[Any, Outside]:
        y, pull = f.at(np.reshape(point, x.shape)[()])
        (x_bar,), outside = pull(shaped(np.ones(1), y))
        return flat(dense(x_bar, x)), outside

    return curvature_by_differences(gradient, flat(x))


def least_squares_solution(f: Callback, result: Any, free: Any, loss: Any, scale: Any) -> Back:
    """The solution `x`, the cost and the residuals `fun` of a least-squares problem."""
    x = np.array(result.x)
    y, pull = f.at(x)
    weights = _weights(loss)
    residual = flat(y)

    def pulled(y_bar: Any) -> Outside:
        x_bar, cost_bar, fun_bar = taken(y_bar, ("x", "cost", "fun"), result, "least_squares")
        outside = Outside()
        if fun_bar is not None:
            (more,), outside = pull(shaped(flat(fun_bar), y))
            x_bar = accumulate(x_bar, more)
        if cost_bar is not None:  # it does not change with x
            outside += pull(shaped(cost_bar * residual * weights((residual / scale) ** 2), y))[1]
        return outside if x_bar is None else outside + fitted(f, x, free, loss, scale)(x_bar)

    return pulled


def fitted(f: Any, x: Any, free: Any, loss: Any, scale: Any) -> Back:
    """The solution of a least-squares problem, with `f.at` as of a `Callback`."""
    x = np.array(x)
    weights = _weights(loss)

    def gradient(point: Any) -> tuple[Any, Outside]:
        y, pull = f.at(point)
        residual = flat(y)
        (x_bar,), outside = pull(shaped(residual * weights((residual / scale) ** 2), y))
        return flat(dense(x_bar, x)), outside

    def back(x_bar: Any) -> Outside:
        if x_bar is None:
            return Outside()
        curvature = curvature_of_squares(f, x) if loss == "linear" else curvature_by_differences(gradient, x)
        return minimum_bar(curvature, x_bar, free)

    return back


def _weights(loss: Any) -> Callable[[Any], Any]:
    if loss == "linear":
        return np.ones_like
    if loss in _LOSSES:
        return _LOSSES[loss]
    raise NoRuleError(
        "least squares with a loss function of their own have no derivative: its second derivative is not known\n"
        "Use one of 'linear', 'soft_l1', 'huber', 'cauchy' and 'arctan'."
    )


class Fit:
    """The weighted residuals of `f(xdata, *p)`, as a function of p; outside are (xdata, ydata, sigma)."""

    def __init__(self, config: Any, f: Any, data: tuple[Any, Any, Any], wanted: tuple[bool, ...]) -> None:
        self.config = config
        self.f = frozen(f)
        self.xdata: Any
        self.ydata: Any
        self.sigma: Any
        self.xdata, self.ydata, self.sigma = (None if d is None else np.array(d, dtype=float) for d in data)
        self.wanted = wanted
        self.root = np.linalg.cholesky(self.sigma) if np.ndim(self.sigma) == 2 else None
        if self.root is not None and wanted[3]:
            raise NoRuleError(
                "the covariance matrix sigma of curve_fit has no derivative yet\n"
                "Give sigma as a vector of standard deviations, or write the fit with least_squares."
            )

    def at(self, p: Any) -> Any:
        """The residuals and their pullback."""
        flags = (*self.wanted[:2], *(True for _ in p))
        y, back = self.config.vjp(flags, self.f, self.xdata, *p)
        residual = self.weighted(y - self.ydata)

        def pull(ct: Any) -> Any:
            inner = self.unweighted(ct)
            f_bar, x_bar, *p_bar = back(shaped(flat(inner), y))
            sigma_bar = -inner * residual if self.wanted[3] else None
            y_bar = -inner if self.wanted[2] else None
            point = np.array([0.0 if bar is None else bar for bar in p_bar])
            return (point,), Outside(f_bar, (x_bar, y_bar, sigma_bar))

        return residual, pull

    def weighted(self, values: Any) -> Any:
        """The residuals in units of their standard deviations."""
        if self.root is not None:
            return np.linalg.solve(self.root, values)
        return values if self.sigma is None else values / self.sigma

    def unweighted(self, ct: Any) -> Any:
        """The adjoint of `weighted`."""
        if self.root is not None:
            return np.linalg.solve(self.root.T, ct)
        return ct if self.sigma is None else ct / self.sigma


def limits(bounds: Any, size: int) -> tuple[Any, Any]:
    """The lower and upper bounds of `size` variables: from pairs, from an object with `lb` and `ub`, or none."""
    if bounds is None:
        return np.full(size, -np.inf), np.full(size, np.inf)
    if hasattr(bounds, "lb"):
        return np.broadcast_to(bounds.lb, size), np.broadcast_to(bounds.ub, size)
    low = np.array([-np.inf if low is None else low for low, _ in bounds], dtype=float)
    return low, np.array([np.inf if high is None else high for _, high in bounds], dtype=float)


def limits_of_fit(bounds: Any, size: int) -> tuple[Any, Any]:
    """The same of curve_fit, which takes two numbers or arrays, or an object with `lb` and `ub`."""
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    return np.broadcast_to(low, size), np.broadcast_to(high, size)


def between(x: Any, low: Any, high: Any, near: Any = 0.0) -> Any:
    """Which variables are further than `near` from their bounds."""
    return (x > low + near) & (x < high - near)


def search_tolerance(options: Any, tol: Any, x: Any, low: Any, high: Any) -> Any:
    """How near to an end of its interval a bounded search stops: it never reaches it."""
    wanted = (options or {}).get("xatol", 1e-5 if tol is None else tol)
    return np.minimum(2 * wanted + 1e-7 * np.abs(x), 0.01 * (high - low))


def refuse_active_bounds(wanted: bool, free: Any, where: str) -> None:
    """Raise NoRuleError if the solution moves with a bound that carries a derivative."""
    if wanted and not np.all(free):
        raise NoRuleError(
            f"the bounds of {where} carry a derivative, and one of them is active: this is not differentiated yet\n"
            "Fix the variable at its bound and minimise over the others."
        )


def given(**options: Any) -> dict[str, Any]:
    """The options that were given: that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def nonnegative_bar(y_bar: Any, a: Any, b: Any, y: Any) -> tuple[Any, Any]:
    """The cotangents of A and b, from those of the x >= 0 that minimises |A x - b|, and of the norm at it."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    x, norm = y
    x_bar, norm_bar = taken(y_bar, (0, 1), y, "nnls")
    residual = a @ x - b
    # The norm has a minimum at 0.
    r_bar = np.zeros(b.shape) if norm_bar is None or norm == 0 else norm_bar / norm * residual
    a_bar, b_bar = np.outer(r_bar, x), -r_bar
    support = np.flatnonzero(x > 0)
    if x_bar is None or support.size == 0:
        return a_bar, b_bar
    part = a[:, support]
    z = solved(part.T @ part, dense(x_bar, x)[support], "the matrix A.T @ A of the support")
    image = part @ z
    a_bar[:, support] -= np.outer(residual, z) + np.outer(image, x[support])
    return a_bar, b_bar + image
