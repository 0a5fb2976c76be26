"""Every rule of rules/joining.py and rules/splitting.py against differences."""

import numpy as np
import pytest

from adcompiler import DifferentiationError, gradient
from adcompiler.rules.registry import lookup
from adcompiler.testing import booleans, case, check_gradient, check_rule, complex_normal, normal

PAIRS = [[normal(2, 3), normal(2, 3)], (normal(2, 3), normal(2, 3), normal(2, 3))]
VECTORS = [normal(3), normal(3)]

CASES = [
    *(case(np.concatenate, arrays, axis) for arrays in PAIRS for axis in (0, 1, -1)),
    case(np.concatenate, [normal(2, 3), normal(4, 3)]),
    case(np.concatenate, [normal(2, 3), normal(5)], axis=None),
    case(np.concatenate, [normal(3), [1.5, 2.5]]),
    case(np.concatenate, normal(2, 3, 4), axis=1),
    case(np.concatenate, [normal(0, 3), normal(2, 3)]),
    case(np.concatenate, [normal(2, 0), normal(3, 0)]),
    case(np.concatenate, [normal(3), complex_normal(2)]),
    *(case(np.stack, arrays, axis) for arrays in PAIRS for axis in (0, 1, -1)),
    case(np.stack, normal(2, 3, 4), axis=-1),
    case(np.stack, [1.5, 2.5]),
    *(case(key, arrays) for key in (np.vstack, np.hstack, np.dstack, np.column_stack) for arrays in [*PAIRS, VECTORS]),
    *(case(key, [1.5, 2.5]) for key in (np.vstack, np.hstack, np.dstack, np.column_stack)),
    case(np.vstack, [normal(3), normal(2, 3)]),
    case(np.column_stack, [normal(3), normal(3, 2)]),
    case(np.hstack, normal(2, 3, 4)),
    case(np.append, normal(3), 2.5),
    case(np.append, normal(2, 3), normal(4)),
    case(np.append, normal(2, 3), normal(1, 3), axis=0),
    case(np.split, normal(6), 3),
    case(np.split, normal(4, 5), [1, 3], axis=-1),
    case(np.array_split, normal(7, 2), 3),
    case(np.array_split, normal(2, 7), 3, axis=1),
    case(np.vsplit, normal(4, 3), 2),
    case(np.hsplit, normal(4, 6), [2, 3]),
    case(np.hsplit, normal(6), 2),
    case(np.dsplit, normal(2, 3, 4), 2),
    case(np.concatenate, [normal(3), normal(2)], dtype=complex),
    case(np.concatenate, [normal(2, 3), normal(2, 2)], axis=-1, dtype=float),
    case(np.stack, [normal(3), normal(3)], -1, dtype=complex),
    case(np.stack, [normal(3), normal(3)], axis=0, casting="unsafe"),
    case(np.vstack, [normal(3), normal(2, 3)], dtype=complex),
    case(np.hstack, [normal(3), normal(2)], dtype=complex, casting="safe"),
    case(np.append, normal(2, 3), [1.5, 2.5]),
    case(np.append, 2.5, 1.5),
    case(np.append, normal(2, 3), complex_normal(2, 1), axis=-1),
    case(np.block, [normal(3), normal(2)]),
    case(np.block, [[normal(2, 3), normal(2, 1)], [normal(1, 2), normal(1, 2)]]),
    case(np.block, [[normal(3)], [normal(1, 3)], [normal(2, 3)]]),
    case(np.block, [[1.5, normal(2)], [normal(3)]]),
    case(np.block, [[[normal(2, 2)], [normal(1, 2)]], [[normal(1, 2)], [normal(2, 2)]]]),
    case(np.block, [[normal(2, 2, 3), normal(2, 2, 1)]]),
    case(np.block, [complex_normal(2), normal(3)]),
    case(np.block, normal(2, 3)),
    case(np.block, 2.5),
    case(np.insert, normal(4), 1, 2.5),
    case(np.insert, normal(4), -1, normal()),
    case(np.insert, normal(4), [1, 1, 3], normal(3)),
    case(np.insert, normal(4), [1, 2, 4], 2.5),
    case(np.insert, normal(4), 2, normal(3)),
    case(np.insert, normal(4), slice(1, 3), [1.5, 2.5]),
    case(np.insert, normal(4), booleans(4), 2.5),
    case(np.insert, normal(2, 3), 1, normal(2), axis=1),
    case(np.insert, normal(2, 3), [1], normal(2, 1), axis=1),
    case(np.insert, normal(2, 3), [0, 2], normal(3), axis=0),
    case(np.insert, normal(2, 3), [0, 2], normal(2, 3), axis=-2),
    case(np.insert, normal(2, 3), [3, 1], normal(2)),
    case(np.insert, normal(2, 3), 1, 2, axis=0),
    case(np.insert, complex_normal(3), [0, 1], normal(2)),
    case(np.insert, normal(0), 0, 2.5),
    case(np.split, normal(6), [3, 1]),
    case(np.split, normal(2, 6), [4, -4, 9], axis=1),
    case(np.array_split, normal(6), [-2]),
    case(np.hsplit, normal(2, 6), [5, 2]),
]

