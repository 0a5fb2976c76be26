"""`adjoint` mirrors the control flow, saves what the reverse reads and nothing else, and reverses each step."""

import numpy as np
import pytest

from tests.stages import backward, compiled, functions, saved, stage

vector, matrix = np.ones(3), np.ones((3, 3))


def body(f, *args, wrt=None):
    """The lines of the backward without indentation."""
    return [line.strip() for line in backward(f, *args, wrt=wrt)]


@pytest.mark.parametrize(
    ("f", "args", "wrt", "expected"),
    [
        (lambda x, y: x + y, (1.0, 2.0), ("x", "y"), ()),
        (lambda x, y: x * y, (1.0, 2.0), ("x", "y"), ("x", "y")),
        (lambda x, y: x * y, (1.0, 2.0), ("x",), ("y",)),
        (lambda x, y: x * y, (1.0, 2.0), ("y",), ("x",)),
        (lambda x: x * 2 - 1, (vector,), ("x",), ()),
        (lambda x, w: x @ w, (vector, matrix), ("x",), ("w",)),
    ],
)
def test_saved(f, args, wrt, expected):
    """Only the operands that a wanted cotangent needs are kept."""
    assert sorted(expected) == sorted(saved(f, *args, wrt=wrt))


def test_an_array_is_not_saved_for_its_shape():
    """The reverse of a sum needs the shape of its operand, not the operand."""
    found = saved(lambda x: np.sum(x * 2.0), vector, wrt=("x",))
    assert ("x_shape",) == found or all("shape" in name for name in found)


def test_straight_line():
    """Each operation has its reverse, the last one first."""

    def f(x, y):
        z = x * y
        return np.sin(z)

    lines = backward(f, 1.0, 2.0, wrt="x", name="adjoint")
    assert ["t1_bar", "z_bar", "x_bar"] == [line.split(" = ")[0] for line in lines]


def test_a_value_that_is_overwritten_is_copied():
    """A user's name that is rebound after its use is saved under another name."""

    def f(x):
        y = x * x
        y = y * y
        return y

    found = saved(f, 1.0, wrt=("x",))
    assert "x" in found
    assert "y" not in found
    assert 2 == len(found)


def test_branches_record_which_was_taken():
    """A number set in the branch chooses the branch of the reverse."""

    def f(x, c):
        if c > 0:
            y = x * 2.0
            y = y + x
        else:
            y = x * 3.0
        return y

    found = functions(stage(f, "fold", 1.0, 1.0, wrt="x"))
    flags = [line for line in found["f_forward"] if line.strip().startswith("took")]
    assert ["took1 = 0", "took1 = 1"] == [line.strip() for line in flags]
    assert "if took1:" in found["f_backward"]


def test_a_branch_without_derivative_records_nothing():
    """An `if` that changes nothing active leaves no trace."""

    def f(x, c):
        if c > 0:
            print("positive")
        return x * 2.0

    assert () == saved(f, 1.0, 1.0, wrt=("x",))


def test_a_loop_that_saves_nothing_counts():
    """Without values to keep, the record of a loop is the number of its iterations."""

    def f(x, n):
        for _ in range(n):
            x = x * 0.5
        return x

    found = functions(stage(f, "fold", 1.0, 3, wrt="x"))
    assert "    trace1 += 1" in found["f_forward"]
    assert any(line.startswith("for _") and line.endswith("in range(trace1):") for line in found["f_backward"])


def test_a_loop_keeps_one_tuple_per_iteration():
    """What an iteration needs is appended once and read back in reverse order."""

    def f(x, n):
        for i in range(n):
            x = np.sin(x) * i
        return x

    found = functions(stage(f, "fold", 1.0, 3, wrt="x"))
    appended = [line.strip() for line in found["f_forward"] if "append" in line]
    assert 1 == len(appended)
    assert any(line.startswith("for ") and line.endswith("in reversed(trace1):") for line in found["f_backward"])


