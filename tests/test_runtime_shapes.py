"""Shapes of values, and cotangents brought to the shape of what they belong to."""

import numpy as np
import pytest

from adcompiler.runtime.errors import TangentError
from adcompiler.runtime.shapes import (
    broadcast,
    conj,
    dtype_of,
    expand,
    fit,
    kept_shape,
    ndim,
    real,
    shape,
    size,
    zeros,
)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (1.5, ()),
        (2, ()),
        (1j, ()),
        (np.float32(1), ()),
        (np.ones((2, 0, 3)), (2, 0, 3)),
        ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2)),
        ((1.0, 2.0), (2,)),
    ],
)
def test_shape_ndim_and_size_are_those_of_numpy(x, expected):
    """Numbers have shape (), arrays their own, lists and tuples the shape of the array they would make."""
    assert expected == shape(x)
    assert len(expected) == ndim(x)
    assert np.prod(expected, dtype=int) == size(x)


@pytest.mark.parametrize(
    ("operand", "result"),
    [
        ((3,), (2, 3)),
        ((1, 3), (2, 3)),
        ((2, 1), (2, 3)),
        ((1, 1), (2, 3)),
        ((), (2, 3)),
        ((1,), (2, 3)),
        ((3, 1), (2, 3, 4)),
        ((1, 4), (2, 3, 4)),
        ((), (0,)),
        ((1,), (0,)),
        ((3,), (0, 3)),
        ((100, 1), (100, 200)),
        ((200,), (100, 200)),
        ((5,), (3, 100, 5)),
    ],
)
def test_fit_is_the_adjoint_of_broadcasting(operand, result):
    """<fit(c), x> = <c, broadcast(x)> for every x."""
    rng = np.random.default_rng(0)
    x, c = rng.standard_normal(operand), rng.standard_normal(result)
    fitted = fit(c, operand)
    assert operand == np.shape(fitted)
    np.testing.assert_allclose(np.sum(c * np.broadcast_to(x, result)), np.sum(fitted * x), atol=1e-12)


def test_fit_returns_what_fits():
    """No copy is made of a cotangent that has the shape already."""
    c = np.ones((2, 3))
    assert c is fit(c, (2, 3))
    assert 2.5 == fit(2.5, ())


@pytest.mark.parametrize(
    ("c", "target", "expected"),
    [
        (2.0, (3,), [2.0, 2.0, 2.0]),
        (np.float32(2), (2, 1), [[2.0], [2.0]]),
        (np.array([1.0, 2.0]), (2, 2), [[1.0, 2.0], [1.0, 2.0]]),
        (np.array([[1.0], [2.0]]), (1, 2), [[3.0, 3.0]]),
        (np.array([1.0, 2.0]), (3, 1), [[3.0], [3.0], [3.0]]),
    ],
)
def test_fit_broadcasts_a_smaller_cotangent(c, target, expected):
    """Axes along which the operand is longer are filled, the others summed."""
    np.testing.assert_array_equal(expected, fit(c, target))


def test_fit_keeps_single_precision():
    """A float32 cotangent stays float32, summed, filled or multiplied by ones."""
    assert np.float32 == fit(np.ones((200, 100), np.float32), (100,)).dtype
    assert np.float32 == fit(np.ones((2, 3), np.float32), ()).dtype
    assert np.float32 == fit(np.float32(2), (3,)).dtype


def test_fit_of_a_large_matrix_is_its_column_sum():
    """The product with ones that replaces a slow sum gives the same numbers, also for strided arrays."""
    c = np.random.default_rng(1).standard_normal((300, 80))[::2, ::-1]
    np.testing.assert_allclose(c.sum(axis=0), fit(c, (80,)), rtol=1e-12)


def test_fit_refuses_shapes_that_do_not_belong_together():
    """Neither summing nor broadcasting makes 3 elements of 4."""
    with pytest.raises(TangentError, match=r"shape \(4,\) does not belong to a value of shape \(3,\)"):
        fit(np.ones(4), (3,))


def test_broadcast_fills_small_arrays_and_views_large_ones():
    """A small result has memory of its own, a large one is a read-only view of the cotangent."""
    small, large = broadcast(np.arange(3.0), (2, 3)), broadcast(np.arange(3.0), (10000, 3))
    np.testing.assert_array_equal([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]], small)
    assert small.flags.writeable
    assert (10000, 3) == large.shape
    assert not large.flags.writeable


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (2, 0), (-1, 0), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_expand_is_the_adjoint_of_sum(axis, keepdims):
    """<c, sum(x)> = <expand(c), x>, whatever the axes."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((2, 3, 4))
    y = np.sum(x, axis=axis, keepdims=keepdims)
    c = rng.standard_normal(y.shape)
    expanded = expand(c, x.shape, axis, keepdims)
    assert x.shape == expanded.shape
    np.testing.assert_allclose(np.sum(c * y), np.sum(expanded * x), atol=1e-12)


def test_expand_takes_a_python_float():
    """The cotangent of a full sum may be the number 1.0, and that of a 1-d array's sum over axis 0 too."""
    np.testing.assert_array_equal([[1.0, 1.0]], expand(1.0, (1, 2)))
    np.testing.assert_array_equal([1.0, 1.0], expand(1.0, (2,), 0))


@pytest.mark.parametrize(
    ("axis", "expected"), [(None, (1, 1, 1)), (1, (2, 1, 4)), (-1, (2, 3, 1)), ((0, -1), (1, 3, 1)), ((), (2, 3, 4))]
)
def test_kept_shape_is_that_of_a_reduction_with_keepdims(axis, expected):
    """Reduced axes have length 1."""
    assert expected == kept_shape((2, 3, 4), axis)


def test_conj_and_real_do_not_touch_what_is_real():
    """Real arrays and floats come back as they are; complex ones are conjugated, or lose their imaginary part."""
    x, z = np.ones(3), np.array([1 + 2j])
    assert x is conj(x)
    assert x is real(x)
    assert 1.5 == conj(1.5) == real(1.5)
    assert 1 - 2j == conj(1 + 2j)
    np.testing.assert_array_equal([1 - 2j], conj(z))
    np.testing.assert_array_equal([1 - 2j, 3.0], conj([1 + 2j, 3.0]))
    np.testing.assert_array_equal([1.0], real(z))


@pytest.mark.parametrize(
    ("like", "dtype"),
    [(1, float), (1.0, float), (1j, complex), (np.float32(1), np.float32), (np.ones(2, np.complex64), np.complex64)],
)
def test_zeros_and_dtype_follow_the_cotangent(like, dtype):
    """An int cotangent counts as a float; everything else keeps its dtype."""
    assert dtype == dtype_of(like)
    assert dtype == zeros((2,), like).dtype
    np.testing.assert_array_equal([0.0, 0.0], zeros((2,), like))
