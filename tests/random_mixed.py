"""Random programs that mix containers, objects, closures and exceptions with control flow, as source text.

Each defines `program(x, y, n, note)`: `x` and `y` are numbers, or arrays of one shape, `n` a small int, `note` takes
what the program says on its way. Names are few, so that they alias each other often.
"""

from __future__ import annotations

import itertools
import linecache
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from tests import retained

HEADER = """
class Box:
    def __init__(self, v, items):
        self.v = v
        self.items = items

    def put(self, v):
        self.items.append(v)
        self.v = self.v + v * 0.5
        return self

    @property
    def last(self):
        return self.items[-1]

    def __call__(self, u):
        self.v = self.v * 0.5 + u
        return self.v


def push(items, v):
    items.append(v * 0.5)
    return items


def twice(f, u):
    return f(f(u))


def risky(u, n):
    if n % 3 == 1:
        raise ValueError(n)
    return u * 0.5


def program(x, y, n, note):
    a, b, c = x, y, x * y
    p, q = [x, y, 1.5], [y]
    d = {"k": x, "m": [y, x]}
    o = Box(y, [x])
    r = Box(x * 0.5, q)
    total = x

    def grow(v):
        nonlocal total
        total = total * 0.5 + v
        p.append(total)
        return total * 0.25

    def plain(v):
        return v * b * 0.5
"""
NUMBERS = ("a", "b", "c")
LISTS = ("p", "q", "d['m']", "o.items", "r.items")
OBJECTS = ("o", "r")


