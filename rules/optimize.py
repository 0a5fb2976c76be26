"""Rules for the minimisers and fits of scipy.optimize, differentiated by the equations that their solutions solve.

Gradients go to `args` and to what the functions captured; where the iteration began has no influence on the solution.
A solution that did not converge gets the derivative of the nearby exact one.
"""

import numpy as np
from scipy import optimize

from adcompiler.rules import roots as roots  # the root finders load with the minimisers
from adcompiler.rules.registry import non_differentiable, refused, rrule
from adcompiler.runtime.callbacks import Callback, taken
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.solutions import (
    Fit,
    between,
    fitted,
    given,
    least_squares_solution,
    limits,
    limits_of_fit,
    minimum,
    nonnegative_bar,
    refuse_active_bounds,
    search_tolerance,
)

non_differentiable(optimize.linear_sum_assignment, kind="tuple")
refused(
    optimize.linprog,
    optimize.milp,
    why="The solution is a corner of a polyhedron, which stays or jumps when the costs change.\n"
    "Use stop_gradient() of the solution x, and compute the costs from it: c @ x has the right derivative.",
)


@rrule(optimize.Bounds, result="fresh", kind="unknown")
def bounds(lb=-np.inf, ub=np.inf, keep_feasible=False):
    y = optimize.Bounds(lb, ub, keep_feasible)

    def pullback(y_bar):
        lb_bar, ub_bar = taken(y_bar, ("lb", "ub"), vars(y), "Bounds")
        return lb_bar, ub_bar, None

    return y, pullback


# Minima


@rrule(optimize.minimize, result="fresh", kind="unknown", accepts=(object,))
def minimize(
    fun,
    x0,
    args=(),
    method=None,
    jac=None,
    hess=None,
    hessp=None,
    bounds=None,
    constraints=(),
    tol=None,
    callback=None,
    options=None,
    *,
    needs,
    config,
):
    """By the envelope theorem for `.fun`, and for `.x` through the Hessian of the objective.

    Where `jac` is a function or True, the Hessian is the derivative of the gradient that it computes: exact. Else it is
    a difference of exact gradients, see `runtime.implicit`.
    """
    if np.size(constraints):
        raise NoRuleError(
            "minimize with constraints is not differentiated: its solution depends on which of them are active\n"
            "Put the constraints into the variables, or the equations of the minimum into scipy.optimize.root."
        )
    y = optimize.minimize(fun, x0, args, method, jac, hess, hessp, bounds, constraints, tol, callback, options)
    low, high = limits(bounds, y.x.size)
    free = between(y.x, low, high, 1e-6 if str(method).lower() == "trust-constr" else 0.0)  # it stays inside
    refuse_active_bounds(needs[7], free, "minimize")
    gradient = Callback(config, jac, args, (needs[4], needs[2])) if callable(jac) else jac
    back = minimum(Callback(config, fun, args, (needs[0], needs[2])), gradient, y, free, "minimize")

    def pullback(y_bar):
        (f_bar, jac_bar), args_bar = back(y_bar)
        return f_bar, None, args_bar, None, jac_bar, None, None, None, None, None, None, None

    return y, pullback


@rrule(optimize.minimize_scalar, result="fresh", kind="unknown", accepts=(object,))
def minimize_scalar(fun, bracket=None, bounds=None, args=(), method=None, tol=None, options=None, *, needs, config):
    """As `minimize`; the bounds are of the search, and a minimum at one of them does not move."""
    y = optimize.minimize_scalar(fun, bracket, bounds, args, method, tol, options)
    low, high = (-np.inf, np.inf) if bounds is None else bounds
    free = between(y.x, low, high, search_tolerance(options, tol, y.x, low, high))
    refuse_active_bounds(needs[2], free, "minimize_scalar")
    back = minimum(Callback(config, fun, args, (needs[0], needs[3])), None, y, free, "minimize_scalar")

    def pullback(y_bar):
        (f_bar, _), args_bar = back(y_bar)
        return f_bar, None, None, args_bar, None, None, None

    return y, pullback


# Least squares


