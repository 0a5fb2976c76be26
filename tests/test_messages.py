"""Every refusal names the file, the line, its text and what to write instead."""

import contextlib
import linecache

import numpy as np
import pytest

from adcompiler import (
    DifferentiationError,
    MutationError,
    NoRuleError,
    SourceNotFoundError,
    UnsupportedSyntaxError,
    gradient,
)

A = np.array([1.0, 2.0, 3.0])


class Layer:
    def __init__(self, w):
        self.w = w


@contextlib.contextmanager
def nothing():
    yield


@contextlib.contextmanager
def holding(value):
    yield value


def comprehension(x):
    return sum({v * v for v in x})  # here


def generator_expression(x):
    squares = (v * v for v in x)  # here
    return next(squares) + next(squares)


def dict_comprehension(x):
    d = {v: 1.0 for v in x}  # here
    return sum(d)


def except_star(x):
    try:  # here
        y = x * 2
    except* ValueError:
        y = x
    return np.sum(y)


def value_in_an_exception(x):
    try:
        raise ValueError(x[0])
    except ValueError as error:
        return error.args[0] * 2  # here


def context_of_a_value(x):
    with holding(x) as y:  # here
        z = y * 2
    return np.sum(z)


def element_write(x):
    y = np.zeros(3, dtype=int)
    y[0] = x[0]  # here
    return y[0]


def partition_in_place(x):
    y = x * 2
    y.partition(1)  # here
    return np.sum(y)


def no_rule(x):
    return np.sum(np.ma.median(x))  # here


def eval_inside(x):
    return eval("x * 2")[0]  # here


def locals_inside(x):
    y = x[0]
    return locals()["y"]  # here


def loop_over_unknown(x):
    s = 0.0
    for v in iter(x):  # here
        s = s + v
    return s


def out_keyword(x):
    y, z = np.empty(3), np.empty(3)
    np.modf(x, out=(y, z))  # here
    return y[0]


def unknown_keyword(x):
    return np.sum(np.sin(x, signature="d->d"))  # here


def starred_place(x):
    p = [None, None]
    p[0], *rest = x  # here
    return rest[0]


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (comprehension, UnsupportedSyntaxError),
        (generator_expression, UnsupportedSyntaxError),
        (dict_comprehension, UnsupportedSyntaxError),
        (except_star, UnsupportedSyntaxError),
        (value_in_an_exception, UnsupportedSyntaxError),
        (context_of_a_value, UnsupportedSyntaxError),
        (element_write, MutationError),
        (partition_in_place, MutationError),
        (no_rule, NoRuleError),
        (eval_inside, UnsupportedSyntaxError),
        (locals_inside, UnsupportedSyntaxError),
        (loop_over_unknown, DifferentiationError),
        (out_keyword, DifferentiationError),
        (unknown_keyword, NoRuleError),
        (starred_place, UnsupportedSyntaxError),
    ],
    ids=lambda v: v.__name__,
)
def test_refusal(f, kind):
    """The message has what, where and what to do; the error carries its place."""
    with pytest.raises(kind) as caught:
        gradient(f)(A.copy())
    line, text = place_of(f)
    whole = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert f'File "{__file__}", line {line}' in whole
    assert text in whole
    lines = [part.strip() for part in str(caught.value).strip().split("\n")]
    assert len(lines) >= 3, whole
    assert lines[-1].endswith("."), "the last line is the advice"
    assert lines[0] != "", "the first line says what"


def place_of(f):
    """The number and text of the line that is marked with `# here`."""
    number = f.__code__.co_firstlineno
    while "# here" not in linecache.getline(__file__, number):
        number += 1
    return number, linecache.getline(__file__, number).split("# here")[0].strip()


def test_carets_are_under_the_expression():
    """The part of the line that is meant is marked."""
    with pytest.raises(NoRuleError) as caught:
        gradient(no_rule)(A)
    lines = str(caught.value).split("\n")
    at = next(i for i, line in enumerate(lines) if "np.ma.median" in line and "return" in line)
    start = lines[at].index("np.ma.median(x)")
    assert " " * start + "^" * len("np.ma.median(x)") == lines[at + 1].rstrip()


