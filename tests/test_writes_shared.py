"""What rules keep and share beside writes: operands, results and cotangents that are one array in two places."""

import numpy as np

from adcompiler import MutationError, gradient, pullback, rrule
from tests.promises import check_refused
from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2])
A = np.array([[1.3, 0.2, -0.4], [0.1, 0.9, 0.5], [-0.6, 0.8, 1.1]])


# Rules of the user


def kept(x):
    return x * x


@rrule(kept)
def kept_rule(x):
    def back(y_bar):
        return (2.0 * x * y_bar,)

    return x * x, back


def operand_of_a_rule(x):
    y = x * 1.0
    z = kept(y)
    y *= 3.0
    z[0] = y[1]
    return y * z


def named(x):
    return x


@rrule(named)
def named_rule(x):
    return x, lambda y_bar: (y_bar,)


def result_of_a_rule_that_returns_its_argument(x):
    y = x * 2.0
    z = named(y)  # refused
    y[0] = 3.0
    return z * x


def test_rules_of_the_user():
    """A rule that keeps its argument is given a copy; one that returns it is refused where that is written."""
    check_writes(operand_of_a_rule, X)
    check_refused(MutationError, result_of_a_rule_that_returns_its_argument, X)


# Cotangents that are one array in two places


def one_activation_four_consumers(x, n):
    h = np.tanh(x)
    p, q, r, s = h + x, h * 2.0, h.reshape(-1), np.exp(h)
    h += p
    q -= h
    r *= s
    s[0] = q[n]
    return p + q + r + s


def sums_and_differences(x, n):
    y, z = x * 1.0, x * 2.0
    w = y + z
    y += w
    w -= y
    z -= w
    y *= 3.0
    w += y
    return w + z - y


def passed_through(x, n):
    y = x * 1.0
    z = -(0.0 - y)
    w = y.T.reshape(3) + 0.0
    y += z
    z *= 2.0
    w += y
    z += w
    y *= z
    return y + z + w


def joined_and_written(x, n):
    y, z = x * 1.0, x * x
    s = np.stack([y, z])
    c = np.concatenate([z, y])
    y += s[1]
    c[2:4] *= y[:2]
    s *= c[:3]
    z -= y
    return y + z + np.sum(s) * c[n]


@programs(one_activation_four_consumers, sums_and_differences, passed_through, joined_and_written)
def test_cotangents_that_rules_share(program):
    """Where a rule hands one cotangent to two operands, a later write to one of them leaves the other's alone."""
    check_writes(program, X, 2)


# Values that are computed late


def zipped_late(x):
    y = x * 1.0
    total = 0.0
    for a, b in zip(y, y[::-1], strict=True):
        y[1] += a * b
        total = total + y[1] * b
    return total * y


def rows_read_late(a):
    s = 0.0
    for row in a:
        a[2] *= row
        s = s + np.sum(row * row)
    return s * a


def test_values_computed_late():
    """An iterator over arrays sees the writes between its items."""
    check_writes(zipped_late, X)
    check_writes(rows_read_late, A)


def same_array_twice(x, y):
    z = x * 1.0
    z += y
    z[0] *= y[1]
    return np.sum(z * x)


def test_the_same_array_as_two_arguments():
    """It has a gradient for each, in memory of its own."""
    _, back = pullback(same_array_twice, X, X)
    x_bar, y_bar = back(1.0)
    assert not np.shares_memory(x_bar, y_bar)
    expected = gradient(same_array_twice, (0, 1))(X, X.copy())
    np.testing.assert_array_equal((x_bar, y_bar), expected)
