"""Every rule of scipy.fft against differences."""

import numpy as np
import pytest
from scipy import fft

from adcompiler import check_gradient, gradient
from adcompiler.errors import NoRuleError
from adcompiler.testing import case, check_rule, complex_normal, normal

NORMS = (None, "ortho", "forward", "backward")
TRANSFORMS = (fft.dct, fft.idct, fft.dst, fft.idst)

CASES = [
    *(case(f, complex_normal(2, 5), n, norm=norm) for f in (fft.fft, fft.ifft, fft.irfft, fft.hfft)
      for n in (None, 4, 6) for norm in NORMS),
    *(case(f, normal(2, 5), n, norm=norm, real_only=True) for f in (fft.rfft, fft.ihfft)
      for n in (None, 4, 6) for norm in NORMS),
    *(case(f, complex_normal(2, 3, 4)) for f in (fft.fftn, fft.ifftn, fft.fft2, fft.ifft2, fft.irfftn, fft.irfft2)),
    *(case(f, normal(2, 3, 4), real_only=True) for f in (fft.rfftn, fft.rfft2)),
    case(fft.fftn, normal(3, 4), s=(2, 5), axes=(1, 0), norm="ortho"),
    *(case(f, normal(2, 5), kind, norm=norm) for f in TRANSFORMS for kind in (1, 2, 3, 4) for norm in NORMS),
    *(case(f, normal(5, 2), kind, n, 0) for f in TRANSFORMS for kind in (1, 2, 3, 4) for n in (3, 7)),
    *(case(f, normal(3, 4), kind, axes=axes) for f in (fft.dctn, fft.idctn, fft.dstn, fft.idstn)
      for kind in (1, 2, 3) for axes in (None, 1, (0, 1))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    check_rule(case)


def test_in_a_function():
    x = np.sin(np.arange(7.0))
    check_gradient(lambda x: np.sum(np.abs(fft.rfft(x)) ** 2 * np.arange(4)), x)
    check_gradient(lambda x: np.sum(fft.idct(fft.dct(x, norm="ortho") ** 2, norm="ortho") ** 3), x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(fft.dct(x, orthogonalize=True)),
        lambda x: np.sum(fft.fft(x, overwrite_x=True).real),
        lambda x: np.sum(fft.hfftn(x)),
    ],
)
def test_refused(function):
    with pytest.raises(NoRuleError):
        gradient(function)(np.arange(4.0))
