"""One program for each row of docs/SYNTAX.md: what is said there to be differentiated, and what to be refused.

A program is registered under the first cell of its row. Those that are refused say which word the advice holds, and
mark the line that is shown. What only newer versions of Python can read is text.
"""

import contextlib
import dataclasses
import linecache
import sys
import textwrap

import numpy as np

from adcompiler.errors import UnsupportedSyntaxError

A = np.array([1.5, 0.5, 2.0])
PROGRAMS = {}


@dataclasses.dataclass(frozen=True)
class Program:
    """A function and its arguments; `advice` and `kind` if it is refused."""

    function: object
    args: tuple
    advice: str = ""
    kind: type = UnsupportedSyntaxError


def yes(label, *args):
    """The function below is differentiated."""

    def register(function):
        assert label not in PROGRAMS, label
        PROGRAMS[label] = Program(function, args or (A,))
        return function

    return register


def refused(label, advice, *args, kind=UnsupportedSyntaxError):
    """The function below is refused at its marked line; the message ends with a line that holds `advice`."""

    def register(function):
        assert label not in PROGRAMS, label
        PROGRAMS[label] = Program(function, args or (A,), advice, kind)
        return function

    return register


def since(version, label, text, *args):
    """A program that only Python `version` and later can read; it is called f."""
    if sys.version_info >= version:
        text, name, scope = textwrap.dedent(text), f"<{label}>", {"np": np}
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), scope)
        yes(label, *args)(scope["f"])


@dataclasses.dataclass
class Point:
    x: float
    y: float


@contextlib.contextmanager
def doubled(value):
    yield value * 2.0


@contextlib.contextmanager
def nothing():
    yield


# --- statements -------------------------------------------------------------------------------------------


@yes("`FunctionDef`")
def function_definition(x):
    def inner(y, k=2.0):
        return x * y * k

    return inner(x[0])


@refused("`FunctionDef` with a decorator, nested", "module level")
def decorated_definition(x):
    @staticmethod
    def inner(y):  # refused
        return y * 2.0

    return inner(x)


@yes("`FunctionDef` of a generator")
def generator_definition(x):
    return sum(items(x))


def items(x):
    yield x[0]
    yield x[1]


@refused("`AsyncFunctionDef`", "list or an array")
async def coroutine(x):  # refused
    return x * 2.0


@yes("`ClassDef`")
def class_definition(x):
    class Scale:
        factor = 3.0

    return x * Scale.factor


@refused("`ClassDef` around differentiated values", "out of the differentiated function")
def active_class_definition(x):
    class Scale:  # refused
        factor = x[0]

    return x * Scale.factor


@yes("`Return`")
def returns(x):
    if x[0] > 1.0:
        return x * 2.0
    return x


@yes("`Delete`")
def delete(x):
    y = x * 2.0
    z = y * x
    del y
    return z


@yes("`Delete` of an item")
def delete_item(x):
    d = {"a": x, "b": x * 2.0}
    del d["b"]
    return d["a"] * len(d)


@yes("`Assign`")
def assign(x):
    (a, *b), c = (x * 2.0, 1.0, 2.0), x
    p = q = a * c
    return p * q + b[0]


since((3, 12), "`TypeAlias`", "def f(x):\n    type Number = float\n    y: Number = x * 2.0\n    return y * x\n", A)


@yes("`AugAssign`")
def augmented(x):
    y = x * 2.0
    y *= x
    y -= 1.0
    y **= 2
    return y


@yes("`AnnAssign`")
def annotated(x):
    y: np.ndarray = x * 2.0
    z: float
    z = 3.0
    return y * z


@yes("`For`")
def for_loop(x):
    total = 0.0
    for i, v in enumerate(x):
        if i == 2:
            continue
        total = total + v * i
    else:
        total = total * 2.0
    return total


@refused("`AsyncFor`", "list or an array")
async def async_for(x):  # refused
    async for v in x:
        x = x + v
    return x


@yes("`While`")
def while_loop(x):
    while np.sum(x) < 20.0:
        x = x * 1.5
    return x


@yes("`If`")
def if_statement(x):
    if x[0] > x[1]:
        y = x * 2.0
    elif x[0] > 10.0:
        y = x
    else:
        y = x * 3.0
    return y