@rrule(optimize.least_squares, result="fresh", kind="unknown", accepts=(object,))
def least_squares(
    fun,
    x0,
    jac="2-point",
    bounds=(-np.inf, np.inf),
    method="trf",
    ftol=1e-8,
    xtol=1e-8,
    gtol=1e-8,
    x_scale=None,
    loss="linear",
    f_scale=1.0,
    diff_step=None,
    tr_solver=None,
    tr_options=None,
    jac_sparsity=None,
    max_nfev=None,
    verbose=0,
    args=(),
    kwargs=None,
    callback=None,
    workers=None,
    *,
    needs,
    config,
):
    """The Gauss-Newton part of the second derivatives is exact, the rest a difference of exact gradients.

    Declines keyword arguments for the function: it may capture them.
    """
    if kwargs:
        return NotImplemented
    options = dict(x_scale=x_scale, tr_options=tr_options, callback=callback, workers=workers, tr_solver=tr_solver)
    rest = given(**options, diff_step=diff_step, jac_sparsity=jac_sparsity, max_nfev=max_nfev, verbose=verbose)
    y = optimize.least_squares(
        fun, x0, jac, bounds, method, ftol, xtol, gtol, loss=loss, f_scale=f_scale, args=args, **rest
    )
    free = y.active_mask == 0
    refuse_active_bounds(needs[3], free, "least_squares")
    f = Callback(config, fun, args, (needs[0], needs[17]))
    back = least_squares_solution(f, y, free, loss, f_scale)

    def pullback(y_bar):
        f_bar, args_bar = back(y_bar)
        return f_bar, *(None,) * 16, args_bar, None, None, None

    return y, pullback


@rrule(optimize.curve_fit, result="fresh", kind="unknown", accepts=(object,))
def curve_fit(
    f,
    xdata,
    ydata,
    p0=None,
    sigma=None,
    absolute_sigma=False,
    check_finite=None,
    bounds=(-np.inf, np.inf),
    method=None,
    jac=None,
    *,
    full_output=False,
    nan_policy=None,
    ftol=1e-8,
    xtol=1e-8,
    gtol=None,
    maxfev=None,
    epsfcn=None,
    factor=None,
    diag=None,
    max_nfev=None,
    x_scale=None,
    loss="linear",
    f_scale=1.0,
    diff_step=None,
    verbose=None,
    needs,
    config,
):
    """The parameters, as `least_squares`; their covariance has no derivative. Declines to leave out points with nan."""
    if nan_policy == "omit":
        return NotImplemented
    robust = dict(loss=loss, f_scale=f_scale) if loss != "linear" else {}
    options = dict(gtol=gtol, maxfev=maxfev, epsfcn=epsfcn, factor=factor, diag=diag, full_output=full_output)
    rest = given(**options, max_nfev=max_nfev, x_scale=x_scale, diff_step=diff_step, verbose=verbose)
    y = optimize.curve_fit(
        f, xdata, ydata, p0, sigma, absolute_sigma, check_finite, bounds, method, jac, ftol=ftol, xtol=xtol,
        nan_policy=nan_policy, **rest, **robust,
    )  # fmt: skip
    low, high = limits_of_fit(bounds, y[0].size)
    free = between(y[0], low, high, 1e-8 * np.maximum(1.0, np.abs(y[0])))
    refuse_active_bounds(needs[7], free, "curve_fit")
    fit = Fit(config, f, (xdata, ydata, sigma), (needs[0], needs[1], needs[2], needs[4]))
    back = fitted(fit, y[0], free, loss, f_scale)

    def pullback(y_bar):
        f_bar, data_bar = back(*taken(y_bar, (0,), y, "curve_fit"))
        x_bar, data_y_bar, sigma_bar = data_bar or (None, None, None)
        return f_bar, x_bar, data_y_bar, None, sigma_bar, *(None,) * 20

    return y, pullback


@rrule(optimize.nnls, result="fresh", kind="tuple")
def nnls(A, b, *, maxiter=None, atol=None):
    """A least-squares solution on its support, which does not change with A and b unless it is degenerate."""
    y = optimize.nnls(A, b, **given(maxiter=maxiter, atol=atol))

    def pullback(y_bar):
        A_bar, b_bar = nonnegative_bar(y_bar, A, b, y)
        return A_bar, b_bar, None, None

    return y, pullback
