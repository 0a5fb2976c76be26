"""Arrays in containers, objects, closures, defaults and globals that are written after they were put there."""

import functools
from collections import deque, namedtuple
from dataclasses import dataclass, field

import numpy as np

from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2])


# Containers


def list_of_arrays(x, n):
    hs = [x * 1.0]
    for _ in range(n):
        hs.append(np.tanh(hs[-1]))
    g = hs[n // 2]
    g *= hs[0]
    hs[-1][0] = g[1] * x[2]
    return sum(hs)


def total_of_a_list(x, n):
    gs = [x * (i + 1) for i in range(n + 1)]
    total = gs[0]
    for g in gs[1:]:
        total += g * x
    return total * gs[0]


def two_names_for_a_list(x, n):
    xs = [x, x * x]
    ys = xs
    ys[0][n] = xs[1][1] * x[0]
    ys.append(x[1:])
    xs[2][0] += ys[1][0]
    return xs[0] * xs[1]


def dict_of_views(x, n):
    d = {"head": x[:2], "tail": x[1:]}
    d["head"][1] = d["tail"][1] * x[0]
    d["tail"] *= 2.0
    d["new"] = np.zeros(2)
    d["new"][:] = d["head"]
    for key, value in d.items():
        value += len(key) * x[0]
    return x, d["new"]


def tuples(x, n):
    t = (x, (x[1:], x * 2.0))
    t[1][0][0] = t[1][1][n] ** 2
    t[1][1][:] = t[0] * t[1][1]
    a, (b, c) = t
    b += c[:2]
    return a * c


def deque_of_arrays(x, n):
    d = deque([x * 1.0, x * x, np.zeros(3)])
    for _ in range(n):
        d.rotate(1)
        d[0][:] = d[1] * x + d[2]
        d[-1][0] *= 0.5
    return d[0] + d.pop() * 2.0


def grid_of_lists(x, n):
    grid = [[np.zeros(2) for _ in range(2)] for _ in range(2)]
    shared = [np.zeros(3)] * 2
    grid[0][1][:] = x[1:] ** 2
    grid[1][0] += grid[0][1] * x[0]
    shared[0][1] = x[n]
    shared[1] *= x
    return grid[0][1] * grid[1][0], shared[0], shared[1] * 2.0


def copies_of_containers(x, n):
    xs = [x, x * 2.0]
    ys, zs = list(xs), xs[:]
    ys[0][0] *= xs[1][1]
    zs[1] = zs[1] * x[n]
    ws = [v.copy() for v in xs]
    ws[0][1] = 5.0
    zs[1] += ys[0]
    return xs[0] * xs[1] + zs[1] * ws[0]


Pair = namedtuple("Pair", "left right")


def named_tuples(x, n):
    p = Pair(x[:2], x[1:])
    p.left[0] *= p.right[1]
    p.right[:] = p.left * x[n]
    return x * x


@programs(list_of_arrays, total_of_a_list, two_names_for_a_list, dict_of_views, tuples, deque_of_arrays,
          grid_of_lists, copies_of_containers, named_tuples)  # fmt: skip
def test_arrays_in_containers(program):
    """A container holds the array itself, not what it was when it was stored."""
    check_writes(program, X, 2)


# Attributes


class Cell:
    def __init__(self, state):
        self.state = state
        self.history = []
        self.buffer = np.zeros(3)

    def step(self, x):
        self.buffer[:] = np.tanh(self.state * x)
        self.state += self.buffer
        self.history.append(self.state)
        return self.buffer

    def swap(self):
        self.state, self.buffer = self.buffer, self.state


@dataclass
class Grid:
    u: np.ndarray
    v: np.ndarray = field(default_factory=lambda: np.zeros(3))


def steps_of_a_cell(x, n):
    cell = Cell(x * 1.0)
    for _ in range(n):
        out = cell.step(x)
        cell.swap()
        out[0] *= 2.0
    return cell.state, cell.buffer, cell.history[0] * 1.0


def fields_of_a_dataclass(x, n):
    g = Grid(x)
    g.v[1:] = g.u[:2] * x[n]
    g.u, g.v = g.v, g.u
    g.u += g.v
    h = Grid(g.u[::-1], g.v)
    h.u[0] *= h.v[1]
    return g.u * x


def array_of_two_objects(x, n):
    shared = x * 1.0
    p, q = Grid(shared), Grid(shared[1:], shared)
    p.u[1] = x[0] * x[n]
    q.u *= q.v[0]
    p.u = p.u * 2.0
    p.u[0] = q.u[1]
    return p.u * q.v


@programs(steps_of_a_cell, fields_of_a_dataclass, array_of_two_objects)
def test_arrays_in_attributes(program):
    """An object that holds an array shows each write to it."""
    check_writes(program, X, 2)


# Closures, defaults


def captured_and_written(x, n):
    acc = np.zeros(3)

    def add(v):
        acc[:] += v * x

    for i in range(n):
        add(x[i])
    acc[0] *= acc[1]
    return acc


def captured_and_rebound(x, n):
    y = x * 1.0

    def read():
        return y * x

    y[0] = x[1] ** 2
    before = read()
    y = np.zeros(3)
    y[1] = x[n]
    return before + read()


def written_by_nonlocal(x, n):
    y = x * 1.0
    z = y

    def scale(s):
        nonlocal y
        y *= s
        y = y + z

    scale(x[n])
    scale(2.0)
    return y * z


def lambdas_and_partials(x, n):
    y = x * 1.0
    get = lambda i: y[i:]
    put = lambda v: assign(y, 0, v)
    get(1)[0] = x[0] * x[n]
    put(x[1] ** 2)
    set_at = functools.partial(assign, y)
    set_at(2, y[0] * y[1])
    return y * x


def assign(target, i, v):
    target[i] = v


def scaled_by_default(a, factor=2.0, out=None):
    if out is None:
        out = np.empty(len(a))
    np.multiply(a, factor, out=out)
    return out


def default_argument(x, n):
    y = scaled_by_default(x)
    z = scaled_by_default(y, x[n], y)
    z[0] *= y[1]
    return scaled_by_default(x, out=x[:]) * z


def bound_methods(x, n):
    y = x * 1.0
    total = y.sum
    y[2] *= x[0]
    y[:2].fill(x[n] ** 2)
    return y * total()


@programs(captured_and_written, captured_and_rebound, written_by_nonlocal, lambdas_and_partials, default_argument,
          bound_methods)  # fmt: skip
def test_captured_arrays(program):
    """A nested function, a default and a bound method hold the array, and see what is written to it later."""
    check_writes(program, X, 2)


# Globals

BUFFER = np.zeros(3)
TABLE = {"w": np.array([1.0, 2.0, 3.0]), "rows": [np.zeros(3), np.zeros(3)]}


def reset():
    BUFFER[:] = [0.0, 1.0, 2.0]
    TABLE["w"][:] = [1.0, 2.0, 3.0]
    for row in TABLE["rows"]:
        row[:] = 0.5
    accumulated.__defaults__[0].fill(0.0)


def global_buffer(x):
    BUFFER[1:] = x[:2] * x[1:]
    BUFFER[0] += x[0]
    np.multiply(BUFFER, x, out=BUFFER)
    return BUFFER * x


def global_by_another_name(x):
    b = BUFFER
    b *= x
    return BUFFER[1:] * read_global(1)


def read_global(i):
    return BUFFER[i] * 2.0


def global_containers(x):
    TABLE["w"][0] = x[0] * x[1]
    TABLE["w"] *= x
    r = TABLE["rows"]
    r[0][:] = TABLE["w"] * r[1]
    r[1] += r[0]
    return r[0] * r[1]


def accumulated(v, total=np.zeros(3)):  # noqa: B008
    total += v * v
    return total


def array_as_a_default(x):
    y = accumulated(x)
    return accumulated(y) * x + y[0]


@functools.lru_cache
def table_of(n):
    return np.ones(n)


def cached_array(x):
    t = table_of(3)
    y = t * x
    y[0] = table_of(3)[1] * x[2]
    return y * t


@programs(global_buffer, global_by_another_name, global_containers, cached_array, array_as_a_default)
def test_global_arrays(program):
    """Arrays of the module are written as in a plain call, and carry derivatives within it."""
    check_writes(program, X, before=reset)


def made_with_a_buffer():
    buffer = np.zeros(3)

    def f(x):
        buffer[:] = x * x
        buffer[1:] += buffer[:-1]
        return buffer * x

    return f


def test_a_captured_buffer():
    """The differentiated function may fill an array that it captured."""
    check_writes(made_with_a_buffer(), X)
