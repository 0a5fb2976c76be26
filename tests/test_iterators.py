"""Iterators that are consumed where they stand: `map`, `filter`, `reduce`, `sorted`, `itertools`, `operator`."""

import functools
import itertools
import math
import operator

import numpy as np
import pytest

from adcompiler import DifferentiationError, UnsupportedSyntaxError, gradient, value_and_grad
from tests.promises import check, check_raises, check_refused

V = np.array([1.0, 2.0, 3.0])


def note(v):
    print(float(v))
    return v


def map_filter_reduce(xs):
    ys = map(lambda v: v * v, filter(lambda v: v > 0, xs))
    return functools.reduce(operator.mul, ys)


def mapped(x):
    return sum(map(math.sin, x)) + sum(map(operator.mul, x, x[1:])) + sum(map(lambda a, b: a * b, x, (2.0, 3.0)))


def filtered_out(x):
    return sum(itertools.filterfalse(lambda v: v > 2.5, x)) + len(list(filter(None, x)))


def loops(x):
    s = 0.0
    for v in map(lambda t: t * t, x):
        if v > 5.5:
            break
        s = s + v
    else:
        s = s * 100
    for i, v in enumerate((t * 2 for t in x), 1):
        s = s + i * v
    for v in (t * t for t in x if t > 1.5):
        if v > 8:
            continue
        s = s + v
    return s


def reduced(x):
    return functools.reduce(lambda a, b: a * b + 1, x, 2.0) + functools.reduce(operator.add, x)


def accumulated(x):
    return sum(itertools.accumulate(x, operator.mul)) * list(itertools.accumulate(x))[1]


def taken_while(x):
    first = sum(itertools.takewhile(lambda v: v < 2.5, x))
    return first + 2 * sum(v * v for v in itertools.dropwhile(lambda v: v < 1.5, x))


def starred_map(x):
    return sum(itertools.starmap(lambda a, b: a * b, zip(x, x[::-1], strict=True)))


def in_order(x):
    y = sorted(x, key=lambda v: -v)
    z = sorted(x, reverse=True)
    pairs = sorted(zip(x, x * x, strict=True), key=operator.itemgetter(1))
    return y[0] * 10 + y[1] * 5 + z[2] * y[0] + pairs[0][0] * pairs[2][1] + sorted(x)[0]


def extremes(x):
    a = min(x, key=lambda v: (v - 2.1) ** 2) + max(x[0], x[1], key=lambda v: -v)
    return a * max([], default=x[0]) + max(map(lambda v: v - 3, x)) + min((v * v for v in x), default=None)


def products(x):
    s = sum([a * b for a, b in itertools.combinations(x, 2)]) + sum([b - a * a for a, b in itertools.pairwise(x)])
    return s + sum([y[0] * y[1] for y in itertools.product(x, repeat=2)]) + math.prod(map(lambda v: v + 1, x))


def chained(x):
    s = 0.0
    for v in itertools.chain(x, [x[0] * 2], x):
        s = s + v * v
    for v in itertools.chain.from_iterable([[v, v * v] for v in x]):
        s = s + v
    return s + sum(itertools.islice(itertools.chain(x, itertools.repeat(x[1])), 6))


def endless(x):
    s = sum([w * v for w, v in zip(itertools.count(1), x)])
    return s + sum(w * v for w, v in zip(itertools.cycle([1.0, 2.0]), x))


def longest(x):
    return sum([a * b for a, b in itertools.zip_longest(x, x[:1], fillvalue=2.0)])


def first_one(x):
    return next(iter([x[0] * 2])) * next(v * v for v in x if v > 1.5) + next((v for v in x if v > 100), 3.0)


def unpacked(x):
    a, b, c = map(lambda v: v * v, x)
    return np.hypot(*map(lambda v: v * 2, x[:2])) + a * b * c + np.hypot(*(v for v in x[1:]))


def dict_of_pairs(x):
    d = dict(zip("abc", x, strict=True))
    return d["a"] * d["b"] + sum(list(reversed(list(x)))[:2])


def to_arrays(x):
    return np.array(list(itertools.accumulate(x))).prod() + np.sum(np.array(list(map(lambda v: v * v, x))))


def counted(x):
    return any(map(lambda v: v > 2.5, x)) * x[0] + all(v > 2.5 for v in x) * x[1] + x[2]


def functions_in_turn(x):
    for f in (np.sin, lambda t: t * t, np.exp):
        x = f(x)
    return np.sum(x) + sum([f(x[0]) for f in [math.sin, math.cos]])


@pytest.mark.parametrize(
    "f",
    [
        mapped, filtered_out, loops, reduced, accumulated, taken_while, starred_map, in_order, extremes, products,
        chained, endless, longest, first_one, unpacked, dict_of_pairs, to_arrays, counted, functions_in_turn,
    ],
)  # fmt: skip
def test_of_an_array(f):
    """The items of an array."""
    check(f, V / (3.0 if f is functions_in_turn else 1.0))


