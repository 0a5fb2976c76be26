"""Random programs that write into active arrays, as source text: through aliases, in loops, branches and helpers.

Each defines `program(x, y, m, s, n, flag, ...)`: vectors of length four, a matrix, a number, a small int and a flag,
then what else it happens to use. Names are few, so that they alias each other often. Shapes are known all along, so
that every program runs, and every name keeps its shape.

`python -m tests.random_writes --count 500 --seed 3` compares many with finite differences and prints a tally.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from tests import retained
from tests.random_programs import Numbers, Program, lines
from tests.write_calls import CALLS, FILLS, LOOPS, OUTPUTS, PARALLEL
from tests.write_forms import ALIASES, EXPRESSIONS
from tests.write_helpers import HELPERS, Box
from tests.write_stores import AUGMENTED, FANCY, STORES

PLACE = re.compile(r"(?<!\{)\{(\w+?)(\d|\+)?\}(?!\})")
SHALLOW = {"V": "{v}", "H": "{h}", "M": "{m}", "Z": "{z}", "T": "{v}[1:]", "t": "flag"}
KEEPING = lines("""
note({V})
note({v}.copy())
KEPT.append({V} * 1.0)
CACHE["a"] = {V} * 0.5
{a} = hook(seen, {V} * 1.0) * 1.0
e = hook(seen, {E})
e = hook(renewed, {E})
""")
# What a form mentions besides names of arrays, and how many programs have it.
FEATURES = {"m": 0.8, "h": 0.7, "z": 0.3, "b": 0.5, "i": 0.5, "l": 0.5, "d": 0.3, "o": 0.4}
WORDS = {"grow": 0.4, "tabled": 0.25, "remember": 0.15}
CLASS_OF = {"a": "v", "V": "v", "T": "v", "H": "h", "M": "m", "Z": "z", "j": "v", "E": "e"}


@dataclass
class Writes:
    """Draws statements; `names` holds the names of each kind that are bound."""

    random: Random
    names: dict[str, list[str]] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    count: int = 0
    loops: int = 0
    budget: int = 12
    result: str = "total"
    parts: list[str] = field(default_factory=list)

    # --- forms ---

    def possible(self, form: str) -> bool:
        """Whether the program has everything that a form mentions."""
        kinds = {CLASS_OF.get(kind, kind) for kind, _ in PLACE.findall(form)}
        return all(self.names.get(kind) for kind in kinds & (FEATURES.keys() | {"v", "e"})) and not any(
            f"{word}(" in form for word in WORDS if word not in self.words
        )

    def chosen(self, forms: list[str]) -> str:
        return self.random.choice([form for form in forms if self.possible(form)])

    def filled(self, form: str, depth: int = 2) -> str:
        """The form with something drawn for each place."""
        same: dict[str, str] = {}

        def drawn(match: re.Match[str]) -> str:
            kind, number = match.groups()
            if number is None:
                return self.drawn(kind, depth)
            if match.group() not in same:
                same[match.group()] = self.fresh() if number == "+" else self.drawn(kind, depth)
            return same[match.group()]

        return PLACE.sub(drawn, form).replace("{{", "{").replace("}}", "}")

    def drawn(self, kind: str, depth: int) -> str:
        r = self.random
        if kind == "v":
            return self.vector()
        if kind == "a":
            return r.choice(self.names["v"])
        if kind == "c":
            return str(r.choice([0.1, 0.25, 0.45, -0.15, 0.8]))
        if kind in self.names:
            return r.choice(self.names[kind])
        if kind in "kr":
            return r.choice(EXPRESSIONS[kind])
        if kind == "E" and (depth <= 0 or r.random() < 0.4):
            return r.choice([*self.names["e"], self.filled("{v}[{k}]"), str(r.choice([0.5, 0.7, 1.2, -0.6]))])
        if kind == "V" and self.parts and depth > 0 and r.random() < 0.15:
            return self.part()
        shallow = depth <= 0 or r.random() < 0.3
        text = SHALLOW[kind] if shallow and kind in SHALLOW else self.chosen(EXPRESSIONS[kind])
        return f"({self.filled(text, depth - 1)})"

    def vector(self) -> str:
        """A place of shape (4,)."""
        r = self.random
        forms = ["{l}[0]", "{l}[-1]", '{d}["v"]', "{o}.v", "{o}.w", "{m}[{r}]"]
        possible = [form for form in forms if self.possible(form)]
        if possible and r.random() < 0.25:
            return self.filled(r.choice(possible))
        return r.choice(self.names["v"])

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count}"

    # --- statements ---

    def add(self, depth: int, text: str) -> None:
        self.lines += ["    " * depth + line for line in text.strip().split("\n")]

    def block(self, depth: int, size: int, names: dict[str, list[str]] | None = None) -> None:
        """Statements; what they bind first is not known afterwards."""
        outer = self.names
        self.names = {kind: [*known, *(names or {}).get(kind, [])] for kind, known in outer.items()}
        for _ in range(size):
            self.statement(depth)
        self.names = outer

    def statement(self, depth: int) -> None:
        r = self.random
        self.budget -= 1
        simple = [self.alias] * 4 + [self.write] * 12 + [self.fill]
        nested = [self.branch, self.for_loop, self.for_loop, self.while_loop, self.leave, self.attempt]
        r.choice(simple + nested * (1 if depth < 4 and self.budget > 0 else 0))(depth)

    def alias(self, depth: int) -> None:
        """A name is bound: to the same array, a view, a copy or a fresh one."""
        r = self.random
        kinds = [kind for kind in "vvvvvhhmmzbield" if self.names.get(kind)]
        kind = r.choice(kinds)
        text = self.filled(self.chosen(ALIASES[kind]))
        if r.random() < 0.6:
            name = r.choice(self.names[kind])
        else:
            name = self.fresh()
            self.names[kind].append(name)
        self.add(depth, f"{name} = {text}")

    def part(self) -> str:
        """A call of one of the program's own helpers."""
        forms = ["{v}, {v}, {E}", "{v1}, {v1}[::-1], {E}", "{v1}, {v1}, {E}", "{v}, {V}, {E}", "b={v}, a={v}, c={E}"]
        return (
            f"{self.random.choice(self.parts)}({self.filled(self.chosen(forms), 1)}, n=n, flag={self.filled('{t}', 0)})"
        )

    def write(self, depth: int) -> None:
        if self.parts and self.random.random() < 0.15:
            form = self.random.choice(["{a} = PART", "PART", "PART[{k}] = {E}", "PART[1:] *= {E}", "{a} += PART"])
            return self.add(depth, self.filled(form).replace("PART", self.part()))
        kinds = [STORES, STORES, AUGMENTED, AUGMENTED, FANCY, OUTPUTS, PARALLEL, CALLS]
        forms = KEEPING if self.random.random() < 0.08 else self.random.choice(kinds)
        self.add(depth, self.filled(self.chosen(forms)))

    def fill(self, depth: int) -> None:
        """An array is allocated and filled."""
        name = self.fresh()
        form = self.chosen([form.strip() for form in FILLS.split("---")])
        self.add(depth, self.filled(form.replace("{new}", name), 1))
        self.names["v"].append(name)

    def leave(self, depth: int) -> None:
        """A conditional return, break or continue."""
        word = self.random.choice(["break", "continue", "return"]) if self.loops else "return"
        self.add(depth, f"if {self.filled('{t}', 1)}:")
        if self.random.random() < 0.4:
            self.write(depth + 1)
        self.add(depth + 1, self.returned() if word == "return" else word)

    def branch(self, depth: int) -> None:
        r = self.random
        self.add(depth, f"if {self.filled('{t}', 1)}:")
        self.block(depth + 1, r.randint(1, 2))
        if r.random() < 0.3:
            self.add(depth, f"elif {self.filled('{t}', 1)}:")
            self.block(depth + 1, 1)
        if r.random() < 0.5:
            self.add(depth, "else:")
            self.block(depth + 1, r.randint(1, 2))

    def for_loop(self, depth: int) -> None:
        r = self.random
        form = self.chosen(LOOPS)
        bound: dict[str, list[str]] = {}

        def new(match: re.Match[str]) -> str:
            bound.setdefault(match.group(1), []).append(self.fresh())
            return bound[match.group(1)][-1]

        self.add(depth, f"for {self.filled(re.sub(r'[{](.)[+][}]', new, form), 1)}:")
        self.inner(depth, bound)
        if r.random() < 0.15:
            self.add(depth, "else:")
            self.block(depth + 1, 1)

    def while_loop(self, depth: int) -> None:
        name = self.fresh()
        self.add(depth, f"{name} = 0")
        more = f" and {self.filled('{t}', 1)}" if self.random.random() < 0.3 else ""
        self.add(depth, f"while {name} < {self.random.choice(['2', '3', 'n'])}{more}:")
        self.add(depth + 1, f"{name} += 1")
        self.inner(depth, {})

    def inner(self, depth: int, bound: dict[str, list[str]]) -> None:
        self.loops += 1
        self.block(depth + 1, self.random.randint(1, 3), bound)
        self.loops -= 1

    def attempt(self, depth: int) -> None:
        """An exception that is caught after a write, or a clean-up that writes."""
        r = self.random
        self.add(depth, "try:")
        self.block(depth + 1, 1)
        if r.random() < 0.5:
            self.add(depth + 1, self.filled("{a}[n + 2] = {E}"))
            self.add(depth, "except IndexError:")
        else:
            self.add(depth, "finally:")
        self.block(depth + 1, 1)

    def returned(self) -> str:
        form = {
            "total": "return " + self.total(),
            "place": self.random.choice(["return {v}", "return {a}", "return {a}[::-1]", "return {V}"]),
            "array": "return {v}",
            "views": "return {a1}, {a1}[1:], {a}, {E}, {a}[::-1] * 0.5",
            "mixed": 'return {{ "a": {a}, "b": [{a}, {V}], "c": {E} }}',
        }[self.result]
        return self.filled(form, 1)

    def total(self) -> str:
        """A number to which everything contributes."""
        terms = ["np.sum({a} * {a}) * 0.5", "{a} @ W"]
        more = {"m": "np.sum({m} * {m}) * 0.3", "h": "{h} @ W[:2]", "z": "np.sum(abs({z}) ** 2) * 0.2", "o": "{o}.c"}
        more |= {"l": "np.sum({l}[0] * W)", "d": '{d}["v"] @ W'}
        terms += [f"{name} @ W" for name in ("x", "y", "u", "w")]
        return " + ".join(terms + [term for kind, term in more.items() if self.names.get(kind)])


