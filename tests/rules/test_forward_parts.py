"""The parts of forward rules, which second derivatives go through."""

import numpy as np
import pytest
from scipy import special

from adcompiler import check_gradient
from adcompiler.rules.forward import forward_rule
from adcompiler.rules.registry import lookup
from adcompiler.runtime.forward import filled, match
from adcompiler.runtime.pointwise_forward import tangent
from adcompiler.runtime.quantiles_forward import median_dot, quantile_dot
from adcompiler.testing import case, check_rule, normal

X = np.array([3.0, 1.0, 2.0, 1.0])
WEIGHTS = np.array([1.0, -2.0])
BY_HAND = {quantile_dot, tangent}  # an argument of them is a function, or several
CASES = [
    case(match, normal(2, 3), np.zeros((2, 3))),
    case(match, 1.5, np.zeros((2, 3)), id="a number for an array"),
    case(match, normal(3), np.zeros((2, 3)), id="a row for a matrix"),
    case(filled, normal(3), np.zeros(3)),
    case(filled, (normal(3), None), (np.zeros(3), np.zeros(2)), id="of two arrays one"),
    case(median_dot, normal(4), np.float64(1.5), X, None, wrt=(0,)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_a_number_does_not_widen_an_array():
    """The tangent of a float that meets an array of single precision."""
    np.testing.assert_array_equal(np.full(2, 0.5, "float32"), match(0.5, np.zeros(2, "float32")), strict=True)


def test_the_tangent_of_a_quantile_is_linear_in_those_of_the_elements():
    """At the rank 0.9 of 1, 1, 2, 3 the two that are equal share what lies at the first, and at the second."""
    out, pullback = lookup(quantile_dot)[0].function(
        np.array([1.0, 2.0, 3.0, 4.0]), np.float64(1.0), np.quantile, X, 0.3, None, "linear", None, False
    )
    assert 3.0 == out
    np.testing.assert_allclose([0.0, 0.5, 0.0, 0.5], pullback(1.0)[0])


def test_the_tangent_of_an_elementwise_function_is_differentiated_by_its_partials():
    """That of betaln, in the operands and in their tangents."""

    rule = forward_rule(special.betaln)

    def moved(a, b, a_dot, b_dot):
        _, y_dot = rule((a_dot, b_dot), a, b)
        return np.sum(y_dot * WEIGHTS)

    check_gradient(moved, np.array([0.7, 1.5]), 2.0, np.array([0.3, -1.0]), 0.5)
