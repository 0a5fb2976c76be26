"""Every rule of rules/running.py against differences, and at its special points."""

import numpy as np
import pytest

from adcompiler import check_gradient, gradient
from adcompiler.runtime.dynamic import resolve_value
from adcompiler.testing import Input, case, check_rule, complex_normal, distinct, nonzero, normal


def with_nan(*shape):
    """Clearly different numbers, and nan in every third place of every second row."""

    def make(rng):
        array = distinct(*shape).make(rng) + 2
        array[..., ::2, ::3] = np.nan
        return array

    return Input(make, f"with_nan{shape}")


WITH_ZEROS = np.array([[2.0, 0.0, 3.0, 0.0], [1.0, 2.0, 0.0, -1.0]])

CASES = [
    *(case(key, 1.5) for key in (np.nancumsum, np.nancumprod)),
    *(
        case(key, nonzero(3, 4), *args, dtype=dtype)
        for key in (np.cumsum, np.ndarray.cumsum, np.cumprod, np.ndarray.cumprod)
        for args, dtype in (((), float), ((1,), complex), ((-2,), np.float64))
    ),
    case(np.cumsum, normal(3, 4), 0, float, id="positional dtype"),
    case(np.cumsum, 1.5, 0, float, id="a number"),
    *(case(key, with_nan(2, 3, 5), axis=1) for key in (np.nancumsum, np.nancumprod)),
    *(case(key, with_nan(3, 5)) for key in (np.nancumsum, np.nancumprod)),
    *(case(key, nonzero(3, 4), axis=0, dtype=float) for key in (np.nancumsum, np.nancumprod)),
    case(np.nancumprod, WITH_ZEROS, axis=0),
    case(np.diff, normal(5), prepend=0.5),
    case(np.diff, normal(3, 4), 2, prepend=normal(3, 2), append=normal(3, 1)),
    case(np.diff, normal(3, 4), axis=0, append=1.5),
    case(np.diff, normal(3, 4), 3, 0, normal(1, 4), normal(2, 4), id="positional ends"),
    case(np.diff, normal(3, 4), prepend=0),
    case(np.diff, normal(3), n=0, prepend=1.5),
    case(np.diff, normal(1), n=2, append=normal(2)),
    case(np.ediff1d, normal(5)),
    case(np.ediff1d, normal(2, 3)),
    case(np.ediff1d, normal(4), to_end=normal(2), to_begin=0.5),
    case(np.ediff1d, normal(4), normal(2, 2), normal(1), id="positional ends"),
    case(np.ediff1d, normal(1), to_end=normal(2)),
    case(np.ediff1d, complex_normal(4), to_end=0),
    case(np.unwrap, Input(lambda rng: 4.1 * np.arange(7) + rng.standard_normal(7), "turning")),
    case(np.unwrap, Input(lambda rng: 4.1 * np.arange(6).reshape(3, 2), "turning"), axis=0),
    case(np.unwrap, Input(lambda rng: 4.1 * np.arange(6), "turning"), discont=3.5, period=5.5),
    case(np.unwrap, Input(lambda rng: 4.1 * np.arange(6), "turning"), period=3),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def bars(key, *args, y_bar, **kwargs):
    """The cotangents of all arguments, from the rule that takes the call."""
    found = resolve_value((False, *(True for _ in (*args, *kwargs))), key, *args, **kwargs)
    return found.backward(found.forward(*args, **kwargs)[1], y_bar)[1:]


def test_nan_has_no_influence():
    """A nan counts as 0 in a running sum and as 1 in a running product, and has the cotangent 0."""
    x = np.array([2.0, np.nan, 3.0])
    assert bars(np.nancumsum, x, y_bar=np.array([1.0, 10.0, 100.0]))[0].tolist() == [111.0, 0.0, 100.0]
    assert bars(np.nancumprod, x, y_bar=np.array([1.0, 10.0, 100.0]))[0].tolist() == [311.0, 0.0, 200.0]


@pytest.mark.parametrize("key", [np.cumsum, np.cumprod, np.nancumsum, np.nancumprod])
def test_a_result_of_integers_carries_no_derivative(key):
    """It is piecewise constant."""
    assert gradient(lambda x: np.sum(key(x, dtype=int) * 2.0))(np.array([1.5, 2.5])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("key", "kwargs"),
    [
        (np.nancumsum, {}),
        (np.nancumprod, {}),
        (np.ediff1d, {}),
        (np.diff, {"append": 1}),
    ],
)
def test_size_0(key, kwargs):
    """The cotangent of nothing is nothing."""
    y = key(np.ones(0), **kwargs)
    assert bars(key, np.ones(0), **kwargs, y_bar=np.ones_like(y))[0].shape == (0,)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.cumsum(1, float) * x,
        lambda x: np.cumprod(x, axis=-1, dtype=float) * x,
        lambda x: np.diff(x, axis=1, prepend=x[:, :1] ** 2) * x,
        lambda x: np.diff(x[0], append=x[1, 0]) * x,
        lambda x: np.ediff1d(x[0], to_begin=x[1, :1] * x[2, 0])[1:] * x[:, :3],
        lambda x: np.ediff1d(x, to_end=x[0, 0]).reshape(3, 4) * x,
        lambda x: np.unwrap(5.0 * np.arange(4) + x, axis=1, period=6.0) * x,
        lambda x: np.nancumsum(x, 0) * np.nancumprod(x, axis=1) * x,
    ],
)
def test_inside_a_program(f):
    """Calls with keywords, as functions and as methods, between other operations."""
    check_gradient(lambda x: np.sum(f(x)), np.random.default_rng(4).standard_normal((3, 4)))


def test_the_period_of_a_phase():
    """What was added is a whole number of periods."""
    p = np.array([0.0, 5.0, 10.0])
    assert gradient(lambda period: np.sum(np.unwrap(p, period=period)))(6.0) == -3.0
