"""The rules of scipy.interpolate, in functions of positions, values and finished interpolants."""

import numpy as np
import pytest
from scipy import interpolate
from scipy.interpolate import BSpline, PPoly, RegularGridInterpolator, interp1d

from adcompiler import check_gradient, gradient
from adcompiler.coverage import UNKNOWN, coverage
from adcompiler.errors import DifferentiationError, NoRuleError

X = np.array([0.0, 0.4, 1.0, 1.7, 2.1, 3.0])
Y = np.array([0.3, 0.9, -0.2, 0.4, 1.1, 0.7])
T = np.array([0.1, 0.5, 0.9, 1.3, 2.0, 2.9])
TABLE = np.stack([Y, np.sin(X), X**2 + X], axis=1)
SPLINE = interpolate.CubicSpline(X, Y)
B_SPLINE = interpolate.make_interp_spline(X, Y)
GRID = (np.array([0.0, 1.0, 2.5]), np.array([0.0, 0.7, 1.0, 2.0]))
HEIGHTS = np.arange(12.0).reshape(3, 4) ** 1.5
POINTS = np.array([[0.2, 0.3], [1.4, 1.6], [2.2, 0.9]])

MAKERS = {
    "cubic": interpolate.CubicSpline,
    "natural": lambda x, y: interpolate.CubicSpline(x, y, bc_type="natural"),
    "clamped": lambda x, y: interpolate.CubicSpline(x, y, bc_type=((1, 0.3), (2, 0.1))),
    "pchip": interpolate.PchipInterpolator,
    "interp": interpolate.make_interp_spline,
    "quadratic": lambda x, y: interpolate.make_interp_spline(x, y, k=2),
    "linear": lambda x, y: interpolate.make_interp_spline(x, y, k=1),
    "conditions": lambda x, y: interpolate.make_interp_spline(x, y, bc_type=([(1, 0.3)], [(2, 0.1)])),
}
CONDITIONED = {"clamped", "conditions"}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("nu", [0, 1])
def test_made_inside(name, nu):
    make = MAKERS[name]
    check_gradient(lambda y, t: np.sum(make(X, y)(t, nu) ** 2), Y, T)
    check_gradient(lambda y: make(X, y)(0.77, nu) ** 2, Y)
    if name not in CONDITIONED:
        check_gradient(lambda y, t: np.sum(make(X, y)(t, nu) ** 2 * 0.1), TABLE, T)
        check_gradient(lambda y, t: np.sum(make(X, y)(t, nu) ** 2 * 0.1), TABLE, T.reshape(2, 3))


@pytest.mark.parametrize("name", ["cubic", "natural", "pchip"])
def test_another_axis(name):
    make = {"natural": lambda x, y, axis: interpolate.CubicSpline(x, y, axis, "natural")}.get(name, MAKERS[name])
    check_gradient(lambda y, t: np.sum(make(X, y, axis=1)(t) ** 2), TABLE.T.copy(), T)


@pytest.mark.parametrize("spline", [SPLINE, interpolate.PchipInterpolator(X, Y), interpolate.Akima1DInterpolator(X, Y),
                                    B_SPLINE], ids=lambda s: type(s).__name__)  # fmt: skip
def test_finished(spline):
    check_gradient(lambda t: np.sum(spline(t) ** 2), T)
    check_gradient(lambda t: np.sum(spline(t, 1) ** 2) + spline(t[0]), T)
    check_gradient(lambda t: np.sum(spline.derivative()(t) ** 2), T)
    check_gradient(lambda a, b: spline.integrate(a, b) ** 2, 0.3, 2.2)
    check_gradient(lambda a, b: spline.integrate(a, b) ** 2, 2.2, 0.3)


