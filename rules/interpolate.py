"""Rules for scipy.interpolate: splines and other interpolants, in the position and in the values.

The cotangent of an interpolant is that of its fields, as of any object: the coefficients of a spline, the values of an
interpolant of tables. Where the data are at is constant in the constructors; breakpoints and knots of finished splines
are differentiated or refused, never taken for constants.
"""

import numpy as np
from scipy import interpolate
from scipy.interpolate import BSpline, PPoly

from adcompiler.rules import interpolate_tables as interpolate_tables
from adcompiler.rules.names import existing
from adcompiler.rules.registry import refused, rrule
from adcompiler.runtime.constants import unknown
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.piecewise import (
    coefficients_bar,
    derivative_bar,
    hermite_bars,
    integral_bar,
    intervals,
    monotone_slopes_bar,
    position_bar,
    positions_first,
)
from adcompiler.runtime.shapes import shape
from adcompiler.runtime.tangents import NotImplementedTangent

refused(
    interpolate.UnivariateSpline,
    interpolate.InterpolatedUnivariateSpline,
    interpolate.LSQUnivariateSpline,
    interpolate.RectBivariateSpline,
    interpolate.SmoothBivariateSpline,
    interpolate.splprep,
    interpolate.make_lsq_spline,
    interpolate.make_smoothing_spline,
    *existing(interpolate, "make_splrep make_splprep generate_knots bisplrep bisplev"),
    *existing(interpolate, "BivariateSpline LSQBivariateSpline LSQSphereBivariateSpline RectSphereBivariateSpline"),
    *existing(interpolate, "SmoothSphereBivariateSpline"),
    why="A smoothing spline chooses its knots from the data, by FITPACK or by cross-validation.\n"
    "Use make_interp_spline or CubicSpline.",
)
refused(
    interpolate.RBFInterpolator,
    interpolate.griddata,
    interpolate.LinearNDInterpolator,
    interpolate.CloughTocher2DInterpolator,
    interpolate.NearestNDInterpolator,
    interpolate.interpn,
    interpolate.barycentric_interpolate,
    interpolate.krogh_interpolate,
    interpolate.pchip_interpolate,
    interpolate.BarycentricInterpolator,
    interpolate.KroghInterpolator,
    interpolate.lagrange,
    interpolate.splint,
    interpolate.splder,
    interpolate.splantider,
    interpolate.sproot,
    interpolate.spalde,
    interpolate.insert,
    *existing(interpolate, "AAA BPoly FloaterHormannInterpolator NdBSpline NdPPoly Rbf interp2d pade"),
    *existing(interpolate, "approximate_taylor_polynomial"),
    PPoly.roots,
    PPoly.solve,
    why="It has no rule here.\nUse CubicSpline, PchipInterpolator, RegularGridInterpolator or numpy.linalg.solve.",
)

PLACES = "of where the data of a spline are, or its knots"

# Fields have an underscore before them since SciPy 1.15.
UNDERSCORE = "_" if isinstance(PPoly.c, property) else ""
C, X = UNDERSCORE + "c", UNDERSCORE + "x"
B_C = "_c" if isinstance(getattr(BSpline, "c", None), property) else "c"
B_T = "_t" if isinstance(getattr(BSpline, "t", None), property) else "t"


def field(y_bar, name, like):
    """The entry of a field in the cotangent of an object, zeros if there is none."""
    found = y_bar.get(name)
    if isinstance(found, NotImplementedTangent):
        found.fail()
    return np.zeros(shape(like)) if found is None else found


if UNDERSCORE:

    @rrule(PPoly.c.fget, kind="array", accepts=(PPoly,))
    def ppoly_c(self):
        return self.c, lambda y_bar: ({C: y_bar},)

    @rrule(PPoly.x.fget, kind="array", accepts=(PPoly,))
    def ppoly_x(self):
        return self.x, lambda y_bar: ({X: y_bar},)


if B_C == "_c":

    @rrule(BSpline.c.fget, kind="array", accepts=(BSpline,))
    def bspline_c(self):
        return self.c, lambda y_bar: ({B_C: y_bar},)

    @rrule(BSpline.t.fget, kind="array", accepts=(BSpline,))
    def bspline_t(self):
        return self.t, lambda y_bar: ({B_T: y_bar},)


