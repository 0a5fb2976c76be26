"""Cotangents added at an index, and the facts about indices that rules ask for."""

import numpy as np
import pytest

from adcompiler.runtime.facts import is_basic, is_mask, is_static
from adcompiler.runtime.scatter import add_at, scatter

MASK = np.array([True, False, True, True])
INDICES = [
    2,
    -1,
    slice(None, None, 2),
    (slice(None), 1),
    (..., None, 1),
    None,
    True,
    MASK,
    [True, False, True, True],
    (MASK, 1),
    (slice(None), np.array([True, False, True])),
    [0, 0, 3],
    np.array([-1, 3, 0]),
    np.array([[0, 1], [1, 1]]),
    ([0, 0, 1], [2, 2, 1]),
    (np.array([0, 0, 1])[:, None], [2, -1]),
    (1, [0, 0]),
    (slice(1, None), [0, 0]),
    (MASK, [1, 1, 1]),
    (None, [0, 0]),
    (..., [0, 0]),
    [],
    np.zeros((4, 3, 2), bool),
]


def _one_by_one(buffer, index, y_bar):
    """The reference: every element that x[index] reads is found by reading positions."""
    positions = np.arange(buffer.size).reshape(buffer.shape)[index]
    for position, value in zip(positions.ravel(), np.broadcast_to(y_bar, positions.shape).ravel(), strict=True):
        buffer.reshape(-1)[position] += value
    return buffer


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_scatter_is_the_adjoint_of_reading(index):
    """Each element receives the sum of the cotangents of all places where it was read."""
    x = np.random.default_rng(0).standard_normal((4, 3, 2))
    y_bar = np.random.default_rng(1).standard_normal(x[index].shape)
    np.testing.assert_allclose(_one_by_one(np.zeros(x.shape), index, y_bar), scatter(y_bar, index, x.shape))


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("layout", ["C", "F"])
def test_add_at_adds_into_the_buffer(index, layout):
    """What was in the buffer stays, in either memory order, and the buffer itself is returned."""
    start = np.random.default_rng(2).standard_normal((4, 3, 2))
    y_bar = np.random.default_rng(3).standard_normal(start[index].shape)
    buffer = start.copy(order=layout)
    assert buffer is add_at(buffer, index, y_bar)
    np.testing.assert_allclose(_one_by_one(start.copy(), index, y_bar), buffer)


def test_scatter_takes_numbers():
    """The cotangent of x[1] may be a Python float, and a number stands for every element that was read."""
    np.testing.assert_array_equal([0.0, 2.0, 0.0], scatter(2.0, 1, (3,)))
    np.testing.assert_array_equal([4.0, 0.0, 2.0], scatter(2.0, [0, 0, 2], (3,)))
    np.testing.assert_array_equal([[4.0, 4.0], [0.0, 0.0]], scatter(2.0, [0, 0], (2, 2)))


def test_scatter_of_one_dimension_adds_up_repeats():
    """x[[0, 2, 2]] sends both cotangents of x[2] back to it."""
    np.testing.assert_array_equal([1.0, 0.0, 5.0], scatter(np.array([1.0, 2.0, 3.0]), [0, 2, 2], (3,)))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_scatter_has_the_dtype_of_the_cotangent(dtype):
    """Neither precision nor an imaginary part is lost."""
    y_bar = np.ones((2, 2), dtype)
    assert dtype == scatter(y_bar, [0, 0], (3, 2)).dtype
    assert dtype == scatter(y_bar, slice(2), (3, 2)).dtype


def test_reading_one_row_of_a_huge_table_costs_one_row():
    """The positions are those of the rows that were read, not of the whole table."""
    x_bar = scatter(np.ones((2, 3)), [5, 5], (10_000_000, 3))
    np.testing.assert_array_equal([2.0, 2.0, 2.0], x_bar[5])


@pytest.mark.parametrize(
    ("index", "basic", "mask"),
    [
        (1, True, False),
        (np.int64(1), True, False),
        (slice(1, 2), True, False),
        (None, True, False),
        (..., True, False),
        ((1, ..., None, slice(None)), True, False),
        ((), True, False),
        (True, False, True),
        (np.True_, False, True),
        (MASK, False, True),
        ([True, False], False, True),
        ([0, 1], False, False),
        (np.array([0, 1]), False, False),
        ((0, [1]), False, False),
        ((MASK, 1), False, False),
    ],
)
def test_facts_about_indices(index, basic, mask):
    """Basic indexing takes ints, slices, None and Ellipsis; a mask is one array, list or bool of bools."""
    assert basic == is_basic(index)
    assert mask == is_mask(index)


@pytest.mark.parametrize(
    "x", [1, np.int64(1), True, None, "ij->i", float, slice(2), ..., (0, 1), ((1, None),), range(3)]
)
def test_constants_are_static(x):
    """What can never carry a derivative may decide a branch of a rule."""
    assert is_static(x)


@pytest.mark.parametrize("x", [1.0, 1j, np.float32(1), np.ones(2), np.arange(2), [1], (1, 2.0)])
def test_what_may_be_active_is_not_static(x):
    """A float may be an argument with a derivative, and an array has no single value to compare with."""
    assert not is_static(x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("rows", [np.array([1, -1, 1, 0, 2, 1]), np.array([[0, 3], [3, 0], [-4, 1]])])
def test_wide_rows_are_added_one_by_one(dtype, rows):
    """What is named several times gets the sum, in the shape and dtype of the buffer."""
    rng = np.random.default_rng(3)
    for tail in ((150,), (10, 20)):
        y_bar = rng.standard_normal((*rows.shape, *tail)).astype(dtype)
        expected = np.zeros((4, *tail), dtype)
        for row, value in zip(rows.ravel(), y_bar.reshape(-1, *tail), strict=True):
            expected[row] += value
        actual = scatter(y_bar, rows, (4, *tail))
        np.testing.assert_array_equal(actual, expected)
        assert actual.dtype == dtype
        np.testing.assert_array_equal(add_at(np.ones((4, *tail), dtype), rows, y_bar), add_at_slowly(rows, y_bar, tail))


def add_at_slowly(rows, y_bar, tail):
    """The reference, by NumPy's own function."""
    buffer = np.ones((4, *tail), y_bar.dtype)
    np.add.at(buffer, rows, y_bar)
    return buffer
