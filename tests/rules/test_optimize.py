"""Every rule of rules/optimize.py: against closed forms, or central differences of the whole function."""

import numpy as np
import pytest
from scipy import optimize

from adcompiler import gradient, pullback
from adcompiler.errors import DifferentiationError, NoRuleError
from adcompiler.testing import case, check_gradient, check_rule, normal, positive

CASES = [
    case(optimize.nnls, normal(6, 4), normal(6)),
    case(optimize.nnls, -positive(5, 3).make(np.random.default_rng(1)), positive(5), id="empty support"),
]
# Their arguments are functions, and their results objects.
BY_HAND = {
    *(optimize.brentq, optimize.brenth, optimize.ridder, optimize.bisect, optimize.toms748, optimize.newton),
    *(optimize.root_scalar, optimize.root, optimize.fsolve, optimize.fixed_point, optimize.minimize),
    *(optimize.minimize_scalar, optimize.least_squares, optimize.curve_fit, optimize.Bounds),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


# One equation

BRACKETED = [optimize.brentq, optimize.brenth, optimize.ridder, optimize.bisect, optimize.toms748]
PLACE = optimize.newton(lambda x: x**3 - 2 * x - 3, 2.0, tol=1e-15)
# x³ - a x - c = 0: dx = (x da + dc) / (3x² - a)
SLOPES = np.array([PLACE, 1.0]) / (3 * PLACE**2 - 2)


def cubic(x, a, c):
    return x**3 - a * x - c


def check_cubic(program):
    """The derivatives of the root for a = 2 and c = 3."""
    np.testing.assert_allclose(gradient(program, (0, 1))(2.0, 3.0), SLOPES, rtol=1e-9)


@pytest.mark.parametrize("solver", BRACKETED, ids=lambda f: f.__name__)
class TestBracketed:
    def test_args(self, solver):
        """Gradients go to the further arguments."""
        check_cubic(lambda a, c: solver(cubic, 0.0, 10.0, args=(a, c)))

    def test_captured(self, solver):
        """And to what the function captured; one argument needs no tuple."""
        check_cubic(lambda a, c: solver(lambda x, a: cubic(x, a, c), 0.0, 10.0, a))

    def test_full_output(self, solver):
        """With full output the root comes twice."""

        def program(a, c):
            x, found = solver(cubic, 0.0, 10.0, (a, c), full_output=True)
            return (x + found.root) / 2 if found.converged and found.iterations > 0 else 0.0 * a

        check_cubic(program)

    def test_bracket(self, solver):
        """Where the search began has no influence."""
        assert 0.0 == gradient(lambda b: solver(cubic, 0.0, b, (2.0, 3.0)))(10.0)


class Cubic:
    def __init__(self, a, c):
        self.a, self.c = a, c

    def at(self, x):
        return cubic(x, self.a, self.c)

    def __call__(self, x):
        return self.at(x)


@pytest.mark.parametrize(
    "program",
    [
        lambda a, c: optimize.newton(cubic, 3.0, args=(a, c), tol=1e-14),
        lambda a, c: optimize.newton(cubic, 3.0, lambda x, a, c: 3 * x**2 - a, (a, c), tol=1e-14),
        lambda a, c: optimize.newton(Cubic(a, c), 3.0, tol=1e-14),
        lambda a, c: optimize.newton(Cubic(a, c).at, 3.0, tol=1e-14),
        lambda a, c: optimize.newton(cubic, np.array([3.0, 4.0]), args=(a, c), tol=1e-14)[1],
        lambda a, c: optimize.newton(cubic, np.array([3.0, 4.0]), args=(a, c), tol=1e-14, full_output=True).root[0],
        lambda a, c: optimize.newton(cubic, np.array([3.0, 4.0]), args=(a, c), tol=1e-14, full_output=True)[0][0],
        lambda a, c: optimize.newton(cubic, 3.0 + 1j, args=(a, c), tol=1e-14).real,
        lambda a, c: optimize.root_scalar(cubic, (a, c), bracket=[0, 10.0], xtol=1e-14).root,
        lambda a, c: optimize.root_scalar(cubic, (a, c), x0=3.0, x1=4.0, xtol=1e-14)["root"],
        lambda a, c: (
            optimize.root_scalar(lambda x: (cubic(x, a, c), 3 * x * x - a), x0=3.0, fprime=True, xtol=1e-14).root
        ),
        lambda a, c: optimize.fsolve(cubic, 3.0, (a, c), xtol=1e-14)[0],
        lambda a, c: optimize.fixed_point(lambda x: (a * x + c) ** (1 / 3), 2.0, xtol=1e-14),
        lambda a, c: optimize.fixed_point(lambda x, a: (a * x + c) ** (1 / 3), np.array([2.0]), (a,), xtol=1e-14)[0],
    ],
)
def test_root_of_one_equation(program):
    """Newton's method in all its forms, and the others."""
    check_cubic(program)


def test_complex_root():
    """x² = c for a complex x: x = i √-c, and dx/dc = 1 / 2x."""
    g = gradient(lambda c: optimize.newton(lambda x: x * x + c, 0.5 + 1j, tol=1e-14).imag)(4.0)
    np.testing.assert_allclose(g, 0.25, rtol=1e-9)


def test_vector_of_roots():
    """Each root belongs to one entry."""
    c = np.array([1.0, 4.0, 9.0])

    def program(c):
        return np.sum(optimize.newton(lambda x: x * x - c, np.ones(3), tol=1e-14, maxiter=100) * np.arange(3))

    np.testing.assert_allclose(gradient(program)(c), np.arange(3) / (2 * np.sqrt(c)), rtol=1e-9)


def test_double_root():
    """A root where the function does not cross zero has no derivative, and says so."""
    with pytest.raises(DifferentiationError, match="slope"):
        gradient(lambda a: optimize.newton(lambda x: (x - a) ** 2, 1.0))(1.0)
    with pytest.raises(DifferentiationError, match="Jacobian is singular"):
        gradient(lambda a: optimize.fsolve(lambda x: (x - a) ** 2, 1.0)[0])(1.0)


# Systems


def equations(v, a, c):
    return [v[0] ** 2 + v[1] - a, v[1] ** 3 + v[0] - c]


def as_array(v, a, c):
    return np.array([v[0] ** 2 + v[1] - a, v[1] ** 3 + v[0] - c])


def with_jacobian(v, a, c):
    return as_array(v, a, c), np.array([[2 * v[0], 1.0], [1.0, 3 * v[1] ** 2]])


def system_slopes(v):
    """The gradient of v₀ v₁ + v₀ in a and c."""
    jacobian = np.array([[2 * v[0], 1.0], [1.0, 3 * v[1] ** 2]])
    return np.linalg.solve(jacobian.T, np.array([v[1] + 1.0, v[0]]))


ROOT = optimize.fsolve(as_array, [1.0, 1.0], (2.0, 3.0), xtol=1e-14)


@pytest.mark.parametrize("system", [equations, as_array])
@pytest.mark.parametrize("full", [False, True])
def test_fsolve(system, full):
    """The solution, alone or with details that are constants."""

    def program(a, c):
        if full:
            x, _, ier, _ = optimize.fsolve(system, [1.0, 1.0], (a, c), xtol=1e-14, full_output=True)
            return (x[0] * x[1] + x[0]) * ier
        x = optimize.fsolve(system, [1.0, 1.0], (a, c), xtol=1e-14)
        return x[0] * x[1] + x[0]

    np.testing.assert_allclose(gradient(program, (0, 1))(2.0, 3.0), system_slopes(ROOT), rtol=1e-7)


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "anderson", "krylov", "df-sane"])
@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
def test_root(method):
    """All methods solve the same equations."""

    def program(a, c):
        found = optimize.root(as_array, np.array([1.0, 1.2]), (a, c), method, tol=1e-11)
        x = found.x
        return x[0] * x[1] + found["x"][0] if found.success else 0.0 * a

    np.testing.assert_allclose(gradient(program, (0, 1))(2.0, 3.0), system_slopes(ROOT), rtol=1e-6)


