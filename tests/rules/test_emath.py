"""The functions of numpy.emath, which turn complex."""

import numpy as np
import pytest

from adcompiler import check_gradient, pullback
from adcompiler.rules.registry import lookup
from adcompiler.testing import case, check_rule, complex_normal, nonzero, positive

OF_ONE = (
    *(np.emath.sqrt, np.emath.log, np.emath.log2, np.emath.log10),
    *(np.emath.arcsin, np.emath.arccos, np.emath.arctanh),
)
SCALED = np.array([[0.3, -0.4, 2.5], [-2.5, 0.7, -0.1]])

CASES = [
    *(case(key, x, id=name) for key in OF_ONE for name, x in (("mixed", SCALED), ("complex", complex_normal(3)))),
    *(case(key, x, id=str(x)) for key in OF_ONE for x in (0.3, -0.4, 2.5, -2.5)),
    *(case(np.emath.logn, n, nonzero(2, 3), id=f"base {n}") for n in (2, 2.5, -2.0)),
    case(np.emath.logn, positive(3), nonzero(2, 3), id="bases"),
    *(case(np.emath.power, nonzero(2, 3), p, id=f"exponent {p}") for p in (2, 0.5, -1.5)),
    case(np.emath.power, nonzero(2, 3), positive(3), id="exponents"),
    case(np.emath.power, -1.5, nonzero(3), id="negative base"),
    case(np.emath.power, complex_normal(3), complex_normal(2, 3), id="complex"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_every_function_has_a_rule():
    """There are nine."""
    assert [] == [name for name in np.emath.__all__ if not lookup(getattr(np.emath, name))]


@pytest.mark.parametrize("function", OF_ONE)
def test_in_compiled_functions(function):
    """The value of a real argument may be complex, its cotangent is real."""
    check_gradient(lambda x: np.sum(function(x) * (1 + 2j)), SCALED)
    check_gradient(lambda x: function(x) * (1 + 2j), -2.5)
    check_gradient(lambda x: np.sum(np.abs(function(x * 0.1))), SCALED)


def test_of_two_arguments_in_compiled_functions():
    """Both arguments of a power and of a logarithm."""
    check_gradient(lambda x, p: np.sum(np.emath.power(x, p) * (1 + 2j)), SCALED, np.array([0.5, 2.0, -1.5]))
    check_gradient(lambda n, x: np.sum(np.emath.logn(n, x) * (1 + 2j)), 2.5, SCALED)


def test_singular_points():
    """A zero cotangent beats an infinite slope, and the derivative of the root at 0 is taken as 0."""
    zero = np.zeros(1)
    assert pullback(lambda x: np.emath.sqrt(x), zero)[1](np.ones(1))[0] == 0
    with np.errstate(all="ignore"):
        for f, x in ((np.emath.log, zero), (np.emath.arcsin, zero + 1), (np.emath.arctanh, zero + 1)):
            assert pullback(lambda x: f(x), x)[1](zero)[0] == 0  # noqa: B023
        for bar in pullback(lambda x, p: np.emath.power(x, p), zero, zero + 0.5)[1](zero):
            assert bar == 0


@pytest.mark.parametrize(("p", "slope"), [(0.0, 0.0), (0.5, 0.0), (1.0, 1.0), (2.0, 0.0)])
def test_powers_at_zero(p, slope):
    """As those of np.power."""
    x_bar, p_bar = pullback(lambda x, p: np.emath.power(x, p), np.zeros(1), np.array([p]))[1](np.ones(1))
    assert (x_bar[0], p_bar[0]) == (slope, 0.0)
