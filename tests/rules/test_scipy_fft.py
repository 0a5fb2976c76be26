"""Every rule of rules/scipy_fft.py against differences."""

import itertools

import numpy as np
import pytest
from scipy import fft

from adcompiler import gradient
from adcompiler.coverage import UNKNOWN, coverage
from adcompiler.testing import case, check_rule, complex_normal, normal

NORMS = (None, "ortho", "forward")
INVERSE = (fft.ifft, fft.irfft, fft.hfft)
WAYS = [{}, {"n": 4}, {"n": 8, "axis": 0}, {"norm": "ortho"}, {"norm": "forward", "axis": -2}]
SPACES = [{}, {"s": (4, 6)}, {"axes": (0,)}, {"axes": (-1, 0), "norm": "ortho"}, {"s": (7,), "axes": (1,)}]

CASES = [
    *(case(f, normal(5, 6), **way) for f in (fft.fft, fft.ifft, fft.rfft, fft.ihfft) for way in WAYS),
    *(case(f, complex_normal(5, 6), **way) for f in (fft.fft, fft.ifft, fft.irfft, fft.hfft) for way in WAYS),
    *(case(f, normal(3, 5), **way) for f in (fft.fftn, fft.ifftn, fft.rfftn) for way in SPACES),
    *(case(f, complex_normal(3, 5), **way) for f in (fft.fftn, fft.ifftn, fft.irfftn) for way in SPACES),
    *(case(f, complex_normal(3, 4), workers=1) for f in (fft.fft2, fft.ifft2, fft.irfft2)),
    case(fft.rfft2, normal(2, 3, 4)),
    *(
        case(f, normal(3, 5), kind, norm=norm)
        for f in (fft.dct, fft.dst, fft.idct, fft.idst)
        for kind, norm in itertools.product((1, 2, 3, 4), NORMS)
    ),
    *(case(f, normal(5, 3), 2, 7, 0) for f in (fft.dct, fft.dst, fft.idct, fft.idst)),
    *(case(f, normal(5, 3), 3, 4, 0, "backward") for f in (fft.dct, fft.idst)),
    *(case(f, normal(3, 5), kind) for f in (fft.dctn, fft.dstn, fft.idctn, fft.idstn) for kind in (1, 2, 3, 4)),
    *(case(f, normal(3, 5), s=(4, 4), norm="ortho") for f in (fft.dctn, fft.idstn)),
    case(fft.dct, complex_normal(5)),
    *(case(f, normal(4, 5), **way) for f in (fft.fftshift, fft.ifftshift) for way in ({}, {"axes": 1})),
    *(case(f, 7, 0.4) for f in (fft.fftfreq, fft.rfftfreq)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_in_a_function():
    """Twice the power of the spectrum is that of the signal, by Parseval."""
    x = np.array([1.0, -2.0, 0.5, 3.0])
    assert gradient(lambda x: np.sum(np.abs(fft.fft(x, norm="ortho")) ** 2))(x) == pytest.approx(2 * x)
    assert gradient(lambda x: np.sum(fft.dct(x, norm="ortho") ** 2))(x) == pytest.approx(2 * x)


def test_every_public_function_is_in_some_list():
    """A rule, no derivative, or refused."""
    assert [] == [entry.name for entry in coverage(fft) if entry.how == UNKNOWN]