def test_root_with_jacobian():
    """A function that gives its Jacobian too."""

    def program(a, c):
        x = optimize.root(with_jacobian, np.array([1.0, 1.2]), (a, c), jac=True, tol=1e-14).x
        return x[0] * x[1] + x[0]

    np.testing.assert_allclose(gradient(program, (0, 1))(2.0, 3.0), system_slopes(ROOT), rtol=1e-7)


def test_fixed_point_of_a_system():
    """x = a cos(B x) + c."""
    b = np.array([[0.4, 0.2], [0.2, 0.6]])
    check_gradient(
        lambda a, c: np.sum(optimize.fixed_point(lambda x: np.cos(b @ x) * a + c, np.array([0.5, 0.5]), xtol=1e-14)),
        0.5,
        np.array([0.1, 0.2]),
    )


def test_details_have_no_derivative():
    """Other entries of a result are refused when a derivative is asked of them."""
    with pytest.raises(NoRuleError, match=r"\.fun of the result of root"):
        gradient(lambda a: np.sum(optimize.root(equations, [1.0, 1.0], (a, 3.0)).fun))(2.0)


# Minima


def valley(x, a, c):
    return (x[0] - a) ** 2 * (1 + x[1] ** 2) + np.cosh(x[1] - c * x[0]) + 0.1 * np.sum(x**4)


