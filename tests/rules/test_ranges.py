"""Every rule of rules/ranges.py against differences."""

import numpy as np
import pytest

from adcompiler import gradient
from adcompiler.testing import case, check_gradient, check_rule, complex_normal, normal, positive

CASES = [
    case(np.meshgrid, normal(3), normal(4)),
    case(np.meshgrid, normal(3), normal(4), indexing="ij"),
    case(np.meshgrid, normal(3), normal(4), normal(2)),
    case(np.meshgrid, normal(3)),
    case(np.meshgrid, normal(3), 2.5),
    case(np.arange, 0.5, 3.2, 0.5, wrt=(0, 2)),
    case(np.arange, 0.5, 3.2, id="whole steps", wrt=0),
    case(np.arange, 4, id="stop"),
    case(np.arange, 4, dtype=float, id="dtype"),
    case(np.arange, 0.5, 3.2, device="cpu", wrt=0),
    case(np.meshgrid, normal(3), normal(4), sparse=True),
    case(np.meshgrid, normal(3), normal(4), normal(2), indexing="ij", sparse=True, copy=False),
    case(np.meshgrid, normal(2, 2), normal(3)),
    case(np.linspace, 0.5, 2.5),
    case(np.linspace, 0.5, 2.5, 5, False),
    case(np.linspace, 0.5, 2.5, 1),
    case(np.linspace, 0.5, 2.5, 1, endpoint=False),
    case(np.linspace, 0.5, 2.5, 0),
    case(np.linspace, normal(3), normal(2, 1), 4),
    case(np.linspace, normal(3), 2.5, 4, axis=1),
    case(np.linspace, normal(2, 3), normal(3), num=4, axis=-1),
    case(np.linspace, complex_normal(2), 1.5, 3),
    case(np.linspace, 0.5, 2.5, 4, dtype=complex),
    case(np.linspace, 0.5, 2.5, 4, retstep=True),
    case(np.linspace, normal(3), normal(2, 1), 4, False, True, None, -1),
    case(np.linspace, 0.5, 2.5, 4, True, False, float),
    case(np.logspace, 0.5, 1.5, 4),
    case(np.logspace, 0.5, 1.5, 4, False, base=2.0),
    case(np.logspace, normal(3), normal(2, 1), 4, base=positive()),
    case(np.logspace, normal(3), normal(2, 1), 4, base=positive(3)),
    case(np.logspace, normal(3), 1.5, 4, base=positive(2, 3), axis=-1),
    case(np.logspace, 0.5, 1.5, 4, base=positive(2), axis=0),
    case(np.logspace, 0.5, 1.5, 1),
    case(np.logspace, complex_normal(2), 1.5, 3, dtype=complex),
    case(np.geomspace, 0.5, 8.0, 4),
    case(np.geomspace, -0.5, -8.0, 4, endpoint=False),
    case(np.geomspace, positive(3), positive(2, 1), 4, axis=-1),
    case(np.geomspace, complex_normal(2), 1.5 + 1j, 4),
    case(np.geomspace, 0.5, 8.0, 1),
    case(np.geomspace, 0.5, 8.0, 3, dtype=complex),
    case(np.vander, normal(4)),
    case(np.vander, normal(4), 6),
    case(np.vander, normal(4), 3, increasing=True),
    case(np.vander, normal(4), 1),
    case(np.vander, normal(4), 0),
    case(np.vander, complex_normal(3)),
    case(np.vander, [1.5, 2.5]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


X = np.array([0.3, 1.7, 2.9])


def linspace_with_step(x):
    points, step = np.linspace(x[0], x[1:], 4, retstep=True)
    return points * step


@pytest.mark.parametrize(
    "f",
    [
        linspace_with_step,
        lambda x: np.linspace(x[0], x[1], 4, retstep=True)[1] * x[2],
        lambda x: np.linspace(start=x[0], stop=2.0, num=3) * x,
        lambda x: np.logspace(x[0], 1, 3, base=x[1]),
        lambda x: np.geomspace(x[0], x[1], 3) * x,
        lambda x: np.meshgrid(x, x * x, sparse=True)[1],
        lambda x: np.vander(x, increasing=True) @ x,
    ],
)
def test_ranges_in_a_compiled_function(f):
    """Calls of other forms than the table above has."""
    check_gradient(lambda x: f(x * 1.5), X)


def test_whole_numbers_do_not_vary():
    """A range of integers has steps where its ends are floats."""
    assert 0.0 == gradient(lambda s: 1.0 * np.sum(np.arange(s, 3.2, dtype=int)))(1.5)
    assert 0.0 == gradient(lambda s: 1.0 * np.sum(np.linspace(s, 3.2, 4, dtype=int)))(1.5)
    assert 0.0 == gradient(lambda s: 1.0 * np.sum(np.geomspace(s, 3.2, 4, dtype=int)))(1.5)


def test_the_step_of_one_point():
    """It is not a number, and has no derivative."""
    assert (0.0, 0.0) == gradient(lambda a, b: np.linspace(a, b, 1, retstep=True)[1] * 1.0, (0, 1))(1.5, 2.5)
