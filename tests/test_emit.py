"""`emit` prints what the IR means: literals, operators, every statement, and the user's own nodes as they are."""

import ast
import math
import textwrap

import gast
import pytest

from adcompiler import ir
from adcompiler.emit import Emitter, to_source


def emitter():
    return Emitter(lambda static: static.spelling)


def text_of(stmt):
    """The text of one statement."""
    e = emitter()
    return e.printed(e.stmt(stmt)).strip()


def value_of(expr):
    """The text of one expression."""
    return text_of(ir.Do(expr))


x, y, z = ir.Name("x"), ir.Name("y"), ir.Name("z")


def op(text, *args):
    return ir.Op(text, args)


@pytest.mark.parametrize(
    "value",
    [
        *(0, -3, 2.5, -0.0, 1e300, 1e-300, math.inf, -math.inf),
        *(2j, complex(-0.0, -1.0), complex(1.0, -0.0)),
        *(True, None, ..., "a'b\n", b"\x00"),
        *((), (1,), (-1, (2.0, "a"))),
    ],
)
def test_literals_evaluate_to_themselves(value):
    """The text of a literal evaluates to a value of the same type with the same bits."""
    back = eval(value_of(ir.Const(value)))
    assert (type(value), repr(value)) == (type(back), repr(back))


def test_nan():
    """nan has no literal of its own."""
    assert math.isnan(eval(value_of(ir.Const(math.nan))))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (op("*", op("+", x, y), z), "(x + y) * z"),
        (op("+", x, op("*", y, z)), "x + y * z"),
        (op("-", x, op("-", y, z)), "x - (y - z)"),
        (op("**", op("-", x), ir.Const(2)), "(-x) ** 2"),
        (op("-", op("**", x, ir.Const(2))), "-x ** 2"),
        (op("**", ir.Const(-2), x), "(-2) ** x"),
        (op("**", x, op("**", y, z)), "x ** y ** z"),
        (op("@", op("@", x, y), z), "x @ y @ z"),
        (op("@", x, op("*", y, z)), "x @ (y * z)"),
        (op("/", x, op("/", y, z)), "x / (y / z)"),
        (op("not", op("<", x, y)), "not x < y"),
        (op("is not", x, ir.Const(None)), "x is not None"),
        (op("<", op("<", x, y), z), "(x < y) < z"),
        (ir.BoolOp("and", (ir.BoolOp("or", (x, y)), z)), "(x or y) and z"),
        (ir.IfExp(x, y, z), "y if x else z"),
        (op("+", ir.IfExp(x, y, z), x), "(y if x else z) + x"),
        (ir.Attr(op("+", x, y), "T"), "(x + y).T"),
        (ir.Attr(ir.Const(1), "real"), "(1).real"),
        (ir.Call(ir.Attr(x, "sum"), (y,), (("axis", z), (None, y))), "x.sum(y, axis=z, **y)"),
        (ir.Call(x, (ir.Star(y), z)), "x(*y, z)"),
        (ir.Item(x, ir.Seq("tuple", (ir.Slice(y, None, None), ir.Const(...)))), "x[y:, ...]"),
        (ir.Item(x, ir.Slice(None, None, ir.Const(-1))), "x[::-1]"),
        (ir.Item(x, ir.Seq("tuple", ())), "x[()]"),
        (ir.Call(x, (ir.Slice(y, None, z),)), "x(slice(y, None, z))"),
        (ir.Seq("tuple", (x,)), "x,"),
        (ir.Seq("list", (x, ir.Star(y))), "[x, *y]"),
        (ir.Seq("set", (x, y)), "{x, y}"),
        (ir.DictOf(((ir.Const("a"), x), (None, y))), "{'a': x, **y}"),
    ],
)
def test_expressions(expr, expected):
    """Expressions with the parentheses they need."""
    text = value_of(expr)
    assert ast.dump(ast.parse(expected)) == ast.dump(ast.parse(text))


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        (ir.Assign("x", y), "x = y"),
        (ir.Assign("x", op("+", x, y), augmented=True), "x += y"),
        (ir.Unpack(ir.Targets(("x", ir.Targets(("y", "z"), 1)), None), x), "x, (y, *z) = x"),
        (ir.Store(ir.Item(x, y), z), "x[y] = z"),
        (ir.Store(ir.Attr(x, "a"), z, "*"), "x.a *= z"),
        (ir.Delete(("x", "y")), "del x, y"),
        (ir.Clear(("x", "y")), "x = y = None"),
        (ir.If(x, (ir.Return(y),), ()), "if x:\n    return y"),
        (ir.If(x, (), (ir.Return(y),)), "if not x:\n    return y"),
        (ir.If(x, (), ()), "if x:\n    pass"),
        (ir.For("i", x, (ir.Break(),), (ir.Do(y),)), "for i in x:\n    break\nelse:\n    y"),
        (ir.While((), x, (ir.Continue(),), ()), "while x:\n    continue"),
    ],
)
def test_statements(stmt, expected):
    """Statements as Python writes them."""
    assert ast.dump(ast.parse(expected)) == ast.dump(ast.parse(text_of(stmt)))


