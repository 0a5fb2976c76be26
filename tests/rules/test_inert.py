"""Functions without derivative, and one that only looks so."""

import numpy as np
import pytest

from adcompiler import gradient
from adcompiler.rules.registry import all_non_differentiable, is_non_differentiable, lookup


def test_no_function_is_both():
    """What has a rule is not declared to have no derivative."""
    assert [] == [found.key for found in all_non_differentiable() if lookup(found.key)]


@pytest.mark.parametrize("key", [np.sign, np.full, np.random.permutation, np.random.normal, np.sort, np.unique])
def test_what_carries_its_argument_is_not_declared_inert(key):
    """These have a derivative, if only off the real axis or with respect to one argument."""
    assert is_non_differentiable(key) is None


@pytest.mark.parametrize(
    "key", [np.floor, np.argmax, np.ndarray.argsort, np.isnan, np.zeros, np.ndarray.shape, np.int64]
)
def test_what_is_declared(key):
    """Steps, positions, predicates, fillings and descriptions."""
    assert is_non_differentiable(key) is not None


def test_answers_about_a_whole_array_are_single_numbers():
    """They multiply a number without giving it a shape."""

    def f(s, x):
        return np.sum(s * np.array_equal(x, x) * 2.0) + s * np.isscalar(x)

    assert gradient(f)(2.0, np.ones(3)) == 2.0
