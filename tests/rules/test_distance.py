"""Every rule of scipy.spatial.distance against differences, and at distance 0."""

import numpy as np
import pytest
from scipy.spatial import distance

from adcompiler import check_gradient, gradient
from adcompiler.errors import NoRuleError
from adcompiler.runtime.distances import SMOOTH
from adcompiler.testing import Input, case, check_rule, normal

SYMMETRIC = Input(lambda rng: distance.squareform(rng.uniform(1, 2, 6)), "symmetric")

CASES = [
    *(case(distance.cdist, normal(3, 4), normal(2, 4), metric) for metric in SMOOTH),
    *(case(distance.cdist, normal(3, 4), normal(2, 4), "minkowski", p=p) for p in (1, 3)),
    *(case(distance.pdist, normal(4, 3), metric) for metric in SMOOTH),
    case(distance.pdist, normal(1, 3)),
    case(distance.squareform, normal(6)),
    case(distance.squareform, SYMMETRIC, checks=False),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    check_rule(case)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "minkowski"])
def test_distance_0(metric):
    points = np.array([[1.0, 2.0], [1.0, 2.0]])
    assert np.array_equal(gradient(lambda x: np.sum(distance.pdist(x, metric)))(points), np.zeros((2, 2)))


def test_in_a_function():
    points = np.cos(np.arange(8.0)).reshape(4, 2)
    check_gradient(lambda x: np.sum(np.exp(-distance.cdist(x, x, "sqeuclidean"))), points)
    check_gradient(lambda x: np.sum(distance.squareform(distance.pdist(x)) ** 3), points)


def test_refused():
    with pytest.raises(NoRuleError):
        gradient(lambda x: np.sum(distance.pdist(x, "correlation")))(np.eye(3))
    with pytest.raises(NoRuleError, match="p of cdist"):
        gradient(lambda p: np.sum(distance.cdist(np.eye(3), np.eye(3), "minkowski", p=p)))(3.0)
    with pytest.raises(NoRuleError):
        gradient(lambda x: distance.cosine(x, np.ones(3)))(np.arange(3.0))
