"""Comprehensions and generator expressions: values, scopes, order of effects and derivatives as in Python."""

import numpy as np
import pytest

from adcompiler import UnsupportedSyntaxError, differentiable, gradient, value_and_grad
from tests.promises import check, check_raises, check_refused

V = np.array([1.5, -0.5, 2.0])


def note(v):
    print(float(v))
    return v


def squares(xs):
    return sum([v * v for v in xs])


def filtered(xs):
    return sum([v**2 for v in xs if v > 0 if v < 10])


def several_loops(xs, ys):
    return sum([v**2 + y * v for v in xs if v > 0.7 for y in ys if y < v + 3])


def inner_loop_over_the_outer_variable(rows):
    return sum([v * i for i, row in enumerate(rows) for v in row])


def nested(x):
    return np.sum(np.array([[x[i] * x[j] for j in range(3)] for i in range(3)]) ** 2)


def same_name_three_times(x):
    return sum([sum([x * x for x in [x, 2 * x]]) for x in x])


def name_of_a_local(x):
    i = 2.0
    y = [v * i for i, v in enumerate(x)]
    return sum(y) * i


def unpacking_targets(pairs):
    return sum([a * b + sum(rest) for a, (b, *rest) in pairs])


def stacked(xs):
    return np.sum(np.stack([v * i for i, v in enumerate(xs, start=1)]) ** 2)


def stops_early(xs, ys):
    return sum([v / w for v, w in zip(xs, ys)])  # noqa: B905


def read_by_index(x):
    y = [v * v for v in x]
    return y[0] * y[-1] + len(y)


def in_a_loop(x):
    s = 0.0
    for k in range(3):
        s = s + sum([v * k for v in x if v > 0])
        x = [v + s for v in x]
    return s


def in_a_while(x):
    while sum([v * v for v in x]) < 50.0:
        x = [v * 1.5 for v in x]
    return sum(x)


def walrus(x):
    y = [last := v * v for v in x]
    return y[0] + last


def running_sum(x):
    s = 0.0
    return sum([(s := s + v) * v for v in x])


def lambda_called_inside(x):
    return sum([(lambda t: t * v)(2.0) for v in x])


def conditional(x, on):
    y = [v * v for v in x] if on else [v for v in x]
    return y[0] * y[1]


def result_is_the_list(x):
    return [v * v for v in x]


def result_is_the_dict(x):
    return {f"k{i}": v * v for i, v in enumerate(x)}


def dict_read(x):
    d = {i: v * v for i, v in enumerate(x)}
    return d[0] * d[2]


def equal_keys(x):
    d = {i % 2: v * v for i, v in enumerate(x)}
    return d[0] + 3 * d[1]


def dict_in_loop(x):
    d = {i: v * v for i, v in enumerate(x)}
    s = 0.0
    for i in range(2):
        s = s + d[i] * d[i + 1]
    return s


def empty(x):
    return sum([v for v in x if v > 100]) + x[0]


def unused(xs):
    y = [v * v for v in xs]  # noqa: F841
    return xs[0] * 1.0


def generated_sum(x):
    return sum(x * i for i in range(5) if i != 2)


def generated_list(x):
    return list(v * v for v in x)[1]


def generated_extremes(x):
    return max(v * v for v in x) + min(v * 3 for v in x)


def generated_any(x):
    if any(v > 1.9 for v in x) and not all(v > 0 for v in x):
        return np.sum(x * x)
    return np.sum(x)


def generated_unpacking(x):
    a, b, c = (v * v for v in x)
    return a * b + c


def generated_arguments(x):
    return np.hypot(*(v * v for v in x[:2]))


def complex_items(x):
    y = np.array([v * (1 + 2j) if i else v for i, v in enumerate(x)])
    return np.sum(np.abs(y) ** 2)


@pytest.mark.parametrize(
    "f",
    [
        squares, filtered, nested, same_name_three_times, name_of_a_local, read_by_index, in_a_loop, in_a_while,
        walrus, running_sum, lambda_called_inside, result_is_the_list, result_is_the_dict, dict_read, equal_keys,
        dict_in_loop, empty, unused, generated_list, generated_extremes, generated_any, generated_unpacking,
        complex_items,
    ],
)  # fmt: skip
def test_of_an_array(f):
    """The items of an array."""
    check(f, V)


