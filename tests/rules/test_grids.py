"""Every rule of rules/grids.py against differences, and at its special points."""

import numpy as np
import pytest

from adcompiler import gradient, pullback
from adcompiler.testing import Input, case, check_rule, complex_normal, normal, uniform


def increasing(n, start=0.0):
    """Sample points in order, their distances all different."""
    return Input(lambda rng: start + np.cumsum(rng.uniform(0.5, 1.5, n)), f"increasing({n})")


INTERP = np.interp, uniform(-1, 7, 2, 4), increasing(5), normal(5)
GRADIENTS = [{}, {"edge_order": 2}, {"axis": 0}, {"axis": -1, "edge_order": 2}, {"axis": (1, 0)}]
BOTH = np.convolve, np.correlate
LENGTHS = (5, 3), (3, 6), (4, 4), (1, 3), (6, 4), (4, 7)

CASES = [
    case(*INTERP, real_only=True),
    case(*INTERP, left=0.3, right=-0.7),
    case(np.interp, uniform(0, 5), increasing(5), normal(5)),
    case(np.interp, uniform(-1, 7, 4), increasing(5), complex_normal(5), real_only=True),
    case(np.interp, uniform(-9, 9, 6), np.array([3.0, 0.5, 2.2, 7.1]), normal(4), period=5.0, real_only=True),
    case(np.interp, uniform(-9, 9, 6), np.array([1.0]), normal(1), real_only=True),
    case(np.interp, uniform(0, 5, 6), [0.0, 2.0, 5.5], [1.0, -1.0, 3.0]),
    *(case(np.gradient, normal(4, 5), **way) for way in GRADIENTS),
    *(case(np.gradient, normal(4, 5), 0.4, **way) for way in GRADIENTS),
    *(case(np.gradient, normal(4, 5), 0.4, 1.3, **way) for way in ({}, {"edge_order": 2}, {"axis": (1, 0)})),
    *(case(np.gradient, normal(5, 5), increasing(5), 0.7, edge_order=order, real_only=True) for order in (1, 2)),
    *(case(np.gradient, normal(6), increasing(6), edge_order=order, real_only=True) for order in (1, 2)),
    *(case(np.gradient, normal(2), edge_order=1) for _ in "1"),
    *(case(np.gradient, complex_normal(5), 0.5, edge_order=order) for order in (1, 2)),
    *(case(f, normal(n), normal(m), mode) for f in BOTH for n, m in LENGTHS for mode in ("full", "same", "valid")),
    *(case(f, complex_normal(5), normal(2), "same") for f in BOTH),
    *(case(f, complex_normal(3), complex_normal(5)) for f in BOTH),
    *(case(f, [1.0, 2.0, -1.0], [0.5, 0.25]) for f in BOTH),
    case(np.convolve, normal(3), normal()),
    *(case(np.kaiser, m, 2.5) for m in (1, 4, 7)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_interp_at_a_sample_point():
    """The mean of the slopes on both sides: 1 and -3 inside, and at the ends the one side of them and 0."""
    xp, fp = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, -2.0])
    slopes = gradient(lambda x: np.sum(np.interp(x, xp, fp)))(np.array([0.0, 1.0, 2.0, -1.0, 3.0]))
    assert [0.5, -1.0, -1.5, 0.0, 0.0] == slopes.tolist()


def test_interp_outside_reads_the_ends():
    """What lies outside is the first or last value, or `left` and `right` if they are given."""

    def total(fp, left):
        return np.sum(np.interp(np.array([-1.0, 0.5, 9.0]), np.array([0.0, 1.0]), fp, left=left))

    fp = np.array([2.0, 4.0])
    assert [1.5, 1.5] == gradient(lambda fp: total(fp, None))(fp).tolist()
    fp_bar, left_bar = gradient(total, (0, 1))(fp, 7.0)
    assert ([0.5, 1.5], 1.0) == (fp_bar.tolist(), left_bar)


def test_one_of_the_gradients_alone():
    """The cotangent of the others is zero, and not an error."""
    f = np.arange(12.0).reshape(3, 4)
    _, back = pullback(lambda f: np.gradient(f)[0], f)
    (f_bar,) = back(np.ones((3, 4)))
    assert [-1.5, 0.0, 1.5] == f_bar[:, 1].tolist()
