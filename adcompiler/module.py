"""Generated text and its loading: pairs → Python source → functions on the user's own globals and cells.

One unit holds a pair.  It is compiled inside a binding function whose parameters are what only the compiler names
(helpers of the runtime, other pairs), so that the user's module gets no new name, and executed with the user's live
globals and captured variables.  The text is in `linecache`, so tracebacks and debuggers show it.
"""

from __future__ import annotations

import builtins
import itertools
import linecache
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import gast

from adcompiler import ir
from adcompiler.emit import Emitter
from adcompiler.errors import UnsupportedSyntaxError, refuse
from adcompiler.fold import fold
from adcompiler.holdings import Holdings, holdings, holds_arrays, may_be_array
from adcompiler.lastuse import let_go_in_forward
from adcompiler.lattice import Inert, numeric
from adcompiler.liveness import drop
from adcompiler.names import Names
from adcompiler.pair import Pair
from adcompiler.recycle import Words, recycle
from adcompiler.release import released
from adcompiler.runtime.release import Release
from adcompiler.simplify import simplify

# From Python 3.14 on, the reference count of an argument does not tell that its caller has it, too.
_BORROWED = sys.version_info >= (3, 14)

_numbers = itertools.count(1)

# Generated file name → (the user's file, the text's lines); see `user_line`.
_texts: dict[str, tuple[str, list[str]]] = {}


@dataclass(eq=False)
class Unit:
    """The text of one pair and what it names: `statics` by spelling, `pairs` by spelling."""

    pair: Pair
    text: str
    statics: dict[str, Any]
    pairs: dict[str, Pair]
    forward: Any = None
    backward: Any = None


@dataclass(eq=False)
class Speller:
    """Spellings of static objects in one text: the usual name where it means the object there, else one of its own.

    `taken` are the names that the text itself reads or binds.
    """

    globals: dict[str, Any]
    taken: set[str]
    statics: dict[str, Any] = field(default_factory=dict)
    pairs: dict[str, Pair] = field(default_factory=dict)

    def __call__(self, static: ir.Static) -> str:
        value, name = static.value, static.spelling
        if not name.isidentifier():
            name = re.sub(r"\W", "", name) + "_"  # of a lambda
        if isinstance(value, Pair):
            self.pairs[name] = value
            return name
        if (
            name not in self.taken
            and self.means(name) is value
            and isinstance(value, types.ModuleType | type | types.BuiltinFunctionType)
        ):
            return name
        while (
            name in self.taken
            or self.statics.get(name, value) is not value
            or name in self.globals
            or getattr(builtins, name, value) is not value  # the text may call `sum` where a rule calls np.sum
        ):
            name += "_"
        self.statics[name] = value
        return name

    def means(self, name: str) -> Any:
        """What a name means in the user's module."""
        return self.globals.get(name, getattr(builtins, name, None))


def local_names(pair: Pair) -> set[str]:
    """All names that a pair's text reads or binds by itself; modules that it reads keep their names."""
    names = (
        {*pair.params, *pair.saved, pair.cotangent, pair.table, pair.run, "saved"}
        | pair.spec.function.locals
        | pair.spec.function.cells
    )
    for stmt in ir.statements((*pair.forward, *pair.backward)):
        names |= ir.bound(stmt)
        for expr in ir.expressions(stmt):
            names.update(ir.reads(expr))
    return names


def saved_expr(pair: Pair, release: Release) -> ir.Expr:
    """The saved values: a tuple, or a list if the backward empties it."""
    return ir.Seq("list" if empties(pair, release) else "tuple", tuple(map(ir.Name, pair.saved)))


def empties(pair: Pair, release: Release) -> bool:
    """Whether the backward empties its record, so that nothing in it outlives its last use there."""
    return release.drops and not pair.run and holds_arrays(pair.saved, holdings(pair))


