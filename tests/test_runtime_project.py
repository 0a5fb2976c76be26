"""Gradients as the user sees them: projected on the value, filled with zeros, free of shared memory, walked with it."""

import copy
import functools
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field

import numpy as np
import pytest

from adcompiler.runtime.errors import DifferentiationError, TangentError
from adcompiler.runtime.project import detach, materialize, project
from adcompiler.runtime.tangents import NotImplementedTangent, Tangent, Thunk, equal
from adcompiler.runtime.walk import tree_map

Pair = namedtuple("Pair", "first second")


@dataclass
class Dense:
    """A layer as users write them."""

    W: object
    b: object
    name: str = "dense"
    tags: list = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    """An object whose fields cannot be assigned."""

    w: float


class Slotted:
    """An object without an instance dictionary."""

    __slots__ = ("__private", "unset", "w")

    def __init__(self, w):
        self.w = w
        self.__private = w


def closure(a, n):
    """A function that captured a number and an int."""

    def f(x):
        return a * x**n

    return f


@pytest.mark.parametrize(
    ("ct", "primal", "expected"),
    [
        (1.0, 2.0, 1.0),
        (1, 2.0, 1.0),
        (np.float64(1), 2.0, 1.0),
        (np.array(1.0), 2.0, 1.0),
        (1 + 2j, 2.0, 1.0),
        (1.0, 2j, 1 + 0j),
        (1 + 2j, 2j, 1 + 2j),
        (1.0, np.float32(2), np.float32(1)),
        (np.float32(1), np.float64(2), np.float64(1)),
        (1 + 2j, np.float32(2), np.float32(1)),
        (1.0, np.complex64(2), np.complex64(1)),
        (2.0, np.array(1.0), np.array(2.0)),
        (2.0, np.ones((2, 1)), np.array([[2.0], [2.0]])),
        (np.array([1.0, 2.0]), np.ones((2, 2)), np.array([[1.0, 2.0], [1.0, 2.0]])),
        (np.array([1.0, 2.0]), np.ones(2, np.float32), np.array([1.0, 2.0], np.float32)),
        (np.array([1 + 2j]), np.ones(1), np.array([1.0])),
        (np.array([1.0]), np.ones(1, complex), np.array([1 + 0j])),
        ([1.0, None], np.ones(2), np.array([1.0, 0.0])),
        ([None, np.ones(2)], np.ones((2, 2)), np.array([[0.0, 0.0], [1.0, 1.0]])),
        (1.0, 3, None),
        (1.0, True, None),
        (1.0, "text", None),
        (1.0, None, None),
        (1.0, np.int64(3), None),
        (np.ones(2), np.arange(2), None),
        (np.ones(2), np.array([True, False]), None),
        (1.0, np.sin, None),
        (None, 1.0, None),
        (None, {"a": 1.0}, None),
    ],
)
def test_project_gives_a_leaf_its_type(ct, primal, expected):
    """The gradient of a number or array has its Python type, dtype, shape and realness; a constant has none."""
    actual = project(ct, primal)
    assert type(expected) is type(actual)
    assert getattr(expected, "dtype", None) == getattr(actual, "dtype", None)
    assert equal(expected, actual)


@pytest.mark.parametrize(
    ("ct", "primal", "expected"),
    [
        ((1, None), (1.0, 2.0), (1.0, None)),
        ([1, None], [1.0, "text"], [1.0, None]),
        (np.array([1.0, 2.0]), [1.0, 3], [1.0, None]),
        ((1.0, 2.0), [1.0, 2.0], [1.0, 2.0]),
        ([1.0, 2.0], Pair(1.0, 2.0), Pair(1.0, 2.0)),
        ({"second": 1.0}, Pair(1.0, 2.0), Pair(None, 1.0)),
        (Tangent(Pair, first=1), Pair(1.0, 2.0), Pair(1.0, None)),
        ({"a": 1}, {"a": 1.0, "b": 2.0, 3: 4.0}, {"a": 1.0, "b": None, 3: None}),
        ({"gone": 1.0}, {"a": 1.0}, {"a": None}),
        ({"a": 1.0}, OrderedDict(a=1.0), OrderedDict(a=1.0)),
        ([1.0, None], deque([1.0, 2.0], 5), deque([1.0, None])),
        ({"W": 1.0}, Dense(1.0, 2.0), Tangent(Dense, W=1.0, b=None, name=None, tags=None)),
        (Tangent(Dense, b=1), Dense(1.0, 2.0), Tangent(Dense, W=None, b=1.0, name=None, tags=None)),
        (
            {"W": (None, {"w": 2})},
            Dense((1.0, Frozen(1.0)), 2.0),
            Tangent(Dense, W=(None, Tangent(Frozen, w=2.0)), b=None, name=None, tags=None),
        ),
        ({"w": 1}, Slotted(1.0), Tangent(Slotted, _Slotted__private=None, w=1.0)),
        ({"a": 1}, closure(2.0, 3), {"a": 1.0, "n": None}),
    ],
)
def test_project_gives_a_structure_its_structure(ct, primal, expected):
    """Containers give the same container, objects a Tangent, functions a dict; each entry is projected."""
    actual = project(ct, primal)
    assert type(expected) is type(actual)
    assert expected == actual


