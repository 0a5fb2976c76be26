"""Rules for the interpolants of scipy.interpolate that keep a table: interp1d and RegularGridInterpolator."""

import itertools

import numpy as np
from scipy.interpolate import RegularGridInterpolator, interp1d

from adcompiler.rules.registry import rrule
from adcompiler.runtime.constants import unknown
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.piecewise import position_bar, positions_first
from adcompiler.runtime.shapes import shape
from adcompiler.runtime.tangents import NotImplementedTangent

VALUES = "_values" if isinstance(getattr(RegularGridInterpolator, "values", None), property) else "values"
GRID = "_grid" if isinstance(getattr(RegularGridInterpolator, "grid", None), property) else "grid"

# One coordinate

KINDS = {"linear": 1, "slinear": 1, "nearest": 0, "nearest-up": 0, "previous": 0, "next": 0, "zero": 0}


@rrule(interp1d, kind="unknown")
def make_interp1d(x, y, kind="linear", axis=-1, copy=True, bounds_error=None, fill_value=np.nan, assume_sorted=False):
    made = interp1d(x, y, kind, axis, True, bounds_error, fill_value, assume_sorted)

    def pullback(y_bar):
        bar = y_bar.get("y")
        outside = unknown(fill_value, "of fill_value in interp1d")
        places = unknown(x, "of the positions of the data in interp1d")
        if bar is None:
            return places, *(None,) * 5, outside, None
        if not assume_sorted:
            order = np.argsort(x, kind="mergesort")
            sorted_bar, bar = bar, np.empty_like(bar)
            np.moveaxis(bar, axis, 0)[order] = np.moveaxis(sorted_bar, axis, 0)
        return places, bar, *(None,) * 4, outside, None

    return made, pullback


def kind_of(table):
    """The kind that a table was made with; SciPy keeps the order of a spline only in the spline."""
    if hasattr(table, "_spline"):
        return table._spline.k
    return table._kind


@rrule(interp1d.__call__, kind="unknown", accepts=(interp1d,))
def call_interp1d(self, x):
    y = self(x)
    t, kind = np.asarray(x, float), kind_of(self)
    axis = self.axis % self.y.ndim

    def pullback(y_bar):
        fill = "extrapolate" if self._extrapolate else 0.0
        options = dict(axis=0, kind=kind, bounds_error=False, fill_value=fill, assume_sorted=True)
        weights = interp1d(self.x, np.eye(len(self.x)), **options)(t.ravel())
        if kind in ("previous", "next"):
            weights = np.nan_to_num(weights)
        bar = positions_first(y_bar, axis, t.ndim)[0]
        table_bar = np.moveaxis(np.tensordot(weights.T, bar, 1), 0, axis)
        slopes = position_slopes(self, kind, t, axis)
        t_bar = np.zeros(t.shape) if slopes is None else position_bar(y_bar, slopes, axis, t.shape)
        return {"y": table_bar, "x": NotImplementedTangent("of the positions of the data in interp1d")}, t_bar

    return y, pullback


def position_slopes(table, kind, t, axis):
    """The slopes of the interpolant at `t`, in the shape of its values; None where it is piecewise constant."""
    if (kind in KINDS and KINDS[kind] == 0) or kind == 0:
        return None
    x, values = table.x, np.moveaxis(table.y, axis, 0)
    if kind in ("linear", "slinear", 1):
        right = np.clip(np.searchsorted(x, t.ravel()), 1, len(x) - 1)
        steps = np.reshape(x[right] - x[right - 1], (-1, *(1,) * (values.ndim - 1)))
        found = (values[right] - values[right - 1]) / steps
    else:
        found = table._spline(t.ravel(), 1)
        found = np.reshape(found, (t.size, *values.shape[1:]))
    if not table._extrapolate:
        outside = (t.ravel() < x[0]) | (t.ravel() > x[-1])
        found = np.where(np.reshape(outside, (-1, *(1,) * (values.ndim - 1))), 0, found)
    found = np.reshape(found, (*t.shape, *values.shape[1:]))
    return np.moveaxis(found, range(t.ndim), range(axis, axis + t.ndim))


