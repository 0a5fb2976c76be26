"""Text made of values with a derivative: free to go anywhere, and refused where a number is made of it again."""

# ruff: noqa: UP028, UP031, UP032

from __future__ import annotations

import decimal
import functools
import io
import json
import logging
import pathlib
import re
import warnings
from collections import deque

import numpy as np
import pytest

from adcompiler import gradient, pullback, stop_gradient, value_and_grad
from adcompiler.runtime.errors import DifferentiationError

LOG = logging.getLogger("adcompiler.tests")
LINES: list[str] = []
SETTINGS = {"rate": 2.0, "inner": {"rate": 3.0}}
text = str


class Note:
    def __init__(self):
        self.lines = []
        self.last = ""

    def add(self, message):
        self.lines.append(message)
        self.last = message


def note(message):
    LINES.append(message)


def show(message):
    print(message)
    return message


def described(x):
    return f"x is {x}"


def clean(message):
    return message.strip().replace(",", ".")


def letters(message):
    for letter in message:
        yield letter


# --- what carries text only: `x * x` or `x * 2.0` at 1.5 --------------------------------------------------


def logged(x):
    note(f"loss {x}")
    LOG.info("loss %s", str(x))
    return x * x


def noted_by_object(x):
    book = Note()
    book.add(f"loss {x}")
    book.add("end")
    return x * x * len(book.lines) / 2


def settings_beside_lines(x):
    note(f"loss {x}")
    return x * SETTINGS["rate"]


def settings_inside_settings(x):
    note(f"loss {x}")
    return x * SETTINGS["inner"]["rate"]


def joined(x):
    message = str(x) + "!"
    message += "?"
    print(", ".join([message, "end"]) * 2)
    return x * x


def formatted(x):
    show("{}".format(x))
    show("%f" % x)
    show("%f and %d" % (x, 3))
    show("{x:.3f}".format(x=x))
    show(format(x, ".3f"))
    show(np.array_str(np.ones(2) * x))
    show(np.format_float_positional(x))
    return x * x


def listed(x):
    messages = [f"a {x}", str(x)]
    messages.append(repr(x))
    kept = {"first": messages[0]}
    for message in messages:
        show(message)
    show(kept["first"])
    return x * x


def asked(x):
    message = described(x)
    if message == "nan" or message.startswith("n") or "nan" in message:
        return x
    return x * x * len(message) / len(message)


def counted(x):
    return x * (2.0 + 0 * f"{x}".count("5"))


def both_returned(x):
    message, y = described(x), x * 2.0
    show(message)
    return y


def pair_of(x):
    return described(x), x * x


def taken_apart(x):
    message, y = pair_of(x)
    show(message)
    return y


def held_beside(x):
    d = {"loss": x * x, "message": f"{x}"}
    show(d["message"])
    return d["loss"]


def name_used_again(x):
    s = f"{x}"
    show(s)
    s = x * 2.0
    return s


def other_text(x):
    s = "2.0"
    show(str(x))
    return float(s) * x


def constant(x):
    return float(str(stop_gradient(x))) * 0.0 + x * x


def raised(x):
    try:
        if x > 0:
            message = f"bad {x}"
            raise ValueError(message)
    except ValueError as error:
        show(str(error))
    return x * x


def of_shape(x):
    y = np.ones(2) * x
    return np.sum(y * x) / int(f"{y.shape[0]}")


def callbacks(x):
    for f in (show, note):
        f(f"{x}")
    return x * x


def settings_in_settings(x):
    note(f"loss {x}")
    return x * SETTINGS["inner"]["rate"]


def in_a_set(x):
    return x * x * len({f"{x}", "a"}) / 2


def as_a_path(x):
    show(str(pathlib.PurePath("results") / f"{x}.txt"))
    return x * x