def helper(random: Random, name: str, parts: list[str]) -> list[str]:
    """A function of two vectors and a number that writes into what it is given."""
    w = Writes(random, {"v": ["a", "b"], "e": ["c"]}, budget=5, result="place", parts=parts)
    if random.random() < 0.4:
        w.names["h"] = ["h"]
        w.add(1, f"h = {random.choice(['a[1:3]', 'b[::2]', 'a[:2] * c'])}")
    w.add(1, "step = 0")
    for _ in range(random.randint(1, 4)):
        w.statement(1)
    if random.random() < 0.25:
        w.add(1, f"if n > 0:\n    {random.choice(w.names['v'])} = {name}(b, a, c * 0.9, n - 1, not flag)")
        w.statement(1)
    w.add(1, w.returned())
    return [f"def {name}(a, b, c, n, flag):", *w.lines]


def writing_program(random: Random, size: int | None = None) -> Program:
    """A function with writes into its arguments, locals, captured and global arrays."""
    numbers = Numbers(np.random.default_rng(random.randrange(1000)))
    w = Writes(random)
    has = {kind for kind, chance in FEATURES.items() if random.random() < chance}
    w.words = {word for word, chance in WORDS.items() if random.random() < chance}
    w.result = random.choice(["total", "total", "array", "views", "mixed"])
    helpers: list[str] = []
    for i in range(random.choice([0, 0, 1, 1, 2])):
        helpers += helper(random, f"part{i}", list(w.parts))
        w.parts.append(f"part{i}")
    w.names = {"v": ["x", "y", "u", "w"], "e": ["s", "e"], **{kind: [] for kind in FEATURES}}
    parameters: dict[str, Any] = {"x": numbers.array(4), "y": numbers.array(4), "s": numbers.number()}
    parameters |= {"n": random.randrange(4), "flag": random.random() < 0.5}
    w.add(1, "step = 0")
    w.add(1, f"e = {random.choice(['s * 0.5', 'x[0]', 'np.sin(y[1])'])}")
    w.add(1, f"u = {random.choice(['x', 'x * 0.5', 'np.zeros(4)', 'y[::-1]', 'x.copy()', 'np.tanh(y)'])}")
    w.add(1, f"w = {random.choice(['u', 'u[::-1]', 'np.zeros_like(x)', 'x * y', 'np.ones(4)', 'np.full(4, s)'])}")
    ways: dict[str, tuple[str, Any]] = {
        "m": ("np.outer(x[:3], y)", numbers.array(3, 4)),
        "h": (random.choice(["x[1:3]", "y[:2] * s", "u[::2]"]), numbers.array(2)),
        "z": ("x[:2] + 1j * y[2:]", numbers.array(2) + 1j * numbers.array(2)),
        "b": ("x > 0.2", np.array([True, False, True, True])),
        "i": ("np.array([2, 0, 2])", np.array([1, 3, 1])),
        "l": (random.choice(["[x, y * 0.5]", "[u, u]", "[x, w, u]"]), [numbers.array(4), numbers.array(4)]),
        "d": (random.choice(['{"v": x, "w": y * 0.5}', '{"v": u, "w": u}']), None),
        "o": (
            random.choice(["Box(x, y * 0.5, s)", "Box(u, u[::-1], s)"]),
            Box(numbers.array(4), numbers.array(4), 0.6),
        ),
    }
    for kind in FEATURES:
        if kind in has:
            local, argument = ways[kind]
            w.names[kind].append({"h": "h", "m": "m"}.get(kind, kind * 2))
            if argument is not None and random.random() < 0.5:
                parameters[w.names[kind][0]] = argument
            else:
                w.add(1, f"{w.names[kind][0]} = {local}")
    if "grow" in w.words:
        w.add(1, f"cell = {random.choice(['x', 'u', 'y * 0.5', 'np.zeros(4)'])}")
        w.add(1, "def grow(q):\n    cell[1:] += q[:-1] * 0.5\n    return cell")
    if w.words & {"tabled", "remember"}:
        w.add(1, "reset()")
    w.add(1, w.filled(w.chosen(["{a}[{k}] = {E}", "{a} *= {V}", "{a}[1:] += {T}"])))
    for _ in range(size or random.randint(4, 9)):
        w.statement(1)
    w.add(1, w.returned())
    text = "\n".join([*helpers, f"def program({', '.join(parameters)}):", *w.lines])
    return WritingProgram(ast.unparse(ast.parse(text)) + "\n", tuple(parameters.values()))


class WritingProgram(Program):
    """A program that finds the helpers by name, and constants `B` and `W`."""

    def function(self, **names: Any) -> Any:
        """The program as a new function."""
        rng = np.random.default_rng(1)
        constants = {"B": rng.standard_normal((4, 4)), "W": rng.standard_normal(4)}
        constants["S"] = constants["B"] + 4 * np.eye(4)
        return self._load(self.text, "writes", {**retained.NAMES, **HELPERS, **constants, **names})


if __name__ == "__main__":
    from tests.write_tally import main

    main()
