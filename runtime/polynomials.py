"""The pullbacks of NumPy's polynomials, whose coefficients go from the highest power to the lowest."""

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array, home_of, like_of, moved_to, ones
from adcompiler.runtime.elementary import divide_strong
from adcompiler.runtime.errors import NoRuleError
from adcompiler.runtime.shapes import Shape, conj, fit, shape, size, zeros


def value_bars(y_bar: Any, p: Any, x: Any) -> tuple[Any, Any]:
    """The cotangents of the coefficients and of the point for ``np.polyval(p, x)``."""
    coefficients, x = as_array(p), as_array(x)  # the rows of an array of more axes are coefficients, too
    count = shape(coefficients)[0]
    powers, terms, point = y_bar, [], conj(x)
    for i in reversed(range(count)):
        terms.append(fit(powers, shape(coefficients[i])))
        powers = powers * point
    slope = 0.0
    for i in range(count - 1):
        slope = slope * x + (count - 1 - i) * coefficients[i]
    return np.stack(terms[::-1]) if terms else zeros((0,), y_bar), fit(y_bar * conj(slope), shape(x))


def derivative_bar(y_bar: Any, count: int, m: int) -> Any:
    """The cotangent of `count` coefficients for their `m`-th derivative."""
    bar = zeros((count,), y_bar)
    if count > m:
        bar[: count - m] = y_bar * moved_to(y_bar, factors(count, m))[: count - m]
    return bar


def factors(count: int, m: int) -> Any:
    """What the `m`-th derivative multiplies each of `count` coefficients with."""
    powers = np.arange(count - 1, -1, -1)
    return np.prod([powers - i for i in range(m)], axis=0) if m else np.ones(count, int)


def integral_bars(y_bar: Any, count: int, m: int, k: Any) -> tuple[Any, Any]:
    """The cotangents of `count` coefficients and of the constants `k` for their `m`-th integral."""
    if m == 0:
        return y_bar, None if k is None else np.zeros(shape(k))
    scale = factors(count + m, m)
    constants = y_bar[count:] / [float(factors(j, j - 1)[0]) for j in range(m, 0, -1)]
    if k is None:
        k_bar = None
    elif size(k) == 1 and m > 1:
        k_bar = np.sum(constants).reshape(shape(k))
    else:
        k_bar = constants.reshape(shape(k))
    return y_bar[:count] / scale[:count], k_bar


def aligned_bar(y_bar: Any, like: Shape) -> Any:
    """The cotangent of one summand: the last of the coefficients."""
    return y_bar[y_bar.shape[0] - (like[0] if like else 1) :].reshape(like)


def product_bar(y_bar: Any, other: Any, like: Shape) -> Any:
    """The cotangent of one factor of ``np.polymul``, which leaves out the leading zeros of both."""
    n, m = like[0] if like else 1, size(other)
    if n == 0 or m == 0:
        return zeros(like, y_bar)
    full = zeros((n + m - 1,), y_bar)
    full[n + m - 1 - size(y_bar) :] = y_bar
    return np.correlate(full, np.ravel(other), "valid").reshape(like)


def division_bars(bars: Any, u: Any, v: Any, q: Any) -> tuple[Any, Any]:
    """The cotangents of ``q, r = np.polydiv(u, v)``, from ``u = v * q + r`` with r shorter than v.

    NumPy leaves out leading zeros of r.
    """
    u, v = as_array(u), as_array(v)
    q_bar, r_bar = bars
    n, m = size(u), size(v)
    dtype = np.result_type(u, v, q)
    below = np.zeros(n, np.result_type(dtype, float))
    if r_bar is not None:
        below[n - size(r_bar) :] = r_bar
    if n < m:
        return below.astype(dtype), np.zeros(m, dtype)
    width = n - m + 1
    whole = np.zeros((n, width), below.dtype)  # v * q as a matrix times q
    for j in range(width):
        whole[j : j + m, j] = np.ravel(v)
    top, rest = whole[:width], whole[width:]
    q_total = -conj(rest).T @ below[width:]
    if q_bar is not None:
        q_total = q_total + q_bar
    u_bar = np.concatenate([np.linalg.solve(conj(top).T, q_total), below[width:]])
    return u_bar.astype(dtype), -np.correlate(u_bar, np.ravel(q), "valid").astype(dtype)


