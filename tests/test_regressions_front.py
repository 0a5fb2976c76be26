"""What one function knows of another; short loops whose turns are written out."""

import contextlib

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


class SmallWeight(Weight):
    pass


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


# Short loops over functions of different kinds, whose turns are written out


class Scaled:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return self.w * x


class Squared:
    def __call__(self, x):
        return x * x


def turns_with_contexts(x, layers):
    for f in layers:
        with contextlib.suppress(KeyError), contextlib.nullcontext(f(x)) as y:
            x = y
    return x


def turns_with_comprehensions(x, layers):
    for f in layers:
        kept = {k: f(x) for k in "ab"}
        x = sum([kept["a"] * v for v in (0.5, 1.0)]) + max([f(x), -9.0], key=lambda v: v)
        x = x * (1.0 if any(f(v) > -2.0 for v in [1.0, 2.0]) else 2.0)
    return x


def turns_with_text(x, layers):
    for f in layers:
        assert f(x) > -9.0, f"{f(x)}"
        x = f(x) * len(f"{f(x) > -9.0}")
    return x


def turns_with_iterators_and_handlers(x, layers):
    for f in layers:
        items = map(f, [x, 1.0])
        try:
            x = sum(items)
        except ValueError as error:
            x = x * len(str(error))
    return x


@programs(turns_with_contexts, turns_with_comprehensions, turns_with_text, turns_with_iterators_and_handlers)
def test_turns_that_are_written_out(program):
    """Every statement may stand in a loop whose turns are written out."""
    layers, h = (Scaled(3.0), Squared(), np.sin), 1e-6
    expected = (program(0.4 + h, layers) - program(0.4 - h, layers)) / (2 * h)
    assert gradient(program)(0.4, layers) == pytest.approx(expected, rel=1e-6)


# Functions that capture the variables of a comprehension


def from_a_list(x):
    fs = [lambda v: v * k for k in (1.0, 2.0)]  # noqa: B023
    return fs[0](x)


def from_a_generator(x):
    fs = tuple((lambda v: v * k) for k in (1.0, 2.0))  # noqa: B023
    return fs[0](x)


def sorted_by_calling(x):
    fs = sorted([lambda v: v * k for k in (1.0, 2.0)], key=lambda f: f(1.0))  # noqa: B023
    return fs[0](x)


def beside_a_name(x):
    k = 7.0
    fs = [lambda v: v * k for k in (1.0, 2.0)]  # noqa: B023
    return fs[0](x) * k / 7.0


@programs(from_a_list, from_a_generator, sorted_by_calling, beside_a_name)
def test_functions_of_the_variables_of_a_comprehension(program):
    """Such functions see the last value, also where nothing in the comprehension carries a derivative."""
    assert gradient(program)(1.5) == 2.0
