"""The generated entry of a compilation: one flat function that checks the guards and runs the pair.

    def loss(params, x, y):
        try:
            fits = type(params) is dict and type(_1 := params["W1"]) is ndarray and _1.ndim == 2 and ...
        except (KeyError, ...):
            fits = False
        if not fits:
            return other(params, x, y)
        return finish(forward(params, x, y), params, x, y)

It has the user's own signature, so Python binds the arguments and complains under the user's name.  Every guard is a type,
dtype class or identity; values, shapes and sizes are never part of it.
"""

from __future__ import annotations

import inspect
import itertools
import linecache
import types
from typing import Any

import numpy as np

from adcompiler.lattice import Array, Closure, Int, IntArray, Kind, Known, Observed, Scalar
from adcompiler.pipeline import Compiled
from adcompiler.program import Guard, Root
from adcompiler.resolve import cell_of

REAL = frozenset({float, np.float64, np.float32, np.float16, np.longdouble})
COMPLEX = frozenset({complex, np.complex128, np.complex64, np.clongdouble})
INTEGER = frozenset({int, *(np.dtype(c).type for c in "bhilqBHILQ")})
_numbers = itertools.count(1)


class _Writer:
    """Collects the text of the guards and the objects it names."""

    def __init__(self, compiled: Compiled) -> None:
        function = compiled.request.function
        self.globals = function.__globals__
        self.signature = inspect.signature(function, follow_wrapped=False)
        self.bound: dict[str, Any] = {"ndarray": np.ndarray, "_REAL": REAL, "_COMPLEX": COMPLEX, "_INTEGER": INTEGER}
        self.count = itertools.count(1)
        self.spelled: dict[Any, str] = {}
        self.hidden = set(self.signature.parameters) | {"fits", function.__name__}

    def bind(self, value: Any, stem: str) -> str:
        """A name for an object."""
        name = f"_{stem}{next(self.count)}"
        self.bound[name] = value
        return name

    def path(self, path: tuple[Any, ...]) -> str:
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
                return f"len({base})"
            case ("cell", name):
                return f"{self.bind(cell_of, 'cell_of')}({base}, {name!r})"
        raise AssertionError(step)

    def key(self, key: Any) -> str:
        return repr(key) if type(key) in (str, int, bool, bytes) else self.bind(key, "key")

    def root(self, root: Root) -> str:
        if root.form == "arg":
            return root.name
        if root.form == "cell":
            return f"{self.bind(root.holder, 'cell')}.cell_contents"
        if root.holder is self.globals and root.name not in self.hidden:
            return root.name
        return f"{self.bind(_reader(root.holder), 'read')}({root.name!r})"

    def guard(self, guard: Guard) -> str | None:
        """The test of one guard."""
        root = guard.path[0]
        if isinstance(root, Root) and root.form == "default":
            return None
        value = self.path(guard.path)
        if not value.isidentifier() and not (isinstance(guard.kind, Known) and guard.kind.value is not None):
            name = f"_{next(self.count)}"
            self.spelled[guard.path] = name
            return self.test(f"({name} := {value})", name, guard.kind, guard.type)
        return self.test(value, value, guard.kind, guard.type)

    def test(self, first: str, again: str, kind: Kind, cls: type) -> str:
        match kind:
            case Scalar(real):
                plain = "float" if real else "complex"
                return f"(type({first}) is {plain} or type({again}) in {'_REAL' if real else '_COMPLEX'})"
            case Int():
                return f"(type({first}) is int or type({again}) in _INTEGER)"
            case Array(ndim, real):
                test = f"type({first}) is {self.array(cls)} and {again}.dtype.kind == {'f' if real else 'c'!r}"
                return f"{test} and {again}.ndim == {ndim}"
            case IntArray(ndim):
                return f"type({first}) is {self.array(cls)} and {again}.dtype.kind in 'biu' and {again}.ndim == {ndim}"
            case Closure(code):
                return f"type({first}) is {self.bind(cls, 'type')} and {again}.__code__ is {self.bind(code, 'code')}"
            case Observed():
                return f"type({first}) is {cls.__name__}"
            case Known(value):
                if value is None or isinstance(value, bool):
                    return f"{first} is {value}"
                if type(value) in (str, int, bytes):
                    return f"type({again}) is {type(value).__name__} and {again} == {value!r}" if first == again else f"{first} == {value!r}"
                return f"{first} is {self.bind(value, 'v')}"
        return f"type({first}) is {self.bind(cls, 'type')}"

    def array(self, cls: type) -> str:
        return "ndarray" if cls is np.ndarray else self.bind(cls, "array")


