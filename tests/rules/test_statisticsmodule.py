"""The functions of the statistics module."""

import statistics

import numpy as np
import pytest

from adcompiler import check_gradient, gradient
from adcompiler.errors import NoRuleError
from adcompiler.testing import case, check_rule, positive

RULED = (
    *(statistics.mean, statistics.fmean, statistics.geometric_mean, statistics.harmonic_mean),
    *(statistics.variance, statistics.pvariance, statistics.stdev, statistics.pstdev),
)

CASES = [
    *(case(key, [1.5, 2.5, 0.5]) for key in RULED),
    *(case(key, (1.5, 2.5), id="tuple") for key in RULED),
    *(case(key, positive(4), id="array") for key in RULED[:1] + RULED[2:]),
    case(statistics.fmean, [1.5, 2.5, 0.5], weights=[1.0, 2.0, 0.5]),
    case(statistics.fmean, [1.5, 2.5, 0.5], (1, 2, 4), id="whole weights"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


@pytest.mark.parametrize("function", RULED)
def test_in_compiled_functions(function):
    """Of displays and of lists that are built."""

    def f(x, y):
        data = [x, 2.0]
        data.append(x * y)
        return function(data) * function((x, y))

    check_gradient(f, 0.5, 1.5)


def test_by_source():
    """The medians are read."""
    check_gradient(lambda x, y, z: statistics.median([x, y, z]), 0.5, 3.0, 1.5)
    check_gradient(lambda x, y: statistics.median([x, y]), 0.5, 3.0)


def test_no_deviation():
    """The minimum of the standard deviation has no derivative."""
    assert gradient(lambda x: statistics.stdev([x, 2.0]))(2.0) == 0.0
    assert gradient(lambda x: statistics.harmonic_mean([x, 2.0]))(0.0) == 0.0


def test_refusals():
    """What takes two sequences says what to do, and a rule that does not take a call says so."""
    with pytest.raises(NoRuleError, match=r"np\.cov"):
        gradient(lambda x: statistics.covariance([x, 2.0], [1.0, x]))(1.5)
    with pytest.raises(NoRuleError, match="xbar"):
        gradient(lambda x: statistics.variance([x, 2.0], xbar=1.0))(1.5)
    np.testing.assert_allclose(gradient(lambda x: statistics.mean(x))(np.ones(4)), 0.25)
