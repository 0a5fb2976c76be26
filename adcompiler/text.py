"""The module that a dump is: the pairs of a compilation as two functions each, the root in closure form, its globals.

The blocks are those that `module` makes the running functions from; here each name outside a function gets the one
spelling that it has in the whole text.
"""

from __future__ import annotations

import ast
import copy
import re
from typing import Any

import gast

from adcompiler import ir
from adcompiler.closed import Titles, closure_form, wrapper_form
from adcompiler.emit import Emitter, load
from adcompiler.module import define, define_pushed
from adcompiler.namespace import Namespace, display, is_literal
from adcompiler.pair import Pair
from adcompiler.program import signature_of
from adcompiler.pushed import Pushed
from adcompiler.scope import loads


class Text:
    """Writes the text of a compilation."""

    def __init__(self, compiled: Any) -> None:
        self.root: Any = compiled.pair
        self.function = compiled.request.function
        self.release = compiled.request.release
        self.names = Namespace(*_identifiers(compiled))
        self.stem = self.root.spec.name.strip("_") or "function"
        self.title = self.names.unique(f"{self.stem}_forward")
        self.pullback = self.names.unique(f"{self.stem}_pullback")
        self.spelled: dict[Pair, tuple[str, str]] = {}
        self.definitions: dict[Pair, str] = {}

    def module(self, notes: list[str]) -> str:
        """The whole module: header, imports, the pairs of the callees, the root."""
        root = self.root_text()
        text = "\n\n\n".join([*self.definitions.values(), root])
        head = self.names.lines(text)
        return "\n".join([*notes, *head, *(["", ""] if head else [""]), text]) + "\n"

    def pair_names(self, pair: Pair) -> tuple[str, str]:
        """The names of a pair's two functions; a pair is written, after what it calls, when it is first named."""
        if pair not in self.spelled:
            stem = f"_{self.stem}" if pair is self.root else pair.spec.name.strip("_") or "function"
            forward = self.names.unique(f"{stem}_forward")
            number = forward.removeprefix(f"{stem}_forward")
            self.spelled[pair] = forward, self.names.unique(f"{stem}_backward{number}")
            writer = _Writer(self, pair)
            text = _spaced(writer.printed(define(_titled(pair, self.spelled[pair]), writer, self.release)))
            self.definitions[pair] = text
        return self.spelled[pair]

    def root_text(self) -> str:
        """The root in closure form, or as a wrapper of its pair where that is not possible."""
        titles = Titles(self.title, self.pullback, self.names.unique)
        writer = _Writer(self, self.root)
        params = self.parameters(writer)
        definition = closure_form(self.root, writer, params, self.release, titles)
        if definition is None:
            writer = _Writer(self, self.root)
            definition = wrapper_form(self.root, writer, params, self.pair_names(self.root), titles)
        return _spaced(writer.printed([definition]))

    def parameters(self, writer: _Writer) -> gast.arguments:
        """The user's own signature without annotations."""
        args = copy.deepcopy(self.root.spec.function.source.node.args)
        _strip_annotations(args)
        values = {n: p.default for n, p in signature_of(self.function).parameters.items()}
        plain = [p.id for p in [*args.posonlyargs, *args.args]][-len(args.defaults) or None :]
        args.defaults = [writer.default(d, n, values[n]) for d, n in zip(args.defaults, plain, strict=False)]
        args.kw_defaults = [
            d if d is None else writer.default(d, p.id, values[p.id])
            for d, p in zip(args.kw_defaults, args.kwonlyargs, strict=True)
        ]
        return args


class ForwardText(Text):
    """The same for a compilation in forward mode: what is called, then the function itself."""

    def module(self, notes: list[str]) -> str:
        """The whole module."""
        self.pair_names(self.root)
        text = "\n\n\n".join(self.definitions.values())
        head = self.names.lines(text)
        return "\n".join([*notes, *head, *(["", ""] if head else [""]), text]) + "\n"

    def pair_names(self, pair: Any) -> tuple[str, str]:
        """The name of a function, twice: as that of a pair's forward and backward."""
        if pair not in self.spelled:
            name = self.names.unique(f"{pair.spec.name.strip('_') or 'function'}_jvp")
            self.spelled[pair] = name, name
            titled = copy.copy(pair)
            titled.name, titled.derivative = name, ""
            writer = _Writer(self, pair)
            self.definitions[pair] = _spaced(writer.printed(define_pushed(titled, writer)))
        return self.spelled[pair]


