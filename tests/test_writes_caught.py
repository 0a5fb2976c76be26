"""Calls of functions that write, where their exceptions are caught."""

import contextlib

import numpy as np
import pytest

from adcompiler import MutationError, pullback
from tests.promises import check_raises, check_refused
from tests.writes import check_writes, programs

X = np.array([0.3, -0.2, 0.7, 1.1])
A = np.array([[1.3, 0.2, -0.4, 0.9], [0.1, 0.9, 0.5, 0.25]])


def scaled(v, k):
    v[:] = v * k
    v[0] += v[1]
    return v


def halfway(v, k):
    v[0] = k * k
    if k > 0.5:
        raise ValueError("too large")
    v[1] = k


# Calls that come to their end


def before_an_exception(x, a):
    try:
        scaled(x, a[0, 0])
        x[7] = 3.0
    except IndexError:
        scaled(x, a[0, 1])
    return x


def value_used_by_what_raises(x, a):
    try:
        x[a.size] = scaled(x, a[0, 0])[1] * scaled(a[1], x[2])[0]
    except IndexError:
        x *= a[1]
    return x, a


def cleaned_up(x, a):
    try:
        y = scaled(x, a[0, 0])
        y[1] *= 2.0
    finally:
        scaled(x, y[1])
    return x


def in_a_loop(x, a):
    for k in range(3):
        try:
            halfway(x, a[0, 1] * k)
            x[k + 2] *= scaled(a[1], x[k])[0]
        except IndexError:
            break
    return x, a


def under_a_context(x, a):
    with contextlib.suppress(IndexError):
        scaled(x, a[0, 0])
        x[9] = 2.0
        scaled(x, a[0, 1])
    return x


def into_containers(x, a):
    items = [x]

    def add(v):
        items.append(v * 2.0)
        items[0][1] = v[0]

    try:
        add(x)
        items[5] = x
    except IndexError:
        add(items[1])
    return items[1] * items[2]


def on_some_paths(x, a):
    y = a[0] if x[0] > 0 else a[1].copy()
    try:
        if a[0, 0] > 0:
            scaled(y, x[2])
        z = scaled(x, y[1])
        z[4] = 1.0
    except IndexError:
        y *= x
    else:
        scaled(y, 2.0)
    return a, x


def in_handler_and_finally(x, a):
    for k in range(2):
        try:
            x[k + 3] = scaled(a[0], x[k])[1]
        except IndexError:
            halfway(a[1], x[0] * 0.1)
            continue
        finally:
            scaled(x, a[0, 1])
    return x, a


@programs(before_an_exception, value_used_by_what_raises, cleaned_up, in_a_loop, under_a_context, into_containers,
          on_some_paths, in_handler_and_finally)  # fmt: skip
def test_calls_that_end(program):
    """What a call has written is followed, whatever is raised and caught behind it."""
    check_writes(program, X, A)


# Calls that raise


def caught(x, a):
    try:
        halfway(x, a[0, 0])  # refused
    except ValueError:
        x *= 2.0
    return x


def caught_around(x, a):
    try:
        try:
            halfway(x, a[0, 0])  # refused
        finally:
            x *= 3.0
    except Exception:
        x *= 2.0
    return x


def caught_inside_another(x, a):
    try:
        try:
            halfway(x, a[0, 0])  # refused
        except ValueError:
            x *= 3.0
    except Exception:
        x *= 2.0
    return x


def suppressed(x, a):
    with contextlib.suppress(ValueError):
        halfway(x, a[0, 0])  # refused
    return x


def left_by_finally(x, a):
    for _ in range(2):
        try:
            halfway(x, a[0, 0])  # refused
        finally:
            break  # noqa: B012
    return x


def raised_in_a_handler(x, a):
    for _ in range(2):
        try:
            x[9] = 1.0
        except IndexError:
            halfway(x, a[0, 0])  # refused
        finally:
            break  # noqa: B012
    return x


@programs(caught, caught_around, caught_inside_another, suppressed, left_by_finally, raised_in_a_handler)
def test_calls_that_raise(program):
    """A call that wrote and raised has no record: it is refused to go on behind it, by whatever it was caught."""
    check_refused(MutationError, program, X, A)
    with pytest.raises(MutationError) as refused:
        pullback(program, X.copy(), A.copy())
    assert isinstance(refused.value.__cause__, ValueError)


def not_caught(x, a):
    try:
        halfway(x, a[0, 0])
    except IndexError:
        x *= 2.0
    return x


def passed_on(x, a):
    try:
        halfway(x, a[0, 0])
    finally:
        x *= 2.0
    return x


@programs(not_caught, passed_on)
def test_calls_whose_exceptions_pass(program):
    """What nobody catches reaches the user as it is."""
    check_raises(ValueError, program, X.copy(), A.copy())
