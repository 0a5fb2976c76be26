"""`recycle` writes results into operands that nothing reads later; `apart` takes nested arithmetic apart before."""

import numpy as np
import pytest

from adcompiler import pullback
from adcompiler.recycle import apart, recycle
from tests.blocks import block, lines, names, words
from tests.modes import pullback_reusing


def recycled(text, given="", keep="", **options):
    """The lines of a text after both passes; `given` may be had by callers, `keep` is read later."""
    statements = block(text)
    known = words(statements, **options)
    return lines(recycle(apart(statements, known), known, names(given), names(keep)))


def taken_apart(text, **options):
    """The lines of a text after `apart`."""
    statements = block(text)
    return lines(apart(statements, words(statements, **options)))


# --- nested arithmetic ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = x * y", ["a = x * y"]),
        ("a = x * (y + z)", ["w1 = y + z", "a = x * w1"]),
        ("a = (x + y) * (x - y)", ["w1 = x + y", "w2 = x - y", "a = w1 * w2"]),
        ("a = fit(x * y, i)", ["w1 = x * y", "a = fit(w1, i)"]),
        ("a = x * fit(y, i)", ["w1 = fit(y, i)", "a = x * w1"]),
        ("a = np.sum(x * y)", ["w1 = x * y", "a = np.sum(w1)"]),
        ("a = np.exp(x * y).T", ["w1 = x * y", "w2 = np.exp(w1)", "a = w2.T"]),
        ("a, b = q(x * y, i)", ["w1 = x * y", "a, b = q(w1, i)"]),
        ("return x * y + z, z", ["w1 = x * y", "w2 = w1 + z", "return w2, z"]),
        ("a.b = (x + y) * z", ["w1 = x + y", "a.b = w1 * z"]),
        ("a = s * (s + 1)", ["a = s * (s + 1)"]),
        ("a = x * (s + 1)", ["w1 = s + 1", "a = x * w1"]),
        ("a = x * q(y * z)", ["w1 = y * z", "w2 = q(w1)", "a = x * w2"]),
    ],
)
def test_apart(text, expected):
    """Each operation on arrays inside another one gets a name; those on numbers stay."""
    assert expected == taken_apart(text)


def test_choices_become_branches():
    """`a if test else b` of operations on arrays is two branches, so that only one of them is computed."""
    expected = ["if n:", "    w1 = y + z", "    a = x * w1", "else:", "    a = x"]
    assert expected == taken_apart("a = x * (y + z) if n else x")


def test_augmented_assignments_stay():
    """What may write into an array of the user's is left as it is."""
    assert ["a += x * y"] == taken_apart("a += x * y")


# --- results in the place of operands ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = x * y", "a = np.multiply(x, y, out=reuse_either(x, y))"),
        ("a = x * y\nF(x)", "a = np.multiply(x, y, out=reuse(y, x))"),
        ("a = x * y\nF(y)", "a = np.multiply(x, y, out=reuse(x, y))"),
        ("a = x * y\nF(x, y)", "a = x * y"),
        ("a = x * x", "a = np.multiply(x, x, out=reuse(x, x))"),
        ("a = -x", "a = np.negative(x, out=reuse(x))"),
        ("a = 2 - x", "a = np.subtract(2, x, out=reuse(x))"),
        ("a = x / s", "a = np.divide(x, s, out=reuse(x, s))"),
        ("a = np.tanh(x)", "a = np.tanh(x, out=reuse(x))"),
        ("a = np.maximum(x, y)", "a = np.maximum(x, y, out=reuse_either(x, y))"),
        ("a = x * 2j", "a = np.multiply(x, complex(0.0, 2.0), out=reuse(x, complex(0.0, 2.0)))"),
        ("a = x @ y", "a = x @ y"),
        ("a = x > y", "a = x > y"),
        ("a = np.maximum(x, y, where=i)", "a = np.maximum(x, y, where=i)"),
        ("a = x * q", "a = x * q"),
        ("a = s * s", "a = s * s"),
        ("a = n - n", "a = n - n"),
    ],
)
def test_one_operation(text, expected):
    """An operand that is an array, and is not read later, may take the result."""
    assert expected == recycled(text, keep="a")[0]


