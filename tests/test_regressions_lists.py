"""Lists given where NumPy makes arrays of them: what was once a wrong number, or a crash."""

import math

import numpy as np
import pytest

from adcompiler import gradient, rrule
from tests.promises import check

Z = [1 + 1j, 0.2 + 0.4j]


def the_sum_of_complex_items(x, items):
    y = sum(items) * x
    return np.real(y) + 2 * np.imag(y)


def a_product_with_an_imaginary_number(x, z):
    y = math.prod([1j, z]) * x
    return np.real(y) + 2 * np.imag(y)


def an_inner_product_of_lists(x, z):
    y = np.vdot([1j], [z]) * x
    return np.real(y) + 2 * np.imag(y)


@pytest.mark.parametrize("items", [tuple(Z), Z, [1.0, 0.4j], np.array(Z)], ids=str)
def test_a_sum_of_complex_items(items):
    """A container may hold complex numbers, whatever else is in the call."""
    check(the_sum_of_complex_items, 0.7, items)


def test_products_of_complex_lists():
    """So may the lists that math.prod and np.vdot are given."""
    check(a_product_with_an_imaginary_number, 0.7, 0.5)
    check(an_inner_product_of_lists, 0.7, 0.5)


def a_list_that_broadcasts(x, y):
    return np.sum(np.multiply([x], y))


def two_lists(x, y):
    return np.sum(np.arctan2([x], [y]))


@pytest.mark.parametrize(
    ("program", "args"),
    [
        (a_list_that_broadcasts, (np.array([0.3, 0.8]), np.array([[0.5], [0.6]]))),
        (a_list_that_broadcasts, (np.array([0.3]), np.array([0.5, 0.6]))),
        (a_list_that_broadcasts, (0.3, np.array([0.5, 0.6]))),
        (two_lists, (0.3, 0.6)),
        (two_lists, (2, 0.6)),
    ],
)
def test_lists_that_broadcast(program, args):
    """A list becomes an array, whose cotangent is summed over what it was repeated along."""
    check(program, *args)


def several_at_once(x, y):
    a, b = np.atleast_1d(x, y)
    return a[0] * b[0]


def test_several_arrays_at_once():
    """np.atleast_1d of several arrays gives several."""
    check(several_at_once, np.array([0.3, 0.8]), 0.6)


def the_larger_of_float_and_complex(x, y):
    return np.real(np.maximum(x, y))


@pytest.mark.parametrize("args", [(0.8, 0.9 + 0.4j), (0.9 + 0.4j, 0.8)])
def test_the_larger_of_float_and_complex(args):
    """NumPy orders complex numbers by their real parts first."""
    check(the_larger_of_float_and_complex, *args)


# Dict displays

k = "b"  # a global with the name of a parameter below


def keys_from_arguments(x, k):
    d = {k: x * 2.0, "b": x * 5.0, "c": x}
    return d[k] * d["b"]


def one_key_twice(x):
    d = {"a": x * 2.0, "a": x * 5.0, 1: x, True: x * 7.0}  # noqa: F601
    return d["a"] * d[1]


def a_key_bound_again(x, k):
    d = {k: x * 2.0, "b": x * x}
    y = d[k]
    k = "zz"
    return y * d["b"], k


def a_dict_made_again(x, k):
    d = {k: x * 2.0}
    for _ in range(2):
        d = {k: d[k] * x}
    return d[k]


@pytest.mark.parametrize("key", ["a", "b", None])
@pytest.mark.parametrize("program", [keys_from_arguments, a_dict_made_again])
def test_a_key_that_is_an_argument(program, key):
    """A key is what it was when the dict was made; of two equal keys the later one's value stays."""
    check(program, 0.5, key)


def test_equal_keys():
    """The value that is overwritten in a display has no cotangent."""
    check(one_key_twice, 0.5)
    check(a_key_bound_again, 0.5, "a")


def doubled(x):
    """A list of a rule that does not say whether it is new."""
    return [x, 2 * x]


@rrule(doubled)
def doubled_rule(x):
    def pullback(y_bar):
        return (sum(factor * entry for factor, entry in zip((1, 2), y_bar, strict=True) if entry is not None),)

    return doubled(x), pullback


def list_of_a_rule(a):
    held = {"a": a}
    held["a"] = 5.0 * a
    return doubled(held["a"])[1] * 3.0


def test_a_list_that_a_rule_made_in_a_program_that_writes():
    """Its cotangent goes to the rule: 5 * 2 * 3."""
    assert gradient(list_of_a_rule)(0.7) == 30.0
