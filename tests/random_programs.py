"""Random programs as source text, made of what the compiler supports: expressions with broadcasting, and control flow.

A text is rendered twice. Of the user's program the marks `RE(...)` and `MAXIMUM(...)` are removed; the reference is run
with complex numbers, where comparisons look at real parts, so that one run with an imaginary step gives a derivative to
the last digits.
"""

from __future__ import annotations

import itertools
import linecache
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from tests import retained

_numbers = itertools.count(1)
SHAPES = ((), (), (3,), (1,), (2, 3), (2, 1), (1, 3))


@dataclass
class Program:
    """A text that defines `program`, and its arguments; `sums`: conditions look at the sums of arrays."""

    text: str
    args: tuple[Any, ...]
    sums: bool = False

    def function(self) -> Any:
        """The program as a user would have written it."""
        text = self.text.replace("RE(", "np.sum(" if self.sums else "(").replace("MAXIMUM(", "np.maximum(")
        return self._load(text, "program", retained.NAMES)

    def reference(self) -> Any:
        """The program for complex numbers."""

        def maximum(x: Any, y: Any) -> Any:
            return np.where(np.real(x) > np.real(y), x, y)

        def total(x: Any) -> Any:
            return np.sum(np.real(x))

        names = {"RE": total if self.sums else np.real, "MAXIMUM": maximum}
        return self._load(self.text, "reference", {**names, **retained.for_complex_steps()})

    @staticmethod
    def _load(text: str, kind: str, names: dict[str, Any]) -> Any:
        file = f"<{kind} {next(_numbers)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        scope: dict[str, Any] = {"np": np, "__name__": "random_program", **names}
        exec(compile(text, file, "exec"), scope)
        return scope["program"]

    def __str__(self) -> str:
        return f"{self.text}\n# called with {self.args!r}"


@dataclass
class Numbers:
    """Numbers of moderate size, never 0 and no two of them equal, however simple the rest of a program is."""

    rng: np.random.Generator

    def number(self) -> float:
        return round(self.rng.uniform(0.2, 1.6), 6) * int(self.rng.choice([1, 1, -1]))

    def positive(self) -> float:
        return abs(self.number())

    def array(self, *shape: int) -> np.ndarray:
        return np.array([self.number() for _ in range(int(np.prod(shape)))]).reshape(shape)


def lines(text: str) -> list[str]:
    """The lines of a text, one choice each."""
    return text.strip().split("\n")


# --- expressions ------------------------------------------------------------------------------------------


UNARY = lines("""
-{}
+{}
np.sin({})
np.cos({})
np.tanh({})
({}) ** 2
({}) ** 3
np.exp(-({}) ** 2)
np.sqrt(({}) ** 2 + 1.5)
np.log(({}) ** 2 + 0.5)
np.square({})
np.arctan({})
0.5 ** ({})
""")
BINARY = lines("""
({} + {})
({} - {})
({} * {})
({} * {})
({} / ({} ** 2 + 1.2))
np.multiply({}, {})
np.subtract({}, {})
MAXIMUM({}, {})
np.where(RE({0}) > 0.3, {0}, {1})
""")
HOOKED = lines("""
hook(seen, {})
hook(same, {})
hook(renewed, {})
hook(halved, {})
""")
KEEPS = lines("""
note({a})
KEPT.append({a})
KEPT.append(({a}, {b}))
CACHE["last"] = {a}
CACHE["all"] = [{a}, {b}]
""")


