"""Unpacking and loop targets: what was once a wrong number, or a crash, when targets nest or a name is bound again."""

# Names that nothing reads, and some that are bound on one way only, are what is tested.
# ruff: noqa: F821, F841

import numpy as np
import pytest

from adcompiler import gradient, pullback
from tests.promises import check, check_raises

P = np.array([0.9, 0.6])
ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# Indices counted from the end


def the_last_twice(x):
    return x[-1] * 3.0 + x[2] * x[2]


def the_last_of_the_last(x):
    return x[-1][-1] * 3.0 + x[1][0] * x[0]


def the_last_through_another_name(x):
    a = x
    return x[-1] * a[1] * x[0]


@pytest.mark.parametrize(
    ("program", "x"),
    [
        (the_last_twice, (1.0, 2.0, 3.0)),
        (the_last_twice, [1.0, 2.0, 3.0]),
        (the_last_of_the_last, (1.0, (2.0,))),
        (the_last_of_the_last, [1.0, [2.0, 3.0]]),
        (the_last_through_another_name, (1.5, 2.0)),
        (the_last_through_another_name, [1.5, 2.0, 3.0]),
    ],
)
def test_an_item_counted_from_the_end(program, x):
    """An item read at `-1` and at its place is one item."""
    check(program, x)


def test_a_container_that_changes_its_length():
    """`x[-1]` is another item when the next call brings a longer container."""

    def f(x):
        return x[-1] * x[0]

    run = gradient(f)
    assert (2.0, 1.0) == run((1.0, 2.0))
    assert (3.0, None, 1.0) == run((1.0, 2.0, 3.0))
    assert (8.0,) == run((4.0,))


# Targets in targets


def an_array_after_reads_in_a_loop(p):
    x = 1.0
    for i in range(2):
        x = x * p[i]
    b, (c, d) = x, p
    return d * x


def the_last_element_after_a_loop(x, p):
    for i in range(2):
        x = x * p[i]
    b, (*r, d) = x, p
    return d * x


def a_computed_array(x, p):
    q = p * 2.0
    w, (b, *r) = x, q
    return b * x


def an_array_from_a_dict(x, p):
    q = {"k": p * 2.0}["k"]
    w, (b, *r) = x, q
    return b * x


def an_array_of_an_unknown_function(x, p, fs):
    q = fs[0](p)
    b, *r = q  # noqa: RUF059
    for i in range(2):
        x = x * q[i]
    return b * x


def inner_targets_beside_an_exit(p, t):
    for a in p:
        b, (c, *r) = a, p
        if t < 1:
            return a * a
    return c * c


def inner_targets_in_a_loop(x, p):
    q = p
    for k, d in enumerate(p):  # noqa: B007
        b, (w, *r, a) = d, q
    return x * d, r


def double(t):
    return t * 2.0


@pytest.mark.parametrize(
    ("program", "args"),
    [
        (an_array_after_reads_in_a_loop, (P,)),
        (an_array_after_reads_in_a_loop, ([0.9, 0.6],)),
        (the_last_element_after_a_loop, (1.5, P)),
        (the_last_element_after_a_loop, (1.5, [0.9, 0.6])),
        (a_computed_array, (1.5, P)),
        (an_array_from_a_dict, (1.5, P)),
        (an_array_of_an_unknown_function, (1.5, P, [double])),
        (inner_targets_beside_an_exit, (P, 0.3)),
        (inner_targets_beside_an_exit, (P, 1.3)),
        (inner_targets_in_a_loop, (2.0, np.array([0.8, 0.6, 0.3]))),
    ],
)
def test_an_array_unpacked_by_an_inner_target(program, args):
    """An array is unpacked by an inner target as by an outer one, whatever else reads its elements."""
    check(program, *args)


# Names of a target that are bound again


def a_rest_of_no_items(p):
    s = 0.0
    for *r, a in p:
        s = s + a * a
        r = []
    return s


def a_rest_of_one_number(p):
    s = 0.0
    for *r, a in p:
        s = s + a * a
        r = [1.0]
    return s


def a_rest_that_is_a_number(p):
    s = 0.0
    for *r, a in p:
        s = s + a * a
        r = a
    return s


@pytest.mark.parametrize("program", [a_rest_of_no_items, a_rest_of_one_number, a_rest_that_is_a_number])
@pytest.mark.parametrize("p", [ROWS, ROWS.tolist()], ids=["array", "lists"])
def test_a_starred_loop_target_bound_again(program, p):
    """What the body makes of the starred name does not reach the rows."""
    check(program, p)


def a_zipped_rest_bound_again(a, b, w):
    for (a, *r), k in zip([[a, b], [w, b, b]], range(2), strict=True):  # noqa: B007, B020
        r = [b, b]
    return a * r[0]