# Piecewise polynomials


@rrule(PPoly.__call__, kind="unknown", accepts=(PPoly,))
def evaluate(self, x, nu=0, extrapolate=None):
    y = self(x, nu, extrapolate)
    t = np.asarray(x, float)
    outside = self.extrapolate if extrapolate is None else extrapolate
    breaks, coefficients = self.x, self.c
    if breaks[0] > breaks[-1]:
        raise NoRuleError("a piecewise polynomial with decreasing breakpoints has no derivative here\nReverse them.")

    def pullback(y_bar):
        at = breaks[0] + (t - breaks[0]) % (breaks[-1] - breaks[0]) if outside == "periodic" else t
        defined = True if outside else (t >= breaks[0]) & (t <= breaks[-1])
        shaped = np.reshape(
            defined * np.ones(t.shape, bool), (*(1,) * self.axis, *t.shape, *(1,) * (coefficients.ndim - 2 - self.axis))
        )
        bar = np.where(shaped, y_bar, 0)
        t_bar = position_bar(bar, self(x, nu + 1, extrapolate), self.axis, t.shape)
        c_bar = coefficients_bar(positions_first(bar, self.axis, t.ndim)[0], coefficients.shape, breaks, at.ravel(), nu)
        x_bar = -np.bincount(intervals(breaks, at.ravel()), np.ravel(t_bar), len(breaks))
        periodic = NotImplementedTangent("of the breakpoints of a periodic spline")
        return {C: c_bar, X: periodic if outside == "periodic" else x_bar}, t_bar, None, None

    return y, pullback


@rrule(PPoly.derivative, kind="unknown", accepts=(PPoly,))
def derivative(self, nu=1):
    y = self.derivative(nu)
    if nu < 0:
        return NotImplemented
    c_shape = self.c.shape

    def pullback(y_bar):
        return {C: derivative_bar(field(y_bar, C, y.c), c_shape, min(nu, c_shape[0])), X: y_bar.get(X)}, None

    return y, pullback


@rrule(PPoly.antiderivative, kind="unknown", accepts=(PPoly,))
def antiderivative(self, nu=1):
    unknown = NotImplementedTangent("of the coefficients in an antiderivative: use integrate(a, b)")
    return self.antiderivative(nu), lambda y_bar: ({C: unknown, X: unknown}, None)


@rrule(PPoly.integrate, kind="unknown", accepts=(PPoly,))
def integrate(self, a, b, extrapolate=None):
    y = self.integrate(a, b, extrapolate)
    outside = self.extrapolate if extrapolate is None else extrapolate
    if outside == "periodic" or (not outside and not (self.x[0] <= min(a, b) <= max(a, b) <= self.x[-1])):
        return NotImplemented

    def pullback(y_bar):
        c_bar = integral_bar(y_bar, self.c.shape, self.x, float(a), float(b))
        unknown = NotImplementedTangent("of the breakpoints in an integral")
        a_bar, b_bar = -np.sum(y_bar * self(a, 0, True)), np.sum(y_bar * self(b, 0, True))
        return {C: c_bar, X: unknown}, a_bar, b_bar, None

    return y, pullback


@rrule(PPoly, kind="unknown")
def ppoly(c, x, extrapolate=None, axis=0):
    y = PPoly(np.array(c), np.array(x), extrapolate, axis)
    if axis:
        return NotImplemented

    def pullback(y_bar):
        x_bar = y_bar.get(X)
        return (
            field(y_bar, C, y.c),
            x_bar if isinstance(x_bar, NotImplementedTangent) else field(y_bar, X, y.x),
            None,
            None,
        )

    return y, pullback


# Their data


def along_first(y, axis):
    """The values with the axis of the data first."""
    return np.moveaxis(np.asarray(y), axis, 0)


def of_matrix(make, c_bar, y, axis):
    """The cotangent of data of which the coefficients are a linear function: `make` gives those of unit vectors."""
    data = along_first(y, axis)
    unit = make(np.eye(data.shape[0]))
    leading = unit.ndim - 1
    places = list(range(leading))
    return np.moveaxis(np.tensordot(unit, c_bar, (places, places)), 0, axis)


