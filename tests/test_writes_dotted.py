"""Arrays, containers and attributes that are reached by a dotted path from a module or class, and written there."""

import enum
import types
from typing import ClassVar

import numpy as np
import pytest

from adcompiler import value_and_grad
from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2, 0.9])
S = 0.6


class Holder:
    def __init__(self):
        self.v, self.k, self.items, self.inner = np.ones(4), 1.0, [1.0, 2.0], None

    def get(self):
        return self.v

    def put(self, v):
        self.v = v

    @property
    def doubled(self):
        return self.v * 2


class Config:
    g = np.ones(4)
    numbers: ClassVar = {"a": 2.0, "b": 3.0}
    arrays: ClassVar = {"a": np.ones(4), "b": np.ones(4)}
    items: ClassVar = []
    o = Holder()

    class Inner:
        g = np.ones(4)
        o = Holder()

    @classmethod
    def fill(cls, v):
        cls.g.fill(v)

    def fill_first(self, v):
        self.__class__.arrays["a"].fill(v)
        type(self).o.v = type(self).o.v * v

    def total(self):
        return sum(self.__class__.arrays.values()) + type(self).o.v.sum()


class Level(enum.Enum):
    LOW = np.ones(4)

    @property
    def doubled(self):
        return self.value * 2

    def total(self):
        return self.value.sum()


ARRAY, NUMBERS, TABLE = np.ones(4), [1.0, 2.0], {"a": 1.0}
total_of_array, fill_array, last_number, in_table = ARRAY.sum, ARRAY.fill, NUMBERS.pop, TABLE.get

settings = types.ModuleType("settings")
settings.total_of_array, settings.add_number, settings.Level = ARRAY.sum, NUMBERS.append, Level
settings.part = types.ModuleType("settings.part")
settings.Config = Config
SPACE, OWN = types.SimpleNamespace(), Holder()


def remembered(v):
    remembered.seen.append(v)
    return remembered.seen[-1] * remembered.last.sum()


def start():
    settings.G, settings.items, settings.o = np.ones(4), [1.0, 2.0], Holder()
    settings.space = types.SimpleNamespace(v=1.0)
    settings.part.G, settings.part.o = np.ones(4), Holder()
    settings.o.inner = Holder()
    settings.o.inner.inner = Holder()
    SPACE.g, SPACE.inner = np.ones(4), types.SimpleNamespace(g=np.ones(4))
    remembered.seen, remembered.last = [], np.ones(4)
    Config.items.clear()
    Config.numbers.update(a=2.0, b=3.0)
    NUMBERS[:] = [1.0, 2.0]
    TABLE["a"] = 1.0
    settings.put, settings.get = OWN.put, OWN.get
    for array in (ARRAY, Level.LOW.value, Config.g, Config.Inner.g, *Config.arrays.values()):
        array[:] = 1.0
    for o in (OWN, Config.o, Config.Inner.o):
        o.__init__()


# Methods that write


def fills(x, s):
    settings.G.fill(s)
    Config.g.fill(s * s)
    SPACE.g.fill(s)
    OWN.v.fill(s * s)
    return settings.G * x, Config.g * x, SPACE.g * x, OWN.v * x


def sorts_and_puts(x, s):
    settings.G[:] = x
    settings.G.sort()
    Config.g.put([0, 2], s)
    SPACE.inner.g.__setitem__(1, s)
    return settings.G * s, Config.g * x, SPACE.inner.g * x


def in_parts(x, s):
    settings.part.G.fill(s)
    settings.o.inner.inner.v.fill(s * s)
    Config.Inner.g.fill(s)
    settings.Config.fill(s)
    return settings.part.G * x, settings.o.inner.inner.v * x, Config.Inner.g * x, Config.g * x


def lists(x, s):
    settings.items.append(s)
    settings.items.insert(0, s * s)
    first, last = settings.items.pop(0), settings.items.pop()
    Config.items.append(x * s)
    Config.items[-1][0] = s
    return first * x, last * x, sum(Config.items) * x, np.stack(Config.items)


def in_loops(x, s):
    for i in range(3):
        settings.G[i] = s * i
        settings.o.k += settings.G.sum()
    return settings.o.k * x


@programs(fills, sorts_and_puts, in_parts, lists, in_loops)
def test_methods_that_write(program):
    """A method that writes is followed by whatever path its object is reached."""
    check_writes(program, X, S, before=start)


# Methods that read what was written


def reductions(x, s):
    settings.G[0] = s
    Config.g[1] = s
    SPACE.inner.g[2] = s
    OWN.v[3] = s
    return settings.G.sum() * x, Config.g.max() + Config.g.mean(), SPACE.inner.g.dot(x), OWN.v.copy() * x


def before_and_after(x, s):
    y = settings.G.sum() * x
    settings.G.fill(s)
    return y, settings.G.sum() * x, settings.G.reshape(2, 2).T.copy()


def values_of_a_dict(x, s):
    Config.arrays["a"][1:] = x[1:]
    total = 0.0
    for v in Config.arrays.values():
        total = total + v * s
    first, second = Config.arrays.values()
    return total, first * x + second, sum(list(Config.arrays.values())) * x, [v * x for k, v in Config.arrays.items()]


def numbers_of_a_dict(x, s):
    Config.numbers["a"] = s
    total = 0.0
    for v in Config.numbers.values():
        total = total + v * x
    first, second = Config.numbers.values()
    return total, first * x + second, sum(Config.numbers.values()) * x, [v * s for k, v in Config.numbers.items()]


