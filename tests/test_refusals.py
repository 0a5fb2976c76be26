"""Each refusal names the file, the line and its text, and ends with what to write instead."""

import linecache
import sys

import numpy as np
import pytest

from adcompiler import (
    MutationError,
    NoRuleError,
    UnsupportedSyntaxError,
    gradient,
    pullback,
    rrule,
)

X = np.array([1.5, 0.5, 2.0])
MARK = "# refused"
CASES = {}


def refused(kind, what, advice, *args):
    """A case: the function below, called with `args`, is refused at its marked line, or at that of a helper."""

    def register(function):
        CASES[function.__name__] = (function, kind, what, advice, args or (X,))
        return function

    return register


def marked(file, first):
    """The number and the text of the marked line, at `first` or below."""
    number = first
    while MARK not in linecache.getline(file, number):
        number += 1
    return number, linecache.getline(file, number).strip()


def assert_refused(caught, what, advice, file, line, text):
    """What, where with the line's text and carets under it, why, and the advice, in this order."""
    first, place, shown, carets, *_, last = str(caught.value).split("\n")
    assert what in first
    assert f'  File "{file}", line {line}' == place
    assert text == shown.strip()
    assert {"^"} == set(carets.strip())
    assert advice in last
    assert last.endswith(".")
    assert line == caught.value.origin.line


# --- calls ------------------------------------------------------------------------------------------------


@refused(UnsupportedSyntaxError, "call of inner() unpacks a sequence of unknown length", "Write the arguments out.")
def unpacked_into_a_local(x):
    def inner(a, b):
        return a * b

    return inner(*x[:2])  # refused


@refused(UnsupportedSyntaxError, "* or ** in a call that is only known at run time", "Write the arguments out.", X, 0)
def stars_at_run_time(x, n):
    values = [x, {"x": x}]
    return values[n].dot(*values)  # refused


def k(items):
    return items[0] * 2.0


@refused(UnsupportedSyntaxError, "more than eight kinds of arguments", "Call it with arguments of one kind.")
def many_kinds(x):
    more = k((x,)) + k((x, x)) + k((x, 1)) + k((x, "a")) + k((x, x, 1)) + k((x, 1, x))
    return more + k((x, x, x)) + k((x, 1, 1)) + k((x, 1, "a")) + k((x, "a", 1))  # refused


@refused(UnsupportedSyntaxError, "more than eight kinds of arguments", "Call it with arguments of one kind.", X, 3)
def ever_new_kinds(x, n):
    return wrap(x, n)


def wrap(value, n):
    return wrap((value,), n - 1) if n else value  # refused


@refused(UnsupportedSyntaxError, "the recursion of the local function power", "Define it at module level.", 2.0, 3)
def local_recursion(x, n):
    def power(n):
        return x * power(n - 1) if n else 1.0

    return power(n)  # refused


def scaled(x, n):
    return x * n


@rrule(scaled)
def scaled_rule(x, n):
    y = scaled(x, n)

    def pullback(y_bar):
        return y_bar * n, None

    return y, pullback


@refused(NoRuleError, "has no derivative with respect to n", "wrap it in stop_gradient()")
def constant_of_a_rule(x):
    return scaled(x, x[0])  # refused


@refused(NoRuleError, "the rule of numpy.sin takes no signature=", "Write it another way.")
def keyword_of_a_rule(x):
    return np.sin(x, signature="d->d")  # refused


@refused(NoRuleError, "numpy.ma.extras.median has no derivative rule", "non_differentiable()")
def without_rule(x):
    return np.ma.median(x)  # refused


@refused(NoRuleError, ".data of an array is not differentiated", "Use the array itself")
def attribute_without_rule(x):
    return x.data  # refused


class Mine(np.ndarray):
    """An array that may mean something else."""


@refused(NoRuleError, "has no derivative rule for", "Convert it to an array", X.view(Mine))
def array_subclass(x):
    return np.sum(x)  # refused


# --- names and targets ------------------------------------------------------------------------------------

written = None


@refused(UnsupportedSyntaxError, "a walrus that binds an outer name", "Use a local name.")
def walrus_of_a_global(x):
    global written
    if (written := x[0]) > 0.0:  # refused
        x = x * 2.0
    return x


@refused(UnsupportedSyntaxError, "a walrus inside an assert", "in a statement of its own before")
def walrus_in_an_assert(x):
    assert (y := x[0]) > 0.0  # refused  # noqa: RUF018
    return y * x


@refused(UnsupportedSyntaxError, "a walrus inside an augmented assignment", "in a statement of its own before")
def walrus_in_an_augmented_assignment(x):
    z = x * 1.0
    z += (y := x * 2.0)  # refused
    return z * y


@refused(UnsupportedSyntaxError, "a loop target that is not a name", "assign inside the loop")
def loop_target(x):
    p = [None]
    for p[0] in x:  # refused
        pass
    return p[0]


@refused(UnsupportedSyntaxError, "a starred target beside a subscript", "Unpack into names first.")
def starred_place(x):
    p = [None]
    p[0], *rest = x  # refused
    return p[0] * rest[0]


# --- text -------------------------------------------------------------------------------------------------


@refused(UnsupportedSyntaxError, "text that was made of a value with a derivative", "stop_gradient() of it")
def number_from_text(x):
    text = f"{x[0]}"
    return float(text) * x  # refused


