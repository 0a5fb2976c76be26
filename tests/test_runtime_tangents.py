"""Sums of cotangents of any structure, gradients of objects, and delayed cotangents."""

import copy
import pickle
from collections import namedtuple

import numpy as np
import pytest

from adcompiler import gradient, rrule
from adcompiler.runtime.errors import DifferentiationError, TangentError
from adcompiler.runtime.tangents import NotImplementedTangent, Tangent, Thunk, accumulate, equal, scale, unthunk

Pair = namedtuple("Pair", "first second")


class Dense:
    """A class that tangents belong to."""


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (None, None, None),
        (None, 2.0, 2.0),
        (2.0, None, 2.0),
        (1.0, 2.0, 3.0),
        (1.0, 2j, 1 + 2j),
        (np.float32(1), 2.0, np.float32(3)),
        (np.array([1.0, 2.0]), 1.0, np.array([2.0, 3.0])),
        ((1.0, None), (None, 2.0), (1.0, 2.0)),
        ([1.0, None], [2.0, None], [3.0, None]),
        (Pair(1.0, None), (2.0, 3.0), Pair(3.0, 3.0)),
        ({"a": 1.0}, {"b": 2.0}, {"a": 1.0, "b": 2.0}),
        ({"a": (1.0, None)}, {"a": (1.0, 2.0)}, {"a": (2.0, 2.0)}),
        ([1.0, None], np.array([2.0, 3.0]), [3.0, 3.0]),
        (np.array([2.0, 3.0]), (1.0, None), (3.0, 3.0)),
        (Tangent(Dense, W=1.0), Tangent(Dense, b=2.0), Tangent(Dense, W=1.0, b=2.0)),
        (Tangent(Dense, W=1.0), {"W": 2.0}, Tangent(Dense, W=3.0)),
        ({"W": 2.0}, Tangent(Dense, W=1.0), Tangent(Dense, W=3.0)),
    ],
)
def test_accumulate_adds_entry_by_entry(a, b, expected):
    """None is zero; numbers, arrays and structures are added, and the type of the structure stays."""
    total = accumulate(a, b)
    assert type(expected) is type(total)
    assert equal(expected, total)


def test_accumulate_changes_neither_operand():
    """A cotangent may be used again, so sums are new objects all the way down."""
    a, b = {"x": [np.ones(2), None]}, {"x": [np.ones(2), 1.0], "y": 2.0}
    before = copy.deepcopy((a, b))
    accumulate(a, b)
    assert equal(before, (a, b))


@pytest.mark.parametrize(("a", "b"), [((1.0,), (1.0, 2.0)), ([1.0], 1.0), ({"a": 1.0}, (1.0,)), (Tangent(Dense), 1.0)])
def test_accumulate_refuses_different_structures(a, b):
    """Two cotangents of one value cannot differ in structure."""
    with pytest.raises(TangentError, match="different structure"):
        accumulate(a, b)


def test_accumulate_resolves_thunks_and_absorbs_what_is_not_implemented():
    """A delayed cotangent is computed at the first sum, and a missing derivative stays missing."""
    missing = NotImplementedTangent("of the seed")
    assert 3.0 == accumulate(Thunk(lambda: 1.0), 2.0)
    assert missing is accumulate(1.0, missing)
    assert missing is accumulate(missing, (1.0, 2.0))


def test_not_implemented_tangent_fails_with_its_reason():
    """The error says which derivative it was."""
    with pytest.raises(DifferentiationError, match="not implemented: of the seed"):
        NotImplementedTangent("of the seed").fail()


@pytest.mark.parametrize(
    "use",
    [
        lambda c: c * 2.0,
        lambda c: np.ones(2) * c,
        lambda c: -c,
        lambda c: c[0],
        lambda c: np.sum(c),
        lambda c: np.ones((2, 2)) @ c,
        lambda c: c.dtype,
        float,
        np.asarray,
    ],
)
def test_not_implemented_tangent_fails_where_it_is_used(use):
    """The reason is said where a number is wanted; a sum absorbs."""
    missing = NotImplementedTangent("of the seed")
    with pytest.raises(DifferentiationError, match="not implemented: of the seed"):
        use(missing)
    assert missing is missing + 1.0 is np.ones(2) + missing


