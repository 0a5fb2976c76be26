"""Rules for the root finders of scipy.optimize: a root is differentiated by the equation that it solves.

Gradients go to `args` and to what the functions captured; where the search began has no influence on the root.
"""

import numpy as np
from scipy import optimize

from adcompiler.rules.registry import rrule
from adcompiler.runtime.callbacks import Callback, taken
from adcompiler.runtime.solutions import (
    system_root,
    zero_in,
    zero_of,
)

XTOL, RTOL = 2e-12, 4 * np.finfo(float).eps

# One equation with one unknown


@rrule(optimize.brentq, result="fresh", kind="unknown", accepts=(object,))
def brentq(f, a, b, args=(), xtol=XTOL, rtol=RTOL, maxiter=100, full_output=False, disp=True, *, needs, config):
    y = optimize.brentq(f, a, b, args, xtol, rtol, maxiter, full_output, disp)
    back = zero_of(Callback(config, f, args, (needs[0], needs[3])), y, "brentq")

    def pullback(y_bar):
        f_bar, args_bar = back(y_bar)
        return f_bar, None, None, args_bar, None, None, None, None, None

    return y, pullback


@rrule(optimize.brenth, result="fresh", kind="unknown", accepts=(object,))
def brenth(f, a, b, args=(), xtol=XTOL, rtol=RTOL, maxiter=100, full_output=False, disp=True, *, needs, config):
    y = optimize.brenth(f, a, b, args, xtol, rtol, maxiter, full_output, disp)
    back = zero_of(Callback(config, f, args, (needs[0], needs[3])), y, "brenth")

    def pullback(y_bar):
        f_bar, args_bar = back(y_bar)
        return f_bar, None, None, args_bar, None, None, None, None, None

    return y, pullback


@rrule(optimize.ridder, result="fresh", kind="unknown", accepts=(object,))
def ridder(f, a, b, args=(), xtol=XTOL, rtol=RTOL, maxiter=100, full_output=False, disp=True, *, needs, config):
    y = optimize.ridder(f, a, b, args, xtol, rtol, maxiter, full_output, disp)
    back = zero_of(Callback(config, f, args, (needs[0], needs[3])), y, "ridder")

    def pullback(y_bar):
        f_bar, args_bar = back(y_bar)
        return f_bar, None, None, args_bar, None, None, None, None, None

    return y, pullback


@rrule(optimize.bisect, result="fresh", kind="unknown", accepts=(object,))
def bisect(f, a, b, args=(), xtol=XTOL, rtol=RTOL, maxiter=100, full_output=False, disp=True, *, needs, config):
    y = optimize.bisect(f, a, b, args, xtol, rtol, maxiter, full_output, disp)
    back = zero_of(Callback(config, f, args, (needs[0], needs[3])), y, "bisect")

    def pullback(y_bar):
        f_bar, args_bar = back(y_bar)
        return f_bar, None, None, args_bar, None, None, None, None, None

    return y, pullback


@rrule(optimize.toms748, result="fresh", kind="unknown", accepts=(object,))
def toms748(f, a, b, args=(), k=1, xtol=XTOL, rtol=RTOL, maxiter=100, full_output=False, disp=True, *, needs, config):
    y = optimize.toms748(f, a, b, args, k, xtol, rtol, maxiter, full_output, disp)
    back = zero_of(Callback(config, f, args, (needs[0], needs[3])), y, "toms748")

    def pullback(y_bar):
        f_bar, args_bar = back(y_bar)
        return f_bar, None, None, args_bar, None, None, None, None, None, None

    return y, pullback


@rrule(optimize.newton, result="fresh", kind="unknown", accepts=(object,))
def newton(
    func,
    x0,
    fprime=None,
    args=(),
    tol=1.48e-8,
    maxiter=50,
    fprime2=None,
    x1=None,
    rtol=0.0,
    full_output=False,
    disp=True,
    *,
    needs,
    config,
):
    y = optimize.newton(func, x0, fprime, args, tol, maxiter, fprime2, x1, rtol, full_output, disp)
    back = zero_of(Callback(config, func, args, (needs[0], needs[3])), y, "newton")

    def pullback(y_bar):
        f_bar, args_bar = back(y_bar)
        return f_bar, None, None, args_bar, None, None, None, None, None, None, None

    return y, pullback


@rrule(optimize.root_scalar, result="fresh", kind="unknown", accepts=(object,))
def root_scalar(
    f,
    args=(),
    method=None,
    bracket=None,
    fprime=None,
    fprime2=None,
    x0=None,
    x1=None,
    xtol=None,
    rtol=None,
    maxiter=None,
    options=None,
    *,
    needs,
    config,
):
    y = optimize.root_scalar(f, args, method, bracket, fprime, fprime2, x0, x1, xtol, rtol, maxiter, options)
    back = zero_in(Callback(config, f, args, needs[:2]), y, "root_scalar", fprime is True)

    def pullback(y_bar):
        f_bar, args_bar = back(y_bar)
        return f_bar, args_bar, None, None, None, None, None, None, None, None, None, None

    return y, pullback


# Systems


@rrule(optimize.root, result="fresh", kind="unknown", accepts=(object,))
def root(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None, *, needs, config):
    y = optimize.root(fun, x0, args, method, jac, tol, callback, options)
    back = system_root(Callback(config, fun, args, (needs[0], needs[2])), y.x, several=jac is True)

    def pullback(y_bar):
        f_bar, args_bar = back(*taken(y_bar, ("x",), y, "root"))
        return f_bar, None, args_bar, None, None, None, None, None

    return y, pullback


@rrule(optimize.fsolve, result="fresh", kind="unknown", accepts=(object,))
def fsolve(
    func,
    x0,
    args=(),
    fprime=None,
    full_output=0,
    col_deriv=0,
    xtol=1.49012e-8,
    maxfev=0,
    band=None,
    epsfcn=None,
    factor=100,
    diag=None,
    *,
    needs,
    config,
):
    y = optimize.fsolve(func, x0, args, fprime, full_output, col_deriv, xtol, maxfev, band, epsfcn, factor, diag)
    back = system_root(Callback(config, func, args, (needs[0], needs[2])), y[0] if full_output else y)

    def pullback(y_bar):
        (x_bar,) = taken(y_bar, (0,), y, "fsolve") if full_output else (y_bar,)
        f_bar, args_bar = back(x_bar)
        return f_bar, None, args_bar, None, None, None, None, None, None, None, None, None

    return y, pullback


@rrule(optimize.fixed_point, result="fresh", kind="unknown", accepts=(object,))
def fixed_point(func, x0, args=(), xtol=1e-8, maxiter=500, method="del2", *, needs, config):
    y = optimize.fixed_point(func, x0, args, xtol, maxiter, method)
    back = system_root(Callback(config, func, args, (needs[0], needs[2])), y, shift=1.0)

    def pullback(y_bar):
        f_bar, args_bar = back(y_bar)
        return f_bar, None, args_bar, None, None, None

    return y, pullback
