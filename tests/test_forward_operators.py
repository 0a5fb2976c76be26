"""Operators, methods and calls that are found at run time, in forward mode and to second order."""

from dataclasses import dataclass

import numpy as np
import pytest

from adcompiler import NoRuleError, gradient, jvp
from tests.orders import V, W, X, check_first, check_second, close, difference


class Vector:
    def __init__(self, a):
        self.a = a

    def __mul__(self, k):
        return NotImplemented if isinstance(k, str) else Vector(self.a * k)

    def __rmul__(self, k):
        return Vector(self.a * k)

    def __add__(self, other):
        return Vector(self.a + other.a) if isinstance(other, Vector) else NotImplemented

    def __radd__(self, other):
        return Vector(self.a + other)

    def __neg__(self):
        return Vector(-self.a)

    def __abs__(self):
        return np.sum(self.a**2)

    def __matmul__(self, other):
        return self.a @ other.a

    def __getitem__(self, i):
        return self.a[i]

    def __len__(self):
        return 3


def check_tangents(function):
    """The tangent, and the tangent of the tangent."""

    def tangent(a):
        return jvp(function, (a,), (V,))[1]

    close(tangent(X), difference(function, X, V))
    close(jvp(tangent, (X,), (W,))[1], difference(tangent, X, W))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (2 * Vector(x)).a[0] ** 2,
        lambda x: (Vector(x) * x[0] + Vector(x * x))[0] ** 2,
        lambda x: abs(-(Vector(x) * 2 + Vector(x * x))),
        lambda x: sum([Vector(x), Vector(x * 2)], Vector(x * x)).a[1] ** 2,
        lambda x: sum([Vector(x), Vector(x * 2)]) @ Vector(x * x),
    ],
)
def test_operators_of_objects_that_look_like_sequences(function):
    """The methods behind an operator, in Python's order, also where the objects have items."""
    check_tangents(function)


def test_what_numpy_makes_an_array_of():
    """A NumPy number times an object with items is an array of NumPy's, which is refused in both modes."""

    def f(x):
        v = Vector(x)
        for o in (x[0], x[1]):
            v = o * v
        return v[0]

    for derivative in (lambda: gradient(f)(X), lambda: jvp(f, (X,), (V,))):
        with pytest.raises(NoRuleError, match="mul has no derivative rule"):
            derivative()


def nested_tuples(x):
    d = {"a": [x[0], {"b": (x[1], x[2])}]}
    d["a"][1]["b"] = d["a"][1]["b"] + (x[0],)
    return d["a"][1]["b"][2] * d["a"][1]["b"][0] * d["a"][0]


def a_tuple_in_a_dict(x):
    d = {"b": (x[1], x[2])}
    d["b"] = d["b"] + (x[0],)
    return d["b"][2] * d["b"][0]


def repeated_lists(x):
    d = {"a": [x[0], {"b": (x[1], x[2])}]}
    d["a"][1]["b"] = d["a"][1]["b"] * 2
    d["a"] = d["a"] + [3.0]
    return d["a"][1]["b"][2] * d["a"][0] * d["a"][2]


def converted_containers(x):
    t = ()
    for part in [(x[0],), [x[1]]]:
        t = t + tuple(part)
    return t[0] * t[1] ** 2


def merged_dicts(x):
    d = {"q": {"a": x[0]}}
    d["q"] = d["q"] | {"b": x[1]}
    return d["q"]["a"] * d["q"]["b"] ** 2


@pytest.mark.parametrize(
    "function", [nested_tuples, a_tuple_in_a_dict, repeated_lists, converted_containers, merged_dicts]
)
def test_containers_that_are_joined_at_run_time(function):
    """Joining and repeating containers is that of the containers of tangents, and items are themselves."""
    check_second(function)


def enumerated(x):
    s = 0.0
    for i, v in enumerate(x):
        s = s + v * v * i
    return s


def zipped_with_what_is_still(x):
    s = 0.0
    for i, (a, name) in enumerate(zip(x, ["a", "b", "c"], strict=True)):
        s = s + a * a * i * len(name)
    for a, n in zip(reversed(x), range(3), strict=True):
        s = s * a + n
    for (i, a), key in zip(enumerate(x), {"p": 1, "q": 2, "r": 3}, strict=True):
        s = s * a + i + len(key)
    return s


@pytest.mark.parametrize("function", [enumerated, zipped_with_what_is_still])
def test_loops_over_what_has_no_tangent(function):
    """Beside the items of an array there may be anything that moves with nothing."""
    check_second(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: abs(complex(x[0]) + 1j * float(x[1])) * x[2],
        lambda x: abs(complex(x[0], x[1]) ** 2) * complex(x[0] + 1j * x[1]).real,
        lambda x: float(x[0]) * abs(complex(real=x[0], imag=x[1])),
        lambda x: complex(x[0] * x[1], x[2]).conjugate().imag * x[0],
        lambda x: np.sum(np.meshgrid(x, x, indexing="ij")[0] ** 2 * x),
        lambda x: gradient(np.sum)(x * x) @ x * x[0],
    ],
)
def test_parameters_by_default_and_by_name(function):
    """A rule's parameters that are not given stay so, and those given by name are found by name."""
    check_second(function)