@pytest.mark.parametrize("f", [map_filter_reduce, reduced, accumulated, taken_while, products, longest, counted])
def test_of_a_list(f):
    """The items of a list."""
    check(f, [1.0, 2.0, 3.0])


def test_reduce_with_matrices():
    """The initial value has its part of the gradient."""

    def f(v, mats):
        return np.sum(functools.reduce(lambda acc, m: m @ acc, mats, v))

    check(f, V[:2], [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.5, 0.0], [1.0, -1.0]])])
    check(f, V[:2], [])


def test_items_of_containers_pass_through():
    """What is selected is the argument itself."""

    def f(x, y):
        a = max([x, y], key=lambda v: v.sum())
        c = {"k": y}.get("k", x)
        d = x if a is y else y
        e = functools.reduce(operator.add, [x])
        return np.sum(a * c * d * e)

    check(f, V, V + 1)


def test_transposed():
    """`zip(*rows)`."""

    def f(rows):
        return sum([a * b for a, b in zip(*rows, strict=True)])

    check(f, [[1.0, 2.0], [3.0, 4.0]])


def test_ties():
    """`max` of numbers shares equally; a sort keeps the order of equal items."""
    np.testing.assert_array_equal([0.5, 0.5, 0.0], gradient(lambda x: max(list(x)))(np.array([2.0, 2.0, 1.0])))
    np.testing.assert_array_equal(
        [1.0, 0.0, 0.0], gradient(lambda x: sorted(x, reverse=True)[0])(np.array([2.0, 2.0, 1.0]))
    )
    np.testing.assert_array_equal([1.0, 0.0], gradient(lambda x: max(x, key=lambda v: v))(np.array([2.0, 2.0])))


def test_effects_come_in_order(capsys):
    """Functions are called when Python calls them, and no more often."""

    def f(x):
        s = 0.0
        for v in map(note, x):
            print("body")
            s = s + v * v
            if s > 4:
                break
        s = s * sum(itertools.takewhile(lambda v: v < 1.5, map(note, x)))
        if any(map(lambda v: note(v) > 1.5, x)):
            s = s + max(x, key=note) * min(map(note, x))
        return s + functools.reduce(lambda a, b: note(a) * b, x)

    check(f, V)
    capsys.readouterr()
    f(V)
    plain = capsys.readouterr().out
    value_and_grad(f)(V)
    assert plain == capsys.readouterr().out


def test_inert_iterators_stay():
    """What carries no derivative stays as it was written."""

    def f(x):
        names = sorted(map(str, range(3)), key=lambda s: -int(s))
        order = sorted(range(len(x)), key=lambda i: -x[i])
        return x[order[0]] * len(names) * sum(map(int, names))

    check(f, V)


def test_refused():
    """What cannot be followed is refused with its line."""

    def kept(x):
        it = map(lambda v: v * v, x)  # refused
        return next(it) + next(it)

    def interleaved(x):
        return sum(a * b for a, b in zip(map(lambda v: v * v, x), x))  # refused  # noqa: B905

    def without_end(x):
        for v in itertools.cycle(x):  # refused
            if v > 1.5:
                return v
        return x[0]

    check_refused(DifferentiationError, kept, V)
    check_refused(UnsupportedSyntaxError, interleaved, V)
    check_refused(UnsupportedSyntaxError, without_end, V)


def test_exceptions():
    """Exceptions are Python's own."""
    check_raises(TypeError, lambda xs: functools.reduce(operator.add, xs), [])
    check_raises(ValueError, lambda xs: max(xs, key=lambda v: v), [])
    check_raises(ValueError, lambda xs: sum([a * b for a, b in zip(xs, (1.0,), strict=True)]), [1.0, 2.0])
    check_raises(StopIteration, lambda xs: next(v for v in xs if v > 2), [1.0])


def test_vectorize():
    """`np.vectorize(f)(x)` of one argument."""

    def f(x, y):
        g = lambda z: z**2 + y[0]
        return sum([g(v) for v in x]) + np.sum(np.vectorize(g)(x) * x)

    check(f, V, np.array([4.0, 5.0]))
    check(lambda x: np.sum(np.vectorize(math.exp)(x)), np.ones((2, 2)))


def test_functions_used_up_inside():
    """A function that is only called may see the variables of a comprehension in a loop."""

    def f(x):
        s = 0.0
        for k in range(2):
            ys = sorted([v * k for v in x], key=lambda u: -u)
            s = s + sum([functools.reduce(lambda a, b: a + b * w, ys, 0.0) for w in x])
        return s

    check(f, V)
