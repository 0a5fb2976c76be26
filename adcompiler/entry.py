"""The generated entry of a compilation: one flat function that checks the guards and runs the pair.

    def loss(params, x, y):
        try:
            fits = type(params) is dict and type(_1 := params["W1"]) is ndarray and _1.ndim == 2 and ...
        except (KeyError, ...):
            fits = False
        if not fits:
            return other(params, x, y)
        return finish(forward(params, x, y), params, x, y)

It has the user's own signature, so Python binds the arguments and complains under the user's name.  Every guard is a
type, dtype class or identity; values and shapes are never part of it (sizes only: whether an array is worth reusing).
"""

from __future__ import annotations

import builtins
import inspect
import itertools
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adcompiler.errors import UnsupportedSyntaxError, definition_of, refuse
from adcompiler.generated import code_of, inner_code
from adcompiler.lattice import (
    COMPLEX_TYPES,
    INTEGER_TYPES,
    REAL_TYPES,
    Array,
    Closure,
    Int,
    IntArray,
    Kind,
    Known,
    Observed,
    Scalar,
    is_inert,
)
from adcompiler.pipeline import Compiled
from adcompiler.program import signature_of
from adcompiler.runtime.containers import cell_of
from adcompiler.runtime.members import member_count
from adcompiler.runtime.walk import fields
from adcompiler.spec import Guard, Root


@dataclass(frozen=True, eq=False)
class Finish:
    """What follows the forward: `call(value, saved, *arguments)`, or its own text where that is much faster.

    `inline` are lines over the parameters, `$forward` and the names in `bound`, each with a `$` in front;
    `{names}` stands for the parameters.
    """

    call: Any
    inline: tuple[str, ...] = ()
    bound: dict[str, Any] = field(default_factory=dict)
    shares: bool = False  # the table of cotangents is the caller's


# Known values of these types are compared, all others are what they were.
_COMPARED = (str, int, bytes)


