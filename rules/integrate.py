"""Rules for scipy.integrate: the integral of a derivative, and the adjoint of an ordinary differential equation.

What depends on a parameter only by the choice of nodes and steps is a constant: the error estimates have no derivative.
"""

import numpy as np
from scipy import integrate, special

from adcompiler.rules.registry import refused, rrule
from adcompiler.runtime.callbacks import Callback, taken
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.quadrature import Integrand, fixed_bars, inside, limit_bars

refused(
    integrate.dblquad,
    integrate.tplquad,
    integrate.nquad,
    why="The inner limits are functions of their own, and each inner integral would need a derivative at each point.\n"
    "Nest quad: quad(lambda x: quad(lambda y: f(y, x), g(x), h(x))[0], a, b)[0].",
)


@rrule(integrate.quad, kind="unknown", accepts=(object,))
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


@rrule(integrate.quad_vec, kind="unknown", accepts=(object,))
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


@rrule(integrate.fixed_quad, kind="unknown", accepts=(object,))
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