def of_the_class_of_an_object(x, s):
    c = Config()
    c.fill_first(s)
    return c.total() * x, type(c).g.sum() * x


def of_a_list(x, s):
    settings.items[0] = s
    settings.o.inner.items[1] = s
    return settings.items.copy()[0] * x, sum(settings.o.inner.items[:]) * x


def of_a_function(x, s):
    remembered.last.fill(s)
    return remembered(x), remembered.seen.pop() * s


@programs(reductions, before_and_after, values_of_a_dict, numbers_of_a_dict, of_the_class_of_an_object, of_a_list,
          of_a_function)  # fmt: skip
def test_methods_that_read(program):
    """A method gives what was written into its object, by whatever path this is reached."""
    check_writes(program, X, S, before=start)


# Attributes


def written_attributes(x, s):
    settings.o.v = x * s
    settings.space.v = x
    Config.o.k += s
    Config.Inner.o.v = x * x
    return settings.o.v * x, settings.space.v * s, Config.o.k * x, Config.Inner.o.v * s


def by_another_name(x, s):
    space, o = settings.space, settings.o
    space.v = x
    o.inner.v = x * s
    settings.o.k = s
    return settings.space.v * s, settings.o.inner.v * x, o.k * x


def by_methods(x, s):
    settings.o.put(x * s)
    Config.o.put(x * x)
    settings.o.inner.inner.put(x * s)
    return settings.o.get() * x, settings.o.doubled, Config.o.v * s, settings.o.inner.inner.get() * x


def in_a_part(x, s):
    settings.part.o.v = x * s
    settings.part.o.v[0] = s
    return settings.part.o.v * x, settings.part.o.get() * s


@programs(written_attributes, by_another_name, by_methods, in_a_part)
def test_attributes(program):
    """An attribute that was written is read with its derivative, by whatever path its object is reached."""
    check_writes(program, X, S, before=start)


# Other ways to the same objects


def methods_with_names_of_their_own(x, s):
    ARRAY[0] = s
    y = total_of_array() * x
    fill_array(s * s)
    settings.add_number(s)
    TABLE["a"] = s
    return y, settings.total_of_array() * x, last_number() * x, in_table("a") * x


def methods_of_objects(x, s):
    settings.put(x * s)
    return settings.get() * x, OWN.v * s


def members_of_an_enumeration(x, s):
    Level.LOW.value[0] = s
    y = Level.LOW.doubled * x
    settings.Level.LOW.value.fill(s)
    return y, Level.LOW.total() * x, settings.Level.LOW.value.max()


def methods_of_a_class(x, s):
    type(settings.o).put(settings.o, x * s)
    return settings.o.v * x, settings.o.get() * s


def a_module_by_a_name(x, s):
    m, part = settings, settings.part
    m.G.fill(s)
    part.o.v = x * s
    return settings.G.sum() * x, settings.part.o.v * x, m.o.v * x


def dicts_of_variables(x, s):
    globals()["ARRAY"].fill(s)
    vars(settings)["G"].fill(s)
    y = vars(settings).get("G") * x
    vars(settings).get("G")[0] = s * s
    return globals()["ARRAY"].sum() * x, vars(settings)["G"].max() * x, settings.G * y


@programs(methods_with_names_of_their_own, methods_of_objects, members_of_an_enumeration, methods_of_a_class,
          a_module_by_a_name, dicts_of_variables)  # fmt: skip
def test_other_ways(program):
    """What is written is read by a method with a name, a member of an enumeration, a class, a dict of variables."""
    check_writes(program, X, S, before=start)


# Programs that write elsewhere


def loops_over_constants(x, s):
    found = []
    for v in Config.numbers.values():
        found.append(v * x)
    for k, v in Config.numbers.items():
        found.append(v * s + len(k))
    found.append(sum(v * s for v in Config.numbers.values()))
    found.append(sum(settings.o.items) * x)
    return found


def writes_by_loops(x, s):
    for v in Config.arrays.values():
        v *= x
    for i, v in enumerate(Config.arrays.values()):
        v[i] = s
    return Config.arrays["a"] * s, Config.arrays["b"] * x, [v * x for v in map(np.sin, Config.arrays.values())]


def constants_of_modules(x, s):
    x[0] = s
    return settings.G.sum() * x, settings.o.k * x, Config.o.v.mean() * s, settings.o.inner.get() * x


@programs(loops_over_constants, writes_by_loops, constants_of_modules)
def test_dotted_paths_beside_writes(program):
    """Containers, arrays and objects of modules and classes are read in programs that write, as in all others."""
    check_writes(program, X, S, before=start)


def test_a_constant_by_a_dotted_path():
    """A path to a constant array may be used as often as is wished, and is read again at each call."""

    def total(x):
        return settings.G.sum() * np.sum(x) + settings.o.inner.v.dot(x)

    start()
    compiled = value_and_grad(total)
    value, slope = compiled(X)
    assert value == pytest.approx(5 * X.sum())
    np.testing.assert_allclose(slope, np.full(4, 5.0))
    settings.G[:] = 2.0
    settings.o.inner = types.SimpleNamespace(v=X)
    value, slope = compiled(X)
    assert value == pytest.approx(8 * X.sum() + X @ X)
    np.testing.assert_allclose(slope, 8 + X)
