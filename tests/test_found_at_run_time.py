"""Functions, classes and methods that are known when they run only: what they are given, give and write into."""

from functools import partial

import numpy as np
import pytest

from adcompiler import MutationError, UnsupportedSyntaxError, gradient, jvp
from tests.orders import check_first


class Pair:
    scale = 2.0

    def __init__(self, a, b=1.0):
        self.a, self.b = a, b

    def line(self, y):
        return self.a * y + self.b

    @classmethod
    def squared(cls, a):
        return cls(a * a, a)

    @property
    def scaled(self):
        return self.a * self.scale

    def __eq__(self, other):
        return self.a == other.a

    def __call__(self, y):
        return self.a * y

    def __iter__(self):
        yield self.a
        yield self.b


class Alone:
    def __init__(self, b):
        self.b = b

    @staticmethod
    def made(b):
        return Alone(b)


class Doubling:
    def __init__(self, v):
        self.v = v

    def __getitem__(self, i):
        return self.v[i]

    def __setitem__(self, i, v):
        self.v[i] = 2 * v


class Squaring:
    def __init__(self, a):
        self._a = a

    @property
    def a(self):
        return self._a

    @a.setter
    def a(self, v):
        self._a = v * v


def twice(f, y):
    return f(y) * f(y * y)


def by_keywords(a, **others):
    return a * sum(v * v for v in others.values())


def by_keyword_written(a, **others):
    others["q"] = a
    return others["q"] * others["z"]


def times(y):
    k = y * y
    return lambda z: k * z


def times_of_list(y):
    values = [y * y, y]
    return lambda z: values[0] * z * values[1]


def put(entries, v):
    entries["n"] = v * entries["a"]
    entries["a"] += v


def same(f):
    return f


FUNCTIONS = [
    twice, by_keywords, by_keyword_written, partial(by_keywords, w=2.0), partial(by_keywords, 3.0), times,
    times_of_list, Pair, Pair.squared, put, lambda x: Doubling(x * 1.0), lambda x: Squaring(x[0]),
]  # fmt: skip


def at(x, i):
    """A function that the compiler cannot tell from the others in the list."""
    return FUNCTIONS[i + 0 * int(x[0])]


def written(x):
    """An array that is written into."""
    y = x * 1.0
    y[0] = y[1] * 2.0
    y += x
    return y


def keywords(x):
    return at(x, 1)(x[1], z=x[2], w=x[0])


def keywords_written(x):
    return at(x, 2)(x[1], z=x[2], w=x[0])


def keywords_of_a_partial(x):
    return at(x, 3)(x[1], z=x[2]) * at(x, 4)(z=x[0])


def bound_method_of_unknown_object(x):
    return at(x, 0)(at(x, 7)(x[0], x[1]).line, x[2])


def function_with_a_captured_array(x):
    y = x * 2
    f = at(x, 5)(y)
    y[0] = y[1] * 2
    return np.sum(f(x) * f(y))


def function_with_a_captured_list(x):
    f = at(x, 6)(x * 2)
    return np.sum(f(x) * f(x))


def local_function_with_a_captured_list(x):
    y = written(x)
    f = times_of_list(y)
    y[1] = y[2] * 2
    return np.sum(f(x) * f(x))


def function_given_back_with_a_rebound_array(x):
    u = x * 2
    for i in range(3):
        u[i] = 1.5 * u[i]
        u += same(lambda t: t * u)(x)  # noqa: B023
    return np.sum(u)


def object_where_arrays_are_written(x):
    pair = Pair(x[0], x[1])
    pair.b = x[2]
    r = pair.b + 1
    r += pair.b
    return r * Alone.made(x[2]).b


def object_of_a_class_method(x):
    pair = Pair(x[0], x[1])
    r = pair.scaled
    pair.scale = x[2]
    r += pair.scaled
    return r * Pair.squared(x[2]).line(x[0])


def compared_object_that_is_called(x):
    return at(x, 7)(x[0])(x[1]) * x[2]


def dict_that_is_written_into(x):
    entries = {"a": x[0]}
    at(x, 9)(entries, x[1])
    return entries["a"] * entries["n"]


def property_updated(x):
    u = Squaring(x[0])
    u.a += x[1]
    u.a *= u.a
    return u.a


def object_without_arrays(x):
    pair = Pair(x[0], x[1])
    pair.b += at(x, 0)(pair, x[2])
    return at(x, 0)(pair, x[1]) * pair.b


PROGRAMS = [
    keywords, keywords_written, keywords_of_a_partial, bound_method_of_unknown_object, function_with_a_captured_array,
    function_with_a_captured_list, local_function_with_a_captured_list, function_given_back_with_a_rebound_array,
    object_where_arrays_are_written, object_of_a_class_method, compared_object_that_is_called,
    dict_that_is_written_into, property_updated, object_without_arrays,
]  # fmt: skip
X = np.array([0.5, 1.2, 0.7])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_found_at_run_time(program):
    """Value, tangent and cotangent are those of differences."""
    check_first(program, X)
    numbers = [(program(X + h) - program(X - h)) / 2e-6 for h in np.eye(3) * 1e-6]
    np.testing.assert_allclose(gradient(program)(X.copy()), numbers, rtol=1e-6, atol=1e-8)


def unpacked(x):
    a, b = at(x, 7)(x[0], x[1])
    return a * b


def looped(x):
    r = 0.0
    for v in at(x, 7)(x[0], x[1]):
        r += v * x[1]
    return r


def spread(x):
    return np.sum(np.array([*at(x, 7)(x[0], x[1])]) * x[:2])


def item_stored(x):
    u = at(x, 10)(x)
    u[1] = x[0] * u[2]
    return u.v @ u.v


def property_stored(x):
    u = at(x, 11)(x)
    u.a = x[1]
    return u.a


class Held:
    def __init__(self, y):
        self.y = y

    def __call__(self, v):
        return np.sum(self.y) * v


def object_with_a_written_array(x):
    y = written(x)
    held = Held(y)
    r = at(x, 0)(held, x[1])
    y[0] = 2.0
    return r


def test_object_with_a_written_array():
    """What a function reads of the array could not be told from what is written later."""
    with pytest.raises(MutationError, match="holds an array which is written into"):
        gradient(object_with_a_written_array)(X.copy())


REFUSED = [unpacked, looped, spread, item_stored, property_stored]


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_code_of_a_class_that_is_not_followed(program):
    """What `__iter__`, `__setitem__` and setters of unknown objects do is refused, in both modes."""
    with pytest.raises(Exception, match=r"items? of a|property \.a|iteration over a|method or property") as caught:
        gradient(program)(X.copy())
    assert type(caught.value).__module__.startswith("adcompiler")
    with pytest.raises(UnsupportedSyntaxError, match=r"items? of a|property \.a"):
        jvp(program, (X.copy(),), (X,))
