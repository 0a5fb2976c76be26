"""Every rule of rules/covariance.py against differences, and at its special points."""

import numpy as np
import pytest

from adcompiler import NoRuleError, check_gradient, gradient
from adcompiler.testing import case, check_rule, complex_normal, integers, normal, positive

CASES = [
    *(case(key, normal(3, 6)) for key in (np.cov, np.corrcoef)),
    *(case(key, normal(6, 3), rowvar=False) for key in (np.cov, np.corrcoef)),
    *(case(key, normal(6), normal(6)) for key in (np.cov, np.corrcoef)),
    *(case(key, normal(6, 2), normal(6, 3), rowvar=False) for key in (np.cov, np.corrcoef)),
    *(case(key, normal(2, 6), normal(6), rowvar=True) for key in (np.cov, np.corrcoef)),
    *(case(key, normal(6, 2), y=normal(6), rowvar=False) for key in (np.cov, np.corrcoef)),
    *(case(key, complex_normal(3, 5)) for key in (np.cov, np.corrcoef)),
    *(case(key, complex_normal(2, 5), normal(5)) for key in (np.cov, np.corrcoef)),
    *(case(key, normal(2, 5), dtype=np.float64) for key in (np.cov, np.corrcoef)),
    *(case(key, normal(5)) for key in (np.cov, np.corrcoef)),
    *(case(key, normal(4, 4), normal(4, 4), rowvar=False) for key in (np.cov, np.corrcoef)),
    case(np.cov, normal(6, 2), normal(1, 6), rowvar=False),
    case(np.cov, normal(3, 6), bias=True),
    case(np.cov, normal(3, 6), ddof=2),
    case(np.cov, normal(3, 6), ddof=0, fweights=integers(1, 4, 6)),
    case(np.cov, normal(3, 6), fweights=integers(1, 4, 6)),
    case(np.cov, normal(3, 6), aweights=positive(6)),
    case(np.cov, normal(3, 6), bias=True, aweights=positive(6)),
    case(np.cov, complex_normal(3, 6), normal(6), aweights=positive(6), fweights=integers(1, 4, 6), ddof=2),
    case(np.cov, [[1.0, 2.0, 4.0], [0.5, 0.1, 0.7]], id="lists"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_a_variable_that_does_not_vary():
    """Its correlations are not numbers, and its cotangents 0."""
    x = np.array([[1.0, 2.0, 4.0], [3.0, 3.0, 3.0], [0.0, 1.0, -1.0]])
    with np.errstate(invalid="ignore"):
        bar = gradient(lambda x: np.corrcoef(x)[0, 2])(x)
    expected = gradient(lambda x: np.corrcoef(x)[0, 1])(x[::2])
    np.testing.assert_allclose(bar, [expected[0], [0.0] * 3, expected[1]], atol=1e-14)


def test_counts_are_constants():
    """Counts that carry a derivative are refused."""
    with pytest.raises(NoRuleError, match="fweights"):
        gradient(lambda w: np.sum(np.cov(np.ones((2, 3)), fweights=w)))(np.array([1.0, 2.0, 1.0]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.cov(x, rowvar=False) @ x.T,
        lambda x: np.cov(x, x**2, bias=True)[:3, 3:] @ x,
        lambda x: np.cov(x, aweights=x[0] ** 2) @ x,
        lambda x: np.corrcoef(x) @ x,
        lambda x: np.corrcoef(x[0], y=x[1])[0, 1] * x,
    ],
)
def test_inside_a_program(f):
    """Calls with keywords between other operations."""
    check_gradient(lambda x: np.sum(f(x)), np.random.default_rng(4).standard_normal((3, 4)))
