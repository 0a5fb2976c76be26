"""`protected` reverses what had been done when an exception was caught, and the forward means what the user wrote."""

import contextlib
import math
import traceback

import numpy as np
import pytest

from adcompiler import MutationError, UnsupportedSyntaxError, pullback
from adcompiler.protected import opened
from tests.promises import MODES, check, check_raises, check_refused
from tests.stages import backward, compiled, saved, specialisation


class Stop(Exception):
    """What the programs raise."""


# --- the text ---------------------------------------------------------------------------------------------


def two_steps(x, v):
    s = x
    try:
        s = s * v
        s = s * math.log(v)
    except ValueError:
        s = s * x
    return s


def test_each_step_of_a_protected_body_has_a_number():
    """The reverse of a step runs if the marker got that far; that of the handler, if it ran."""
    lines = [line.strip() for line in backward(two_steps, 1.5, 0.5, wrt="x")]
    tests = [line for line in lines if line.startswith("if ") and ("at" in line or "how" in line)]
    assert ["if how1 == 1:", "if at1 >= 2:", "if at1 >= 1:"] == tests


def test_temporaries_share_the_marker_of_their_statement():
    """One statement of the user's is one step, however many operations it has."""

    def f(x):
        try:
            y = np.sin(x * x) + x
        except ValueError:
            y = x
        return y

    lines = backward(f, 1.5, wrt="x")
    assert 1 == sum("at1 >=" in line for line in lines)


def test_code_without_exceptions_has_no_markers():
    """A `try` that only has a `finally` catches nothing."""

    def f(x):
        try:
            x = 2 * x
        finally:
            x = 3 * x
        return x

    assert () == saved(f, 1.5, wrt=("x",))


def in_try(xs):
    try:
        for v in xs:
            print(v)
    except ValueError:
        pass
    return xs[0]


def return_through_finally(x):
    try:
        return x * x
    finally:
        print(x)


def try_in_loop(xs):
    for v in xs:
        try:
            print(v)
        except ValueError:
            pass
    return xs[0]


@pytest.mark.parametrize(
    ("f", "arg", "loops", "function"),
    [(in_try, [1.0], 1, False), (return_through_finally, 1.0, 0, True), (try_in_loop, [1.0], 0, False)],
)
def test_open_records(f, arg, loops, function):
    """The record of a loop in a `try` is open, and the function's own if a `return` goes through a `finally`."""
    found = opened(specialisation(f, arg).body)
    assert (None in found) is function
    assert loops == len(found - {None})


def test_the_record_of_a_return_through_finally_is_a_list():
    """It is filled when the `finally` has run."""
    assert compiled(return_through_finally, 1.5, wrt=("x",)).pair.record is not None


# --- the same as plain Python -----------------------------------------------------------------------------

LOG = []


def log(entry):
    print(entry)
    LOG.append(entry)


class Context:
    """Writes down what happens to it."""

    def __init__(self, swallows):
        self.swallows = swallows

    def __enter__(self):
        print("enter")
        return 2.0

    def __exit__(self, kind, error, tb):
        print("exit", kind)
        return self.swallows


SWALLOWING, PASSING = Context(True), Context(False)


def with_contexts(x, bad):
    y = x
    with SWALLOWING as a, PASSING:
        y = y * x * a
        if bad:
            raise Stop("inside")
        y = y * 3.0
    return y


@pytest.mark.parametrize("bad", [True, False])
def test_context_managers_that_swallow(bad, capsys):
    """What follows sees what the body had done."""
    check(with_contexts, 1.5, bad)
    capsys.readouterr()
    with_contexts(1.5, bad)
    plain = capsys.readouterr().out
    pullback(with_contexts, 1.5, bad)[1](1.0)
    assert capsys.readouterr().out == plain


def raises_through(x, kind):
    try:
        y = x * x
        if kind == 0:
            raise Stop("as it is")
        if kind == 1:
            y = y / (x - x)
        del y
        return y + x  # noqa: F821
    except KeyError:
        return x
    finally:
        print("finally")


@pytest.mark.parametrize(("kind", "error"), [(0, Stop), (1, ZeroDivisionError), (2, UnboundLocalError)])
def test_exceptions_that_pass(kind, error):
    """An exception that nobody catches has its class and its text, also if the record is not complete."""
    check_raises(error, raises_through, 1.5, kind)


def test_the_traceback_shows_the_line():
    """The generated text has the user's `raise`, and the note names the user's line."""

    def f(x):
        try:
            raise Stop(f"at {x}")
        finally:
            x = x * 2

    for make in MODES.values():
        with pytest.raises(Stop, match=r"at 1\.5") as caught:
            make(f, 1.5)
        assert "raise Stop" in "".join(traceback.format_exception(caught.value))


