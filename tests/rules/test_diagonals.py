"""Every rule of rules/diagonals.py against differences."""

import numpy as np
import pytest

from adcompiler.testing import case, check_rule, complex_normal, normal

CASES = [
    *(case(key, normal(3, 4), k=k) for key in (np.tril, np.triu) for k in (0, 1, -2)),
    *(case(key, normal(3)) for key in (np.tril, np.triu)),
    case(np.tril, normal(2, 3, 3)),
    *(case(np.diag, normal(*shape), k=k) for shape in [(3,), (3, 3), (2, 4)] for k in (0, 1, -1)),
    case(np.diagflat, normal(2, 2)),
    case(np.diagflat, normal(3), -1),
    case(np.diagflat, 2.5),
    case(np.diagonal, normal(3, 4)),
    case(np.diagonal, normal(3, 4), offset=1),
    case(np.diagonal, normal(4, 3), offset=-2),
    case(np.diagonal, normal(2, 3), offset=7),
    case(np.diagonal, normal(2, 3, 4), axis1=2, axis2=0),
    case(np.diagonal, normal(2, 3, 4), 1, -1, 1),
    case(np.ndarray.diagonal, normal(3, 3)),
    case(np.diag, complex_normal(3, 3), 1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)
