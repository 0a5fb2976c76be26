"""Every rule of rules/repeating.py against differences."""

import numpy as np
import pytest

from adcompiler import gradient
from adcompiler.rules.registry import lookup
from adcompiler.testing import booleans, case, check_gradient, check_rule, complex_normal, normal

WINDOWS = np.lib.stride_tricks.sliding_window_view

CASES = [
    case(np.tile, normal(3), 2),
    case(np.tile, normal(2, 3), (2, 3)),
    case(np.tile, normal(2, 3), 2),
    case(np.tile, normal(3), (2, 2)),
    case(np.tile, 2.5, 3),
    case(np.tile, normal(2, 3), 1),
    case(np.tile, normal(3), 0),
    case(np.repeat, normal(2, 3), 2),
    case(np.repeat, normal(2, 3), 3, axis=0),
    case(np.repeat, normal(2, 3), [0, 2, 1], axis=-1),
    case(np.repeat, normal(3), np.array([1, 0, 2])),
    case(np.repeat, normal(3), [2]),
    case(np.repeat, 2.5, 3),
    case(np.repeat, normal(), 3, axis=0),
    case(np.repeat, 2.5, 3, axis=-1),
    case(np.repeat, complex_normal(2, 3), [1, 2], axis=0),
    case(np.ndarray.repeat, normal(2, 3), 2, axis=1),
    case(np.delete, normal(5), 2),
    case(np.delete, normal(3, 4), [0, -1], axis=1),
    case(np.delete, normal(3, 4), slice(None, None, 2), axis=0),
    case(np.delete, normal(5), booleans(5)),
    case(np.pad, normal(3), 2),
    case(np.pad, normal(2, 3), ((1, 0), (0, 2))),
    case(np.pad, normal(2, 3), (1, 2)),
    case(np.pad, normal(2, 3), {-1: (1, 2)}),
    case(np.pad, normal(2, 3), {0: 2}),
    case(np.pad, normal(2, 3), 1, constant_values=2.5),
    case(np.pad, normal(2, 3), 1, "constant", constant_values=(1, 2)),
    *(case(np.pad, normal(3, 4), ((1, 2), (2, 1)), mode) for mode in ("edge", "reflect", "symmetric", "wrap")),
    case(np.pad, complex_normal(3), 2, mode="wrap"),
    case(np.tile, normal(2, 3), np.array([2, 1, 2])),
    case(np.tile, complex_normal(2), [2]),
    case(WINDOWS, normal(5), 2),
    case(WINDOWS, normal(3, 4), (2, 3)),
    case(WINDOWS, normal(3, 4), 2, axis=0),
    case(WINDOWS, normal(3, 4), (2, 2), (1, 1), writeable=False),
    case(WINDOWS, complex_normal(3), 3, subok=True),
    case(np.resize, normal(2, 3), (4, 4)),
    case(np.resize, normal(2, 3), 4),
    case(np.resize, normal(2, 3), (2, 0)),
    case(np.resize, normal(0), (2, 2)),
    case(np.resize, 2.5, (2, 2)),
    case(np.resize, complex_normal(3), (5,)),
    case(np.delete, complex_normal(2, 3), 1),
    case(np.delete, normal(3), []),
    case(np.pad, normal(2, 3), 1, constant_values=normal(2, 2)),
    case(np.pad, normal(2, 3), ((1, 2), (0, 3)), constant_values=((1.5, 2.5), (3.5, 4.5))),
    case(np.pad, normal(2, 3), 2, constant_values=(1.5, 2.5)),
    case(np.pad, normal(2, 3), 1, constant_values=normal(2, 1)),
    case(np.pad, normal(2, 3), 0, constant_values=1.5),
    case(np.pad, complex_normal(3), 1, constant_values=1.5 + 1j),
    case(np.pad, normal(0), 2, constant_values=1.5),
    case(np.pad, normal(2, 3), {1: 2}, "linear_ramp", end_values=1.5),
    case(np.pad, normal(2, 3), ((2, 1), (1, 3)), "linear_ramp", end_values=((1.5, 2.5), (3.5, 4.5))),
    case(np.pad, normal(3), 2, "linear_ramp"),
    case(np.pad, complex_normal(2, 3), 2, "linear_ramp", end_values=normal()),
    *(
        case(np.pad, normal(3, 4), ((1, 7), (9, 2)), mode, reflect_type=reflect_type)
        for mode in ("reflect", "symmetric")
        for reflect_type in ("even", "odd")
    ),
    case(np.pad, normal(1, 3), 2, "reflect", reflect_type="odd"),
    case(np.pad, normal(2), 5, "reflect", reflect_type="odd"),
    case(np.pad, complex_normal(3), 2, "symmetric", reflect_type="odd"),
    case(np.pad, normal(3, 4), ((1, 7), (9, 2)), "wrap"),
    case(np.pad, normal(3, 4), ((1, 7), (9, 0)), "edge"),
    *(
        case(np.pad, normal(3, 4), ((1, 2), (3, 0)), mode, stat_length=stat_length)
        for mode in ("mean", "median", "maximum", "minimum")
        for stat_length in (None, 2, ((1, 2), (3, 9)))
    ),
    case(np.pad, complex_normal(3, 2), 1, "mean"),
    case(np.pad, [[1.5, 2.5]], 1, "edge"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


X = np.array([0.3, 1.7, 2.9])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.pad(x, 1, constant_values=x[0]),
        lambda x: np.pad(x, (1, 2), "constant", constant_values=(x[0], 2.0)),
        lambda x: np.pad(x, 2, "linear_ramp", end_values=x[1]),
        lambda x: np.pad(array=x, pad_width=2, mode="mean", stat_length=2),
        lambda x: np.pad(np.outer(x, x), {0: 1}, mode="reflect", reflect_type="odd"),
        lambda x: x.repeat([1, 0, 2]),
        lambda x: np.repeat(a=np.outer(x, x), repeats=2, axis=1),
        lambda x: np.tile(A=x, reps=(2, 1)),
        lambda x: np.resize(x, (2, 2)),
        lambda x: np.delete(x, slice(0, 2)),
    ],
)
def test_repeated_in_a_compiled_function(f):
    """Calls of other forms than the table above has."""
    check_gradient(lambda x: f(x * 1.5), X)


def test_padding_with_nothing():
    """What `mode="empty"` puts around is not defined, and has no derivative."""
    _, pullback = lookup(np.pad)[0].function(np.ones((2, 3)), ((1, 0), (2, 1)), "empty")
    y_bar = np.arange(18.0).reshape(3, 6)
    np.testing.assert_array_equal(pullback(y_bar)[0], y_bar[1:, 2:5])


def test_padding_with_equal_extrema():
    """They share."""
    _, pullback = lookup(np.pad)[0].function(np.array([2.0, 1.0, 2.0]), (3, 0), "maximum")
    np.testing.assert_array_equal(pullback(np.array([1.0, 1.0, 2.0, 0.0, 0.0, 0.0]))[0], [2.0, 0.0, 2.0])


def test_padding_by_a_function():
    """It writes into the array that it is given."""
    assert lookup(np.pad)[0].function(np.ones(3), 1, lambda row, width, axis, options: None) is NotImplemented


def test_padding_of_integers_does_not_vary():
    """The constants are cut off."""
    assert 0.0 == gradient(lambda c: 1.0 * np.sum(np.pad(np.arange(3), 1, constant_values=c)))(1.5)
