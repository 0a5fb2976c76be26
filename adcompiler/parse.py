"""Function object -> `Source`: the function's gast, on the lines and columns of the user's own file.

The file is taken from `linecache`, so notebook cells, doctests and generated code are found as files are. It is parsed
whole, because the text of a function does not tell where in the file it stands, and a lambda has no text of its own.

A node is the function's source only if it compiles to the function's own bytecode. That tells several lambdas on one
line apart, follows a function that moved because lines were added above it, and notices a file that was changed since
it was imported: its derivative would be that of another function. Only `assert` may differ, because pytest rewrites it.

>>> def area(r):
...     return 3.14 * r ** 2
>>> source = parse(area)
>>> source.name, source.first_line
('area', 1)
>>> print(origin_of(source.node.body[0].value.right, source))
  File "<doctest adcompiler.parse[0]>", line 2
    return 3.14 * r ** 2
                  ^^^^^^
"""

import __future__

import ast
import copy
import inspect
import linecache
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import CodeType, FunctionType, MethodType
from typing import Any

import gast

from adcompiler.errors import Origin, SourceNotFoundError, refuse

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Source:
    """A function as the user wrote it: its decorators are gone, its class-private names are mangled."""

    node: gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda
    name: str
    file: str
    lines: tuple[str, ...]  # all lines of the file, without their ends; line n is lines[n - 1]
    first_line: int  # of `def` or `lambda`


def parse(function: object) -> Source:
    """The source of a function, lambda or method; `SourceNotFoundError` where there is none that can be trusted."""
    while isinstance(function, MethodType):
        function = function.__func__
    if not isinstance(function, FunctionType):
        raise _no_python(function)
    code = function.__code__
    texts = _texts(function)
    with warnings.catch_warnings(action="ignore"):  # the user saw what Python says of the text when it was imported
        attempts = [(text, _is_compiled_from) for text in texts] + [(text, _is_rewritten_from) for text in texts[-1:]]
        for text, accepts in attempts:
            node = _locate(text, code, accepts)
            if node is not None:
                return _source(node, text, code)
    if texts and code.co_filename not in _UNKEPT:
        raise _stale(code, texts[-1])
    raise _no_source(function)


def origin_of(node: Any, source: Source) -> Origin:
    """The place of a gast node of `source`; nodes without a position are placed at the function's first line."""
    line = getattr(node, "lineno", None) or source.first_line
    raw = source.lines[line - 1]
    text = raw.strip()
    indent = len(raw) - len(raw.lstrip())
    start = _characters(raw, getattr(node, "col_offset", None) or 0) - indent
    stop = len(text)
    if getattr(node, "end_lineno", None) == line:
        stop = _characters(raw, node.end_col_offset) - indent
    column = min(max(start, 0), max(len(text) - 1, 0))
    return Origin(source.file, line, text, column, max(column, min(stop, len(text))))


def _characters(line: str, byte_offset: int) -> int:
    """Python counts columns in UTF-8 bytes."""
    return len(line.encode()[:byte_offset].decode(errors="ignore"))


# From a file to the node


def _texts(function: FunctionType) -> list[str]:
    """The file as it was last read, and as it is now: a changed file is still right for what was imported before."""
    code = function.__code__
    last_read = linecache.getlines(code.co_filename, function.__globals__)
    linecache.checkcache(code.co_filename)
    now = linecache.getlines(code.co_filename, function.__globals__)
    if not now:
        try:
            now, _ = inspect.findsource(code)  # the interactive prompt, from 3.13 on
        except (OSError, IndexError):
            pass
    return [text for text in dict.fromkeys(["".join(last_read), "".join(now)]) if text]


def _locate(text: str, code: CodeType, accepts: Callable[[Definition, CodeType, set[str]], bool]) -> Definition | None:
    """The definition in `text` that is accepted for `code`: one on the function's own line, or else the nearest one."""
    try:
        tree = _tree(text)
    except SyntaxError:
        tree = _block(text, code.co_firstlineno)
    imported = _imported(tree)
    for line in (code.co_firstlineno, None):
        named = [node for node in _definitions(tree, line) if _name(node) == code.co_name]
        found = [node for node in named if accepts(node, code, imported)]
        if found:
            return min(found, key=lambda node: _distance(node, code, imported))
    return None


@lru_cache(maxsize=32)
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


def _block(text: str, first_line: int) -> ast.Module:
    """The definition at `first_line` of a text that does not parse as a whole, for example for its magic commands.

    All before it but imports becomes empty lines, so that lines and columns remain those of the text.
    """
    lines = text.splitlines(keepends=True)
    before = [line if line.startswith(("import ", "from ")) else "\n" for line in lines[: first_line - 1]]
    if before and lines[first_line - 1 : first_line] and lines[first_line - 1][0].isspace():
        before[-1] = "if True:\n"
    try:
        return ast.parse("".join(before + inspect.getblock(lines[first_line - 1 :])))
    except SyntaxError:
        return ast.Module([], [])


