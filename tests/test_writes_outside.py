"""Arrays of classes, of defaults and of the module, which are written into by one name and read by another."""

import types
from collections import deque, namedtuple
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

from adcompiler import MutationError, pullback
from tests.writes import check_writes

X = np.array([0.3, -0.7, 1.2, 0.9])
S = 0.6
SHARED = np.ones(4)
TAIL = SHARED[1:]


class Holder:
    def __init__(self, w):
        self.w = w


class Model:
    g = SHARED
    rows: ClassVar = [SHARED, SHARED[::-1]]
    table: ClassVar = {"a": SHARED}
    pair = (SHARED, 1.0)
    held = Holder(SHARED)
    queue: ClassVar = deque([SHARED])

    def __init__(self, total=0.0):
        self.total = total

    @property
    def doubled(self):
        return self.g * 2

    @classmethod
    def of_class(cls):
        return cls.g

    def set_first(self, v):
        self.g[0] = v

    def weighted(self, v, h=SHARED):
        return h * v

    def __call__(self, v, *, h=SHARED):
        return h * v


class Special(Model):
    pass


class Slotted:
    __slots__ = ("k",)
    g = SHARED


@dataclass
class Record:
    k: float = 1.0
    g = SHARED


class Named(namedtuple("Named", "a b")):
    g = SHARED


def start():
    SHARED[:] = 1.0


def check_outside(program):
    check_writes(program, X, S, Model(), [Model(1.0), Special(2.0)], {"a": Model()}, before=start)


def outside(*fs):
    return pytest.mark.parametrize("program", fs, ids=lambda f: f.__name__)


# Attributes of classes


def object_then_class(x, s, o, many, d):
    o.g[0] = s
    return Model.g * x


def class_then_object(x, s, o, many, d):
    Model.g[0] = s
    return o.g * x, many[1].g[:2]


def objects_made_inside(x, s, o, many, d):
    p, q = Model(), Special(s)
    p.g[0] = s
    q.g *= s
    p.total = q.g[0] * x
    return p.total, Slotted().g * x, Record().g, Named(x, s).g


def class_of_an_object(x, s, o, many, d):
    type(o).g[0] = s
    many[0].__class__.g[1] = s * s
    p = Special()
    type(p).g[2] *= s
    return Model.g * x


def value_from_before(x, s, o, many, d):
    y = Model.g * x
    z = many[0].g * x
    o.g[0] = s
    SHARED[1] = s * s
    return y * o.g, z


def found_at_run_time(x, s, o, many, d):
    many[0], many[1] = many[1], many[0]
    many[0].g[0] = s
    d["b"] = Model(s)
    d["b"].g[1] *= s
    return d["a"].g * x, o.g


def objects_of_a_loop(x, s, o, many, d):
    for p in many:
        p.g[0] *= s
    for c in (Model, Special):
        c.g[1] *= s
    return [q.g * x for q in many]


def augmented_attributes(x, s, o, many, d):
    o.g += x
    many[0].g *= s
    p = Model()
    p.g -= x * s
    return Model.g * x, d["a"].g


def own_field_afterwards(x, s, o, many, d):
    o.g = o.g * x
    o.g[0] = s
    Model.g[1] = s * s
    return o.g, many[0].g * x


def containers_of_a_class(x, s, o, many, d):
    o.rows[0][0] = s
    y = Model.rows[1] * x
    many[0].table["a"][1] = s * s
    z = Model.table["a"] * x
    o.pair[0][2] = s
    p = Model()
    p.queue[0][3] *= s
    p.held.w[0] *= s
    return y, z, Model.pair[0] * x, Model.queue[0] * x, many[1].held.w * x


def methods_and_properties(x, s, o, many, d):
    o.set_first(s)
    write = many[0].set_first
    y = o.doubled * x
    write(s * s)
    Model.of_class()[1] = s
    return y, Model.g * x