class _Writer:
    """Collects the text of the guards and the objects it names."""

    def __init__(self, compiled: Compiled) -> None:
        function = compiled.request.function
        self.globals = function.__globals__
        self.signature = signature_of(function)
        self.prefix = self._prefix(compiled)
        sets = {"ndarray": np.ndarray, "REAL": REAL_TYPES, "COMPLEX": COMPLEX_TYPES, "INTEGER": INTEGER_TYPES}
        self.bound: dict[str, Any] = {self.prefix + name: value for name, value in sets.items()}
        self.count = itertools.count(1)
        release = compiled.request.release
        self.above = release.above if release.small else 0  # larger arguments have another text
        self.spelled: dict[Any, str] = {}
        self.hidden = set(self.signature.parameters) | {function.__name__}

    def _prefix(self, compiled: Compiled) -> str:
        """What the entry's own names start with: nothing that the user's function names starts so."""
        roots = {path[0].name for path in compiled.program.guards if isinstance(path[0], Root)}
        prefix = "_"
        while any(name.startswith(prefix) for name in roots | set(self.signature.parameters)):
            prefix += "_"
        return prefix

    def bind(self, value: Any, stem: str) -> str:
        """A name for an object."""
        name = f"{self.prefix}{stem}{next(self.count)}"
        self.bound[name] = value
        return name

    def builtin(self, name: str) -> str:
        """A builtin by its name, which may be that of a parameter or a global."""
        if name not in self.hidden and name not in self.globals:
            return name
        self.bound[self.prefix + name] = getattr(builtins, name)
        return self.prefix + name

    def path(self, path: tuple[Any, ...]) -> str:  # noqa: C901  one case per step
        """The expression of a path; what was assigned by an earlier guard is named."""
        if path in self.spelled:
            return self.spelled[path]
        step = path[-1]
        if isinstance(step, Root):
            return self.root(step)
        base = self.path(path[:-1])
        match step:
            case ("item", key):
                return f"{base}[{self.key(key)}]"
            case ("attr", name):
                return f"{base}.{name}"
            case ("len",):
                return f"{self.builtin('len')}({base})"
            case ("keys",):
                return f"{self.builtin('tuple')}({base})"
            case ("fields",):
                return f"{self.bind(_field_names, 'field_names')}({base})"
            case ("own", name):
                return f"({name!r} in {base}.__dict__)"
            case ("members",):
                return f"{self.bind(member_count, 'member_count')}({base})"
            case ("inert",):
                return f"{self.bind(is_inert, 'is_inert')}({base})"
            case ("cell", name):
                return f"{self.bind(cell_of, 'cell_of')}({base}, {name!r})"
        raise AssertionError(step)

    def key(self, key: Any) -> str:
        return repr(key) if type(key) in (str, int, bool, bytes) else self.bind(key, "key")

    def root(self, root: Root) -> str:
        if root.form == "arg":
            return root.name
        if root.form == "object":
            return self.bind(root.holder, "object")
        if root.form == "default":
            return self.bind(root.holder.value, "default")
        if root.form == "cell":
            return f"{self.bind(root.holder, 'cell')}.cell_contents"
        if root.holder is self.globals and root.name not in self.hidden:
            return root.name
        return f"{self.bind(_reader(root.holder), 'read')}({root.name!r})"

    def guard(self, guard: Guard) -> str | None:
        """The test of one guard."""
        root = guard.path[0]
        if isinstance(root, Root) and root.form == "default" and len(guard.path) == 1:
            return None  # the guard of the function's defaults
        value = self.path(guard.path)
        if self.above and len(guard.path) == 1 and root.form == "arg" and isinstance(guard.kind, Array):
            return f"{self.test(value, value, guard.kind, guard.type)} and {value}.nbytes < {self.above}"
        once = isinstance(guard.kind, Known) and type(guard.kind.value) not in (*_COMPARED, type(None))
        if not value.isidentifier() and not once:
            name = f"{self.prefix}{next(self.count)}"
            self.spelled[guard.path] = name
            return self.test(f"({name} := {value})", name, guard.kind, guard.type)
        return self.test(value, value, guard.kind, guard.type)

    def test(self, first: str, again: str, kind: Kind, cls: type) -> str:
        """The test for a kind; `first` reads the value and may name it, `again` is what to call it after that."""
        is_of = f"{self.builtin('type')}({first}) is"
        match kind:
            case Scalar(real):
                plain, others = ("float", "REAL") if real else ("complex", "COMPLEX")
                return f"({is_of} {self.builtin(plain)} or {self.builtin('type')}({again}) in {self.prefix}{others})"
            case Int():
                return f"({is_of} {self.builtin('int')} or {self.builtin('type')}({again}) in {self.prefix}INTEGER)"
            case Array(ndim, real):
                test = f"{is_of} {self.array(cls)} and {again}.dtype.kind == {'f' if real else 'c'!r}"
                return f"{test} and {again}.ndim == {ndim}"
            case IntArray(ndim):
                return f"{is_of} {self.array(cls)} and {again}.dtype.kind in 'biu' and {again}.ndim == {ndim}"
            case Closure(code):
                return f"{is_of} {self.bind(cls, 'type')} and {again}.__code__ is {self.bind(code, 'code')}"
            case Observed():
                spelled = self.builtin(cls.__name__) if cls in (tuple, list, dict) else self.bind(cls, "type")
                return f"{is_of} {spelled}"
            case Known(value):
                return self.known(first, again, value)
        return f"{is_of} {self.bind(cls, 'type')}"

    def known(self, first: str, again: str, value: Any) -> str:
        """The test for a value known at compile time."""
        if value is None or isinstance(value, bool):
            return f"{first} is {value}"
        if type(value) is tuple:
            return f"{first} == {self.bind(value, 'keys')}"
        if type(value) not in _COMPARED:
            return f"{first} is {self.bind(value, 'v')}"
        cls = self.builtin(type(value).__name__)
        return f"{self.builtin('type')}({first}) is {cls} and {again} == {value!r}"

    def array(self, cls: type) -> str:
        return f"{self.prefix}ndarray" if cls is np.ndarray else self.bind(cls, "array")


def _field_names(value: Any) -> tuple[str, ...]:
    return tuple(fields(value))


def _reader(globals_: dict[str, Any]) -> Any:
    """Reads a global of another module, or a builtin."""

    def read(name: str) -> Any:
        return globals_[name] if name in globals_ else getattr(builtins, name)

    return read


def _settled(writer: _Writer, compiled: Compiled) -> list[str]:
    """Tests that what was taken as known outside is still so after the forward, where something may have changed it."""
    if not compiled.program.volatile:
        return []
    known = [
        guard
        for guard in compiled.program.guards.values()
        if isinstance(guard.kind, Known | Closure) and guard.path[0].form in ("global", "cell")
    ]
    return [test for guard in known if (test := writer.guard(guard)) is not None]


def _changed(function: Any) -> Any:
    """What the entry raises when the forward ran with something else than it was compiled for."""

    def changed() -> Any:
        raise refuse(
            UnsupportedSyntaxError,
            f"{function.__qualname__} changes a function or a flag that it uses itself",
            definition_of(function),
            "Something that it calls replaced a global or captured function, so the derivative would be the old one's.",
            "Pass what changes as an argument.",
        )

    return changed