def homogeneous(bc_type, n):
    """The conditions at the ends with the value 0, for `n` data sets."""
    if bc_type is None or isinstance(bc_type, str):
        return bc_type

    def without_value(condition):
        if condition is None or isinstance(condition, str):
            return condition
        if isinstance(condition, list):
            return [(order, np.zeros(n)) for order, _ in condition]
        return (condition[0], np.zeros(n))

    return tuple(map(without_value, bc_type))


@rrule(interpolate.CubicSpline, kind="unknown")
def cubic_spline(x, y, axis=0, bc_type="not-a-knot", extrapolate=None):
    spline = interpolate.CubicSpline(x, y, axis, bc_type, extrapolate)

    def pullback(y_bar):
        def make(unit):
            if bc_type == "periodic":  # its first and last value must be equal: the first one stands for both
                unit = unit.copy()
                unit[0] = unit[0] + unit[-1]
                unit[-1] = unit[0]
                half = np.ones(len(unit))
                half[[0, -1]] = 0.5
                unit = unit * half
            return interpolate.CubicSpline(x, unit, 0, homogeneous(bc_type, len(unit))).c

        c_bar = field(y_bar, C, spline.c)
        values_bar = of_matrix(make, c_bar, y, axis)
        return unknown(x, PLACES), values_bar, None, unknown(bc_type, "of the conditions at the ends of a spline"), None

    return spline, pullback


@rrule(interpolate.CubicHermiteSpline, kind="unknown")
def cubic_hermite_spline(x, y, dydx, axis=0, extrapolate=None):
    spline = interpolate.CubicHermiteSpline(x, y, dydx, axis, extrapolate)

    def pullback(y_bar):
        values_bar, slopes_bar = hermite_bars(field(y_bar, C, spline.c), spline.x)
        return unknown(x, PLACES), np.moveaxis(values_bar, 0, axis), np.moveaxis(slopes_bar, 0, axis), None, None

    return spline, pullback


@rrule(interpolate.PchipInterpolator, kind="unknown")
def pchip(x, y, axis=0, extrapolate=None):
    spline = interpolate.PchipInterpolator(x, y, axis, extrapolate)

    def pullback(y_bar):
        values_bar, slopes_bar = hermite_bars(field(y_bar, C, spline.c), spline.x)
        values_bar = values_bar + monotone_slopes_bar(slopes_bar, spline.x, along_first(y, axis))
        return unknown(x, PLACES), np.moveaxis(values_bar, 0, axis), None, None

    return spline, pullback


@rrule(interpolate.Akima1DInterpolator, kind="unknown")
def akima(x, y, axis=0, *, method="akima", extrapolate=None):
    spline = interpolate.Akima1DInterpolator(x, y, axis, method=method, extrapolate=extrapolate)
    why = "of the data of Akima1DInterpolator: use PchipInterpolator or CubicSpline"
    return spline, lambda y_bar: (unknown(x, PLACES), unknown(y, why), None, None, None)


# B-splines


def basis(t, k, x, nu, extrapolate):
    """The values of all B-splines at positions: one row for each."""
    count = len(t) - k - 1
    return BSpline(t, np.eye(count), k, extrapolate)(x, nu)


@rrule(BSpline.__call__, kind="unknown", accepts=(BSpline,))
def evaluate_bspline(self, x, nu=0, extrapolate=None):
    y = self(x, nu, extrapolate)
    t = np.asarray(x, float)
    outside = self.extrapolate if extrapolate is None else extrapolate
    if self.axis:
        return NotImplemented

    def pullback(y_bar):
        slope = self(x, nu + 1, extrapolate) if nu < self.k else np.zeros_like(y)
        t_bar = position_bar(y_bar, np.where(np.isnan(slope), 0, slope), 0, t.shape)
        rows = np.nan_to_num(basis(self.t, self.k, t.ravel(), nu, outside), nan=0.0)
        c_bar = np.zeros(self.c.shape, np.asarray(y_bar).dtype)
        c_bar[: rows.shape[1]] = np.tensordot(rows.T, positions_first(y_bar, 0, t.ndim)[0], 1)
        return {B_C: c_bar, B_T: NotImplementedTangent("of the knots of a B-spline")}, t_bar, None, None

    return y, pullback


@rrule(BSpline.derivative, kind="unknown", accepts=(BSpline,))
def bspline_derivative(self, nu=1):
    unknown = NotImplementedTangent("of the coefficients in .derivative(): call the spline with nu=")
    return self.derivative(nu), lambda y_bar: ({B_C: unknown, B_T: unknown}, None)