def warned(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn(f"{x}", stacklevel=1)
    assert x > 0, f"{x}"
    return x * x


def sorted_beside(x):
    pairs = sorted([(f"b {x}", x), ("a", x * x)], key=lambda pair: pair[0])
    return pairs[0][1]


def rows(x):
    lines = []
    for i in range(3):
        lines.append(f"{i}: {x}")
    show("\n".join(lines))
    show("\n".join(f"{i}: {x * i:.2f}" for i in range(3)))
    return x * x


def key_of_a_cache(x):
    key = "key_" + str(x)
    cache = {}
    cache[key] = x * x
    return cache[key]


def written_to_a_file(x):
    with io.StringIO() as out:
        out.write(f"{x}")
        show(out.getvalue())
    return x * x


def substituted(x):
    show(re.sub("a", "b", f"{x}"))
    return x * x


def named_by_type(x):
    show(type(x).__name__ + f"{x:.1f}")
    return x * x


CARRIED = [
    settings_in_settings,
    in_a_set,
    as_a_path,
    warned,
    sorted_beside,
    rows,
    key_of_a_cache,
    written_to_a_file,
    substituted,
    named_by_type,
    logged,
    noted_by_object,
    joined,
    formatted,
    listed,
    asked,
    taken_apart,
    held_beside,
    constant,
    raised,
    of_shape,
    callbacks,
]
CARRIED_2 = [settings_beside_lines, counted, both_returned, name_used_again, other_text]


@pytest.mark.parametrize("f", CARRIED, ids=lambda f: f.__name__)
def test_text_that_is_only_carried(f):
    assert gradient(f)(1.5) == pytest.approx(3.0)


@pytest.mark.parametrize("f", CARRIED_2, ids=lambda f: f.__name__)
def test_text_beside_numbers(f):
    assert gradient(f)(1.5) == pytest.approx(2.0)


def test_text_is_returned():
    def f(x):
        return x * x, f"loss {x}"

    assert value_and_grad(f, has_aux=True)(1.5) == ((2.25, "loss 1.5"), 3.0)
    (y, message), back = pullback(f, 1.5)
    assert (y, message, back((1.0, None))) == (2.25, "loss 1.5", (3.0,))


# --- numbers made of text ---------------------------------------------------------------------------------


def parsed(s):
    return float(s)


def twice(f, x):
    return f(f(x))


REFUSED = {
    "direct": lambda x: float(str(x)),
    "a method": lambda x: float(str(x).strip()) * x,
    "an alias": lambda x: float(text(x)) * x,
    "made by a helper": lambda x: float(described(x)[5:]) * x,
    "made and changed by helpers": lambda x: float(clean(described(x)[5:])) * x,
    "read by a helper": lambda x: parsed(f"{x}") * x,
    "read by a helper of a helper": lambda x: twice(parsed, f"{x}") * x,
    "formatted": lambda x: float("{}".format(x)) * x,
    "formatted by %": lambda x: float("%.3f" % x) * x,
    "format": lambda x: float(format(x, ".3f")) * x,
    "joined": lambda x: float(",".join([str(x), "2"]).split(",")[0]) * x,
    "added": lambda x: float(str(x) + "0") * x,
    "of an array": lambda x: float(np.array_str(np.array([x]))[1:-1]) * x,
    "in a list": lambda x: float([str(x)][0]) * x,
    "in a dict": lambda x: float({"a": str(x)}["a"]) * x,
    "in a tuple that is taken apart": lambda x: float(pair_of(x)[0][5:]) * x,
    "a choice": lambda x: float(str(x) if x > 0 else "3") * x,
    "int": lambda x: int(f"{x:.0f}") * x,
    "complex": lambda x: complex(str(x)).real * x,
    "ord": lambda x: ord(str(x)[0]) * x,
    "float64": lambda x: np.float64(str(x)) * x,
    "int64": lambda x: np.int64(f"{x:.0f}") * x,
    "array": lambda x: np.array(str(x), dtype=float) * x,
    "array of text": lambda x: np.sum(np.array([str(x)], dtype=float)) * x,
    "fromstring": lambda x: np.fromstring(str(x), sep=" ")[0] * x,
    "hex": lambda x: float.fromhex(float(x).hex()) * x,
    "decimal": lambda x: float(decimal.Decimal(str(x))) * x,
    "json": lambda x: json.loads(f"{x}") * x,
    "json, returned": lambda x: json.loads(f"{x}"),
    "keys of a dict": lambda x: sum([float(k) for k in {f"{x}": 2.0}]) * x,
    "bytes": lambda x: np.frombuffer(np.array([x]).tobytes())[0] * x,
    "one byte": lambda x: np.array([x]).tobytes()[3] * x,
    "a comprehension": lambda x: sum([float(s) for s in [str(x)]]) * x,
    "map": lambda x: sum(map(float, f"{x} 2".split())) * x,
    "a lambda": lambda x: (lambda s: float(s))(f"{x}") * x,
    "a cast to text": lambda x: np.sum((np.ones(2) * x).astype(str).astype(float)),
}


def letter_by_letter(x):
    s = ""
    for letter in str(x):
        s = s + letter
    return float(s) * x


def from_a_generator(x):
    s = ""
    for letter in letters(str(x)):
        s += letter
    return float(s) * x


def captured(x):
    s = str(x)

    def inner():
        return float(s)

    return inner() * x


def appended(x):
    messages = []
    messages.append(f"{x}")
    return float(messages[0]) * x


def in_a_global_list(x):
    LINES.append(f"{x}")
    return float(LINES[-1]) * x


def in_an_object(x):
    book = Note()
    book.add(f"{x}")
    return float(book.last) * x


def in_an_object_of_the_callee(x, book):
    book.add(f"{x}")
    return float(book.last) * x


def in_a_deque(x):
    messages = deque([f"{x}"])
    return float(messages.popleft()) * x


def from_an_exception(x):
    message = f"{x}"
    try:
        raise ValueError(message)
    except ValueError as error:
        return float(error.args[0]) * x


def stored_in_an_array(x):
    y = np.zeros(2)
    y[0] = str(x)
    return np.sum(y) * x


def by_an_unknown_function(x, parse=(float,)):
    return functools.reduce(lambda a, f: f(a), list(parse), str(x)) * x


def written_to_a_file_and_read(x):
    out = io.StringIO()
    out.write(f"{x}")
    return float(out.getvalue()) * x


def loop_over_a_global_list(x):
    y = x
    LINES.clear()
    note(f"{x}")
    for line in LINES:
        y = float(line) * x
    return y


def searched(x):
    return float(re.search(r"\d", f"{x}").group(0)) * x


def in_a_loop(x):
    s, y = "1", 0.0
    for _ in range(3):
        y = y + float(s) * x
        s = str(x)
    return y


FUNCTIONS = [
    letter_by_letter,
    from_a_generator,
    captured,
    appended,
    in_a_global_list,
    in_an_object,
    in_a_deque,
    from_an_exception,
    stored_in_an_array,
    by_an_unknown_function,
    written_to_a_file_and_read,
    searched,
    loop_over_a_global_list,
    in_a_loop,
]


@pytest.mark.parametrize("f", [*REFUSED.values(), *FUNCTIONS], ids=[*REFUSED, *(f.__name__ for f in FUNCTIONS)])
def test_numbers_made_of_text_are_refused(f):
    with pytest.raises(DifferentiationError):
        gradient(f)(1.5)


def test_the_line_is_shown():
    with pytest.raises(DifferentiationError, match=r"text that was made of a value with a derivative") as caught:
        gradient(captured)(1.5)
    assert "return float(s)" in str(caught.value)


def test_an_argument_that_keeps_text():
    with pytest.raises(DifferentiationError):
        gradient(in_an_object_of_the_callee)(1.5, Note())


# --- functions that are only known at run time ------------------------------------------------------------


class Choice:
    """What is looked up here is known at run time only."""

    def __init__(self, **parts):
        self.parts = parts

    def __getattr__(self, name):
        return self.parts[name]


def test_text_goes_through_unknown_functions():
    def f(x, choice):
        message = choice.make(x)
        choice.show(message)
        choice.show(choice.clean(message) + "!")
        choice.show(message[0].upper())
        return x * x

    assert gradient(f)(1.5, Choice(make=described, show=show, clean=clean)) == pytest.approx(3.0)
    assert gradient(f)(1.5, Choice(make=str, show=print, clean=str.strip)) == pytest.approx(3.0)


@pytest.mark.parametrize("make", [str, "{}".format, described])
@pytest.mark.parametrize("parse", [float, int, np.float64, parsed, json.loads, lambda s: float(s[-3:])])
def test_unknown_functions_make_no_numbers_of_text(make, parse):
    def f(x, choice):
        return choice.parse(choice.make(x)) * x

    with pytest.raises(DifferentiationError):
        gradient(f)(1.5, Choice(make=make, parse=parse))


def test_a_list_of_text_that_a_number_is_put_into():
    """What a method of text returns is a list, whatever is known of the text."""

    def f(x):
        parts = f.__name__.split()
        parts.append(x)
        return parts[-1] * x

    def g(x):
        parts = "a b".split()
        parts.append(x)
        return parts[-1] * x

    for function in (f, g):
        assert gradient(function)(1.5) == pytest.approx(3.0)


def test_an_object_that_is_not_followed_keeps_no_value():
    def f(x):
        lines = io.StringIO().getvalue().split()
        lines.append(x)
        return lines[-1] * x

    try:
        found = gradient(f)(1.5)
    except DifferentiationError:
        return
    assert found == pytest.approx(3.0)
