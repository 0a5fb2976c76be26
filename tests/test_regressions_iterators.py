"""Iterators with a name."""

import contextlib
import functools
import itertools
import math

import pytest

from adcompiler import gradient
from tests.promises import check

TEXTS = ["1", "2"]
NUMBERS = [2.0, 1.0]


def programs(*functions):
    """The test for each of several programs."""
    return pytest.mark.parametrize("program", functions, ids=lambda f: f.__name__)


def into_dict(x):
    pairs = zip("ab", NUMBERS, strict=True)
    return x * dict(pairs)["b"]


def into_active_dict(x):
    pairs = zip("ab", [1.0, x], strict=True)
    return x * dict(pairs)["b"]


def into_sum(x):
    it = map(float, TEXTS)
    return x * sum(it)


def into_active_sum(x):
    it = map(lambda v: v * x, NUMBERS)
    return sum(it)


def into_sorted(x):
    it = (v * 2 for v in NUMBERS)
    return x * sorted(it)[0]


def into_max(x):
    it = (v * 2 for v in NUMBERS)
    return x * max(it)


def into_star(x):
    it = map(float, TEXTS)
    a, *b = it
    return x * a * b[0]


def into_positions(x):
    it = (v * x for v in NUMBERS)
    return max(*it)


def into_next(x):
    it = (v * x for v in NUMBERS)
    return next(it)


def into_assert(x):
    it = map(float, TEXTS)
    assert list(it) == [1.0, 2.0]
    return x * x


def into_text(x):
    it = map(float, TEXTS)
    return x * len(f"{list(it)}")


def into_raise(x):
    it = map(float, TEXTS)
    if x > 100:
        raise ValueError(list(it))
    return x * x


def into_dict_comprehension(x):
    it = zip("ab", NUMBERS, strict=True)
    return x * {k: v for k, v in it}["a"]


def into_condition(x):
    it = map(float, TEXTS)
    return x * (sum(it) if x > 0 else 0.0)


def into_with_and_try(x):
    it, other = map(float, TEXTS), 1.0
    also = map(float, TEXTS)
    with contextlib.suppress(KeyError):
        other = x * sum(it)
    try:
        other = other + x * sum(also)
    except KeyError:
        other = x
    return other


def deleted(x):
    it = map(float, TEXTS)
    del it
    return x * x


def made_of_rebound_names(x):
    k, values = 1.0, [x, 2.0]
    it = (v * k for v in values)
    k, values = 5.0, [1.0]
    return sum(it) + 0 * k + values[0]


@programs(
    into_dict, into_active_dict, into_sum, into_active_sum, into_sorted, into_max, into_star, into_positions, into_next,
    into_assert, into_text, into_raise, into_dict_comprehension, into_condition, into_with_and_try, deleted,
    made_of_rebound_names,
)  # fmt: skip
def test_iterators_with_a_name(program):
    """An iterator that is used up in one place may have a name, whether or not its items carry derivatives."""
    check(program, 1.5)


def largest_of(x, values):
    return x * max(*values)


def test_an_iterator_as_positions():
    """The items of an iterator are taken once."""
    assert gradient(largest_of)(1.5, iter([1.0, 2.0])) == 2.0


def over_seven(x):
    s = [x, 2.0]
    return sum(map(lambda a, b, c, d, e, f, g: a * b + c * d + e * f * g, s, s, s, s, s, s, s))


def test_map_over_many_iterables():
    """`map` takes as many iterables as its function has parameters."""
    assert gradient(over_seven)(1.5) == pytest.approx(4 * 1.5 + 3 * 1.5**2)


class Layer:
    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x):
        return x * self.weight


class Shift(Layer):
    def __call__(self, x):
        return x + self.weight * self.weight


def one_after_another(x):
    return functools.reduce(lambda v, f: f(v), [math.sin, math.exp, lambda v: v * x], x)


def composed(x):
    return functools.reduce(lambda f, g: lambda v: g(f(v)), (math.sin, math.exp, math.cos))(x)


def layers_one_after_another(x):
    return functools.reduce(lambda v, layer: layer(v), [Layer(x), Shift(x), Layer(2.0)], x)


def the_last_of_several(x):
    return functools.reduce(lambda f, g: g, [Layer(x), Shift(x)])(x)


def accumulated_functions(x):
    return list(itertools.accumulate([math.sin, math.cos], lambda v, f: f(x)))[1]


def reduced_in_a_loop_over_functions(x):
    out = []
    for f in (math.sin, math.tan):
        out.append(functools.reduce(lambda v, g: g(v), [math.cos, math.exp], f(x)))
    return out


@programs(
    one_after_another, composed, layers_one_after_another, the_last_of_several, accumulated_functions,
    reduced_in_a_loop_over_functions,
)  # fmt: skip
def test_reductions_over_functions(program):
    """What `reduce` and `accumulate` have so far is kept from one function or object to the next."""
    check(program, 0.7)
