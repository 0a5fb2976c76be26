"""Loops, branches, exits and names: programs whose derivative was once wrong, refused or a crash."""

import linecache
import time

import numpy as np
import pytest

from adcompiler import UnsupportedSyntaxError, gradient, pullback
from tests.promises import WRITTEN_OUT, check, check_raises

X = np.array([0.3, -0.7, 1.2])
Y = np.array([0.5, 0.4, -1.1])
e = 5.0  # a global with the name of a local below


# Elements that are read in a loop, and ways out of it


def return_from_elements(x, stop):
    s = 0.0
    for i, v in enumerate(x):
        s = s + v**3
        if i == stop:
            return s * v
    return s


def break_from_elements(x, stop):
    s = 0.0
    for i, v in enumerate(x):
        if i == stop:
            s = s * 3.0
            break
        s += v * v
    else:
        s = s * x[0]
    return s


def continue_between_elements(x):
    s = 1.0
    for i in range(100):
        if i == 1:
            continue
        if i == 2:
            break
        s = s * x[i] + x[i + 1]
    return s


def return_from_inner_loop(v):
    for a in v:
        while True:
            return a


def return_before_element(u, i):
    while True:
        if i == 0:
            while True:
                return u * 2
        else:
            return u[i]


def skip_the_only_use_of_a_row(y):
    for i, v in enumerate(y):
        if i == 0:
            continue
        y = y + 0.1 * np.sum(v)
    return np.sum(y)


def break_before_the_only_use_of_a_name(x):
    for i in range(3):
        if i == 0:
            break
        x = float(np.sum(x))
    return np.sum(x)


def return_from_a_loop_over_a_display(x, y, n):
    for b in (x, y):
        if n == 1:
            return 2.0
        x = b * x
    return x


def return_between_loops_over_a_display(x, y, n):
    for b in (x, y):
        for _ in range(n):
            for _ in range(2):
                x = x * 2
            if n > 0:
                return 1.0
        b = x
    return y + b


@pytest.mark.parametrize("stop", [0, 1, 9])
@pytest.mark.parametrize("program", [return_from_elements, break_from_elements])
def test_elements_before_an_exit_keep_their_cotangents(program, stop):
    """Elements of an array read in a loop have their cotangents whichever way the loop is left."""
    check(program, X, stop)


@pytest.mark.parametrize("program", [continue_between_elements, return_from_inner_loop, skip_the_only_use_of_a_row])
def test_elements_that_a_jump_skips(program):
    """A `continue`, `break` or `return` in front of the reads of elements leaves all of their cotangents right."""
    check(program, X)


def test_rows_that_a_jump_skips():
    """A row whose only use is skipped by `continue` has the cotangent zero."""
    check(skip_the_only_use_of_a_row, np.arange(6.0).reshape(3, 2))


def test_a_name_that_a_jump_skips():
    """A name that is read only after a `break` needs nothing of the path that was not taken."""
    check(break_before_the_only_use_of_a_name, X)


@pytest.mark.parametrize("i", [0, 1])
def test_return_of_a_whole_array_or_of_an_element(i):
    """A function that returns the array on one path and an element on another is right on both."""
    check(return_before_element, X, i)


@pytest.mark.parametrize("n", [0, 1])
def test_return_from_a_loop_over_a_display(n):
    """A loop over a tuple display that is left by `return` gives each entry its cotangent, or none."""
    check(return_from_a_loop_over_a_display, 0.7, 0.3, n)


@pytest.mark.parametrize("n", [0, 1])
def test_return_between_loops_over_a_display(n):
    """A loop over a tuple display with loops in it, one of which returns, gives each entry its cotangent."""
    check(return_between_loops_over_a_display, 0.7, 0.3, n)


# `else` of a loop


def while_else_breaks_the_outer_loop(x):
    s = 0.0
    for i in range(3):
        n = i
        while (n := n - 1) > 0:
            s = s + x * n
        else:
            if i == 1:
                break
        s = s + x * x
    return s


def while_else_continues_the_outer_loop(x):
    s = 0.0
    for i in range(4):
        n = i
        while (n := n - 1) > 0:
            s = s + x * n
        else:
            if i == 1:
                continue
        s = s + x * x
    return s


def while_else_after_an_active_test(x):
    s = 0.0
    for _ in range(3):
        while (x := x * 0.5) > 0.1:
            s = s + x
        else:
            s = s + x * x
            break
        s = s + 100 * x
    return s