def forward_block(pair: Pair, release: Release) -> ir.Block:
    """The forward with `return value, saved`, folded."""
    saved = saved_expr(pair, release)

    def finish(block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in block:
            record = saved if pair.record is None else ir.Name(pair.record)
            if isinstance(stmt, ir.Return) and pair.run:
                out.append(ir.Store(ir.Attr(ir.Name(pair.run), "kept"), record))
            elif isinstance(stmt, ir.Return):
                stmt = ir.Return(ir.Seq("tuple", (stmt.value, record)), stmt.origin)
            elif ir.blocks(stmt):
                stmt = ir.with_blocks(stmt, tuple(map(finish, ir.blocks(stmt))))
            out.append(stmt)
        return tuple(out)

    function = pair.spec.function
    mine = frozenset({pair.run}) | function.locals | function.cells | frozenset(pair.params)
    block = recycled(pair, finish(pair.forward), release)
    block = fold(block, mine)
    kept = frozenset(_recorded(pair))
    block = let_go_in_forward(block, _own(pair), kept) if release.drops else drop(block, mine | kept)
    return _still_local(pair) + (block if pair.record is None else _filling(block, pair.record, saved))


def _own(pair: Pair) -> Holdings:
    """What the forward of a single use may let go of: temporaries, and arrays that only the user's variables hold."""
    function = pair.spec.function
    named = function.locals | function.cells | frozenset(pair.params) | {pair.run}
    seen = frozenset() if _looks_at_frames(pair) else function.locals - function.cells - frozenset(pair.params)
    found = holdings(pair)
    temporary = {n for n, kind in found.items() if n not in named and numeric(kind) is not None}
    deleted = {n for s in ir.statements(pair.forward) if isinstance(s, ir.Delete) for n in s.names}
    user = {n for n in seen - deleted if may_be_array(found.get(n))}
    return {n: kind if n in temporary or n in user else Inert() for n, kind in found.items()}


def _looks_at_frames(pair: Pair) -> bool:
    """Whether a function may read its variables in another way than by name."""
    every = (e for s in ir.statements(pair.forward) for top in ir.expressions(s) for e in ir.walk(top))
    names = {e.id for e in every if isinstance(e, ir.Global)}
    return bool(names & {"locals", "vars", "eval", "exec", "dir"}) or any(
        isinstance(s, ir.Opaque) for s in ir.statements(pair.forward)
    )


def _filling(block: ir.Block, record: str, saved: ir.Expr) -> ir.Block:
    """The forward that returns its record as a list, which is filled when all is done: a `finally` saves values too."""
    count = next((i for i, s in enumerate(block) if not isinstance(s, ir.Clear)), len(block))
    fill = ir.Store(ir.Item(ir.Name(record), ir.Slice(None, None, None)), saved)
    made = ir.Assign(record, ir.Seq("list", ()))
    return (*block[:count], made, ir.Try(block[count:], (), (), (fill,)))


def _still_local(pair: Pair) -> ir.Block:
    """Names that only dead code binds stay local to the forward, and unbound."""
    names = sorted((pair.spec.function.locals - set(pair.params) - ir.bound_in(pair.forward)) & _reads_in(pair.forward))
    return (ir.Clear(tuple(names)), ir.Delete(tuple(names))) if names else ()


def _reads_in(block: ir.Block) -> set[str]:
    return {n for s in ir.statements(block) for e in ir.expressions(s) for n in ir.reads(e)}


def _recorded(pair: Pair) -> set[str]:
    """The names that some record holds."""
    calls = (s.value for s in ir.statements(pair.forward) if isinstance(s, ir.Do))
    appended = (e for e in calls if isinstance(e, ir.Call) and isinstance(e.func, ir.Attr) and e.func.name == "append")
    return {*pair.saved, *(n for e in appended for n in ir.reads(e))}


def backward_block(pair: Pair, release: Release) -> ir.Block:
    """The backward from unpacking `saved` to `return cotangents`, folded."""
    results: ir.Expr = pair.results[0] if len(pair.results) == 1 else ir.Seq("tuple", pair.results)
    body = (*pair.backward, ir.Return(results))
    folded = fold(simplify(body, frozenset({*pair.saved, pair.cotangent})), frozenset())
    if not release.drops:
        return folded
    given = frozenset((pair.cotangent, pair.table)) if _BORROWED else frozenset((pair.table,))
    return released(folded, release, words_of(pair, release), given)


def recycled(pair: Pair, forward: ir.Block, release: Release) -> ir.Block:
    """The forward of a pair with results in the place of temporaries that are not needed any more."""
    function = pair.spec.function
    if not release.reuses:
        return forward
    keep = function.locals | function.cells | frozenset(pair.params) | frozenset(pair.saved)
    words = replace(words_of(pair, release), exact=True)
    return recycle(forward, words, frozenset(pair.params), keep)


def words_of(pair: Pair, release: Release) -> Words:
    """What `recycle` has to know of a pair's text."""
    names = Names(local_names(pair))

    def meant(name: str) -> Any:
        return pair.spec.program.global_value(pair.spec.globals, name)[1]

    given = frozenset((*pair.saved, pair.cotangent, pair.table)) | _popped(pair.backward)
    return Words(holdings(pair), names, meant, release.reuses, given)


def _popped(backward: ir.Block) -> frozenset[str]:
    """The names that a backward takes from the records of loops."""
    loops = (s for s in ir.statements(backward) if isinstance(s, ir.For))
    return frozenset(n for s in loops for n in ir.target_names(s.target))


def define(pair: Pair, emitter: Emitter, release: Release) -> list[gast.AST]:
    """The definitions of a pair: forward and backward as two functions."""
    emitter.new_function()
    params = (pair.run, *pair.params) if pair.run else pair.params
    forward = emitter.function(pair.forward_name, params, emitter.body(forward_block(pair, release)))
    emitter.new_function()
    unpack: list[ir.Stmt] = []
    if pair.saved:
        unpack = [ir.Unpack(ir.Targets(pair.saved), ir.Name("saved"))]
    if empties(pair, release):
        unpack.append(ir.Do(ir.Call(ir.Attr(ir.Name("saved"), "clear"))))
    body = emitter.block(tuple(unpack)) + emitter.block(backward_block(pair, release))
    backward = emitter.function(
        pair.backward_name, ("saved", pair.cotangent, *([pair.table] if pair.table else [])), body
    )
    return [forward, backward]


def write(pair: Pair, release: Release) -> Unit:
    """The unit of a pair."""
    speller = Speller(pair.spec.globals, local_names(pair))
    emitter = Emitter(speller)
    text = emitter.printed(define(pair, emitter, release))
    own = (pair.forward_name, pair.backward_name)
    pairs = {name: p for name, p in speller.pairs.items() if not (p is pair and name in own)}
    return Unit(pair, text, speller.statics, pairs)


def units(root: Pair, release: Release) -> dict[Pair, Unit]:
    """The units of a pair and of all pairs that it calls."""
    out: dict[Pair, Unit] = {}
    todo = [root]
    while todo:
        pair = todo.pop()
        if pair not in out:
            out[pair] = write(pair, release)
            todo.extend(out[pair].pairs.values())
    return out


def load(all_units: dict[Pair, Unit]) -> None:
    """Make the functions of all units, and let them see each other."""
    for unit in all_units.values():
        unit.forward, unit.backward = _bound(unit)
    for unit in all_units.values():
        for function in (unit.forward, unit.backward):
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                if name in unit.pairs:
                    other = all_units[unit.pairs[name]]
                    cell.cell_contents = other.forward if name == other.pair.forward_name else other.backward


def _bound(unit: Unit) -> tuple[Any, Any]:
    pair, spec = unit.pair, unit.pair.spec
    source = spec.function.source
    cells = {n: c for n, c in spec.cells.items() if n in spec.function.cells}
    parameters = [*unit.statics, *unit.pairs]
    names = f"{pair.forward_name}, {pair.backward_name}"
    text = f"def bind({', '.join(parameters)}):\n{_indent(unit.text)}\n    return {names}\n"
    if cells:
        header = "".join(f"    {name} = None\n" for name in cells)
        text = f"def captured():\n{header}{_indent(text)}"
    file = f"<adcompiler {next(_numbers)}: {source.name} ({source.file}:{source.first_line})>"
    lines = text.splitlines(keepends=True)
    linecache.cache[file] = (len(text), None, lines, file)
    _texts[file] = (source.file, lines)
    try:
        code = compile(text, file, "exec", dont_inherit=True)
    except SyntaxError as error:  # Python limits how deep blocks may be nested
        raise refuse(
            UnsupportedSyntaxError,
            f"{source.name} is nested too deeply",
            spec.function.origin,
            f"The generated text is beyond what Python compiles: {error.msg}.",
            "Split the function into smaller ones.",
        ) from None
    bind = _code(_code(code, "captured"), "bind") if cells else _code(code, "bind")
    closure = tuple(cells[name] for name in bind.co_freevars)
    function = types.FunctionType(bind, spec.globals, "bind", None, closure)
    values = [*unit.statics.values(), *(None for _ in unit.pairs)]
    return function(*values)  # type: ignore[no-any-return]


def _code(code: types.CodeType, name: str) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)


def _indent(text: str) -> str:
    return re.sub(r"(?m)^(?=.)", "    ", text)


def generated_lines(error: BaseException) -> Iterator[tuple[str, int, str]]:
    """The user's file, line and text for each generated frame of an exception's traceback, outermost first."""
    tb = error.__traceback__
    while tb is not None:
        found = _texts.get(tb.tb_frame.f_code.co_filename)
        if found is not None:
            file, lines = found
            for line in reversed(lines[: tb.tb_lineno]):
                match = re.match(r"\s*# (\d+)  (.*)", line)
                if match:
                    yield file, int(match[1]), match[2]
                    break
        tb = tb.tb_next
