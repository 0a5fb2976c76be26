"""Objects that a program makes and writes into, and variables that nested functions rebind."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from adcompiler import Tangent, UnsupportedSyntaxError, differentiable, pullback
from tests.promises import check, check_raises


class Cell:
    def __init__(self, v):
        self.value = v

    def scaled(self, d):
        self.value = self.value * d
        return self

    @property
    def squared(self):
        return self.value**2


class Layer:
    factor = 2.0

    def __init__(self, w):
        self.w = w
        self.seen = []

    def __call__(self, x):
        self.seen.append(x)
        return self.w * x * self.factor


class Shifted(Layer):
    def __init__(self, w, b):
        super().__init__(w * 2)
        self.b = b

    def __call__(self, x):
        return super().__call__(x) + self.b * len(self.seen)


@dataclass
class State:
    h: float
    c: float = 1.0
    log: list = field(default_factory=list)

    def __post_init__(self):
        self.total = self.h * 2

    def step(self, x):
        self.h = np.tanh(self.h + x)
        self.log.append(self.h)
        return self


@dataclass(frozen=True)
class Point:
    x: float
    tags: list = field(default_factory=list)

    def __add__(self, other):
        return Point(self.x + other.x)

    def __mul__(self, k):
        return Point(self.x * k)


class Stack:
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Node:
    def __init__(self, v, rest=None):
        self.v = v
        self.rest = rest


class Mean:
    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, v):
        self.total += v
        self.count += 1

    @property
    def value(self):
        return self.total / self.count


class Recurrent:
    def __init__(self, w):
        self.w = w
        self.state = None

    def __call__(self, x):
        self.state = np.tanh(x + (0 if self.state is None else self.w * self.state))
        return self.state


# Programs


def attribute_written(x):
    c = Cell(x)
    c.value = c.value * 3
    return c.value * x


def two_names_for_one_object(x):
    c = Cell(x)
    d = c
    d.value += x * x
    c.scaled(2.0).scaled(x)
    return c.value * d.squared


def inherited(x):
    m = Shifted(x, x * x)
    y = m(x)
    z = m(y)
    return z + m.seen[1]


def dataclass_with_everything(x):
    s = State(x, c=x * 2)
    for _ in range(3):
        s.step(x)
    return s.h * s.c + s.total + sum(s.log)


def frozen_with_operators(x):
    p = Point(x) + Point(x * x) * 3.0
    return p.x


def a_stack(x):
    s = Stack()
    s.push(x)
    s.push(x * x)
    s.push(x * 3)
    y = s.pop()
    return y * s[1] * s.pop() * len(s)


def a_linked_list(x):
    n = None
    for i in range(4):
        n = Node(x * i, n)
    s = 0.0
    while n is not None:
        s = s + n.v * n.v
        n = n.rest
    return s


def a_running_mean(x):
    m = Mean()
    for i in range(3):
        m.add(x**i)
    return m.value


def a_class_of_its_own(x):
    class Local:
        pass

    o = Local()
    o.a = x
    o.b = o.a * x
    return o.b


def a_recurrent_cell(x):
    cell = Recurrent(x)
    for i in range(3):
        y = cell(x * i)
    return y * cell.state


def a_counter(x):
    w = x * 2

    def step(v):
        nonlocal w
        w = w * v + x
        return w

    s = 0.0
    for v in [x, 2.0, x * x]:
        s = s + step(v) * w
    return s + w


def a_parameter_bound_again(x):
    def scale(v):
        nonlocal x
        x = x * v

    f = lambda y: x * y
    scale(x)
    scale(2.0)
    return f(x)


def a_total_beside_a_list(x):
    total = 0.0
    out = []

    def add(v):
        nonlocal total
        total = total + v * len(out)
        out.append(total)

    for i in range(3):
        add(x**i)
    return total + sum(out)


def two_levels(x):
    a = x

    def f():
        b = a * x

        def g():
            nonlocal b, a
            b = b * a
            a = b + x

        g()
        g()
        return b * a

    return f() * a


PROGRAMS = [
    attribute_written, two_names_for_one_object, inherited, dataclass_with_everything, frozen_with_operators, a_stack,
    a_linked_list, a_running_mean, a_class_of_its_own, a_recurrent_cell, a_counter, a_parameter_bound_again,
    a_total_beside_a_list, two_levels,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_objects_and_shared_variables(program):
    """What is stored in an object or a shared variable is what is read from it."""
    check(program, 0.9)


def unbound_shared_variable(x):
    def f():
        return w * x

    def g():
        nonlocal w
        w = x

    y = f() if x > 0 else 0.0
    w = y
    g()
    return w


def test_a_shared_variable_without_a_value():
    """Reading it raises Python's own kind of error."""
    with pytest.raises(NameError):
        unbound_shared_variable(0.5)
    with pytest.raises(NameError):
        pullback(unbound_shared_variable, 0.5)


def missing_attribute(x):
    c = Cell(x)
    return c.other * x


def test_a_missing_attribute():
    """As in plain Python."""
    check_raises(AttributeError, missing_attribute, 0.5)


def written_argument(m, x):
    m.state = m.w * x
    return m.state * m.w


@pytest.mark.parametrize("single_use", [False, True])
def test_an_object_that_is_an_argument(single_use):
    """The caller's object changes as in a plain call; the gradient is that of its fields at entry."""
    m = Recurrent(2.0)
    value, back = pullback(written_argument, m, 1.5, single_use=single_use)
    assert (value, m.state) == (6.0, 3.0)
    assert back(1.0) == (Tangent(Recurrent, w=6.0, state=None), 4.0)


def applied(f, x):
    return f(x)


