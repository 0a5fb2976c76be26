"""Every rule of rules/conversions.py against differences, and casts that lose the derivative."""

import numpy as np
import pytest

from adcompiler import DifferentiationError, gradient
from adcompiler.rules.registry import lookup
from adcompiler.testing import case, check_gradient, check_rule, complex_normal, normal

CASES = [
    case(np.array, 2.5),
    case(np.array, normal(2, 3)),
    case(np.array, [1.5, 2.5]),
    case(np.array, [[1.5, 2.5], [3.0, 4.5]]),
    case(np.array, [normal(3), normal(3)]),
    case(np.array, ([1.5, normal()], (2.5, 3.5))),
    case(np.array, [1.5, 2.5], dtype=float),
    case(np.array, [1.5, 2.5j + 1]),
    case(np.array, normal(3), complex),
    case(np.array, normal(3), ndmin=3),
    case(np.array, [1.5, 2.5], dtype=float, ndmin=2),
    case(np.array, [[1.5, 2.5], [3.0, 4.5]], order="F"),
    *(case(key, normal(2, 3)) for key in (np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray)),
    *(case(key, [[1.5, 2.5]]) for key in (np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray)),
    case(np.asarray, 2.5),
    case(np.asarray, 2.5, dtype=float),
    case(np.ascontiguousarray, 2.5),
    case(np.copy, normal(2, 3)),
    case(np.ndarray.copy, normal(2, 3)),
    case(np.ndarray.copy, normal(2, 3), "F"),
    case(np.ndarray.astype, normal(2, 3), float),
    case(np.ndarray.astype, normal(2, 3), complex),
    case(np.ndarray.astype, normal(2, 3), float, copy=False),
    case(np.astype, normal(2, 3), np.complex128),
    case(np.full, (2, 3), 2.5),
    case(np.full, 3, normal(3)),
    case(np.full, (2, 3), normal(3)),
    case(np.full, (2, 3), 2.5, dtype=complex),
    case(np.full_like, normal(2, 3), 2.5, wrt=1),
    case(np.ndarray.item, normal(3, 4), 5),
    case(np.ndarray.item, normal(3, 4), 1, -1),
    case(np.ndarray.item, normal(3, 4), (1, 2)),
    case(np.ndarray.item, normal(1, 1)),
    case(np.array, normal(2, 3), copy=True),
    case(np.array, normal(2, 3), copy=None),
    case(np.array, normal(2, 3), complex, copy=True, ndmin=3),
    case(np.array, normal(2, 3), subok=True),
    case(np.array, [[1.5, 2.5], [3.5, 4.5]], copy=None),
    case(np.asarray, normal(2, 3), order="F"),
    case(np.asarray, normal(2, 3), copy=True),
    case(np.asarray, normal(2, 3), device="cpu"),
    case(np.asarray, complex_normal(2, 3), complex),
    case(np.asarray_chkfinite, normal(2, 3)),
    case(np.from_dlpack, normal(2, 3)),
    case(np.asarray_chkfinite, [1.5, 2.5], complex),
    case(np.ascontiguousarray, normal(2, 3), dtype=complex),
    case(np.require, normal(2, 3)),
    case(np.require, normal(2, 3), float, ["F", "W"]),
    case(np.fromiter, [1.5, 2.5, 3.5], float),
    case(np.fromiter, normal(4), float, 2),
    case(np.copy, normal(2, 3), "F"),
    case(np.copy, normal(2, 3), subok=True),
    case(np.copy, 2.5),
    case(np.astype, normal(2, 3), float, copy=False),
    case(np.astype, normal(2, 3), np.complex128, device="cpu"),
    case(np.ndarray.astype, normal(2, 3), float, "F", "same_kind", True, False),
    case(np.ndarray.view, normal(2, 3)),
    case(np.ndarray.view, normal(2, 3), np.ndarray),
    case(np.ndarray.to_device, normal(2, 3), "cpu"),
    case(np.ndarray.tolist, normal(3)),
    case(np.ndarray.tolist, normal(2, 3)),
    case(np.ndarray.tolist, complex_normal(2, 2)),
    case(np.ndarray.tolist, normal()),
    case(np.ndarray.tolist, normal(0, 2)),
    case(np.full, (2, 3), normal(3), float, "F"),
    case(np.full, (2, 3), normal(2, 1), device="cpu"),
    case(np.full, (0, 3), 2.5),
    case(np.full, (), 2.5),
    case(np.full_like, normal(2, 3), normal(3), wrt=1),
    case(np.full_like, normal(2, 3), 2.5, shape=(4,), wrt=1),
    case(np.full_like, normal(2, 3), 2.5, complex, "F", False, wrt=1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def test_cast_to_integers_stops_the_derivative():
    """An array of integers does not vary with the floats that it was made of."""
    for key, args in [
        (np.array, ([1.5, 2.5], int)),
        (np.asarray, (np.ones(2), int)),
        (np.ndarray.astype, (np.ones(2), int)),
    ]:
        y, pullback = lookup(key)[0].function(*args)
        assert y.dtype == int
        assert pullback(np.ones(2))[0].tolist() == [0.0, 0.0]


X = np.array([0.3, 1.7, 2.9])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.array(x, dtype=object) * 2.0,
        lambda x: x.astype(object) * 2.0,
        lambda x: np.full(3, x[0], dtype=object) * 2.0,
        lambda x: np.asarray(x, dtype="O") * 2.0,
        lambda x: x.view(np.int64) * 1.0,
        lambda x: x.view(np.float32) * 1.0,
        lambda x: x.tobytes(),
        lambda x: x.base,
        lambda x: x.byteswap(),
    ],
)
def test_what_hides_the_numbers_is_refused(f):
    """In objects, bits and bytes the derivative would be lost."""
    with pytest.raises(DifferentiationError, match=__file__):
        gradient(lambda x: np.sum(f(x)))(X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.astype("float32").astype(float) * 0.0 + x.astype(complex).real,
        lambda x: np.astype(x, np.complex128, copy=False),
        lambda x: x.view() * x,
        lambda x: x.tolist(),
        lambda x: np.array(np.outer(x, x).tolist()) * x,
        lambda x: x.tolist()[1] * x.item(0),
        lambda x: sum(x.tolist()),
        lambda x: np.fromiter((v * v for v in x), float),
        lambda x: np.fromiter([v * v for v in x], float, count=2),
        lambda x: np.array([[x[0], 2.0], [x[1], x[2]]], ndmin=3, copy=None),
        lambda x: np.full_like(np.ones(4), x[0], shape=(2, 2)),
        lambda x: np.require(x, requirements="F"),
        lambda x: np.copy(a=x, order="F"),
        lambda x: x.copy("F"),
        lambda x: x.to_device("cpu"),
    ],
)
def test_converted_in_a_compiled_function(f):
    """Calls of other forms than the table above has."""
    check_gradient(lambda x: f(x * 1.5), X)


def test_lower_precision():
    """The cotangent of what was cast passes through the lower precision, and has the type of the argument."""
    grad = gradient(lambda x: np.sum(x.astype(np.float32) ** 2))(X)
    assert grad.dtype == np.float64
    np.testing.assert_allclose(grad, 2 * X, rtol=1e-6)


def with_a_list_of_constants(x):
    out = []
    out.append(np.take(x, [2, -1]) * x[:2])
    out.append(np.select([x > 1], [x * x], [0.5, 1.0, 1.5])[:2])
    return np.array(out)


def shape_of_unknown(x):
    y = np.full_like(x, x[0]) if len(x) > 5 else np.array([x.tolist()])[0]
    return np.full(y.shape, y[1]) * y.T


@pytest.mark.parametrize("f", [with_a_list_of_constants, shape_of_unknown])
def test_constants_beside_what_is_known_at_run_time_only(f):
    """Positions in lists, and shapes, carry no derivative."""
    check_gradient(f, X)