@dataclass
class Mixed:
    """Draws statements; `exceptions` allows `try`, with `arrays` nothing is added to in place."""

    random: Random
    exceptions: bool = True
    arrays: bool = False
    depth: int = 0
    loops: int = 0
    counters: list[str] = field(default_factory=lambda: ["n"])

    def text(self) -> str:
        """A program."""
        body = [*self.block(1, self.random.randint(4, 9)), "    return " + self.result()]
        return HEADER + "\n".join(body) + "\n"

    def result(self) -> str:
        whole = "a + b * 0.5 + c * 0.25 + sum(p) + sum(q) * 0.5 + d['k'] + o.v + r.v * 0.5 + total + sum(o.items)"
        whole = self.random.choice([whole, whole, whole + " + " + self.number()])
        return f"np.sum({whole})" if self.arrays else whole

    # --- values ---

    def number(self) -> str:
        r = self.random
        return r.choice(
            [
                r.choice(NUMBERS),
                r.choice(NUMBERS),
                "x",
                "total",
                "d['k']",
                f"{r.choice(OBJECTS)}.v",
                f"{r.choice(OBJECTS)}.last",
                f"{r.choice(LISTS)}[{r.choice(['0', '-1', '-1'])}]",
                str(r.choice([0.5, 1.5, 2])),
            ]
        )

    def expression(self, depth: int = 0) -> str:
        r = self.random
        if depth > 1 or r.random() < 0.3:
            return self.number()
        u, v = self.expression(depth + 1), self.number()
        return r.choice(
            [
                f"({u} * {v} * 0.5)",
                f"({u} + {v}) * 0.5",
                f"np.sin({u})",
                f"np.tanh({u} - {v})",
                f"grow({u})",
                f"plain({u})",
                f"twice(plain, {u})",
                f"twice({r.choice(OBJECTS)}, {u})",
                f"{r.choice(OBJECTS)}({u})",
                f"({u} if {self.test()} else {v})",
                f"(lambda w: w * {v})({u})",
                f"hook({r.choice(['seen', 'same', 'renewed'])}, {u})",
                f"sum([w * 0.5 for w in {r.choice(LISTS)}])",
                f"{r.choice(LISTS)}.pop()" if r.random() < 0.3 else f"np.cos({u})",
            ]
        )

    def test(self) -> str:
        r = self.random
        i = r.choice(self.counters)
        return r.choice(
            [
                f"{i} % 2",
                f"{i} > 1",
                f"len({r.choice(LISTS)}) > {r.choice([1, 2, 3])}",
                f"np.sum({self.number()}) > 0.4",
            ]
        )

    # --- statements ---

    def block(self, indent: int, count: int) -> list[str]:
        out = []
        for _ in range(count):
            out += self.statement(indent)
        return out

    def statement(self, indent: int) -> list[str]:
        r, pad = self.random, "    " * indent
        if r.random() < 0.3 and self.depth < 3:
            return self.compound(indent)
        target, e = r.choice(NUMBERS), self.expression()
        obj, items = r.choice(OBJECTS), r.choice(LISTS)
        simple = [
            f"{target} = {e}",
            f"{target} = {e}",
            f"{target} = {target} + {e}" if self.arrays else f"{target} += {e}",
            f"{target}, {r.choice(NUMBERS)} = {self.number()}, {self.number()}",
            f"{items}.append({e})",
            f"{items}[{r.choice(['0', '-1'])}] = {e}",
            f"{items}[-1] = {items}[-1] + {self.number()}" if self.arrays else f"{items}[-1] += {self.number()}",
            f"{items}.insert(0, {self.number()})",
            f"d['k'] = {e}",
            f"d['k'] = d['k'] * {self.number()}" if self.arrays else f"d['k'] *= {self.number()}",
            f"d['n'] = {self.number()}; {target} = d.get('n', 0.0) + d.pop('n')",
            f"{obj}.v = {e}",
            f"{obj}.v = {obj}.v + {self.number()}" if self.arrays else f"{obj}.v += {self.number()}",
            f"{obj}.put({e})",
            f"push({items}, {self.number()})",
            f"{r.choice(['p', 'q'])} = {r.choice(['p', 'q', 'o.items', 'list(p)', 'p[:]', 'q + p', '[a, b]'])}",
            f"{obj} = {r.choice([*OBJECTS, 'Box(a, p)', 'Box(b, [c])'])}",
            f"{obj}.items = {r.choice(['p', 'q', '[a]', 'r.items'])}",
            f"d['m'] = {r.choice(['p', 'q', '[a, c]'])}",
            f"grow({self.number()})",
            f"note(len({items}))",
            f"{target} = {self.number()}; note({r.choice(self.counters)})",
            f"q, {target} = [*q, {self.number()}], {self.number()}",
            f"KEPT.append({self.number()})",
            f"CACHE['v'] = {e}",
        ]
        return [pad + r.choice(simple)]

    def compound(self, indent: int) -> list[str]:
        r, pad = self.random, "    " * indent
        self.depth += 1
        form = r.choice(["if", "if", "for", "while", "items", "try", "def"])
        if form == "if":
            out = [f"{pad}if {self.test()}:", *self.block(indent + 1, r.randint(1, 3))]
            if r.random() < 0.5:
                out += [f"{pad}else:", *self.block(indent + 1, r.randint(1, 2))]
            if self.loops and r.random() < 0.3:
                out += [f"{pad}if {self.test()}:", f"{pad}    {r.choice(['break', 'continue'])}"]
        elif form == "try" and self.exceptions:
            out = [f"{pad}try:", *self.block(indent + 1, r.randint(1, 2))]
            out += [f"{pad}    {r.choice(NUMBERS)} = risky({self.number()}, {r.choice(self.counters)})"]
            out += [*self.block(indent + 1, 1), f"{pad}except ValueError:", *self.block(indent + 1, r.randint(1, 2))]
            if r.random() < 0.3:
                out += [f"{pad}else:", *self.block(indent + 1, 1)]
            if r.random() < 0.4:
                out += [f"{pad}finally:", *self.block(indent + 1, 1)]
        elif form == "items":
            name = f"e{indent}{r.randint(0, 99)}"
            out = [f"{pad}for {name} in list({r.choice(LISTS)})[:4]:"]
            self.loops += 1
            out += [f"{pad}    {r.choice(NUMBERS)} = {r.choice(NUMBERS)} * 0.5 + {name}", *self.block(indent + 1, 1)]
            self.loops -= 1
        elif form == "while":
            name = f"k{indent}{r.randint(0, 99)}"
            out = [f"{pad}{name} = 0", f"{pad}while {name} < {r.randint(1, 3)}:", f"{pad}    {name} += 1"]
            self.counters.append(name)
            self.loops += 1
            out += self.block(indent + 1, r.randint(1, 3))
            self.loops -= 1
            self.counters.pop()
        elif form == "def":
            v, captured = self.number(), r.choice(NUMBERS)
            name = f"f{indent}{r.randint(0, 99)}"
            out = [f"{pad}def {name}(u):", f"{pad}    return u * 0.5 + {captured} * {v}"]
            out += [f"{pad}{r.choice(NUMBERS)} = {name}({self.number()})"]
        else:
            name = f"i{indent}{r.randint(0, 99)}"
            out = [f"{pad}for {name} in range({r.randint(1, 3)}):"]
            self.counters.append(name)
            self.loops += 1
            out += self.block(indent + 1, r.randint(1, 3))
            self.loops -= 1
            self.counters.pop()
            if r.random() < 0.2:
                out += [f"{pad}else:", *self.block(indent + 1, 1)]
        self.depth -= 1
        return out


_numbers = itertools.count(1)


def loaded(text: str) -> Any:
    """The function `program` of a text, which tracebacks and the compiler can read."""
    file = f"<mixed {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {name: value for name, value in retained.NAMES.items() if name != "note"}
    scope: dict[str, Any] = {"np": np, "__name__": "mixed_program", **names}
    exec(compile(text, file, "exec"), scope)
    return scope["program"]
