"""Every rule of scipy.ndimage against differences."""

import numpy as np
import pytest
from scipy import ndimage

from adcompiler import check_gradient, gradient
from adcompiler.coverage import UNKNOWN, coverage
from adcompiler.errors import DifferentiationError
from adcompiler.testing import case, check_rule, distinct, normal, uniform

MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-mirror", "grid-constant")
SPLINE_MODES = ("constant", "nearest", "mirror", "reflect", "grid-wrap", "grid-constant")
PLACES = uniform(0.3, 2.7, 2, 5)
TURN = np.array([[0.913, 0.137], [-0.211, 1.073]])
OUTSIDE = uniform(-3.2, 6.2, 2, 7)

CASES = [
    *(case(f, normal(4, 5), normal(*k), mode=mode) for f in (ndimage.correlate, ndimage.convolve)
      for k in [(3, 3), (2, 4)] for mode in MODES),
    *(case(f, normal(4, 5), normal(3, 4), origin=o) for f in (ndimage.correlate, ndimage.convolve)
      for o in (-1, 1, [0, 1])),
    *(case(f, normal(4, 5), normal(n), axis=axis, origin=o)
      for f in (ndimage.correlate1d, ndimage.convolve1d) for n in (3, 4) for axis in (0, -1) for o in (0, 1)),
    *(case(ndimage.correlate1d, normal(3), normal(9), mode=mode) for mode in MODES),
    *(case(ndimage.gaussian_filter1d, normal(4, 5), 1, axis, order) for axis in (0, 1) for order in (0, 1, 2)),
    *(case(ndimage.gaussian_filter, normal(4, 5), sigma, mode=mode) for sigma in (1, [2, 0]) for mode in MODES),
    case(ndimage.gaussian_filter, normal(4, 5), 1, [1, 0], truncate=3, mode=["wrap", "mirror"]),
    case(ndimage.gaussian_filter, normal(4, 5), 1, radius=2),
    *(case(f, normal(4, 5), 1, mode=mode) for f in (ndimage.gaussian_laplace, ndimage.gaussian_gradient_magnitude)
      for mode in ("reflect", "constant")),
    *(case(ndimage.uniform_filter1d, normal(4, 5), n, axis, origin=o) for n in (3, 4) for axis in (0, 1)
      for o in (0, -1)),
    *(case(ndimage.uniform_filter, normal(4, 5), n, mode=mode) for n in (3, [2, 1]) for mode in MODES),
    *(case(f, normal(4, 5), mode=mode) for f in (ndimage.laplace, ndimage.sobel, ndimage.prewitt) for mode in MODES),
    *(case(f, normal(4, 5), 0) for f in (ndimage.sobel, ndimage.prewitt)),
    *(case(f, distinct(4, 5), size, mode=mode)
      for f in (ndimage.median_filter, ndimage.maximum_filter, ndimage.minimum_filter)
      for size in (3, [2, 3]) for mode in ("reflect", "constant", "nearest", "mirror", "wrap")),
    *(case(f, distinct(4, 5), footprint=np.array([[1, 0, 1], [0, 1, 1]]), origin=[0, 1])
      for f in (ndimage.median_filter, ndimage.maximum_filter, ndimage.minimum_filter)),
    *(case(f, distinct(4, 5), 3, axis, origin=o) for f in (ndimage.maximum_filter1d, ndimage.minimum_filter1d)
      for axis in (0, 1) for o in (0, 1)),
    case(ndimage.rank_filter, distinct(4, 5), 2, 3),
    case(ndimage.percentile_filter, distinct(4, 5), 30, 3),
    *(case(ndimage.map_coordinates, normal(4, 5), PLACES, order=order, mode=mode, real_only=True)
      for order in (0, 1, 3) for mode in SPLINE_MODES),
    *(case(ndimage.map_coordinates, normal(4, 5), OUTSIDE, order=order, mode=mode, real_only=True)
      for order in (0, 1, 3) for mode in SPLINE_MODES),
    *(case(ndimage.shift, normal(4, 5), [0.3, -1.2], order=order, mode=mode, wrt=0)
      for order in (0, 1, 3) for mode in SPLINE_MODES),
    *(case(ndimage.affine_transform, normal(4, 5), TURN, np.array([0.317, 0.173]),
           order=order, mode=mode, wrt=0) for order in (0, 1, 3) for mode in ("constant", "mirror")),
    case(ndimage.affine_transform, normal(4, 5), np.array([0.9, 1.13]), output_shape=(3, 6), order=1, wrt=0),
    *(case(ndimage.zoom, normal(4, 5), 2, order=order, wrt=0) for order in (0, 1, 3)),
    *(case(ndimage.rotate, normal(4, 5), angle, order=1, wrt=0) for angle in (90, 180, 45)),
    *(case(ndimage.rotate, normal(4, 5), 30, reshape=reshape, order=order, wrt=0)
      for order in (0, 1, 3) for reshape in (True, False)),
    case(ndimage.rotate, normal(3, 4, 5), 30, axes=(2, 0), order=1, wrt=0),
]  # fmt: skip

