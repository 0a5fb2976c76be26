"""Every rule of rules/integrate.py: quadrature, samples, and differential equations."""

import numpy as np
import pytest
from scipy import integrate

from adcompiler import gradient, pullback
from adcompiler.errors import DifferentiationError, NoRuleError
from adcompiler.testing import Input, case, check_gradient, check_rule, complex_normal, normal


def points(*shape):
    """Increasing points along the last axis."""
    return Input(lambda rng: np.cumsum(rng.uniform(0.3, 1.0, shape), -1), f"points{shape}")


CASES = [
    case(integrate.trapezoid, normal(5)),
    case(integrate.trapezoid, normal(3, 5), dx=0.5, axis=0),
    case(integrate.trapezoid, normal(3, 5), points(5)),
    case(integrate.trapezoid, normal(3, 5), points(3), axis=0),
    case(integrate.trapezoid, normal(3, 5), points(3, 5)),
    case(integrate.trapezoid, complex_normal(5), points(5)),
    case(integrate.cumulative_trapezoid, normal(5)),
    case(integrate.cumulative_trapezoid, normal(3, 5), points(5)),
    case(integrate.cumulative_trapezoid, normal(3, 5), points(3), axis=0, initial=0),
    case(integrate.cumulative_trapezoid, normal(3, 5), points(3, 5), 1.0, 1, 0),
    case(integrate.cumulative_trapezoid, normal(3, 5), dx=0.5, axis=-2),
    *(case(integrate.simpson, normal(n), x=points(n)) for n in (1, 2, 3, 4, 5, 8, 9)),
    *(case(integrate.simpson, normal(n), dx=0.3) for n in (1, 2, 3, 4, 5, 8, 9)),
    *(case(integrate.simpson, normal(n, 3), x=points(n), axis=0) for n in (4, 5)),
    *(case(integrate.simpson, normal(3, n), x=points(3, n)) for n in (2, 4, 5)),
    case(integrate.simpson, complex_normal(6), x=points(6)),
    *(case(integrate.romb, normal(n), dx=0.3) for n in (2, 3, 5, 9, 17)),
    case(integrate.romb, normal(5, 3), 0.3, 0),
]
# Their arguments are functions.
BY_HAND = {integrate.quad, integrate.quad_vec, integrate.fixed_quad, integrate.solve_ivp, integrate.odeint}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


# Quadrature


class Growth:
    def __init__(self, rate):
        self.rate = rate

    def at(self, x):
        return np.exp(self.rate * x)


def first_of_three(c):
    value, error, info = integrate.quad(lambda x: x**c, 0.0, 1.0, full_output=True)
    return value * c if error < 1 and info["neval"] > 0 else 0.0 * c


def complex_area(c):
    value, _ = integrate.quad(lambda x: np.exp(1j * x * c), 0.0, 1.0, complex_func=True)
    return value.real + 2 * value.imag


def of_two_branches(c):
    return integrate.quad(lambda x: c * x if x < 0.5 else c**3 * x * x, 0.0, 1.0, points=[0.5])[0]


E = np.exp(0.7)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (lambda c: integrate.quad(lambda x, c: np.exp(c * x), 0, 1, args=(c,))[0], E / 0.7 - (E - 1) / 0.7**2),
        (lambda c: integrate.quad(lambda x, c: np.exp(c * x), 0, 1, c)[0], E / 0.7 - (E - 1) / 0.7**2),
        (lambda c: integrate.quad(Growth(c).at, 0, 1)[0], E / 0.7 - (E - 1) / 0.7**2),
        (lambda c: integrate.quad(np.exp, 0, c)[0], E),
        (lambda c: integrate.quad(np.exp, c, 0)[0], -E),
        (lambda c: integrate.quad(lambda x: np.exp(-c * x), 0, np.inf)[0], -1 / 0.49),
        (lambda c: integrate.quad(lambda x: np.exp(-c * x * x), -np.inf, np.inf)[0], -0.5 * np.sqrt(np.pi) * 0.7**-1.5),
        (lambda c: integrate.quad(lambda x: c**2 / np.sqrt(x), 0, 1)[0], 4 * 0.7),
        (lambda c: integrate.quad(lambda x: integrate.quad(lambda y: c * x * y, 0, x)[0], 0, c)[0], 5 / 8 * 0.7**4),
        (first_of_three, 1 / 1.7 - 0.7 / 1.7**2),
        (of_two_branches, 1 / 8 + 0.49 * 7 / 8),
    ],
)
def test_quad(program, expected):
    """Further arguments, captured variables and limits, singular and infinite ones too."""
    np.testing.assert_allclose(gradient(program)(0.7), expected, rtol=1e-7)


