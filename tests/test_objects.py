"""Objects as arguments: fields, methods, properties, operators, callable objects, and their gradients."""

import copy
import dataclasses
import enum
import functools
import math
import types
import typing

import numpy as np
import pytest

from adcompiler import (
    DifferentiationError,
    NoRuleError,
    UnsupportedSyntaxError,
    differentiable,
    gradient,
    materialize,
    pullback,
    tree_map,
    value_and_grad,
)
from adcompiler.runtime.tangents import Tangent
from tests.modes import variants_of
from tests.promises import check, check_refused

X = np.array([0.3, -0.4, 0.5])


@dataclasses.dataclass
class Point:
    x: float
    y: float
    scale = 2.0

    @property
    def norm(self):
        return np.sqrt(self.x**2 + self.y**2) * self.scale

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    @classmethod
    def diagonal(cls, v):
        return cls(v, v * cls.scale)

    @staticmethod
    def half(v):
        return v / 2


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    x: object


class Pair(typing.NamedTuple):
    a: float
    b: float

    def product(self):
        return self.a * self.b


class Dense:
    width = 3

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.W = rng.normal(size=(3, 3))
        self.b = rng.normal(size=3)
        self.__gain = 1.5

    def __call__(self, x):
        return np.tanh(self.linear(x))

    def linear(self, x):
        return self.W @ x + self.b * self.__gain

    def twice(self, x):
        return self.linear(self.linear(x))


class Scaled(Dense):
    def linear(self, x):
        return super().linear(x) * 2

    def both(self, x):
        return super().linear(x) + Dense.linear(self, x)


class Relu:
    def __call__(self, x):
        return np.maximum(x, 0.1 * x)