@yes("`With`")
def with_statement(x):
    with np.errstate(all="ignore"), nothing():
        y = x * 2.0
    return y * x


@refused("`AsyncWith`", "list or an array")
async def async_with(x):  # refused
    async with x:
        return x


@yes("`Match`", A, "double")
def match_statement(x, how):
    match how:
        case "double":
            return x * 2.0
        case _:
            return x


@yes("`Raise`")
def raise_statement(x):
    if x[0] < 0.0:
        raise ValueError("negative")
    return x * 2.0


@yes("`Try`")
def try_statement(x):
    try:
        y = x * 2.0
        y = y[7]
    except IndexError:
        y = x * 3.0
    else:
        y = x
    finally:
        z = y * x
    return z


@refused("`TryStar`", "if")
def try_star(x):
    try:  # refused
        y = x * 2.0
    except* ValueError:
        y = x
    return y


@yes("`Assert`")
def assertion(x):
    assert np.sum(x) > 0.0, "positive"
    return x * 2.0


@yes("`Import`")
def import_statement(x):
    import math

    return math.sin(x[0]) * x


@yes("`ImportFrom`")
def import_from(x):
    from math import cos as cosine

    return cosine(x[0]) * x


SCALE = 3.0
written = None


@yes("`Global`")
def global_statement(x):
    global SCALE
    return x * SCALE


@refused("`Global` that is assigned a differentiated value", ".")
def global_assigned(x):
    global written
    written = x * 2.0  # refused
    return x * 3.0


@yes("`Nonlocal`")
def nonlocal_statement(x):
    total = x * 2.0

    def add(y):
        nonlocal total
        total = total + y * x

    add(x)
    add(3.0)
    return total


@yes("`Expr`")
def expression_statement(x):
    """Also a docstring."""
    len(x)
    f"{x}"
    return x * 2.0


@yes("`Pass`")
def pass_statement(x):
    if x[0] > 0.0:
        pass
    return x * 2.0


@yes("`Break`")
def break_statement(x):
    for v in x:
        if v < 1.0:
            break
        x = x * v
    return x


@yes("`Continue`")
def continue_statement(x):
    for v in x:
        if v < 1.0:
            continue
        x = x * v
    return x


# --- expressions ------------------------------------------------------------------------------------------


@yes("`BoolOp`")
def bool_op(x):
    y = x[0] and x[1] * 2.0
    return (y or x[2]) * x


@yes("`NamedExpr`")
def named_expression(x):
    return (y := x * 2.0) * y + (z := y[0]) * z


@yes("`BinOp`")
def binary(x):
    return (x + 2.0) * x - x / (x + 1.0)


@yes("`UnaryOp`")
def unary(x):
    return -x * +x


@yes("`Lambda`")
def lambda_expression(x):
    g = lambda y, k=2.0: x * y * k
    return g(x[0])


@yes("`IfExp`")
def conditional(x):
    return x * 2.0 if x[0] > 1.0 else x


@yes("`Dict`")
def dict_display(x):
    d = {"a": x, "b": x * 2.0}
    return d["a"] * d["b"]


@yes("`Dict` with `**`")
def dict_with_stars(x):
    more = {"b": x * 2.0}
    d = {"a": x, **more}
    return d["a"] * d["b"]


@yes("`Set`")
def set_display(x):
    return x * 2.0 if 3 in {1, 2, 3} else x


@refused("`Set` of differentiated values", ".")
def active_set(x):
    return sum({x[0], x[1]})  # refused


@yes("`ListComp`")
def list_comprehension(x):
    return sum([v * x[i] for i, v in enumerate(x) if i != 1])


@yes("`SetComp`")
def set_comprehension(x):
    return x * len({i % 2 for i in range(3)})


@refused("`SetComp` of differentiated values", ".")
def active_set_comprehension(x):
    return sum({v * 2.0 for v in x})  # refused


@yes("`DictComp`")
def dict_comprehension(x):
    d = {i: v * 2.0 for i, v in enumerate(x)}
    return d[0] * d[2]


@yes("`GeneratorExp`")
def generator_expression(x):
    return sum(v * v for v in x)