@refused(UnsupportedSyntaxError, "eval()", "Write the code out.")
def evaluated(x):
    return eval("x * 2")  # refused


@refused(UnsupportedSyntaxError, "locals() inside a differentiated function", "Name the variables that you need.")
def frame(x):
    return locals()["x"]  # refused


# --- containers -------------------------------------------------------------------------------------------


@refused(UnsupportedSyntaxError, "sum() of lists, tuples", "Combine the items in a loop.")
def sum_of_tuples(x):
    return sum([(x[0], x[1]), (x[1], x[2])], ())[0]  # refused


@refused(MutationError, "with out=", "Let it return a new array.")
def result_arguments(x):
    y, z = np.empty(3), np.empty(3)
    np.modf(x, out=(y, z))  # refused
    return y * x


# --- memory -----------------------------------------------------------------------------------------------


@refused(MutationError, "at() in place", "y[index] = np.multiply(y[index], ...)")
def multiplied_at(x):
    y = x * 2.0
    np.multiply.at(y, [0, 0], x[:2])  # refused
    return y


@refused(MutationError, "partition() in place", "y.sort()")
def partitioned_in_place(x):
    y = x * 2.0
    y.partition(1)  # refused
    return y


@refused(MutationError, "shares memory with the array", "Write a copy")
def overlapping_at_another_stride(x):
    y = np.concatenate([x, x])
    y[::2] = y[:3]  # refused
    return y


@refused(MutationError, "read with another dtype", "astype()")
def punned_view(x):
    y = np.zeros(3)
    y.view(np.float32)[0] = x[0]  # refused
    return np.sum(y)


@refused(MutationError, "an array of object", "dtype=float")
def written_into_objects(x):
    y = np.empty(3, dtype=object)
    y[0] = x[0]  # refused
    return y[0]


@refused(MutationError, "a generator writes into an array", "Collect the values in a list")
def filled_by_a_generator(x):
    return [np.sum(y) for y in filling(np.zeros(3), x[0])]


def filling(y, v):
    for i in range(3):
        y[i] = v * i  # refused
        yield y


def put_first(y, v):
    y[0] = v


def put_outside(y, v):
    y[0] = v
    y[9] = v


@refused(MutationError, "a call that writes into arrays, containers or objects raised", "in the function itself")
def written_where_exceptions_are_caught(x):
    y = x * 2.0
    try:
        put_outside(y, x[1])  # refused
    except IndexError:
        pass
    return y


def put_last(y, v):
    y[-1] = v


@refused(MutationError, "is only known at run time, and writes", "call it by its own name", X, 1)
def written_by_what_is_known_at_run_time(x, i):
    y = x * 2.0
    f = [put_first, put_last][i]
    f(y, x[1])  # refused
    return y


@refused(MutationError, "x and y share memory", "Pass a copy", X, X)  # refused
def arguments_that_share_memory(x, y):
    x[0] = y[1]
    return x * y


@pytest.mark.parametrize("name", CASES)
def test_refusal(name):
    """At compile time or in the forward, before any number is wrong."""
    function, kind, what, advice, args = CASES[name]
    number, text = marked(__file__, function.__code__.co_firstlineno)
    with pytest.raises(kind) as caught:
        pullback(function, *args)
    assert_refused(caught, what, advice, __file__, number, text)


# --- those that need text, or that something changes meanwhile ---------------------------------------------


def compiled(text, name):
    """The function f of a text."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def test_expressions_that_are_nested_too_deeply(monkeypatch):
    """What is too deep for the passes, which raise the limit themselves."""
    f = compiled("def f(x):\n    return " + "-(" * 150 + "x" + ")" * 150 + "\n", "<deep expression>")
    limit, set_limit = sys.getrecursionlimit(), sys.setrecursionlimit
    with monkeypatch.context() as patch:
        patch.setattr(sys, "setrecursionlimit", lambda n: None)
        set_limit(limit_for(200))
        try:
            with pytest.raises(UnsupportedSyntaxError) as caught:
                pullback(f, 2.0)
        finally:
            set_limit(limit)
    lines = str(caught.value).split("\n")
    assert ["f is nested too deeply", '  File "<deep expression>", line 1', "    def f(x):"] == lines[:3]
    assert "Split it into smaller pieces." == lines[-1]
    assert (1.0,) == pullback(f, 2.0)[1](1.0)


def limit_for(room):
    """The recursion limit that leaves room for so many frames."""
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth + room


class Changing(type):
    """A class whose attribute is a float, then an int, then a float."""

    reads = 0

    @property
    def scale(cls):
        Changing.reads += 1
        return 2.0 if Changing.reads % 2 else 2


class Settings(metaclass=Changing):
    """What a program reads."""


def reads_what_changes(x):
    return x * Settings.scale


def test_what_changes_while_it_is_compiled():
    """The version that was just compiled does not fit what the call then finds."""
    with pytest.raises(UnsupportedSyntaxError) as caught:
        gradient(reads_what_changes)(3.0)
    lines = str(caught.value).split("\n")
    assert "reads_what_changes does not fit the version that was just compiled for it" == lines[0]
    assert f'  File "{__file__}", line {reads_what_changes.__code__.co_firstlineno}' == lines[1]
    assert "Pass what changes as an argument." == lines[-1]
