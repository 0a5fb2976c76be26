"""One use of each of the 213 common NumPy functions, on a vector `x` of six numbers between 0 and 1.

The names are those of common_functions.txt. A use makes an array (or a number) of `x` alone, so that its derivative can
be compared with central differences. Uses of functions without derivative give the same values around `x`.
"""

import numpy as np

X = np.array([0.31, 0.82, 0.57, 0.16, 0.73, 0.44])
W = np.array([0.5, -1.2, 0.8, 0.3, -0.4, 1.1])


def square_matrix(x):
    """A well-conditioned matrix of the first four entries."""
    return x[:4].reshape(2, 2) + np.array([[2.0, 0.0], [0.0, 3.0]])


def symmetric(x):
    """A positive definite one."""
    a = square_matrix(x)
    return a @ a.T


def wide(x):
    """Two rows of three."""
    return x.reshape(2, 3)


_ONE = (
    "exp log sqrt tanh arctan log1p expm1 sinh cosh arcsinh arctanh sin cos tan arcsin arccos square abs absolute "
    "fabs cbrt exp2 log2 log10 reciprocal negative positive sinc deg2rad rad2deg degrees radians sign floor ceil rint "
    "trunc nan_to_num real imag conj angle i0 isnan signbit spacing sum mean prod max min amax amin std var median "
    "ptp nansum nanmean nanprod nanmax nanmin nanstd nanvar nanmedian average cumsum cumprod nancumsum sort argsort "
    "argmax diff ediff1d gradient trapezoid unwrap ravel squeeze flip diag diagflat atleast_1d atleast_2d atleast_3d "
    "ones_like zeros_like copy asarray array unique count_nonzero vander cov"
)
_WITH_W = (
    "add subtract multiply divide true_divide float_power arctan2 hypot logaddexp logaddexp2 maximum minimum fmax fmin "
    "mod remainder fmod copysign heaviside floor_divide nextafter greater equal dot vdot inner outer matmul kron "
    "convolve correlate allclose meshgrid append"
)
_MATRIX = "transpose flipud fliplr rot90 tril triu trace corrcoef fft.fft2 fft.fftn fft.rfftn"
_SQUARE = "linalg.inv linalg.det linalg.slogdet linalg.qr linalg.norm linalg.pinv linalg.cond"
_SYMMETRIC = "linalg.cholesky linalg.eigvalsh"
_TRANSFORMS = "fft.fft fft.ifft fft.rfft fft.hfft fft.ihfft fft.fftshift"


def _applied(name, *others, to=lambda x: x):
    """The use of a function on what `to` makes of `x`, and on `others`."""
    function = np
    for part in name.split("."):
        function = getattr(function, part)
    return lambda x: function(to(x), *others)


