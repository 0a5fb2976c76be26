"""What is said of callees and kinds: all of them have words."""

import inspect

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
        lattice.Instance(int, (), ()), lattice.MapOf(lattice.Int()), lattice.Observed((), []),
        lattice.Closure(None, (), None, "f"), lattice.Foreign(np.random.Generator),
    }  # fmt: skip
    assert {type(k) for k in found} == classes(lattice) - {lattice.Kind, lattice.Unknown}
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
