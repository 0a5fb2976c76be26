"""Rules that decline where containers and objects are written into: the next rule, or the source, gives the numbers."""

from __future__ import annotations

import pytest

from adcompiler import MutationError, gradient, rrule


class Choice:
    """What is looked up here is known at run time only."""

    def __init__(self, **parts):
        self.parts = parts

    def __getattr__(self, name):
        return self.parts[name]


def first(values):
    return values[0]


@rrule(first)
def first_declines(values):
    return NotImplemented


def square(x):
    return x * x


@rrule(square)
def square_rule(x):
    def pullback(y_bar):
        return (y_bar * 20.0 * x,)  # ten times what it is: seen where this rule is used

    return x * x, pullback


@rrule(square)
def square_declines(x):
    return NotImplemented


def total(values, v):
    values.append(v)
    return values[0] * values[-1]


@rrule(total)
def total_declines(values, v):
    return NotImplemented


class Sum:
    def __init__(self, x):
        self.x = x
        self.kept = []

    def add(self, v):
        self.kept.append(v)
        return self.x * v

    def times(self, v):
        return self.x * v


@rrule(Sum.add)
def add_declines(self, v):
    return NotImplemented


@rrule(Sum.times)
def times_declines(self, v):
    return NotImplemented


class Scaled:
    def __init__(self, x):
        self.x = x
        self.kept = []

    def times(self, v):
        return self.x * v

    def __call__(self, v):
        return self.x * v


@rrule(Scaled.times, Scaled.__call__)
def times_answers(self, v):
    x = self.x

    def pullback(y_bar):
        return {"x": y_bar * v}, y_bar * x

    return x * v, pullback


def by_name(x, choice):
    values = [[x], 2.0]
    values.append(x)
    inner = first(values)
    inner.append(x * x)
    return values[0][1] * inner[0]


def at_run_time(x, choice):
    values = [[x], 2.0]
    values.append(x)
    inner = choice.first(values)
    inner.append(x * x)
    return values[0][1] * inner[0]


def method(x, choice):
    made = Sum(x)
    made.kept.append(x)
    return made.times(x) * made.kept[0]


def method_at_run_time(x, choice):
    made = choice.Sum(x)
    made.kept.append(x)
    return made.times(x) * made.kept[0]


@pytest.mark.parametrize("f", [by_name, at_run_time, method, method_at_run_time], ids=lambda f: f.__name__)
def test_the_source_is_used(f):
    assert gradient(f)(1.5, Choice(first=first, Sum=Sum)) == pytest.approx(3 * 1.5**2)


@pytest.mark.parametrize("name", ["times", "__call__"])
@pytest.mark.parametrize("make", [Scaled, lambda x: Choice(made=Scaled(x)).made])
def test_the_cotangent_of_the_object_of_a_method(make, name):
    """A rule gives it by value; it belongs into the table of what is written into."""

    def f(x, choice):
        made = choice.make(x)
        made.kept.append(x)
        y = made.times(x) if name == "times" else made(x)
        return y * made.kept[0]

    assert gradient(f)(1.5, Choice(make=make)) == pytest.approx(3 * 1.5**2)


def test_the_next_rule_is_used():
    def f(x, choice):
        values = []
        values.append(x)
        return square(values[0]) + choice.square(values[-1])

    assert gradient(f)(1.5, Choice(square=square)) == pytest.approx(2 * 20.0 * 1.5)


def written_by_name(x, choice):
    values = []
    values.append(x)
    return total(values, x * x) + values[-1]


def written_at_run_time(x, choice):
    values = []
    values.append(x)
    return choice.total(values, x * x) + values[-1]


def written_by_a_method(x, choice):
    made = Sum(x)
    return made.add(x * x) * made.kept[0]


@pytest.mark.parametrize("f", [written_by_name, written_at_run_time, written_by_a_method], ids=lambda f: f.__name__)
def test_a_source_that_writes_is_refused(f):
    """A rule writes nothing, and so its caller was compiled."""
    with pytest.raises(MutationError, match="writes into its arguments"):
        gradient(f)(1.5, Choice(total=total))
