"""What is written, read and refused where exceptions are caught."""

import contextlib

import numpy as np
import pytest

from adcompiler import DifferentiationError, gradient
from tests.promises import check


def programs(*functions):
    """The test for each of several programs."""
    return pytest.mark.parametrize("program", functions, ids=lambda f: f.__name__)


class Weight:
    def __init__(self, w):
        self.w = w


class SmallWeight(Weight):
    pass


# Writing and reading where exceptions are caught


class Total:
    def __init__(self, t):
        self.t = t

    def add(self, v):
        self.t = self.t + v

    def doubled(self):
        return self.t * 2.0


def stop_at(i, n):
    if i == n:
        raise ValueError


def written_before(x):
    total = Total(x)
    for i in range(4):
        total.add(x)
        try:
            stop_at(i, 2)
        except ValueError:
            break
    return total.t


def written_in_else(x):
    total = Total(x)
    for i in range(4):
        try:
            stop_at(i, 2)
        except ValueError:
            continue
        else:
            total.add(x * x)
    return total.t


def written_in_handler(x):
    total = Total(x)
    for i in range(4):
        try:
            stop_at(i, 2)
        except ValueError:
            total.add(x * x)
            break
    return total.t


def written_behind_finally(x):
    total = Total(x)
    for i in range(4):
        try:
            stop_at(i, 2)
        finally:
            if i == 1:
                break  # noqa: B012  that is what is tested
        total.add(x * x)
    return total.t


@pytest.mark.parametrize(
    ("program", "slope"),
    [(written_before, 4.0), (written_in_else, 10.0), (written_in_handler, 4.0), (written_behind_finally, 4.0)],
)
def test_calls_that_write_outside_of_what_catches(program, slope):
    """A call that writes beside a `try`, in its handler or its `else` is followed like any other."""
    assert gradient(program)(1.5) == pytest.approx(slope)
    check(program, 1.5)


def read_by_a_method(total, x):
    y = 0.0
    for i in range(4):
        try:
            y = y + total.doubled()
            stop_at(i, 2)
        except ValueError:
            pass
        total.t = total.t * x
    return y


def test_calls_that_only_read_inside_of_what_catches():
    """A method that reads what is written elsewhere may be called where exceptions are caught."""
    by_total, by_x = gradient(read_by_a_method, (0, 1))(Total(1.2), 1.5)
    assert by_total.t == pytest.approx(2 * (1 + 1.5 + 1.5**2 + 1.5**3))
    assert by_x == pytest.approx(2 * 1.2 * (1 + 2 * 1.5 + 3 * 1.5**2))


class Counting(Total):
    """Its property writes into it, and its operator too."""

    @property
    def w(self):
        self.t = self.t * 2.0
        return self.t

    def __rmul__(self, x):
        return x * self.w


def attributes_of_mixed(x, factors):
    total = Total(x)
    for factor in factors:
        try:
            total.t = total.t + x * factor.w
        except ValueError:
            pass
    return total.t


def operators_of_mixed(x, factors):
    total = Total(x)
    for factor in factors:
        try:
            total.t = total.t + x * factor
        except ValueError:
            pass
    return total.t


def test_operations_that_write_inside_of_what_catches():
    """What an attribute or an operator calls may not write there, if it is known at run time only."""
    plain = [Weight(2.0), SmallWeight(3.0)] * 10
    assert gradient(attributes_of_mixed)(1.5, plain) == 51.0
    with pytest.raises(DifferentiationError, match="where its exceptions are caught"):
        gradient(attributes_of_mixed)(1.5, [*plain, Counting(2.0)])
    with pytest.raises(DifferentiationError, match="writes into its arguments"):
        gradient(operators_of_mixed)(1.5, [2.0, np.float64(3.0)] * 10 + [Counting(2.0)])


# Refusals at run time


class Twice:
    def __rmul__(self, x):
        return x * 2.0


class ThroughText:
    def __rmul__(self, x):
        return float(str(x))


def caught_by_a_handler(x, factors):
    y = 0.0
    for factor in factors:
        try:
            y = y + x * factor
        except Exception:
            y = y + 100.0
    return y


