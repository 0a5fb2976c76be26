"""Copies and identities of what a program writes into: classes are kept, shared and deep values take linear time."""

from __future__ import annotations

import types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import numpy as np
import pytest

from adcompiler import gradient, pullback, rrule
from adcompiler.runtime.bars import Bars
from adcompiler.runtime.held import Held, as_it_was, hold

Pair = namedtuple("Pair", "a b")


class Row(list):
    """A list with a name."""

    name = ""


class Point:
    def __init__(self, x):
        self.x = x


class Slots:
    __slots__ = ("__private", "x", "y")

    def __init__(self, x):
        self.x = x
        self.__private = [x]

    def __getattr__(self, name):
        return name  # would be taken for the value of the slot that is not set


def row(*values):
    made = Row(values)
    made.name = "first"
    return made


@pytest.mark.parametrize(
    "value",
    [
        [1.0, [2.0]],
        (1.0, [2.0]),
        Pair(1.0, [2.0]),
        {"a": [1.0]},
        deque([1.0, 2.0], maxlen=3),
        OrderedDict(a=1.0, b=2.0),
        defaultdict(list, a=[1.0]),
        Counter(a=2),
        row(1.0, 2.0),
        types.SimpleNamespace(x=[1.0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_copy_has_the_class_and_the_contents(value):
    copy = as_it_was(value)
    assert type(copy) is type(value)
    assert copy == value
    assert isinstance(value, tuple) or copy is not value
    assert getattr(copy, "maxlen", None) == getattr(value, "maxlen", None)
    assert getattr(copy, "name", None) == getattr(value, "name", None)
    assert getattr(copy, "default_factory", None) is getattr(value, "default_factory", None)


def test_a_copy_of_an_object_has_its_fields():
    value = Slots([1.0])
    copy = as_it_was(value)
    value.x.append(2.0)
    assert (copy.x, copy._Slots__private) == ([1.0], [[1.0]])
    assert [key for key, _ in hold(value).parts.items()] == ["_Slots__private", "x"]


def test_a_copy_keeps_what_is_shared():
    inner = [1.0]
    value = [inner, inner, Point(inner)]
    value.append(value)
    copy = as_it_was(value)
    assert copy[0] is copy[1] is copy[2].x is not inner
    assert copy[3] is copy


def doubled(count):
    value = [1.5]
    for _ in range(count):
        value = [value, value]
    return value


def doubled_tuple(count):
    value = ([1.5],)
    for _ in range(count):
        value = (value, value)
    return value


def nested(count):
    value = [1.5]
    for _ in range(count):
        value = [value]
    return value


@pytest.mark.parametrize("value", [doubled(200), doubled_tuple(200), nested(20000)], ids=["list", "tuple", "deep"])
def test_shared_and_deep_structures(value):
    as_it_was(value)
    held = hold(value)
    bars = Bars()
    first = value
    while not isinstance(first[0], float):
        first = first[0]
    bars.add(first, 0, 3.0)
    collected = bars.collect(held)
    while not isinstance(collected[0], float):
        collected = collected[0]
    assert collected == [3.0]
    assert bars.collect(held) is None


def test_what_refers_back_to_itself_is_held_once():
    value = [1.0]
    value.append(value)
    held = hold(value)
    assert isinstance(held, Held)
    assert held.parts[1] is held
    bars = Bars()
    bars.add(value, 0, 3.0)
    assert bars.collect(held) == [3.0, None]


def appended(x, values):
    values.append(x)
    return values[-1] * values[-1]


@pytest.mark.parametrize("value", [doubled(200), nested(3000)], ids=["shared", "deep"])
def test_arguments_that_are_shared_or_deep(value):
    y, back = pullback(appended, 2.0, value)
    assert (y, back(1.0)[0]) == (4.0, 4.0)


def total(values):
    """The value and the class of what a rule is given."""
    raise NotImplementedError


@rrule(total)
def total_rule(values):
    kept = values  # as it is now: the caller may change its own
    y = sum(values) * (2.0 if isinstance(values, deque) else 1.0)

    def pullback(y_bar):
        factor = 2.0 if isinstance(kept, deque) else 1.0
        return ([y_bar * factor for _ in kept],)

    return y, pullback


def test_a_rule_is_given_the_class_that_was_passed():
    def f(x):
        values = deque([x, x * x])
        values.append(x)
        y = total(values)
        values.append(x)
        return y

    assert f is not None
    assert gradient(f)(1.5) == pytest.approx(2.0 * (2.0 + 3.0))
    assert np.isclose(gradient(f)(2.0), 2.0 * (2.0 + 4.0))