def test_what_a_loop_does_not_change_is_kept_once():
    """A weight used in every iteration is saved outside the record of the loop."""

    def f(x, w, n):
        for _ in range(n):
            x = x @ w
        return x

    pair = compiled(f, vector, matrix, 3, wrt=("x",)).pair
    assert "w" in pair.saved
    found = functions(stage(f, "fold", vector, matrix, 3, wrt="x"))
    assert "    trace1 += 1" in found["f_forward"]


def test_a_loop_without_derivative_is_left_alone():
    """An inert loop has no reverse and no record."""

    def f(x, n):
        k = 0
        for i in range(n):
            k += i
        return x * k

    assert ("k",) == saved(f, 1.0, 3, wrt=("x",))


def test_exits_are_numbered():
    """A `break` sets the marker of its iteration, so that the reverse begins behind it."""

    def f(x, n):
        for i in range(n):
            x = x * 2.0
            if i == 3:
                break
            x = x * 3.0
        return x

    found = functions(stage(f, "fold", 1.0, 9, wrt="x"))
    assert ["at1 = 1", "at1 = 2"] == [line.strip() for line in found["f_forward"] if line.strip().startswith("at1")]
    assert any(line.strip() in ("if at1 > 1:", "if at1 == 2:", "if at1 == 1:") for line in found["f_backward"])


def test_reads_by_element_add_into_one_buffer():
    """The reverse of `x[i]` in a loop is an addition in place, not an array per iteration."""

    def f(x):
        s = 0.0
        for i in range(len(x)):
            s = s + x[i] ** 2
        return s

    lines = body(f, vector)
    assert 1 == sum("np.zeros(x_shape)" in line for line in lines)
    assert 1 == sum(line.startswith("x_bar[i] += ") for line in lines)


def test_parallel_assignment_has_a_parallel_reverse():
    """The cotangents of a swap change places at once."""

    def f(x, y):
        x, y = y, x
        return x * 2.0 + y * 3.0

    found = compiled(f, 1.0, 2.0, wrt=("x", "y"))
    assert (3.0, 2.0) == found.backward(found.forward(1.0, 2.0)[1], 1.0)


def test_a_pair_is_two_functions():
    """`forward(*arguments)` gives the value and what is saved, `backward(saved, cotangent)` the cotangents."""

    def f(x, y):
        return x * y

    found = compiled(f, 2.0, 3.0, wrt=("x", "y"))
    value, kept = found.forward(2.0, 3.0)
    assert 6.0 == value
    assert (3.0, 2.0) == found.backward(kept, 1.0)
    assert (6.0, 4.0) == found.backward(kept, 2.0)


def test_helpers_are_called_as_pairs():
    """A helper's own pair is called; its record is kept in the caller's."""

    def square(t):
        return t * t

    def f(x):
        return square(x) + 1.0

    found = functions(stage(f, "fold", 2.0))
    assert {"f_forward", "f_backward", "square_forward", "square_backward"} == set(found)
    assert any("square_backward(saved1, value_bar)" in line for line in found["f_backward"])


@pytest.mark.parametrize("single_use", [False, True])
def test_single_use_consumes_the_record(single_use):
    """A pullback for one use pops its records, a reusable one reads them."""

    def f(x, n):
        for _ in range(n):
            x = np.sin(x)
        return x

    found = compiled(f, 1.0, 3, wrt=("x",), single_use=single_use)
    _, kept = found.forward(1.0, 3)
    trace = next(part for part in kept if isinstance(part, list))
    assert 3 == len(trace)
    found.backward(kept, 1.0)
    assert (0 if single_use else 3) == len(trace)


def test_the_reverse_of_a_long_loop():
    """100,000 iterations need no recursion and one pass."""

    def f(x, n):
        for _ in range(n):
            x = x * 1.00001
        return x

    found = compiled(f, 1.0, 2, wrt=("x",))
    value, kept = found.forward(1.0, 100_000)
    assert value == pytest.approx(found.backward(kept, 1.0), rel=1e-9)
