"""Every rule of rules/indexing.py against differences, and where elements are repeated or equal."""

import operator

import numpy as np
import pytest

from adcompiler import gradient
from adcompiler.rules.registry import lookup
from adcompiler.testing import booleans, case, check_gradient, check_rule, complex_normal, integers, normal

INDICES = [
    0,
    -1,
    (1, 2),
    (1, 2, 3),
    slice(None, None, -1),
    (slice(0, 2), 1),
    (Ellipsis, 0),
    (None, slice(1, 3)),
    (0, None, Ellipsis, slice(None, None, 2)),
    (),
    Ellipsis,
    [2, 0, 2],
    (slice(None), [1, 1, 0]),
    ([0, 2, 0], [1, 1, 1]),
    ([0, 1], slice(None), [3, 3]),
    ([[0, 1], [2, 0]], None, 2),
    np.int64(1),
    True,
    ([True, False, True], 0),
    False,
    (slice(None, None, -2), slice(3, None, -1), slice(4, 0, -3)),
    (slice(5, 2), Ellipsis),
    ([0, 1], slice(None), slice(None, None, -1)),
    (slice(None), [0, 1], [1, 1]),
    ([0, 2], None, [1, 1]),
    (slice(None), 0, [1, 1, 0]),
    (0, slice(None), [1, 1, 0]),
    (Ellipsis, [True, False, True, False, True]),
    ([True, False, True], slice(None), [0, 1]),
    (None, [0, 0, 2], Ellipsis, None),
    ([], slice(None)),
    (True, 0),
    ([[0], [2]], [1, 1, 3]),
    (slice(None), [[0, 1], [1, 0]], slice(1, 3)),
]

CASES = [
    *(case(operator.getitem, normal(3, 4, 5), index) for index in INDICES),
    case(operator.getitem, normal(3, 4), booleans(3, 4)),
    case(operator.getitem, normal(3, 4), booleans(3)),
    case(operator.getitem, normal(3, 4), (slice(None), booleans(4))),
    case(operator.getitem, normal(5), integers(0, 5, 8)),
    case(operator.getitem, normal(5), integers(-5, 5, 2, 3)),
    case(operator.getitem, normal(5), np.zeros(0, int)),
    case(operator.getitem, normal(5), slice(3, 3)),
    case(operator.getitem, normal(), ()),
    case(operator.getitem, complex_normal(3, 4), ([0, 0], [1, 1])),
    case(operator.getitem, normal(3), 1),
    case(np.ndarray.__getitem__, normal(3, 4), (1, slice(2))),
    case(np.take, normal(3, 4), integers(0, 12, 5)),
    case(np.take, normal(3, 4), 5),
    case(np.take, normal(3, 4), integers(-3, 3, 2, 2), axis=0),
    case(np.take, normal(3, 4), [1, 1, 3], axis=-1),
    case(np.take, normal(3, 4), 2, axis=1),
    case(np.take, normal(), [0, 0]),
    case(np.take, normal(), [0, 0], axis=0),
    case(np.take, 2.5, 0, axis=-1),
    case(np.ndarray.take, normal(3, 4), [1, 1, 0], axis=1),
    case(np.take_along_axis, normal(3, 4), integers(0, 4, 3, 2), axis=1),
    case(np.take_along_axis, normal(3, 4), integers(0, 3, 6, 4), axis=0),
    case(np.take_along_axis, normal(3, 4), integers(0, 4, 1, 2)),
    case(np.take_along_axis, normal(3, 1), integers(0, 3, 2, 4), 0),
    case(np.take_along_axis, normal(3, 4), integers(0, 12, 5), axis=None),
    case(np.compress, [True, False, True], normal(3, 4), axis=0),
    case(np.compress, booleans(4), normal(3, 4), axis=-1),
    case(np.compress, booleans(12), normal(3, 4)),
    case(np.ndarray.compress, normal(3, 4), booleans(4), axis=1),
    case(np.extract, booleans(3, 4), normal(3, 4)),
    case(np.choose, integers(0, 3, 4), [normal(4), normal(4), normal(4)]),
    case(np.choose, integers(0, 2, 3, 4), (normal(4), normal(3, 1))),
    case(np.choose, integers(0, 2, 4), normal(2, 4)),
    case(np.select, [booleans(4), booleans(4)], [normal(4), normal(4)]),
    case(np.select, [booleans(3, 4), booleans(4)], [normal(4), normal(3, 1)], default=1.5),
    case(np.select, [booleans(4)], [normal(4)], normal(4)),
    case(operator.getitem, normal(3, 4), np.ix_([0, 2, 0], [1, 3])),
    case(operator.getitem, normal(3, 4), np.ix_([True, False, True], [1, 1])),
    case(operator.getitem, normal(3, 4), np.nonzero(np.eye(3, 4))),
    case(operator.getitem, normal(3, 4), (np.int64(1), np.array(2))),
    case(operator.getitem, normal(3, 4), np.array(1)),
    case(operator.getitem, normal(3), np.array(True)),
    case(operator.getitem, normal(30, 40), ([0, 3] * 20, slice(None, None, -1))),
    case(operator.getitem, normal(30, 40), (slice(None), [0, -1] * 20)),
    case(np.take, normal(3, 4), integers(-20, 20, 5), mode="wrap"),
    case(np.take, normal(3, 4), integers(-20, 20, 5), mode="clip"),
    case(np.take, normal(3, 4), integers(-20, 20, 2, 3), axis=1, mode="wrap"),
    case(np.take, normal(3, 4), -7, axis=0, mode="clip"),
    case(np.take, normal(3), [True, False, True]),
    case(np.ndarray.take, normal(3, 4), [7, -7], 0, mode="clip"),
    case(np.take, normal(0, 3), np.zeros(0, int), axis=0, mode="wrap"),
    case(np.compress, [True, False], normal(3, 4), axis=1),
    case(np.choose, integers(-5, 9, 4), [normal(4), normal(4), normal(4)], mode="wrap"),
    case(np.choose, integers(-5, 9, 4), [normal(4), normal(4), normal(4)], mode="clip"),
    case(np.choose, booleans(4), [normal(4), 2.5]),
    case(np.choose, 1, [normal(4), normal(4)]),
    case(np.ndarray.choose, integers(0, 2, 4), [normal(4), complex_normal(4)]),
    case(np.select, [booleans(4)], normal(1, 4)),
    case(np.select, [booleans(4), booleans(4)], [1.5, complex_normal(4)], 2),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_repeated_index_accumulates():
    """x[[0, 2, 2]] sends both cotangents of row 2 back to row 2."""
    _, pullback = lookup(operator.getitem)[0].function(np.zeros(3), [0, 2, 2])
    assert pullback(np.array([1.0, 10.0, 100.0]))[0].tolist() == [1.0, 0.0, 110.0]


X = np.array([0.3, 1.7, 2.9])


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: np.piecewise(x, [x < 1, x > 2], [lambda v: v**2 * w, np.sin, w]),
        lambda x, w: np.piecewise(x, x < 1, [w, lambda v: v * w]),
        lambda x, w: np.piecewise(x, [x > 0, x > 2], [lambda v, u: v**2 * u, lambda v, u: v * u], w),
        lambda x, w: np.piecewise(x, [x > 5], [lambda v: v**2 * w]),
        lambda x, w: np.piecewise(x, [x > 1], [lambda v: w, lambda v: np.sum(v)]),
        lambda x, w: np.piecewise(x[0], [x[0] > 2], [w, lambda v: v * w]),
        lambda x, w: np.piecewise(x * (1 + 1j), [x > 1], [lambda v: v * v * w, w * 1j]),
        lambda x, w: np.apply_along_axis(lambda row: row**2 * w, 0, x),
        lambda x, w: np.apply_along_axis(lambda row: np.sum(row) * w, -1, np.outer(x, x)),
        lambda x, w: np.apply_along_axis(lambda row, u: np.outer(row, row) * u, 0, np.outer(x, x), w),
        lambda x, w: np.apply_along_axis(np.cumsum, 1, np.outer(x, x)),
        lambda x, w: np.fromfunction(lambda i, j: w * i**2 + j * x[0], (2, 3)),
        lambda x, w: np.fromfunction(lambda i: w * i, (3,), dtype=int),
    ],
)
def test_functions_of_functions(f):
    """Their elements, what they have captured and what they are given vary."""
    check_gradient(f, X, 1.3)


