"""Python's builtins."""

import operator

import numpy as np
import pytest

from adcompiler.rules.registry import is_non_differentiable, lookup
from adcompiler.runtime.errors import NoRuleError
from adcompiler.testing import case, check_rule, complex_normal, normal

CASES = [
    case(float, 1.5),
    case(float, np.float64(1.5)),
    case(complex, 1.5, 2.5),
    case(complex, 1.5),
    case(complex, 1.5 - 0.5j, id="complex"),
    case(sum, [1.5, 2.5, -0.5]),
    case(sum, (1.5, 2.5), id="tuple"),
    case(sum, [1.5, 2.5], 3.0, id="start"),
    case(sum, [normal(2, 3), normal(3), 1.5], id="entries that broadcast"),
    case(sum, [normal(2, 3)], normal(3), id="array and start"),
    case(sum, normal(4), id="array"),
    case(sum, normal(4, 3), id="rows"),
    case(sum, [complex_normal(3), normal(3)], id="complex"),
    *(case(key, 1.5, 2.5) for key in (max, min)),
    *(case(key, 1.5, 2.5, -0.5, id="three") for key in (max, min)),
    *(case(key, [1.5, 2.5, -0.5], id="list") for key in (max, min)),
    *(case(key, (1.5, 2.5), id="tuple") for key in (max, min)),
    *(case(key, normal(5), id="array") for key in (max, min)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(case):
    """The pullback is the adjoint of the derivative, and keeps the contract."""
    check_rule(case)


def bars(function, *args, y_bar=1.0):
    """The cotangents of `args`."""
    return lookup(function)[0].function(*args)[1](y_bar)


def test_float_of_an_array():
    """The cotangent of an array of one element has its shape."""
    assert bars(float, np.array(2.0), y_bar=3.0) == (3.0,)


def test_ties_are_shared():
    """Equal extremes get equal shares."""
    assert bars(max, 2.0, 2.0) == ((0.5, 0.5),)
    assert bars(min, 2.0, 3.0, 2.0) == ((0.5, 0.0, 0.5),)
    assert bars(max, [1.0, 2.0, 2.0, 2.0], y_bar=3.0) == (([0.0, 1.0, 1.0, 1.0],),)


def test_empty_sums():
    """The sum of nothing is its start."""
    assert bars(sum, []) == ([], None)
    assert bars(sum, (), 2.0) == ((), 1.0)


def test_sum_of_an_iterator_is_refused():
    """An iterator would be used up before its entries could be given their cotangents."""
    with pytest.raises(NoRuleError, match="make it a list"):
        bars(sum, iter([1.0, 2.0]))


def test_questions_and_steps_have_no_derivative():
    """They are declared so, and say what they return."""
    kinds = {len: "int", int: "whole", bool: "int", isinstance: "int", operator.lt: "elementwise", repr: "text"}
    assert kinds == {key: is_non_differentiable(key).kind for key in kinds}
    assert is_non_differentiable(round) is not None
    assert is_non_differentiable(np.floor) is not None


def test_what_carries_its_argument_is_not_declared_inert():
    """enumerate, zip, sorted and the like hand their elements on."""
    for key in (enumerate, zip, map, filter, reversed, sorted, list, tuple, dict, iter, next, getattr):
        assert is_non_differentiable(key) is None
