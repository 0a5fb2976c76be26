"""Writes in place: what the pullback read before a write is kept, by whatever name the memory is written."""

import numpy as np
import pytest

from adcompiler import gradient, pullback
from tests.promises import check

A = np.array([1.0, 2.0, 3.0])


def value_and_pullback(f, *args):
    """The value and the first cotangent."""
    value, back = pullback(f, *args)
    return value, back(1.0)[0]


def rebinds(x):
    y = x * 2.0
    y += x
    return np.sum(y * y)


def rebinds_after_use(x):
    y = x * 2.0
    z = np.sin(y)
    y *= y
    y -= z
    return np.sum(y)


def returned(x):
    total = np.zeros(3)
    for k in range(1, 3):
        total += k * x
    return np.sum(total) * 2.0


def rebound_parameter(x):
    x = x * 2.0
    x += 1.0
    return np.sum(x * x)


def element_of_constant(x):
    z = np.ones(3)
    y = 0.0
    for i in range(3):
        y = y + np.sum(x * z)
        z[i] = 5.0
    return y


def alias_of_constant(x):
    z = np.ones(3)
    w = z
    y = 0.0
    for _ in range(3):
        y = y + x @ w
        z[0] += 1.0
    return y


def view_of_constant(x):
    z = np.array([3.0, 2.0, 1.0])
    q = z[:2]
    y = x[:2] @ q
    z[0] = 100.0
    return y


def constant_through_view(x):
    z = np.ones(3)
    y = np.sum(x * z)
    z.reshape(3, 1)[0, 0] = 9.0
    return y


def out_argument(x):
    z = np.array([1.0, 2.0, 3.0])
    y = x @ z
    np.multiply(z, 2.0, out=z)
    return y


def sorted_in_place(x):
    z = np.array([3.0, 2.0, 1.0])
    y = x @ z
    z.sort()
    return y


def mask_written(x):
    m = np.array([True, False, True])
    y = np.where(m, x, 2 * x)
    m[:] = False
    return np.sum(y)


def fill(z, v):
    z[...] = v


def helper_writes(x):
    z = np.ones(3)
    y = x * z
    fill(z, 5.0)
    return np.sum(y * z)


def closure_reads_before_and_after(x):
    z = np.ones(3)

    def times(t):
        return t * z

    y = times(x)
    z[0] = 5.0
    return np.sum(y * times(x))


def list_written(x):
    w = [1.0, 2.0]
    w[0] = 7.0
    return np.sum(x) * w[0]


def dict_written(x):
    w = {"a": 1.0}
    y = np.sum(x) * w["a"]
    w["a"] = 7.0
    return y * w["a"]


def list_appended(x):
    w = [1.0, 2]
    w.append(5.0)
    w.pop(0)
    return np.sum(x) * w[0] * w[-1]


def counter_in_list(x):
    n = [0]

    def step(t):
        n[0] = n[0] + 1
        return t * n[0]

    return np.sum(step(x) + step(x))


