"""What a program asks about a value before it uses it: `hasattr`, `getattr` with a default, patterns, `isinstance`."""

import types
import typing

import numpy as np
import pytest

from adcompiler import UnsupportedSyntaxError, pullback
from tests.promises import check, check_refused
from tests.writes import check_writes, programs

X = np.array([0.31, -0.73, 1.27])


class Plain:
    constant = 3.0

    def __init__(self, k):
        self.k = k


class Slotted:
    __slots__ = ("j", "k")

    def __init__(self, k):
        self.k = k


class Computed:
    def __init__(self, k):
        self.k = k

    def __getattr__(self, name):
        if name.startswith("v"):
            return self.k * len(name)
        raise AttributeError(name)


class Lazy:
    def __init__(self, k):
        self.k = k

    def __getattr__(self, name):
        if name == "big":
            self.big = self.k * 2
            return self.big
        raise AttributeError(name)


class Wrapper:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


class Described:
    def __get__(self, obj, cls):
        return obj.k * 2


class Properties:
    described = Described()

    def __init__(self, k):
        self.k = k

    @property
    def triple(self):
        return self.k * 3

    @property
    def of_arrays(self):
        if np.ndim(self.k) == 0:
            raise AttributeError("of_arrays")
        return self.k * 2


class Filling:
    def __init__(self, k):
        self.k = k
        self.kept = None

    @property
    def filled(self):
        if self.kept is None:
            self.kept = self.k * 2
        return self.kept


class Network:
    def __init__(self, weight, bias=None, act=None):
        self.weight = weight
        if bias is not None:
            self.bias = bias
        if act is not None:
            self.act = act

    def __call__(self, x):
        y = x * self.weight
        if hasattr(self, "bias"):
            y = y + self.bias
        act = getattr(self, "act", None)
        return y if act is None else act(y)


# Fields of objects that are made in the function


def asked(x, s):
    d = Plain(s)
    return x if hasattr(d, "j") else s


def kept_at_the_first_use(x, s):
    d = Plain(s)
    for _ in range(3):
        if not hasattr(d, "j"):
            d.j = x * d.k
    return d.j


def grown_in_a_loop(x, s):
    d = types.SimpleNamespace(k=s)
    for _ in range(3):
        d.j = getattr(d, "j", x) * d.k
    return d.j


def with_defaults(x, s):
    d = Plain(s)
    return getattr(d, "j", x), getattr(d, "k", x), getattr(d, "constant", x) * s, getattr(d, "j", None) is None and s


def stored_on_one_path(x, s):
    d, e = Plain(s), Plain(s)
    if x[0] > 0:
        d.j = x
    else:
        e.j = x
    return getattr(d, "j", s), getattr(e, "j", s), d.j if hasattr(d, "j") else s, e.j if hasattr(e, "j") else s


def slots(x, s):
    d = Slotted(s)
    before = hasattr(d, "j")
    d.j = x
    return s if before else x, getattr(d, "j", s)


def of_a_helper(x, s):
    def field(d):
        return d.k if hasattr(d, "k") else x

    return field(Plain(s)), field(types.SimpleNamespace()), [getattr(d, "j", s) for d in (Plain(x), Slotted(x))]


def parts_that_may_be_absent(x, s):
    return Network(s)(x), Network(s, x)(x), Network(s, x, np.tanh)(x), Network(x, act=lambda v: v * s)(x)


def names_in_a_loop(x, s):
    d = Plain(s)
    total = 0.0
    for name in ("k", "j", "constant"):
        total = total + getattr(d, name, x)
    return total


def under_another_name(x, s):
    ask = getattr
    d = Plain(s)
    d = ask(d, "other", d)
    first, second = ask(d, "pair", (x, s))
    return first * second * d.k


def a_default_that_is_written(x, s):
    d = Plain(s)
    y = getattr(d, "j", x)
    y[0] = s
    return y * x


def a_field_that_is_written(x, s):
    d = Plain(x)
    getattr(d, "k", s)[0] = s
    return d.k, x


