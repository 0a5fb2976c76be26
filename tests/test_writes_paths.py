"""Writes on paths that only the run knows: functions found at run time, exceptions, early exits."""

import contextlib

import numpy as np

from adcompiler import MutationError
from tests.promises import check_refused
from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2, 0.5])
P = np.array([1.4, 0.6, 2.1, 0.8])


# Functions known at run time only


def reader(a, c):
    return np.sum(a * c)


def viewer(a, c):
    return a[1:]


def writer(a, c):
    a[0] *= c
    return a


def called_at_run_time(x, p, fs):
    y = x * p
    s = fs[0](y, p[0])
    y[0] = np.sum(s)
    y *= x
    s = fs[1](y, p[1])
    y[1] *= 3.0
    return y * np.sum(s)


def test_functions_found_at_run_time():
    """Those that read may be called and their arguments written later; one that writes is refused."""
    check_writes(called_at_run_time, X, P, [reader, reader])
    check_writes(called_at_run_time, X, P, [viewer, viewer])


def writer_at_run_time(x, p, fs):
    y = x * p
    fs[int(x[0] > 9.0)](y, p[0])  # refused
    return y


def test_a_writer_found_at_run_time():
    """It is followed if it is known after all, and else refused at the call."""
    check_writes(called_at_run_time, X, P, [writer, viewer])
    check_refused(MutationError, writer_at_run_time, X, P, [writer, reader])


# Contexts


def in_a_try(x, p):
    y = x * 1.0
    try:
        y[0] = p[0] ** 2
        y[1:] *= p[1:]
        y[7] = 1.0
    except IndexError:
        y[1] += y[0] * p[2]
    else:
        y[:] = 0.0
    finally:
        y *= p
    return y


def partly_written(out, x):
    out[0] = x[1] * x[2]
    if out[0] < 0:
        raise ValueError("negative")
    out[1:] = 0.0


def written_before_it_was_raised(x, p):
    y = p * 1.0
    try:
        partly_written(y, x)  # refused
    except ValueError as error:
        y[1] = len(error.args) * y[0] * p[1]
    return y * x


def in_a_with(x, p):
    y = x * 1.0
    with contextlib.suppress(ValueError):
        y[0] *= p[0]
        y[1:] = p[:3] * float("1.0")
        y[2] = float("none") * x[0]
    with np.errstate(all="ignore"):
        y[1] /= p[1]
    return y


def early_returns(x, p):
    y = np.zeros(4)
    for i in range(4):
        y[i] = x[i] * p[i]
        if i == 2:
            y[0] += y[2]
            return y * x
    y *= 5.0
    return y


def loops_with_exits(x, p):
    y = p * 1.0
    i = 0
    while True:
        y[i % 4] *= x[i % 3]
        i += 1
        if i == 3:
            continue
        y[0] += y[i % 4]
        if i > 5:
            break
    return y


def test_a_call_that_writes_before_it_raises():
    """What it wrote could not be told from what it did not."""
    check_refused(MutationError, written_before_it_was_raised, X, P)


def items_of_what_is_written(x, p):
    m = p
    for v in p:
        p[:] = sum(q * x[0] for q in m)
        p[0], x[3] = [0.5 * v, v]
    return x * p


def a_view_before_an_exit(x, p):
    u = x
    w = u[::1]
    x *= 0.5
    m = np.outer(p, x)
    w[::1] = m.sum(axis=0)
    if p[0] > 0:
        return m
    return w @ p


def a_view_before_an_exit_not_taken(x, p):
    u = x
    w = u[::1]
    x *= 0.5
    m = np.outer(p, x)
    w[::1] = m.sum(axis=0)
    if p[0] < 0:
        return m
    return w @ p


def to_rows(m, a):
    for i, row in enumerate(m):
        row += a * 0.2
        if i == 1:
            row[0] = a[2]
    return m


KEPT = [np.zeros(4), np.zeros(4)]


def joined_in_a_loop(x, p):
    m = p
    KEPT[:] = [np.zeros(4), np.full(4, 0.4)]
    for _ in m.reshape(2, 2):
        m = to_rows(m, np.concatenate([x[1:], x[:1]]))
    return m


@programs(in_a_try, in_a_with, early_returns, loops_with_exits, items_of_what_is_written, a_view_before_an_exit,
          a_view_before_an_exit_not_taken, joined_in_a_loop)  # fmt: skip
def test_writes_on_every_path(program):
    """What was written before an exception, a break or an early return stays written."""
    check_writes(program, X, P)