@refused("`Await`", "list or an array")
async def await_expression(x):  # refused
    return await x


@yes("`Yield`")
def yield_expression(x):
    def gen():
        yield x * 2.0

    return next(gen())


@yes("`YieldFrom`")
def yield_from(x):
    def gen():
        yield from x

    return sum(gen())


@refused("`YieldFrom` whose value is used", "what the other generator would return")
def value_of_yield_from(x):
    def gen():
        last = yield from x  # refused
        yield last

    return sum(gen())


@yes("`Compare`")
def comparison(x):
    return x * (0.0 < x[0] < 2.0 < 3.0)


@yes("`Call`")
def call(x):
    def g(a, /, b, *rest, c=1.0, **more):
        return a * b + rest[0] * c + more["d"]

    return g(x, 2.0, *(x, 1.0), c=3.0, **{"d": x})


@yes("`FormattedValue`")
def formatted(x):
    text = f"{x[0]:.{1 + 2}f}{len(x)!r}"
    return x * len(text)


@yes("`JoinedStr`")
def joined(x):
    return x * len(f"a {len(x)} b")


@refused("`JoinedStr` that becomes a number again", "the value itself")
def number_from_text(x):
    text = f"{x[0]:.3f}"
    return float(text) * x[0]  # refused


@yes("`Constant`")
def constant(x):
    return x * 2.0 + 1 - (True + len("abc") + (0 if None is ... else 1))


@yes("`Attribute`", A, Point(2.0, 3.0))
def attribute(x, p):
    return x.T * p.x * p.y


@yes("`Attribute`, stored", A)
def attribute_stored(x):
    p = Point(0.0, 1.0)
    p.x = x * 2.0
    p.x = p.x * p.x
    return p.x * p.y


@yes("`Subscript`")
def subscript(x):
    return x[0] * x[1:] + x[[0, 2]] * x[..., -1]


@yes("`Subscript` of a list or dict, stored")
def subscript_stored(x):
    p = [0.0, x[1]]
    d = {}
    p[0] = x[0] * 2.0
    d["a"] = p[0] * p[1]
    d["a"] *= x[2]
    return d["a"]


@yes("`Subscript` of an array, stored")
def array_stored(x):
    y = np.zeros((2, 3))
    v = y[1]
    y[1] = x * x
    v[[0, 2]] = x[1:] * v[1]
    y[0, ::2] = x[0]
    y[y > 1.0] *= x[2]
    return y


@yes("`Starred`")
def starred(x):
    first, *rest = x
    return first * rest[0] + np.hypot(*(x, 2.0))


@yes("`Starred` in a display")
def starred_display(x):
    items = [*x, 1.0]
    return items[0] * items[1]


@yes("`Name`")
def name(x):
    return x * SCALE


@yes("`List`")
def list_display(x):
    return np.stack([x, x * 2.0]) * x


@yes("`Tuple`")
def tuple_display(x):
    pair = x, x * 2.0
    return pair[0] * pair[1], pair


@yes("`Slice`")
def slices(x):
    return x[1:] * x[:-1] + x[::2]


# --- what stands inside expressions -----------------------------------------------------------------------


@yes("`Load`")
def load(x):
    return x


@yes("`Store`")
def store(x):
    y = x * 2.0
    return y


@yes("`Del`")
def del_context(x):
    y = x * 2.0
    del x
    return y