def test_not_implemented_tangent_names_the_line_of_the_user():
    """What a rule does not give, and an operation before it asks for."""

    def scaled(x, a):
        return x * a

    @rrule(scaled)
    def scaled_rule(x, a):
        return x * a, lambda y_bar: (y_bar * a, NotImplementedTangent("with respect to a"))

    assert 2.0 == gradient(lambda x: scaled(x, 2.0))(1.0)
    with pytest.raises(DifferentiationError, match=r"(?s)with respect to a.*test_runtime_tangents"):
        gradient(lambda a: scaled(3.0, a * 2.0))(1.0)


def test_tangent_is_read_by_attribute_and_item():
    """Fields are attributes, items, and pairs; a field may have any name."""
    tangent = Tangent(Dense, W=1.0, items=2.0, cls=3.0)
    assert 1.0 == tangent.W == tangent["W"]
    assert 2.0 == tangent["items"]
    assert 3.0 == tangent.cls
    assert [("W", 1.0), ("items", 2.0), ("cls", 3.0)] == list(tangent.items())
    assert ["W", "items", "cls"] == list(tangent)
    assert "W" in tangent
    assert 3 == len(tangent)
    assert tangent.get("b") is None


def test_tangent_says_which_field_is_missing():
    """A misspelt field is an AttributeError that names the class."""
    with pytest.raises(AttributeError, match=r"Tangent\(Dense: W=1.0\) has no field 'w'"):
        _ = Tangent(Dense, W=1.0).w


def test_tangent_shows_its_class_and_fields():
    """The repr is what one wants to read in a debugger."""
    assert "Tangent(Dense: W=1.0, b=None)" == repr(Tangent(Dense, W=1.0, b=None))


def test_tangents_are_added_and_scaled():
    """Arithmetic goes through every entry, and None stays zero."""
    tangent = Tangent(Dense, W=np.array([1.0, 2.0]), b=None, deep=[{"a": 1.0}])
    assert Tangent(Dense, W=np.array([2.0, 4.0]), b=None, deep=[{"a": 2.0}]) == tangent + tangent == 2 * tangent
    assert tangent * np.float64(0.5) == 0.5 * tangent
    assert tangent == tangent + None
    with pytest.raises(TypeError):
        tangent + 1.0


def test_tangents_are_equal_if_class_and_entries_are():
    """Arrays are compared by shape and elements."""
    tangent = Tangent(Dense, W=np.ones(2))
    assert tangent == Tangent(Dense, W=np.ones(2))
    assert tangent != Tangent(Dense, W=np.ones((1, 2)))
    assert tangent != Tangent(Dense, W=None)
    assert tangent != Tangent(dict, W=np.ones(2))
    assert tangent != 1.0


def test_tangents_can_be_copied_and_pickled():
    """Attribute access does not get in the way of protocols that make an object without its fields."""
    tangent = Tangent(dict, W=1.0)
    assert tangent == copy.deepcopy(tangent) == pickle.loads(pickle.dumps(tangent))


def test_scale_keeps_none_and_structure():
    """None is zero also after multiplication."""
    assert equal((2.0, [None, {"a": 4.0}]), scale((1.0, [None, {"a": 2.0}]), 2))


def test_thunk_is_computed_once_and_gives_up_what_it_captured():
    """The second reading returns the same value, and the function is gone."""
    calls = []
    thunk = Thunk(lambda: calls.append(1) or 5.0)
    assert (5.0, 5.0) == (unthunk(thunk), thunk.value())
    assert [1] == calls
    assert thunk._fn is None


def test_unthunk_goes_through_every_structure():
    """Also a thunk that gives a thunk is resolved."""
    x = (
        Thunk(lambda: 1.0),
        [Thunk(lambda: Thunk(lambda: 2.0))],
        {"a": Thunk(lambda: None)},
        Pair(Thunk(lambda: 3.0), 4.0),
    )
    assert (1.0, [2.0], {"a": None}, Pair(3.0, 4.0)) == unthunk(x)
    assert Tangent(Dense, W=1.0) == unthunk(Tangent(Dense, W=Thunk(lambda: 1.0)))