def fit_bars(c_bar: Any, x: Any, y: Any, deg: int, w: Any, c: Any) -> tuple[Any, Any, Any]:
    """The cotangents of x, y and the weights for ``c = np.polyfit(x, y, deg, w=w)``, whose points suffice.

    Golub and Pereyra (1973): for the least-squares solution of A c = b with full column rank,
    ``A_bar = r s^H - A s c^H`` and ``b_bar = A s``, where ``s = (A^H A)^-1 c_bar`` and r is the residual.
    """
    if w is not None and like_of(y) is not None:
        raise NoRuleError(
            "cupy.polyfit multiplies y by the weights in place, so that the values that were fitted are gone\n"
            "Fit without weights, or by np.linalg.lstsq(np.vander(x, deg + 1) * w[:, None], y * w)."
        )
    if size(x) <= deg:
        raise NoRuleError(
            "np.polyfit with fewer points than coefficients has many solutions\nTake a lower degree, or more points."
        )
    powers = np.vander(x, deg + 1)
    weights = ones((size(x),), float, x) if w is None else as_array(w)
    a, b = powers * weights[:, None], (np.transpose(y) * weights).T
    r = np.linalg.qr(a, "r")
    columns = c.reshape(deg + 1, -1)
    s = np.linalg.solve(r, np.linalg.solve(conj(r).T, c_bar.reshape(deg + 1, -1)))
    residual = b.reshape(size(x), -1) - a @ columns
    b_bar = a @ s
    a_bar = residual @ conj(s).T - b_bar @ conj(columns).T
    slopes = np.zeros_like(powers)
    slopes[:, :-1] = powers[:, 1:] * moved_to(powers, np.arange(deg, 0, -1))
    x_bar = np.sum(a_bar * conj(slopes), axis=1) * weights
    y_bar = (b_bar * weights[:, None]).reshape(shape(y))
    w_bar = None
    if w is not None:
        w_bar = np.real(np.sum(a_bar * conj(powers), axis=1) + np.sum(b_bar * conj(y.reshape(size(x), -1)), axis=1))
    return x_bar, y_bar, w_bar


def from_roots_bar(y_bar: Any, roots: Any) -> Any:
    """The cotangent of the roots for ``np.poly(roots)``: each moves the product of all other factors."""
    if np.ndim(roots) != 1:
        raise NoRuleError(
            "np.poly of a matrix is not differentiated: it goes through the eigenvalues\n"
            "Use np.poly(np.linalg.eigvals(A))."
        )
    others = [np.atleast_1d(np.poly(np.delete(roots, i))) for i in range(size(roots))]
    bars = [-np.sum(y_bar[1:] * conj(other)) for other in others]
    return _joined(bars, np.result_type(y_bar, as_array(roots)))


def roots_bar(c: Any, p: Any, roots: Any) -> Any:
    """The cotangent of the coefficients for the roots: ``dr = -dp(r) / p'(r)``, infinite where a root is double."""
    slopes = np.polyval(np.polyder(p), roots)
    weights = divide_strong(-c, conj(slopes))
    bars = [np.sum(weights * conj(roots**k)) for k in range(size(p) - 1, -1, -1)]
    return _joined(bars, np.result_type(c, as_array(p), roots))


def _joined(bars: list[Any], dtype: Any) -> Any:
    """Numbers as an array, also those of a device."""
    return np.array(bars, dtype) if home_of(bars) is np else np.stack(bars).astype(dtype)
