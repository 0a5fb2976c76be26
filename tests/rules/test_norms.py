"""Every rule of rules/norms.py against differences, and at its special points."""

import numpy as np
import pytest

from adcompiler.rules.registry import lookup
from adcompiler.testing import case, check_rule, complex_normal, distinct, nonzero, normal

CASES = [
    case(np.linalg.norm, normal(4)),
    case(np.linalg.norm, normal(3, 4)),
    case(np.linalg.norm, normal(2, 3, 4)),
    case(np.linalg.norm, normal(3, 4), axis=1),
    case(np.linalg.norm, normal(3, 4), axis=-1, keepdims=True),
    case(np.linalg.norm, normal(2, 3, 4), axis=(0, 2)),
    case(np.linalg.norm, normal(3, 4), None, (0, 1), True),
    case(np.linalg.norm, complex_normal(3, 4), axis=0),
    *(case(np.linalg.norm, nonzero(5), order) for order in (2, 1, 3, 0.5, -1, 2.5)),
    *(case(np.linalg.norm, distinct(5), order) for order in (np.inf, -np.inf)),
    *(case(np.linalg.norm, distinct(3, 4), order, axis=1) for order in (2, 1, 3, np.inf)),
    *(case(np.linalg.norm, distinct(3, 4), order, axis=-2, keepdims=True) for order in (2, 1, 3, np.inf)),
    *(case(np.linalg.norm, distinct(3, 4), order) for order in ("fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf)),
    *(case(np.linalg.norm, normal(2, 3, 4), order, axis=(2, 0)) for order in ("fro", "nuc", 2, 1)),
    *(case(np.linalg.norm, normal(2, 3, 4), order, axis=(0, 2), keepdims=True) for order in ("nuc", 2, np.inf)),
    *(case(np.linalg.norm, complex_normal(3, 3), order) for order in ("fro", "nuc", 2, 1, np.inf)),
    *(case(np.linalg.norm, complex_normal(4), order) for order in (1, 3, np.inf)),
    case(np.linalg.norm, nonzero(3, 4), 2.5, axis=1),
    case(np.linalg.vector_norm, normal(3, 4)),
    case(np.linalg.vector_norm, normal(3, 4), axis=0, ord=1.5),
    case(np.linalg.vector_norm, normal(3, 4), axis=0, ord=3),
    case(np.linalg.vector_norm, normal(3, 4), keepdims=True, ord=1),
    case(np.linalg.vector_norm, normal(2, 3, 4), axis=(0, 2), ord=1),
    case(np.linalg.matrix_norm, normal(2, 3, 4)),
    case(np.linalg.matrix_norm, normal(2, 3, 4), keepdims=True, ord="nuc"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


@pytest.mark.parametrize("order", [None, 2, 1, 3, 0.5, np.inf, -np.inf, 0])
def test_origin(order):
    """The norm has its minimum at 0, so the cotangent there is 0."""
    _, pullback = lookup(np.linalg.norm)[0].function(np.zeros(3), order)
    assert pullback(1.0)[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("order", [None, "fro", "nuc", 2, 1, np.inf])
def test_zero_matrix(order):
    """Every norm has its minimum at the zero matrix."""
    _, pullback = lookup(np.linalg.norm)[0].function(np.zeros((2, 2)), order)
    assert pullback(1.0)[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_zero_rows_among_others():
    """A row of zeros gets zeros, the others their direction."""
    _, pullback = lookup(np.linalg.norm)[0].function(np.array([[0.0, 0.0], [0.0, 4.0]]), axis=1)
    assert pullback(np.ones(2))[0].tolist() == [[0.0, 0.0], [0.0, 1.0]]