def slope_of_valley(x, a, c):
    bend = np.sinh(x[1] - c * x[0])
    first = 2 * (x[0] - a) * (1 + x[1] ** 2) - c * bend + 0.4 * x[0] ** 3
    return np.array([first, 2 * (x[0] - a) ** 2 * x[1] + bend + 0.4 * x[1] ** 3])


def both(x, a, c):
    return valley(x, a, c), slope_of_valley(x, a, c)


START = np.array([0.3, 0.2])
WEIGHTS = np.array([1.0, -2.0])


def lowest(a, c):
    """Where the valley is lowest, to all digits."""
    return optimize.root(slope_of_valley, START, (a, c), tol=1e-15).x


def lowest_slopes():
    """The gradients of WEIGHTS @ x and of the minimum in a and c, from differences of the exact solution."""
    step = 1e-4
    moves = [(step, 0.0), (0.0, step)]
    ends = [[(0.7 + s * da, 0.4 + s * dc) for s in (1, -1)] for da, dc in moves]
    place = [(WEIGHTS @ lowest(*p) - WEIGHTS @ lowest(*q)) / (2 * step) for p, q in ends]
    return place, [(valley(lowest(*p), *p) - valley(lowest(*q), *q)) / (2 * step) for p, q in ends]


@pytest.mark.parametrize(
    ("method", "jac", "tol"),
    [
        (None, None, 1e-8),
        ("BFGS", slope_of_valley, 1e-10),
        ("L-BFGS-B", None, 1e-14),
        ("L-BFGS-B", slope_of_valley, 1e-14),
        ("Newton-CG", slope_of_valley, 1e-12),
        ("CG", slope_of_valley, 1e-8),
        ("TNC", slope_of_valley, 1e-12),
        ("SLSQP", slope_of_valley, 1e-14),
        ("Nelder-Mead", None, 1e-12),
        ("trust-constr", slope_of_valley, 1e-10),
    ],
)
@pytest.mark.filterwarnings("ignore:delta_grad")
def test_minimize(method, jac, tol):
    """The minimiser through the Hessian, the minimum by the envelope theorem."""
    place, value = lowest_slopes()

    def where(a, c):
        found = optimize.minimize(valley, START, (a, c), method, jac, tol=tol)
        return WEIGHTS @ found.x

    def how_low(a, c):
        return optimize.minimize(valley, START, (a, c), method, jac, tol=tol).fun

    np.testing.assert_allclose(gradient(where, (0, 1))(0.7, 0.4), place, rtol=1e-4)
    np.testing.assert_allclose(gradient(how_low, (0, 1))(0.7, 0.4), value, rtol=1e-4)


