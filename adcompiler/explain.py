"""What becomes of every operation of a function and of all that it calls: which rule, or why there is no derivative."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import gast

from adcompiler import ir, show
from adcompiler.activity import activity
from adcompiler.callees import InertCall, Missing, PlaceCall, WriteCall, in_place
from adcompiler.pair import Pair
from adcompiler.parse import origin_of
from adcompiler.pipeline import Compiled

Row = tuple[str, str, str, str]  # line, text, category, reason
How = tuple[str, str]  # category and reason

_ASSIGNMENTS = gast.Assign | gast.AugAssign | gast.AnnAssign
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


def _rows(pair: Pair) -> Iterator[Row]:
    """Line, text, category and reason of each operation, in the order of evaluation."""
    before = activity(pair.spec, pair.mask, pair.memory).before
    text, updates = _Texts(pair), _Updates(pair)
    last: Row | None = None
    for stmt in ir.statements(pair.spec.body):
        active = before.get(id(stmt), frozenset())
        for expr, how in _operations(stmt, active):
            found = updates(stmt, expr, how) if updates.is_part(stmt) else how
            if found is None or (found[0] == "inert" and text.is_added(stmt, expr)):
                continue
            whole = expr is None or updates.is_part(stmt) or _is_store(expr)
            row = str(stmt.origin.line) if stmt.origin else "", text(stmt, expr, whole), *found
            if not (whole and row == last):  # two places of one statement
                yield row
            last = row
        text.note(stmt)


def _operations(stmt: ir.Stmt, active: frozenset[str]) -> Iterator[tuple[ir.Apply | None, How]]:
    """What a statement computes, and None for what it writes into an array, with category and reason."""
    if isinstance(stmt, ir.Store) and stmt.kinds is not None:
        yield None, ("write", show.WRITTEN) if show.passes_on(stmt, active) else ("inert", _UNUSED)
    for top in ir.expressions(stmt):
        for expr in ir.walk(top):
            if isinstance(expr, ir.Apply):
                yield expr, _how(expr, show.is_active(expr, active))


def _is_store(expr: ir.Apply) -> bool:
    """Whether an operation is a statement of the user's: `d[k] = v`, `p.a = v`, `y.flat[i] = v`."""
    callee = expr.callee
    stores = isinstance(callee, WriteCall) or (isinstance(callee, PlaceCall) and callee.operation.stores)
    return stores and _is_ours(expr.spelled)


def _is_ours(expr: ir.Expr) -> bool:
    """Whether the compiler has put a call of a function of its own where the user wrote something else."""
    if not isinstance(expr, ir.Call) or not isinstance(expr.func, ir.Static):
        return False
    return str(getattr(expr.func.value, "__module__", None)).startswith("adcompiler.")


class _Updates:
    """The augmented assignments: `y[i] += v` is one row, though it reads, adds and writes."""

    def __init__(self, pair: Pair) -> None:
        source = pair.spec.function.source
        self._origins = {origin_of(n, source) for n in gast.walk(source.node) if isinstance(n, gast.AugAssign)}
        self._variables = _variables(pair)
        self._operator: dict[Any, How] = {}

    def is_part(self, stmt: ir.Stmt) -> bool:
        """Whether a statement is an augmented assignment, or a part of one."""
        return stmt.origin in self._origins

    def __call__(self, stmt: ir.Stmt, expr: ir.Apply | None, how: How) -> How | None:
        """What is said of all of it, where it ends; None for what comes before."""
        if isinstance(stmt, ir.Assign) and stmt.augmented:
            if stmt.target not in self._variables:
                self._operator[stmt.origin] = how
                return None
            return _both(("write", show.WRITTEN), how) if how[0] == "rule" and in_place(stmt) else how
        if expr is None or _is_store(expr):
            return _both(how, self._operator.pop(stmt.origin, how))
        return None


def _both(write: How, operator: How) -> How:
    """Of a write into a place, and of the operator whose result is written."""
    if write[0] == "inert" or operator[0] == "inert" or write == operator:
        return write
    return write[0], f"{write[1]}; {operator[1]}"


def _variables(pair: Pair) -> frozenset[str]:
    """The names that the user gave."""
    function = pair.spec.function
    return function.locals | function.cells | frozenset(pair.spec.params)


class _Texts:
    """The user's own text: the compiler's temporaries are replaced by what was assigned to them."""

    def __init__(self, pair: Pair) -> None:
        self._values: dict[str, ir.Expr] = {}
        self._temporaries = ir.bound_in(pair.spec.body) - _variables(pair)
        assigned = Counter(s.target for s in ir.statements(pair.spec.body) if isinstance(s, ir.Assign))
        self._once = {name for name in self._temporaries if assigned[name] == 1}
        source = pair.spec.function.source
        self._statements = {origin_of(n, source): n for n in gast.walk(source.node) if isinstance(n, _ASSIGNMENTS)}

    def note(self, stmt: ir.Stmt) -> None:
        """Remember what a temporary holds."""
        if isinstance(stmt, ir.Assign) and stmt.target in self._once:
            self._values[stmt.target] = self._whole(stmt.value)

    def __call__(self, stmt: ir.Stmt, expr: ir.Apply | None, whole: bool) -> str:
        """The text of an operation, or of the `whole` statement that it is the meaning of."""
        node = self._statements.get(stmt.origin) if whole and stmt.origin else None
        if node is not None:
            one_line = node.lineno == node.end_lineno
            return _written(stmt) if one_line else show.source(node).replace("\n", " ")
        spelled = None if expr is None else self._whole(expr)
        if stmt.origin and (spelled is None or any(map(self._is_made, ir.walk(spelled)))):
            return _written(stmt)
        return "" if spelled is None else show.expression(spelled).replace("\n", " ")

    def is_added(self, stmt: ir.Stmt, expr: ir.Apply | None) -> bool:
        """Whether the compiler has added an operation which is not what the user's statement says."""
        if expr is None or (_is_store(expr) and stmt.origin in self._statements):
            return False
        return any(map(_is_ours, ir.walk(expr.spelled)))

    def _is_made(self, expr: ir.Expr) -> bool:
        """Whether something in an expression has no name that the user gave."""
        return _is_ours(expr) or (isinstance(expr, ir.Name) and expr.id in self._temporaries)

    def _whole(self, expr: ir.Expr) -> ir.Expr:
        expr = expr.spelled if isinstance(expr, ir.Apply) else expr
        return ir.substitute(expr, self._values)


def _written(stmt: ir.Stmt) -> str:
    """What the user wrote where a statement comes from."""
    origin = stmt.origin
    return "" if origin is None else origin.text[origin.column : origin.end_column]


# --- one operation ----------------------------------------------------------------------------------------


def _how(expr: ir.Apply, active: bool) -> How:
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