# Grids


@rrule(RegularGridInterpolator, kind="unknown")
def make_grid(points, values, method="linear", bounds_error=True, fill_value=np.nan):
    made = RegularGridInterpolator(points, np.array(values), method, bounds_error, fill_value)
    turned = tuple(axis for axis, p in enumerate(points) if len(p) > 1 and p[0] > p[-1])

    def pullback(y_bar):
        bar = y_bar.get(VALUES)
        table_bar = np.zeros(shape(values)) if bar is None else np.flip(bar, turned)
        places = unknown(points, "of the positions of a grid")
        return places, table_bar, None, None, unknown(fill_value, "of fill_value in RegularGridInterpolator")

    return made, pullback


@rrule(RegularGridInterpolator.__call__, kind="unknown", accepts=(RegularGridInterpolator,))
def call_grid(self, xi, method=None):
    chosen = self.method if method is None else method
    if chosen not in ("linear", "nearest") or isinstance(xi, tuple | list):
        raise NoRuleError(
            "RegularGridInterpolator has a derivative for method 'linear' or 'nearest' and an array of points\n"
            "Stack the coordinates: np.stack([x, y], axis=-1)."
        )
    y = self(xi, method)
    points, grid, table = np.asarray(xi, float), self.grid, self.values
    points = points[:, None] if len(grid) == 1 and points.ndim == 1 else points
    flat = np.reshape(points, (-1, len(grid)))

    def pullback(y_bar):
        bar = np.reshape(y_bar, (len(flat), *table.shape[len(grid) :]))
        inside = np.all([(p >= g[0]) & (p <= g[-1]) for p, g in zip(flat.T, grid, strict=True)], axis=0)
        if self.fill_value is not None:
            bar = np.where(np.reshape(inside, (-1, *(1,) * (bar.ndim - 1))), bar, 0)
        table_bar, point_bars = multilinear_bars(bar, flat, grid, table, chosen == "nearest")
        return (
            {
                VALUES: table_bar,
                GRID: NotImplementedTangent("of the positions of a grid"),
            },
            np.reshape(point_bars, shape(xi)),
            None,
        )

    return y, pullback


def multilinear_bars(bar, points, grid, table, nearest):
    """The cotangents of the table and the points: each point has the corners of its cell, with products of weights."""
    lower = [np.clip(np.searchsorted(g, p) - 1, 0, len(g) - 2) for p, g in zip(points.T, grid, strict=True)]
    steps = [g[i + 1] - g[i] for g, i in zip(grid, lower, strict=True)]
    parts = [(p - g[i]) / h for p, g, i, h in zip(points.T, grid, lower, steps, strict=True)]
    table_bar, point_bars = np.zeros(table.shape, np.result_type(bar, table)), np.zeros(points.shape)
    if nearest:
        np.add.at(table_bar, tuple(np.where(r <= 0.5, i, i + 1) for i, r in zip(lower, parts, strict=True)), bar)
        return table_bar, point_bars
    for corner in itertools.product((0, 1), repeat=len(grid)):
        place = tuple(i + up for i, up in zip(lower, corner, strict=True))
        weights = [r if up else 1 - r for r, up in zip(parts, corner, strict=True)]
        product = np.prod(weights, axis=0)
        np.add.at(table_bar, place, bar * np.reshape(product, (-1, *(1,) * (bar.ndim - 1))))
        height = np.sum(np.reshape(np.real(bar * np.conj(table[place])), (len(points), -1)), axis=1)
        for axis, up in enumerate(corner):
            others = np.prod(weights[:axis] + weights[axis + 1 :], axis=0)
            point_bars[:, axis] += height * others * (1 if up else -1) / steps[axis]
    return table_bar, point_bars