@pytest.mark.parametrize(
    "find",
    [
        lambda a, c: optimize.minimize(
            lambda x: valley(x, a, c), START, jac=lambda x: slope_of_valley(x, a, c), tol=1e-10
        ),
        lambda a, c: optimize.minimize(lambda x: both(x, a, c), START, jac=True, tol=1e-10),
        lambda a, c: optimize.minimize(both, START, (a, c), jac=True, tol=1e-10),
    ],
)
def test_minimize_with_exact_gradients(find):
    """The derivatives of a given gradient are exact, and go to what it captured."""
    place, value = lowest_slopes()
    g = gradient(lambda a, c: WEIGHTS @ find(a, c).x + 3.0 * find(a, c)["fun"], (0, 1))(0.7, 0.4)
    np.testing.assert_allclose(g, np.array(place) + 3.0 * np.array(value), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_minimize_at_different_scales(scale):
    """The step of the differences is reduced where the function is narrow: x = a in (x - a)² + exp(-(x - a)²)/4."""

    def program(a):
        return optimize.minimize(
            lambda x: np.sum(1 - np.exp(-(((x - a) / scale) ** 2) / 2)), np.array([0.1 * scale]), method="Nelder-Mead",
            options={"xatol": 1e-10 * scale, "fatol": 1e-15},
        ).x[0]  # fmt: skip

    np.testing.assert_allclose(gradient(program)(0.2 * scale), 1.0, rtol=1e-6)


def test_active_bounds():
    """A variable at its bound stays there: that of x₁ leaves a problem in x₀ alone, (x₀ - a)² + x₀²."""

    def program(a):
        found = optimize.minimize(
            lambda x: (x[0] - a) ** 2 + x[0] ** 2 + (x[1] + 1.0) ** 2 * a,
            np.array([0.3, 0.2]),
            bounds=[(None, None), (0.0, None)],
        )
        return found.x[0] + 5.0 * found.x[1] + found.fun

    # x₀ = a/2, x₁ = 0; the minimum is a²/2 + a.
    np.testing.assert_allclose(gradient(program)(0.8), 0.5 + 0.8 + 1.0, rtol=1e-6)


def test_bounds_that_move():
    """Bounds as an object; a derivative of an active one is refused."""

    def program(b):
        bounds = optimize.Bounds([-1.0, -1.0], [b, 2.0])
        return optimize.minimize(lambda x: np.sum((x - 1.0) ** 2), START, bounds=bounds).fun

    np.testing.assert_allclose(gradient(program)(1.5), 0.0, atol=1e-7)
    with pytest.raises(NoRuleError, match="bounds"):
        gradient(program)(0.5)


def test_constraints_and_singular_hessian():
    """These say why."""
    equal = {"type": "eq", "fun": lambda x: x[0] - 1.0}
    with pytest.raises(NoRuleError, match="constraints"):
        gradient(lambda a: optimize.minimize(lambda x: np.sum((x - a) ** 2), START, constraints=[equal]).fun)(1.0)
    with pytest.raises(DifferentiationError, match="Hessian is singular"):
        gradient(lambda a: optimize.minimize(lambda x: (x[0] + x[1] - a) ** 2, START).x[0])(1.0)


@pytest.mark.parametrize(
    ("method", "bounds"), [(None, None), ("golden", None), ("bounded", (0.0, 5.0)), ("bounded", (2.0, 5.0))]
)
def test_minimize_scalar(method, bounds):
    """x + 2 min of cosh(x - a) + c exp(-x); at a bound x does not move."""

    def program(a, c):
        found = optimize.minimize_scalar(
            lambda x, a: np.cosh(x - a) + c * np.exp(-x), bounds=bounds, args=(a,), method=method,
            options={"xatol" if method == "bounded" else "xtol": 1e-10},
        )  # fmt: skip
        return found.x + 2 * found.fun

    a, c = 0.7, 0.4
    x = (
        optimize.brentq(lambda x: np.sinh(x - a) - c * np.exp(-x), 0.0, 3.0, xtol=1e-15)
        if bounds != (2.0, 5.0)
        else 2.0
    )
    curvature = np.cosh(x - a) + c * np.exp(-x)
    moved = np.array([np.cosh(x - a), np.exp(-x)]) / curvature if x != 2.0 else np.zeros(2)
    expected = moved + 2 * np.array([-np.sinh(x - a), np.exp(-x)])
    np.testing.assert_allclose(gradient(program, (0, 1))(a, c), expected, rtol=1e-6)


# Least squares

TIMES = np.linspace(0, 2, 9)
DATA = np.exp(-TIMES) + 0.1 * np.sin(5 * TIMES)
TIGHT = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}


def residuals(p, a, c):
    return p[0] * np.exp(-p[1] * TIMES * a) - c * DATA


def slope_of_residuals(p, a, c):
    e = np.exp(-p[1] * TIMES * a)
    return np.stack([e, -p[0] * TIMES * a * e], axis=1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "lm"},
        {"method": "dogbox"},
        {"bounds": ([0.0, 0.0], [0.9, 3.0])},
        *({"loss": loss, "f_scale": 0.1} for loss in ("soft_l1", "huber", "cauchy", "arctan")),
    ],
    ids=str,
)
def test_least_squares(options):
    """The solution, the cost and the residuals, against central differences."""

    def program(a, c):
        found = optimize.least_squares(residuals, [0.8, 1.0], slope_of_residuals, args=(a, c), **TIGHT, **options)
        return WEIGHTS @ found.x + found.cost + np.sum(found.fun * TIMES) + 0.0 * found.nfev

    check_gradient(program, 0.9, 1.2, step=1e-4, rtol=2e-4)


