"""Every rule of scipy.signal against differences."""

import numpy as np
import pytest
from scipy import signal

from adcompiler import check_gradient, gradient
from adcompiler.coverage import UNKNOWN, coverage
from adcompiler.errors import NoRuleError
from adcompiler.testing import case, check_rule, complex_normal, normal

MODES = ("full", "same", "valid")
SOS = signal.butter(4, 0.3, output="sos")
B, A = np.array([0.3, 0.2, 0.1]), np.array([1.3, -0.4, 0.2])

CASES = [
    *(
        case(f, normal(n), normal(m), mode)
        for f in (signal.convolve, signal.correlate, signal.fftconvolve, signal.oaconvolve)
        for n, m in [(6, 3), (3, 6), (5, 4), (4, 1)]
        for mode in MODES
    ),
    *(
        case(f, normal(4, 5), normal(2, 3), mode)
        for f in (signal.convolve, signal.correlate, signal.fftconvolve, signal.convolve2d, signal.correlate2d)
        for mode in MODES
    ),
    *(
        case(f, normal(4, 5), normal(*kernel), mode, boundary)
        for f in (signal.convolve2d, signal.correlate2d)
        for kernel in [(2, 3), (3, 2)]
        for mode in MODES
        for boundary in ("wrap", "symm")
    ),
    *(case(signal.convolve, normal(6), normal(3), method=method) for method in ("direct", "fft")),
    case(signal.correlate, complex_normal(5), complex_normal(3), "same"),
    *(case(signal.fftconvolve, normal(2, 6), normal(*m), mode, axes=1) for m in [(2, 3), (1, 3)] for mode in MODES),
    case(signal.fftconvolve, normal(1, 6), normal(2, 3), axes=[-1]),
    case(signal.oaconvolve, normal(2, 9), normal(2, 3), axes=-1),
    *(case(signal.lfilter, B, A, normal(*shape), axis=axis) for shape, axis in [((6,), -1), ((2, 6), 1), ((6, 2), 0)]),
    case(signal.lfilter, B, A, normal(2)),
    case(signal.lfilter, B, np.array([2.0]), normal(5)),
    case(signal.lfilter, np.array([0.5]), A, complex_normal(5)),
    case(signal.sosfilt, SOS, normal(8), wrt=(1,)),
    case(signal.sosfilt, SOS, normal(8, 2), axis=0, wrt=(1,)),
    *(
        case(signal.savgol_filter, normal(2, 9), 5, 2, deriv, mode=mode)
        for mode in ("interp", "mirror", "nearest", "wrap", "constant")
        for deriv in (0, 1)
    ),
    case(signal.savgol_filter, normal(9, 2), 3, 1, 1, 0.5, 0),
    case(signal.detrend, normal(2, 6)),
    case(signal.detrend, normal(6, 2), 0, "constant"),
    case(signal.detrend, normal(8), bp=[4]),
    *(
        case(signal.resample, make(n), num)
        for make in (normal, complex_normal)
        for n in (6, 7) for num in (3, 4, 6, 7, 8, 9, 12)
    ),
    case(signal.resample, normal(2, 6), 4, axis=1),
    *(case(signal.hilbert, normal(n), real_only=True) for n in (6, 7)),
    case(signal.hilbert, normal(2, 6), 8, real_only=True),
    case(signal.hilbert, normal(6, 2), 5, 0, real_only=True),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    check_rule(case)


def streamed(b, a, x, zi):
    y, _ = signal.lfilter(b, a, x, zi=zi)
    return np.sum(y**2)


def test_first_state():
    check_gradient(streamed, B, A, np.arange(5.0), np.array([0.3, 0.4]))
    with pytest.raises(NoRuleError, match="last state"):
        gradient(lambda x: np.sum(signal.lfilter(B, A, x, zi=np.zeros(2))[1]))(np.arange(5.0))


def test_sections():
    def function(numerators, x):
        sos = np.concatenate([numerators, SOS[:, 3:]], axis=1)
        return np.sum(signal.sosfilt(sos, x) ** 2)

    check_gradient(function, SOS[:, :3].copy(), np.sin(np.arange(8.0)))


def test_in_a_function():
    kernel = np.array([0.2, 0.5, 0.3])
    check_gradient(lambda x, h: np.sum(np.abs(signal.convolve(x, h, mode="same")) ** 3), np.sin(np.arange(7.0)), kernel)
    check_gradient(lambda x: np.sum(np.abs(signal.hilbert(x))), np.sin(np.arange(7.0)))


def test_value_outside():
    x, h = np.sin(np.arange(12.0)).reshape(3, 4), np.cos(np.arange(4.0)).reshape(2, 2)
    check_gradient(lambda x, h: np.sum(signal.convolve2d(x, h, fillvalue=0.7) ** 2), x, h)
    check_gradient(lambda x: np.sum(signal.savgol_filter(x, 3, 1, mode="constant", cval=0.7) ** 2), x)


def test_peaks_have_no_derivative():
    x = np.sin(np.arange(12.0))

    def heights(x):
        peaks, _ = signal.find_peaks(x)
        return np.sum(x[peaks] ** 2)

    check_gradient(heights, x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(signal.filtfilt(B, A, x)),
        lambda x: np.sum(signal.welch(x, nperseg=8)[1]),
        lambda x: np.sum(signal.decimate(x, 2)),
        lambda x: np.sum(signal.convolve2d(np.outer(x, x), np.eye(2), fillvalue=x[1])),
    ],
)
def test_refused(function):
    with pytest.raises(NoRuleError):
        gradient(function)(np.sin(np.arange(40.0)))


def test_every_public_function_is_in_some_list():
    """A rule, no derivative, or refused."""
    assert [] == [entry.name for entry in coverage(signal) if entry.how == UNKNOWN]