def test_no_source():
    """A function without source is named, with what to do."""
    scope = {}
    exec(compile("def f(x): return x", "<nowhere>", "exec"), scope)
    with pytest.raises(SourceNotFoundError) as caught:
        gradient(scope["f"])(1.0)
    assert "f" in str(caught.value).split("\n")[0]
    assert "@rrule" in str(caught.value)


def test_the_helper_is_named_not_its_caller():
    """A refusal in a helper shows the helper's line."""

    def f(x):
        return comprehension(x) * 2.0

    with pytest.raises(UnsupportedSyntaxError) as caught:
        gradient(f)(A)
    assert f"line {place_of(comprehension)[0]}" in str(caught.value)


def test_what_is_inert_is_not_refused():
    """The same forms pass where nothing carries a derivative."""

    def f(x):
        shape = x.shape
        sizes = [n for n in shape]
        with nothing():
            total = sum(s for s in sizes)
        try:
            total = total + int("1")
        except ValueError:
            total = 0
        out = []
        out.append(total)
        buffer = np.zeros(3)
        buffer[0] = 2.0
        return np.sum(x) * total * out[0] * buffer[0]

    np.testing.assert_array_equal(np.full(3, 32.0), gradient(f)(A))


def test_the_users_own_exceptions_pass_unchanged():
    """An exception of the user's keeps its class and message, and the note shows the user's line."""

    def f(x):
        if x > 1:
            raise KeyError("mine")  # here
        return x

    with pytest.raises(KeyError) as caught:
        gradient(f)(2.0)
    assert ("mine",) == caught.value.args
    number, text = place_of(f)
    assert f"line {number}" in caught.value.__notes__[0]
    assert text in caught.value.__notes__[0]


def test_errors_of_numpy_show_the_users_line():
    """A shape error in the forward names the user's line; in the traceback stands generated text."""

    def f(x):
        y = x * 2.0
        return np.sum(y @ np.ones((7, 7)))  # here

    with pytest.raises(ValueError, match="matmul") as caught:
        gradient(f)(A)
    number, text = place_of(f)
    assert f"line {number}" in caught.value.__notes__[0]
    assert text in caught.value.__notes__[0]


def test_assertions_of_the_user():
    """A failing assert is the user's."""

    def f(x):
        assert x < 1, f"too large: {x}"
        return x

    with pytest.raises(AssertionError, match=r"too large: 2\.0"):
        gradient(f)(2.0)


def test_wrong_calls_complain_under_the_users_name():
    """Python's own TypeError about arguments names the function as the user called it."""

    def area(width, height):
        return width * height

    with pytest.raises(TypeError, match=r"area\(\) missing 1 required positional argument: 'height'"):
        gradient(area)(1.0)
    gradient(area)(1.0, 2.0)
    with pytest.raises(TypeError, match=r"area\(\) missing 1 required positional argument: 'height'"):
        gradient(area)(1.0)
    with pytest.raises(TypeError, match="area"):
        gradient(area)(1.0, 2.0, 3.0)


def each(arrays):
    yield from arrays


def named_generator(x):
    items = each([x * 2.0, x])
    b = next(items)
    b += x
    return np.sum(b)


def unnamed_generator(x):
    b = next(each([x * 2.0, x]))
    b += x
    return np.sum(b)


@pytest.mark.parametrize(("f", "what"), [(named_generator, "items"), (unnamed_generator, "a value")])
def test_temporaries_are_not_named(f, what):
    """A value that has no name in the user's text has none in the message."""
    with pytest.raises(MutationError, match=f"^{what} gives arrays"):
        gradient(f)(A)


def test_a_lambda_is_called_what_the_user_calls_it():
    """The message names the variable that holds the lambda."""

    def f(x):
        power = lambda n: x if n == 0 else x * power(n - 1)
        return power(3)

    with pytest.raises(UnsupportedSyntaxError, match="recursion of the local function power"):
        gradient(f)(1.5)
