"""What shows later writes: iterators, views of dicts, `x.flat`, copies that are apart, classes that are no arrays."""

import copy
import itertools

import numpy as np

from adcompiler import MutationError, NoRuleError
from tests.promises import check, check_refused
from tests.writes import check_writes, programs

X = np.array([0.3, -0.7, 1.2, 0.5])
A = np.array([[0.4, -1.1, 0.8], [1.3, 0.2, -0.6], [0.9, 0.5, 1.7]])
S = 1.4


# Views of dicts


def each_entry_rewritten(x, s):
    d = {"u": x * s, "v": x, "w": s}
    total = 0.0
    for key, value in d.items():
        d[key] = value * s
        total = total + np.sum(d[key] * value)
    return total + d["w"]


def filled_before(x, s):
    d = {}
    d["u"] = x * s
    shown = d.values()
    total = sum(np.sum(v) for v in shown)
    d["v"] = x
    return total + np.sum(d["v"])


def another_dict_written(x, s):
    d = {"u": x * s, "v": x}
    other = {}
    shown = d.items()
    for key, value in shown:
        other[key] = value * s
    return other["u"] + other["v"]


@programs(each_entry_rewritten, filled_before, another_dict_written)
def test_views_of_dicts(program):
    """They are followed where they show nothing that was written after they were made."""
    check_writes(program, X, S)


def kept_values(x, s):
    d = {"u": s, "v": x[0]}
    shown = d.values()  # refused
    d["u"] = s * s
    return sum(shown)


def kept_for_a_loop(x, s):
    d = {"u": s, "v": x[0]}
    shown = d.items()  # refused
    total = 0.0
    for _ in range(2):
        for _key, value in shown:
            total = total + value
        d["u"] = total
    return total


def grown(x, s):
    d = {"u": s, "v": x[0]}
    shown = d.items()  # refused
    d["w"] = s
    return len(shown) * s


def later_entry(x, s):
    d = {"u": s, "v": x[0]}
    total = 0.0
    for _, value in d.items():  # refused
        d["v"] = value * s
        total = total + value
    return total


@programs(kept_values, kept_for_a_loop, grown, later_entry)
def test_views_that_show_what_is_written_later(program):
    """They are refused at the line that makes them: it is not followed when they are read."""
    check_refused(MutationError, program, X, S)


# Iterators


def rows_rewritten(rows, s):
    out = []
    for row in itertools.islice(rows, 1, None):
        row[0] = s * row[1]
        out.append(row * s)
    return out


def own_entry(rows, s):
    total = 0.0
    for i, row in enumerate(itertools.chain(rows, [s])):
        if i < len(rows):
            rows[i] = row * s
        total = total + np.sum(row)
    return total + np.sum(rows[0])


@programs(rows_rewritten, own_entry)
def test_iterators_over_what_is_written(program):
    """A loop may write into what it has taken already, and into its items."""
    check_writes(program, [X * 1.0, X * 2.0, X + 1.0], S)


def later_item(rows, s):
    out = []
    for row in itertools.islice(rows, 1, None):  # refused
        rows[2] = X * s
        out.append(row)
    return out


def later_pair(rows, s):
    out = []
    for a, b in itertools.pairwise(rows):  # refused
        rows[2] = X * s
        out.append(a * b)
    return out


def later_in_a_chain(rows, s):
    out = []
    for row in itertools.chain(rows, rows):  # refused
        rows[0] = X * s
        out.append(row)
    return out


@programs(later_item, later_pair, later_in_a_chain)
def test_iterators_that_give_what_is_written_later(program):
    """They are refused: the list of their items that is followed is that from before the loop."""
    check_refused(MutationError, program, [X * 1.0, X * 2.0, X + 1.0], S)


def later_number(x, s):
    out = []
    for v in itertools.islice(x, 1, None):  # refused
        x[3] = x[3] * 1.0 + 0.0 * s
        out.append(v)
    return out


def later_number_in_pairs(x, s):
    out = []
    for i, (u, v) in enumerate(itertools.pairwise(x)):  # refused
        x[(i + 1) % 4] = s * u
        out.append(v)
    return out


@programs(later_number, later_number_in_pairs)
def test_iterators_over_numbers_that_are_written(program):
    """The numbers of an array that the loop writes into are refused, even where they happen to stay the same."""
    check_refused(MutationError, program, X, S)


# Flat


def flat_then_written(a, s):
    taken = [r * s for r in a.flat]
    a[0, 0] = s
    return taken


def flat_while_written(a, s):
    taken = []
    for r in a.flat:
        a[2, 2] = s
        taken.append(r * r)
    return taken


@programs(flat_then_written, flat_while_written)
def test_flat_over_what_is_written(program):
    """Each item is the element as it is when the loop takes it."""
    check_writes(program, A, S)


# Copies


def deep_copies_in_containers(x, s):
    d = {"u": 1.5, "v": x * 2.0}
    e = copy.deepcopy(d)
    e["v"][0] = s
    return e["v"] * d["v"]


def deep_copies_of_one_array_twice(x, s):
    g = copy.deepcopy([x, x])
    g[0][0] = s
    return g[0] * x, g[1] * s


def copies_of_arrays(x, s):
    g, h = copy.copy(x), copy.deepcopy(x)
    g[0] = s
    x[1] = s * s
    h[2] *= s
    return g * h * x


@programs(deep_copies_in_containers, deep_copies_of_one_array_twice, copies_of_arrays)
def test_copies_have_memory_of_their_own(program):
    """What is written into a copy is not in the original, nor the other way round."""
    check_writes(program, X, S)


def a_shallow_copy(rows, s):
    other = copy.copy(rows)
    other[0][1] = s
    other[1] = rows[0] * s
    return rows[0] * other[1]


def test_shallow_copies_share_what_they_hold():
    """The arrays in a copy of a list are those in the list."""
    check_writes(a_shallow_copy, [X * 1.0, X * 2.0], S)


# Classes


def dtype_by_class(x, s):
    y = x.astype(np.float64)
    total = np.cumsum(x, dtype=np.float64)
    x[0] *= s
    return y * total, x


def test_a_class_of_numbers_is_no_array():
    """`dtype=np.float64` beside an array that is written later is followed like any other call."""
    check_writes(dtype_by_class, X, S)


class Sums(np.ndarray):
    """A class of arrays whose product is a sum."""

    def __mul__(self, other):
        return np.asarray(self) + other


def by_another_class(x, s):
    y = x.view(Sums)  # refused
    return y * s


def by_its_own_class(x, s):
    y = x.view(np.ndarray)
    return y * s


def test_views_by_another_class():
    """Their operators are not those of arrays, so that they are refused."""
    check_refused(NoRuleError, by_another_class, X, S)
    check(by_its_own_class, X, S)
