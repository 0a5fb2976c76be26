"""Parts of the pullbacks of pseudo-inverses and least squares, of matrices whose rank does not change.

Golub and Pereyra (1973), "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
separate", equation 4.12. Where singular values that are not 0 are left out (`rcond`), the pseudo-inverse is another
function of the singular values: its derivative is that of Noferini (2017), "A formula for the Frechet derivative of a
generalized matrix function".
"""

from typing import Any

import numpy as np

from adcompiler.runtime.arrays import as_array, eye
from adcompiler.runtime.factors import from_triangle, read_triangle
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.shapes import Shape, shape
from adcompiler.runtime.singular import svd_bar


def pinv_bar(y_bar: Any, a: Any, y: Any, rcond: Any, hermitian: bool, rtol: Any) -> Any:
    """The cotangent of `a` in ``y = np.linalg.pinv(a, rcond, hermitian, rtol=rtol)``."""
    if 0 in shape(a):
        return np.zeros_like(y, shape=shape(a))
    a = from_triangle(a, False) if hermitian else as_array(a)
    cutoff = rtol if rcond is None else rcond
    if cutoff is None or cutoff is np._NoValue:
        a_bar = _regular_pinv_bar(y_bar, a, y)
    else:
        a_bar = _truncated_pinv_bar(y_bar, a, cutoff)
    return read_triangle(a_bar, False) if hermitian else a_bar


def _regular_pinv_bar(y_bar: Any, a: Any, y: Any) -> Any:
    outside = eye(y.shape[-1], y.dtype, y) - a @ y
    inside = eye(y.shape[-2], y.dtype, y) - y @ a
    yh, bar = adjoint(y), adjoint(y_bar)
    return outside @ bar @ y @ yh + yh @ y @ bar @ inside - yh @ y_bar @ yh


def _truncated_pinv_bar(y_bar: Any, a: Any, cutoff: Any) -> Any:
    """From divided differences of the function that is 1 / s above the cutoff and 0 below."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    limit = cutoff * np.max(s, axis=-1)
    kept = s > (limit[..., None] if np.ndim(limit) else limit)
    f = np.where(kept, 1 / np.where(kept, s, 1), 0)
    across, down = f[..., None, :], f[..., :, None]
    one_kept = kept[..., None, :] != kept[..., :, None]
    gaps, sums = s[..., :, None] - s[..., None, :], s[..., :, None] + s[..., None, :]
    slope = np.where(one_kept, (down - across) / np.where(one_kept, gaps, 1), -down * across)
    mean = np.where(one_kept, (down + across) / np.where(one_kept, sums, 1), down * across)
    bar = adjoint(y_bar)
    right, left = bar @ adjoint(vh), adjoint(u) @ bar
    core = adjoint(u) @ right
    a_bar = u @ (0.5 * (core + adjoint(core)) * slope + 0.5 * (core - adjoint(core)) * mean) @ vh
    squares = f * f
    a_bar = a_bar + ((right - u @ core) * squares[..., None, :]) @ vh
    return a_bar + (u * squares[..., None, :]) @ (left - core @ vh)


# Least squares


def lstsq_inverse(y_bar: Any, a: Any, rcond: Any) -> Any:
    """The pseudo-inverse of `a` with the cutoff of ``np.linalg.lstsq(a, b, rcond)``, if the solution is used."""
    return None if y_bar[0] is None else np.linalg.pinv(a, _cutoff(shape(a), rcond))


def _cutoff(a_shape: Shape, rcond: Any) -> Any:
    # LAPACK computes in double precision, whatever the dtype, and takes a negative cutoff for eps.
    eps = float(np.finfo(float).eps)
    return eps * max(a_shape) if rcond is None else eps if rcond < 0 else rcond


def lstsq_bar_a(y_bar: Any, inverse: Any, a: Any, b: Any, y: Any, rcond: Any) -> Any:
    """The cotangent of `a` in ``y = x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)``."""
    if 0 in shape(a):
        return np.zeros_like(y[0], shape=shape(a))
    x_bar, residual_bar, _, s_bar = y_bar
    a, b, x = as_array(a), _columns(b), _columns(y[0])
    rest = b - a @ x
    bars = []
    if x_bar is not None and rcond is None:
        x_bar = _columns(x_bar)
        lifted = adjoint(inverse) @ x_bar
        bars.append(rest @ adjoint(inverse @ lifted) - lifted @ adjoint(x))
        bars.append((adjoint(inverse) @ x) @ adjoint(x_bar - inverse @ (a @ x_bar)))
    elif x_bar is not None:
        bars.append(_truncated_pinv_bar(_columns(x_bar) @ adjoint(b), a, _cutoff(a.shape, rcond)))
    if residual_bar is not None and y[1].size:
        bars.append(-2 * (rest * np.real(residual_bar)) @ adjoint(x))
    if s_bar is not None:
        bars.append(svd_bar(s_bar, a, y[3], False, False))
    return sum(bars[1:], bars[0]) if bars else np.zeros_like(y[0], shape=a.shape)


def lstsq_bar_b(y_bar: Any, inverse: Any, a: Any, b: Any, y: Any) -> Any:
    """The cotangent of `b` in ``y = x, residuals, rank, s = np.linalg.lstsq(a, b)``."""
    x_bar, residual_bar = y_bar[:2]
    bar = None if x_bar is None else adjoint(inverse) @ x_bar
    if residual_bar is not None and y[1].size:
        rest = as_array(b) - as_array(a) @ y[0]
        bar = 2 * rest * np.real(residual_bar) + (0 if bar is None else bar)
    return np.zeros_like(y[0], shape=shape(b)) if bar is None else bar


def _columns(b: Any) -> Any:
    """A vector as a matrix of one column."""
    b = as_array(b)
    return b[:, None] if b.ndim == 1 else b
