"""Rules for scipy.integrate: the integral of a derivative, and the adjoint of an ordinary differential equation.

What depends on a parameter only by the choice of nodes and steps is a constant: the error estimates have no derivative.
"""

import numpy as np
from scipy import integrate, special

from adcompiler.rules.registry import refused, rrule
from adcompiler.runtime.adjoint import Field
from adcompiler.runtime.callbacks import Callback, shaped, taken
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.odes import path_back, solution_back, span_bars, tableau_of
from adcompiler.runtime.quadrature import Integrand, fixed_bars, inside, limit_bars
from adcompiler.runtime.samples import cumulative_bars, romberg_bars, simpson_bars, trapezoid_bars
from adcompiler.runtime.solutions import given

refused(
    integrate.dblquad,
    integrate.tplquad,
    integrate.nquad,
    why="The inner limits are functions of their own, and each inner integral would need a derivative at each point.\n"
    "Nest quad: quad(lambda x: quad(lambda y: f(y, x), g(x), h(x))[0], a, b)[0].",
)
refused(
    integrate.OdeSolution.__call__,
    why="The solution between the steps is an interpolation, whose derivative is not given.\n"
    "Ask for the times that you need with t_eval.",
)


@rrule(integrate.quad, result="fresh", kind="unknown", accepts=(object,))
def quad(
    func,
    a,
    b,
    args=(),
    full_output=0,
    epsabs=1.49e-8,
    epsrel=1.49e-8,
    limit=50,
    points=None,
    weight=None,
    wvar=None,
    wopts=None,
    maxp1=50,
    limlst=50,
    complex_func=False,
    *,
    needs,
    config,
):
    if weight is not None:
        raise NoRuleError(
            "quad with weight= is not differentiated: the limits and wvar are parameters of the weight too\n"
            "Write the weight into the function."
        )
    options = dict(full_output=full_output, epsabs=epsabs, epsrel=epsrel, limit=limit, points=points)
    y = integrate.quad(func, a, b, args, **options, complex_func=complex_func)
    f = Callback(config, func, args, (needs[0], needs[3]))

    def component(g, i, is_complex, scale):
        found = integrate.quad(
            lambda x: g(x)[i], a, b, epsabs=epsabs * scale, epsrel=epsrel, limit=limit, points=points,
            complex_func=is_complex,
        )  # fmt: skip
        return found[0]

    def pullback(y_bar):
        (area_bar,) = taken(y_bar, (0,), y, "quad")
        if area_bar is None:
            return (None,) * 15
        scale = np.abs(area_bar) or 1.0
        f_bar, args_bar = Integrand(f, area_bar).integral(
            lambda g, size, is_complex: [component(g, i, is_complex, scale) for i in range(size)], inside(a, b)
        )
        a_bar, b_bar = limit_bars(f, a, b, needs[1:3], area_bar)
        return f_bar, a_bar, b_bar, args_bar, *(None,) * 11

    return y, pullback


@rrule(integrate.quad_vec, result="fresh", kind="unknown", accepts=(object,))
def quad_vec(
    f,
    a,
    b,
    epsabs=1e-200,
    epsrel=1e-8,
    norm="2",
    cache_size=100e6,
    limit=10000,
    workers=1,
    points=None,
    quadrature=None,
    full_output=False,
    *,
    args=(),
    needs,
    config,
):
    options = dict(cache_size=cache_size, limit=limit, points=points, quadrature=quadrature)
    y = integrate.quad_vec(
        f, a, b, epsabs, epsrel, norm, workers=workers, full_output=full_output, args=args, **options
    )
    function = Callback(config, f, args, (needs[0], needs[12]))

    def pullback(y_bar):
        (area_bar,) = taken(y_bar, (0,), y, "quad_vec")
        if area_bar is None:
            return (None,) * 13
        scale = np.max(np.abs(area_bar)) or 1.0
        f_bar, args_bar = Integrand(function, area_bar).integral(
            lambda g, size, _: integrate.quad_vec(g, a, b, epsabs * scale, epsrel, norm, **options)[0], inside(a, b)
        )
        a_bar, b_bar = limit_bars(function, a, b, needs[1:3], area_bar)
        return f_bar, a_bar, b_bar, *(None,) * 9, args_bar

    return y, pullback


@rrule(integrate.fixed_quad, result="fresh", kind="unknown", accepts=(object,))
def fixed_quad(func, a, b, args=(), n=5, *, needs, config):
    y = integrate.fixed_quad(func, a, b, args, n)
    f = Callback(config, func, args, (needs[0], needs[3]))

    def pullback(y_bar):
        (area_bar,) = taken(y_bar, (0,), y, "fixed_quad")
        if area_bar is None:
            return (None,) * 5
        a_bar, b_bar, (f_bar, args_bar) = fixed_bars(f, a, b, special.roots_legendre(n), area_bar)
        return f_bar, a_bar, b_bar, args_bar, None

    return y, pullback


# Differential equations