@dataclass
class Expressions:
    """Draws expressions whose shapes are known, over names and their shapes; every shape broadcasts to (2, 3)."""

    random: Random
    numbers: Numbers
    names: dict[str, tuple[int, ...]]
    bound: int = 0

    def expression(self, depth: int) -> tuple[str, tuple[int, ...]]:
        """A text and its shape."""
        r = self.random
        if depth == 0 or r.random() < 0.1:
            return self.leaf()
        forms = [self.unary, self.unary, self.binary, self.binary, self.binary, self.reduction, self.other]
        return r.choice([*forms * 2, self.hooked])(depth)

    def leaf(self) -> tuple[str, tuple[int, ...]]:
        r = self.random
        if r.random() < 0.2:
            return r.choice([str(self.numbers.positive()), "2", "0.503"]), ()
        name = r.choice(list(self.names))
        return name, self.names[name]

    def unary(self, depth: int) -> tuple[str, tuple[int, ...]]:
        a, shape = self.expression(depth - 1)
        form = self.random.choice(UNARY)
        return "(" + form.format(a if a.isidentifier() else f"({a})") + ")", shape

    def hooked(self, depth: int) -> tuple[str, tuple[int, ...]]:
        a, shape = self.expression(depth - 1)
        return self.random.choice(HOOKED).format(a), shape

    def binary(self, depth: int) -> tuple[str, tuple[int, ...]]:
        (a, s), (b, t) = self.expression(depth - 1), self.expression(depth - 1)
        form = self.random.choice(BINARY)
        return form.format(a, f"({b})"), np.broadcast_shapes(s, t)

    def reduction(self, depth: int) -> tuple[str, tuple[int, ...]]:
        a, shape = self.expression(depth - 1)
        if not shape:
            return a, shape
        kept = tuple(1 if i == len(shape) - 1 else n for i, n in enumerate(shape))
        forms = [
            ("np.sum({})", ()),
            ("({}).mean()", ()),
            ("np.sum({}, axis=-1, keepdims=True)", kept),
            ("np.mean(({}), axis=0)", shape[1:]),
            ("({}).sum(axis=0, keepdims=True)", (1, *shape[1:])),
            ("np.prod({}, axis=0)", shape[1:]),
        ]
        form, new = self.random.choice(forms)
        return form.format(a), new

    def other(self, depth: int) -> tuple[str, tuple[int, ...]]:
        r = self.random
        (a, s), (b, t) = self.expression(depth - 1), self.expression(depth - 1)
        choices: list[tuple[str, tuple[int, ...]]] = [
            (f"({a}, {b})[1]", t),
            (f"[{a}, {b}][-2]", s),
            (f"helper({a}, {b})", np.broadcast_shapes(s, t)),
            (f"helper(b={b}, a={a})", np.broadcast_shapes(s, t)),
            (f"(lambda q, c=0.5: c * q)({a})", s),
        ]
        if not s:
            choices.append((f"({b} if RE({a}) > 0.2 else -({b}))", t))
            choices.append((f"({a} if RE({a}) > 0.1 else 0.2)", ()))
        else:
            choices += [(f"({a})[0]", s[1:]), (f"({a})[-1]", s[1:]), (f"({a})[..., :1]", (*s[:-1], 1))]
            choices += [(f"np.sum(({a}) @ ({a}).T)", ()), (f"({a})[None][0]", s), (f"({a}).reshape(-1)[0]", ())]
            choices += [(f"np.stack([{a}, {a}])[1]", s), (f"({a}).T.T", s), (f"np.concatenate([{a}, {a}])[{s[0]}:]", s)]
        if r.random() < 0.15:
            self.bound += 1
            name = f"w{self.bound}"
            return f"(({name} := {a}) * {name})", s
        return r.choice(choices)


def expression_program(random: Random) -> Program:
    """A function of two to four numbers or arrays that returns an expression or a tuple, and may keep values."""
    names = {f"x{i}": random.choice(SHAPES) for i in range(random.randint(2, 4))}
    numbers = Numbers(np.random.default_rng(random.randrange(1000)))
    args = tuple(numbers.array(*s) if s or random.random() < 0.3 else numbers.number() for s in names.values())
    e = Expressions(random, numbers, dict(names))
    lines = []
    for i in range(random.choice([0, 1, 2, 2, 5])):
        text, shape = e.expression(random.choice([1, 3]))
        name = random.choice([f"y{i}", *e.names])  # of one name several values may be used
        lines.append(f"    {name} = {text}\n")
        e.names[name] = shape
        if random.random() < 0.3:
            lines.append(f"    {random.choice(KEEPS).format(a=e.expression(1)[0], b=name)}\n")
    result = e.expression(3)[0]
    if random.random() < 0.4:
        result = f"{result}, {random.choice([e.expression(2)[0], e.leaf()[0], f'({e.leaf()[0]}, {e.leaf()[0]})'])}"
    helper = "def helper(a, b):\n    if RE(np.sum(a)) > 0.4:\n        return a * b\n    return a - np.sin(b)\n\n\n"
    return Program(f"{helper}def program({', '.join(names)}):\n{''.join(lines)}    return {result}\n", args)


STEPS = lines("""
-{a}
{a} * 2.0
0.5 - {a}
{a} * {b}
{a} + {b}
np.cos({a})
np.square({a}) * 0.5
np.tanh({a} * {b})
{a}[::-1]
hook(halved, {a})
hook(seen, {a} * 0.5)
""")


