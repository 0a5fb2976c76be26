"""The functions of the math module."""

import math

import numpy as np
import pytest

from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.testing import case, check_rule, normal, positive

ANYWHERE = (
    *(math.sin, math.cos, math.tan, math.atan, math.sinh, math.cosh, math.tanh, math.asinh, math.exp, math.exp2),
    *(math.expm1, math.cbrt, math.fabs, math.erf, math.erfc, math.gamma, math.lgamma, math.degrees, math.radians),
)
POSITIVE = (math.log, math.log2, math.log10, math.log1p, math.sqrt)
UNIT = (math.asin, math.acos, math.atanh)
NEWER = [
    *([case(math.sumprod, [1.5, -2.0], [0.5, 3.0])] if hasattr(math, "sumprod") else []),
    *([case(math.fma, 1.5, -2.0, 0.5)] if hasattr(math, "fma") else []),
]

CASES = [
    *(case(key, x) for key in ANYWHERE for x in (0.7, -1.3, np.float64(0.4))),
    *(case(key, x) for key in POSITIVE for x in (0.7, 3.0, np.float64(0.4))),
    *(case(key, x) for key in UNIT for x in (0.7, -0.2)),
    case(math.acosh, 1.5),
    case(math.log, 2.5, 3.5, id="with a base"),
    case(math.log, 2.5, 10, id="with a whole base"),
    *(case(math.pow, x, y) for x, y in ((2.5, 1.5), (2.5, -3.0))),
    *(case(math.pow, -2.5, y, wrt=0) for y in (2, 3.0, -1.0)),
    *(case(math.atan2, y, x) for y, x in ((1.5, 0.5), (-1.5, -0.5))),
    *(case(key, x, 2.0) for key in (math.fmod, math.remainder) for x in (7.3, -7.3)),
    *(case(math.copysign, x, y) for x in (1.5, -1.5) for y in (1.0, -1.0)),
    case(math.ldexp, 1.5, 3),
    case(math.nextafter, 1.5, 3.0, wrt=()),
    case(math.hypot, 3.0, -4.0),
    case(math.hypot, 3.0, -4.0, 12.0, id="three"),
    case(math.dist, [1.0, 2.0], [4.0, 6.0]),
    case(math.dist, (1.0, 2.0), [4.0, 6.0], id="tuple and list"),
    case(math.dist, normal(3), normal(3), id="arrays"),
    case(math.dist, normal(3), [4.0, 6.0, 5.0], id="array and list"),
    case(math.dist, (1.0, 2.0, 3.0), normal(3), id="tuple and array"),
    case(math.fsum, [1.5, 2.5, -0.5]),
    case(math.fsum, (1.5, 2.5), id="tuple"),
    case(math.prod, [1.5, 2.5, -0.5]),
    case(math.prod, (1.5, 2.5), start=3.0, id="tuple with a start"),
    case(math.prod, positive(4), id="array"),
    case(math.prod, [1.5, normal(2), normal(3, 2)], id="arrays that broadcast"),
    case(math.modf, 1.25, wrt=()),
    case(math.frexp, 1.25, wrt=()),
    *NEWER,
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def bars(function, *args, y_bar=1.0, **kwargs):
    """The cotangents of `args`."""
    return lookup(function)[0].function(*args, **kwargs)[1](y_bar)


def test_every_function_is_dealt_with():
    """Each function of the module has a rule, or is declared to have no derivative."""
    functions = [f for name, f in vars(math).items() if callable(f) and not name.startswith("_")]
    assert [] == [f.__name__ for f in functions if not lookup(f) and is_non_differentiable(f) is None]


def test_sqrt_at_zero():
    """Taken as flat, without a division by zero."""
    assert bars(math.sqrt, 0.0) == (0.0,)


def test_singular_points():
    """A zero cotangent stays zero, any other is infinite; no ZeroDivisionError comes out of a pullback."""
    assert bars(math.cbrt, 0.0, y_bar=0.0) == (0.0,)
    assert bars(math.cbrt, 0.0) == (math.inf,)
    assert bars(math.asin, 1.0) == (math.inf,)
    assert bars(math.acos, 1.0) == (-math.inf,)
    assert bars(math.acosh, 1.0, y_bar=0.0) == (0.0,)
    assert bars(math.atan2, 0.0, 0.0) == (0.0, 0.0)
    assert bars(math.hypot, 0.0, 0.0) == ((0.0, 0.0),)
    assert bars(math.pow, 0.0, 2.0) == (0.0, 0.0)


def test_zeros_in_a_product():
    """The derivative of a product at a zero is the product of the others."""
    assert bars(math.prod, [0.0, 2.0, 3.0]) == ([6.0, 0.0, 0.0], None)
    assert bars(math.prod, (), start=2.0) == ((), 1.0)


def test_fsum_of_an_array():
    """One cotangent for all entries."""
    np.testing.assert_array_equal(bars(math.fsum, np.ones(3), y_bar=2.0)[0], [2.0, 2.0, 2.0])


def test_parts_of_a_number():
    """Only the fraction of modf and the mantissa of frexp move with the number."""
    assert bars(math.modf, 2.25, y_bar=(3.0, None)) == (3.0,)
    assert bars(math.frexp, 12.0, y_bar=(3.0, None)) == (3.0 / 16,)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (1.0, -0.5772156649015329),
        (0.5, -1.9635100260214235),
        (10.0, 2.2517525890667211),
        (-0.5, 0.03648997397857652),
        (1e-3, -1000.5755719318103),
        (-3.7, -0.8450768588704185),
    ],
)
def test_digamma(x, expected):
    """DLMF 5.4.12 to 5.4.15, and values from tables."""
    assert math.isclose(bars(math.lgamma, x)[0], expected, rel_tol=1e-13)