def an_unpacking_in_a_loop_over_displays(a, b, w):
    for a, *r in [[a, b], [w, b, b]]:  # noqa: B007, B020
        b, *r = w, b, b
    return a * b


def a_source_bound_again_in_the_else(a, p):
    r = [a, a * 2]
    s = 0.0
    for k in range(2):
        s = s + r[k]
    else:
        r = [p]
    return s * r[0]


def an_array_bound_again_in_the_else(a, p):
    r = p
    s = 0.0
    for k in range(2):
        s = s + r[k]
    else:
        r = a * p
    return s * r[0]


def a_list_bound_again_in_the_else(a, p):
    b = 0.0
    r = [a, b]
    for k, w in enumerate(r):  # noqa: B007
        d = w
    else:
        d, (c, *r, a) = b, p
    return w * 2, r


@pytest.mark.parametrize(
    ("program", "args"),
    [
        (a_zipped_rest_bound_again, (1.0, 2.0, 3.0)),
        (an_unpacking_in_a_loop_over_displays, (1.0, 2.0, 3.0)),
        (a_source_bound_again_in_the_else, (2.0, 3.0)),
        (an_array_bound_again_in_the_else, (2.0, np.array([3.0, 4.0]))),
        (a_list_bound_again_in_the_else, (2.0, (1.0, 2.0, 3.0))),
    ],
)
def test_a_loop_source_bound_again(program, args):
    """A loop runs over what its source was when it began."""
    check(program, *args)


# Too few values


def the_last_of_nothing(x, p):
    b, (*r, c) = x, p
    return b * c


def the_only_one_of_nothing(p):
    *a, b = p  # noqa: RUF059
    return b


@pytest.mark.parametrize(("program", "args"), [(the_last_of_nothing, (1.0, ())), (the_only_one_of_nothing, ((),))])
def test_too_few_values(program, args):
    """Python's own ValueError says that there are not enough values."""
    check_raises(ValueError, program, *args)


# Exits that leave a buffer behind, and names that are an array on one path and a list on another


def the_element_twice(x, y):
    for k, w in enumerate(x):
        if k == 0:
            return w, w
        break
    return x[0] + y


def three_ways_out(x, t):
    s = 0.0
    for w in x:
        if t > 1:
            if t > 2:
                return w * s
            s = s + w
            break
        s = s + w * w
        continue
    return s * x[0]


def out_of_the_inner_loop(x, t):
    for a in x:
        for b in x:
            if t > 2:
                return a * b, b
            if t > 1:
                break
        if t > 0:
            return a, b
    return x[0], x[1] * b


@pytest.mark.parametrize("t", [-1.0, 0.5, 1.5, 2.5])
@pytest.mark.parametrize("program", [the_element_twice, three_ways_out, out_of_the_inner_loop])
def test_leaving_a_loop_over_elements(program, t):
    """The buffer for the elements' cotangents is there whichever way the loop is left."""
    check(program, np.array([0.8, 0.9, 1.0]), t)


def an_array_or_a_list(x, n):
    z = x * 2.0
    if n > 2:
        z = [x[0], x[1] * x[1]]
    s = 0.0
    for i, e in enumerate(z):
        if i:
            s = s + e * e
    return s


def an_array_or_the_rest_of_it(y, p, n):
    r = p
    for e in r:
        d = y * e + 1.5
    if n > 2:
        for (d, *r), k in zip((p, (y, y)), range(3), strict=False):  # noqa: B007
            pass
    for e in r:
        b = e * d
    return b


@pytest.mark.parametrize("n", [1, 3])
def test_an_array_or_a_list(n):
    """The cotangent of an array is an array, also where its name may stand for a list."""
    check(an_array_or_a_list, np.array([1.0, 2.0]), n)
    check(an_array_or_a_list, np.array([[1.0, 2.0], [0.5, 0.7]]), n)
    check(an_array_or_the_rest_of_it, 0.9, P, n)


def returns_its_argument_from_loops(x, p):
    d = 0.0
    q = p
    for n in range(3):
        for (w, *r), k in zip((p, q), range(3), strict=False):  # noqa: B007
            for e in r:
                w = w * e + d
            if n > 0:
                return a * q[1] * 2, x, r
        a = x[0]
    return d, [w, d], q


def test_the_cotangent_that_was_given():
    """The cotangent that the caller gives is never added into."""
    p = [np.array([0.6, 0.8, 0.9]), 0.6]
    check(returns_its_argument_from_loops, np.array([1.0, 2.0, 3.0]), p)
    _, back = pullback(returns_its_argument_from_loops, np.array([1.0, 2.0, 3.0]), p)
    given = (1.0, np.array([0.2, 0.3, 0.4]), [0.5])
    back(given)
    np.testing.assert_array_equal([0.2, 0.3, 0.4], given[1])