@rrule(BSpline.integrate, kind="unknown", accepts=(BSpline,))
def bspline_integrate(self, a, b, extrapolate=None):
    y = self.integrate(a, b, extrapolate)
    outside = self.extrapolate if extrapolate is None else extrapolate
    low, high = self.t[self.k], self.t[-self.k - 1]
    if outside == "periodic" or self.axis or not (low <= min(a, b) <= max(a, b) <= high):
        return NotImplemented

    def pullback(y_bar):
        count = len(self.t) - self.k - 1
        weights = BSpline(self.t, np.eye(count), self.k).integrate(float(a), float(b))
        c_bar = np.zeros(self.c.shape, np.asarray(y_bar).dtype)
        c_bar[:count] = np.multiply.outer(weights, np.reshape(y_bar, self.c.shape[1:]))
        a_bar, b_bar = -np.sum(y_bar * self(a)), np.sum(y_bar * self(b))
        return {B_C: c_bar, B_T: NotImplementedTangent("of the knots of a B-spline")}, a_bar, b_bar, None

    return y, pullback


@rrule(BSpline, kind="unknown")
def bspline(t, c, k, extrapolate=True, axis=0):
    if axis:
        return NotImplemented
    y = BSpline(t, np.array(c), k, extrapolate, axis)
    return y, lambda y_bar: (unknown(t, PLACES), field(y_bar, B_C, y.c), None, None, None)


@rrule(interpolate.make_interp_spline, kind="unknown")
def make_interp_spline(x, y, k=3, t=None, bc_type=None, axis=0, check_finite=True):
    if axis or bc_type == "periodic":
        return NotImplemented
    spline = interpolate.make_interp_spline(x, y, k, t, bc_type, axis, check_finite)

    def pullback(y_bar):
        def make(unit):
            return interpolate.make_interp_spline(x, unit, k, t, homogeneous(bc_type, len(unit))).c

        values_bar = of_matrix(make, field(y_bar, B_C, spline.c), y, axis)
        return (
            unknown(x, PLACES),
            values_bar,
            None,
            unknown(t, PLACES),
            unknown(bc_type, "of the conditions at the ends of a spline"),
            None,
            None,
        )

    return spline, pullback


# The functions of FITPACK


@rrule(interpolate.splrep, kind="unknown")
def splrep(x, y, w=None, xb=None, xe=None, k=3, task=0, s=None, t=None, *, per=0, quiet=1):
    if s or (s is None and w is not None) or task or t is not None or per:
        return NotImplemented
    tck = interpolate.splrep(x, y, w, xb, xe, k, task, s, t, per=per, quiet=quiet)

    def pullback(y_bar):
        n = len(np.asarray(y))
        c_bar = y_bar[1]
        matrix = basis(tck[0], k, np.asarray(x, float), 0, True)
        y_bar = np.zeros(n) if c_bar is None else np.linalg.solve(matrix.T, np.asarray(c_bar)[:n])
        return unknown(x, PLACES), y_bar, None, unknown(xb, PLACES), unknown(xe, PLACES), *(None,) * 6

    return tck, pullback


@rrule(interpolate.splev, kind="unknown")
def splev(x, tck, der=0, ext=0):
    if not isinstance(tck, tuple) or isinstance(tck[1], list):
        return NotImplemented
    y = interpolate.splev(x, tck, der, ext)
    knots, c, k = tck
    position = np.asarray(x, float)

    def pullback(y_bar):
        low, high = knots[k], knots[-k - 1]
        inside = (position >= low) & (position <= high) | (ext == 0)
        slope = interpolate.splev(x, tck, der + 1) if der < k else np.zeros_like(y)
        at = np.clip(position, low, high) if ext == 3 else position
        bar = np.where(inside | (ext == 3), y_bar, 0)
        rows = basis(knots, k, at.ravel(), der, True)
        c_bar = np.zeros(shape(c))
        c_bar[: rows.shape[1]] = np.ravel(bar) @ rows
        unknown = NotImplementedTangent("of the knots of a spline")
        return np.where(inside, y_bar * slope, 0), (unknown, c_bar, None), None, None

    return y, pullback
