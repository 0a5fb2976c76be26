"""Random programs whose exceptions are caught, as source text: nested `try`, `with`, `match`, loops and every way out.

They are rendered twice, as in `random_programs`; what they do besides computing is written into a log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from tests.random_programs import Numbers, Program, lines

HEADER = """\
import contextlib

from adcompiler import non_differentiable

LOG = []


class First(Exception):
    pass


class Second(Exception):
    pass


def log(entry):
    LOG.append(entry)
    return True


non_differentiable(log)


def risky(p, q):
    log("risky")
    if RE(p) > RE(q):
        raise First("risky")
    return p * q + 0.1


def guarded(p, q):
    try:
        return risky(p, q) * p
    except First:
        log("guarded")
        return q - p


def fail():
    log("fail")
    raise First("fail")


class Plain:
    def __enter__(self):
        log("enter")

    def __exit__(self, kind, error, traceback):
        log(f"exit {kind}")


class Refusing:
    def __enter__(self):
        return 0.5

    def __exit__(self, kind, error, traceback):
        log("refuse")
        if kind is None:
            raise Second("at the end")


@contextlib.contextmanager
def quiet(number):
    log("quiet")
    try:
        yield number
    except First:
        log("swallowed")
    finally:
        log("left")


PLAIN = Plain()