def late_binding(x):
    a = x * 2.0
    g = lambda y: a * y
    a = x * 3.0
    return applied(g, x)


def late_binding_of_what_is_kept(x):
    a = x * 2.0
    functions = [lambda y: a * y]
    a = x * 3.0
    return functions[0](x) * a


def functions_of_a_loop(x):
    functions = []
    for i in range(3):
        w = x * i
        functions.append(lambda v: v * w + i)  # noqa: B023  what is tested: all see the last w and i
    return sum([f(x) for f in functions])


def rebound_by_a_loop(x):
    s = 0.0
    for w in [x, x * x, 2.0]:

        def g(v):
            return v * w  # noqa: B023

        s = s + applied(g, applied(g, x))
    return s * w


def closures_that_share(x):
    def make():
        c = x

        def add(v):
            nonlocal c
            c = c + v
            return c

        def get():
            return c * x

        return add, get

    add, get = make()
    add(x)
    add(2.0)
    return get() * add(x)


@pytest.mark.parametrize(
    "program",
    [late_binding, late_binding_of_what_is_kept, functions_of_a_loop, rebound_by_a_loop, closures_that_share],
)
def test_captured_variables_that_are_rebound(program):
    """A function sees a captured variable as it is when it is called, wherever the function has been meanwhile."""
    check(program, 0.9)


def made_by_a_local_class(x):
    class Adder:
        k = 2.0

        def __init__(self):
            self.t = []

        def add(self, v):
            self.t.append(v * self.k)
            return self

    return sum(Adder().add(x).add(x * x).t)


def test_a_class_defined_inside():
    """Objects of a class that the function itself defines are made at run time."""
    check(made_by_a_local_class, 0.9)


class Scaled:
    k = 2.0

    def __init__(self, a):
        self.a = a


def hides_a_class_attribute(p):
    p.k = p.a * p.k
    return p.k * p.a


def test_an_attribute_that_hides_the_class_s():
    """An attribute that the program sets comes before the class's of the same name."""
    _, back = pullback(hides_a_class_attribute, Scaled(0.7))
    assert back(1.0) == (Tangent(Scaled, a=pytest.approx(4 * 0.7)),)


# Callables that are only known at run time


class Counter:
    def __init__(self, a):
        self.a = a

    def up(self, v):
        self.a = self.a * v


def method_from_a_list(x, y):
    o = Counter(x)
    r = [o.up, 2.0]
    r[int(y < 0)](y)
    return o.a


def closure_from_a_list(x, y):
    o = Counter(x)

    def write(v):
        o.a = o.a * v

    r = [write, lambda v: o.up(v), 2.0]
    r[int(y < 0)](y)
    r[1](y)
    return o.a


def class_from_a_list(x, y):
    r = [Counter, 2.0]
    o = r[int(y < 0)](y)
    o.up(y * x)
    return o.a


def variable_bound_later(x, y):
    def write(v):
        items[0] = items[0] * v

    items = [x]
    r = [write, 2.0]
    r[int(y < 0)](y)
    return items[0]


@pytest.mark.parametrize("program", [method_from_a_list, closure_from_a_list, class_from_a_list, variable_bound_later])
def test_callables_known_at_run_time(program):
    """What a callable that is only known at run time writes has its derivative, though the text does not show it."""
    check(program, 0.7, 0.4)


class Answering:
    def __init__(self, a):
        self.a = a

    def __getattr__(self, name):
        if name == "c":
            return 5.0
        raise AttributeError(name)


class Doubling:
    def __init__(self, a):
        self.a = a

    def __setattr__(self, name, v):
        object.__setattr__(self, name, v * 2)


def sets_what_is_computed(o, y):
    o.c = y
    return o.a * o.c


def sets_through_a_hook(o, y):
    o.a = y
    return o.a


def hides_a_method(x):
    o = Counter(x)
    o.up = lambda v: x * v
    return o.up(x)


def test_attribute_hooks():
    """An attribute that was set comes before `__getattr__`; `__setattr__` and hidden methods are refused."""
    value, back = pullback(sets_what_is_computed, Answering(0.7), 0.4)
    assert (value, back(1.0)) == (pytest.approx(0.28), (Tangent(Answering, a=0.4), 0.7))
    with pytest.raises(UnsupportedSyntaxError, match="__setattr__"):
        pullback(sets_through_a_hook, Doubling(0.7), 0.4)
    with pytest.raises(UnsupportedSyntaxError, match="hides a method"):
        pullback(hides_a_method, 0.7)


class Scaling:
    @differentiable
    def __init__(self, w, *more, k=3.0, **options):
        self.w = w
        self.k = k
        self.count = len(more) + len(options)

    def __call__(self, x):
        return self.w * x + self.k


class Wider(Scaling):
    def __init__(self, w):
        super().__init__(w, 1.0)
        self.extra = 5.0


@dataclass
class Settings:
    a: float
    b: float = 2.0

    def __post_init__(self):
        self.product = self.a * self.b


def test_objects_made_of_constants():
    """Where no derivative is stored in an object, it is made and filled all the same."""

    def plain(x):
        d = Scaling(2.0)
        return d(x) * d.w

    def arguments(x):
        d = Scaling(2.0, *[1.0, 2.0], **{"k": 4.0}, other=5)
        return d(x) * d.count

    def inherited(x):
        d = Wider(2.0)
        return d(x) * d.extra

    def record(x):
        return Settings(3.0).product * x + State(2.0).total * x

    def several(x):
        for d in [Scaling(1.0), Scaling(2.0)]:
            x = d(x)
        return x

    def method(x):
        return Cell(3.0).scaled(2.0).squared * x

    for f in (plain, arguments, inherited, record, several, method):
        check(f, 0.7)