class Chain:
    def __init__(self, *layers):
        self.layers = list(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Vector:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        if not isinstance(other, Vector):
            return NotImplemented
        return self.v + other.v

    def __mul__(self, other):
        return self.v * (other.v if isinstance(other, Vector) else other)

    __rmul__ = __mul__

    def __radd__(self, other):
        return self.v * 3 + other

    def __matmul__(self, other):
        return self.v @ other.v

    def __neg__(self):
        return -self.v

    def __abs__(self):
        return np.sqrt(np.sum(self.v**2))

    def __getitem__(self, i):
        return self.v[i]

    def __len__(self):
        return len(self.v)

    def __lt__(self, other):
        return np.sum(self.v) < np.sum(other.v)

    def __bool__(self):
        return bool(self.v[0] > 0)


class Louder(Vector):
    __slots__ = ()

    def __radd__(self, other):
        return self.v * 5 + other.v


class Mode(enum.Enum):
    FAST = 1.5
    SLOW = 2.5


class Node:
    def __init__(self, value, next=None, *children):
        self.value = value
        self.next = next
        self.children = list(children)

    def total(self):
        t = self.value**2
        for child in self.children:
            t = t + child.total() * self.value
        return t


class Table:
    def __init__(self):
        self.entries = {"gain": 2.0, "rate": 3.0}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.entries[name]


def affine(a, x, *, b):
    return a * x + b


def traced(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    return wrapper


@traced
def square(x):
    return x * x


# --- fields -----------------------------------------------------------------------------------------------


def a_field(p):
    return p.x


def fields_twice(p):
    return p.x * p.x * p.y + p.x


def nested_fields(b):
    return b.x.x**3


def objects_in_containers(c):
    return c["points"][1].x * c["points"][0].y + c["one"][0].norm


def in_a_loop(points):
    s = 0.0
    for p in points:
        s = s + p.x * p.y
    return s


def linked(node):
    s = 0.0
    while node is not None:
        s = s + node.value**2
        node = node.next
    return s


def by_name(p):
    s = getattr(p, "x") * 2 + getattr(p, "nothing", 3.0) * p.y  # noqa: B009
    for name in ("x", "y"):
        s = s + getattr(p, name) ** 2
    return s + (1.0 if hasattr(p, "nothing") else p.x)


def own_kind(p):
    return p.x * 2 if type(p) is Point and isinstance(p, Point) else p.y


def a_mode(p, mode):
    return p.x * mode.value if mode is Mode.FAST else p.y


def renamed(p, q):
    if p.x > 1.0:
        p = q
    return p.x * p.y


def named(p):
    return p.a * p[0] + p.b + p.product()


def replaced(p):
    q = p._replace(b=p.a * p.a)
    d = q._asdict()
    return q.b * q.a + d["b"]


def taken_apart(p):
    a, b = p
    return a * a * b + p[-1]


def of_a_table(t):
    return t.gain * t.rate**2


def of_a_namespace(n):
    return n.a * np.sum(n.b**2)


PROGRAMS = [
    (a_field, Point(1.0, 2.0)),
    (fields_twice, Point(1.0, 2.0)),
    (nested_fields, Box(Box(4.0))),
    (nested_fields, Box(Point(4.0, 1.0))),
    (objects_in_containers, {"points": [Point(1.0, 2.0), Point(3.0, 4.0)], "one": (Point(5.0, 6.0),)}),
    (in_a_loop, [Point(1.0, 2.0), Point(3.0, 4.0), Point(5.0, 6.0)]),
    (in_a_loop, [Point(float(i), 2.0) for i in range(12)]),
    (linked, Node(1.0, Node(2.0, Node(3.0)))),
    (by_name, Point(1.0, 2.0)),
    (own_kind, Point(1.0, 2.0)),
    (a_mode, Point(1.0, 2.0), Mode.FAST),
    (a_mode, Point(1.0, 2.0), Mode.SLOW),
    (renamed, Point(1.5, 2.0), Point(3.0, 4.0)),
    (named, Pair(3.0, 4.0)),
    (replaced, Pair(3.0, 4.0)),
    (taken_apart, Pair(3.0, 4.0)),
    (of_a_table, Table()),
    (of_a_namespace, types.SimpleNamespace(a=2.0, b=np.ones(2))),
]


def name_of(program):
    return program[0].__name__


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_fields(program):
    """What is read from objects has the derivative of a value of its own, in every mode."""
    check(*program)


def test_gradients_of_objects():
    """The gradient of an object is a `Tangent` with every field, of a named tuple a named tuple."""
    assert Tangent(Point, x=1.0, y=None) == gradient(a_field)(Point(1.0, 2.0))
    assert Tangent(Box, x=Tangent(Box, x=48.0)) == gradient(nested_fields)(Box(Box(4.0)))
    assert Pair(a=10.0, b=4.0) == gradient(named)(Pair(3.0, 4.0))
    assert [None, Tangent(Point, x=2.0, y=None)] == gradient(lambda ps: ps[1].x * 2)([Point(1.0, 2.0), Point(3.0, 4.0)])


def test_fields_are_checked_when_called():
    """A field of another kind, another class, or a changed class attribute is seen at the next call."""
    f = gradient(lambda p: p.x * p.scale)
    assert 2.0 == f(Point(3.0, 1.0)).x
    assert 3.0 == f(Tripled(3.0, 1.0)).x
    np.testing.assert_array_equal([4.0, 4.0], gradient(lambda p: np.sum(p.x * p.scale * 2))(Point(X[:2], 1.0)).x)
    shadowed = Point(3.0, 1.0)
    shadowed.scale = 5.0
    assert Tangent(Point, x=5.0, y=None, scale=3.0) == f(shadowed)
    Tripled.scale = 7.0
    assert 7.0 == f(Tripled(3.0, 1.0)).x
    Tripled.scale = 3.0


class Tripled(Point):
    scale = 3.0


def test_one_variant_serves_all_objects_of_a_class():
    """Fields are guarded like items of a dict: other values of the same kinds compile nothing."""

    def f(p):
        return p.norm

    g = gradient(f)
    for i in range(3):
        g(Point(1.0 + i, 2.0))
    assert 1 == variants_of(f).count


def test_a_method_that_is_replaced():
    """A method is compiled as it is when it is called: replaced on the class or hidden by a field, it is seen."""

    class Model:
        def f(self, x):
            return x * 2

    run = gradient(lambda m, x: m.f(x), 1)
    assert 2.0 == run(Model(), 3.0)
    Model.f = lambda self, x: x * 5
    assert 5.0 == run(Model(), 3.0)
    model = Model()
    model.f = lambda x: x * 7
    assert 7.0 == run(model, 3.0)


def test_objects_that_refer_to_themselves():
    """A cycle of objects is followed as far as the function goes."""
    node = Node(3.0)
    node.next = node
    g = gradient(lambda n: n.value * n.next.next.value)(node)
    assert 3.0 == g.value
    assert 3.0 == g.next.next.value
    assert g.next.next.next is None


# --- calls ------------------------------------------------------------------------------------------------


def a_method(m, x):
    return m.linear(x) * m.width


def methods_in_methods(m, x):
    return m.twice(x)


def a_callable(m, x):
    return m(x)


def static_and_class(p, v):
    q = Point.diagonal(v)
    return q.x * Point.half(q.y) * p.half(p.diagonal(v).y)


def inherited(m, x):
    return m.twice(x) + m.both(x)


def layers_in_a_loop(layers, x):
    for layer in layers:
        x = layer(x)
    return x


def bound_value(m, x):
    f = m.linear
    return f(x) * np.sum(f(x))


def passed_on(m, x):
    def apply(f, v):
        return f(v)

    return apply(m.linear, x) + apply(m, x)


def given_a_function(f, x):
    return f(x)


def given_a_partial(f, x):
    return f(x) * f(x, b=3.0)


def makes_a_partial(x, w):
    f = functools.partial(affine, w, b=x)
    return f(x) + f(w, b=2.0)


def tree(node):
    return node.total()


def product(node):
    if node is None:
        return 1.0
    return node.value * product(node.next)


def composed(x):
    def compose(*fs):
        def run(v):
            for f in fs:
                v = f(v)
            return v

        return run

    return compose(math.sin, lambda t: t * x, math.exp)(x)


def decorated(x):
    return square(x) * x


def closure(w, k):
    return lambda x, n=2.0: x * w * k * n


def called_closure(f, x):
    return f(x) + f(x, 3.0)


CALLS = [
    (a_method, Dense(), X),
    (methods_in_methods, Dense(), X),
    (methods_in_methods, Scaled(), X),
    (a_callable, Dense(), X),
    (static_and_class, Point(1.0, 2.0), 1.5),
    (inherited, Scaled(), X),
    (layers_in_a_loop, [Dense(1), Dense(2)], X),
    (layers_in_a_loop, [Dense(1), Relu(), Scaled(2)], X),
    (a_callable, Chain(Dense(1), Dense(2)), X),
    (a_callable, Chain(Dense(1), Relu(), Chain(Scaled(2))), X),
    (bound_value, Dense(), X),
    (passed_on, Dense(), X),
    (given_a_function, Dense().linear, X),
    (given_a_function, Dense(), X),
    (given_a_function, functools.partial(Dense().linear), X),
    (given_a_partial, functools.partial(affine, 3.0, b=2.0), 5.0),
    (makes_a_partial, 1.5, 2.5),
    (tree, Node(1.2, None, Node(1.3), Node(0.7, None, Node(0.5)))),
    (product, Node(1.2, Node(1.3, Node(0.7)))),
    (composed, 0.6),
    (decorated, 1.5),
    (called_closure, closure(2.0, 3.0), 1.5),
]


@pytest.mark.parametrize("program", CALLS, ids=name_of)
def test_calls(program):
    """Methods, callable objects, partials and closures give cotangents to what they hold, in every mode."""
    check(*program)


class Model:
    def __init__(self, w):
        self.w = w

    def loss(self, x, k=2.0):
        return np.sum((self.w * x) ** 2) * k

    def __call__(self, x):
        return np.sum(self.w * x)

    @differentiable
    def marked(self, x):
        return np.sum(self.w * x**3)


def test_transforms_of_methods_and_callable_objects():
    """`gradient(model.loss)(x)` is with respect to x; the model is an argument of the class's own function."""
    model, x = Model(np.array([1.0, 2.0])), np.array([3.0, 4.0])
    np.testing.assert_array_equal([12.0, 64.0], gradient(model.loss)(x))
    np.testing.assert_array_equal([6.0, 32.0], gradient(model.loss, "x")(x, k=1.0))
    np.testing.assert_array_equal([1.0, 2.0], value_and_grad(model)(x)[1])
    np.testing.assert_array_equal([27.0, 96.0], gradient(model.marked)(x))
    np.testing.assert_array_equal([36.0, 128.0], gradient(Model.loss)(model, x).w)
    np.testing.assert_array_equal([1.0, 2.0], pullback(model, x)[1](1.0)[0])
    assert 3.0 == gradient(functools.partial(affine, 3.0, b=2.0))(5.0)
    assert 1 == len(pullback(model.loss, x)[1](1.0))


def test_a_marked_method_is_called():
    """A method that `differentiable` wraps is compiled like any other."""
    check(lambda m, x: m.marked(x) * m(x), Model(np.array([1.0, 2.0])), np.array([3.0, 4.0]))


# --- operators --------------------------------------------------------------------------------------------


def compared(a, b):
    if a < b:
        return a.v * 2
    return b.v * a.v


def truth(a):
    return a.v * 2 if a else a.v * len(a)


def items(a):
    return a[1] * 2 + a[-1] * len(a) + np.sum(a[0:2])


def augmented(a, b):
    c = a
    c += b
    return c


def a_sum(p, q):
    r = p + q
    return r.norm * r.x


def remade(p):
    q = dataclasses.replace(p, x=p.x * p.y)
    c = copy.deepcopy(q)
    return q.x * c.y + copy.copy(p).x


OPERATORS = [
    (lambda a, b: a + b, Vector(X), Vector(X * 2)),
    (lambda a, b: a + b, Vector(X), Louder(X * 2)),
    (lambda a, k: a * k, Vector(X), 2.0),
    (lambda a, k: k * a + (k + a), Vector(X), 2.0),
    (lambda a, b: a @ b, Vector(X), Vector(X + 1)),
    (lambda a: -a, Vector(X)),
    (lambda a: abs(a), Vector(X)),
    (compared, Vector(X), Vector(X + 1)),
    (compared, Vector(X + 1), Vector(X)),
    (truth, Vector(X)),
    (truth, Vector(-X)),
    (items, Vector(X)),
    (augmented, Vector(X), Vector(X * 2)),
    (a_sum, Point(1.0, 2.0), Point(3.0, 4.0)),
    (remade, Point(1.0, 2.0)),
    (lambda ps: ps[0].x if ps[0] == ps[1] else ps[1].x, [Point(1.0, 2.0), Point(1.5, 2.0)]),
]


@pytest.mark.parametrize("program", OPERATORS)
def test_operators(program):
    """Operators on objects are the methods that Python would call, and have their derivatives."""
    check(*program)


def test_an_operator_that_no_class_has():
    """Where both operands decline Python's own TypeError comes."""
    with pytest.raises(TypeError, match="unsupported operand"):
        pullback(lambda a: a - 1.0, Vector(X))


# --- beside writes ----------------------------------------------------------------------------------------


def collects(layers, x):
    out = []
    for layer in layers:
        x = layer(x)
        out.append(x)
    return np.sum(np.stack(out) ** 2)


def collects_methods(m, x):
    fs = []
    fs.append(m.linear)
    fs.append(m)
    s = 0.0
    for f in fs:
        s = s + np.sum(f(x) ** 2)
    return s


def collects_records(x, y):
    out = []
    p = Point(x, y * 2)
    out.append(dataclasses.replace(p, x=p.y * x))
    f = functools.partial(affine, x, b=y)
    out.append(f(x) + f(y, b=2.0))
    return out[0].norm * out[1]


def collects_fields(p):
    out = []
    out.append(p.a * 2)
    q = p._replace(b=p.a**2)
    out.append(q.b)
    return out[0] * out[1] + p[1]


def writes_a_field(p, x):
    p.x = x * p.y
    return p.x * p.norm


def writes_a_new_field(m, x):
    m.W = m.W * 2
    m.extra = x * 3
    return np.sum(m(x) * m.extra)


class Half:
    def __init__(self, w):
        self.w = w

    @property
    def double(self):
        return self.w * 2

    @double.setter
    def double(self, value):
        self.w = value / 2


def writes_a_property(h, x):
    h.double = x * x
    return h.w * h.double


@pytest.mark.parametrize(
    "program",
    [
        (writes_a_property, Half(2.0), 3.0),
        (collects, [Dense(1), Dense(2)], X),
        (collects, [Dense(1), Relu(), Scaled(2)], X),
        (collects_methods, Dense(), X),
        (collects_records, 1.5, 2.5),
        (collects_fields, Pair(3.0, 4.0)),
        (writes_a_field, Point(1.0, 2.0), 3.0),
        (writes_a_new_field, Dense(), X),
    ],
    ids=name_of,
)
def test_beside_writes(program):
    """In a program that writes into containers or objects all of this holds too."""
    check(*program)


# --- steps of descent -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "loss"),
    [
        (Point(1.0, 2.0), lambda p: p.norm**2),
        (Box(np.ones(2)), lambda p: np.sum(p.x**2)),
        (Pair(1.0, 2.0), lambda p: p.a**2),
        ({(1, 2): np.ones(2), None: 3.0, "idle": 1.0}, lambda p: np.sum(p[1, 2]) * p[None]),
        (Chain(Dense(1), Dense(2)), lambda p: np.sum(p(X) ** 2)),
        (Vector(np.ones(3)), lambda p: np.sum(p * p)),
        (functools.partial(affine, 2.0, b=3.0), lambda p: p(2.0)),
        (closure(2.0, 3.0), lambda f: f(2.0)),
        (Dense().linear, lambda f: np.sum(f(X) ** 2)),
    ],
)
def test_descent(params, loss):
    """`tree_map` rebuilds what it is given, of the same type, and leaves alone what has no gradient."""
    grads = gradient(loss)(params)
    before = loss(params)
    stepped = tree_map(lambda p, g: p - 0.001 * g, params, grads)
    assert type(stepped) is type(params)
    assert loss(stepped) < before == loss(params)
    assert type(grads) is type(materialize(grads, params))


def test_a_step_leaves_constants():
    """Fields without gradient are those of the old object."""
    stepped = tree_map(lambda p, g: p - g, Table(), Tangent(Table, entries={"gain": 1.0, "rate": None}))
    assert {"gain": 1.0, "rate": 3.0} == stepped.entries


# --- refusals ---------------------------------------------------------------------------------------------


class Odd:
    def __init__(self, w):
        self.w = w

    @functools.cached_property
    def kept(self):
        return self.w * 2

    def __iter__(self):
        return iter([self.w, self.w])


@functools.lru_cache
def remembered(x):
    return x * x


def reads_cached(o):
    return o.kept  # refused


def loops_over(o):
    s = 0.0
    for w in o:  # refused
        s = s + w
    return s


def takes_apart(o):
    a, b = o  # refused
    return a * b


def reads_dict(o):
    return o.__dict__["w"]  # refused


def sums_objects(ps):
    return sum(ps, ps[0]).x  # refused


def calls_cached(x):
    return remembered(x) * x  # refused


@pytest.mark.parametrize("f", [reads_cached, loops_over, takes_apart, reads_dict])
def test_refused(f):
    """What an object computes behind the scenes is refused with the line."""
    check_refused(UnsupportedSyntaxError, f, Odd(2.0))


def test_a_sum_of_objects_is_refused():
    """`sum` of objects calls their operators, which its rule does not know."""
    check_refused(DifferentiationError, sums_objects, [Point(1.0, 2.0), Point(3.0, 4.0)])


def test_numbers_of_numpy_beside_sequences():
    """A number of NumPy's takes an object with a length for an array: what it computes is not the object's method."""
    with pytest.raises(NoRuleError):
        pullback(lambda a, k: k * a, Vector(X), np.float64(2.0))


def test_caches():
    """A function with a cache is refused where its argument carries a derivative, and called where it does not."""
    check_refused(NoRuleError, calls_cached, 2.0)
    with pytest.raises(NoRuleError, match="Remove the cache"):
        pullback(calls_cached, 2.0)
    assert 9.0 == gradient(lambda x: x * remembered(3.0))(2.0)


def test_attributes_that_do_not_exist():
    """A missing attribute is Python's own error."""
    with pytest.raises(AttributeError, match="nothing"):
        pullback(lambda p: p.nothing, Point(1.0, 2.0))
    with pytest.raises(AttributeError, match="nothing"):
        pullback(lambda p: p.nothing(1.0), Point(1.0, 2.0))


def test_foreign_objects_are_refused():
    """An object whose class decides itself what an attribute is, is not followed."""

    class Guarded:
        def __getattribute__(self, name):
            return 3.0

    with pytest.raises(DifferentiationError):
        pullback(lambda g: g.w * 2, Guarded())


# --- many objects -----------------------------------------------------------------------------------------


class Many:
    """A model with more layers than a function has versions."""

    def __init__(self, count):
        for i in range(count):
            setattr(self, f"l{i}", Dense(i))
        self.tables = {f"k{i}": {"w": 1.0 + i} for i in range(count)}

    def __call__(self, x):
        x = self.l0(self.l1(self.l2(self.l3(self.l4(self.l5(x))))))
        return self.l6(self.l7(self.l8(self.l9(self.l10(self.l11(x))))))

    def all_tables(self, x):
        t = self.tables
        x = weigh(t["k0"], weigh(t["k1"], weigh(t["k2"], weigh(t["k3"], weigh(t["k4"], weigh(t["k5"], x))))))
        return weigh(t["k6"], weigh(t["k7"], weigh(t["k8"], weigh(t["k9"], weigh(t["k10"], weigh(t["k11"], x))))))


def weigh(table, x):
    return table["w"] * x


def chain(count):
    node = None
    for i in range(count):
        node = Node(1 + 0.1 * i, node)
    return node


def cut(layers, x):
    for layer in layers[:-1]:
        x = layer(x)
    for layer in layers[::-1]:
        x = x + layer(x)
    return layers[-1](x)


def cut_by_length(xs, n):
    s = xs[0]
    for x in xs[n:]:
        s = s * x
    return s


@pytest.mark.parametrize(
    "program",
    [
        (a_callable, Many(12), X),
        (lambda m, x: m.all_tables(x), Many(12), 1.5),
        (product, chain(20)),
        (in_a_loop, [Point(float(i), 2.0) for i in range(40)]),
        (cut, [Dense(i) for i in range(3)], X),
        (cut, (Dense(1), Relu()), X),
        (cut_by_length, [2.0, 3.0, 4.0], 1),
        (cut_by_length, (2.0, 3.0, 4.0), 1),
    ],
)
def test_many(program):
    """A function that meets objects in ever new places has few versions, and a part of a list is a list."""
    check(*program)


class Positive:
    def __init__(self, factor):
        self.factor = factor

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, cls=None):
        return self if obj is None else getattr(obj, self.name) ** 2 * self.factor

    def __set__(self, obj, value):
        setattr(obj, self.name, value)


