"""Generated text and its loading: pairs → Python source → functions on the user's own globals and cells.

One unit holds a pair.  It is compiled inside a binding function whose parameters are what only the compiler names
(helpers of the runtime, other pairs), so that the user's module gets no new name, and executed with the user's live
globals and captured variables.  The text is in `linecache`, so tracebacks and debuggers show it.
"""

from __future__ import annotations

import builtins
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import gast

from adcompiler import ir
from adcompiler.blocks import backward_block, empties, forward_block, local_names
from adcompiler.emit import Emitter
from adcompiler.errors import UnsupportedSyntaxError, refuse
from adcompiler.generated import code_of, inner_code, lines_of
from adcompiler.pair import Pair
from adcompiler.pushed import Pushed, pushed_block, pushed_names
from adcompiler.runtime.release import Release

# Generated file name → the user's file; see `generated_lines`.
_sources: dict[str, str] = {}


@dataclass(eq=False)
class Unit:
    """The text of one pair, or of one function in forward mode, and what it names: statics and pairs by spelling."""

    pair: Pair | Pushed
    text: str
    statics: dict[str, Any]
    pairs: dict[str, Pair | Pushed]
    functions: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its functions."""
        if isinstance(self.pair, Pushed):
            return (self.pair.name, *([self.pair.derivative] if self.pair.derivative else []))
        return self.pair.forward_name, self.pair.backward_name

    @property
    def forward(self) -> Any:
        """The function that computes the value."""
        return self.functions[self.names[0]]

    @property
    def backward(self) -> Any:
        """The function that computes the cotangents, or the tangent alone."""
        return self.functions[self.names[-1]]


@dataclass(eq=False)
class Speller:
    """Spellings of static objects in one text: the usual name where it means the object there, else one of its own.

    `taken` are the names that the text itself reads or binds.
    """

    globals: dict[str, Any]
    taken: set[str]
    statics: dict[str, Any] = field(default_factory=dict)
    pairs: dict[str, Pair | Pushed] = field(default_factory=dict)

    def __call__(self, static: ir.Static) -> str:
        value, name = static.value, static.spelling
        if not name.isidentifier():
            name = re.sub(r"\W", "", name) + "_"  # of a lambda
        if isinstance(value, Pair | Pushed):
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


def define_pushed(pushed: Pushed, emitter: Emitter) -> list[gast.AST]:
    """The definition of a function in forward mode."""
    emitter.new_function()
    out = [emitter.function(pushed.name, pushed.params, emitter.body(pushed_block(pushed)))]
    if pushed.derivative:
        emitter.new_function()
        body = emitter.body(pushed_block(pushed, alone=True))
        out.append(emitter.function(pushed.derivative, pushed.params, body))
    return out


def write(pair: Pair | Pushed, release: Release) -> Unit:
    """The unit of a pair."""
    names = pushed_names(pair) if isinstance(pair, Pushed) else local_names(pair)
    speller = Speller(pair.spec.globals, names)
    emitter = Emitter(speller)
    nodes = define_pushed(pair, emitter) if isinstance(pair, Pushed) else define(pair, emitter, release)
    unit = Unit(pair, emitter.printed(nodes), speller.statics, speller.pairs)
    unit.pairs = {name: p for name, p in unit.pairs.items() if not (p is pair and name in unit.names)}
    return unit


def units(root: Pair | Pushed, release: Release) -> dict[Any, Unit]:
    """The units of a pair and of all pairs that it calls."""
    out: dict[Any, Unit] = {}
    todo = [root]
    while todo:
        pair = todo.pop()
        if pair not in out:
            out[pair] = write(pair, release)
            todo.extend(out[pair].pairs.values())
    return out


def load(all_units: dict[Any, Unit]) -> None:
    """Make the functions of all units, and let them see each other."""
    for unit in all_units.values():
        unit.functions = _bound(unit)
    for unit in all_units.values():
        for function in unit.functions.values():
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                if name in unit.pairs:
                    cell.cell_contents = all_units[unit.pairs[name]].functions[name]


def _bound(unit: Unit) -> dict[str, Any]:
    spec = unit.pair.spec
    source = spec.function.source
    cells = {n: c for n, c in spec.cells.items() if n in spec.function.cells}
    parameters = [*unit.statics, *unit.pairs]
    text = f"def bind({', '.join(parameters)}):\n{_indent(unit.text)}\n    return {', '.join(unit.names)},\n"
    if cells:
        header = "".join(f"    {name} = None\n" for name in cells)
        text = f"def captured():\n{header}{_indent(text)}"
    try:
        code = code_of(f"{source.name} ({source.file}:{source.first_line})", text)
    except SyntaxError as error:  # Python limits how deep blocks may be nested
        raise refuse(
            UnsupportedSyntaxError,
            f"{source.name} is nested too deeply",
            spec.function.origin,
            f"The generated text is beyond what Python compiles: {error.msg}.",
            "Split the function into smaller ones.",
        ) from None
    _sources[code.co_filename] = source.file
    bind = inner_code(inner_code(code, "captured") if cells else code, "bind")
    closure = tuple(cells[name] for name in bind.co_freevars)
    function = types.FunctionType(bind, spec.globals, "bind", None, closure)
    values = [*unit.statics.values(), *(None for _ in unit.pairs)]
    return dict(zip(unit.names, function(*values), strict=True))


def _indent(text: str) -> str:
    return re.sub(r"(?m)^(?=.)", "    ", text)


def generated_lines(error: BaseException) -> Iterator[tuple[str, int, str]]:
    """The user's file, line and text for each generated frame of an exception's traceback, outermost first."""
    tb = error.__traceback__
    while tb is not None:
        generated = tb.tb_frame.f_code.co_filename
        file = _sources.get(generated)
        if file is not None:
            for line in reversed(lines_of(generated)[: tb.tb_lineno]):
                match = re.match(r"\s*# (\d+)  (.*)", line)
                if match:
                    yield file, int(match[1]), match[2]
                    break
        tb = tb.tb_next
