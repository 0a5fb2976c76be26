"""The functions of the cmath module."""

import cmath

import numpy as np
import pytest

from adcompiler import check_gradient, gradient
from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.testing import case, check_rule

FUNCTIONS = (
    *(cmath.exp, cmath.log, cmath.log10, cmath.sqrt, cmath.sin, cmath.cos, cmath.tan, cmath.sinh, cmath.cosh),
    *(cmath.tanh, cmath.asin, cmath.acos, cmath.atan, cmath.asinh, cmath.acosh, cmath.atanh),
)
# On both sides of the cuts of roots and inverse functions, and a real number.
POINTS = (0.3 + 0.4j, -0.3 + 0.4j, 2.0 + 0.01j, 2.0 - 0.01j, -2.0 + 0.01j, -2.0 - 0.01j, 0.01 + 2j, 0.01 - 2j, -1 - 2j)

CASES = [
    *(case(key, z) for key in FUNCTIONS for z in (*POINTS, np.complex128(0.4 + 1j), 0.7)),
    *(case(cmath.log, z, base, id=f"{z} with base {base}") for z in (1 + 2j, 2.5) for base in (2.0, 10, 1j)),
    *(case(key, z) for key in (cmath.phase, cmath.polar) for z in POINTS),
    *(case(key, z, wrt=()) for key in (cmath.phase, cmath.polar) for z in (2.5, -2.5)),
    case(cmath.rect, 1.5, 0.4),
    case(cmath.rect, -1.5, 4.0),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_every_function_is_dealt_with():
    """Each function of the module has a rule, or is declared to have no derivative."""
    functions = [f for name, f in vars(cmath).items() if callable(f) and not name.startswith("_")]
    assert [] == [f.__name__ for f in functions if not lookup(f) and is_non_differentiable(f) is None]


def test_in_compiled_functions():
    """Real and complex arguments, and both results of polar."""
    check_gradient(lambda z: cmath.exp(z * 1j) * cmath.sqrt(z), 0.5 + 1.5j)
    check_gradient(lambda x: (cmath.exp(1j * x) * cmath.log(x)).real, 0.5)
    check_gradient(lambda x: cmath.phase(complex(x, 2.0)) + abs(cmath.rect(x, 1.0)), 0.5)

    for f in FUNCTIONS:
        for x in (2.5, -2.5, 0.5, -0.5):
            check_gradient(lambda x: f(x) * (1 + 2j), x)  # noqa: B023
    check_gradient(lambda x: cmath.log(x, -2.0), 0.5)

    def both(z):
        r, phi = cmath.polar(z)
        return r * phi

    check_gradient(both, -0.5 + 1.5j)
    check_gradient(lambda z: cmath.polar(z)[0], -0.5 + 1.5j)
    check_gradient(lambda z: cmath.polar(z)[1], -0.5 + 1.5j)


def test_singular_points():
    """0 where the function has an extremum, and a zero cotangent beats an infinite slope."""
    assert gradient(lambda z: abs(cmath.sqrt(z)))(0j) == 0
    assert gradient(lambda z: cmath.phase(z))(0j) == 0
    assert gradient(lambda z: cmath.polar(z)[0])(0j) == 0
    for f in (cmath.asin, cmath.acos, cmath.acosh):
        assert gradient(lambda z: 0.0 * f(z).real)(1 + 0j) == 0  # noqa: B023
