"""Calls of the functions that have rules, on arrays so large that their elements take the time.

A call is a line of Python. Names in capitals are arguments that want a cotangent, all others are constants.
"""

import numpy as np

try:
    import scipy.integrate as integrate
    import scipy.optimize as optimize
except ImportError:
    integrate = optimize = None

_rng = np.random.default_rng(0)
_normal, _uniform = _rng.standard_normal, _rng.uniform


def _definite(*shape):
    """Symmetric positive definite matrices, whose eigenvalues differ."""
    root = _normal(shape)
    return root @ np.swapaxes(root, -1, -2) / shape[-1] + np.eye(shape[-1])


ARGUMENTS = {
    # elementwise
    "X": _normal(200_000),
    "Y": _normal(200_000),
    "P": _uniform(0.5, 2.0, 200_000),
    "Q": _uniform(0.5, 2.0, 200_000),
    "U": _uniform(-0.9, 0.9, 200_000),
    "V": _uniform(1.1, 3.0, 200_000),
    "Z": _normal(200_000) + 1j * _normal(200_000),
    "ZR": _normal(200_000) + 0j,
    # reductions, and what moves elements
    "A": _normal((400, 500)),
    "B": _normal((400, 500)),
    "G": _uniform(0.5, 2.0, (400, 500)),
    "C": _normal((60, 50, 70)),
    "D": _normal((60, 50, 70)),
    # matrices and their stacks
    "M": _normal((150, 150)) / 12 + 2 * np.eye(150),
    "N": _normal((150, 150)),
    "S": _definite(150, 150),
    "T": _normal((400, 8, 8)) + 4 * np.eye(8),
    "W": _normal((150, 40)),
    "K": _normal((12, 12)),
    "E": _normal((6, 25, 150)),
    # vectors
    "F": _normal(2**14),
    "H": _normal(2**13 + 1) + 1j * _normal(2**13 + 1),
    "I": _normal((128, 128)),
    "J": _normal((128, 65)) + 1j * _normal((128, 65)),
    "L": _normal(450),
    "LP": _uniform(0.5, 2.0, 450),
    "R": _normal(20_000),
    "RP": _uniform(0.5, 2.0, 20_000),
    "VA": _normal((100_000, 3)),
    "VB": _normal((100_000, 3)),
    "XP": np.sort(_normal(1000)),
    "FP": _normal(1000),
    "PC": _normal(8),
    "PD": _normal(4),
    "ROOTS": np.linspace(-2.0, 2.0, 16),
    "SMALL": _uniform(0.5, 1.5, 8),
    "ONE": 1.3,
    "TWO": 2.4,
    "ROWS": [_normal(2_000) for _ in range(50)],
}

CONSTANTS = {
    "np": np,
    "integrate": integrate,
    "optimize": optimize,
    "mask": _rng.random((400, 500)) < 0.5,
    "half": _rng.random(200_000) < 0.5,
    "some": _rng.random(400) < 0.5,
    "several": np.array([2, 3] * 200),
    "flags": _rng.random(450) < 0.5,
    "picked": _rng.integers(0, 200_000, 100_000),
    "rows": _rng.integers(0, 400, 400),
    "along": _rng.integers(0, 500, (400, 100)),
    "which": _rng.integers(0, 2, (400, 500)),
    "whole": _rng.integers(-3, 3, 200_000),
    "cuts": np.arange(0, 400, 7),
    "bins": _rng.integers(0, 1000, 200_000),
    "small": np.diag(_uniform(0.5, 2.0, 450)),
    "rng": np.random.default_rng(1),
    "legacy": np.random.RandomState(1),
    "halves": lambda x: x * 0.5,
    "scaled": lambda row: row * row,
    "total": lambda a, axis: np.sum(a, axis=axis),
    "bumped": np.vectorize(lambda x: x * x),
}

# The arguments of elementwise functions where two normal ones are outside of the domain, or at its edge.
DOMAINS = {
    **dict.fromkeys("log log2 log10 log1p sqrt reciprocal cbrt".split(), ("P",)),
    **dict.fromkeys("arcsin arccos arctanh".split(), ("U",)),
    "arccosh": ("V",),
    **dict.fromkeys("power float_power remainder fmod divmod divide arctan2 hypot".split(), ("P", "Q")),
    **dict.fromkeys("conjugate".split(), ("Z",)),
    "ldexp": ("X", "whole"),
}

