"""Every rule of rules/polynomials.py against differences, and at its special points."""

import numpy as np
import pytest

from adcompiler import NoRuleError, check_gradient, gradient
from adcompiler.testing import case, check_rule, complex_normal, distinct, normal, positive

CASES = [
    case(np.polyval, normal(4), normal(2, 3)),
    case(np.polyval, normal(3), normal()),
    case(np.polyval, normal(1), normal(2)),
    case(np.polyval, [1.0, -2.0, 0.5], normal(2)),
    case(np.polyval, complex_normal(3), complex_normal(2)),
    *(case(f, normal(n), normal(m)) for f in (np.polyadd, np.polysub, np.polymul) for n, m in ((3, 5), (4, 2), (1, 1))),
    *(case(f, complex_normal(3), normal(2)) for f in (np.polyadd, np.polymul)),
    # Divided without rounding: NumPy decides by the numbers how many leading zeros of the remainder it leaves out.
    case(np.polydiv, np.array([1.0, -3.0, 2.0, 5.0, 4.0]), np.array([2.0, 1.0, -1.0])),
    *(case(np.polydiv, normal(n), positive(m)) for n, m in ((3, 3), (4, 1), (2, 3))),
    case(np.polymul, np.array([0.0, 1.5, 2.0]), normal(2), wrt=1),
    case(np.polydiv, np.array([1 + 1j, 2.0, -1j, 3.0]), np.array([2j, 1.0])),
    *(case(np.polyder, normal(4), m) for m in (0, 1, 2, 3)),
    case(np.polyder, normal(4)),
    *(case(np.polyint, normal(3), m) for m in (0, 1, 3)),
    case(np.polyint, normal(3), 1, normal()),
    case(np.polyint, normal(3), 3, normal(3)),
    case(np.polyint, normal(3), 2, 1.5),
    case(np.polyfit, distinct(6), normal(6), 2, real_only=True),
    case(np.polyfit, distinct(6), normal(6, 2), 3, w=positive(6), real_only=True),
    case(np.polyfit, distinct(4), normal(4), 3, real_only=True),
    case(np.poly, normal(4)),
    case(np.poly, complex_normal(3)),
    case(np.poly, normal(1)),
    case(np.roots, np.array([1.0, -6.0, 11.0, -6.0])),
    case(np.roots, np.array([2.0, 1.0, 3.0])),
    case(np.roots, complex_normal(4)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_the_polynomial_of_a_matrix_says_what_to_do():
    """The eigenvalues are differentiable, and their polynomial too."""
    with pytest.raises(NoRuleError, match="eigvals"):
        gradient(lambda a: np.sum(np.poly(a)))(np.eye(2) + 0.5)


def test_a_double_root_has_no_derivative():
    """The roots of x^2 - c move as the square root of c: at 0 the derivative is infinite, and not a number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        assert not np.isfinite(gradient(lambda c: np.real(np.roots(np.array([1.0, 0.0, 0.0]) - c))[0])(0.0))


def test_complex_roots_of_real_coefficients():
    """The roots of 2 x^2 + x + 3 are a pair of complex numbers, of which both parts move."""
    weights = np.array([1 + 2j, 0.5 - 1j])
    check_gradient(lambda p: np.sum(np.real(np.conj(weights) * np.roots(p))), np.array([2.0, 1.0, 3.0]))
