"""Which memory is hot: written into while it carries derivatives, by whatever name, before and after the write."""

import numpy as np
import pytest

from adcompiler import MutationError, pullback
from tests.stages import activities, hot, marked

X = np.array([0.3, -0.7, 1.2])
ROOM = np.zeros(3)


def summary(f, callee, *args, wrt=("x",)):
    """What callers of a function know: the parameters that it makes hot, and whether its result is."""
    _, found = activities(f, *args, wrt=wrt)[callee]
    return found.hot_params, found.hot_result


# Writes of active values


def element(x):
    y = np.zeros(3)
    y[0] = x[1]
    return y * x


def augmented_element(x):
    y = np.zeros(3)
    y[0] += x[1]
    return y * x


def other_name(x):
    y = x * 2.0
    z = y
    y += x
    return z


def copied_into(x):
    y = np.zeros(3)
    np.copyto(y, x)
    return y


def given_as_out(x):
    y = np.zeros(3)
    np.exp(x, out=y)
    return y


def sorted_in_place(x):
    y = x * 2.0
    y.sort()
    return y


def constant_over_active(x):
    y = x * 2.0
    y[0] = 0.0
    return y


@pytest.mark.parametrize(
    ("f", "names"),
    [
        (element, {"y"}),
        (augmented_element, {"y"}),
        (other_name, {"y", "z"}),
        (copied_into, {"y"}),
        (given_as_out, {"y"}),
        (sorted_in_place, {"y"}),
        (constant_over_active, {"y"}),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_is_written_into_is_hot(f, names):
    """With something active, or over something active; what is only read is not."""
    assert names == hot(f, X)


def view_made_before(x):
    y = np.zeros(3)
    v = y[1:]
    before = np.sum(v)
    y[1] = x[0]
    after = np.sum(v)
    return before * after


def test_a_view_is_hot_before_and_after_the_write():
    """The class is hot, and not the name in the store: its reads are active wherever they stand."""
    assert {"y", "v"} == hot(view_made_before, X)
    assert {"v = y[1:]", "before = np.sum(v)", "after = np.sum(v)"} <= set(marked(view_made_before, X))


def one_of_two(x, c):
    y = np.zeros(3)
    z = np.ones(3)
    w = y if c > 0 else z
    w[0] = x[0]
    return y + z


def test_where_paths_meet_both_arrays_are_hot():
    """Which of them is written is not known when compiling."""
    assert {"y", "z", "w"} == hot(one_of_two, X, 1.0)


def in_a_list(x):
    y = np.zeros(3)
    held = [y]
    held[0][1] = x[1]
    return y


def test_a_container_and_what_it_holds_are_one_class():
    """An array that is reached through a list is hot by its own name, too."""
    assert {"y", "held"} == hot(in_a_list, X)


# What is not hot


def constant_write(x):
    y = np.ones(3)
    y[0] = 2.0
    return y * x


def mask_write(x):
    mask = x > 0.0
    mask[0] = False
    return np.where(mask, x, 0.0)


def index_write(x):
    index = np.arange(3)
    index[0] = 2
    return x[index]


def in_its_own_name(x):
    y = x * 2.0
    y += x
    return y


def number(x):
    y = x[0]
    y += x[1]
    return y


def copy_before(x):
    y = x * 2.0
    z = y.copy()
    y[0] = 1.0
    return z


@pytest.mark.parametrize("f", [constant_write, mask_write, index_write, number], ids=lambda f: f.__name__)
def test_writes_without_derivative_heat_nothing(f):
    """Constants into constants, masks, indices, and numbers, which are rebound."""
    assert set() == hot(f, X)


def test_an_array_with_one_name_is_rebound():
    """`y += v` of what nothing else refers to means `y = y + v`."""
    assert set() == hot(in_its_own_name, X)


def test_a_copy_is_memory_of_its_own():
    """What is written into its original does not make it hot."""
    assert {"y"} == hot(copy_before, X)


# Functions


def fill(a, v):
    a[0] = v


def fills(x):
    y = np.zeros(3)
    z = np.ones(3)
    fill(y, x[0])
    return y + z * x


def test_what_a_function_makes_hot_is_hot_for_its_caller():
    """By position: other arguments stay as they are."""
    assert {"y"} == hot(fills, X)
    assert (frozenset({0}), False) == summary(fills, "fill", X)


def first_row(a, v):
    a[1] = v
    return a[0]


def takes_a_view(x):
    y = np.zeros((2, 3))
    row = first_row(y, x)
    return row * x


def test_a_result_that_is_hot_is_so_for_the_caller():
    """A view of an argument that the function has written into."""
    assert {"y", "row"} == hot(takes_a_view, X)
    assert (frozenset({0}), True) == summary(takes_a_view, "first_row", X)


def made(v):
    a = np.zeros(3)
    a[0] = v
    return a


def read_only(a):
    return np.sum(a * a)


def makes(x):
    y = made(x[0])
    return read_only(y)


def test_what_a_function_makes_and_writes_is_its_own_affair():
    """The result is hot inside, where its cotangent is taken from the shadow; a caller that only reads it has none."""
    assert set() == hot(makes, X)
    assert (frozenset(), True) == summary(makes, "made", X)
    assert (frozenset(), False) == summary(makes, "read_only", X)


def parameter(x):
    x[0] = 2.0 * x[1]
    return x


def test_a_parameter_that_is_written_into():
    """The root of a compilation says so as a callee does."""
    assert {"x"} == hot(parameter, X.copy())
    assert (frozenset({0}), True) == summary(parameter, "parameter", X.copy())


# Memory from outside


def global_read(x):
    return np.sum(ROOM * x)


def global_written(x):
    ROOM[0] = x[0]
    return global_read(x)


def test_memory_from_outside_is_hot_in_all_functions():
    """What one function writes into, another one reads by the same global name."""
    found = activities(global_written, X, wrt=("x",))
    assert all(spec.program.outside_hot for spec, _ in found.values())
    assert found["global_read"][1].shadows


# Refused


def into_integers(x):
    y = np.zeros(3, dtype=int)
    y[0] = x[0]
    return y


def test_integers_cannot_be_hot():
    """They have no cotangent: at the store, whether the dtype is known when compiling or not."""
    with pytest.raises(MutationError, match="dtype=float"):
        pullback(into_integers, X)


def taken_by_an_iterator(x):
    y = x * 2.0
    items = map(np.sin, [y, y])
    y[0] = x[1]
    return sum(np.sum(item) for item in items)


def test_lazy_reads_see_the_write():
    """An iterator that is taken after the write reads what is there then."""
    value, back = pullback(taken_by_an_iterator, X)
    slope = 2.0 * np.cos([X[1], 2.0 * X[1], 2.0 * X[2]])
    assert value == pytest.approx(2.0 * np.sum(np.sin([X[1], 2.0 * X[1], 2.0 * X[2]])))
    np.testing.assert_allclose(back(1.0)[0], [0.0, slope[0] + 2.0 * slope[1], 2.0 * slope[2]])
