"""Random programs as source text, made of what the compiler supports: expressions with broadcasting, and control flow.

A text is rendered twice. Of the user's program the marks `RE(...)` and `MAXIMUM(...)` are removed; the reference is run with complex
numbers, where comparisons look at real parts, so that one run with an imaginary step gives a derivative to the last digits.
"""

from __future__ import annotations

import itertools
import linecache
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

_numbers = itertools.count(1)
SHAPES = ((), (), (3,), (1,), (2, 3), (2, 1), (1, 3))


@dataclass
class Program:
    """A text that defines `program`, and its arguments."""

    text: str
    args: tuple[Any, ...]

    def function(self) -> Any:
        """The program as a user would have written it."""
        return self._load(self.text.replace("RE(", "(").replace("MAXIMUM(", "np.maximum("), "program", {})

    def reference(self) -> Any:
        """The program for complex numbers."""

        def maximum(x: Any, y: Any) -> Any:
            return np.where(np.real(x) > np.real(y), x, y)

        return self._load(self.text, "reference", {"RE": np.real, "MAXIMUM": maximum})

    @staticmethod
    def _load(text: str, kind: str, names: dict[str, Any]) -> Any:
        file = f"<{kind} {next(_numbers)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        scope: dict[str, Any] = {"np": np, "__name__": "random_program", **names}
        exec(compile(text, file, "exec"), scope)
        return scope["program"]

    def __str__(self) -> str:
        return f"{self.text}\n# called with {self.args!r}"


def number(random: Random) -> float:
    """A number of moderate size, never 0."""
    return round(random.uniform(0.2, 1.6), 2) * random.choice([1, 1, -1])


def array(random: Random, shape: tuple[int, ...]) -> np.ndarray:
    """An array of such numbers."""
    return np.array([number(random) for _ in range(int(np.prod(shape)))]).reshape(shape)


# --- expressions ------------------------------------------------------------------------------------------


@dataclass
class Expressions:
    """Draws expressions whose shapes are known, over names and their shapes; every shape broadcasts to (2, 3)."""

    random: Random
    names: dict[str, tuple[int, ...]]
    bound: int = 0

    def expression(self, depth: int) -> tuple[str, tuple[int, ...]]:
        """A text and its shape."""
        r = self.random
        if depth == 0 or r.random() < 0.1:
            return self.leaf()
        form = r.choice([self.unary, self.unary, self.binary, self.binary, self.binary, self.reduction, self.other])
        return form(depth)

    def leaf(self) -> tuple[str, tuple[int, ...]]:
        r = self.random
        if r.random() < 0.2:
            return r.choice([str(abs(number(r))), "2", "0.5"]), ()
        name = r.choice(list(self.names))
        return name, self.names[name]

    def unary(self, depth: int) -> tuple[str, tuple[int, ...]]:
        a, shape = self.expression(depth - 1)
        form = self.random.choice(
            ["-{}", "np.sin({})", "np.cos({})", "np.tanh({})", "({}) ** 2", "({}) ** 3", "+{}", "np.exp(-({}) ** 2)"]
            + ["np.sqrt(({}) ** 2 + 1.5)", "np.log(({}) ** 2 + 0.5)", "np.square({})", "np.arctan({})", "0.5 ** ({})"]
        )
        return "(" + form.format(a if a.isidentifier() else f"({a})") + ")", shape

    def binary(self, depth: int) -> tuple[str, tuple[int, ...]]:
        (a, s), (b, t) = self.expression(depth - 1), self.expression(depth - 1)
        form = self.random.choice(
            ["({} + {})", "({} - {})", "({} * {})", "({} * {})", "({} / ({} ** 2 + 1.2))", "np.multiply({}, {})"]
            + ["MAXIMUM({}, {})", "np.where(RE({0}) > 0.3, {0}, {1})", "np.subtract({}, {})"]
        )
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
            choices.append((f"({b} if RE({a}) > 0.2 else -{b})" if b.isidentifier() else f"({a} if RE({a}) > 0.1 else 0.2)", t))
            choices[-1] = choices[-1] if b.isidentifier() else (choices[-1][0], ())
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
    """A function of two to four numbers or arrays that returns an expression or a tuple of two."""
    names = {f"x{i}": random.choice(SHAPES) for i in range(random.randint(2, 4))}
    args = tuple(array(random, s) if s or random.random() < 0.3 else number(random) for s in names.values())
    e = Expressions(random, dict(names))
    lines = []
    for i in range(random.randint(0, 2)):
        text, shape = e.expression(3)
        lines.append(f"    y{i} = {text}\n")
        e.names[f"y{i}"] = shape
    result = e.expression(3)[0]
    if random.random() < 0.3:
        result = f"{result}, {e.expression(2)[0]}"
    helper = "def helper(a, b):\n    if RE(np.sum(a)) > 0.4:\n        return a * b\n    return a - np.sin(b)\n\n\n"
    return Program(f"{helper}def program({', '.join(names)}):\n{''.join(lines)}    return {result}\n", args)


# --- control flow -----------------------------------------------------------------------------------------

HELPERS = '''\
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
'''


