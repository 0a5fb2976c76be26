"""Guarded divisions and products: zero beats infinity, and nothing else changes."""

import numpy as np
import pytest

from adcompiler.runtime.elementary import divide_singular, divide_strong, multiply_strong
from adcompiler.runtime.guarded import length
from adcompiler.runtime.special import arcsinh_slope

ZERO_OR_POLE = [0.0, 1.0, 0.0, -2.0]


def test_divide_singular_is_zero_where_the_denominator_is():
    """The derivative of abs, norm and sqrt at their singular point is taken as 0, whatever the cotangent."""
    c = np.array([0.0, 1.0, 3.0, 4.0])
    np.testing.assert_array_equal([0.0, 1.0, 0.0, -2.0], divide_singular(c, np.array(ZERO_OR_POLE)))
    np.testing.assert_array_equal([0.0, 2.0, 0.0, -1.0], divide_singular(2.0, np.array(ZERO_OR_POLE)))
    assert 0.0 == divide_singular(2.0, 0.0)


def test_divide_strong_is_zero_where_the_cotangent_is():
    """At a pole a zero cotangent gives zero and any other infinity, without a warning or an exception."""
    c = np.array([0.0, 1.0, 3.0, 4.0])
    np.testing.assert_array_equal([0.0, 1.0, np.inf, -2.0], divide_strong(c, np.array(ZERO_OR_POLE)))
    assert (0.0, np.inf) == (divide_strong(0.0, 0.0), divide_strong(2.0, 0.0))


def test_multiply_strong_is_zero_where_the_cotangent_is():
    """Zero times infinity and zero times nan are zero, one times infinity is infinity."""
    c, partial = np.array([0.0, 0.0, 1.0, 2.0]), np.array([np.inf, np.nan, np.inf, 3.0])
    np.testing.assert_array_equal([0.0, 0.0, np.inf, 6.0], multiply_strong(c, partial))
    assert 0.0 == multiply_strong(0.0, np.inf)


@pytest.mark.parametrize("helper", [divide_singular, divide_strong, multiply_strong])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, float])
@pytest.mark.parametrize("denominator", [[1.0, 2.0, 3.0], [0.0, 2.0, 3.0]])
def test_guards_keep_dtype_and_broadcast(helper, dtype, denominator):
    """The guarded and the plain form give the same dtype and shape."""
    result = helper(np.ones((2, 1), dtype), np.array(denominator, dtype))
    assert (dtype, (2, 3)) == (result.dtype, result.shape)
    assert dtype == helper(dtype(1), np.array(denominator, dtype)).dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-30, 1.0, 1e25, 1e300, np.inf, np.nan])
def test_length_and_slope_of_arcsinh_at_every_scale(dtype, scale):
    """By squares, or by np.hypot where squares over- or underflow; without a warning either way."""
    with np.errstate(all="ignore"):
        a, b = (np.linspace(-3, 2, 3000) * scale).astype(dtype), (np.linspace(1, 2, 3000) * scale).astype(dtype)
        expected_length, expected_slope = np.hypot(a, b), 1 / np.hypot(dtype(1), a)
    with np.errstate(all="raise", under="ignore"):
        actual_length, actual_slope = length(a, b), arcsinh_slope(a)
    tolerance = 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(actual_length, expected_length, tolerance)
    np.testing.assert_allclose(actual_slope, expected_slope, tolerance)
    assert actual_length.dtype == actual_slope.dtype == dtype