@pytest.mark.parametrize(
    "function", [lambda x: 1.0, lambda x: 2 * x.sum(), lambda x: (2 * Vector(x)).a.sum(), lambda x: len(x) * 1.0]
)
def test_gradients_that_move_with_nothing(function):
    """The tangent of a constant gradient is zero."""
    found = jvp(gradient(function), (X,), (V,))[1]
    close(found, np.zeros(3))
    close(jvp(gradient(function, (0,)), (X,), (V,))[1][0], np.zeros(3))
    close(jvp(lambda x: gradient(function)(x), (X,), (V,))[1], np.zeros(3))


def test_forward_rules_that_decline():
    """The pullback of the reverse rule takes what a forward rule leaves to it, at second order too."""

    def f(x):
        return np.roots([1.0, x[0] - 3, x[1] * 0.3])[0]

    close(gradient(lambda a: jvp(f, (a,), (V,))[1])(X) @ W, difference(lambda a: jvp(f, (a,), (V,))[1], X, W))


@dataclass
class Layer:
    w: np.ndarray

    def __call__(self, v):
        self.w = self.w * 2
        return np.tanh(self.w * v)


class Recorder:
    def __init__(self, w):
        self.w = w
        self.seen = []

    def __eq__(self, other):
        return self is other

    def __call__(self, v):
        self.seen.append(v)
        return np.tanh(self.w * v)


def layers(x):
    v = x
    for layer in [Layer(x), Layer(x * 2)]:
        v = layer(v)
    return np.sum(v)


def recorders(x):
    v, all_ = x, [Recorder(x), Recorder(x * 2)]
    for layer in all_:
        v = layer(v)
    return np.sum(v) * np.sum(all_[1].seen[0])


@pytest.mark.parametrize("function", [layers, recorders])
def test_objects_without_a_hash_that_are_called(function):
    """An object is called by its `__call__`, and may write into its own fields and lists."""
    check_first(function)


def test_methods_of_containers_found_at_run_time():
    """What is done to a container is done to the container of tangents."""

    def f(x):
        held = {"list": [x[0]], "dict": {"a": x[1]}}
        for key in ("list", "dict"):
            part = held[key]
            if key == "list":
                part.append(x[1] * x[0])
                part.extend([x[2], 2.0])
                part.insert(0, x[0] * 3)
                part.reverse()
                s = part.pop() * part[1] * part.pop(0) * part[0]
            else:
                part.setdefault("b", x[2])
                part.update({"c": x[0] * x[0]})
                s = s * part.get("b") * part.get("z", 2.0) * part.pop("c")
                for name, value in part.items():
                    s = s * value * len(name)
        return s

    check_first(f)


def appended(values, v):
    values.append(v * v)


class Stateful:
    def __init__(self):
        self.log = []
        self.of = {}

    def do(self, v):
        self.log.append(v)
        self.of[len(self.log)] = v * v
        return v * self.log[0]


class Double(Stateful):
    def do(self, v):
        return Stateful.do(self, v) * 2


class Scaled:
    def __init__(self, a):
        self.a = a

    @classmethod
    def make(cls, x):
        return cls(x * 2)

    @staticmethod
    def squared(x):
        return Scaled(x * x)

    @property
    def power(self):
        return self.a**2


def functions_that_append(x):
    held = [x[0]]
    for g in (appended, lambda values, v: values.append(v * 3)):
        g(held, x[1])
    return held[0] * held[1] * held[2] * x[2]


def functions_that_set_fields(x):
    o = Stateful()
    o.a = x[0]

    def scale(o, v):
        o.a = o.a * v

    for g in (scale, scale):
        g(o, x[1])
    return o.a * x[2]


def methods_that_write(x):
    v, all_ = x[0], [Stateful(), Double()]
    for o in all_:
        v = o.do(v * x[1])
        v = o.do(v)
    return v + all_[0].of[2] * all_[1].log[1]


def classes_found_at_run_time(x):
    s = 0.0
    for cls in (Scaled, Scaled):
        s = s + np.sum(cls.make(x).power * cls.squared(x).a)
    return s


def lists_by_key(x):
    held = {"a": [], "b": []}
    for k in held:
        held[k].append(x[0])
        held[k].extend([x[1] * x[0], 2.0])
    held["a"][0] = held["b"].pop(1) * held["a"][1]
    return held["a"][0] * held["b"][0] * len(held["b"])


def lists_by_default(x):
    held = {}
    for i in range(3):
        held.setdefault(i % 2, []).append(x[i])
    return held[0][0] * held[0][1] * held[1][0] ** 2


@pytest.mark.parametrize(
    "function",
    [
        functions_that_append, functions_that_set_fields, methods_that_write, classes_found_at_run_time, lists_by_key,
        lists_by_default, layers, recorders, lambda x: np.sum(Scaled.make(x).a ** 2) * x[0],
        lambda x: (2 * Vector(x) + Vector(x * x))[1] * x[0],
    ],
)  # fmt: skip
def test_what_writes_and_is_found_at_run_time(function):
    """To second order: what is written into has its cotangent by identity, that of tangents too."""
    check_second(function)