@dataclass
class Flow:
    """Draws statements: a, b, c, d are numbers, u, v arrays of length 3, w a local one, p a pair, i, j integers."""

    random: Random
    lines: list[str] = field(default_factory=list)
    count: int = 0
    loops: int = 0
    maybe: bool = False
    result: str = "number"
    budget: int = 14

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    # expressions

    def scalar(self, depth: int = 2) -> str:
        r = self.random
        if depth == 0 or r.random() < 0.25:
            name = "e" if self.maybe and r.random() < 0.1 else r.choice("aaabbbccd")
            return r.choice([name, name, name, name, "x", "u[0]", "v[-1]", "w[1]", "p[0]", "0.7", "u[i % 3]"])
        a, b = self.scalar(depth - 1), self.scalar(depth - 1)
        return r.choice(
            [f"np.tanh({a} * {b})", f"({a} + {b}) * 0.5", f"np.sin({a})", f"{a} * {b}", f"np.cos({a} - {b})"]
            + [f"{a} / ({b} ** 2 + 1.1)", f"-({a})", f"np.sum(u * {a})", f"(w @ v * {a})", f"several({a}, {b})"]
            + [f"pair({a}, {b})[0]", f"reduced(w, {a})", f"repeated({a}, 2)", f"pair({a}, {b}, 0.9, c, scale=d)[1]"]
            + [f"({a} if {self.condition(0)} else {b})", f"inner({a})", f"({a}) ** 2", f"(lambda t: t * {b})({a})"]
        )

    def vector(self) -> str:
        r, a = self.random, self.scalar(1)
        return r.choice([f"u * {a}", f"w * 0.5 + v * {a}", f"np.sin(w + {a})", f"v[::-1] * {a}", f"np.array([a, b, {a}])"])

    def condition(self, depth: int = 1) -> str:
        r = self.random
        simple = r.choice(
            [f"RE({self.scalar(0)}) > {number(r)}", "RE(a) < RE(b)", "-0.4 < RE(c) < 0.8", "flag", "i % 2 == 0", "RE(x) > 0"]
        )
        if depth == 0 or r.random() < 0.6:
            return simple
        other = self.condition(depth - 1)
        return r.choice([f"not ({simple})", f"{simple} and {other}", f"{simple} or {other}", f"RE(a := a * 0.9) > 0.2"])

    # statements

    def block(self, depth: int, size: int) -> None:
        for _ in range(size):
            self.statement(depth)
        if self.random.random() < 0.1:
            self.add(depth, "pass")

    def statement(self, depth: int) -> None:
        self.budget -= 1
        simple = [self.assign] * 3 + [self.augmented] * 2 + [self.unpack] * 2 + [self.array_statement, self.leave, self.small]
        nested = [self.branch, self.branch, self.for_loop, self.for_loop, self.while_loop]
        allowed = depth < 5 and self.budget > 0
        self.random.choice(simple + (nested * 2 if allowed else []))(depth)

    def assign(self, depth: int) -> None:
        r = self.random
        self.add(depth, f"{r.choice('aabbcd')} = {self.scalar()}")

    def augmented(self, depth: int) -> None:
        r = self.random
        self.add(depth, f"{r.choice('abc')} {r.choice(['+=', '-=', '*=', '+='])} {self.scalar()}")

    def unpack(self, depth: int) -> None:
        s = self.scalar
        self.add(
            depth,
            self.random.choice(
                ["a, b = b, a", f"a, b, c = c, a * 0.5, {s()}", f"a, b = pair({s(1)}, {s(1)})", f"p = {s(1)}, {s(1)}", "c, d = p"]
                + ["(a, c), b = p, a", f"a, *r = p\n{'    ' * depth}b = r[0] * 0.8", "p = b, a", "c, a, _ = u", "b, (*r, c) = a, p"]
                + [f"a = b = {s(1)}", "t = p, a\n" + "    " * depth + "(c, _), b = t", f"p = pair({s(1)})"]
            ),
        )

    def array_statement(self, depth: int) -> None:
        self.add(depth, self.random.choice([f"w = {self.vector()}", f"w += {self.vector()}", f"w = w * {self.scalar(1)}"]))

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
        header = r.choice(
            ["i in range(3)", "i in range(2)", "a in u", "b in v * a", "i, a in enumerate(v)", "a, b in zip(u, w)", "a in reversed(u)"]
            + ["i, (a, b) in enumerate(zip(u, v))", "row in m", "c in items", "a, b in pairs", "i in reversed(range(3))"]
            + ["i, c in enumerate(items, 1)", "c in (a, b, 0.5)", "c in [b, a * 0.5]", "i in order", "row, c in zip(m, items)", "c in p"]
        )
        self.add(depth, f"for {header}:")
        if header.startswith("row"):
            self.add(depth + 1, r.choice(["a = a * 0.5 + np.sum(row)", "w = row * b", "b = row[1] * a", "w = w + row"]))
        self.loop_body(depth)

    def while_loop(self, depth: int) -> None:
        r = self.random
        self.count += 1
        k = f"k{self.count}"
        self.add(depth, f"{k} = 0")
        test = r.choice([f"{k} < 3", f"{k} < 4 and {self.condition(0)}", f"({k} := {k} + 1) < 4", f"{k} < 2 and RE(a := a * 0.8) > 0.05"])
        self.add(depth, f"while {test}:")
        if ":=" not in test or "RE" in test:
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


def flow_program(random: Random) -> Program:
    """A function with nested control flow."""
    flow = Flow(random, result=random.choice(["number", "number", "array", "pair", "mixed"]))
    head = ["def program(x, y, u, v, m, items, pairs, order, flag):", "    a, b, c, d, i = x, y, x * y, 0.6, 0"]
    head += ["    w = u * 1.0", "    p = x, b", "    def inner(t):", "        return t * x + y", ""]
    flow.block(1, random.randint(2, 5))
    flow.returns(1)
    args = (
        number(random),
        number(random),
        array(random, (3,)),
        array(random, (3,)),
        array(random, (2, 3)),
        [number(random) for _ in range(3)],
        [(number(random), number(random)) for _ in range(2)],
        np.array([2, 0, 1]),
        random.random() < 0.5,
    )
    body = "\n".join([*head, *flow.lines])
    return Program(f"{HELPERS}\n\n{body}\n", args)