@pytest.mark.parametrize(
    "program",
    [while_else_breaks_the_outer_loop, while_else_continues_the_outer_loop, while_else_after_an_active_test],
)
def test_jumps_in_the_else_of_a_loop_belong_to_the_outer_loop(program):
    """A `break` or `continue` in the `else` of a `while` leaves the loop around it, as in Python."""
    check(program, 0.7)


# Targets


def one_name_for_a_pair(x, y):
    s = 0.0
    for pair in zip(x, y):  # noqa: B905
        s = s + pair[0] * pair[1]
    return s


def one_name_for_a_counted_element(x, y):
    s = 0.0
    for pair in enumerate(x * y):
        s = s + pair[0] * pair[1]
    return s


def one_name_for_a_pair_inside(x, y):
    s = 0.0
    for i, pair in enumerate(zip(x, y)):  # noqa: B905
        s = s + i * pair[0] * pair[1]
    return s


def star_in_a_loop_over_three(x, y):
    s = 0.0
    for a, *r in zip(x, y, x):  # noqa: B905
        s = s + a * r[0] * r[1]
    return s


def one_name_for_a_strict_pair(x, y):
    s = 0.0
    for pair in zip(x, y, strict=True):
        s = s + pair[0] * pair[1]
    return s


@pytest.mark.parametrize(
    "program",
    [
        one_name_for_a_pair,
        one_name_for_a_counted_element,
        one_name_for_a_pair_inside,
        star_in_a_loop_over_three,
        one_name_for_a_strict_pair,
    ],
)
def test_targets_of_a_loop_over_several_arrays(program):
    """One name for a tuple, and a starred name, in a loop over zip or enumerate carry the derivative."""
    check(program, X, Y)


def same_target_twice(x, y):
    a, a = x, y * 2
    return a * a


def same_target_twice_of_a_tuple(t):
    _, _, z = t
    a, a, _ = t
    return a * a + z


def test_the_last_of_two_equal_targets_keeps_its_value():
    """Of a name that stands twice in one unpacking, only the last place receives a cotangent."""
    check(same_target_twice, 0.7, 0.3)
    check(same_target_twice_of_a_tuple, (0.7, 0.3, 0.2))


def underscore_in_a_loop(x, _):
    for _i in range(3):
        x = x * _
    return x


def underscore_for_a_part(x):
    _, y = x, x * x
    for _i in range(2):
        _ = _ * y
    return _


def test_a_variable_called_underscore():
    """A variable may be called `_`, with a value and a derivative like any other."""
    check(underscore_in_a_loop, 0.7, 5.0)
    check(underscore_for_a_part, 0.7)


def rows_in_pairs(x):
    (a, _), c = x
    return a * np.sum(c)


def test_parts_of_a_row_that_are_not_used():
    """Elements of an array that an unpacking names and nothing reads have the cotangent zero, not nan."""
    check(rows_in_pairs, np.array([[1.0, 2.0], [3.0, 4.0]]))


def star_in_a_loop(x, y, n):
    p = x, y
    b = 1.0
    for _ in range(n):
        _, *r = p
        if n == 7:
            b = r[0] * 0.8
    return b


def star_on_one_path(t, n):
    x, *r = t
    if n > 0:
        x = x * r[0]
    return x


def test_a_starred_target_that_is_used_on_some_paths():
    """The list of a starred target may be used on some paths only."""
    check(star_in_a_loop, 2.0, 3.0, 2)
    check(star_in_a_loop, 2.0, 3.0, 7)
    check(star_on_one_path, (0.5, 0.7, 0.3), 0)
    check(star_on_one_path, (0.5, 0.7, 0.3), 1)


def dict_of_its_own_names(x, y):
    x = {"a": x, "b": y}
    return x["a"] * x["b"]


def test_a_display_bound_to_a_name_that_it_reads():
    """A name may be bound to a dict of its own old value."""
    check(dict_of_its_own_names, 1.5, 0.7)


# Statements that bind a name on some paths only


def bound_by_try(x):
    y = x * 2
    try:
        y = float(int("abc"))
    except ValueError:
        pass
    return y * 3


def bound_by_match(x, n):
    y = x * 2
    match n:
        case 1:
            y = 0.0
    return y * 3


@pytest.mark.parametrize(("program", "args"), [(bound_by_try, (0.7,)), (bound_by_match, (0.7, 2))])
def test_statements_that_may_bind_an_active_name(program, args):
    """A name with a derivative that `try` or `match` may rebind is never taken for a constant."""
    check(program, *args)


def bound_in_an_assertion(x):
    assert (n := np.sum(x)) < 100  # noqa: RUF018
    return n * 2.0


