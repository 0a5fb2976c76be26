"""`match` → tests, loads and assignments in Python's order: a mixin of `lower`.

    match point:                  hit = isinstance(point, Sequence) and ... and len(point) == 2
        case (0, y) if y > 1:     if hit:
            ...                       t1, t2 = point
        case _:                       hit = t1 == 0
            ...                   if hit:
                                      y = t2
                                      hit = y > 1
                                  if hit: ...  else: ...

Each case has one flag.  The captures of a pattern are bound when all of it has matched, before the guard, and stay
bound if the guard fails.
"""

from __future__ import annotations

from collections.abc import Callable

import gast

from adcompiler import ir
from adcompiler.normalise import Normaliser
from adcompiler.runtime.patterns import Mapping, Sequence, pattern_attribute, pattern_has, rest_of

ISINSTANCE = ir.Static(isinstance, "isinstance")
LEN = ir.Static(len, "len")

# A step of a pattern: it may add statements, and gives the test that must hold, or None.
Step = Callable[[], ir.Expr | None]
Captures = dict[str, str]


class Matching(Normaliser):
    """Adds `match` to what is lowered."""

    def body(self, nodes: list[gast.AST]) -> ir.Block:
        """The IR of a list of statements."""
        raise NotImplementedError

    def stmt_Match(self, node: gast.Match) -> None:
        subject = self.value(node.subject)
        if not isinstance(subject, ir.Const | ir.Static):
            subject = self.temp(subject, node.subject)  # a pattern may rebind the name
        self._cases(subject, node.cases, node)

    def _cases(self, subject: ir.Expr, cases: list[gast.match_case], node: gast.Match) -> None:
        """The first of `cases` that matches; the next ones stand in its `else`."""
        if not cases:
            return
        case = cases[0]
        captures: Captures = {}
        steps = self.pattern(case.pattern, subject, captures)
        hit = self.names.fresh("hit")
        sure = not self.conjunction(hit, steps, case.pattern)

        def bind() -> None:
            for name, held in captures.items():
                self.out.append(ir.Assign(name, ir.Name(held), self.origin(case.pattern)))

        if case.guard is None and sure:
            bind()
            self.out += self.body(case.body)
            return
        if case.guard is not None:

            def guard() -> None:
                bind()
                self.out.append(ir.Assign(hit, self.value(case.guard), self.origin(case.guard)))

            if sure:
                guard()
            else:
                self.out.append(ir.If(ir.Name(hit), self.block(guard), (), self.origin(case.pattern)))
        bound = self.block(bind) if case.guard is None else ()
        body, rest = self.body(case.body), self.block(lambda: self._cases(subject, cases[1:], node))
        self.out.append(ir.If(ir.Name(hit), (*bound, *body), rest, self.origin(case.pattern)))

    def conjunction(self, hit: str, steps: list[Step], node: gast.AST) -> bool:
        """Add the steps, each only if the tests before it hold; `hit` is the last test. Whether there is any test."""
        for i, step in enumerate(steps):
            test = step()
            if test is not None:
                self.out.append(ir.Assign(hit, test, self.origin(node)))
                rest = self.block(lambda i=i: self.conjunction(hit, steps[i + 1 :], node))
                if rest:
                    self.out.append(ir.If(ir.Name(hit), rest, (), self.origin(node)))
                return True
        return False

    # --- patterns ---------------------------------------------------------------------------------------

    def pattern(self, node: gast.AST, subject: ir.Expr, captures: Captures) -> list[Step]:
        """The steps of a pattern for a subject; `captures` gets the temporaries that hold what names capture."""
        return getattr(self, "pattern_" + type(node).__name__)(node, subject, captures)  # type: ignore[no-any-return]

    def pattern_MatchValue(self, node: gast.MatchValue, subject: ir.Expr, captures: Captures) -> list[Step]:
        return [lambda: ir.Op("==", (subject, self.atom(node.value)))]

    def pattern_MatchSingleton(self, node: gast.MatchSingleton, subject: ir.Expr, captures: Captures) -> list[Step]:
        return [lambda: ir.Op("is", (subject, ir.Const(node.value)))]

    def pattern_MatchAs(self, node: gast.MatchAs, subject: ir.Expr, captures: Captures) -> list[Step]:
        steps = [] if node.pattern is None else self.pattern(node.pattern, subject, captures)
        if node.name is not None:
            steps.append(self.captured(node.name, subject, captures, node))
        return steps

    def captured(self, name: str, value: ir.Expr, captures: Captures, node: gast.AST) -> Step:
        """The step that keeps what a name captures until the whole pattern has matched."""
        if name in self.scope.outer:
            raise self.unsupported(node, "a pattern that binds an outer name", "Use a local name.")
        held = captures.setdefault(name, self.names.fresh("t"))

        def step() -> None:
            self.out.append(ir.Assign(held, value, self.origin(node)))

        return step

    def pattern_MatchOr(self, node: gast.MatchOr, subject: ir.Expr, captures: Captures) -> list[Step]:
        hit = self.names.fresh("hit")
        alternatives = [self.pattern(p, subject, captures) for p in node.patterns]

        def attempt(i: int) -> None:
            if not self.conjunction(hit, alternatives[i], node.patterns[i]):
                self.out.append(ir.Assign(hit, ir.Const(True), self.origin(node)))
            elif i + 1 < len(alternatives):
                rest = self.block(lambda: attempt(i + 1))
                self.out.append(ir.If(ir.Name(hit), (), rest, self.origin(node)))

        def step() -> ir.Expr:
            attempt(0)
            return ir.Name(hit)

        return [step]

    # --- containers -------------------------------------------------------------------------------------

    def pattern_MatchSequence(self, node: gast.MatchSequence, subject: ir.Expr, captures: Captures) -> list[Step]:
        stars = [i for i, p in enumerate(node.patterns) if isinstance(p, gast.MatchStar)]
        star = stars[0] if stars else None
        least = len(node.patterns) - len(stars)
        sequence = ir.Static(Sequence, "Sequence")
        steps: list[Step] = [lambda: ir.Call(ISINSTANCE, (subject, sequence))]
        if star is None or least:
            compare = "==" if star is None else ">="
            steps.append(
                lambda: ir.Op(compare, (self.temp(ir.Call(LEN, (subject,)), node), ir.Const(least))),
            )
        if all(_is_wildcard(p) for p in node.patterns):
            return steps
        items = [self.names.fresh("t") for _ in node.patterns]

        def unpack() -> None:
            self.out.append(ir.Unpack(ir.Targets(tuple(items), star), subject, self.origin(node)))

        steps.append(unpack)
        for item, part in zip(items, node.patterns, strict=True):
            if isinstance(part, gast.MatchStar):
                if part.name is not None:
                    steps.append(self.captured(part.name, ir.Name(item), captures, part))
            else:
                steps += self.pattern(part, ir.Name(item), captures)
        return steps

    def pattern_MatchMapping(self, node: gast.MatchMapping, subject: ir.Expr, captures: Captures) -> list[Step]:
        steps: list[Step] = [lambda: ir.Call(ISINSTANCE, (subject, ir.Static(Mapping, "Mapping")))]
        keys: list[ir.Expr] = []
        items = [self.names.fresh("t") for _ in node.keys]

        def has(key: gast.AST) -> Step:
            def step() -> ir.Expr:
                keys.append(self.atom(key))
                return ir.Op("in", (keys[-1], subject))

            return step

        def load(i: int) -> Step:
            def step() -> None:
                self.out.append(ir.Assign(items[i], ir.Item(subject, keys[i]), self.origin(node)))

            return step

        steps += map(has, node.keys)
        for i, part in enumerate(node.patterns):
            if not _is_wildcard(part):
                steps += [load(i), *self.pattern(part, ir.Name(items[i]), captures)]
        if node.rest is not None:
            rest = self.names.fresh("t")

            def remaining() -> None:
                value = ir.Call(ir.Static(rest_of, "rest_of"), (subject, *keys))
                self.out.append(ir.Assign(rest, value, self.origin(node)))

            steps += [remaining, self.captured(node.rest, ir.Name(rest), captures, node)]
        return steps

    # --- objects ----------------------------------------------------------------------------------------

    def pattern_MatchClass(self, node: gast.MatchClass, subject: ir.Expr, captures: Captures) -> list[Step]:
        held: list[ir.Expr] = []
        count = ir.Const(len(node.patterns))

        def instance() -> ir.Expr:
            held.append(self._path(node.cls))
            return ir.Call(ISINSTANCE, (subject, held[0]))

        def positional(i: int, item: str) -> list[Step]:
            def has() -> ir.Expr:
                return ir.Call(ir.Static(pattern_has, "pattern_has"), (subject, held[0], ir.Const(i), count))

            def load() -> None:
                value = ir.Call(ir.Static(pattern_attribute, "pattern_attribute"), (subject, held[0], ir.Const(i)))
                self.out.append(ir.Assign(item, value, self.origin(node)))

            return [has, load]

        def keyword(name: str, item: str) -> list[Step]:
            def load() -> None:
                self.out.append(ir.Assign(item, ir.Attr(subject, name), self.origin(node)))

            return [lambda: ir.Call(ir.Static(hasattr, "hasattr"), (subject, ir.Const(name))), load]

        steps: list[Step] = [instance]
        inner: list[tuple[gast.AST, str]] = []
        for i, part in enumerate(node.patterns):
            inner.append((part, self.names.fresh("t")))
            steps += positional(i, inner[-1][1])
        for name, part in zip(node.kwd_attrs, node.kwd_patterns, strict=True):
            inner.append((part, self.names.fresh("t")))
            steps += keyword(name, inner[-1][1])
        for part, item in inner:
            steps += self.pattern(part, ir.Name(item), captures)
        return steps


def _is_wildcard(node: gast.AST) -> bool:
    """Whether a pattern matches anything and captures nothing."""
    return (
        isinstance(node, gast.MatchAs | gast.MatchStar) and node.name is None and getattr(node, "pattern", None) is None
    )