def test_quad_of_complex_values():
    """The integral of exp(i c x)."""
    check_gradient(complex_area, 0.7)


def test_quad_of_an_array():
    """A captured array: each of its entries has an integral."""
    c = np.array([0.7, 0.3, 2.0])
    g = gradient(lambda c: integrate.quad(lambda x: np.exp(c[0] * x) * c[1] + c[2] * x * x, 0.0, 1.0)[0])(c)
    np.testing.assert_allclose(g, [0.3 * (E / 0.7 - (E - 1) / 0.7**2), (E - 1) / 0.7, 1 / 3], rtol=1e-9)


def test_quad_at_a_singular_limit():
    """A limit where the function is infinite has a derivative only where it is asked for."""
    np.testing.assert_allclose(gradient(lambda b: integrate.quad(lambda x: x**-0.5, 0.0, b)[0])(4.0), 0.5)


def test_refusals():
    """What has no derivative says why."""
    with pytest.raises(NoRuleError, match="item 1 of the result of quad"):
        gradient(lambda c: integrate.quad(np.sin, 0.0, c)[1])(1.0)
    with pytest.raises(NoRuleError, match="weight="):
        gradient(lambda c: integrate.quad(np.sin, 0.0, c, weight="cos", wvar=1.0)[0])(1.0)
    with pytest.raises(NoRuleError, match="Nest quad"):
        gradient(lambda c: integrate.dblquad(lambda y, x: c * x * y, 0.0, 1.0, 0.0, 1.0)[0])(1.0)


@pytest.mark.parametrize(
    "program",
    [
        lambda a, b, c: integrate.fixed_quad(lambda x: np.exp(-c[0] * x * x), a, b, n=4)[0],
        lambda a, b, c: integrate.fixed_quad(lambda x, c: np.exp(-c[1] * x * x), a, b, args=(c,))[0],
        lambda a, b, c: np.sum(integrate.fixed_quad(lambda x: np.stack([x ** c[0], x * c[1]]), a, b)[0] ** 2),
        lambda a, b, c: np.sum(integrate.quad_vec(lambda x: np.exp(-c * x * x), a, b)[0] ** 2),
        lambda a, b, c: np.sum(integrate.quad_vec(lambda x, k: np.exp(-k * x * x), a, b, args=(c,))[0] ** 2),
        lambda a, b, c: np.sum(integrate.quad_vec(lambda x: np.exp(-c * x), a, np.inf, 1e-12)[0] ** 2) + b,
    ],
)
def test_other_quadrature(program):
    """fixed_quad is differentiated as it stands, quad_vec as quad."""
    check_gradient(program, 0.1, 1.5, np.array([0.7, 0.4]))


# Differential equations

START = np.array([1.0, 0.5])
TIMES = np.array([0.0, 0.3, 0.9, 1.0, 1.7, 2.0])
MASS = np.random.default_rng(0).standard_normal((2, 6))
METHODS = ["RK45", "RK23", "DOP853", "LSODA", "Radau", "BDF"]


def bent(t, y, a, b):
    return np.array([a * y[1] - 0.2 * y[0] ** 3 + np.sin(t) * b, -y[0] * b + 0.1 * t])


def bent_list(t, y, a, b):
    return [a * y[1] - 0.2 * y[0] ** 3 + np.sin(t) * b, -y[0] * b + 0.1 * t]


def tight(method):
    low = method == "RK23"
    return {"method": method, "rtol": 1e-8 if low else 1e-10, "atol": 1e-9 if low else 1e-11}