@pytest.mark.parametrize(
    ("f", "value", "expected"),
    [
        (rebinds, 126.0, [18.0, 36.0, 54.0]),
        (rebinds_after_use, 56.0 - np.sum(np.sin(2 * A)), 8 * A - 2 * np.cos(2 * A)),
        (returned, 36.0, [6.0, 6.0, 6.0]),
        (rebound_parameter, 83.0, [12.0, 20.0, 28.0]),
        (element_of_constant, 34.0, [11.0, 7.0, 3.0]),
        (alias_of_constant, 21.0, [6.0, 3.0, 3.0]),
        (view_of_constant, 7.0, [3.0, 2.0, 0.0]),
        (constant_through_view, 6.0, [1.0, 1.0, 1.0]),
        (out_argument, 14.0, [1.0, 2.0, 3.0]),
        (sorted_in_place, 10.0, [3.0, 2.0, 1.0]),
        (mask_written, 8.0, [1.0, 2.0, 1.0]),
        (helper_writes, 30.0, [5.0, 5.0, 5.0]),
        (closure_reads_before_and_after, 18.0, [10.0, 4.0, 6.0]),
        (list_written, 42.0, [7.0, 7.0, 7.0]),
        (dict_written, 42.0, [7.0, 7.0, 7.0]),
        (list_appended, 60.0, [10.0, 10.0, 10.0]),
        (counter_in_list, 18.0, [3.0, 3.0, 3.0]),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_values_read_before_a_write(f, value, expected):
    """The pullback uses what was read, and not what was written there later."""
    assert value == pytest.approx(f(A.copy()))
    result, grad = value_and_pullback(f, A.copy())
    assert value == pytest.approx(result)
    np.testing.assert_allclose(grad, expected, rtol=1e-12)


@pytest.mark.parametrize("f", [rebinds, rebinds_after_use, returned, rebound_parameter, view_of_constant, mask_written])
def test_supported(f):
    """An array that nothing else refers to may be changed by augmented assignment, a constant one by any write."""
    pullback(f, A.copy())


def row_written(x):
    z = x * 2.0
    row = z[1:]
    z += 1.0
    return np.sum(row)


def tuple_holds(x):
    z = x * 2.0
    t = (z, 1)
    z += 1.0
    return np.sum(t[0])


def iterated(x):
    z = x * 2.0
    s = 0.0
    for e in z:
        z += e
        s += e * e
    return s


def captured(x):
    z = x * 2.0
    read = lambda: z
    z += 1.0
    return np.sum(read() * read())


def add_to(z, x):
    z += x


def helper_changes(x):
    z = x * 2.0
    add_to(z, x)
    return np.sum(z * z)


def constant_becomes_active(x):
    z = np.zeros(3)
    add_to(z, x)
    return np.sum(z * z)


def argument_changed(x):
    x += 1.0
    return np.sum(x * x)


def argument_element(x):
    x[0] = 1.0
    return np.sum(x)


def alias_changed(x):
    y = x
    s = x @ x
    y[0] = 7.0
    return s


def appended(x):
    w = []
    w.append(x)
    return np.sum(w[0])


@pytest.mark.parametrize(
    "f",
    [
        row_written,
        tuple_holds,
        iterated,
        captured,
        helper_changes,
        constant_becomes_active,
        argument_changed,
        argument_element,
        alias_changed,
        appended,
    ],
    ids=lambda f: f.__name__,
)
def test_writes_into_what_carries_a_derivative(f):
    """By whatever name it is reached."""
    check(f, A.copy())


G = np.array([3.0, 2.0, 1.0])


def test_a_global_array_that_the_function_writes():
    """What was read of a global before the write is what the pullback uses."""

    def f(x):
        y = x * G
        G[0] += 1.0
        return np.sum(y)

    G[:] = [3.0, 2.0, 1.0]
    _, grad = value_and_pullback(f, A)
    np.testing.assert_array_equal([3.0, 2.0, 1.0], grad)
    assert 4.0 == G[0]


def test_scalars_are_rebound():
    """`+=` on a number never writes, whatever other names hold it."""

    def f(x):
        y = x
        z = y
        y += 2.0
        z *= y
        return x * z

    assert 2.0 * 3.0 * 5.0 + 9.0 == gradient(f)(3.0)


def number_like_parameter_written(b):
    c = b
    b *= 3.0
    return b * c


def number_like_array_written_twice(x):
    b = np.array(x * 1.0)
    b *= 3.0
    c = b
    b *= 3.0
    return b * c


@pytest.mark.parametrize("f", [number_like_parameter_written, number_like_array_written_twice])
def test_an_array_of_no_dimension_is_written_in_place(f):
    """An array of shape () is one memory block although `x * v` of it would be a number."""
    check(f, np.array(0.4))
