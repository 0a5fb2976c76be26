"""Every rule of rules/norms.py against differences, and at its special points."""

import numpy as np
import pytest

from adcompiler import check_gradient, gradient
from adcompiler.rules.registry import lookup
from adcompiler.testing import case, check_rule, complex_normal, distinct, nonzero, normal

ORDERS = (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc")

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
    *(case(np.linalg.norm, normal(3, 4), order, axis=(1, 0)) for order in (1, -1, np.inf, -np.inf, 2, -2)),
    *(case(np.linalg.norm, complex_normal(2, 3, 4), order, (-1, -3)) for order in (-1, -np.inf, -2, 2)),
    *(case(np.linalg.norm, complex_normal(3, 4), order, axis=-1) for order in (1, -2.5, 0.5, -np.inf, 2)),
    *(case(np.linalg.norm, nonzero(3, 4), order, 0, True) for order in (0, -1, 0.7)),
    case(np.linalg.norm, normal(0)),
    *(case(np.linalg.norm, normal(0, 3), order) for order in ("fro", "nuc", 1)),
    *(case(np.linalg.norm, normal(0), order) for order in (1, 3)),
    *(case(np.linalg.vector_norm, nonzero(2, 3, 4), axis=(2, 0), ord=order) for order in (np.inf, -1, 2, 3)),
    *(case(np.linalg.vector_norm, complex_normal(3, 4), axis=-1, keepdims=True, ord=order) for order in (0, 1, 2.5)),
    case(np.linalg.vector_norm, normal(), ord=3),
    case(np.linalg.vector_norm, normal(3), ord=None),
    *(case(np.linalg.matrix_norm, distinct(3, 4), ord=order) for order in ("fro", 1, -1, 2, -2, np.inf, -np.inf)),
    case(np.linalg.matrix_norm, complex_normal(2, 3, 4), ord=-np.inf, keepdims=True),
    *(case(np.linalg.cond, normal(3, 3), p) for p in ORDERS),
    *(case(np.linalg.cond, normal(2, 3, 3), p=p) for p in ORDERS),
    *(case(np.linalg.cond, complex_normal(3, 3), p) for p in ORDERS),
    *(case(np.linalg.cond, normal(*shape), p) for shape in [(4, 2), (2, 3, 4)] for p in (2, -2)),
    case(np.linalg.cond, normal(3, 3)),
    case(np.linalg.cond, normal(1, 1), 2),
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


@pytest.mark.parametrize("order", [-1, -2.5, 0.5])
def test_zero_components(order):
    """The slope at a component that is 0 is 0 by convention; with a negative order the others have none either."""
    with np.errstate(divide="ignore"):
        _, pullback = lookup(np.linalg.norm)[0].function(np.array([0.0, 3.0]), order)
    assert pullback(1.0)[0] == pytest.approx([0.0, 1.0 if order > 0 else 0.0])


@pytest.mark.parametrize("order", [2, -2, 1, -1, np.inf, -np.inf])
def test_ties(order):
    """Columns, rows and singular values that are all the extreme one share the cotangent."""
    expected = np.eye(4) / 4
    assert gradient(np.linalg.norm)(np.eye(4), order) == pytest.approx(expected)
    assert gradient(lambda x: np.linalg.matrix_norm(x, ord=order))(np.eye(4)) == pytest.approx(expected)


def test_smallest_singular_value_of_a_singular_matrix():
    """The smallest possible value has the derivative 0, and so has the nuclear norm in the null space."""
    x = np.array([[3.0, 0.0], [4.0, 0.0]])
    assert gradient(np.linalg.norm)(x, -2).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert gradient(np.linalg.norm)(x, "nuc") == pytest.approx(x / 5)


@pytest.mark.parametrize("p", ORDERS)
def test_best_and_worst_condition(p):
    """The condition number has its minimum at the unit matrix; at a singular one it has no derivative."""
    assert gradient(np.linalg.cond)(np.eye(3), p) == pytest.approx(np.zeros((3, 3)))
    if p == "nuc":
        return  # of a singular matrix NumPy raises an error
    singular = np.diag([2.0, 1.0, 0.0])
    pair = np.stack([singular, np.diag([1.0, 2.0, 4.0])])

    def guarded(x):
        worst = np.linalg.cond(x, p)
        return np.sum(np.where(np.array([False, True]), worst, 0.0))

    bar = gradient(guarded)(pair)
    assert bar[0].tolist() == np.zeros((3, 3)).tolist()
    assert bar[1] == pytest.approx(gradient(np.linalg.cond)(pair[1], p))
    assert p == -2 or not np.isfinite(gradient(np.linalg.cond)(singular, p)).all()


def sizes(x):
    """Norms by position, by name and by function."""
    rows = np.linalg.norm(x, 3, 1) + np.linalg.norm(x, axis=1, ord=np.inf) + np.linalg.vector_norm(x, axis=1)
    return np.sum(rows**2) + np.linalg.norm(x, "nuc") * np.linalg.matrix_norm(x, ord=2) + np.linalg.cond(x @ x.T)


def test_in_functions():
    """Compiled, with the calls as users write them."""
    check_gradient(sizes, np.array([[1.0, 2.0, -3.0], [0.5, -1.5, 0.7]]))
    check_gradient(sizes, np.array([[1.0, 2.0j, -3.0], [0.5 + 1j, -1.5, 0.7]]))
    check_gradient(lambda x, p: np.linalg.norm(x, p), np.array([1.0, 2.0, -3.0]), 2.5)
    matrix = np.array([[1.0, 2.0], [0.5, -1.5]])
    assert gradient(lambda x, p: np.linalg.norm(x, p), 1)(matrix, 2.0) == 0.0
    assert gradient(lambda x, p: np.linalg.norm(x, ord=p), "p")(matrix[0], 0.0) == 0.0