def _reader(globals_: dict[str, Any]) -> Any:
    """Reads a global of another module, or a builtin."""
    import builtins

    def read(name: str) -> Any:
        return globals_[name] if name in globals_ else getattr(builtins, name)

    return read


def guards_text(compiled: Compiled) -> tuple[list[str], dict[str, Any]]:
    """The tests of all guards, and the objects that they name."""
    writer = _Writer(compiled)
    tests = [t for g in compiled.program.guards.values() if (t := writer.guard(g)) is not None]
    for code in compiled.program.codes.values():
        function = writer.bind(code.function, "f")
        tests.append(f"{function}.__code__ is {writer.bind(code.code, 'code')}")
        if code.defaults is not None:
            tests.append(f"{function}.__defaults__ is {writer.bind(code.defaults, 'defaults')}")
        if code.kwdefaults is not None:
            tests.append(f"{function}.__kwdefaults__ == {writer.bind(dict(code.kwdefaults), 'kwdefaults')}")
    return tests, writer.bound


def make_entry(compiled: Compiled, other: Any, finish: Any) -> Any:
    """The entry: `finish(value, saved, *arguments)` after the forward, `other` when a guard does not hold."""
    function = compiled.request.function
    signature = inspect.signature(function, follow_wrapped=False)
    tests, bound = guards_text(compiled)
    bound |= {"_other": other, "_finish": finish, "_forward": compiled.forward}
    defaults = {p.name: p.default for p in signature.parameters.values() if p.default is not p.empty}
    bound |= {f"_default_{n}": v for n, v in defaults.items()}
    names = ", ".join(signature.parameters)
    spread = _spread(signature)
    name = function.__name__ if function.__name__.isidentifier() else "lambda_"
    text = "\n".join(
        [
            f"def bind({', '.join(bound)}):",
            f"    def {name}({_parameters(signature)}):",
            "        try:",
            f"            fits = {_conjunction(tests)}",
            "        except (NameError, KeyError, IndexError, TypeError, AttributeError, ValueError):",
            "            fits = False",
            "        if not fits:",
            f"            return _other({spread})",
            f"        return _finish(*_forward({names}){', ' if names else ''}{names})",
            f"    return {name}",
        ]
    )
    file = f"<adcompiler entry {next(_numbers)}: {function.__name__}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    code = compile(text, file, "exec", dont_inherit=True)
    bind = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    return types.FunctionType(bind, function.__globals__)(*bound.values())


def _conjunction(tests: list[str]) -> str:
    """All tests; nested, because the compiler's stack is finite."""
    if len(tests) > 200:
        return " and ".join(f"({_conjunction(tests[i : i + 200])})" for i in range(0, len(tests), 200))
    return " and ".join(tests) or "True"


def _parameters(signature: inspect.Signature) -> str:
    out = []
    star = slash = False
    for p in signature.parameters.values():
        text = f"{p.name}=_default_{p.name}" if p.default is not p.empty else p.name
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
    forms = {
        inspect.Parameter.VAR_POSITIONAL: "*{0}",
        inspect.Parameter.VAR_KEYWORD: "**{0}",
        inspect.Parameter.KEYWORD_ONLY: "{0}={0}",
    }
    return ", ".join(forms.get(p.kind, "{0}").format(p.name) for p in signature.parameters.values())
