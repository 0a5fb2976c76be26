"""A rule that is not what a rule has to be: the message names it, and says what is wrong."""

from __future__ import annotations

import re

import pytest

from adcompiler import gradient, rrule
from adcompiler.runtime.errors import DifferentiationError


def few(x, y):
    return x * y, lambda y_bar: (y_bar * y,)


def many(x, y):
    return x * y, lambda y_bar: (y_bar * y, y_bar * x, None)


def bare(x, y):
    return x * y, lambda y_bar: y_bar * y


def no_pair(x, y):
    return x * y


def triple(x, y):
    return x * y, x, y


def no_pullback(x, y):
    return x * y, None


def no_parameter(x, y):
    return x * y, lambda: (y, x)


def type_error(x, y):
    return x * y, lambda y_bar: (None + y_bar, y_bar)


FAULTY = {
    few: "the pullback of the rule few(x, y) .* returned a tuple of 1, not a tuple of 2",
    many: "the pullback of the rule many(x, y) .* returned a tuple of 3, not a tuple of 2",
    bare: "the pullback of the rule bare(x, y) .* returned a float, not a tuple of 2",
    no_pair: "the rule no_pair(x, y) .* returned a float, not a value and its pullback",
    triple: "the rule triple(x, y) .* returned a tuple of 3, not a value and its pullback",
    no_pullback: "the rule no_pullback(x, y) .* returned a value and None, not a value and its pullback",
    no_parameter: "the pullback of the rule no_parameter(x, y) .* failed: .* takes 0 positional arguments",
    type_error: "the pullback of the rule type_error(x, y) .* failed: unsupported operand",
}


def ruled(rule):
    """A function that has this rule."""

    def product(x, y):
        return x * y

    rrule(product)(rule)
    return product


@pytest.mark.parametrize("rule", FAULTY, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("tracked", [False, True])
def test_the_message_names_the_rule(rule, tracked):
    product = ruled(rule)

    def called(x):
        return product(x, x)

    def called_beside_a_list(x):
        values = []
        values.append(x)
        return product(values[0], x)

    message = FAULTY[rule].replace("(x, y)", re.escape("(x, y)"))
    with pytest.raises(DifferentiationError, match=message) as caught:
        gradient(called_beside_a_list if tracked else called)(1.5)
    assert "return product(" in str(caught.value)
    assert (caught.value.__cause__ is not None) == (rule in (no_parameter, type_error))
    with pytest.raises(DifferentiationError, match=message):
        gradient(product)(1.5, 2.0)


def test_other_exceptions_of_a_pullback_stay_what_they_are():
    def failing(x, y):
        def pullback(y_bar):
            raise ZeroDivisionError("at this point")

        return x * y, pullback

    product = ruled(failing)
    with pytest.raises(ZeroDivisionError, match="at this point") as caught:
        gradient(lambda x: product(x, x))(1.5)
    assert any("the pullback of the rule failing(x, y)" in note for note in caught.value.__notes__)


def test_exceptions_of_the_forward_are_those_of_the_function():
    def failing(x, y):
        raise TypeError("not for these")

    product = ruled(failing)
    with pytest.raises(TypeError, match=r"^not for these"):
        gradient(lambda x: product(x, x))(1.5)
