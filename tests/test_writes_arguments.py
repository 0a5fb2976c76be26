"""Arguments of the differentiated function that it writes, opaque rules beside writes, and generators."""

from typing import NamedTuple

import numpy as np
import pytest

from adcompiler import MutationError, gradient, pullback, value_and_grad
from tests.promises import check_refused
from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2])
P = np.array([1.4, 0.6, 2.1])
A = np.array([[2.3, 0.2, -0.4], [0.1, 1.9, 0.5], [-0.6, 0.8, 2.1]])


# The caller's arrays


def written_and_returned(x, p):
    x[0] = p[1] * x[2]
    x *= p
    return x


def returned_with_a_view(x, p):
    x[1:] *= p[0]
    return x, x[::-1], p


def wholly_overwritten(x, p):
    x[:] = p * p
    return x * p


def not_returned(x, p):
    p[1] *= x[0]
    x.fill(0.0)
    p += x
    return np.sum(p * p)


def of_a_list(x, p):
    xs = [x, p]
    for v in xs:
        v *= xs[0]
    return xs


@programs(written_and_returned, returned_with_a_view, wholly_overwritten, not_returned, of_a_list)
def test_the_gradient_is_at_entry(program):
    """The caller's array changes as in a plain call; the gradient is with respect to what it held at entry."""
    check_writes(program, X, P)


def structure_of_arrays(params, x):
    params["w"][0] *= x[1]
    params["layers"][1] -= params["w"] * x
    b, scale = params["bias"]
    b += scale * params["layers"][0]
    params["w"] = b * 2.0
    return params["w"] * params["layers"][1]


def test_structures_of_arrays():
    """Arrays anywhere in an argument may be written."""
    params = {"w": P, "layers": [X * 2.0, A[0] * 1.0], "bias": (A[1] * 1.0, 0.7)}
    check_writes(structure_of_arrays, params, X)


class Model:
    def __init__(self, w):
        self.w = w
        self.rate = 0.1

    def update(self, g):
        self.w -= self.rate * g
        return self.w


def objects(model, x):
    w = model.update(x)
    w[0] *= x[1]
    model.update(w * x)
    return model.w * x


def test_objects_as_arguments():
    """A method may write the array of an object that is an argument."""
    check_writes(objects, Model(P.copy()), X)


def scaled_in_place(x, factor=2.0, *rest, offset):
    x *= factor
    for r in rest:
        r += x
    x += offset
    return sum(rest, x * factor)


def test_every_kind_of_parameter():
    """Positional, default, variadic and keyword parameters."""
    x, p, q = X.copy(), P.copy(), A[0].copy()
    plain = scaled_in_place(x, 3.0, p, q, offset=P)
    given = X.copy(), P.copy(), A[0].copy()
    y, back = pullback(scaled_in_place, given[0], 3.0, *given[1:], offset=P)
    np.testing.assert_array_equal(y, plain)
    np.testing.assert_array_equal(given, (x, p, q))
    x_bar, factor_bar, *rest_bar = back(np.ones(3))
    np.testing.assert_allclose(x_bar, [15.0] * 3)  # 3 (3 x + o) + (p + 3 x) + (q + 3 x)
    np.testing.assert_allclose(factor_bar, np.sum(6 * X + P + 2 * X))
    np.testing.assert_allclose(rest_bar, np.ones((2, 3)))


def test_every_entry():
    """`gradient` and `value_and_grad` write the caller's arrays as `pullback` does, at each call."""
    f = lambda x, p: np.sum(written_and_returned(x, p) * p)
    for run in (gradient(f, (0, 1)), lambda *a: value_and_grad(f, (0, 1))(*a)[1]):
        x = X.copy()
        first = run(x, P)
        np.testing.assert_array_equal(x, written_and_returned(X.copy(), P))
        np.testing.assert_allclose(first[0], [0.0, P[1] ** 2, P[2] ** 2 + P[0] ** 2 * P[1]])
        second = run(x, P)
        np.testing.assert_array_equal(second[0], first[0])
        assert not np.shares_memory(first[0], second[0])


# Arguments that overlap


def written_first(x, p):
    x[0] = p[1]
    return np.sum(x * p)


def written_second(x, p):
    np.add(x, 1.0, out=p)
    return np.sum(x * p)


def only_read(x, p):
    y = x * p
    y[0] = 3.0
    return np.sum(y)


@programs(written_first, written_second)
def test_written_arguments_that_overlap(program):
    """The gradient with respect to each of two arguments that are one memory does not exist once it is written."""
    base = np.concatenate([X, P])
    for x, p in ((base[:3], base[:3]), (base[:3], base[2:5]), (base[::-1][:4], base[:4])):
        with pytest.raises(MutationError, match="copy"):
            pullback(program, x, p)
    np.testing.assert_array_equal(base, np.concatenate([X, P]))
    pullback(program, base[:3], base[3:])
    pullback(program, np.zeros(6)[::2], np.zeros(6)[1::2])