def guards_text(compiled: Compiled) -> tuple[list[str], list[str], dict[str, Any], str]:
    """The tests of all guards, those made again after the forward, the objects they name, and the entry's prefix."""
    writer = _Writer(compiled)
    tests = [t for g in compiled.program.guards.values() if (t := writer.guard(g)) is not None]
    for code in compiled.program.codes.values():
        function = writer.bind(code.function, "f")
        tests.append(f"{function}.__code__ is {writer.bind(code.code, 'code')}")
        if code.defaults is not None:
            tests.append(f"{function}.__defaults__ is {writer.bind(code.defaults, 'defaults')}")
        if code.kwdefaults is not None:
            tests.append(f"{function}.__kwdefaults__ == {writer.bind(dict(code.kwdefaults), 'kwdefaults')}")
    return tests, _settled(writer, compiled), writer.bound, writer.prefix


def entry_maker(compiled: Compiled, finish: Finish) -> Callable[[Any], Any]:
    """Makes the entry, from what it calls when a guard does not hold; `finish` comes after the forward."""
    function = compiled.request.function
    signature = signature_of(function)
    tests, again, bound, prefix = guards_text(compiled)
    own = {
        "finish": finish.call,
        "forward": compiled.forward if finish.shares else compiled.alone[0],
    } | finish.bound
    own |= {"changed": _changed(function)}
    own |= {f"default_{p.name}": p.default for p in signature.parameters.values() if p.default is not p.empty}
    bound |= {prefix + name: value for name, value in own.items()}
    names = ", ".join(signature.parameters)
    name = function.__name__ if function.__name__.isidentifier() else "lambda_"
    named = {"type", "float", "isinstance"} & {*signature.parameters, *function.__globals__}
    lines = _OUT_OF_LINE if named or not finish.inline else finish.inline
    first, *rest = (line.replace("$", prefix).format(names=names) for line in lines)
    check = [f"if not ({_conjunction(again)}):", f"    {prefix}changed()"] if again else []
    text = "\n".join(
        [
            f"def bind({', '.join([*bound, f'{prefix}other'])}):",
            f"    def {name}({_parameters(signature, prefix)}):",
            "        try:",
            f"            {prefix}fits = {_conjunction(tests)}",
            "        except (NameError, KeyError, IndexError, TypeError, AttributeError, ValueError):",
            f"            {prefix}fits = False",
            f"        if not {prefix}fits:",
            f"            return {prefix}other({_spread(signature)})",
            *(f"        {line}" for line in (first, *check, *rest)),
            f"    return {name}",
        ]
    )
    bind = inner_code(code_of(function.__name__, text, "entry "), "bind")

    def make(other: Any) -> Any:
        entry = types.FunctionType(bind, function.__globals__)(*bound.values(), other)
        entry.__qualname__ = function.__qualname__  # Python's own complaints about a call name the user's function
        return entry

    return make


_OUT_OF_LINE = ("$value, $saved = $forward({names})", "return $finish($value, $saved, {names})")


def _conjunction(tests: list[str]) -> str:
    """All tests; nested, because the compiler's stack is finite."""
    if len(tests) > 200:
        return " and ".join(f"({_conjunction(tests[i : i + 200])})" for i in range(0, len(tests), 200))
    return " and ".join(tests) or "True"


def _parameters(signature: inspect.Signature, prefix: str) -> str:
    out = []
    star = slash = False
    for p in signature.parameters.values():
        text = f"{p.name}={prefix}default_{p.name}" if p.default is not p.empty else p.name
        if slash and p.kind is not p.POSITIONAL_ONLY:
            out.append("/")
            slash = False
        if p.kind is p.POSITIONAL_ONLY:
            slash = True
        if p.kind is p.VAR_POSITIONAL:
            text, star = f"*{p.name}", True
        if p.kind is p.KEYWORD_ONLY and not star:
            out.append("*")
            star = True
        if p.kind is p.VAR_KEYWORD:
            text = f"**{p.name}"
        out.append(text)
    return ", ".join(out + (["/"] if slash else []))


def _spread(signature: inspect.Signature) -> str:
    """The arguments as they are passed on."""
    forms: dict[Any, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*{0}",
        inspect.Parameter.VAR_KEYWORD: "**{0}",
        inspect.Parameter.KEYWORD_ONLY: "{0}={0}",
    }
    return ", ".join(forms.get(p.kind, "{0}").format(p.name) for p in signature.parameters.values())