@pytest.mark.parametrize("f", [squares, filtered, read_by_index, walrus, equal_keys, dict_in_loop, in_a_loop])
def test_of_a_list(f):
    """The items of a list."""
    check(f, [1.5, -0.5, 2.0])


def test_several_arguments():
    """Several loops, and targets with a structure."""
    check(several_loops, [1.5, 0.5, 2.0], [0.5, 4.6])
    check(inner_loop_over_the_outer_variable, [[1.0, 2.0], [3.0]])
    check(inner_loop_over_the_outer_variable, np.ones((2, 3)))
    check(unpacking_targets, [(1.5, (2.0, 0.5)), (0.5, (1.0, 2.0, 3.0))])
    check(stacked, [V, V + 1])
    check(stops_early, [10.0, 11.0], [1.0, 2.0, 3.0])
    check(conditional, V, True)
    check(conditional, V, False)
    check(generated_sum, 2.0)


def test_inert_comprehensions_stay():
    """What carries no derivative stays as it was written."""

    def f(x):
        sizes = [n + 1 for n in range(3)]
        return x * sum(k for k in sizes) * len([v for v in (x, x) if v > 0])

    check(f, 1.5)
    text = differentiable(f).source(1.5)
    assert "[n + 1 for n in range(3)]" in text
    assert "sum(k for k in sizes)" in text


def test_effects_come_in_order(capsys):
    """`any` and `all` stop at the first item that decides, and other items come in Python's order."""

    def f(x):
        s = sum([note(v) * note(w) for v in x for w in x[:2]])
        if any(note(v) * s > 3 for v in x):
            s = s * 2
        if all(note(v) * s > 100 for v in x for w in x):
            s = s * 2
        return s

    check(f, V)
    capsys.readouterr()
    f(V)
    plain = capsys.readouterr().out
    value_and_grad(f)(V)
    assert plain == capsys.readouterr().out


def test_functions_made_inside():
    """A function that sees its variable change is refused where a derivative would be that of another value."""

    def late(x):
        fs = [lambda t: t * v for v in x]  # refused  # noqa: B023
        return fs[0](2.0)

    def cells(x):
        s = 0.0
        for k in range(2):
            fs = [lambda t, k=k: t * i + k for i in range(3)]  # noqa: B023
            gs = [v * fs[0](1.0) for v in x]
            s = s + sum(gs)
        return s

    check_refused(UnsupportedSyntaxError, late, V)
    check(cells, V)


def test_sets_and_keys():
    """Sets and keys of values with derivatives are refused, of others not."""

    def of_values(x):
        return sum({v * v for v in x})  # refused

    def of_keys(x):
        return sum({v * v: 1.0 for v in x})  # refused

    def of_signs(x):
        return x[0] * len({v > 0 for v in x})

    check_refused(UnsupportedSyntaxError, of_values, V)
    check_refused(UnsupportedSyntaxError, of_keys, V)
    check(of_signs, V)


def test_kept_generators():
    """A generator expression that is not consumed where it stands is refused."""

    def f(x):
        g = (v * v for v in x)  # refused
        return next(g) + next(g)

    check_refused(UnsupportedSyntaxError, f, V)


def test_exceptions():
    """Exceptions are Python's own."""

    def unhashable(x):
        return {[1]: v for v in x}

    def division(x):
        return sum([1.0 / v for v in x])

    def not_iterable(x):
        return [v for v in x * 2]

    check_raises(TypeError, unhashable, [1.0])
    check_raises(ZeroDivisionError, division, [1.0, 0.0])
    check_raises(TypeError, not_iterable, 1.0)


def test_builtins_may_be_shadowed():
    """`sum` of the user's own is not the builtin."""

    def f(x):
        def sum(values):
            return values[0] * 10

        return sum([v for v in x])

    assert 10.0 == gradient(f)(V)[0]


def test_unbound_variables():
    """A variable that is not bound yet raises what it raises in a comprehension of this version of Python."""

    def of_list(x):
        if x[0] > 100:
            y = 1.0
        return sum([v * y for v in x])

    def of_generator(x):
        if x[0] > 100:
            y = 1.0
        return sum(v * y for v in x)

    def never_read(x):
        if x[0] > 100:
            y = 1.0
        return sum([v * y for v in x[:0]]) + x[0] * 1.0

    check_raises(NameError, of_list, V)
    check_raises(NameError, of_generator, V)
    check(never_read, V)