def caught_by_a_type_error(x, factors):
    y = 0.0
    for factor in factors:
        try:
            y = y + x * factor
        except (KeyError, TypeError):
            y = y + 100.0
    return y


def caught_by_a_context(x, factors):
    y = 0.0
    for factor in factors:
        with contextlib.suppress(Exception):
            y = y + x * factor
    return y


def caught_by_a_finally(x, factors):
    y = 0.0
    for factor in factors:
        try:
            y = y + x * factor
        except KeyError:
            y = y + 100.0
        finally:
            continue  # noqa: B012
    return y


@programs(caught_by_a_handler, caught_by_a_type_error, caught_by_a_context, caught_by_a_finally)
def test_refusals_pass_what_the_program_catches(program):
    """What is refused at run time is no exception of the program's own."""
    assert gradient(program)(1.5, [Twice(), 3.0] * 10) == 50.0
    with pytest.raises(DifferentiationError, match="text"):
        gradient(program)(1.5, [Twice()] * 20 + [ThroughText()])


def continued_by_finally(x):
    y = 0.0
    for _ in range(3):
        try:
            y = y + x
            continue
        finally:
            y = y * 2
            continue  # noqa: B012
    return y


def ended_by_finally(x):
    y = 0.0
    for _ in range(3):
        try:
            y = y + x
        finally:
            break  # noqa: B012
    return y


@pytest.mark.parametrize(("program", "slope"), [(continued_by_finally, 14.0), (ended_by_finally, 1.0)])
def test_a_finally_that_always_leaves(program, slope):
    """What a `try` bound goes where the `break` or `continue` of its `finally` leads."""
    assert gradient(program)(1.5) == slope


def only_raises(x):
    raise ValueError(x)


def stored_where_nothing_comes_back(x):
    held = {"a": x}
    try:
        held["a"] = only_raises(x)
    except ValueError:
        pass
    return held["a"] * x


def test_a_store_that_never_happens():
    """What would be stored is never there."""
    check(stored_where_nothing_comes_back, 0.7)


EVENTS = []


def noted(x):
    EVENTS.append("noted")
    return x


def deleted_in_a_loop(x, n):
    e = x
    for _ in range(n):
        try:
            y = e * noted(x)
            del e
        except NameError:
            y = x
    return y


@pytest.mark.parametrize("n", [1, 3])
def test_a_deleted_name_is_read_at_its_turn(n):
    """Reading it fails before anything right of it is called."""
    EVENTS.clear()
    assert gradient(deleted_in_a_loop)(1.5, n) == (3.0 if n == 1 else 1.0)
    assert EVENTS == ["noted"]


def branch_left_under_another_return(x, z):
    b = x + 0.3
    try:
        b = x * 0.7
        if x < 5:
            b = z * 0.7
            return x * 9.0
    finally:
        return b * x  # noqa: B012


def branch_left_under_an_exception(x, z):
    b = x + 0.3
    try:
        try:
            b = x * 0.7
            if x < 5:
                b = z * 0.7
                return x * 9.0
            b = b * 3
        finally:
            raise ValueError
    except ValueError:
        b = b * x
    return b


@pytest.mark.parametrize("program", [branch_left_under_another_return, branch_left_under_an_exception])
def test_a_branch_that_leaves_and_does_not_get_away(program):
    """Whether a branch was taken does not depend on where the function is left in the end."""
    assert gradient(program, (0, 1))(0.5, 0.25) == pytest.approx((0.7 * 0.25, 0.7 * 0.5))
    assert gradient(program, (0, 1))(6.0, 0.25) == pytest.approx(
        (1.4 * 6, 0.0) if program is branch_left_under_another_return else (4.2 * 6, 0.0)
    )


def unbound(x, log):
    a = x * 2
    if x > 0.0:
        a = called(b, called(a, x, log), log)  # noqa: F821  it has no value yet
    b = a
    return b


def called(p, q, log):
    log.append("called")
    return p * q


def test_an_unbound_name_is_read_at_its_turn():
    """What stands behind a name without value is not computed."""
    log = []
    with pytest.raises(UnboundLocalError):
        gradient(unbound)(1.5, log)
    assert log == []
    assert gradient(unbound)(-1.5, log) == 2.0