def straight_program(random: Random) -> Program:
    """A function of six arrays of one shape in a straight line; most values are used once, two names stand for many."""
    numbers = Numbers(np.random.default_rng(random.randrange(1000)))
    names = list("xyztuv")
    body = []
    for _ in range(random.randint(3, 9)):
        a, b = random.choices(names, k=2)
        target = random.choice([*"xxxyyy", *names])
        body.append(f"    {target} = {random.choice(STEPS).format(a=a, b=b)}\n")
        if random.random() < 0.1:
            body.append(f"    {random.choice(KEEPS).format(a=a, b=target)}\n")
    result = random.choice(["{a} @ {b}", "np.sum({a} * {b})", "{a}, ({b}, {a})", "{a} * {b}", "x @ y"])
    a, b = random.sample(names, 2)
    args = tuple(numbers.array(3) for _ in names)
    return Program(f"def program({', '.join(names)}):\n{''.join(body)}    return {result.format(a=a, b=b)}\n", args)


# --- control flow -----------------------------------------------------------------------------------------

HELPERS = """\
def several(p, q):
    if RE(p) > 0.5:
        return p * q
    if RE(q) > 0:
        return np.sin(p) + q
    return q - p * 0.5


def pair(p, q=0.5, *rest, scale=0.8):
    if RE(q) < 0.1:
        return p * scale, q
    for r in rest:
        p = np.tanh(p * r)
    return q * scale, p * q


def repeated(p, n):
    if n == 0:
        return np.sin(p)
    return repeated(p * 0.9, n - 1) * p + 0.1


def reduced(w, p):
    s = p
    for i, e in enumerate(w):
        if i == 1 and RE(e) > 0.6:
            return s * e
        s = np.sin(s) + e
    return s
"""


CONSTANTS = """
    z, k, h = np.array([0.6, 1.1, 0.4]), [1.0, 0.7, 0.5], {"a": 0.8}
    z2 = z.copy()
    TABLE[:] = 0.5, 0.7, 0.9

    def counted(t):
        k[0] = k[0] * 0.9 + 0.05
        return t * k[0]

    def times(t):
        return t * z[0] * h["a"]
"""
FILL = """

TABLE = np.array([0.5, 0.7, 0.9])


def fill(array, value):
    array[1:] = value
"""
SCALARS = lines("""
np.tanh({a} * {b})
({a} + {b}) * 0.5
np.sin({a})
{a} * {b}
np.cos({a} - {b})
{a} / ({b} ** 2 + 1.1)
-({a})
({a}) ** 2
np.sum(u * {a})
(w @ v * {a})
several({a}, {b})
pair({a}, {b})[0]
pair({a}, {b}, 0.9, c, scale=d)[1]
reduced(w, {a})
repeated({a}, 2)
inner({a})
({a} if {test} else {b})
(lambda t: t * {b})({a})
""")
VECTORS = lines("""
u * {a}
w * 0.5 + v * {a}
np.sin(w + {a})
v[::-1] * {a}
np.array([a, b, {a}]) + u * 0.1
""")
CONDITIONS = lines("""
RE({a}) > {n}
RE(a) < RE(b)
-0.4 < RE(c) < 0.8
RE(x) > 0
flag
i % 2 == 0
""")
UNPACKINGS = lines("""
a, b = b, a
a, b, c = c, a * 0.5, {a}
a, b = pair({a}, {b})
p = {a}, {b}
p = pair({a})
p = b, a
c, d = p
(a, c), b = p, a
b, (*r, c) = a, p
a, *r = p; b = r[0] * 0.8
t = p, a; (c, _), b = t
c, a, _ = u
a = b = {a}
""")
LOOPS = lines("""
i in range(3)
i in range(2)
i in reversed(range(3))
i in order
a in u
a in reversed(u)
b in v * a
i, a in enumerate(v)
i, c in enumerate(items, 1)
a, b in zip(u, v * 0.5)
i, (a, b) in enumerate(zip(u, v))
row in m
row, c in zip(m, items)
c in items
a, b in pairs
c in (a, b, 0.5)
c in [b, a * 0.5]
c in p
""")
TESTS = lines("""
{k} < 3
{k} < 4 and {test}
({k} := {k} + 1) < 4
{k} < 2 and RE(a := a * 0.8) > 0.05
""")
WRITES = lines("""
z[i % 3] = {n}
z[i % 3] += 0.5
z *= 0.9
z = z + 0.1
z2 = z
z2[0] = {n}
z[:2] = 0.3
fill(z, {n})
k[0] = k[0] + 1
k[1] *= 0.5
k.append(0.4)
h["a"] = {n}
h["a"] += 0.2
TABLE[1] += 0.1
np.multiply(z, 0.9, out=z)
z.sort()
counted(0.0)
""")
READS = lines("""
{a} * k[1]
{a} * k[-1] + k[0]
{a} * h["a"]
z[1] * {a}
np.sum(z * {a})
(u @ z * {a})
TABLE[1] * {a}
counted({a})
times({a})
np.sum(w / z) * {a}
""")
KEEPING = lines("""
w = hook(seen, w)
w = hook(same, {v})
w = hook(halved, w)
a = hook(seen, {a})
b = hook(renewed, {a} * b)
KEPT.append(w)
KEPT.append((a, w))
KEPT.append(p)
note({v})
note({a})
CACHE["w"] = w
CACHE["a"] = {a}
""")
ROWS = lines("""
a = a * 0.5 + np.sum(row)
w = row * b
w = w + row
b = row[1] * a
""")