def test_a_name_bound_in_an_assertion():
    """A name that an `assert` binds is differentiated, or the statement is refused."""
    try:
        pullback(bound_in_an_assertion, X)
    except UnsupportedSyntaxError as error:
        assert "assert (n := np.sum(x)) < 100" in str(error)  # noqa: PT017
    else:
        check(bound_in_an_assertion, X)


# Decisions by type


def by_type_of_an_integer(x, n):
    if isinstance(n, np.int32):
        return x * x
    return x


def by_type_of_a_float(x):
    if isinstance(x, np.longdouble):
        return x * x
    return x


@pytest.mark.parametrize("n", [3, True, np.int32(3), np.int64(3), np.uint8(3)])
def test_isinstance_of_every_integer_type(n):
    """`isinstance` decides by the type the argument really has."""
    check(by_type_of_an_integer, 0.7, n)


@pytest.mark.parametrize("x", [0.7, np.float64(0.7), np.longdouble(0.7)])
def test_isinstance_of_every_float_type(x):
    """`isinstance` tells the types of floats apart."""
    expected = 1.4 if isinstance(x, np.longdouble) else 1.0
    assert float(gradient(by_type_of_a_float)(x)) == pytest.approx(expected)


# A name that is something else later


def a_number_then_an_array(x, v):
    y = np.sum(x)
    x = v * 2
    return y * np.sum(x)


def an_array_in_place_then_a_number(x):
    y = x * 1.0
    z = np.sum(y * y * y)
    y += 100.0
    y = np.sum(x)
    return z * y


def an_array_then_a_float_in_a_loop(x, y):
    for _ in range(2):
        x = np.sum(x) * y
        x = float(np.sum(x))
    return x**2


def an_array_then_its_norm_in_a_loop(x):
    for _ in range(len(x)):
        x = np.linalg.norm(x)
    t = x[x > 99]
    return x + np.sum(t)


def a_number_reduced_then_an_array(z, x):
    x = np.minimum(x, np.mean(z))
    z = np.exp(x)
    return np.sum(z)


def a_number_made_an_array(x):
    x = np.atleast_1d(x)
    return np.sum(x * x)


def an_element_made_a_matrix(x):
    x = x[0]
    x = np.atleast_2d(x)
    return np.sum(x * x)


def a_reduction_in_a_branch(x):
    y = x
    if np.size(x) == 1:
        y = np.sum([x, x], axis=0)
    return np.sum(x) + 0 * np.size(y)