def _uses():
    plain = {name: _applied(name) for name in f"{_ONE} {_TRANSFORMS}".split()}
    with_w = {name: _applied(name, W) for name in _WITH_W.split()}
    matrix = {name: _applied(name, to=wide) for name in _MATRIX.split()}
    square = {name: _applied(name, to=square_matrix) for name in _SQUARE.split()}
    definite = {name: _applied(name, to=symmetric) for name in _SYMMETRIC.split()}
    return (
        plain
        | with_w
        | matrix
        | square
        | definite
        | {
            "arccosh": lambda x: np.arccosh(1 + x),
            "power": lambda x: np.power(x, 1 + x[::-1]),
            "ldexp": lambda x: np.ldexp(x, np.array([1, 2, 3, -1, 0, 2])),
            "percentile": lambda x: np.percentile(x, 30),
            "quantile": lambda x: np.quantile(x, np.array([0.1, 0.7])),
            "nanquantile": lambda x: np.nanquantile(x, 0.4),
            "roll": lambda x: np.roll(x, 2),
            "tile": lambda x: np.tile(x, 2),
            "repeat": lambda x: np.repeat(x, 2),
            "pad": lambda x: np.pad(x, 2, mode="reflect"),
            "concatenate": lambda x: np.concatenate([x, 2 * x]),
            "stack": lambda x: np.stack([x, 2 * x]),
            "vstack": lambda x: np.vstack([x, 2 * x]),
            "hstack": lambda x: np.hstack([x, 2 * x]),
            "dstack": lambda x: np.dstack([x, 2 * x]),
            "column_stack": lambda x: np.column_stack([x, 2 * x]),
            "insert": lambda x: np.insert(x, 1, x[0] * 3),
            "delete": lambda x: np.delete(x, 2),
            "expand_dims": lambda x: np.expand_dims(x, 1),
            "broadcast_to": lambda x: np.broadcast_to(x, (2, 6)),
            "reshape": lambda x: np.reshape(x, (3, 2)),
            "swapaxes": lambda x: np.swapaxes(wide(x), 0, 1),
            "moveaxis": lambda x: np.moveaxis(wide(x), 0, 1),
            "rollaxis": lambda x: np.rollaxis(wide(x), 1),
            "split": lambda x: np.split(x, 3)[1],
            "array_split": lambda x: np.array_split(x, 4)[0],
            "hsplit": lambda x: np.hsplit(x, 2)[1],
            "vsplit": lambda x: np.vsplit(wide(x), 2)[1],
            "where": lambda x: np.where(x > 0.5, x * x, 3 * x),
            "clip": lambda x: np.clip(x, 0.2, 0.6),
            "select": lambda x: np.select([x < 0.3, x < 0.6], [x * x, 2 * x], 7.0),
            "choose": lambda x: np.choose([0, 1, 1, 0, 1, 0], [x, x * x]),
            "piecewise": lambda x: np.piecewise(x, [x < 0.5, x >= 0.5], [lambda v: v * v, lambda v: 3 * v]),
            "take": lambda x: np.take(x, [0, 0, 3]),
            "take_along_axis": lambda x: np.take_along_axis(x, np.array([5, 5, 1]), 0),
            "compress": lambda x: np.compress([True, False, True], x),
            "extract": lambda x: np.extract(x > 0.4, x),
            "tensordot": lambda x: np.tensordot(wide(x), wide(x), ([1], [1])),
            "einsum": lambda x: np.einsum("ij,kj->ik", wide(x), wide(x)),
            "cross": lambda x: np.cross(x[:3], x[3:]),
            "interp": lambda x: np.interp(x, np.array([0.0, 0.4, 1.0]), x[:3]),
            "polyval": lambda x: np.polyval(x[:3], x[3:]),
            "polyfit": lambda x: np.polyfit(np.arange(6.0), x, 2),
            "array (nested lists)": lambda x: np.array([[x[0], 1.0], [x[1] * 2, x[2]]]),
            "block": lambda x: np.block([[wide(x)], [2 * wide(x)]]),
            "bincount": lambda x: np.bincount([0, 1, 1, 3, 2, 2], weights=x),
            "searchsorted": lambda x: np.searchsorted(np.sort(x), 0.5) * x,
            "linalg.solve": lambda x: np.linalg.solve(square_matrix(x), x[4:]),
            "linalg.svd": lambda x: np.linalg.svd(wide(x), full_matrices=False)[1],
            "linalg.lstsq": lambda x: np.linalg.lstsq(x[:4].reshape(2, 2).T, x[4:], rcond=None)[0],
            "linalg.matrix_power": lambda x: np.linalg.matrix_power(square_matrix(x), 3),
            "linalg.multi_dot": lambda x: np.linalg.multi_dot([wide(x), wide(x).T, wide(x)]),
            "linalg.tensorsolve": lambda x: np.linalg.tensorsolve(square_matrix(x), x[4:]),
            "linalg.tensorinv": lambda x: np.linalg.tensorinv(square_matrix(x), ind=1),
            "linalg.eig": lambda x: np.linalg.eig(symmetric(x))[0],
            "linalg.eigh": lambda x: np.linalg.eigh(symmetric(x))[0],
            "fft.irfft": lambda x: np.fft.irfft(x + 1j * x[::-1]),
            "fft.irfftn": lambda x: np.fft.irfftn(wide(x) * (1 + 2j)),
        }
    )


def summed(value):
    """One real number of all entries, no two weighed alike, real and imaginary parts both."""
    if isinstance(value, tuple | list):
        return sum(summed(v) for v in value)
    entries = np.ravel(np.asarray(value))
    weights = np.cos(1.0 + np.arange(entries.size))
    return np.sum(weights * np.real(entries)) + np.sum(weights * weights * np.imag(entries))


def _put_along_axis(x):
    """The array that is written into, with elements of the argument itself."""
    y = wide(x) * 1.0
    np.put_along_axis(y, np.array([[1], [0]])[: len(y)], x[:2, None] * 3.0, 1)
    return y


USES = {**_uses(), "put_along_axis": _put_along_axis}
