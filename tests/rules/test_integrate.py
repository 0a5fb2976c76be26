"""Every rule of rules/integrate.py: quadrature, samples, and differential equations."""

import numpy as np
import pytest
from scipy import integrate

from adcompiler import gradient
from adcompiler.errors import NoRuleError
from adcompiler.testing import Input, case, check_gradient, check_rule, complex_normal, normal

POINTS = np.array([0.0, 0.3, 0.7, 1.0, 1.2, 1.9, 2.0, 2.6, 3.1])


def points(*shape):
    """Increasing points along the last axis."""
    return Input(lambda rng: np.cumsum(rng.uniform(0.3, 1.0, shape), -1), f"points{shape}")


CASES = [
    case(integrate.trapezoid, normal(5)),
    case(integrate.trapezoid, normal(3, 5), dx=0.5, axis=0),
    case(integrate.trapezoid, normal(3, 5), points(5)),
    case(integrate.trapezoid, normal(3, 5), points(3), axis=0),
    case(integrate.trapezoid, normal(3, 5), points(3, 5)),
    case(integrate.trapezoid, complex_normal(5), points(5)),
    case(integrate.cumulative_trapezoid, normal(5)),
    case(integrate.cumulative_trapezoid, normal(3, 5), points(5)),
    case(integrate.cumulative_trapezoid, normal(3, 5), points(3), axis=0, initial=0),
    case(integrate.cumulative_trapezoid, normal(3, 5), points(3, 5), 1.0, 1, 0),
    case(integrate.cumulative_trapezoid, normal(3, 5), dx=0.5, axis=-2),
    *(case(integrate.simpson, normal(n), x=points(n)) for n in (1, 2, 3, 4, 5, 8, 9)),
    *(case(integrate.simpson, normal(n), dx=0.3) for n in (1, 2, 3, 4, 5, 8, 9)),
    *(case(integrate.simpson, normal(n, 3), x=points(n), axis=0) for n in (4, 5)),
    *(case(integrate.simpson, normal(3, n), x=points(3, n)) for n in (2, 4, 5)),
    case(integrate.simpson, complex_normal(6), x=points(6)),
    *(case(integrate.romb, normal(n), dx=0.3) for n in (2, 3, 5, 9, 17)),
    case(integrate.romb, normal(5, 3), 0.3, 0),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)