def test_project_of_a_defaultdict_keeps_its_type():
    """The type is copied, not called with the entries."""
    actual = project({"a": 1.0}, defaultdict(float, a=1.0, b=2.0))
    assert defaultdict is type(actual)
    assert {"a": 1.0, "b": None} == actual


def test_project_of_methods_and_partials_gives_their_parts():
    """A bound method has its object, a partial what it was made of."""
    method = Dense(1.0, 2.0).__init__
    assert 1.0 == project(Tangent(type(method), __self__={"W": 1}), method)["__self__"].W
    partial = project({"args": (1,)}, functools.partial(max, 2.0))
    assert ((1.0,), None) == (partial.args, partial.func)


def test_project_returns_what_is_right_already_and_builds_new_containers():
    """No array is copied without need, and no container is shared with the cotangent."""
    g = np.ones(2)
    ct = {"a": [g]}
    actual = project(ct, {"a": [np.zeros(2)]})
    assert g is actual["a"][0]
    assert actual is not ct
    assert actual["a"] is not ct["a"]


def test_project_resolves_thunks_and_raises_what_is_not_implemented():
    """Neither ever reaches the user."""
    assert (1.0,) == project((Thunk(lambda: 1.0),), (2.0,))
    with pytest.raises(DifferentiationError, match="of the seed"):
        project([NotImplementedTangent("of the seed")], [1.0])


@pytest.mark.parametrize(
    ("ct", "primal"),
    [
        (np.ones(3), np.ones(2)),
        (np.ones((2, 2)), np.ones(2)),
        (np.ones(2), 1.0),
        (np.ones(2), np.float32(1)),
        ([1.0, 2.0, 3.0], np.ones(2)),
        ([1.0], 1.0),
        ({"a": 1.0}, 1.0),
        (1.0, (1.0,)),
        ((1.0,), (1.0, 2.0)),
        ((1.0,), {"a": 1.0}),
        (1.0, Dense(1.0, 2.0)),
        ({"a": 1.0}, [1.0]),
    ],
)
def test_project_refuses_what_does_not_belong(ct, primal):
    """A cotangent of another shape or structure is an error, not a wrong gradient."""
    with pytest.raises(TangentError, match="belong to a"):
        project(ct, primal)


def test_materialize_fills_in_zeros():
    """Every None becomes zeros of the value's type; what has no gradient stays None."""
    params = {
        "W": np.ones((1, 2), np.float32),
        "l": [1.0, np.float32(1), 1j, 3],
        "o": Dense(1.0, np.ones(1)),
        "z": Pair(1, 2.0),
    }
    expected = {
        "W": np.zeros((1, 2), np.float32),
        "l": [5.0, np.float32(0), 0j, None],
        "o": Tangent(Dense, W=0.0, b=np.zeros(1), name=None, tags=[]),
        "z": Pair(None, 0.0),
    }
    actual = materialize({"W": None, "l": [5.0, None, None, None]}, params)
    assert equal(expected, actual)
    assert np.float32 == actual["W"].dtype == actual["l"][1].dtype
    assert equal(materialize(None, params)["o"], expected["o"])


def test_materialize_stops_at_a_reference_back():
    """A child that knows its parent does not make the gradient infinite."""
    parent = Dense(1.0, None)
    parent.b = Dense(2.0, parent)
    assert 0.0 == materialize(None, parent).b.W
    assert materialize(None, parent).b.b is None