class _Writer(Emitter):
    """Emits one pair, with the names that the namespace gives to what is not local."""

    def __init__(self, text: Text, pair: Pair | Pushed) -> None:
        super().__init__(self.static)
        self.text = text
        self.spec = pair.spec
        self.cells = {n: c for n, c in self.spec.cells.items() if n in self.spec.function.cells}
        self.module = str(self.spec.globals.get("__name__", ""))

    def static(self, static: ir.Static) -> str:
        """The name of an object that the compiler put in."""
        if isinstance(static.value, Pair):
            pair = static.value
            return self.text.pair_names(pair)[static.spelling == pair.backward_name]
        if isinstance(static.value, Pushed):
            return self.text.pair_names(static.value)[0]  # type: ignore[arg-type]
        return self.text.names.static(static.value, static.spelling, self.spec.globals)

    def outer(self, name: str) -> str:
        """The name of a global, builtin or captured variable of the user's."""
        if name in self.cells:
            try:
                return self.text.names.user(name, self.cells[name].cell_contents, self.module)
            except ValueError:  # not assigned yet
                return name
        found, value = self.spec.program.global_value(self.spec.globals, name)
        return self.text.names.user(name, value, self.module) if found else name

    def default(self, node: Any, name: str, value: Any) -> Any:
        """A parameter's default: its value, or the user's expression if that is only a name."""
        if is_literal(value):
            return display(value)
        if isinstance(node, gast.Name | gast.Attribute) and loads(node) <= self.spec.globals.keys():
            return self.named(node)
        return load(self.text.names.static(value, f"{name}_default", self.spec.globals))

    # --- what Emitter writes under the user's names -------------------------------------------------------

    def expr(self, expr: Any) -> gast.AST:
        match expr:
            case ir.Global(name):
                return load(self.outer(name))
            case ir.Name(name) if name in self.cells:
                return load(self.outer(name))
            case ir.Verbatim() | ir.Lambda():
                return self.named(super().expr(expr))
        return super().expr(expr)

    def stmt_Define(self, stmt: ir.Define) -> gast.AST:
        return self.named(super().stmt_Define(stmt))

    def stmt_Opaque(self, stmt: ir.Opaque) -> gast.AST:
        node: Any = super().stmt_Opaque(stmt)
        if isinstance(node, gast.Nonlocal):
            node = gast.Global(names=[self.outer(n) for n in node.names])
        return self.named(node)

    def named(self, node: Any) -> Any:
        """The user's own syntax with the names of what is not local, and without the annotations of functions."""
        local = self.spec.function.locals | frozenset(self.spec.params)
        names = {n: self.outer(n) for n in loads(node) - local}
        for d in gast.walk(node):
            if isinstance(d, gast.Name) and names.get(d.id, d.id) != d.id:
                d.id = names[d.id]
            if isinstance(d, gast.FunctionDef):
                d.returns = None
                _strip_annotations(d.args)
        return node


def _titled(pair: Pair, titles: tuple[str, str]) -> Pair:
    """The pair under other names."""
    other = copy.copy(pair)
    other.forward_name, other.backward_name = titles
    return other


def _strip_annotations(args: gast.arguments) -> None:
    """Annotations say nothing here, and their names may not exist at run time."""
    for parameter in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if parameter is not None:
            parameter.annotation = None


def _identifiers(compiled: Any) -> tuple[set[str], set[str]]:
    """All local names in the text of a compilation, and all names of globals that it reads."""
    local: set[str] = set()
    read: set[str] = set()
    for pair in compiled.units:
        function = pair.spec.function
        forwards = isinstance(pair, Pushed)
        local |= {*function.locals, *pair.params, *(() if forwards else (*pair.saved, pair.cotangent, "saved"))}
        for block in (pair.body,) if forwards else (pair.forward, pair.backward):
            local |= ir.bound_in(block)
            for stmt in ir.statements(block):
                for top in ir.expressions(stmt):
                    read |= {e.id for e in ir.walk(top) if isinstance(e, ir.Global)}
        for node in gast.walk(function.source.node):
            if isinstance(node, gast.Name):
                (local if isinstance(node.ctx, gast.Store | gast.Param) else read).add(node.id)
    return local, read - local


def _spaced(text: str) -> str:
    """The text with blank lines around nested functions, and their comments right above them."""
    out: list[str] = []
    ends: list[int] = []
    for line in text.strip("\n").split("\n"):
        indent = len(line) - len(line.lstrip())
        if line and ends and indent <= ends[-1]:
            while ends and indent <= ends[-1]:
                ends.pop()
            out += [""] if out[-1] else []
        if indent and re.match(r"def \w+\(", line.lstrip()):
            ends.append(indent)
            _separate(out)
        out.append(line)
    spaced = "\n".join(out)
    # A string of the user's may hold lines that look like code.
    return spaced if ast.dump(ast.parse(spaced)) == ast.dump(ast.parse(text)) else text.strip("\n")


def _separate(out: list[str]) -> None:
    """Put one blank line before a nested definition and the comment above it, except at the top of a body."""
    while out and not out[-1]:
        out.pop()
    start = len(out) - (1 if out[-1].lstrip().startswith("#") else 0)
    if not out[start - 1].endswith(":"):
        out.insert(start, "")
