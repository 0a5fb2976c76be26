"""Containers of all kinds, to second order: what they are made of, and what is put into them later."""

from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

from adcompiler import jvp
from tests.orders import V, X, check_first, check_second, close, difference


def ordered_by_name(x):
    o = OrderedDict(a=x[0], b=x[1], c=2.0)
    o["c"] = o["c"] * x[1]
    return o["a"] * o["b"] ** 2 * o["c"]


def ordered_by_pairs(x):
    o = OrderedDict([("a", x[0]), ("b", x[1])])
    return o["a"] * o["b"] ** 2


def ordered_by_dict(x):
    o = OrderedDict({"a": x[0], "b": x[1]})
    return sum(o.values()) ** 2 * o["a"]


def dict_by_pairs(x):
    o = dict([("a", x[0]), ("b", x[1])], c=2.0)
    return o["a"] * o["b"] ** 2 * o["c"]


def default_by_dict(x):
    o = defaultdict(float, {"a": x[0], "c": 3.0})
    o["b"] += x[1]
    o["c"] *= x[1]
    return o["a"] * o["b"] ** 2 * o["c"]


def default_by_name(x):
    o = defaultdict(list, a=[x[0]], b=[x[1]])
    return o["a"][0] * o["b"][0] ** 2


def a_deque_of_an_array(x):
    o = deque(x)
    o.appendleft(x[0] * x[1])
    return o.pop() * o.popleft() * x[0]


def a_short_deque(x):
    o = deque([x[0], x[1], 2.0], maxlen=3)
    o.append(x[2] * o[2])
    return o[0] * o[1] ** 2 * o[2]


def a_factory_of_numbers(x):
    o = defaultdict(lambda: x[0] * 2, a=x[1])
    return o["z"] * o["a"] ** 2


def a_factory_of_arrays(x):
    o = defaultdict(lambda: x * 2)
    y = x * o["b"]
    o["c"] = o["c"] * x
    return np.sum(o["b"] * y * o["c"])


def a_factory_of_lists(x):
    o = defaultdict(lambda: [x[0] * 2, 1.0])
    return o[1][0] * x[1] * x[0]


@pytest.mark.parametrize(
    "function",
    [
        ordered_by_name, ordered_by_pairs, ordered_by_dict, dict_by_pairs, default_by_dict, default_by_name,
        a_deque_of_an_array, a_short_deque, a_factory_of_numbers, a_factory_of_arrays, a_factory_of_lists,
    ],
)  # fmt: skip
def test_containers_that_are_made(function):
    """What a container is made of is by name, by pairs, by another container, or by a function of its own."""
    check_second(function)


def test_pairs_that_are_added_later():
    """`update` takes pairs, too, whose keys have no tangents."""

    def f(x):
        o = {"a": x[0]}
        o.update([("b", 3.0), ("c", x[2])], d=x[1])
        return o["a"] * o["b"] * o["c"] * o["d"]

    close(jvp(f, (X,), (V,))[1], difference(f, X, V))


def test_factories_of_lists_that_are_written_into():
    """The tangents of a list that a factory makes are written into as the list is."""

    def f(x):
        o = defaultdict(lambda: [0.0, 1.0])
        for i in range(3):
            o[i % 2][0] += x[i]
            o[i % 2][1] *= x[i]
        return o[0][0] * o[0][1] ** 2 * o[1][0]

    check_first(f)
