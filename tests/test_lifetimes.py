"""`lifetimes` finds the names that are read later, backward over every form of control flow."""

import pytest

from adcompiler import ir
from adcompiler.lifetimes import lifetimes, reads_of
from tests.blocks import block, names, text

FOR = """
    for t in z:
        b = t * x
        a = a + b
"""
FOR_ELSE = """
    for t in z:
        if t:
            c = b
            break
        b = t
    else:
        c = y
"""
CONTINUE = """
    for t in z:
        a = x
        if t:
            b = t
            continue
        F(a)
"""
NESTED = """
    for t in z:
        for r in t:
            a = a + r * x
        x = y
"""
TRY = """
    try:
        a = x
        c = a
    except E as e:
        c = b + y
"""
FINALLY = """
    try:
        a = x
    except E:
        a = y
    else:
        a = a * b
    finally:
        F(c)
    return a
"""
LOOP_IN_TRY = """
    try:
        for t in z:
            if t:
                break
            a = t
    except E:
        F(c)
"""


def after(source, at_end=""):
    """The first line of each statement that has one behind it, and the names that are read after it."""
    statements = block(source)
    found = lifetimes(statements, names(at_end)).after
    going_on = [s for s in ir.statements(statements) if not isinstance(s, ir.Return | ir.Break | ir.Continue)]
    return [(text((s,)).split("\n")[0], " ".join(sorted(found[id(s)]))) for s in going_on]


def entered(source, place):
    """The names that are read from the start of a block of the first statement on."""
    statements = block(source)
    return " ".join(sorted(lifetimes(statements).enters[id(statements[0]), place]))


def test_straight_line():
    """A name lives from where it is bound to its last read."""
    assert [("a = x * y", "a x"), ("b = a + x", "b")] == after("""
        a = x * y
        b = a + x
        return b
    """)


def test_rebinding_ends_what_the_name_had():
    """Between its last read and the next binding a name is not live."""
    assert [("a = x", "a x"), ("b = a", "b x"), ("a = x", "a b")] == after("""
        a = x
        b = a
        a = x
        return a + b
    """)


def test_reads_in_a_binding_of_the_same_name():
    """`a = a * 2` reads what `a` was."""
    assert [("a = x", "a"), ("a = a * 2", "a")] == after("a = x\na = a * 2\nreturn a")


def test_augmented_assignment_reads_its_target():
    """`a += x` reads `a`, whatever its value is written as."""
    assert [("a = y", "a x"), ("a += x", "a")] == after("a = y\na += x\nreturn a")


def test_unpacking_deletion_and_none():
    """Each of them ends what its names had."""
    assert [("a, (b, c) = x", "a")] == after("a, (b, c) = x\nreturn a")
    assert [("a = x", "x"), ("del a", "x"), ("a = x", "a")] == after("a = x\ndel a\na = x", "a")
    assert [("a = b = None", "a b")] == after("a = b = None", "a b")


def test_stores_read_what_they_write_into():
    """An item or attribute that is set does not end the name it is in."""
    assert [("a.b[n] = x", "a")] == after("a.b[n] = x\nreturn a")


def test_what_is_read_at_the_end():
    """Names that are read after the block live to its end."""
    assert [("a = x", "a"), ("b = a", "a b")] == after("a = x\nb = a", "a b")


def test_branches():
    """Before an `if` lives what one of its branches reads; after it, what follows."""
    source = """
        if n:
            a = x
        else:
            a = y
        return a
    """
    assert [("if n:", "a"), ("a = x", "a"), ("a = y", "a")] == after(source)
    assert ("x", "y") == (entered(source, 0), entered(source, 1))


def test_a_branch_that_binds_and_one_that_does_not():
    """The branch without text passes on what was there."""
    source = "if n:\n    a = x\nreturn a"
    assert ("x", "a") == (entered(source, 0), entered(source, 1))


def test_a_branch_that_leaves():
    """What follows the `if` is not read after a `return`."""
    source = "if n:\n    return x\nreturn y"
    assert [("if n:", "y")] == after(source)
    assert ("x", "y") == (entered(source, 0), entered(source, 1))


