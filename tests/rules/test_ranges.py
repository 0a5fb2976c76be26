"""Every rule of rules/ranges.py against differences."""

import numpy as np
import pytest

from adcompiler.testing import case, check_rule, complex_normal, normal, positive

CASES = [
    case(np.meshgrid, normal(3), normal(4)),
    case(np.meshgrid, normal(3), normal(4), indexing="ij"),
    case(np.meshgrid, normal(3), normal(4), normal(2)),
    case(np.meshgrid, normal(3)),
    case(np.meshgrid, normal(3), 2.5),
    case(np.arange, 0.5, 3.2, 0.5, wrt=(0, 2)),
    case(np.arange, 0.5, 3.2, id="whole steps", wrt=0),
    case(np.arange, 4, id="stop"),
    case(np.arange, 4, dtype=float, id="dtype"),
    case(np.arange, 0.5, 3.2, device="cpu", wrt=0),
    case(np.meshgrid, normal(3), normal(4), sparse=True),
    case(np.meshgrid, normal(3), normal(4), normal(2), indexing="ij", sparse=True, copy=False),
    case(np.meshgrid, normal(2, 2), normal(3)),
    case(np.linspace, 0.5, 2.5),
    case(np.linspace, 0.5, 2.5, 5, False),
    case(np.linspace, 0.5, 2.5, 1),
    case(np.linspace, 0.5, 2.5, 1, endpoint=False),
    case(np.linspace, 0.5, 2.5, 0),
    case(np.linspace, normal(3), normal(2, 1), 4),
    case(np.linspace, normal(3), 2.5, 4, axis=1),
    case(np.linspace, normal(2, 3), normal(3), num=4, axis=-1),
    case(np.linspace, complex_normal(2), 1.5, 3),
    case(np.linspace, 0.5, 2.5, 4, dtype=complex),
    case(np.linspace, 0.5, 2.5, 4, retstep=True),
    case(np.linspace, normal(3), normal(2, 1), 4, False, True, None, -1),
    case(np.linspace, 0.5, 2.5, 4, True, False, float),
    case(np.logspace, 0.5, 1.5, 4),
    case(np.logspace, 0.5, 1.5, 4, False, base=2.0),
    case(np.logspace, normal(3), normal(2, 1), 4, base=positive()),
    case(np.logspace, normal(3), normal(2, 1), 4, base=positive(3)),
    case(np.logspace, normal(3), 1.5, 4, base=positive(2, 3), axis=-1),
    case(np.logspace, 0.5, 1.5, 4, base=positive(2), axis=0),
    case(np.logspace, 0.5, 1.5, 1),
    case(np.logspace, complex_normal(2), 1.5, 3, dtype=complex),
    case(np.geomspace, 0.5, 8.0, 4),
    case(np.geomspace, -0.5, -8.0, 4, endpoint=False),
    case(np.geomspace, positive(3), positive(2, 1), 4, axis=-1),
    case(np.geomspace, complex_normal(2), 1.5 + 1j, 4),
    case(np.geomspace, 0.5, 8.0, 1),
    case(np.geomspace, 0.5, 8.0, 3, dtype=complex),
    case(np.vander, normal(4)),
    case(np.vander, normal(4), 6),
    case(np.vander, normal(4), 3, increasing=True),
    case(np.vander, normal(4), 1),
    case(np.vander, normal(4), 0),
    case(np.vander, complex_normal(3)),
    case(np.vander, [1.5, 2.5]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)
