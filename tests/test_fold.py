"""`fold` puts temporaries back into expressions where evaluation order allows: the text reads like the user's."""

import numpy as np
import pytest

from adcompiler import ir, show
from adcompiler.fold import fold
from tests.stages import specialisation


def folded(f, *args):
    """The lines of a function after `lower` and `fold`."""
    function = specialisation(f, *args).function
    block = fold(function.body, function.locals)
    return [line[8:] for line in show._text("", block).split("\n")[2:]]


def one_expression(x):
    return np.sum(np.sin(x * 2) + x[1:, None] ** 2)


def user_names_stay(x):
    y = x * x
    z = np.sin(y)
    return z


def calls(x):
    return np.stack([np.exp(x), x * 2], axis=0).sum(axis=-1)


def ternary(x):
    return x * 2 if x > 0 else -x


def booleans(x, y):
    if (x > 0 and y > 0) or not x:
        return x
    return y


def loops(x):
    for i, v in enumerate(zip(x[1:], x * 2, strict=True)):
        x = x + v[0] * i
    return x


def while_test(x):
    while np.sum(x) < 10.0:
        x = x * 2
    return x


def structures(x):
    return {"a": (x, x * 2), "b": [x + 1]}


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (one_expression, ["return np.sum(np.sin(x * 2) + x[1:, None] ** 2)"]),
        (user_names_stay, ["y = x * x", "z = np.sin(y)", "return z"]),
        (calls, ["return np.stack([np.exp(x), x * 2], axis=0).sum(axis=-1)"]),
        (ternary, ["return x * 2 if x > 0 else -x"]),
        (structures, ["return {'a': (x, x * 2), 'b': [x + 1]}"]),
        (while_test, ["while np.sum(x) < 10.0:", "    x = x * 2", "return x"]),
    ],
)
def test_text_is_the_users(f, expected):
    """What `lower` took apart is put together again."""
    assert expected == folded(f, np.ones((3, 3)))


def test_tests_are_expressions_again():
    """`and`, `or` and `not` come back."""
    assert ["if x > 0 and y > 0 or not x:", "    return x", "return y"] == folded(booleans, 1.0, 2.0)


def test_iterables():
    """What a loop runs over is folded into its header."""
    assert "for i, (t3, t4) in enumerate(zip(x[1:], x * 2, strict=True)):" == folded(loops, np.ones(3))[0]


def name(text):
    return ir.Name(text)


def test_used_twice_is_not_folded():
    """A temporary that is read twice stays a name."""
    block = (
        ir.Assign("t1", ir.Op("*", (name("x"), name("x")))),
        ir.Return(ir.Op("+", (name("t1"), name("t1")))),
    )
    assert 2 == len(fold(block, frozenset({"x"})))


def test_order_of_evaluation_is_kept():
    """A temporary does not move across a statement that stays, since both may have effects."""
    block = (
        ir.Assign("t1", ir.Call(name("f"))),
        ir.Assign("kept", ir.Call(name("g"))),
        ir.Return(ir.Seq("tuple", (name("t1"), name("kept")))),
    )
    assert [ir.Assign, ir.Assign, ir.Return] == [type(s) for s in fold(block, frozenset({"kept"}))]


def test_order_inside_an_expression_is_kept():
    """Of two temporaries read in the other order than they were made only the last is folded."""
    block = (
        ir.Assign("t1", ir.Call(name("f"))),
        ir.Assign("t2", ir.Call(name("g"))),
        ir.Return(ir.Seq("tuple", (name("t2"), name("t1")))),
    )
    result = fold(block, frozenset())
    texts = [show.expression(s.value) for s in result]
    assert "f()" in texts[0]
    assert all(not ("g()" in text and "f()" in text) for text in texts)


def test_a_temporary_is_not_moved_into_a_loop():
    """A value made once is not made in every iteration."""
    loop = ir.For("i", ir.Call(ir.Global("range"), (ir.Const(3),)), (ir.Do(name("t1")),), ())
    block = (ir.Assign("t1", ir.Call(name("f"))), loop)
    assert 2 == len(fold(block, frozenset()))