def _imported(node: ast.AST) -> set[str]:
    """The names that the module itself imports: Python compiles `np.f(x)` and `x.f()` to different bytecode."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names} - {"*"}
    if isinstance(node, Definition | ast.ClassDef | ast.expr):
        return set()
    return set().union(*map(_imported, ast.iter_child_nodes(node)))


def _definitions(node: ast.AST, line: int | None) -> Iterator[Definition]:
    """All functions and lambdas below `node`, or only those that start at `line`, without a look elsewhere."""
    for child in ast.iter_child_nodes(node):
        stop = getattr(child, "end_lineno", None)
        if line is not None and stop is not None and not _start(child) <= line <= stop:
            continue
        if isinstance(child, Definition) and line in (None, _start(child)):
            yield child
        yield from _definitions(child, line)


def _start(node: Any) -> Any:
    """The first line of a node; a definition begins with its decorators."""
    return min(each.lineno for each in (node, *getattr(node, "decorator_list", [])))


def _name(node: Definition) -> str:
    return getattr(node, "name", "<lambda>")


def _distance(node: Definition, code: CodeType, imported: set[str]) -> tuple[bool, int]:
    """How far a definition is from where the code was: equal lambdas on one line differ only in their columns."""
    moved = list(_compile(node, code, imported).co_positions()) != list(code.co_positions())
    return moved, abs(_start(node) - code.co_firstlineno)


# Is it the text that was compiled?


def _is_compiled_from(node: Definition, code: CodeType, imported: set[str]) -> bool:
    return _contents(_compile(node, code, imported)) == _contents(code)


def _is_rewritten_from(node: Definition, code: CodeType, imported: set[str]) -> bool:
    """Whether pytest could have made `code`: it has all that stands outside the assertions, and pytest's own names."""
    words = _vocabulary(code)
    if not words & {"@pytest_ar", "@py_builtins"} or _start(node) != code.co_firstlineno:
        return False
    written = _compile(_WithoutAsserts().visit(copy.deepcopy(node)), code, imported)
    return _parameters(written) == _parameters(code) and _vocabulary(written) <= words


class _WithoutAsserts(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.Pass:
        return ast.copy_location(ast.Pass(), node)


def _compile(node: Definition, code: CodeType, imported: set[str]) -> CodeType:
    """Compile a definition as it was where it stood: in the same class, with the same names around it.

    Decorators, defaults and annotations are evaluated outside the function and left out. `global` keeps the names of
    the class and of the function itself out of sight, where the function does not have them from a function around it.
    """
    bare: Any = copy.copy(node)
    bare.args = _bare(node.args)
    bare.decorator_list, bare.returns, bare.type_params = [], None, []
    owner = _class_of(code)
    hidden = {owner or _name(node)} - {"<lambda>", *code.co_freevars}
    lines = [f"import {name}" for name in sorted(imported)]
    lines += ["def around():", *(f"    {name} = None" for name in code.co_freevars)]
    lines += [f"    global {name}" for name in hidden]
    module: Any = ast.parse("\n".join([*lines, f"    class {owner}: pass" if owner else "    pass"]))
    scope = module.body[-1].body[-1] if owner else module.body[-1]
    scope.body[-1] = ast.copy_location(ast.Expr(bare), node) if isinstance(node, ast.Lambda) else bare
    futures = code.co_flags & __future__.annotations.compiler_flag
    compiled: CodeType = compile(module, code.co_filename, "exec", futures, dont_inherit=True)
    for _ in ("around", owner, node) if owner else ("around", node):
        compiled = next(const for const in compiled.co_consts if isinstance(const, CodeType))
    return compiled


def _bare(arguments: ast.arguments) -> Any:
    """Parameters without defaults and annotations."""
    bare: Any = copy.deepcopy(arguments)
    bare.defaults, bare.kw_defaults = [], [None] * len(bare.kwonlyargs)
    for arg in (*bare.posonlyargs, *bare.args, *bare.kwonlyargs, bare.vararg, bare.kwarg):
        if arg is not None:
            arg.annotation = None
    return bare


def _parameters(code: CodeType) -> tuple[object, ...]:
    stars = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount + stars.bit_count()
    return code.co_posonlyargcount, code.co_argcount, code.co_kwonlyargcount, stars, code.co_varnames[:count]


def _contents(code: CodeType) -> tuple[object, ...]:
    """All that says what a code object does, and nothing that says where it stands."""
    names = code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars
    constants = tuple(_constant(value) for value in code.co_consts)
    return _parameters(code), code.co_code, code.co_exceptiontable, names, constants


def _constant(value: object) -> object:
    """A constant for comparison: 1, 1.0 and True are three, and so are 0.0 and -0.0 two."""
    if isinstance(value, CodeType):
        return _contents(value)
    if isinstance(value, tuple | frozenset):
        return type(value), type(value)(_constant(item) for item in value)
    if isinstance(value, str):
        return value.rpartition(".<locals>.")[2]  # the qualified name of a class in the function
    return type(value), repr(value)


def _vocabulary(code: CodeType) -> set[object]:
    """Every name and constant of a code object and of those in it."""
    words: set[object] = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    for value in code.co_consts:
        words |= _vocabulary(value) if isinstance(value, CodeType) else {_constant(value)}
    return words


# From the node to the source


def _source(node: Definition, text: str, code: CodeType) -> Source:
    converted = gast.ast_to_gast(node)
    if not isinstance(node, ast.Lambda):
        converted.decorator_list = []
    owner = _class_of(code)
    if owner:
        _mangle(converted, owner)
    if "__class__" in code.co_freevars:
        _write_out_super(converted, None)
    return Source(converted, code.co_name, code.co_filename, tuple(text.split("\n")), node.lineno)


def _class_of(code: CodeType) -> str | None:
    """The innermost class around a function, by its qualified name: `f.<locals>.C.m` is in C, `C.m.<locals>.g` too."""
    scopes = code.co_qualname.split(".")
    # Comprehensions stand between, in `<listcomp>.<lambda>`, and are no classes.
    classes = [name for name, inner in pairwise(scopes) if inner != "<locals>" and not name.startswith("<")]
    return classes[-1] if classes else None


def _mangle(node: Any, owner: str) -> None:
    """Spell the private names `__x` in the body of class `owner` as Python does when it compiles them: `_owner__x`."""
    owner = owner.lstrip("_")
    for field in ("id", "attr", "arg", "name", "names") if owner and not isinstance(node, gast.alias) else ():
        value = getattr(node, field, None)
        if isinstance(value, str):
            setattr(node, field, _mangled(value, owner))
        elif field == "names" and isinstance(node, gast.Global | gast.Nonlocal):
            node.names = [_mangled(name, owner) for name in node.names]
    for child in gast.iter_child_nodes(node):
        _mangle(child, node.name if isinstance(node, gast.ClassDef) else owner)


def _write_out_super(node: Any, first: str | None) -> None:
    """Give every `super()` the arguments that Python finds in the frame: the class and the first parameter."""
    if isinstance(node, gast.FunctionDef | gast.Lambda):
        parameters = [*node.args.posonlyargs, *node.args.args]
        first = parameters[0].id if parameters else None
    for child in gast.iter_child_nodes(node):
        if not isinstance(child, gast.ClassDef | gast.ListComp | gast.SetComp | gast.DictComp | gast.GeneratorExp):
            _write_out_super(child, first)
    match node:
        case gast.Call(func=gast.Name(id="super"), args=[], keywords=[]) if first is not None:
            names = (
                gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None) for name in ("__class__", first)
            )
            node.args = [gast.copy_location(name, node) for name in names]


