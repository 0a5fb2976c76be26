"""What is said of callees and kinds: all of them have words."""

import inspect
import re

import numpy as np
import pytest

from adcompiler import callees, lattice, show
from adcompiler.cli import main
from tests.stages import marked

# Parts of callees and what loops run over.
PARTS = {callees.Field, callees.Over, callees.Zipped, callees.Enumerated, callees.Backwards, callees.Counting}
PARTS |= {callees.Blind, callees.Keys}


def classes(module):
    return {c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__}


def test_every_callee_has_words():
    """A new callee needs an entry in `show.WORDS`."""
    assert set(show.WORDS) == classes(callees) - PARTS


def test_every_kind_has_words():
    """Only what is unknown is called so."""
    found = {
        lattice.Heap(list), lattice.Stream(lattice.Scalar()), lattice.Stream(None), lattice.SliceOf(), lattice.Inert(),
        lattice.Int(), lattice.IntArray(), lattice.Scalar(), lattice.Array(), lattice.Number(), lattice.Known(1),
        lattice.TupleOf(()), lattice.ListOf(None, lattice.Int()), lattice.DictOfKinds((), ()),
        lattice.Instance(int, (), ()), lattice.MapOf(lattice.Int()), lattice.Observed((), lattice.Seen(([],))),
        lattice.Closure(None, (), None, "f"), lattice.Foreign(np.random.Generator),
        lattice.Namespace(),
    }  # fmt: skip
    assert {type(k) for k in found} == classes(lattice) - {lattice.Kind, lattice.Unknown, lattice.Seen}
    assert all("unknown" not in show.kind(k) and "not reached" not in show.kind(k) for k in found)
    assert show.kind(lattice.Heap(dict)) == "dict of the program"
    assert show.kind(lattice.Stream(lattice.Scalar())) == "a generator of float"


PROGRAMS = """
import copy
import functools
import itertools
import numpy as np


class Point:
    def __init__(self, a):
        self.a = a


def items(x):
    yield x
    yield x * x


def places(x):
    xs = []
    xs.append(x)
    return xs[0] * Point(x).a


def methods(x):
    f = functools.partial(scaled, x)
    return f(2.0) * copy.copy(x) + sum([v * x for v in (1.0, 2.0)])


def scaled(x, k):
    return x * k


def writes(x):
    y = np.zeros(3)
    y[0] = x
    np.copyto(y[1:], y[0] * x)
    np.exp(y, out=y)
    return np.sum(y)


def generators(x):
    it = items(x)
    first = next(it)
    return first + sum(list(it)) + sum(v for v in itertools.islice(items(x), 1))
"""