@pytest.mark.parametrize("method", METHODS)
class TestSolveIvp:
    def test_decay(self, method):
        """y' = -a y, whose solution is known: y(2) = exp(-2 a) y(0)."""

        def program(y0, a):
            sol = integrate.solve_ivp(lambda t, y: -a * y, (0.0, 2.0), y0, **tight(method))
            return sol.y[0, -1] + 0.0 * sol.nfev if sol.success else 0.0 * a

        g = gradient(program, (0, 1))(START, 0.7)
        np.testing.assert_allclose(g[0], [np.exp(-1.4), 0.0], rtol=1e-6)
        np.testing.assert_allclose(g[1], -2 * np.exp(-1.4), rtol=1e-6)

    @pytest.mark.parametrize("f", [bent, bent_list])
    def test_end(self, method, f):
        """Start and further arguments, from the state at the end."""

        def program(y0, a, b):
            return np.sum(integrate.solve_ivp(f, (0.0, 2.0), y0, args=(a, b), **tight(method)).y[:, -1] ** 2)

        check_gradient(program, START, 0.7, 1.2, step=1e-4)

    def test_times(self, method):
        """States at chosen times, and the derivatives in these, and in the first one."""

        def program(y0, times, t0, a):
            span = (t0, 2.5)
            sol = integrate.solve_ivp(lambda t, y: bent(t, y, a, 1.2), span, y0, t_eval=times, **tight(method))
            return np.sum(sol.y * MASS) + np.sum(sol.t**2)

        check_gradient(program, START, TIMES + 0.2, 0.1, 0.7, step=1e-4)

    def test_span(self, method):
        """The ends, forwards and backwards in time."""

        def program(y0, t0, t1, a):
            sol = integrate.solve_ivp(bent, [t0, t1], y0, args=(a, 1.2), **tight(method))
            return np.sum(sol.y[:, -1] ** 2) + sol.t[-1] * sol.t[0]

        check_gradient(program, START, 0.1, 2.1, 0.7, step=1e-4)
        check_gradient(program, START, 2.1, 0.1, 0.7, step=1e-4)

    def test_times_at_the_ends(self, method):
        """The first state is the start itself."""

        def program(y0, a):
            sol = integrate.solve_ivp(bent, (0.0, 2.0), y0, t_eval=TIMES, args=(a, 1.2), **tight(method))
            return np.sum(sol["y"] * MASS)

        check_gradient(program, START, 0.7, step=1e-4)

    def test_vectorized(self, method):
        """A function that takes a matrix of states."""

        def program(y0, a):
            f = lambda t, y: np.stack([a * y[1], -y[0]])
            return np.sum(integrate.solve_ivp(f, (0.0, 1.0), y0, vectorized=True, **tight(method)).y[:, -1] ** 2)

        check_gradient(program, START, 0.7, step=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_no_time(method):
    """Without a time to go the solution is the start."""
    g = gradient(lambda a: integrate.solve_ivp(lambda t, y: -a * y, (1.0, 1.0), [a], method).y[0, -1])(0.7)
    assert 1.0 == g
    g = gradient(lambda a: integrate.odeint(lambda y, t: -a * y, a, [1.0, 1.0])[-1, 0] + 0.0)(0.7)
    assert 1.0 == g


def test_coarse_steps():
    """With loose tolerances the gradient is that of the steps that were taken: one step of RK23 is a polynomial."""

    def program(y0, a):
        options = {"method": "RK23", "first_step": 1.0, "rtol": 1e3, "atol": 1e3}
        return integrate.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), [y0], **options).y[0, -1]

    z = -0.7
    expected = 1 + z + z**2 / 2 + z**3 / 6, -2.0 * (1 + z + z**2 / 2)
    np.testing.assert_allclose(gradient(program, (0, 1))(2.0, 0.7), expected, rtol=1e-12)


def test_complex_state():
    """Explicit methods take complex states, implicit ones are refused."""

    def program(a, b, method):
        f = lambda t, y: (1j * a - 0.1) * y
        y = integrate.solve_ivp(f, (0.0, 2.0), np.array([b + 0.5j * b]), **tight(method)).y
        return y[0, -1].real + 2 * y[0, -1].imag

    check_gradient(lambda a, b: program(a, b, "RK45"), 0.7, 1.2, step=1e-4)
    with pytest.raises(NoRuleError, match="complex solution of an implicit method"):
        gradient(lambda a: program(a, 1.2, "BDF"))(0.7)


def test_stiff():
    """y' = -1000 (y - cos(a t)): the solution is nearly cos(a t), and so is its derivative."""

    def program(a, method):
        f = lambda t, y: -1000.0 * (y - np.cos(a * t))
        return integrate.solve_ivp(f, (0.0, 1.0), [1.0], method=method, rtol=1e-8, atol=1e-10).y[0, -1]

    expected = -np.sin(0.7) + (np.sin(0.7) + 0.7 * np.cos(0.7)) / 1000
    for method in ("Radau", "BDF", "LSODA"):
        np.testing.assert_allclose(gradient(program)(0.7, method), expected, atol=5e-6)


@pytest.mark.parametrize("method", METHODS)
def test_start_at_rest(method):
    """The solver takes ever wider steps there, and the derivative turns all the same: it is exp(10 A)."""
    turn, rest = np.array([[0.0, 3.0], [-3.0, 0.0]]), np.array([1.0, 2.0])

    def program(y0):
        f = lambda t, y: turn @ (y - rest)
        return integrate.solve_ivp(f, (0.0, 10.0), y0, method=method, rtol=1e-6, atol=1e-9).y[0, -1]

    np.testing.assert_allclose(gradient(program)(rest), [np.cos(30.0), np.sin(30.0)], atol=5e-3)


