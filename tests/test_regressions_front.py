"""What one function knows of another; what is caught; iterators with a name; names that are renamed."""

import contextlib

import numpy as np
import pytest

from adcompiler import DifferentiationError, gradient
from tests.promises import check

X = np.array([0.3, -0.7, 1.2])


def programs(*functions):
    """The test for each of several programs."""
    return pytest.mark.parametrize("program", functions, ids=lambda f: f.__name__)


# What is known in one function only


class Weight:
    def __init__(self, w):
        self.w = w


class SmallWeight(Weight):
    pass


class Holding:
    """Stores what it is given, and reads it in its methods."""

    def __init__(self, p):
        self.p = p

    def field(self):
        return self.p.w * 2.0

    def item(self, p):
        return self.p["w"] * p["w"]


def stored_object(p):
    return Holding(p).field()


def stored_dict(p, q):
    return Holding(p).item(q)


def test_arguments_stored_in_new_objects():
    """An argument that an object holds is read by its methods, also where these have parameters of the same name."""
    assert gradient(stored_object)(Weight(3.0)).w == 2.0
    assert gradient(stored_dict, (0, 1))({"w": 3.0}, {"w": 5.0}) == ({"w": 5.0}, {"w": 3.0})


def applied(function, y):
    return np.sum(function(y))


def captured_shape(x, y):
    return applied(lambda v: x * v, y)


def test_shapes_of_captured_variables():
    """What a function captured has a shape of its own where another function calls it."""
    check(captured_shape, np.array([2.0]), X)


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


# Iterators with a name

TEXTS = ["1", "2"]
NUMBERS = [2.0, 1.0]


def into_dict(x):
    pairs = zip("ab", NUMBERS, strict=True)
    return x * dict(pairs)["b"]


def into_active_dict(x):
    pairs = zip("ab", [1.0, x], strict=True)
    return x * dict(pairs)["b"]


def into_sum(x):
    it = map(float, TEXTS)
    return x * sum(it)


def into_active_sum(x):
    it = map(lambda v: v * x, NUMBERS)
    return sum(it)


def into_sorted(x):
    it = (v * 2 for v in NUMBERS)
    return x * sorted(it)[0]


def into_max(x):
    it = (v * 2 for v in NUMBERS)
    return x * max(it)


def into_star(x):
    it = map(float, TEXTS)
    a, *b = it
    return x * a * b[0]


def into_positions(x):
    it = (v * x for v in NUMBERS)
    return max(*it)


def into_next(x):
    it = (v * x for v in NUMBERS)
    return next(it)


def into_assert(x):
    it = map(float, TEXTS)
    assert list(it) == [1.0, 2.0]
    return x * x


def into_text(x):
    it = map(float, TEXTS)
    return x * len(f"{list(it)}")


def into_raise(x):
    it = map(float, TEXTS)
    if x > 100:
        raise ValueError(list(it))
    return x * x


def into_dict_comprehension(x):
    it = zip("ab", NUMBERS, strict=True)
    return x * {k: v for k, v in it}["a"]


def into_condition(x):
    it = map(float, TEXTS)
    return x * (sum(it) if x > 0 else 0.0)


def into_with_and_try(x):
    it, other = map(float, TEXTS), 1.0
    also = map(float, TEXTS)
    with contextlib.suppress(KeyError):
        other = x * sum(it)
    try:
        other = other + x * sum(also)
    except KeyError:
        other = x
    return other


def deleted(x):
    it = map(float, TEXTS)
    del it
    return x * x


def made_of_rebound_names(x):
    k, values = 1.0, [x, 2.0]
    it = (v * k for v in values)
    k, values = 5.0, [1.0]
    return sum(it) + 0 * k + values[0]


@programs(
    into_dict, into_active_dict, into_sum, into_active_sum, into_sorted, into_max, into_star, into_positions, into_next,
    into_assert, into_text, into_raise, into_dict_comprehension, into_condition, into_with_and_try, deleted,
    made_of_rebound_names,
)  # fmt: skip
def test_iterators_with_a_name(program):
    """An iterator that is used up in one place may have a name, whether or not its items carry derivatives."""
    check(program, 1.5)


def largest_of(x, values):
    return x * max(*values)


def test_an_iterator_as_positions():
    """The items of an iterator are taken once."""
    assert gradient(largest_of)(1.5, iter([1.0, 2.0])) == 2.0


def over_seven(x):
    s = [x, 2.0]
    return sum(map(lambda a, b, c, d, e, f, g: a * b + c * d + e * f * g, s, s, s, s, s, s, s))


def test_map_over_many_iterables():
    """`map` takes as many iterables as its function has parameters."""
    assert gradient(over_seven)(1.5) == pytest.approx(4 * 1.5 + 3 * 1.5**2)
