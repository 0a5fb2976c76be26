"""What becomes of every operation of a function and of all that it calls: which rule, or why there is no derivative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adcompiler import ir, show
from adcompiler.activity import activity
from adcompiler.callees import InertCall, Missing
from adcompiler.pair import Pair
from adcompiler.pipeline import Compiled

_UNUSED = "nothing that it reads carries a derivative"


def explained(compiled: Compiled) -> str:
    """The table of all functions of a compilation, the one that was asked for first."""
    return "\n\n".join(_pair_table(pair) for pair in compiled.units) + "\n"


def _pair_table(pair: Pair) -> str:
    source = pair.spec.function.source
    kinds = [f"{p}: {show.kind(k)}" for p, k in zip(pair.spec.params, pair.spec.kinds, strict=True)]
    wrt = f"derivative with respect to {', '.join(pair.active)}" if pair.active else "no derivative"
    head = f"{pair.spec.name.strip('_')}({', '.join(kinds)}), {wrt}  [{show.located(source.file, source.first_line)}]"
    return "\n".join([head, *table(_rows(pair), indent="  ")])


def _rows(pair: Pair) -> Iterator[tuple[str, ...]]:
    """Line, text, category and reason of each operation, in the order of evaluation."""
    before = activity(pair.spec, pair.mask, pair.memory).before
    text = _Texts(pair)
    for stmt in ir.statements(pair.spec.body):
        active = before.get(id(stmt), frozenset())
        if isinstance(stmt, ir.Store) and stmt.kinds is not None:
            how = ("write", show.WRITTEN) if show.passes_on(stmt, active) else ("inert", _UNUSED)
            yield str(stmt.origin.line) if stmt.origin else "", f"{text(stmt.place)} = {text(stmt.value)}", *how
        for top in ir.expressions(stmt):
            for expr in ir.walk(top):
                if isinstance(expr, ir.Apply):
                    line = str(stmt.origin.line) if stmt.origin else ""
                    yield line, text(expr.spelled), *_how(expr, show.is_active(expr, active))
        text.note(stmt)


class _Texts:
    """The user's expressions: the compiler's temporaries are replaced by what was assigned to them."""

    def __init__(self, pair: Pair) -> None:
        self._variables = pair.spec.function.locals | frozenset(pair.spec.params)
        self._values: dict[str, ir.Expr] = {}

    def note(self, stmt: ir.Stmt) -> None:
        """Remember what a temporary holds."""
        if isinstance(stmt, ir.Assign) and stmt.target not in self._variables:
            self._values[stmt.target] = self._whole(stmt.value)

    def __call__(self, expr: ir.Expr) -> str:
        return show.expression(self._whole(expr)).replace("\n", " ")

    def _whole(self, expr: ir.Expr) -> ir.Expr:
        expr = expr.spelled if isinstance(expr, ir.Apply) else expr
        return ir.substitute(expr, self._values)


# --- one operation ----------------------------------------------------------------------------------------


def _how(expr: ir.Apply, active: bool) -> tuple[str, str]:
    """The category and the reason."""
    found = expr.callee
    if isinstance(found, InertCall):
        return "inert", found.why
    if isinstance(found, Missing):
        return "inert", f"{_UNUSED} (it has no derivative: {str(found.error).splitlines()[0]})"
    if not active:
        return "inert", _UNUSED
    words = show.WORDS[type(found)]
    return words.category, words.reason(found)


def table(rows: Any, indent: str = "") -> list[str]:
    """Rows of texts as lines with aligned columns.

    >>> table([("a", "bb", "c"), ("aaa", "b", "c")])
    ['a    bb  c', 'aaa  b   c']
    """
    rows = list(rows)
    widths = [min(48, max(map(len, column))) for column in zip(*rows, strict=True)]
    return [indent + "  ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip() for row in rows]