def _mangled(name: str, owner: str) -> str:
    return f"_{owner}{name}" if name.startswith("__") and not name.endswith("__") else name


# What is said when there is no source


# File names that stand for text that Python has read and not kept, and what helps.
_FILE = "Put it in a file and import it, or use IPython, a notebook or Python 3.13, which keep what they read."
_UNKEPT = {
    "<stdin>": ("Python has read it from its standard input and not kept the text", _FILE),
    "<string>": (
        "it was made by exec() or by `python -c`, which do not keep the text",
        "Put it in a file and import it, or give the text to linecache: "
        'name = "<made 1>"; exec(compile(text, name, "exec")); '
        "linecache.cache[name] = (len(text), None, text.splitlines(True), name).",
    ),
    "<timed exec>": ("the magic %%time does not keep the text of its cell", "Define it in a cell without %%time."),
    "<magic-timeit>": ("the magic %timeit does not keep its text", "Define the function in a cell before."),
}


def _no_source(function: FunctionType) -> SourceNotFoundError:
    code = function.__code__
    file = code.co_filename
    unread = f"its text is not kept under the name {file}" if file.startswith("<") else f"there is no file {file}"
    why, advice = _UNKEPT.get(file, (unread, "Define it where its text is kept: in a file or a notebook cell."))
    name, inside = code.co_qualname, getattr(function, "__wrapped__", None)
    if isinstance(inside, FunctionType):
        name += f", which wraps {inside.__qualname__},"
        advice = (
            f"Differentiate the function inside, {inside.__qualname__}.__wrapped__, if it is the one that is meant."
        )
    return _missing(name, why, advice)


def _no_python(function: object) -> SourceNotFoundError:
    name = getattr(function, "__qualname__", repr(function))
    return _missing(name, "it is not written in Python", "Call it in a function of your own.")


def _missing(name: str, why: str, advice: str) -> SourceNotFoundError:
    advice += " Or tell adcompiler its derivative with @rrule."
    what = f"the source of {name} is not available"
    return refuse(SourceNotFoundError, what, None, f"{why[0].upper()}{why[1:]}.", advice)


def _stale(code: CodeType, text: str) -> SourceNotFoundError:
    again = "Run the cell again." if code.co_filename.startswith("<") else "Import the module again, or restart Python."
    line = [*text.split("\n"), *[""] * code.co_firstlineno][code.co_firstlineno - 1].strip()
    return refuse(
        SourceNotFoundError,
        f"the source of {code.co_qualname} is not the code that runs",
        Origin(code.co_filename, code.co_firstlineno, line, 0, len(line)),
        "The text was changed since it was compiled (or a tool rewrote the function's bytecode), "
        "so the derivative would be that of another function.",
        again,
    )