def test_piecewise_of_integers():
    """The result has the type of the first argument, here whole numbers, which do not vary."""
    assert 0.0 == gradient(lambda w: np.sum(np.piecewise(np.arange(3), [np.arange(3) > 1], [w])))(1.5)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.take([0, 2, -7], mode="clip"),
        lambda x: np.array([0, 1, 0]).choose([x, x * 2]),
        lambda x: x[::-1][..., None] * x[[0, 0, 2]],
        lambda x: np.outer(x, x)[np.ix_([0, 2], [1, 1])],
        lambda x: np.outer(x, x)[x > 1][:, x < 2],
        lambda x: np.outer(x, x)[np.newaxis, ..., 1, None],
        lambda x: (np.outer(x, x)[..., None] * x)[[0, 1], :, [2, 2]],
        lambda x: (np.outer(x, x)[..., None] * x)[[0, 1], [2, 2]],
        lambda x: (np.outer(x, x)[..., None] * x)[:, [0, 1], [2, 2]],
        lambda x: np.outer(x, x)[1:1],
        lambda x: np.outer(x, x)[np.array([2, 2, 0])],
        lambda x: x[np.nonzero(x > 1)],
        lambda x: x[x.nonzero()],
        lambda x: np.outer(x, x)[np.nonzero(np.outer(x, x))],
        lambda x: np.outer(x, x)[np.triu_indices_from(np.outer(x, x), 1)],
        lambda x: np.outer(x, x)[np.unravel_index(np.argmax(np.outer(x, x)), (3, 3))],
        lambda x: x[np.s_[1:]],
        lambda x: sum(row * row[0] for row in np.outer(x, x)),
        lambda x: [row[1] for row in np.outer(x, x)],
        lambda x: x[np.r_[0:2, 0]],
    ],
)
def test_elements_in_a_compiled_function(f):
    """All forms of indices, and methods."""
    check_gradient(lambda x: f(x * 1.5), X)