def test_too_stiff_for_an_explicit_method():
    """At rest an explicit method steps over what decays fast; the adjoint divides its steps, or says so."""

    def program(y0, rate):
        f = lambda t, y: -rate * (y - 1.0)
        return integrate.solve_ivp(f, (0.0, 10.0), y0).y[0, -1]

    np.testing.assert_allclose(gradient(program)(np.ones(1), 30.0), 0.0, atol=1e-2)
    with pytest.raises(DifferentiationError, match="smaller steps"):
        gradient(program)(np.ones(1), 1e9)


def test_many_parameters():
    """A network as right-hand side: the cotangents have the structure of what was captured."""
    rng = np.random.default_rng(2)
    params = {"W": [rng.standard_normal((4, 2)) / 2, rng.standard_normal((2, 4)) / 2], "b": rng.standard_normal(4)}

    def program(params, y0):
        def f(t, y):
            return params["W"][1] @ np.tanh(params["W"][0] @ y + params["b"])

        return np.sum(integrate.solve_ivp(f, (0.0, 1.0), y0, t_eval=np.linspace(0, 1, 7), rtol=1e-9, atol=1e-10).y ** 2)

    check_gradient(program, params, START, step=1e-4)


@pytest.mark.parametrize("time_first", [False, True])
def test_odeint(time_first):
    """The states at given times: start, times, further arguments and captured variables."""

    def program(y0, times, a, b):
        f = (lambda t, y, a: bent_list(t, y, a, b)) if time_first else (lambda y, t, a: bent_list(t, y, a, b))
        y = integrate.odeint(f, y0, times, args=(a,), tfirst=time_first, rtol=1e-12, atol=1e-12)
        return np.sum(y * MASS.T)

    check_gradient(program, START, TIMES, 0.7, 1.2, step=1e-4)


def test_odeint_forms():
    """A number or a list as start, few times, and details that have no derivative."""

    def program(y0, a):
        y, info = integrate.odeint(lambda y, t: -a * y, y0, [0.0, 1.0, 2.0], full_output=True, rtol=1e-11, atol=1e-11)
        z = integrate.odeint(lambda y, t: [-a * y[0], y[0]], [y0, 1.0], [0, 1], rtol=1e-11, atol=1e-11)
        return y[-1, 0] + z[1, 0] * len(info) / len(info)

    e = np.exp(-0.7)
    np.testing.assert_allclose(gradient(program, (0, 1))(0.3, 0.7), [e**2 + e, 0.3 * (-2 * e**2 - e)], rtol=1e-8)


def stops(t, y):
    return y[0] - 0.8


def passes(t, y):
    return y[0] - 0.8


stops.terminal = True


def test_events():
    """Events may be watched; what depends on their times is refused."""

    def program(a, event, what):
        sol = integrate.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), START, events=event, rtol=1e-9, atol=1e-9)
        return sol.y[0, -1] if what == "end" else sol.t_events[0][0]

    np.testing.assert_allclose(gradient(program)(0.7, passes, "end"), -np.exp(-0.7), rtol=1e-7)
    with pytest.raises(NoRuleError, match=r"\.t_events of the result of solve_ivp"):
        gradient(program)(0.7, passes, "time")
    with pytest.raises(NoRuleError, match="stopped by an event"):
        gradient(program)(0.7, stops, "end")


def test_dense_output():
    """The states between the steps are refused, with what to do."""

    def program(a, at):
        sol = integrate.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), START, dense_output=True, rtol=1e-9, atol=1e-9)
        return sol.sol(at)[0] if at else sol.y[0, -1]

    np.testing.assert_allclose(gradient(program)(0.7, 0.0), -np.exp(-0.7), rtol=1e-7)
    with pytest.raises(NoRuleError, match="t_eval"):
        gradient(program)(0.7, 0.5)


def test_pullback_is_linear():
    """And can be called again: the adjoint takes the same steps for all cotangents."""
    sol, back = pullback(lambda y0: integrate.solve_ivp(bent, (0.0, 2.0), y0, t_eval=TIMES, args=(0.7, 1.2)).y, START)
    one, two = back(MASS)[0], back(np.ones_like(sol))[0]
    np.testing.assert_allclose(back(2 * MASS - 3 * np.ones_like(sol))[0], 2 * one - 3 * two, rtol=1e-12)
