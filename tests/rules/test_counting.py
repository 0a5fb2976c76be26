"""Sums of weights by place, and histograms, which are refused."""

import numpy as np
import pytest

from adcompiler import NoRuleError, check_gradient, gradient, stop_gradient
from adcompiler.testing import case, check_rule, normal

PLACES = np.array([0, 3, 1, 3, 3])

CASES = [
    case(np.bincount, PLACES, normal(5)),
    case(np.bincount, PLACES, weights=normal(5), minlength=7),
    case(np.bincount, PLACES, normal(5), 2, id="positional length"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_inside_a_program():
    """The weights are computed, the places are found from the data, and plain counts are constants."""
    edges = np.array([-1.0, 0.0, 1.0])

    def f(x):
        places = np.digitize(x, edges)
        counts = np.bincount(places, minlength=4)
        return np.sum(np.bincount(places, weights=np.exp(x), minlength=4) ** 2 / (1 + counts))

    check_gradient(f, np.array([-1.5, 0.3, 0.4, 2.0, -0.2]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.histogram(x, 3)[0] * x[:3]),
        lambda x: np.sum(np.histogram(np.arange(4), weights=x)[0]),
        lambda x: np.sum(np.histogram2d(x, x)[0]),
        lambda x: np.sum(np.histogramdd(x[:, None])[0]),
        lambda x: np.sum(np.histogram_bin_edges(x)),
    ],
)
def test_histograms_are_refused(f):
    """The message says why, and what to do."""
    with pytest.raises(NoRuleError, match="stop_gradient"):
        gradient(f)(np.arange(4.0))


def test_histograms_of_constants():
    """What carries no derivative may be counted."""

    def f(x):
        counts, edges = np.histogram(stop_gradient(x), 2)
        return np.sum(counts * x[:2]) + edges[0]

    assert gradient(f)(np.array([0.0, 1.0, 2.0])).tolist() == [1.0, 2.0, 0.0]
