"""What a program can tell of its arrays stays as it is where single use gives memory back."""

import weakref

import numpy as np

from adcompiler import non_differentiable, value_and_grad
from tests.promises import check
from tests.writes import programs

X = np.array([0.3, -0.7, 1.2, 0.5])
A = np.arange(12.0).reshape(3, 4) * 0.1 - 0.4
W = np.linspace(-1.0, 1.0, 12)


# Order in memory


def read_as_it_lies(a):
    c = a.T.copy(order="C")
    return np.sum((c + a.T * 2.0).ravel(order="K") * W)


def reshaped_as_it_lies(a):
    c = a.copy(order="F")
    return (a * 3.0 - c).reshape(-1, order="A") * W


def in_order_of_the_first(a):
    c = a.T.copy(order="C")
    return ((a.T * 2.0) * c).ravel(order="K") * W


@programs(read_as_it_lies, reshaped_as_it_lies, in_order_of_the_first)
def test_results_lie_in_memory_as_in_a_plain_run(program):
    """A result goes into an operand only if it would lie in memory in the same order."""
    check(program, A)


# Identity


def total_once(x, seen):
    if id(x) in seen:
        return 0.0
    seen.add(id(x))
    return np.sum(x)


def by_identity(x):
    seen = set()
    u = x * 2.0
    t = total_once(u, seen)
    v = x + 3.0
    t = t + total_once(v, seen)
    w = x - 3.0
    return t + total_once(w, seen)


def in_place_of_itself(x):
    seen = set()
    u = x * 2.0
    t = total_once(u, seen)
    u = u + x
    return t + total_once(u, seen) + np.sum(u)


watched = []


def watch(x):
    watched[:] = [weakref.ref(x)]


def is_alive():
    return watched[0]() is not None


non_differentiable(watch, is_alive)


def by_weak_reference(x):
    h = x * 2.0
    watch(h)
    y = np.sum(h) * x
    return y * (1.0 + is_alive())


@programs(by_identity, in_place_of_itself, by_weak_reference)
def test_variables_live_as_long_as_in_a_plain_run(program):
    """Each array that a variable holds has an identity of its own until the variable goes."""
    check(program, X)


def test_identities_of_large_arrays():
    """The same by the default, which lets go of large arrays as of small ones."""
    x = np.linspace(0.0, 1.0, 20_000)
    value, grad = value_and_grad(by_identity)(x)
    np.testing.assert_allclose(value, by_identity(x))
    np.testing.assert_allclose(grad, np.full_like(x, 4.0))


# Types


def a_number_or_an_array(x):
    v = np.array(x[0]) * 2.0
    return x * 3.0 if isinstance(v, float) else x


def test_arithmetic_on_arrays_of_shape_none_gives_numbers():
    """What NumPy makes a number of is not put into an array."""
    check(a_number_or_an_array, X)


# Variables that are bound again


def bound_to_an_element(x):
    h = x[:2] * 2.0
    h = x.reshape((2, -1))[0]
    return h[1] + np.sum(x)


def bound_to_a_number(x):
    z = 1j * x[2:]
    z = 0.5
    return z * x[0]


def squared_in_place(x):
    h = x[:2] * 2.0
    h **= 2
    return np.sum(x)


@programs(bound_to_an_element, bound_to_a_number, squared_in_place)
def test_a_variable_that_is_bound_again_is_not_what_it_was(program):
    """A result in the place of an operand is not read by the name of a variable that has another value by then."""
    check(program, X)
