"""Attributes in forward mode: those that stand in the class, classes made inside, extremes of objects."""

import numpy as np
import pytest

from adcompiler import NoRuleError, UnsupportedSyntaxError, gradient, jvp
from tests.orders import check_first, check_second

X = np.array([0.5, 1.2, 0.7])


class Total:
    total = 0.0
    scale = 2.0
    weights = np.ones(2)

    def __init__(self, a):
        self.a = a

    def add(self, y):
        self.total += y * self.a
        self.total *= self.scale
        return self.total

    def __gt__(self, other):
        return self.a > other.a


def updated_in_the_object(x):
    t, u = Total(x[0]), Total(x[1])
    t.add(x[1])
    t.scale = x[2]
    return t.add(x[2]) * u.add(x[0]) + u.total


def read_from_class_then_object(x):
    t, u = Total(x[0]), Total(x[1])
    t.weights = t.weights * x[:2]
    return np.sum(t.weights * u.weights * u.a * t.a)


class Scaled(Total):
    scale = 0.8

    @property
    def product(self):
        return self.a * self.scale


MAKERS = [Scaled, Total]


def own_in_one_object(x):
    values = [Scaled(x[0]), Scaled(x[1])]
    values.append(MAKERS[0 * int(x[0])](x[2]))
    values[0].scale = x[2]
    r = 0.0
    for value in values:
        r = r + value.product * value.scale
    return r


def class_made_inside(x):
    class Node:
        def __init__(self, v, rest):
            self.v, self.rest = v, rest

    head = None
    for v in x:
        head = Node(v * v, head)
    return head.v * head.rest.v


def grown_after_reversed(x):
    values, r = [x[0], x[1]], 1.0
    for v in reversed(values):
        r = r * v + v
    values.append(r)
    for v, w in zip(values, reversed(values), strict=True):
        r = r * 0.5 + v * w * w
    values.insert(0, r * x[2])
    return r * values[-1] * values[0]


PROGRAMS = [updated_in_the_object, read_from_class_then_object, grown_after_reversed]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_first_and_second_derivatives(program):
    """A value that stands in the class is a constant, until the object has its own."""
    check_second(program, X)


def test_field_that_one_of_two_objects_has():
    """Each object is read as what it has itself, in both modes."""
    check_first(own_in_one_object, X)


def test_class_made_inside():
    """A local class is bound to something that has no tangent: d(v2^2 v1^2) along (0, 1, 1) is 2 v1 v2 (v1 + v2)."""
    _, tangent = jvp(class_made_inside, (X,), (np.array([0.0, 1.0, 1.0]),))
    np.testing.assert_allclose(tangent, 2 * 1.2 * 0.7 * (1.2 + 0.7))


def largest_object(x):
    values = [Total(x[0])]
    values.append(Total(x[1]))
    return max(values).a


def largest_tuple(x):
    pairs = [(x[0], x[1])]
    pairs.append((x[1], x[2]))
    return sum(max(pairs))


@pytest.mark.parametrize("program", [largest_object, largest_tuple], ids=lambda f: f.__name__)
def test_extremes_of_objects(program):
    """Objects and tuples are compared part by part, and have no mean at a tie."""
    with pytest.raises((NoRuleError, UnsupportedSyntaxError), match=r"max|min"):
        jvp(program, (X,), (X,))


def test_extreme_of_tuples_in_reverse():
    """The same in the reverse, which takes the extreme of numbers only."""
    with pytest.raises(NoRuleError, match="tuples"):
        gradient(largest_tuple)(X)
