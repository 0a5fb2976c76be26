"""Forward rules of functions of samples: interpolation, padding, covariances, polynomials, ranges and windows."""

import numpy as np

from adcompiler.rules.forward import frule
from adcompiler.runtime.elementary import divide_strong
from adcompiler.runtime.forward import filled, match
from adcompiler.runtime.grids import kaiser_slope
from adcompiler.runtime.padding import MODES
from adcompiler.runtime.products import adjoint
from adcompiler.runtime.ranges import fractions
from adcompiler.runtime.shapes import ndim, real, shape, size

# Samples


@frule(np.interp)
def interp(tangents, x, xp, fp, left=None, right=None, period=None):
    """At a sample point the slope is the mean of those on both sides, which at the ends are 0."""
    if period is not None or size(xp) < 2 or size(x) == 0:
        return NotImplemented
    y = np.interp(x, xp, fp, left, right)
    slopes = np.diff(fp) / np.diff(xp)
    above, below = np.searchsorted(xp, x, "right") - 1, np.searchsorted(xp, x, "left") - 1
    y_dot = 0.0
    if tangents[0] is not None:
        padded = np.concatenate([slopes[:1] * 0, slopes, slopes[:1] * 0])
        y_dot = tangents[0] * (0.5 * (padded[above + 1] + padded[below + 1]))
    if tangents[1] is not None:
        inside = (x >= xp[0]) & (x <= xp[-1])
        interval = np.clip(above, 0, size(xp) - 2)
        y_dot = y_dot - np.where(inside, slopes[interval], 0) * np.interp(x, xp, tangents[1])
    if tangents[2] is not None or tangents[3] is not None or tangents[4] is not None:
        dots = [filled(dot, value) for dot, value in zip(tangents[2:5], (fp, left, right), strict=True)]
        y_dot = y_dot + np.interp(x, xp, dots[0], dots[1], dots[2])
    return y, match(y_dot, y)


@frule(np.pad)
def pad(
    tangents,
    array,
    pad_width,
    mode="constant",
    *,
    constant_values=None,
    end_values=None,
    stat_length=None,
    reflect_type=None,
):
    """Linear in the array and in the values, but where these are extrema or medians."""
    if mode not in MODES or mode in ("maximum", "minimum", "median"):
        return NotImplemented
    values = {"constant_values": constant_values, "end_values": end_values}
    others = {"stat_length": stat_length, "reflect_type": reflect_type}
    options = {name: value for name, value in {**values, **others}.items() if value is not None}
    dots = {"constant_values": tangents[3], "end_values": tangents[4]}
    moved = {name: filled(dots[name], value) for name, value in values.items() if value is not None}
    y = np.pad(array, pad_width, mode, **options)
    return y, np.pad(filled(tangents[0], array), pad_width, mode, **{**options, **moved})


@frule(np.unwrap)
def unwrap(tangents, p, discont=None, axis=-1, *, period=2 * np.pi):
    """The values plus whole periods, whose number is piecewise constant."""
    y = np.unwrap(p, discont, axis, period=period)
    y_dot = 0.0
    if tangents[0] is not None:
        y_dot = tangents[0]
    if tangents[3] is not None:
        y_dot = y_dot + tangents[3] * np.rint((y - p) / period)
    return y, match(y_dot, y)


@frule(np.kaiser)
def kaiser(tangents, M, beta):
    y = np.kaiser(M, beta)
    return y, tangents[1] * kaiser_slope(y, M, beta)


@frule(np.fft.fftfreq)
def fftfreq(tangents, n, d=1.0, device=None):
    y = np.fft.fftfreq(n, d, device)
    return y, -y / d * tangents[1]


@frule(np.fft.rfftfreq)
def rfftfreq(tangents, n, d=1.0, device=None):
    y = np.fft.rfftfreq(n, d, device)
    return y, -y / d * tangents[1]


# Covariances


