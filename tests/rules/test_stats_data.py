"""Functions of data in scipy.stats, and its multivariate distributions."""

import numpy as np
import pytest
from scipy import stats

from adcompiler import NoRuleError, gradient
from adcompiler.testing import case, check_gradient, check_rule, normal, positive

NORMAL, DIRICHLET = type(stats.multivariate_normal), type(stats.dirichlet)
# Distributions are objects that check_rule cannot compare.
BY_HAND = {NORMAL.logpdf, NORMAL.pdf, DIRICHLET.logpdf, DIRICHLET.pdf, stats.gaussian_kde.evaluate}
BY_HAND |= {stats.gaussian_kde.pdf}

CASES = [
    *(case(f, positive(4, 3), real_only=True) for f in (stats.gmean, stats.hmean)),
    *(case(f, positive(4, 3), axis, real_only=True) for f in (stats.gmean, stats.hmean) for axis in (None, 0, -1)),
    *(case(f, positive(4, 3), 1, weights=positive(4, 3), real_only=True) for f in (stats.gmean, stats.hmean)),
    *(case(f, positive(4, 3), keepdims=True, real_only=True) for f in (stats.gmean, stats.hmean)),
    *(case(stats.pmean, positive(4, 3), p, axis=1, weights=positive(4, 3), real_only=True) for p in (2, -2)),
    case(stats.pmean, positive(4, 3), 3, keepdims=True, real_only=True),
    *(
        case(f, normal(4, 3), *args, real_only=True, **options)
        for f in (stats.sem, stats.skew, stats.kurtosis)
        for args, options in (((), {}), ((1,), {}), ((None,), {}), ((0,), {"keepdims": True}))
    ),
    case(stats.sem, normal(5), 0, 2, real_only=True),
    *(case(stats.skew, normal(5, 2), 0, bias, real_only=True) for bias in (True, False)),
    *(case(stats.kurtosis, normal(5, 2), 0, fisher, False, real_only=True) for fisher in (True, False)),
    *(case(stats.variation, positive(4, 3), axis, ddof=1, real_only=True) for axis in (0, -1, None)),
    *(case(stats.entropy, positive(4, 3), real_only=True, **options) for options in ({}, {"axis": 1, "base": 2})),
    case(stats.entropy, positive(4, 3), positive(4, 3), 3, 0, real_only=True),
    case(stats.entropy, positive(4, 3), positive(4, 1), axis=0, keepdims=True, real_only=True),
    case(stats.entropy, positive(4), positive(4), real_only=True),
    *(case(stats.zscore, normal(4, 3), axis, ddof, real_only=True) for axis in (0, -1, None) for ddof in (0, 1)),
]


@pytest.mark.filterwarnings("ignore")  # of samples of size 0 and of equal numbers
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


MEAN, COV = np.array([0.3, -0.2]), np.array([[1.5, 0.4], [0.4, 0.8]])
POINTS = np.array([[0.1, 0.5], [-1.0, 0.3], [0.7, -0.6]])


def symmetric(cov):
    return 0.5 * (cov + cov.T)


def test_multivariate_normal():
    """In the points, the mean and the covariance, which may be a matrix, a diagonal or a number."""
    for x in (POINTS, POINTS[0]):
        check_gradient(lambda x, m, c: np.sum(stats.multivariate_normal.logpdf(x, m, symmetric(c)) ** 2), x, MEAN, COV)
        check_gradient(lambda x, m, c: np.sum(stats.multivariate_normal.pdf(x, mean=m, cov=c)), x, MEAN, COV[0])
        check_gradient(lambda x, m, c: np.sum(stats.multivariate_normal.logpdf(x, m, cov=c)), x, MEAN, 1.5)
        check_gradient(lambda x: np.sum(stats.multivariate_normal.logpdf(x, cov=COV)), x)
    check_gradient(lambda x, c: np.sum(stats.multivariate_normal.logpdf(x, 0.0, c) ** 2), POINTS[:, 0], 2.0)
    check_gradient(lambda x, m: np.sum(stats.multivariate_normal.logpdf(x, [m])), 0.5, 0.2)


def test_covariances_that_are_refused():
    """A singular covariance, and one that is an object."""
    with pytest.raises(NoRuleError, match="singular"):
        gradient(lambda x: stats.multivariate_normal.logpdf(x, MEAN, COV, True))(POINTS[0])
    cov = stats.Covariance.from_diagonal([1.0, 2.0])
    with pytest.raises(NoRuleError):
        gradient(lambda x: stats.multivariate_normal.logpdf(x, MEAN, cov))(POINTS[0])


def test_dirichlet():
    """With the last component left out, so that the point can be moved."""
    x, alpha = np.array([0.2, 0.5]), np.array([1.5, 2.5, 3.0])
    check_gradient(lambda x, a: stats.dirichlet.logpdf(x, a), x, alpha)
    check_gradient(lambda x, a: np.sum(stats.dirichlet.pdf(x, a)), np.array([[0.2, 0.3], [0.5, 0.1]]), alpha)
    full = np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(gradient(lambda x: stats.dirichlet.logpdf(x, alpha))(full), (alpha - 1) / full)


def test_kernel_density_estimate():
    """In the points at which it is evaluated."""
    rng = np.random.default_rng(3)
    line, plane = stats.gaussian_kde(rng.normal(size=7)), stats.gaussian_kde(rng.normal(size=(2, 9)))
    weighted = stats.gaussian_kde(rng.normal(size=5), weights=rng.uniform(size=5))
    check_gradient(lambda x: np.sum(line.evaluate(x) ** 2), np.array([0.3, -0.4]))
    check_gradient(lambda x: np.sum(line(x)) + weighted.pdf(x)[0], np.array([0.3, -0.4]))
    check_gradient(lambda x: np.sum(plane(x) ** 2), rng.normal(size=(2, 3)))
    check_gradient(lambda x: plane(x)[0], np.array([0.3, -0.4]))


def test_entropy_of_nothing():
    """A weight of 0 has an infinite slope, which a zero cotangent does not see."""
    p = np.array([0.0, 1.0, 3.0])
    assert gradient(lambda p: stats.entropy(p))(p)[0] == np.inf
    np.testing.assert_array_equal(gradient(lambda p: np.where(p[0] > 0, stats.entropy(p), 0.0))(p), 0.0)


def test_equal_numbers():
    """A standard error of 0 is taken as flat."""
    np.testing.assert_array_equal(gradient(lambda x: stats.sem(x))(np.ones(3)), 0.0)


def test_compiled_calls():
    """By position and by name."""
    x, w = np.array([0.3, 0.7, 1.9]), np.array([1.0, 2.0, 0.5])
    check_gradient(lambda x, w: stats.gmean(x, weights=w) + stats.hmean(a=x) + stats.pmean(x, 2.0), x, w)
    check_gradient(lambda x: np.sum(stats.zscore(x, ddof=1) * w) + stats.kurtosis(x, fisher=False), x)
    check_gradient(lambda x: np.sum(stats.skew(x[None] * x[:, None], axis=1)), x)
    with pytest.raises(NoRuleError):
        gradient(lambda p: stats.pmean(x, p))(2.0)
    with pytest.raises(NoRuleError):
        gradient(lambda x: stats.zscore(x, nan_policy="omit")[0])(x)
