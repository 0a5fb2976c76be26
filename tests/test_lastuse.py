"""`lastuse` lets go of each value at its last use, and gives calls the only reference."""

import pytest

from adcompiler import ir
from adcompiler.lastuse import is_long, let_go, let_go_in_forward, taken_in
from tests.blocks import block, kinds, lines, names


def dropped(text, last=None):
    """The lines of a backward that lets go."""
    statements = block(text)
    return lines(let_go(statements, kinds(statements), last or (lambda name, later: ())))


def dropped_in_forward(text, keep=""):
    """The lines of a forward that lets go."""
    statements = block(text)
    return lines(let_go_in_forward(statements, kinds(statements), names(keep)))


def test_straight_line():
    """A name is deleted behind the statement that reads it last, but for the last statement before `return`."""
    assert ["a = x * y", "del y", "b = a + x", "return b"] == dropped("a = x * y\nb = a + x\nreturn b")


def test_what_nobody_reads():
    """A value that is made and not read goes at once."""
    assert ["a = x * 2", "del a", "b = x * 3", "return b"] == dropped("a = x * 2\nb = x * 3\nreturn b")


def test_numbers_stay():
    """Numbers, shapes and texts are not worth a statement."""
    expected = ["n = x.size", "a = x * n", "del x", "b = a * s", "del a", "c = b * 2", "return c"]
    assert expected == dropped("n = x.size\na = x * n\nb = a * s\nc = b * 2\nreturn c")


def test_rebinding():
    """`a = a * x` lets go of what `a` was by itself."""
    assert ["a = a * x", "del x", "a = a * 2", "return a"] == dropped("a = a * x\na = a * 2\nreturn a")


def test_branches():
    """What only one branch reads is None in the other."""
    expected = ["if n:", "    y = None", "    a = x", "    del x", "else:", "    x = None", "    a = y", "    del y"]
    assert expected == dropped("if n:\n    a = x\nelse:\n    a = y\nb = a * 2\nc = b * s\nreturn c")[:8]


def test_a_branch_without_text():
    """What it would end is None behind the `if`."""
    expected = ["if n:", "    a = x * 2", "    del x", "x = None"]
    assert expected == dropped("if n:\n    a = x * 2\nb = a * a\nc = b * s\nreturn c")[:4]


def test_a_branch_that_tests_for_none():
    """Where `x is not None` fails there is nothing to let go of."""
    expected = ["if x is not None:", "    a = x * 2", "    del x"]
    assert expected == dropped("if x is not None:\n    a = x * 2\nb = a * a\nc = b * s\nreturn c")[:3]
    assert "x = None" not in dropped("if x is not None:\n    a = x * 2\nb = a * a\nc = b * s\nreturn c")


def test_loops():
    """What the loop reads in each iteration ends behind it; what an iteration makes, in it."""
    expected = ["for t in z:", "    a = t * y", "    del t", "    b = accumulate(b, a)", "    del a"]
    found = dropped("for t in z:\n    a = t * y\n    b = accumulate(b, a)\nc = b * s\nd = c * s\nreturn d")
    assert (expected, ["t", "y", "None"]) == (found[:5], found[5].split(" = "))


def test_what_the_next_iteration_reads_stays():
    """A value of this iteration that the next one reads is kept."""
    found = dropped("for t in z:\n    b = a * c\n    a = b * t\n    c = b\nreturn a")
    assert ["    b = a * c", "    del a, c", "    a = b * t", "    del t", "    c = b", "    del b"] == found[1:7]


def test_what_a_loop_pops():
    """A record of a loop is a value of its iteration."""
    found = dropped("while z:\n    t = z.pop()\n    a = a * t\nreturn a")
    assert ["while z:", "    t = z.pop()", "    a = a * t", "    del t"] == found[:4]


def test_calls_get_the_only_reference():
    """The call of another pullback is handed over what nothing reads later, if it stands there once."""
    assert "b = q((a, (a := None))[0], y)" in dropped("a = x * 2\nb = q(a, y)\nc = q(b, y)\nreturn c")
    assert "b = q(a, a)" in dropped("a = x * 2\nb = q(a, a)\nreturn b")
    assert "a, b = q.backward((x, (x := None))[0])" in dropped("a, b = q.backward(x)\nc = a * b\nreturn c")


def test_the_last_call_gets_the_only_reference():
    """The statement before `return` too, since the call may take long."""
    assert ["b = q((x, (x := None))[0])"] == dropped("b = q(x)\nreturn b")[:1]


def test_what_is_done_before():
    """`last` is asked for each value, with the names that are read later; what it gives comes before the `del`."""
    asked = []

    def last(name, later):
        asked.append((name, " ".join(sorted(later))))
        return (ir.Do(ir.Call(ir.Global("FREE"), (ir.Name(name),))),)

    expected = ["a = x * y", "FREE(x)", "FREE(y)", "del x, y", "b = a * s", "FREE(a)", "del a", "c = b * s", "return c"]
    assert expected == dropped("a = x * y\nb = a * s\nc = b * s\nreturn c", last)
    assert [("x", "a s y"), ("y", "a s"), ("a", "b s")] == asked


def test_what_a_try_reads_in_its_handler():
    """A value that a handler reads lives to the end of the `try`."""
    found = dropped("try:\n    a = x * y\n    b = a * 2\nexcept E:\n    b = x\nc = b * b\nreturn c")
    assert ["try:", "    a = x * y", "    del y", "    b = a * 2", "    del a"] == found[:5]


def test_forward():
    """The forward deletes what it has made and does not keep, and hands nothing over."""
    expected = ["a = x * y", "b = q(a)", "del a", "c = b * 2", "return c, b"]
    assert expected == dropped_in_forward("a = x * y\nb = q(a)\nc = b * 2\nreturn c, b", "b q x y")


def test_forward_keeps():
    """Names to keep stay."""
    expected = ["a = x * y", "b = a * 2", "c = b * 2", "return c"]
    assert expected == dropped_in_forward("a = x * y\nb = a * 2\nc = b * 2\nreturn c", "a b x y")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = q(x)", True),
        ("a = q.backward(x)", True),
        ("a = np.exp(x)", False),
        ("a = q.sum(x)", False),
        ("a = x", False),
    ],
)
def test_long_calls(text, expected):
    """Those of pullbacks that are values or methods of records."""
    assert expected == is_long(block(text)[0].value)


def test_names_that_are_handed_over():
    """The arguments of calls that become None."""
    statements = block("a = q(x)\nb = q(a, y)\nreturn b, y")
    assert names("a x") == taken_in(let_go(statements, kinds(statements), lambda name, later: ()))