def test_arguments_that_overlap_and_are_read():
    """Where they are only read, each has its gradient."""
    x_bar, p_bar = pullback(only_read, X, X)[1](1.0)
    np.testing.assert_array_equal(x_bar, [0.0, *X[1:]])
    np.testing.assert_array_equal(x_bar, p_bar)
    assert not np.shares_memory(x_bar, p_bar)


def parts_of_one_buffer(x, p):
    x[1:] = p[:2] * x[:2]
    p *= x
    return x + p


def test_interleaved_arguments():
    """Written arguments that are interleaved in one buffer, without a common element, are right or refused."""
    check_writes(parts_of_one_buffer, X, P)
    base = np.stack([X, P], axis=1).reshape(-1)
    plain = base.copy()
    value = parts_of_one_buffer(plain[::2], plain[1::2])
    try:
        y, back = pullback(parts_of_one_buffer, base[::2], base[1::2])
    except MutationError:
        np.testing.assert_array_equal(base, np.stack([X, P], axis=1).reshape(-1))
        return
    np.testing.assert_array_equal(y, value)
    np.testing.assert_array_equal(base, plain)
    expected = pullback(parts_of_one_buffer, X.copy(), P.copy())[1](np.ones(3))
    np.testing.assert_array_equal(back(np.ones(3)), expected)


WEIGHTS = np.array([1.0, 2.0, 3.0])


def beside_a_global(x):
    x *= 2.0
    return np.sum(x * WEIGHTS)


def test_a_written_argument_that_is_a_global():
    """The same of an argument and an array of the module."""
    check_writes(beside_a_global, X)
    with pytest.raises(MutationError):
        pullback(beside_a_global, WEIGHTS)


# Opaque rules


def solved_and_overwritten(a, b):
    x = np.linalg.solve(a, b)
    a *= 2.0
    b[:] = x * b
    x += b
    return a @ x


def inverse_overwritten(a, b):
    inv = np.linalg.inv(a)
    a[0] = b
    inv[1] *= inv[0] @ b
    return inv @ a


def factors_overwritten(a, b):
    s = a @ a.T + np.eye(3)
    low = np.linalg.cholesky(s)
    s[0] = b
    low[1:] += low[:-1]
    w, v = np.linalg.eigh(low + low.T)
    w *= b
    low[0] = w
    return np.abs(v) @ low @ w


def solved_in_a_loop(a, b):
    x = b * 1.0
    for i in range(3):
        y = np.linalg.solve(a, x)
        a[i] += y
        x *= y
        y[0] = x[1]
        a[0] -= y * 0.1
    return x


def transformed(a, b):
    z = np.fft.fft(b)
    b *= 2.0
    z[1] *= z[0]
    a[0] = np.fft.ifft(z).real
    z[:] = 0.0
    return a @ b


def sorted_and_interpolated(a, b):
    order = np.argsort(b)
    s = np.sort(b)
    y = np.interp(a[0], s, b)
    s[0] = y[1]
    b[order] = s
    order[:] = 0
    y *= b
    return y, b


@programs(solved_and_overwritten, inverse_overwritten, factors_overwritten, solved_in_a_loop, transformed,
          sorted_and_interpolated)  # fmt: skip
def test_operands_and_results_of_rules(program):
    """What a rule keeps for its pullback are its operands and results as they were."""
    check_writes(program, A, P)


# Generators


def partial_sums(x):
    acc = np.zeros(3)
    for v in x:
        acc[0] += v  # refused
        yield acc


def by_a_generator(x):
    s = 0.0
    for acc in partial_sums(x):
        s = s + np.sum(acc * acc)
    return s


def test_generators_that_write():
    """A generator that writes between its yields is refused."""
    check_refused(MutationError, by_a_generator, X, at=partial_sums)


# Named tuples


class Two(NamedTuple):
    """Two fields."""

    v: object
    w: object


def replaced_field(x, s, n):
    n.v[0] = s
    e = n._replace(w=s)
    return n.v * e.w * x


def rebound_argument(x, s, n):
    n.v[0] = s
    m = n
    n = Two(x * 2.0, s)
    n.v[1] = s * s
    return n.v * m.v * x * m.w


@programs(replaced_field, rebound_argument)
def test_arrays_in_named_tuples(program):
    """An array in a named tuple that is an argument may be written into, and the tuple taken apart."""
    check_writes(program, X, 2.0, Two(np.array([0.5, 0.6, 0.7]), 1.5))