@dataclass
class Flow:
    """Draws statements: a, b, c, d are numbers, u, v arrays of length 3, w a local one, p a pair, i an integer."""

    random: Random
    numbers: Numbers
    lines: list[str] = field(default_factory=list)
    count: int = 0
    loops: int = 0
    maybe: bool = False
    result: str = "number"
    budget: int = 14
    writes: bool = False
    arrays: bool = False

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    # expressions

    def filled(self, form: str, depth: int = 1, **more: Any) -> str:
        """A form with numbers for {a} and {b}, a condition for {test}, a literal for {n}."""
        parts = {"a": "", "b": "", "test": "", "n": ""}
        for name in parts:
            if f"{{{name}}}" in form:
                draw = {"test": lambda: self.condition(0), "n": lambda: str(self.numbers.number())}
                parts[name] = draw[name]() if name in draw else self.scalar(depth)
        return form.format(**parts, **more)

    def scalar(self, depth: int = 2) -> str:
        r = self.random
        if depth == 0 or r.random() < 0.25:
            name = "e" if self.maybe and r.random() < 0.1 else r.choice("aaabbbccd")
            return r.choice([name, name, name, name, "x", "u[0]", "v[-1]", "w[1]", "p[0]", "0.7", "u[i % 3]"])
        return self.filled(r.choice(READS if self.writes and r.random() < 0.4 else SCALARS), depth - 1)

    def vector(self) -> str:
        return self.filled(self.random.choice([form for form in VECTORS if not (self.arrays and "[a" in form)]))

    def condition(self, depth: int = 1) -> str:
        r = self.random
        simple = self.filled(r.choice(CONDITIONS), 0)
        if depth == 0 or r.random() < 0.6:
            return simple
        other = self.condition(depth - 1)
        return r.choice([f"not ({simple})", f"{simple} and {other}", f"{simple} or {other}", "RE(a := a * 0.9) > 0.2"])

    # statements

    def block(self, depth: int, size: int) -> None:
        for _ in range(size):
            self.statement(depth)
        if self.random.random() < 0.1:
            self.add(depth, "pass")

    def statement(self, depth: int) -> None:
        self.budget -= 1
        simple = [self.assign] * 3 + [self.augmented] * 2 + [self.unpack] * 2
        simple += [self.array_statement, self.leave, self.small, self.keep]
        simple += [self.write] * 5 if self.writes else []
        nested = [self.branch, self.branch, self.for_loop, self.for_loop, self.while_loop]
        allowed = depth < 5 and self.budget > 0
        self.random.choice(simple + (nested * 2 if allowed else []))(depth)

    def assign(self, depth: int) -> None:
        r = self.random
        self.add(depth, f"{r.choice('aabbcd')} = {self.scalar()}")

    def augmented(self, depth: int) -> None:
        r = self.random
        name, op = r.choice("abc"), r.choice("+-*+")
        self.add(depth, f"{name} = {name} {op} {self.scalar()}" if self.arrays else f"{name} {op}= {self.scalar()}")

    def unpack(self, depth: int) -> None:
        self.add(depth, self.filled(self.random.choice(UNPACKINGS)))

    def array_statement(self, depth: int) -> None:
        form = self.random.choice(["w = {v}", "w += {v}", "w = w * {a}"])
        self.add(depth, self.filled(form, v=self.vector()))

    def write(self, depth: int) -> None:
        """A write into something without derivative: an array, a list, a dict, a global, in a helper or closure."""
        self.add(depth, self.filled(self.random.choice(WRITES)))

    def keep(self, depth: int) -> None:
        """A value or a cotangent is kept."""
        form = self.random.choice(KEEPING)
        self.add(depth, self.filled(form, v=self.vector() if "{v}" in form else ""))

    def small(self, depth: int) -> None:
        r = self.random
        if r.random() < 0.3:
            self.maybe = True
            self.add(depth, f"e = {self.scalar(1)}")
        else:
            self.add(depth, r.choice(["pass", "assert i >= 0", "text = f'{a}'", "d = 1.0", "del d; d = a * 0.5"]))

    def leave(self, depth: int) -> None:
        """A conditional return, break or continue."""
        r = self.random
        self.add(depth, f"if {self.condition()}:")
        if r.random() < 0.3:
            self.assign(depth + 1)
        word = r.choice(["break", "continue", "return"]) if self.loops else "return"
        if word == "return":
            self.returns(depth + 1)
        else:
            self.add(depth + 1, word)

    def returns(self, depth: int) -> None:
        forms = {
            "number": self.scalar(1),
            "array": f"w * {self.scalar(1)}",
            "pair": f"{self.scalar(1)}, w",
            "parts": f"{self.scalar(1)}, (w, (a, p))",
            "mixed": self.random.choice([self.scalar(1), f"u * {self.scalar(0)}"]),
        }
        self.add(depth, f"return {forms[self.result]}")

    def branch(self, depth: int) -> None:
        r = self.random
        self.add(depth, f"if {self.condition()}:")
        self.block(depth + 1, r.randint(1, 2))
        if r.random() < 0.3:
            self.add(depth, f"elif {self.condition()}:")
            self.block(depth + 1, 1)
        if r.random() < 0.6:
            self.add(depth, "else:")
            self.block(depth + 1, r.randint(1, 2))

    def for_loop(self, depth: int) -> None:
        r = self.random
        header = r.choice(LOOPS)
        self.add(depth, f"for {header}:")
        if header.startswith("row"):
            self.add(depth + 1, r.choice(ROWS))
        self.loop_body(depth)

    def while_loop(self, depth: int) -> None:
        self.count += 1
        k = f"k{self.count}"
        self.add(depth, f"{k} = 0")
        test = self.filled(self.random.choice(TESTS), k=k)
        self.add(depth, f"while {test}:")
        if f"{k} :=" not in test:
            self.add(depth + 1, f"{k} += 1")
        self.loop_body(depth)

    def loop_body(self, depth: int) -> None:
        r = self.random
        self.loops += 1
        self.block(depth + 1, r.randint(1, 3))
        self.loops -= 1
        if r.random() < 0.3:
            self.add(depth, "else:")
            self.block(depth + 1, 1)


