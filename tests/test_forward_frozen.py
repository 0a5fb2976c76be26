"""Writes into arrays whose tangent is zero so far, in forward mode."""

import numpy as np
import pytest

from adcompiler import MutationError, jvp
from tests.orders import V, X, check_second, close, difference

TABLE = np.zeros(3)
HELD = [np.zeros(3)]
Y = np.array([0.4, 1.3, -0.8])  # no step of what is rounded below is near


def whole_parts(x):
    u = x // 0.3
    u += x
    return np.sum(u * x)


def whole_parts_in_place(x):
    u = x.copy()
    u //= 0.37
    u[0] = x[1]
    return np.sum(u * x)


def whole_parts_overwritten(x):
    u = x * 1.0
    u //= 0.37
    np.copyto(u, x * x)
    return np.sum(u * x)


@pytest.mark.parametrize("function", [whole_parts, whole_parts_in_place, whole_parts_overwritten])
def test_results_that_move_with_nothing(function):
    """What an operator gives that has no derivative is a new array, whose tangent may be written into."""
    check_second(function, Y)


def write_table(x):
    TABLE[:] = x
    return np.sum(TABLE * x)


def write_held(x):
    HELD[0][...] = x * x
    return np.sum(HELD[0] * x)


def scale_table(x):
    TABLE[:] = 1.0
    TABLE[1:] *= x[1:]
    return TABLE @ x


@pytest.mark.parametrize("function", [write_table, write_held, scale_table])
def test_arrays_from_outside(function):
    """A global array that is written into with a derivative is refused in forward mode."""
    with pytest.raises(MutationError, match="comes from outside is written into, in forward mode"):
        jvp(function, (X,), (V,))


def test_the_users_own_error():
    """An array of the user's that may not be written into raises what it raises."""

    def f(x, out):
        out[...] = x
        return np.sum(out)

    out = np.zeros(3)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        jvp(f, (X, out), (V, V))


class Box:
    def __init__(self, w):
        self.w = w


def fill(x, box):
    box.w.fill(x[0])
    return np.sum(box.w * x)


def through_a_view(x, box):
    view = box.w[::-1]
    box.w[0] = x[0]
    return np.sum(view * x)


@pytest.mark.parametrize("function", [fill, through_a_view])
def test_arguments_without_a_tangent(function):
    """An argument that is written into has a tangent from then on, if it is given none."""
    w = np.array([0.3, 0.4, -0.2])
    for given in (None, {"w": None}):
        close(jvp(function, (X, Box(w.copy())), (V, given))[1], difference(lambda a: function(a, Box(w.copy())), X, V))