def test_least_squares_without_residual():
    """An exact solution has no second-order part: p = c."""
    g = gradient(lambda c: optimize.least_squares(lambda p: np.exp(p) - np.exp(c), np.zeros(2)).x[1])(np.ones(2))
    np.testing.assert_allclose(g, [0.0, 1.0], atol=1e-7)


def test_least_squares_with_a_loss_of_its_own():
    """Its second derivative is not known."""
    with pytest.raises(NoRuleError, match="loss"):
        gradient(lambda c: optimize.least_squares(lambda p: p - c, [0.0], loss=lambda z: np.array([z, z, z])).cost)(1.0)


@pytest.mark.parametrize("options", [{}, {"bounds": (0, 5)}, {"method": "trf", "loss": "soft_l1"}], ids=str)
def test_curve_fit(options):
    """A line through points: popt with respect to the points, their deviations, and what the model captured."""

    def program(x, y, s, k):
        p, _ = optimize.curve_fit(
            lambda t, a, b: (a + b * t) * k, x, y, [1.0, 1.0], s, xtol=1e-15, ftol=1e-15,
            jac=lambda t, a, b: np.stack([k + 0 * t, k * t], 1), **options
        )  # fmt: skip
        return p @ WEIGHTS

    check_gradient(program, TIMES, DATA + TIMES, np.linspace(0.5, 1.5, 9), 0.8, step=1e-3, rtol=1e-4, atol=2e-5)


def test_curve_fit_of_a_line():
    """The slope of a line is (t - mean t) @ y / |t - mean t|²."""
    centred = TIMES - TIMES.mean()
    g = gradient(lambda y: optimize.curve_fit(lambda t, a, b: a + b * t, TIMES, y)[0][1])(DATA)
    np.testing.assert_allclose(g, centred / (centred @ centred), atol=1e-7)
    with pytest.raises(NoRuleError, match="item 1 of the result of curve_fit"):
        gradient(lambda y: np.sum(optimize.curve_fit(lambda t, a, b: a + b * t, TIMES, y)[1]))(DATA)


def test_curve_fit_with_covariances():
    """Correlated errors."""
    covariance = np.eye(9) + 0.2
    rows = np.stack([np.ones(9), TIMES])
    inverse = np.linalg.inv(covariance)
    expected = np.linalg.solve(rows @ inverse @ rows.T, rows @ inverse)[1]
    g = gradient(lambda y: optimize.curve_fit(lambda t, a, b: a + b * t, TIMES, y, None, covariance)[0][1])(DATA)
    np.testing.assert_allclose(g, expected, atol=1e-6)


# Others


def test_assignment():
    """The assignment is made of indices; the costs that it selects are differentiated by indexing."""
    cost = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]])

    def program(cost):
        row, column = optimize.linear_sum_assignment(cost)
        return np.sum(cost[row, column] ** 2)

    expected = np.zeros((3, 3))
    expected[[0, 1, 2], [1, 0, 2]] = [2.0, 4.0, 4.0]
    np.testing.assert_allclose(gradient(program)(cost), expected)
    np.testing.assert_allclose(gradient(lambda c: c[optimize.linear_sum_assignment(c)].sum())(cost), expected > 0)


def test_linear_programs_are_refused():
    """With the reason."""
    with pytest.raises(NoRuleError, match="corner of a polyhedron"):
        gradient(lambda c: optimize.linprog(c, A_ub=-np.eye(2), b_ub=-np.ones(2)).fun)(np.ones(2))


def test_results_keep_their_type():
    """What a differentiated function returns is SciPy's own result."""
    found, back = pullback(lambda a: optimize.minimize(lambda x: np.sum((x - a) ** 2), START), np.ones(2))
    assert isinstance(found, optimize.OptimizeResult)
    np.testing.assert_allclose(back({"x": np.array([1.0, 0.0])})[0], [1.0, 0.0], atol=1e-7)


def test_captured_containers_and_globals():
    """Lists and dicts that a function captured; global arrays are constants."""

    def program(a, c):
        numbers = {"a": [a, c]}
        numbers["more"] = 1.0
        return optimize.brentq(lambda x: cubic(x, *numbers["a"]) * START[0], 0.0, 10.0)

    check_cubic(program)