if hasattr(np, "unstack"):
    CASES += [
        case(np.unstack, normal(2, 3)),
        case(np.unstack, normal(2, 3), axis=-1),
        case(np.unstack, complex_normal(3)),
    ]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_parts_come_in_the_container_of_the_argument():
    """The cotangent of a tuple of arrays is a tuple, of a list a list, of an array an array."""
    arrays = [np.ones(2), np.ones(3)]
    for container, argument in [(list, arrays), (tuple, tuple(arrays)), (np.ndarray, np.ones((2, 3)))]:
        y, pullback = lookup(np.concatenate)[0].function(argument)
        assert type(pullback(y)[0]) is container


def test_unused_parts_of_a_split():
    """A part without cotangent contributes zeros."""
    _, pullback = lookup(np.split)[0].function(np.zeros(4), 2)
    assert pullback([None, np.ones(2)])[0].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert pullback([None, None])[0].tolist() == [0.0] * 4


X = np.array([0.3, 1.7, 2.9])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.r_[x, 1.0],
        lambda x: np.r_[x],
        lambda x: np.r_[x[0], 0:3, x[1:], -1:1:5j],
        lambda x: np.r_["0,2", x, x * x],
        lambda x: np.r_["-1,2,0", x, np.outer(x, x)],
        lambda x: np.r_[x, np.array(x[0]), [1.5, 2.5], x[1:] * 1j],
        lambda x: np.r_[(x[1], x[2]), [x[0], (x[1], 1.0)[0]]],
        lambda x: np.c_[x, x * x],
        lambda x: np.c_[np.outer(x, x), x, [1, 2, 3]],
        lambda x: np.r_[x.tolist()[1], 2.0, 1],
        lambda x: np.concat([x, x * x], dtype=np.complex128),
        lambda x: np.concatenate((x, x), 0),
        lambda x: np.stack(arrays=[x, x * x], axis=-1),
        lambda x: np.hstack([x, 1.5]),
        lambda x: np.block([[x, x], [2.0, x, np.outer(x, x)[0, :2]]]),
        lambda x: np.insert(x, [0, 2], x[1]),
        lambda x: np.insert(arr=x, obj=1, values=x[:2]),
        lambda x: np.append(x, x * x),
        lambda x: sum(part[0] for part in np.split(x, 3)),
        lambda x: np.split(x, [2, 1])[0] * x[0],
        lambda x: np.split(np.outer(x, x), 3, axis=1)[1],
        lambda x: np.broadcast_arrays(x, np.outer(x, x))[0] * x,
    ],
)
def test_joined_in_a_compiled_function(f):
    """Calls of other forms than the tables above have."""
    check_gradient(lambda x: f(x * 1.5), X)


@pytest.mark.parametrize(
    "f", [lambda x: np.r_["r", x], lambda x: np.mgrid[0 : x[0] : 5j], lambda x: np.r_[0 : x[0] : 3j]]
)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_indices_that_hide_a_derivative(f):
    """Matrices, and the ends of a range."""
    with pytest.raises(DifferentiationError):
        gradient(lambda x: np.sum(f(x)))(X)


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="from NumPy 2.1 on")
def test_unstacked_in_a_compiled_function():
    """A part that is not used has no cotangent."""
    check_gradient(lambda x: np.unstack(np.outer(x, x), axis=1)[1], X)


@pytest.mark.skipif(not hasattr(np, "row_stack"), reason="up to NumPy 2")
@pytest.mark.filterwarnings("ignore:.*row_stack")
def test_row_stack():
    """It is the older name of vstack."""
    check_gradient(lambda x: np.row_stack([x, x * x]), X)


def collected(parts):
    out = []
    for part in parts:
        out.append(part * part)
    return np.array(out)


def grown(x):
    parts = x.tolist()
    parts.append(x[0] * 2)
    parts[0] = parts[1] * 2
    return np.array(parts)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: collected(np.meshgrid(x, x)),
        lambda x: collected(np.broadcast_arrays(x, 2.0)),
        lambda x: collected(np.split(x, 3)),
        lambda x: collected(np.linalg.slogdet(np.outer(x, x) + np.eye(3))),
        lambda x: collected(x.tolist()),
        lambda x: collected(np.outer(x, x).tolist()[0]),
        grown,
    ],
)
def test_sequences_of_results_in_a_program_that_writes_into_lists(f):
    """Cotangents of their items are kept in a table, whether they are lists or tuples."""
    check_gradient(f, X)
