"""Messages that say what was met and what to do, where they once said something else."""

import linecache
import traceback

import numpy as np
import pytest

import adcompiler
from adcompiler import (
    DifferentiationError,
    NoRuleError,
    NotScalarError,
    TangentError,
    UnsupportedSyntaxError,
    gradient,
    pullback,
    tree_map,
)

X = np.array([1.0, 2.0, 3.0])
STATE = 1.0


class Vector:
    def __init__(self, a):
        self.a = a

    def __add__(self, other):
        return Vector(self.a + (other.a if isinstance(other, Vector) else other))

    __radd__ = __add__


def rebinds_a_global(x):
    global STATE
    STATE = x[0]
    return STATE * x[1]


def sum_of_objects(x):
    return sum([Vector(x[0]), Vector(x[1])]).a


def sum_from_an_object(x):
    return sum([Vector(x[0]), Vector(x[1])], Vector(0.0)).a


def pair(x):
    return x[0], x[1]


@pytest.mark.parametrize(
    ("program", "kind", "words", "others"),
    [
        (rebinds_a_global, UnsupportedSyntaxError, "an assignment to STATE, which is global", "Move it out"),
        (sum_of_objects, NoRuleError, "Vector has no", "Convert it"),
        (sum_from_an_object, NoRuleError, "Combine the items in a loop", "Convert it"),
        (pair, NotScalarError, "has_aux=True", "Is a return missing"),
    ],
)
def test_messages(program, kind, words, others):
    """The message says what stands in the line that it shows."""
    with pytest.raises(kind) as caught:
        gradient(program)(X)
    assert words in str(caught.value)
    assert others not in str(caught.value)


def test_except_star():
    """A refused `except*` is called so."""
    text = "def f(x):\n    try:\n        y = x * 2\n    except* ValueError:\n        y = x\n    return y\n"
    name, scope = "<except star>", {}
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)
    with pytest.raises(UnsupportedSyntaxError, match=r"except\*"):
        gradient(scope["f"])(1.0)


def test_names_of_exceptions():
    """Tracebacks call the exceptions as users import them."""
    with pytest.raises(UnsupportedSyntaxError) as caught:
        gradient(rebinds_a_global)(X)
    shown = traceback.format_exception_only(caught.value)
    assert shown[0].startswith("adcompiler.UnsupportedSyntaxError: ")
    for cls in (DifferentiationError, *DifferentiationError.__subclasses__()):
        assert getattr(adcompiler, cls.__name__) is cls
        assert cls.__module__ == "adcompiler"


def two(x):
    return x * 2.0, {"a": x[0]}


def made(x):
    return Vector(x[0])


@pytest.mark.parametrize(
    ("program", "cotangent", "wanted"),
    [
        (two, 1.0, "a tuple with 2 cotangents"),
        (two, (X, 1.0), "a dict with cotangents for 'a'"),
        (two, (X, {"b": 1.0}), "a dict with cotangents for 'a'"),
        (two, (np.ones(2), None), "an array of shape (3,)"),
        (two, (X, {"a": "text"}), "a number or None"),
        (made, Vector(1.0), "a Tangent or dict with cotangents for 'a'"),
        (made, {"b": 1.0}, "a Tangent or dict with cotangents for 'a'"),
    ],
)
def test_cotangents_of_another_form(program, cotangent, wanted):
    """A wrong cotangent is refused with what was expected, and does not use the pullback up."""
    _, back = pullback(program, X, single_use=True)
    with pytest.raises(TangentError) as caught:
        back(cotangent)
    assert f"Give {wanted}" in str(caught.value)
    assert back(None) == (None,)


def test_gradients_of_another_form():
    """`tree_map` refuses gradients of other parameters with what was expected."""
    with pytest.raises(TangentError, match="Give a dict with cotangents for 'a'"):
        tree_map(np.subtract, {"a": 1.0}, {"b": 1.0})
    assert tree_map(np.subtract, {"a": 1.0}, {}) == {"a": 1.0}