def test_detach_copies_what_is_shared_and_nothing_else():
    """Views, second occurrences and foreign memory are copied; an array of its own stays."""
    own, twice, foreign, kept = np.ones(2), np.ones(2), np.ones(2), np.ones((2, 2))
    grads = {"own": own, "first": twice, "second": [twice], "foreign": foreign, "view": kept.T, "n": None, "f": 1.0}
    actual = detach(grads, ({"deep": foreign[1:]},))
    assert own is actual["own"]
    assert twice is actual["first"]
    arrays = [actual["own"], actual["first"], actual["second"][0], actual["foreign"], actual["view"]]
    for i, a in enumerate(arrays):
        assert a.flags.owndata
        assert not any(np.shares_memory(a, other) for other in [foreign, kept, *arrays[i + 1 :]])
    assert equal(grads, actual)


def test_detach_sees_through_buffers():
    """Memory that an argument reads through the buffer protocol is foreign too."""
    g = np.ones(2)
    assert not np.shares_memory(g, detach((g,), [np.frombuffer(g)])[0])


def test_detach_makes_broadcast_arrays_writable():
    """A gradient that was only a view of one number is an ordinary array afterwards."""
    actual = detach((np.broadcast_to(1.0, (2, 3)),))[0]
    actual += 1.0
    np.testing.assert_array_equal(np.full((2, 3), 2.0), actual)


def test_detach_goes_through_tangents_and_objects():
    """Entries of Tangents and named tuples are detached as well, and foreign arrays found inside objects."""
    g = np.ones(2)
    actual = detach(Pair(Tangent(Dense, W=g), deque([g])), Dense(g, None))
    assert g is not actual.first.W
    assert actual.first.W is not actual.second[0]
    assert deque is type(actual.second)


def test_tree_map_takes_a_step_along_the_gradient():
    """Value and gradient are walked together; constants and values without gradient stay as they are."""
    params = {"W": np.array([1.0, 2.0]), "l": (1.0, 2.0), "o": Dense(1.0, [2.0, "text"]), "n": 3}
    grads = {"W": np.array([1.0, 1.0]), "l": (1.0, None), "o": Tangent(Dense, W=None, b=[1.0, None]), "n": None}
    before = copy.deepcopy(params)
    actual = tree_map(lambda p, g: p - 0.5 * g, params, grads)
    np.testing.assert_array_equal([0.5, 1.5], actual["W"])
    assert (0.5, 2.0) == actual["l"]
    assert Dense(1.0, [1.5, "text"]) == actual["o"]
    assert 3 == actual["n"]
    assert equal(before["W"], params["W"])
    assert before["o"] == params["o"]


@pytest.mark.parametrize(
    ("value", "grads", "expected"),
    [
        (Pair(1.0, 2.0), Pair(1.0, None), Pair(2.0, 2.0)),
        (deque([1.0], 2), deque([1.0]), deque([2.0])),
        (Frozen(1.0), Tangent(Frozen, w=2.0), Frozen(3.0)),
        (1.0, None, 1.0),
        ("text", 1.0, "text"),
        ({"a": 1.0}, {}, {"a": 1.0}),
    ],
)
def test_tree_map_keeps_types(value, grads, expected):
    """Named tuples, deques and frozen dataclasses come back as what they were."""
    actual = tree_map(lambda p, g: p + g, value, grads)
    assert type(expected) is type(actual)
    assert expected == actual


def test_tree_map_rebuilds_slots_functions_and_partials():
    """Objects without a dictionary and callables with parameters can be trained too."""
    step = functools.partial(tree_map, lambda p, g: p + g)
    assert 3.0 == step(Slotted(1.0), {"w": 2.0}).w
    f = closure(2.0, 3)
    assert (5.0, 2.0) == (step(f, {"a": 3.0, "n": None})(1.0), f(1.0))
    assert 5.0 == step(functools.partial(max, 2.0), {"args": (3.0,)})(4.0)
    assert 4.0 == step(Frozen(1.0).__repr__, {"__self__": {"w": 3.0}}).__self__.w


def test_tree_map_refuses_another_structure():
    """A gradient of something else is an error."""
    with pytest.raises(TangentError, match="belong to a value of type list"):
        tree_map(lambda p, g: p, [1.0], [1.0, 2.0])
