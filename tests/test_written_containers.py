"""Lists, dicts and deques that a program writes into: value, side effects and gradient as of the plain program."""

import copy
import functools
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

from adcompiler import MutationError, UnsupportedSyntaxError, pullback
from tests.promises import check, check_refused

X = np.array([0.3, 0.4, -0.2])


# Lists


def append_and_read(x):
    xs = []
    xs.append(x)
    xs.append(x * x)
    return xs[0] * xs[1]


def states_of_a_recurrence(x):
    states = []
    h = x
    for _ in range(4):
        h = np.tanh(h)
        states.append(h)
    return np.sum(np.stack(states))


def two_names_for_one_list(x):
    a = [x, x]
    b = a
    b[0] = b[1] * 3
    a.append(b[0] * x)
    return a[2] + b[-3]


def insert_pop_reverse_delete(x):
    xs = [x]
    for _ in range(3):
        xs.insert(0, xs[0] * x)
    y = xs.pop()
    z = xs.pop(1)
    xs.reverse()
    del xs[0]
    return y * z + xs[0]


def extend_while_reading(x):
    xs = []
    for i in range(3):
        if i == 1:
            xs.append(x * i)
        else:
            xs.extend([x, x * x])
    s = 0.0
    for i, v in enumerate(xs):
        s = s + v * (i + 1)
        if i < 2:
            xs.append(v * v)
    return s


def grow_by_plus(x):
    xs = [x]
    ys = xs
    xs += [x * x, 3 * x]
    ys += (x, 2.0)
    return xs[1] * ys[2] * xs[3] * ys[4]


def lists_in_a_tuple(x):
    t = ([x], x)
    t[0].append(t[1] * t[0][0])
    a, b = t
    u, v = a
    return u * v * b


def swap_inner_lists(x):
    xs = [[x], []]
    xs[1].append(xs[0][0] * 2)
    xs[0], xs[1] = xs[1], xs[0]
    return xs[0][0] * xs[1][0]


def lists_of_lists(x):
    xs = []
    for i in range(3):
        ys = []
        for j in range(2):
            ys.append(x * (i + j + 1))
        xs.append(ys)
    s = 0.0
    for ys in xs:
        for y in ys:
            s = s + y * y
    return s


def joined_and_sliced(x):
    a = [x, x * 2]
    b = a + [x * 3]  # noqa: RUF005
    b[0] = x * x
    c = b[1:]
    c.append(a[0])
    return c[0] * c[1] * c[2] + b[0] * a[0]


def sorted_in_place(x):
    xs = [x, x * x, 3 * x]
    xs.sort(key=lambda v: -v)
    ys = xs
    return ys[0] * xs[1] * xs[2] ** 2


def until_long_enough(x):
    xs = [x]
    i = 0
    while len(xs) < 4:
        xs.append(xs[i] * x)
        i += 1
        if i == 2:
            continue
        if i > 2:
            break
    return xs[-1]


def matrix_of_lists(x):
    m = [[x * (i + j) for j in range(2)] for i in range(2)]
    m[0][1] = m[1][0] * x
    m[1][1] += x
    return m[0][1] * m[1][1] + sum(m[0]) + sum(sum(r) for r in m)


def removed_and_cleared(x):
    xs = [x, 2.0, x * x]
    xs.remove(2.0)
    y = xs[1]
    xs.clear()
    xs.append(y * x)
    return xs[0]


def slices_replaced(x):
    xs = [x, x * 2, x * 3, x * 4]
    xs[1:3] = [xs[0] * xs[3], x, x * x]
    xs[::2] = [x, xs[1], x]
    del xs[1:2]
    return xs[0] * xs[1] + xs[2] * xs[3]


# Dicts and others


def dict_of_results(x):
    d = {}
    d["a"] = x * 2
    d["b"] = d["a"] * x
    d["a"] = d["b"] * x
    return d["a"] + d["b"]