@programs(
    asked, kept_at_the_first_use, grown_in_a_loop, with_defaults, stored_on_one_path, slots, of_a_helper,
    parts_that_may_be_absent, names_in_a_loop, under_another_name, a_default_that_is_written, a_field_that_is_written,
)  # fmt: skip
def test_fields_that_may_be_absent(program):
    """Whether an object that is made in the function has a field is asked when the program asks."""
    check_writes(program, X, 0.61)


# Objects from outside


def stored_meanwhile(x, s, p):
    before = getattr(p, "j", s)
    p.j = x * s
    return before, p.j * getattr(p, "j", s), p.j if hasattr(p, "j") else s


def stored_by_a_helper(x, s, p):
    def put(value):
        p.j = value

    put(x)
    return x * 2 if hasattr(p, "j") else s, getattr(p, "k", s)


def until_it_is_there(x, s, p):
    n = 0
    while not hasattr(p, "done"):
        n += 1
        p.k = p.k * s
        if n > 2:
            p.done = x
    return p.k * p.done


@programs(stored_meanwhile, stored_by_a_helper, until_it_is_there)
def test_fields_of_arguments_that_are_stored_meanwhile(program):
    """What an argument had at the start is not what is asked for after a field was stored."""
    check_writes(program, X, 0.61, Plain(0.4))


def only_read(x, s, p):
    return getattr(p, "j", x) * getattr(p, "k", x), s if hasattr(p, "j") else x, getattr(p, "constant", 1.0) * s


def test_fields_of_arguments():
    """The answer may differ from call to call."""
    check(only_read, X, 0.61, Plain(0.4))
    p = Plain(0.4)
    p.j = X * 2
    check(only_read, X, 0.61, p)


# Attributes that code of the user's computes


def by_getattr(x, s):
    d = Computed(s)
    return d.v * x, getattr(d, "vv", x), getattr(d, "w", x), s if hasattr(d, "w") else x, d.k if hasattr(d, "v") else x


def fields_beside_getattr(x, s):
    d = Computed(s)
    before = d.vv
    d.vv = x
    return before, d.vv, d.vvv * d.k, getattr(d, "vv", s)


def fields_by_getattr(x, s):
    d = Lazy(s)
    return d.big * x, d.big


def wrapped(x, s):
    d = Wrapper(Wrapper(Computed(s)))
    return d.k * x, d.v, getattr(d, "nothing", x)


def by_properties(x, s):
    d, e = Properties(s), Properties(x)
    return (
        getattr(d, "triple", x), getattr(d, "of_arrays", x), getattr(e, "of_arrays", s), getattr(d, "described", x),
        x if hasattr(d, "of_arrays") else s, x if hasattr(e, "of_arrays") else s,
    )  # fmt: skip


@programs(by_getattr, fields_beside_getattr, fields_by_getattr, wrapped, by_properties)
def test_attributes_that_are_computed(program):
    """Properties, descriptors and `__getattr__` may raise AttributeError, and what they compute has a derivative."""
    check_writes(program, X, 0.61)


def computed_for_arguments(x, s, p, c):
    return getattr(p, "of_arrays", s), getattr(p, "triple", x), getattr(c, "vv", x), getattr(c, "w", x) * s, c.k * s


def test_computed_attributes_of_arguments():
    """The same of objects from outside."""
    check(computed_for_arguments, X, 0.61, Properties(X * 2), Computed(0.4))
    check(computed_for_arguments, X, 0.61, Properties(0.3), Computed(X))


def grows_what_is_computed(x, s):
    d = Computed(s)
    d.v += x  # refused
    return d.v


def tries_what_writes(x, s):
    d = Filling(s)
    return getattr(d, "filled", 1.0) * x


def test_a_default_beside_what_fills_itself():
    """A property that stores when it is read is followed, with a default too."""
    check(tries_what_writes, X, 0.61)


def asks_what_writes(x, s):
    total = s
    for d in [Filling(s), Plain(s), x]:
        if hasattr(d, "filled"):  # refused
            total = total + d.filled
    return total