def dicts_of_attributes(x, s, o, many, d):
    y = getattr(o, "g") * x  # noqa: B009
    vars(Model)["g"][0] = s
    globals()["SHARED"][1] = s * s
    return y, o.g * x, SHARED * x


@outside(object_then_class, class_then_object, objects_made_inside, class_of_an_object, value_from_before,
         found_at_run_time, objects_of_a_loop, augmented_attributes, own_field_afterwards, containers_of_a_class,
         methods_and_properties, dicts_of_attributes)  # fmt: skip
def test_arrays_of_a_class(program):
    """An array that a class holds is one memory by whatever object, class, subclass or variable it is reached."""
    check_outside(program)


# Defaults of parameters


SPACE = types.SimpleNamespace(h=SHARED)


def read(x, h=SHARED):
    return h * x


def read_from_list(x, h=[SHARED]):  # noqa: B006
    return h[0] * x


def read_from_tuple(x, *, h=(SHARED, 1.0)):
    return h[0] * x


def read_from_object(x, h=SPACE):
    return h.h * x


def read_view(x, h=TAIL):
    return h * x[1:]


def write(v, h=SHARED):
    h[0] = v


def write_by_name(v, *, h=SHARED):
    h[1] *= v


def write_in_dict(v, h={"a": SHARED}):  # noqa: B006
    h["a"][2] = v


def write_view(v, h=TAIL):
    h[0] = v


def accumulate(v, h=SHARED):
    h += v
    return h


def repeated(n, x, h=SHARED):
    return h * x if n == 0 else repeated(n - 1, x)


def global_then_default(x, s, o, many, d):
    SHARED[0] = s
    return read(x), read_from_list(x), read_from_tuple(x), read_from_object(x), read_view(x)


def default_then_others(x, s, o, many, d):
    write(s)
    write_by_name(s)
    write_in_dict(s * s)
    return SHARED * x, read(x), repeated(2, x), o.g


def a_view_as_default(x, s, o, many, d):
    y = read_view(x)
    write_view(s)
    return y, read_from_list(x), Model.g * x


def defaults_of_methods(x, s, o, many, d):
    write(s)
    y = o.weighted(x)
    o.g[0] *= s
    return y, o(x), many[0].weighted(x)


def given_and_default(x, s, o, many, d):
    own = x * 2
    write(s, h=own)
    write(s * s)
    return own * read(x), partial(read, h=SHARED)(x)


def grown_by_each_call(x, s, o, many, d):
    y = accumulate(x) * 1
    accumulate(x * s)[0] *= s
    return y, read(x)


@outside(global_then_default, default_then_others, a_view_as_default, defaults_of_methods, given_and_default,
         grown_by_each_call)  # fmt: skip
def test_arrays_that_are_defaults(program):
    """The array of a default is one memory for all functions that have it, and whatever else refers to it."""
    check_outside(program)


# Arguments that are such an array


def written_by_the_class(x, s, o, many, d):
    Model.g[0] = s
    return x * 2


def written_by_an_object(x, s, o, many, d):
    many[0].g[0] = s
    return x * 2


def written_by_an_object_made_inside(x, s, o, many, d):
    p = Model()
    p.g += s
    return x * 2


def written_as_the_argument(x, s, o, many, d):
    x[0] = s
    return o.g * 1.0


def written_as_a_default(x, s, o, many, d):
    write(s)
    return x * 2


def written_as_a_global(x, s, o, many, d):
    globals()["SHARED"][0] = s
    return x * 2


@outside(written_by_the_class, written_by_an_object, written_by_an_object_made_inside, written_as_the_argument,
         written_as_a_default, written_as_a_global)  # fmt: skip
def test_an_argument_that_is_such_an_array(program):
    """An argument that shares memory with an array from outside which is written into is refused at the call."""
    start()
    with pytest.raises(MutationError, match="share memory"):
        pullback(program, SHARED[:3], S, Model(), [Model(), Special()], {"a": Model()})
    np.testing.assert_array_equal(SHARED, 1.0)
    pullback(program, X, S, Model(), [Model(), Special()], {"a": Model()})