def catches_its_own(x):
    try:
        try:
            raise Stop from ZeroDivisionError("cause")
        except Stop as error:
            kind = type(error.__cause__).__name__
            raise
    except Stop:
        return x * len(kind)


def test_the_exception_object_may_be_looked_at():
    """What carries no derivative may be read from an exception."""
    check(catches_its_own, 1.5)


def stops_before_two_finallys(x):
    y = x
    try:
        try:
            y = y * x
            if x > 1:
                raise Stop
            y = y * 5.0
        except Stop:
            y = y + x
            y = y * (1.0 if x < 2 else y / (x - x))
            y = np.sin(y)
        finally:
            y = y * y
    except (ZeroDivisionError, Stop):
        y = y * 3.0
    try:
        try:
            y = y * x
            if x > 1.2:
                raise Stop
            y = y * 7.0
        finally:
            y = y * x * x
    except Stop:
        pass
    return y


@pytest.mark.parametrize("x", [0.9, 1.1, 1.5, 2.5])
def test_a_finally_after_a_part_that_stopped(x):
    """The marker of a `finally` says nothing of what came before it."""
    check(stops_before_two_finallys, x)


# --- loops ------------------------------------------------------------------------------------------------


def skipped_loop(x, xs):
    try:
        if x > 1:
            raise Stop
        for v in xs:
            x = x * v
    except Stop:
        x = x + xs[0]
    return x


@pytest.mark.parametrize("x", [1.5, 0.5])
def test_a_loop_that_was_not_reached(x):
    """Its reverse finds no record."""
    check(skipped_loop, x, [1.5, 2.0])


def while_in_try(x):
    n = 0
    try:
        while (n := n + 1) < 10 and (y := x * n) < 5:
            x = x * 1.1
            if n == 4:
                raise Stop
        else:
            x = x * y
    except Stop:
        x = x - y
    return x


@pytest.mark.parametrize("x", [0.3, 1.2])
def test_while_in_a_try(x):
    """A test that binds names is a part of the protected body."""
    check(while_in_try, x)


def comprehension_in_try(xs):
    try:
        roots = [math.sqrt(v) for v in xs]
        s = sum(roots)
    except ValueError:
        s = sum(v * v for v in xs)
    return s


@pytest.mark.parametrize("last", [2.0, -2.0])
def test_a_comprehension_that_stops(last):
    """What it had collected is nobody's."""
    check(comprehension_in_try, [1.0, last])


# --- containers and objects -------------------------------------------------------------------------------


def appended(x):
    out = []
    try:
        out.append(x * x)
        if x > 1:
            raise Stop
        out.append(x)
    except Stop:
        out.append(x * x * x)
    finally:
        out.append(2 * x)
    return out[0] * out[1] * out[-1]


class Box:
    """Holds a value."""

    def __init__(self, value):
        self.value = value


def written(x):
    box = Box(x)
    try:
        box.value = box.value * x
        other = Box(box.value)
        if x > 1:
            raise Stop
        box.value = box.value * 3
    except Stop:
        box.value = box.value + x * other.value
    return box.value


def rebound(x):
    w = x

    def scale():
        nonlocal w
        w = w * x

    try:
        w = w * 2
        if x > 1:
            raise Stop
        w = w * 3
    except Stop:
        w = w * w
    scale()
    return w


@pytest.mark.parametrize("program", [appended, written, rebound])
@pytest.mark.parametrize("x", [1.5, 0.5])
def test_writes(program, x):
    """Writes that were done before an exception are reversed, the others are not."""
    check(program, x)


def fills(ys, x):
    ys[0] = x * x * ys[1]
    if x > 1:
        raise Stop


def calls_a_writer(x):
    ys = [x, x * 2]
    try:
        fills(ys, x)  # refused
    except Stop:
        pass
    return ys[0] * ys[1]


def test_a_call_that_writes_and_may_raise():
    """What it wrote before an exception cannot be reversed; without one it is."""
    check(calls_a_writer, 0.5)
    check_refused(MutationError, calls_a_writer, 1.5)


# --- refusals ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def holding(value):
    yield value


def made_of_a_value(x):
    with holding(x) as y:  # refused
        return y * 2


def raised_with(x):
    try:
        raise Stop(x)
    except Stop as error:
        return error.args[0] * x  # refused


def unpacked_from_an_error(x):
    try:
        fills([x, x], x)
        raise Stop(x, 2.0)
    except Stop as error:
        a, b = error.args  # refused
    return a * b


def helper_raises(x):
    raise Stop(x)


def raised_by_a_call(x):
    try:
        helper_raises(x)
    except Stop as error:
        held = error.args  # refused
        y = held[0] + x
    return y


@pytest.mark.parametrize("program", [made_of_a_value, raised_with, raised_by_a_call])
def test_refused(program):
    """A derivative that would be lost is refused at the line."""
    check_refused(UnsupportedSyntaxError, program, 1.5)
