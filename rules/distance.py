"""Rules for scipy.spatial.distance: distances between all pairs of points, for the metrics with a derivative."""

import inspect

import numpy as np
from scipy.spatial import distance

from adcompiler.rules.registry import refused, rrule
from adcompiler.runtime.constants import require_constant
from adcompiler.runtime.distances import SMOOTH, distance_bars
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.shapes import shape

refused(
    *(
        function
        for name in distance.__all__
        if inspect.isfunction(function := getattr(distance, name)) and name not in ("cdist", "pdist", "squareform")
    ),
    why="The distance of two vectors has no rule of its own.\n"
    "Write it with NumPy, such as np.linalg.norm(u - v), or use cdist.",
)


def check_metric(metric):
    """Raise NoRuleError for a metric without rule."""
    if metric not in SMOOTH:
        raise NoRuleError(
            f"distances with metric={metric!r} have no derivative here\nUse one of {', '.join(SMOOTH)}, or NumPy."
        )


@rrule(distance.cdist, result="fresh", kind="array2")
def cdist(XA, XB, metric="euclidean", *, p=2, needs):
    require_constant(needs[3], p, "p", "cdist")
    check_metric(metric)
    options = dict(p=p) if metric == "minkowski" else {}
    y = distance.cdist(XA, XB, metric, **options)

    def pullback(y_bar):
        a, b = np.asarray(XA), np.asarray(XB)
        a_bar, b_bar = distance_bars(y_bar, y, a.astype(float), b.astype(float), metric, p)
        return in_precision(a_bar, a), in_precision(b_bar, b), None, None

    return y, pullback


@rrule(distance.pdist, result="fresh", kind="array1")
def pdist(X, metric="euclidean", *, p=2, needs):
    require_constant(needs[2], p, "p", "pdist")
    check_metric(metric)
    options = dict(p=p) if metric == "minkowski" else {}
    y = distance.pdist(X, metric, **options)

    def pullback(y_bar):
        x = np.asarray(X)
        points = x.astype(float)
        if not len(y):
            return np.zeros_like(x), None, None
        whole, lengths = distance.squareform(y_bar), distance.squareform(y)
        one, other = distance_bars(0.5 * whole, lengths, points, points, metric, p)
        return in_precision(one + other, x), None, None

    return y, pullback


@rrule(distance.squareform, kind="array", linear=("X",))
def squareform(X, *, checks=True):
    y = distance.squareform(X, checks=checks)
    n = len(y) if np.ndim(X) == 1 else len(X)
    rows, columns = np.triu_indices(n, 1)
    x_shape = shape(X)

    def pullback(y_bar):
        if len(x_shape) == 1:
            return (y_bar[rows, columns] + y_bar[columns, rows])[: x_shape[0]], None
        x_bar = np.zeros(x_shape, y_bar.dtype)
        x_bar[rows, columns] = y_bar
        return x_bar, None

    return y, pullback


def in_precision(bar, value):
    """A cotangent in the precision of its value."""
    return bar.astype(value.dtype) if value.dtype.kind == "f" else bar