@rrule(integrate.solve_ivp, result="fresh", kind="unknown", accepts=(object,))
def solve_ivp(
    fun,
    t_span,
    y0,
    method="RK45",
    t_eval=None,
    dense_output=False,
    events=None,
    vectorized=False,
    args=None,
    *,
    rtol=1e-3,
    atol=1e-6,
    jac=None,
    jac_sparsity=None,
    lband=None,
    uband=None,
    max_step=np.inf,
    first_step=None,
    min_step=None,
    needs,
    config,
):
    """The adjoint of the steps that were taken; declines methods of users.

    Of a multistep method it is that of a collocation on the same steps. Without `t_eval` the times between the ends
    are constants, as the steps are.
    """
    tableau = tableau_of(method, integrate)
    if tableau is None:
        return NotImplemented
    rest = given(jac=jac, jac_sparsity=jac_sparsity, lband=lband, uband=uband, min_step=min_step)
    options = dict(rtol=rtol, atol=atol, max_step=max_step, first_step=first_step, vectorized=vectorized, **rest)
    sol = integrate.solve_ivp(fun, t_span, y0, method, t_eval, dense_output, events, args=args, **options)
    if sol.status == 1:
        raise NoRuleError(
            "solve_ivp that was stopped by an event is not differentiated: its end depends on the solution\n"
            "Find the time of the event first, and integrate up to it."
        )
    field = Field(Callback(config, fun, args or (), (needs[0], needs[8])), columns=vectorized)

    start, ends = np.array(y0), tuple(t_span)

    def again():
        return integrate.solve_ivp(field.f.f, ends, start, method, None, True, args=field.f.args, **options)

    back = solution_back(field, sol, tableau, again, (rtol, atol), t_eval is not None)

    def pullback(sol_bar):
        t_bar, y_bar = taken(sol_bar, ("t", "y"), sol, "solve_ivp")
        if t_bar is None and y_bar is None:
            return (None,) * 18
        start_bar, times_bar, t0_bar, (f_bar, args_bar) = back(y_bar, t_bar, needs[1] or needs[4])
        span_bar, eval_bar = span_bars(times_bar, t0_bar, t_span, t_eval)
        return f_bar, span_bar, shaped(start_bar, y0), None, eval_bar, None, None, None, args_bar, *(None,) * 9

    return sol, pullback


@rrule(integrate.odeint, result="fresh", kind="unknown", accepts=(object,))
def odeint(
    func,
    y0,
    t,
    args=(),
    Dfun=None,
    col_deriv=0,
    full_output=0,
    ml=None,
    mu=None,
    rtol=None,
    atol=None,
    tcrit=None,
    h0=0.0,
    hmax=0.0,
    hmin=0.0,
    ixpr=0,
    mxstep=0,
    mxhnil=0,
    mxordn=12,
    mxords=5,
    printmessg=0,
    tfirst=False,
    *,
    needs,
    config,
):
    """The adjoint of a collocation on the steps of LSODA, which odeint calls too."""
    y = integrate.odeint(
        func, y0, t, args, Dfun, col_deriv, full_output, ml, mu, rtol, atol, tcrit, h0, hmax, hmin, ixpr, mxstep,
        mxhnil, mxordn, mxords, printmessg, tfirst,
    )  # fmt: skip
    field = Field(Callback(config, func, args, (needs[0], needs[3])), tfirst)
    states, times, start = (
        y[0] if full_output else y,
        np.array(t, dtype=float),
        np.atleast_1d(np.array(y0, dtype=float)),
    )
    rtol, atol = (1.49012e-8 if tolerance is None else tolerance for tolerance in (rtol, atol))

    def again():
        options = dict(rtol=np.min(rtol), atol=atol, dense_output=True)
        return integrate.solve_ivp(field.slope, (times[0], times[-1]), start, "LSODA", **options)

    back = path_back(field, times, states, again, tableau_of("LSODA", integrate), (rtol, atol))

    def pullback(y_bar):
        (states_bar,) = taken(y_bar, (0,), y, "odeint") if full_output else (y_bar,)
        if states_bar is None:
            return (None,) * 22
        start_bar, times_bar, (f_bar, args_bar) = back(states_bar, needs[2])
        t_bar = None if times_bar is None else shaped(times_bar, t)
        return f_bar, shaped(start_bar, y0), t_bar, args_bar, *(None,) * 18

    return y, pullback


# Samples


@rrule(integrate.trapezoid, result="fresh", linear=("y",))
def trapezoid(y, x=None, dx=1.0, axis=-1):
    area = integrate.trapezoid(y, x, dx, axis)

    def pullback(area_bar):
        y_bar, x_bar, dx_bar = trapezoid_bars(area_bar, y, x, dx, axis)
        return y_bar, x_bar, dx_bar, None

    return area, pullback


@rrule(integrate.cumulative_trapezoid, result="fresh", linear=("y",))
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    areas = integrate.cumulative_trapezoid(y, x, dx, axis, initial)

    def pullback(areas_bar):
        y_bar, x_bar, dx_bar = cumulative_bars(areas_bar, y, x, dx, axis, initial is not None)
        return y_bar, x_bar, dx_bar, None, None

    return areas, pullback


@rrule(integrate.simpson, result="fresh", linear=("y",))
def simpson(y, x=None, *, dx=1.0, axis=-1):
    area = integrate.simpson(y, x=x, dx=dx, axis=axis)

    def pullback(area_bar):
        y_bar, x_bar, dx_bar = simpson_bars(area_bar, y, x, dx, axis)
        return y_bar, x_bar, dx_bar, None

    return area, pullback


@rrule(integrate.romb, result="fresh", multilinear=("y", "dx"))
def romb(y, dx=1.0, axis=-1, show=False):
    area = integrate.romb(y, dx, axis, show)

    def pullback(area_bar):
        y_bar, dx_bar = romberg_bars(area_bar, y, dx, axis)
        return y_bar, dx_bar, None, None

    return area, pullback