@pytest.mark.parametrize(
    ("program", "args"),
    [
        (a_number_then_an_array, (0.7, Y)),
        (an_array_in_place_then_a_number, (X,)),
        (an_array_then_a_float_in_a_loop, (np.ones(4), np.ones((1, 3)))),
        (an_array_then_its_norm_in_a_loop, (np.array([[0.5, 1.0], [2.0, -0.3]]),)),
        (a_number_reduced_then_an_array, (1.5, Y)),
        (a_number_made_an_array, (1.5,)),
        (an_element_made_a_matrix, (X,)),
        (a_reduction_in_a_branch, (np.ones((2, 1)),)),
        (a_reduction_in_a_branch, (np.ones(1),)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_name_changes_its_kind(program, args):
    """A name may hold a number, an array and again a number: what is known of it is known of one binding only."""
    check(program, *args, modes=WRITTEN_OUT)


def factors_of_the_rest(x, *rest):
    for r in rest:
        x = x * r
    x += 1.0
    return x


def test_a_loop_over_no_items():
    """A loop over an empty tuple changes nothing of what is known of the names that it binds."""
    check(factors_of_the_rest, 2.0)
    check(factors_of_the_rest, 2.0, 3.0)


# Names without a value


def bound_in_a_branch_not_taken(x, flag):
    if flag:
        e = x
    return x * e


def function_bound_in_a_branch_not_taken(x, n):
    if n > 0:

        def g(z):
            return z * x

    return g(2.0)


def test_a_local_without_a_value_is_no_global():
    """A local that no statement has bound raises UnboundLocalError, also if there is a global of its name."""
    check_raises(UnboundLocalError, bound_in_a_branch_not_taken, 2.0, False)
    check_raises(UnboundLocalError, bound_in_a_branch_not_taken, 2.0, None)
    check(bound_in_a_branch_not_taken, 2.0, True)


def test_a_local_function_without_a_value():
    """A local function is called only if its definition has been executed."""
    check_raises(UnboundLocalError, function_bound_in_a_branch_not_taken, 0.7, 0)
    check(function_bound_in_a_branch_not_taken, 0.7, 1)


def read_its_target_first(x):
    x -= (x := x * 3)
    return x * x


def multiply_its_target_first(x):
    x *= (x := x * 3) + 1
    return x


@pytest.mark.parametrize("program", [read_its_target_first, multiply_its_target_first])
def test_an_augmented_assignment_reads_its_target_first(program):
    """A walrus in an augmented assignment, which rebinds what was read already, is refused."""
    with pytest.raises(UnsupportedSyntaxError, match="walrus"):
        gradient(program)(0.7)


# Size


def written(name, source):
    """The function `name` of a source text, which tracebacks and the compiler can read."""
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {"np": np, "__name__": __name__}
    exec(compile(source, file, "exec"), space)
    return space[name]


def gradient_or_refusal(f, *args):
    """The gradient, or None if the function is refused."""
    try:
        return gradient(f)(*args)
    except UnsupportedSyntaxError:
        return None


def test_a_long_expression():
    """Hundreds of summands in one expression are differentiated, or refused with the line."""
    f = written("wide", "def wide(x):\n    return " + " + ".join(["x * x"] * 300) + "\n")
    assert gradient_or_refusal(f, 0.7) in (None, pytest.approx(420.0))


def test_a_long_chain_of_elifs():
    """A hundred `elif` arms are differentiated, or refused with the line."""
    arms = "".join(f"    elif n == {k}:\n        y = x * {k}.0\n" for k in range(1, 110))
    f = written("chain", f"def chain(x, n):\n    if n == 0:\n        y = x\n{arms}    return y * x\n")
    assert gradient_or_refusal(f, 0.5, 7) in (None, pytest.approx(7.0))


def test_nested_loops_compile_in_seconds():
    """A dozen loops in each other take no exponential time to compile."""
    depth = 12
    head = "".join(f"{'    ' * (i + 1)}for i{i} in range(1):\n" for i in range(depth))
    f = written("nested", f"def nested(x):\n{head}{'    ' * (depth + 1)}x = x * x\n    return x\n")
    start = time.perf_counter()
    assert gradient(f)(0.7) == pytest.approx(1.4)
    assert time.perf_counter() - start < 5


def raises_with_a_formatted_number(x):
    if x[0] > 100.0:
        raise ValueError(f"{x[0]:.2f} is big")
    return np.sum(x)


def test_a_formatted_message_in_a_raise():
    """A `raise` with an f-string compiles without a warning, and raises with the number."""
    check(raises_with_a_formatted_number, X)
    check_raises(ValueError, raises_with_a_formatted_number, np.full(3, 123.456))


def test_a_recursion_writes_only_what_some_turn_writes():
    """Functions that call each other are taken together: nothing is written here, so that nothing need be copied."""
    other = np.arange(3.0)

    def summed(value):
        if isinstance(value, tuple | list):
            return sum(summed(v) for v in value)
        return np.sum(value)

    def use(x, *others):
        return np.meshgrid(x, *others)

    assert [4.0, 4.0, 4.0] == list(gradient(lambda x: summed(use(x, other)) + np.sum(x))(other))


def test_an_unpacking_of_no_arguments_is_no_argument():
    """`np.floor(x, *())` writes nowhere."""
    others = ()
    assert [3.0, 3.0] == list(gradient(lambda x: np.sum(np.floor(x, *others) * 0 + 3 * x))(np.array([0.5, 1.5])))


def continued_in_the_else_of_a_for(x, n):
    b = 2.0
    for _ in range(n):
        for _ in range(2):
            pass
        else:
            b = x
            continue
        b = 1.0
    return b * b


def continued_in_the_else_of_a_while(x, n):
    b, k = 2.0, 0
    while k < n:
        k += 1
        while k < 0:
            pass
        else:
            b = x
            continue
        b = 1.0
    return b * b


def left_in_the_else_of_a_for(x, n):
    b = 2.0
    for i in range(n):
        for _ in range(2):
            pass
        else:
            b = x
            if i == 0:
                break
        b = 1.0
    return b * b


@pytest.mark.parametrize(
    "f", [continued_in_the_else_of_a_for, continued_in_the_else_of_a_while, left_in_the_else_of_a_for]
)
def test_the_else_of_a_loop_is_no_part_of_it(f):
    """A `break` or `continue` there is one of the loop around, which goes on with what is assigned before it."""
    assert [0.0, 3.0, 3.0] == [gradient(f)(1.5, n) for n in (0, 1, 3)]