def dict_methods(x):
    d = {"a": x}
    d["a"] += x * x
    d["a"] *= x
    d.update({"c": d["a"]}, b=x)
    s = d.setdefault("z", x) + d.setdefault("a", x)
    return s * d.pop("c") + d["b"] + d.pop("none", x * x)


def totals_by_key(x):
    out = {}
    for k in ["a", "b", "a"]:
        out[k] = out.get(k, x) * x
    return out["a"] + out["b"]


def default_dicts(x):
    d = defaultdict(float)
    for k in "abca":
        d[k] += x * x
    e = defaultdict(list)
    e["p"].append(x)
    e["p"].append(d["a"])
    return d["a"] * d["c"] * e["p"][1]


def ordered(x):
    o = OrderedDict([("a", x), ("b", x * x)])
    o["c"] = o["a"] * o["b"]
    o.move_to_end("a")
    return o["c"] * o["a"]


def a_short_deque(x):
    d = deque(maxlen=2)
    d.append(x)
    d.append(x * x)
    d.append(x * 3)
    d.appendleft(x * x * x)
    d.rotate(1)
    return d[0] * d[1] + d.popleft()


def a_deque_of_items(x):
    d = deque([x, x * x, x * 3], maxlen=2)
    d.append(x)
    return d[0] * d[1]


def copies(x):
    d = {"a": [x, 2 * x]}
    e = copy.deepcopy(d)
    e["a"][0] = e["a"][1] * x
    f = copy.copy(d)
    f["a"].append(x)
    return d["a"][0] * e["a"][0] * d["a"][2]


def a_cache(x):
    cache = {}

    def f(k):
        if k in cache:
            return cache[k]
        cache[k] = x if k < 2 else x * cache[k - 1] * 0.5 + cache[k - 2]
        return cache[k]

    return f(0) + f(1) + f(2) + f(3)


# Calls


def push(xs, v):
    xs.append(v * v)
    return xs


def a_helper_that_writes(x):
    xs = []
    push(xs, x)
    ys = push(xs, x * 2)
    return ys[0] * xs[1]


def a_closure_that_writes(x):
    xs = [x]

    def f(v):
        xs.append(v * xs[-1])
        return xs[-1]

    return f(x) * f(x * 2)


class Owner:
    def __init__(self, items):
        self.items = items


def a_list_that_grows_between_loops(x):
    d = {"m": [x, x * x]}
    p, q = [x, 1.5], [x]
    o, r = Owner([x]), Owner(q)
    o.items.append(x)
    o.items = q
    for _ in range(3):
        d["m"].insert(0, x)
        o.items.append(sum([w * 0.5 for w in d["m"]]))
    return sum(p) + sum(q) + sum(o.items) + sum(r.items)


