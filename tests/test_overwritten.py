"""Which values are copied for the pullback: those that a write may reach after they were read, and no others."""

import inspect

import numpy as np
import pytest

from adcompiler import ir
from adcompiler.alias import alias
from adcompiler.overwritten import Order, is_reached
from tests.promises import check
from tests.stages import specialisation

X = np.array([0.3, -0.7, 1.2])
MARK = "# read "


def reached(f, *args, after=False):
    """Whether a write may reach what is read of the array that is named in the mark at the end of a line."""
    lines, first = inspect.getsourcelines(f)
    ((number, name),) = [
        (number, line.rpartition(MARK)[2].strip()) for number, line in enumerate(lines, first) if MARK in line
    ]
    spec = specialisation(f, *args)
    at = [
        stmt
        for stmt in ir.statements(spec.body)
        if stmt.origin.line == number and any(name in ir.reads(e) for e in ir.expressions(stmt))
    ]
    aliases = alias(spec)
    return is_reached(Order(spec.body), aliases, at[-1], aliases.find(aliases.node(at[-1], name) or name), after)


# Reached


def written_after(x):
    y = x * 2.0
    s = np.sum(y * y)  # read y
    y[0] = 1.0
    return s


def written_by_another_name(x):
    y = x * 2.0
    v = y[1:]
    s = np.sum(y * y)  # read y
    v[0] = 1.0
    return s


def written_in_a_branch(x):
    y = x * 2.0
    s = np.sum(y * y)  # read y
    if s > 0.5:
        y[0] = 1.0
    return s


def written_earlier_in_the_loop(x):
    y = x * 2.0
    s = 0.0
    for k in range(3):
        y[k] = 1.0
        s += np.sum(y * y)  # read y
    return s


def written_later_in_the_loop(x):
    y = x * 2.0
    s = 0.0
    while s < 9.0:
        s += np.sum(y * y)  # read y
        y *= 2.0
    return s


def written_in_an_inner_loop(x):
    y = x * 2.0
    s = 0.0
    for _ in range(2):
        s += np.sum(y * y)  # read y
        for k in range(3):
            y[k] += s
    return s


def made_anew_in_the_outer_loop(x):
    s = 0.0
    for _ in range(2):
        y = x * 2.0
        for k in range(3):
            y[k] += s
            s += np.sum(y * y)  # read y
    return s


def carried_by_a_swap(x):
    old, s = x * 1.0, 0.0
    new = x * 0.0
    for _ in range(3):
        s += np.sum(old * old)  # read old
        new[1:] = old[:-1]
        old, new = new, old
    return s


def carried_to_the_next_iteration(x):
    last = x * 1.0
    s = 0.0
    for _ in range(3):
        last[0] = s
        y = x * 2.0
        s += np.sum(y * y)  # read y
        last = y
    return s


def kept_in_a_list(x):
    held = []
    s = 0.0
    for _ in range(3):
        y = x * 2.0
        s += np.sum(y * y)  # read y
        held.append(y)
        held[0][1] = s
    return s


def fill(a, v):
    a[...] = v


def written_by_a_helper(x):
    y = x * 2.0
    s = np.sum(y * y)  # read y
    fill(y, 1.0)
    return s


REACHED = [
    written_after,
    written_by_another_name,
    written_in_a_branch,
    written_earlier_in_the_loop,
    written_later_in_the_loop,
    written_in_an_inner_loop,
    made_anew_in_the_outer_loop,
    carried_by_a_swap,
    carried_to_the_next_iteration,
    kept_in_a_list,
    written_by_a_helper,
]


@pytest.mark.parametrize("f", REACHED, ids=lambda f: f.__name__)
def test_reached(f):
    """By a write further down, or by one of the next iteration."""
    assert reached(f, X)


# Not reached


def never_written(x):
    y = x * 2.0
    z = x * 3.0
    s = np.sum(y * y)  # read y
    z[0] = s
    return s + np.sum(z)


def written_before(x):
    y = x * 2.0
    y[0] = 1.0
    return np.sum(y * y)  # read y


def written_in_a_loop_before(x):
    y = np.zeros(3)
    for k in range(3):
        y[k] = x[k] * k
    return np.sum(y * y)  # read y


def made_in_each_iteration(x):
    s = 0.0
    for k in range(3):
        y = x * k
        y[0] = s
        s += np.sum(y * y)  # read y
    return s


def made_in_each_iteration_of_a_while(x):
    s = 0.0
    while s < 9.0:
        y = x * 2.0
        y[0] = 1.0
        s += np.sum(y * y)  # read y
    return s


UNREACHED = [
    never_written,
    written_before,
    written_in_a_loop_before,
    made_in_each_iteration,
    made_in_each_iteration_of_a_while,
]


@pytest.mark.parametrize("f", UNREACHED, ids=lambda f: f.__name__)
def test_not_reached(f):
    """All writes are over when the value is read, and the next iteration has memory of its own."""
    assert not reached(f, X)


def itself(x):
    y = x * 2.0
    y *= x  # read y
    return np.sum(y)


def test_a_statement_reaches_what_it_reads_itself():
    """Its own write comes after its reads, but not after its result."""
    assert reached(itself, X)
    assert not reached(itself, X, after=True)


@pytest.mark.parametrize("f", [*REACHED, *UNREACHED, itself], ids=lambda f: f.__name__)
def test_derivatives(f):
    """Whatever is copied, the derivative is right."""
    check(f, X)
