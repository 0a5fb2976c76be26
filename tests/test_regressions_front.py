"""What one function knows and another must not take for its own; iterators with a name; names that are renamed."""

import numpy as np
import pytest

from adcompiler import gradient
from tests.promises import check

X = np.array([0.3, -0.7, 1.2])


def programs(*functions):
    """The test for each of several programs."""
    return pytest.mark.parametrize("program", functions, ids=lambda f: f.__name__)


# What is known in one function only


class Weight:
    def __init__(self, w):
        self.w = w


class Holding:
    """Stores what it is given, and reads it in its methods."""

    def __init__(self, p):
        self.p = p

    def field(self):
        return self.p.w * 2.0

    def item(self, p):
        return self.p["w"] * p["w"]


def stored_object(p):
    return Holding(p).field()


def stored_dict(p, q):
    return Holding(p).item(q)


def test_arguments_stored_in_new_objects():
    """An argument that an object holds is read by its methods, also where these have parameters of the same name."""
    assert gradient(stored_object)(Weight(3.0)).w == 2.0
    assert gradient(stored_dict, (0, 1))({"w": 3.0}, {"w": 5.0}) == ({"w": 5.0}, {"w": 3.0})


def applied(function, y):
    return np.sum(function(y))


def captured_shape(x, y):
    return applied(lambda v: x * v, y)


def test_shapes_of_captured_variables():
    """What a function captured has a shape of its own where another function calls it."""
    check(captured_shape, np.array([2.0]), X)