@pytest.mark.parametrize(
    ("given", "keep", "expected"),
    [
        ("", "", "x = np.multiply(x, y, out=reuse_either(x, y))"),
        ("x", "", "y = np.multiply(x, y, out=reuse(y, x))"),
        ("", "y", "x = np.multiply(x, y, out=reuse(x, y))"),
        ("x", "y", "a = x * y"),
    ],
)
def test_what_others_have(given, keep, expected):
    """What callers may still have, and what is read later elsewhere, is written into by nothing."""
    assert expected == recycled("a = x * y\nreturn a", given, keep)[0]


def test_a_chain():
    """A temporary that goes into the next operation has the name of the array that it is in."""
    expected = [
        "y = np.add(y, z, out=reuse_either(y, z))",
        "y = np.multiply(x, y, out=reuse(y, x))",
        "y = np.divide(y, x, out=reuse_either(y, x))",
        "return y",
    ]
    assert expected == recycled("a = x * (y + z) / x\nreturn a")


@pytest.mark.parametrize(
    "between", ["y = z * 2", "y, b = q(z)", "for t in z:\n    y = t", "if n:\n    y = z", "del y", "y = b = None"]
)
def test_a_name_that_is_bound_again(between):
    """A temporary keeps its own name if that of its place means something else before it is read."""
    assert ["a = np.multiply(x, y, out=reuse(y, x))"] == recycled(f"a = x * y\n{between}\nreturn a", "x z")[:1]


def test_a_name_that_is_bound_by_what_reads_the_temporary():
    """The statement that reads the temporary may bind the name of its place."""
    expected = ["y = np.multiply(x, y, out=reuse(y, x))", "y = np.add(y, z, out=reuse(y, z))", "return y"]
    assert expected == recycled("a = x * y\ny = a + z\nreturn y", "x z")


def reuses_the_name(a, q):
    x = np.exp(a)
    p = np.sin(x)
    x = -q
    return x @ p


def test_cotangents_of_a_variable_bound_twice():
    """The cotangent that takes the place of a variable's is not lost when the variable's earlier one is made."""
    a, q = np.array([0.9, 0.8]), np.array([1.0, 2.0])
    expected = -2.0 * q * np.cos(np.exp(a)) * np.exp(a), -2.0 * np.sin(np.exp(a))
    for make in (pullback, pullback_reusing):
        np.testing.assert_allclose(make(reuses_the_name, a, q)[1](2.0), expected, rtol=1e-14)


def test_a_temporary_that_is_read_twice():
    """It keeps its own name."""
    expected = ["a = np.multiply(x, y, out=reuse_either(x, y))", "return a, a"]
    assert expected == recycled("a = x * y\nreturn a, a")


def test_loops():
    """What the next iteration reads takes no result; what this one has made does."""
    expected = ["for t in z:", "    b = np.multiply(a, t, out=reuse(t, a))", "return b"]
    assert expected == recycled("for t in z:\n    b = a * t\nreturn b")
    assert "    a = np.multiply(a, t, out=reuse_either(a, t))" in recycled("for t in z:\n    a = a * t\nreturn a")


def test_branches():
    """An operand may take the result in the branch that reads it last."""
    expected = ["if n:", "    a = np.multiply(x, y, out=reuse_either(x, y))", "else:", "    a = x * 2", "    F(x)"]
    assert expected == recycled("if n:\n    a = x * y\nelse:\n    a = x * 2\n    F(x)", keep="a")


def test_accumulation():
    """Cotangents are added into the sum, which is handed over; not into one that is read later, or in the part."""
    assert ["a = add_into((a, (a := None))[0], x)", "return a"] == recycled("a = accumulate(a, x)\nreturn a")
    assert ["b = accumulate(a, x)", "return a, b"] == recycled("b = accumulate(a, x)\nreturn a, b")
    assert ["a = accumulate(a, a)", "return a"] == recycled("a = accumulate(a, a)\nreturn a")
    assert ["a = accumulate(a, x)", "return a"] == recycled("a = accumulate(a, x)\nreturn a", "a")


def test_types_of_the_value():
    """In the forward, an operator on what may be Python's floats stays; a ufunc gives NumPy's in any case."""
    assert ["a = m * m"] == recycled("a = m * m", exact=True, keep="a")
    assert ["a = np.multiply(m, x, out=reuse_either(m, x))"] == recycled("a = m * x", exact=True, keep="a")
    assert ["a = np.multiply(m, m, out=reuse(m, m))"] == recycled("a = m * m", keep="a")


def test_stores():
    """What is stored where others see it is a new array."""
    assert ["a.b = x * y"] == recycled("a.b = x * y")