"""

SCALARS = lines("""
{a} * {b}
({a} + {b}) * 0.5
np.sin({a})
np.tanh({a} * {b})
{a} - {b} * 0.3
risky({a}, {b})
guarded({a}, {b})
({a} if {test} else {b})
(a, {b})[1]
""")
CONDITIONS = lines("""
RE(a) > {n}
RE(b) < RE(c)
RE({a}) > 0.2
flag
i % 2 == 0
i == 1
n > 1
""")
ERRORS = ("First", "Second", "(First, Second)", "Exception", "NameError", "ZeroDivisionError")
RAISES = lines("""
raise First("here")
raise Second("there")
fail()
n // (n - n)
raise
raise First("new") from None
""")
CONTEXTS = lines("""
contextlib.suppress({e})
contextlib.nullcontext({a}) as {t}
contextlib.nullcontext()
PLAIN
Plain() as _
quiet(0.5) as s
quiet(2), contextlib.nullcontext({a}) as {t}
Refusing() as s
np.errstate(all="ignore")
""")
LOOPS = lines("""
i in range(3)
i in range(2)
a in items
i, b in enumerate(items)
a, c in pairs
""")
CASES = lines("""
case 1:
case (p, 0.5):
case (p, q) if {test}:
case (p, (q, _)):
case [p, *_] if RE(p) > 0.4:
case {{"k": p}}:
case {{"k": p, "l": 2}}:
case (float() | complex()) as p:
case int() | None:
case _ if {test}:
""")
SUBJECTS = lines("""
n
(a, {b})
(a, (b, {a}))
[a, b, c]
{{"k": {a}}}
pairs
a
i
""")


@dataclass
class Flow:
    """Draws statements over the numbers a, b, c (x, items and pairs are given; e is bound on some paths)."""

    random: Random
    numbers: Numbers
    lines: list[str] = field(default_factory=list)
    budget: int = 16
    loops: int = 0
    entries: int = 0
    whiles: int = 0
    arrays: bool = False

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def filled(self, form: str, level: int = 0) -> str:
        """A form with numbers for {a} and {b}, a condition for {test}, a class for {e}, a name for {t}."""
        out = form
        for name in ("a", "b"):
            while f"{{{name}}}" in out:
                out = out.replace(f"{{{name}}}", self.scalar(level - 1), 1)
        out = out.replace("{test}", self.condition() if "{test}" in out else "")
        out = out.replace("{n}", str(self.numbers.number())).replace("{e}", self.random.choice(ERRORS))
        return out.replace("{t}", self.random.choice("abce")).replace("{{", "{").replace("}}", "}")

    def scalar(self, level: int = 1) -> str:
        r = self.random
        if level <= 0 or r.random() < 0.2:
            return r.choice(["a", "a", "b", "b", "c", "x", "0.7", "items[1]", *(["e"] if r.random() < 0.1 else [])])
        return self.filled(r.choice(SCALARS), level)

    def returned(self) -> str:
        return f"np.sum({self.scalar(2)})" if self.arrays else self.scalar(2)

    def condition(self) -> str:
        return self.filled(self.random.choice(CONDITIONS))

    def block(self, depth: int, size: int, loop: bool, handler: bool) -> None:
        before = len(self.lines)
        for _ in range(size):
            self.statement(depth, loop, handler)
        if len(self.lines) == before:
            self.add(depth, "pass")

    def statement(self, depth: int, loop: bool, handler: bool) -> None:
        r = self.random
        self.budget -= 1
        if depth > 6 or self.budget < 0 or r.random() < 0.4:
            self.simple(depth, loop, handler)
            return
        form = r.choice([self.handled, self.handled, self.handled, self.context, self.branch, self.repeat, self.cases])
        form(depth, loop, handler)

    def simple(self, depth: int, loop: bool, handler: bool) -> None:
        r = self.random
        kind = r.random()
        if kind < 0.5:
            self.add(depth, f"{r.choice('aaabbbcce')} = {self.scalar(2)}")
        elif kind < 0.58:
            name, op = r.choice("abc"), r.choice("*+-")
            self.add(
                depth, f"{name} = {name} {op} {self.scalar(1)}" if self.arrays else f"{name} {op}= {self.scalar(1)}"
            )
        elif kind < 0.65:
            self.add(depth, r.choice(["a, b = b, a", "a, (b, c) = c, (a, b)", "b, *_ = items", "e = x", "del e"]))
        elif kind < 0.72:
            self.entries += 1
            self.add(depth, r.choice([f"log({self.entries})"] * 2 + ["note(a)", "KEPT.append((b, c))"]))
        else:
            self.leave(depth, loop, handler)

    def leave(self, depth: int, loop: bool, handler: bool) -> None:
        """An exception or an exit, mostly under a condition."""
        r = self.random
        if r.random() < 0.75:
            self.add(depth, f"if {self.condition()}:")
            depth += 1
        kind = r.random()
        if kind < 0.5:
            text = r.choice([t for t in RAISES if t != "raise" or handler])
            self.add(depth, text)
        elif loop and kind < 0.75:
            self.add(depth, r.choice(["break", "continue"]))
        else:
            self.add(depth, f"return {self.returned()}")

    def handled(self, depth: int, loop: bool, handler: bool) -> None:
        r = self.random
        self.add(depth, "try:")
        self.block(depth + 1, r.randint(1, 3), loop, handler)
        count = r.choice([0, 1, 1, 1, 2])
        for _ in range(count):
            name = " as e" if r.random() < 0.15 else ""
            self.add(depth, f"except {r.choice(ERRORS)}{name}:")
            self.block(depth + 1, r.randint(1, 2), loop, True)
        if count and r.random() < 0.15:
            self.add(depth, "except:")
            self.block(depth + 1, 1, loop, True)
        if count and r.random() < 0.3:
            self.add(depth, "else:")
            self.block(depth + 1, r.randint(1, 2), loop, handler)
        if not count or r.random() < 0.4:
            self.add(depth, "finally:")
            self.block(depth + 1, r.randint(1, 2), loop, handler)

    def context(self, depth: int, loop: bool, handler: bool) -> None:
        self.add(depth, f"with {self.filled(self.random.choice(CONTEXTS), 1)}:")
        self.block(depth + 1, self.random.randint(1, 3), loop, handler)

    def branch(self, depth: int, loop: bool, handler: bool) -> None:
        self.add(depth, f"if {self.condition()}:")
        self.block(depth + 1, self.random.randint(1, 2), loop, handler)
        if self.random.random() < 0.4:
            self.add(depth, "else:")
            self.block(depth + 1, self.random.randint(1, 2), loop, handler)

    def repeat(self, depth: int, loop: bool, handler: bool) -> None:
        r = self.random
        if self.loops >= 3:
            self.simple(depth, loop, handler)
            return
        self.loops += 1
        if r.random() < 0.2:
            self.whiles += 1
            k = f"k{self.whiles}"
            self.add(depth, f"{k} = 0")
            self.add(depth, r.choice([f"while {k} < 3:", f"while ({k} := {k} + 1) < 4 and log('test'):"]))
            self.add(depth + 1, f"{k} += 1")
        else:
            self.add(depth, f"for {r.choice(LOOPS)}:")
        self.block(depth + 1, r.randint(1, 3), True, handler)
        if r.random() < 0.2:
            self.add(depth, "else:")
            self.block(depth + 1, 1, loop, handler)

    def cases(self, depth: int, loop: bool, handler: bool) -> None:
        r = self.random
        self.add(depth, f"match {self.filled(r.choice(SUBJECTS))}:")
        for _ in range(r.randint(1, 3)):
            case = self.filled(r.choice(CASES))
            self.add(depth + 1, case)
            if "p" in case.split("if")[0].replace("complex", ""):
                self.add(depth + 2, f"{r.choice('abc')} = p * {self.scalar(0)}")
            self.block(depth + 2, 1, loop, handler)


def exception_program(random: Random, arrays: bool = False) -> Program:
    """A function of a number, a list of numbers and a list of pairs, with an integer and a flag.

    With `arrays`, what are numbers else are arrays of length 2.
    """
    numbers = Numbers(np.random.default_rng(random.randrange(1000)))
    flow = Flow(random, numbers, arrays=arrays)
    flow.block(1, random.randint(2, 4), False, False)
    flow.add(1, f"return {flow.returned()} + {'np.sum(a * b - c)' if arrays else 'a * b - c'}")

    def number() -> Any:
        return numbers.array(2) if arrays else numbers.number()

    items = [number() for _ in range(3)]
    pairs = [(number(), number()) for _ in range(2)]
    args: tuple[Any, ...] = (number(), items, pairs, random.randint(1, 2), random.random() < 0.5)
    start = "    a, b, c, i = x * 0.9, x + 0.3, items[0], 0\n"
    body = "\n".join(flow.lines)
    return Program(f"{HEADER}def program(x, items, pairs, n, flag):\n{start}{body}\n", args, arrays)