def test_pieces():
    c, x = np.arange(8.0).reshape(2, 4) - 3, np.array([0.0, 1.0, 1.5, 2.0, 3.0])
    check_gradient(lambda c, x: np.sum(PPoly(c, x)(np.array([0.3, 1.2, 1.9, 2.2, 4.0])) ** 2), c, x)
    piecewise = PPoly(c, x)
    check_gradient(lambda p: np.sum(p(np.array([0.3, 1.2])) ** 2), piecewise)
    check_gradient(lambda c: np.sum(PPoly(c, x).integrate(0.2, 2.7) ** 2), c)
    check_gradient(lambda c: np.sum(PPoly(c, x).derivative()(0.7) ** 2), c)


def test_more_of_splines():
    check_gradient(lambda y: interpolate.CubicSpline(X, y).integrate(0.2, 2.2) ** 2, Y)
    check_gradient(lambda y: interpolate.CubicSpline(X, y).derivative()(0.7) ** 2, Y)
    check_gradient(lambda y, d: np.sum(interpolate.CubicHermiteSpline(X, y, d)(T) ** 2), Y, np.cos(X))
    check_gradient(lambda y: interpolate.make_interp_spline(X, y).integrate(0.2, 2.2) ** 2, Y)
    check_gradient(lambda c: np.sum(BSpline(B_SPLINE.t, c, 3)(T) ** 2), B_SPLINE.c)
    check_gradient(lambda y: np.sum(interpolate.CubicSpline(X, y).c ** 2 * 0.01), Y)
    check_gradient(lambda y: np.sum(interpolate.make_interp_spline(X, y).c ** 2), Y)
    check_gradient(lambda t: np.sum(SPLINE.antiderivative()(t) ** 2), T)


def test_periodic():
    y = Y.copy()
    y[-1] = y[0]

    def closed(free):
        return np.sum(interpolate.CubicSpline(X, np.append(free, free[0]), bc_type="periodic")(T + 1) ** 2)

    check_gradient(closed, y[:-1])


def test_outside():
    t = np.array([-1.0, 0.5, 4.0])
    check_gradient(lambda y, t: np.sum(interpolate.CubicSpline(X, y)(t) ** 2), Y, t)

    def inside(y, t):
        values = interpolate.CubicSpline(X, y, extrapolate=False)(t)
        return np.sum(np.where(np.isnan(values), 0.0, values) ** 2)

    assert gradient(inside, 1)(Y, t)[[0, 2]] == pytest.approx(0)
    assert np.all(np.isfinite(gradient(inside)(Y, t)))


def test_flat_data_of_pchip():
    y = np.array([0.0, 1.0, 1.0, 0.5, 2.0, 2.5])
    found = gradient(lambda y: np.sum(interpolate.PchipInterpolator(X, y)(T)))(y)
    assert np.all(np.isfinite(found))
    check_gradient(lambda y: np.sum(interpolate.PchipInterpolator(X[:2], y)(T[:1])), Y[:2])


def test_fitpack():
    def function(y, t):
        return np.sum(interpolate.splev(t, interpolate.splrep(X, y)) ** 2)

    check_gradient(function, Y, T)
    tck, outside = interpolate.splrep(X, Y), np.array([-0.3, 1.0, 3.4])
    for ext in (0, 1, 3):
        check_gradient(lambda t, ext=ext: np.sum(interpolate.splev(t, tck, der=1, ext=ext) ** 2), T)
        check_gradient(lambda t, ext=ext: np.sum(interpolate.splev(t, tck, ext=ext) ** 2), outside)
        check_gradient(
            lambda c, ext=ext: np.sum(interpolate.splev(outside, (tck[0], c, 3), ext=ext) ** 2), tck[1].copy()
        )


# Tables


@pytest.mark.parametrize("kind", ["linear", "slinear", "quadratic", "cubic", "nearest", "previous", "next", "zero"])
@pytest.mark.parametrize("y", [Y, TABLE.T.copy()], ids=["vector", "table"])
def test_interp1d(kind, y):
    check_gradient(lambda y, t: np.sum(interp1d(X, y, kind=kind)(t) ** 2), y, T)
    table = interp1d(X, y, kind=kind)
    check_gradient(lambda t: np.sum(table(t) ** 2), T)
    check_gradient(lambda t: np.sum(table(t) ** 2), T.reshape(3, 2))