def test_for_loops_read_again():
    """What the next iteration reads is live at the end of this one; the target is not."""
    assert [("for t in z:", "a"), ("b = t * x", "a b x"), ("a = a + b", "a x")] == after(FOR, "a")


def test_a_loop_may_run_not_at_all():
    """Before a loop lives what follows it."""
    source = "for t in z:\n    a = t\nreturn a"
    assert "a" == entered(source, 1)
    statements = block("a = y\n" + source)
    assert names("a z") == lifetimes(statements).after[id(statements[0])]


def test_else_of_a_loop():
    """What `else` reads lives through the loop, but not after a `break`."""
    found = dict(after(FOR_ELSE, "c"))
    assert ("t y", "b y") == (found["if t:"], found["b = t"])
    assert ("c", "c") == (found["c = b"], found["c = y"])


def test_continue():
    """After `continue` lives what the next iteration reads, and not the rest of this one."""
    assert [("if t:", "a x"), ("b = t", "x"), ("F(a)", "x")] == after(CONTINUE)[2:]


def test_while_with_a_head():
    """The head runs before each test: what it reads is live at the end of the body."""
    source = """
        while (F(a), n > s)[1]:
            a = x
        else:
            b = y
    """
    assert [("F(a)", "n s x y"), ("a = x", "a n s x y"), ("b = y", "b")] == after(source, "b")[1:]


def test_while_without_a_head():
    """The test is read before each iteration."""
    assert [("while n > s:", ""), ("n = n - m", "m n s")] == after("while n > s:\n    n = n - m")


def test_nested_loops():
    """What an outer iteration reads lives through the inner loop."""
    assert [("for r in t:", "a y"), ("a = a + r * x", "a x y"), ("x = y", "a x y")] == after(NESTED, "a")[1:]


def test_with():
    """The target of a `with` is bound before the body, which an exception may leave."""
    assert [("with C(x) as t:", "a"), ("a = t", "a")] == after("with C(x) as t:\n    a = t", "a")
    statements = block("a = y\nwith C(x) as t:\n    a = t")
    assert names("a x") == lifetimes(statements, names("a")).after[id(statements[0])]


def test_try_and_except():
    """All through a `try` lives what a handler or what follows reads; in the handler what it reads from there on."""
    assert [("try:", "c"), ("a = x", "a b c y"), ("c = a", "b c y"), ("c = b + y", "c")] == after(TRY, "c")


def test_the_name_of_an_exception():
    """A handler binds the exception: it is not live before."""
    statements = block("try:\n    a = F(x)\nexcept E as e:\n    a = e")
    assert "e" not in lifetimes(statements, names("a")).enters[id(statements[0]), 0]


def test_else_and_finally():
    """All parts of a `try` live with what `finally` reads; `else` follows the body only."""
    found = dict(after(FINALLY))
    assert "a b c y" == found["a = x"]
    assert ("a c", "a c", "a") == (found["a = y"], found["a = a * b"], found["F(c)"])


def test_finally_after_a_return():
    """A `return` inside a `try` runs `finally`."""
    found = dict(after("try:\n    a = x\n    return a\nfinally:\n    F(c)"))
    assert "a c" == found["a = x"]


def test_loops_in_a_try():
    """What a handler reads lives through a loop in the `try`, and behind its `break`."""
    assert [("for t in z:", "c"), ("if t:", "c t"), ("a = t", "c")] == after(LOOP_IN_TRY)[1:4]


def test_nested_functions():
    """A nested function reads what it captures where it is made, and binds its name."""
    statements = block("def f():\n    return a + b\nreturn f")
    assert (names("a b"), names("f")) == (reads_of(statements[0]), lifetimes(statements).after[id(statements[0])])


@pytest.mark.parametrize("leave", ["return y", "stop()"])
def test_nothing_follows_what_leaves(leave):
    """Before a `return` or a `raise` lives only what itself reads."""
    statements = block(f"a = x\n{leave}\nb = a")
    assert names("y" if leave == "return y" else "") == lifetimes(statements).after[id(statements[0])]