class Described:
    rate = Positive(3.0)

    def __init__(self, rate):
        self.rate = rate


def test_descriptors():
    """A descriptor of the user's is the method that it defines."""
    check(lambda d: d.rate * 2, Described(1.5))


class Layers:
    def __init__(self, *layers):
        self.layers = list(layers)

    def __iter__(self):
        return iter(self.layers)

    def __len__(self):
        return len(self.layers)

    def __getitem__(self, i):
        return self.layers[i]


def over_layers(layers, x):
    for layer in layers:
        x = layer(x)
    for i, layer in enumerate(layers):
        if i < len(layers) - 1:
            x = x + layer(x)
    for i in range(len(layers)):
        x = x * layers[i](x)
    return layers[-1](layers[0](x))


@pytest.mark.parametrize("layers", [(Dense(1), Dense(2)), (Dense(1), Relu(), Scaled(2))], ids=["alike", "mixed"])
def test_objects_as_containers(layers):
    """A class that hands out the items of its list is looped over and read like the list."""
    check(over_layers, Layers(*layers), X)


def mixed_loops(layers, fs, x):
    for i, layer in enumerate(layers):
        x = layer(x) * (i + 1)
        if np.sum(x) > 1e6:
            return x
    for f in fs:
        x = f(x)
    else:
        x = x * 2
    for f in fs:
        if np.sum(x) > 1e6:
            break
        x = f(x)
    return layers[-1](x)