PROGRAMS = [
    append_and_read, two_names_for_one_list, insert_pop_reverse_delete, extend_while_reading, grow_by_plus,
    lists_in_a_tuple, swap_inner_lists, lists_of_lists, joined_and_sliced, sorted_in_place, until_long_enough,
    matrix_of_lists, removed_and_cleared, slices_replaced, dict_of_results, dict_methods, totals_by_key,
    default_dicts, ordered, a_short_deque, a_deque_of_items, copies, a_cache, a_helper_that_writes,
    a_closure_that_writes, a_list_that_grows_between_loops,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_container_of_numbers(program):
    """What was stored is what is read, whatever names and positions it has had in between."""
    check(program, 1.3)


@pytest.mark.parametrize("program", [states_of_a_recurrence, append_and_read, lists_of_lists, dict_of_results])
def test_a_container_of_arrays(program):
    """The same with arrays."""
    check(lambda x: np.sum(program(x)), X)


# Arguments


def written_argument(p):
    p.append(p[0] * 2)
    p[0] = p[1] * p[1]
    return p[-1] * p[1] + p[0]


def written_dict(p):
    p["n"] = p["a"] * 2
    p["a"] = p["n"] * p["b"][0]
    p["b"].append(p["a"])
    return p["b"][1] * p["a"]


def called_at_run_time(x, fs):
    xs = [x]
    fs[0](xs, x)
    return xs[0] * xs[1]


@pytest.mark.parametrize("single_use", [False, True])
def test_arguments_that_are_written(single_use):
    """The caller's containers change as in a plain call; the gradient is that of their contents at entry."""
    plain, given = [1.3, 0.7], [1.3, 0.7]
    value, back = pullback(written_argument, given, single_use=single_use)
    assert value == written_argument(plain)
    assert given == plain
    assert back(1.0) == ([pytest.approx(4 * 0.7 / 2), pytest.approx(2 * 1.3 + 2 * 0.7)],)
    given = {"a": 1.5, "b": [2.0]}
    value, back = pullback(written_dict, given, single_use=single_use)
    assert given == {"a": 6.0, "b": [2.0, 6.0], "n": 3.0}
    assert back(1.0) == ({"a": 48.0, "b": [36.0]},)


def test_a_function_found_at_run_time():
    """A function that is only known at run time works on the same table."""
    value, back = pullback(called_at_run_time, 1.3, [push])
    assert value == pytest.approx(1.3**3)
    assert back(1.0)[0] == pytest.approx(3 * 1.3**2)


def test_containers_as_results():
    """A container that is returned may be cotangent's place more than once."""

    def f(x):
        xs = [x, x * x]
        xs.append(xs[0] * xs[1])
        return xs, {"last": xs, "first": xs[0]}

    _, back = pullback(f, 1.3)
    expected = 1.0 + 2 * 2.6 + 3 * 1.3**2 * 3 + 7.0 + 5.0
    assert back(([1.0, 2.0, 3.0], {"last": [7.0, None, None], "first": 5.0}))[0] == pytest.approx(expected)
    assert back(([1.0, 2.0, 3.0], {"last": [7.0, None, None], "first": 5.0}))[0] == pytest.approx(expected)


# Containers of the module

KEPT = []


class Holder:
    def __init__(self):
        self.v = 0.0


HOLDER = Holder()


def kept_and_read(x):
    KEPT.append(x * x)
    return KEPT[-1] * x


def last_kept():
    return KEPT[-1]


def kept_and_read_elsewhere(x):
    KEPT.append(x * x)
    return last_kept() * x


def kept_in_an_object(x):
    HOLDER.v = x * x
    return HOLDER.v * x


def held():
    return HOLDER.v


def kept_in_an_object_and_read_elsewhere(x):
    HOLDER.v = x * x
    return held() * x


def summed_from_the_module(x):
    KEPT.append(x)
    KEPT.append(x * x)
    s = 0.0
    for v in KEPT:
        s = s + v * x
    return s + sum(KEPT)


@pytest.mark.parametrize(
    "program",
    [
        kept_and_read,
        kept_and_read_elsewhere,
        kept_in_an_object,
        kept_in_an_object_and_read_elsewhere,
        summed_from_the_module,
    ],
)
def test_containers_of_the_module(program):
    """What is stored in a container of the module carries its derivative to whoever reads it there."""
    check(program, 1.3, before=KEPT.clear)


def read_at_run_time(x, fs):
    KEPT.append(x)
    return fs[0](x)


def test_a_reader_found_at_run_time():
    """A function that is only known at run time might read what was stored, which is refused."""
    with pytest.raises(MutationError, match="only known at run time, and reads"):
        pullback(read_at_run_time, 1.3, [lambda x: KEPT[-1] * x])


# Containers that come out of others at run time are these themselves


def picked_from_a_tuple(x, y):
    inner = [x]
    t = [(inner, y), (y, inner)][int(x < 0)]
    t[0].append(t[1] * y)
    return sum(inner)


def repeated(x, y):
    inner = [x]
    z = [[inner], inner][int(x < 0)]
    (z * 2)[1].append(y)
    return sum(inner)


def listed_and_sorted(x, y):
    inner = [x]
    z = [[inner], inner][int(x < 0)]
    list(z)[0].append(y)  # noqa: RUF015
    sorted(z)[0].append(y * y)
    z.copy()[0].append(x * y)
    return sum(inner)


def joined_dicts(x, y):
    inner = [x]
    z = [{"k": inner}, inner][int(x < 0)]
    (z | {})["k"].append(y)
    for v in z.values():
        v.append(y * x)
    for _, v in z.items():
        v.append(y * y)
    return sum(inner)


def grown_rest(x, y):
    c, *d = (x, x * y)
    d.append(c * y)
    return sum(d)


def last_or_first(x, y):
    d = OrderedDict([("a", x), ("b", y)])
    _, u = d.popitem(last=False)
    _, v = d.popitem()
    return u * v * u


@pytest.mark.parametrize(
    "program", [picked_from_a_tuple, repeated, listed_and_sorted, joined_dicts, grown_rest, last_or_first]
)
def test_containers_within_containers(program):
    """What comes out of a container is the object that is in it, whatever operation takes it out."""
    check(program, 0.7, 0.4)


def sorted_with_effects(x):
    seen = []
    xs = [x, x * x]
    xs.sort(key=lambda v: seen.append(v * x) or -v)
    return seen[0]


def test_a_sort_with_effects():
    """A key function that may write is refused in a sort in place."""
    with pytest.raises(UnsupportedSyntaxError, match="sort"):
        pullback(sorted_with_effects, 0.7)


def make_kept():
    kept = [0.0]

    def f(x):
        kept[0] = x * x
        return kept[0] * x

    return f


def test_a_captured_container():
    """A container that the differentiated function captured is one as any other."""
    check(make_kept(), 0.7)


# Effects of calls in unusual places


def written_in_an_assert(x, y):
    items = [x, y]
    assert items.pop(0) > 0
    return items[0]


def read_before_the_value(x, y):
    items = [x]

    def doubled():
        items[0] = items[0] * 2
        return y

    items[0] += doubled()
    return items[0]


def popped_in_the_value(x, y):
    items = [x, x * y]
    items[0] += items.pop()
    items[-1] *= items.append(x * x) or 2.0
    return items[0] + 10 * items[-1]


def written_in_an_f_string(x, y):
    items = [x]

    def write():
        items[0] = items[0] * y
        return 1

    assert f"{len(items)} {write()}" == "1 1"
    return items[0]


def written_in_a_default(x, y):
    items = [x]

    def write():
        items[0] = items[0] * y
        return 1

    def inner(q=write()):  # noqa: B008  what is tested
        return q * x

    other = lambda q=write(): q  # noqa: B008
    return items[0], inner is other


def written_by_a_key(x, y):
    items = [x]

    def key(q):
        items[0] = items[0] * y
        return q

    assert min(range(2), key=lambda q: key(q)) == 0
    return items[0]


def a_list_of_a_range(x, y):
    items = [x]
    for i in list(range(3)):
        items.append(items[-1] * y * i)
    for _ in sorted([2, 1]):
        items[0] = items[0] * y
    return sum(items)


@pytest.mark.parametrize(
    "program",
    [
        written_in_an_assert,
        read_before_the_value,
        popped_in_the_value,
        written_in_an_f_string,
        written_in_a_default,
        written_by_a_key,
        a_list_of_a_range,
    ],
)
def test_effects_in_unusual_places(program):
    """What a call writes has its derivative wherever the call stands, in Python's order."""
    check(program, 0.7, 0.4)


# Tests that write, and containers held in several places


def a_test_that_steps(x, y):
    items = [x]

    def step():
        items[0] = items[0] * y
        return items[0]

    while step() > 0.05:
        pass
    return items[0] * x


def a_test_that_grows(x, y):
    items = [x]
    while (items.append(items[-1] * y) or len(items)) < 4:
        pass
    return sum(items)


def rows_held_twice(x, y):
    rows = [[v] * 2 for v in [x, y]]
    n = [rows[0]] * 3
    n[0].append(x * y)
    n[1] = [y]
    grid = [[w * v for w in r] for r, v in zip(n, [x, y, x], strict=True)]
    return sum(map(sum, grid))


def a_partial_of_a_list(x, y):
    items = [x]

    def add(a, b):
        a.append(b)
        return a

    p = functools.partial(add, items)
    p(x * y)
    p(y)
    return sum(items) * items[1]


@pytest.mark.parametrize("program", [a_test_that_steps, a_test_that_grows, rows_held_twice, a_partial_of_a_list])
def test_writes_out_of_the_ordinary(program):
    """Writes in the test of a loop, of what is held twice, and through partials."""
    check(program, 0.7, 0.4)


def through_vars(x):
    d = {"v": x}
    holder = Holder()
    holder.v = d["v"]
    return vars(holder)["v"] * 2


def test_vars_of_an_object():
    """vars() would give the fields away without their cotangents, and is refused."""
    with pytest.raises(UnsupportedSyntaxError, match="vars"):
        pullback(through_vars, 0.7)


def several_keys(x, y):
    return {key: x * y for key in ("u", "q")}


def updated_by_a_display(x, y):
    d = {"u": x}
    d.update(z=y, **{"u": x * y, "v": y})
    return d


def updated_by_keywords(x, y):
    d = {"u": x, "k": y}
    d.update({"u": y * y, "k": x}, w=x * x, **several_keys(x, y))
    return d


def sorted_by_keywords(x, y):
    items = [x, y, x * y]
    items.sort(**{"reverse": True})
    return items


def updates_of_unlike_dicts(x, y):
    dicts = [{"r": y}, OrderedDict(r=x)]
    for d in dicts:
        d.update(w=x, **{"r": y * y})
    return [dict(d) for d in dicts]


@pytest.mark.parametrize(
    "program", [updated_by_a_display, updated_by_keywords, sorted_by_keywords, updates_of_unlike_dicts]
)
def test_methods_with_unpacked_keywords(program):
    """What `**` gives to a method of a container are keywords, beside those that are written out and behind them."""
    check(program, 0.7, 0.4)


def updates_by_unknown_keywords(x, y):
    more = several_keys(x, y)
    for d in [{"r": y}, OrderedDict(r=x)]:
        d.update(w=x, **more)  # refused
    return d["q"]


def test_unknown_keywords_of_a_method_of_no_known_class():
    """Where neither the class nor the keywords are known, the call is refused."""
    check_refused(UnsupportedSyntaxError, updates_by_unknown_keywords, 0.7, 0.4)


def replaced_by_a_sum(x):
    items = [x[0], 2.0, x[1] * x[2]]
    first = items
    items += x
    items += x * x
    return items, first


def replaced_by_what_a_helper_gives(x):
    items = [x[0], 2.0, x[1]]
    helped = grow_by(items, x * x)
    return helped, grow_by(items, [x[2]]), grow_by(items, (x, x[0]))


def grow_by(items, more):
    items += more
    return items


@pytest.mark.parametrize("program", [replaced_by_a_sum, replaced_by_what_a_helper_gives])
def test_a_list_that_an_array_is_added_to(program):
    """`xs += a` of a list and an array makes an array of both, as NumPy says, and the list stays as it was."""
    check(program, X)


def grown_in_a_dict(x):
    d = {"a": [1.0, 2.0, x[0]]}
    d["a"] += x  # refused
    return d["a"]


def grown_by_what_turns_out_to_be_an_array(x):
    d = {"a": x[0]}
    d["a"] = x
    items = [1.0, 2.0, x[0]]
    items += d["a"]  # refused
    return items


@pytest.mark.parametrize("program", [grown_in_a_dict, grown_by_what_turns_out_to_be_an_array])
def test_a_list_in_a_place_that_an_array_is_added_to(program):
    """Where this is seen at run time only, it is refused."""
    check_refused(UnsupportedSyntaxError, program, X)
