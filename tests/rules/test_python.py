"""Python's builtins."""

import operator

import numpy as np
import pytest

from adcompiler import check_gradient, gradient
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

BY_HAND = {slice}  # its arguments are no numbers that have derivatives


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


def test_operators_called_as_functions():
    """As the operators themselves, of numbers, arrays and items."""
    x = np.array([0.5, -1.5])
    for f in (
        lambda x: operator.add(x, operator.mul(x, 2.0)),
        lambda x: operator.truediv(operator.sub(x, 3.0), operator.pos(x)),
        lambda x: operator.pow(operator.abs(x), 2.5) + operator.neg(x),
        lambda x: operator.mod(x, 0.4) + operator.matmul(x, x),
        lambda x: operator.getitem(x, 0) * operator.itemgetter(1)(x),
        lambda x: operator.floordiv(x, 0.4) * x + operator.lt(x, 0.0) * x,
        lambda x: operator.attrgetter("real")(x),
    ):
        check_gradient(lambda x: np.sum(f(x)), x)  # noqa: B023


@pytest.mark.parametrize(
    "f",
    [
        lambda x: operator.iadd(x, 1.0),
        lambda x: operator.imul(x, 2.0),
        lambda x: operator.call(np.sin, x),
        lambda x: operator.concat([x], [x])[0],
    ],
)
def test_operators_that_are_refused(f):
    """They may write into their first argument, or do something else with it than compute."""
    with pytest.raises(NoRuleError, match="Write the operator or the call itself"):
        gradient(f)(1.5)


def test_builtins_in_their_other_forms():
    """Extremes with key= and default=, sums with start=, divmod, rounding; a third argument of pow is for ints."""
    check_gradient(lambda x: max(x, 2.0, key=lambda v: -v) + min([x, 1.0], default=0.0), 1.5)
    check_gradient(lambda x: max([x, -2.0], key=abs) + sum([x, x], start=x), 1.5)
    check_gradient(lambda x: divmod(x, 0.4)[1] * round(x, 1) * pow(x, 2) * pow(3, 2, 5), 1.53)
    check_gradient(lambda x: abs(x) * abs(complex(x, 2.0)), -1.5)
    with pytest.raises(NoRuleError, match="too many positional arguments"):
        gradient(lambda x: pow(x, 2, 5))(1.5)


def test_ends_of_slices():
    """Positions have no derivative, whatever they are read from; numbers that have one are refused."""
    x = np.array([0.3, -0.7, 1.1, 0.4])

    def between(x, ends):
        return np.sum(x[slice(*ends)] ** 2) * ends[0]

    check_gradient(lambda x: between(x, [1, 3]), x)
    with pytest.raises(NoRuleError, match="positions, which are whole numbers"):
        gradient(lambda at: slice(0, at).stop * 2.0)(1.0)