def test_mixed_loops():
    """A short loop over functions and objects of different classes is written out, unless a turn may end it."""
    check(mixed_loops, [Dense(1), Relu(), Dense(2)], [np.tanh, Dense(3), square], X)
    text = differentiable(mixed_loops).source([Dense(1), Relu()], [square], X, wrt="x")
    assert "layer = layers[1]" in text
    assert "square_forward" in text


def made_inside(x):
    class Base:
        def __init__(self, v):
            self.v = v

        def score(self):
            return self.v * 2

    class Child(Base):
        def __init__(self, v):
            super().__init__(v * 3)

        def score(self):
            return super().score() + self.v

    return Child(x).score() * x


def one_of(fs, i, x):
    return fs[i](x)


def test_known_at_run_time_only():
    """A class made inside, and an object that is no argument, are called at run time by what they are then."""
    check(made_inside, 2.0)
    for i in range(4):
        layers = [Dense(1), Relu(), functools.partial(affine, 2.0, b=1.0), square]
        check(lambda x, i=i, layers=layers: one_of(layers, i, x), X)


class Changing:
    def __init__(self, w):
        self.w = w


def reads_a_field(o):
    return o.w * 2


def test_a_class_that_gets_a_property():
    """A property that a class gets between two calls comes before the field of that name; this one is refused."""
    _, back = pullback(reads_a_field, Changing(0.7))
    assert back(1.0)[0].w == 2.0
    o = Changing(0.7)
    Changing.w = property(lambda self: self.__dict__["w"] * 5)
    try:
        with pytest.raises(UnsupportedSyntaxError, match="__dict__"):
            pullback(reads_a_field, o)
    finally:
        del Changing.w
