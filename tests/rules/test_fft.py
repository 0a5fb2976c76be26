"""Every rule of rules/fourier.py against differences, as the adjoint of a matrix, and inside compiled functions."""

import inspect

import numpy as np
import pytest

from adcompiler import check_gradient, gradient, pullback
from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.testing import Input, case, check_rule, complex_normal, normal

NORMS = (None, "backward", "ortho", "forward")
TO_COMPLEX = (np.fft.fft, np.fft.ifft, np.fft.ihfft, np.fft.rfft)
FROM_COMPLEX = (np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.hfft)
SEVERAL = (np.fft.fft2, np.fft.ifft2, np.fft.fftn, np.fft.ifftn)
REAL = (np.fft.rfft2, np.fft.rfftn)
TO_REAL = (np.fft.irfft2, np.fft.irfftn)


def pair(real, imaginary):
    """A complex argument of few numbers: its imaginary parts must be dropped where a transform drops them."""
    return Input(lambda rng: np.asarray(real, float) + 1j * np.asarray(imaginary), f"pair({real}, {imaginary})")


CASES = [
    *(case(f, normal(n)) for f in TO_COMPLEX for n in (1, 2, 5, 6)),
    *(case(f, complex_normal(n)) for f in FROM_COMPLEX for n in (2, 5, 6)),
    *(case(f, normal(n)) for f in (np.fft.irfft, np.fft.hfft) for n in (2, 4)),
    *(case(f, normal(5), n) for f in TO_COMPLEX for n in (1, 2, 3, 4, 5, 7, 8)),
    *(case(f, complex_normal(4), n) for f in FROM_COMPLEX for n in (1, 2, 3, 4, 5, 6, 7, 9, 10)),
    *(case(f, normal(5), norm=norm) for f in TO_COMPLEX for norm in NORMS),
    *(case(f, complex_normal(4), 6, norm=norm) for f in FROM_COMPLEX for norm in NORMS),
    *(case(f, complex_normal(4), 5, norm="ortho") for f in FROM_COMPLEX),
    *(case(f, normal(2, 4, 3), 5, axis) for f in TO_COMPLEX for axis in (0, 1, -1, -2)),
    *(case(f, complex_normal(2, 4, 3), n=3, axis=axis) for f in FROM_COMPLEX for axis in (1, -3)),
    *(case(f, pair([1, 2, 3], [4, 5, 6]), n) for f in (np.fft.irfft, np.fft.hfft) for n in (2, 3, 4)),
    *(case(f, normal(0, 3)) for f in (np.fft.fft, np.fft.rfft)),
    *(case(f, complex_normal(3, 4)) for f in SEVERAL + TO_REAL),
    *(case(f, normal(3, 4)) for f in SEVERAL + REAL),
    *(case(f, normal(2, 3, 4), norm=norm) for f in SEVERAL + REAL for norm in NORMS[1:]),
    *(case(f, complex_normal(2, 3, 4), norm=norm) for f in SEVERAL + TO_REAL for norm in NORMS[1:]),
    *(case(f, normal(2, 3, 4), s=s, axes=(0, 2)) for f in SEVERAL + REAL for s in ((3, 3), (1, 6), (-1, 5), [2, -1])),
    *(case(f, complex_normal(2, 3, 4), s, (-1, 0)) for f in SEVERAL + TO_REAL for s in ((5, 4), (2, 1), (-1, 3))),
    *(case(f, complex_normal(2, 3), axes=[1]) for f in SEVERAL + TO_REAL),
    *(case(f, normal(2, 3), (4,), (0,), "forward") for f in SEVERAL + REAL),
    *(case(f, normal(3, 4), s=(2, 5, 6), axes=(0, 1, 0), id="an axis twice") for f in SEVERAL + REAL),
    *(case(f, complex_normal(3, 4), s=(2, 5, 6), axes=(0, 1, 0), id="an axis twice") for f in SEVERAL + TO_REAL),
    *(case(f, normal(3, 4), axes=(1, 1), id="an axis twice, of its length") for f in SEVERAL),
    *(case(f, complex_normal(3, 4), axes=()) for f in SEVERAL),
    *(case(f, normal(3, 4), axes) for f in (np.fft.fftshift, np.fft.ifftshift) for axes in (None, 0, -1, (0, 1), [1])),
    *(case(f, complex_normal(5)) for f in (np.fft.fftshift, np.fft.ifftshift)),
    *(case(f, n, 0.5) for f in (np.fft.fftfreq, np.fft.rfftfreq) for n in (1, 4, 5)),
    *(case(f, 4, d=np.float64(-2.0)) for f in (np.fft.fftfreq, np.fft.rfftfreq)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_every_function():
    """There is no callable of `numpy.fft` without a rule or a declaration."""
    public = [f for name, f in vars(np.fft).items() if not name.startswith("_") and not inspect.ismodule(f)]
    assert [f for f in public if not lookup(f) and not is_non_differentiable(f)] == []


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [1, 2, 5, 6, 7])
def test_adjoint_matrix(n, norm):
    """The pullback of a transform is the conjugate transpose of its matrix."""
    matrix = np.stack([np.fft.fft(row, n, norm=norm) for row in np.eye(6)], axis=-1)
    c = np.arange(n) + 1j * np.arange(n)[::-1] ** 2
    _, back = lookup(np.fft.fft)[0].function(np.ones(6, complex), n, norm=norm)
    assert back(c)[0] == pytest.approx(matrix.conj().T @ c)


def test_dropped_imaginary_parts():
    """A spectrum's mean and its frequency n / 2 are real for `irfft`: no derivative for the imaginary parts."""
    x = np.array([1 + 2j, 3 + 4j, 5 + 6j])
    bar = gradient(lambda x: np.sum(np.fft.irfft(x) * np.array([1.0, -2.0, 3.0, 5.0])))(x)
    assert bar[0].imag == bar[2].imag == 0
    assert bar[1].imag != 0


@pytest.mark.parametrize("f", TO_COMPLEX + FROM_COMPLEX + SEVERAL + REAL + TO_REAL)
def test_single_precision(f):
    """float32 and complex64 stay what they are, and real arguments have real cotangents."""
    dtypes = [np.float32] if f in (*REAL, np.fft.rfft, np.fft.ihfft) else [np.float32, np.complex64]
    for dtype in dtypes:
        x = np.ones((3, 4), dtype)
        y, back = pullback(f, x)
        assert back(np.ones_like(y))[0].dtype == dtype


W = np.linspace(-1.0, 2.0, 12).reshape(3, 4)


def power(x):
    """A power spectrum, as users write it."""
    spectrum = np.fft.rfft(x * W, axis=0, norm="ortho")
    return np.sum(np.abs(spectrum) ** 2 * W[:2])


def filtered(x, n):
    """A filter in the frequency domain, with a length that is a parameter."""
    frequencies = np.fft.rfftfreq(n, d=0.1)
    return np.sum(np.fft.irfft(np.fft.rfft(x, n) * np.exp(-(frequencies**2)), n=n)[:, :4] * W)


def spectrum(x, norm):
    """A shifted spectrum of two axes."""
    return np.sum(np.real(np.fft.fftshift(np.fft.fft2(x, norm=norm), axes=(0,)) * W) ** 2)


def spacing(d):
    """Frequencies as a function of the distance of the samples."""
    return np.sum(np.fft.fftfreq(5, d) ** 2) + np.sum(np.fft.rfftfreq(n=6, d=d))


def test_in_functions():
    """Compiled, with arguments by position and by name."""
    check_gradient(power, W + 0.5)
    check_gradient(filtered, W + 0.5, 7)
    check_gradient(spectrum, W * W, "forward")
    check_gradient(spacing, 0.3)
    check_gradient(lambda x: np.sum(np.fft.hfft([x, 2 * x, 1.0]) * np.fft.fftn([x, x]).real[0]), 0.7)