BINARY = {
    "`And`": "x * (x[0] and 2.0)",
    "`Or`": "x * (x[0] or 2.0)",
    "`Add`": "x + x[0]",
    "`Sub`": "2.0 - x",
    "`Mult`": "x * x",
    "`MatMult`": "x @ x",
    "`Div`": "1.0 / x",
    "`Mod`": "x % 0.7",
    "`Pow`": "x ** 3 + 2.0 ** x",
    "`FloorDiv`": "x * (len(x) // 2) + x // 0.7",
    "`LShift`": "x * (1 << 3)",
    "`RShift`": "x * (len(x) >> 1)",
    "`BitOr`": "x * ((x > 1.0) | (x < 0.7))",
    "`BitXor`": "x * (len(x) ^ 1)",
    "`BitAnd`": "x * ((x > 0.7) & (x < 1.9))",
    "`Invert`": "x * ~(x > 1.0)",
    "`Not`": "x * (not x[0] > 1.0) + x",
    "`UAdd`": "+x * x",
    "`USub`": "-x * x",
    "`Eq`": "x * (x == x[0])",
    "`NotEq`": "x * (x != x[0])",
    "`Lt`": "x * (x < 1.0)",
    "`LtE`": "x * (x <= 1.0)",
    "`Gt`": "x * (x > 1.0)",
    "`GtE`": "x * (x >= 1.0)",
    "`Is`": "x * (x is None) + x",
    "`IsNot`": "x * (x is not None)",
    "`In`": "x * (1 in (1, 2))",
    "`NotIn`": "x * (1 not in (1, 2)) + x",
}
for label, expression in BINARY.items():
    since((3, 11), label, f"def f(x):\n    return {expression}\n", A)


@yes("`comprehension`")
def comprehension(x):
    return sum([v * x[j] for v in x if v > 1.0 for j in range(2) if j < 1])


@yes("`ExceptHandler`")
def except_handler(x):
    try:
        return x[9]
    except (IndexError, KeyError) as error:
        return x * len(error.args)


@yes("`arguments`")
def arguments(x):
    def g(a, /, b, c=2.0, *rest, d, e=3.0, **more):
        return a * b * c * d * e + len(rest) + len(more)

    return g(x, x, d=3.0) + g(x, x, x, x, d=1.0, f=x)


@refused("`arguments` of a nested function with a computed default", "Use the variable in the function")
def computed_default(x):
    def g(a, b=x[0]):  # refused
        return a * b

    return g(x)


@yes("`arg`")
def arg(x):
    def g(a: "np.ndarray", b: float = 2.0) -> None:
        return a * b

    return g(x)


@yes("`keyword`")
def keyword(x):
    return np.sum(x * 2.0, axis=0, keepdims=False) * product(b=x, **{"a": 2.0})


def product(a, b):
    return a * b


@yes("`alias`")
def alias(x):
    import math as m

    return m.exp(x[0]) * x


@yes("`withitem`")
def with_item(x):
    with doubled(3.0) as k, nothing():
        y = x * k
    return y


@refused("`withitem` that gives a differentiated value", ".")
def active_with_item(x):
    with doubled(x) as y:  # refused
        return y * x


# --- patterns ---------------------------------------------------------------------------------------------


@yes("`match_case`")
def match_case(x):
    match x.ndim:
        case 1 if x[0] > 1.0:
            return x * 2.0
        case 1:
            return x
    return x * 3.0


@yes("`MatchValue`", A, 2)
def match_value(x, n):
    match n:
        case 1:
            return x
        case 2:
            return x * 2.0


@yes("`MatchSingleton`", A, None)
def match_singleton(x, flag):
    match flag:
        case True:
            return x
        case None:
            return x * 2.0


@yes("`MatchSequence`", (A, 2.0))
def match_sequence(pair):
    match pair:
        case [a, b]:
            return a * b * b


@yes("`MatchMapping`", {"a": A, "b": 2.0})
def match_mapping(d):
    match d:
        case {"a": a, "b": b}:
            return a * b


@yes("`MatchClass`", Point(2.0, 3.0))
def match_class(p):
    match p:
        case Point(x=x, y=y):
            return x * y * y


@yes("`MatchStar`", [2.0, 3.0, 4.0])
def match_star(items):
    match items:
        case [first, *rest]:
            return first * rest[0] * rest[1]


@yes("`MatchAs`")
def match_as(x):
    match x * 2.0:
        case y:
            return y * x


@yes("`MatchOr`", A, 2)
def match_or(x, n):
    match n:
        case 1 | 2:
            return x * 2.0
        case _:
            return x


# --- newer versions of Python -----------------------------------------------------------------------------

for label, parameter in {"`TypeVar`": "T: float", "`ParamSpec`": "**P", "`TypeVarTuple`": "*Ts"}.items():
    since(
        (3, 12),
        label,
        f"def f(x):\n    def g[{parameter}](y):\n        return y * 2.0\n    return g(x) * x\n",
        A,
    )