SOURCES = [
    "match x:\n    case {'a': [1, *rest], **more} if rest:\n        y = 1\n    case Point(x=0) | None:\n        pass",
    "try:\n    f()\nexcept* (ValueError, TypeError) as e:\n    pass",
    "try:\n    f()\nexcept ValueError as e:\n    raise TypeError('a') from e\nelse:\n    g()\nfinally:\n    h()",
    "x = f'{a!r:>{width}} {{literal}} {b:.3f} {c[\"k\"]}'",
    "x = 'a' f'{b}' 'c'",
    "with open(a) as b, c:\n    pass",
    "async def f():\n    async with a as b:\n        await c",
    "def f(a, /, b: int = 1, *args, c=2, **kw) -> str:\n    global g\n    return lambda *x, y=1: (yield)",
    "x = [a for b in c if d for e in f]",
    "x = {a: b for a, b in c.items()}",
    "x = (yield)",
    "x[1:2, ::3, ...] = y[-1]",
    "a, *b = c, *d",
    "print(*a, **b, sep='')",
    "x = a if b else (c, d)",
    "x = not a == b",
    "x = -(-1)",
    "x = (-1) ** 2",
    "x = -1 ** 2",
    "x = 1e400 - 1e400j",
    "del x[0], y.z",
    "assert a, b",
    "x: int = 1",
    "x = (y := 2) + 1",
    "class A(B, metaclass=C):\n    x = 1",
    "x = '''several\nlines \\\\ and \"quotes\"'''",
    "x = b'\\x00\\xff'",
    "x = a @ b // c % d << e",
    "import a.b as c, d\nfrom ..e import f as g",
    "raise",
    "nonlocal_ = lambda: 0",
    "x = a[b, ]",
    "x = a[(yield)]",
]


@pytest.mark.parametrize("source", SOURCES)
def test_any_python_is_printed_faithfully(source):
    """Whatever the user wrote means the same after printing, astor's gaps included."""
    inside = "def around():\n" + textwrap.indent(source, "    ")
    tree = ast.parse(inside)
    printed = to_source(gast.ast_to_gast(ast.parse(inside)))
    assert ast.dump(ast.parse(printed)) == ast.dump(tree)


def test_comments_name_the_users_lines():
    """Each new line of the user's is announced once, with its text."""
    from adcompiler.errors import Origin

    def at(line, text):
        return Origin("f.py", line, text, 0, 1)

    e = emitter()
    block = (
        ir.Assign("x", y, at(3, "x = y")),
        ir.Assign("y", x, at(3, "x = y")),
        ir.Return(x, at(4, "return x  # __comment_0__")),
    )
    expected = "def f(y):\n    # 3  x = y\n    x = y\n    y = x\n    # 4  return x  # __comment_0__\n    return x"
    assert expected == e.printed([e.function("f", ("y",), e.body(block))]).strip()


def test_a_while_with_a_head_evaluates_it_every_time():
    """What cannot be folded into the test stands at the top of the body, and `else` runs when the test fails."""
    loop = ir.While((ir.Assign("t", op("+", x, y)),), ir.Name("t"), (ir.Break(),), (ir.Assign("z", x),))
    scope = {"x": 1, "y": -1, "z": None}
    exec(text_of(loop), scope)
    assert 1 == scope["z"]