def variables(m, y, rowvar):
    """The variables as rows of one matrix."""
    rows = m[None] if ndim(m) < 2 else m if rowvar else m.T
    if y is None:
        return rows
    others = y[None] if ndim(y) < 2 else y if rowvar or shape(y)[0] == 1 else y.T
    return np.concatenate([rows, others])


def are_samples(m, y):
    """Whether there are samples, in arrays; NumPy reads some that have none as a row, and others as a column."""
    arrays = not isinstance(m, list | tuple) and not isinstance(y, list | tuple)
    return arrays and size(m) > 0 and (y is None or size(y) > 0) and shape(m)[0] > 1 - (ndim(m) < 2)


@frule(np.cov)
def cov(tangents, m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """The covariances of the variables with their tangents, and the other way round."""
    if tangents[6] is not None or not are_samples(m, y):
        return NotImplemented
    c = np.cov(m, y, rowvar, bias, ddof, fweights, aweights, dtype=dtype)
    rows = variables(m, y, rowvar)
    dots = variables(filled(tangents[0], m), filled(tangents[1], y), rowvar)
    joint = np.cov(rows, dots, True, bias, ddof, fweights, aweights, dtype=dtype)
    cross = joint[: len(rows), len(rows) :]
    return c, np.reshape(cross + adjoint(cross), shape(c))[()]


@frule(np.corrcoef)
def corrcoef(tangents, x, y=None, rowvar=True, *, dtype=None):
    """The covariances of variables that are scaled to variance 1."""
    if not are_samples(x, y):
        return NotImplemented
    r = np.corrcoef(x, y, rowvar, dtype=dtype)
    rows = variables(x, y, rowvar)
    dots = variables(filled(tangents[0], x), filled(tangents[1], y), rowvar)
    joint = np.cov(rows, dots, dtype=dtype)
    lengths = np.sqrt(real(np.diagonal(joint)[: len(rows)]))
    cross = joint[: len(rows), len(rows) :] / lengths[:, None] / lengths
    own = real(np.diagonal(cross))
    whole = np.reshape(r, shape(cross))
    return r, np.reshape(cross + adjoint(cross) - whole * (own[:, None] + own), shape(r))[()]


# Polynomials


@frule(np.polyval)
def polyval(tangents, p, x):
    y = np.polyval(p, x)
    y_dot = 0.0
    if tangents[0] is not None:
        y_dot = np.polyval(tangents[0], x)
    if tangents[1] is not None:
        slope, count = 0.0, len(p)
        for i in range(count - 1):
            slope = slope * x + (count - 1 - i) * p[i]
        y_dot = y_dot + slope * tangents[1]
    return y, match(y_dot, y)


@frule(np.polymul)
def polymul(tangents, a1, a2):
    """NumPy leaves out leading zeros of the factors."""
    y = np.polymul(a1, a2)
    if 0 in shape(a1) or 0 in shape(a2):
        return NotImplemented
    y_dot = 0.0
    if tangents[0] is not None:
        y_dot = np.convolve(np.ravel(tangents[0]), np.ravel(a2))[-size(y) :]
    if tangents[1] is not None:
        y_dot = y_dot + np.convolve(np.ravel(a1), np.ravel(tangents[1]))[-size(y) :]
    return y, y_dot


@frule(np.polyfit)
def polyfit(tangents, x, y, deg, rcond=None, *, w=None):
    """The least-squares solution of ``a @ c = b``, whose residual also counts: Golub and Pereyra (1973)."""
    if size(x) <= deg:
        return NotImplemented
    c = np.polyfit(x, y, deg, rcond, w=w)
    powers, values = np.vander(x, deg + 1), np.reshape(y, (size(x), -1))
    weights = np.ones_like(x) if w is None else w
    a, columns = powers * weights[:, None], np.reshape(c, (deg + 1, -1))
    a_dot, b_dot = 0.0 * a, 0.0 * values
    if tangents[0] is not None:
        slopes = np.concatenate([powers[:, 1:] * np.arange(deg, 0, -1), 0.0 * powers[:, :1]], axis=1)
        a_dot = a_dot + slopes * (tangents[0] * weights)[:, None]
    if tangents[1] is not None:
        b_dot = b_dot + np.reshape(tangents[1], shape(values)) * weights[:, None]
    if tangents[4] is not None:
        a_dot, b_dot = a_dot + powers * tangents[4][:, None], b_dot + values * tangents[4][:, None]
    rest = values * weights[:, None] - a @ columns
    right = adjoint(a) @ (b_dot - a_dot @ columns) + adjoint(a_dot) @ rest
    r = np.linalg.qr(a, "r")
    c_dot = np.linalg.solve(r, np.linalg.solve(adjoint(r), right))
    return c, match(np.reshape(c_dot, shape(c)), c)


@frule(np.poly)
def poly(tangents, seq_of_zeros):
    """Each root moves the product of all other factors."""
    y = np.poly(seq_of_zeros)
    if ndim(seq_of_zeros) != 1 or isinstance(seq_of_zeros, list | tuple):
        return NotImplemented
    y_dot = 0.0 * y
    for i in range(size(seq_of_zeros)):
        others = np.atleast_1d(np.poly(np.delete(seq_of_zeros, i)))
        y_dot = y_dot - np.concatenate([0.0 * others[:1], others]) * tangents[0][i]
    return y, match(y_dot, y)


@frule(np.roots)
def roots(tangents, p):
    """Infinite where a root is double."""
    y = np.roots(p)
    if isinstance(p, list | tuple) or not size(y):
        return NotImplemented
    return y, match(divide_strong(-np.polyval(tangents[0], y), np.polyval(np.polyder(p), y)), y)


# Sequences and tables


@frule(np.arange)
def arange(tangents, start, stop=None, step=1, dtype=None, *, device=None):
    """It moves with its start and its step."""
    y = np.arange(start, stop, step, dtype, device=device)
    y_dot = 0.0
    if tangents[0] is not None and stop is not None:
        y_dot = tangents[0]
    if tangents[2] is not None:
        y_dot = y_dot + tangents[2] * np.arange(size(y))
    return y, match(y_dot, y)


def along(t, y, axis):
    """Numbers for each place along an axis, so that they broadcast against `y`."""
    return np.reshape(t, [-1 if i == axis % ndim(y) else 1 for i in range(ndim(y))])


@frule(np.geomspace)
def geomspace(tangents, start, stop, num=50, endpoint=True, dtype=None, axis=0):
    if ndim(start) or ndim(stop):
        return NotImplemented
    y = np.geomspace(start, stop, num, endpoint, dtype, axis)
    t = along(fractions(num, endpoint), y, axis)
    y_dot = 0.0
    if tangents[0] is not None:
        y_dot = y * (1 - t) * (tangents[0] / start)
    if tangents[1] is not None:
        y_dot = y_dot + y * t * (tangents[1] / stop)
    return y, match(y_dot, y)


@frule(np.logspace)
def logspace(tangents, start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    if ndim(base):
        return NotImplemented
    y = np.logspace(start, stop, num, endpoint, base, dtype, axis)
    y_dot = 0.0
    if tangents[0] is not None or tangents[1] is not None:
        exponent_dot = np.linspace(filled(tangents[0], start), filled(tangents[1], stop), num, endpoint, axis=axis)
        y_dot = y * np.log(base) * exponent_dot
    if tangents[4] is not None:
        y_dot = y_dot + y * np.linspace(start, stop, num, endpoint, axis=axis) * (tangents[4] / base)
    return y, match(y_dot, y)


@frule(np.vander)
def vander(tangents, x, N=None, increasing=False):
    y = np.vander(x, N, increasing)
    count = y.shape[1]
    if increasing:
        slopes = np.concatenate([0 * y[:, :1], y[:, :-1] * np.arange(1, count)], axis=1)
    else:
        slopes = np.concatenate([y[:, 1:] * np.arange(count - 1, 0, -1), 0 * y[:, :1]], axis=1)
    return y, match(slopes * np.reshape(filled(tangents[0], x), (-1, 1)), y)