def flow_program(random: Random, writes: bool = False, arrays: bool = False) -> Program:
    """A function with nested control flow; with `writes`, constants of all kinds are changed in place.

    With `arrays`, what are numbers else are arrays of length 3.
    """
    numbers = Numbers(np.random.default_rng(random.randrange(1000)))
    flow = Flow(random, numbers, result=random.choice(["number", "number", "array", "pair", "parts", "mixed"]))
    flow.writes, flow.arrays = writes, arrays
    head = ["def program(x, y, u, v, m, items, pairs, order, flag):", "    a, b, c, d, i = x, y, x * y, 0.6, 0"]
    head += ["    w = u * 1.0", "    p = x, b", "    def inner(t):", "        return t * x + y", ""]
    if writes:
        head.append(CONSTANTS)
    flow.block(1, random.randint(2, 5))
    flow.returns(1)
    args = (
        numbers.array(3) if arrays else numbers.number(),
        numbers.array(3) if arrays else numbers.number(),
        numbers.array(3),
        numbers.array(3),
        numbers.array(2, 3),
        [numbers.number() for _ in range(3)],
        [(numbers.number(), numbers.number()) for _ in range(2)],
        np.array([2, 0, 1]),
        random.random() < 0.5,
    )
    body = "\n".join([*head, *flow.lines])
    return Program(f"{HELPERS}{FILL if writes else ''}\n\n{body}\n", args, arrays)