@pytest.mark.parametrize(
    ("name", "categories"),
    [
        ("places", ["place", "recursion"]),
        ("methods", ["display", "moved"]),
        ("generators", ["generator"]),
        ("writes", ["write"]),
    ],
)
def test_explain_of_every_kind(name, categories, tmp_path, capsys):
    """`explain` has words for what reads and writes, for new objects, copies and generators."""
    file = tmp_path / "programs_to_show.py"
    file.write_text(PROGRAMS)
    assert main(["explain", f"{file}:{name}", "--args", "1.5"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {category} " in shown for category in categories), shown
    assert main(["dump", f"{file}:{name}", "--args", "1.5", "--stage", "kinds"]) == 0


def test_writes_are_marked():
    """A statement that writes into what carries a derivative passes it on."""

    def f(x):
        y = np.zeros(3)
        mask = np.zeros(3)
        y[0] = x
        y.sort()
        np.exp(y, out=y)
        mask[0] = 1.0
        return y

    lines = marked(f, 1.0)
    assert {"y[0] = x", "y.sort()"} <= set(lines)
    assert any(line.endswith("np.exp(y, out=y)") for line in lines)
    assert not any(line.startswith("mask[0]") for line in lines)


UPDATES = """
import numpy as np


class Point:
    def __init__(self, a):
        self.a = a


def arrays(x):
    y = np.zeros(3)
    y += x
    y[0] += x[1]
    y[1] *= scaled(
        x[0])
    y.flat[2] = x[0] * 2
    y.flat[1] -= x[0]
    y[0], y[1] = y[1], x[2]
    mask = np.zeros(3)
    mask += 1
    mask[0] += 1
    return np.sum(y)


def scaled(a):
    return a * 2


def numbers(x):
    total = 0.0
    for v in x:
        total += v * v
    return total


def containers(x):
    p = Point(x)
    p.a = p.a * 2
    d = {}
    d["k"] = p.a
    d["k"] += x
    items = [x]
    items += [d["k"]]
    doubled = [2 * v for v in items]
    return sum(np.sum(v) for v in doubled)


def choices(x, n):
    y = np.zeros(3)
    y[0] = x[0] if n else x[1]
    return np.sum(y) * (x[1] if n else x[2])
"""


@pytest.fixture
def explained(tmp_path, capsys):
    """The rows of a function of UPDATES: line, text, category and reason."""
    file = tmp_path / "updates_to_show.py"
    file.write_text(UPDATES)

    def explained(name, *args):
        assert main(["explain", f"{file}:{name}", "--args", *args]) == 0
        first = capsys.readouterr().out.split("\n\n")[0]
        return [re.split(r"\s{2,}", line.strip(), maxsplit=3) for line in first.strip().split("\n")[1:]]

    return explained


def test_writes_into_arrays_are_one_row_of_the_users_text(explained):
    """`y += x`, `y[0] += v` and `y.flat[2] = v` are writes, each in one row as it stands in the file."""
    rows = explained("arrays", "np.ones(3)")
    assert [row[1:3] for row in rows if row[2] == "write"] == [
        ["y += x", "write"],
        ["y[0] += x[1]", "write"],
        ["y[1] *= scaled(x[0])", "write"],
        ["y.flat[2] = x[0] * 2", "write"],
        ["y.flat[1] -= x[0]", "write"],
        ["y[0], y[1] = y[1], x[2]", "write"],
    ]
    assert [row[1:3] for row in rows if "mask" in row[1]] == [["mask += 1", "inert"], ["mask[0] += 1", "inert"]]


def test_operator_of_an_update_is_named(explained):
    """The row of an augmented assignment says which rule its operator has."""
    reasons = {row[1]: row[3] for row in explained("arrays", "np.ones(3)")}
    assert "add for operator.add (" in reasons["y += x"]
    assert "add for operator.add (" in reasons["y[0] += x[1]"]
    assert "subtract for operator.sub (" in reasons["y.flat[1] -= x[0]"]


def test_update_of_a_number_is_no_write(explained):
    """A number is bound anew: the row has the user's text and the rule."""
    assert ["total += v * v", "rule"] in [row[1:3] for row in explained("numbers", "np.ones(3)")]


def test_writes_into_containers_are_shown_as_written(explained):
    """Items, attributes and comprehensions stand there as in the file, no function of the compiler's does."""
    rows = explained("containers", "np.ones(3)")
    written = [row[1] for row in rows if row[2] == "place" and "written" in row[3]]
    assert written == [
        "p.a = p.a * 2",
        'd["k"] = p.a',
        'd["k"] += x',
        'items += [d["k"]]',
        "[2 * v for v in items]",
        "(np.sum(v) for v in doubled)",
    ]
    assert ["p = Point(x)", "recursion"] in [row[1:3] for row in rows]


def test_value_of_a_choice_is_shown_whole(explained):
    """What has come from one of two branches is not shown as the last of them."""
    texts = [row[1] for row in explained("choices", "np.ones(3)", "1")]
    assert "y[0] = x[0] if n else x[1]" in texts
    assert any(text.endswith("np.sum(y) * (x[1] if n else x[2])") for text in texts)
