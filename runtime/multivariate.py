"""Cotangents of the densities of multivariate distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from adcompiler.runtime import specials
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.pointwise import is_real_or_complex
from adcompiler.runtime.shapes import fit, shape
from adcompiler.runtime.ufuncs import as_given

# The normal distribution: the points are rows, and `z` the residuals divided by the covariance


def normal_point_bar(y_bar: Any, x: Any, mean: Any, cov: Any) -> Any:
    """The cotangent of the points in the log density."""
    if not is_real_or_complex(x):
        return None
    z, _ = _weighted_residuals(x, mean, cov)
    bar = -_rows(y_bar, z) * z
    return as_given(fit(bar.reshape(shape(x)) if bar.size == np.size(x) else bar, shape(x)), np.asarray(x)[()])


def normal_mean_bar(y_bar: Any, x: Any, mean: Any, cov: Any) -> Any:
    """The cotangent of the mean in the log density."""
    if mean is None or not is_real_or_complex(mean):
        return None
    z, _ = _weighted_residuals(x, mean, cov)
    total = (_rows(y_bar, z) * z).reshape(-1, z.shape[-1]).sum(axis=0)
    return as_given(fit(total, shape(mean)), np.asarray(mean)[()])


def normal_covariance_bar(y_bar: Any, x: Any, mean: Any, cov: Any) -> Any:
    """The cotangent of the covariance, of its diagonal, or of one variance for all, in the log density."""
    if not is_real_or_complex(cov):
        return None
    z, inverse = _weighted_residuals(x, mean, cov)
    c = _rows(y_bar, z)
    flat = z.reshape(-1, z.shape[-1])
    outer = (c * z).reshape(flat.shape).T @ flat
    bar = 0.5 * (outer - np.sum(c) * inverse)
    dims = len(shape(cov))
    bar = bar if dims == 2 else np.diagonal(bar)
    return as_given(fit(bar if dims else np.sum(bar), shape(cov)), np.asarray(cov)[()])


def _weighted_residuals(x: Any, mean: Any, cov: Any) -> tuple[Any, Any]:
    """The residuals times the inverse of the covariance, one row for each point; and that inverse."""
    dim = max(np.size(0.0 if mean is None else mean), np.shape(cov)[0] if np.ndim(cov) else 1)
    if mean is None and np.ndim(cov) == 0:
        dim = 1
    points = np.asarray(x, dtype=float)
    if points.ndim < 2:
        points = points.reshape((-1, 1) if dim == 1 else (1, -1))
    centre = np.zeros(dim) if mean is None else np.asarray(mean, dtype=float).reshape(-1)
    matrix = cov * np.eye(dim) if np.ndim(cov) == 0 else np.diag(cov) if np.ndim(cov) == 1 else np.asarray(cov)
    inverse = np.linalg.inv(matrix)
    inverse = 0.5 * (inverse + inverse.T)
    return (points - centre) @ inverse, inverse


def _rows(y_bar: Any, z: Any) -> Any:
    """The cotangent of the values, one for each row of `z`."""
    return np.broadcast_to(np.reshape(y_bar, z.shape[:-1]) if np.size(y_bar) > 1 else y_bar, z.shape[:-1])[..., None]


def refuse_singular(cov: Any, allow_singular: bool) -> None:
    """Raise NoRuleError for covariances that are more than a number or an array, or may be singular."""
    if isinstance(cov, (float, int, list, tuple)) or hasattr(cov, "dtype"):
        if not allow_singular:
            return
        what = "a density with a singular covariance has no derivative"
    else:
        what = f"a covariance of type {type(cov).__qualname__} is an object of SciPy's"
    raise NoRuleError(f"{what}\nUse multivariate_normal with a regular covariance matrix as an array.")


# Dirichlet's distribution: the points are columns, and the last component may be left out


def dirichlet_bar(y_bar: Any, x: Any, alpha: Any) -> Any:
    """The cotangent of the points in the log density."""
    if not is_real_or_complex(x):
        return None
    full, a = _simplex(x, alpha)
    bar = y_bar * (a - 1) / full
    bar = bar[:-1] - bar[-1:] if np.shape(x)[0] < len(full) else bar
    return as_given(bar, np.asarray(x))


def dirichlet_parameter_bar(y_bar: Any, x: Any, alpha: Any) -> Any:
    """The cotangent of the parameters in the log density."""
    if not is_real_or_complex(alpha):
        return None
    full, a = _simplex(x, alpha)
    bar = y_bar * (np.log(full) - specials.psi(a) + specials.psi(np.sum(a)))
    return as_given(bar.reshape(len(full), -1).sum(axis=1), np.asarray(alpha))


def _simplex(x: Any, alpha: Any) -> tuple[Any, Any]:
    """The points with all components, and the parameters as a column for them."""
    x, a = np.asarray(x), np.asarray(alpha)
    full = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)]) if len(x) < len(a) else x
    return full, a.reshape(-1, *(1,) * (full.ndim - 1))


# The kernel density estimate: the data are columns


def kernel_bar(y_bar: Any, points: Any, data: Any, weights: Any, inverse: Any, y: Any) -> Any:
    """The cotangent of the points in a weighted sum of normal densities around the `data`."""
    if not is_real_or_complex(points):
        return None
    columns = np.atleast_2d(np.asarray(points))
    columns = columns if len(columns) == len(data) else columns.reshape(len(data), 1)
    distance = columns[:, :, None] - data[:, None, :]
    pulled = np.einsum("ij,jmn->imn", inverse, distance)
    exponent = -0.5 * np.sum(pulled * distance, axis=0)
    density = weights * np.exp(exponent) * np.sqrt(np.linalg.det(inverse / (2 * np.pi)))
    bar = -y_bar * np.sum(density * pulled, axis=2)
    return as_given(bar.reshape(shape(points)), np.asarray(points)[()])