CALLS = """
np.transpose(A)
A.transpose(1, 0)
A.T
A.mT
np.matrix_transpose(A)
np.swapaxes(A, 0, 1)
np.moveaxis(C, 0, 2)
np.rollaxis(C, 2)
np.flip(A, 1)
np.flipud(A)
np.fliplr(A)
np.roll(A, 7, 1)
np.rot90(A)
np.vectorize(halves)(R)
bumped(LP)
np.apply_along_axis(scaled, 1, A)
np.apply_over_axes(total, C, [0, 2])
np.piecewise(X, [half], [halves, 0.0])
np.array(A)
np.array(A, copy=True, subok=False)
np.asarray(A)
np.asarray_chkfinite(A)
np.ascontiguousarray(A)
np.asfortranarray(A)
np.require(A)
np.copy(A)
A.copy()
np.astype(A, float)
A.astype(float)
A.view()
A.tolist()
A.item(7)
np.full((400, 500), ONE)
np.full_like(A, ONE)
np.bincount(bins, X)
np.cov(A)
np.corrcoef(A)
np.tril(A)
np.triu(A)
np.diag(N)
np.diagflat(L)
np.diagonal(A)
np.sinc(X)
np.i0(X)
np.float32(X)
np.float64(X)
np.longdouble(X)
np.complex64(X)
np.complex128(X)
np.real(Z)
np.imag(Z)
Z.conj()
np.angle(Z)
np.real_if_close(ZR)
np.clip(X, -1.0, 1.0)
X.clip(-1.0, 1.0)
np.nan_to_num(X)
np.nan_to_num(X, True)
np.where(half, X, Y)
np.emath.sqrt(X)
np.emath.log(X)
np.emath.log2(X)
np.emath.log10(X)
np.emath.logn(3.0, X)
np.emath.power(X, 2.5)
np.emath.arcsin(X)
np.emath.arccos(X)
np.emath.arctanh(X)
np.linalg.cholesky(S)
np.linalg.qr(M)
np.linalg.eigh(S)
np.linalg.eigvalsh(S)
np.linalg.eig(M)[0]
np.linalg.eigvals(M)
np.linalg.svd(M, full_matrices=False)
np.linalg.svdvals(M)
np.fft.fft(F)
np.fft.ifft(F)
np.fft.rfft(F)
np.fft.irfft(H)
np.fft.hfft(H)
np.fft.ihfft(F)
np.fft.fftn(I)
np.fft.fft2(I)
np.fft.ifftn(I)
np.fft.ifft2(I)
np.fft.rfftn(I)
np.fft.rfft2(I)
np.fft.irfftn(J)
np.fft.irfft2(J)
np.fft.fftshift(I)
np.fft.ifftshift(I)
np.fft.fftfreq(16384, ONE)
np.fft.rfftfreq(16384, ONE)
np.interp(X, XP, FP)
np.gradient(A)
np.convolve(F, PC)
np.correlate(F, PC)
np.kaiser(16384, TWO)
A[rows]
X[picked]
A[20:300, ::2]
A[mask]
np.take(X, picked)
np.take_along_axis(A, along, 1)
np.compress(some, A, 0)
A.compress(some, 0)
np.extract(mask, A)
np.choose(which, [A, B])
np.select([mask, ~mask], [A, B])
np.concatenate([A, B])
np.stack([A, B])
np.vstack([A, B])
np.hstack([A, B])
np.column_stack([X, Y])
np.dstack([A, B])
np.append(X, Y)
np.block([[A, B], [B, A]])
np.r_[X, Y]
np.insert(A, [3, 17], B[:2], axis=0)
np.linalg.inv(M)
np.linalg.inv(T)
np.linalg.matrix_power(M, 3)
np.linalg.pinv(W)
np.linalg.tensorinv(E, 2)
np.linalg.solve(M, N)
np.linalg.tensorsolve(M, L[:150])
np.linalg.lstsq(W, L[:150], rcond=None)
np.linalg.det(M)
np.linalg.slogdet(M)
np.nansum(A, axis=0)
np.nanmean(A, axis=0)
np.nanprod(A, axis=0)
np.nanmax(A, axis=0)
np.nanmin(A, axis=0)
np.nanvar(A, axis=0)
np.nanstd(A, axis=0)
np.linalg.norm(A)
np.linalg.vector_norm(A)
np.linalg.matrix_norm(M)
np.linalg.norm(M, 2)
np.linalg.cond(M)
np.polyval(PC, X)
np.polyadd(F, PC)
np.polysub(F, PC)
np.polymul(F, PC)
np.polydiv(L, PD)
np.polyder(F)
np.polyint(F)
np.polyfit(R, RP, 3)
np.poly(ROOTS)
np.roots(L[:60])
np.matmul(M, N)
np.matmul(T, T)
np.dot(M, N)
np.outer(L, LP)
np.inner(M, N)
np.vdot(X, Y)
np.tensordot(C, D, axes=([1, 2], [1, 2]))
np.einsum("ij,jk->ik", M, N)
np.einsum("bij,bjk->bik", T, T)
np.kron(K, K)
np.vecdot(A, B)
np.linalg.multi_dot([M, N, S])
np.cross(VA, VB)
np.linalg.cross(VA, VB)
np.trace(A)
np.linalg.trace(A)
np.linalg.diagonal(A)
sum(ROWS)
np.quantile(A, 0.3, axis=1)
np.percentile(A, 30.0, axis=1)
np.nanquantile(A, 0.3, axis=1)
np.nanpercentile(A, 30.0, axis=1)
np.nanmedian(A, axis=1)
rng.multivariate_normal(L, small, 1000)
rng.choice(X, 1000)
rng.permutation(X)
np.arange(ONE, 20_000.0, 0.1)
np.linspace(ONE, TWO, 200_000)
np.linspace(ONE, TWO, 200_000, retstep=True)
np.logspace(ONE, TWO, 200_000)
np.geomspace(ONE, TWO, 200_000)
np.meshgrid(L, LP)
np.vander(F, 8)
np.sum(A, axis=0)
np.sum(A, axis=0, where=mask)
np.mean(A, axis=0)
np.mean(A, axis=0, where=mask)
np.max(A, axis=0)
np.max(A, axis=0, initial=0.0)
np.min(A, axis=0)
np.min(A, axis=0, initial=0.0)
np.prod(G, axis=0)
np.prod(G, axis=0, where=mask)
np.ptp(A, axis=0)
np.var(A, axis=0)
np.var(A, axis=0, where=mask)
np.std(A, axis=0)
np.std(A, axis=0, where=mask)
np.average(A, axis=0, weights=G)
np.average(A, axis=0, weights=G, returned=True)
np.median(A, axis=1)
np.cumsum(A, axis=0)
np.cumsum(A, axis=0, dtype=float)
np.cumprod(G, axis=0)
np.cumprod(G, axis=0, dtype=float)
np.diff(A)
np.diff(A, prepend=0.0)
np.trapezoid(A)
np.tile(A, 2)
np.repeat(A, 2, axis=0)
np.lib.stride_tricks.sliding_window_view(F, 10)
np.resize(A, (500, 500))
np.delete(A, [3, 17], axis=0)
np.pad(A, 5)
np.pad(A, 5, mode="reflect")
np.nancumsum(A, axis=0)
np.nancumprod(G, axis=0)
np.ediff1d(X)
np.unwrap(X)
np.reshape(A, (500, 400))
A.reshape(500, 400)
A.flat[:]
np.ravel(A)
A.flatten()
np.expand_dims(A, 0)
np.squeeze(A)
np.atleast_1d(A)
np.atleast_2d(A)
np.atleast_3d(A)
np.broadcast_to(L, (400, 450))
np.broadcast_arrays(L, N[:, :1])
np.sort(A)
np.sort_complex(Z)
np.partition(A, 200)
np.unique(R)
np.unique(R, return_counts=True)
np.unique_values(R)
np.unique_all(R)
np.unique_counts(R)
np.unique_inverse(R)
np.union1d(R, RP)
np.setdiff1d(R, RP)
np.setxor1d(R, RP)
np.trim_zeros(R)
np.split(A, 4)
np.array_split(A, 3)
np.vsplit(A, 4)
np.hsplit(A, 4)
np.dsplit(C, 7)
np.unstack(A)
np.cumulative_sum(X)
np.cumulative_prod(SMALL)
np.matvec(T, L[:8])
np.vecmat(L[:8], T)
np.fromfunction(lambda i, j: i * ONE + j, (400, 500))
integrate.quad(lambda x: np.exp(-ONE * x), 0.0, 1.0)[0]
integrate.trapezoid(A)
integrate.simpson(A)
integrate.cumulative_trapezoid(A)
integrate.solve_ivp(lambda t, y: -ONE * y, (0.0, 1.0), SMALL)
integrate.odeint(lambda y, t: -ONE * y, SMALL, [0.0, 0.5, 1.0])
optimize.brentq(lambda x: x * x - ONE, 0.0, 3.0)
optimize.newton(lambda x: x * x - ONE, 1.0)
optimize.fsolve(lambda x: x * x - SMALL, np.ones(8))
optimize.root(lambda x: x * x - SMALL, np.ones(8)).x
optimize.fixed_point(lambda x: np.cos(x * SMALL), np.ones(8))
optimize.minimize(lambda x: np.sum((x - SMALL) ** 4 + x * x), np.ones(8)).x
optimize.minimize_scalar(lambda x: (x - ONE) ** 2 + x**4).x
optimize.least_squares(lambda x: x * x - SMALL, np.ones(8)).x
"""

# Parameters of the draws, in the order of the functions' own.
DRAWS = {
    "normal": "R, RP",
    "laplace": "R, RP",
    "logistic": "R, RP",
    "gumbel": "R, RP",
    "uniform": "R, R + 1.0",
    "exponential": "RP",
    "rayleigh": "RP",
    "lognormal": "R, RP",
    "weibull": "RP",
    "power": "RP",
    "pareto": "RP",
    "gamma": "2.0, RP",
    "vonmises": "R, 2.0",
    "triangular": "R, R + 0.5, R + 1.0",
}