def test_more_of_interp1d():
    order = np.array([3, 1, 0, 5, 4, 2])
    check_gradient(lambda y: np.sum(interp1d(X[order], y)(T) ** 2), Y)
    outside = np.array([-0.3, 1.2, 3.4])
    check_gradient(lambda y, t: np.sum(interp1d(X, y, fill_value="extrapolate")(t) ** 2), Y, outside)
    check_gradient(lambda y, t: np.sum(interp1d(X, y, bounds_error=False, fill_value=0.5)(t) ** 2), Y, outside)
    check_gradient(lambda y, t: np.sum(interp1d(X, y, axis=0)(t) ** 2), TABLE, T)
    check_gradient(lambda y: interp1d(X, y)(0.7) ** 2, Y)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_grid(method):
    check_gradient(lambda v, p: np.sum(RegularGridInterpolator(GRID, v, method)(p) ** 2), HEIGHTS, POINTS)
    table = RegularGridInterpolator(GRID, HEIGHTS, method, bounds_error=False, fill_value=0.3)
    check_gradient(lambda p: np.sum(table(p) ** 2), np.array([[0.2, 0.3], [4.0, 0.1]]))


def test_more_of_grids():
    falling = (GRID[0][::-1].copy(), GRID[1])
    check_gradient(lambda v, p: np.sum(RegularGridInterpolator(falling, v)(p) ** 2), HEIGHTS, POINTS)
    stacked = np.stack([HEIGHTS, HEIGHTS**0.5], axis=-1)
    check_gradient(lambda v, p: np.sum(RegularGridInterpolator(GRID, v)(p) ** 2), stacked, POINTS)
    extended = RegularGridInterpolator(GRID, HEIGHTS, bounds_error=False, fill_value=None)
    check_gradient(lambda p: np.sum(extended(p) ** 2), np.array([[0.2, 0.3], [4.0, 0.1], [-1.0, 3.0]]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(interpolate.CubicSpline(x, Y)(T)),
        lambda x: np.sum(interpolate.make_interp_spline(x, Y)(T)),
        lambda x: np.sum(interp1d(x, Y)(T)),
        lambda y: np.sum(interpolate.Akima1DInterpolator(X, y)(T)),
        lambda y: np.sum(interpolate.UnivariateSpline(X, y)(T)),
        lambda y: np.sum(interpolate.CubicSpline(X, y).antiderivative()(T)),
        lambda y: np.sum(interpolate.splev(T, interpolate.splrep(X, y, s=0.1))),
        lambda x: RegularGridInterpolator((x,), Y)(np.array([[0.3]]))[0],
        lambda x: np.sum(RegularGridInterpolator((X,), Y, method="cubic")(x[:, None])),
    ],
)
def test_refused(function):
    with pytest.raises(DifferentiationError):
        gradient(function)(X.copy())


def test_knots_are_not_constants():
    with pytest.raises((NoRuleError, DifferentiationError)):
        gradient(lambda s: np.sum(s(T)))(B_SPLINE)


def test_every_public_function_is_in_some_list():
    """A rule, no derivative, or refused."""
    assert [] == [entry.name for entry in coverage(interpolate) if entry.how == UNKNOWN and entry.name != "test"]


FIELDS = [getattr(cls, name, None) for cls in (PPoly, BSpline) for name in ("c", "x", "t")]

BY_HAND = {
    *(field.fget for field in FIELDS if isinstance(field, property)),
    PPoly,
    PPoly.__call__,
    PPoly.derivative,
    PPoly.antiderivative,
    PPoly.integrate,
    BSpline,
    BSpline.__call__,
    BSpline.derivative,
    BSpline.integrate,
    interpolate.CubicSpline,
    interpolate.CubicHermiteSpline,
    interpolate.PchipInterpolator,
    interpolate.Akima1DInterpolator,
    interpolate.make_interp_spline,
    interpolate.splrep,
    interpolate.splev,
    interp1d,
    interp1d.__call__,
    RegularGridInterpolator,
    RegularGridInterpolator.__call__,
}
