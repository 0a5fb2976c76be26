"""`ownership` finds the names whose memory is surely the backward's own, and which names have memory in common."""

import pytest

from adcompiler.ownership import ownership
from tests.blocks import block, kinds, names


def classes(text, given=""):
    """The classes of names with memory in common that the block owns, sorted."""
    statements = block(text)
    known = kinds(statements)
    found = ownership(statements, known, names(given))
    return sorted({" ".join(sorted(found.group(name))) for name in known if found.owned(name)})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = x * y", ["a"]),
        ("a = -x", ["a"]),
        ("a = x @ y\nb = x > y", ["a", "b"]),
        ("a = np.exp(x)", ["a"]),
        ("a = x * y\nb = a", ["a b"]),
        ("a = x * y\nb = a.T\nc = b[n]\nd = c.reshape(n)", ["a b c d"]),
        ("a = x * y\nb = fit(a, i)", ["a b"]),
        ("a = x * y\nb = x + y\nc = a if n else b", ["a b c"]),
        ("a = x * y\nb = accumulate(a, x + y)", ["a b"]),
        ("a = x * y\nb = x + y\nc, d = a, b", ["a b c d"]),
        ("a = np.multiply(x, y)\na = np.add(a, y, out=a)", ["a"]),
        ("a = x * y\nfor t in a:\n    b = t * 2", ["a t", "b"]),
        ("a = x * y\na += y", ["a"]),
    ],
)
def test_what_is_made_here(text, expected):
    """Results of arithmetic are the block's own; views, choices and parts are in the class of what they are made of."""
    assert expected == classes(text, "x y")


@pytest.mark.parametrize(
    "text",
    [
        "a = x",
        "a = x.T",
        "a = x[n]",
        "a = fit(x, i)",
        "a = accumulate(x * y, y)",
        "a = x * y if n else x",
        "a = x * y\na = x",
        "a = x * y\nb = a\nb = y",
        "for a in x:\n    F(n)",
        "a = q(n)",
        "a, b = q(n)",
        "a = np.add(n, n, out=x)",
        "a = x.copy()",
    ],
)
def test_what_may_be_somebody_elses(text):
    """What is given, and what a call gives of which nothing is known, is not owned; nor is what is in its class."""
    assert [] == classes(text, "x y")


@pytest.mark.parametrize(
    "text",
    [
        "return a",
        "return a.T, n",
        "return fit(a, i)",
        "b = a[n]\nreturn b",
        "z.b = a",
        "z[n] = a",
        "z.append(a)",
        "b = q(a)",
        "b = (a, n)\nc = q(b)",
        "q(a)",
        "b, c = q(n, a)",
        "b = np.sum(q(a))",
    ],
)
def test_what_is_given_away(text):
    """What is returned, stored, or given to a function that may keep it is not owned any more, before that either."""
    assert "a" not in " ".join(classes(f"a = x * y\n{text}", "x y z")).split()


def test_numbers_connect_nothing():
    """What holds no array has no memory: a length that is returned is not the array."""
    assert ["a n"] == classes("a = x * y\nn = a.size\nreturn n", "x y")


def test_results_that_are_arithmetic_of_what_is_returned():
    """A value that is only computed with is not given away."""
    assert ["a"] == classes("a = x * y\nb = a * 2\nreturn b", "x y")
