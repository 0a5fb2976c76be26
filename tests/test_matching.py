"""`match` becomes tests, loads and assignments in Python's order."""

import collections
from collections import deque, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

from adcompiler import UnsupportedSyntaxError, pullback
from tests.promises import check, check_raises, check_refused
from tests.stages import lowered


def test_literals_and_wildcard():
    """A literal is compared, the wildcard is what is left."""

    def f(n, x):
        match n:
            case 1:
                return x
            case _:
                return x * 2

    assert [
        "t1 = n",
        "hit1 = t1 == 1",
        "if hit1:",
        "    return x",
        "else:",
        "    t2 = x * 2",
        "    return t2",
    ] == lowered(f, 1, 1.0)


def test_captures_are_bound_before_the_guard():
    """A name is bound when the whole pattern has matched, and stays bound if the guard fails."""

    def f(p, x):
        match p:
            case [a, b] if a > b:
                return x
        return x * 2

    lines = lowered(f, [1.0, 2.0], 1.0)
    assert lines.index("    a = t4") < lines.index("    hit1 = a > b")


Point = namedtuple("Point", "x y")


@dataclass
class Circle:
    """Has a centre and a radius."""

    centre: Point
    radius: float


class Tagged:
    """Has match arguments of its own."""

    __match_args__ = ("tag", "value")
    limit = 3

    def __init__(self, tag, value):
        self.tag, self.value = tag, value


def classes(shape, x):
    match shape:
        case Circle(Point(a, b), radius=r) if r > 100:
            return a * b * x
        case Circle(Point(x=a), r):
            return a * r * r * x
        case Tagged("no", v):
            return v
        case Tagged(str() as tag, v) if len(tag) == Tagged.limit:
            return v * v * x
        case Point(a):
            return a * x
        case float(v) | int(v):
            return v * x
        case bool() | None | complex():
            return x
    return x * 3


@pytest.mark.parametrize("shape", [Point(1.5, 2.0), 2.5, 3, True, None, "text", [1.0]])
def test_class_patterns(shape):
    """Attributes by position and by name, and the classes that match themselves."""
    check(classes, shape, 1.5)


@pytest.mark.parametrize(
    ("shape", "field", "expected"),
    [
        (Circle(Point(1.5, 2.0), 3.0), "radius", 13.5),
        (Tagged("yes", 2.0), "value", 6.0),
        (Tagged("no", 2.0), "value", 1.0),
        (Tagged("long", 2.0), "value", None),
    ],
)
def test_class_patterns_on_objects(shape, field, expected):
    """The attributes that a pattern reads are differentiated."""
    shape_bar, _ = pullback(classes, shape, 1.5)[1](1.0)
    assert (None if shape_bar is None else shape_bar[field]) == expected


def too_many(x):
    match x:
        case float(a, b):
            return a * b
    return x


def test_too_many_sub_patterns():
    """Python's own error."""
    check_raises(TypeError, too_many, 1.5)


def sequences(s, x):
    match s:
        case []:
            return x
        case [a, *_, b] if len(s) == 3 and a < 1.9:
            return a * b * x
        case [[a, *inner], *rest]:
            return a * x * (len(inner) + len(rest))
        case [_, _, c, *_]:
            return c * x
        case [a, *others]:
            for other in others:
                a = a * other
            return a * x
    return x * 2


@pytest.mark.parametrize(
    "s",
    [
        [],
        (1.5, 2.0, 1.5),
        [1.5, 2.0],
        [1.5, 2.0, 3.0],
        [[1.5, 2.0], 3.0],
        (1.5,),
        "text",
        b"text",
        range(3),
        {"a": 1.0},
        3.0,
        np.array([1.0, 2.0]),
        None,
    ],
)
def test_sequence_patterns(s):
    """Lists, tuples and ranges are sequences, text and dicts are not, and an array is what its NumPy says."""
    check(sequences, s, 1.5)


def test_other_sequences():
    """Whatever is registered as a sequence matches."""
    assert pullback(sequences, deque([1, 2, 3]), 1.5)[0] == sequences(deque([1, 2, 3]), 1.5)


def mappings(d, x):
    match d:
        case {"a": {"b": v}}:
            return v * x
        case {"a": float(v) | [v, *_], "n": int(n)}:
            return v * x**n
        case {"a": 1 | 2 as n, **rest}:
            return x * n * len(rest)
        case {}:
            return x
    return x * 2


@pytest.mark.parametrize(
    "d",
    [
        {"a": {"b": 2.0}},
        {"a": 2.0, "n": 3},
        {"a": [2.0, 1.0], "n": 3},
        {"a": 2, "b": 1, "c": 1},
        {"b": 2.0},
        {},
        [1.0],
    ],
)
def test_mapping_patterns(d):
    """Keys are looked up, and the rest is a new dict."""
    check(mappings, d, 1.5)


def nested(d, x):
    match d:
        case {"a": {"b": v}} | {"c": v}:
            return v * x
    return x * 2


def test_a_default_dict_is_not_filled():
    """A key that is missing does not match, and nothing is stored."""
    d = collections.defaultdict(float)
    assert pullback(nested, d, 1.5)[0] == 3.0
    assert not d


def rest_of_values(d, x):
    match d:
        case {"a": v, "n": int(), **rest}:
            return v * rest["b"] * x + sum(rest["c"])
    return x


def test_the_rest_of_active_values():
    """The rest of a mapping is differentiated item by item."""
    check(rest_of_values, {"a": 1.5, "n": 2, "b": 2.0, "c": [1.0, 2.0]}, 1.5)


def unknown_rest(pairs, x):
    d = {"a": x}
    for key, value in pairs:
        d[key] = value
    match d:
        case {"a": v, **rest}:  # refused
            return v * rest["b"] * x


def test_the_rest_of_unknown_keys():
    """The rest of a mapping is refused where its keys are not known."""
    check_refused(UnsupportedSyntaxError, unknown_rest, [("b", 2.0)], 1.5)


def rebinds_its_subject(x, n):
    match x, n:
        case (n, 0):
            return n * x
        case (x, k) if k > 5:
            return x
    return x * n


@pytest.mark.parametrize("n", [0, 3, 9])
def test_patterns_that_rebind_the_subject(n):
    """The subject is evaluated once."""
    check(rebinds_its_subject, 1.5, n)


def unbound_after(x, n):
    match n:
        case 1:
            y = x
    return y * x


def test_a_name_that_no_case_bound():
    """Python's own error."""
    check(unbound_after, 1.5, 1)
    check_raises(UnboundLocalError, unbound_after, 1.5, 2)


def in_a_loop(xs, x):
    total = x
    for item in xs:
        match item:
            case ("stop", _):
                break
            case ("skip", _):
                continue
            case (_, v) if v > 3:
                return total * v
            case (_, v):
                total = total * v
    return total + v


@pytest.mark.parametrize("name", ["stop", "skip", "big"])
def test_exits_from_cases(name):
    """Loops are left from a case as from an `if`."""
    check(in_a_loop, [("go", 2.0), (name, 4.0 if name == "big" else 1.0), ("go", 1.5)], 1.5)
