"""The parts of forward rules, which second derivatives go through."""

import numpy as np
import pytest

from adcompiler.runtime.forward import match
from adcompiler.testing import case, check_rule, normal

CASES = [
    case(match, normal(2, 3), np.zeros((2, 3))),
    case(match, 1.5, np.zeros((2, 3)), id="a number for an array"),
    case(match, normal(3), np.zeros((2, 3)), id="a row for a matrix"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_a_number_does_not_widen_an_array():
    """The tangent of a float that meets an array of single precision."""
    np.testing.assert_array_equal(np.full(2, 0.5, "float32"), match(0.5, np.zeros(2, "float32")), strict=True)