IMAGE = np.cos(np.arange(20.0)).reshape(4, 5)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    check_rule(case)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: np.sum(ndimage.gaussian_filter(x, sigma=0.8) ** 2), (IMAGE,)),
        (lambda x: np.sum(ndimage.correlate(x, np.eye(3), mode="constant", cval=0.5) ** 2), (IMAGE,)),
        (lambda x: np.sum(ndimage.median_filter(x, size=3) ** 2), (IMAGE,)),
        (lambda x, s: np.sum(ndimage.shift(x, s, order=1, mode="nearest") ** 2), (IMAGE, np.array([0.3, -0.7]))),
        (lambda x, s: np.sum(ndimage.shift(x, s, mode="mirror") ** 2), (IMAGE, 0.3)),
        (lambda x: np.sum(ndimage.zoom(x, 1.5) ** 2), (IMAGE,)),
        (lambda x: np.sum(ndimage.rotate(x, 30.0, order=1, mode="nearest") ** 2), (IMAGE,)),
        (
            lambda x, m, o: np.sum(ndimage.affine_transform(x, m, o, mode="mirror") ** 2),
            (IMAGE, np.array([[0.9, 0.13], [-0.2, 1.07]]), np.array([0.31, 0.17])),
        ),
        (lambda x, c: np.sum(ndimage.map_coordinates(x, c, order=1) ** 2), (IMAGE, np.array([[0.3, 2.2], [1.7, 3.1]]))),
    ],
)
def test_in_a_function(function, args):
    check_gradient(function, *args)


def test_equal_elements_share():
    assert gradient(lambda x: np.sum(ndimage.maximum_filter(x, 3)))(np.ones(5)) == pytest.approx(np.ones(5), abs=0.5)
    found = gradient(lambda x: ndimage.maximum_filter(x, 3)[1])(np.array([1.0, 2.0, 2.0, 0.0]))
    assert found == pytest.approx([0, 0.5, 0.5, 0])


def test_no_gradient_at_a_flat_image():
    found = gradient(lambda x: np.sum(ndimage.gaussian_gradient_magnitude(x, 1)))(np.ones((4, 5)))
    assert np.all(np.isfinite(found))


def test_labels_have_no_derivative():
    def function(x):
        labels, count = ndimage.label(x > 0)
        return np.sum(x * (labels == 1)) + 0.0 * count

    check_gradient(function, IMAGE)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(ndimage.gaussian_filter(x, sigma=x[0, 0])),
        lambda x: np.sum(ndimage.correlate(x, np.eye(3), mode="constant", cval=x[0, 0])),
        lambda x: np.sum(ndimage.map_coordinates(x, np.ones((2, 3)), order=2)),
        lambda x: np.sum(ndimage.rotate(x, x[0, 0])),
        lambda x: np.sum(ndimage.grey_dilation(x, 3)),
        lambda x: np.sum(ndimage.mean(x)),
    ],
)
def test_refused(function):
    with pytest.raises(DifferentiationError):
        gradient(function)(IMAGE)


def test_every_public_function_is_in_some_list():
    """A rule, no derivative, or refused."""
    assert [] == [entry.name for entry in coverage(ndimage) if entry.how == UNKNOWN]
