"""Every rule of rules/cumulative.py against differences, and at its special points."""

import numpy as np
import pytest

from adcompiler import check_gradient, gradient
from adcompiler.rules.registry import lookup
from adcompiler.testing import case, check_rule, complex_normal, nonzero

KEYS = [getattr(np, name) for name in ("cumulative_sum", "cumulative_prod") if hasattr(np, name)]
ALONG = [{"axis": 0}, {"axis": -1, "include_initial": True}, {"axis": 1, "dtype": np.float64}]
WITH_ZEROS = np.array([[2.0, 0.0, 3.0, 0.0], [1.0, 2.0, 0.0, -1.0]])

CASES = [
    *(case(key, nonzero(3, 4), **way) for key in KEYS for way in ALONG),
    *(case(key, nonzero(5), include_initial=True) for key in KEYS),
    *(case(key, complex_normal(3, 2), axis=0) for key in KEYS),
    *(case(key, 1.5) for key in KEYS),
    *(case(key, WITH_ZEROS, axis=1, include_initial=initial) for key in KEYS for initial in (False, True)),
]

pytestmark = pytest.mark.skipif(not KEYS, reason="NumPy has no such functions yet")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_running_products_with_zeros():
    """The initial 1 changes nothing in the cotangents."""
    _, pullback = lookup(np.cumulative_prod)[0].function(np.array([2.0, 0.0, 3.0]), include_initial=True)
    assert pullback(np.ones(4))[0].tolist() == [1.0, 8.0, 0.0]


@pytest.mark.parametrize("key", KEYS)
def test_a_result_of_integers_carries_no_derivative(key):
    """It is piecewise constant."""
    assert gradient(lambda x: np.sum(key(x, dtype=int) * 2.0))(np.array([1.5, 2.5])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("key", KEYS)
def test_size_0(key):
    """The cotangent of nothing is nothing."""
    _, pullback = lookup(key)[0].function(np.ones(0))
    assert pullback(np.ones(0))[0].shape == (0,)


def test_inside_a_program():
    """Calls with keywords between other operations."""
    x = np.random.default_rng(4).standard_normal((3, 4))
    check_gradient(lambda x: np.sum(np.cumulative_sum(x * x, axis=1, include_initial=True)[:, 1:] * x), x)
    check_gradient(lambda x: np.sum(np.cumulative_prod(x, axis=0) * x), x)