@pytest.mark.parametrize("program", [grows_what_is_computed, asks_what_writes])
def test_computed_attributes_that_are_not_followed(program):
    """What cannot be followed of code that computes an attribute is refused."""
    check_refused(UnsupportedSyntaxError, program, X, 0.61)


class Conditional:
    def __init__(self, k):
        first = self.late
        self.late = k
        self.first = first

    def __getattr__(self, name):
        return 2.0


def test_a_field_that_is_computed_before_it_is_set():
    """A field that `__init__` sets, but reads before, is refused where its class computes what is absent."""
    with pytest.raises(UnsupportedSyntaxError, match="before it is set"):
        pullback(lambda x: Conditional(x).late * x, 0.7)


# Values that are no objects with fields


def of_numbers_and_arrays(x, s):
    return (
        getattr(x, "nothing", s), getattr(x, "T", s), getattr(s, "real", x), getattr(x, "sum")(),  # noqa: B009
        x if hasattr(s, "shape") else s, x * 2 if hasattr(x, "shape") else s, getattr(np, "nothing", np.sin)(x),
        getattr([x], "k", s), getattr(None, "k", s), getattr(Plain, "constant", 1.0) * s, getattr(Plain, "j", s),
    )  # fmt: skip


def of_mixed_items(x, s):
    out = []
    for item in (x, s, Plain(s), [x], Properties(s)):
        out.append(getattr(item, "k", x))
        if hasattr(item, "triple"):
            out.append(item.triple)
    return out


@programs(of_numbers_and_arrays, of_mixed_items)
def test_attributes_of_anything(program):
    """`getattr` with a default may be asked of any value."""
    check(program, X, 0.61)


# What super() finds


class Layer:
    def run(self, x):
        return x * 3


class Scaled(Layer):
    def __init__(self, k):
        self.k = k

    def run(self, x):
        run = getattr(super(), "run", None)
        return x if run is None else run(x) * self.k

    def other(self, x):
        return x if hasattr(super(), "other") else x * self.k


def through_super(x, s):
    d = Scaled(s)
    return d.run(x), d.other(x)


def test_attributes_of_super():
    """`super()` has what the classes behind it define."""
    check(through_super, X, 0.61)


# Patterns


class Point:
    __match_args__ = ("a", "b")

    def __init__(self, a, b=None):
        self.a = a
        if b is not None:
            self.b = b


def by_position(x, s):
    out = []
    for p in (Point(s), Point(s, x)):
        match p:
            case Point(a, b):
                out.append(a * b)
            case Point(a):
                out.append(a * 2)
    return out


def by_keyword(x, s):
    match Point(s):
        case Point(b=v):
            return v
        case Point(a=v):
            return v * x
    return s


def by_property(x, s):
    out = []
    for k in (s, x):
        match Properties(k):
            case Properties(of_arrays=v):
                out.append(v * x)
            case Properties(triple=v):
                out.append(v)
    return out


@programs(by_position, by_keyword, by_property)
def test_patterns_of_attributes_that_may_be_absent(program):
    """A class pattern matches an object that has the attributes at that moment."""
    check_writes(program, X, 0.61)


# isinstance


class Anything(type):
    def __instancecheck__(cls, value):
        return True


class Vectors(type):
    def __instancecheck__(cls, value):
        return np.ndim(value) == 1


class Any(metaclass=Anything):
    pass


class Vector(metaclass=Vectors):
    pass


@typing.runtime_checkable
class Shaped(typing.Protocol):
    shape: tuple[int, ...]


def by_the_class_itself(x, s):
    out = [x if isinstance(v, Vector) else s for v in (x, s)]
    match s:
        case Any():
            out.append(s * 2)
    return (
        out, x if isinstance(s, Any) else s, x if isinstance((x, s), Any) else s,
        x if isinstance(s, (int, Vector)) else s, x * 2 if isinstance(x, Shaped) else s,
        x * 2 if isinstance(s, Shaped) else s,
    )  # fmt: skip


def test_classes_that_decide_what_their_instances_are():
    """`isinstance` asks a class whose metaclass defines it, of numbers and arrays too."""
    check(by_the_class_itself, X, 0.61)
